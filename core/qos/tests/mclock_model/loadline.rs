//! The model of Loadline's mode: every rule as a search over all classes.

use super::{Answer, Item, Model, SECOND, ceil, span, ticks};
use loadline_base::Time;
use loadline_qos::{ClassId, FlowId, Lane, LimitPolicy, LoadlineConfig, Params, Phase, Refusal};
use std::collections::BTreeMap;

/// Virtual ticks per unit of cost at weight 1.
const VIRTUAL: i128 = 1 << 48;
const NEVER: i128 = i128::MIN / 4;

struct Class {
    params: Option<Params>,
    start: i128,
    reservation_base: i128,
    limit_base: i128,
    turn: Option<FlowId>,
    /// Whether there have been two clients at a time: from then on their services are counted.
    several: bool,
    virtual_time: i128,
}

struct Flow {
    class: ClassId,
    start: i128,
    items: Vec<Item>,
}

pub(super) struct LoadlineModel {
    config: LoadlineConfig,
    classes: Vec<Class>,
    flows: BTreeMap<FlowId, Flow>,
    strict: Vec<Item>,
    requeued: Vec<Item>,
    strict_run: u32,
    virtual_time: i128,
}

impl Class {
    fn holds(&self) -> Option<f64> {
        let params = self.params?;
        params.limit().filter(|_| params.limit_policy() != LimitPolicy::Reject)
    }

    fn limit_tag(&self, item: &Item, limit: f64) -> i128 {
        (self.limit_base + span(item.charge(), limit, SECOND)).max(item.arrival_ticks())
    }

    fn held_until(&self, item: &Item) -> i128 {
        self.holds().map_or(NEVER, |limit| self.limit_tag(item, limit))
    }

    fn reservation_tag(&self, item: &Item) -> Option<i128> {
        let rate = self.params?.reservation();
        let tag = self.reservation_base + span(item.reservation_charge(), rate.max(1.0), SECOND);
        (rate > 0.0).then(|| tag.max(item.arrival_ticks()))
    }

    fn weight(&self) -> f64 {
        self.params.map_or(0.0, |params| params.weight())
    }
}

impl LoadlineModel {
    pub(super) fn new(config: LoadlineConfig, lanes: &[Lane]) -> LoadlineModel {
        let class = |lane: &Lane| Class {
            params: match lane {
                Lane::Strict => None,
                Lane::Shared(params) => Some(*params),
            },
            start: 0,
            reservation_base: NEVER,
            limit_base: NEVER,
            turn: None,
            several: false,
            virtual_time: 0,
        };
        LoadlineModel {
            config,
            classes: lanes.iter().map(class).collect(),
            flows: BTreeMap::new(),
            strict: Vec::new(),
            requeued: Vec::new(),
            strict_run: 0,
            virtual_time: 0,
        }
    }

    fn is_strict(&self, item: &Item) -> bool {
        let class = self.flows[&item.flow].class;
        self.classes[usize::from(class)].params.is_none()
            || self.config.strict_priority.is_some_and(|cut_off| item.priority >= cut_off)
    }

    /// The heads of all classes.
    fn heads(&self) -> Vec<(usize, Item)> {
        let head = |class: &Class| self.flows.get(&class.turn?)?.items.first().copied();
        let indexed = self.classes.iter().enumerate();
        indexed.filter_map(|(index, class)| Some((index, head(class)?))).collect()
    }

    fn by_start(&self, mut classes: Vec<(usize, Item)>) -> Option<(usize, Item)> {
        classes.sort_by_key(|(index, _)| (self.classes[*index].start, *index));
        classes.first().copied()
    }

    /// The class that goes next, in which phase; or when one may.
    fn choose(&mut self, now: Time) -> Result<(usize, Item, Phase), Option<i128>> {
        let now = ticks(now);
        let heads = self.heads();
        let mut due: Vec<_> = heads
            .iter()
            .filter_map(|(i, item)| Some((self.classes[*i].reservation_tag(item)?, *i, *item)))
            .collect();
        due.sort_by_key(|(tag, index, _)| (*tag, *index));
        if let Some((tag, index, item)) = due.first()
            && *tag <= now
        {
            return Ok((*index, *item, Phase::Reservation));
        }
        let weighted: Vec<_> =
            heads.into_iter().filter(|(index, _)| self.classes[*index].weight() > 0.0).collect();
        let (within, over): (Vec<_>, Vec<_>) = weighted
            .into_iter()
            .partition(|(index, item)| self.classes[*index].held_until(item) <= now);
        for (index, _) in &within {
            let class = &mut self.classes[*index];
            class.start = class.start.max(self.virtual_time);
        }
        if let Some((index, item)) = self.by_start(within) {
            return Ok((index, item, Phase::Weight));
        }
        let conserves = |index: usize| {
            self.classes[index].params.unwrap().limit_policy() == LimitPolicy::WorkConserving
        };
        let spare = over.iter().copied().filter(|(index, _)| conserves(*index)).collect();
        if let Some((index, item)) = self.by_start(spare) {
            return Ok((index, item, Phase::Spare));
        }
        let limits = over.iter().map(|(index, item)| self.classes[*index].held_until(item));
        Err(due.iter().map(|(tag, ..)| *tag).chain(limits).min())
    }

    fn serve(&mut self, now: Time, index: usize, item: Item, phase: Phase) {
        let class = &mut self.classes[index];
        let params = class.params.unwrap();
        match phase {
            Phase::Reservation => class.reservation_base = class.reservation_tag(&item).unwrap(),
            _ => self.virtual_time = self.virtual_time.max(class.start),
        }
        if phase == Phase::Spare {
            class.limit_base = ticks(now);
        } else if let Some(limit) = class.holds() {
            class.limit_base = class.limit_tag(&item, limit);
        }
        if params.weight() > 0.0 {
            let finish = self.virtual_time + span(item.charge(), params.weight(), VIRTUAL);
            class.start = class.start.max(finish);
        }
        let flow = self.flows.get_mut(&item.flow).unwrap();
        flow.items.remove(0);
        if class.several {
            class.virtual_time = class.virtual_time.max(flow.start);
            flow.start = class.virtual_time + item.charge();
        }
        self.pass_turn(index);
    }

    /// The turn goes to the waiting client with the least start.
    fn pass_turn(&mut self, index: usize) {
        let mut waiting: Vec<_> = self
            .flows
            .iter()
            .filter(|(_, flow)| usize::from(flow.class) == index && !flow.items.is_empty())
            .map(|(id, flow)| (flow.start, *id))
            .collect();
        waiting.sort_unstable();
        if let Some((_, flow)) = waiting.first() {
            self.classes[index].turn = Some(*flow);
        }
    }

    fn take_beside_strict(&mut self, now: Time) -> Answer {
        if let Some(most) = self.config.strict_run_max
            && (!self.requeued.is_empty() || self.choose(now).is_ok())
        {
            if self.strict_run >= most {
                self.strict_run = 0;
                return self.take_without_strict(now);
            }
            self.strict_run += 1;
        }
        Answer::Ready(self.strict.remove(0).id, Phase::Strict)
    }

    fn take_without_strict(&mut self, now: Time) -> Answer {
        if !self.requeued.is_empty() {
            return Answer::Ready(self.requeued.remove(0).id, Phase::Requeued);
        }
        match self.choose(now) {
            Ok((index, item, phase)) => {
                self.serve(now, index, item, phase);
                Answer::Ready(item.id, phase)
            }
            Err(Some(tag)) => Answer::NotBefore(ceil(tag)),
            Err(None) => Answer::Empty,
        }
    }

    /// Requests went: a class whose turn has nothing left passes it on.
    fn settle_turn(&mut self, index: usize) {
        let turn = self.classes[index].turn;
        if turn.and_then(|id| self.flows.get(&id)).is_none_or(|flow| flow.items.is_empty()) {
            self.pass_turn(index);
        }
    }
}

/// Takes the items that satisfy `doomed` out of a list.
pub(super) fn extract(items: &mut Vec<Item>, doomed: impl Fn(&Item) -> bool) -> Vec<u64> {
    let removed = items.iter().filter(|item| doomed(item)).map(|item| item.id).collect();
    items.retain(|item| !doomed(item));
    removed
}

impl Model for LoadlineModel {
    fn open(&mut self, _now: Time, flow: FlowId, class: ClassId) {
        self.classes[usize::from(class)].several |=
            self.flows.values().any(|flow| flow.class == class);
        self.flows.insert(flow, Flow { class, start: 0, items: Vec::new() });
    }

    fn close(&mut self, _now: Time, flow: FlowId) -> Vec<u64> {
        let closed = self.flows.remove(&flow).unwrap();
        let mut removed: Vec<u64> = closed.items.iter().map(|item| item.id).collect();
        removed.extend(extract(&mut self.strict, |item| item.flow == flow));
        removed.extend(extract(&mut self.requeued, |item| item.flow == flow));
        let turn = &mut self.classes[usize::from(closed.class)].turn;
        *turn = turn.filter(|turn| *turn != flow);
        self.settle_turn(usize::from(closed.class));
        removed
    }

    fn enqueue(&mut self, now: Time, item: Item) -> Result<(), Refusal> {
        if self.is_strict(&item) {
            self.strict.push(item);
            return Ok(());
        }
        let flow = self.flows.get_mut(&item.flow).unwrap();
        let class = &mut self.classes[usize::from(flow.class)];
        let params = class.params.unwrap();
        if let (LimitPolicy::Reject, Some(limit)) = (params.limit_policy(), params.limit()) {
            let tag = class.limit_tag(&item, limit);
            if tag > ticks(now) {
                return Err(Refusal::OverLimit(ceil(tag)));
            }
            class.limit_base = tag;
        }
        let index = usize::from(flow.class);
        if flow.items.is_empty() {
            flow.start = flow.start.max(class.virtual_time);
        }
        flow.items.push(item);
        let turn = self.classes[index].turn;
        if turn.and_then(|id| self.flows.get(&id)).is_none_or(|flow| flow.items.is_empty()) {
            self.classes[index].turn = Some(item.flow);
        }
        let alone = self.flows.values().filter(|flow| usize::from(flow.class) == index);
        if alone.map(|flow| flow.items.len()).sum::<usize>() == 1 {
            let class = &mut self.classes[index];
            class.start = class.start.max(self.virtual_time);
        }
        Ok(())
    }

    fn enqueue_front(&mut self, item: Item) {
        let strict = self.is_strict(&item);
        let list = if strict { &mut self.strict } else { &mut self.requeued };
        list.insert(0, item);
    }

    fn earliest(&mut self, now: Time) -> Option<Time> {
        if !self.strict.is_empty() || !self.requeued.is_empty() {
            return Some(now);
        }
        self.choose(now).map_or_else(|tag| tag.map(ceil), |_| Some(now))
    }

    fn take(&mut self, now: Time) -> Answer {
        if !self.strict.is_empty() {
            return self.take_beside_strict(now);
        }
        self.strict_run = 0;
        self.take_without_strict(now)
    }

    fn remove(&mut self, _now: Time, doomed: &dyn Fn(ClassId, u64) -> bool) -> Vec<u64> {
        let classes: BTreeMap<FlowId, ClassId> =
            self.flows.iter().map(|(id, flow)| (*id, flow.class)).collect();
        let gone = |item: &Item| doomed(classes[&item.flow], item.id);
        let mut removed = extract(&mut self.strict, gone);
        removed.extend(extract(&mut self.requeued, gone));
        for flow in self.flows.values_mut() {
            removed.extend(extract(&mut flow.items, gone));
        }
        (0..self.classes.len()).for_each(|index| self.settle_turn(index));
        removed
    }

    fn set_params(&mut self, _now: Time, class: ClassId, params: Params) {
        let class = &mut self.classes[usize::from(class)];
        if class.params.is_some() {
            class.params = Some(params);
        }
    }
}
