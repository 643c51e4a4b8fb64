//! What a power cut and the death of the process leave, on bytes.

use crate::driven::{Driven, discard, flush, spec, write};
use loadline_base::Rng;
use loadline_device::{Outcome, RequestKind};
use loadline_sim::disk::{CutStyle, SimDiskSpec};
use std::collections::BTreeSet;

/// 64 KiB of ones over zeros, torn while in flight: a first part or a last part is there, cut at a sector of 512 bytes
/// and not only at pages.
#[test]
fn a_torn_write_is_there_in_part() {
    let (mut inside_a_page, mut first_parts) = (0, 0);
    for seed in 0..50 {
        let mut disk = Driven::new(spec(), 1);
        disk.send(&write(0, 65536), vec![1; 65536]);
        disk.disk.power_cut(CutStyle::Torn, &mut Rng::new(seed));
        let bytes = disk.disk.peek(0..65536);
        let edges: Vec<usize> = (1..65536).filter(|at| bytes[at - 1] != bytes[*at]).collect();
        assert_eq!(edges.len(), 1, "one edge between old and new: {edges:?}");
        assert!(edges[0].is_multiple_of(512));
        inside_a_page += u32::from(!edges[0].is_multiple_of(4096));
        first_parts += u32::from(bytes[0] == 1);
        assert_eq!(disk.disk.in_flight(), 0, "no request answers after a cut");
    }
    // Seven of eight edges are inside a page of 4 KiB: 43.75 of 50, standard deviation 2.3.
    assert!(inside_a_page > 32, "{inside_a_page}");
    // Half of them: 25 of 50, standard deviation 3.5.
    assert!((8..=42).contains(&first_parts), "{first_parts}");
}

/// Of seven writes of a sector and one of eight only that one can be torn, so it is.
#[test]
fn a_write_that_can_be_torn_is_torn() {
    for seed in 0..20 {
        let mut disk = Driven::new(spec(), 1);
        for block in 0..8u64 {
            let length = if block == 3 { 4096 } else { 512 };
            disk.write(block * 4096, &vec![1; length]);
        }
        disk.disk.power_cut(CutStyle::Torn, &mut Rng::new(seed));
        let bytes = disk.disk.peek(0..32768);
        let ones = |block: usize| bytes[block * 4096..][..4096].iter().map(|one| *one as u32).sum();
        let ones: Vec<u32> = (0..8).map(ones).collect();
        assert!((512..4096).contains(&ones[3]), "{ones:?}");
        assert_eq!((&ones[..3], &ones[4..]), (&[512; 3][..], &[0; 4][..]));
    }
}

/// A torn cut keeps what was answered before the torn write and nothing that came after it.
#[test]
fn a_torn_cut_keeps_the_order() {
    let mut torn = BTreeSet::new();
    for seed in 0..100 {
        let mut disk = Driven::new(spec(), 1);
        for block in 0..8u64 {
            disk.write(block * 4096, &[1; 4096]);
        }
        disk.disk.power_cut(CutStyle::Torn, &mut Rng::new(seed));
        let bytes = disk.disk.peek(0..32768);
        let ones: Vec<usize> = bytes
            .chunks(4096)
            .map(|block| block.iter().filter(|byte| **byte == 1).count())
            .collect();
        let at = ones.iter().position(|ones| *ones != 4096).expect("one is torn");
        assert!((512..4096).contains(&ones[at]), "{ones:?}");
        assert!(ones[at + 1..].iter().all(|ones| *ones == 0), "{ones:?}");
        torn.insert(at);
    }
    assert_eq!(torn.len(), 8, "every write was torn once");
}

/// Two writes answered one after the other, and one in flight: after random cuts each of the eight mixtures has been
/// there, the later ones without the earlier among them. With sectors of 4096 bytes no block is ever torn.
#[test]
fn unflushed_writes_survive_in_any_mixture() {
    let spec = SimDiskSpec { sector: 4096, ..spec() };
    let mut mixtures = BTreeSet::new();
    for seed in 0..200 {
        let mut disk = Driven::new(spec, 1);
        disk.write(0, &[1; 4096]);
        disk.write(4096, &[1; 4096]);
        disk.send(&write(8192, 4096), vec![1; 4096]);
        disk.disk.power_cut(CutStyle::Random, &mut Rng::new(seed));
        let bytes = disk.disk.peek(0..12288);
        for block in bytes.chunks(4096) {
            assert!(block.iter().all(|byte| *byte == block[0]), "a sector is atomic");
        }
        mixtures.insert([bytes[0], bytes[4096], bytes[8192]]);
    }
    // The rarest mixture comes up in at least 1/3 * 1/8 + 2/3 * 7/512 = 5 % of the cuts.
    assert_eq!(mixtures.len(), 8, "{mixtures:?}");
}

/// A flush covers what was answered before it was submitted, and neither what was in flight then nor what was
/// answered while the flush was.
#[test]
fn a_flush_covers_what_was_answered_before_it() {
    let mut disk = Driven::new(spec(), 1);
    disk.write(0, &[1; 512]);
    let in_flight = disk.send(&write(512, 512), vec![1; 512]);
    let flush = disk.send(&flush(), Vec::new());
    let answers = [disk.next().id, disk.next().id];
    assert!(answers.contains(&in_flight) && answers.contains(&flush));
    let kept = |style| {
        let mut disk = disk.clone();
        disk.disk.power_cut(style, &mut Rng::new(1));
        [0, 512].map(|at| disk.disk.peek(at..at + 1)[0])
    };
    assert_eq!(kept(CutStyle::AllLost), [1, 0]);
    assert_eq!(kept(CutStyle::AllKept), [1, 1]);
}

/// Without a write cache an answered write is durable, and one in flight is not.
#[test]
fn without_a_cache_only_what_is_in_flight_is_lost() {
    let mut disk = Driven::new(SimDiskSpec { write_cache: false, ..spec() }, 1);
    disk.write(0, &[1; 4096]);
    disk.send(&write(0, 4096), vec![2; 4096]);
    disk.disk.power_cut(CutStyle::AllLost, &mut Rng::new(1));
    assert_eq!(disk.disk.peek(0..4096), [1; 4096]);
}

/// The process dies with two writes in flight and one answered: the answered one is there but still volatile, the
/// others are whole or absent, in all four mixtures.
#[test]
fn a_dead_process_leaves_whole_writes() {
    let mut mixtures = BTreeSet::new();
    for seed in 0..64 {
        let mut disk = Driven::new(spec(), 1);
        disk.write(0, &[1; 4096]);
        disk.send(&write(4096, 8192), vec![1; 8192]);
        disk.send(&write(16384, 4096), vec![1; 4096]);
        disk.disk.kill(&mut Rng::new(seed));
        assert_eq!(disk.disk.next_done(), None);
        let whole = |from: u64, to: u64| {
            let bytes = disk.disk.peek(from..to);
            assert!(bytes.iter().all(|byte| *byte == bytes[0]), "whole or not at all");
            bytes[0]
        };
        assert_eq!(whole(0, 4096), 1);
        mixtures.insert([whole(4096, 12288), whole(16384, 20480)]);
        disk.disk.power_cut(CutStyle::AllLost, &mut Rng::new(1));
        assert_eq!(disk.disk.peek(0..20480), [0; 20480], "the disk kept its power and its cache");
    }
    assert_eq!(mixtures.len(), 4);
}

/// A discarded sector keeps its bytes or reads as zeros, each settled with the answer; in flight, by the cut.
#[test]
fn a_discarded_sector_is_old_or_zeros() {
    let mut seen = BTreeSet::new();
    for seed in 0..100 {
        let mut disk = Driven::new(spec(), seed);
        disk.write(0, &[1; 8192]);
        assert_eq!(disk.flush(), Outcome::Done);
        let request = discard(512, 4096);
        assert_eq!(request.kind, RequestKind::Discard);
        disk.send(&request, Vec::new());
        if seed % 2 == 0 {
            disk.next();
            disk.flush();
            let settled = disk.disk.image();
            disk.disk.power_cut(CutStyle::Random, &mut Rng::new(seed));
            assert!(disk.disk.image() == settled, "a flushed discard is settled");
        } else {
            disk.disk.power_cut(CutStyle::Random, &mut Rng::new(seed));
        }
        let bytes = disk.disk.peek(0..8192);
        let zeros: usize =
            bytes.chunks(512).filter(|sector| sector.iter().all(|byte| *byte == 0)).count();
        let ones = bytes.iter().filter(|byte| **byte == 1).count();
        assert_eq!(ones + 512 * zeros, 8192, "old or zeros");
        assert!(
            bytes[..512].iter().chain(&bytes[4608..]).all(|byte| *byte == 1),
            "neighbours stay"
        );
        seen.insert((seed % 2, zeros.clamp(0, 8)));
    }
    for in_flight in [0, 1] {
        assert!(seen.contains(&(in_flight, 0)) && seen.contains(&(in_flight, 8)), "{seen:?}");
        assert!(seen.iter().any(|(flight, zeros)| *flight == in_flight && (1..8).contains(zeros)));
    }
}
