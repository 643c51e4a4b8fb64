//! What each service class was given by the schedulers of an OSD, and for how long it had something waiting.
//!
//! A reservation is owed only while there is demand, and each shard keeps its part of it apart from the others: so both
//! are counted per shard. The counters only grow; whoever wants a second's figures reads them twice.

use loadline_base::{Span, Time};
use loadline_qos::{ClassId, Phase, ServiceClass, Taken};

const CLASSES: usize = ServiceClass::ALL.len();

/// One class in one shard since the shard was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServedClass {
    /// Items that a worker has taken, each once.
    pub items: u64,
    /// Their cost as the scheduler was told it. What is strict is not charged.
    pub cost: u64,
    /// How long at least one item waited.
    pub waited: Span,
}

/// What the shards of an OSD have given, with what they owe.
#[derive(Clone, Debug, PartialEq)]
pub struct OsdService {
    /// What one shard has reserved for each class in cost units per second, by [`ServiceClass::id`]; 0 for nothing.
    pub reservations: [f64; CLASSES],
    /// Each shard's classes, by [`ServiceClass::id`].
    pub shards: Vec<[ServedClass; CLASSES]>,
    /// Items that wait now, of each class in all shards.
    pub waiting: [u64; CLASSES],
}

/// A shard's counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    classes: [Class; CLASSES],
}

#[derive(Clone, Copy, Debug, Default)]
struct Class {
    given: ServedClass,
    waiting: u32,
    /// Since when something waits.
    since: Time,
}

impl Meter {
    /// An item was queued.
    #[inline]
    pub(crate) fn queued(&mut self, now: Time, class: ClassId) {
        let class = &mut self.classes[usize::from(class)];
        if class.waiting == 0 {
            class.since = now;
        }
        class.waiting += 1;
    }

    /// An item was taken. One that had been put back was counted when it was taken first.
    #[inline]
    pub(crate) fn taken<T>(&mut self, now: Time, taken: &Taken<T>) {
        self.dropped(now, taken.class);
        let class = &mut self.classes[usize::from(taken.class)];
        match taken.phase {
            Phase::Requeued => {}
            Phase::Strict => class.given.items += 1,
            _ => {
                class.given.items += 1;
                class.given.cost += u64::from(taken.cost);
            }
        }
    }

    /// An item that was queued was taken out.
    pub(crate) fn dropped(&mut self, now: Time, class: ClassId) {
        let class = &mut self.classes[usize::from(class)];
        class.waiting -= 1;
        if class.waiting == 0 {
            class.given.waited += now.since(class.since);
        }
    }

    /// An item of strict work goes past the scheduler.
    pub(crate) fn passed(&mut self, class: ClassId) {
        self.classes[usize::from(class)].given.items += 1;
    }

    /// Nothing waits any more.
    pub(crate) fn cleared(&mut self, now: Time) {
        for class in &mut self.classes {
            class.given = class.read(now);
            class.waiting = 0;
        }
    }

    /// How many items of each class wait.
    pub(crate) fn waiting(&self) -> [u32; CLASSES] {
        self.classes.map(|class| class.waiting)
    }

    /// What each class was given so far.
    pub(crate) fn read(&self, now: Time) -> [ServedClass; CLASSES] {
        self.classes.map(|class| class.read(now))
    }
}

impl Class {
    fn read(&self, now: Time) -> ServedClass {
        let going_on = if self.waiting > 0 { now.since(self.since) } else { Span::ZERO };
        ServedClass { waited: self.given.waited + going_on, ..self.given }
    }
}
