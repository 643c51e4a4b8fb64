//! Waiting requests in a slab, linked into FIFOs.

use crate::{ClassId, FlowId};
use alloc::vec::Vec;
use core::hint::select_unpredictable;
use loadline_base::Time;

/// A request's place in the slab.
pub(super) type NodeIndex = u32;

/// Where a chain ends; no slab is large enough to have a node of this index.
const NIL: NodeIndex = NodeIndex::MAX;

/// A waiting request, linked to the one behind it.
#[derive(Clone, Debug)]
pub(super) struct WaitingNode<T> {
    pub(super) arrival: Time,
    pub(super) flow: FlowId,
    /// The class of the flow, kept here so that a take reads nothing of the flow.
    pub(super) class: ClassId,
    pub(super) cost: u32,
    behind: NodeIndex,
    /// Empty while the node is free.
    payload: Option<T>,
}

/// A request on its way into the slab or out of it.
pub(super) struct QueueEntry<T> {
    pub(super) arrival: Time,
    pub(super) flow: FlowId,
    pub(super) class: ClassId,
    pub(super) cost: u32,
    pub(super) payload: T,
}

impl<T> WaitingNode<T> {
    /// What was enqueued.
    pub(super) fn payload(&self) -> &T {
        self.payload.as_ref().expect("a waiting request has its payload")
    }
}

/// The slab. Freed nodes are chained, so the steady state allocates nothing.
#[derive(Clone, Debug)]
pub(super) struct Nodes<T> {
    nodes: Vec<WaitingNode<T>>,
    free: NodeIndex,
    len: usize,
}

/// A FIFO of nodes. The tail means something only while there is a head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    head: NodeIndex,
    tail: NodeIndex,
}

impl<T> Nodes<T> {
    pub(super) const fn new() -> Nodes<T> {
        Nodes { nodes: Vec::new(), free: NIL, len: 0 }
    }

    /// How many requests wait.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The oldest request of a chain that has one.
    #[inline(always)]
    pub(super) fn head(&self, chain: Chain) -> Option<&WaitingNode<T>> {
        self.nodes.get(chain.head as usize)
    }

    #[inline(always)]
    pub(super) fn acquire(&mut self, entry: QueueEntry<T>) -> NodeIndex {
        self.len += 1;
        let index = self.free;
        let Some(slot) = self.nodes.get_mut(index as usize) else { return self.extend(entry) };
        self.free = slot.behind;
        // Field by field, because a node built elsewhere and copied here in wider pieces stalls the processor.
        slot.arrival = entry.arrival;
        slot.flow = entry.flow;
        slot.class = entry.class;
        slot.cost = entry.cost;
        slot.behind = NIL;
        slot.payload = Some(entry.payload);
        index
    }

    #[cold]
    fn extend(&mut self, entry: QueueEntry<T>) -> NodeIndex {
        let index = self.nodes.len() as NodeIndex;
        assert!(self.nodes.len() < NIL as usize, "fewer than 2^32 - 1 requests wait");
        let QueueEntry { arrival, flow, class, cost, payload } = entry;
        self.nodes.push(WaitingNode {
            arrival,
            flow,
            class,
            cost,
            behind: NIL,
            payload: Some(payload),
        });
        index
    }

    /// Frees a node: what it held, and the node behind it.
    #[inline(always)]
    fn release(&mut self, index: NodeIndex) -> (QueueEntry<T>, NodeIndex) {
        let node = &mut self.nodes[index as usize];
        let payload = node.payload.take().expect("a node is released once");
        let behind = core::mem::replace(&mut node.behind, self.free);
        self.free = index;
        self.len -= 1;
        let WaitingNode { arrival, flow, class, cost, .. } = *node;
        (QueueEntry { arrival, flow, class, cost, payload }, behind)
    }
}

impl Chain {
    pub(super) const EMPTY: Chain = Chain { head: NIL, tail: NIL };

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.head == NIL
    }

    #[inline(always)]
    pub(super) fn push_back<T>(&mut self, nodes: &mut Nodes<T>, index: NodeIndex) {
        // One store through a chosen place, not two branches: which it is, is as random as the lottery. The tail
        // of a chain that has run empty is stale, but still a place in the slab.
        let link = match nodes.nodes.get_mut(self.tail as usize) {
            Some(last) => select_unpredictable(self.head == NIL, &mut self.head, &mut last.behind),
            None => &mut self.head,
        };
        *link = index;
        self.tail = index;
    }

    pub(super) fn push_front<T>(&mut self, nodes: &mut Nodes<T>, index: NodeIndex) {
        if self.is_empty() {
            self.tail = index;
        }
        nodes.nodes[index as usize].behind = self.head;
        self.head = index;
    }

    /// Takes the oldest request of a chain that has one.
    #[inline(always)]
    pub(super) fn pop<T>(&mut self, nodes: &mut Nodes<T>) -> QueueEntry<T> {
        let (entry, behind) = nodes.release(self.head);
        self.head = behind;
        entry
    }

    /// Removes what `doomed` names, appended to `removed` in order. Returns how many went.
    pub(super) fn sweep<T>(
        &mut self,
        nodes: &mut Nodes<T>,
        doomed: &mut dyn FnMut(&WaitingNode<T>) -> bool,
        removed: &mut Vec<T>,
    ) -> usize {
        let before = removed.len();
        let mut kept = Chain::EMPTY;
        let mut index = self.head;
        while let Some(node) = nodes.nodes.get_mut(index as usize) {
            let behind = node.behind;
            if doomed(node) {
                removed.push(nodes.release(index).0.payload);
            } else {
                node.behind = NIL;
                kept.push_back(nodes, index);
            }
            index = behind;
        }
        *self = kept;
        removed.len() - before
    }

    /// The requests, oldest first.
    pub(super) fn iter<'a, T>(
        &self,
        nodes: &'a Nodes<T>,
    ) -> impl Iterator<Item = &'a WaitingNode<T>> {
        let next = |node: &&'a WaitingNode<T>| nodes.nodes.get(node.behind as usize);
        core::iter::successors(nodes.head(*self), next)
    }
}
