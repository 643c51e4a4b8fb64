//! The pull: what is beside first, then the three steps of mClock (qos.md 2.4) and its compensation (2.5).

use super::super::heap::{HeapEntry, Packed, Wide};
use super::super::requests::Departed;
use super::super::tick::Tick;
use super::Published;
use crate::{FlowId, LimitPolicy, Phase, Take, Taken};
use loadline_base::Time;

/// What a look at the records finds.
enum RecordChoice {
    /// This head is served in this phase; `compensated` if its reservation does not pay.
    Serve { flow: FlowId, phase: Phase, compensated: bool },
    /// Nothing may run before this time.
    NotBefore(Time),
    /// Nothing waits.
    Nothing,
}

impl<T> Published<T> {
    pub(super) fn pull(&mut self, now: Time) -> Take<T> {
        if let Some(left) = self.beside.pop(&mut self.requests) {
            let class = self.records[left.flow].class;
            let strict = self.goes_beside(class, left.priority);
            let phase = if strict { Phase::Strict } else { Phase::Requeued };
            return Take::Ready(self.taken(left, phase));
        }
        match self.choose(now) {
            RecordChoice::Serve { flow, phase, compensated } => {
                Take::Ready(self.serve(now, flow, phase, compensated))
            }
            RecordChoice::NotBefore(time) => Take::NotBefore(time),
            RecordChoice::Nothing => Take::Empty,
        }
    }

    pub(super) fn next_time(&mut self, now: Time) -> Option<Time> {
        if !self.beside.is_empty() {
            return Some(now);
        }
        match self.choose(now) {
            RecordChoice::Serve { .. } => Some(now),
            RecordChoice::NotBefore(time) => Some(time),
            RecordChoice::Nothing => None,
        }
    }

    fn choose(&mut self, now: Time) -> RecordChoice {
        let tick = Tick::from_time(now);
        if let Some(top) = self.reserved.peek()
            && top.key() <= tick.key()
        {
            let flow = FlowId::new(top.index());
            return RecordChoice::Serve { flow, phase: Phase::Reservation, compensated: false };
        }
        self.mark_ready(tick);
        if let Some(top) = self.ready.peek() {
            let flow = FlowId::new(top.index());
            return RecordChoice::Serve { flow, phase: Phase::Weight, compensated: true };
        }
        self.over_limit().unwrap_or_else(|| self.first_tag())
    }

    /// Heads whose limit has passed are ready from now on.
    fn mark_ready(&mut self, now: Tick) {
        while let Some(top) = self.limited.peek()
            && top.key() <= now.key()
        {
            self.limited.pop();
            let record = &mut self.records[FlowId::new(top.index())];
            record.flags.ready = true;
            let key = record.effective_proportion().expect("a limited head has a weight");
            self.ready.push(Wide { key, index: top.index() });
        }
    }

    /// *Allow*: the smallest weighted tag whatever its limit, else the smallest reservation tag. Looks at all heads that
    /// wait for a tag: the mode is in no published use.
    fn over_limit(&self) -> Option<RecordChoice> {
        let allows = |flow: FlowId| {
            let rates = self.classes[self.records[flow].class].rates();
            rates.is_some_and(|rates| rates.params.limit_policy() == LimitPolicy::WorkConserving)
        };
        let flow_of = |entry: Packed| FlowId::new(entry.index());
        let by_weight = self.limited.iter().map(flow_of).filter(|flow| allows(*flow));
        let least =
            by_weight.min_by_key(|flow| (self.records[*flow].effective_proportion(), *flow));
        if let Some(flow) = least {
            return Some(RecordChoice::Serve { flow, phase: Phase::Spare, compensated: true });
        }
        let by_reservation = self.reserved.iter().filter(|entry| allows(flow_of(*entry)));
        let flow = by_reservation.min_by_key(|entry| (entry.key(), entry.index())).map(flow_of)?;
        Some(RecordChoice::Serve { flow, phase: Phase::Spare, compensated: false })
    }

    /// The first tag to come. A limit counts only where there is a weight to run by afterwards.
    fn first_tag(&self) -> RecordChoice {
        let tags = [self.reserved.peek(), self.limited.peek()];
        match tags.into_iter().flatten().map(Packed::key).min() {
            Some(key) => RecordChoice::NotBefore(Tick::from_key(key).ceil()),
            None => RecordChoice::Nothing,
        }
    }

    fn serve(&mut self, now: Time, flow: FlowId, phase: Phase, compensated: bool) -> Taken<T> {
        let record = &mut self.records[flow];
        let head = self.requests.head_charge(record.fifo);
        let charge = u64::from(head.reserved);
        let left = self.requests.pop_front(&mut record.fifo).expect("the head just seen");
        self.tag_head(now, flow);
        if compensated {
            self.compensate(flow, charge);
        }
        self.taken(left, phase)
    }

    /// Work done by weight does not consume the reservation.
    fn compensate(&mut self, flow: FlowId, charge: u64) {
        let record = &mut self.records[flow];
        let Some(rates) = self.classes[record.class].rates() else { return };
        if !rates.reservation.exists() {
            return;
        }
        let lowered = record.reservation.get().before(rates.reservation.ticks(charge));
        record.reservation = lowered.into();
        if self.reserved.contains(flow.get()) {
            self.reserved.put(Packed::new(lowered.key(), flow.get()));
        }
    }

    fn taken(&self, left: Departed<T>, phase: Phase) -> Taken<T> {
        let record = &self.records[left.flow];
        Taken {
            flow: left.flow,
            class: record.class,
            arrival: left.arrival,
            cost: left.cost,
            priority: left.priority,
            phase,
            payload: left.payload,
        }
    }
}
