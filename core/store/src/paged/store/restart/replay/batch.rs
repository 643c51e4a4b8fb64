//! Puts of the log that are carried out by key instead of one after the other.
//!
//! A log of a million keys has each put at another end of the tree, so that replaying one mostly waits for memory. Transactions that put one value into its
//! cell are gathered, as many as an eighth of the cache holds; of several of one key the last one wins, and they are carried out in the order of
//! their keys, so that those of a page come together. What is in between is no state that ever was, so the replay stands at
//! the batch's beginning until all of it is carried out: a checkpoint that is made meanwhile has the whole batch replayed once more, which ends at the same keys.

use crate::paged::change::{Change, decode_each};
use crate::paged::ids::Lsn;
use loadline_base::Bytes;
use std::ops::Range;

/// Of the memory for pages, this part is what gathered records may take. A page of the tree should have several of them: with an eighth of the
/// cache, and records as large as what they leave in the tree, it has two or more wherever the cache holds the tree.
const CACHE_PART: u64 = 8;
/// And at most.
const BATCH_BYTES_MAX: u64 = 64 << 20;

/// See [above](self).
#[derive(Default)]
pub(super) struct ReplayBatch {
    /// The records, one behind the other, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Behind the last of them, and its chained checksum.
    end: (Lsn, u32),
    /// Which are carried out, in that order, once no more come.
    order: Vec<u32>,
    is_closed: bool,
    /// How many of those are carried out, and of how many the pages were asked for.
    done: usize,
    looked_at: usize,
}

/// The key and the value, if a record's transaction does nothing but put one.
pub(super) fn only_put(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut changes = decode_each(body);
    match (changes.next()??, changes.next()) {
        (Change::Put { key, value }, None) => match (key, value) {
            (std::borrow::Cow::Borrowed(key), std::borrow::Cow::Borrowed(value)) => {
                Some((key, value))
            }
            _ => None,
        },
        _ => None,
    }
}

impl ReplayBatch {
    /// Whether nothing is gathered.
    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Whether it is being carried out: nothing more is taken before that is over.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Whether enough is gathered, of a store with so many bytes of memory for pages.
    pub(super) fn is_full(&self, cache: Bytes) -> bool {
        self.bytes.len() as u64 >= (cache.get() / CACHE_PART).min(BATCH_BYTES_MAX)
    }

    /// Takes a record of which [`only_put`] has found a put.
    pub(super) fn push(&mut self, body: &[u8], end: (Lsn, u32)) {
        self.bytes.extend_from_slice(body);
        self.ends.push(self.bytes.len());
        self.end = end;
    }

    /// The log goes on behind a record in which nothing is to be carried out.
    pub(super) fn pass(&mut self, end: (Lsn, u32)) {
        self.end = end;
    }

    /// No more comes. Answers how many are overwritten by later ones.
    pub(super) fn close(&mut self) -> usize {
        self.is_closed = true;
        let count = self.ends.len() as u32;
        let first = self.key(0);
        let shared = (1..count).fold(first.len(), |shared, at| {
            let same = first.iter().zip(self.key(at)).take_while(|(one, other)| one == other);
            same.take(shared).count()
        });
        // Most comparisons are over with what a number holds of the keys.
        let head = |key: &[u8]| {
            let mut head = [0; 8];
            let rest = &key[shared..];
            let length = rest.len().min(8);
            head[..length].copy_from_slice(&rest[..length]);
            u64::from_be_bytes(head)
        };
        let mut heads: Vec<(u64, u32)> = (0..count).map(|at| (head(self.key(at)), at)).collect();
        heads.sort_unstable_by(|(one, at), (other, behind)| {
            let keys = || self.key(*at).cmp(self.key(*behind));
            one.cmp(other).then_with(keys).then(at.cmp(behind))
        });
        let is_last = |place: usize| {
            let (head, at) = heads[place];
            heads
                .get(place + 1)
                .is_none_or(|(next, behind)| *next != head || self.key(*behind) != self.key(at))
        };
        self.order = (0..heads.len()).filter(|at| is_last(*at)).map(|at| heads[at].1).collect();
        heads.len() - self.order.len()
    }

    /// The next of those that are carried out; `None` if all are.
    pub(super) fn next(&self) -> Option<usize> {
        (self.done < self.order.len()).then_some(self.done)
    }

    /// One more is carried out.
    pub(super) fn advance(&mut self) {
        self.done += 1;
    }

    /// Those up to `most` behind the next one whose pages nobody has asked for.
    pub(super) fn look_on(&mut self, most: usize) -> Range<usize> {
        let until = (self.done + most).min(self.order.len());
        let from = self.looked_at.max(self.done).min(until);
        self.looked_at = until;
        from..until
    }

    /// What one of them changes.
    pub(super) fn change_at(&self, place: usize) -> Change<'_> {
        let (key, value) = self.put(self.order[place]);
        Change::Put { key: key.into(), value: value.into() }
    }

    /// Where the replay stands when this one is carried out; `before` until it is the last one.
    pub(super) fn end_at(&self, place: usize, before: (Lsn, u32)) -> (Lsn, u32) {
        if place + 1 == self.order.len() { self.end } else { before }
    }

    fn key(&self, at: u32) -> &[u8] {
        self.put(at).0
    }

    fn put(&self, at: u32) -> (&[u8], &[u8]) {
        let at = at as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        only_put(&self.bytes[start..self.ends[at]]).expect("only such are gathered")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_each_key_is_carried_out_in_the_order_of_keys() {
        let mut batch = ReplayBatch::default();
        for (position, (key, value)) in [
            ("kb", "1"),
            ("ka", "2"),
            ("kb", "3"),
            ("k", "4"),
            ("kbbbbbbbbbb2", "5"),
            ("kbbbbbbbbbb1", "6"),
        ]
        .into_iter()
        .enumerate()
        {
            let mut body = Vec::new();
            let (key, value) = (key.as_bytes().into(), value.as_bytes().into());
            Change::Put { key, value }.encode(&mut body);
            assert!(only_put(&body).is_some());
            batch.push(&body, (Lsn(position as u64 + 1), 0));
            let twice = [&body[..], &body].concat();
            assert!(only_put(&twice).is_none());
        }
        assert_eq!(batch.close(), 1);
        let mut values = Vec::new();
        while let Some(place) = batch.next() {
            let Change::Put { value, .. } = batch.change_at(place) else { unreachable!("a put") };
            values.push(value[0]);
            let end = batch.end_at(place, (Lsn(0), 0)).0;
            assert_eq!(end, if values.len() == 5 { Lsn(6) } else { Lsn(0) });
            batch.advance();
        }
        assert_eq!(values, *b"42365");
    }
}
