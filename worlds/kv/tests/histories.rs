//! Histories of many threads, checked for strict serialisability: there is one order of all transactions, batches, snapshots and single
//! reads in which each sees what those before it have left, and who was over before another began stands before it.
//!
//! The checker believes the numbers that commits and snapshots are given to be that order, and proves that they are. Values are unique, so a
//! single read, which has no number, fits where its key had that value; the reads of a history are placed one after the other as early as they can be.

use loadline_base::Rng;
use loadline_kv::{Bytes, Db, DbError, DbOptions, Keyspace, LogMode, WriteBatch};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

type State = BTreeMap<Vec<u8>, Vec<u8>>;

/// When something was asked and answered, by a clock that everybody advances.
#[derive(Clone, Copy, Debug)]
struct Interval {
    asked: u64,
    answered: u64,
}

#[derive(Clone, Debug)]
enum Done {
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
}

type History = Vec<(Interval, Done)>;

const KEYS: u64 = 6;

fn key(rng: &mut Rng) -> Vec<u8> {
    format!("key{}", rng.below(KEYS)).into_bytes()
}

struct Client<'c> {
    db: &'c Db,
    keyspace: &'c Keyspace,
    clock: &'c AtomicU64,
    name: u64,
    values: u64,
}

impl Client<'_> {
    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    fn value(&mut self, rng: &mut Rng) -> Option<Vec<u8>> {
        self.values += 1;
        (rng.below(6) != 0).then(|| format!("{}.{}", self.name, self.values).into_bytes())
    }

    fn writes(&mut self, rng: &mut Rng) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        let count = 1 + rng.below(2);
        let writes: State = (0..count).map(|_| (key(rng), Vec::new())).collect();
        writes.into_keys().map(|key| (key, self.value(rng))).collect()
    }

    /// Does something. A transaction that meets a conflict has done nothing.
    fn act(&mut self, rng: &mut Rng) -> Option<(Interval, Done)> {
        let asked = self.now();
        let done = match rng.below(8) {
            0 | 1 => {
                let key = key(rng);
                let value = self.db.get(self.keyspace, &key).expect("it reads");
                Done::Read { key, value }
            }
            2 => {
                let snapshot = self.db.snapshot().expect("a snapshot");
                let order = rng.below(2) == 0;
                let scan = snapshot.scan(self.keyspace);
                let scan = if order { scan.backward() } else { scan };
                let state = scan.iter().collect::<Result<State, DbError>>().expect("it reads");
                Done::Snapshot { number: snapshot.commit(), state }
            }
            3 => {
                let writes = self.writes(rng);
                let mut batch = WriteBatch::new();
                for (key, value) in &writes {
                    match value {
                        Some(value) => batch.put(self.keyspace, key, value),
                        None => batch.remove(self.keyspace, key),
                    };
                }
                let number = self.db.write(batch).expect("it commits");
                Done::Commit { number, reads: Vec::new(), writes }
            }
            _ => self.transact(rng)?,
        };
        Some((Interval { asked, answered: self.now() }, done))
    }

    fn transact(&mut self, rng: &mut Rng) -> Option<Done> {
        let mut transaction = self.db.begin().expect("it begins");
        let mut reads = Vec::new();
        if rng.below(4) == 0 {
            let found = transaction.scan(self.keyspace).until(b"key3").iter();
            let found = found.collect::<Result<State, DbError>>().expect("it reads");
            for number in 0..3 {
                let key = format!("key{number}").into_bytes();
                reads.push((key.clone(), found.get(&key).cloned()));
            }
        }
        for _ in 0..1 + rng.below(3) {
            let key = key(rng);
            let value = transaction.get(self.keyspace, &key).expect("it reads");
            reads.push((key, value));
        }
        let writes = self.writes(rng);
        for (key, value) in &writes {
            match value {
                Some(value) => transaction.put(self.keyspace, key, value),
                None => transaction.remove(self.keyspace, key),
            }
        }
        match transaction.commit() {
            Ok(number) => Some(Done::Commit { number, reads, writes }),
            Err(DbError::Conflict { keyspace, key }) => {
                assert_eq!(keyspace, self.keyspace.name());
                assert!(key.starts_with(b"key"));
                None
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn record(db: &Db, seed: u64, threads: u64, acts: u32) -> History {
    let keyspace = db.keyspace(format!("history {seed}")).expect("a name");
    let clock = AtomicU64::new(1);
    let history = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for name in 0..threads {
            let (keyspace, clock, history) = (&keyspace, &clock, &history);
            scope.spawn(move || {
                let mut rng = Rng::new(seed * 1000 + name);
                let mut client = Client { db, keyspace, clock, name, values: 0 };
                for _ in 0..acts {
                    if let Some(done) = client.act(&mut rng) {
                        history.lock().expect("no thread has panicked").push(done);
                    }
                }
            });
        }
    });
    history.into_inner().expect("no thread has panicked")
}

/// Whether the history is strictly serialisable; what speaks against it is the error.
fn check(history: &[(Interval, Done)]) -> Result<(), String> {
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
            Done::Commit { .. } => continue,
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

fn search(histories: u64, acts: u32) {
    let modes = [LogMode::LogOnly, LogMode::Fsync, LogMode::Background, LogMode::None];
    for (mode, number) in modes.into_iter().zip(0..) {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        // A small cache lets reads wait for the disk, so that what overtakes what varies.
        let options = DbOptions { log_mode: mode, cache: Bytes::from_mib(2), ..DbOptions::small() };
        let db = Db::open(folder.path(), options).expect("it opens");
        for seed in 0..histories / 4 {
            let seed = number * histories + seed;
            let history = record(&db, seed, 4, acts);
            if let Err(why) = check(&history) {
                panic!("seed {seed}, mode {mode}: {why}\n{history:#?}");
            }
        }
        let counts = db.statistics().expect("it counts");
        assert!(counts.commits > 0 && counts.conflicts > 0, "{counts:?}");
    }
}

#[test]
fn a_hundred_histories_are_serialisable() {
    search(100, 25);
}

#[test]
#[ignore = "a long search, for `make soak`"]
fn a_thousand_histories_are_serialisable() {
    search(1000, 60);
}

/// A checker that finds nothing in a broken history would prove nothing.
#[test]
fn the_checker_finds_what_is_wrong() {
    let value = |text: &str| Some(text.as_bytes().to_vec());
    let put = |at: (u64, u64), number, key: &str, text: &str| {
        let when = Interval { asked: at.0, answered: at.1 };
        let writes = vec![(key.as_bytes().to_vec(), value(text))];
        (when, Done::Commit { number, reads: Vec::new(), writes })
    };
    let read = |at: (u64, u64), key: &str, value: Option<Vec<u8>>| {
        let when = Interval { asked: at.0, answered: at.1 };
        (when, Done::Read { key: key.as_bytes().to_vec(), value })
    };
    let first = put((1, 2), 1, "a", "one");
    let second = put((3, 4), 2, "a", "two");
    let good = [first.clone(), second.clone(), read((3, 5), "a", value("one"))];
    assert_eq!(check(&good), Ok(()));
    let stale = [first.clone(), second.clone(), read((5, 6), "a", value("one"))];
    assert!(check(&stale).is_err());
    let early = [first.clone(), read((1, 2), "a", value("two")), put((3, 4), 2, "a", "two")];
    assert!(check(&early).is_err());
    let swapped = [put((1, 2), 2, "a", "one"), put((3, 4), 1, "a", "two")];
    assert!(check(&swapped).is_err());
    let back = [
        first.clone(),
        put((3, 20), 2, "a", "two"),
        read((4, 5), "a", value("two")),
        read((6, 7), "a", value("one")),
    ];
    assert!(check(&back).is_err(), "a value that was seen goes away again");
    // Two that each have read what the other changed: the order of neither is right.
    let skew = |number, reads: &str, writes: &str| {
        let reads = vec![(reads.as_bytes().to_vec(), None)];
        let writes = vec![(writes.as_bytes().to_vec(), value("x"))];
        (Interval { asked: 1, answered: 9 }, Done::Commit { number, reads, writes })
    };
    assert!(check(&[skew(1, "a", "b"), skew(2, "b", "a")]).is_err());
    let torn = Done::Snapshot { number: 2, state: State::new() };
    assert!(check(&[first, second, (Interval { asked: 5, answered: 6 }, torn)]).is_err());
}
