//! What goes beyond the script: several logs, a later begin, finer percentiles.

use crate::script::statistics;
use loadline_base::Rng;
use loadline_cdl::stats::{Collector, Decimal, LogScope, fine_percentiles};

/// Two jobs that ran side by side, one of them longer.
#[test]
fn logs_side_by_side_add_up() {
    let first = "10, 1000000, 0, 4096, 0x0000\n2000, 5000000, 0, 4096, 0x4008\n";
    let second = "20, 3000000, 0, 4096, 0x0000\n1000, 7000000, 0, 4096, 0x0000\n";
    let mut collector = Collector::new(LogScope::default());
    collector.read(first.as_bytes()).unwrap();
    collector.read(second.as_bytes()).unwrap();
    let merged = collector.finish();
    assert_eq!((merged.ios, merged.runtime_ms), (4, 2_000));
    let plain = &merged.priorities[&0];
    assert_eq!((plain.ios(), plain.bytes, plain.latencies.max()), (3, 3 * 4_096, Some(7)));
    assert_eq!(merged.share(plain).to_string(), "75.00");
    assert_eq!(merged.iops(plain), Decimal { over: 3_000, under: 2_000, decimals: 1 });
}

/// Block sizes of 19 digits are read, and two of them were once added up to a small number.
#[test]
fn a_sum_of_bytes_does_not_begin_anew() {
    let line = "10, 1000000, 0, 9999999999999999999, 0x0000\n";
    let mut collector = Collector::new(LogScope::default());
    collector.read(line.repeat(2).as_bytes()).unwrap();
    collector.read(line.as_bytes()).unwrap();
    assert_eq!(collector.finish().priorities[&0].bytes, u64::MAX);
}

/// Of a log whose times go back the last line's time says little: 180,750 reads were told for each second.
#[test]
fn a_log_that_goes_back_in_time_is_told_with_its_line() {
    let read = |times: &[u64]| {
        let lines = times.iter().map(|time| format!("{time}, 1000000, 0, 4096, 0x0000\n"));
        let text: String = lines.collect();
        Collector::new(LogScope::default()).read(text.as_bytes()).unwrap().goes_back_in
    };
    assert_eq!(read(&[10, 10, 20, 5000]), None);
    assert_eq!(read(&[10, 5000, 3, 2]), Some(3));
}

#[test]
fn a_later_begin_leaves_out_what_ended_before() {
    let text = "10, 1000000, 0, 4096, 0x0000\n500, 5000000, 0, 4096, 0x0000\n1500, 9000000, 0, 4096, 0x0000\n";
    let mut collector = Collector::new(LogScope { from_ms: 500, fine: false });
    collector.read(text.as_bytes()).unwrap();
    let late = collector.finish();
    assert_eq!(
        (late.ios, late.runtime_ms, late.priorities[&0].latencies.min()),
        (2, 1_000, Some(5))
    );
    assert_eq!(statistics(text).iops(&statistics(text).priorities[&0]).to_string(), "2.0");
    assert_eq!(late.iops(&late.priorities[&0]).to_string(), "2.0");
}

/// Latencies drawn evenly from 0 to 100 ms: the true percentile p is p ms. Of 400 logs the share of intervals that hold it must be at least 95 %,
/// less four standard deviations of a count with that chance, √(0.95 x 0.05 / 400). The ranks are whole numbers, so it may be more: of many lines by
/// at most the weight of two of them, which for p90 of 1000 is 2 x 0.042. Of 50 lines 61 % have none beyond their p99, and of 1000 the same for p99.95.
#[test]
fn an_interval_holds_the_true_percentile_as_often_as_it_says() {
    let mut rng = Rng::new(9);
    for (lines, percent, most) in
        [(1_000, 90.0, 0.95 + 2.0 * 0.042), (50, 99.0, 1.0), (1_000, 99.95, 1.0)]
    {
        let mut held = 0;
        for _ in 0..400 {
            let text: String = (0..lines)
                .map(|n| format!("{n}, {}, 0, 4096, 0x0000\n", rng.below(100_000_000)))
                .collect();
            let mut collector = Collector::new(LogScope { from_ms: 0, fine: true });
            collector.read(text.as_bytes()).unwrap();
            let [found] = fine_percentiles(&collector.finish().priorities[&0], &[percent])[..]
            else {
                panic!("one percentile was asked for")
            };
            let (low, high) = found.interval_ns;
            let high = high.unwrap_or(u64::MAX);
            assert!(low <= found.latency_ns && found.latency_ns <= high);
            held += u32::from((low..=high).contains(&((percent * 1e6) as u64)));
        }
        let share = f64::from(held) / 400.0;
        let tolerance = 4.0 * (0.95f64 * 0.05 / 400.0).sqrt();
        assert!(share >= 0.95 - tolerance, "{share} at {percent} of {lines}");
        assert!(share <= most + tolerance, "{share} at {percent} of {lines}");
    }
}
