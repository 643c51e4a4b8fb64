//! The NBD front with a store that costs nothing, beside qemu-nbd with its null driver: IOPS per second of the server's
//! processor time, driven by fio in turns: `cargo bench -p loadline-benches --bench nbd`. Needs fio and qemu-nbd;
//! `LOADLINE_BENCH_SECONDS` is the length of each round.
//!
//! Both servers are processes of their own, and their processor time is the kernel's account of it (`proc(5)`).

#![allow(clippy::disallowed_methods, reason = "a benchmark has no binary to read its settings")]

use loadline_host::{ConnId, ListenAt, Loop, LoopEvent, LoopOptions};
use loadline_wire::nbd::{
    CommandKind, ConnectionLimits, ExportCommand as Asked, ExportId, ExportInfo, ExportName,
    Exports, NbdReply, NbdSession, ReplyPayload, SessionOutbox,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// The server's allocator, as the `loadline` binary has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SIZE: u64 = 1 << 30;
const ROUNDS: usize = 3;
/// Set in the process that is the server.
const SERVE_AT: &str = "LOADLINE_BENCH_SERVE_AT";

fn main() {
    if let Ok(path) = std::env::var(SERVE_AT) {
        return serve(&PathBuf::from(path));
    }
    let seconds = std::env::var("LOADLINE_BENCH_SECONDS")
        .map_or(5, |text| text.parse::<u64>().expect("a number of seconds"));
    let folder = tempfile::tempdir().expect("a folder for sockets");
    println!(
        "4 KiB through NBD at depth 64 to stores that cost nothing, {ROUNDS} rounds of {seconds} s"
    );
    for rw in ["randread", "randwrite"] {
        let mut speeds: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
        for round in 0..ROUNDS {
            for (who, speeds) in ["loadline", "qemu-nbd"].into_iter().zip(&mut speeds) {
                let socket = folder.path().join(format!("{who}-{rw}-{round}"));
                let Some(speed) = measure(who, &socket, rw, seconds) else {
                    return println!(
                        "no ratio: fio and qemu-nbd are needed (Debian: fio, qemu-utils)"
                    );
                };
                speeds.push(speed);
            }
        }
        let [ours, theirs] = speeds.map(median);
        println!("{rw:9} ratio of medians: {:.2} (to reach: 2)", ours / theirs);
    }
}

/// IOPS per second of the server's processor time.
fn measure(who: &str, socket: &Path, rw: &str, seconds: u64) -> Option<f64> {
    let mut server = start(who, socket).ok()?;
    let pid = server.id();
    while !socket.exists() {
        sleep(Duration::from_millis(20));
    }
    let before = cpu_seconds(pid);
    let iops = fio(socket, rw, seconds);
    let cpu = cpu_seconds(pid) - before;
    server.kill().expect("the server runs");
    server.wait().expect("the server ends");
    let iops = iops?;
    let each = iops * seconds as f64 / cpu;
    println!(
        "{rw:9} {who:9} {iops:9.0} IOPS, {cpu:5.2} s of processor, {each:9.0} ops per second of it"
    );
    Some(each)
}

fn start(who: &str, socket: &Path) -> std::io::Result<Child> {
    let mut command = match who {
        "loadline" => {
            let mut command = Command::new(std::env::current_exe()?);
            command.env(SERVE_AT, socket);
            command
        }
        _ => {
            let mut command = Command::new("qemu-nbd");
            command.args(["--persistent", "--format=raw", "--cache=none", "--shared=4"]);
            command.arg(format!("--socket={}", socket.display())).arg("null-co://");
            command
        }
    };
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

fn fio(socket: &Path, rw: &str, seconds: u64) -> Option<f64> {
    let output = Command::new("fio")
        .args(["--name=nbd", "--ioengine=nbd", "--bs=4k", "--iodepth=64", "--time_based"])
        .args(["--size=1g", "--output-format=json"])
        .arg(format!("--rw={rw}"))
        .arg(format!("--runtime={seconds}"))
        .arg(format!("--uri=nbd+unix:///?socket={}", socket.display()))
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    // fio's nbd engine says so on the standard output, before the report.
    let text = String::from_utf8(output.stdout).ok()?;
    let report: serde_json::Value = serde_json::from_str(&text[text.find('{')?..]).ok()?;
    report["jobs"][0][if rw == "randread" { "read" } else { "write" }]["iops"].as_f64()
}

fn median(mut speeds: Vec<f64>) -> f64 {
    speeds.sort_by(f64::total_cmp);
    speeds[speeds.len() / 2]
}

/// Processor time of a process in seconds (fields 14 and 15 of `stat`, in hundredths).
fn cpu_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("the server runs");
    let fields = stat.rsplit(')').next().expect("the name ends").split_whitespace();
    fields.skip(11).take(2).map(|field| field.parse::<f64>().expect("a number")).sum::<f64>()
        / 100.0
}

/// One export whose every command is answered at once.
struct Null;

impl Exports for Null {
    fn list(&self) -> Vec<ExportName> {
        vec![ExportName { name: "null".to_owned(), description: String::new() }]
    }

    fn find(&self, _: &str) -> Option<ExportInfo> {
        Some(ExportInfo {
            id: ExportId(0),
            name: "null".to_owned(),
            description: String::new(),
            size: SIZE,
            preferred_block: 4096,
            read_only: false,
            rotational: false,
            multi_conn: true,
            cache: false,
            fast_zero: false,
        })
    }
}

struct Connection {
    session: NbdSession,
    out: SessionOutbox,
    /// What the session could not take yet, since too many answers wait to be sent.
    unread: Vec<u8>,
}

impl Connection {
    /// Answers at once whatever was asked.
    fn go_on(&mut self, bytes: &[u8]) {
        if self.unread.is_empty() {
            let taken = self.session.receive(bytes, &Null, &mut self.out);
            self.unread.extend_from_slice(&bytes[taken..]);
        } else {
            self.unread.extend_from_slice(bytes);
            let taken = self.session.receive(&self.unread, &Null, &mut self.out);
            self.unread.drain(..taken);
        }
        for Asked { id, kind, length, .. } in std::mem::take(&mut self.out.commands) {
            let payload = match kind {
                CommandKind::Read => ReplyPayload::Data(vec![0; length as usize]),
                _ => ReplyPayload::Done,
            };
            self.session.finish(NbdReply { id, result: Ok(payload) }, &mut self.out);
        }
    }
}

/// The server, until it is killed.
fn serve(socket: &Path) {
    let mut world = Loop::<()>::new(LoopOptions::default()).expect("a loop can be made");
    world.listen(&ListenAt::Unix(socket.to_owned())).expect("the socket is free");
    let mut connections: BTreeMap<ConnId, Connection> = BTreeMap::new();
    let mut happenings = Vec::new();
    loop {
        world.turn(None, &mut happenings);
        for happening in happenings.drain(..) {
            let (conn, bytes) = match happening {
                LoopEvent::Accepted { conn, .. } => {
                    let mut out = SessionOutbox::default();
                    let session = NbdSession::new(ConnectionLimits::default(), &mut out);
                    connections.insert(conn, Connection { session, out, unread: Vec::new() });
                    (conn, Vec::new())
                }
                LoopEvent::Received { conn, bytes } => (conn, bytes),
                LoopEvent::Sent { conn, bytes, .. } => {
                    let Some(here) = connections.get_mut(&conn) else { continue };
                    here.session.sent(bytes as u64);
                    (conn, Vec::new())
                }
                LoopEvent::Ended { conn } => {
                    world.close(conn);
                    continue;
                }
                LoopEvent::Closed { conn, .. } => {
                    connections.remove(&conn);
                    continue;
                }
                _ => continue,
            };
            let Some(here) = connections.get_mut(&conn) else { continue };
            here.go_on(&bytes);
            here.out.send.drain(..).for_each(|buffer| world.send(conn, buffer));
            if here.unread.is_empty() {
                world.want(conn, 256 << 10);
            }
        }
    }
}
