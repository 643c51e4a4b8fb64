//! Equal calls give equal answers, and what a closed loop must show whatever the model.

use crate::closed_loop::{Load, PLAIN, benchmark_limits, limited, published_drive, read, run};
use loadline_base::{Span, Time};
use loadline_device::cdl::AllowedLoss;
use loadline_sim::hdd::{Feature, Hdd, HddSpec};

fn mixed() -> Load {
    Load { depth: 32, shares: vec![(limited(2), 10), (limited(4), 20)], seconds: 30 }
}

#[test]
fn the_same_seed_gives_the_same_answers() {
    let [a, b] = [1, 1].map(|seed| run(published_drive(seed), &mixed(), 9));
    assert_eq!(a.finished, b.finished);
    assert_eq!(a.drive.statistics(), b.drive.statistics());
    let other = run(published_drive(2), &mixed(), 9);
    assert_ne!(a.finished, other.finished, "the arm rests elsewhere");
}

/// With nothing to lose, a drive is entitled to ignore guidelines: it answers as one whose limits are off.
#[test]
fn guidelines_without_allowed_loss_change_nothing() {
    let mut limits = benchmark_limits();
    limits.allowed_loss = AllowedLoss::from_code(0).unwrap();
    let mut entitled = published_drive(1);
    entitled.set_limits(limits, limits);
    let mut off = published_drive(1);
    off.set_feature(Feature::None);
    let [entitled, off] = [entitled, off].map(|drive| run(drive, &mixed(), 9));
    assert_eq!(entitled.finished, off.finished);
}

/// In a closed loop depth = rate × latency (Little). What the run cuts off at both ends are at most `depth` latencies of
/// thousands, and whole milliseconds are half of one short.
#[test]
fn depth_is_rate_times_latency() {
    for depth in [1, 4, 32] {
        let load = Load { depth, seconds: 60, ..mixed() };
        let run = run(published_drive(1), &load, 9);
        let all: Vec<u64> = run.latencies.iter().flatten().copied().collect();
        let mean = all.iter().sum::<u64>() as f64 / all.len() as f64 + 0.5;
        let depth_seen = run.iops_total() * mean / 1000.0;
        assert!((depth_seen / f64::from(depth) - 1.0).abs() < 0.02, "{depth}: {depth_seen}");
    }
}

/// 10 % and 20 % of n commands have standard deviations of √(n·0.09) and √(n·0.16); five of them over at least 4000 commands
/// are 2.4 and 3.2 percentage points.
#[test]
fn the_shares_are_what_was_asked_for() {
    let run = run(published_drive(1), &mixed(), 9);
    const TEN: usize = 1;
    const TWENTY: usize = 2;
    let share = |share| run.iops(share) / run.iops_total();
    assert!((share(TEN) - 0.1).abs() < 0.024, "{}", share(TEN));
    assert!((share(TWENTY) - 0.2).abs() < 0.032, "{}", share(TWENTY));
}

/// The answers do not depend on when the world looks, as long as it looks in time.
#[test]
fn looking_more_often_changes_nothing() {
    let answers = |looks: u64| {
        let spec = HddSpec::built_in("hdd-22tb-cdl").expect("the program carries it");
        let mut drive = Hdd::new(spec, 1);
        let mut done = Vec::new();
        for id in 0..32 {
            let request = read(id * 4_000_000, PLAIN);
            drive.submit(Time::ZERO, id, &request);
        }
        while let Some(next) = drive.next_event() {
            let now = drive.now();
            for look in 1..looks {
                let between = next.since(now).nanos() * look / looks;
                drive.advance(now + Span::from_nanos(between), &mut done);
            }
            drive.advance(next, &mut done);
        }
        done
    };
    assert_eq!(answers(1), answers(7));
}
