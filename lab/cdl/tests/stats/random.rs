//! Statistics of damaged logs: refused or not, they do no harm.

use crate::logs::samples;
use loadline_base::Rng;
use loadline_cdl::stats::{Collector, LogScope, fine_percentiles};

/// Returns whether the log was accepted.
fn feed(text: &[u8]) -> bool {
    let mut collector = Collector::new(LogScope { from_ms: 10, fine: true });
    if collector.read(text).is_err() {
        return false;
    }
    let statistics = collector.finish();
    statistics.write_text(&mut Vec::new()).expect("memory takes everything");
    statistics.write_terse(&mut Vec::new(), "1").expect("memory takes everything");
    for of in statistics.priorities.values() {
        let [found] = fine_percentiles(of, &[99.0])[..] else { panic!("one was asked for") };
        let (low, high) = found.interval_ns;
        assert!(low <= found.latency_ns && high.is_none_or(|high| found.latency_ns <= high));
    }
    true
}

/// Bytes changed at random, and the log cut anywhere.
#[test]
fn damaged_logs_are_harmless() {
    let whole = samples().into_iter().find(|sample| sample.name == "words").unwrap().text;
    let whole = &whole.as_bytes()[..1_000];
    let mut rng = Rng::new(3);
    let damaged = |_| {
        let mut bytes = whole[..1 + rng.below(999) as usize].to_vec();
        let place = rng.below(bytes.len() as u64) as usize;
        bytes[place] = [b'0', b',', b' ', b'\n', b'x', 0xff][rng.below(6) as usize];
        feed(&bytes)
    };
    let accepted = (0..1_000).map(damaged).filter(|accepted| *accepted).count();
    assert!((1..1_000).contains(&accepted), "{accepted} of 1000 accepted");
}

#[test]
fn every_sample_is_accepted() {
    for sample in samples() {
        assert!(feed(sample.text.as_bytes()), "{}", sample.name);
    }
}
