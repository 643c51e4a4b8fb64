//! What small writes wait for while checkpoints run, by log mode.
//!
//! A commit in mode `log-only` does not wait for a flush, so commits come as fast as the drive takes them, and filled the log
//! before a checkpoint could give any of it back. Then every commit waited for that checkpoint's end with its four
//! flushes: the slowest of a thousand took 135 ms on a drive whose flush takes 20 ms, where half of them took 2 ms. The throttle knew
//! of pages and not of the log; in mode `fsync` the flushes themselves kept commits slow enough.

use loadline_base::{Bytes, Rng, Span, Time};
use loadline_device::ClassTag;
use loadline_sim::disk::{SimDisk, SimDiskSpec, Timing};
use loadline_sim::{SimStore, StoreDisks};
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::{
    Ask, Edit, Format, LogMode, ObjectId, Op, OpLane, Options, Payload, Protection, Wait,
};
use loadline_store::{CollectionId, ObjectNo, Version};
use std::collections::BTreeMap;

const OBJECTS: u64 = 64;
const OBJECT_BYTES: u64 = 4 << 20;
const WRITES: u64 = 60_000;
const DEPTH: usize = 64;

fn disks(timing: Timing) -> StoreDisks {
    disks_of(7, timing)
}

fn disks_of(store_id: u64, timing: Timing) -> StoreDisks {
    let size = Bytes::from_mib(1024);
    let spec = SimDiskSpec { size, sector: 4096, write_cache: true, timing };
    let mut disks = StoreDisks { data: SimDisk::new(spec, 1), log: None };
    let format = Format {
        store_id,
        data_bytes: size,
        log_device_bytes: None,
        log_bytes: Bytes::from_mib(64),
        segment_bytes: Bytes::from_mib(4),
        block_bytes: 4096,
        recovery_bytes: Bytes::from_mib(64),
        page: PageSize::DEFAULT,
    };
    disks.format(&format, Protection::Checkpoint).expect("it fits");
    disks
}

fn write(offset: u64, length: u64) -> Ask {
    let object = ObjectNo(offset / OBJECT_BYTES);
    let object = ObjectId { collection: CollectionId::new(1), object, snapshot: 0 };
    let data = Payload::Pattern { seed: 4, offset, length };
    let offset = offset % OBJECT_BYTES;
    Ask::Transaction(vec![Edit::Write { object, offset, data, version: Version(1) }])
}

/// Writes in a closed loop. Answers the slowest of a thousand, and the mean time that a write waited for room in the log.
fn run(log_mode: LogMode, flush_ms: u64) -> (Span, Span) {
    let timing = Timing {
        per_request: Span::from_micros(100),
        bytes_per_second: 400 << 20,
        flush: Span::from_millis(flush_ms),
        channels: 8,
    };
    let options = Options { log_mode, cache: Bytes::from_mib(256), ..Options::default() };
    let mut host = SimStore::open(Time::ZERO, options, disks(timing));
    assert!(host.wait_until(|host| host.store().is_open()));
    for object in 0..OBJECTS {
        host.submit(Op {
            ask: write(object * OBJECT_BYTES, OBJECT_BYTES),
            lane: None,
            class: ClassTag(9),
            token: 0,
        });
        assert!(host.wait_until(|host| !host.ended().is_empty()));
        host.ended_mut().clear();
    }
    let began = host.now();
    let mut rng = Rng::new(3);
    let (mut begun, mut times) = (BTreeMap::new(), Vec::new());
    let mut waits: BTreeMap<Wait, u64> = BTreeMap::new();
    let (mut next, mut throttled) = (0, Span::ZERO);
    while times.len() < WRITES as usize {
        while next < WRITES && begun.len() < DEPTH {
            let offset = rng.below(OBJECTS * OBJECT_BYTES / 4096) * 4096;
            begun.insert(next, host.now());
            host.submit(Op {
                ask: write(offset, 4096),
                lane: None,
                class: ClassTag(9),
                token: next,
            });
            next += 1;
        }
        let before = host.now();
        assert!(host.step());
        let passed = host.now().since(before).nanos();
        for (wait, count) in host.store().waits() {
            *waits.entry(wait).or_default() += passed * count as u64;
        }
        let now = host.now();
        for done in std::mem::take(host.ended_mut()) {
            throttled += done.stages.throttled;
            times.push(now.since(begun.remove(&done.token).expect("it was under way")));
        }
    }
    let took = host.now().since(began);
    times.sort_unstable();
    let totals = host.store().metrics().totals;
    let at = |share: usize| times[times.len() * share / 1000];
    println!(
        "{log_mode}, flush {flush_ms} ms: {:.0} writes/s, p50 {}, p99 {}, p99.9 {}, max {}",
        WRITES as f64 / took.as_secs_f64(),
        at(500),
        at(990),
        at(999),
        times[times.len() - 1]
    );
    println!(
        "  {} checkpoints, {} log flushes, {} log writes, log {} MiB at the device, {} MiB of the ring, throttled {throttled}",
        totals.checkpoints,
        totals.log_flushes,
        totals.log_writes,
        totals.log_device_bytes >> 20,
        totals.log_ring_bytes >> 20,
    );
    let mean = |nanos: u64| Span::from_nanos(nanos / WRITES);
    for (wait, nanos) in &waits {
        println!("  {wait:?}: {}", mean(*nanos));
    }
    (at(999), mean(waits.get(&Wait::LogRoom).copied().unwrap_or(0)))
}

#[test]
fn no_write_waits_for_a_whole_checkpoint() {
    for flush_ms in [1, 20] {
        let (fsync, _) = run(LogMode::Fsync, flush_ms);
        let (log_only, log_room) = run(LogMode::LogOnly, flush_ms);
        assert!(log_only < fsync + fsync, "{log_only} without flushes, {fsync} with them");
        assert!(log_room < Span::from_micros(10), "{log_room} for room in the log");
    }
}

/// Writes of two sorts, each in its lane, of which those of the first sort may be hurried. Answers the mean time of either sort.
fn in_lanes(place: impl Fn(u64) -> (usize, u32), is_hurried: bool) -> [Span; 2] {
    let timing = Timing {
        per_request: Span::from_micros(100),
        bytes_per_second: 400 << 20,
        flush: Span::from_millis(1),
        channels: 8,
    };
    let log_mode = LogMode::LogOnly;
    let options = Options { log_mode, cache: Bytes::from_mib(256), ..Options::default() };
    let mut host = SimStore::open(Time::ZERO, options, disks(timing));
    assert!(host.wait_until(|host| host.store().is_open()));
    let (mut rng, mut begun) = (Rng::new(3), BTreeMap::new());
    let (mut next, mut took, mut count) = (0, [Span::ZERO; 2], [0; 2]);
    while count[0] + count[1] < WRITES {
        while next < WRITES && begun.len() < DEPTH {
            let (sort, lane) = place(next);
            begun.insert(next, (sort, host.now()));
            let lane = OpLane(lane);
            let ask = write(rng.below(OBJECTS * OBJECT_BYTES / 4096) * 4096, 4096);
            host.submit(Op { ask, lane: Some(lane), class: ClassTag(9), token: next });
            if sort == 0 && is_hurried {
                host.hurry(lane);
            }
            next += 1;
        }
        assert!(host.step());
        let now = host.now();
        for done in std::mem::take(host.ended_mut()) {
            let (sort, since) = begun.remove(&done.token).expect("it was under way");
            took[sort] += now.since(since);
            count[sort] += 1;
        }
    }
    [took[0] / count[0], took[1] / count[1]]
}

/// One write of two hundred is somebody's who was promised it, in one of four lanes full of others' writes.
fn promised(is_hurried: bool) -> [Span; 2] {
    in_lanes(|number| (usize::from(number % 200 != 0), number as u32 % 4), is_hurried)
}

/// How many writes had ended when each of its first checkpoints did, in a store of this identity.
fn checkpoints_of(store_id: u64, trigger_spread_percent: u8) -> Vec<u64> {
    let timing = Timing {
        per_request: Span::from_micros(20),
        bytes_per_second: 1 << 30,
        flush: Span::from_millis(1),
        channels: 8,
    };
    let cache = Bytes::from_mib(256);
    let options = Options { trigger_spread_percent, cache, ..Options::default() };
    let mut host = SimStore::open(Time::ZERO, options, disks_of(store_id, timing));
    assert!(host.wait_until(|host| host.store().is_open()));
    let (mut rng, mut ended, mut seen) = (Rng::new(3), 0, Vec::new());
    while seen.len() < 6 {
        let ask = write(rng.below(OBJECTS * OBJECT_BYTES / 4096) * 4096, 4096);
        host.submit(Op { ask, lane: None, class: ClassTag(9), token: 0 });
        assert!(host.wait_until(|host| !host.ended().is_empty()));
        host.ended_mut().clear();
        ended += 1;
        if host.store().metrics().totals.checkpoints > seen.len() as u64 {
            seen.push(ended);
        }
    }
    seen
}

/// Stores that get the same updates slow down together, all of them at every checkpoint, unless they begin them apart.
#[test]
fn stores_that_get_the_same_updates_begin_their_checkpoints_apart() {
    assert_eq!(checkpoints_of(7, 0), checkpoints_of(8, 0));
    let (one, other) = (checkpoints_of(7, 40), checkpoints_of(8, 40));
    let all = checkpoints_of(7, 0).last().copied().expect("there are six");
    let apart = one.iter().zip(&other).filter(|(one, other)| one.abs_diff(**other) * 20 > all / 6);
    assert!(apart.count() >= 4, "{one:?} and {other:?}");
    for seen in [one, other] {
        assert!(seen.last() > Some(&(all / 2)), "{seen:?}, and {all} at the triggers");
    }
}

/// The throttle let the updates of a lane sleep one after the other, each as long as one that stood in a lane alone: where a sixth of
/// all had one lane they waited eight times as long as the others, and 1 % of a node's writes more than 20 ms.
#[test]
fn updates_sleep_alike_however_many_stand_in_their_lane() {
    let place = |number: u64| match number % 6 {
        0 => (0, 0),
        _ => (1, 1 + number as u32 % 47),
    };
    let [crowded, others] = in_lanes(place, false);
    assert!(crowded < others + others / 2, "{crowded} in a crowded lane, {others} elsewhere");
}

/// The throttle slowed every write down in its lane's order, whatever the scheduler had let go first: one that was promised slept as
/// long as all before it.
#[test]
fn what_was_promised_does_not_sleep_with_the_others() {
    let [slept, others] = promised(false);
    let [hurried, others_beside] = promised(true);
    assert!(hurried < slept - slept / 4, "{hurried}, and {slept} if it sleeps");
    assert!(others_beside < others + others / 20, "{others_beside} beside it, and {others}");
}
