//! Background work that is kept outside of the queues until it may begin.
//!
//! What was begun goes before what is new, so that few objects are on their way at a time, each for a short time: ops that need one
//! wait for it. What is new goes by the weights of the classes, as it would inside.

use crate::ids::{PgId, ShardId};
use crate::item::{Item, PacedStage};
use crate::message::Message;
use crate::policy::Weight;
use loadline_base::Time;
use loadline_qos::{ProfileValues, ServiceClass, Work};
use std::collections::VecDeque;

/// The classes of background work; what has none of them counts as the last.
const CLASSES: [ServiceClass; 2] = [ServiceClass::Recovery, ServiceClass::BestEffort];

/// An item with what its queue needs to know.
pub(crate) struct KeptOut {
    pub shard: ShardId,
    pub weight: Weight,
    pub item: Item,
    /// The class by whose weight it goes.
    pub class: ServiceClass,
    /// How far it has come, and what begins with it.
    pub stage: PacedStage,
    pub begins: u64,
    /// When it came.
    pub since: Time,
}

/// What is told of an item that is kept out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptOutItem {
    /// The queue that it is kept out of.
    pub shard: ShardId,
    /// The class by whose weight it goes.
    pub class: ServiceClass,
    /// Which kind of work it is.
    pub work: Work,
    /// Whether it belongs to something that has begun.
    pub has_begun: bool,
    /// When it came.
    pub since: Time,
}

/// All that waits.
#[derive(Default)]
pub(crate) struct OutsideWork {
    parts: VecDeque<KeptOut>,
    /// Pushes that have come.
    pushes: VecDeque<KeptOut>,
    new: [OfClass; CLASSES.len()],
    /// What the class that went last had been given until then: who comes from having nothing begins there.
    virtual_time: f64,
}

#[derive(Default)]
struct OfClass {
    waiting: VecDeque<KeptOut>,
    /// What it was given, divided by the weight of the class; the least goes next.
    given: f64,
}

impl OutsideWork {
    pub(crate) fn push(&mut self, outside: KeptOut) {
        match outside.stage {
            PacedStage::Part => self.parts.push_back(outside),
            PacedStage::Pushed => self.pushes.push_back(outside),
            PacedStage::New => self.push_new(outside),
        }
    }

    fn push_new(&mut self, outside: KeptOut) {
        let at =
            CLASSES.iter().position(|known| *known == outside.class).unwrap_or(CLASSES.len() - 1);
        let class = &mut self.new[at];
        if class.waiting.is_empty() {
            // Who wanted nothing has saved nothing, and what was given while nobody else wanted any is no debt.
            class.given = class.given.max(self.virtual_time);
        }
        class.waiting.push_back(outside);
    }

    /// How far that has come which goes next.
    pub(crate) fn next(&self) -> Option<PacedStage> {
        let has_new = self.new.iter().any(|class| !class.waiting.is_empty());
        match (self.parts.is_empty(), self.pushes.is_empty()) {
            (false, _) => Some(PacedStage::Part),
            (true, false) => Some(PacedStage::Pushed),
            (true, true) => has_new.then_some(PacedStage::New),
        }
    }

    /// The item that goes next.
    pub(crate) fn pop(&mut self, values: &ProfileValues) -> Option<KeptOut> {
        self.parts.pop_front().or_else(|| self.pushes.pop_front()).or_else(|| self.pop_new(values))
    }

    fn pop_new(&mut self, values: &ProfileValues) -> Option<KeptOut> {
        let waiting = (0..CLASSES.len()).filter(|at| !self.new[*at].waiting.is_empty());
        let at = waiting.min_by(|a, b| self.new[*a].given.total_cmp(&self.new[*b].given))?;
        let weight = values.of(CLASSES[at]).map_or(1.0, |values| values.weight);
        let class = &mut self.new[at];
        let next = class.waiting.pop_front()?;
        self.virtual_time = class.given;
        class.given += next.begins as f64 / weight.max(f64::MIN_POSITIVE);
        Some(next)
    }

    /// All that waits: what has begun in the order in which it goes, then what is new of each class.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = KeptOutItem> {
        let begun = self.parts.iter().chain(&self.pushes).map(|it| (true, it));
        let new = self.new.iter().flat_map(|class| &class.waiting).map(|it| (false, it));
        begun.chain(new).map(|(has_begun, it)| {
            let KeptOut { shard, class, since, ref item, .. } = *it;
            KeptOutItem { shard, class, work: item.work(), has_begun, since }
        })
    }

    pub(crate) fn len(&self) -> usize {
        let new: usize = self.new.iter().map(|class| class.waiting.len()).sum();
        self.parts.len() + self.pushes.len() + new
    }

    /// Drops what asks for leave to push to this placement group.
    pub(crate) fn forget_asked(&mut self, pg: PgId) {
        let is_meant = |item: &Item| match item {
            Item::Message(it) => it.pg == pg && matches!(it.message, Message::PushAsked(_)),
            _ => false,
        };
        for class in &mut self.new {
            class.waiting.retain(|outside| !is_meant(&outside.item));
        }
    }

    /// Drops everything, as a crash does.
    pub(crate) fn clear(&mut self) {
        *self = OutsideWork::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_qos::{ClassValues, CostUnit};

    fn of(class: ServiceClass) -> KeptOut {
        KeptOut {
            shard: ShardId::new(0),
            weight: Weight::default(),
            item: Item::Recovery(PgId::new(0), 1),
            class,
            stage: PacedStage::New,
            begins: 4 << 20,
            since: Time::ZERO,
        }
    }

    /// A class that had had the disk for itself waited until others had been given as much.
    #[test]
    fn what_nobody_else_wanted_is_no_debt() {
        let alike = ClassValues::compiled(CostUnit::Bytes);
        let values = ProfileValues { client: alike, recovery: alike, best_effort: alike };
        let mut outside = OutsideWork::default();
        for _ in 0..1_000 {
            outside.push(of(ServiceClass::Recovery));
            outside.pop(&values).expect("it was pushed");
        }
        (0..2).for_each(|_| outside.push(of(ServiceClass::BestEffort)));
        (0..10).for_each(|_| outside.push(of(ServiceClass::Recovery)));
        let mut went = Vec::new();
        for _ in 0..20 {
            let class = outside.pop(&values).expect("something waits").class;
            if class == ServiceClass::BestEffort {
                outside.push(of(class));
            }
            went.push(class);
        }
        let recovered = went.iter().filter(|class| **class == ServiceClass::Recovery).count();
        assert_eq!(recovered, 10);
        assert!(went[1..].windows(2).all(|pair| pair[0] != pair[1]), "they alternate: {went:?}");
    }
}
