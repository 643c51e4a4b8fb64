//! The requests of one priority: a FIFO per owner, and the cursor that serves the owners in turn.

use super::nodes::{Chain, Node, NodeIndex, Nodes};
use super::ranks::RankSet;

/// One priority's sub-queue. Owners are known by rank, in the order of their numbers.
///
/// While anything waits, the cursor stands at an owner that has something: it is moved at once when that
/// owner runs dry, as the original's iterator is, so an owner that joins later before it waits a full round.
#[derive(Clone, Debug)]
pub(super) struct Level {
    chains: Vec<Chain>,
    occupied: RankSet,
    cursor: u32,
    len: usize,
}

impl Level {
    /// A sub-queue for `owners` owners.
    pub(super) fn new(owners: usize) -> Level {
        let mut occupied = RankSet::default();
        occupied.grow(owners);
        Level { chains: vec![Chain::EMPTY; owners], occupied, cursor: 0, len: 0 }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The next request of this priority, which has one.
    #[inline]
    pub(super) fn head(&self) -> NodeIndex {
        self.chains[self.cursor as usize].head()
    }

    /// Appends a request to the FIFO of the owner at `rank`.
    #[inline]
    pub(super) fn push_back<T>(&mut self, nodes: &mut Nodes<T>, rank: u32, index: NodeIndex) {
        self.occupy(rank);
        self.chains[rank as usize].push_back(nodes, index);
    }

    /// Puts a request at the head of the FIFO of the owner at `rank`; the cursor stays.
    pub(super) fn push_front<T>(&mut self, nodes: &mut Nodes<T>, rank: u32, index: NodeIndex) {
        self.occupy(rank);
        self.chains[rank as usize].push_front(nodes, index);
    }

    #[inline]
    fn occupy(&mut self, rank: u32) {
        self.occupied.insert(rank);
        if self.len == 0 {
            self.cursor = rank;
        }
        self.len += 1;
    }

    /// Takes the cursor's head and moves the cursor to the next owner.
    #[inline]
    pub(super) fn pop<T>(&mut self, nodes: &mut Nodes<T>) -> (NodeIndex, T) {
        let chain = &mut self.chains[self.cursor as usize];
        let taken = chain.pop(nodes);
        self.occupied.set(self.cursor, !chain.is_empty());
        self.len -= 1;
        self.advance();
        taken
    }

    #[inline]
    fn advance(&mut self) {
        if let Some(next) = self.occupied.next_from(self.cursor + 1) {
            self.cursor = next;
        }
    }

    /// Removes what `doomed` names from the FIFO of the owner at `rank`, appended to `removed` in order.
    pub(super) fn sweep<T>(
        &mut self,
        nodes: &mut Nodes<T>,
        rank: u32,
        doomed: &mut dyn FnMut(&Node<T>) -> bool,
        removed: &mut Vec<T>,
    ) {
        let chain = &mut self.chains[rank as usize];
        self.len -= chain.sweep(nodes, doomed, removed);
        if chain.is_empty() {
            self.occupied.set(rank, false);
            if self.cursor == rank {
                self.advance();
            }
        }
    }

    /// The owners that have something: rank and FIFO, in order.
    pub(super) fn owners(&self) -> impl Iterator<Item = (u32, &Chain)> {
        self.occupied.iter().map(|rank| (rank, &self.chains[rank as usize]))
    }

    /// The rank whose turn it is.
    pub(super) fn cursor(&self) -> u32 {
        self.cursor
    }

    /// Makes room for a new owner at `rank`: those at or above move up by one.
    pub(super) fn admit(&mut self, rank: u32) {
        self.chains.insert(rank as usize, Chain::EMPTY);
        if rank as usize + 1 < self.chains.len() {
            self.cursor += u32::from(self.cursor >= rank);
            self.rebuild();
        } else {
            self.occupied.grow(self.chains.len());
        }
    }

    /// Forgets the owner at `rank`, who has nothing waiting: those above move down by one.
    pub(super) fn dismiss(&mut self, rank: u32) {
        let chain = self.chains.remove(rank as usize);
        assert!(chain.is_empty(), "an owner leaves only when nothing of it waits");
        self.cursor -= u32::from(self.cursor > rank);
        self.rebuild();
    }

    fn rebuild(&mut self) {
        self.occupied = RankSet::default();
        self.occupied.grow(self.chains.len());
        for (rank, chain) in self.chains.iter().enumerate() {
            if !chain.is_empty() {
                self.occupied.insert(rank as u32);
            }
        }
    }
}
