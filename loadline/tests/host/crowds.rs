//! Clients by the hundred that want nothing, or more than there is: others are served, the admin socket answers, memory stays
//! within its budget, and what they held is given back.

use crate::client::{Connection, Request, request_head};
use crate::guest::Guest;
use crate::node::{Node, PATIENCE};
use crate::tools::{succeed, text};
use std::cell::RefCell;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const FLAGS: [&str; 10] = [
    "--osds",
    "1",
    "--copies",
    "1",
    "--size",
    "256MiB",
    "--image",
    "vol0=128MiB",
    "--cache",
    "16MiB",
];
const MIB: u64 = 1 << 20;

/// A connection that sends what the node takes of `bytes`.
fn saying(socket: &Path, bytes: &[u8]) -> Option<UnixStream> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
    // A node may hang up, or take no more: that is its right.
    let _ = stream.write_all(bytes);
    Some(stream)
}

fn open_files(node: &Node) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", node.process_id())).expect("the node runs").count()
}

pub(crate) fn resident(node: &Node) -> u64 {
    let facts = std::fs::read_to_string(format!("/proc/{}/status", node.process_id()));
    let facts = facts.expect("the node runs");
    let line = facts.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux tells it");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

/// A client of another process, and the admin socket.
fn are_served(node: &Node) {
    let uri = node.uri("vol0");
    succeed("qemu-io", &["-f", "raw", "-c", "write -P 7 0 1M", "-c", "read -P 7 0 1M", &uri]);
    succeed("nbdinfo", &[&uri]);
}

/// About a thousand idle connections took every descriptor: no client and no command got in any more.
#[test]
fn a_crowd_of_one_peer_keeps_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    let flags = [&FLAGS[..], &["--connections-per-peer", "100", "--negotiation", "2s"]].concat();
    let node = Node::start(&folder.path().join("node"), &flags);
    let before = open_files(&node);
    let crowd: Vec<_> = (0..1_200).map(|_| UnixStream::connect(node.socket()).unwrap()).collect();
    are_served(&node);
    let counts = node.status()["connections"].clone();
    assert!(counts["refused"].as_u64() >= Some(1_000), "{counts}");
    assert!(open_files(&node) <= before + 110, "{} files", open_files(&node));
    let log = node.log();
    let says = format!("pid {} was refused", std::process::id());
    let told = log.lines().filter(|line| line.contains(&says)).count();
    assert!((1..10).contains(&told), "told once in a while:\n{log}");
    node.wait_until("the rest is told of", |node| node.log().contains("more in the last 10 s"));
    node.wait_until("who chooses nothing goes", |node| node.status()["connections"]["nbd"] == 0);
    assert!(node.log().contains("chose no export within 2 s"));
    drop(crowd);
    node.stop();
}

/// A process that opens as many connections as are asked for, chooses an export on each, and keeps them until it is ended.
const HOLDER: &str = r#"
    use IO::Socket::UNIX;
    my ($path, $count) = @ARGV;
    $SIG{PIPE} = 'IGNORE';
    for (1..$count) {
        my $socket = IO::Socket::UNIX->new(Peer => $path) or next;
        syswrite($socket, pack('N', 3) . 'IHAVEOPT' . pack('NN', 1, 4) . 'vol0');
        push @held, $socket;
    }
    print "done\n"; close(STDOUT); <STDIN>;
"#;

/// Who holds connections.
struct Holder(Child);

impl Holder {
    fn start(socket: &Path, count: u32) -> Holder {
        let mut perl = Command::new("perl");
        perl.args(["-e", HOLDER, text(socket), &count.to_string()]);
        let mut holder =
            perl.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("Debian has perl");
        let mut said = String::new();
        holder.stdout.take().expect("it is a pipe").read_to_string(&mut said).unwrap();
        assert_eq!(said, "done\n");
        Holder(holder)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// With little memory there are few places. A bound per peer that did not follow from them let six peers keep everybody out, and 2,000
/// connections to the admin socket kept operators out.
#[test]
fn crowds_of_several_peers_keep_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    let flags = [&FLAGS[..], &["--memory", "512MiB"]].concat();
    let node = Node::start(&folder.path().join("node"), &flags);
    let crowds: Vec<_> = (0..6).map(|_| Holder::start(&node.socket(), 400)).collect();
    node.wait_until("all are let in or refused", |node| {
        let counts = &node.status()["connections"];
        counts["nbd"].as_u64().unwrap() + counts["refused"].as_u64().unwrap() >= 2_400
    });
    are_served(&node);
    let counts = node.status()["connections"].clone();
    assert!(counts["nbd"].as_u64() > Some(600), "most places are used: {counts}");
    let admin = node.socket().with_file_name("admin.sock");
    let operators: Vec<_> = (0..3).map(|_| Holder::start(&admin, 700)).collect();
    are_served(&node);
    assert!(node.tell(&["health"]).contains("ok"), "{}", node.log());
    drop((crowds, operators));
    node.wait_until("they have left", |node| node.status()["connections"]["nbd"] == 0);
    node.stop();
}

/// The limit that most shells give, 1,024, is raised as far as the system allows; what it allows bounds the crowd.
#[test]
fn descriptors_suffice_for_as_many_as_are_let_in() {
    let folder = tempfile::tempdir().unwrap();
    let many = ["--connections", "5000", "--connections-per-peer", "5000", "--negotiation", "100s"];
    let flags = [&FLAGS[..], &many].concat();
    for (limits, admitted) in [("--nofile=256:4096", 1_200), ("--nofile=256:800", 464)] {
        let node = Node::start_under(&["prlimit", limits], &folder.path().join("node"), &flags);
        let crowd: Vec<_> =
            (0..1_200).map(|_| UnixStream::connect(node.socket()).unwrap()).collect();
        node.wait_until("all are let in", |node| {
            let connections = &node.status()["connections"];
            connections["nbd"].as_u64().unwrap() + connections["refused"].as_u64().unwrap() >= 1_200
        });
        assert_eq!(node.status()["connections"]["nbd"], admitted, "{limits}");
        if admitted == 1_200 {
            are_served(&node);
        }
        drop(crowd);
        node.wait_until("they have left", |node| node.status()["connections"]["nbd"] == 0);
        are_served(&node);
        node.stop();
    }
}

#[test]
fn silent_connections_end_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), &[&FLAGS[..], &["--idle", "2s"]].concat());
    let mut silent = saying(&node.socket(), &Connection::hello("vol0")).unwrap();
    let mut busy = Connection::open(&node.socket(), "vol0").unwrap();
    silent.set_read_timeout(Some(PATIENCE)).unwrap();
    let ended = std::thread::spawn(move || silent.read_to_end(&mut Vec::new()));
    while !ended.is_finished() {
        busy.ask(&Request::Read { offset: 0, length: 512 }).unwrap();
        std::thread::sleep(Duration::from_millis(100));
    }
    ended.join().unwrap().expect("the node hangs up in the orderly way");
    busy.ask(&Request::Flush).unwrap();
    node.stop();
}

/// Each connection had a bound and all together had none: 40 clients that asked and never read held 2.5 GiB.
#[test]
fn memory_stays_within_its_budget_and_comes_back() {
    let budget = 512 * MIB;
    let folder = tempfile::tempdir().unwrap();
    let limits = ["--memory", "512MiB", "--connections-per-peer", "2000", "--negotiation", "100s"];
    let node = Node::start(&folder.path().join("node"), &[&FLAGS[..], &limits].concat());
    succeed("qemu-io", &["-f", "raw", "-c", "write -P 3 0 128M", "-c", "flush", &node.uri("vol0")]);
    let quiet = resident(&node);
    let reads = (0..64).flat_map(|cookie| request_head(0, cookie, cookie * MIB, 1 << 20));
    let slow_reader = [Connection::hello("vol0"), reads.collect()].concat();
    let half =
        [Connection::hello("vol0"), request_head(1, 1, 0, 4 << 20), vec![9; 256 << 10]].concat();
    let socket = node.socket();
    std::thread::scope(|scope| {
        let crowd = scope.spawn(|| {
            let one = |number: u32| match number % 10 {
                0..4 => saying(&socket, &slow_reader),
                4..7 => saying(&socket, &half),
                _ => saying(&socket, &[]),
            };
            (0..1_000).map(one).collect::<Vec<_>>()
        });
        let mut most = 0;
        while !crowd.is_finished() {
            most = most.max(resident(&node));
            std::thread::sleep(Duration::from_millis(20));
        }
        let crowd = crowd.join().unwrap();
        node.wait_until("nobody waits for memory", |node| {
            node.status()["memory"]["connections_waiting"].as_u64() > Some(0)
        });
        are_served(&node);
        let until = Instant::now() + Duration::from_secs(3);
        while Instant::now() < until {
            most = most.max(resident(&node));
            std::thread::sleep(Duration::from_millis(20));
        }
        let memory = node.status()["memory"].clone();
        assert!(most < budget, "{most} bytes are resident: {memory}");
        let (held, part) = (&memory["connections_peak_bytes"], &memory["connections_bytes"]);
        assert!(held.as_u64() <= part.as_u64(), "{memory}");
        drop(crowd);
    });
    node.wait_until("they have left", |node| node.status()["connections"]["nbd"] == 0);
    node.wait_for(|| match resident(&node) {
        bytes if bytes > quiet + 64 * MIB => Err(format!("{bytes} bytes stay")),
        _ => Ok(()),
    });
    are_served(&node);
    node.stop();
}

/// Once one of the crowd had been given memory that was kept for long requests, it held it until it was ended, and then the next one did: whoever
/// asked for 4 KiB waited for that, and later for nothing, but a long request still had to stand in the line behind all of the crowd.
#[test]
fn whoever_asks_is_served_beside_those_that_ask_for_the_most_and_take_nothing() {
    const CROWD: u64 = 40;
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("vol0.sock");
    let face = format!("vol0={}", text(&disk));
    let flags = [&FLAGS[..], &["--memory", "280MiB", "--vhost", &face]].concat();
    let node = Node::start(&folder.path().join("node"), &flags);
    let [modest, mut long] = [0, 1].map(|_| Connection::open(&node.socket(), "vol0").unwrap());
    let mut guest = Guest::connect(&disk);
    let reads = (0..2).flat_map(|cookie| request_head(0, cookie, 0, 32 << 20));
    let says = [Connection::hello("vol0"), reads.collect()].concat();
    let crowd: Vec<_> = (0..CROWD).map(|_| saying(&node.socket(), &says).unwrap()).collect();
    node.wait_until("they have what there is", |node| {
        node.status()["memory"]["connections_waiting"].as_u64() >= Some(CROWD / 2)
    });
    let data: Vec<u8> = (0..32 * MIB).map(|at| (at / 512 % 251) as u8).collect();
    long.ask(&Request::Write { offset: 0, data: data.clone() }).unwrap();
    let read = long.ask(&Request::Read { offset: 0, length: 32 << 20 }).unwrap();
    assert!(read == data, "what was read is not what was written");
    assert_eq!(guest.read(100, 64 << 10), data[100 * 512..100 * 512 + (64 << 10)]);
    guest.write(100, &[255; 64 << 10]);
    assert_eq!(guest.read(100, 64 << 10), [255; 64 << 10]);
    let honest = [(4096, modest), (8 << 20, long)].map(|(length, it)| (length, RefCell::new(it)));
    node.wait_until("the first of them is ended", |node| {
        for (length, connection) in &honest {
            let read = Request::Read { offset: 0, length: *length };
            connection.borrow_mut().ask(&read).unwrap();
        }
        node.log().contains("took and sent nothing")
    });
    let memory = node.status()["memory"].clone();
    let (held, part) = (&memory["connections_peak_bytes"], &memory["connections_bytes"]);
    assert!(held.as_u64() <= part.as_u64(), "{memory}");
    drop(crowd);
    node.stop();
}

/// A client that asked for the most and went, or ended its connection by breaking the protocol, held as much again each time it came, and was
/// charged for none of it.
#[test]
fn what_commands_hold_is_charged_until_they_end_whoever_has_gone() {
    const READS: u64 = 16;
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), &FLAGS);
    let held = |node: &Node| node.status()["memory"]["connections_held_bytes"].as_u64().unwrap();
    let limit = |limit| node.tell(&["image", "qos", "vol0", "--limit", limit]);
    succeed("qemu-io", &["-f", "raw", "-c", "write -P 3 0 16M", "-c", "flush", &node.uri("vol0")]);
    let reads = (0..READS).flat_map(|cookie| request_head(0, cookie, cookie * MIB, 1 << 20));
    let goes = [Connection::hello("vol0"), reads.collect()].concat();
    let errs = [&goes[..], &[0; 28]].concat();
    for says in [goes, errs] {
        limit("1");
        let stream = saying(&node.socket(), &says).unwrap();
        node.wait_until("it has asked", |node| held(node) >= (READS - 1) * MIB);
        drop(stream);
        node.wait_until("it has gone", |node| node.status()["connections"]["nbd"] == 0);
        assert!(held(&node) > READS / 2 * MIB, "{} bytes are held", held(&node));
        limit("0");
        node.wait_until("its commands have ended", |node| held(node) == 0);
    }
    node.stop();
}

/// The umask of whoever started the node decided who could read and write every image.
#[test]
fn sockets_have_the_mode_that_was_asked_for_and_their_folder_has_one_owner() {
    let folder = tempfile::tempdir().unwrap();
    let check = |umask: &str, flags: &[&str], mode: u32| {
        let dir = folder.path().join(format!("node{umask}{}", flags.len()));
        let script = format!("umask {umask}; exec \"$@\"");
        let shell = ["sh", "-c", script.as_str(), "sh"];
        let node = Node::start_under(&shell, &dir, &[&FLAGS[..], flags].concat());
        for socket in ["nbd.sock", "admin.sock"] {
            let is = dir.join(socket).metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(is, mode, "{socket} under umask {umask}: {is:o}");
        }
        // Whoever may write there could put a socket of his own in their place.
        let is = dir.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(is & 0o022, 0, "the folder under umask {umask}: {is:o}");
        node.stop();
    };
    check("000", &[], 0o600);
    check("022", &[], 0o600);
    check("077", &["--socket-mode", "0660"], 0o660);
}

#[test]
fn a_budget_that_is_too_small_is_refused_with_the_figure() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("node");
    let flags = ["serve", "--dir", text(&dir), "--memory", "256MiB", "--cache", "64MiB"];
    let done = crate::tools::output(crate::node::PROGRAM, &[&flags[..], &["--osds", "1"]].concat());
    assert_eq!(done.status.code(), Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("together 368 MiB"), "{}", done.stderr);
    assert!(!dir.exists(), "nothing was made");
}
