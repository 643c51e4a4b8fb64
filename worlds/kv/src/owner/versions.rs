//! What live snapshots still see of keys that were changed since.
//!
//! The store has one version of each key. While a snapshot lives, the value that a commit replaces is read first and kept here under that
//! commit's number; a snapshot that sees the commits up to `s` reads a key as the first entry of a commit after `s` says, and as the
//! store says where there is none. An entry is put down before its commit goes to the store, so a reader that asks the store first
//! and looks here afterwards is right in whatever order the two were carried out.
//!
//! Why not versions on the disk: they would cost every put a second key and somebody to remove it, for snapshots that most programs
//! hold for moments, and what is in memory needs no repair after a crash, because no snapshot survives one. The price is memory for long snapshots
//! under many writes. It is bounded: the oldest snapshots end when it is used up. A snapshot that is read from front to back once (a backup) says how
//! far it is, and what lies behind it is not kept for it.
//!
//! The same entries say what a transaction must know: whether a key that it has read was changed by a commit that it does not see.

use crate::error::DbError;
use crate::record::{self, StoredPairs};
use loadline_store::paged::ScanBounds;
use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// A snapshot of this life of a database. A younger one is greater, since it sees as much or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LiveSnapshotId {
    sees: u64,
    number: u64,
}

impl LiveSnapshotId {
    /// The last commit that it sees.
    pub(crate) fn sees(self) -> u64 {
        self.sees
    }
}

/// Which way a range is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanOrder {
    /// The least key first.
    Ascending,
    /// The greatest key first.
    Descending,
}

impl ScanOrder {
    /// What of a range is left behind a key that was looked at.
    pub(crate) fn behind(self, mut last: Vec<u8>, range: Range<Vec<u8>>) -> Range<Vec<u8>> {
        match self {
            ScanOrder::Ascending => {
                last.push(0);
                last..range.end
            }
            ScanOrder::Descending => range.start..last,
        }
    }

    /// What of a range is read, if this is left.
    pub(crate) fn covered(
        self,
        range: Range<Vec<u8>>,
        rest: Option<&Range<Vec<u8>>>,
    ) -> Range<Vec<u8>> {
        match (rest, self) {
            (None, _) => range,
            (Some(rest), ScanOrder::Ascending) => range.start..rest.start.clone(),
            (Some(rest), ScanOrder::Descending) => rest.end.clone()..range.end,
        }
    }
}

/// What a transaction has read.
#[derive(Debug)]
pub(crate) struct ReadSet {
    /// As of which snapshot.
    pub(crate) snapshot: LiveSnapshotId,
    /// These keys,
    pub(crate) keys: Vec<Vec<u8>>,
    /// and all there is in these ranges.
    pub(crate) ranges: Vec<Range<Vec<u8>>>,
}

/// See [above](self).
#[derive(Debug)]
pub(super) struct Versions {
    /// The oldest first.
    live: BTreeMap<LiveSnapshotId, LiveSnapshot>,
    begun: u64,
    former: BTreeMap<Vec<u8>, VecDeque<Former>>,
    /// The entries by their commits.
    order: VecDeque<(u64, Vec<u8>)>,
    bytes: u64,
    bytes_max: u64,
    ended_early: u64,
}

#[derive(Debug)]
struct LiveSnapshot {
    /// It will read no key before this one.
    from: Vec<u8>,
    /// Who needs it: its handle, and its transaction on the way to its commit.
    holders: u32,
}

/// What a key was before a commit.
#[derive(Debug)]
struct Former {
    commit: u64,
    value: Option<Vec<u8>>,
}

impl Versions {
    /// No snapshots, and so much memory for them.
    pub(super) fn new(bytes_max: u64) -> Versions {
        Versions {
            live: BTreeMap::new(),
            begun: 0,
            former: BTreeMap::new(),
            order: VecDeque::new(),
            bytes: 0,
            bytes_max,
            ended_early: 0,
        }
    }

    /// A new snapshot, which sees the commits up to this one.
    pub(super) fn begin(&mut self, sees: u64) -> LiveSnapshotId {
        self.begun += 1;
        let id = LiveSnapshotId { sees, number: self.begun };
        self.live.insert(id, LiveSnapshot { from: Vec::new(), holders: 1 });
        id
    }

    /// Whoever has a snapshot will read no key before `from` any more. A transaction on the way to its commit has read what is before that, and has it looked at later.
    pub(super) fn advance(&mut self, id: LiveSnapshotId, from: Vec<u8>) {
        if let Some(snapshot) = self.live.get_mut(&id).filter(|snapshot| snapshot.holders == 1) {
            snapshot.from = from;
        }
    }

    /// A snapshot is needed once more, until it is ended once more.
    pub(super) fn keep(&mut self, id: LiveSnapshotId) {
        self.live.get_mut(&id).into_iter().for_each(|snapshot| snapshot.holders += 1);
    }

    /// Somebody needs a snapshot no more.
    pub(super) fn end(&mut self, id: LiveSnapshotId) {
        let Some(snapshot) = self.live.get_mut(&id) else { return };
        snapshot.holders -= 1;
        if snapshot.holders == 0 {
            self.live.remove(&id);
            self.forget();
        }
    }

    /// How many snapshots live, bytes that are kept for them, and how many have ended for want of memory.
    pub(super) fn counts(&self) -> (u64, u64, u64) {
        (self.live.len() as u64, self.bytes, self.ended_early)
    }

    /// Whether a commit that changes this key has to say what it was.
    pub(super) fn needs(&self, key: &[u8]) -> bool {
        let last = self.former.get(key).and_then(VecDeque::back).map_or(0, |last| last.commit);
        // Who does not see that commit has the value in its entry, or in an earlier one.
        let mut after = self.live.iter().rev().take_while(|(id, _)| id.sees >= last);
        after.any(|(_, snapshot)| &snapshot.from[..] <= key)
    }

    /// A commit is about to change a key that was `value`.
    pub(super) fn note(&mut self, commit: u64, key: &[u8], value: Option<Vec<u8>>) {
        if self.needs(key) {
            self.bytes += cost(key, value.as_deref());
            self.order.push_back((commit, key.to_vec()));
            self.former.entry(key.to_vec()).or_default().push_back(Former { commit, value });
        }
    }

    /// Ends the oldest snapshots until what is kept, with so many bytes that are about to be, takes no more than it may. Answers whether one is left.
    pub(super) fn make_room(&mut self, more: u64) -> bool {
        while self.bytes + more > self.bytes_max && self.live.pop_first().is_some() {
            self.ended_early += 1;
            self.forget();
        }
        !self.live.is_empty()
    }

    /// How many snapshots have begun so far.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// The key as a snapshot sees it, if that is other than the store's.
    pub(super) fn former(
        &self,
        id: LiveSnapshotId,
        key: &[u8],
    ) -> Result<Option<&Option<Vec<u8>>>, DbError> {
        let sees = self.sees(id)?;
        Ok(self.former.get(key).and_then(|all| first_after(all, sees)).map(|first| &first.value))
    }

    /// Makes what the store has found in a range, in this order, what a snapshot sees there, until that is enough: what is kept for it may be far more than the store has. Answers the
    /// last key that was looked at too, where there is more.
    pub(super) fn as_seen(
        &self,
        id: LiveSnapshotId,
        (range, order): (Range<Vec<u8>>, ScanOrder),
        found: StoredPairs,
        most: ScanBounds,
    ) -> Result<(StoredPairs, Option<Vec<u8>>), DbError> {
        let sees = self.sees(id)?;
        if range.is_empty() || self.former.is_empty() {
            return Ok((found, None));
        }
        let others =
            self.former.range(range).filter_map(|(key, all)| Some((key, first_after(all, sees)?)));
        Ok(match order {
            ScanOrder::Ascending => merged(found, others, Vec::cmp, most),
            ScanOrder::Descending => merged(found, others.rev(), |a, b| b.cmp(a), most),
        })
    }

    /// The first thing that a transaction has read and that was changed by a commit that it does not see, as an error.
    pub(super) fn validate(&self, reads: &ReadSet) -> Result<(), DbError> {
        let sees = self.sees(reads.snapshot)?;
        let is_changed = |all: &VecDeque<Former>| all.back().is_some_and(|last| last.commit > sees);
        let key = reads.keys.iter().find(|key| self.former.get(*key).is_some_and(is_changed));
        let mut ranges = reads.ranges.iter().filter(|range| !range.is_empty());
        let in_range = || {
            ranges.find_map(|range| {
                let mut inside = self.former.range(range.clone());
                inside.find(|(_, all)| is_changed(all)).map(|(key, _)| key)
            })
        };
        key.or_else(in_range).map_or(Ok(()), |key| Err(record::conflict(key)))
    }

    /// The last commit that a snapshot sees, if it lives.
    pub(super) fn sees(&self, id: LiveSnapshotId) -> Result<u64, DbError> {
        if self.live.contains_key(&id) { Ok(id.sees) } else { Err(DbError::SnapshotTooOld) }
    }

    /// Lets go what the oldest snapshot sees in the store itself.
    fn forget(&mut self) {
        let Some(oldest) = self.live.keys().next().map(|id| id.sees) else {
            (self.former, self.order, self.bytes) = Default::default();
            return;
        };
        while self.order.front().is_some_and(|(commit, _)| *commit <= oldest) {
            let (_, key) = self.order.pop_front().expect("it was there");
            let all = self.former.get_mut(&key).expect("an entry in order is under its key");
            let first = all.pop_front().expect("entries of a key are in the order of commits");
            self.bytes -= cost(&key, first.value.as_deref());
            if all.is_empty() {
                self.former.remove(&key);
            }
        }
    }
}

fn first_after(all: &VecDeque<Former>, sees: u64) -> Option<&Former> {
    all.iter().find(|former| former.commit > sees)
}

/// What was found, and in its place what is kept, until it is enough; and the last key of these, if there are more.
fn merged<'v>(
    found: StoredPairs,
    kept: impl Iterator<Item = (&'v Vec<u8>, &'v Former)>,
    order: impl Fn(&Vec<u8>, &Vec<u8>) -> Ordering,
    most: ScanBounds,
) -> (StoredPairs, Option<Vec<u8>>) {
    let (mut found, mut kept) = (found.into_iter().peekable(), kept.peekable());
    let (mut pairs, mut bytes, mut looked_at) = (StoredPairs::new(), 0, 0);
    loop {
        let next = match (found.peek(), kept.peek()) {
            (None, None) => return (pairs, None),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((found, _)), Some((kept, _))) => order(found, kept),
        };
        let of_store = if next == Ordering::Greater { None } else { found.next() };
        let former = if next == Ordering::Less { None } else { kept.next() };
        let (key, value) = match (former, of_store) {
            (Some((key, former)), _) => (key.clone(), former.value.clone()),
            (None, of_store) => {
                let (key, value) = of_store.expect("one of them was there");
                (key, Some(value))
            }
        };
        looked_at += 1;
        let gone = match value {
            None => Some(key),
            Some(value) => {
                bytes += key.len() + value.len();
                pairs.push((key, value));
                None
            }
        };
        // What was not there then takes time as well.
        let is_enough = pairs.len() >= most.keys
            || bytes >= most.bytes
            || looked_at >= most.keys.saturating_mul(2);
        if is_enough && (found.peek().is_some() || kept.peek().is_some()) {
            let last = gone.or_else(|| pairs.last().map(|(key, _)| key.clone()));
            return (pairs, last);
        }
    }
}

/// Memory of an entry: its key twice, its value, and what stands around them.
fn cost(key: &[u8], value: Option<&[u8]>) -> u64 {
    (2 * key.len() + value.map_or(0, <[u8]>::len) + 128) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_base::Rng;

    /// A store with one version, and every state that it had.
    struct Model {
        versions: Versions,
        states: Vec<BTreeMap<Vec<u8>, Vec<u8>>>,
        snapshots: Vec<(LiveSnapshotId, usize)>,
    }

    impl Model {
        fn commit(&mut self, keys: &[u8], value: &[u8]) {
            let mut state = self.states.last().expect("there is a first state").clone();
            let commit = self.states.len() as u64;
            for key in keys {
                let key = vec![*key];
                if self.versions.needs(&key) {
                    self.versions.note(commit, &key, state.get(&key).cloned());
                }
                match value.is_empty() {
                    true => state.remove(&key),
                    false => state.insert(key, value.to_vec()),
                };
            }
            self.states.push(state);
        }

        fn begin(&mut self) {
            let at = self.states.len() - 1;
            self.snapshots.push((self.versions.begin(at as u64), at));
        }

        fn check(&self) {
            let now = self.states.last().expect("there is a first state");
            for (id, at) in &self.snapshots {
                for key in 0..8u8 {
                    let former = self.versions.former(*id, &[key]).expect("it lives");
                    let seen = former.cloned().unwrap_or_else(|| now.get(&vec![key]).cloned());
                    assert_eq!(seen.as_ref(), self.states[*at].get(&vec![key]));
                }
                let pairs = |state: &BTreeMap<Vec<u8>, Vec<u8>>, range: Range<Vec<u8>>| {
                    let found = state.range(range).map(|(k, v)| (k.clone(), v.clone()));
                    found.collect::<StoredPairs>()
                };
                for order in [ScanOrder::Ascending, ScanOrder::Descending] {
                    let (mut rest, mut all) = (Some(vec![2]..vec![6]), StoredPairs::new());
                    while let Some(range) = rest.take().filter(|range| !range.is_empty()) {
                        let mut found = pairs(now, range.clone());
                        if order == ScanOrder::Descending {
                            found.reverse();
                        }
                        let (most, of) = (ScanBounds::keys(1), (range.clone(), order));
                        let seen = self.versions.as_seen(*id, of, found, most);
                        let (seen, last) = seen.expect("it lives");
                        // What the store has found is as much as it was asked for.
                        assert!(seen.len() <= 1 || self.versions.counts().1 == 0);
                        all.extend(seen);
                        rest = last.map(|last| order.behind(last, range));
                    }
                    if order == ScanOrder::Descending {
                        all.reverse();
                    }
                    assert_eq!(all, pairs(&self.states[*at], vec![2]..vec![6]), "{order:?}");
                }
            }
        }
    }

    #[test]
    fn each_snapshot_sees_the_state_of_its_beginning() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let mut model = Model {
                versions: Versions::new(1 << 20),
                states: vec![BTreeMap::new()],
                snapshots: Vec::new(),
            };
            for step in 0..80u8 {
                match rng.below(6) {
                    0 => model.begin(),
                    1 if !model.snapshots.is_empty() => {
                        let at = rng.below(model.snapshots.len() as u64) as usize;
                        model.versions.end(model.snapshots.remove(at).0);
                    }
                    2 => model.commit(&[rng.below(8) as u8], b""),
                    _ => model.commit(&[rng.below(4) as u8, 4 + rng.below(4) as u8], &[step]),
                }
                model.check();
            }
            model.snapshots.drain(..).for_each(|(id, _)| model.versions.end(id));
            assert_eq!(model.versions.counts(), (0, 0, 0));
        }
    }

    #[test]
    fn a_conflict_names_the_key_and_only_what_was_read_counts() {
        let mut versions = Versions::new(1 << 20);
        let snapshot = versions.begin(0);
        let key = |name: &str| [&[2][..], b"ks", name.as_bytes()].concat();
        versions.note(1, &key("b"), None);
        let reads = |keys: &[&str], ranges: &[(&str, &str)]| ReadSet {
            snapshot,
            keys: keys.iter().map(|name| key(name)).collect(),
            ranges: ranges.iter().map(|(from, to)| key(from)..key(to)).collect(),
        };
        let conflict = Err(DbError::Conflict { keyspace: b"ks".to_vec(), key: b"b".to_vec() });
        assert_eq!(versions.validate(&reads(&["a", "c"], &[("c", "d"), ("d", "a")])), Ok(()));
        assert_eq!(versions.validate(&reads(&["a", "b"], &[])), conflict);
        assert_eq!(versions.validate(&reads(&[], &[("a", "c")])), conflict);
        versions.end(snapshot);
        assert_eq!(versions.validate(&reads(&[], &[])), Err(DbError::SnapshotTooOld));
    }

    /// An iterator that was used after its transaction had asked for its commit said how far it was, and what lay behind that was not looked at any more: a change
    /// of what the transaction had read was no conflict.
    #[test]
    fn an_iterator_moves_no_snapshot_on_that_a_commit_needs() {
        let mut versions = Versions::new(1 << 20);
        let snapshot = versions.begin(0);
        let key = |name: &str| [&[2][..], b"ks", name.as_bytes()].concat();
        versions.keep(snapshot);
        versions.advance(snapshot, key("m"));
        versions.note(1, &key("b"), None);
        let reads = ReadSet { snapshot, keys: vec![key("b")], ranges: Vec::new() };
        assert!(versions.validate(&reads).is_err());
        versions.end(snapshot);
        versions.advance(snapshot, key("n"));
        assert!(!versions.needs(&key("c")), "the commit is over, and the iterator goes on");
    }

    #[test]
    fn memory_is_bounded_and_a_reader_from_front_to_back_takes_less() {
        let mut versions = Versions::new(2000);
        let backup = versions.begin(0);
        versions.advance(backup, vec![5]);
        assert!(!versions.needs(&[4]) && versions.needs(&[5]));
        let young = versions.begin(0);
        versions.note(1, &[5], Some(vec![0; 900]));
        versions.make_room(0);
        assert_eq!(versions.counts().0, 2);
        let youngest = versions.begin(1);
        versions.note(2, &[6], Some(vec![0; 900]));
        versions.make_room(0);
        assert!(versions.former(backup, &[5]).is_err() && versions.former(young, &[5]).is_err());
        assert_eq!(versions.former(youngest, &[6]), Ok(Some(&Some(vec![0; 900]))));
        assert_eq!(versions.counts().2, 2);
    }
}
