//! Puts of keys that one OSD's disk keeps: a closed or an open loop over numbered keys, and what its clients saw.

mod keys;
mod kind;
mod recorder;
mod spec;
mod under_way;
mod values;

pub use keys::KeyOrder;
pub use kind::{PutKind, UnknownPutKind};
pub use recorder::{PutClock, PutRecord};
pub use spec::PutSpec;
pub use values::{UnknownForm, ValueForm};

use crate::pace::Schedule;
use crate::spec::UNDER_WAY_MAX;
use keys::DrawnKeys;
use kind::TransactionStates;
use loadline_base::{Rng, Span, Time};
use loadline_osd::{ClientId, KeyPut, OsdId, PutEnd};
use loadline_sim::{Issue, OpDone, Workload};
use recorder::PutRecorder;
use under_way::PutsUnderWay;

/// Clients that put one key at a time.
///
/// An op's token is its intended start in nanoseconds: when it was sent in a closed loop, when the schedule wanted it
/// sent in an open one.
#[derive(Clone, Debug)]
pub struct PutLoad {
    /// Puts in flight at most.
    depth: u32,
    schedule: Option<Schedule>,
    keys: DrawnKeys,
    values: ValueForm,
    kind: PutKind,
    states: TransactionStates,
    /// For keys and values; arrivals have a stream of their own, so that neither shifts the other.
    rng: Rng,
    seed: u64,
    under_way: PutsUnderWay,
    running: bool,
    /// Drawn, and not yet handed out.
    due: Vec<(OsdId, KeyPut)>,
    recorder: PutRecorder,
}

/// The OSD whose disk keeps the keys.
const ONLY: OsdId = OsdId::new(0);

/// Puts in flight while a store is filled: enough that the processor never waits.
const FILL_DEPTH: u32 = 64;

impl PutLoad {
    /// Clients that have nothing to do before [`fill`](PutLoad::fill) or [`overwrite`](PutLoad::overwrite) says what.
    pub fn new(values: ValueForm, seed: u64) -> PutLoad {
        PutLoad {
            depth: FILL_DEPTH,
            schedule: None,
            keys: DrawnKeys::none(),
            values,
            kind: PutKind::Atomic,
            states: TransactionStates::default(),
            rng: Rng::for_purpose(seed, 1),
            seed,
            under_way: PutsUnderWay::default(),
            running: false,
            due: Vec::new(),
            recorder: PutRecorder::new(Time::ZERO, PutClock::by(Span::from_secs(1))),
        }
    }

    /// Next, these keys once each, in a closed loop.
    pub fn fill(&mut self, order: KeyOrder) {
        (self.depth, self.schedule) = (FILL_DEPTH, None);
        (self.keys, self.kind) = (DrawnKeys::new(order), PutKind::Atomic);
    }

    /// Next, what `spec` says over random keys below `range`, without end.
    pub fn overwrite(&mut self, spec: &PutSpec, range: u64, kind: PutKind) {
        (self.depth, self.kind) = (spec.depth.unwrap_or(UNDER_WAY_MAX), kind);
        self.schedule = spec
            .rate
            .map(|rate| Schedule::new(rate, spec.arrivals, Rng::for_purpose(self.seed, 2)));
        self.keys = DrawnKeys::new(KeyOrder::Random { range });
    }

    /// Forgets what completed so far and counts what completes from now on, by this clock.
    pub fn measure_from(&mut self, now: Time, clock: PutClock) {
        self.recorder = PutRecorder::new(now, clock);
    }

    /// What the clients saw until now.
    pub fn record(&self, now: Time) -> PutRecord {
        // One that the depth does not let begin waits as well.
        let due = self.schedule.as_ref().filter(|_| self.running).map(Schedule::next);
        let waited =
            self.under_way.oldest().into_iter().chain(due).filter(|start| *start <= now).min();
        let waited_max = waited.map_or(Span::ZERO, |start| now.since(start));
        self.recorder.until(now, (u64::from(self.under_way()), waited_max))
    }

    /// Whether every key of a fill is there.
    pub fn is_filled(&self) -> bool {
        self.keys.is_at_end() && self.under_way() == 0
    }

    /// Puts that have begun and not ended.
    pub fn under_way(&self) -> u32 {
        self.under_way.count()
    }

    /// Whether there are puts to be handed out.
    pub fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    fn has_work(&self) -> bool {
        self.running && !self.keys.is_at_end() && self.under_way() < self.depth
    }

    fn issue(&mut self, intended: Time) {
        let number = self.keys.draw(&mut self.rng);
        let mut bytes = Vec::with_capacity(128);
        self.values.value(number, &mut self.rng, &mut bytes);
        let (token, client) = (intended.nanos(), ClientId::new(0));
        let mut put = |key, value| self.due.push((ONLY, KeyPut { token, client, key, value }));
        let key = number.to_be_bytes().to_vec();
        match self.kind {
            PutKind::Atomic => put(key, bytes),
            PutKind::Transactional => {
                let [prepared, committed] = self.states.next(&mut self.rng);
                put(prepared.0, prepared.1);
                put(key, bytes);
                put(committed.0, committed.1);
            }
        }
        self.under_way.begin(intended);
    }

    fn issue_due(&mut self, now: Time) {
        while self.has_work() {
            let intended = match &mut self.schedule {
                None => now,
                Some(schedule) => match schedule.take_due(now) {
                    Some(intended) => intended,
                    None => return,
                },
            };
            self.issue(intended);
        }
    }
}

impl Workload for PutLoad {
    fn start(&mut self, now: Time, _: &mut Vec<Issue>) {
        self.running = true;
        if let Some(schedule) = &mut self.schedule {
            schedule.begin(now);
        }
        self.issue_due(now);
    }

    /// It has no ops.
    fn replied(&mut self, _: Time, _: &OpDone, _: &mut Vec<Issue>) {}

    fn puts(&mut self) -> Vec<(OsdId, KeyPut)> {
        std::mem::take(&mut self.due)
    }

    fn put_ended(&mut self, now: Time, end: &PutEnd) {
        let end = match self.kind {
            PutKind::Atomic => *end,
            PutKind::Transactional => match self.states.ended(*end) {
                Some(end) => end,
                None => return,
            },
        };
        self.under_way.end(Time::from_nanos(end.token));
        self.recorder.record(&end, now);
        self.issue_due(now);
    }

    fn next_wake(&self) -> Option<Time> {
        let schedule = self.schedule.as_ref()?;
        self.has_work().then(|| schedule.next())
    }

    fn woke(&mut self, now: Time, _: &mut Vec<Issue>) {
        self.issue_due(now);
    }

    fn stop(&mut self) {
        self.running = false;
    }
}

#[cfg(test)]
mod tests;
