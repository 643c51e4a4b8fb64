//! Ranges of keys, in both directions.

use crate::error::DbError;
use crate::handle::HeldSnapshot;
use crate::keyspace::Keyspace;
use crate::owner::{DbAsk, SCAN_PART_BYTES, ScanAsk, ScanOrder, ScanPart};
use crate::pending::Pending;
use crate::record;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// What a transaction has changed so far: keys of the store, with values and their tails.
pub(crate) type OwnWrites = BTreeMap<Vec<u8>, Option<Vec<u8>>>;
/// Ranges that a transaction has read.
pub(crate) type RangesRead = Arc<Mutex<Vec<Range<Vec<u8>>>>>;

/// A key with its value.
type KvPair = (Vec<u8>, Vec<u8>);

/// Keys of the first part of a scan; the sizes of what is found say how many the next ones have.
const FIRST_PART: usize = 16;
/// Keys of a part at most.
const PART_MAX: usize = 512;

/// Some keys of a keyspace as one snapshot sees them: all, until it is told which.
pub struct DbScan {
    snapshot: Arc<HeldSnapshot>,
    keyspace: Keyspace,
    range: Range<Vec<u8>>,
    order: ScanOrder,
    own: OwnWrites,
    ranges_read: Option<RangesRead>,
}

impl DbScan {
    /// All keys of a keyspace, the least first.
    pub(crate) fn new(snapshot: Arc<HeldSnapshot>, keyspace: &Keyspace) -> DbScan {
        let (order, own) = (ScanOrder::Ascending, OwnWrites::new());
        let (keyspace, range) = (keyspace.clone(), keyspace.range(&[]));
        DbScan { snapshot, keyspace, range, order, own, ranges_read: None }
    }

    /// The same, with what a transaction has changed, and noting what it reads.
    pub(crate) fn of_transaction(mut self, own: &OwnWrites, ranges: &RangesRead) -> DbScan {
        let inside = own.range(self.range.clone());
        self.own = inside.map(|(key, value)| (key.clone(), value.clone())).collect();
        self.ranges_read = Some(ranges.clone());
        self
    }

    /// Only keys that begin so.
    #[must_use]
    pub fn prefix(self, prefix: &[u8]) -> DbScan {
        let Range { start, end } = self.keyspace.range(prefix);
        self.within(start, end)
    }

    /// Only keys from this one on.
    #[must_use]
    pub fn from(self, key: &[u8]) -> DbScan {
        let (start, end) = (self.keyspace.key(key), self.keyspace.behind());
        self.within(start, end)
    }

    /// Only keys below this one.
    #[must_use]
    pub fn until(self, key: &[u8]) -> DbScan {
        let (start, end) = (self.keyspace.key(&[]), self.keyspace.key(key));
        self.within(start, end)
    }

    /// The greatest key first.
    #[must_use]
    pub fn backward(mut self) -> DbScan {
        self.order = ScanOrder::Descending;
        self
    }

    /// The keys with their values, a part at a time.
    pub fn iter(self) -> DbIterator {
        let DbScan { snapshot, keyspace, range, order, own, ranges_read } = self;
        if let Some(ranges) = ranges_read {
            ranges.lock().expect("nobody panics while a range is noted").push(range.clone());
        }
        let rest = Some(range).filter(|range| !range.is_empty());
        let (found, most) = (VecDeque::new(), FIRST_PART);
        DbIterator { snapshot, keyspace, order, own, rest, found, most }
    }

    fn within(mut self, start: Vec<u8>, end: Vec<u8>) -> DbScan {
        self.range = self.range.start.max(start)..self.range.end.min(end);
        self
    }
}

impl IntoIterator for DbScan {
    type Item = Result<(Vec<u8>, Vec<u8>), DbError>;
    type IntoIter = DbIterator;

    fn into_iter(self) -> DbIterator {
        self.iter()
    }
}

/// Keys with their values, in order. It keeps its snapshot alive. After an error it has come to its end.
pub struct DbIterator {
    snapshot: Arc<HeldSnapshot>,
    keyspace: Keyspace,
    order: ScanOrder,
    own: OwnWrites,
    /// What of the range is yet to be asked for.
    rest: Option<Range<Vec<u8>>>,
    found: VecDeque<(Vec<u8>, Vec<u8>)>,
    most: usize,
}

impl DbIterator {
    /// The next one, for tasks: the future waits where the iterator would block.
    pub async fn next_later(&mut self) -> Option<Result<(Vec<u8>, Vec<u8>), DbError>> {
        loop {
            match self.step() {
                Ok(next) => return next.map(Ok),
                Err(part) => {
                    let part = part.await;
                    if let Err(error) = self.take(part) {
                        return Some(Err(error));
                    }
                }
            }
        }
    }

    /// What is there already, or the next part that is awaited.
    fn step(&mut self) -> Result<Option<KvPair>, Pending<ScanPart>> {
        if let Some((key, value)) = self.found.pop_front() {
            return Ok(Some((self.keyspace.strip(&key).to_vec(), value)));
        }
        let Some(range) = self.rest.clone() else { return Ok(None) };
        let at = self.snapshot.seen_at();
        let (order, most) = (self.order, self.most);
        let scan = ScanAsk { snapshot: at.snapshot, now_ms: Some(at.now_ms), range, order, most };
        Err(self.snapshot.handle().ask(|answer| DbAsk::Scan { scan, answer }))
    }

    fn take(&mut self, part: Result<ScanPart, DbError>) -> Result<(), DbError> {
        let range = self.rest.take().expect("a part of what is left was asked for");
        let ScanPart { pairs, rest } = part?;
        let covered = self.order.covered(range, rest.as_ref());
        let bytes: usize = pairs.iter().map(|(key, value)| key.len() + value.len()).sum();
        let each = bytes / pairs.len().max(1);
        self.most = (SCAN_PART_BYTES / each.max(1)).clamp(1, (4 * self.most).min(PART_MAX));
        self.found = self.with_own(pairs, covered).into();
        self.rest = rest.filter(|rest| !rest.is_empty());
        if let (Some(rest), ScanOrder::Ascending) = (&self.rest, self.order)
            && Arc::strong_count(&self.snapshot) == 1
        {
            // Nobody else reads from this snapshot, and what is in front of that was read.
            let (id, from) = (self.snapshot.id(), rest.start.clone());
            self.snapshot.handle().tell(DbAsk::Advance(id, from));
        }
        Ok(())
    }

    /// What was found in a range, with what the transaction has changed there.
    fn with_own(
        &self,
        pairs: Vec<(Vec<u8>, Vec<u8>)>,
        covered: Range<Vec<u8>>,
    ) -> Vec<(Vec<u8>, Vec<u8>)> {
        if covered.is_empty() || self.own.range(covered.clone()).next().is_none() {
            return pairs;
        }
        let mut all: BTreeMap<Vec<u8>, Vec<u8>> = pairs.into_iter().collect();
        for (key, own) in self.own.range(covered) {
            let now_ms = self.snapshot.seen_at().now_ms;
            match own.clone().and_then(|stored| record::live(stored, now_ms)) {
                Some(value) => all.insert(key.clone(), value),
                None => all.remove(key),
            };
        }
        match self.order {
            ScanOrder::Ascending => all.into_iter().collect(),
            ScanOrder::Descending => all.into_iter().rev().collect(),
        }
    }
}

impl Iterator for DbIterator {
    type Item = Result<(Vec<u8>, Vec<u8>), DbError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.step() {
                Ok(next) => return next.map(Ok),
                Err(part) => {
                    if let Err(error) = self.take(part.wait()) {
                        return Some(Err(error));
                    }
                }
            }
        }
    }
}
