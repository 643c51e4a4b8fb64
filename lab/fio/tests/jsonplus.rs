//! The JSON+ report of fio 3.33 for 256 random reads and writes of which a fifth had real-time priority, and its log of their
//! completion latencies (`tests/data/`; name of the file and the time of day exchanged).

use loadline_device::PriorityClass;
use loadline_fio::{
    Direction, FioReport, LatencyBins, LatencyLogReader, LatencySummary, LogPriority,
};

const REPORT: &str = include_str!("data/fio-3.33.json");
const LOG: &str = include_str!("data/fio-3.33_clat.log");

/// Counts the latencies of the log that were logged in this direction with these classes.
fn counted(direction: Direction, classes: &[PriorityClass]) -> LatencySummary {
    let mut bins = LatencyBins::new();
    let mut log = LatencyLogReader::new(LOG.as_bytes());
    while let Some(line) = log.next_line().expect("fio writes whole lines") {
        let LogPriority::Word(priority) = line.priority else { panic!("written with log_prio=1") };
        if line.direction == direction && classes.contains(&priority.class()) {
            bins.record(line.value);
        }
    }
    bins.summary()
}

/// Extremes, percentiles and bins are fio's own. Mean and deviation come with six decimals; each side's recurrence rounds
/// a few times per sample, by 1.1e-16 of values below 4.3e6 ns: 1e-6 covers a thousand roundings and the last decimal.
fn check(ours: &LatencySummary, fios: &LatencySummary) {
    let without_moments =
        |of: &LatencySummary| LatencySummary { mean: 0.0, stddev: 0.0, ..of.clone() };
    assert_eq!(without_moments(ours), without_moments(fios));
    assert!((ours.mean - fios.mean).abs() <= 1e-6, "{} for {}", ours.mean, fios.mean);
    assert!((ours.stddev - fios.stddev).abs() <= 1e-6, "{} for {}", ours.stddev, fios.stddev);
}

#[test]
fn latencies_are_counted_as_fio_counts_them() {
    let report = FioReport::read(REPORT.as_bytes()).expect("fio wrote it");
    let [job] = &report.jobs[..] else { panic!("one job ran") };
    let (plain, urgent) = (PriorityClass::None, PriorityClass::RealTime);
    check(&counted(Direction::Read, &[plain, urgent]), &job.read.clat_ns);
    check(&counted(Direction::Write, &[plain, urgent]), &job.write.clat_ns);
    let [low, high] = &job.read.prios[..] else { panic!("two priorities read") };
    assert_eq!((low.prioclass, high.prioclass), (0, 1));
    check(&counted(Direction::Read, &[plain]), &low.clat_ns);
    check(&counted(Direction::Read, &[urgent]), &high.clat_ns);
}

#[test]
fn a_report_keeps_its_figures_when_written() {
    let report = FioReport::read(REPORT.as_bytes()).expect("fio wrote it");
    assert_eq!(report.version, "fio-3.33");
    let job = &report.jobs[0];
    assert_eq!((job.read.total_ios, job.read.io_kbytes, job.read.iops), (132, 528, 6000.0));
    assert_eq!(job.options.0[6], ("bs".to_owned(), "4k".to_owned()));
    let mut written = Vec::new();
    report.write(&mut written).expect("memory takes everything");
    assert_eq!(FioReport::read(&written[..]).expect("ours"), report);
    assert!(FioReport::read(&b"fio: none"[..]).is_err());
}

/// Every key that fio writes at the top, of a job and of a direction is written by us too, in fio's order.
#[test]
fn keys_are_fios() {
    let report = FioReport::read(REPORT.as_bytes()).expect("fio wrote it");
    let mut written = Vec::new();
    report.write(&mut written).expect("memory takes everything");
    let keys = |text: &str, depth: usize| -> Vec<String> {
        let indent = " ".repeat(2 * depth);
        let lines = text.lines().filter_map(|line| line.strip_prefix(&indent)?.strip_prefix('"'));
        lines.filter_map(|line| Some(line.split_once('"')?.0.to_owned())).collect()
    };
    let ours = String::from_utf8(written).expect("JSON is text");
    for depth in [1, 3, 4] {
        assert_eq!(keys(&ours, depth), keys(REPORT, depth), "depth {depth}");
    }
}
