//! One store alone on this machine's disk, embedded in this process as a program embeds it. Its clients are one thread, the caller's: it keeps
//! every put of the load under way that should be, and takes the ends as the store's own thread tells of them.
//!
//! A put's latency is from when it was to start, which a schedule says and no earlier put delays, until the client's thread has its end.

use super::ground::{GroundOf, RunDisks, RunGround, check};
use super::machine;
use crate::MachineFacts;
use crate::place::HostPlace;
use loadline_base::{Span, Time};
use loadline_host::{Clock, DiskClaim, DiskOpen, new_store_id, why, write_new_store};
use loadline_kv::{
    CheckpointId, CheckpointReport, Db, DbError, DbOptions, DbStatistics, Keyspace, Pending,
    WriteBatch,
};
use loadline_load::puts::{PutLoad, ValueForm};
use loadline_osd::PutEnd;
use loadline_sim::Workload;
use loadline_store::paged::{Format, format};
use std::fs::File;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// What a store of a run is made of.
#[derive(Clone, Debug)]
pub struct EmbeddedSpec {
    /// Its disk.
    pub place: HostPlace,
    /// How the disk is laid out, but for the store's number, which is a new one.
    pub format: Format,
    /// How it is opened.
    pub options: DbOptions,
    /// What values look like.
    pub values: ValueForm,
    /// Of keys, values and arrivals.
    pub seed: u64,
}

impl EmbeddedSpec {
    fn ground(&self) -> RunGround<'_> {
        let size = self.format.data_bytes;
        RunGround { place: &self.place, disks: 1, size, of: GroundOf::Store }
    }

    /// Whether there can be such a store, before anything is written.
    ///
    /// # Errors
    /// What stands in the way and what would help, as a sentence.
    pub fn check(&self) -> Result<(), String> {
        check(&self.ground())
    }
}

/// A running store with its clients. Dropping it removes what it was made of.
pub struct EmbeddedStore {
    clock: Clock,
    db: Db,
    keys: Keyspace,
    load: PutLoad,
    flight: Flight,
    facts: MachineFacts,
    /// How much older the store's clock is.
    older: Span,
    /// When a put ended last, or none was under way.
    heard: Time,
    /// Last, so that the store is closed before its disk goes.
    _disks: RunDisks,
}

impl EmbeddedStore {
    /// Makes the disk and opens an empty store on it.
    ///
    /// # Errors
    /// Why there can be no such store, as a sentence.
    pub fn start(spec: &EmbeddedSpec) -> Result<EmbeddedStore, String> {
        let ground = spec.ground();
        let mut facts = machine::look_at_store(&spec.place, ground.size);
        let disks = RunDisks::prepare(&ground)?;
        let path = &disks.paths.disks[0];
        if disks.paths.make_files {
            drop(DiskOpen::or_create(path, ground.size).open().map_err(|error| error.to_string())?);
        }
        write(path, spec)?;
        let db = Db::open_file(path, spec.options).map_err(|error| error.to_string())?;
        let keys = db.keyspace(KEYSPACE).map_err(told)?;
        let clock = Clock::start();
        let DbStatistics { has_ring, is_direct, now, .. } = db.statistics().map_err(told)?;
        let event_loop = if has_ring { "io_uring" } else { "threads" };
        machine::reached_by(&mut facts, event_loop, is_direct);
        Ok(EmbeddedStore {
            older: now.since(clock.now().min(now)),
            heard: Time::ZERO,
            clock,
            db,
            keys,
            load: PutLoad::new(spec.values, spec.seed),
            flight: Flight::default(),
            facts,
            _disks: disks,
        })
    }

    /// Its time.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// What its clients do and have seen.
    pub fn load(&self) -> &PutLoad {
        &self.load
    }

    /// The same, to give them something else to do.
    pub fn load_mut(&mut self) -> &mut PutLoad {
        &mut self.load
    }

    /// Lets the clients begin with what they have been given to do.
    pub fn start_load(&mut self) {
        self.load.start(self.clock.now(), &mut Vec::new());
    }

    /// Lets time pass until then; the load goes on.
    ///
    /// # Errors
    /// Why the store has stopped, or that it answers nothing, as a sentence.
    pub fn pass(&mut self, until: Time) -> Result<(), String> {
        loop {
            self.send();
            self.take_ends()?;
            let now = self.clock.now();
            self.heed_silence(now)?;
            if now >= until {
                return Ok(());
            }
            let wake = self.load.next_wake();
            if wake.is_some_and(|at| at <= now) {
                self.load.woke(now, &mut Vec::new());
            } else if !self.load.has_due() {
                let next = wake.map_or(until, |at| at.min(until));
                self.flight.wait(Duration::from_nanos(next.since(now).nanos()));
            }
        }
    }

    fn send(&mut self) {
        for (_, put) in self.load.puts() {
            let mut batch = WriteBatch::new();
            batch.put(&self.keys, &put.key, &put.value);
            self.flight.add(put.token, self.db.write_later(batch));
        }
    }

    /// A store that answers nothing would make a run of no puts, and one as good as any other.
    fn heed_silence(&mut self, now: Time) -> Result<(), String> {
        let under_way = self.load.under_way();
        if under_way == 0 {
            self.heard = now;
        }
        let silence = now.since(self.heard);
        if silence <= SILENCE_MOST {
            return Ok(());
        }
        Err(format!(
            "no put has ended for {silence:.0}, and {under_way} are under way: see whether the disk has stopped or its file system is full"
        ))
    }

    fn take_ends(&mut self) -> Result<(), String> {
        let ended = self.flight.ended();
        if !ended.is_empty() {
            self.heard = self.clock.now();
        }
        for (token, result) in ended {
            let is_kept = match result {
                Ok(_) => true,
                Err(DbError::Full) => false,
                Err(error) => return Err(told(error)),
            };
            self.load.put_ended(self.clock.now(), &PutEnd { token, is_kept });
        }
        Ok(())
    }

    /// What the store has counted, and what it holds.
    ///
    /// # Errors
    /// That it has stopped.
    pub fn statistics(&self) -> Result<DbStatistics, String> {
        self.db.statistics().map_err(told)
    }

    /// The checkpoints that have ended, the oldest first, in the clients' time.
    ///
    /// # Errors
    /// That it has stopped.
    pub fn checkpoints(&self) -> Result<Vec<CheckpointReport>, String> {
        let mut ended = self.db.checkpoints(CheckpointId::FIRST).map_err(told)?;
        for report in &mut ended {
            let start = report.start.nanos().saturating_sub(self.older.nanos());
            report.start = Time::from_nanos(start);
        }
        Ok(ended)
    }

    /// What it stands on.
    pub fn facts(&self) -> &MachineFacts {
        &self.facts
    }
}

/// A disk that is slow, or at work for itself, ends one put in this time all the same.
const SILENCE_MOST: Span = Span::from_secs(30);

/// All keys are of one keyspace; its name is a part of each.
const KEYSPACE: &str = "k";

fn told(error: DbError) -> String {
    format!("the store answers: {error}")
}

/// Writes an empty store onto a disk, which is nobody else's meanwhile.
fn write(path: &Path, spec: &EmbeddedSpec) -> Result<(), String> {
    let store_id = new_store_id().map_err(|error| error.to_string())?.get();
    let store =
        format(&Format { store_id, ..spec.format }, spec.options.protection).map_err(|error| {
            format!("there can be no such store: {error:?}; change its sizes or the scale")
        })?;
    let _claim =
        DiskClaim::new(path).map_err(|problem| format!("{}: {problem}", path.display()))?;
    let file = File::options().write(true).open(path);
    file.and_then(|file| write_new_store(&store, &file, None))
        .map_err(|error| format!("{}: {}", path.display(), why(&error)))
}

/// Puts that are under way.
#[derive(Default)]
struct Flight {
    slots: Vec<FlightSlot>,
    free: Vec<usize>,
    bell: Arc<Bell>,
    /// Those that the bell has told of, for their memory.
    rung: Vec<usize>,
    /// Puts that had ended when they were sent.
    at_once: Vec<usize>,
}

struct FlightSlot {
    token: u64,
    pending: Option<Pending<u64>>,
    waker: Waker,
}

impl Flight {
    fn add(&mut self, token: u64, pending: Pending<u64>) {
        let at = self.free.pop().unwrap_or_else(|| {
            let at = self.slots.len();
            let waker = Waker::from(Arc::new(Ringing { at, bell: self.bell.clone() }));
            self.slots.push(FlightSlot { token, pending: None, waker });
            at
        });
        let slot = &mut self.slots[at];
        (slot.token, slot.pending) = (token, Some(pending));
        self.at_once.push(at);
    }

    /// The puts that have ended, each with its token.
    fn ended(&mut self) -> Vec<(u64, Result<u64, DbError>)> {
        let mut ended = Vec::new();
        self.bell.take(&mut self.rung);
        // Those that were just sent are asked once, so that their ends ring.
        let asked = std::mem::take(&mut self.at_once);
        for at in self.rung.drain(..).chain(asked) {
            let FlightSlot { token, pending, waker } = &mut self.slots[at];
            let Some(of) = pending else { continue };
            if let Poll::Ready(result) = Pin::new(of).poll(&mut Context::from_waker(waker)) {
                *pending = None;
                ended.push((*token, result));
                self.free.push(at);
            }
        }
        ended
    }

    fn wait(&self, most: Duration) {
        self.bell.wait(most);
    }
}

/// Where the store's thread tells of ends.
#[derive(Default)]
struct Bell {
    rung: Mutex<Vec<usize>>,
    rings: Condvar,
}

impl Bell {
    fn ring(&self, at: usize) {
        let mut rung = self.rung.lock().expect("nobody panics with it");
        rung.push(at);
        if rung.len() == 1 {
            drop(rung);
            self.rings.notify_one();
        }
    }

    fn take(&self, into: &mut Vec<usize>) {
        std::mem::swap(&mut *self.rung.lock().expect("nobody panics with it"), into);
    }

    fn wait(&self, most: Duration) {
        let rung = self.rung.lock().expect("nobody panics with it");
        if rung.is_empty() {
            // Whoever waits looks for himself what has happened.
            drop(self.rings.wait_timeout(rung, most));
        }
    }
}

struct Ringing {
    at: usize,
    bell: Arc<Bell>,
}

impl Wake for Ringing {
    fn wake(self: Arc<Self>) {
        self.bell.ring(self.at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::{ClientKind, RealDisks};
    use loadline_base::Bytes;
    use loadline_load::puts::{KeyOrder, PutClock, PutKind, PutSpec};
    use loadline_store::paged::ids::PageSize;

    fn spec(folder: &Path) -> EmbeddedSpec {
        let disks = RealDisks::Files(folder.to_owned());
        let client = ClientKind::Own;
        EmbeddedSpec {
            place: HostPlace { disks, client, keep_files: false, overwrite: false },
            format: Format {
                store_id: 1,
                data_bytes: Bytes::from_mib(32),
                log_device_bytes: None,
                log_bytes: Bytes::from_mib(8),
                segment_bytes: Bytes::from_kib(512),
                block_bytes: 4096,
                recovery_bytes: Bytes::from_mib(4),
                page: PageSize::DEFAULT,
            },
            options: DbOptions { cache: Bytes::from_mib(4), ..DbOptions::small() },
            values: ValueForm::Accounts,
            seed: 1,
        }
    }

    fn filled(spec: &EmbeddedSpec, count: u64) -> EmbeddedStore {
        let mut store = EmbeddedStore::start(spec).expect("it opens");
        store.load_mut().fill(KeyOrder::Ascending { count, range: count });
        store.start_load();
        while !store.load().is_filled() {
            store.pass(store.now() + Span::from_millis(5)).expect("it runs");
        }
        store
    }

    #[test]
    fn a_store_is_filled_and_gone_without_a_trace() {
        let folder = tempfile::tempdir().unwrap();
        let store = filled(&spec(folder.path()), 500);
        let counts = store.statistics().unwrap();
        assert_eq!((counts.commits, counts.file_bytes), (500, 32 << 20));
        assert!(folder.path().join("loadline-study/store").is_file());
        let again = EmbeddedStore::start(&spec(folder.path())).err().unwrap();
        assert!(again.contains("another study runs in"), "{again}");
        drop(store);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    /// A store whose puts wait for ever, for room that nobody makes, was recorded as a run of no puts.
    #[test]
    fn a_store_that_answers_nothing_ends_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = filled(&spec(folder.path()), 100);
        let load: PutSpec = toml::from_str("depth = 64").unwrap();
        store.load_mut().overwrite(&load, 100, PutKind::Atomic);
        let later = store.now() + SILENCE_MOST + Span::from_secs(1);
        assert_eq!(store.heed_silence(later), Ok(()), "none is under way");
        store.start_load();
        assert_eq!(store.heed_silence(later + SILENCE_MOST), Ok(()));
        let reason = store.heed_silence(later + SILENCE_MOST + Span::from_secs(1)).unwrap_err();
        let wanted = "no put has ended for 31 s, and 64 are under way";
        assert!(reason.starts_with(wanted), "{reason}");
    }

    /// A put that starts late is told from when it was to start: nobody is asked for the next one while the last one waits.
    #[test]
    fn an_open_loop_counts_from_the_intended_start() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = filled(&spec(folder.path()), 100);
        let load = "rate = 1000.0\narrivals = 'fixed'";
        let load: PutSpec = toml::from_str(load).unwrap();
        store.load_mut().overwrite(&load, 100, PutKind::Atomic);
        let begun = store.now();
        store.load_mut().measure_from(begun, PutClock::by(Span::from_secs(1)));
        store.start_load();
        // The client's thread is away for longer than fifty puts.
        while store.now() < begun + Span::from_millis(60) {
            std::hint::spin_loop();
        }
        store.pass(begun + Span::from_millis(100)).unwrap();
        let seen = store.load().record(store.now());
        assert!(seen.latency.count() >= 60, "{} puts", seen.latency.count());
        assert!(seen.latency.max_ns() >= 50_000_000, "{} ns", seen.latency.max_ns());
    }
}
