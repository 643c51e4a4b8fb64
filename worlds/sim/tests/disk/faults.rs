//! Faults on demand: each does what was asked, is counted, and leaves the rest alone.

use crate::driven::{Driven, spec};
use loadline_base::Rng;
use loadline_device::Outcome;
use loadline_sim::disk::{CutStyle, FaultCounts, Trouble};

fn lose_power(disk: &mut Driven) {
    disk.disk.power_cut(CutStyle::AllLost, &mut Rng::new(1));
}

/// The trap of a retried flush: the second one succeeds, and the writes of the first are lost all the same.
#[test]
fn a_flush_after_a_failed_one_saves_nothing_of_before() {
    let mut disk = Driven::new(spec(), 1);
    disk.write(0, &[1; 1024]);
    disk.disk.fail_flush(1);
    assert_eq!(disk.flush(), Outcome::Failed);
    disk.write(512, &[2; 512]);
    assert_eq!(disk.flush(), Outcome::Done);
    let (_, bytes) = disk.read(0, 1024);
    assert_eq!(bytes, [[1; 512], [2; 512]].concat(), "it reads as if all were well");
    let mut kept = disk.clone();
    kept.disk.power_cut(CutStyle::AllKept, &mut Rng::new(1));
    assert_eq!(kept.disk.peek(0..1024), [[1; 512], [2; 512]].concat(), "nothing old comes back");
    lose_power(&mut disk);
    assert_eq!(disk.disk.peek(0..1024), [[0; 512], [2; 512]].concat());
    let counts = FaultCounts { failed_flushes: 1, power_cuts: 1, ..FaultCounts::default() };
    assert_eq!(disk.disk.fault_counts(), counts);
}

/// One byte in each sector that the range touches, also in the copies that a cut would bring back.
#[test]
fn rot_stays_in_its_range_and_is_durable() {
    let mut disk = Driven::new(spec(), 1);
    disk.write(0, &[1; 4096]);
    disk.flush();
    disk.write(1024, &[2; 512]);
    let before = disk.disk.image();
    disk.disk.rot(600..1300);
    let rotten = |disk: &Driven, good: &[u8]| -> Vec<usize> {
        let bytes = disk.disk.image();
        (0..bytes.len()).filter(|at| bytes[*at] != good[*at]).collect()
    };
    let places = rotten(&disk, &before);
    assert!(matches!(places[..], [600..1024, 1024..1300]), "{places:?}");
    lose_power(&mut disk);
    let mut flushed = before;
    flushed[1024..1536].fill(1);
    assert_eq!(rotten(&disk, &flushed), places);
    assert_eq!(disk.disk.fault_counts().rotten_sectors, 2);
    disk.write(512, &[3; 1024]);
    assert_eq!(disk.read(512, 1024).1, [3; 1024], "what is written anew is sound");
}

#[test]
fn reads_fail_so_often_or_until_the_range_is_written() {
    let mut disk = Driven::new(spec(), 1);
    disk.write(0, &[1; 8192]);
    disk.disk.fail_reads(512..1024, Trouble::Times(2));
    let outcomes = [0; 3].map(|_| disk.read(0, 4096).0);
    assert_eq!(outcomes, [Outcome::Failed, Outcome::Failed, Outcome::Done]);
    disk.disk.fail_reads(512..2048, Trouble::Always);
    lose_power(&mut disk);
    disk.write(1024, &[2; 512]);
    let readable = [0, 512, 1024, 1536, 2048].map(|at| disk.read(at, 512).0 == Outcome::Done);
    assert_eq!(readable, [true, false, true, false, true], "a bad sector outlasts the power");
    assert_eq!(disk.disk.fault_counts().failed_reads, 4);
}

/// The third write fails; over the seeds it leaves the old bytes, the new ones, and mixtures by sector.
#[test]
fn a_failed_write_leaves_any_mixture() {
    let mut seen = [false; 9];
    for seed in 0..1000 {
        let mut disk = Driven::new(spec(), seed);
        disk.disk.fail_write(3);
        let outcomes = [1, 2, 3, 4].map(|at| disk.write(at * 4096, &[1; 4096]));
        let (done, failed) = (Outcome::Done, Outcome::Failed);
        assert_eq!(outcomes, [done, done, failed, done]);
        let bytes = disk.disk.peek(3 * 4096..4 * 4096);
        let sectors: Vec<bool> = bytes.chunks(512).map(|sector| *sector == [1; 512]).collect();
        let ones: usize = bytes.iter().map(|byte| usize::from(*byte)).sum();
        let new = sectors.iter().filter(|new| **new).count();
        assert_eq!(ones, 512 * new, "each sector is old or new");
        seen[new] = true;
        assert_eq!(disk.disk.fault_counts().failed_writes, 1);
    }
    // None and all of eight sectors come up in 1/256 of the seeds each; both absent from 1000 has 2 % at most.
    assert_eq!(seen, [true; 9]);
}

#[test]
fn a_misdirected_write_is_done_elsewhere() {
    let mut disk = Driven::new(spec(), 1);
    disk.disk.misdirect_write(2, 8192);
    let outcomes = [0, 4096, 4096].map(|at| disk.write(at, &[1; 512]));
    assert_eq!(outcomes, [Outcome::Done; 3]);
    disk.write(4096, &[0; 512]);
    let marks = [0, 4096, 8192].map(|at| disk.disk.peek(at..at + 1)[0]);
    assert_eq!(marks, [1, 0, 1]);
    assert_eq!(disk.disk.fault_counts().misdirected_writes, 1);
}
