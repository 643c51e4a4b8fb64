//! The model of the published mode: tags as the specification writes them, every choice a search.

use super::{Answer, Item, Model, SECOND, ceil, span, ticks};
use loadline_base::Time;
use loadline_qos::{
    ClassId, FlowId, Lane, LimitPolicy, Params, Phase, PublishedConfig, Refusal, SideQueue,
};
use std::collections::BTreeMap;

const NEVER: i128 = i128::MIN / 4;

#[derive(Clone, Copy)]
struct HeadTags {
    reservation: Option<i128>,
    proportion: Option<i128>,
    limit: i128,
    ready: bool,
}

struct Record {
    class: ClassId,
    items: Vec<Item>,
    head: Option<HeadTags>,
    reservation: i128,
    proportion: i128,
    limit: i128,
    delta: i128,
    admitted: i128,
    tagged_arrival: i128,
    /// The first pass since the last request.
    marked: Option<Time>,
    idle: bool,
}

pub(super) struct PublishedModel {
    config: PublishedConfig,
    classes: Vec<Option<Params>>,
    records: BTreeMap<FlowId, Record>,
    /// Level, request: highest level first, and in a level in order.
    beside: Vec<(u32, Item)>,
    next_clean: Option<Time>,
}

impl Record {
    fn new(class: ClassId) -> Record {
        Record {
            class,
            items: Vec::new(),
            head: None,
            reservation: NEVER,
            proportion: NEVER,
            limit: NEVER,
            delta: 0,
            admitted: NEVER,
            tagged_arrival: NEVER,
            marked: None,
            idle: true,
        }
    }

    fn tag(&mut self, params: Params, config: &PublishedConfig) {
        let Some(item) = self.items.first().copied() else {
            self.head = None;
            return;
        };
        let early =
            item.arrival_ticks() - i128::from(config.anticipation.nanos()) * super::NANOSECOND;
        let arrival = if early < self.tagged_arrival { early } else { item.arrival_ticks() };
        self.tagged_arrival = item.arrival_ticks();
        let next =
            |last: i128, charge: i128, rate: f64| (last + span(charge, rate, SECOND)).max(arrival);
        let mut head = HeadTags { reservation: None, proportion: None, limit: NEVER, ready: false };
        if params.reservation() > 0.0 {
            self.reservation =
                next(self.reservation, item.reservation_charge(), params.reservation());
            head.reservation = Some(self.reservation);
        }
        if params.weight() > 0.0 {
            self.proportion = next(self.proportion, item.charge(), params.weight());
            head.proportion = Some(self.proportion);
        }
        if let Some(limit) = params.limit() {
            self.limit = next(self.limit, item.charge(), limit);
            head.limit = self.limit;
        }
        self.head = Some(head);
    }
}

impl PublishedModel {
    pub(super) fn new(config: PublishedConfig, lanes: &[Lane]) -> PublishedModel {
        let params = |lane: &Lane| match lane {
            Lane::Strict => None,
            Lane::Shared(params) => Some(*params),
        };
        PublishedModel {
            config,
            classes: lanes.iter().map(params).collect(),
            records: BTreeMap::new(),
            beside: Vec::new(),
            next_clean: None,
        }
    }

    fn params(&self, flow: FlowId) -> Option<Params> {
        self.classes[usize::from(self.records[&flow].class)]
    }

    fn is_strict(&self, item: &Item) -> bool {
        let by_priority = self.config.beside == SideQueue::Priorities;
        self.params(item.flow).is_none() || (by_priority && item.priority >= self.config.cut_off)
    }

    fn level(&self, item: &Item) -> u32 {
        match (self.config.beside, self.params(item.flow)) {
            (SideQueue::List, _) | (_, None) => u32::MAX,
            _ if item.priority >= self.config.cut_off => item.priority,
            _ => 0,
        }
    }

    fn clean(&mut self, now: Time) {
        match self.next_clean {
            None => self.next_clean = Some(now + self.config.clean_every),
            Some(due) if now >= due => {
                for record in self.records.values_mut() {
                    let age = now.since(*record.marked.get_or_insert(now));
                    if age >= self.config.erase_age && record.items.is_empty() {
                        *record = Record::new(record.class);
                    } else if age >= self.config.idle_age {
                        record.idle = true;
                    }
                }
                self.next_clean = Some(now + self.config.clean_every);
            }
            Some(_) => {}
        }
    }

    fn retag(&mut self, flow: FlowId) {
        if let Some(params) = self.params(flow) {
            self.records.get_mut(&flow).unwrap().tag(params, &self.config);
        }
    }

    fn least(&self, key: impl Fn(&Record, &HeadTags) -> Option<i128>) -> Option<(i128, FlowId)> {
        let keys = self.records.iter().filter_map(|(flow, record)| {
            record.head.as_ref().and_then(|head| Some((key(record, head)?, *flow)))
        });
        keys.min()
    }

    fn choose(&mut self, now: Time) -> Result<(FlowId, Phase, bool), Option<i128>> {
        let now = ticks(now);
        let reservation = self.least(|_, head| head.reservation);
        if let Some((tag, flow)) = reservation
            && tag <= now
        {
            return Ok((flow, Phase::Reservation, false));
        }
        for head in self.records.values_mut().filter_map(|record| record.head.as_mut()) {
            head.ready |= head.limit <= now;
        }
        let proportion = |record: &Record, head: &HeadTags| Some(head.proportion? + record.delta);
        if let Some((_, flow)) =
            self.least(|record, head| proportion(record, head).filter(|_| head.ready))
        {
            return Ok((flow, Phase::Weight, true));
        }
        let allows = |record: &Record| {
            let params = self.classes[usize::from(record.class)];
            params.unwrap().limit_policy() == LimitPolicy::WorkConserving
        };
        let over = self.least(|record, head| proportion(record, head).filter(|_| allows(record)));
        if let Some((_, flow)) = over {
            return Ok((flow, Phase::Spare, true));
        }
        let early = self.least(|record, head| head.reservation.filter(|_| allows(record)));
        if let Some((_, flow)) = early {
            return Ok((flow, Phase::Spare, false));
        }
        let limit = self.least(|_, head| head.proportion.map(|_| head.limit));
        Err(reservation.into_iter().chain(limit).map(|(tag, _)| tag).min())
    }

    fn touch(&mut self, now: Time, flow: FlowId) {
        let idle = self.records[&flow].idle;
        if idle {
            let ledgers =
                self.records.values().filter(|record| !record.idle).filter_map(|record| {
                    let last = (record.proportion != NEVER).then_some(record.proportion);
                    Some(record.head.map_or(last, |head| head.proportion)? + record.delta)
                });
            if let Some(least) = ledgers.min() {
                // Tags count from the caller's time 0 here, from far before it in the scheduler: the sum of
                // tag and delta is compared within one of them only, but the difference to `now` is shared.
                self.records.get_mut(&flow).unwrap().delta = least - ticks(now);
            }
        }
        let record = self.records.get_mut(&flow).unwrap();
        record.marked = None;
        record.idle = false;
    }
}

impl Model for PublishedModel {
    fn open(&mut self, flow: FlowId, class: ClassId) {
        self.records.insert(flow, Record::new(class));
    }

    fn close(&mut self, _now: Time, flow: FlowId) -> Vec<u64> {
        let closed = self.records.remove(&flow).unwrap();
        let beside =
            self.beside.iter().filter(|(_, item)| item.flow == flow).map(|(_, item)| item.id);
        let removed = closed.items.iter().map(|item| item.id).chain(beside).collect();
        self.beside.retain(|(_, item)| item.flow != flow);
        removed
    }

    fn enqueue(&mut self, now: Time, item: Item) -> Result<(), Refusal> {
        self.clean(now);
        if self.is_strict(&item) {
            let level = self.level(&item);
            let at = self.beside.partition_point(|(other, _)| *other >= level);
            self.beside.insert(at, (level, item));
            return Ok(());
        }
        let params = self.params(item.flow).unwrap();
        let record = self.records.get_mut(&item.flow).unwrap();
        if let (LimitPolicy::Reject, Some(limit)) = (params.limit_policy(), params.limit()) {
            let tag = (record.admitted + span(item.charge(), limit, SECOND)).max(ticks(now));
            let threshold = i128::from(self.config.reject_threshold.nanos()) * super::NANOSECOND;
            if tag > ticks(now) + threshold {
                return Err(Refusal::OverLimit(ceil(tag - threshold)));
            }
            record.admitted = tag;
        }
        self.touch(now, item.flow);
        let record = self.records.get_mut(&item.flow).unwrap();
        record.items.push(item);
        if record.items.len() == 1 {
            self.retag(item.flow);
        }
        Ok(())
    }

    fn enqueue_front(&mut self, item: Item) {
        let level = self.level(&item);
        let at = self.beside.partition_point(|(other, _)| *other > level);
        self.beside.insert(at, (level, item));
    }

    fn earliest(&mut self, now: Time) -> Option<Time> {
        if !self.beside.is_empty() {
            return Some(now);
        }
        self.choose(now).map_or_else(|tag| tag.map(ceil), |_| Some(now))
    }

    fn take(&mut self, now: Time) -> Answer {
        self.clean(now);
        if !self.beside.is_empty() {
            let (_, item) = self.beside.remove(0);
            let phase = if self.is_strict(&item) { Phase::Strict } else { Phase::Requeued };
            return Answer::Ready(item.id, phase);
        }
        let (flow, phase, compensated) = match self.choose(now) {
            Ok(chosen) => chosen,
            Err(tag) => return tag.map_or(Answer::Empty, |tag| Answer::NotBefore(ceil(tag))),
        };
        let item = self.records.get_mut(&flow).unwrap().items.remove(0);
        self.retag(flow);
        let rate = self.params(flow).unwrap().reservation();
        if compensated && rate > 0.0 {
            let record = self.records.get_mut(&flow).unwrap();
            let lowered = span(item.reservation_charge(), rate, SECOND);
            record.reservation -= lowered;
            if let Some(tag) = record.head.as_mut().and_then(|head| head.reservation.as_mut()) {
                *tag -= lowered;
            }
        }
        Answer::Ready(item.id, phase)
    }

    fn remove(&mut self, _now: Time, doomed: &dyn Fn(ClassId, u64) -> bool) -> Vec<u64> {
        let classes: BTreeMap<FlowId, ClassId> =
            self.records.iter().map(|(id, record)| (*id, record.class)).collect();
        let gone = |item: &Item| doomed(classes[&item.flow], item.id);
        let mut removed: Vec<u64> =
            self.beside.iter().filter(|(_, item)| gone(item)).map(|(_, item)| item.id).collect();
        self.beside.retain(|(_, item)| !gone(item));
        for flow in classes.keys() {
            let record = self.records.get_mut(flow).unwrap();
            let head = record.items.first().map(|item| item.id);
            removed.extend(extract(&mut record.items, gone));
            if head != record.items.first().map(|item| item.id) {
                self.retag(*flow);
            }
        }
        removed
    }

    fn set_params(&mut self, _now: Time, class: ClassId, params: Params) {
        let known = &mut self.classes[usize::from(class)];
        if known.is_some() {
            *known = Some(params);
        }
    }
}

/// Takes the items that satisfy `doomed` out of a list.
fn extract(items: &mut Vec<Item>, doomed: impl Fn(&Item) -> bool) -> Vec<u64> {
    let removed = items.iter().filter(|item| doomed(item)).map(|item| item.id).collect();
    items.retain(|item| !doomed(item));
    removed
}
