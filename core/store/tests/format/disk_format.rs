//! `docs/disk-format.md` against a store that was just made: its offsets, its magics, the ranges of its checksums.

use super::sample::{DATA, Disks, LOG, Sample};
use loadline_store::paged::{Ask, Protection};

fn int4(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")))
}

fn int8(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn crc(bytes: &[u8]) -> u64 {
    u64::from(crc32c::crc32c(bytes))
}

/// A checksum that begins with the id of the store, which is 77.
fn seeded(bytes: &[u8]) -> u64 {
    crc(&[&77_u64.to_le_bytes()[..], bytes].concat())
}

/// A page with the low 24 bits of the number of the checkpoint that writes it.
fn child(page: u64, checkpoint: u64) -> u64 {
    page | checkpoint << 40
}

#[test]
fn the_superblock_is_as_the_page_says() {
    let disks = Disks::formatted(Protection::Checkpoint, false);
    let end = DATA as usize;
    let block = &disks.data[..4096];
    for at in [4096, end - 8192, end - 4096] {
        assert_eq!(&disks.data[at..at + 4096], block, "the superblock at {at}");
    }
    assert_eq!(&block[..8], b"LOADLINE");
    assert_eq!(int4(block, 8), crc(&block[12..4096]));
    assert_eq!((int4(block, 12), int8(block, 16), int8(block, 24)), (2, 77, 1));
    assert_eq!((int4(block, 32), int4(block, 36), int8(block, 40)), (4096, 512, DATA));
    assert_eq!(block[48..56], [0, 1, 0, 0, 0, 0, 0, 0]);
    let (log, ring, segment) = (int8(block, 56), int8(block, 64), int8(block, 72));
    assert_eq!((log, ring, segment), (8192, 8 << 20, 64 << 10));
    let (recovery, bytes) = (int8(block, 80), int8(block, 88));
    assert_eq!((recovery, bytes), (log + ring, 1 << 20));
    let (map, maps) = (int8(block, 96), int8(block, 104));
    assert_eq!((map * 4096, maps), (recovery + bytes, 1));
    let (first, pages) = (int8(block, 112), int8(block, 120));
    assert_eq!((first, (first + pages) * 4096), (map + maps, DATA - 8192));
    let completed = &block[128..168];
    let root = child(first, 1);
    assert_eq!((int8(completed, 0), int8(completed, 8), int8(completed, 16)), (1, 0, root));
    assert_eq!((int4(completed, 24), completed[28]), (crc(&77_u64.to_le_bytes()), 1));
    let map = crc(&[2, 1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!((completed[29], int4(completed, 32)), (1, map), "one page, layout 2, checkpoint 1");
    assert_eq!((&completed[30..32], int4(completed, 36)), (&[0, 0][..], 0));
    assert_eq!(int8(block, 240), 0, "all records are of this format");
    assert!(block[168..].iter().all(|byte| *byte == 0), "no checkpoint has begun");
}

#[test]
fn the_pages_are_as_the_page_says() {
    let disks = Disks::formatted(Protection::Checkpoint, false);
    let (map, pages) = (int8(&disks.data, 96), int8(&disks.data, 120) as usize);
    let page = |number: u64| &disks.data[number as usize * 4096..][..4096];
    let headed = |number: u64, kind: u8| {
        let page = page(number);
        assert_eq!(int4(page, 0), seeded(&page[4..]));
        assert_eq!((page[4], page[5], int8(page, 8), int8(page, 24)), (kind, 2, number, 1));
    };
    headed(map, 3);
    headed(map + 1, 1);
    assert_eq!(page(map)[32], 1, "only the root is used");
    assert!((8..pages).all(|bit| page(map)[32 + bit / 8] >> (bit % 8) & 1 == 0));
    assert!((pages..4064 * 8).all(|bit| page(map)[32 + bit / 8] >> (bit % 8) & 1 == 1));
    let root = page(map + 1);
    assert_eq!((&root[6..8], &root[16..22]), (&[0, 0][..], &[0, 16, 0, 0, 0, 0][..]));
    assert!(root[32..].iter().all(|byte| *byte == 0));
}

#[test]
fn the_log_device_and_its_first_records_are_as_the_page_says() {
    let disks = Disks::formatted(Protection::Log, true);
    let log = disks.log.as_deref().expect("it has one");
    assert_eq!(disks.data[48..50], [1, 0]);
    assert_eq!((&log[..8], int8(log, 8), int8(log, 16)), (&b"LOADLLOG"[..], 77, LOG - 4096));
    assert_eq!(int4(log, 24), crc(&log[..24]));

    let used = super::sample::crashed_early(Protection::Log);
    let record = &used.log.as_deref().expect("it has one")[4096..];
    assert_eq!((int4(record, 4), int8(record, 8), record[20]), (16, 0, 2), "a segment's record");
    assert_eq!(
        (int4(record, 16), int4(record, 0)),
        (crc(&77_u64.to_le_bytes()), seeded(&record[4..40]))
    );
    assert_eq!((int8(record, 24), int8(record, 32)), (77, 0));
    let next = &record[40..];
    assert_eq!((int8(next, 8), int4(next, 16)), (40, int4(record, 0)), "the next is chained to it");
    assert_eq!(int4(next, 0), seeded(&next[4..24 + int4(next, 4) as usize]));
}

#[test]
fn the_witness_is_as_the_page_says() {
    for with_log_device in [false, true] {
        let disks = Disks::formatted(Protection::Checkpoint, with_log_device);
        let mut sample = Sample::open(disks, Protection::Checkpoint).with_a_key();
        sample.ask(Ask::Sync);
        let data = &sample.disks.data;
        let end = (int8(data, 80) + int8(data, 88)) as usize;
        let log = match &sample.disks.log {
            None => &data[8192..],
            Some(log) => &log[4096..],
        };
        // The last record of the log that is a proof.
        let (mut at, mut proven) = (0, 0);
        while int8(log, at + 8) == at as u64 && log[at + 20] != 0 {
            if log[at + 20] == 7 {
                proven = int8(log, at + 24);
            }
            at += 24 + int4(log, at + 4) as usize;
        }
        assert!(proven > 0, "a proof stands in the log");
        for at in [end - 8192, end - 4096] {
            let place = &data[at..at + 512];
            assert_eq!(int4(place, 0), seeded(&place[4..32]));
            assert_eq!((int4(place, 4), &place[8..16]), (1, &b"LOADLWIT"[..]));
            assert_eq!((int8(place, 16), int8(place, 24)), (77, proven));
            assert!(place[32..].iter().all(|byte| *byte == 0));
        }
    }
}
