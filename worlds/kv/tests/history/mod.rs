//! What many clients have done and seen, checked for strict serialisability: there is one order of all transactions, batches, snapshots and single
//! reads in which each sees what those before it have left, and who was over before another began stands before it.
//!
//! The checker believes the numbers that commits and snapshots are given to be that order, and proves that they are. Values are unique, so a
//! single read, which has no number, fits where its key had that value; the reads of a history are placed one after the other as early as they can be. Counts in
//! a key of its own have no number either, but what each has made of the key is one; keys are judged one by one there, since what is linearisable key by
//! key is so as a whole.

use std::collections::{BTreeMap, BTreeSet};

pub(crate) type State = BTreeMap<Vec<u8>, Vec<u8>>;

/// When something was asked and answered, by a clock that everybody advances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub(crate) asked: u64,
    pub(crate) answered: u64,
}

/// What was done.
#[derive(Clone, Debug)]
pub(crate) enum Done {
    /// What a commit has read, key by key, and what it has written.
    Commit {
        number: u64,
        reads: Vec<(Vec<u8>, Option<Vec<u8>>)>,
        writes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    },
    /// All that a snapshot sees.
    Snapshot {
        number: u64,
        state: State,
    },
    Read {
        key: Vec<u8>,
        value: Option<Vec<u8>>,
    },
    /// One more in a key in which everybody does nothing else, and what came of it.
    Count {
        key: Vec<u8>,
        count: u64,
    },
}

pub(crate) type History = Vec<(Interval, Done)>;

/// Whether the history is strictly serialisable; what speaks against it is the error.
pub(crate) fn check(history: &[(Interval, Done)]) -> Result<(), String> {
    let counters: BTreeSet<&Vec<u8>> = history
        .iter()
        .filter_map(|(_, done)| match done {
            Done::Count { key, .. } => Some(key),
            _ => None,
        })
        .collect();
    for counter in &counters {
        let numbered: History =
            history.iter().filter_map(|(when, done)| Some((*when, done.of(counter)?))).collect();
        check_numbered(&numbered).map_err(|why| format!("the counter {counter:?}: {why}"))?;
    }
    let others = history.iter().filter(|(_, done)| match done {
        Done::Count { .. } => false,
        Done::Read { key, .. } => !counters.contains(key),
        _ => true,
    });
    check_numbered(&others.cloned().collect::<History>())
}

impl Done {
    /// What it is to somebody who looks at this counter alone: each count has the number that it has made of it.
    fn of(&self, counter: &Vec<u8>) -> Option<Done> {
        let text = |count: u64| Some(count.to_string().into_bytes());
        match self {
            Done::Count { key, count } if key == counter => Some(Done::Commit {
                number: *count,
                reads: vec![(key.clone(), text(count - 1).filter(|_| *count > 1))],
                writes: vec![(key.clone(), text(*count))],
            }),
            Done::Read { key, .. } if key == counter => Some(self.clone()),
            _ => None,
        }
    }
}

/// The same of a history whose commits have numbers.
fn check_numbered(history: &[(Interval, Done)]) -> Result<(), String> {
    let mut commits: Vec<_> = history
        .iter()
        .filter_map(|(when, done)| match done {
            Done::Commit { number, reads, writes } => Some((*number, *when, reads, writes)),
            _ => None,
        })
        .collect();
    commits.sort_by_key(|(number, ..)| *number);
    let mut states: Vec<(u64, State)> = vec![(0, State::new())];
    let mut latest_ask = 0;
    for (number, when, reads, writes) in commits {
        let (before, state) = states.last().expect("there is a first state");
        if *before == number && number > 0 {
            return Err(format!("two commits have number {number}"));
        }
        if when.answered < latest_ask {
            return Err(format!("commit {number} was over before an earlier one began"));
        }
        latest_ask = latest_ask.max(when.asked);
        for (key, value) in reads {
            if state.get(key) != value.as_ref() {
                return Err(format!("commit {number} has read {value:?} of {key:?} in {state:?}"));
            }
        }
        let mut state = state.clone();
        for (key, value) in writes {
            match value {
                Some(value) => state.insert(key.clone(), value.clone()),
                None => state.remove(key),
            };
        }
        states.push((number, state));
    }
    let as_of = |number: u64| &states[states.partition_point(|(at, _)| *at <= number) - 1].1;
    // Between which commits something stands that was asked and answered then.
    let bounds = |when: Interval| {
        let of = |test: &dyn Fn(&Interval) -> bool| {
            let numbers = history.iter().filter_map(|(other, done)| match done {
                Done::Commit { number, .. } if test(other) => Some(*number),
                _ => None,
            });
            numbers.collect::<Vec<u64>>()
        };
        let from = of(&|other| other.answered < when.asked).into_iter().max().unwrap_or(0);
        let until = of(&|other| other.asked > when.answered).into_iter().min();
        (from, until.unwrap_or(u64::MAX))
    };
    let mut looks: Vec<_> = history.iter().collect();
    looks.sort_by_key(|(when, _)| when.asked);
    let mut placed: Vec<(u64, u64)> = Vec::new();
    for (when, done) in looks {
        let (from, until) = bounds(*when);
        let before = placed.iter().filter(|(answered, _)| *answered < when.asked);
        let from = before.map(|(_, at)| *at).max().unwrap_or(0).max(from);
        let at = match done {
            Done::Commit { .. } | Done::Count { .. } => continue,
            Done::Snapshot { number, state } => {
                if !(from..until).contains(number) {
                    return Err(format!("a snapshot of {number} belongs into {from}..{until}"));
                }
                if as_of(*number) != state {
                    return Err(format!("a snapshot of {number} saw {state:?}"));
                }
                *number
            }
            Done::Read { key, value } => {
                let fits = |state: &State| state.get(key) == value.as_ref();
                let first = states.partition_point(|(at, _)| *at <= from) - 1;
                let later = states[first + 1..].iter().take_while(|(at, _)| *at < until);
                let at = match fits(&states[first].1) {
                    true => Some(from),
                    false => later.clone().find(|(_, state)| fits(state)).map(|(at, _)| *at),
                };
                at.ok_or_else(|| {
                    format!("{value:?} of {key:?} was in no state of {from}..{until}")
                })?
            }
        };
        placed.push((when.answered, at));
    }
    Ok(())
}
