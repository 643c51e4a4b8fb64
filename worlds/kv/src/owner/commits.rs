//! Commits on their way, and who waits for whom.
//!
//! A commit stands in the line of each of its keys from its coming until the store has carried it out, and does nothing before it is the first in all of
//! them. So commits of one key take effect in the order in which they came, and no other key waits for them. It gets its number in the moment at
//! which it is found valid and goes to the store, which mostly carries it out at once; that is its *application*. Its *answer* comes when its log mode's
//! promise is kept. Between the two its keys have a writer. What follows from what readers may see:
//!
//! - A commit that has to say what its keys were (`versions`), or that is a function of it, reads them when it is the first: it finds what the last one has left.
//! - What a reader has found of a key with a writer may be what a crash still takes back. The answer waits for that commit's; an
//!   update's waits for those of the commits that it was made from, which the order of the log mostly says by itself.
//! - Numbers are given when commits go to the store, and one that waits for a page there is overtaken. A snapshot sees it by its number and those behind it not, so the answer of one
//!   that has overtaken it waits until it is applied, and until then that one is the writer of its keys: nobody can see it and not what is before it, as a
//!   transaction that had read the value before.
//! - Updates of one same key that stand one behind the other become one commit: each finds what those before it have made.

use super::versions::ReadSet;
use super::watches::WatchId;
use crate::batch::{BatchParts, WriteBatch};
use crate::error::{DbError, UPDATE_BYTES_MAX};
use crate::notes::NoteWalk;
use crate::pending::Answerer;
use crate::record;
use crate::update::{StoredValues, UpdateWork};
use crate::wall;
use loadline_base::{SlotId, Slots};
use loadline_store::paged::{Edit, LogMode};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

/// Updates that go together at most.
const TOGETHER_MAX: usize = 128;
/// Of updates that change so many keys at most the notes of when those were to expire go with them; those of others go when that time has come, so that a transaction
/// of many keys is not larger for it.
const NOTES_MAX: usize = 64;
/// What an update's keys may hold however much those of others do, so that one large one does not have all refused.
const UPDATE_BYTES_FREE: usize = 128 << 10;
/// Keys of one commit that are read at a time.
const READ_AT_ONCE: usize = 64;

/// A commit that has no number yet.
pub(crate) struct NewCommit {
    /// Of an update, nothing before it is carried out.
    pub(crate) edits: Vec<Edit>,
    /// The users' keys that it changes, or as an update may change, each once.
    pub(crate) keys: Vec<Vec<u8>>,
    pub(crate) reads: Option<CommitReads>,
    pub(crate) promise: LogMode,
    /// When the first of its keys that expire is to be looked at.
    pub(crate) first_look_ms: Option<u64>,
    pub(crate) committer: Committer,
}

/// What must be as it was for a commit to be carried out.
#[derive(Debug)]
pub(crate) enum CommitReads {
    /// What a transaction has read.
    Read(ReadSet),
    /// What is watched.
    Watched(WatchId),
}

/// Who commits, and is told.
pub(crate) enum Committer {
    /// Somebody with a list of changes, who is told the number.
    Batch(Answerer<u64>),
    /// A function of what the keys hold. Where several together have failed each goes alone.
    Update { work: Box<dyn UpdateWork>, goes_alone: bool },
    /// The removal of these keys, if they have no later time by now than that at which they were to be looked at.
    Sweep(Vec<(Vec<u8>, u64)>),
    /// The removal of notes of when to look at these keys, where there is nothing to look at by then. Who has asked is told where the walk goes on.
    Notes { looks: Vec<(Vec<u8>, u64)>, rest: Option<NoteWalk>, answer: Answerer<Option<NoteWalk>> },
}

/// A commit in the lines of its keys.
pub(super) struct LinedCommit {
    keys: Vec<Vec<u8>>,
    /// In how many of the lines somebody is before it.
    behind: usize,
    /// What is to be done; the store has it once this is gone.
    commit: Option<NewCommit>,
    /// What its keys were, and of an update or a batch the bytes of that.
    former: StoredValues,
    former_bytes: usize,
    /// How many of its keys were looked at; the first of those that nobody wanted to know then, and how many snapshots had begun.
    looked_at: usize,
    passed_over: Option<usize>,
    begun: u64,
    /// Reads under way.
    awaited: usize,
    failed: Option<DbError>,
}

/// A commit whose turn it is and of which everything is known.
pub(super) struct ReadyCommit {
    /// Itself, and the updates that go with it.
    pub(super) commits: Vec<NewCommit>,
    /// What its keys were.
    pub(super) former: StoredValues,
    pub(super) failed: Option<DbError>,
}

/// A commit that the store has, until its answer goes.
pub(super) struct CommitInFlight {
    /// Its place in the lines, until it is applied.
    slot: Option<SlotId>,
    /// The users' keys that it changes.
    changed: Vec<Vec<u8>>,
    pub(super) promise: LogMode,
    /// Those that are told: one, or several updates.
    pub(super) commits: Vec<NewCommit>,
    /// The commits that its updates were made from and that had no answer then, in their order.
    pub(super) made_from: Vec<u64>,
    /// Answers that wait for its own.
    pub(super) followers: Vec<HeldAnswer>,
}

/// An answer that waits for commits. Where the store has stopped instead, nobody knows what it says, and it is told so.
pub(super) type HeldAnswer = Box<dyn FnOnce(Option<DbError>)>;

/// A key that somebody changes.
#[derive(Default)]
struct KeyLine {
    /// Those that are not applied, the first one's turn.
    line: VecDeque<SlotId>,
    /// Those that have a number and no answer, in their order.
    writers: VecDeque<u64>,
}

/// See [above](self).
#[derive(Default)]
pub(super) struct Commits {
    /// The number that was given last.
    last: u64,
    lined: Slots<LinedCommit>,
    keys: BTreeMap<Vec<u8>, KeyLine>,
    in_flight: BTreeMap<u64, CommitInFlight>,
    /// Those of them that are not applied.
    unapplied: BTreeSet<u64>,
    /// Those of them that are durable as promised while one before them is not applied.
    ahead: BTreeSet<u64>,
    /// Answers that wait until those of all commits up to this number have gone.
    held: BTreeMap<u64, Vec<HeldAnswer>>,
    /// Those that wait until all commits up to this number are applied.
    held_for_application: BTreeMap<u64, Vec<HeldAnswer>>,
    /// Those that are the first in all their lines by now.
    turns: VecDeque<SlotId>,
    former_bytes: FormerBytes,
}

/// Bytes of what was read of keys of commits that have no number yet.
#[derive(Default)]
struct FormerBytes {
    updates: usize,
    batches: usize,
}

/// What a commit hands to the store, and what it is then.
pub(super) struct CommitChanges {
    pub(super) edits: Vec<Edit>,
    /// The users' keys among them,
    pub(super) changed: Vec<Vec<u8>>,
    /// and what those were, as far as somebody has asked.
    pub(super) former: StoredValues,
    pub(super) first_look_ms: Option<u64>,
    pub(super) commits: Vec<NewCommit>,
}

impl ReadyCommit {
    /// Whether it is a sweep's.
    pub(super) fn is_sweep(&self) -> bool {
        matches!(self.commits[0].committer, Committer::Sweep(_))
    }

    /// What is to be changed of these keys. An update that fails is told so, and is no part of it.
    pub(super) fn changes(self, keys: &[Vec<u8>]) -> CommitChanges {
        let ReadyCommit { mut commits, mut former, .. } = self;
        let first = &mut commits[0];
        let mut edits = std::mem::take(&mut first.edits);
        let first_look_ms = first.first_look_ms;
        let changed = match &mut first.committer {
            Committer::Batch(_) => keys.to_vec(),
            Committer::Sweep(looks) => {
                let due = due(&former, std::mem::take(looks));
                edits.extend(due.iter().map(|key| Edit::Delete { key: key.clone() }));
                former.retain(|key, _| due.contains(key));
                due.into_iter().collect()
            }
            Committer::Notes { looks, .. } => {
                let needless = needless(&former, std::mem::take(looks));
                edits.extend(needless.map(|note| Edit::Delete { key: note }));
                former.clear();
                Vec::new()
            }
            Committer::Update { .. } => return updated(commits, former),
        };
        CommitChanges { edits, changed, former, first_look_ms, commits }
    }
}

/// Carries updates out, each on what the one before has left.
fn updated(commits: Vec<NewCommit>, mut former: StoredValues) -> CommitChanges {
    let mut changes = StoredValues::new();
    let mut good = Vec::new();
    for mut commit in commits {
        let done = match &mut commit.committer {
            Committer::Update { work, .. } => work.carry_out(&former, &mut changes),
            _ => unreachable!("only updates go together"),
        };
        match done {
            Ok(()) => good.push(commit),
            Err(error) => commit.committer.tell(Err(error)),
        }
    }
    // A removal of what is not there is no change, and nobody who has read that need begin again.
    changes.retain(|key, stored| stored.is_some() || former.get(key).is_none_or(Option::is_some));
    former.retain(|key, _| changes.contains_key(key));
    let changed = changes.keys().cloned().collect();
    let mut batch = WriteBatch::new();
    if changes.len() <= NOTES_MAX {
        // Where much of a key's time has gone the note may be another one, which goes when it is due.
        let look = |stored: &Option<Vec<u8>>| {
            record::tail(stored.as_deref()?)?.1.map(|at| record::look_ms(at, wall::now_ms()))
        };
        let notes = changes.iter().filter_map(|(key, stored)| {
            let before = look(former.get(key)?)?;
            (look(stored) != Some(before)).then(|| record::expiry_entry(before, key))
        });
        notes.for_each(|note| batch.remove_raw(note));
    }
    for (key, stored) in changes {
        match stored {
            Some(stored) => batch.put_raw(key, stored),
            None => batch.remove_raw(key),
        }
    }
    let BatchParts { edits, first_look_ms, .. } = batch.into_parts();
    CommitChanges { edits, changed, former, first_look_ms, commits: good }
}

/// Of keys that were to be looked at, those that have no later time by now, each once.
fn due(former: &StoredValues, looks: Vec<(Vec<u8>, u64)>) -> BTreeSet<Vec<u8>> {
    let due = looks.into_iter().filter(|(key, look_ms)| is_over_by(former, key, *look_ms));
    due.map(|(key, _)| key).collect()
}

/// The notes by which nothing is found: of keys that are gone by now, stay, or have a later time.
fn needless(former: &StoredValues, looks: Vec<(Vec<u8>, u64)>) -> impl Iterator<Item = Vec<u8>> {
    let needless = looks.into_iter().filter(|(key, look_ms)| !is_over_by(former, key, *look_ms));
    needless.map(|(key, look_ms)| record::expiry_entry(look_ms, &key))
}

/// Whether a key is there and its time has come when it is looked at. One that has a later time has a later note.
fn is_over_by(former: &StoredValues, key: &[u8], look_ms: u64) -> bool {
    let expires_ms = former.get(key).and_then(|stored| record::tail(stored.as_deref()?)?.1);
    expires_ms.is_some_and(|expires_ms| expires_ms <= look_ms)
}

impl Committer {
    /// Tells whoever waits. Nobody does for a sweep.
    pub(super) fn tell(self, result: Result<u64, DbError>) {
        match self {
            Committer::Batch(answer) => answer.give(result),
            Committer::Update { work, .. } => work.answer(result.map(|_| ())),
            Committer::Sweep(_) => {}
            Committer::Notes { rest, answer, .. } => answer.give(result.map(|_| rest)),
        }
    }
}

impl NewCommit {
    /// Whether it has to know what its keys are, whoever else wants to.
    pub(super) fn asks_former(&self) -> bool {
        !matches!(self.committer, Committer::Batch(_))
    }

    /// Whether it may be a part of another update's commit of its key.
    fn goes_with(&self, other: &NewCommit) -> bool {
        let goes = |commit: &NewCommit| {
            matches!(commit.committer, Committer::Update { goes_alone: false, .. })
                && commit.reads.is_none()
        };
        goes(self) && goes(other) && self.promise == other.promise
    }
}

impl LinedCommit {
    /// A commit before which nobody stands.
    fn new(keys: Vec<Vec<u8>>, commit: NewCommit) -> LinedCommit {
        LinedCommit {
            keys,
            behind: 0,
            commit: Some(commit),
            former: StoredValues::new(),
            former_bytes: 0,
            looked_at: 0,
            passed_over: None,
            begun: 0,
            awaited: 0,
            failed: None,
        }
    }
}

impl Commits {
    /// The number that was given last.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Whether nothing is on its way.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight.is_empty() && self.lined.is_empty()
    }

    /// A commit comes into the lines of its keys.
    pub(super) fn enter(&mut self, mut commit: NewCommit) {
        let keys = std::mem::take(&mut commit.keys);
        let slot = self.lined.acquire(LinedCommit::new(keys, commit));
        let lined = self.lined.at_mut(slot);
        for key in &lined.keys {
            let line = match self.keys.get_mut(key) {
                Some(of_key) => &mut of_key.line,
                None => &mut self.keys.entry(key.clone()).or_default().line,
            };
            lined.behind += usize::from(!line.is_empty());
            line.push_back(slot);
        }
        if lined.behind == 0 {
            self.turns.push_back(slot);
        }
    }

    /// A commit whose turn has come.
    pub(super) fn next_turn(&mut self) -> Option<SlotId> {
        self.turns.pop_front()
    }

    /// Begins to read the next of a commit's keys whose values it has to know: those that `is_needed` says, and all of one that asks by itself. None if it
    /// knows enough, or has failed. Whoever was not needed may be when another snapshot has `begun`, of which that counts all.
    pub(super) fn next_reads(
        &mut self,
        slot: SlotId,
        begun: u64,
        is_needed: impl Fn(&[u8]) -> bool,
    ) -> Vec<Vec<u8>> {
        let lined = self.lined.at_mut(slot);
        if lined.failed.is_some() {
            return Vec::new();
        }
        let asks = lined.commit.as_ref().is_some_and(NewCommit::asks_former);
        if lined.begun != begun {
            lined.begun = begun;
            lined.looked_at = lined.passed_over.take().unwrap_or(lined.looked_at);
        }
        let mut keys = Vec::new();
        while keys.len() < READ_AT_ONCE
            && let Some(key) = lined.keys.get(lined.looked_at)
        {
            if !asks && !is_needed(key) {
                lined.passed_over.get_or_insert(lined.looked_at);
            } else if !lined.former.contains_key(key) {
                keys.push(key.clone());
            }
            lined.looked_at += 1;
        }
        lined.awaited = keys.len();
        keys
    }

    /// A key of a commit was read. Answers whether it was the last one that was asked for.
    pub(super) fn was_read(
        &mut self,
        slot: SlotId,
        key: Vec<u8>,
        value: Result<Option<Vec<u8>>, DbError>,
    ) -> bool {
        let lined = self.lined.at_mut(slot);
        lined.awaited -= 1;
        match value {
            Ok(value) => {
                let bytes = value.as_ref().map_or(0, Vec::len);
                lined.former.insert(key, value);
                let commit = lined.commit.as_ref().expect("the store does not have it yet");
                match &commit.committer {
                    Committer::Update { .. } => {
                        lined.former_bytes += bytes;
                        self.former_bytes.updates += bytes;
                        let is_small = lined.former_bytes <= UPDATE_BYTES_FREE;
                        if !is_small && self.former_bytes.updates > UPDATE_BYTES_MAX {
                            lined.failed = Some(DbError::UpdateBytes);
                        }
                    }
                    Committer::Batch(_) => {
                        lined.former_bytes += bytes;
                        self.former_bytes.batches += bytes;
                    }
                    // It reads some keys at a time, and no update is refused for it.
                    Committer::Sweep(_) | Committer::Notes { .. } => {}
                }
            }
            Err(error) => lined.failed = Some(error),
        }
        lined.awaited == 0
    }

    /// Bytes of what was read of batches' keys, for snapshots alone.
    pub(super) fn batch_bytes(&self) -> u64 {
        self.former_bytes.batches as u64
    }

    /// No snapshot is there any more for which a batch has read what its keys were.
    pub(super) fn forget_former(&mut self, slot: SlotId) {
        let lined = self.lined.at_mut(slot);
        if lined.commit.as_ref().is_some_and(|commit| !commit.asks_former()) {
            lined.former.clear();
            self.former_bytes.batches -= std::mem::take(&mut lined.former_bytes);
            // For the next snapshot all of them are to be looked at again.
            lined.passed_over = Some(0);
        }
    }

    /// Takes what a commit does, with what was read of its keys, and the updates behind it that can go with it.
    pub(super) fn take(&mut self, slot: SlotId) -> ReadyCommit {
        let lined = self.lined.at_mut(slot);
        let former = std::mem::take(&mut lined.former);
        let failed = lined.failed.take();
        let mut commits = vec![lined.commit.take().expect("the store does not have it yet")];
        let counted = match &commits[0].committer {
            Committer::Batch(_) => &mut self.former_bytes.batches,
            _ => &mut self.former_bytes.updates,
        };
        *counted -= std::mem::take(&mut lined.former_bytes);
        let ([key], None) = (&lined.keys[..], &failed) else {
            return ReadyCommit { commits, former, failed };
        };
        let line = &mut self.keys.get_mut(key).expect("it stands in its line").line;
        while commits.len() < TOGETHER_MAX
            && let Some(next) = line.get(1).copied()
        {
            let its = self.lined.at(next);
            let goes = its.keys.len() == 1
                && its.commit.as_ref().is_some_and(|commit| commit.goes_with(&commits[0]));
            if !goes {
                break;
            }
            line.remove(1);
            commits.push(self.lined.release(next).commit.expect("it waited for its turn"));
        }
        ReadyCommit { commits, former, failed }
    }

    /// A commit is applied, or comes to nothing: it leaves its lines.
    pub(super) fn leave(&mut self, slot: SlotId) {
        for key in self.lined.release(slot).keys {
            let of_key = self.keys.get_mut(&key).expect("it stands in its line");
            let first = of_key.line.pop_front();
            assert!(first == Some(slot), "whose turn it is is the first of its lines");
            if let Some(first) = of_key.line.front().copied() {
                let lined = self.lined.at_mut(first);
                lined.behind -= 1;
                if lined.behind == 0 {
                    self.turns.push_back(first);
                }
            } else if of_key.writers.is_empty() {
                self.keys.remove(&key);
            }
        }
    }

    /// A commit's number. It goes to the store at once.
    pub(super) fn number(
        &mut self,
        slot: SlotId,
        changed: Vec<Vec<u8>>,
        commits: Vec<NewCommit>,
    ) -> u64 {
        let made_from = match &commits[0].committer {
            Committer::Update { .. } => self.writers_of(slot),
            _ => Vec::new(),
        };
        self.last += 1;
        for key in &changed {
            self.keys.get_mut(key).expect("it stands in its line").writers.push_back(self.last);
        }
        self.unapplied.insert(self.last);
        let promise = commits[0].promise;
        let followers = Vec::new();
        let commit =
            CommitInFlight { slot: Some(slot), changed, promise, commits, made_from, followers };
        self.in_flight.insert(self.last, commit);
        self.last
    }

    /// Of each of a commit's keys the newest commit without an answer that has changed it. Older ones of the same key stand in the log before that; those of different
    /// keys stand there in the order in which they were applied, which need not be that of their numbers.
    pub(super) fn writers_of(&self, slot: SlotId) -> Vec<u64> {
        let keys = self.lined.at(slot).keys.iter();
        let writers = keys.filter_map(|key| self.keys.get(key)?.writers.back().copied());
        let mut writers: Vec<u64> = writers.collect();
        writers.sort_unstable();
        writers.dedup();
        writers
    }

    /// The store has carried a commit out.
    pub(super) fn applied(&mut self, number: u64) {
        self.unapplied.remove(&number);
        let commit = self.in_flight.get_mut(&number).expect("a commit is applied before its end");
        let slot = commit.slot.take().expect("a commit is applied once");
        self.leave(slot);
    }

    /// How durable a commit in flight is to be before its answer.
    pub(super) fn promise_of(&self, number: u64) -> LogMode {
        self.in_flight.get(&number).expect("it is in flight until its end").promise
    }

    /// What a commit has promised is kept. Answers whether its answer may go. If not, it waits until all before it are applied, and is among the
    /// [`next_through`](Self::next_through) afterwards; it stays its keys' writer, because whoever sees it must see those.
    pub(super) fn may_go(&mut self, number: u64) -> bool {
        let goes = !self.is_ahead(number);
        if !goes {
            self.ahead.insert(number);
        }
        goes
    }

    /// The next commit whose answer has waited for others and need not any more.
    pub(super) fn next_through(&mut self) -> Option<u64> {
        self.ahead.first().copied().filter(|it| !self.is_ahead(*it))?;
        self.ahead.pop_first()
    }

    /// A commit's answer goes: nobody need wait for it any more, and its followers are to be told. One that has failed
    /// without being applied, and was several updates, is tried again, one update after the other.
    pub(super) fn ended(&mut self, number: u64) -> CommitInFlight {
        let mut ended = self.in_flight.remove(&number).expect("a commit in flight ends once");
        self.unapplied.remove(&number);
        match ended.slot {
            Some(slot) if ended.commits.len() > 1 => {
                self.line_up_again(slot, std::mem::take(&mut ended.commits));
            }
            Some(slot) => self.leave(slot),
            None => {}
        }
        for key in &ended.changed {
            let of_key = self.keys.get_mut(key).expect("its keys have a writer");
            of_key.writers.retain(|writer| *writer != number);
            if of_key.writers.is_empty() && of_key.line.is_empty() {
                self.keys.remove(key);
            }
        }
        ended
    }

    /// Updates of one key that were one commit stand one behind the other again, the first in this place, and go alone.
    fn line_up_again(&mut self, slot: SlotId, commits: Vec<NewCommit>) {
        let key = self.lined.at(slot).keys[0].clone();
        for (place, mut commit) in commits.into_iter().enumerate() {
            if let Committer::Update { goes_alone, .. } = &mut commit.committer {
                *goes_alone = true;
            }
            // What was read of the key went with the commit, and each reads it anew.
            let lined = LinedCommit::new(vec![key.clone()], commit);
            if place == 0 {
                *self.lined.at_mut(slot) = lined;
                continue;
            }
            let again = self.lined.acquire(LinedCommit { behind: 1, ..lined });
            let of_key = self.keys.get_mut(&key).expect("the first one stands there");
            of_key.line.insert(place, again);
        }
        self.turns.push_back(slot);
    }

    /// The keys in whose lines a commit stands.
    pub(super) fn keys_of(&self, slot: SlotId) -> &[Vec<u8>] {
        &self.lined.at(slot).keys
    }

    /// The commit for whose answer one about this key waits, of those up to `sees`.
    pub(super) fn writer_seen(&self, key: &[u8], sees: u64) -> Option<u64> {
        let writers = self.keys.get(key)?.writers.iter().rev();
        // One that is not applied nobody has seen.
        writers.copied().find(|writer| *writer <= sees && !self.unapplied.contains(writer))
    }

    /// Whether a commit before this one is not applied.
    fn is_ahead(&self, number: u64) -> bool {
        self.unapplied.first().is_some_and(|first| *first < number)
    }

    /// An answer waits for that of this commit, if it is on its way.
    pub(super) fn follow(&mut self, number: Option<u64>, answer: HeldAnswer) {
        match number.and_then(|number| self.in_flight.get_mut(&number)) {
            Some(commit) => commit.followers.push(answer),
            None => answer(None),
        }
    }

    /// An answer waits for those of these commits, as far as they are on their way.
    pub(super) fn follow_all(&mut self, numbers: &[u64], answer: HeldAnswer) {
        let mut open = numbers.iter().filter(|number| self.in_flight.contains_key(number));
        let (first, others) = (open.next().copied(), open.count());
        if others == 0 {
            return self.follow(first, answer);
        }
        let waiting = Rc::new(Cell::new(Some(answer)));
        for number in numbers {
            let Some(commit) = self.in_flight.get_mut(number) else { continue };
            let waiting = Rc::clone(&waiting);
            commit.followers.push(Box::new(move |fault| {
                // The last one, or the first that tells of a fault, has it.
                let answer = match fault.is_some() || Rc::strong_count(&waiting) == 1 {
                    true => waiting.take(),
                    false => None,
                };
                answer.into_iter().for_each(|answer| answer(fault.clone()));
            }));
        }
    }

    /// An answer waits until those of all commits up to `number` have gone.
    pub(super) fn hold(&mut self, number: u64, answer: HeldAnswer) {
        match self.in_flight.first_key_value().is_some_and(|(first, _)| *first <= number) {
            true => self.held.entry(number).or_default().push(answer),
            false => answer(None),
        }
    }

    /// An answer waits until all commits up to `number` are applied.
    pub(super) fn hold_for_application(&mut self, number: u64, answer: HeldAnswer) {
        match self.unapplied.first().is_some_and(|first| *first <= number) {
            true => self.held_for_application.entry(number).or_default().push(answer),
            false => answer(None),
        }
    }

    /// The answers that wait no more.
    pub(super) fn released(&mut self) -> Vec<HeldAnswer> {
        let open = self.in_flight.first_key_value().map(|(first, _)| *first);
        let mut released = until(&mut self.held, open);
        released.extend(until(&mut self.held_for_application, self.unapplied.first().copied()));
        released
    }
}

/// Of answers that wait for numbers those in front of the first that is open.
fn until(held: &mut BTreeMap<u64, Vec<HeldAnswer>>, open: Option<u64>) -> Vec<HeldAnswer> {
    let mut released = Vec::new();
    while let Some(first) = held.first_entry() {
        if open.is_some_and(|open| open <= *first.key()) {
            break;
        }
        released.extend(first.remove());
    }
    released
}
