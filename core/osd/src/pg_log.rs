//! The PG log: the last writes of a placement group, from which a returning copy learns what it misses.

use loadline_store::{ObjectNo, Version};
use std::collections::{BTreeMap, VecDeque};

/// How many entries a log keeps while some copy lacks something, so that it can be caught up
/// (`osd_max_pg_log_entries`).
const ENTRIES_DEGRADED: usize = 10_000;
/// How many entries a log keeps while all is well (`osd_min_pg_log_entries`).
const ENTRIES_CLEAN: usize = 250;

/// One write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The version that the write produced.
    pub version: Version,
    /// The object written.
    pub object: ObjectNo,
}

/// The last writes in order, without gaps.
#[derive(Clone, Debug, Default)]
pub struct PgLog {
    entries: VecDeque<LogEntry>,
    head: Version,
    degraded: bool,
}

impl PgLog {
    /// Sets whether some copy lacks something: then more is kept from now on.
    pub(crate) fn set_degraded(&mut self, degraded: bool) {
        self.degraded = degraded;
        self.trim();
    }

    /// Takes the next version for a write that the log does not remember, nor anything before it.
    pub(crate) fn append_forgotten(&mut self) -> Version {
        self.entries.clear();
        self.head = Version(self.head.0 + 1);
        self.head
    }

    fn trim(&mut self) {
        let most = if self.degraded { ENTRIES_DEGRADED } else { ENTRIES_CLEAN };
        while self.entries.len() > most {
            self.entries.pop_front();
        }
    }

    /// The version of the last write; zero before the first.
    pub fn head(&self) -> Version {
        self.head
    }

    /// Appends a write with the next version and returns that version.
    pub fn append(&mut self, object: ObjectNo) -> Version {
        let version = Version(self.head.0 + 1);
        self.record(LogEntry { version, object });
        version
    }

    /// Records a write that the primary numbered. A write already known is passed over, as replica writes may
    /// be resent.
    pub fn record(&mut self, entry: LogEntry) {
        if entry.version <= self.head {
            return;
        }
        self.entries.push_back(entry);
        self.head = entry.version;
        self.trim();
    }

    /// The objects written after `version` with their newest version, or `None` if the log does not reach
    /// back that far: then only backfill can find them.
    pub fn written_after(&self, version: Version) -> Option<BTreeMap<ObjectNo, Version>> {
        let oldest_known = self.entries.front().map_or(self.head.0 + 1, |entry| entry.version.0);
        if version.0 + 1 < oldest_known {
            return None;
        }
        let newer = self.entries.iter().skip_while(|entry| entry.version <= version);
        Some(newer.map(|entry| (entry.object, entry.version)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_names_what_was_written_as_far_back_as_it_reaches() {
        let mut log = PgLog::default();
        for object in [5, 6, 5] {
            log.append(ObjectNo(object));
        }
        let missing = log.written_after(Version(1)).expect("the log reaches back to version 1");
        assert_eq!(
            missing.into_iter().collect::<Vec<_>>(),
            vec![(ObjectNo(5), Version(3)), (ObjectNo(6), Version(2))]
        );
        assert_eq!(log.written_after(Version(3)), Some(BTreeMap::new()));
        for _ in 0..ENTRIES_CLEAN {
            log.append(ObjectNo(7));
        }
        assert_eq!(log.written_after(Version(2)), None);
        assert!(log.written_after(Version(3)).is_some());
    }

    #[test]
    fn a_degraded_group_remembers_more_and_a_forgotten_write_ends_the_memory() {
        let mut log = PgLog::default();
        log.set_degraded(true);
        for object in 0..=ENTRIES_DEGRADED as u64 {
            log.append(ObjectNo(object));
        }
        assert_eq!(log.written_after(Version(0)), None);
        assert!(log.written_after(Version(1)).is_some());
        let forgotten = log.append_forgotten();
        assert_eq!(log.written_after(Version(forgotten.0 - 1)), None);
        assert_eq!(log.written_after(forgotten), Some(BTreeMap::new()));
    }
}
