//! A node on one OSD file with one copy, beside fio with io_uring and direct I/O on a file of the same folder, 4 KiB at
//! depth 64; and the node with its scheduler beside the node without: `cargo bench -p loadline --bench node`.
//!
//! The node is driven by fio's nbd engine, which shares the machine's processors with it; fio alone has them for itself.
//! Reads go to data that is in no cache. Writes: on both sides a write counts when the device has it (log mode
//! `log-only`, no flush), then when it is durable (`fsync`; fio with O_DSYNC). `LOADLINE_BENCH_DIR` chooses the
//! folder, `LOADLINE_BENCH_SECONDS` the length of each round.

#![allow(clippy::disallowed_methods, reason = "a benchmark has no binary to read its settings")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

const ROUNDS: usize = 3;
const DATA: &str = "1g";

fn main() {
    let set = |name| std::env::var(name).ok();
    let place = set("LOADLINE_BENCH_DIR").unwrap_or(env!("CARGO_TARGET_TMPDIR").into());
    let seconds = set("LOADLINE_BENCH_SECONDS").map_or(5, |text| text.parse().expect("a number"));
    let bench = Bench { folder: tempfile::tempdir_in(&place).expect("a folder"), seconds };
    println!(
        "{place}: 4 KiB at depth 64 on {DATA} of data, medians of {ROUNDS} rounds of {seconds} s"
    );
    let file = bench.folder.path().join("plain");
    if bench.on_file(&file, "write", &["--bs=1m", "--end_fsync=1"], None).is_none() {
        return println!("fio is needed (Debian: fio)");
    }
    bench.reads(&file);
    bench.writes(&file, "log-only", &[]);
    bench.writes(&file, "fsync", &["--sync=dsync"]);
    bench.scheduler();
}

struct Bench {
    folder: tempfile::TempDir,
    seconds: u64,
}

/// A node that runs until it is dropped.
struct Node {
    process: Child,
    dir: PathBuf,
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

impl Bench {
    fn reads(&self, file: &Path) {
        let node = self.node("reads", &["--cache=64MiB"]);
        let (ours, fios) = self.in_turns(
            || self.on_node(&node, "randread", &[]),
            || self.on_file(file, "randread", &["--bs=4k"], Some(self.seconds)),
        );
        tell("random reads", "node", ours, "fio", fios, "0.85");
    }

    fn writes(&self, file: &Path, mode: &str, flags: &[&str]) {
        let node = self.node("writes", &["--cache=512MiB", &format!("--log-mode={mode}")]);
        let flags: Vec<&str> = ["--bs=4k"].into_iter().chain(flags.iter().copied()).collect();
        let (ours, fios) = self.in_turns(
            || self.on_node(&node, "randwrite", &[]),
            || self.on_file(file, "randwrite", &flags, Some(self.seconds)),
        );
        tell(&format!("random writes, {mode}"), "node", ours, "fio", fios, "0.85");
    }

    fn scheduler(&self) {
        for rw in ["randread", "randwrite"] {
            let on = self.node("on", &["--cache=512MiB"]);
            let off = self.node("off", &["--cache=512MiB", "--scheduler=fifo"]);
            let (with, without) =
                self.in_turns(|| self.on_node(&on, rw, &[]), || self.on_node(&off, rw, &[]));
            tell(&format!("scheduler, {rw}"), "mclock", with, "fifo", without, "0.97");
        }
    }

    fn in_turns(
        &self,
        ours: impl Fn() -> Option<f64>,
        theirs: impl Fn() -> Option<f64>,
    ) -> (f64, f64) {
        let rounds = (0..ROUNDS).map(|_| (ours().expect("fio runs"), theirs().expect("fio runs")));
        let (ours, theirs): (Vec<f64>, Vec<f64>) = rounds.unzip();
        (median(ours), median(theirs))
    }

    /// A node with one OSD, whose image is written whole once.
    fn node(&self, name: &str, flags: &[&str]) -> Node {
        let dir = self.folder.path().join(name);
        let process = Command::new(env!("CARGO_BIN_EXE_loadline"))
            .args(["serve", "--osds=1", "--copies=1", "--size=4GiB", "--image=vol0=1GiB"])
            .args(["--log=warn"])
            .args(flags)
            .arg("--dir")
            .arg(&dir)
            .stdin(Stdio::null())
            .spawn()
            .expect("the node starts");
        while !dir.join("nbd.sock").exists() {
            sleep(Duration::from_millis(50));
        }
        let node = Node { process, dir };
        let filled = fio(&["--ioengine=nbd", "--iodepth=4", "--bs=1m", "--rw=write"], &node.uri());
        filled.expect("the image can be filled");
        node
    }

    fn on_node(&self, node: &Node, rw: &str, flags: &[&str]) -> Option<f64> {
        let (rw, runtime) = (format!("--rw={rw}"), format!("--runtime={}", self.seconds));
        let own = ["--ioengine=nbd", "--iodepth=64", "--bs=4k", "--time_based", &rw, &runtime];
        fio(&[&own[..], flags].concat(), &node.uri())
    }

    fn on_file(&self, file: &Path, rw: &str, flags: &[&str], runtime: Option<u64>) -> Option<f64> {
        let (rw, time) = (format!("--rw={rw}"), format!("--runtime={}", runtime.unwrap_or(0)));
        let own = ["--ioengine=io_uring", "--direct=1", "--iodepth=64", "--registerfiles"];
        let mut all = [&own[..], &[&rw, "--fixedbufs"], flags].concat();
        if runtime.is_some() {
            all.extend(["--time_based", &time]);
        }
        fio(&all, &format!("--filename={}", file.display()))
    }
}

impl Node {
    fn uri(&self) -> String {
        format!("--uri=nbd+unix:///vol0?socket={}/nbd.sock", self.dir.display())
    }
}

/// IOPS of one job.
fn fio(flags: &[&str], target: &str) -> Option<f64> {
    let size = format!("--size={DATA}");
    let output = Command::new("fio")
        .args(["--name=bench", "--output-format=json", "--randrepeat=0", &size])
        .args(flags)
        .arg(target)
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    // fio's nbd engine says so on the standard output, before the report.
    let text = String::from_utf8(output.stdout).ok()?;
    let report: serde_json::Value = serde_json::from_str(&text[text.find('{')?..]).ok()?;
    let job = &report["jobs"][0];
    let [read, write] = ["read", "write"].map(|side| job[side]["iops"].as_f64());
    Some(read? + write?)
}

fn tell(what: &str, ours: &str, left: f64, theirs: &str, right: f64, wanted: &str) {
    println!(
        "{what:26} {ours} {left:9.0} IOPS, {theirs} {right:9.0} IOPS, ratio {:.3} (to reach: {wanted})",
        left / right
    );
}

fn median(mut speeds: Vec<f64>) -> f64 {
    speeds.sort_by(f64::total_cmp);
    speeds[speeds.len() / 2]
}
