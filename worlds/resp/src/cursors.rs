//! The places of walks over keys.

use crate::refusal::RespRefusal;
use std::collections::{BTreeMap, VecDeque};

/// Places of walks that are kept. A walk whose place was forgotten is told so.
const CURSORS_MAX: usize = 4096;
/// Each millisecond has numbers of its own, more than there can be turns in it, so that a number of a former life of the server leads nowhere; and few enough
/// that clients which keep numbers as 64-bit floats, exact to 53 bits, do so until 2248.
const OF_A_MILLISECOND_BITS: u32 = 10;

/// Where walks are: the protocol lets a client carry a number, not a key. Each number leads to one place for as long as it is kept, so that a turn
/// may be asked for twice, and on another connection.
#[derive(Debug)]
pub(crate) struct Cursors {
    last: u64,
    places: BTreeMap<u64, (u8, Vec<u8>)>,
    order: VecDeque<u64>,
}

impl Cursors {
    /// None, in a life that begins now.
    pub(crate) fn new(now_ms: u64) -> Cursors {
        let last = now_ms << OF_A_MILLISECOND_BITS;
        Cursors { last, places: BTreeMap::new(), order: VecDeque::new() }
    }

    pub(crate) fn keep(&mut self, database: u8, next: Vec<u8>) -> u64 {
        self.last += 1;
        self.places.insert(self.last, (database, next));
        self.order.push_back(self.last);
        if self.order.len() > CURSORS_MAX {
            let oldest = self.order.pop_front();
            oldest.into_iter().for_each(|oldest| drop(self.places.remove(&oldest)));
        }
        self.last
    }

    pub(crate) fn place(&self, cursor: u64, database: u8) -> Result<Vec<u8>, RespRefusal> {
        match self.places.get(&cursor) {
            _ if cursor == 0 => Ok(Vec::new()),
            Some((of, next)) if *of == database => Ok(next.clone()),
            _ => Err(RespRefusal::Cursor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers began with 1 in each life of the server: one of before a restart led into the walk of somebody else, and what was to come in its own was never seen.
    #[test]
    fn a_cursor_of_before_a_restart_leads_nowhere() {
        const NOW_MS: u64 = 1_800_000_000_000;
        let mut before = Cursors::new(NOW_MS);
        let old = before.keep(0, b"k".to_vec());
        let mut after = Cursors::new(NOW_MS + 1);
        let new = [b"a", b"b", b"c", b"d", b"e"].map(|key| after.keep(0, key.to_vec()));
        assert_eq!(after.place(old, 0), Err(RespRefusal::Cursor));
        assert_eq!(after.place(new[4], 0), Ok(b"e".to_vec()));
        assert!(new[4] < 1 << 53);
    }
}
