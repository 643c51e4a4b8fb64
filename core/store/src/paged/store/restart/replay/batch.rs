//! Changes of keys that are carried out by key instead of one after the other.
//!
//! A log of a million keys has each change at another end of the tree, so that replaying one mostly waits for memory. Transactions that do nothing but put values
//! into their cells and remove keys are gathered, as many as an eighth of the cache holds; of several changes of one key the last one wins, and they are
//! carried out in the order of their keys, all that belong into one leaf at a time. What is in between is no state that ever was, so the replay stands at
//! the batch's beginning until all of it is carried out: a checkpoint that is made meanwhile has the whole batch replayed once more, which ends at the same keys.

use crate::paged::bounds::REPLAY_PART;
use crate::paged::change::decode_each;
use crate::paged::contents::KeyChange;
use crate::paged::ids::{Lsn, PageSize};
use crate::paged::tree::CellChange;
use loadline_base::Bytes;

/// What is gathered takes [`REPLAY_PART`] of the memory for pages: a page of the tree should have several changes, and with an eighth of the
/// cache, and changes as large as what they leave in the tree, it has two or more wherever the cache holds the tree. And at most this.
const BATCH_BYTES_MAX: u64 = 64 << 20;

/// Bytes before each cell: the lengths of key and value.
const CELL_HEADER: usize = 4;
/// The length of the value of a key that is removed. No value in a cell is so long.
const REMOVED: u16 = u16::MAX;
/// Changes whose cells are looked at before they are carried out.
const TOUCH_AHEAD: usize = 64;

/// See [above](self).
#[derive(Default)]
pub(super) struct ReplayBatch {
    /// The cells, one behind the other, each behind its lengths.
    cells: Vec<u8>,
    /// Where each of them begins; once no more come, those that are carried out, in that order, each behind the head of its key.
    order: Vec<(u64, u32)>,
    transactions: u64,
    /// Behind the last of them, and its chained checksum.
    end: (Lsn, u32),
    is_closed: bool,
    /// How many are carried out, of how many the pages were asked for, and of how many the cells were touched.
    done: usize,
    looked_at: usize,
    touched: usize,
}

impl ReplayBatch {
    /// Whether nothing is gathered.
    pub(super) fn is_empty(&self) -> bool {
        self.transactions == 0
    }

    /// Whether it is being carried out: nothing more is taken before that is over.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Whether enough is gathered, of a store with so many bytes of memory for pages.
    pub(super) fn is_full(&self, cache: Bytes) -> bool {
        let bytes = self.cells.len() + self.order.len() * size_of::<(u64, u32)>();
        bytes as u64 >= (cache.get() / REPLAY_PART).min(BATCH_BYTES_MAX)
    }

    /// Bytes that it holds.
    pub(super) fn memory(&self) -> u64 {
        (self.cells.capacity() + self.order.capacity() * size_of::<(u64, u32)>()) as u64
    }

    /// Takes a record's transaction, if it changes nothing but the cells of keys.
    pub(super) fn take(&mut self, page: PageSize, body: &[u8], end: (Lsn, u32)) -> bool {
        let before = (self.cells.len(), self.order.len());
        for change in decode_each(body) {
            let change = change.as_ref().and_then(|change| KeyChange::of(page, change));
            let Some(change) = change else {
                self.cells.truncate(before.0);
                self.order.truncate(before.1);
                return false;
            };
            let start = self.cells.len();
            self.cells.extend([0; CELL_HEADER]);
            let key_end = change.encode(&mut self.cells);
            let key_len = (key_end - start - CELL_HEADER) as u16;
            let value_len = change.value.map_or(REMOVED, |_| (self.cells.len() - key_end) as u16);
            self.cells[start..][..2].copy_from_slice(&key_len.to_le_bytes());
            self.cells[start + 2..][..2].copy_from_slice(&value_len.to_le_bytes());
            self.order.push((0, start as u32));
        }
        self.transactions += 1;
        self.end = end;
        true
    }

    /// The log goes on behind a record in which nothing is to be carried out.
    pub(super) fn pass(&mut self, end: (Lsn, u32)) {
        self.end = end;
    }

    /// No more comes.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
        let Some((_, first)) = self.order.first() else { return };
        let (cells, first) = (&self.cells[..], key_at(&self.cells, *first));
        let shared = self.order.iter().fold(first.len(), |shared, (_, start)| {
            let same = first.iter().zip(key_at(cells, *start));
            same.take(shared).take_while(|(one, other)| one == other).count()
        });
        // Most comparisons are over with what a number holds of the keys.
        for (head, start) in &mut self.order {
            let mut bytes = [0; 8];
            let rest = &key_at(cells, *start)[shared..];
            let length = rest.len().min(8);
            bytes[..length].copy_from_slice(&rest[..length]);
            *head = u64::from_be_bytes(bytes);
        }
        self.order.sort_unstable_by(|(one, start), (other, behind)| {
            let keys = || key_at(cells, *start).cmp(key_at(cells, *behind));
            one.cmp(other).then_with(keys).then(start.cmp(behind))
        });
        // The last one of each key wins: it takes the place of the one before.
        self.order.dedup_by(|(head, later), (before, kept)| {
            let is_same = head == before && key_at(cells, *later) == key_at(cells, *kept);
            if is_same {
                *kept = *later;
            }
            is_same
        });
    }

    /// Whether all are carried out.
    pub(super) fn is_done(&self) -> bool {
        self.done == self.order.len()
    }

    /// Those that are still to be carried out.
    pub(super) fn changes(&self) -> impl Iterator<Item = CellChange<'_>> + Clone {
        self.order[self.done..].iter().map(|(_, start)| cell_at(&self.cells, *start))
    }

    /// So many more are carried out.
    pub(super) fn advance(&mut self, count: usize) {
        self.done += count;
    }

    /// Looks at the cells of those that come next, so that they are near when they are carried out: they stand in the order of the log.
    pub(super) fn touch(&mut self) {
        let until = (self.done + TOUCH_AHEAD).min(self.order.len());
        let ahead = &self.order[self.touched.max(self.done).min(until)..until];
        // The sum says nothing, but without it nobody would look.
        core::hint::black_box(ahead.iter().fold(0, |sum, (_, start)| {
            let cell = &self.cells[*start as usize..];
            let lines = cell.iter().step_by(64).take(3);
            lines.fold(sum, |sum, byte| sum ^ byte)
        }));
        self.touched = until;
    }

    /// The next one whose page nobody has asked for.
    pub(super) fn next_to_look_at(&self) -> usize {
        self.looked_at.max(self.done)
    }

    /// The key of the one at this place.
    pub(super) fn key(&self, at: usize) -> Option<&[u8]> {
        self.order.get(at).map(|(_, start)| key_at(&self.cells, *start))
    }

    /// The first from a place on whose key is this one or behind it; behind all of them, if there is no such key.
    pub(super) fn first_from(&self, at: usize, key: Option<&[u8]>) -> usize {
        let is_before =
            |(_, start): &(u64, u32)| key.is_none_or(|key| key_at(&self.cells, *start) < key);
        at + self.order[at..].partition_point(is_before)
    }

    /// The pages of all before a place are there or asked for.
    pub(super) fn looked_at(&mut self, at: usize) {
        self.looked_at = at;
    }

    /// It is carried out. Answers how many transactions that were, and where the log goes on.
    pub(super) fn end(&mut self) -> (u64, (Lsn, u32)) {
        let ended = (self.transactions, self.end);
        let ReplayBatch { mut cells, mut order, .. } = std::mem::take(self);
        cells.clear();
        order.clear();
        *self = ReplayBatch { cells, order, ..ReplayBatch::default() };
        ended
    }
}

fn lengths_at(cells: &[u8], start: u32) -> (u16, u16, &[u8]) {
    let (lengths, cell) = cells[start as usize..].split_at(CELL_HEADER);
    let length = |at| u16::from_le_bytes([lengths[at], lengths[at + 1]]);
    (length(0), length(2), cell)
}

fn key_at(cells: &[u8], start: u32) -> &[u8] {
    let (key, _, cell) = lengths_at(cells, start);
    &cell[..key.into()]
}

fn cell_at(cells: &[u8], start: u32) -> CellChange<'_> {
    let (key, value, cell) = lengths_at(cells, start);
    let (key, rest) = cell.split_at(key.into());
    (key, (value != REMOVED).then(|| &rest[..value.into()]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paged::change::Change;

    fn body(changes: &[(&str, Option<&str>)]) -> Vec<u8> {
        let mut body = Vec::new();
        for (key, value) in changes {
            let key = key.as_bytes().into();
            match value {
                Some(value) => Change::Put { key, value: value.as_bytes().into() },
                None => Change::Delete { key },
            }
            .encode(&mut body);
        }
        body
    }

    #[test]
    fn the_last_of_each_key_is_carried_out_in_the_order_of_keys() {
        let transactions: [&[(&str, Option<&str>)]; 7] = [
            &[("kb", Some("1"))],
            &[("ka", Some("2")), ("kc", Some("2"))],
            &[("kb", Some("3")), ("kb", None), ("kc", None)],
            &[("k", Some("4"))],
            &[("kbbbbbbbbbb2", Some("5")), ("ka", None)],
            &[("kbbbbbbbbbb1", Some("6")), ("kc", Some(""))],
            &[("ka", Some("7"))],
        ];
        let mut batch = ReplayBatch::default();
        for round in 0..2 {
            for (changes, at) in transactions.into_iter().zip(1..) {
                assert!(batch.take(PageSize::DEFAULT, &body(changes), (Lsn(at), 0)));
            }
            batch.pass((Lsn(9), 1));
            batch.close();
            let mut found = Vec::new();
            while !batch.is_done() {
                batch.touch();
                let change = batch.changes().next().expect("it is not done");
                let KeyChange { key, value } = KeyChange::decode(change);
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("it was one");
                found.push((text(key), value.map(text)));
                batch.advance(1);
            }
            let expected = [
                ("k", Some("4")),
                ("ka", Some("7")),
                ("kb", None),
                ("kbbbbbbbbbb1", Some("6")),
                ("kbbbbbbbbbb2", Some("5")),
                ("kc", Some("")),
            ];
            let expected = expected.map(|(key, value)| (key.to_owned(), value.map(str::to_owned)));
            assert_eq!(found, expected, "round {round}");
            assert_eq!(batch.end(), (7, (Lsn(9), 1)));
            assert!(batch.is_empty() && !batch.is_closed());
        }
    }

    #[test]
    fn a_transaction_that_does_anything_else_is_not_taken_nor_any_part_of_it() {
        let mut batch = ReplayBatch::default();
        assert!(batch.take(PageSize::DEFAULT, &body(&[("a", Some("1"))]), (Lsn(1), 0)));
        let long = "x".repeat(4096);
        let object = crate::paged::ObjectId {
            collection: crate::CollectionId::new(1),
            object: crate::ObjectNo(1),
            snapshot: 0,
        };
        let mut removal = body(&[("b", Some("1"))]);
        Change::Remove { object }.encode(&mut removal);
        let no_change = [&body(&[("b", None)])[..], &[0xff]].concat();
        let others = [body(&[("b", Some("1")), ("c", Some(&long))]), removal, no_change];
        for other in others {
            assert!(!batch.take(PageSize::DEFAULT, &other, (Lsn(2), 0)));
        }
        batch.close();
        assert_eq!(batch.changes().count(), 1);
        batch.advance(1);
        assert_eq!(batch.end(), (1, (Lsn(1), 0)));
    }
}
