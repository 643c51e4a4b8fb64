//! What every disk of every world must do, as test bodies: a world's own tests call them with its disk.
//!
//! Only what holds without a power cut; what survives one is each world's own matter.

use crate::{ClassTag, Outcome, Priority, PriorityClass, Request, RequestKind};
use loadline_base::{Bytes, Rng};

/// A disk as these tests see it. It has at least [`SIZE_MIN`] bytes, and what they hold does not matter.
pub trait ContractDisk {
    /// Its size.
    fn size(&self) -> Bytes;
    /// Requests are multiples of this.
    fn sector(&self) -> u32;
    /// Takes a request, without waiting for it. `data` is what a write writes, and empty for any other.
    fn submit(&mut self, id: u64, request: &Request, data: Vec<u8>);
    /// Waits for the next answer: which request, how it ended, and the bytes of a read or the buffer of a write.
    fn wait(&mut self) -> (u64, Outcome, Vec<u8>);
}

/// The smallest disk to run these tests on.
pub const SIZE_MIN: Bytes = Bytes::from_mib(1);

/// Runs every test but [`refuses_part_of_a_sector`], each on the same disk.
pub fn check(disk: &mut impl ContractDisk) {
    assert!(disk.size() >= SIZE_MIN, "these tests need {SIZE_MIN}");
    reads_back_what_was_written(disk);
    overwrites_only_what_a_write_names(disk);
    flushes_and_discards(disk);
    accepts_every_priority(disk);
    answers_many_in_flight_once_each(disk);
}

/// The first sector, the last one, one in between, and 64 KiB at once.
pub fn reads_back_what_was_written(disk: &mut impl ContractDisk) {
    let sector = u64::from(disk.sector());
    let last = disk.size().get() - sector;
    for (offset, length) in [(0, sector), (last, sector), (7 * sector, sector), (sector, 64 << 10)]
    {
        let bytes = pattern(offset, length);
        write(disk, offset, &bytes);
        assert_eq!(read(disk, offset, length), bytes, "{length} bytes at {offset}");
    }
}

/// A short write into the middle of a long one leaves both ends.
pub fn overwrites_only_what_a_write_names(disk: &mut impl ContractDisk) {
    let sector = u64::from(disk.sector());
    let mut expected = pattern(1, 16 * sector);
    write(disk, 0, &expected);
    let middle = pattern(2, 3 * sector);
    write(disk, 5 * sector, &middle);
    expected[5 * sector as usize..8 * sector as usize].copy_from_slice(&middle);
    assert_eq!(read(disk, 0, 16 * sector), expected);
}

/// A flush succeeds with and without writes before it. A discard leaves its neighbours, and its range can be
/// written again.
pub fn flushes_and_discards(disk: &mut impl ContractDisk) {
    let sector = u64::from(disk.sector());
    let bytes = pattern(3, 12 * sector);
    flush(disk);
    write(disk, 0, &bytes);
    flush(disk);
    let answer =
        carry_out(disk, &request(RequestKind::Discard, 4 * sector, 4 * sector), Vec::new());
    assert_eq!(answer.0, Outcome::Done);
    let part = |from: u64, to: u64| &bytes[(from * sector) as usize..(to * sector) as usize];
    assert_eq!(read(disk, 0, 4 * sector), part(0, 4));
    assert_eq!(read(disk, 8 * sector, 4 * sector), part(8, 12));
    write(disk, 4 * sector, part(4, 8));
    assert_eq!(read(disk, 0, 12 * sector), bytes);
}

/// Each class with its highest and lowest level, alone and with a duration limit descriptor, is no more than a
/// wish: the request is carried out.
pub fn accepts_every_priority(disk: &mut impl ContractDisk) {
    let sector = u64::from(disk.sector());
    let bytes = pattern(4, sector);
    let classes = [
        PriorityClass::None,
        PriorityClass::RealTime,
        PriorityClass::BestEffort,
        PriorityClass::Idle,
    ];
    for class in classes {
        for word in [Priority::new(class, 0), Priority::new(class, 7).with_descriptor(1)] {
            for kind in [RequestKind::Write, RequestKind::Read] {
                let request = Request { priority: word, ..request(kind, 0, sector) };
                let data = if kind == RequestKind::Write { bytes.clone() } else { Vec::new() };
                let answer = carry_out(disk, &request, data);
                assert_eq!(answer, (Outcome::Done, bytes.clone()), "{kind:?} with {word:?}");
            }
        }
    }
}

/// Writes to many places at once, then reads of them, in the order of a shuffled deck: each is answered once, in
/// any order, with its own bytes.
pub fn answers_many_in_flight_once_each(disk: &mut impl ContractDisk) {
    const MANY: u64 = 128;
    let sector = u64::from(disk.sector());
    let places = shuffled(MANY);
    for kind in [RequestKind::Write, RequestKind::Read] {
        for place in &places {
            let bytes = pattern(*place, sector);
            let data = if kind == RequestKind::Write { bytes } else { Vec::new() };
            disk.submit(*place, &request(kind, place * sector, sector), data);
        }
        let mut answered = vec![false; MANY as usize];
        for _ in 0..MANY {
            let (id, outcome, data) = disk.wait();
            assert_eq!((outcome, &data), (Outcome::Done, &pattern(id, sector)), "request {id}");
            let before = std::mem::replace(&mut answered[id as usize], true);
            assert!(!before, "request {id} is answered once");
        }
    }
}

/// A write of half a sector never succeeds: the disk answers `Failed`, or takes it for the bug that it is
/// and panics, as the caller says with `should_panic`.
pub fn refuses_part_of_a_sector(disk: &mut impl ContractDisk) {
    let half = u64::from(disk.sector() / 2);
    let answer = carry_out(disk, &request(RequestKind::Write, half, half), pattern(0, half));
    assert_eq!(answer.0, Outcome::Failed);
}

fn request(kind: RequestKind, offset: u64, length: u64) -> Request {
    Request {
        kind,
        offset,
        length: Bytes::new(length),
        class: ClassTag(0),
        priority: Priority::default(),
        duration_limit: None,
    }
}

fn carry_out(disk: &mut impl ContractDisk, request: &Request, data: Vec<u8>) -> (Outcome, Vec<u8>) {
    disk.submit(99, request, data);
    let (id, outcome, data) = disk.wait();
    assert_eq!(id, 99, "the answer names its request");
    (outcome, data)
}

/// Writes, and looks at the buffer that comes back.
fn write(disk: &mut impl ContractDisk, offset: u64, bytes: &[u8]) {
    let request = request(RequestKind::Write, offset, bytes.len() as u64);
    let answer = carry_out(disk, &request, bytes.to_vec());
    assert_eq!(answer, (Outcome::Done, bytes.to_vec()));
}

fn read(disk: &mut impl ContractDisk, offset: u64, length: u64) -> Vec<u8> {
    let (outcome, data) = carry_out(disk, &request(RequestKind::Read, offset, length), Vec::new());
    assert_eq!(outcome, Outcome::Done);
    data
}

fn flush(disk: &mut impl ContractDisk) {
    assert_eq!(carry_out(disk, &request(RequestKind::Flush, 0, 0), Vec::new()).0, Outcome::Done);
}

/// Bytes that no other seed has.
fn pattern(seed: u64, length: u64) -> Vec<u8> {
    let mut rng = Rng::for_purpose(seed, 1);
    (0..length / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect()
}

fn shuffled(count: u64) -> Vec<u64> {
    let mut rng = Rng::new(0);
    let mut places: Vec<u64> = (0..count).collect();
    for last in (1..places.len()).rev() {
        places.swap(last, rng.below(last as u64 + 1) as usize);
    }
    places
}
