//! A restart takes at most five seconds of virtual time for a gibibyte of log, on a disk of 1 GiB/s with 80 µs a request.

use crate::bounds;
use loadline_base::{Bytes, Rng, Span, Time};
use loadline_device::ClassTag;
use loadline_sim::disk::{CutStyle, SimDisk, SimDiskSpec, Timing, Written};
use loadline_sim::{SimStore, StoreDisks};
use loadline_store::paged::bounds::cache_least;
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::layout::LOG_HEADER;
use loadline_store::paged::throttle::ThrottlePolicy;
use loadline_store::paged::{
    Answer, Ask, Edit, Fault, Format, LogMode, Op, OpError, Options, Protection, RestartFault,
    ScanBounds,
};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

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

/// A log that stands in a volatile cache alone, of which a power cut in the midst of the restart takes the end: what checkpoints of the restart have
/// brought home by then was the state after some transaction, with what is left of the log. It has a device of its own, which nothing flushes
/// but what is done for this. Rot in that log afterwards is found out, or has taken what nobody had relied on: the restart has told the log's witness how
/// far the log went, before it carried anything out.
#[test]
fn a_restart_that_is_cut_short_leaves_what_was_once_the_state() {
    let mut rng = Rng::new(3);
    let (mut cuts, mut opened, mut refused) = (0, 0, 0);
    for protection in [Protection::Checkpoint, Protection::Log] {
        let FirstLife { disks, options: large, keys, states, log_bytes } =
            first_life(protection, &mut rng);
        let small = bounds::options(bounds::floor(), protection, LogMode::LogOnly);
        let mut host = SimStore::open(Time::ZERO, small, disks);
        let mut events = 0;
        while !host.store().is_open() && host.step() {
            events += 1;
            if events % 9 > 0 {
                continue;
            }
            for style in [CutStyle::AllLost, CutStyle::Random] {
                let mut disks = host.disks().clone();
                let log = disks.log.as_mut().expect("it has one");
                log.power_cut(style, &mut rng);
                disks.data.power_cut(CutStyle::Random, &mut rng);
                let mut rotten = disks.clone();
                let mut again = SimStore::open(Time::ZERO, large, disks);
                let found = digest(&all_keys(&mut again));
                let stage = host.store().restart_progress();
                assert!(states.contains(&found), "event {events}, {style:?}, in {stage:?}");
                cuts += 1;
                if cuts % 2 > 0 {
                    continue;
                }
                let log = rotten.log.as_mut().expect("it has one");
                let at = LOG_HEADER + 16 * rng.below(log_bytes / 16);
                log.rot(at..at + 16);
                let mut again = SimStore::open(Time::ZERO, large, rotten);
                match refusal(&mut again) {
                    Some(fault) => {
                        assert!(fault.is_damage(), "{fault:?}");
                        refused += 1;
                    }
                    None => {
                        let found = digest(&all_keys(&mut again));
                        assert!(states.contains(&found), "event {events}, {at} rots, in {stage:?}");
                        opened += 1;
                    }
                }
            }
        }
        let checkpoints = host.store().metrics().totals.checkpoints;
        assert!(checkpoints > 3, "{checkpoints} checkpoints, because the cache holds no more");
        assert!(all_keys(&mut host) == keys);
    }
    assert!(cuts > 500, "{cuts} cuts");
    assert!(opened > 50 && refused > 50, "{opened} opened in spite of rot, {refused} did not");
}

/// A device may read something else the second time. What it reads then is compared with what it has read before, and never written over it.
#[test]
fn a_log_that_is_read_otherwise_the_second_time_is_refused_and_not_written() {
    let mut rng = Rng::new(4);
    let life = first_life(Protection::Checkpoint, &mut rng);
    let (mut refused, mut is_over) = (0, false);
    for events in (0..).flat_map(|events| [events; 8]) {
        let mut host = SimStore::open(Time::ZERO, life.options, life.disks.clone());
        is_over |= !(0..events).all(|_| !host.store().is_open() && host.step());
        if is_over {
            break;
        }
        let log = host.disks_mut().log.as_mut().expect("it has one");
        let at = LOG_HEADER + 16 * rng.below(life.log_bytes / 16);
        let before = log.peek(at..at + 16);
        log.rot(at..at + 16);
        log.note_writes();
        let Some(fault) = refusal(&mut host) else { continue };
        assert!(matches!(fault, RestartFault::LogDamaged(_)), "{fault:?}");
        refused += 1;
        let mut disks = host.into_disks();
        let log = disks.log.as_mut().expect("it has one");
        let is_over_it = |Written { offset, before }: &Written| {
            *offset < at + 16 && at < offset + before.len() as u64
        };
        assert!(!log.take_written().iter().any(is_over_it), "after {events} events");
        // It was not the medium that was wrong.
        log.poke(at, &before);
        [&mut disks.data, log].into_iter().for_each(|disk| disk.kill(&mut rng));
        let mut again = SimStore::open(Time::ZERO, life.options, disks);
        assert!(all_keys(&mut again) == life.keys, "after {events} events");
    }
    assert!(refused > 10, "{refused} refused");
}

/// Long values that puts and removals among others take away need several steps with the least cache. A checkpoint between two of them has noted the first
/// one down as how far the first transaction of the log was, which was another.
#[test]
fn a_long_value_goes_in_steps_among_changes_that_are_carried_out_by_key() {
    const LONG: usize = 1 << 20;
    let format = Format {
        data_bytes: Bytes::from_mib(128),
        log_bytes: Bytes::from_mib(64),
        segment_bytes: Bytes::from_mib(8),
        block_bytes: 4096,
        recovery_bytes: Bytes::from_mib(32),
        page: PageSize::DEFAULT,
        ..bounds::format()
    };
    let least = cache_least(&format.layout().expect("it fits"));
    let options = |cache| Options {
        log_trigger_percent: 100,
        dirty_trigger_percent: 100,
        ..bounds::options(cache, Protection::Checkpoint, LogMode::Fsync)
    };
    let mut host = bounds::open(options(Bytes::from_mib(64)), &format);
    let key = |number: u64| number.to_be_bytes().to_vec();
    let long = |number: u64| Edit::Put { key: key(number), value: vec![number as u8; LONG] };
    let mut keys = Keys::new();
    let mut transact = |host: &mut SimStore, edits: Vec<Edit>| {
        edits.iter().for_each(|edit| carry_out(&mut keys, edit));
        assert_eq!(bounds::transact(host, edits), Ok(Answer::Done));
    };
    for number in 0..400 {
        let put = Edit::Put { key: key(number), value: vec![3; 800] };
        transact(&mut host, vec![if number % 100 == 50 { long(number) } else { put }]);
    }
    assert_eq!(bounds::ask(&mut host, Ask::Checkpoint).map(drop), Ok(()));
    for number in 0..400 {
        let put = |number| Edit::Put { key: key(number), value: vec![7; 30] };
        transact(&mut host, vec![put(number)]);
        if number == 300 {
            transact(&mut host, vec![Edit::Delete { key: key(250) }, put(170)]);
        }
    }
    let mut rng = Rng::new(1);
    let mut disks = host.into_disks();
    disks.data.power_cut(CutStyle::AllKept, &mut rng);
    let is_whole = |disks: StoreDisks, cache| {
        let mut again = SimStore::open(Time::ZERO, options(cache), disks);
        all_keys(&mut again) == keys
    };
    let mut host = SimStore::open(Time::ZERO, options(least), disks);
    let (mut events, mut last) = (0, 0);
    while !host.store().is_open() && host.step() {
        events += 1;
        let checkpoints = host.store().metrics().totals.checkpoints;
        if checkpoints > last || events % 50 == 0 {
            last = checkpoints;
            let mut disks = host.disks().clone();
            disks.data.power_cut(CutStyle::Random, &mut rng);
            let cache = if events % 2 == 0 { least } else { Bytes::from_mib(64) };
            assert!(is_whole(disks, cache), "event {events}, checkpoint {checkpoints}");
        }
    }
    assert_eq!(host.store().fault(), None);
    assert!(last > 2, "{last} checkpoints, because the cache holds no more");
    assert_eq!(bounds::ask(&mut host, Ask::Checkpoint).map(drop), Ok(()));
    let mut disks = host.into_disks();
    disks.data.power_cut(CutStyle::Random, &mut rng);
    assert!(is_whole(disks, least), "after the restart");
}

/// A device that puts have filled, in whatever order of their keys, has room for them when a restart puts them again in an order of its own.
#[test]
fn what_filled_a_device_fits_when_it_is_replayed() {
    for order in 0..3 {
        let format = Format {
            data_bytes: Bytes::from_mib(22),
            log_bytes: Bytes::from_mib(14),
            recovery_bytes: Bytes::from_mib(6),
            ..bounds::format()
        };
        let options = Options {
            log_trigger_percent: 100,
            dirty_trigger_percent: 100,
            ..bounds::options(Bytes::from_mib(4), Protection::Checkpoint, LogMode::LogOnly)
        };
        let mut host = bounds::open(options, &format);
        let (mut keys, mut rng) = (Keys::new(), Rng::new(order));
        for number in 0u64.. {
            let key = match order {
                0 => rng.next_u64(),
                1 => number,
                _ => u64::MAX - number,
            };
            let length = 1 + rng.below(180) as usize;
            let put = Edit::Put { key: key.to_be_bytes().to_vec(), value: vec![1; length] };
            match bounds::transact(&mut host, vec![put.clone()]) {
                Ok(_) => carry_out(&mut keys, &put),
                Err(OpError::NoSpace) => break,
                other => panic!("{other:?}"),
            }
        }
        let totals = host.store().metrics().totals;
        assert_eq!(totals.checkpoints, 0, "everything is in the log");
        let mut disks = host.into_disks();
        disks.data.power_cut(CutStyle::AllKept, &mut rng);
        let mut host = SimStore::open(Time::ZERO, options, disks);
        host.wait_until(|host| host.store().is_open() || host.store().fault().is_some());
        assert_eq!(host.store().fault(), None);
        assert_eq!(host.store().metrics().totals.replayed, keys.len() as u64);
        assert!(all_keys(&mut host) == keys);
    }
}

/// A record whose data a power cut took away is the end of its log, and stays on the device whole. A life that logs nothing brought the very
/// data to the very place, removed it, and left the record where its own log ended: the next life that logs carried it out.
#[test]
fn a_record_without_its_data_is_not_carried_out_once_its_place_holds_the_same() {
    let mut rng = Rng::new(4);
    for protection in [Protection::Checkpoint, Protection::Log] {
        let (disks, logged) = on_two_devices(protection);
        let mut first = SimStore::open(Time::ZERO, logged, disks);
        // Both lives begin at a checkpoint, so both take the same pages.
        let put = Edit::Put { key: vec![9], value: vec![9] };
        assert_eq!(bounds::transact(&mut first, vec![put]), Ok(Answer::Done));
        checkpoint(&mut first);
        let written = || vec![bounds::write(1, 0, vec![7; 64 << 10])];
        assert_eq!(bounds::transact(&mut first, written()), Ok(Answer::Done));
        assert!(first.store().metrics().totals.own_bytes > 0, "it goes beside the log");
        let mut disks = first.into_disks();
        disks.data.power_cut(CutStyle::AllLost, &mut rng);
        disks.log.as_mut().expect("it has one").power_cut(CutStyle::AllKept, &mut rng);
        let unlogged = Options { log_mode: LogMode::None, ..logged };
        let mut second = SimStore::open(Time::ZERO, unlogged, disks);
        assert_eq!(bounds::read(&mut second, 1), None, "its data is gone");
        let removed = vec![Edit::Remove { object: bounds::object(1) }];
        for edits in [written(), removed] {
            assert_eq!(bounds::transact(&mut second, edits), Ok(Answer::Done));
        }
        checkpoint(&mut second);
        let mut third = SimStore::open(Time::ZERO, logged, killed(second, &mut rng));
        assert_eq!(bounds::read(&mut third, 1), None, "it was removed, {protection:?}");
    }
}

fn checkpoint(host: &mut SimStore) {
    let ended = bounds::ask(host, Ask::Checkpoint);
    assert!(matches!(ended, Ok(Answer::Checkpointed(_))), "{ended:?}");
}

type Keys = BTreeMap<Vec<u8>, Vec<u8>>;

/// What a store has left that was killed with all of its log in the volatile cache of a device of its own.
struct FirstLife {
    disks: StoreDisks,
    options: Options,
    keys: Keys,
    /// What the keys were after each transaction.
    states: Vec<u64>,
    log_bytes: u64,
}

/// A store whose log has a device of its own, which is never checkpointed for the log's length.
fn on_two_devices(protection: Protection) -> (StoreDisks, Options) {
    let log_size = Bytes::from_mib(5);
    let format = Format {
        log_device_bytes: Some(log_size),
        log_bytes: Bytes::from_mib(4),
        recovery_bytes: Bytes::from_mib(4),
        ..bounds::format()
    };
    let options = Options {
        log_trigger_percent: 100,
        dirty_trigger_percent: 100,
        ..bounds::options(Bytes::from_mib(24), protection, LogMode::LogOnly)
    };
    let timing = Timing::FREE;
    let spec = |size| SimDiskSpec { size, sector: 512, write_cache: true, timing };
    let log = Some(SimDisk::new(spec(log_size), 2));
    let mut disks = StoreDisks { data: SimDisk::new(spec(format.data_bytes), 1), log };
    disks.format(&format, protection).expect("it fits");
    (disks, options)
}

/// What is left of a store on two devices that is killed, with all that it had written.
fn killed(host: SimStore, rng: &mut Rng) -> StoreDisks {
    let mut disks = host.into_disks();
    let log = disks.log.as_mut().expect("it has one");
    [&mut disks.data, log].into_iter().for_each(|disk| disk.kill(rng));
    disks
}

fn first_life(protection: Protection, rng: &mut Rng) -> FirstLife {
    let (disks, options) = on_two_devices(protection);
    let mut host = SimStore::open(Time::ZERO, options, disks);
    let mut keys = Keys::new();
    let mut states = vec![digest(&keys)];
    for number in 0..500 {
        let edits = some_edits(number, rng);
        edits.iter().for_each(|edit| carry_out(&mut keys, edit));
        states.push(digest(&keys));
        assert_eq!(bounds::transact(&mut host, edits), Ok(Answer::Done));
    }
    let totals = host.store().metrics().totals;
    assert_eq!(totals.checkpoints, 0);
    let disks = killed(host, rng);
    FirstLife { disks, options, keys, states, log_bytes: totals.log_bytes }
}

fn digest(keys: &Keys) -> u64 {
    let mut hasher = DefaultHasher::new();
    keys.hash(&mut hasher);
    hasher.finish()
}

fn carry_out(keys: &mut Keys, edit: &Edit) {
    match edit {
        Edit::Put { key, value } => drop(keys.insert(key.clone(), value.clone())),
        Edit::Delete { key } => drop(keys.remove(key)),
        _ => {}
    }
}

/// Several puts and removals of one another's keys, now and then a value in pieces or an object.
fn some_edits(number: u64, rng: &mut Rng) -> Vec<Edit> {
    let mut edits = Vec::new();
    for _ in 0..=rng.below(16) {
        let key = (rng.below(3000) * 7919 % 10_007).to_be_bytes().to_vec();
        let length = if rng.below(400) == 0 { 900 } else { rng.below(200) };
        edits.push(match rng.below(4) {
            0 => Edit::Delete { key },
            _ => Edit::Put { key, value: vec![number as u8; length as usize] },
        });
    }
    if rng.below(60) == 0 {
        edits.push(bounds::write(number % 3, rng.below(5000), vec![1; 700]));
    }
    edits
}

/// Why a store does not open, if it does not.
fn refusal(host: &mut SimStore) -> Option<RestartFault> {
    host.wait_until(|host| host.store().is_open() || host.store().fault().is_some());
    match host.store().fault()? {
        Fault::Restart(fault) => Some(fault),
        other => panic!("{other:?}"),
    }
}

/// All keys of a store, as soon as it is open, with their values.
fn all_keys(host: &mut SimStore) -> Keys {
    match bounds::ask(host, Ask::Scan { from: vec![0], most: ScanBounds::keys(usize::MAX) }) {
        Ok(Answer::Pairs(pairs)) => pairs.into_iter().collect(),
        other => panic!("{other:?}, {:?}", host.store().fault()),
    }
}
