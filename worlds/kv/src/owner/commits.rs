//! Commits on their way, and who waits for whom.
//!
//! A commit gets its number in the moment at which its transaction is found valid and goes to the store. While it is there its keys have a
//! *writer*. Three rules follow from what readers may see:
//!
//! - A commit that has to say what its keys were (`versions`) reads them first. Until it has its number nobody else may change them, and
//!   it does not begin while they have a writer, whose values it would miss.
//! - What a reader has found of a key with a writer may be what a crash still takes back. The answer waits until that commit is answered;
//!   a snapshot waits for all commits that it sees. So nobody is told anything that is not as durable as its commit was promised.
//! - Transactions that have read something are ordered before those that change it. One of these may be through sooner; its answer waits for
//!   them, so that nobody can see it and not them.

use super::versions::ReadSet;
use crate::error::DbError;
use crate::pending::Answerer;
use loadline_base::{SlotId, Slots};
use loadline_store::paged::{Edit, LogMode};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A commit that has no number yet.
pub(crate) struct NewCommit {
    pub(crate) edits: Vec<Edit>,
    /// The users' keys that it changes, each once.
    pub(crate) keys: Vec<Vec<u8>>,
    pub(crate) reads: Option<ReadSet>,
    pub(crate) promise: LogMode,
    /// Keys that it removes if they expire at that time still.
    pub(crate) expires: Vec<(Vec<u8>, u64)>,
    /// When the first of its keys expires.
    pub(crate) first_expiry_ms: Option<u64>,
    /// Told its number; a sweep has nobody to tell.
    pub(crate) answer: Option<Answerer<u64>>,
}

/// A commit whose keys are being read.
pub(super) struct Preparing {
    pub(super) commit: NewCommit,
    /// What its keys were.
    pub(super) former: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// Reads under way.
    pub(super) awaited: usize,
    pub(super) failed: Option<DbError>,
}

/// A commit that the store has.
pub(super) struct CommitInFlight {
    pub(super) keys: Vec<Vec<u8>>,
    pub(super) promise: LogMode,
    pub(super) answer: Option<Answerer<u64>>,
}

/// An answer that waits for commits.
pub(super) type HeldAnswer = Box<dyn FnOnce()>;

/// The writers of a key.
#[derive(Clone, Copy, Default)]
struct Writers {
    count: u32,
    newest: u64,
}

/// See [above](self).
#[derive(Default)]
pub(super) struct Commits {
    /// The number that was given last.
    last: u64,
    writers: BTreeMap<Vec<u8>, Writers>,
    in_flight: BTreeMap<u64, CommitInFlight>,
    /// Those of them that have read something.
    reading: BTreeSet<u64>,
    preparing: Slots<Preparing>,
    preparing_keys: BTreeSet<Vec<u8>>,
    /// Those that wait for a key.
    waiting: BTreeMap<Vec<u8>, VecDeque<NewCommit>>,
    /// Answers that wait until all commits up to this number are answered by the store.
    held: BTreeMap<u64, Vec<HeldAnswer>>,
}

impl NewCommit {
    /// Whether it has to know what its keys are, whoever else wants to.
    pub(super) fn asks_former(&self) -> bool {
        !self.expires.is_empty()
    }
}

impl Commits {
    /// The number that was given last.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Whether nothing is on its way.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight.is_empty() && self.preparing.is_empty() && self.waiting.is_empty()
    }

    /// A key that a commit must wait for; `reads_former` says whether it has to read its keys first.
    pub(super) fn blocker(&self, commit: &NewCommit, reads_former: bool) -> Option<Vec<u8>> {
        let is_busy = |key: &&Vec<u8>| {
            self.preparing_keys.contains(*key) || (reads_former && self.writers.contains_key(*key))
        };
        commit.keys.iter().find(is_busy).cloned()
    }

    /// A commit waits for this key.
    pub(super) fn wait(&mut self, key: Vec<u8>, commit: NewCommit) {
        self.waiting.entry(key).or_default().push_back(commit);
    }

    /// A commit's keys are its own from now on.
    pub(super) fn prepare(&mut self, commit: NewCommit) -> SlotId {
        self.preparing_keys.extend(commit.keys.iter().cloned());
        let former = BTreeMap::new();
        self.preparing.acquire(Preparing { commit, former, awaited: 0, failed: None })
    }

    /// A commit whose keys are being read.
    pub(super) fn preparing(&mut self, slot: SlotId) -> &mut Preparing {
        self.preparing.at_mut(slot)
    }

    /// A commit is ready, one way or the other: its keys are free, and who waited for them is to try again.
    pub(super) fn prepared(&mut self, slot: SlotId) -> (Preparing, Vec<NewCommit>) {
        let ready = self.preparing.release(slot);
        let mut woken = Vec::new();
        for key in &ready.commit.keys {
            self.preparing_keys.remove(key);
            woken.extend(self.waiting.remove(key).into_iter().flatten());
        }
        (ready, woken)
    }

    /// A commit's number. It goes to the store at once.
    pub(super) fn number(&mut self, commit: CommitInFlight, reads: bool) -> u64 {
        self.last += 1;
        for key in &commit.keys {
            let writers = self.writers.entry(key.clone()).or_default();
            *writers = Writers { count: writers.count + 1, newest: self.last };
        }
        if reads {
            self.reading.insert(self.last);
        }
        self.in_flight.insert(self.last, commit);
        self.last
    }

    /// The store has answered a commit: nobody need wait for it any more. Answers it and those that are to try again.
    pub(super) fn ended(&mut self, number: u64) -> (CommitInFlight, Vec<NewCommit>) {
        let ended = self.in_flight.remove(&number).expect("a commit in flight ends once");
        self.reading.remove(&number);
        let mut woken = Vec::new();
        for key in &ended.keys {
            let writers = self.writers.get_mut(key).expect("its keys have a writer");
            writers.count -= 1;
            if writers.count == 0 {
                self.writers.remove(key);
                woken.extend(self.waiting.remove(key).into_iter().flatten());
            }
        }
        (ended, woken)
    }

    /// Whose answer an answer about these keys waits for.
    pub(super) fn newest_writer(&self, key: &[u8]) -> Option<u64> {
        self.writers.get(key).map(|writers| writers.newest)
    }

    /// Whose answer that of a commit waits for: the newest that has read something and came before.
    pub(super) fn newest_reading_before(&self, number: u64) -> Option<u64> {
        self.reading.range(..number).next_back().copied()
    }

    /// Whether all commits up to this one are answered by the store.
    pub(super) fn are_ended(&self, number: u64) -> bool {
        self.in_flight.first_key_value().is_none_or(|(first, _)| *first > number)
    }

    /// An answer waits until all commits up to `number` are answered by the store.
    pub(super) fn hold(&mut self, number: u64, answer: HeldAnswer) {
        self.held.entry(number).or_default().push(answer);
    }

    /// The answers that wait no more.
    pub(super) fn released(&mut self) -> Vec<HeldAnswer> {
        let mut released = Vec::new();
        while let Some(first) = self.held.first_entry() {
            let is_over =
                self.in_flight.first_key_value().is_none_or(|(open, _)| open > first.key());
            if !is_over {
                break;
            }
            released.extend(first.remove());
        }
        released
    }
}
