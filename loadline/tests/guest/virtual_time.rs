//! Virtual time through the kernel, where scripts/time-travel-kernel has made one that lets its time be kept.

use crate::limits::UPLOAD_BENCHMARK;
use crate::{Boot, Booted};
use std::env::var_os;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

const CDL: &str = concat!("--share=", env!("CARGO_MANIFEST_DIR"), "/../drives/cdl");

/// Some minutes of the benchmark in the guest, with the words of the same in the simulated world.
const BENCH: &str = "--outdir bench --ramptime 5 --runtime 120 --qds '1 32' --baseline --cdl-single --percentage 20 --dld 1";

/// `None`, with a line that says why, where there is no such kernel.
fn virtual_time() -> Option<Boot> {
    let boot = Boot::new()?.with("--virtual-time");
    let booted = boot.run(&["true"]);
    if booted.error().contains("scripts/time-travel-kernel") {
        eprintln!("skipped: {}", booted.error());
        return None;
    }
    booted.succeeded();
    Some(Boot::new()?.with("--virtual-time").with(CDL))
}

fn benched() -> Option<Booted> {
    let script = format!("{UPLOAD_BENCHMARK}\nloadline cdl bench --dev /dev/sda {BENCH} > said");
    Some(virtual_time()?.with("--time-limit=5min").script(&script).succeeded())
}

/// Eight minutes of reads through fio and the kernel, twice: every latency of every read is the same, and rates and
/// percentiles of each class are those of the simulated world, which knows neither.
#[test]
#[ignore = "boots kernels: make test-drive"]
fn the_benchmark_repeats_and_agrees_with_the_simulated_world() {
    let (Some(first), Some(second)) = (benched(), benched()) else { return };
    assert_eq!(first.drive()["counts"], second.drive()["counts"]);
    for step in ["baseline/1", "baseline/32", "cdlsingle/1", "cdlsingle/32"] {
        let log = |booted: &Booted| {
            fs::read(booted.file(&format!("bench/{step}/randread.log_lat.log"))).unwrap()
        };
        assert!(log(&first) == log(&second), "{step}: two runs of one seed differ");
    }
    let simulated = tempfile::tempdir().unwrap();
    let loadline = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
        command.arg("cdl").args(words).current_dir(simulated.path()).output().unwrap()
    };
    let depths = BENCH.replace("'1 32'", "1\t32");
    let words: Vec<&str> = depths.split(' ').collect();
    let benched = loadline(&[&["bench", "--dev", "sim:hdd-22tb-cdl"], &words[..]].concat());
    assert!(benched.status.success(), "{}", String::from_utf8_lossy(&benched.stderr));
    let guest = first.file("bench");
    let compared = loadline(&["compare", "bench", guest.to_str().unwrap(), "--within", "1"]);
    let text = String::from_utf8_lossy(&compared.stdout).into_owned();
    eprintln!("{text}");
    assert!(compared.status.success(), "{text}");
}

/// Debian's kernel does not know the word `time-travel` and keeps its own time: it gets no disk, and what would help is said.
#[test]
#[ignore = "boots kernels: make test-drive"]
fn a_kernel_that_keeps_its_own_time_is_turned_away() {
    let Some(boot) = Boot::new() else { return };
    let home = || Some(PathBuf::from(var_os("HOME")?).join(".cache"));
    let cache = var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home).expect("a home");
    let kernel = format!("--kernel={}", cache.join("loadline/guest/usr/bin/linux.uml").display());
    let booted = boot.with("--virtual-time").with(&kernel).run(&["true"]);
    let (said, text) = (booted.error(), booted.text());
    assert!(said.contains("CONFIG_UML_TIME_TRAVEL_SUPPORT"), "{said}");
    assert!(said.contains("the command ended with 125"), "{said}");
    assert!(text.contains("the guest's kernel has found no disk"), "{text}");
}
