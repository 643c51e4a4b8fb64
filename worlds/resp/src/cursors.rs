//! The places of walks over keys.

use crate::refusal::RespRefusal;
use std::collections::{BTreeMap, VecDeque};

/// Places of walks that are kept. A walk whose place was forgotten is told so.
const CURSORS_MAX: usize = 4096;
/// Where walks are: the protocol lets a client carry a number, not a key. Each number leads to one place for as long as it is kept, so that a turn
/// may be asked for twice, and on another connection.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    last: u64,
    places: BTreeMap<u64, (u8, Vec<u8>)>,
    order: VecDeque<u64>,
}

impl Cursors {
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
