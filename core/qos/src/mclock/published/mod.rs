//! mClock as published (qos.md section 2): a record per flow, delayed tags, three steps per pull, idle records,
//! and the queue beside.
//!
//! Where it differs from the reference library: time is integral, so a tag that equals `now` is due in every
//! machine's arithmetic; the answer "not before" names only times at which something can run; a record is never
//! forgotten while requests wait in it.

mod clean;
mod explain;
mod pull;
mod record;

use super::beside::BesideQueue;
use super::directory::Directory;
use super::heap::{Heap, Packed, Wide};
use super::requests::{RequestCharge, RequestList, RequestTerms, Requests};
use super::tick::Tick;
use super::{Occupancy, PublishedConfig};
use crate::{
    ClassId, ClientKey, Distributed, FlowId, Lane, Params, Refusal, RefusedRequest, Request,
    Scheduler, Take, Waiting,
};
use alloc::vec::Vec;
use loadline_base::{IdVec, Time};
use record::{CLOSED, ClientRecord, TagRates};

/// What may be given out again.
#[derive(Clone, Debug, Default)]
struct FreeRows {
    /// Rows of closed classes.
    classes: Vec<ClassId>,
    /// Handles of closed flows.
    flows: Vec<FlowId>,
}

/// A row of the class table.
#[derive(Clone, Copy, Debug)]
enum ClassEntry {
    /// No class has it.
    Closed,
    Strict,
    Shared(TagRates),
}

/// The scheduler; see the module.
#[derive(Clone, Debug)]
pub(super) struct Published<T> {
    config: PublishedConfig,
    classes: IdVec<ClassId, ClassEntry>,
    records: IdVec<FlowId, ClientRecord>,
    directory: Directory,
    requests: Requests<T>,
    beside: BesideQueue,
    /// Heads with a reservation, by reservation tag.
    reserved: Heap<Packed, true>,
    /// Ready heads with a weight, by weighted tag.
    ready: Heap<Wide, true>,
    /// Heads with a weight that are not ready, by limit tag.
    limited: Heap<Packed, true>,
    /// Records that are not idle by their ledgers: lower bounds, for the least of them when one joins.
    ledgers: Heap<Wide, false>,
    free: FreeRows,
    /// When the next cleaning pass is due; none before the first call.
    next_clean: Option<Time>,
}

impl<T> Published<T> {
    /// See [`RequestTerms`].
    #[inline(never)]
    pub(super) fn enqueue_in_parts(
        &mut self,
        now: Time,
        flow: FlowId,
        terms: RequestTerms,
        distributed: Distributed,
        payload: T,
    ) -> Result<(), RefusedRequest<T>> {
        let RequestTerms { priority, cost } = terms;
        self.enqueue(now, Request { flow, priority, cost, distributed, payload })
    }

    pub(super) fn new(config: PublishedConfig, lanes: &[Lane]) -> Published<T> {
        let mut scheduler = Published {
            config,
            classes: IdVec::new(),
            records: IdVec::new(),
            directory: Directory::default(),
            requests: Requests::new(),
            beside: BesideQueue::new(config.beside, config.cut_off),
            reserved: Heap::new(),
            ready: Heap::new(),
            limited: Heap::new(),
            ledgers: Heap::new(),
            free: FreeRows::default(),
            next_clean: None,
        };
        for lane in lanes {
            scheduler.add_class(*lane);
        }
        scheduler
    }

    pub(super) fn add_class(&mut self, lane: Lane) -> ClassId {
        match self.free.classes.pop() {
            Some(class) => {
                self.classes[class] = ClassEntry::of(lane);
                class
            }
            None => self.classes.push(ClassEntry::of(lane)),
        }
    }

    /// Takes a class out of the table with its records and what waits of them.
    pub(super) fn close_class(&mut self, now: Time, class: ClassId, removed: &mut Vec<T>) {
        self.assert_open(class);
        for flow in self.directory.of_class(class) {
            self.close_flow(now, flow, removed);
        }
        self.classes[class] = ClassEntry::Closed;
        self.free.classes.push(class);
    }

    fn assert_open(&self, class: ClassId) {
        let is_open = !matches!(self.classes.get(class), None | Some(ClassEntry::Closed));
        assert!(is_open, "{class} is not in the class table");
    }

    pub(super) fn params(&self, class: ClassId) -> Option<Params> {
        self.assert_open(class);
        self.classes[class].rates().map(|rates| rates.params)
    }

    pub(super) fn occupancy(&self) -> Occupancy {
        let (mut strict, mut requeued) = (0, 0);
        for slot in self.beside.fifos().flat_map(|fifo| self.requests.iter(fifo)) {
            if self.goes_beside(self.records[FlowId::new(slot.flow)].class, slot.priority) {
                strict += 1;
            } else {
                requeued += 1;
            }
        }
        let known = |record: &&ClientRecord| record.is_open() && !record.flags.erased;
        Occupancy {
            strict,
            requeued,
            shared: self.requests.len() - strict - requeued,
            records: self.records.values().filter(known).count(),
            reserved: self.reserved.len(),
            weighted: self.ready.len(),
            limited: self.limited.len(),
        }
    }

    fn class_of(&self, flow: FlowId) -> Option<ClassId> {
        let record = self.records.get(flow)?;
        (record.is_open() && record.generation == flow.generation()).then_some(record.class)
    }

    fn is_immediate(&self, class: ClassId) -> bool {
        self.classes[class].rates().is_none()
    }

    fn goes_beside(&self, class: ClassId, priority: u32) -> bool {
        self.beside.takes(self.is_immediate(class), priority)
    }

    /// Charges an arrival to a record that rejects, or says when it would be accepted.
    ///
    /// The limit tag is computed on arrival, from that of the request admitted last; since a record is served in
    /// order, the delayed tag of the same request comes out equal.
    fn admit(&mut self, now: Time, request: &Request<T>) -> Result<(), Refusal> {
        let record = &mut self.records[request.flow];
        let rates = self.classes[record.class].rates().filter(|rates| rates.rejects());
        let Some(rates) = rates else { return Ok(()) };
        let charge = u64::from(RequestCharge::new(request.cost, request.distributed).cost);
        let arrival = Tick::from_time(now);
        let tag = record.admitted.get().after(rates.limit.ticks(charge)).max(arrival);
        if tag > arrival.after_span(self.config.reject_threshold) {
            return Err(Refusal::OverLimit(tag.before_span(self.config.reject_threshold).ceil()));
        }
        record.admitted = tag.into();
        Ok(())
    }

    /// Tags the head of a record, if it has one, and puts it where its tags belong.
    fn tag_head(&mut self, now: Time, flow: FlowId) {
        let record = &mut self.records[flow];
        let Some(head) = self.requests.head(record.fifo) else {
            self.enter_ledgers(flow);
            return self.leave_heaps(flow);
        };
        let rates = self.classes[record.class].rates().expect("a strict class has no records");
        record.tag(head.arrival, head.charge, rates, self.config.anticipation);
        record.flags.ready = !record.flags.has_limit || record.limit.get() <= Tick::from_time(now);
        self.enter_ledgers(flow);
        self.enter_heaps(flow);
    }

    /// Puts a head into the heaps that its tags and its readiness ask for.
    fn enter_heaps(&mut self, flow: FlowId) {
        let (record, index) = (&self.records[flow], flow.get());
        if record.flags.has_reservation {
            self.reserved.put(Packed::new(record.reservation.get().key(), index));
        } else {
            self.reserved.remove(index);
        }
        match record.effective_proportion() {
            Some(key) if record.flags.ready => {
                self.limited.remove(index);
                self.ready.put(Wide { key, index });
            }
            Some(_) => {
                self.ready.remove(index);
                self.limited.put(Packed::new(record.limit.get().key(), index));
            }
            None => {
                self.ready.remove(index);
                self.limited.remove(index);
            }
        }
    }

    fn leave_heaps(&mut self, flow: FlowId) {
        self.reserved.remove(flow.get());
        self.ready.remove(flow.get());
        self.limited.remove(flow.get());
    }

    /// Removes the requests of the records that satisfy `doomed`; a new head is tagged from the removed one's tags.
    fn remove(
        &mut self,
        now: Time,
        mut doomed: impl FnMut(FlowId, ClassId, &T) -> bool,
        removed: &mut Vec<T>,
    ) {
        let records = &self.records;
        let beside = |flow: u32, payload: &T| {
            let flow = FlowId::new(flow);
            doomed(flow, records[flow].class, payload)
        };
        self.beside.remove_where(&mut self.requests, beside, removed);
        for flow in self.records.ids() {
            let record = &mut self.records[flow];
            if record.fifo.is_empty() {
                continue;
            }
            let class = record.class;
            let head = record.fifo;
            let doomed = |_, payload: &T| doomed(flow, class, payload);
            self.requests.remove_where(&mut record.fifo, doomed, removed);
            if !record.fifo.same_head(head) {
                self.tag_head(now, flow);
            }
        }
    }
}

impl ClassEntry {
    fn of(lane: Lane) -> ClassEntry {
        match lane {
            Lane::Strict => ClassEntry::Strict,
            Lane::Shared(params) => ClassEntry::Shared(TagRates::new(params)),
        }
    }

    #[inline]
    fn rates(&self) -> Option<&TagRates> {
        match self {
            ClassEntry::Shared(rates) => Some(rates),
            ClassEntry::Strict | ClassEntry::Closed => None,
        }
    }
}

impl<T> Scheduler<T> for Published<T> {
    fn flow(&mut self, _now: Time, class: ClassId, client: ClientKey) -> FlowId {
        self.assert_open(class);
        if let Some(flow) = self.directory.find(class, client) {
            return flow;
        }
        let flow = match self.free.flows.pop() {
            Some(flow) => {
                let in_ledgers = self.records[flow].flags.in_ledgers;
                self.records[flow] = ClientRecord::new(class, client, flow.generation());
                self.records[flow].flags.in_ledgers = in_ledgers;
                flow
            }
            None => {
                self.records.push(ClientRecord::new(class, client, FlowId::new(0).generation()))
            }
        };
        self.directory.insert(class, client, flow);
        self.reserved.cover(self.records.len());
        self.ready.cover(self.records.len());
        self.limited.cover(self.records.len());
        flow
    }

    fn close_flow(&mut self, _now: Time, flow: FlowId, removed: &mut Vec<T>) {
        let Some(class) = self.class_of(flow) else { return };
        self.beside.remove_where(&mut self.requests, |owner, _| owner == flow.get(), removed);
        let record = &mut self.records[flow];
        self.requests.remove_where(&mut record.fifo, |_, _| true, removed);
        record.class = CLOSED;
        let client = record.client;
        self.directory.remove(class, client);
        self.free.flows.push(flow.next_generation());
        self.leave_heaps(flow);
    }

    fn enqueue(&mut self, now: Time, request: Request<T>) -> Result<(), RefusedRequest<T>> {
        self.clean_when_due(now);
        let flow = request.flow;
        let Some(class) = self.class_of(flow) else {
            return Err(RefusedRequest { request, refusal: Refusal::UnknownFlow });
        };
        if self.goes_beside(class, request.priority) {
            let immediate = self.is_immediate(class);
            self.beside.push_back(&mut self.requests, now, immediate, request);
            return Ok(());
        }
        if request.cost == 0 {
            return Err(RefusedRequest { request, refusal: Refusal::NoCost });
        }
        if let Err(refusal) = self.admit(now, &request) {
            return Err(RefusedRequest { request, refusal });
        }
        self.touch(now, flow);
        let fifo: &mut RequestList = &mut self.records[flow].fifo;
        if self.requests.push_back(fifo, now, request) {
            self.tag_head(now, flow);
        }
        Ok(())
    }

    fn enqueue_front(&mut self, now: Time, request: Request<T>) -> Result<(), RefusedRequest<T>> {
        let Some(class) = self.class_of(request.flow) else {
            return Err(RefusedRequest { request, refusal: Refusal::UnknownFlow });
        };
        let immediate = self.is_immediate(class);
        self.beside.push_front(&mut self.requests, now, immediate, request);
        Ok(())
    }

    #[inline(never)]
    fn take(&mut self, now: Time) -> Take<T> {
        self.clean_when_due(now);
        self.pull(now)
    }

    fn earliest(&mut self, now: Time) -> Option<Time> {
        self.next_time(now)
    }

    fn remove_class(&mut self, now: Time, class: ClassId, removed: &mut Vec<T>) {
        self.remove(now, |_, id, _| id == class, removed);
    }

    fn remove_where(
        &mut self,
        now: Time,
        doomed: &mut dyn FnMut(&T) -> bool,
        removed: &mut Vec<T>,
    ) {
        self.remove(now, |_, _, payload| doomed(payload), removed);
    }

    /// The new parameters count from the next tag on; tags that are assigned stay.
    fn set_params(&mut self, _now: Time, class: ClassId, params: Params) {
        self.assert_open(class);
        if let ClassEntry::Shared(rates) = &mut self.classes[class] {
            *rates = TagRates::new(params);
        }
    }

    fn waiting(&self, now: Time) -> Vec<Waiting> {
        self.explain(now)
    }

    fn len(&self) -> usize {
        self.requests.len()
    }
}
