//! Histories of many connections with `kill -9` in between, checked for strict serialisability.
//!
//! Each transaction of a history counts in one key, so `EXEC` tells its place in the order of all of them; and that key is as hot as a key can be. What was on its way
//! at a kill nobody was told of: a mark that each transaction sets says afterwards whether it came through, and the places that nobody was told are those
//! of these.

use crate::history::{Done, History, Interval, State, check};
use crate::server::{Server, pause};
use loadline_base::Rng;
use redis::{Connection, RedisResult, Value, cmd, pipe};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const CLIENTS: u64 = 4;
const KEYS: u64 = 5;

/// What a connection has asked and was told, and what it was not told.
#[derive(Default)]
struct Told {
    history: History,
    unknown: Vec<Unknown>,
}

/// Something that was on its way when the server was killed.
#[derive(Clone)]
struct Unknown {
    asked: u64,
    what: UnknownDone,
}

#[derive(Clone)]
enum UnknownDone {
    Count(Vec<u8>),
    /// A transaction, with what it has found in keys that it watched.
    Commit {
        reads: Vec<(Vec<u8>, Option<Vec<u8>>)>,
        writes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    },
}

/// One history's keys.
struct Names {
    history: u64,
}

impl Names {
    fn key(&self, name: impl std::fmt::Display) -> Vec<u8> {
        format!("h{}:{name}", self.history).into_bytes()
    }

    fn any(&self, rng: &mut Rng) -> Vec<u8> {
        self.key(rng.below(KEYS))
    }

    fn counter(&self) -> Vec<u8> {
        self.key("count")
    }

    fn order(&self) -> Vec<u8> {
        self.key("order")
    }

    fn mark(&self, client: u64) -> Vec<u8> {
        self.key(format!("mark{client}"))
    }

    /// All keys that transactions write, but for the order.
    fn all(&self) -> Vec<Vec<u8>> {
        let keys = (0..KEYS).map(|key| self.key(key));
        keys.chain((0..CLIENTS).map(|client| self.mark(client))).collect()
    }
}

struct Client<'c> {
    connection: Connection,
    names: &'c Names,
    clock: &'c AtomicU64,
    number: u64,
    values: u64,
    told: Told,
}

fn now(clock: &AtomicU64) -> u64 {
    clock.fetch_add(1, Ordering::SeqCst)
}

impl Client<'_> {
    fn value(&mut self) -> Vec<u8> {
        self.values += 1;
        format!("{}.{}", self.number, self.values).into_bytes()
    }

    /// Does something. The error is the server's end.
    fn act(&mut self, rng: &mut Rng) -> RedisResult<()> {
        match rng.below(8) {
            0 => self.read(self.names.any(rng)),
            1 => self.read(self.names.counter()),
            2 | 3 => self.count(1 + 4 * rng.below(2)),
            4 | 5 => self.transact(rng, Vec::new()),
            _ => self.watch(rng),
        }
    }

    fn read(&mut self, key: Vec<u8>) -> RedisResult<()> {
        let asked = now(self.clock);
        let value = cmd("GET").arg(&key).query(&mut self.connection)?;
        self.note(asked, Done::Read { key, value });
        Ok(())
    }

    /// Counts, several times at once.
    fn count(&mut self, times: u64) -> RedisResult<()> {
        let (asked, key) = (now(self.clock), self.names.counter());
        let mut pipeline = pipe();
        (0..times).for_each(|_| {
            pipeline.cmd("INCR").arg(&key);
        });
        let counts: RedisResult<Vec<u64>> = pipeline.query(&mut self.connection);
        match counts {
            Ok(counts) => {
                assert!(counts.is_sorted(), "a connection's commands keep their order");
                for count in counts {
                    self.note(asked, Done::Count { key: key.clone(), count });
                }
                Ok(())
            }
            Err(error) => {
                let what = UnknownDone::Count(key);
                let unknown = Unknown { asked, what };
                self.told.unknown.extend(vec![unknown; times as usize]);
                Err(error)
            }
        }
    }

    /// Some keys are watched and read, then a transaction writes.
    fn watch(&mut self, rng: &mut Rng) -> RedisResult<()> {
        let mut reads = BTreeMap::new();
        (0..1 + rng.below(2)).for_each(|_| {
            reads.insert(self.names.any(rng), None);
        });
        let keys: Vec<&Vec<u8>> = reads.keys().collect();
        cmd("WATCH").arg(keys).query::<()>(&mut self.connection)?;
        for (key, value) in &mut reads {
            *value = cmd("GET").arg(key).query(&mut self.connection)?;
        }
        self.transact(rng, reads.into_iter().collect())
    }

    /// A transaction that writes, sometimes reads, and counts its place.
    fn transact(
        &mut self,
        rng: &mut Rng,
        watched: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    ) -> RedisResult<()> {
        let mut transaction = pipe();
        transaction.atomic();
        let looks = rng.below(3) == 0;
        let all = self.names.all();
        if looks {
            transaction.cmd("MGET").arg(&all);
        }
        let mut writes = BTreeMap::from([(self.names.mark(self.number), Some(self.value()))]);
        for _ in 0..rng.below(3) {
            let value = (rng.below(5) != 0).then(|| self.value());
            writes.insert(self.names.any(rng), value);
        }
        for (key, value) in &writes {
            match value {
                Some(value) => transaction.cmd("SET").arg(key).arg(value).ignore(),
                None => transaction.cmd("DEL").arg(key).ignore(),
            };
        }
        transaction.cmd("INCR").arg(self.names.order());
        let writes: Vec<_> = writes.into_iter().collect();
        let asked = now(self.clock);
        let told: RedisResult<Option<Vec<Value>>> = transaction.query(&mut self.connection);
        let mut told = match told {
            Ok(Some(told)) => told,
            // A watched key was changed.
            Ok(None) => return Ok(()),
            Err(error) => {
                let what = UnknownDone::Commit { reads: watched, writes };
                self.told.unknown.push(Unknown { asked, what });
                return Err(error);
            }
        };
        let number = redis::from_redis_value(told.pop().expect("a place")).expect("a number");
        let mut reads = watched;
        if let Some(looked) = told.pop() {
            let values: Vec<Option<Vec<u8>>> = redis::from_redis_value(looked).expect("values");
            reads.extend(all.into_iter().zip(values));
        }
        self.note(asked, Done::Commit { number, reads, writes });
        Ok(())
    }

    fn note(&mut self, asked: u64, done: Done) {
        let answered = now(self.clock);
        self.told.history.push((Interval { asked, answered }, done));
    }
}

/// Adds what came through of that of which nobody was told, in the only way that there is, or in any of those that there are.
fn resolve(
    names: &Names,
    history: &mut History,
    unknown: Vec<Unknown>,
    client: &mut Connection,
    clock: &AtomicU64,
) {
    let over = now(clock);
    let interval = |asked| Interval { asked, answered: over };
    let asked = now(clock);
    let keys = names.all();
    let values: Vec<Option<Vec<u8>>> =
        cmd("MGET").arg(&keys).query(client).expect("it is served again");
    let state: State =
        keys.into_iter().zip(values).filter_map(|(key, value)| Some((key, value?))).collect();
    let last_of = |key: Vec<u8>, client: &mut Connection| {
        let last: Option<u64> = cmd("GET").arg(key).query(client).expect("it is served again");
        last.unwrap_or(0)
    };
    let last = last_of(names.order(), client);
    let counted = last_of(names.counter(), client);
    let when = Interval { asked, answered: now(clock) };

    let untold = |up_to: u64, told: &dyn Fn(&Done) -> Option<u64>| {
        let told: Vec<u64> = history.iter().filter_map(|(_, done)| told(done)).collect();
        (1..=up_to).filter(|number| !told.contains(number)).collect::<Vec<u64>>()
    };
    let counts = untold(counted, &|done| match done {
        Done::Count { count, .. } => Some(*count),
        _ => None,
    });
    let places = untold(last, &|done| match done {
        Done::Commit { number, .. } => Some(*number),
        _ => None,
    });
    let (mut counters, mut commits) = (Vec::new(), Vec::new());
    for Unknown { asked, what } in unknown {
        match what {
            UnknownDone::Count(key) => counters.push((asked, key)),
            UnknownDone::Commit { reads, writes } => {
                // The mark is unique: it is there if the transaction is, since its connection has asked for no later one.
                if writes.iter().any(|(key, value)| {
                    value.is_some()
                        && key.starts_with(&names.key("mark"))
                        && state.get(key) == value.as_ref()
                }) {
                    commits.push((asked, reads, writes));
                }
            }
        }
    }
    assert!(counts.len() <= counters.len(), "{counts:?} were counted by nobody");
    counters.sort();
    for (count, (asked, key)) in counts.into_iter().zip(counters) {
        history.push((interval(asked), Done::Count { key, count }));
    }
    assert_eq!(places.len(), commits.len(), "places {places:?} are those of {commits:?}");
    let orders = permutations(places.len());
    let mut wrong = String::new();
    for order in orders {
        let mut tried = history.clone();
        for (place, number) in order.into_iter().zip(&places) {
            let (asked, reads, writes) = commits[place].clone();
            tried.push((interval(asked), Done::Commit { number: *number, reads, writes }));
        }
        tried.push((when, Done::Snapshot { number: last, state: state.clone() }));
        match check(&tried) {
            Ok(()) => return *history = tried,
            Err(why) => wrong = why,
        }
    }
    panic!("{wrong}\n{history:#?}");
}

fn permutations(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for next in 0..count {
        let mut longer = Vec::new();
        for order in &all {
            for at in 0..=order.len() {
                let mut order = order.clone();
                order.insert(at, next);
                longer.push(order);
            }
        }
        all = longer;
    }
    all
}

/// Two lives of a server, of which a kill ends the first.
fn live(folder: &Path, server: Server, arguments: &str, seed: u64) -> Server {
    let mut rng = Rng::new(seed);
    let (names, clock) = (Names { history: seed }, AtomicU64::new(1));
    let acts = |server: &Server, life: u64, acts: u32| {
        let told = Mutex::new(Told::default());
        let work = |number: u64, connection: Connection| {
            let values = life * 1_000_000;
            let (names, clock, own) = (&names, &clock, Told::default());
            let mut client = Client { connection, names, clock, number, values, told: own };
            let mut rng = Rng::new(seed * 100 + life * 10 + number);
            for _ in 0..acts {
                if client.act(&mut rng).is_err() {
                    break;
                }
            }
            let mut told = told.lock().expect("no client has panicked");
            told.history.extend(client.told.history);
            told.unknown.extend(client.told.unknown);
        };
        // The kill comes when all are there.
        let connections: Vec<Connection> = (0..CLIENTS).map(|_| server.client()).collect();
        std::thread::scope(|scope| {
            for (number, connection) in (0..).zip(connections) {
                let work = &work;
                scope.spawn(move || work(number, connection));
            }
            if life == 0 {
                pause(1 + rng.below(40));
                server.strike();
            }
        });
        told.into_inner().expect("no client has panicked")
    };
    let mut acts = acts;
    let Told { mut history, unknown } = acts(&server, 0, u32::MAX);
    drop(server);
    let server = Server::start(folder, arguments);
    resolve(&names, &mut history, unknown, &mut server.client(), &clock);
    let told = acts(&server, 1, 10);
    assert!(told.unknown.is_empty(), "seed {seed}: a server that nobody kills answers");
    history.extend(told.history);
    resolve(&names, &mut history, Vec::new(), &mut server.client(), &clock);
    server
}

fn search(histories: std::ops::Range<u64>) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = Server::start(folder.path(), "--size 64MiB --appendfsync always");
    for seed in histories {
        let mode = ["always", "everysec"][(seed % 2) as usize];
        let arguments = format!("--size 64MiB --cache 8MiB --appendfsync {mode}");
        println!("seed {seed}, {mode}");
        server = live(folder.path(), server, &arguments, seed);
    }
}

#[test]
fn histories_with_kills_are_serialisable() {
    search(0..24);
}

#[test]
#[ignore = "a long search, for `make soak`"]
fn a_thousand_histories_with_kills_are_serialisable() {
    search(1000..2000);
}
