//! What a put takes of the log: bytes of the ring, requests, flushes and time, by log mode and depth.
//!
//! Puts of 100 bytes took 4,096 bytes of the log each at depth 1, and 2,048 (`log-only`) or 1,024 (`fsync`) at depth 4, because
//! a block that was not full was padded whenever somebody waited for it; a checkpoint, which the log's length begins, came
//! so much more often. When the block was written again instead, a group that reached into the next one took two blocks of the
//! device's time, and one put in thirty at depth 4 2 us longer.

use loadline_base::{Bytes, Rng, Span, Time};
use loadline_device::ClassTag;
use loadline_sim::disk::{SimDisk, SimDiskSpec, Timing};
use loadline_sim::{SimStore, StoreDisks};
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::{Ask, Edit, Format, LogMode, Op, Options, Protection};
use std::collections::BTreeMap;
use std::fmt;

/// What the loads put.
const PUTS: u64 = 20_000;

/// A flash drive with a volatile cache.
const FLASH: Timing = Timing {
    per_request: Span::from_micros(20),
    bytes_per_second: 2 << 30,
    flush: Span::from_micros(400),
    channels: 32,
};

fn disks() -> StoreDisks {
    let size = Bytes::from_mib(512);
    let spec = SimDiskSpec { size, sector: 512, write_cache: true, timing: FLASH };
    let mut disks = StoreDisks { data: SimDisk::new(spec, 1), log: None };
    let format = Format {
        store_id: 7,
        data_bytes: size,
        log_device_bytes: None,
        log_bytes: Bytes::from_mib(128),
        segment_bytes: Bytes::from_mib(4),
        block_bytes: 4096,
        recovery_bytes: Bytes::from_mib(64),
        page: PageSize::DEFAULT,
    };
    disks.format(&format, Protection::Checkpoint).expect("it fits");
    disks
}

/// What a put took, on average.
struct Taken {
    ring_bytes: f64,
    writes: f64,
    flushes: f64,
    witnesses: f64,
    device_bytes: f64,
    p99: Span,
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Taken { ring_bytes, writes, flushes, witnesses, device_bytes, p99 } = self;
        write!(
            f,
            "{ring_bytes:>6.0} B, {writes:.3} writes of {device_bytes:.0} B, {flushes:.3} flushes, \
             {witnesses:.4} witnesses, p99 {p99}"
        )
    }
}

/// What is asked in a closed loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Load {
    /// Puts.
    Puts,
    /// Puts, each with a sync behind it. The times are those of both together.
    Synced,
}

/// Puts random keys in a closed loop.
fn puts(log_mode: LogMode, load: Load, depth: u64) -> Taken {
    let options = Options { log_mode, ..Options::default() };
    let mut host = SimStore::open(Time::ZERO, options, disks());
    assert!(host.wait_until(|host| host.store().is_open()));
    let before = host.store().metrics().totals;
    let mut rng = Rng::new(3);
    let (mut begun, mut times) = (BTreeMap::new(), Vec::new());
    let mut next = 0;
    while times.len() < PUTS as usize {
        while next < PUTS && begun.len() < depth as usize {
            let key = rng.below(1000);
            let edit = Edit::Put { key: key.to_be_bytes().to_vec(), value: vec![7; 100] };
            begun.insert(next, host.now());
            let ask = Ask::Transaction(vec![edit]);
            host.submit(Op { ask, lane: None, class: ClassTag(9), token: next });
            next += 1;
        }
        assert!(host.wait_until(|host| !host.ended().is_empty()));
        let now = host.now();
        for done in std::mem::take(host.ended_mut()) {
            if load == Load::Synced && done.token < PUTS {
                let token = done.token + PUTS;
                host.submit(Op { ask: Ask::Sync, lane: None, class: ClassTag(9), token });
                continue;
            }
            let put = done.token % PUTS;
            times.push(now.since(begun.remove(&put).expect("it was under way")));
        }
    }
    times.sort_unstable();
    let after = host.store().metrics().totals;
    let per_put = |count: u64| count as f64 / PUTS as f64;
    Taken {
        ring_bytes: per_put(after.log_ring_bytes - before.log_ring_bytes),
        writes: per_put(after.log_writes - before.log_writes),
        flushes: per_put(after.log_flushes - before.log_flushes),
        witnesses: per_put(after.log_witnesses - before.log_witnesses),
        device_bytes: per_put(after.log_device_bytes - before.log_device_bytes),
        p99: times[times.len() * 99 / 100],
    }
}

#[test]
fn a_put_takes_little_more_of_the_log_than_its_record() {
    for mode in [LogMode::Fsync, LogMode::LogOnly, LogMode::Background] {
        for depth in [1, 4, 16, 64] {
            let taken = puts(mode, Load::Puts, depth);
            println!("{mode:>10} {depth:>3}: {taken}");
            let Taken { ring_bytes, writes, flushes, witnesses, p99, .. } = taken;
            // The record has 133 bytes, and a proof 32; of a block, two groups of 15 leave almost half.
            let most = if depth == 16 { 260.0 } else { 175.0 };
            assert!(ring_bytes < most, "{mode}, depth {depth}: {ring_bytes} B of the log");
            // A group that fits a block is written as one, behind the one that is under way.
            if mode == LogMode::LogOnly && depth <= 16 {
                let block = FLASH.per_request + Span::from_nanos((4096 * 1_000_000_000) >> 31);
                let waits = if depth == 1 { block } else { block + block };
                assert!(p99 <= waits + Span::from_nanos(2), "{mode}, depth {depth}: {p99}");
            }
            // A group is written twice at most: its records, and the proof that they are durable.
            let groups = if depth == 1 { 1.0 } else { 2.0 / depth as f64 };
            let (most_writes, most_flushes) = match mode {
                LogMode::Fsync => (2.0 * groups, groups),
                LogMode::LogOnly => (1.01 * groups, 0.01),
                LogMode::Background | LogMode::None => (0.01, 0.01),
            };
            assert!(writes <= most_writes, "{mode}, depth {depth}: {writes} writes");
            assert!(flushes <= most_flushes, "{mode}, depth {depth}: {flushes} flushes");
            // Those of half a second share one writing of the witness.
            assert!(witnesses <= 0.002, "{mode}, depth {depth}: {witnesses} witnesses");
        }
    }
}

/// The witness is written beside the proof, so a sync waits for a write of the log, a flush, and one more write.
#[test]
fn a_sync_waits_no_longer_for_two_places_than_for_one() {
    for mode in [LogMode::Fsync, LogMode::LogOnly, LogMode::Background] {
        for depth in [1, 16] {
            let taken = puts(mode, Load::Synced, depth);
            println!("{mode:>10} {depth:>3}, synced: {taken}");
            let groups = if depth == 1 { 1.0 } else { 2.0 / depth as f64 };
            let Taken { flushes, witnesses, p99, .. } = taken;
            assert!(witnesses <= flushes * 1.001, "{mode}, depth {depth}: {witnesses} witnesses");
            assert!(flushes <= groups * 1.001, "{mode}, depth {depth}: {flushes} flushes");
            let write = FLASH.per_request + Span::from_micros(2);
            let alone = FLASH.flush + write + write;
            let others = if depth == 1 { Span::ZERO } else { alone };
            assert!(p99 <= alone + others + Span::from_micros(50), "{mode}, depth {depth}: {p99}");
        }
    }
}
