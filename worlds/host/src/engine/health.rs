//! What the node counts: its clients' ops and its recovery over the last seconds, and the slowest ops of late.

use super::client_times::{ClientTimes, OpSort};
use super::live::{LiveMeter, SecondEnd};
use crate::admin::api::{LiveImage, LiveSecond};
use loadline_base::{Span, Time};
use loadline_cluster::IssuedOp;
use loadline_cluster::images::{Image, ImageId};
use loadline_node::{LeftToRecover, RecoveryForecast};
use loadline_osd::{OpKind, Received, Reply};
use std::collections::{BTreeMap, VecDeque};

/// Seconds over which rates are averaged.
const SECONDS: usize = 5;
/// How many of the slowest ops are remembered.
const SLOWEST: usize = 20;
/// For how long.
const REMEMBERED: Span = Span::from_secs(600);

/// Ops and bytes of one second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SecondCounts {
    pub reads: u64,
    pub writes: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub recovered: Received,
    pub trimmed: u64,
    pub deleted: u64,
    pub over_limit: u64,
}

/// What all OSDs have done since they were made.
#[derive(Clone, Copy, Debug)]
pub(super) struct DoneSoFar {
    pub received: Received,
    pub over_limit: u64,
    pub trimmed: u64,
    pub deleted: u64,
}

/// What one image was served.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ImageServed {
    pub ops: u64,
    /// Ops that were open when the second began, and those that came in it.
    pub asked: u64,
    /// From arrival to reply, of all of them.
    pub took: Span,
    pub longest: Span,
}

impl ImageServed {
    /// Whether it got less in a second than the lesser of what it asked for and what it is promised, but for 5 %, and for what a twentieth
    /// of a second may leave open at its end.
    fn is_short(&self, promised: f64) -> bool {
        let owed = promised.min(self.asked as f64);
        (self.ops as f64) < owed * 0.95 - promised * 0.05
    }

    fn open(&self) -> u64 {
        self.asked.saturating_sub(self.ops)
    }
}

/// One second, of all images together and of each.
#[derive(Debug, Default)]
struct CountedSecond {
    counts: SecondCounts,
    images: BTreeMap<ImageId, ImageServed>,
}

/// The last whole seconds.
#[derive(Clone, Debug)]
pub(super) struct SecondRates {
    /// How many they are, at least 1.
    pub seconds: u64,
    counts: Vec<SecondCounts>,
}

impl SecondRates {
    /// The mean of a count.
    pub(super) fn per_second(&self, of: impl Fn(&SecondCounts) -> u64) -> f64 {
        self.counts.iter().map(of).sum::<u64>() as f64 / self.seconds as f64
    }
}

/// An op that has ended.
#[derive(Clone, Debug)]
pub(super) struct Past {
    pub issued: IssuedOp,
    pub reply: Reply,
}

impl Past {
    fn took(&self) -> Span {
        self.reply.answered.since(self.issued.issued)
    }
}

/// The counters.
#[derive(Debug, Default)]
pub(super) struct HealthMeter {
    present: CountedSecond,
    /// The oldest first.
    past: VecDeque<CountedSecond>,
    /// All that recovery had brought when the present second began.
    received: Received,
    /// All that the disks had ended for time then.
    over_limit: u64,
    /// All that had been trimmed then.
    trimmed: u64,
    /// All that had been deleted then.
    deleted: u64,
    slowest: Vec<Past>,
    times: ClientTimes,
    live: LiveMeter,
    recovery: RecoveryForecast,
}

impl HealthMeter {
    pub(super) fn replied(&mut self, issued: &IssuedOp, reply: &Reply) {
        let length = u64::from(issued.op.length);
        let took = reply.answered.since(issued.issued);
        let image = ImageId::of(issued.op.object).0;
        let sort = match issued.op.kind {
            OpKind::Read | OpKind::ReadAt(_) => {
                self.present.counts.reads += 1;
                self.present.counts.read_bytes += length;
                Some(OpSort::Read)
            }
            OpKind::Write | OpKind::Zero => {
                self.present.counts.writes += 1;
                self.present.counts.written_bytes += length;
                Some(OpSort::Write)
            }
            // The node's own, for images that are gone.
            OpKind::Remove | OpKind::Purge | OpKind::Trim(_) => None,
            // It reads no data.
            OpKind::Ranges(_) | OpKind::Changed { .. } => None,
        };
        if let Some(sort) = sort {
            self.times.replied(image, sort, length, took);
        }
        self.note_image(image, took);
        let fastest = self.slowest.last().map(Past::took);
        if self.slowest.len() < SLOWEST || fastest.is_some_and(|fastest| took > fastest) {
            let reply = Reply { result: Ok(loadline_osd::Data::NONE), ..reply.clone() };
            let issued = IssuedOp { data: loadline_osd::Data::NONE, ..issued.clone() };
            let at = self.slowest.partition_point(|past| past.took() >= took);
            self.slowest.insert(at, Past { issued, reply });
            self.slowest.truncate(SLOWEST);
        }
    }

    /// An op of an image has come.
    pub(super) fn issued(&mut self, image: ImageId) {
        self.present.images.entry(image).or_default().asked += 1;
    }

    /// An op of an image has ended that nobody is to carry out any more.
    pub(super) fn displaced(&mut self, image: ImageId) {
        let served = self.present.images.entry(image).or_default();
        served.asked = served.asked.saturating_sub(1);
    }

    /// In how many of the last whole seconds an image got less than it asked for and is promised, in ops per second.
    pub(super) fn seconds_short(&self, image: ImageId, promised: u32) -> u64 {
        let seconds = self.past.iter().filter_map(|second| second.images.get(&image));
        seconds.filter(|served| served.is_short(f64::from(promised))).count() as u64
    }

    fn note_image(&mut self, image: ImageId, took: Span) {
        let served = self.present.images.entry(image).or_default();
        served.ops += 1;
        served.took += took;
        served.longest = served.longest.max(took);
    }

    /// What an image was served in the last whole seconds, and how many they are.
    pub(super) fn of_image(&self, image: ImageId) -> (ImageServed, u64) {
        let mut sum = ImageServed::default();
        for served in self.past.iter().filter_map(|second| second.images.get(&image)) {
            sum.ops += served.ops;
            sum.took += served.took;
            sum.longest = sum.longest.max(served.longest);
        }
        (sum, self.past.len().max(1) as u64)
    }

    /// What was counted in the last whole second.
    fn last_second(&self) -> SecondCounts {
        self.past.back().map(|second| second.counts).unwrap_or_default()
    }

    /// How many whole seconds are remembered.
    pub(super) fn seconds(&self) -> u64 {
        self.past.len() as u64
    }

    /// How long clients' ops took.
    pub(super) fn times(&self) -> &ClientTimes {
        &self.times
    }

    /// The last seconds one by one.
    pub(super) fn live(&self) -> &LiveMeter {
        &self.live
    }

    /// The recovery that is going on, since it began.
    pub(super) fn recovery(&self) -> &RecoveryForecast {
        &self.recovery
    }

    /// At the end of a second so much was left.
    pub(super) fn note_left_to_recover(&mut self, now: Time, left: LeftToRecover) {
        self.recovery.note(now, left);
    }

    /// Puts the last whole second, at whose end this was so, behind those before it. `images` are those there are, with what they are
    /// promised and allowed.
    pub(super) fn note_second(&mut self, now: Time, end: SecondEnd, images: &[&Image]) {
        let took = self.times.take_second();
        self.times.keep(|id| images.iter().any(|image| image.id == id));
        let counts = self.last_second();
        let second = LiveSecond {
            at_ns: now.since(Time::ZERO).nanos(),
            reads: counts.reads,
            writes: counts.writes,
            read_bytes: counts.read_bytes,
            written_bytes: counts.written_bytes,
            p50_ns: took.quantile(0.5).nanos(),
            p99_ns: took.quantile(0.99).nanos(),
            p999_ns: took.quantile(0.999).nanos(),
            recovered: counts.recovered.objects,
            recovered_bytes: counts.recovered.bytes,
            trimmed: counts.trimmed,
            deleted: counts.deleted,
            images: images.iter().filter_map(|image| self.live_image(image)).collect(),
            ..LiveSecond::default()
        };
        self.live.ended(SecondEnd { second, ..end });
    }

    /// An image in the last whole second, if it is promised or allowed something, or has asked for something.
    fn live_image(&self, image: &Image) -> Option<LiveImage> {
        let second = self.past.back().and_then(|second| second.images.get(&image.id));
        let served = second.copied().unwrap_or_default();
        let (promised, limit) = (image.qos.reservation, image.qos.limit);
        (promised > 0 || limit > 0 || served.asked > 0).then(|| LiveImage {
            image: image.name.clone(),
            promised,
            limit,
            asked: served.asked,
            given: served.ops,
            mean_ns: served.took.nanos().checked_div(served.ops).unwrap_or(0),
        })
    }

    /// The slowest ops of late, the slowest first.
    pub(super) fn slowest(&self) -> &[Past] {
        &self.slowest
    }

    /// What the last seconds counted.
    pub(super) fn rates(&self) -> SecondRates {
        let counts: Vec<SecondCounts> = self.past.iter().map(|second| second.counts).collect();
        SecondRates { seconds: counts.len().max(1) as u64, counts }
    }

    /// A second is over, until when so much was done in all.
    pub(super) fn second_passed(&mut self, now: Time, done: DoneSoFar) {
        let DoneSoFar { received, over_limit, trimmed, deleted } = done;
        let Received { objects, bytes } = received;
        self.present.counts.over_limit = over_limit.saturating_sub(self.over_limit);
        self.over_limit = over_limit;
        self.present.counts.trimmed = trimmed.saturating_sub(self.trimmed);
        self.trimmed = trimmed;
        self.present.counts.deleted = deleted.saturating_sub(self.deleted);
        self.deleted = deleted;
        // An OSD that was removed takes its count with it.
        self.present.counts.recovered = Received {
            objects: objects.saturating_sub(self.received.objects),
            bytes: bytes.saturating_sub(self.received.bytes),
        };
        self.received = received;
        let open = |(image, served): (&ImageId, &ImageServed)| {
            let asked = served.open();
            (asked > 0).then(|| (*image, ImageServed { asked, ..ImageServed::default() }))
        };
        let images = self.present.images.iter().filter_map(open).collect();
        let next = CountedSecond { images, ..CountedSecond::default() };
        self.past.push_back(std::mem::replace(&mut self.present, next));
        if self.past.len() > SECONDS {
            self.past.pop_front();
        }
        self.slowest.retain(|past| now.since(past.reply.answered) < REMEMBERED);
    }
}
