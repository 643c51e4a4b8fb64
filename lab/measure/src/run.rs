//! One measurement of one point: so many transfers in flight for so long, each replaced by another when it ends.

use crate::error::MeasureError;
use crate::plan::{Does, Point, TransferPattern};
use loadline_base::{Bytes, Rng, Span, Time};
use loadline_device::{ClassTag, Outcome, Priority, Request, RequestKind};
use loadline_host::{Clock, DiskId, Loop, LoopEvent};
use loadline_stats::{LatencyHistogram, warm_up_len};

/// The measured time is cut into so many parts, whose rates tell whether the drive was steady. Fewer than 55 always look so, since the
/// rule leaves none but the last five batches to be the best; of 200 with noise alone one run in seventeen does not.
const PARTS: u64 = 200;
/// Before it, the line fills and the drive settles for this share of the measured time, and until each of the first transfers has ended: they stood in
/// no line, and what ends among them waited for less than a full one.
const RAMP: u64 = 5;
/// But past that share for no longer than this, after which the kernel gives a command up.
const RAMP_MAX: Span = Span::from_secs(30);

/// What one measurement found.
#[derive(Clone, Debug)]
pub(crate) struct MeasureRun {
    /// Transfers per second.
    pub iops: f64,
    /// From handing a transfer to the loop until the loop answers.
    pub latency: LatencyHistogram,
    /// Processor time of each transfer, in microseconds.
    pub cpu_us: f64,
    /// Whether the rate settled.
    pub steady: bool,
}

/// The transfers of a point.
struct PointTransfers<'a> {
    point: &'a Point,
    region: Bytes,
    rng: Rng,
    next: u64,
    /// When each of the transfers in flight was handed in.
    since: Vec<Time>,
}

/// What happens to transfers as they end: nothing before the measured time, which begins when the ramp is over.
struct PointTally {
    time: Span,
    /// No sooner than this, and no later.
    ramp: (Time, Time),
    /// Which of the first transfers have not ended, by their tokens, and how many.
    first: Vec<bool>,
    first_left: usize,
    count: Option<Count>,
}

/// What is counted in the measured time.
struct Count {
    from: Time,
    until: Time,
    /// When the last transfer that counts ended, if none had ended in time.
    late: Option<Time>,
    latency: LatencyHistogram,
    parts: Vec<f64>,
    cpu_before: Option<Span>,
    cpu_after: Option<Span>,
}

/// Measures a point once.
pub(crate) fn run(
    world: &mut Loop<()>,
    disk: DiskId,
    point: &Point,
    region: Bytes,
    (time, seed): (Span, u64),
) -> Result<MeasureRun, MeasureError> {
    let mut tally = PointTally::new(world.now(), time, point.depth);
    let mut traffic = PointTransfers::new(point, region, seed);
    for token in 0..point.depth {
        traffic.submit(world, disk, u64::from(token), None);
    }
    let mut happened = Vec::new();
    while world.in_flight(disk) > 0 {
        world.turn(None, &mut happened);
        let now = world.now();
        for happening in happened.drain(..) {
            let LoopEvent::DiskDone { token, outcome, data, error, .. } = happening else {
                continue;
            };
            if outcome != Outcome::Done {
                drain(world, disk);
                return Err(MeasureError::Transfer(std::io::Error::from_raw_os_error(
                    error.unwrap_or_default(),
                )));
            }
            if tally.ended(now, token, traffic.since[token as usize]) {
                traffic.submit(world, disk, token, Some(data));
            }
        }
    }
    // A transfer that ends before the measured time is followed by another, so that it has begun.
    Ok(tally.count.map(Count::end).expect("the last transfer ends after the measured time"))
}

/// Waits for what is in flight.
fn drain(world: &mut Loop<()>, disk: DiskId) {
    while world.in_flight(disk) > 0 {
        world.turn(None, &mut Vec::new());
    }
}

/// Writes a region whole, so that no later transfer meets a hole, or a block that was never written. `tell` hears how
/// far it is and answers whether to go on. The answer is how many bytes there were in a second.
pub(crate) fn fill(
    world: &mut Loop<()>,
    disk: DiskId,
    region: Bytes,
    tell: &mut dyn FnMut(f64) -> bool,
) -> Result<f64, MeasureError> {
    let piece = Point {
        does: Does::Write,
        pattern: TransferPattern::Sequential,
        block: crate::plan::OBJECT,
        depth: 4,
    };
    let mut traffic = PointTransfers::new(&piece, region, 0);
    let pieces = region.get() / piece.block.get();
    let mut buffers: Vec<Vec<u8>> =
        (0..piece.depth).map(|_| noise(&mut traffic.rng, piece.block.get())).collect();
    let mut happened = Vec::new();
    let from = world.now();
    for number in 0..pieces {
        traffic.submit(world, disk, number % 4, buffers.pop());
        while world.in_flight(disk) > 3 || number + 1 == pieces && world.in_flight(disk) > 0 {
            world.turn(None, &mut happened);
        }
        let written = happened.iter_mut().filter_map(|happening| match happening {
            LoopEvent::DiskDone { data, .. } => Some(std::mem::take(data)),
            _ => None,
        });
        buffers.extend(written);
        if let Some(error) = failure(&mut happened) {
            drain(world, disk);
            return Err(error);
        }
        if !tell((number + 1) as f64 / pieces as f64) {
            drain(world, disk);
            return Err(MeasureError::Interrupted);
        }
    }
    let rate = region.get() as f64 / world.now().since(from).as_secs_f64();
    world.submit(disk, 0, &request(RequestKind::Flush, 0, 0), Vec::new());
    while world.in_flight(disk) > 0 {
        world.turn(None, &mut happened);
    }
    failure(&mut happened).map_or(Ok(rate), Err)
}

/// The first transfer that was not carried out, of those that have ended.
fn failure(happened: &mut Vec<LoopEvent<()>>) -> Option<MeasureError> {
    happened.drain(..).find_map(|happening| match happening {
        LoopEvent::DiskDone { outcome: Outcome::Failed | Outcome::NoSpace, error, .. } => {
            let error = std::io::Error::from_raw_os_error(error.unwrap_or_default());
            Some(MeasureError::Transfer(error))
        }
        _ => None,
    })
}

impl<'a> PointTransfers<'a> {
    fn new(point: &'a Point, region: Bytes, seed: u64) -> PointTransfers<'a> {
        let since = vec![Time::ZERO; point.depth as usize];
        PointTransfers { point, region, rng: Rng::new(seed), next: 0, since }
    }

    /// Hands one transfer in; `used` is the buffer of the one before it.
    fn submit(&mut self, world: &mut Loop<()>, disk: DiskId, token: u64, used: Option<Vec<u8>>) {
        let block = self.point.block.get();
        let places = self.region.get() / block;
        let place = match self.point.pattern {
            TransferPattern::Random => self.rng.below(places),
            TransferPattern::Sequential => self.next % places,
        };
        self.next += 1;
        let (kind, data) = match self.point.does {
            Does::Read => (RequestKind::Read, Vec::new()),
            Does::Write => {
                (RequestKind::Write, used.unwrap_or_else(|| noise(&mut self.rng, block)))
            }
        };
        self.since[token as usize] = world.now();
        world.submit(disk, token, &request(kind, place * block, block), data);
    }
}

/// Bytes that no drive can make smaller.
fn noise(rng: &mut Rng, length: u64) -> Vec<u8> {
    (0..length / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect()
}

fn request(kind: RequestKind, offset: u64, length: u64) -> Request {
    Request {
        kind,
        offset,
        length: Bytes::new(length),
        class: ClassTag(0),
        priority: Priority::default(),
        duration_limit: None,
    }
}

impl PointTally {
    fn new(now: Time, time: Span, depth: u32) -> PointTally {
        let least = time / RAMP;
        PointTally {
            time,
            ramp: (now + least, now + least.max(RAMP_MAX)),
            first: vec![true; depth as usize],
            first_left: depth as usize,
            count: None,
        }
    }

    /// A transfer that began at `since` has ended. Returns whether another is to follow.
    fn ended(&mut self, now: Time, token: u64, since: Time) -> bool {
        if let Some(count) = &mut self.count {
            count.take(now, since);
            return now < count.until;
        }
        if std::mem::take(&mut self.first[token as usize]) {
            self.first_left -= 1;
        }
        let (least, most) = self.ramp;
        if now >= least && (self.first_left == 0 || now >= most) {
            self.count = Some(Count::new(now, self.time));
        }
        true
    }
}

impl Count {
    fn new(from: Time, time: Span) -> Count {
        Count {
            from,
            until: from + time,
            late: None,
            latency: LatencyHistogram::new(),
            parts: vec![0.0; PARTS as usize],
            cpu_before: None,
            cpu_after: None,
        }
    }

    /// A transfer that began at `since` has ended.
    fn take(&mut self, now: Time, since: Time) {
        if now >= self.until {
            // A slow drive, or a busy one: the first answer ends the measurement, so that no rate is zero.
            if self.latency.count() == 0 {
                self.latency.record(now.since(since).nanos());
                self.late = Some(now);
            }
            self.cpu_after.get_or_insert_with(Clock::processor_time);
            return;
        }
        self.cpu_before.get_or_insert_with(Clock::processor_time);
        self.latency.record(now.since(since).nanos());
        let whole = self.until.since(self.from).nanos();
        let part = now.since(self.from).nanos() * PARTS / whole;
        self.parts[part as usize] += 1.0;
    }

    fn end(self) -> MeasureRun {
        let time = self.late.unwrap_or(self.until).since(self.from);
        let ended = self.latency.count();
        let cpu = self.cpu_before.zip(self.cpu_after).map_or(Span::ZERO, |(from, to)| to - from);
        MeasureRun {
            iops: ended as f64 / time.as_secs_f64(),
            cpu_us: cpu.nanos() as f64 / 1e3 / ended.max(1) as f64,
            steady: warm_up_len(&self.parts).is_some(),
            latency: self.latency,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts from 1 s to 2 s.
    fn counted(ended_ms: &[u64]) -> MeasureRun {
        let mut count = Count::new(Time::from_secs(1), Span::from_secs(1));
        for ms in ended_ms {
            let now = Time::ZERO + Span::from_millis(*ms);
            count.take(now, now - Span::from_millis(100));
        }
        count.end()
    }

    #[test]
    fn what_ends_within_the_time_is_counted_and_nothing_else() {
        let run = counted(&[1000, 1500, 1999, 2000, 2100]);
        assert_eq!((run.iops, run.latency.count(), run.latency.mean_ns()), (3.0, 3, 1e8));
    }

    /// A drive of 150 transfers a second with 256 in flight: each waits for all others, 1.71 s. The mean was 0.7 s, of the first that ended, which stood
    /// in no line; all later ones had not ended when the time was over.
    #[test]
    fn a_full_line_is_waited_for() {
        let at = |number: u64| Time::ZERO + Span::from_nanos(number * 1_000_000_000 / 150);
        let depth = 256;
        let mut tally = PointTally::new(Time::ZERO, Span::from_secs(1), depth as u32);
        let mut since = vec![Time::ZERO; depth as usize];
        let (mut served, mut in_flight) = (0, depth);
        while in_flight > 0 {
            let (now, token) = (at(served + 1), served % depth);
            if tally.ended(now, token, since[token as usize]) {
                since[token as usize] = now;
            } else {
                in_flight -= 1;
            }
            served += 1;
        }
        let run = tally.count.map(Count::end).unwrap();
        assert!(
            (run.latency.mean_ns() / 1e9 - 256.0 / 150.0).abs() < 1e-3,
            "{}",
            run.latency.mean_ns()
        );
        assert!((run.iops - 150.0).abs() <= 1.0, "{}", run.iops);
    }

    /// One that never ends is not waited for.
    #[test]
    fn the_first_transfers_are_waited_for_up_to_a_bound() {
        let mut tally = PointTally::new(Time::ZERO, Span::from_secs(1), 2);
        let second = |at| Time::from_secs(at);
        assert!((1..30).all(|at| tally.ended(second(at), 0, second(at - 1))));
        assert!(tally.count.is_none());
        assert!(tally.ended(second(30), 0, second(29)) && tally.count.is_some());
        assert!(!tally.ended(second(31), 0, second(30)), "a second is over");
    }

    /// Nothing ended in time: the first answer comes 3 s after the beginning, and the second one says nothing more.
    #[test]
    fn a_drive_slower_than_the_measurement_still_has_a_rate() {
        let run = counted(&[4000, 4100]);
        assert_eq!((run.iops, run.latency.count()), (1.0 / 3.0, 1));
    }

    #[test]
    fn a_rate_that_rises_to_the_end_is_not_steady() {
        let even: Vec<u64> = (1000..2000).step_by(5).collect();
        assert!(counted(&even).steady);
        let rising: Vec<u64> = (1000..2000).filter(|ms| *ms > 1600 || ms % 20 == 0).collect();
        assert!(!counted(&rising).steady);
    }
}
