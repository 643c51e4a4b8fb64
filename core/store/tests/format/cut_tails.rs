//! What a power cut has taken from the log's middle stays gone with all that stood behind it.
//!
//! A flush of the log is followed by a record that says so, and the first record of the next life says the same at the same place. They were the
//! same bytes once. Where a power cut had taken that record and left a transaction behind it, in a block of its own, the restart ended the log
//! before both, and the next one, after a life in which nobody wrote, found both: the transaction had not been there, and was again.

use super::sample::{Disks, Sample};
use loadline_device::RequestKind;
use loadline_store::paged::check::{InMemory, LogReader, newest};
use loadline_store::paged::{Answer, Ask, Edit, Protection};

const BLOCK: u64 = 512;
/// Bytes of a record's header, and of one that says how far the log is durable.
const HEADER: u64 = 24;
const PROOF: u64 = HEADER + 8;

fn put(key: &[u8], length: usize) -> Ask {
    Ask::Transaction(vec![Edit::Put { key: key.to_vec(), value: vec![7; length] }])
}

/// Where the log ends.
fn log_end(devices: &InMemory<'_>) -> u64 {
    let superblock = newest(devices).expect("there is a store");
    let mut reader = LogReader::new(devices, &superblock);
    reader.read(|_| true);
    reader.position().0
}

fn idle(sample: &mut Sample) {
    while !sample.is_idle() {
        sample.step();
    }
}

/// A store that has flushed one record, which is longer than a block, and said so.
fn flushed(length: usize) -> Sample {
    let disks = Disks::formatted(Protection::Checkpoint, false);
    let mut sample = Sample::open(disks, Protection::Checkpoint);
    idle(&mut sample);
    sample.durable = Some(sample.disks.clone());
    sample.ask(put(b"first", length));
    idle(&mut sample);
    sample
}

#[test]
fn a_transaction_behind_a_cut_does_not_come_back_in_a_later_life() {
    // The proof ends so near to its block's end that the next record begins with the next block.
    let wanted = BLOCK - HEADER / 2;
    let found = log_end(&flushed(700).disks.bytes()) % BLOCK;
    let mut sample = flushed(700 + ((wanted + BLOCK - found) % BLOCK) as usize);
    let proof_end = log_end(&sample.disks.bytes());
    assert_eq!(proof_end % BLOCK, wanted);
    sample.submit(put(b"second", 10));
    while sample.out.io.first().is_none_or(|io| io.request.kind != RequestKind::Flush) {
        sample.step();
    }
    let superblock = newest(&sample.disks.bytes()).expect("there is a store");
    let place =
        |position: u64| superblock.layout.log_offset + position % superblock.layout.log_bytes;
    let behind = place(proof_end.next_multiple_of(BLOCK)) as usize;
    let kept = sample.disks.data[behind..][..BLOCK as usize].to_vec();
    let mut disks = sample.durable.take().expect("it was flushed");
    assert_eq!(log_end(&disks.bytes()), proof_end - PROOF, "the power cut takes the proof");
    disks.data[behind..][..BLOCK as usize].copy_from_slice(&kept);
    for life in 2..4 {
        let mut sample = Sample::open(disks, Protection::Checkpoint);
        assert_eq!(
            sample.answer(Ask::Get(b"second".to_vec())),
            Ok(Answer::Value(None)),
            "life {life}"
        );
        idle(&mut sample);
        disks = sample.disks;
    }
}
