//! WPQ: a weighted lottery over priorities, as Ceph's OSDs ran it before mClock (qos.md 8).
//!
//! Two queues of one structure. What is at or above the cut-off (or of a strict class) is *strict* and goes
//! first, highest priority first. Below it, each take draws a priority with probability proportional to its
//! number, then accepts it the less readily the costlier the request at its head is. Inside a priority the
//! owners (clients, peer OSDs, the OSD itself) are served in turn, one request each. There are no rates: a
//! take succeeds whenever something waits.

mod explain;
mod level;
mod nodes;
mod owners;
mod ranks;
mod tier;

use crate::flows::{Flow, FlowTable};
use crate::{
    ClassId, ClientKey, FlowId, Lane, Params, Phase, Refusal, RefusedRequest, Request, Scheduler,
    Take, Taken, Waiting,
};
use loadline_base::{Rng, Time};
use nodes::{Node, Nodes};
use owners::Owners;
use tier::Tier;

/// The weighted priority queue.
///
/// Owners are [`ClientKey`]s, whatever the class: two classes' requests of one client and one priority share
/// a FIFO, which is how recovery items, scrub, trim and deletion (all priority 5, owner 0) come to stand in
/// one line. Opening a flow of a client whose number is not the highest so far costs a walk over the owners.
#[derive(Clone, Debug)]
pub struct Wpq<T> {
    cut_off: u32,
    flows: FlowTable,
    owners: Owners,
    nodes: Nodes<T>,
    strict: Tier,
    normal: Tier,
    /// The largest cost ever inserted below the cut-off; never reduced, as in the original.
    cost_max: u64,
    rng: Rng,
}

/// Where a request joins its FIFO.
#[derive(Clone, Copy)]
enum End {
    Front,
    Back,
}

impl<T> Wpq<T> {
    /// A queue for the classes of `lanes`, where a request with a priority of at least `cut_off` is strict.
    /// Parameters of shared lanes are not used. Equal seeds draw equal lotteries.
    pub fn new(lanes: &[Lane], cut_off: u32, seed: u64) -> Wpq<T> {
        Wpq {
            cut_off,
            flows: FlowTable::new(lanes),
            owners: Owners::default(),
            nodes: Nodes::new(),
            strict: Tier::default(),
            normal: Tier::default(),
            cost_max: 0,
            rng: Rng::new(seed),
        }
    }

    /// Removes everything of one owner, of any class and priority: strict requests first, then the others,
    /// each by descending priority.
    pub fn remove_owner(&mut self, owner: ClientKey, removed: &mut Vec<T>) {
        if let Some(rank) = self.owners.rank(owner) {
            self.sweep(Some(rank), &mut |_| true, removed);
        }
    }

    /// The largest cost ever inserted below the cut-off: what acceptance is measured against.
    pub fn cost_max(&self) -> u64 {
        self.cost_max
    }

    fn sweep(
        &mut self,
        rank: Option<u32>,
        doomed: &mut dyn FnMut(&Node<T>) -> bool,
        removed: &mut Vec<T>,
    ) {
        self.strict.sweep(&mut self.nodes, rank, doomed, removed);
        self.normal.sweep(&mut self.nodes, rank, doomed, removed);
    }

    /// Puts a request into its tier, at one end of its owner's FIFO.
    #[inline]
    fn insert(
        &mut self,
        now: Time,
        request: Request<T>,
        end: End,
    ) -> Result<(), RefusedRequest<T>> {
        let Some(&Flow { strict, rank, .. }) = self.flows.get(request.flow) else {
            return Err(RefusedRequest { request, refusal: Refusal::UnknownFlow });
        };
        let Request { flow, priority, cost, payload, .. } = request;
        let (tier, cost) = if strict || priority >= self.cut_off {
            (&mut self.strict, 0)
        } else {
            self.cost_max = self.cost_max.max(u64::from(cost));
            (&mut self.normal, cost)
        };
        let index = self.nodes.acquire(Node::new(flow, priority, cost, now, payload));
        let level = tier.level_mut(priority);
        match end {
            End::Front => level.push_front(&mut self.nodes, rank, index),
            End::Back => level.push_back(&mut self.nodes, rank, index),
        }
        Ok(())
    }

    /// Draws until a priority is accepted; its place in the normal tier.
    fn draw(&mut self) -> usize {
        if self.normal.priorities() == 1 {
            return 0;
        }
        loop {
            let ticket = 1 + self.rng.below(self.normal.priority_sum());
            let place = self.normal.holder(ticket);
            let (_, head) = self.normal.candidate(place);
            let cost = u64::from(self.nodes.at(head).cost);
            if self.cost_max == 0 || self.rng.below(self.cost_max) <= slack(self.cost_max, cost) {
                return place;
            }
        }
    }
}

/// The highest draw below `cost_max` that accepts a request of this cost: the dearest one is accepted about
/// one time in ten.
fn slack(cost_max: u64, cost: u64) -> u64 {
    cost_max - cost * 9 / 10
}

impl<T> Scheduler<T> for Wpq<T> {
    fn flow(&mut self, _now: Time, class: ClassId, client: ClientKey) -> FlowId {
        if let Some(flow) = self.flows.find(class, client) {
            return flow;
        }
        let (rank, new) = self.owners.join(client);
        if new {
            if (rank as usize) < self.owners.len() - 1 {
                self.flows.rerank(|other| other + u32::from(other >= rank));
            }
            self.strict.admit(rank);
            self.normal.admit(rank);
        }
        self.flows.open(class, client, rank)
    }

    fn close_flow(&mut self, _now: Time, flow: FlowId, removed: &mut Vec<T>) {
        let Some(closed) = self.flows.close(flow) else { return };
        self.sweep(Some(closed.rank), &mut |node| node.flow == flow, removed);
        if self.owners.leave(closed.rank) {
            self.flows.rerank(|other| other - u32::from(other > closed.rank));
            self.strict.dismiss(closed.rank);
            self.normal.dismiss(closed.rank);
        }
    }

    fn enqueue(&mut self, now: Time, request: Request<T>) -> Result<(), RefusedRequest<T>> {
        self.insert(now, request, End::Back)
    }

    fn enqueue_front(&mut self, now: Time, request: Request<T>) -> Result<(), RefusedRequest<T>> {
        self.insert(now, request, End::Front)
    }

    #[inline]
    fn take(&mut self, _now: Time) -> Take<T> {
        let ((node, payload), phase) = if !self.strict.is_empty() {
            (self.strict.pop(&mut self.nodes, 0), Phase::Strict)
        } else if !self.normal.is_empty() {
            let place = self.draw();
            (self.normal.pop(&mut self.nodes, place), Phase::Lottery)
        } else {
            return Take::Empty;
        };
        let node = self.nodes.at(node);
        Take::Ready(Taken {
            flow: node.flow,
            class: self.flows.at(node.flow).class,
            arrival: node.arrival,
            cost: node.cost,
            priority: node.priority,
            phase,
            payload,
        })
    }

    fn earliest(&mut self, now: Time) -> Option<Time> {
        (!self.is_empty()).then_some(now)
    }

    fn remove_class(&mut self, _now: Time, class: ClassId, removed: &mut Vec<T>) {
        let flows = &self.flows;
        let doomed = &mut |node: &Node<T>| flows.at(node.flow).class == class;
        self.strict.sweep(&mut self.nodes, None, doomed, removed);
        self.normal.sweep(&mut self.nodes, None, doomed, removed);
    }

    fn remove_where(
        &mut self,
        _now: Time,
        doomed: &mut dyn FnMut(&T) -> bool,
        removed: &mut Vec<T>,
    ) {
        self.sweep(None, &mut |node| doomed(node.payload()), removed);
    }

    fn set_params(&mut self, _now: Time, _class: ClassId, _params: Params) {}

    fn waiting(&self, _now: Time) -> Vec<Waiting> {
        explain::waiting(self)
    }

    fn len(&self) -> usize {
        self.nodes.len()
    }
}
