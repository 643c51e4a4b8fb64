//! WPQ: a weighted lottery over priorities, as Ceph's OSDs ran it before mClock (qos.md 8).
//!
//! Two queues of one structure. What is at or above the cut-off (or of a strict class) is *strict* and goes
//! first, highest priority first. Below it, each take draws a priority with probability proportional to its
//! number, then accepts it the less readily the costlier the request at its head is. Inside a priority the
//! owners (clients, peer OSDs, the OSD itself) are served in turn, one request each. There are no rates: a
//! take succeeds whenever something waits.
//!
//! The functions of the hot path are inlined by force: a request handed from call to call in memory is written
//! field by field and read in wider pieces, for which the processor waits longer than the whole choice takes.

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
use alloc::vec::Vec;
use level::PriorityLevel;
use loadline_base::{Rng, Time};
use nodes::{NodeIndex, Nodes, QueueEntry, WaitingNode};
use owners::Owners;
use tier::Tier;

/// The weighted priority queue.
///
/// Owners are [`ClientKey`]s, whatever the class: two classes' requests of one client and one priority share
/// a FIFO, which is how recovery items, scrub, trim and deletion (all priority 5, owner 0) come to stand in
/// one line. Opening a flow costs a look-up, and now and then a move of some neighbours' ranks.
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

/// A request in the slab, about to join the FIFO of the owner at `rank`.
struct Admitted<'a, T> {
    nodes: &'a mut Nodes<T>,
    level: &'a mut PriorityLevel,
    rank: u32,
    index: NodeIndex,
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
            strict: Tier::new(),
            normal: Tier::new(),
            cost_max: 0,
            rng: Rng::new(seed),
        }
    }

    /// Removes everything of one owner, of any class and priority: strict requests first, then the others,
    /// each by descending priority.
    pub fn remove_owner(&mut self, owner: ClientKey, removed: &mut Vec<T>) {
        if let Some(rank) = self.flows.rank(owner) {
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
        doomed: &mut dyn FnMut(&WaitingNode<T>) -> bool,
        removed: &mut Vec<T>,
    ) {
        self.strict.sweep(&mut self.nodes, rank, doomed, removed);
        self.normal.sweep(&mut self.nodes, rank, doomed, removed);
    }

    /// Puts a request into the slab and finds its sub-queue; the caller chooses the end of the FIFO.
    #[inline(always)]
    fn admit(
        &mut self,
        now: Time,
        request: Request<T>,
    ) -> Result<Admitted<'_, T>, RefusedRequest<T>> {
        let Some(&Flow { class, strict, rank, .. }) = self.flows.get(request.flow) else {
            return Err(RefusedRequest { request, refusal: Refusal::UnknownFlow });
        };
        let Request { flow, priority, cost, payload, .. } = request;
        let (tier, cost) = if strict || priority >= self.cut_off {
            (&mut self.strict, 0)
        } else {
            self.cost_max = self.cost_max.max(u64::from(cost));
            (&mut self.normal, cost)
        };
        let index = self.nodes.acquire(QueueEntry { arrival: now, flow, class, cost, payload });
        Ok(Admitted { nodes: &mut self.nodes, level: tier.level_mut(priority), rank, index })
    }

    /// Draws until a priority is accepted; its place in the normal tier.
    #[inline(always)]
    fn draw(&mut self) -> usize {
        if self.normal.present() == 1 {
            return self.normal.highest();
        }
        loop {
            let place = self.normal.holder(self.rng.below(self.normal.priority_sum()));
            let slack = self.normal.level(place).slack(self.cost_max);
            if self.cost_max == 0 || self.rng.below(self.cost_max) <= slack {
                return place;
            }
        }
    }

    /// The rank of a client, which is given one if it has no open flow yet.
    fn rank(&mut self, client: ClientKey) -> u32 {
        let below = match self.flows.at_or_below(client) {
            Some((own, rank)) if own == client => return rank,
            below => below.map(|(_, rank)| rank),
        };
        let above = self.flows.rank_above(client);
        let mut moves = Vec::new();
        let rank = self.owners.join(client, below, above, &mut moves);
        for tier in [&mut self.strict, &mut self.normal] {
            tier.grow(self.owners.ranks());
            tier.relocate(&moves);
        }
        for moved in moves {
            let owner = self.owners.at(moved.to).expect("an owner stands where it was moved to");
            self.flows.set_rank(owner, moved.to);
        }
        rank
    }
}

impl<T> Scheduler<T> for Wpq<T> {
    fn flow(&mut self, _now: Time, class: ClassId, client: ClientKey) -> FlowId {
        if let Some(flow) = self.flows.find(class, client) {
            return flow;
        }
        let rank = self.rank(client);
        self.flows.open(class, client, rank)
    }

    fn close_flow(&mut self, _now: Time, flow: FlowId, removed: &mut Vec<T>) {
        let Some(closed) = self.flows.close(flow) else { return };
        self.sweep(Some(closed.rank), &mut |node| node.flow == flow, removed);
        if self.flows.rank(closed.client).is_none() {
            self.owners.leave(closed.rank);
        }
    }

    #[inline(always)]
    fn enqueue(&mut self, now: Time, request: Request<T>) -> Result<(), RefusedRequest<T>> {
        let Admitted { nodes, level, rank, index } = self.admit(now, request)?;
        level.push_back(nodes, rank, index);
        Ok(())
    }

    fn enqueue_front(&mut self, now: Time, request: Request<T>) -> Result<(), RefusedRequest<T>> {
        let Admitted { nodes, level, rank, index } = self.admit(now, request)?;
        level.push_front(nodes, rank, index);
        Ok(())
    }

    #[inline(always)]
    fn take(&mut self, _now: Time) -> Take<T> {
        let (tier, place, phase) = if self.strict.present() > 0 {
            let place = self.strict.highest();
            (&mut self.strict, place, Phase::Strict)
        } else if self.normal.present() > 0 {
            let place = self.draw();
            (&mut self.normal, place, Phase::Lottery)
        } else {
            return Take::Empty;
        };
        let (priority, entry) = tier.pop(&mut self.nodes, place);
        let QueueEntry { arrival, flow, class, cost, payload } = entry;
        Take::Ready(Taken { flow, class, arrival, cost, priority, phase, payload })
    }

    fn earliest(&mut self, now: Time) -> Option<Time> {
        (!self.is_empty()).then_some(now)
    }

    fn remove_class(&mut self, _now: Time, class: ClassId, removed: &mut Vec<T>) {
        self.sweep(None, &mut |node| node.class == class, removed);
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;

    /// Owners that come and go need no more places than those that are there at the same time.
    #[test]
    fn an_owner_who_has_gone_leaves_its_place() {
        let mut wpq: Wpq<u32> = Wpq::new(&[Lane::Strict], 0, 1);
        let class = ClassId::new(0);
        let (mut rng, mut gone) = (Rng::new(1), Vec::new());
        let mut open = VecDeque::new();
        for _ in 0..20_000 {
            open.push_back(wpq.flow(Time::ZERO, class, ClientKey(rng.next_u64())));
            if open.len() > 20 {
                wpq.close_flow(Time::ZERO, open.pop_front().expect("some are open"), &mut gone);
            }
        }
        assert!(wpq.owners.ranks() < 200, "{} places for 20 owners", wpq.owners.ranks());
    }
}
