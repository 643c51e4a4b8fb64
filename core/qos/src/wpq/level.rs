//! The requests of one priority: a FIFO per owner, and the cursor that serves the owners in turn.

use super::nodes::{Chain, NodeIndex, Nodes, QueueEntry, WaitingNode};
use super::owners::Move;
use super::ranks::RankSet;
use alloc::vec;
use alloc::vec::Vec;

/// One priority's sub-queue. Owners are known by rank, in the order of their numbers.
///
/// While anything waits, the cursor stands at an owner that has something: it is moved at once when that
/// owner runs dry, as the original's iterator is, so an owner that joins later before it waits a full round.
#[derive(Clone, Debug)]
pub(super) struct PriorityLevel {
    pub(super) priority: u32,
    cursor: u32,
    /// Nine tenths of the cost at the cursor's head, rounded down: what the lottery holds against it. Kept here
    /// because a draw then follows no chain, and because reading the new head early brings it into the cache.
    discount: u32,
    len: usize,
    chains: Vec<Chain>,
    /// Every owner that has something, and some that had: they leave when the cursor comes to them. An owner
    /// whose requests come one at a time then changes nothing here.
    linked: RankSet,
}

impl PriorityLevel {
    /// A sub-queue for ranks below `ranks`.
    pub(super) fn new(priority: u32, ranks: usize) -> PriorityLevel {
        let mut linked = RankSet::default();
        linked.grow(ranks);
        let chains = vec![Chain::EMPTY; ranks];
        PriorityLevel { priority, cursor: 0, discount: 0, len: 0, chains, linked }
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The highest draw below `cost_max`, the largest cost so far, that accepts the next request: the dearest one
    /// is accepted about one time in ten.
    #[inline(always)]
    pub(super) fn slack(&self, cost_max: u64) -> u64 {
        cost_max - u64::from(self.discount)
    }

    /// The next request of this priority.
    pub(super) fn head<'a, T>(&self, nodes: &'a Nodes<T>) -> Option<&'a WaitingNode<T>> {
        nodes.head(self.chains[self.cursor as usize])
    }

    /// Appends a request to the FIFO of the owner at `rank`.
    #[inline(always)]
    pub(super) fn push_back<T>(&mut self, nodes: &mut Nodes<T>, rank: u32, index: NodeIndex) {
        self.chains[rank as usize].push_back(nodes, index);
        self.linked.insert(rank);
        if self.len == 0 {
            self.turn_to(nodes, rank);
        }
        self.len += 1;
    }

    /// Puts a request at the head of the FIFO of the owner at `rank`; the cursor stays.
    pub(super) fn push_front<T>(&mut self, nodes: &mut Nodes<T>, rank: u32, index: NodeIndex) {
        self.chains[rank as usize].push_front(nodes, index);
        self.linked.insert(rank);
        if self.len == 0 || self.cursor == rank {
            self.turn_to(nodes, rank);
        }
        self.len += 1;
    }

    /// Takes the cursor's head and moves the cursor to the next owner; whether there is none.
    #[inline(always)]
    pub(super) fn pop<T>(&mut self, nodes: &mut Nodes<T>) -> (QueueEntry<T>, bool) {
        let taken = self.chains[self.cursor as usize].pop(nodes);
        self.len -= 1;
        if self.len == 0 {
            return (taken, true);
        }
        self.advance(nodes);
        (taken, false)
    }

    /// Moves the cursor to the next owner that has something; there is one.
    #[inline(always)]
    fn advance<T>(&mut self, nodes: &Nodes<T>) {
        loop {
            let next =
                self.linked.next_from(self.cursor + 1).expect("an owner that waits is linked");
            if self.turn_to(nodes, next) {
                return;
            }
            self.linked.remove(next);
        }
    }

    /// Puts the cursor on the owner at `rank`, if it has something.
    #[inline(always)]
    fn turn_to<T>(&mut self, nodes: &Nodes<T>, rank: u32) -> bool {
        let head = nodes.head(self.chains[rank as usize]);
        if let Some(head) = head {
            self.cursor = rank;
            self.discount = (u64::from(head.cost) * 9 / 10) as u32;
        }
        head.is_some()
    }

    /// Removes what `doomed` names from the FIFOs (of the owner at `rank` alone, if one is given), appended to
    /// `removed` owner by owner.
    pub(super) fn sweep<T>(
        &mut self,
        nodes: &mut Nodes<T>,
        rank: Option<u32>,
        doomed: &mut dyn FnMut(&WaitingNode<T>) -> bool,
        removed: &mut Vec<T>,
    ) {
        let swept = match rank {
            Some(rank) => &mut self.chains[rank as usize..][..1],
            None => &mut self.chains,
        };
        for chain in swept {
            self.len -= chain.sweep(nodes, doomed, removed);
        }
        if self.len > 0 && !self.turn_to(nodes, self.cursor) {
            self.advance(nodes);
        }
    }

    /// The owners that have something: rank and FIFO, in order.
    pub(super) fn owners(&self) -> impl Iterator<Item = (u32, &Chain)> {
        let ranked = (0..).zip(&self.chains);
        ranked.filter(|(_, chain)| !chain.is_empty())
    }

    /// The rank whose turn it is.
    pub(super) fn cursor(&self) -> u32 {
        self.cursor
    }

    /// Makes room for ranks below `ranks`.
    pub(super) fn grow(&mut self, ranks: usize) {
        if ranks > self.chains.len() {
            self.chains.resize(ranks, Chain::EMPTY);
            self.linked.grow(ranks);
        }
    }

    /// Gives owners other ranks; the order among all owners stays.
    pub(super) fn relocate(&mut self, moves: &[Move]) {
        let mut carried = Vec::with_capacity(moves.len());
        for Move { from, .. } in moves {
            carried.push(core::mem::replace(&mut self.chains[*from as usize], Chain::EMPTY));
        }
        for (Move { to, .. }, chain) in moves.iter().zip(carried) {
            self.chains[*to as usize] = chain;
            if !chain.is_empty() {
                self.linked.insert(*to);
            }
        }
        if let Ok(moved) = moves.binary_search_by_key(&self.cursor, |moved| moved.from) {
            self.cursor = moves[moved].to;
        }
    }
}
