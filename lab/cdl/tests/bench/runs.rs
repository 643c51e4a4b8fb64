//! What a run leaves: the scripts' tree, logs that add up, the same bytes for the same seed, and what can be continued.

use super::{asked, drive, run};
use loadline_cdl::bench::BenchOptions;
use loadline_cdl::{BenchFolder, of_log};
use loadline_device::cdl::{DescriptorPage, Limit, ModePage, TimeoutPolicy};
use loadline_fio::FioReport;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

/// Every file below a folder with its bytes.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the run") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(root).expect("it lies below").display().to_string();
                found.insert(name, fs::read(&path).expect("a file of the run"));
            }
        }
    }
    found
}

#[test]
fn a_run_leaves_the_tree_of_the_scripts_and_the_same_bytes_on_any_number_of_cores() {
    let place = tempfile::tempdir().unwrap();
    let (one, two) = (place.path().join("one"), place.path().join("two"));
    let heard = run(&asked(), drive(), &one, 1).unwrap();
    assert_eq!(heard[..3], ["Running baseline workload", "QD=1 kept=false", "QD=16 kept=false"]);
    let begun = |line: &&String| line.starts_with("Running");
    assert_eq!(heard.iter().filter(begun).count(), 4, "each workload is told once: {heard:?}");
    assert_eq!(run(&asked(), drive(), &two, 3).unwrap(), heard);
    let found = files(&one);
    assert!(found == files(&two), "the same seed gives the same bytes");
    let mut wanted = vec!["bench.json".to_owned(), "bench.lock".to_owned()];
    for workload in ["baseline", "ncqprio", "cdlsingle", "cdlmulti"] {
        for depth in [1, 16] {
            let names = [
                "fio.log",
                "fio.json",
                "randread.log_lat.log",
                "randread.log_clat.log",
                "randread.log_slat.log",
            ];
            wanted.extend(names.map(|name| format!("{workload}/{depth}/{name}")));
        }
        if workload.starts_with("cdl") {
            wanted.push(format!("{workload}/cdl_descriptors"));
        }
    }
    wanted.sort();
    assert_eq!(found.keys().cloned().collect::<Vec<_>>(), wanted);
}

/// In a closed loop mean latency times rate is the depth. Off it are: the ends, where fewer reads are under way or were
/// begun before the ramp was over, of 60 s twice a longest latency (0.02 s at depth 1, 0.5 s at 16; 0.1 % and 1.7 %); half
/// a millisecond that is cut off each latency (of 12 ms and 115 ms; 4.2 % and 0.4 %); and up to 0.1 IOPS that is cut off
/// the rate of each of three kinds (of 80 and 140; 0.4 % and 0.2 %).
#[test]
fn logs_add_up() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("run");
    run(&asked(), drive(), &root, 2).unwrap();
    for workload in ["baseline", "ncqprio", "cdlsingle", "cdlmulti"] {
        for (depth, tolerance) in [(1u32, 0.047), (16, 0.023)] {
            let step = root.join(workload).join(depth.to_string());
            let classes = of_log(&step.join("randread.log_lat.log")).unwrap();
            let reads: u64 = classes.iter().map(|class| class.reads).sum();
            let rate: f64 = classes.iter().map(|class| class.iops).sum();
            let latency: f64 =
                classes.iter().map(|class| class.mean_ms * class.reads as f64).sum::<f64>();
            let in_flight = rate * latency / reads as f64 / 1000.0;
            let off = (in_flight / f64::from(depth) - 1.0).abs();
            assert!(off < tolerance, "{workload}, QD={depth}: {in_flight} in flight");
            check_text(&step, reads);
        }
    }
}

/// The lines are `ms, ns, 0, bytes, priority`, total latency is the sum of its parts, and fio's output and its report
/// count the same reads.
fn check_text(step: &Path, reads: u64) {
    let log = |name: &str| {
        let text = fs::read_to_string(step.join(format!("randread.log_{name}.log"))).unwrap();
        let fields = |line: &str| line.split(", ").map(str::to_owned).collect::<Vec<_>>();
        text.lines().map(fields).collect::<Vec<_>>()
    };
    let (lat, clat, slat) = (log("lat"), log("clat"), log("slat"));
    assert_eq!((lat.len() as u64, clat.len(), slat.len()), (reads, lat.len(), lat.len()));
    let mut last = 0;
    for ((whole, part), rest) in lat.iter().zip(&clat).zip(&slat) {
        let number = |text: &String| text.parse::<u64>().expect("a number");
        assert_eq!(number(&whole[1]), number(&part[1]) + number(&rest[1]));
        assert_eq!((whole[2].as_str(), whole[3].as_str()), ("0", "131072"));
        assert!(whole[4].starts_with("0x") && whole[4].len() == 6, "{whole:?}");
        assert!(number(&whole[0]) >= last, "reads are logged as they end");
        last = number(&whole[0]);
    }
    let text = fs::read_to_string(step.join("fio.log")).unwrap();
    let mut lines = text.lines();
    assert!(lines.next().is_some_and(|line| line.starts_with("fio --name=rndrd_qd")));
    assert_eq!(lines.next(), Some(""));
    let iops = reads * 1000 / last;
    assert!(text.contains(&format!("\n  read: IOPS={iops}, BW=")), "{text}");
    let report = FioReport::read(File::open(step.join("fio.json")).unwrap()).unwrap();
    let read = &report.jobs[0].read;
    assert_eq!((read.total_ios, read.runtime, read.clat_ns.samples), (reads, last, reads));
}

#[test]
fn finished_steps_are_kept_and_other_options_refused() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("run");
    let asked = BenchOptions { ncq_prio: false, cdl_multi: false, runtime: 5, ..asked() };
    run(&asked, drive(), &root, 2).unwrap();
    let before = files(&root);
    fs::remove_file(root.join("cdlsingle/1/fio.log")).unwrap();
    let touched = |path: &str| fs::metadata(root.join(path)).unwrap().modified().unwrap();
    let kept = touched("baseline/16/randread.log_lat.log");
    let heard = run(&asked, drive(), &root, 2).unwrap();
    assert_eq!(
        touched("baseline/16/randread.log_lat.log"),
        kept,
        "what is finished does not run again"
    );
    let depths: Vec<_> = heard.iter().filter(|line| line.starts_with("QD=")).collect();
    assert_eq!(depths, ["QD=1 kept=true", "QD=16 kept=true", "QD=1 kept=false", "QD=16 kept=true"]);
    assert!(files(&root) == before, "what is run again is the same");
    let other = BenchOptions { percentage: Some(10), ..asked };
    let refused = run(&other, drive(), &root, 2).unwrap_err();
    let says = "exists. Move it out of the way: it holds a run with other options (workloads)";
    assert!(refused.contains(says), "{refused}");
    fs::remove_file(root.join("bench.json")).unwrap();
    let refused = run(&other, drive(), &root, 2).unwrap_err();
    assert!(refused.contains("it holds no run that could be continued"), "{refused}");
}

/// Whoever continues a run finds descriptors and latencies as they were, though a full or a lost disk has emptied files. What
/// nobody can mend is named.
#[test]
fn what_an_interruption_has_damaged_is_mended_or_named() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("run");
    let asked = BenchOptions { ncq_prio: false, cdl_multi: false, runtime: 5, ..asked() };
    run(&asked, drive(), &root, 2).unwrap();
    let before = files(&root);
    fs::write(root.join("cdlsingle/cdl_descriptors"), "").unwrap();
    fs::remove_file(root.join("baseline/16/randread.log_lat.log")).unwrap();
    fs::write(root.join("cdlsingle/1/randread.log_lat.log"), "").unwrap();
    let heard = run(&asked, drive(), &root, 2).unwrap();
    let depths: Vec<_> = heard.iter().filter(|line| line.starts_with("QD=")).collect();
    assert_eq!(
        depths,
        ["QD=1 kept=true", "QD=16 kept=false", "QD=1 kept=false", "QD=16 kept=true"]
    );
    assert!(files(&root) == before, "what was damaged is as it was");
    let manifest = fs::read_to_string(root.join("bench.json")).unwrap();
    fs::write(root.join("bench.json"), &manifest[..manifest.len() / 2]).unwrap();
    let refused = run(&asked, drive(), &root, 2).unwrap_err();
    let says = "its bench.json is damaged, so nobody can tell whose run it holds";
    assert!(refused.contains(says), "{refused}");
}

/// A run that was ended before it had said what it is leaves nothing that is in the way of the next one.
#[test]
fn a_run_that_had_only_just_begun_begins_anew() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("run");
    let asked = BenchOptions {
        ncq_prio: false,
        cdl_single: false,
        cdl_multi: false,
        runtime: 1,
        ..asked()
    };
    fs::create_dir(&root).unwrap();
    let refused = run(&asked, drive(), &root, 2).unwrap_err();
    assert!(refused.contains("it holds no run that could be continued"), "{refused}");
    fs::write(root.join("bench.lock"), "").unwrap();
    fs::write(root.join("bench.json.draft"), "{ \"bs\"").unwrap();
    run(&asked, drive(), &root, 2).unwrap();
    assert!(!files(&root).contains_key("bench.json.draft"));
}

#[test]
fn one_run_at_a_time_is_at_work_in_a_folder() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("run");
    let first = BenchFolder::begin(&root, "{}").unwrap();
    let refused = BenchFolder::begin(&root, "{}").unwrap_err().to_string();
    assert!(refused.contains("another benchmark, or a fio that one has left behind"), "{refused}");
    drop(first);
    BenchFolder::begin(&root, "{}").unwrap();
}

/// Every read is limited to 50 ms from its arrival, and sixteen wait for each other; the first abort ends the run as it
/// would end fio.
#[test]
fn a_read_that_the_drive_aborts_ends_the_run() {
    let place = tempfile::tempdir().unwrap();
    let asked = BenchOptions {
        baseline: false,
        ncq_prio: false,
        cdl_multi: false,
        percentage: Some(100),
        ..asked()
    };
    let mut limits = *DescriptorPage::BENCHMARK_T2A.limits();
    limits.descriptors[0].guideline = Limit { time: 5, policy: TimeoutPolicy::Abort };
    let reads = DescriptorPage::new(ModePage::T2A, limits).expect("the page is sound");
    let drive = super::Modelled { reads, ..drive() };
    let error = run(&asked, drive, &place.path().join("run"), 1).unwrap_err();
    assert!(error.contains("cdlsingle, QD=16: the drive ended a read after"), "{error}");
    assert!(error.contains("s: its time ran out "), "in words: {error}");
    assert!(error.ends_with("as those of its own T2A page"), "{error}");
}
