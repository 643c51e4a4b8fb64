//! What one lane has asked and been answered, and which states a crash may lead it back to.
//!
//! Transactions of a lane are carried out in the order of their submission, so after a crash the lane must be what it was
//! after *some* prefix of them. How long the prefix is at least, the log mode's promise says ([`Promise`]).

use super::model::{Contents, ModelObject};
use super::recovered::Recovered;
use loadline_store::paged::{Edit, ObjectId};
use std::collections::VecDeque;

/// What became of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransactionFate {
    /// Not answered, or answered that the store has stopped: it may be carried out or not.
    Open,
    /// Answered.
    Done,
    /// Answered with an error: nothing of it was carried out.
    Failed,
}

/// A transaction.
#[derive(Clone, Debug)]
struct Transaction {
    edits: Vec<Edit>,
    fate: TransactionFate,
}

/// How many transactions of a lane, counted from the first that it ever had, must have survived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Promise {
    /// A power cut.
    pub(super) cut: u64,
    /// The death of the process.
    pub(super) kill: u64,
}

/// Why what a crash left cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It is the state after this many transactions, but more of them were promised.
    Lost {
        /// How many it contains.
        found: u64,
        /// How many it had to contain.
        promised: u64,
    },
    /// It is no state that the lane ever had.
    NoState(String),
}

/// A lane's transactions.
#[derive(Clone, Debug)]
pub(super) struct LaneHistory {
    counter: Vec<u8>,
    /// The state that no crash can lead behind any more, after `floor_at` transactions.
    floor: Contents,
    floor_at: u64,
    /// The state after every transaction whose fate is known, as far as no open one comes before it.
    head: Contents,
    head_at: u64,
    /// From `floor_at` on.
    transactions: VecDeque<Transaction>,
    /// One past the last one that was answered as carried out.
    done: u64,
    pub(super) promise: Promise,
}

impl LaneHistory {
    /// A lane that has nothing yet. Transactions may set `counter` to their number, which makes the judge quick.
    pub(super) fn new(counter: Vec<u8>) -> LaneHistory {
        LaneHistory {
            counter,
            floor: Contents::default(),
            floor_at: 0,
            head: Contents::default(),
            head_at: 0,
            transactions: VecDeque::new(),
            done: 0,
            promise: Promise::default(),
        }
    }

    /// The number that the next transaction will have.
    pub(super) fn next(&self) -> u64 {
        self.floor_at + self.transactions.len() as u64
    }

    /// A transaction is submitted.
    pub(super) fn submitted(&mut self, edits: Vec<Edit>) {
        self.transactions.push_back(Transaction { edits, fate: TransactionFate::Open });
    }

    /// A transaction is answered.
    pub(super) fn answered(&mut self, number: u64, done: bool) {
        let at = (number - self.floor_at) as usize;
        self.transactions[at].fate =
            if done { TransactionFate::Done } else { TransactionFate::Failed };
        if done {
            self.done = self.done.max(number + 1);
        }
        while let Some(next) = self.transactions.get((self.head_at - self.floor_at) as usize) {
            match next.fate {
                TransactionFate::Open => return,
                TransactionFate::Done => self.head.apply_all(&next.edits),
                TransactionFate::Failed => {}
            }
            self.head_at += 1;
        }
    }

    /// The state after the first `number` transactions, as far as none of them has failed.
    pub(super) fn at(&self, number: u64) -> Contents {
        assert!(number >= self.head_at, "an answer comes before those of later transactions");
        let mut state = self.head.clone();
        for at in self.head_at..number {
            let transaction = &self.transactions[(at - self.floor_at) as usize];
            if transaction.fate != TransactionFate::Failed {
                state.apply_all(&transaction.edits);
            }
        }
        state
    }

    /// One past the last transaction that was answered as carried out.
    pub(super) fn done(&self) -> u64 {
        self.done
    }

    /// Forgets states to which no crash leads back any more.
    pub(super) fn settle(&mut self) {
        let both = self.promise.cut.min(self.promise.kill).min(self.head_at);
        while self.floor_at < both {
            let first = self.transactions.pop_front().expect("it was promised");
            if first.fate == TransactionFate::Done {
                self.floor.apply_all(&first.edits);
            }
            self.floor_at += 1;
        }
    }

    /// How many transactions `found` contains, if it is a state that at least `promised` transactions led to.
    pub(super) fn judge(&self, found: &Recovered, promised: u64) -> Result<u64, Wrong> {
        let mut state = self.floor.clone();
        let mut closest: Option<(u64, Contents)> = None;
        let mut too_early = None;
        for at in self.floor_at..=self.next() {
            if at > self.floor_at {
                let transaction = &self.transactions[(at - 1 - self.floor_at) as usize];
                if transaction.fate == TransactionFate::Failed {
                    continue;
                }
                state.apply_all(&transaction.edits);
            }
            if found.agrees_in(&self.counter, &state) {
                if found.agrees(&state) {
                    if at >= promised || self.nothing_between(at, promised) {
                        return Ok(at);
                    }
                    too_early = Some(at);
                }
                closest = Some((at, state.clone()));
            }
        }
        if let Some(found) = too_early {
            return Err(Wrong::Lost { found, promised });
        }
        Err(Wrong::NoState(match closest {
            Some((at, state)) => format!("after {at} transactions: {}", found.difference(&state)),
            None => format!(
                "its counter is {:?}; the last of {} transactions: {}",
                found.key(&self.counter),
                self.next(),
                found.difference(&state)
            ),
        }))
    }

    /// Whether every transaction between the two failed.
    fn nothing_between(&self, from: u64, to: u64) -> bool {
        let failed =
            |at| self.transactions[(at - self.floor_at) as usize].fate == TransactionFate::Failed;
        (from..to).all(failed)
    }

    /// A crash led back to the state after `number` transactions, and that is durable now. Earlier states are kept: should
    /// the log be damaged, the store may still fall back to one of them.
    pub(super) fn restarted(&mut self, number: u64) {
        self.head.clone_from(&self.floor);
        for (at, transaction) in (self.floor_at..).zip(&mut self.transactions) {
            if at >= number {
                transaction.fate = TransactionFate::Failed;
            } else if transaction.fate == TransactionFate::Open {
                transaction.fate = TransactionFate::Done;
            }
            if transaction.fate == TransactionFate::Done {
                self.head.apply_all(&transaction.edits);
            }
        }
        self.head_at = self.next();
        self.done = number;
        self.promise = Promise { cut: number, kill: number };
    }

    /// An object as the newest answered state has it.
    pub(super) fn object(&self, id: &ObjectId) -> Option<&ModelObject> {
        self.head.objects.get(id)
    }
}
