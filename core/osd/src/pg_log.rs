//! The PG log: the last writes of a placement group, from which a returning copy learns what it misses.

use crate::ids::OpId;
use loadline_store::{ObjectNo, Version};
use std::collections::{BTreeSet, VecDeque};

/// How many entries a log keeps while some copy lacks something, so that it can be caught up
/// (`osd_max_pg_log_entries`).
const ENTRIES_DEGRADED: usize = 10_000;
/// How many entries a log keeps while all is well (`osd_min_pg_log_entries`).
const ENTRIES_CLEAN: usize = 250;
/// A version is the interval in which the write was numbered, and the number inside it. Two primaries that each
/// believe in their own interval can therefore never give two writes the same version.
const INTERVAL_SHIFT: u32 = 32;

/// One write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The version that the write produced.
    pub version: Version,
    /// The object written.
    pub object: ObjectNo,
    /// The op that wrote it.
    pub op: OpId,
}

/// The last writes in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PgLog {
    /// The version just before the first entry: what was written up to there is no longer known one by one.
    tail: Version,
    entries: VecDeque<LogEntry>,
    degraded: bool,
}

impl PgLog {
    /// Sets whether some copy lacks something: then more is kept from now on.
    pub(crate) fn set_degraded(&mut self, degraded: bool) {
        self.degraded = degraded;
        self.trim();
    }

    /// Takes the next versions for so many writes that the log does not remember, nor anything before them. The answer is the first.
    pub(crate) fn append_forgotten(&mut self, interval: u32, writes: u64) -> Version {
        let first = self.next(interval);
        self.tail = Version(first.0 + writes - 1);
        self.entries.clear();
        first
    }

    /// A log as it was read back from a disk: what is older than `tail` is forgotten, and entries up to it with it.
    pub(crate) fn loaded(tail: Version, entries: Vec<LogEntry>) -> PgLog {
        let entries = entries.into_iter().filter(|entry| entry.version > tail).collect();
        PgLog { tail, entries, degraded: false }
    }

    /// The version just before the first entry.
    pub(crate) fn tail(&self) -> Version {
        self.tail
    }

    /// The entries, oldest first.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &LogEntry> {
        self.entries.iter()
    }

    fn next(&self, interval: u32) -> Version {
        let first = u64::from(interval) << INTERVAL_SHIFT;
        Version(self.head().0.max(first) + 1)
    }

    fn trim(&mut self) {
        let most = if self.degraded { ENTRIES_DEGRADED } else { ENTRIES_CLEAN };
        while self.entries.len() > most {
            self.tail = self.entries.pop_front().map_or(self.tail, |entry| entry.version);
        }
    }

    /// The version of the last write; zero before the first.
    pub fn head(&self) -> Version {
        self.entries.back().map_or(self.tail, |entry| entry.version)
    }

    /// Appends a write, as its primary in `interval`, and returns its version.
    pub fn append(&mut self, interval: u32, object: ObjectNo, op: OpId) -> Version {
        let version = self.next(interval);
        self.record(LogEntry { version, object, op });
        version
    }

    /// Records a write that the primary numbered.
    ///
    /// # Panics
    /// If it is older than the last one: a primary's writes are carried out in its order.
    pub fn record(&mut self, entry: LogEntry) {
        assert!(entry.version > self.head(), "a primary's writes arrive in order");
        self.entries.push_back(entry);
        self.trim();
    }

    /// Whether `op` wrote one of the entries.
    pub fn knows(&self, op: OpId) -> bool {
        self.entries.iter().any(|entry| entry.op == op)
    }

    /// The objects that a copy with the log `other` must get, or lose, to be what this log tells: those written here
    /// after the last write that both know, and those that only `other` says were written. `None` if no such write
    /// is known any more: then only a comparison object by object can tell.
    pub fn differs_from(&self, other: &PgLog) -> Option<BTreeSet<ObjectNo>> {
        let mut objects = BTreeSet::new();
        let mut last_common = other.tail;
        for entry in other.entries.iter().rev() {
            if self.contains(entry.version) {
                last_common = entry.version;
                break;
            }
            objects.insert(entry.object);
        }
        if !self.contains(last_common) {
            return None;
        }
        let newer = self.entries.partition_point(|entry| entry.version <= last_common);
        objects.extend(self.entries.range(newer..).map(|entry| entry.object));
        Some(objects)
    }

    /// Whether this log knows for certain that `version` is part of its history.
    fn contains(&self, version: Version) -> bool {
        version == self.tail
            || self.entries.binary_search_by_key(&version, |entry| entry.version).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_base::SlotId;

    fn op(number: u32) -> OpId {
        OpId { slot: SlotId::new(0), number }
    }

    /// A log of writes to these objects in one interval.
    fn log(writes: &[u64]) -> PgLog {
        let mut log = PgLog::default();
        extend(&mut log, 1, writes);
        log
    }

    fn extend(log: &mut PgLog, interval: u32, writes: &[u64]) {
        for object in writes {
            log.append(interval, ObjectNo(*object), op(*object as u32));
        }
    }

    fn check(authority: &PgLog, other: &PgLog, expected: Option<&[u64]>) {
        let expected = expected.map(|objects| objects.iter().map(|o| ObjectNo(*o)).collect());
        assert_eq!(authority.differs_from(other), expected);
    }

    #[test]
    fn a_copy_that_is_behind_misses_what_was_written_since() {
        let authority = log(&[5, 6, 5]);
        check(&authority, &log(&[5]), Some(&[5, 6]));
        check(&authority, &log(&[5, 6, 5]), Some(&[]));
        check(&authority, &PgLog::default(), Some(&[5, 6]));
    }

    /// An OSD crashed with a write that no other copy had seen. The others went on; the number of its write was
    /// given to another object, and when it came back its log looked as long as theirs.
    #[test]
    fn a_write_that_only_the_crashed_primary_had_is_undone() {
        let mut authority = log(&[5, 6]);
        let mut crashed = authority.clone();
        extend(&mut crashed, 1, &[7, 8]);
        extend(&mut authority, 2, &[9, 5]);
        check(&authority, &crashed, Some(&[5, 7, 8, 9]));
    }

    #[test]
    fn the_log_reaches_back_as_far_as_it_is_long() {
        let behind = log(&[1]);
        let mut authority = log(&[1, 2]);
        extend(&mut authority, 1, &[3; ENTRIES_CLEAN - 1]);
        check(&authority, &behind, Some(&[2, 3]));
        extend(&mut authority, 1, &[3]);
        check(&authority, &behind, None);
    }

    #[test]
    fn a_degraded_group_remembers_more_and_a_forgotten_write_ends_the_memory() {
        let behind = log(&[1]);
        let mut authority = log(&[1]);
        authority.set_degraded(true);
        extend(&mut authority, 1, &[2; ENTRIES_DEGRADED]);
        check(&authority, &behind, Some(&[2]));
        authority.append_forgotten(1, 1);
        check(&authority, &behind, None);
        assert_eq!(authority.differs_from(&authority.clone()), Some(BTreeSet::new()));
    }

    #[test]
    fn the_log_knows_the_ops_that_it_still_holds() {
        let mut authority = log(&[1, 2]);
        assert!(authority.knows(op(1)) && !authority.knows(op(3)));
        authority.append_forgotten(1, 1);
        assert!(!authority.knows(op(1)));
    }
}
