//! Everything at once: random commands of all kinds under random descriptors on a drive with faults, with and without cache.

use crate::closed_loop::{BLOCK, HIGH, PLAIN, benchmark_limits, limited};
use crate::policies::drain;
use loadline_base::{Bytes, Rng, Span, Time};
use loadline_device::cdl::{Limit, Limits, TimeoutPolicy, Unit};
use loadline_device::{ClassTag, Request, RequestKind};
use loadline_sim::hdd::{Ending, Feature, FinishedCommand, Hdd, HddSpec, SECTOR};

const COMMANDS: u64 = 2_000;
/// Blocks that are used, so that commands meet bad sectors and each other.
const BLOCKS: u64 = 200;

fn drive(rng: &mut Rng) -> Hdd {
    let spec = HddSpec::built_in("hdd-22tb-cdl").expect("the program carries it");
    let cached_writes = [0, 4, 64][rng.below(3) as usize];
    let tags = [1, 8, 32][rng.below(3) as usize];
    let mut drive = Hdd::new(HddSpec { cached_writes, tags, ..spec }, rng.next_u64());
    drive.set_feature(match rng.below(3) {
        0 => Feature::None,
        1 => Feature::NcqPriority { loss_percent: 5 },
        _ => Feature::DurationLimits,
    });
    drive.set_limits(random_limits(rng), random_limits(rng));
    for _ in 0..5 {
        let at = rng.below(BLOCKS) * BLOCK / SECTOR;
        drive.make_slow(at..at + 100, 1 + rng.below(20) as u32);
        let at = rng.below(BLOCKS) * BLOCK / SECTOR;
        drive.make_unreadable(at..at + 8);
    }
    drive
}

fn random_limits(rng: &mut Rng) -> Limits {
    let mut limits = benchmark_limits();
    for descriptor in &mut limits.descriptors {
        let mut limit = || Limit {
            time: rng.below(20) as u16,
            policy: TimeoutPolicy::ALL[rng.below(6) as usize],
        };
        descriptor.unit = Unit::TenMilliseconds;
        (descriptor.inactive, descriptor.active, descriptor.guideline) =
            (limit(), limit(), limit());
    }
    limits
}

fn command(rng: &mut Rng) -> Request {
    let kind = match rng.below(20) {
        0 => RequestKind::Flush,
        1 => RequestKind::Discard,
        2..10 => RequestKind::Write,
        _ => RequestKind::Read,
    };
    let priority = match rng.below(3) {
        0 => PLAIN,
        1 => HIGH,
        _ => limited(1 + rng.below(7) as u8),
    };
    let (offset, length) = match kind {
        RequestKind::Flush => (0, Bytes::ZERO),
        _ => (rng.below(BLOCKS) * BLOCK, Bytes::new(BLOCK * (1 + rng.below(3)))),
    };
    Request { kind, offset, length, class: ClassTag(0), priority, duration_limit: None }
}

/// Bursts with pauses between them; returns every answer.
fn live(seed: u64) -> (Vec<FinishedCommand>, Hdd) {
    let mut rng = Rng::new(seed);
    let mut drive = drive(&mut rng);
    let (mut now, mut done) = (Time::ZERO, Vec::new());
    for id in 0..COMMANDS {
        let burst = rng.below(10) > 0;
        now += Span::from_micros(rng.below(if burst { 500 } else { 200_000 }));
        while let Some(next) = drive.next_event().filter(|next| *next <= now) {
            drive.advance(next, &mut done);
        }
        drive.submit(now, id, &command(&mut rng));
    }
    done.extend(drain(&mut drive));
    (done, drive)
}

#[test]
fn every_command_is_answered_once_and_in_the_order_of_time() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..60 {
        let (done, drive) = live(seed);
        seen.extend(done.iter().map(|answer| answer.outcome));
        assert!(done.is_sorted_by_key(|answer| answer.at), "seed {seed}");
        let mut ids: Vec<u64> = done.iter().map(|answer| answer.id).collect();
        ids.sort_unstable();
        assert!(ids.iter().copied().eq(0..COMMANDS), "seed {seed}");
        let counts = drive.statistics();
        let ended: u64 = counts.reads.iter().chain(&counts.writes).map(|set| set.ended).sum();
        let told = |answer: &&FinishedCommand| {
            !matches!(answer.outcome, Ending::Good | Ending::MediaError)
        };
        assert_eq!(ended, done.iter().filter(told).count() as u64, "seed {seed}");
        assert_eq!(live(seed).0, done, "seed {seed} is the same again");
    }
    assert_eq!(seen.len(), 6, "every ending was met: {seen:?}");
}
