//! Waiting requests in a slab, linked into FIFOs.

use crate::FlowId;
use loadline_base::Time;

/// A request's place in the slab.
pub(super) type NodeIndex = u32;

/// Where a chain ends.
pub(super) const NIL: NodeIndex = NodeIndex::MAX;

/// A waiting request, linked to the one behind it.
#[derive(Clone, Debug)]
pub(super) struct Node<T> {
    pub(super) arrival: Time,
    pub(super) flow: FlowId,
    pub(super) cost: u32,
    pub(super) priority: u32,
    behind: NodeIndex,
    /// Empty while the node is free.
    payload: Option<T>,
}

impl<T> Node<T> {
    pub(super) fn new(flow: FlowId, priority: u32, cost: u32, arrival: Time, payload: T) -> Self {
        Node { arrival, flow, cost, priority, behind: NIL, payload: Some(payload) }
    }

    /// What was enqueued.
    pub(super) fn payload(&self) -> &T {
        self.payload.as_ref().expect("a waiting request has its payload")
    }
}

/// The slab. Freed nodes are chained, so the steady state allocates nothing.
#[derive(Clone, Debug)]
pub(super) struct Nodes<T> {
    nodes: Vec<Node<T>>,
    free: NodeIndex,
    len: usize,
}

/// A FIFO of nodes.
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

    #[inline]
    pub(super) fn at(&self, index: NodeIndex) -> &Node<T> {
        &self.nodes[index as usize]
    }

    #[inline]
    pub(super) fn acquire(&mut self, node: Node<T>) -> NodeIndex {
        self.len += 1;
        if self.free == NIL {
            let index = NodeIndex::try_from(self.nodes.len()).expect("fewer than 2^32 wait");
            self.nodes.push(node);
            return index;
        }
        let index = self.free;
        let slot = &mut self.nodes[index as usize];
        self.free = slot.behind;
        *slot = node;
        index
    }

    /// Frees a node. Its other fields can be read until the next one is acquired.
    #[inline]
    fn release(&mut self, index: NodeIndex) -> T {
        let node = &mut self.nodes[index as usize];
        let payload = node.payload.take().expect("a node is released once");
        node.behind = self.free;
        self.free = index;
        self.len -= 1;
        payload
    }
}

impl Chain {
    pub(super) const EMPTY: Chain = Chain { head: NIL, tail: NIL };

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.head == NIL
    }

    /// The oldest request, or [`NIL`].
    #[inline]
    pub(super) fn head(&self) -> NodeIndex {
        self.head
    }

    #[inline]
    pub(super) fn push_back<T>(&mut self, nodes: &mut Nodes<T>, index: NodeIndex) {
        // One store through a chosen place, not two branches: which it is, is random.
        let link = match nodes.nodes.get_mut(self.tail as usize) {
            Some(tail) if self.head != NIL => &mut tail.behind,
            _ => &mut self.head,
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
    #[inline]
    pub(super) fn pop<T>(&mut self, nodes: &mut Nodes<T>) -> (NodeIndex, T) {
        let index = self.head;
        self.head = nodes.at(index).behind;
        (index, nodes.release(index))
    }

    /// Removes what `doomed` names, appended to `removed` in order. Returns how many went.
    pub(super) fn sweep<T>(
        &mut self,
        nodes: &mut Nodes<T>,
        doomed: &mut dyn FnMut(&Node<T>) -> bool,
        removed: &mut Vec<T>,
    ) -> usize {
        let before = removed.len();
        let mut kept = Chain::EMPTY;
        let mut next = self.head;
        while next != NIL {
            let index = next;
            next = nodes.at(index).behind;
            if doomed(nodes.at(index)) {
                removed.push(nodes.release(index));
            } else {
                nodes.nodes[index as usize].behind = NIL;
                kept.push_back(nodes, index);
            }
        }
        *self = kept;
        removed.len() - before
    }

    /// The requests, oldest first.
    pub(super) fn iter<'a, T>(&self, nodes: &'a Nodes<T>) -> impl Iterator<Item = &'a Node<T>> {
        let at = |index: NodeIndex| (index != NIL).then(|| nodes.at(index));
        std::iter::successors(at(self.head), move |node| at(node.behind))
    }
}
