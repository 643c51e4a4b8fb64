//! What is appended is read; what is damaged, left over or torn ends the log.

use super::*;
use loadline_base::Rng;

fn drain(log: &mut Log, device: &mut [u8]) {
    let mut pending = Vec::new();
    while let Some(write) = log.next_full_write() {
        pending.push(write);
        if pending.len() == 2 {
            finish(log, device, pending.pop().expect("two are there"));
        }
    }
    if let Some(write) = log.next_last_write() {
        pending.push(write);
    }
    for write in pending {
        finish(log, device, write);
    }
}

fn finish(log: &mut Log, device: &mut [u8], write: LogWrite) {
    assert!(write.data.len().is_multiple_of(RING.block as usize));
    assert_eq!(write.offset, RING.place(write.position));
    let at = write.offset as usize;
    device[at..at + write.data.len()].copy_from_slice(&write.data);
    log.write_done(write.position, write.data);
}

/// Reads from `start` in windows of a few kilobytes, as a restart does.
fn read(device: &[u8], start: Lsn, chain: u32) -> (Vec<(RecordKind, Vec<u8>)>, Scan) {
    read_as(RING, device, start, chain)
}

/// The same in the eyes of a store that has this ring.
fn read_as(
    ring: LogRing,
    device: &[u8],
    start: Lsn,
    chain: u32,
) -> (Vec<(RecordKind, Vec<u8>)>, Scan) {
    let mut scan = Scan::new(ring, start, chain);
    let mut records = Vec::new();
    let (mut window_start, mut length) = (start, 3000u64);
    loop {
        let bytes: Vec<u8> = (window_start.0..window_start.0 + length)
            .map(|at| device[RING.place(Lsn(at)) as usize])
            .collect();
        loop {
            match scan.next(window_start, &bytes) {
                ScanFound::Record(record) => records.push((record.kind, record.body.to_vec())),
                ScanFound::More => break,
                ScanFound::End => return (records, scan),
            }
        }
        length = if scan.position() == window_start { length * 2 } else { 3000 };
        window_start = scan.position();
    }
}

/// Random records, drained at random moments, over many rounds of the ring.
#[test]
fn what_is_appended_is_read_back_from_any_released_start() {
    let mut rng = Rng::new(1);
    let mut device = vec![0xee; (RING.offset + RING.bytes) as usize];
    let mut log = Log::resume(RING, Lsn(0), Lsn(0), 0, Vec::new());
    let mut kept: Vec<(Lsn, u32, Vec<u8>)> = Vec::new();
    for round in 0..12_000 {
        let length = if rng.below(20) == 0 { 20_000 } else { rng.below(300) };
        let body: Vec<u8> = (0..length).map(|_| rng.next_u64() as u8).collect();
        if log.room() < length + 2048 {
            let keep = kept.split_off(kept.len() / 2);
            kept = keep;
            log.release(kept[0].0);
        }
        kept.push((log.head(), log.chain(), body.clone()));
        log.append(RecordKind::Transaction, &body);
        if rng.below(4) == 0 {
            drain(&mut log, &mut device);
            assert_eq!(log.written(), log.head(), "round {round}");
        }
    }
    drain(&mut log, &mut device);
    let (start, chain) = (kept[0].0, kept[0].1);
    let (records, scan) = read(&device, start, chain);
    let bodies: Vec<_> = records
        .iter()
        .filter(|(kind, _)| *kind == RecordKind::Transaction)
        .map(|(_, body)| body)
        .collect();
    assert_eq!(bodies, kept.iter().map(|(_, _, body)| body).collect::<Vec<_>>());
    assert_eq!(scan.position().0.next_multiple_of(512), log.head().0.next_multiple_of(512));
    assert!(log.head().0 > 5 * RING.bytes, "the ring went round");
}

/// A torn tail was cut, and the next life wrote a record of the same length over it. What lay behind in the log of the
/// earlier life had the right position, and was taken for this life's.
#[test]
fn an_earlier_lifes_records_never_follow_this_lifes() {
    let mut device = vec![0; (RING.offset + RING.bytes) as usize];
    let mut log = Log::resume(RING, Lsn(0), Lsn(0), 0, Vec::new());
    for body in 0..8u8 {
        log.append(RecordKind::Transaction, &[body; 488]);
        drain(&mut log, &mut device);
    }
    // The third record is torn.
    let torn =
        device[4096..].windows(488).position(|bytes| bytes == [3; 488]).expect("it is there");
    device[4096 + torn] ^= 1;
    let (records, scan) = read(&device, Lsn(0), 0);
    assert_eq!(records.len(), 4, "the segment's and three more");
    let head = scan.position();
    let block = head.0 / 512 * 512;
    let prefix = device[(4096 + block) as usize..(4096 + head.0) as usize].to_vec();
    let mut log = Log::resume(RING, Lsn(0), head, scan.chain(), prefix);
    log.append(RecordKind::Transaction, &[99; 488]);
    drain(&mut log, &mut device);
    let (records, _) = read(&device, Lsn(0), 0);
    let last: Vec<u8> = records.iter().skip(1).map(|(_, body)| body[0]).collect();
    assert_eq!(last, [0, 1, 2, 99]);
}

#[test]
fn every_flipped_bit_ends_the_log_before_it() {
    let mut device = vec![0; (RING.offset + RING.bytes) as usize];
    let mut log = Log::resume(RING, Lsn(0), Lsn(0), 0, Vec::new());
    let mut ends = vec![SEGMENT_RECORD];
    for body in 0..6u8 {
        ends.push(log.append(RecordKind::Transaction, &[body; 100]).0);
    }
    drain(&mut log, &mut device);
    for at in 0..*ends.last().expect("records are there") {
        device[4096 + at as usize] ^= 0x10;
        let (records, _) = read(&device, Lsn(0), 0);
        let whole = ends.iter().filter(|end| **end <= at).count();
        assert!(records.len() == whole, "byte {at}: {} records of {whole}", records.len());
        device[4096 + at as usize] ^= 0x10;
    }
}

/// A device was formatted again, and the new store refused to start: "the log is damaged at log position 0: it was durable
/// beyond". A record of the earlier life stood behind, whole and in its place, and said so.
#[test]
fn an_earlier_stores_proof_of_durability_says_nothing_to_the_next_store() {
    let mut device = vec![0; (RING.offset + RING.bytes) as usize];
    let mut log = Log::resume(RING, Lsn(0), Lsn(0), 0, Vec::new());
    for body in 0..8u8 {
        log.append(RecordKind::Durable, &log.head().0.to_le_bytes());
        log.append(RecordKind::Transaction, &[body; 400]);
        drain(&mut log, &mut device);
    }
    let proof_in = |ring: LogRing| {
        ProofSearch::new(&ring, Lsn(0)).go_on(Lsn(0), &device[RING.offset as usize..])
    };
    let next = LogRing { store_id: 10, seed: Seed::of(10), ..RING };
    assert_eq!(proof_in(RING), ProofFound::Yes);
    assert_ne!(proof_in(next), ProofFound::Yes);
    assert_eq!(read_as(next, &device, Lsn(0), 0).0, []);
}

/// A store of format 1 goes on as one of format 2: its old records have no seed, and its new ones stand behind them in the
/// same log, in the same block even.
#[test]
fn records_of_format_1_are_read_up_to_where_those_of_format_2_begin() {
    let mut device = vec![0; (RING.offset + RING.bytes) as usize];
    let before = LogRing { seeded_from: Lsn(u64::MAX), ..RING };
    let mut log = Log::resume(before, Lsn(0), Lsn(0), 0, Vec::new());
    log.append(RecordKind::Transaction, &[1; 100]);
    drain(&mut log, &mut device);
    let (_, scan) = read_as(before, &device, Lsn(0), 0);
    let (head, chain) = (scan.position(), scan.chain());
    let now = LogRing { seeded_from: head, ..RING };
    let block = head.0 / 512 * 512;
    let prefix = device[(4096 + block) as usize..(4096 + head.0) as usize].to_vec();
    let mut log = Log::resume(now, Lsn(0), head, chain, prefix);
    log.append(RecordKind::Transaction, &[2; 100]);
    drain(&mut log, &mut device);
    let bodies = |ring| -> Vec<u8> {
        let (records, _) = read_as(ring, &device, Lsn(0), 0);
        records.iter().skip(1).map(|(_, body)| body[0]).collect()
    };
    assert_eq!(bodies(now), [1, 2]);
    assert_eq!(bodies(before), [1], "a record of format 2 is none of format 1");
    assert_eq!(bodies(RING), [0; 0], "nor the other way round");
}

/// A request may be cut in the middle of a record. While it was the last that was answered, a flush proved the log durable up to
/// the middle of that record; a power cut that took the rest of it then looked like rot, and the store was refused.
#[test]
fn what_is_written_ends_with_a_record() {
    let ring = LogRing { bytes: 16 << 20, segment: 4 << 20, ..RING };
    let mut rng = Rng::new(5);
    let mut log = Log::resume(ring, Lsn(0), Lsn(0), 0, Vec::new());
    let (mut records, mut cut) = (Vec::new(), 0);
    while log.head().0 < 12 << 20 {
        let length = *[100, 488, 5_000, 700_000].get(rng.below(4) as usize).expect("one of four");
        let end = log.append(RecordKind::Transaction, &vec![7; length]).0;
        records.push(end - (RECORD_HEADER + length) as u64..end);
        while let Some(LogWrite { position, data, .. }) = log.next_full_write() {
            let end = Lsn(position.0 + data.len() as u64);
            log.write_done(position, data);
            let written = log.written().0;
            let holds =
                |record: &&std::ops::Range<u64>| record.start < written && written < record.end;
            assert_eq!(records.iter().find(holds), None, "{written} is inside of it");
            assert!(records.iter().all(|record| record.end > end.0 || record.end <= written));
            cut += u32::from(written < end.0);
        }
    }
    assert!(cut > 3, "requests are cut in the middle of records");
}

/// A group that began in one block and ended in the next took two blocks of the device's time: at depth 4 one put in thirty waited
/// 2 us longer than when each group was padded. Now such a group begins with a block, behind a pad that is written with what
/// stands before it.
#[test]
fn a_group_that_fits_a_block_is_written_as_one() {
    for sizes in [[1, 1], [2, 2], [1, 3], [4, 4]] {
        let mut device = vec![0; (RING.offset + RING.bytes) as usize];
        let mut log = Log::resume(RING, Lsn(0), Lsn(0), 0, Vec::new());
        let (mut records, mut wide) = (0, 0);
        for records_of_group in sizes.into_iter().cycle().take(1000) {
            for _ in 0..records_of_group {
                log.append(RecordKind::Transaction, &[records as u8; 40]);
                records += 1;
            }
            let write = log.next_last_write().expect("something was appended");
            wide += u64::from(write.data.len() > RING.block as usize);
            finish(&mut log, &mut device, write);
            assert_eq!(log.written(), log.head());
        }
        // The first of all, and those that a segment's own record makes larger or whose segment ends before them.
        let segments = log.head().0.div_ceil(RING.segment);
        assert!(wide <= 1 + segments, "{sizes:?}: {wide} in {segments} segments");
        let bytes = log.head().0 / records;
        assert!(bytes < 64 * 2, "{sizes:?}: {bytes} bytes of the log for each record of 64");
        let (found, _) = read(&device, Lsn(0), 0);
        let found =
            found.iter().filter(|(kind, _)| *kind == RecordKind::Transaction).count() as u64;
        assert_eq!(found, records, "pads are passed over");
    }
}

/// The search compares many bytes at once, and must not step over the one that matters.
#[test]
fn a_proof_is_found_wherever_it_stands() {
    for length in 0..200 {
        // Other bytes that a proof's kind has, as close as they come.
        let mut log = Log::resume(RING, Lsn(0), Lsn(0), 0, Vec::new());
        let end = log.append(RecordKind::Transaction, &vec![RecordKind::Durable as u8; length]);
        log.append(RecordKind::Durable, &end.0.to_le_bytes());
        let write = log.next_last_write().expect("something was appended");
        let mut bytes = write.data;
        bytes.resize(256 << 10, 0);
        let mut scan = Scan::new(RING, Lsn(0), 0);
        assert!(matches!(scan.next(Lsn(0), &bytes), ScanFound::Record(_)), "the segment's own");
        let begins = scan.position();
        let mut search = ProofSearch::new(&RING, begins);
        // A piece at a time, cut anywhere.
        let cut = (begins.0 as usize + length).min(bytes.len());
        assert_eq!(search.go_on(Lsn(0), &bytes[..cut]), ProofFound::More);
        assert_eq!(search.go_on(Lsn(0), &bytes), ProofFound::Yes, "{length}");
    }
}

/// Of two requests that hold the same block either may be the last that the device carries out.
#[test]
fn a_block_is_in_one_request_at_a_time() {
    for body in [100, 30_000] {
        let mut device = vec![0; (RING.offset + RING.bytes) as usize];
        let mut log = Log::resume(RING, Lsn(0), Lsn(0), 0, Vec::new());
        log.append(RecordKind::Transaction, &[1; 100]);
        let first = log.next_last_write().expect("something was appended");
        // Three large ones reach into the next segment, and the rest of this one is a request of its own.
        for _ in 0..3 {
            log.append(RecordKind::Transaction, &vec![2; body]);
        }
        assert_eq!(log.next_full_write(), None);
        if body == 100 {
            assert_eq!(log.next_last_write(), None);
        }
        let position = first.position;
        finish(&mut log, &mut device, first);
        let second = log.next_full_write().or_else(|| log.next_last_write());
        assert_eq!(second.expect("the rest").position, position, "the block is written again");
    }
}

/// A log that was cut behind padding, which was durable and which the witness vouched for, was gone on with before the padding: a power cut in the middle of
/// the first record's blocks left a hole in what was durable, and the store was refused.
#[test]
fn who_stops_before_a_record_stands_behind_the_padding_before_it() {
    let mut device = vec![0; (RING.offset + RING.bytes) as usize];
    let mut log = Log::resume(RING, Lsn(0), Lsn(0), 0, Vec::new());
    for body in 0..4u8 {
        log.append(RecordKind::Transaction, &[body; 300]);
        drain(&mut log, &mut device);
    }
    let bytes = &device[RING.place(Lsn(0)) as usize..];
    let mut scan = Scan::new(RING, Lsn(0), 0);
    let mut ends = Vec::new();
    while let ScanFound::Record(record) = scan.next(Lsn(0), bytes) {
        let mut again = scan.before(&record);
        assert_eq!(again.position(), record.position);
        assert_eq!(again.next(Lsn(0), bytes), ScanFound::Record(record));
        ends.push((record.position, record.end));
    }
    let padded = ends.windows(2).filter(|pair| pair[0].1 < pair[1].0).count();
    assert!(padded > 1, "{ends:?}");
}
