//! The owner of a database: one thread that has the store, its disk and everything that is on its way.
//!
//! Threads put what they ask into the loop's mailbox, which wakes the owner once however many they are, and wait for their
//! [`Pending`](crate::Pending). What has come is handed to the store all together, so commits of many threads share writes and flushes of the log.

mod commits;
mod device;
mod expiry;
mod mail;
mod start;
mod statistics;
mod versions;

pub(crate) use commits::NewCommit;
pub(crate) use mail::{DbAsk, GetAnswer, ScanAsk, ScanOrder, ScanPart, SeenAt, SnapshotLease};
pub(crate) use start::{DATA_FILE, StartedOwner, start};
pub use statistics::DbStatistics;
pub(crate) use versions::ReadSet;

use crate::error::DbError;
use crate::pending::Answerer;
use crate::record::{self, DbEntry};
use crate::wall;
use commits::{CommitInFlight, Commits};
use device::StoreOnDisk;
use expiry::{Expiries, SWEEP_MOST};
use loadline_base::{SlotId, Slots};
use loadline_store::paged::{Answer, Ask, Edit, LogMode, OpError};
use std::collections::BTreeMap;
use versions::Versions;

/// What the store is doing for somebody.
enum StoreJob {
    Get {
        key: Vec<u8>,
        at: Option<SeenAt>,
        answer: GetAnswer,
    },
    Scan {
        scan: ScanAsk,
        answer: Answerer<ScanPart>,
    },
    Former {
        commit: SlotId,
        key: Vec<u8>,
    },
    Commit(u64),
    Barrier(Answerer<()>),
    /// A commit without a log that is to be durable all the same.
    DurableCommit {
        number: u64,
        answer: Answerer<u64>,
    },
    Sweep,
    LastSync,
}

/// See [above](self).
struct DbOwner {
    device: StoreOnDisk,
    jobs: Slots<StoreJob>,
    versions: Versions,
    commits: Commits,
    expiries: Expiries,
    counts: DbStatistics,
    log_mode: LogMode,
    /// How many keep checkpoints from beginning, and those that wait for the running one's end.
    holders: u32,
    holding: Vec<Answerer<()>>,
    closing: Closing,
}

/// How far the end is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closing {
    Open,
    /// The last handle is gone; what was asked is carried out.
    Asked,
    /// The last sync is under way, or over.
    Syncing,
}

impl DbOwner {
    fn new(device: StoreOnDisk, versions_bytes: u64, log_mode: LogMode) -> DbOwner {
        DbOwner {
            device,
            jobs: Slots::new(),
            versions: Versions::new(versions_bytes),
            commits: Commits::default(),
            expiries: Expiries::unknown(),
            counts: DbStatistics::default(),
            log_mode,
            holders: 0,
            holding: Vec::new(),
            closing: Closing::Open,
        }
    }

    /// Turns until the last handle is gone and everything is answered.
    fn run(mut self) {
        let mut mail = Vec::new();
        while !self.is_over() {
            let due = self.expiries.due(self.device.now(), wall::now_ms());
            self.device.turn(due.filter(|_| self.closing == Closing::Open), &mut mail);
            for ask in mail.drain(..) {
                self.asked(ask);
            }
            self.upkeep();
        }
    }

    /// What follows every turn, whatever it brought.
    fn upkeep(&mut self) {
        let now = self.device.now();
        if self.closing == Closing::Open && self.expiries.begins(now, wall::now_ms()) {
            let from = record::first_expiry();
            self.submit(Ask::Scan { from, most: SWEEP_MOST }, StoreJob::Sweep);
        }
        loop {
            let completions = self.device.completions();
            if completions.is_empty() {
                break;
            }
            for completion in completions {
                let job = self.jobs.release(completion.token);
                self.ended(job, completion.result);
            }
        }
        let store = self.device.store();
        if !self.holding.is_empty()
            && (store.checkpoint_step().is_none() || store.fault().is_some())
        {
            self.holding.drain(..).for_each(|answer| answer.give(Ok(())));
        }
        let is_quiet = self.jobs.is_empty() && self.commits.is_idle();
        if self.closing == Closing::Asked && is_quiet {
            self.closing = Closing::Syncing;
            self.submit(Ask::Sync, StoreJob::LastSync);
            self.upkeep();
        }
    }

    fn is_over(&self) -> bool {
        let is_quiet = self.jobs.is_empty() && self.device.is_idle();
        self.closing == Closing::Syncing && is_quiet
    }

    fn submit(&mut self, ask: Ask, job: StoreJob) {
        self.submit_promised(ask, job, self.log_mode);
    }

    fn submit_promised(&mut self, ask: Ask, job: StoreJob, promise: LogMode) {
        let token = self.jobs.acquire(job);
        self.device.submit(token, ask, promise);
    }

    fn asked(&mut self, ask: DbAsk) {
        match ask {
            DbAsk::Get { key, at, answer } => self.get(key, at, answer),
            DbAsk::Scan { scan, answer } => self.scan(scan, answer),
            DbAsk::Begin(answer) => self.begin(answer),
            DbAsk::Advance(snapshot, from) => self.versions.advance(snapshot, from),
            DbAsk::End(snapshot) => self.versions.end(snapshot),
            DbAsk::Check(reads, answer) => answer.give(self.versions.validate(&reads)),
            DbAsk::Commit(commit) => {
                // Its handle lets the snapshot go as soon as it has asked, and what was read is looked at later.
                let snapshot = commit.reads.as_ref().map(|reads| reads.snapshot);
                snapshot.into_iter().for_each(|snapshot| self.versions.keep(snapshot));
                self.commit(*commit);
            }
            DbAsk::Sync(answer) => self.submit(Ask::Sync, StoreJob::Barrier(answer)),
            DbAsk::Checkpoint(answer) => self.submit(Ask::Checkpoint, StoreJob::Barrier(answer)),
            DbAsk::Hold(answer) => {
                self.holders += 1;
                self.device.hold();
                self.holding.push(answer);
            }
            DbAsk::Release => {
                self.holders -= 1;
                if self.holders == 0 {
                    self.device.release();
                }
            }
            DbAsk::Statistics(answer) => answer.give(Ok(self.statistics())),
            DbAsk::Close => self.closing = Closing::Asked,
        }
    }

    fn ended(&mut self, job: StoreJob, result: Result<Answer, OpError>) {
        let fault = self.device.store().fault();
        let result = result.map_err(|error| DbError::of(error, fault));
        match job {
            StoreJob::Get { key, at, answer } => self.got(key, at, answer, result),
            StoreJob::Scan { scan, answer } => {
                let part = result.and_then(|found| self.scanned(scan, pairs_of(found)));
                answer.give(part);
            }
            StoreJob::Former { commit, key } => self.read_former(commit, key, result),
            StoreJob::Commit(number) => self.committed(number, result),
            StoreJob::Barrier(answer) => answer.give(result.map(|_| ())),
            StoreJob::DurableCommit { number, answer } => answer.give(result.map(|_| number)),
            StoreJob::Sweep => self.swept(result),
            StoreJob::LastSync => {}
        }
    }

    fn statistics(&self) -> DbStatistics {
        let (snapshots, version_bytes, snapshots_ended_early) = self.versions.counts();
        let store = self.device.store();
        let layout = &store.superblock().layout;
        let page = layout.page.bytes() as u64;
        DbStatistics {
            snapshots,
            version_bytes,
            snapshots_ended_early,
            file_bytes: layout.data_bytes,
            page_bytes: layout.pages_count * page,
            free_bytes: store.space().pages.allocator.free() * page,
            ..self.counts.with_totals(&store.metrics().totals)
        }
    }
}

/// Reading.
impl DbOwner {
    fn get(&mut self, key: Vec<u8>, at: Option<SeenAt>, answer: GetAnswer) {
        self.counts.gets += 1;
        let ask = Ask::Get(key.clone());
        self.submit(ask, StoreJob::Get { key, at, answer });
    }

    fn got(
        &mut self,
        key: Vec<u8>,
        at: Option<SeenAt>,
        answer: GetAnswer,
        result: Result<Answer, DbError>,
    ) {
        let found = match result {
            Ok(Answer::Value(found)) => found,
            Ok(other) => unreachable!("a get is answered with a value, not {other:?}"),
            Err(error) => return answer.give(Err(error)),
        };
        let Some(SeenAt { snapshot, now_ms }) = at else {
            let entry = found.and_then(live_now);
            return match self.commits.newest_writer(&key) {
                Some(writer) => self.commits.hold(writer, Box::new(|| answer.give(Ok(entry)))),
                None => answer.give(Ok(entry)),
            };
        };
        let former = self.versions.former(snapshot, &key);
        let seen = former.map(|former| former.cloned().unwrap_or(found));
        answer
            .give(seen.map(|stored| stored.and_then(|stored| record::live_entry(stored, now_ms))));
    }

    fn scan(&mut self, scan: ScanAsk, answer: Answerer<ScanPart>) {
        self.counts.scans += 1;
        if scan.range.is_empty() {
            return answer.give(Ok(ScanPart { pairs: Vec::new(), rest: None }));
        }
        let (range, most) = (scan.range.clone(), scan.most);
        let ask = match scan.order {
            ScanOrder::Ascending => Ask::Scan { from: range.start, most },
            ScanOrder::Descending => Ask::ScanBack { until: range.end, most },
        };
        self.submit(ask, StoreJob::Scan { scan, answer });
    }

    /// What the store has found is the range's as far as it goes, and of that what the snapshot sees.
    fn scanned(
        &self,
        scan: ScanAsk,
        mut found: Vec<(Vec<u8>, Vec<u8>)>,
    ) -> Result<ScanPart, DbError> {
        let ScanAsk { snapshot, now_ms, range, order, most } = scan;
        let last = found.last().map(|(key, _)| key.clone()).filter(|_| found.len() == most);
        let last = last.filter(|last| range.contains(last));
        found.retain(|(key, _)| range.contains(key));
        let (covered, rest) = match (order, last) {
            (_, None) => (range, None),
            (ScanOrder::Ascending, Some(mut last)) => {
                last.push(0);
                (range.start..last.clone(), Some(last..range.end))
            }
            (ScanOrder::Descending, Some(last)) => {
                (last.clone()..range.end, Some(range.start..last))
            }
        };
        if order == ScanOrder::Descending {
            found.reverse();
        }
        let mut pairs = self.versions.as_seen(snapshot, covered, found)?;
        if order == ScanOrder::Descending {
            pairs.reverse();
        }
        if let Some(now_ms) = now_ms {
            let live = |(key, stored)| Some((key, record::live(stored, now_ms)?));
            pairs = pairs.into_iter().filter_map(live).collect();
        }
        Ok(ScanPart { pairs, rest })
    }

    /// A snapshot sees the commits that have a number, and is there when all of them are answered.
    fn begin(&mut self, answer: Answerer<SnapshotLease>) {
        let sees = self.commits.last();
        let lease = SnapshotLease::new(self.versions.begin(sees), sees, self.device.mailbox());
        match self.commits.are_ended(sees) {
            true => answer.give(Ok(lease)),
            false => self.commits.hold(sees, Box::new(|| answer.give(Ok(lease)))),
        }
    }
}

/// Committing.
impl DbOwner {
    fn commit(&mut self, commit: NewCommit) {
        let is_needed = |key: &Vec<u8>| self.versions.needs(key);
        let reads_former = commit.asks_former() || commit.keys.iter().any(is_needed);
        match self.commits.blocker(&commit, reads_former) {
            Some(key) => self.commits.wait(key, commit),
            None => {
                let slot = self.commits.prepare(commit);
                self.prepare(slot);
            }
        }
    }

    /// Reads what a commit still has to know of its keys, or gives it its number.
    fn prepare(&mut self, slot: SlotId) {
        let versions = &self.versions;
        let preparing = self.commits.preparing(slot);
        let is_asked = preparing.commit.asks_former();
        let unknown = |key: &&Vec<u8>| {
            (is_asked || versions.needs(key)) && !preparing.former.contains_key(*key)
        };
        let unknown: Vec<Vec<u8>> = preparing.commit.keys.iter().filter(unknown).cloned().collect();
        if unknown.is_empty() || preparing.failed.is_some() {
            return self.give_number(slot);
        }
        preparing.awaited = unknown.len();
        for key in unknown {
            let ask = Ask::Get(key.clone());
            self.submit(ask, StoreJob::Former { commit: slot, key });
        }
    }

    fn read_former(&mut self, slot: SlotId, key: Vec<u8>, result: Result<Answer, DbError>) {
        let preparing = self.commits.preparing(slot);
        preparing.awaited -= 1;
        match result {
            Ok(Answer::Value(value)) => {
                preparing.former.insert(key, value);
            }
            Ok(other) => unreachable!("a get is answered with a value, not {other:?}"),
            Err(error) => preparing.failed = Some(error),
        }
        if preparing.awaited == 0 {
            // A snapshot that has begun meanwhile may want to know more.
            self.prepare(slot);
        }
    }

    /// The moment of a commit: what it has read is as it was, and it goes to the store under its number.
    fn give_number(&mut self, slot: SlotId) {
        let (ready, woken) = self.commits.prepared(slot);
        let NewCommit { mut edits, keys, reads, promise, expires, first_expiry_ms, answer } =
            ready.commit;
        let verdict = match (&ready.failed, &reads) {
            (Some(error), _) => Err(error.clone()),
            (None, Some(reads)) => self.versions.validate(reads),
            (None, None) => Ok(()),
        };
        let snapshot = reads.as_ref().map(|reads| reads.snapshot);
        match verdict {
            Ok(()) => {
                let reads = reads.is_some();
                let number = self.commits.number(CommitInFlight { keys, promise, answer }, reads);
                edits.extend(self.due_removals(&ready.former, expires));
                for (key, value) in ready.former {
                    self.versions.note(number, &key, value);
                }
                self.versions.make_room();
                first_expiry_ms.into_iter().for_each(|at| self.expiries.note(at));
                let ask = Ask::Transaction(edits);
                self.submit_promised(ask, StoreJob::Commit(number), promise);
            }
            Err(error) => {
                self.counts.conflicts += u64::from(matches!(error, DbError::Conflict { .. }));
                match answer {
                    Some(answer) => answer.give(Err(error)),
                    None => self.expiries.ended(self.device.now(), false),
                }
            }
        }
        snapshot.into_iter().for_each(|snapshot| self.versions.end(snapshot));
        woken.into_iter().for_each(|commit| self.commit(commit));
    }

    /// Of keys whose time may have come, those that have no other time by now.
    fn due_removals(
        &mut self,
        former: &BTreeMap<Vec<u8>, Option<Vec<u8>>>,
        expires: Vec<(Vec<u8>, u64)>,
    ) -> Vec<Edit> {
        let is_due = |(key, at): &(Vec<u8>, u64)| {
            let stored = former.get(key).and_then(Option::as_deref);
            stored.and_then(record::tail).is_some_and(|(_, expires)| expires == Some(*at))
        };
        let due = expires.into_iter().filter(is_due);
        let removals: Vec<Edit> = due.map(|(key, _)| Edit::Delete { key }).collect();
        self.counts.expired += removals.len() as u64;
        removals
    }

    fn committed(&mut self, number: u64, result: Result<Answer, DbError>) {
        self.counts.commits += u64::from(result.is_ok());
        let (ended, woken) = self.commits.ended(number);
        let is_good = result.is_ok();
        let syncs = self.log_mode == LogMode::None && ended.promise == LogMode::Fsync;
        match ended.answer {
            None => self.expiries.ended(self.device.now(), is_good),
            Some(answer) if syncs && is_good => {
                self.submit(Ask::Sync, StoreJob::DurableCommit { number, answer });
            }
            Some(answer) => {
                let result = result.map(|_| number);
                match self.commits.newest_reading_before(number).filter(|_| is_good) {
                    Some(before) => self.commits.hold(before, Box::new(|| answer.give(result))),
                    None => answer.give(result),
                }
            }
        }
        self.commits.released().into_iter().for_each(|answer| answer());
        woken.into_iter().for_each(|commit| self.commit(commit));
    }

    /// What was found of keys that expire: those that are due are removed.
    fn swept(&mut self, result: Result<Answer, DbError>) {
        let now = self.device.now();
        let Ok(found) = result else { return self.expiries.ended(now, false) };
        let entries = pairs_of(found).into_iter().map(|(entry, _)| entry).collect();
        let due = self.expiries.found(entries, wall::now_ms());
        if due.entries.is_empty() {
            return self.expiries.ended(now, true);
        }
        let mut keys: Vec<Vec<u8>> = due.expires.iter().map(|(key, _)| key.clone()).collect();
        keys.sort_unstable();
        keys.dedup();
        self.commit(NewCommit {
            edits: due.entries.into_iter().map(|key| Edit::Delete { key }).collect(),
            keys,
            reads: None,
            promise: LogMode::Background,
            expires: due.expires,
            first_expiry_ms: None,
            answer: None,
        });
    }
}

fn pairs_of(answer: Answer) -> Vec<(Vec<u8>, Vec<u8>)> {
    match answer {
        Answer::Pairs(pairs) => pairs,
        other => unreachable!("a scan is answered with pairs, not {other:?}"),
    }
}

/// A value as it is now. Most have no time at which they expire, and for those nobody looks at the calendar.
fn live_now(stored: Vec<u8>) -> Option<DbEntry> {
    match record::tail(&stored) {
        Some((_, None)) => record::live_entry(stored, 0),
        _ => record::live_entry(stored, wall::now_ms()),
    }
}
