//! What the store costs the processor: puts, point reads and replay against a device that costs nothing.
//!
//! One million keys of 8 bytes with values of 100 bytes, all resident; puts overwrite random ones, 64 at a time, with
//! checkpoints running (log mode `log-only`), and as many gets are handed over together. The writes of an OSD are 4 KiB each, into random places of 64 objects of 4 MiB, with
//! an attribute of the object, an entry of a log, and now and then the removal of old entries. Figures and the machine they come
//! from: `docs/checkpoint.md`.
//!
//! Instructions, which no neighbour on the machine disturbs: `valgrind --tool=callgrind --toggle-collect='*put_random*'
//! <this executable> --test 'put 100 B, checkpoint'`, and the same with `*write_random*` and `'OSD write, checkpoint'`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use loadline_base::{Bytes, Rng, Span, Time};
use loadline_device::{ClassTag, Outcome, RequestKind};
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::throttle::ThrottlePolicy;
use loadline_store::paged::{
    Ask, Edit, Format, IoDone, LogMode, ObjectId, Op, Options, Outbox, PagedStore, Payload,
    Protection, StoreDevice, format,
};
use loadline_store::{CollectionId, ObjectNo, Version};
use std::cell::{LazyCell, RefCell};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

const KEYS: u64 = 1_000_000;
const DEPTH: u64 = 64;
const OBJECTS: u64 = 64;
const OBJECT_PAGES: u64 = 1024;
/// Writes that a log of an OSD remembers, and how many it forgets at a time.
const ENTRIES: u64 = 250;
const FORGOTTEN: u64 = 64;

/// Answers everything at once. It forgets what is written, unless it is told to remember the log.
#[derive(Clone)]
struct Device {
    formatted: BTreeMap<u64, Vec<u8>>,
    log: Option<Vec<u8>>,
    log_offset: u64,
}

struct Bench {
    store: PagedStore<u64>,
    device: Device,
    now: Time,
    out: Outbox<u64>,
    rng: Rng,
    done: u64,
    /// Ops that are handed over together.
    ops: Vec<(Op<u64>, LogMode)>,
}

fn store_format() -> Format {
    Format {
        store_id: 1,
        data_bytes: Bytes::from_mib(4096),
        log_device_bytes: None,
        log_bytes: Bytes::from_mib(1024),
        segment_bytes: Bytes::from_mib(64),
        block_bytes: 4096,
        recovery_bytes: Bytes::from_mib(512),
        page: PageSize::DEFAULT,
    }
}

fn options(protection: Protection) -> Options {
    Options {
        protection,
        cache: Bytes::from_mib(512),
        throttle: ThrottlePolicy::Paced,
        checkpoint_interval: Span::from_secs(3600),
        ..Options::default()
    }
}

impl Bench {
    fn open(options: Options, device: Device) -> Bench {
        let mut out = Outbox::new();
        let bytes = store_format().data_bytes;
        let store = PagedStore::open(Time::ZERO, options, bytes, None, &mut out);
        let rng = Rng::new(1);
        let ops = Vec::new();
        let mut bench = Bench { store, device, now: Time::ZERO, out, rng, done: 0, ops };
        bench.drain();
        assert!(bench.store.is_open(), "{:?}", bench.store.fault());
        bench
    }

    fn fresh(options: Options, log: bool) -> Bench {
        let layout = store_format().layout().expect("a legal format");
        let pieces = format(&store_format(), options.protection).expect("a legal format");
        let formatted = pieces.into_iter().filter(|piece| piece.0 == StoreDevice::Data);
        let device = Device {
            formatted: formatted.map(|(_, offset, bytes)| (offset, bytes)).collect(),
            log: log.then(|| vec![0; layout.log_bytes as usize]),
            log_offset: layout.log_offset,
        };
        Bench::open(options, device)
    }

    /// Answers what was asked of the device, and whatever that leads to.
    fn drain(&mut self) {
        while !self.out.io.is_empty() {
            for mut io in std::mem::take(&mut self.out.io) {
                self.device.serve(
                    io.request.kind,
                    io.request.offset,
                    io.request.length,
                    &mut io.data,
                );
                let done = IoDone { id: io.id, outcome: Outcome::Done, data: io.data };
                self.store.done(self.now, done, &mut self.out);
            }
        }
        self.done += black_box(&self.out.completions).len() as u64;
        self.out.completions.clear();
    }

    fn submit(&mut self, ask: Ask) {
        self.now += Span::from_nanos(1000);
        let op = Op { ask, lane: None, class: ClassTag(1), token: 0 };
        self.store.submit(self.now, op, &mut self.out);
    }

    fn put(&mut self, key: u64) {
        self.submit(Ask::Transaction(vec![put_of(key)]));
    }

    fn fill(&mut self) {
        for key in 0..KEYS {
            self.put(key);
            if key % DEPTH == 0 {
                self.drain();
            }
        }
        self.drain();
        self.submit(Ask::Checkpoint);
        self.drain();
    }

    /// Puts an op among those that are handed over together, as soon as there are enough.
    fn gather(&mut self, ask: Ask) {
        self.now += Span::from_nanos(1000);
        let op = Op { ask, lane: None, class: ClassTag(1), token: 0 };
        self.ops.push((op, LogMode::LogOnly));
        if self.ops.len() as u64 == DEPTH {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        self.store.submit_all(self.now, &mut self.ops, &mut self.out);
        self.drain();
    }

    #[inline(never)]
    fn put_random(&mut self, count: u64) {
        for _ in 0..count {
            let key = self.rng.below(KEYS);
            self.gather(Ask::Transaction(vec![put_of(key)]));
        }
        self.hand_over();
    }

    #[inline(never)]
    fn get_random(&mut self, count: u64) {
        for _ in 0..count {
            let key = self.rng.below(KEYS);
            self.gather(Ask::Get(key.to_be_bytes().to_vec()));
        }
        self.hand_over();
    }

    fn write(&mut self, version: u64, object: u64, page: u64) {
        let entry = |version: u64| [&b"l\0\0\0\x07"[..], &version.to_be_bytes()].concat();
        let id =
            ObjectId { collection: CollectionId::new(7), object: ObjectNo(object), snapshot: 0 };
        let (name, value) = (b"stamp".to_vec(), version.to_le_bytes().to_vec());
        let mut edits = vec![
            Edit::Put { key: entry(version), value: object.to_le_bytes().to_vec() },
            Edit::SetAttribute { object: id, name, value },
        ];
        if version.is_multiple_of(FORGOTTEN) && version > ENTRIES + FORGOTTEN {
            let old = version - ENTRIES - FORGOTTEN..version - ENTRIES;
            edits.extend(old.map(|version| Edit::Delete { key: entry(version) }));
        }
        let (offset, data) = (page * 4096, Payload::Bytes(vec![version as u8; 4096]));
        edits.push(Edit::Write { object: id, offset, data, version: Version(version) });
        self.submit(Ask::Transaction(edits));
    }

    fn fill_objects(&mut self) {
        for at in 0..OBJECTS * OBJECT_PAGES {
            self.write(at + 1, at / OBJECT_PAGES, at % OBJECT_PAGES);
            if at % DEPTH == 0 {
                self.drain();
            }
        }
        self.drain();
        self.submit(Ask::Checkpoint);
        self.drain();
    }

    /// Writes random pages, of versions from `first` on.
    #[inline(never)]
    fn write_random(&mut self, first: u64, count: u64) {
        for at in 0..count {
            let page = self.rng.below(OBJECTS * OBJECT_PAGES);
            self.write(first + at, page / OBJECT_PAGES, page % OBJECT_PAGES);
            if at % DEPTH == DEPTH - 1 {
                self.drain();
            }
        }
        self.drain();
    }
}

fn put_of(key: u64) -> Edit {
    Edit::Put { key: key.to_be_bytes().to_vec(), value: vec![key as u8; 100] }
}

impl Device {
    fn serve(&mut self, kind: RequestKind, offset: u64, length: Bytes, data: &mut Vec<u8>) {
        let log = self.log.as_mut().and_then(|log| {
            let at = offset.checked_sub(self.log_offset)? as usize;
            log.get_mut(at..at + length.get() as usize)
        });
        match (kind, log) {
            (RequestKind::Write, Some(log)) => log.copy_from_slice(data),
            (RequestKind::Read, Some(log)) => *data = log.to_vec(),
            (RequestKind::Read, None) => {
                let whole = self.formatted.range(..=offset).next_back();
                *data = whole
                    .filter(|(at, bytes)| *at + bytes.len() as u64 >= offset + length.get())
                    .map_or(vec![0; length.get() as usize], |(at, bytes)| {
                        bytes[(offset - at) as usize..][..length.get() as usize].to_vec()
                    });
            }
            _ => {}
        }
    }
}

fn puts(c: &mut Criterion) {
    let mut group = c.benchmark_group("store");
    group.sample_size(10);
    const BATCH: u64 = 100_000;
    group.throughput(Throughput::Elements(BATCH));
    for protection in [Protection::Checkpoint, Protection::Log] {
        // What no benchmark runs on is not filled.
        let filled = LazyCell::new(|| {
            let mut bench = Bench::fresh(options(protection), false);
            bench.fill();
            RefCell::new(bench)
        });
        group.bench_function(format!("put 100 B, {protection} protection"), |b| {
            let mut bench = filled.borrow_mut();
            b.iter(|| bench.put_random(BATCH));
        });
        if protection == Protection::Checkpoint {
            group.bench_function("get 100 B", |b| {
                let mut bench = filled.borrow_mut();
                b.iter(|| bench.get_random(BATCH));
            });
        }
    }
    group.finish();
}

fn osd_writes(c: &mut Criterion) {
    let mut group = c.benchmark_group("store");
    group.sample_size(10);
    const BATCH: u64 = 20_000;
    group.throughput(Throughput::Elements(BATCH));
    for protection in [Protection::Checkpoint, Protection::Log] {
        let filled = LazyCell::new(|| {
            let mut bench = Bench::fresh(options(protection), false);
            bench.fill_objects();
            RefCell::new(bench)
        });
        let mut next = OBJECTS * OBJECT_PAGES + 1;
        group.bench_function(format!("OSD write, {protection} protection"), |b| {
            let mut bench = filled.borrow_mut();
            b.iter(|| {
                bench.write_random(next, BATCH);
                next += BATCH;
            });
        });
    }
    group.finish();
}

/// A log of a gibibyte is more than a benchmark should hold; this one is as much as 1.5 million puts leave. What counts is the processor's time for the log's
/// bytes: 205 MiB a second are 5 s for a gibibyte.
fn replay(c: &mut Criterion) {
    const PUTS: u64 = 1_500_000;
    let mut group = c.benchmark_group("replay");
    group.sample_size(10);
    let settings = Options {
        log_trigger_percent: 100,
        dirty_trigger_percent: 100,
        ..options(Protection::Checkpoint)
    };
    let written = LazyCell::new(|| {
        let mut bench = Bench::fresh(settings, true);
        for key in 0..PUTS {
            bench.put(key % KEYS * 7919 % KEYS);
            if key % DEPTH == 0 {
                bench.drain();
            }
        }
        bench.drain();
        let totals = bench.store.metrics().totals;
        assert_eq!(totals.checkpoints, 0, "everything is in the log");
        (bench.device, totals.log_bytes)
    });
    group.bench_function(format!("{PUTS} puts of 100 B, processor time"), |b| {
        b.iter_custom(|times| {
            let one = || {
                let device = written.0.clone();
                let before = processor_time();
                let bench = Bench::open(settings, device);
                let took = processor_time() - before;
                assert_eq!(bench.store.metrics().totals.replayed, PUTS);
                took
            };
            let took = (0..times).map(|_| one()).sum::<Duration>();
            let gib = times as f64 * written.1 as f64 / (1 << 30) as f64;
            println!("{:.2} s for a GiB of log", took.as_secs_f64() / gib);
            took
        });
    });
    group.finish();
}

/// What this process has taken of its processors.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

criterion_group!(benches, puts, osd_writes, replay);
criterion_main!(benches);
