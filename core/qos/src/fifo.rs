//! FIFO: no classes, no costs, the oldest first. What the other schedulers are compared with.

use crate::flows::FlowTable;
use crate::{
    ClassId, ClientKey, FlowId, Lane, Params, Phase, Refusal, RefusedRequest, Request, Scheduler,
    Take, Taken, WaitCause, Waiting,
};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use loadline_base::Time;

/// A single line. Lanes and priorities are remembered, not obeyed: strict work waits like any other.
#[derive(Clone, Debug)]
pub struct Fifo<T> {
    flows: FlowTable,
    line: VecDeque<FifoItem<T>>,
}

#[derive(Clone, Debug)]
struct FifoItem<T> {
    request: Request<T>,
    arrival: Time,
    phase: Phase,
}

impl<T> Fifo<T> {
    /// A line for the classes of `lanes`.
    pub fn new(lanes: &[Lane]) -> Fifo<T> {
        Fifo { flows: FlowTable::new(lanes), line: VecDeque::new() }
    }

    fn admit(
        &self,
        now: Time,
        request: Request<T>,
        phase: Phase,
    ) -> Result<FifoItem<T>, RefusedRequest<T>> {
        match self.flows.get(request.flow) {
            Some(_) => Ok(FifoItem { request, arrival: now, phase }),
            None => Err(RefusedRequest { request, refusal: Refusal::UnknownFlow }),
        }
    }

    fn remove(&mut self, mut doomed: impl FnMut(&Request<T>) -> bool, removed: &mut Vec<T>) {
        let line = core::mem::take(&mut self.line);
        for item in line {
            if doomed(&item.request) {
                removed.push(item.request.payload);
            } else {
                self.line.push_back(item);
            }
        }
    }
}

impl<T> Scheduler<T> for Fifo<T> {
    fn flow(&mut self, _now: Time, class: ClassId, client: ClientKey) -> FlowId {
        let open = self.flows.find(class, client);
        open.unwrap_or_else(|| self.flows.open(class, client, 0))
    }

    fn close_flow(&mut self, _now: Time, flow: FlowId, removed: &mut Vec<T>) {
        if self.flows.close(flow).is_some() {
            self.remove(|request| request.flow == flow, removed);
        }
    }

    fn enqueue(&mut self, now: Time, request: Request<T>) -> Result<(), RefusedRequest<T>> {
        let item = self.admit(now, request, Phase::Fifo)?;
        self.line.push_back(item);
        Ok(())
    }

    fn enqueue_front(&mut self, now: Time, request: Request<T>) -> Result<(), RefusedRequest<T>> {
        let item = self.admit(now, request, Phase::Requeued)?;
        self.line.push_front(item);
        Ok(())
    }

    fn take(&mut self, _now: Time) -> Take<T> {
        let Some(FifoItem { request, arrival, phase }) = self.line.pop_front() else {
            return Take::Empty;
        };
        let Request { flow, priority, cost, payload, .. } = request;
        let class = self.flows.at(flow).class;
        Take::Ready(Taken { flow, class, arrival, cost, priority, phase, payload })
    }

    fn earliest(&mut self, now: Time) -> Option<Time> {
        (!self.line.is_empty()).then_some(now)
    }

    fn remove_class(&mut self, _now: Time, class: ClassId, removed: &mut Vec<T>) {
        let flows = self.flows.clone();
        self.remove(|request| flows.at(request.flow).class == class, removed);
    }

    fn remove_where(
        &mut self,
        _now: Time,
        doomed: &mut dyn FnMut(&T) -> bool,
        removed: &mut Vec<T>,
    ) {
        self.remove(|request| doomed(&request.payload), removed);
    }

    fn set_params(&mut self, _now: Time, _class: ClassId, _params: Params) {}

    fn waiting(&self, _now: Time) -> Vec<Waiting> {
        let mut places: BTreeMap<FlowId, usize> = BTreeMap::new();
        let explain = |(index, item): (usize, &FifoItem<T>)| {
            let flow = self.flows.at(item.request.flow);
            let ahead = places.entry(item.request.flow).or_default();
            let place = *ahead;
            *ahead += 1;
            Waiting {
                flow: item.request.flow,
                class: flow.class,
                client: flow.client,
                place,
                arrival: item.arrival,
                cost: item.request.cost,
                priority: item.request.priority,
                tags: None,
                reason: if index == 0 { WaitCause::Next } else { WaitCause::BehindOlder(index) },
            }
        };
        self.line.iter().enumerate().map(explain).collect()
    }

    fn len(&self) -> usize {
        self.line.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first_and_removal_keeps_the_order() {
        let mut fifo = Fifo::new(&[Lane::Strict, Lane::Strict]);
        let now = Time::ZERO;
        let [a, b] = [0, 1].map(|class| fifo.flow(now, ClassId::new(class), ClientKey(0)));
        for (flow, payload) in [(a, 1), (b, 2), (a, 3), (b, 4)] {
            fifo.enqueue(now, Request::new(flow, 1, payload)).unwrap();
        }
        fifo.enqueue_front(now, Request::new(b, 1, 0)).unwrap();
        assert_eq!(fifo.waiting(now)[3].reason, WaitCause::BehindOlder(3));
        assert_eq!(fifo.waiting(now)[3].place, 1);
        let mut removed = Vec::new();
        fifo.remove_class(now, ClassId::new(0), &mut removed);
        assert_eq!(removed, [1, 3]);
        let mut taken = Vec::new();
        assert_eq!(fifo.take_batch(now, 9, &mut taken), Some(Take::Empty));
        assert_eq!(taken.iter().map(|taken| taken.payload).collect::<Vec<_>>(), [0, 2, 4]);
        for (flow, payload) in [(b, 5), (a, 6), (b, 8)] {
            fifo.enqueue(now, Request::new(flow, 1, payload)).unwrap();
        }
        removed.clear();
        fifo.close_flow(now, a, &mut removed);
        assert_eq!(removed, [6], "what other flows have waiting stays");
        taken.clear();
        fifo.take_batch(now, 9, &mut taken);
        assert_eq!(taken.iter().map(|taken| taken.payload).collect::<Vec<_>>(), [5, 8]);
        let refused = fifo.enqueue(now, Request::new(a, 1, 7)).unwrap_err();
        assert_eq!(refused.refusal, Refusal::UnknownFlow);
    }
}
