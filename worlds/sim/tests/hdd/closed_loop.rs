//! The published load: 128 KiB random reads that keep a number of commands in the drive, some of them under a limit.

use loadline_base::{Bytes, Rng, Span, Time};
use loadline_device::cdl::{AllowedLoss, Descriptor, Limit, Limits, TimeoutPolicy, Unit};
use loadline_device::{ClassTag, Priority, PriorityClass, Request, RequestKind};
use loadline_sim::hdd::{Ending, Feature, FinishedCommand, Hdd, HddSpec};

/// How many commands are in the drive, what percentage of them has which priority word, and for how long. The rest has none.
pub(crate) struct Load {
    pub(crate) depth: u32,
    pub(crate) shares: Vec<(Priority, u64)>,
    pub(crate) seconds: u64,
}

/// The priority word that names a descriptor.
pub(crate) const fn limited(descriptor: u8) -> Priority {
    Priority::new(PriorityClass::BestEffort, 0).with_descriptor(descriptor)
}

/// The priority word of high NCQ priority.
pub(crate) const HIGH: Priority = Priority::new(PriorityClass::RealTime, 0);

/// The priority word of all other commands.
pub(crate) const PLAIN: Priority = Priority::new(PriorityClass::None, 0);

/// What a run gave.
pub(crate) struct Run {
    pub(crate) seconds: f64,
    /// Latencies in whole milliseconds, sorted: of plain commands, then of each share.
    pub(crate) latencies: Vec<Vec<u64>>,
    pub(crate) finished: Vec<FinishedCommand>,
    pub(crate) drive: Hdd,
}

impl Run {
    /// Commands of one share per second; share 0 are the plain ones.
    pub(crate) fn iops(&self, share: usize) -> f64 {
        self.latencies[share].len() as f64 / self.seconds
    }

    /// All commands per second.
    pub(crate) fn iops_total(&self) -> f64 {
        (0..self.latencies.len()).map(|share| self.iops(share)).sum()
    }

    /// The mean of the whole milliseconds.
    pub(crate) fn mean(&self, share: usize) -> f64 {
        let all = &self.latencies[share];
        all.iter().sum::<u64>() as f64 / all.len() as f64
    }

    /// The percentile as the published script takes it: the value at place ⌊n·p⌋, from 1.
    pub(crate) fn percentile(&self, share: usize, percent: f64) -> u64 {
        let all = &self.latencies[share];
        let place = (all.len() as f64 * percent / 100.0) as usize;
        all[place.max(1) - 1]
    }
}

/// The descriptors of the published runs: guidelines of 50, 100, 200, 300, 400, 500 ms and none, with 20 % to lose.
pub(crate) fn benchmark_limits() -> Limits {
    let mut limits =
        Limits { allowed_loss: AllowedLoss::from_code(0xc).unwrap(), ..Limits::default() };
    for (descriptor, time) in limits.descriptors.iter_mut().zip([5, 10, 20, 30, 40, 50]) {
        descriptor.unit = Unit::TenMilliseconds;
        descriptor.guideline = Limit { time, policy: TimeoutPolicy::CompleteEarliest };
    }
    limits
}

/// A descriptor with one guideline in units of 10 ms.
pub(crate) fn guideline(time: u16, policy: TimeoutPolicy) -> Descriptor {
    let guideline = Limit { time, policy };
    Descriptor { unit: Unit::TenMilliseconds, guideline, ..Descriptor::default() }
}

/// A read of 128 KiB.
pub(crate) fn read(block: u64, priority: Priority) -> Request {
    let (offset, length) = (block * BLOCK, Bytes::new(BLOCK));
    Request {
        kind: RequestKind::Read,
        offset,
        length,
        class: ClassTag(0),
        priority,
        duration_limit: None,
    }
}

/// Bytes of a read of the load.
pub(crate) const BLOCK: u64 = 128 << 10;

/// Runs a load on a drive. Commands that end within the first five seconds are not counted.
pub(crate) fn run(mut drive: Hdd, load: &Load, seed: u64) -> Run {
    const RAMP: Time = Time::from_secs(5);
    let end = RAMP + Span::from_secs(load.seconds);
    let mut source = Source { rng: Rng::new(seed), load, submitted: Vec::new() };
    for _ in 0..load.depth {
        source.submit(&mut drive, Time::ZERO);
    }
    let mut latencies = vec![Vec::new(); load.shares.len() + 1];
    let (mut finished, mut done) = (Vec::new(), Vec::new());
    while let Some(now) = drive.next_event().filter(|now| *now < end) {
        drive.advance(now, &mut done);
        for answer in done.drain(..) {
            assert_eq!(answer.at, now, "an answer comes at its time");
            let (at, share) = source.submitted[answer.id as usize];
            if now >= RAMP && answer.outcome == Ending::Good {
                latencies[share].push(now.since(at).nanos() / 1_000_000);
            }
            finished.push(answer);
            source.submit(&mut drive, now);
        }
    }
    latencies.iter_mut().for_each(|all| all.sort_unstable());
    Run { seconds: load.seconds as f64, latencies, finished, drive }
}

/// Draws commands and remembers them by their ids.
struct Source<'a> {
    rng: Rng,
    load: &'a Load,
    /// When each was submitted, and its share.
    submitted: Vec<(Time, usize)>,
}

impl Source<'_> {
    fn submit(&mut self, drive: &mut Hdd, now: Time) {
        let blocks = drive.spec().capacity().get() / BLOCK;
        let block = self.rng.below(blocks);
        let (share, priority) = self.share();
        drive.submit(now, self.submitted.len() as u64, &read(block, priority));
        self.submitted.push((now, share));
    }

    fn share(&mut self) -> (usize, Priority) {
        let mut chance = self.rng.below(100);
        for (index, (priority, percent)) in self.load.shares.iter().enumerate() {
            if chance < *percent {
                return (index + 1, *priority);
            }
            chance -= percent;
        }
        (0, PLAIN)
    }
}

/// The published drive with its published limits.
pub(crate) fn published_drive(seed: u64) -> Hdd {
    drive_of(HddSpec::built_in("hdd-22tb-cdl").expect("the program carries it"), seed)
}

/// A drive with the published limits.
pub(crate) fn drive_of(spec: HddSpec, seed: u64) -> Hdd {
    let mut drive = Hdd::new(spec, seed);
    drive.set_limits(benchmark_limits(), benchmark_limits());
    drive.set_feature(Feature::DurationLimits);
    drive
}
