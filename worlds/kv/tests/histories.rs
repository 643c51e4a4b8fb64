//! Histories of many threads, checked for strict serialisability (`history`).

mod history;

use history::{Done, History, Interval, State, check};
use loadline_base::Rng;
use loadline_kv::{Bytes, Db, DbError, DbOptions, Keyspace, LogMode, UpdateKeys, WriteBatch};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const KEYS: u64 = 6;

fn key(rng: &mut Rng) -> Vec<u8> {
    format!("key{}", rng.below(KEYS)).into_bytes()
}

fn counter(rng: &mut Rng) -> Vec<u8> {
    format!("sum{}", rng.below(2)).into_bytes()
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
        let done = match rng.below(10) {
            0 | 1 => {
                let key = if rng.below(3) == 0 { counter(rng) } else { key(rng) };
                let value = self.db.get(self.keyspace, &key).expect("it reads");
                Done::Read { key, value }
            }
            2 => {
                let snapshot = self.db.snapshot().expect("a snapshot");
                let order = rng.below(2) == 0;
                let scan = snapshot.scan(self.keyspace).prefix(b"key");
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
            4 | 5 => self.count(rng),
            _ => self.transact(rng)?,
        };
        Some((Interval { asked, answered: self.now() }, done))
    }

    /// Counts in a key in which others count too.
    fn count(&mut self, rng: &mut Rng) -> Done {
        let (keyspace, key) = (self.keyspace.clone(), counter(rng));
        let (keys, own) = (UpdateKeys::of(&keyspace, [&key]), key.clone());
        let count = self.db.update(keys, move |update| {
            let before = update.get(&keyspace, &own).map_or(0, |entry| {
                let text = String::from_utf8(entry.value).expect("it is a number");
                text.parse().expect("it is a number")
            });
            let count: u64 = before + 1;
            update.put(&keyspace, &own, count.to_string().as_bytes());
            count
        });
        Done::Count { key, count: count.expect("it commits") }
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
    let count = |at: (u64, u64), count| {
        let when = Interval { asked: at.0, answered: at.1 };
        (when, Done::Count { key: b"a".to_vec(), count })
    };
    let counts = [count((1, 9), 2), count((1, 9), 1), read((1, 9), "a", value("1"))];
    assert_eq!(check(&counts), Ok(()));
    assert!(check(&[count((1, 9), 1), count((1, 9), 1)]).is_err(), "one of them is lost");
    assert!(check(&[count((1, 2), 2), count((3, 4), 1)]).is_err(), "the later one came before");
    assert!(check(&[count((1, 2), 1), count((3, 4), 3)]).is_err(), "one that nobody has made");
    let torn = Done::Snapshot { number: 2, state: State::new() };
    assert!(check(&[first, second, (Interval { asked: 5, answered: 6 }, torn)]).is_err());
}
