//! How fast a log's statistics are made, and how many times as fast as by the script: `cargo bench -p loadline-benches --bench stats`.
//!
//! `LOADLINE_CDL_TOOLS` names the folder `benchmark` of the sources of cdl-tools, for the ratio; `LOADLINE_BENCH_LINES` the
//! length of our log. The script reads a log many times and sorts it, so it gets the start of ours, in turns with us;
//! the ratio is per byte, which flatters a script whose sort grows faster than its log.

#![allow(clippy::disallowed_methods, reason = "a benchmark has no binary to read its settings")]

use loadline_base::Rng;
use loadline_cdl::stats::{Collector, LogScope};
use rustix::time::{ClockId, clock_gettime};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const ROUNDS: usize = 5;
const SCRIPT_LINES: u64 = 200_000;

fn main() {
    let set = |name| std::env::var(name).ok();
    let lines =
        set("LOADLINE_BENCH_LINES").map_or(5_000_000, |text| text.parse().expect("a number"));
    let folder =
        tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the folder can be written");
    let (long, short) = (folder.path().join("long.log"), folder.path().join("short.log"));
    write_log(&long, lines);
    write_log(&short, SCRIPT_LINES);
    println!("{} MB in {lines} lines; {ROUNDS} rounds, one thread", bytes_of(&long) / 1e6);
    let tools = set("LOADLINE_CDL_TOOLS");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(read(&long));
        theirs.extend(tools.as_ref().map(|tools| script(Path::new(tools), &short)));
    }
    let wall = median(ours.iter().map(|(wall, _)| *wall).collect());
    let processor = median(ours.iter().map(|(_, processor)| *processor).collect());
    println!("ours    {wall:8.1} MB/s, {processor:.1} MB per second of processor (to reach: 500)");
    if theirs.is_empty() {
        return println!("no ratio: LOADLINE_CDL_TOOLS names no script");
    }
    let script = median(theirs);
    println!("script  {script:8.1} MB/s on the first {SCRIPT_LINES} lines");
    println!("ratio   {:8.1} per byte (to reach: 20)", wall / script);
}

/// A log like that of a disk at depth 32, faster so that its times have as many digits as those of a long one.
fn write_log(path: &Path, lines: u64) {
    let mut rng = Rng::new(1);
    let mut file = BufWriter::new(File::create(path).expect("the folder can be written"));
    let mut time_ms = 0;
    for _ in 0..lines {
        time_ms += 3 + rng.below(7);
        let (word, reach) = if rng.below(5) == 0 { (0x4008, 80_000_000) } else { (0, 450_000_000) };
        let latency_ns = 5_000_000 + rng.below(reach);
        writeln!(file, "{time_ms}, {latency_ns}, 0, 131072, {word:#06x}")
            .expect("the disk has room");
    }
    file.flush().expect("the disk has room");
}

fn bytes_of(path: &Path) -> f64 {
    fs::metadata(path).expect("the log is there").len() as f64
}

fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// MB per second of the clock and of the processor.
fn read(path: &Path) -> (f64, f64) {
    let (begin, processor) = (Instant::now(), thread_seconds());
    let mut collector = Collector::new(LogScope::default());
    collector.read(File::open(path).expect("the log is there")).expect("the log is whole");
    let mut text = Vec::new();
    collector.finish().write_text(&mut text).expect("memory takes everything");
    let megabytes = bytes_of(path) / 1e6;
    (megabytes / begin.elapsed().as_secs_f64(), megabytes / (thread_seconds() - processor))
}

/// MB per second.
fn script(tools: &Path, path: &Path) -> f64 {
    let begin = Instant::now();
    let mut command = Command::new("bash");
    let output = command.arg(tools.join("cdl_prio_stats.sh")).arg(path).output();
    assert!(output.expect("bash runs").status.success());
    bytes_of(path) / 1e6 / begin.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
