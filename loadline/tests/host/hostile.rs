//! Clients that talk nonsense, stop half-way, promise gigabytes, come by the thousand or never read, while a good client
//! verifies what it writes. They may harm themselves only: the good client's data is right, memory stays bounded, and what
//! they held is given back.

use crate::client::request_head;
use crate::fio::verified;
use crate::node::{Node, PATIENCE, SMALL};
use crate::tools::succeed;
use loadline_base::Rng;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Clients that ask and never read.
const STALLED: u64 = 4;

/// What a connection may hold at most, from docs/nbd.md, in KiB.
const CONNECTION_KIB: u64 = 105 << 10;

/// What everything else may grow by while the good client runs: its own connection, OSDs, caches, in KiB.
const ELSE_KIB: u64 = 256 << 10;

/// 32 MiB at 6 MiB/s: the good client is at work for as long as the bad ones need.
const RATE: [&str; 4] = ["--bsrange=4k-64k", "--size=32m", "--rate=6m", "--verify_backlog=64"];

fn connect(socket: &Path) -> UnixStream {
    let stream = UnixStream::connect(socket).expect("a listener's queue is long enough");
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    stream
}

/// Sends what the node takes of it; that it hangs up or takes no more is its right.
fn send(stream: &mut UnixStream, bytes: &[u8]) {
    let _ = stream.write_all(bytes);
}

/// Flags of a client that knows fixed newstyle and needs no zeroes.
const HELLO: [u8; 4] = [0, 0, 0, 3];

fn option(kind: u32, length: u32) -> Vec<u8> {
    [&b"IHAVEOPT"[..], &kind.to_be_bytes(), &length.to_be_bytes()].concat()
}

/// The whole of a handshake that ends in transmission.
fn handshake() -> Vec<u8> {
    [&HELLO[..], &option(1, 4), b"vol0"].concat()
}

fn nonsense(socket: &Path, random: &mut Rng) {
    for length in [1, 7, 100, 70_000] {
        let noise: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
        for opening in [Vec::new(), HELLO.to_vec(), handshake()] {
            send(&mut connect(socket), &[opening, noise.clone()].concat());
        }
    }
}

/// Every beginning of a good conversation, cut off at each byte; the last ones stay open until the caller drops them.
fn half_conversations(socket: &Path) -> Vec<UnixStream> {
    let whole = [handshake(), request_head(1, 1, 0, 4096), vec![9; 100]].concat();
    let begun = (0..whole.len()).map(|length| {
        let mut stream = connect(socket);
        send(&mut stream, &whole[..length]);
        stream
    });
    begun.collect()
}

/// Lengths and offsets as large as their fields, in options and in requests.
fn giants(socket: &Path) -> Vec<UnixStream> {
    let options = [3, 6, 7, 9, 10, 99].map(|kind| [&HELLO[..], &option(kind, u32::MAX)].concat());
    let requests = [
        request_head(0, 1, 0, u32::MAX),
        request_head(1, 2, 0, u32::MAX),
        request_head(0, 3, u64::MAX, u32::MAX),
        request_head(4, 4, u64::MAX - 10, 100),
        request_head(6, 5, 1 << 63, u32::MAX),
        request_head(7, 6, 0, u32::MAX),
    ];
    let requests = requests.map(|request| [handshake(), request].concat());
    let all = options.into_iter().chain(requests).map(|bytes| {
        let mut stream = connect(socket);
        send(&mut stream, &[bytes, vec![0; 100_000]].concat());
        stream
    });
    all.collect()
}

/// Asks for 1 MiB a thousand times and takes none of it.
fn never_reads(socket: &Path) -> UnixStream {
    let mut stream = connect(socket);
    let requests = (0..1000).flat_map(|cookie| request_head(0, cookie, 0, 1 << 20));
    send(&mut stream, &[handshake(), requests.collect()].concat());
    stream
}

/// Comes by the hundred, stays for a moment, and comes again; ten of them say something first.
fn crowds(socket: &Path) {
    for _ in 0..10 {
        let mut crowd: Vec<_> = (0..300).map(|_| connect(socket)).collect();
        crowd.iter_mut().step_by(30).for_each(|one| send(one, &handshake()));
    }
}

#[test]
fn bad_clients_harm_no_good_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut node = Node::start(&folder.path().join("node"), &SMALL);
    let uri = node.uri("vol0");
    succeed("fio", &verified(&uri, &["--bsrange=4k-64k", "--size=16m"]));
    let (files, memory) = (open_files(&node), memory_peak_kib(&node));
    std::thread::scope(|scope| {
        let good = scope.spawn(|| succeed("fio", &verified(&uri, &RATE)));
        // On a busy machine the crowd fills the kernel's queue of who wants in, and fio does not try twice.
        node.wait_for(|| match open_files(&node) > files {
            true => Ok(()),
            false => Err("fio has not come".to_owned()),
        });
        let socket = node.socket();
        let mut random = Rng::new(6);
        let stalled: Vec<_> = (0..STALLED).map(|_| never_reads(&socket)).collect();
        let halves = half_conversations(&socket);
        let giants = giants(&socket);
        crowds(&socket);
        while !good.is_finished() {
            nonsense(&socket, &mut random);
            std::thread::sleep(Duration::from_millis(20));
        }
        good.join().unwrap();
        drop((stalled, halves, giants));
    });
    node.assert_alive();
    let grown = memory_peak_kib(&node) - memory;
    let bound = STALLED * CONNECTION_KIB + ELSE_KIB;
    assert!(grown <= bound, "grown by {grown} KiB, at most {bound} are right");
    wait_for_files(&node, files);
    succeed("qemu-io", &["-f", "raw", "-c", "write -P 7 0 1M", "-c", "read -P 7 0 1M", &uri]);
    node.stop();
}

/// A peer that hangs up after every request, and one that asks on a connection whose other side is closed for reading.
#[test]
fn clients_that_leave_in_the_middle_are_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), &SMALL);
    let files = open_files(&node);
    for cookie in 0..200 {
        let mut stream = connect(&node.socket());
        let write = [request_head(1, cookie, 0, 1 << 20), vec![1; 1 << 19]].concat();
        let read = request_head(0, cookie, 0, 32 << 20);
        send(&mut stream, &[handshake(), if cookie % 2 == 0 { write } else { read }].concat());
        if cookie % 3 == 0 {
            // It is gone in the middle of an answer.
            let _ = stream.read(&mut [0; 1000]);
        }
    }
    wait_for_files(&node, files);
    let zero = ["-f", "raw", "-c", "read -P 0 0 64M", &node.uri("vol0")];
    succeed("qemu-io", &zero);
    node.stop();
}

fn open_files(node: &Node) -> usize {
    let files = std::fs::read_dir(format!("/proc/{}/fd", node.process_id()));
    files.expect("the node runs").count()
}

/// Closing a connection waits for its requests in flight, so it takes a moment.
fn wait_for_files(node: &Node, most: usize) {
    node.wait_for(|| match open_files(node) {
        left if left > most => Err(format!("{left} files are open, {most} were before")),
        _ => Ok(()),
    });
}

fn memory_peak_kib(node: &Node) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", node.process_id()));
    let status = status.expect("the node runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux tells it");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
