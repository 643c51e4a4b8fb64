//! Loadline's own mode of mClock: the total is shared by weight, with the reservation as floor and the limit as cap;
//! tenants share a class by the same rule, clients are fair inside; a bound on how long strict work may keep the
//! rest waiting.
//!
//! Who is next stands in `level`, `choose` and `line`, which know no requests. Here the requests are: in one list for
//! each client, the list of the client whose turn it is in the line of its party.

mod change;
mod choose;
mod explain;
mod flow;
mod level;
mod line;
mod lineup;
mod race;
mod rate;
mod rebase;
mod tenants;
mod tournament;

use super::directory::Directory;
use super::requests::{Departed, RequestCharge, RequestList, RequestTerms, Requests};
use super::{LoadlineConfig, Occupancy};
use crate::{
    ClassId, ClientKey, Distributed, FlowId, Lane, Params, Phase, Refusal, RefusedRequest, Request,
    Scheduler, Take, Taken, Waiting,
};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use choose::{Choice, NotPlain, PopHead};
use flow::{ClientFlow, Flows, Inside, NONE, Turns};
use level::{Level, PARTY_BYTES};
use line::Line;
use loadline_base::Time;
use tenants::Tenants;

// An idle record is a party with its one client.
const _: () = assert!(PARTY_BYTES + size_of::<ClientFlow>() + size_of::<ClientKey>() <= 128);

/// The scheduler; see the module.
#[derive(Clone, Debug)]
pub(super) struct Loadline<T> {
    config: LoadlineConfig,
    classes: Level,
    flows: Flows,
    /// Of parties that have had several clients.
    turns: Vec<Turns>,
    turns_free: Vec<u32>,
    /// Of classes that are divided among tenants.
    tenants: Vec<Tenants>,
    tenants_free: Vec<u32>,
    /// Divided classes whose tenants are all at their limits, and until when.
    asleep: BTreeSet<(Time, u32)>,
    /// The flows of classes that have had several; the only flow of a class stands in its party.
    directory: Directory,
    requests: Requests<T>,
    first: StrictLine,
}

/// What goes before everything that has tags.
#[derive(Clone, Debug)]
pub(super) struct StrictLine {
    strict: RequestList,
    requeued: RequestList,
    /// Strict services in a row while another request could have run.
    run: u32,
    /// Nothing waits here, no run goes on, and no class is divided: the shared classes are asked at once.
    nothing_before: bool,
}

impl<T> Loadline<T> {
    pub(super) fn new(config: LoadlineConfig, lanes: &[Lane]) -> Loadline<T> {
        let mut scheduler = Loadline {
            config,
            classes: Level::new(),
            flows: Flows::default(),
            turns: Vec::new(),
            turns_free: Vec::new(),
            tenants: Vec::new(),
            tenants_free: Vec::new(),
            asleep: BTreeSet::new(),
            directory: Directory::default(),
            requests: Requests::new(),
            first: StrictLine {
                strict: RequestList::EMPTY,
                requeued: RequestList::EMPTY,
                run: 0,
                nothing_before: true,
            },
        };
        for lane in lanes {
            scheduler.add_class(*lane);
        }
        scheduler
    }

    pub(super) fn add_class(&mut self, lane: Lane) -> ClassId {
        let params = match lane {
            Lane::Strict => None,
            Lane::Shared(params) => Some(params),
        };
        ClassId::new(self.classes.add(params, Inside::Nobody))
    }

    /// The row of a class, which has to be one.
    fn row_of(&self, class: ClassId) -> u32 {
        assert!(self.classes.is_open(class.get()), "{class} is not in the class table");
        class.get()
    }

    pub(super) fn params(&self, class: ClassId) -> Option<Params> {
        self.classes.params(self.row_of(class))
    }

    pub(super) fn occupancy(&self) -> Occupancy {
        let count = |fifo| self.requests.iter(fifo).count();
        let (strict, requeued) = (count(self.first.strict), count(self.first.requeued));
        Occupancy {
            strict,
            requeued,
            shared: self.requests.len() - strict - requeued,
            records: self.flows.count_open(),
            reserved: self.classes.reserved.len(),
            weighted: self.classes.weighted.len(),
            limited: self.classes.limited.len(),
        }
    }

    #[inline(always)]
    fn is_strict(&self, class: u32, priority: u32) -> bool {
        self.classes.line(class).is_strict()
            || self.config.strict_priority.is_some_and(|cut_off| priority >= cut_off)
    }

    /// A handle for a client of a party, where it has none yet.
    fn open_flow(&mut self, class: u32, tenant: u32, client: ClientKey) -> u32 {
        let index = self.flows.open(class, tenant, client);
        let inside =
            match Inside::decode(self.level(class, tenant).inside(self.party(class, tenant))) {
                Inside::Nobody => Inside::One(index),
                Inside::One(first) => {
                    let turns = self.begin_turns(first);
                    self.flows[first].member = 0;
                    self.flows[index].member = self.turns[turns as usize].add(index);
                    self.list(first);
                    self.list(index);
                    Inside::Turns(turns)
                }
                Inside::Turns(turns) => {
                    self.flows[index].member = self.turns[turns as usize].add(index);
                    self.list(index);
                    Inside::Turns(turns)
                }
                Inside::Tenants(_) | Inside::Closed => {
                    unreachable!("a client stands in a party, and in a tenant where there are any")
                }
            };
        let party = self.party(class, tenant);
        self.level_mut(class, tenant).set_inside(party, inside);
        index
    }

    fn begin_turns(&mut self, first: u32) -> u32 {
        match self.turns_free.pop() {
            Some(free) => {
                self.turns[free as usize] = Turns::new(first);
                free
            }
            None => {
                self.turns.push(Turns::new(first));
                (self.turns.len() - 1) as u32
            }
        }
    }

    /// Makes a flow one that is found by its class and client.
    fn list(&mut self, index: u32) {
        let flow = self.flows[index];
        if flow.tenant == NONE {
            let handle = self.flows.handle(index);
            let client = self.flows.client(index);
            self.directory.insert(ClassId::new(flow.class), client, handle);
        }
    }

    /// The level on which the party of a class, or of a tenant in it, stands.
    #[inline(always)]
    fn level(&self, class: u32, tenant: u32) -> &Level {
        if tenant == NONE { &self.classes } else { &self.tenants[self.tenants_of(class)].level }
    }

    #[inline(always)]
    fn level_mut(&mut self, class: u32, tenant: u32) -> &mut Level {
        if tenant == NONE {
            return &mut self.classes;
        }
        let tenants = self.tenants_of(class);
        &mut self.tenants[tenants].level
    }

    /// The index of a party on its level.
    fn party(&self, class: u32, tenant: u32) -> u32 {
        if tenant == NONE { class } else { tenant }
    }

    /// Where the tenants of a divided class are.
    fn tenants_of(&self, class: u32) -> usize {
        match Inside::decode(self.classes.inside(class)) {
            Inside::Tenants(tenants) => tenants as usize,
            _ => unreachable!("a flow with a tenant belongs to a divided class"),
        }
    }

    /// Adds a request to a client beside others, or of a tenant.
    fn push_beside_others(&mut self, now: Time, flow: ClientFlow, request: Request<T>) {
        let ClientFlow { class, tenant, member, .. } = flow;
        let party = self.party(class, tenant);
        let charge = RequestCharge::new(request.cost, request.distributed);
        let level = match Inside::decode(self.classes.inside(class)) {
            Inside::Tenants(tenants) => {
                let tenants = &mut self.tenants[tenants as usize];
                tenants.waiting += 1;
                &mut tenants.level
            }
            _ => &mut self.classes,
        };
        let turns = level.turns(party);
        let line = level.line_mut(party);
        let is_head = match turns {
            Some(turns) => {
                let turns = &mut self.turns[turns as usize];
                let fifo = turns.fifo(member, &mut line.fifo);
                self.requests.push_back(fifo, now, request)
                    && turns.wakes(member, line.is_busy(), &mut line.fifo)
            }
            None => self.requests.push_back(&mut line.fifo, now, request),
        };
        if is_head {
            let tick = level.tick(now);
            level.wakes(tick, party, charge);
            if tenant != NONE {
                self.class_wakes(now, class);
            }
        }
    }

    /// Takes the next request: strict work, then what was put back, then the shared classes.
    #[inline(always)]
    fn take_next(&mut self, now: Time) -> Take<T> {
        if self.first.nothing_before {
            let tick = self.classes.tick(now);
            match self.classes.serve_plainly(tick, &mut self.requests) {
                Ok((class, left, phase)) => return Take::Ready(taken(class, left, phase)),
                Err(NotPlain::Rare) => {}
                Err(NotPlain::Nobody) => match self.classes.choose_spare(now) {
                    Choice::NotBefore(time) => return Take::NotBefore(time),
                    Choice::Nothing => return Take::Empty,
                    _ => {}
                },
            }
        }
        self.take_with_care(now).apart()
    }

    /// The same where something about who is next is rare.
    #[inline(never)]
    fn take_with_care(&mut self, now: Time) -> Take<T> {
        let take = if !self.first.strict.is_empty() {
            self.take_beside_strict(now)
        } else {
            self.first.run = 0;
            self.take_requeued_or_shared(now)
        };
        self.look_before();
        take
    }

    /// Whether the shared classes may be asked at once from now on: after a class was divided, and where anything went before them.
    fn look_before(&mut self) {
        let StrictLine { strict, requeued, run, .. } = &self.first;
        self.first.nothing_before =
            strict.is_empty() && requeued.is_empty() && *run == 0 && self.tenants.is_empty();
    }

    fn next_time_without_strict(&mut self, now: Time) -> Option<Time> {
        if !self.first.requeued.is_empty() {
            return Some(now);
        }
        match self.choose(now) {
            Choice::NotBefore(time) => Some(time),
            Choice::Nothing => None,
            _ => Some(now),
        }
    }

    /// Strict work goes first, but after `strict_run_max` in a row beside a request that could have run, that
    /// one goes.
    fn take_beside_strict(&mut self, now: Time) -> Take<T> {
        if self.config.strict_run_max.is_some() && self.next_time_without_strict(now) == Some(now) {
            if self.strict_run_is_over() {
                self.first.run = 0;
                return self.take_requeued_or_shared(now);
            }
            self.first.run += 1;
        }
        let left = self.requests.pop_front(&mut self.first.strict).expect("strict work waits");
        self.taken_beside(left, Phase::Strict)
    }

    fn strict_run_is_over(&self) -> bool {
        self.config.strict_run_max.is_some_and(|most| self.first.run >= most)
    }

    fn take_requeued_or_shared(&mut self, now: Time) -> Take<T> {
        match self.requests.pop_front(&mut self.first.requeued) {
            Some(left) => self.taken_beside(left, Phase::Requeued),
            None => self.take_shared(now),
        }
    }

    /// Who is next among the shared classes; a divided one only if one of its tenants may run.
    fn choose(&mut self, now: Time) -> Choice {
        if !self.tenants.is_empty() {
            return self.choose_among_divided(now);
        }
        let tick = self.classes.tick(now);
        self.classes.choose(now, tick)
    }

    /// The same where classes are divided: those only if one of their tenants may run.
    #[inline(never)]
    fn choose_among_divided(&mut self, now: Time) -> Choice {
        if !self.asleep.is_empty() {
            self.wake_sleepers(now);
        }
        loop {
            let tick = self.classes.tick(now);
            let choice = self.classes.choose(now, tick);
            if let Some(choice) = self.confirm(now, choice) {
                return choice;
            }
        }
    }

    /// The arms are alike, each compiled for its choice.
    fn take_shared(&mut self, now: Time) -> Take<T> {
        match self.choose(now) {
            Choice::Reservation(class, tag) => {
                self.take_chosen(now, class, Choice::Reservation(class, tag))
            }
            Choice::Weight(class) => self.take_chosen(now, class, Choice::Weight(class)),
            Choice::Spare(class) => self.take_chosen(now, class, Choice::Spare(class)),
            Choice::NotBefore(time) => Take::NotBefore(time),
            Choice::Nothing => Take::Empty,
        }
    }

    fn take_chosen(&mut self, now: Time, class: u32, choice: Choice) -> Take<T> {
        if self.classes.line(class).is_shared() {
            return self.take_from_shared(now, choice, class);
        }
        let tick = self.classes.tick_at(now);
        let (left, phase) = self.classes.serve(tick, choice, &mut self.requests);
        Take::Ready(taken(class, left, phase))
    }

    /// Takes the next request of a class of several clients, or of tenants.
    #[inline(never)]
    fn take_from_shared(&mut self, now: Time, choice: Choice, class: u32) -> Take<T> {
        let Inside::Turns(turns) = Inside::decode(self.classes.inside(class)) else {
            return self.take_from_tenants(now, choice, class);
        };
        let tick = self.classes.tick_at(now);
        let turns = Some(&mut self.turns[turns as usize]);
        let heads = InTurn { requests: &mut self.requests, turns };
        let (left, phase) = self.classes.serve(tick, choice, heads);
        Take::Ready(taken(class, left, phase))
    }

    /// What leaves a list beside the shared classes.
    fn taken_beside(&self, left: Departed<T>, phase: Phase) -> Take<T> {
        Take::Ready(taken(self.flows[left.flow.get()].class, left, phase))
    }

    /// Adds a request; see [`RequestTerms`].
    #[inline(always)]
    pub(super) fn enqueue_in_parts(
        &mut self,
        now: Time,
        flow: FlowId,
        terms: RequestTerms,
        distributed: Distributed,
        payload: T,
    ) -> Result<(), RefusedRequest<T>> {
        let RequestTerms { priority, cost } = terms;
        let class = match self.flows.of(flow) {
            Some(known) if self.appends(known.class, cost) => known.class,
            _ => return self.enqueue_with_care(now, flow, terms, distributed, payload),
        };
        self.push_alone(now, class, Request { flow, priority, cost, distributed, payload });
        Ok(())
    }

    /// Adds a request that goes past the shared classes, that a policy looks at, or whose class has several clients.
    #[inline(never)]
    fn enqueue_with_care(
        &mut self,
        now: Time,
        flow: FlowId,
        terms: RequestTerms,
        distributed: Distributed,
        payload: T,
    ) -> Result<(), RefusedRequest<T>> {
        let RequestTerms { priority, cost } = terms;
        let request = Request { flow, priority, cost, distributed, payload };
        let Some(flow) = self.flows.of(request.flow).copied() else {
            return Err(RefusedRequest { request, refusal: Refusal::UnknownFlow });
        };
        if self.is_strict(flow.class, request.priority) {
            self.requests.push_back(&mut self.first.strict, now, request);
            self.first.nothing_before = false;
            return Ok(());
        }
        if request.cost == 0 {
            return Err(RefusedRequest { request, refusal: Refusal::NoCost });
        }
        if let Err(refusal) = self.admit(now, flow, &request) {
            return Err(RefusedRequest { request, refusal });
        }
        if self.classes.line(flow.class).is_shared() {
            self.push_beside_others(now, flow, request);
        } else {
            self.push_alone(now, flow.class, request);
        }
        Ok(())
    }

    /// Whether a request of this class and cost only has to be appended.
    #[inline(always)]
    fn appends(&self, class: u32, cost: u32) -> bool {
        self.config.strict_priority.is_none() && cost != 0 && self.classes.line(class).appends()
    }

    /// Adds a request to a class with one client.
    #[inline(always)]
    fn push_alone(&mut self, now: Time, class: u32, request: Request<T>) {
        let charge = RequestCharge::new(request.cost, request.distributed);
        let line = self.classes.line_mut(class);
        if self.requests.push_back(&mut line.fifo, now, request) {
            let tick = self.classes.tick(now);
            self.classes.wakes(tick, class, charge);
        }
    }
}

/// Of a party with one client.
impl<T> PopHead for &mut Requests<T> {
    type Head = Departed<T>;

    #[inline(always)]
    fn pop(self, line: &mut Line) -> (Departed<T>, RequestCharge) {
        self.pop_before_next(&mut line.fifo)
    }
}

/// Of a party in which clients take turns, if they do.
struct InTurn<'a, T> {
    requests: &'a mut Requests<T>,
    turns: Option<&'a mut Turns>,
}

impl<T> PopHead for InTurn<'_, T> {
    type Head = Departed<T>;

    #[inline(always)]
    fn pop(self, line: &mut Line) -> (Departed<T>, RequestCharge) {
        let Some(turns) = self.turns else {
            return self.requests.pop_before_next(&mut line.fifo);
        };
        let head = self.requests.pop_head(&mut line.fifo);
        turns.pass(line.cost, &mut line.fifo);
        (head, self.requests.head_charge(line.fifo))
    }
}

#[inline(always)]
fn taken<T>(class: u32, left: Departed<T>, phase: Phase) -> Taken<T> {
    let Departed { flow, arrival, cost, priority, payload } = left;
    Taken { flow, class: ClassId::new(class), arrival, cost, priority, phase, payload }
}

impl<T> Scheduler<T> for Loadline<T> {
    fn flow(&mut self, now: Time, class: ClassId, client: ClientKey) -> FlowId {
        let _ = now;
        let row = self.row_of(class);
        let index = match Inside::decode(self.classes.inside(row)) {
            Inside::One(flow) if self.flows.client(flow) == client => flow,
            Inside::Tenants(_) => return self.rest_flow(class, client),
            _ => match self.directory.find(class, client) {
                Some(flow) => return flow,
                None => self.open_flow(row, NONE, client),
            },
        };
        self.flows.handle(index)
    }

    fn close_flow(&mut self, now: Time, flow: FlowId, removed: &mut Vec<T>) {
        if self.flows.of(flow).is_some() {
            self.close(now, flow.get(), removed);
        }
    }

    fn enqueue(&mut self, now: Time, request: Request<T>) -> Result<(), RefusedRequest<T>> {
        let Request { flow, priority, cost, distributed, payload } = request;
        self.enqueue_in_parts(now, flow, RequestTerms { priority, cost }, distributed, payload)
    }

    fn enqueue_front(&mut self, now: Time, request: Request<T>) -> Result<(), RefusedRequest<T>> {
        let Some(flow) = self.flows.of(request.flow) else {
            return Err(RefusedRequest { request, refusal: Refusal::UnknownFlow });
        };
        let strict = self.is_strict(flow.class, request.priority);
        let fifo = if strict { &mut self.first.strict } else { &mut self.first.requeued };
        self.requests.push_front(fifo, now, request);
        self.first.nothing_before = false;
        Ok(())
    }

    #[inline(always)]
    fn take(&mut self, now: Time) -> Take<T> {
        self.take_next(now)
    }

    fn earliest(&mut self, now: Time) -> Option<Time> {
        if self.first.strict.is_empty() { self.next_time_without_strict(now) } else { Some(now) }
    }

    fn remove_class(&mut self, now: Time, class: ClassId, removed: &mut Vec<T>) {
        self.remove(now, |id, _| id == class.get(), removed);
    }

    fn remove_where(
        &mut self,
        now: Time,
        doomed: &mut dyn FnMut(&T) -> bool,
        removed: &mut Vec<T>,
    ) {
        self.remove(now, |_, payload| doomed(payload), removed);
    }

    fn set_params(&mut self, now: Time, class: ClassId, params: Params) {
        self.change_params(now, self.row_of(class), params);
    }

    fn waiting(&self, now: Time) -> Vec<Waiting> {
        self.explain(now, None)
    }

    fn waiting_of(&self, now: Time, class: ClassId) -> Vec<Waiting> {
        self.explain(now, Some(class))
    }

    fn len(&self) -> usize {
        self.requests.len()
    }
}
