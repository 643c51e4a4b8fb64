//! What a restart holds in memory. It kept a note of each run that a record of the log had placed, unread but for the last ones, so that a log of small writes
//! beside it took its own size of memory, or three times that where a transaction places many, whatever the cache.

use crate::sample::{Disks, Sample, object};
use loadline_base::{Bytes, Rng};
use loadline_store::Version;
use loadline_store::paged::api::pattern;
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::{
    Answer, Ask, Edit, Format, LogMode, Options, Payload, Protection, bounds,
};

const PAGE: u64 = 1024;
/// Pages of the object, so that most of the device is free for overwrites.
const PAGES: u64 = 8192;
/// Writes of a transaction, each of a page.
const WRITES: u64 = 64;
const TRANSACTIONS: u64 = 2300;
/// Of the life that restarts: a tenth of what the log speaks of.
const CACHE: Bytes = Bytes::from_mib(4);

fn format_of() -> Format {
    Format {
        store_id: 78,
        data_bytes: Bytes::from_mib(200),
        log_device_bytes: None,
        log_bytes: Bytes::from_mib(16),
        segment_bytes: Bytes::from_kib(64),
        block_bytes: 512,
        recovery_bytes: Bytes::from_mib(16),
        page: PageSize::new(PAGE as u32).expect("legal"),
    }
}

fn options(log_mode: LogMode, cache: Bytes) -> Options {
    let direct_write = Bytes::new(PAGE);
    Options { log_mode, direct_write, cache, ..Sample::options(Protection::Checkpoint) }
}

fn open(disks: Disks, log_mode: LogMode) -> Sample {
    Sample::begin_with(disks, options(log_mode, CACHE)).opened()
}

fn version(sample: &mut Sample) -> Version {
    match sample.answer(Ask::Stat(object(2))) {
        Ok(Answer::Meta(Some(meta))) => meta.version,
        other => panic!("{other:?}"),
    }
}

/// A write of as many pages as one of its transactions has, side by side.
fn whole(seed: u64, first: u64) -> Edit {
    let data = Payload::Pattern { seed, offset: 0, length: WRITES * PAGE };
    Edit::Write { object: object(2), offset: first * PAGE, data, version: Version(seed) }
}

/// A page that this transaction has written did not reach the device.
fn lose_data_of(number: u64, disks: &mut Disks) {
    let data = pattern(number, 0, PAGE);
    let at = disks.data.chunks_exact(PAGE as usize).rposition(|page| page == data);
    let at = at.expect("it is on the device") * PAGE as usize;
    disks.data[at..at + PAGE as usize].fill(0);
}

/// Devices of a store whose log is full of writes beside it, and what each page holds by the last of them.
fn full_of_placed_writes(log_mode: LogMode, transactions: u64) -> (Disks, Vec<u64>) {
    let disks = Disks::made(&format_of(), Protection::Checkpoint);
    let mut sample = Sample::begin_with(disks, options(log_mode, Bytes::from_mib(64))).opened();
    for first in (0..PAGES).step_by(WRITES as usize) {
        sample.ask(Ask::Transaction(vec![whole(1, first)]));
    }
    sample.ask(Ask::Checkpoint);
    sample.store.hold_checkpoints();
    let mut rng = Rng::new(5);
    let mut seeds = vec![0; PAGES as usize];
    for number in 2..transactions + 2 {
        let mut pages: Vec<u64> = (0..WRITES).map(|_| rng.below(PAGES)).collect();
        pages.sort_unstable();
        pages.dedup();
        let write = |page: &u64| Edit::Write {
            object: object(2),
            offset: page * PAGE,
            data: Payload::Pattern { seed: number, offset: 0, length: PAGE },
            version: Version(number),
        };
        pages.iter().for_each(|page| seeds[*page as usize] = number);
        sample.ask(Ask::Transaction(pages.iter().map(write).collect()));
    }
    (sample.disks, seeds)
}

fn check(log_mode: LogMode) {
    let (disks, seeds) = full_of_placed_writes(log_mode, TRANSACTIONS);
    let layout = format_of().layout().expect("it fits");
    let mut sample = Sample::begin_with(disks, options(log_mode, CACHE));
    let mut most = 0;
    while !sample.store.is_open() {
        assert_eq!(sample.store.fault(), None, "it opens");
        sample.step();
        most = most.max(sample.store.restart_memory());
    }
    let bound = bounds::restart_bytes_max(&layout, CACHE);
    assert!(most > 0 && most <= bound, "{most} bytes of {bound}");
    for page in (0..PAGES).step_by(7) {
        let read = Ask::Read { object: object(2), offset: page * PAGE, length: PAGE };
        let (seed, at) = match seeds[page as usize] {
            0 => (1, page % WRITES),
            seed => (seed, 0),
        };
        let expected = pattern(seed, at * PAGE, PAGE);
        assert!(sample.answer(read) == Ok(Answer::Bytes(Some(expected))), "page {page}");
    }
}

#[test]
fn a_log_of_writes_beside_it_is_read_in_bounded_memory() {
    check(LogMode::Fsync);
}

/// Nothing of the log is known to be durable: all that stands beside it is compared, and written again.
#[test]
fn a_tail_of_writes_beside_it_is_compared_in_bounded_memory() {
    check(LogMode::LogOnly);
}

/// Of one of them the data did not reach the device, so the log ends before it: those before are there, and the pages of those behind are free again. One
/// that stood alone in the tail was not compared, once: there was no other record behind it at which the reading would have stopped.
#[test]
fn a_tail_ends_where_data_beside_it_is_missing() {
    for (last, lost) in [(41, 25), (41, 41), (2, 2)] {
        let (mut disks, _) = full_of_placed_writes(LogMode::LogOnly, last - 1);
        let mut sample = open(disks.clone(), LogMode::LogOnly);
        assert_eq!(version(&mut sample), Version(last), "with all of it");
        lose_data_of(lost, &mut disks);
        let mut sample = open(disks, LogMode::LogOnly);
        assert_eq!(version(&mut sample), Version(lost - 1));
        sample.settle();
        let free = sample.free_or_returning();
        let mut again = open(sample.disks.clone(), LogMode::LogOnly);
        assert_eq!(version(&mut again), Version(lost - 1));
        assert_eq!(again.free_or_returning(), free, "as the free map says");
    }
}

/// A life without a log wrote nothing over the remains of the tail that its restart had cut, and gave their pages to others. The restart after it read those
/// remains again, took their pages as it did, and refused the store, before it had seen that the log ends before them.
#[test]
fn pages_that_remains_of_a_tail_speak_of_may_be_others() {
    let (mut disks, _) = full_of_placed_writes(LogMode::LogOnly, 40);
    lose_data_of(25, &mut disks);
    let mut sample = open(disks, LogMode::None);
    assert_eq!(version(&mut sample), Version(24));
    for first in (0..PAGES).step_by(WRITES as usize) {
        sample.ask(Ask::Transaction(vec![whole(50, first)]));
    }
    sample.ask(Ask::Checkpoint);
    let mut again = open(sample.disks.clone(), LogMode::LogOnly);
    assert_eq!(version(&mut again), Version(50));
    again.settle();
    sample.settle();
    assert_eq!(again.free_or_returning(), sample.free_or_returning());
}
