//! Loadline's own mode of mClock: reservations and limits by time tags, weights by virtual time, clients
//! fair inside their class, a bound on how long strict work may keep the rest waiting.
//!
//! Classes stand in up to three heaps by the tags of their heads. The key in a heap is a lower bound of the tag:
//! a tag that moved later is corrected when its entry reaches the top, one that moved earlier at once. So a
//! service touches the one heap it was chosen from, and adding to a class with requests touches none.

mod change;
mod choose;
mod class;
mod explain;
mod serve;
mod turns;

use super::directory::Directory;
use super::heap::{Heap, Packed, Wide};
use super::lineup::Lineup;
use super::requests::{Fifo, Requests};
use super::tick::Tick;
use super::{LoadlineConfig, Occupancy};
use crate::{
    ClassId, ClientKey, FlowId, Lane, LimitPolicy, Params, Refusal, RefusedRequest, Request,
    Scheduler, Take, Waiting,
};
use class::{CLOSED, Class, Flow, Head, NO_FLOW, WeightUnit};
use loadline_base::{IdVec, Time};
use turns::{NO_TURNS, Turns, TurnsId};

/// The scheduler; see the module.
#[derive(Clone, Debug)]
pub(super) struct Loadline<T> {
    config: LoadlineConfig,
    classes: IdVec<ClassId, Class>,
    flows: IdVec<FlowId, Flow>,
    /// Of the classes that have had several clients.
    turns: IdVec<TurnsId, Turns>,
    /// The flows of classes that have had several; the only flow of a class stands in its `turn`.
    directory: Directory,
    requests: Requests<T>,
    strict: Fifo,
    requeued: Fifo,
    /// Strict services in a row while another request could have run.
    strict_run: u32,
    /// Classes with a reservation, by reservation tag.
    reserved: Heap<Packed, true>,
    /// Classes with a weight that were within their limit when last looked at, by start tag.
    weighted: Lineup,
    /// Classes with a weight that are at their limit, by limit tag.
    limited: Heap<Packed, true>,
    /// Those of `limited` that may use what nobody else wants, by start tag.
    spare: Heap<Wide, false>,
    /// Start tag of the last service by weight.
    virtual_time: u128,
    weight_unit: WeightUnit,
}

impl<T> Loadline<T> {
    pub(super) fn new(config: LoadlineConfig, lanes: &[Lane]) -> Loadline<T> {
        let mut scheduler = Loadline {
            config,
            classes: IdVec::new(),
            flows: IdVec::new(),
            turns: IdVec::new(),
            directory: Directory::default(),
            requests: Requests::new(),
            strict: Fifo::EMPTY,
            requeued: Fifo::EMPTY,
            strict_run: 0,
            reserved: Heap::new(),
            weighted: Lineup::new(),
            limited: Heap::new(),
            spare: Heap::new(),
            virtual_time: 0,
            weight_unit: WeightUnit::default(),
        };
        for lane in lanes {
            scheduler.add_class(*lane);
        }
        scheduler
    }

    pub(super) fn add_class(&mut self, lane: Lane) -> ClassId {
        let id = self.classes.push(Class::new(lane, &mut self.weight_unit));
        self.reserved.cover(self.classes.len());
        self.limited.cover(self.classes.len());
        id
    }

    pub(super) fn params(&self, class: ClassId) -> Option<Params> {
        self.classes[class].params(self.weight_unit)
    }

    pub(super) fn occupancy(&self) -> Occupancy {
        let count = |fifo| self.requests.iter(fifo).count();
        let (strict, requeued) = (count(self.strict), count(self.requeued));
        Occupancy {
            strict,
            requeued,
            shared: self.requests.len() - strict - requeued,
            records: self.flows.iter().filter(|(_, flow)| flow.is_open()).count(),
            reserved: self.reserved.len(),
            weighted: self.weighted.len(),
            limited: self.limited.len(),
        }
    }

    /// What the tags of the class's head depend on; `None` while nothing of the class waits.
    #[inline]
    fn head(&self, class: &Class) -> Option<Head> {
        self.requests.head(class.fifo).map(Head::of)
    }

    fn is_strict(&self, class: &Class, priority: u32) -> bool {
        class.strict || self.config.strict_priority.is_some_and(|cut_off| priority >= cut_off)
    }

    fn class_of(&self, flow: FlowId) -> Option<ClassId> {
        self.flows.get(flow).map(|flow| flow.class).filter(|class| *class != CLOSED)
    }

    fn open_flow(&mut self, id: ClassId, client: ClientKey) -> FlowId {
        let opened = Flow::new(id, client);
        let flow = match self.directory.reuse() {
            Some(flow) => {
                self.flows[flow] = opened;
                flow
            }
            None => self.flows.push(opened),
        };
        let class = &mut self.classes[id];
        if class.turn == NO_FLOW {
            class.turn = flow;
        } else if class.turns == NO_TURNS {
            class.turns = self.turns.push(Turns::new());
            self.directory.insert(id, self.flows[class.turn].client(), class.turn);
        }
        if class.turns != NO_TURNS {
            self.directory.insert(id, client, flow);
        }
        flow
    }

    /// Charges an arrival to a class that rejects, or says when it would be within the limit.
    ///
    /// The limit tag is computed on arrival, in the order of arrival, from the last one admitted.
    #[inline(always)]
    fn admit(&mut self, now: Time, id: ClassId, request: &Request<T>) -> Result<(), Refusal> {
        let class = &mut self.classes[id];
        if class.limit_policy != LimitPolicy::Reject || !class.limit.exists() {
            return Ok(());
        }
        let tag = class.limit_tag(Head::new(now, request.cost, request.distributed));
        if tag > Tick::from_time(now) {
            return Err(Refusal::OverLimit(tag.ceil()));
        }
        class.limit_base = tag.into();
        Ok(())
    }
}

impl<T> Scheduler<T> for Loadline<T> {
    fn flow(&mut self, _now: Time, class: ClassId, client: ClientKey) -> FlowId {
        let turn = self.classes[class].turn;
        if turn != NO_FLOW && self.flows[turn].client() == client {
            return turn;
        }
        match self.directory.find(class, client) {
            Some(flow) => flow,
            None => self.open_flow(class, client),
        }
    }

    fn close_flow(&mut self, now: Time, flow: FlowId, removed: &mut Vec<T>) {
        self.close(now, flow, removed);
    }

    #[inline(always)]
    fn enqueue(&mut self, now: Time, request: Request<T>) -> Result<(), RefusedRequest<T>> {
        let flow = request.flow;
        let Some(id) = self.class_of(flow) else {
            return Err(RefusedRequest { request, refusal: Refusal::UnknownFlow });
        };
        if self.is_strict(&self.classes[id], request.priority) {
            self.requests.push_back(&mut self.strict, now, request);
            return Ok(());
        }
        if let Err(refusal) = self.admit(now, id, &request) {
            return Err(RefusedRequest { request, refusal });
        }
        let class = &mut self.classes[id];
        let fifo = if class.turn == flow { &mut class.fifo } else { &mut self.flows[flow].fifo };
        let was_empty = fifo.is_empty();
        self.requests.push_back(fifo, now, request);
        if was_empty && class.turns == NO_TURNS {
            self.class_wakes(id);
        } else if was_empty {
            self.client_wakes(id, flow);
        }
        Ok(())
    }

    fn enqueue_front(&mut self, now: Time, request: Request<T>) -> Result<(), RefusedRequest<T>> {
        let Some(id) = self.class_of(request.flow) else {
            return Err(RefusedRequest { request, refusal: Refusal::UnknownFlow });
        };
        let strict = self.is_strict(&self.classes[id], request.priority);
        let fifo = if strict { &mut self.strict } else { &mut self.requeued };
        self.requests.push_front(fifo, now, request);
        Ok(())
    }

    #[inline(always)]
    fn take(&mut self, now: Time) -> Take<T> {
        self.take_next(now)
    }

    fn earliest(&mut self, now: Time) -> Option<Time> {
        self.next_time(now)
    }

    fn remove_class(&mut self, now: Time, class: ClassId, removed: &mut Vec<T>) {
        self.remove(now, |id, _| id == class, removed);
    }

    fn remove_where(
        &mut self,
        now: Time,
        doomed: &mut dyn FnMut(&T) -> bool,
        removed: &mut Vec<T>,
    ) {
        self.remove(now, |_, payload| doomed(payload), removed);
    }

    fn set_params(&mut self, _now: Time, class: ClassId, params: Params) {
        self.change_params(class, params);
    }

    fn waiting(&self, now: Time) -> Vec<Waiting> {
        self.explain(now)
    }

    fn len(&self) -> usize {
        self.requests.len()
    }
}
