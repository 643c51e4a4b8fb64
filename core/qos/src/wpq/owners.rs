//! The owners that have open flows, ranked by their numbers.

use crate::ClientKey;

/// Owner numbers in order, each with the count of its open flows. An owner's rank is its place here.
#[derive(Clone, Debug, Default)]
pub(super) struct Owners {
    ranked: Vec<(ClientKey, u32)>,
}

impl Owners {
    /// How many owners there are.
    pub(super) fn len(&self) -> usize {
        self.ranked.len()
    }

    /// Counts one more flow of `client`: its rank, and whether it is a new owner.
    pub(super) fn join(&mut self, client: ClientKey) -> (u32, bool) {
        match self.ranked.binary_search_by_key(&client, |(key, _)| *key) {
            Ok(rank) => {
                self.ranked[rank].1 += 1;
                (rank as u32, false)
            }
            Err(rank) => {
                self.ranked.insert(rank, (client, 1));
                (rank as u32, true)
            }
        }
    }

    /// Counts one flow less of the owner at `rank`; true if that was its last one.
    pub(super) fn leave(&mut self, rank: u32) -> bool {
        let flows = &mut self.ranked[rank as usize].1;
        *flows -= 1;
        let last = *flows == 0;
        if last {
            self.ranked.remove(rank as usize);
        }
        last
    }

    /// The rank of `client`, if it has open flows.
    pub(super) fn rank(&self, client: ClientKey) -> Option<u32> {
        let rank = self.ranked.binary_search_by_key(&client, |(key, _)| *key).ok()?;
        Some(rank as u32)
    }
}
