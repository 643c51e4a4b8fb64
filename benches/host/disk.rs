//! 4 KiB random reads and writes at depth 64 through the loop, and by fio's io_uring engine on the same file, in
//! turns: `cargo bench -p loadline-benches --bench disk`. `LOADLINE_BENCH_DIR` chooses the folder,
//! `LOADLINE_BENCH_SECONDS` the length of each of the rounds.
//!
//! Both use direct I/O, registered buffers and registered files. The file is written whole first, since the first
//! write to a block that is only allocated costs the file system more than any later one.

#![allow(clippy::disallowed_methods, reason = "a benchmark has no binary to read its settings")]

use loadline_base::{Bytes, Rng, Span};
use loadline_device::{ClassTag, Outcome, Priority, Request, RequestKind};
use loadline_host::{Direct, DiskOpen, Loop, LoopEvent, LoopOptions};
use std::path::{Path, PathBuf};
use std::process::Command;

const SIZE: Bytes = Bytes::from_mib(1024);
const BLOCK: u64 = 4096;
const DEPTH: usize = 64;
const ROUNDS: usize = 3;

/// What one run did: requests per second, and processor time for each.
#[derive(Clone, Copy)]
struct Speed {
    iops: f64,
    cpu_us: f64,
}

fn main() {
    let set = |name| std::env::var(name).ok();
    let place = set("LOADLINE_BENCH_DIR").unwrap_or(env!("CARGO_TARGET_TMPDIR").into());
    let seconds = set("LOADLINE_BENCH_SECONDS").map_or(5, |text| text.parse().expect("a number"));
    let folder = tempfile::tempdir_in(&place).expect("the folder can be written");
    let path = folder.path().join("disk");
    fill(&path);
    println!("{place}, {SIZE}, {BLOCK} bytes, depth {DEPTH}, {ROUNDS} rounds of {seconds} s each");
    for (kind, name) in [(RequestKind::Read, "randread"), (RequestKind::Write, "randwrite")] {
        let mut ours = Vec::new();
        let mut fios = Vec::new();
        for round in 0..ROUNDS {
            ours.push(through_the_loop(&path, kind, seconds, round as u64));
            fios.extend(through_fio(&path, name, seconds));
        }
        tell(name, &ours, &fios);
    }
}

fn tell(name: &str, ours: &[Speed], fios: &[Speed]) {
    for (who, speeds) in [("loop", ours), ("fio", fios)] {
        for speed in speeds {
            println!("{name:9} {who:4} {:9.0} IOPS {:6.2} us CPU each", speed.iops, speed.cpu_us);
        }
    }
    if fios.is_empty() {
        return println!("{name:9} no ratio: fio is not installed or cannot run here");
    }
    let (ours, fios) = (median(ours), median(fios));
    println!(
        "{name:9} ratio of medians: IOPS {:.3} (to reach: 0.95), CPU {:.3}",
        ours.iops / fios.iops,
        ours.cpu_us / fios.cpu_us
    );
}

fn median(speeds: &[Speed]) -> Speed {
    let mut sorted = speeds.to_vec();
    sorted.sort_by(|a, b| a.iops.total_cmp(&b.iops));
    sorted[sorted.len() / 2]
}

/// Random requests at full depth for so many seconds, and the rest of the depth afterwards.
fn through_the_loop(path: &Path, kind: RequestKind, seconds: u64, seed: u64) -> Speed {
    let mut turns = Loop::<()>::new(LoopOptions::default()).expect("a loop can be made");
    let open = DiskOpen { direct: Direct::Yes, ..DiskOpen::existing(path) };
    let disk = turns.add_disk(open.open().expect("the disk opens")).expect("the disk is added");
    println!("          loop: {}, {}", turns.mode(), turns.disk(disk).mode());
    let mut rng = Rng::new(seed);
    let mut place = || rng.below(SIZE.get() / BLOCK) * BLOCK;
    let fresh = || if kind == RequestKind::Write { vec![0x5a; BLOCK as usize] } else { Vec::new() };
    for _ in 0..DEPTH {
        turns.submit(disk, 0, &request(kind, place(), BLOCK), fresh());
    }
    let (start, cpu) = (turns.now(), cpu_ticks());
    let end = start + Span::from_secs(seconds);
    let mut done = 0u64;
    let mut happened = Vec::new();
    while turns.in_flight(disk) > 0 {
        turns.turn(None, &mut happened);
        let goes_on = turns.now() < end;
        for happening in happened.drain(..) {
            let LoopEvent::DiskDone { outcome, data, .. } = happening else { continue };
            assert_eq!(outcome, Outcome::Done);
            done += 1;
            if goes_on {
                let data = if kind == RequestKind::Write { data } else { Vec::new() };
                turns.submit(disk, 0, &request(kind, place(), BLOCK), data);
            }
        }
    }
    let took = turns.now().since(start).as_secs_f64();
    Speed { iops: done as f64 / took, cpu_us: (cpu_ticks() - cpu) as f64 * 10_000.0 / done as f64 }
}

fn request(kind: RequestKind, offset: u64, length: u64) -> Request {
    Request {
        kind,
        offset,
        length: Bytes::new(length),
        class: ClassTag(0),
        priority: Priority::default(),
        duration_limit: None,
    }
}

/// Writes the whole file and makes it durable.
fn fill(path: &Path) {
    const PIECE: u64 = 4 << 20;
    let mut turns = Loop::<()>::new(LoopOptions::default()).expect("a loop can be made");
    let opened = DiskOpen::or_create(path, SIZE).open().expect("the disk is made");
    let disk = turns.add_disk(opened).expect("the disk is added");
    for piece in 0..SIZE.get() / PIECE {
        let write = request(RequestKind::Write, piece * PIECE, PIECE);
        turns.submit(disk, 0, &write, vec![0x5a; PIECE as usize]);
        while turns.in_flight(disk) > 4 {
            turns.turn(None, &mut Vec::new());
        }
    }
    while turns.in_flight(disk) > 0 {
        turns.turn(None, &mut Vec::new());
    }
    turns.submit(disk, 0, &request(RequestKind::Flush, 0, 0), Vec::new());
    turns.turn(None, &mut Vec::new());
}

/// fio's figures, if it is there.
fn through_fio(path: &Path, name: &str, seconds: u64) -> Option<Speed> {
    let file = PathBuf::from(path);
    let output = Command::new("fio")
        .args(["--name=peer", "--ioengine=io_uring", "--direct=1", "--bs=4k", "--iodepth=64"])
        .args(["--registerfiles", "--fixedbufs", "--time_based", "--output-format=json"])
        .arg(format!("--rw={name}"))
        .arg(format!("--runtime={seconds}"))
        .arg(format!("--size={}", SIZE.get()))
        .arg(format!("--filename={}", file.display()))
        .output()
        .ok()?;
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    let job = &report["jobs"][0];
    let side = &job[if name == "randread" { "read" } else { "write" }];
    let (iops, percent) =
        (side["iops"].as_f64()?, job["usr_cpu"].as_f64()? + job["sys_cpu"].as_f64()?);
    Some(Speed { iops, cpu_us: percent / 100.0 * 1e6 / iops })
}

/// Processor time of this process, its kernel threads for the ring included, in hundredths of a second
/// (`proc(5)`, fields 14 and 15 of `stat`).
fn cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux tells about us");
    let fields = stat.rsplit(')').next().expect("the name ends").split_whitespace();
    fields.skip(11).take(2).map(|field| field.parse::<u64>().expect("a number")).sum()
}
