//! Blocks of the log's ring that the device does not read: where nobody needs them the store opens, and where somebody does it says which.
//!
//! The log is read MiB by MiB, ahead of its end, and behind it a search goes on for more than one: a single bad sector there, in what was given up long ago
//! or was never written, kept the store shut.

use super::sample::{Disks, Sample};
use loadline_store::paged::check::{LogReader, newest};
use loadline_store::paged::{Answer, Ask, Edit, Fault, Protection, RestartFault, StoreDevice};

const BLOCK: u64 = 512;
const HEADER: u64 = 24;
const KEYS: u64 = 200;

fn key(at: u64) -> Vec<u8> {
    format!("key {at}").into_bytes()
}

fn value(at: u64) -> Vec<u8> {
    vec![at as u8; 300]
}

/// A store with a log, and where on the device that begins and ends.
fn logged(protection: Protection, in_checkpoint: bool) -> (Disks, u64, u64) {
    let mut sample = Sample::open(Disks::formatted(protection, false), protection);
    for at in 0..KEYS {
        sample.ask(Ask::Transaction(vec![Edit::Put { key: key(at), value: value(at) }]));
    }
    let disks = if in_checkpoint { sample.crash_in_checkpoint() } else { sample.disks };
    let superblock = newest(&disks.bytes()).expect("there is a store");
    let bytes = disks.bytes();
    let mut reader = LogReader::new(&bytes, &superblock);
    reader.read(|_| true);
    let (from, to) = (superblock.completed.position, reader.position());
    let ends = (reader.place(from), reader.place(to));
    (disks, ends.0, ends.1)
}

/// The store on these devices, as far as it opens where a block cannot be read.
fn begin(disks: &Disks, protection: Protection, bad: u64) -> Sample {
    let mut sample = Sample::begin(disks.clone(), protection);
    sample.unreadable = Some(bad..bad + BLOCK);
    while !sample.store.is_open() && sample.store.fault().is_none() {
        sample.step();
    }
    sample
}

#[test]
fn a_bad_block_that_nobody_needs_is_passed_and_one_that_is_needed_is_named() {
    let protections = [Protection::Checkpoint, Protection::Log];
    for (protection, in_checkpoint) in
        protections.into_iter().flat_map(|one| [(one, false), (one, true)])
    {
        let (disks, start, end) = logged(protection, in_checkpoint);
        // Whether a record comes next is told by where its header would be.
        let behind = (end + HEADER).next_multiple_of(BLOCK);
        for distance in [0, 1, 7, 100, 1000, 2047, 2048, 2500, 4096, 7000] {
            let bad = behind + distance * BLOCK;
            let when = format!("{protection}, in a checkpoint {in_checkpoint}, block {distance}");
            let mut sample = begin(&disks, protection, bad);
            assert_eq!(sample.store.fault(), None, "{when}");
            for at in 0..KEYS {
                let found = sample.answer(Ask::Get(key(at)));
                assert_eq!(found, Ok(Answer::Value(Some(value(at)))), "{when}: key {at}");
            }
        }
        // What stands before a checkpoint that has its images is not read again.
        let are_needed = !in_checkpoint || protection == Protection::Log;
        for bad in [start, (start + end) / 2, end - 1].map(|at| at / BLOCK * BLOCK) {
            if !are_needed {
                continue;
            }
            let fault = begin(&disks, protection, bad).store.fault();
            let wanted = RestartFault::Unreadable(StoreDevice::Log, bad);
            assert_eq!(fault, Some(Fault::Restart(wanted)), "{protection}, {in_checkpoint}");
        }
    }
}

/// Where none of the log is read, it is not asked block by block for ever.
#[test]
fn where_nothing_is_read_the_store_says_so_soon() {
    let protection = Protection::Checkpoint;
    let (disks, start, end) = logged(protection, false);
    for from in [start / BLOCK * BLOCK, end.next_multiple_of(BLOCK)] {
        let mut sample = Sample::begin(disks.clone(), protection);
        sample.unreadable = Some(from..from + (6 << 20));
        let mut steps = 0;
        while !sample.store.is_open() && sample.store.fault().is_none() {
            sample.step();
            steps += 1;
        }
        let fault = sample.store.fault();
        assert!(
            matches!(fault, Some(Fault::Restart(RestartFault::Unreadable(StoreDevice::Log, _)))),
            "{fault:?}"
        );
        assert!(steps < 500, "{steps} requests");
    }
}
