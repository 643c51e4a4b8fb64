//! More than fits: requests that wait for memory, requests longer than any block, disks that come and go, and a
//! loop that is dropped with its hands full.

use crate::driven::{Driven, backends, folder, request};
use loadline_base::{Bytes, Rng};
use loadline_device::contract::ContractDisk;
use loadline_device::{Outcome, RequestKind};
use loadline_host::{DiskOpen, Loop, LoopEvent, LoopOptions, OpenedDisk};
use std::path::Path;

const SIZE: Bytes = Bytes::from_mib(8);

fn disk(folder: &Path, name: &str) -> OpenedDisk {
    DiskOpen::or_create(folder.join(name), SIZE).open().expect("the disk is made")
}

/// The least memory: 16 pages, blocks of four.
fn tight(backend: loadline_host::BackendChoice) -> LoopOptions {
    LoopOptions { backend, entries: 4, disk_memory: Bytes::from_kib(64), ..LoopOptions::default() }
}

fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    (0..length).map(|_| rng.next_u64() as u8).collect()
}

/// 300 writes of 4 to 400 KiB at once, with room for 64 KiB and four ring entries; then all of them are read back
/// at once.
#[test]
fn requests_wait_for_memory_and_long_ones_go_in_pieces() {
    for backend in backends() {
        let folder = folder();
        let mut driven = Driven::new(tight(backend), disk(folder.path(), "disk"));
        let mut rng = Rng::new(3);
        let mut offset = 0;
        let mut ranges = Vec::new();
        while offset + (400 << 10) < SIZE.get() {
            let length = 4096 * (1 + rng.below(100));
            ranges.push((offset, length));
            offset += length;
        }
        for kind in [RequestKind::Write, RequestKind::Read] {
            for (token, (offset, length)) in ranges.iter().enumerate() {
                let data = bytes(token as u64, *length as usize);
                let data = if kind == RequestKind::Write { data } else { Vec::new() };
                driven.submit(token as u64, &request(kind, *offset, *length), data);
            }
            assert_eq!(driven.turns.in_flight(driven.disk), ranges.len());
            for _ in 0..ranges.len() {
                let (token, outcome, data) = driven.wait();
                let length = ranges[token as usize].1 as usize;
                assert_eq!(outcome, Outcome::Done);
                assert!(data == bytes(token, length), "{kind:?} {token} has its own bytes");
            }
        }
        assert_eq!(driven.turns.in_flight(driven.disk), 0);
    }
}

/// Ranges past the end, empty, crooked, or of a request that has none.
#[test]
fn what_is_not_on_the_disk_fails_and_nothing_else_does() {
    for backend in backends() {
        let folder = folder();
        let mut driven = Driven::new(tight(backend), disk(folder.path(), "disk"));
        let end = SIZE.get();
        let wrong = [
            request(RequestKind::Read, end, 4096),
            request(RequestKind::Read, end - 4096, 8192),
            request(RequestKind::Read, u64::MAX - 4095, 4096),
            request(RequestKind::Read, 0, 0),
            request(RequestKind::Discard, 1, 4096),
            request(RequestKind::Flush, 0, 4096),
        ];
        for wrong in wrong {
            driven.submit(1, &wrong, Vec::new());
            assert_eq!(driven.wait(), (1, Outcome::Failed, Vec::new()), "{wrong:?}");
        }
        // A file would grow by it.
        driven.submit(1, &request(RequestKind::Write, end, 4096), bytes(1, 4096));
        assert_eq!(driven.wait().1, Outcome::Failed);
        let length = std::fs::metadata(folder.path().join("disk")).expect("it is there").len();
        assert_eq!(length, end);
        driven.submit(2, &request(RequestKind::Read, end - 4096, 4096), Vec::new());
        assert_eq!(driven.wait().1, Outcome::Done);
    }
}

/// The file is cut behind the loop's back: what is past its new end fails with an error number, and what is
/// before does not.
#[test]
fn a_disk_that_became_shorter_fails_with_a_reason() {
    for backend in backends() {
        let folder = folder();
        let opened = disk(folder.path(), "disk");
        let path = opened.path().to_path_buf();
        let mut driven = Driven::new(tight(backend), opened);
        let file = std::fs::OpenOptions::new().write(true).open(path).expect("the file is there");
        file.set_len(1 << 20).expect("it can be cut");
        driven.submit(1, &request(RequestKind::Read, 2 << 20, 4096), Vec::new());
        assert_eq!(driven.wait(), (1, Outcome::Failed, Vec::new()));
        driven.submit(2, &request(RequestKind::Read, (1 << 20) - 8192, 16 << 10), Vec::new());
        assert_eq!(driven.wait(), (2, Outcome::Failed, Vec::new()));
        driven.submit(3, &request(RequestKind::Read, 0, 4096), Vec::new());
        assert_eq!(driven.wait().1, Outcome::Done);
    }
}

/// A loop with several disks tells them apart; a removed disk can be opened by others at once, and its id be used
/// again.
#[test]
fn disks_come_and_go() {
    for backend in backends() {
        let folder = folder();
        let options = LoopOptions { backend, ..LoopOptions::default() };
        let mut turns = Loop::<()>::new(options).expect("a loop can be made");
        let mut ids = Vec::new();
        for name in ["a", "b", "c"] {
            ids.push(turns.add_disk(disk(folder.path(), name)).expect("the disk is added"));
        }
        for (mark, id) in ids.iter().enumerate() {
            turns.submit(*id, 0, &request(RequestKind::Write, 0, 4096), vec![mark as u8; 4096]);
        }
        settle(&mut turns, &ids);
        drop(turns.remove_disk(ids[1]));
        let again = turns.add_disk(disk(folder.path(), "b")).expect("the disk is added again");
        ids[1] = again;
        for (mark, id) in ids.iter().enumerate() {
            turns.submit(*id, 0, &request(RequestKind::Read, 0, 4096), Vec::new());
            let data = settle(&mut turns, &[*id]);
            assert_eq!(data, [vec![mark as u8; 4096]]);
        }
    }
}

/// Answers until nothing is in flight.
fn settle(turns: &mut Loop<()>, disks: &[loadline_host::DiskId]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut happened = Vec::new();
    while disks.iter().any(|disk| turns.in_flight(*disk) > 0) {
        turns.turn(None, &mut happened);
        for happening in happened.drain(..) {
            let LoopEvent::DiskDone { outcome, data, .. } = happening else { panic!("a disk's") };
            assert_eq!(outcome, Outcome::Done);
            all.push(data);
        }
    }
    all
}

/// The kernel writes into the loop's memory until it has answered, so the loop may only go when it has.
/// Afterwards the file is free again, and every write that was begun is whole or was never there.
#[test]
fn a_loop_dropped_in_flight_leaves_nothing_behind() {
    for backend in backends() {
        let folder = folder();
        for round in 1..20u8 {
            let options = LoopOptions { backend, ..LoopOptions::default() };
            let mut turns = Loop::<()>::new(options).expect("a loop can be made");
            let id = turns.add_disk(disk(folder.path(), "disk")).expect("it is free again");
            for place in 0..200u64 {
                let write = request(RequestKind::Write, place * 16384, 16384);
                turns.submit(id, place, &write, vec![round; 16384]);
                turns.submit(
                    id,
                    place,
                    &request(RequestKind::Read, place * 16384, 16384),
                    Vec::new(),
                );
            }
            turns.turn(Some(turns.now()), &mut Vec::new());
        }
        let contents = std::fs::read(folder.path().join("disk")).expect("the file is there");
        for page in contents.chunks(4096) {
            assert!(page.iter().all(|byte| *byte == page[0]), "a page of one round");
        }
    }
}
