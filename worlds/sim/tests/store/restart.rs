//! A restart takes at most five seconds of virtual time for a gibibyte of log, on a disk of 1 GiB/s with 80 µs a request.

use loadline_base::{Bytes, Rng, Span, Time};
use loadline_device::ClassTag;
use loadline_sim::disk::{CutStyle, SimDisk, SimDiskSpec, Timing};
use loadline_sim::{SimStore, StoreDisks};
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::throttle::ThrottlePolicy;
use loadline_store::paged::{Ask, Edit, Format, LogMode, Op, Options, Protection};

const KEYS: u64 = 200_000;

fn disks(log: Bytes) -> StoreDisks {
    let timing = Timing {
        per_request: Span::from_micros(80),
        bytes_per_second: 1 << 30,
        flush: Span::from_micros(200),
        channels: 32,
    };
    let size = Bytes::from_mib(512) + log + log;
    let spec = SimDiskSpec { size, sector: 4096, write_cache: true, timing };
    let mut disks = StoreDisks { data: SimDisk::new(spec, 1), log: None };
    let format = Format {
        store_id: 7,
        data_bytes: size,
        log_device_bytes: None,
        log_bytes: log + log,
        segment_bytes: Bytes::from_mib(4),
        block_bytes: 4096,
        recovery_bytes: Bytes::from_mib(256),
        page: PageSize::DEFAULT,
    };
    disks.format(&format, Protection::Checkpoint).expect("it fits");
    disks
}

fn options(settled: bool) -> Options {
    Options {
        log_mode: LogMode::LogOnly,
        throttle: ThrottlePolicy::None,
        cache: Bytes::from_mib(96),
        old_versions: Bytes::from_mib(16),
        // The first life leaves everything in the log.
        log_trigger_percent: if settled { 25 } else { 100 },
        dirty_trigger_percent: if settled { 50 } else { 100 },
        ..Options::default()
    }
}

fn put(host: &mut SimStore, key: u64) {
    let edit = Edit::Put { key: key.to_be_bytes().to_vec(), value: vec![key as u8; 100] };
    let ask = Ask::Transaction(vec![edit]);
    host.submit(Op { ask, lane: None, class: ClassTag(1), token: key });
}

/// Fills a log of that size, cuts the power, and measures how long the store takes to open.
fn check(log: Bytes) {
    let mut rng = Rng::new(2);
    let mut host = SimStore::open(Time::ZERO, options(false), disks(log));
    assert!(host.wait_until(|host| host.store().is_open()));
    let mut puts = 0;
    while host.store().metrics().totals.log_bytes < log.get() {
        for _ in 0..1024 {
            put(&mut host, rng.below(KEYS));
        }
        puts += 1024;
        assert!(host.wait_until(|host| host.ended().len() == 1024));
        host.ended_mut().clear();
    }
    let store = host.store();
    let untouched = store.metrics().totals.checkpoints == 0 && store.checkpoint_step().is_none();
    assert!(untouched, "everything is in the log");
    let mut disks = host.into_disks();
    disks.data.power_cut(CutStyle::AllKept, &mut rng);
    let mut host = SimStore::open(Time::ZERO, options(true), disks);
    assert!(host.wait_until(|host| host.store().is_open()));
    assert_eq!(host.store().metrics().totals.replayed, puts);
    let bound = 5.0 * log.get() as f64 / (1u64 << 30) as f64;
    let took = host.now().as_secs_f64();
    assert!(took <= bound, "{log} of log took {took:.3} s, at most {bound:.3} s");
    println!("{log} of log, {puts} transactions: {took:.3} s of virtual time");
}

#[test]
fn a_sixteenth_of_a_gibibyte() {
    check(Bytes::from_mib(64));
}

#[test]
#[ignore = "takes a minute and 3 GiB; `make soak` runs it"]
fn a_whole_gibibyte() {
    check(Bytes::from_mib(1024));
}
