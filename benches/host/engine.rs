//! The whole engine on one OSD file with one copy, beside fio with io_uring and direct I/O on a file of the same folder: 4 KiB
//! at depth 64, and the engine with mClock beside the engine without: `cargo bench -p loadline-benches --bench engine`.
//!
//! The load is in the process, as fio's is: `loadline/benches/node.rs` asks the same through NBD. Reads go to data of
//! which a sixteenth is in the cache. Writes are measured in turns with fio for as long as the rounds last, so that checkpoints are
//! in them; on both sides a write counts when the device has it (log mode `log-only`). `LOADLINE_BENCH_DIR` chooses the
//! folder, `LOADLINE_BENCH_SECONDS` the length of each round, `LOADLINE_BENCH_ROUNDS` their number.

#![allow(clippy::disallowed_methods, reason = "a benchmark has no binary to read its settings")]

mod direct_node;

use direct_node::{Node, NodeShape};
use loadline_osd::OpKind;
use std::path::PathBuf;
use std::process::Command;

const DEPTH: usize = 64;

fn main() {
    let set = |name| std::env::var(name).ok();
    let number = |name, or: u64| set(name).map_or(or, |text| text.parse().expect("a number"));
    let place = set("LOADLINE_BENCH_DIR").unwrap_or(env!("CARGO_TARGET_TMPDIR").into());
    let folder = tempfile::tempdir_in(&place).expect("a folder");
    let bench = Bench {
        folder: folder.path().to_owned(),
        seconds: number("LOADLINE_BENCH_SECONDS", 5),
        rounds: number("LOADLINE_BENCH_ROUNDS", 5),
    };
    println!(
        "{place}: 4 KiB at depth {DEPTH} on 1 GiB of data, medians of {} rounds of {} s in turns",
        bench.rounds, bench.seconds
    );
    if bench.fio("write", &["--bs=1m", "--end_fsync=1"]).is_none() {
        return println!("fio is needed (Debian: fio)");
    }
    for (kind, rw, cache) in [(OpKind::Read, "randread", 64), (OpKind::Write, "randwrite", 512)] {
        let shape = NodeShape {
            osds: 1,
            copies: 1,
            loops: 1,
            cache_mib: cache,
            osd_mib: 4096,
            scheduler: "mclock_scheduler",
            data: 1 << 30,
        };
        let on = Node::start(&bench.folder, "on", shape);
        let off = Node::start(&bench.folder, "off", NodeShape { scheduler: "fifo", ..shape });
        let [mut with, mut without, mut fio] = [const { Vec::new() }; 3];
        for _ in 0..bench.rounds {
            with.push(on.load(kind, DEPTH, bench.seconds).iops);
            fio.push(bench.fio(rw, &["--bs=4k", "--time_based"]).expect("fio runs"));
            without.push(off.load(kind, DEPTH, bench.seconds).iops);
        }
        let [with, without, fio] = [with, without, fio].map(median);
        println!(
            "{rw:9} mclock {with:7.0} IOPS, fifo {without:7.0}, fio {fio:7.0}; mclock to fio {:.3} (to reach: 0.85), \
             mclock to fifo {:.3} (to reach: 0.97)",
            with / fio,
            with / without
        );
    }
}

struct Bench {
    folder: PathBuf,
    seconds: u64,
    rounds: u64,
}

impl Bench {
    /// IOPS of one job on a plain file.
    fn fio(&self, rw: &str, flags: &[&str]) -> Option<f64> {
        let output = Command::new("fio")
            .args(["--name=bench", "--output-format=json", "--randrepeat=0", "--size=1g"])
            .args(["--ioengine=io_uring", "--direct=1", "--registerfiles", "--fixedbufs"])
            .args([format!("--iodepth={DEPTH}"), format!("--rw={rw}")])
            .arg(format!("--runtime={}", self.seconds))
            .arg(format!("--filename={}", self.folder.join("plain").display()))
            .args(flags)
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
        let job = &report["jobs"][0];
        let [read, write] = ["read", "write"].map(|side| job[side]["iops"].as_f64());
        Some(read? + write?)
    }
}

fn median(mut speeds: Vec<f64>) -> f64 {
    speeds.sort_by(f64::total_cmp);
    speeds[speeds.len() / 2]
}
