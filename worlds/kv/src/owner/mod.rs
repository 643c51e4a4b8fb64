//! The owner of a database: one thread that has the store, its disk and everything that is on its way.
//!
//! Threads put what they ask into the loop's mailbox, which wakes the owner once however many they are, and wait for their
//! [`Pending`](crate::Pending). What has come is handed to the store all together, so commits of many threads share writes and flushes of the log, and ops look for
//! their keys in groups.

mod commits;
mod device;
mod expiry;
mod mail;
mod start;
mod statistics;
mod versions;
mod watches;

pub(crate) use commits::{CommitReads, Committer, NewCommit};
pub use mail::SCAN_PART_BYTES;
pub(crate) use mail::{DbAsk, GetAnswer, Lease, ScanAsk, ScanPart, SeenAt};
pub(crate) use start::{DATA_FILE, StartedOwner, make_part, start};
pub use statistics::DbStatistics;
pub(crate) use versions::{LiveSnapshotId, ReadSet, ScanOrder};
pub(crate) use watches::WatchId;

use crate::error::DbError;
use crate::notes::NoteWalk;
use crate::pending::Answerer;
use crate::record::{self, DbEntry};
use crate::wall;
use commits::{CommitChanges, Commits, HeldAnswer, ReadyCommit};
use device::StoreOnDisk;
use expiry::{Expiries, SWEEP_MOST};
use loadline_base::{SlotId, Slots};
use loadline_store::paged::{Answer, Ask, Edit, LogMode, OpError, ScanBounds};
use std::collections::BTreeSet;
use versions::Versions;
use watches::KeyWatches;

/// Reads with a bound that the store is handed at a time: a value that is longer is there for a moment all the same.
const BOUNDED_GETS_MAX: u32 = 32;
/// Notes that one part of a walk over them finds.
const NOTES_AT_ONCE: usize = 256;

/// What the store is doing for somebody.
enum StoreJob {
    Get {
        key: Vec<u8>,
        at: Option<SeenAt>,
        most: usize,
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
    DurableCommit(u64),
    Sweep,
    /// A part of the notes that are looked over, the last one where the walk begins.
    Notes(NoteWalk, Answerer<Option<NoteWalk>>),
    LastSync,
}

/// See [above](self).
struct DbOwner {
    device: StoreOnDisk,
    jobs: Slots<StoreJob>,
    versions: Versions,
    watches: KeyWatches,
    commits: Commits,
    expiries: Expiries,
    counts: DbStatistics,
    log_mode: LogMode,
    /// Reads with a bound that were asked since the store was handed some.
    bounded_gets: u32,
    /// How many keep checkpoints from beginning, and those that wait for the running one's end.
    holders: u32,
    holding: Vec<Answerer<()>>,
    closing: Closing,
}

/// How far the end is.
#[derive(Clone, PartialEq, Eq)]
enum Closing {
    Open,
    /// The last handle is gone; what was asked is carried out.
    Asked,
    /// The last sync is under way.
    Syncing,
    /// It is over.
    Synced(Result<(), DbError>),
}

impl DbOwner {
    fn new(device: StoreOnDisk, versions_bytes: u64, log_mode: LogMode) -> DbOwner {
        DbOwner {
            device,
            jobs: Slots::new(),
            versions: Versions::new(versions_bytes),
            watches: KeyWatches::default(),
            commits: Commits::default(),
            expiries: Expiries::unknown(),
            counts: DbStatistics::default(),
            log_mode,
            bounded_gets: 0,
            holders: 0,
            holding: Vec::new(),
            closing: Closing::Open,
        }
    }

    /// Turns until the last handle is gone and everything is answered. Answers whether all of it is durable.
    fn run(mut self) -> Result<(), DbError> {
        let mut mail = Vec::new();
        loop {
            if let Some(closed) = self.closed() {
                return closed;
            }
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
            let most = ScanBounds::keys(SWEEP_MOST);
            self.submit(Ask::Scan { from, most }, StoreJob::Sweep);
        }
        self.carry_on();
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

    /// Hands the store what was asked, and deals with what it has ended, until neither brings more.
    fn carry_on(&mut self) {
        loop {
            self.device.hand_over();
            // Before the completions: reads may have found what was applied since, and must wait for its answer.
            self.give_turns();
            let completions = self.device.completions();
            if completions.is_empty() && !self.device.has_asked() {
                break;
            }
            for completion in completions {
                let job = self.jobs.release(completion.token);
                self.ended(job, completion.result);
            }
        }
    }

    /// What the last sync has ended with, once the disk has nothing to do any more.
    fn closed(&self) -> Option<Result<(), DbError>> {
        let is_quiet = self.jobs.is_empty() && self.device.is_idle();
        match &self.closing {
            Closing::Synced(synced) if is_quiet => Some(synced.clone()),
            _ => None,
        }
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
            DbAsk::Get { key, at, most, answer } => self.get(key, at, most, answer),
            DbAsk::Scan { scan, answer } => self.scan(scan, answer),
            DbAsk::Begin(answer) => self.begin(answer),
            DbAsk::Advance(snapshot, from) => self.versions.advance(snapshot, from),
            DbAsk::End(snapshot) => self.versions.end(snapshot),
            DbAsk::Check(reads, answer) => answer.give(self.versions.validate(&reads)),
            DbAsk::BeginWatch(answer) => {
                let id = self.watches.begin();
                let lease = Lease::new(id, DbAsk::EndWatch, self.device.mailbox());
                answer.give(Ok(lease));
            }
            DbAsk::Watch(watch, key, answer) => self.watch(watch, key, answer),
            DbAsk::EndWatch(watch) => self.watches.end(watch),
            DbAsk::Commit(commit) => {
                // Its handle lets the snapshot, or the watch, go as soon as it has asked, and what was read is looked at later.
                match &commit.reads {
                    Some(CommitReads::Read(reads)) => self.versions.keep(reads.snapshot),
                    Some(CommitReads::Watched(watch)) => self.watches.keep(*watch),
                    None => {}
                }
                self.commit(*commit);
            }
            DbAsk::DropNotes(walk, answer) => self.look_at_notes(walk, answer),
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
            DbAsk::Checkpoints(since, answer) => {
                let ended = self.device.store().metrics().history.iter();
                answer.give(Ok(ended.filter(|report| report.id > since).copied().collect()));
            }
            DbAsk::Close => {
                self.closing = Closing::Asked;
                self.device.give_up_on_room();
            }
        }
    }

    fn ended(&mut self, job: StoreJob, result: Result<Answer, OpError>) {
        let fault = self.device.store().fault();
        let result = result.map_err(|error| DbError::of(error, fault));
        match job {
            StoreJob::Get { key, at, most, answer } => {
                self.got(key, at, (most, answer), result);
                at.into_iter().for_each(|at| self.versions.end(at.snapshot));
            }
            StoreJob::Scan { scan, answer } => {
                let snapshot = scan.snapshot;
                let seen = self.versions.sees(snapshot);
                let part = result.and_then(|found| self.scanned(scan, pairs_of(found)));
                match seen.and_then(|sees| Ok((sees, part?))) {
                    Ok((sees, part)) => {
                        self.commits.hold(sees, telling(part, |part| answer.give(part)));
                    }
                    Err(error) => answer.give(Err(error)),
                }
                self.versions.end(snapshot);
            }
            StoreJob::Former { commit, key } => self.read_former(commit, key, result),
            StoreJob::Commit(number) => self.committed(number, result),
            StoreJob::Barrier(answer) => answer.give(result.map(|_| ())),
            StoreJob::DurableCommit(number) => {
                self.kept_promise(number, result.map(|_| number));
                self.let_answers_go();
            }
            StoreJob::Sweep => self.swept(result),
            StoreJob::Notes(walk, answer) => match result {
                Ok(found) => self.drop_notes(walk, pairs_of(found), answer),
                Err(error) => answer.give(Err(error)),
            },
            StoreJob::LastSync => self.closing = Closing::Synced(result.map(|_| ())),
        }
    }

    fn statistics(&self) -> DbStatistics {
        let (snapshots, version_bytes, snapshots_ended_early) = self.versions.counts();
        let store = self.device.store();
        let layout = &store.superblock().layout;
        let page = layout.page.bytes() as u64;
        let pages = &store.space().pages;
        let (old_versions, old_versions_max) = pages.old_versions();
        DbStatistics {
            now: self.device.now(),
            snapshots,
            version_bytes,
            snapshots_ended_early,
            file_bytes: layout.data_bytes,
            page_bytes: layout.pages_count * page,
            free_bytes: pages.allocator.free() * page,
            is_in_checkpoint: store.checkpoint_step().is_some(),
            dirty_pages: u64::from(pages.counts().dirty),
            cache_pages: u64::from(pages.frames()),
            old_versions: u64::from(old_versions),
            old_versions_max: u64::from(old_versions_max),
            disk_requests: self.device.requests(),
            is_direct: self.device.is_direct(),
            has_ring: self.device.has_ring(),
            page_size: page,
            ..self.counts.with_totals(&store.metrics().totals)
        }
    }
}

/// Reading.
impl DbOwner {
    fn get(&mut self, key: Vec<u8>, at: Option<SeenAt>, most: usize, answer: GetAnswer) {
        self.counts.gets += 1;
        if let Some(SeenAt { snapshot, .. }) = at {
            // Who has asked may let it go before this is answered.
            self.versions.keep(snapshot);
        }
        let ask = Ask::Get(key.clone());
        self.submit(ask, StoreJob::Get { key, at, most, answer });
        if most < usize::MAX {
            self.bounded_gets += 1;
            if self.bounded_gets == BOUNDED_GETS_MAX {
                self.bounded_gets = 0;
                self.carry_on();
            }
        }
    }

    fn got(
        &mut self,
        key: Vec<u8>,
        at: Option<SeenAt>,
        (most, answer): (usize, GetAnswer),
        result: Result<Answer, DbError>,
    ) {
        let within = |entry: Option<DbEntry>| match entry {
            Some(DbEntry { value, .. }) if value.len() > most => {
                Err(DbError::Longer { bytes: value.len() })
            }
            entry => Ok(entry),
        };
        let found = match result {
            Ok(Answer::Value(found)) => found,
            Ok(other) => unreachable!("a get is answered with a value, not {other:?}"),
            Err(error) => return answer.give(Err(error)),
        };
        let Some(SeenAt { snapshot, now_ms }) = at else {
            let entry = within(found.and_then(|stored| record::live_entry(stored, wall::now_ms)));
            return match self.commits.writer_seen(&key, u64::MAX) {
                None => answer.give(entry),
                writer => {
                    let told = telling(entry, |entry| answer.give(entry.flatten()));
                    self.commits.follow(writer, told);
                }
            };
        };
        let former = self.versions.former(snapshot, &key);
        let seen = former.and_then(|former| {
            Ok((former.cloned().unwrap_or(found), self.versions.sees(snapshot)?))
        });
        match seen {
            Ok((stored, sees)) => {
                let entry = within(stored.and_then(|it| record::live_entry(it, || now_ms)));
                let writer = self.commits.writer_seen(&key, sees);
                let told = telling(entry, |entry| answer.give(entry.flatten()));
                self.commits.follow(writer, told);
            }
            Err(error) => answer.give(Err(error)),
        }
    }

    fn scan(&mut self, scan: ScanAsk, answer: Answerer<ScanPart>) {
        self.counts.scans += 1;
        if scan.range.is_empty() {
            return answer.give(Ok(ScanPart { pairs: Vec::new(), rest: None }));
        }
        self.versions.keep(scan.snapshot);
        let (range, most) = (scan.range.clone(), part_of(scan.most));
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
        let is_cut = part_of(most).are_reached(&found);
        let last = found.last().map(|(key, _)| key.clone()).filter(|_| is_cut);
        let last = last.filter(|last| range.contains(last));
        found.retain(|(key, _)| range.contains(key));
        let rest = last.map(|last| order.behind(last, range.clone()));
        let covered = order.covered(range.clone(), rest.as_ref());
        let seen = self.versions.as_seen(snapshot, (covered, order), found, part_of(most))?;
        let (mut pairs, last) = seen;
        let rest = last.map(|last| order.behind(last, range)).or(rest);
        if let Some(now_ms) = now_ms {
            let live = |(key, stored)| Some((key, record::live(stored, now_ms)?));
            pairs = pairs.into_iter().filter_map(live).collect();
        }
        Ok(ScanPart { pairs, rest })
    }

    /// A snapshot sees the commits that have a number, and is there when all of them are applied. What it reads of one without an answer waits for that.
    fn begin(&mut self, answer: Answerer<Lease<LiveSnapshotId>>) {
        let sees = self.commits.last();
        let id = self.versions.begin(sees);
        let lease = Lease::new(id, DbAsk::End, self.device.mailbox());
        self.commits.hold_for_application(sees, telling(lease, |lease| answer.give(lease)));
    }
}

/// Committing.
impl DbOwner {
    /// Those commits that have a number are applied before this is answered, so that whoever reads the key afterwards sees them; every later one is noticed.
    fn watch(&mut self, watch: WatchId, key: Vec<u8>, answer: Answerer<()>) {
        self.watches.add(watch, key);
        let last = self.commits.last();
        self.commits.hold_for_application(last, telling((), |it| answer.give(it)));
    }

    fn commit(&mut self, commit: NewCommit) {
        self.commits.enter(commit);
        while let Some(slot) = self.commits.next_turn() {
            self.prepare(slot);
        }
    }

    /// Notes which commits the store has carried out, and lets those go whose turn it is then.
    fn give_turns(&mut self) {
        for token in self.device.applied() {
            if let StoreJob::Commit(number) = self.jobs.at(token) {
                self.commits.applied(*number);
            }
        }
        while let Some(slot) = self.commits.next_turn() {
            self.prepare(slot);
        }
        self.let_answers_go();
    }

    /// Reads what a commit still has to know of its keys, or gives it its number.
    fn prepare(&mut self, slot: SlotId) {
        let versions = &self.versions;
        let keys = self.commits.next_reads(slot, versions.begun(), |key| versions.needs(key));
        if keys.is_empty() {
            return self.give_number(slot);
        }
        for key in keys {
            let ask = Ask::Get(key.clone());
            self.submit(ask, StoreJob::Former { commit: slot, key });
        }
    }

    fn read_former(&mut self, slot: SlotId, key: Vec<u8>, result: Result<Answer, DbError>) {
        let value = result.map(|answer| match answer {
            Answer::Value(value) => value,
            other => unreachable!("a get is answered with a value, not {other:?}"),
        });
        let is_last = self.commits.was_read(slot, key, value);
        // A batch of many large values would have all of them in memory before the first of them counts.
        if !self.versions.make_room(self.commits.batch_bytes()) {
            self.commits.forget_former(slot);
        }
        if is_last {
            // A snapshot that has begun meanwhile may want to know more.
            self.prepare(slot);
        }
    }

    /// The moment of a commit: what it has read is as it was, and it goes to the store under its number.
    fn give_number(&mut self, slot: SlotId) {
        let ready = self.commits.take(slot);
        let (mut snapshot, mut watch) = (None, None);
        let valid = match &ready.commits[0].reads {
            None => Ok(()),
            Some(CommitReads::Read(reads)) => {
                snapshot = Some(reads.snapshot);
                self.versions.validate(reads)
            }
            Some(CommitReads::Watched(its)) => {
                watch = Some(*its);
                self.watches.validate(*its)
            }
        };
        match ready.failed.clone().map_or(valid, Err) {
            Ok(()) => self.carry_out(slot, ready),
            Err(error) => {
                self.counts.conflicts += u64::from(matches!(error, DbError::Conflict { .. }));
                for commit in ready.commits {
                    self.tell(commit.committer, Err(error.clone()));
                }
                self.commits.leave(slot);
            }
        }
        snapshot.into_iter().for_each(|snapshot| self.versions.end(snapshot));
        watch.into_iter().for_each(|watch| self.watches.end(watch));
    }

    /// Hands what a commit does to the store. An update that changes nothing needs none, and is over when what it has found is durable.
    fn carry_out(&mut self, slot: SlotId, ready: ReadyCommit) {
        let (is_sweep, changes) = (ready.is_sweep(), ready.changes(self.commits.keys_of(slot)));
        let CommitChanges { edits, changed, first_look_ms, commits, former } = changes;
        if edits.is_empty() && commits.iter().all(NewCommit::asks_former) {
            let found = self.commits.writers_of(slot);
            let number = self.commits.last();
            self.commits.leave(slot);
            for NewCommit { committer, .. } in commits {
                match is_sweep {
                    true => self.tell(committer, Ok(number)),
                    false => {
                        self.commits.follow_all(&found, telling(number, |it| committer.tell(it)));
                    }
                }
            }
            return;
        }
        self.counts.expired += if is_sweep { changed.len() as u64 } else { 0 };
        let promise = commits[0].promise;
        changed.iter().for_each(|key| self.watches.changed(key));
        let number = self.commits.number(slot, changed, commits);
        for (key, value) in former {
            self.versions.note(number, &key, value);
        }
        self.versions.make_room(self.commits.batch_bytes());
        first_look_ms.into_iter().for_each(|at| self.expiries.note(at));
        self.submit_promised(Ask::Transaction(edits), StoreJob::Commit(number), promise);
    }

    fn tell(&mut self, committer: Committer, result: Result<u64, DbError>) {
        if let Committer::Sweep(_) = committer {
            self.expiries.ended(self.device.now(), result.is_ok());
        }
        committer.tell(result);
    }

    /// The store has answered a commit.
    fn committed(&mut self, number: u64, result: Result<Answer, DbError>) {
        self.counts.commits += u64::from(result.is_ok());
        let promise = self.commits.promise_of(number);
        if result.is_ok() && self.log_mode == LogMode::None && promise == LogMode::Fsync {
            self.submit(Ask::Sync, StoreJob::DurableCommit(number));
        } else {
            self.kept_promise(number, result.map(|_| number));
        }
        self.let_answers_go();
    }

    /// What a commit has promised is kept, or cannot be. Its answer goes, unless it has overtaken a commit that is ordered before it.
    fn kept_promise(&mut self, number: u64, result: Result<u64, DbError>) {
        if result.is_err() || self.commits.may_go(number) {
            self.answer_commit(number, result);
        }
    }

    /// A commit's answer goes, and with it those that have waited for it.
    fn answer_commit(&mut self, number: u64, result: Result<u64, DbError>) {
        let ended = self.commits.ended(number);
        let fault = self.fault();
        ended.followers.into_iter().for_each(|answer| answer(fault.clone()));
        for NewCommit { committer, .. } in ended.commits {
            let is_sweep = matches!(committer, Committer::Sweep(_));
            if is_sweep || result.is_err() {
                self.tell(committer, result.clone());
                continue;
            }
            self.commits.follow_all(&ended.made_from, telling(number, |it| committer.tell(it)));
        }
    }

    fn let_answers_go(&mut self) {
        let fault = self.fault();
        while let Some(number) = self.commits.next_through() {
            self.answer_commit(number, fault.clone().map_or(Ok(number), Err));
        }
        self.commits.released().into_iter().for_each(|answer| answer(fault.clone()));
    }

    /// Why the store has stopped, as an error.
    fn fault(&self) -> Option<DbError> {
        self.device.store().fault().map(DbError::Stopped)
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
        let edits = due.entries.into_iter().map(|key| Edit::Delete { key }).collect();
        self.commit_looks(edits, keys_of(&due.looks), Committer::Sweep(due.looks));
    }

    /// Commits what follows from a look at these keys.
    fn commit_looks(&mut self, edits: Vec<Edit>, keys: Vec<Vec<u8>>, committer: Committer) {
        let (reads, first_look_ms) = (None, None);
        let promise = LogMode::Background;
        self.commit(NewCommit { edits, keys, reads, promise, first_look_ms, committer });
    }

    /// Finds the next notes of a walk, or where it will end.
    fn look_at_notes(&mut self, walk: NoteWalk, answer: Answerer<Option<NoteWalk>>) {
        let ask = match walk.has_begun() {
            true => Ask::Scan { from: walk.from(), most: ScanBounds::keys(NOTES_AT_ONCE) },
            false => Ask::ScanBack { until: record::behind_expiries(), most: ScanBounds::keys(1) },
        };
        self.submit(ask, StoreJob::Notes(walk, answer));
    }

    /// What was found of notes: the keys of those that are the walk's are read, and what is needless goes. No snapshot lives for that, which everything that is changed would be kept for.
    fn drop_notes(
        &mut self,
        mut walk: NoteWalk,
        found: Vec<(Vec<u8>, Vec<u8>)>,
        answer: Answerer<Option<NoteWalk>>,
    ) {
        if !walk.has_begun() {
            return match found.into_iter().next().map(|(last, _)| last) {
                Some(last) if record::read_expiry(&last).is_some() => {
                    walk.begin(last);
                    self.look_at_notes(walk, answer);
                }
                _ => answer.give(Ok(None)),
            };
        }
        let is_cut = found.len() == NOTES_AT_ONCE;
        let notes = found.into_iter().map(|(note, _)| note);
        let (mut looks, mut last) = (Vec::new(), None);
        for note in notes.take_while(|note| walk.comes_to(note)) {
            looks.extend(walk.look(&note));
            last = Some(note);
            if looks.len() == SWEEP_MOST {
                break;
            }
        }
        let goes_on = is_cut || looks.len() == SWEEP_MOST;
        let rest = last.filter(|_| goes_on).and_then(|last| walk.behind(last));
        if looks.is_empty() {
            return answer.give(Ok(rest));
        }
        let keys = keys_of(&looks);
        self.commit_looks(Vec::new(), keys, Committer::Notes { looks, rest, answer });
    }
}

/// An answer to be told, unless the store stops before.
fn telling<T: 'static>(told: T, tell: impl FnOnce(Result<T, DbError>) + 'static) -> HeldAnswer {
    Box::new(move |fault| tell(fault.map_or(Ok(told), Err)))
}

/// The keys that are to be looked at, each once.
fn keys_of(looks: &[(Vec<u8>, u64)]) -> Vec<Vec<u8>> {
    let keys: BTreeSet<&Vec<u8>> = looks.iter().map(|(key, _)| key).collect();
    keys.into_iter().cloned().collect()
}

fn pairs_of(answer: Answer) -> Vec<(Vec<u8>, Vec<u8>)> {
    match answer {
        Answer::Pairs(pairs) => pairs,
        other => unreachable!("a scan is answered with pairs, not {other:?}"),
    }
}

/// When a part of so many keys has enough.
fn part_of(keys: usize) -> ScanBounds {
    ScanBounds { keys, bytes: SCAN_PART_BYTES }
}

#[cfg(test)]
mod tests;
