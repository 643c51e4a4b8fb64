//! What a JSON+ report says, beside the log of the same run: fio's own, kept by `loadline-fio`.

use loadline_cdl::stats::{Collector, LogScope, LogStatistics, NoLatencies, ReportDoubt};
use loadline_fio::FioReport;
use serde_json::{Value, json};

const REPORT: &str = include_str!("../../../fio/tests/data/fio-3.33.json");
const LOG: &str = include_str!("../../../fio/tests/data/fio-3.33_clat.log");

fn tell(report: &Value) -> Result<(LogStatistics, Vec<ReportDoubt>), NoLatencies> {
    let report = FioReport::read(report.to_string().as_bytes()).expect("a report");
    let mut collector = Collector::new(LogScope::default());
    let doubts = collector.report(&report)?;
    Ok((collector.finish(), doubts.into_iter().collect()))
}

fn fios() -> Value {
    serde_json::from_str(REPORT).expect("fio writes JSON")
}

/// fio's report of one run, with the job's options in the place of its own and, where there is none, no list of priorities.
fn alike(options: &Value) -> Value {
    let mut report = fios();
    report["jobs"][0]["job options"] = options.clone();
    for direction in ["read", "write"] {
        report["jobs"][0][direction].as_object_mut().expect("it").remove("prios");
    }
    report
}

/// The reader of reports had no caller: `cdl stats` took a report for a log.
#[test]
fn a_report_says_what_the_log_of_its_run_says() {
    let mut collector = Collector::new(LogScope::default());
    collector.read(LOG.as_bytes()).expect("a log");
    let log = collector.finish();
    let (report, doubts) = tell(&fios()).expect("it tells");
    assert_eq!(doubts, []);
    assert_eq!((report.ios, log.ios), (256, 256));
    let words = |of: &LogStatistics| of.priorities.keys().copied().collect::<Vec<_>>();
    assert_eq!(words(&report), words(&log));
    for (word, of) in &log.priorities {
        let theirs = &report.priorities[word];
        assert_eq!((theirs.ios(), theirs.bytes), (of.ios(), of.bytes), "{word:#06x}");
        assert_eq!(theirs.latencies.min(), of.latencies.min(), "{word:#06x}");
        assert_eq!(theirs.latencies.max(), of.latencies.max(), "{word:#06x}");
        // The middle of a bin is off by a 128th, and 4 ms by 31 µs: that may cross a whole millisecond.
        for (theirs, ours) in theirs.percentiles_ms().into_iter().zip(of.percentiles_ms()) {
            assert!(theirs.abs_diff(ours) <= 1, "{word:#06x}: {theirs} for {ours}");
        }
    }
}

/// Of one priority fio lists none.
#[test]
fn io_of_one_priority_has_that_of_the_jobs_options() {
    let check = |options: Value, wanted: &[u16], doubtful: bool| {
        let (told, doubts) = tell(&alike(&options)).expect("it tells");
        let words: Vec<u16> = told.priorities.keys().copied().collect();
        assert_eq!(words, wanted, "{options}");
        assert_eq!(told.priorities.values().map(|of| of.ios()).sum::<u64>(), 256);
        let doubt = ReportDoubt::Priority("sample".to_owned());
        assert_eq!(doubts.contains(&doubt), doubtful, "{options}: {doubts:?}");
    };
    check(json!({}), &[0], false);
    check(json!({ "prioclass": "3" }), &[0x6000], false);
    // The kernel takes a level without a class for one of best effort, and so does fio.
    check(json!({ "prio": "3", "priohint": "2" }), &[0x4013], false);
    let limit = json!({ "cmdprio_percentage": "100", "cmdprio_class": "2", "cmdprio_hint": "1" });
    check(limit, &[0x4008], false);
    check(json!({ "cmdprio_percentage": "100" }), &[0x2000], false);
    check(json!({ "cmdprio_percentage": "0,100" }), &[0, 0x2000], false);
    check(json!({ "cmdprio_percentage": "1" }), &[0], true);
    check(json!({ "cmdprio_bssplit": "4k/1/2/0/1" }), &[0], true);
    let mut global = alike(&json!({}));
    global["global options"] = json!({ "prioclass": "1" });
    let (told, _) = tell(&global).expect("it tells");
    assert_eq!(told.priorities.keys().copied().collect::<Vec<u16>>(), [0x2000]);
}

/// `lat_percentiles` and `unified_rw_reporting` put the same figures elsewhere.
#[test]
fn figures_are_found_wherever_fio_puts_them() {
    let mut report = fios();
    for of in report["jobs"][0]["read"]["prios"].as_array_mut().expect("two") {
        let latencies = of.as_object_mut().expect("one").remove("clat_ns").expect("its latencies");
        of["lat_ns"] = latencies;
    }
    assert_eq!(tell(&report).expect("it tells").0.priorities.len(), 2);
    let mut report = alike(&json!({}));
    let job = report["jobs"][0].as_object_mut().expect("a job");
    let read = job.remove("read").expect("reads");
    for direction in ["write", "trim"] {
        job.remove(direction);
    }
    job.insert("mixed".to_owned(), read);
    let (told, _) = tell(&report).expect("it tells");
    assert_eq!((told.ios, told.priorities[&0].ios()), (132, 132));
    let text = format!(
        "note: both iodepth >= 1 and synchronous I/O engine are selected\n{REPORT}\n\nmixed: (groupid=0)"
    );
    assert_eq!(FioReport::read(text.as_bytes()).expect("a report").jobs.len(), 1);
}

#[test]
fn what_a_report_leaves_open_is_told() {
    let mut report = fios();
    report["jobs"][0]["job options"]["bssplit"] = json!("4k/50:64k/50");
    report["jobs"][0]["error"] = json!(5);
    let second = report["jobs"][0].clone();
    report["jobs"].as_array_mut().expect("jobs").push(second);
    report["jobs"][1]["groupid"] = json!(1);
    let (told, doubts) = tell(&report).expect("it tells");
    assert_eq!(told.ios, 512);
    let failed = ReportDoubt::Failed("sample".to_owned(), 5);
    assert_eq!(doubts, [ReportDoubt::Sizes, ReportDoubt::Groups(2), failed]);
}

#[test]
fn a_report_without_figures_is_refused() {
    let refused = |report: &Value, wanted: NoLatencies| {
        assert_eq!(tell(report).map(|_| ()), Err(wanted));
    };
    refused(&json!({ "fio version": "fio-3.33" }), NoLatencies::NoJobs);
    refused(&json!({ "jobs": [{ "jobname": "idle" }] }), NoLatencies::NoIos);
    let mut report = alike(&json!({}));
    for direction in ["read", "write"] {
        report["jobs"][0][direction]["clat_ns"].as_object_mut().expect("it").remove("bins");
    }
    refused(&report, NoLatencies::NoBins);
    let damaged = || NoLatencies::Damaged("sample".to_owned());
    let with_bins = |bins: Value| {
        let mut report = alike(&json!({}));
        report["jobs"][0]["read"]["clat_ns"]["bins"] = bins;
        report
    };
    refused(&with_bins(json!({ "many": 3 })), damaged());
    refused(&with_bins(json!({ "5": u64::MAX, "7": 9 })), damaged());
    let mut report = fios();
    report["jobs"][0]["write"]["total_ios"] = json!(u64::MAX);
    refused(&report, damaged());
}
