//! The PG log: the last writes of a placement group, from which a returning copy learns what it misses.

use crate::ids::OpId;
use crate::version_runs::VersionRuns;
use loadline_store::paged::LostEnds;
use loadline_store::{ObjectNo, Version};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

/// A version is the interval in which the write was numbered, and the number inside it. Two primaries that each
/// believe in their own interval can therefore never give two writes the same version.
const INTERVAL_SHIFT: u32 = 32;

/// How many entries a log keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogReach {
    /// While all is well (`osd_min_pg_log_entries`).
    pub clean: usize,
    /// While some copy lacks something, so that it can be caught up (`osd_max_pg_log_entries`).
    pub degraded: usize,
}

impl Default for LogReach {
    fn default() -> LogReach {
        LogReach { clean: 250, degraded: 10_000 }
    }
}

/// One write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The version that the write produced.
    pub version: Version,
    /// The object written.
    pub object: ObjectNo,
    /// The op that wrote it.
    pub op: OpId,
    /// Which of its bytes are not what they were before.
    pub changed: ChangedBytes,
}

/// Bytes of an object that a write may have changed (the field's *dirty* or, the other way round, *clean* regions of an entry).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedBytes {
    /// First byte.
    pub offset: u32,
    /// How many.
    pub length: u32,
}

impl ChangedBytes {
    /// All of it, or nobody knows.
    pub const ALL: ChangedBytes = ChangedBytes { offset: 0, length: u32::MAX };
    /// None: only what is kept beside the object.
    pub const NONE: ChangedBytes = ChangedBytes { offset: 0, length: 0 };

    /// Without the pages in which it begins or ends.
    fn without(self, ends: LostEnds, page: u64) -> ChangedBytes {
        let (mut from, mut to) = (u64::from(self.offset), self.end());
        if self == ChangedBytes::ALL {
            return self;
        }
        if ends.first {
            from = (from / page + 1) * page;
        }
        if ends.last {
            to = to.saturating_sub(1) / page * page;
        }
        match from < to {
            true => ChangedBytes { offset: from as u32, length: (to - from) as u32 },
            false => ChangedBytes::NONE,
        }
    }

    /// From the first byte of both to the last.
    fn joined(self, other: ChangedBytes) -> ChangedBytes {
        if self.length == 0 || other == ChangedBytes::ALL {
            return other;
        }
        if other.length == 0 || self == ChangedBytes::ALL {
            return self;
        }
        let offset = self.offset.min(other.offset);
        let length = self.end().max(other.end()) - u64::from(offset);
        match u32::try_from(length) {
            Ok(length) => ChangedBytes { offset, length },
            Err(_) => ChangedBytes::ALL,
        }
    }

    fn end(self) -> u64 {
        u64::from(self.offset) + u64::from(self.length)
    }

    /// Whether some of these bytes are in it.
    pub(crate) fn meet(self, range: &Range<u64>) -> bool {
        self.length > 0 && u64::from(self.offset) < range.end && range.start < self.end()
    }
}

impl LogEntry {
    /// Of what two copies tell of one write what holds for both.
    fn joined(self, other: LogEntry) -> LogEntry {
        debug_assert_eq!((self.version, self.object), (other.version, other.object), "one write");
        let op = if self.op == other.op { self.op } else { OpId::NOBODYS };
        LogEntry { op, changed: self.changed.joined(other.changed), ..self }
    }
}

/// How far an object's state is away from the ones that its history went through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Divergence {
    /// The version of the state that this is said of. What is here in another one came since.
    pub version: Version,
    /// All but the changed bytes is as it was when this was the history's last write.
    pub since: Version,
    /// Bytes that only writes have changed which the history has not.
    pub changed: ChangedBytes,
}

/// What a write was, without its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LoggedWrite {
    object: ObjectNo,
    op: OpId,
    changed: ChangedBytes,
}

impl LoggedWrite {
    fn entry(&self, version: Version) -> LogEntry {
        let LoggedWrite { object, op, changed } = *self;
        LogEntry { version, object, op, changed }
    }
}

/// The last writes in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PgLog {
    /// The version just before the first entry: what was written up to there is no longer known one by one.
    tail: Version,
    versions: VersionRuns,
    /// What each version wrote. An old one is forgotten unread: thousands of entries later it is in no cache.
    writes: VecDeque<LoggedWrite>,
    reach: LogReach,
    degraded: bool,
}

impl PgLog {
    /// Sets how much is kept from now on.
    pub(crate) fn set_reach(&mut self, reach: LogReach) {
        self.keep_from_now_on(reach, self.degraded);
    }

    /// Sets how much is kept from now on, and whether some copy lacks something, so that it is the more of it. Both at once: a log that was read back or
    /// is another OSD's has not reached so far by what it knows itself.
    pub(crate) fn keep_from_now_on(&mut self, reach: LogReach, degraded: bool) {
        (self.reach, self.degraded) = (reach, degraded);
        self.trim();
    }

    /// Takes the next versions for so many writes that the log does not remember, nor anything before them. The answer is the first.
    pub(crate) fn append_forgotten(&mut self, interval: u32, writes: u64) -> Version {
        let first = self.next(interval);
        *self = PgLog {
            tail: Version(first.0 + writes - 1),
            reach: self.reach,
            degraded: self.degraded,
            ..PgLog::default()
        };
        first
    }

    /// A log as it was read back from a disk: what is older than `tail` is forgotten, and entries up to it with it.
    pub(crate) fn loaded(tail: Version, entries: Vec<LogEntry>) -> PgLog {
        let mut log = PgLog { tail, ..PgLog::default() };
        entries.into_iter().filter(|entry| entry.version > tail).for_each(|entry| log.push(entry));
        log
    }

    /// The version just before the first entry.
    pub(crate) fn tail(&self) -> Version {
        self.tail
    }

    /// The entries, oldest first.
    pub(crate) fn entries(&self) -> impl Iterator<Item = LogEntry> {
        self.newer(0)
    }

    /// The entries from this place on.
    fn newer(&self, place: usize) -> impl Iterator<Item = LogEntry> {
        let entries = self.versions.range(place..).zip(self.writes.range(place..));
        entries.map(|(version, write)| write.entry(version))
    }

    fn push(&mut self, entry: LogEntry) {
        let LogEntry { version, object, op, changed } = entry;
        self.versions.push(version);
        self.writes.push_back(LoggedWrite { object, op, changed });
    }

    fn next(&self, interval: u32) -> Version {
        let first = u64::from(interval) << INTERVAL_SHIFT;
        Version(self.head().0.max(first) + 1)
    }

    fn trim(&mut self) {
        let most = if self.degraded { self.reach.degraded } else { self.reach.clean };
        while self.writes.len() > most {
            self.writes.pop_front();
            self.tail = self.versions.pop_first().unwrap_or(self.tail);
        }
    }

    /// The version of the last write; zero before the first.
    pub fn head(&self) -> Version {
        self.versions.last().unwrap_or(self.tail)
    }

    /// Appends a write, as its primary in `interval`, and returns its version.
    pub fn append(
        &mut self,
        interval: u32,
        object: ObjectNo,
        op: OpId,
        changed: ChangedBytes,
    ) -> Version {
        let version = self.next(interval);
        self.record(LogEntry { version, object, op, changed });
        version
    }

    /// Records a write that the primary numbered.
    ///
    /// # Panics
    /// If it is older than the last one: a primary's writes are carried out in its order.
    pub fn record(&mut self, entry: LogEntry) {
        assert!(entry.version > self.head(), "a primary's writes arrive in order");
        self.push(entry);
        self.trim();
    }

    /// The write with this version has not changed the pages in which it begins or ends; its entry as it is now, if it is here.
    pub(crate) fn leave_out(
        &mut self,
        version: Version,
        ends: LostEnds,
        page: u64,
    ) -> Option<LogEntry> {
        let write = &mut self.writes[self.versions.place_of(version)?];
        write.changed = write.changed.without(ends, page);
        Some(write.entry(version))
    }

    /// The log of a group of which each of these tells all but the writes to objects that its copy lacked, as one primary has numbered them: what any of them
    /// tells. Behind it each of `lost` counts as written: all lacked it, and what was written to it last, or not, nobody knows any more.
    ///
    /// Nothing is cut off: the logs may have been read back, and do not know how far they reach.
    pub fn gathered<'a>(
        logs: impl IntoIterator<Item = &'a PgLog>,
        lost: &BTreeSet<ObjectNo>,
        interval: u32,
    ) -> PgLog {
        let (mut tail, mut entries) = (Version::default(), BTreeMap::<Version, LogEntry>::new());
        for log in logs {
            tail = tail.max(log.tail);
            for entry in log.entries() {
                let known = entries.entry(entry.version).or_insert(entry);
                *known = known.joined(entry);
            }
        }
        let mut log = PgLog::loaded(tail, entries.into_values().collect());
        for object in lost {
            let (version, op) = (log.next(interval), OpId::NOBODYS);
            log.push(LogEntry { version, object: *object, op, changed: ChangedBytes::ALL });
        }
        log
    }

    /// Not everything of what this op wrote is where this log is: if it comes again, it is not known.
    ///
    /// The end of an update says so, and cannot come too late: the group's next question and its next interval are kept behind the update, and
    /// that of an earlier life of the disk is dropped before anybody looks into it. A log that is read back names nobody's ops, so there is
    /// nothing in it to be forgotten.
    pub(crate) fn forget_op(&mut self, op: OpId) {
        let write = self.writes.iter_mut().rev().find(|write| write.op == op);
        write.into_iter().for_each(|write| write.op = OpId::NOBODYS);
    }

    /// Whether an object with this version is a state that this history went through, and these bytes are the same in it as they are with
    /// `until`. A log that does not reach back so far says no.
    pub(crate) fn keeps(
        &self,
        (object, range): (ObjectNo, &Range<u64>),
        since: Version,
        until: Version,
    ) -> bool {
        let newer = self.newer(self.versions.count_to(since));
        let mut between = newer.take_while(|entry| entry.version <= until);
        let is_changed = |entry: LogEntry| entry.object == object && entry.changed.meet(range);
        since <= until && self.contains(since) && !between.any(is_changed)
    }

    /// Whether `op` wrote one of the entries.
    pub fn knows(&self, op: OpId) -> bool {
        self.writes.iter().any(|write| write.op == op)
    }

    /// The objects that a copy with the log `other` must get, or lose, to be what this log tells: those written here
    /// after the last write that both know, and those that only `other` says were written. `None` if no such write
    /// is known any more: then only a comparison object by object can tell.
    pub fn differs_from(&self, other: &PgLog) -> Option<BTreeSet<ObjectNo>> {
        let last_common = self.last_common(other)?;
        let since = |log: &PgLog| log.versions.count_to(last_common);
        let newer = self.writes.range(since(self)..).chain(other.writes.range(since(other)..));
        Some(newer.map(|write| write.object).collect())
    }

    /// The last write that both know, if there is one that both know for certain.
    fn last_common(&self, other: &PgLog) -> Option<Version> {
        let mut all = other.versions.range(0..).rev();
        let common = all.find(|version| self.contains(*version)).unwrap_or(other.tail);
        self.contains(common).then_some(common)
    }

    /// The objects that only `other` says were written since the last write that both know: how each has gone astray where these writes
    /// were carried out. Empty if no such write is known any more.
    pub(crate) fn undone(&self, other: &PgLog) -> BTreeMap<ObjectNo, Divergence> {
        let mut undone: BTreeMap<ObjectNo, Divergence> = BTreeMap::new();
        let Some(since) = self.last_common(other) else { return undone };
        for entry in other.newer(other.versions.count_to(since)) {
            let LogEntry { version, object, changed, .. } = entry;
            let before = undone.get(&object).map_or(ChangedBytes::NONE, |it| it.changed);
            undone.insert(object, Divergence { version, since, changed: before.joined(changed) });
        }
        undone
    }

    /// Whether a comparison with this log shows it, if the write with this version is undone: it tells of the write, or forgets it no sooner than
    /// that anything can be compared with it.
    pub(crate) fn reaches(&self, version: Version) -> bool {
        version <= self.tail || self.versions.place_of(version).is_some()
    }

    /// Whether this log knows for certain that `version` is part of its history.
    fn contains(&self, version: Version) -> bool {
        version == self.tail || self.versions.place_of(version).is_some()
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
            log.append(interval, ObjectNo(*object), op(*object as u32), ChangedBytes::ALL);
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

    /// What the disk keeps of them must be enough to tell which bytes are still what they were.
    #[test]
    fn undone_writes_tell_the_last_common_one_and_all_that_they_changed() {
        let mut authority = log(&[5, 6]);
        let since = authority.head();
        let mut crashed = authority.clone();
        let bytes = |offset, length| ChangedBytes { offset, length };
        crashed.append(1, ObjectNo(5), op(7), bytes(4096, 100));
        crashed.append(1, ObjectNo(8), op(8), ChangedBytes::ALL);
        let version = crashed.append(1, ObjectNo(5), op(9), bytes(1000, 24));
        extend(&mut authority, 2, &[9, 5]);
        let undone = authority.undone(&crashed);
        assert_eq!(undone.keys().copied().collect::<Vec<_>>(), [ObjectNo(5), ObjectNo(8)]);
        let of = |object| undone[&ObjectNo(object)];
        assert_eq!(of(5), Divergence { version, since, changed: bytes(1000, 3196) });
        assert_eq!((of(8).since, of(8).changed), (since, ChangedBytes::ALL));
        assert!(crashed.undone(&crashed.clone()).is_empty(), "nothing is undone");
        authority.append_forgotten(2, 1);
        assert!(authority.undone(&crashed).is_empty(), "nobody knows a common one");
    }

    #[test]
    fn bytes_are_joined_with_what_is_between_them() {
        let bytes = |offset, length| ChangedBytes { offset, length };
        let (near, far) = (bytes(10, 5), bytes(u32::MAX - 9, 9));
        assert_eq!(near.joined(bytes(12, 20)), bytes(10, 22));
        assert_eq!(far.joined(near), bytes(10, u32::MAX - 10));
        assert_eq!(bytes(0, 0).joined(far), far);
        assert_eq!(far.joined(ChangedBytes::NONE), far);
        let all = [near.joined(ChangedBytes::ALL), ChangedBytes::ALL.joined(near)];
        assert_eq!(all, [ChangedBytes::ALL; 2]);
        assert_eq!(
            bytes(u32::MAX, 9).joined(bytes(0, 1)),
            ChangedBytes::ALL,
            "it ends behind any object"
        );
    }

    #[test]
    fn the_log_reaches_back_as_far_as_it_is_long() {
        let behind = log(&[1]);
        let mut authority = log(&[1, 2]);
        authority.keep_from_now_on(LogReach { clean: 4, degraded: 6 }, false);
        extend(&mut authority, 1, &[3; 3]);
        check(&authority, &behind, Some(&[2, 3]));
        extend(&mut authority, 1, &[3]);
        check(&authority, &behind, None);
    }

    #[test]
    fn a_degraded_group_remembers_more_and_a_forgotten_write_ends_the_memory() {
        let behind = log(&[1]);
        let mut authority = log(&[1]);
        authority.keep_from_now_on(LogReach { clean: 4, degraded: 6 }, true);
        extend(&mut authority, 1, &[2; 6]);
        check(&authority, &behind, Some(&[2]));
        authority.append_forgotten(1, 1);
        check(&authority, &behind, None);
        assert_eq!(authority.differs_from(&authority.clone()), Some(BTreeSet::new()));
    }

    /// Each copy lacked something, and was not told of the writes to it. Whoever was away during all of them learns from none of their logs alone what it misses.
    #[test]
    fn what_several_copies_tell_together_is_one_log() {
        let away = log(&[1, 2, 3, 4]);
        let mut all = away.clone();
        extend(&mut all, 2, &[1, 2, 3, 4, 1]);
        let of = |left_out: &[u64]| {
            let told = all.entries().filter(|entry| {
                entry.version <= away.head() || !left_out.contains(&entry.object.0)
            });
            PgLog::loaded(Version::default(), told.collect())
        };
        let (one, other) = (of(&[2, 3]), of(&[1, 2]));
        check(&one, &away, Some(&[1, 4]));
        check(&other, &away, Some(&[3, 4]));
        let lost = BTreeSet::from([ObjectNo(2)]);
        let gathered = PgLog::gathered([&one, &other], &lost, 7);
        check(&gathered, &away, Some(&[1, 2, 3, 4]));
        check(&gathered, &one, Some(&[2]));
        check(&gathered, &other, Some(&[1, 2]));
        assert_eq!(gathered.head(), Version((7 << INTERVAL_SHIFT) + 1));
        assert!(gathered.undone(&one).is_empty() && gathered.undone(&other).is_empty());
        // One of them reaches back less far, and one does not have all of what a write wrote.
        let mut short = one.clone();
        short.keep_from_now_on(LogReach { clean: 2, degraded: 2 }, true);
        let mut partly = one.clone();
        partly.forget_op(op(4));
        let gathered = PgLog::gathered([&one, &short, &partly], &BTreeSet::new(), 7);
        assert_eq!((gathered.tail(), gathered.head()), (short.tail(), one.head()));
        assert!(gathered.knows(op(1)) && !gathered.knows(op(4)));
    }

    /// A copy that could not change the pages in which a write begins or ends tells of less.
    #[test]
    fn what_a_write_has_changed_in_any_copy_counts_as_changed() {
        let bytes = |offset, length| ChangedBytes { offset, length };
        let since = log(&[5]).head();
        let told = |changed: ChangedBytes| {
            let mut log = log(&[5]);
            log.append(1, ObjectNo(5), op(6), changed);
            log
        };
        let (none, first) = (told(ChangedBytes::NONE), told(bytes(0, 4096)));
        let third = told(bytes(8192, 4096));
        let kept = |logs: [&PgLog; 2], page: u64| {
            let log = PgLog::gathered(logs, &BTreeSet::new(), 7);
            let range = page * 4096..(page + 1) * 4096;
            log.keeps((ObjectNo(5), &range), since, log.head())
        };
        for (one, other) in [(&none, &first), (&first, &none), (&first, &third), (&third, &first)] {
            assert!(!kept([one, other], 0), "{one:?}, {other:?}");
            assert!(kept([one, other], 3), "{one:?}, {other:?}");
        }
        assert!(!kept([&first, &third], 2) && kept([&none, &none], 0));
    }

    #[test]
    fn what_no_write_has_changed_since_is_kept() {
        let mut log = log(&[5]);
        let since = log.head();
        let object = ObjectNo(5);
        let page = ChangedBytes { offset: 4096, length: 4096 };
        log.append(1, object, op(6), page);
        log.append(1, ObjectNo(6), op(7), ChangedBytes::ALL);
        log.append(1, object, op(8), ChangedBytes::NONE);
        let until = log.head();
        let keeps = |range: Range<u64>| log.keeps((object, &range), since, until);
        assert!(keeps(0..4096) && keeps(8192..9000));
        assert!(!keeps(0..4097) && !keeps(8191..8192));
        assert!(!log.keeps((ObjectNo(6), &(0..1)), since, until));
        let between = Version(since.0 + 1);
        assert!(log.keeps((object, &(4096..8192)), between, until), "the write itself is in it");
        assert!(!log.keeps((object, &(0..1)), until, since), "a later state is no former one");
        // Neither a version that was undone, nor one before the log.
        assert!(!log.keeps((object, &(0..1)), Version(since.0 - 1), until));
        log.append_forgotten(1, 1);
        assert!(!log.keeps((object, &(0..1)), since, log.head()));
    }

    #[test]
    fn pages_that_a_write_has_not_reached_are_kept() {
        let ends = |first, last| LostEnds { first, last };
        let without = |(offset, length), ends| {
            let ChangedBytes { offset, length } =
                ChangedBytes { offset, length }.without(ends, 4096);
            (offset, length)
        };
        assert_eq!(without((100, 10_000), ends(true, false)), (4096, 6004));
        assert_eq!(without((100, 10_000), ends(false, true)), (100, 8092));
        assert_eq!(without((100, 10_000), LostEnds::BOTH), (4096, 4096));
        assert_eq!(without((100, 200), ends(true, false)), (0, 0));
        assert_eq!(without((100, 200), ends(false, true)), (0, 0));
        assert_eq!(without((100, 8000), ends(false, true)), (100, 3996));
        let mut log = log(&[5, 6]);
        let (first, object) = (Version((1 << INTERVAL_SHIFT) + 1), ObjectNo(5));
        assert_eq!(log.leave_out(first, LostEnds::BOTH, 4096).map(|it| it.object), Some(object));
        assert_eq!(log.leave_out(Version(3), LostEnds::BOTH, 4096), None);
    }

    #[test]
    fn an_op_that_is_forgotten_comes_as_a_new_one() {
        let mut log = log(&[1, 2]);
        log.forget_op(op(2));
        assert!(log.knows(op(1)) && !log.knows(op(2)));
        let entry = |version| LogEntry {
            version: Version(version),
            object: ObjectNo(1),
            op: OpId::NOBODYS,
            changed: ChangedBytes::ALL,
        };
        let mut read_back = PgLog::loaded(Version(0), vec![entry(1), entry(2)]);
        let before = read_back.clone();
        read_back.forget_op(op(2));
        assert_eq!(read_back, before);
    }

    #[test]
    fn the_log_knows_the_ops_that_it_still_holds() {
        let mut authority = log(&[1, 2]);
        assert!(authority.knows(op(1)) && !authority.knows(op(3)));
        authority.append_forgotten(1, 1);
        assert!(!authority.knows(op(1)));
    }
}
