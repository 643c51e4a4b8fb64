//! Background work that is kept outside of the queues until it may begin.
//!
//! What was begun goes before what is new, so that few objects are on their way at a time, each for a short time: ops that need one
//! wait for it. Between the classes it goes by their weights, as it would inside.

use crate::ids::ShardId;
use crate::item::Item;
use crate::message::Message;
use crate::policy::Weight;
use loadline_qos::{ClassId, ServiceClass, ShardPlan};
use std::collections::VecDeque;

/// The classes of background work; what has none of them counts as the last.
const CLASSES: [ServiceClass; 2] = [ServiceClass::Recovery, ServiceClass::BestEffort];
/// How near its end the work is: a part of a transfer, a push that has come, a start.
const STAGES: usize = 3;

/// An item with what its queue needs to know.
pub(crate) struct KeptOut {
    pub shard: ShardId,
    pub weight: Weight,
    pub item: Item,
}

/// All that waits.
#[derive(Default)]
pub(crate) struct OutsideWork {
    classes: [OfClass; CLASSES.len()],
}

#[derive(Default)]
struct OfClass {
    stages: [VecDeque<KeptOut>; STAGES],
    /// Items that it was given, each divided by the weight of the class; the least goes next.
    given: f64,
}

impl OutsideWork {
    pub(crate) fn push(&mut self, class: ClassId, outside: KeptOut) {
        let at = CLASSES.iter().position(|known| known.id() == class);
        let at = at.unwrap_or(CLASSES.len() - 1);
        if self.classes[at].is_empty() {
            // Who wanted nothing has saved nothing.
            let others = self.classes.iter().filter(|class| !class.is_empty());
            let least = others.map(|class| class.given).fold(f64::INFINITY, f64::min);
            if least.is_finite() {
                self.classes[at].given = self.classes[at].given.max(least);
            }
        }
        let stage = stage_of(&outside.item);
        self.classes[at].stages[stage].push_back(outside);
    }

    /// The item that goes next.
    pub(crate) fn pop(&mut self, plan: &ShardPlan) -> Option<KeptOut> {
        let waiting = (0..CLASSES.len()).filter(|at| !self.classes[*at].is_empty());
        let at =
            waiting.min_by(|a, b| self.classes[*a].given.total_cmp(&self.classes[*b].given))?;
        let weight = plan.values.of(CLASSES[at]).map_or(1.0, |values| values.weight);
        let class = &mut self.classes[at];
        class.given += 1.0 / weight.max(f64::MIN_POSITIVE);
        class.stages.iter_mut().find_map(VecDeque::pop_front)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.classes.iter().all(OfClass::is_empty)
    }

    pub(crate) fn len(&self) -> usize {
        self.classes.iter().flat_map(|class| &class.stages).map(VecDeque::len).sum()
    }

    /// Drops everything, as a crash does.
    pub(crate) fn clear(&mut self) {
        *self = OutsideWork::default();
    }
}

impl OfClass {
    fn is_empty(&self) -> bool {
        self.stages.iter().all(VecDeque::is_empty)
    }
}

fn stage_of(item: &Item) -> usize {
    match item {
        Item::Part { .. } => 0,
        Item::Message(envelope) if matches!(envelope.message, Message::PushHistory(..)) => 0,
        Item::Message(_) => 1,
        _ => 2,
    }
}
