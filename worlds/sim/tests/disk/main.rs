//! The simulated disk keeps the promises at the head of its module, and breaks what it may break.

mod crash;
mod driven;
mod faults;
mod judge;
mod speed;

use driven::{Driven, discard, flush, read, spec, write};
use loadline_base::{Bytes, Rng, Span};
use loadline_device::{ClassTag, Outcome, Request, contract};
use loadline_sim::disk::{CutStyle, SimDisk, SimDiskSpec, Timing, Traffic};

const SLOW: Timing = Timing {
    per_request: Span::from_micros(80),
    bytes_per_second: 1 << 30,
    flush: Span::from_micros(500),
    channels: 8,
};

#[test]
fn keeps_the_contract_of_every_disk() {
    for sector in [512, 4096] {
        for write_cache in [false, true] {
            for timing in [Timing::FREE, SLOW] {
                let spec = SimDiskSpec { sector, write_cache, timing, ..spec() };
                contract::check(&mut Driven::new(spec, 1));
            }
        }
    }
}

#[test]
#[should_panic(expected = "whole sectors")]
fn refuses_part_of_a_sector() {
    contract::refuses_part_of_a_sector(&mut Driven::new(spec(), 1));
}

#[test]
#[should_panic(expected = "inside the disk")]
fn refuses_what_is_outside() {
    let spec = spec();
    Driven::new(spec, 1).carry_out(&read(spec.size.get(), 512), Vec::new());
}

/// Eight requests that are due at once, ten thousand that are not, cuts and all: equal seeds, equal bytes.
#[test]
fn equal_seeds_give_equal_answers_and_bytes() {
    let run = |seed: u64| {
        let mut disk = Driven::new(spec(), seed);
        let mut rng = Rng::new(5);
        let mut answers = Vec::new();
        for round in 0..1_000u64 {
            for _ in 0..8 {
                disk.send(&write(rng.below(64) * 4096, 4096), vec![round as u8; 4096]);
            }
            disk.send(&discard(rng.below(64) * 4096, 8192), Vec::new());
            while disk.disk.in_flight() > 0 {
                answers.push(disk.next().id);
            }
            if round % 100 == 0 {
                disk.disk.power_cut(CutStyle::Random, &mut rng);
            }
        }
        (answers, disk.disk.image())
    };
    let first = run(1);
    assert_eq!(first, run(1));
    assert_ne!(first.0, run(2).0, "another seed answers in another order");
}

#[test]
fn nothing_is_answered_before_its_time() {
    let mut disk = Driven::new(SimDiskSpec { timing: SLOW, ..spec() }, 1);
    disk.send(&write(0, 4096), vec![1; 4096]);
    let due = disk.disk.next_done().expect("it is in flight");
    assert!(disk.disk.finish(due - Span::from_nanos(1)).is_none());
    assert_eq!(disk.disk.finish(due).map(|done| done.outcome), Some(Outcome::Done));
}

#[test]
fn a_clone_goes_its_own_way() {
    let mut disk = Driven::new(spec(), 1);
    disk.write(0, &[1; 4096]);
    disk.send(&write(4096, 4096), vec![2; 4096]);
    let mut clone = disk.clone();
    clone.next();
    clone.write(0, &[3; 512]);
    assert_eq!(clone.disk.peek(511..4097), [&[3][..], &[1; 3584], &[2]].concat());
    assert_eq!(disk.disk.peek(511..4097), [&[1; 3585][..], &[0]].concat());
}

/// A TiB with three blocks written takes three blocks, and discards give them back: three of four do it at once.
#[test]
fn memory_is_sparse() {
    let spec = SimDiskSpec { size: Bytes::new(1 << 40), ..spec() };
    let mut disk = Driven::new(spec, 1);
    for offset in [0, 1 << 30, (1 << 40) - 4096] {
        disk.write(offset, &[1; 4096]);
    }
    assert_eq!(disk.disk.resident(), Bytes::from_kib(12));
    for _ in 0..16 {
        disk.carry_out(&discard(0, 1 << 40), Vec::new());
    }
    assert_eq!(disk.disk.resident(), Bytes::ZERO);
}

#[test]
fn an_image_is_the_whole_disk() {
    let mut disk = Driven::new(spec(), 1);
    disk.write(8192, &[7; 512]);
    let image = disk.disk.image();
    assert_eq!(image.len() as u64, spec().size.get());
    let mut copy = SimDisk::from_image(spec(), &image, 2);
    copy.power_cut(CutStyle::AllLost, &mut Rng::new(1));
    assert!(copy.image() == image, "an image is durable");
}

#[test]
fn counts_requests_and_bytes_by_class() {
    let mut disk = Driven::new(spec(), 1);
    let of_class = |class, request: Request| Request { class: ClassTag(class), ..request };
    disk.carry_out(&of_class(2, write(0, 4096)), vec![0; 4096]);
    disk.carry_out(&of_class(2, read(0, 512)), Vec::new());
    disk.carry_out(&of_class(5, flush()), Vec::new());
    disk.carry_out(&of_class(5, discard(0, 1024)), Vec::new());
    let two =
        Traffic { reads: 1, read_bytes: 512, writes: 1, written_bytes: 4096, ..Traffic::default() };
    let five = Traffic { flushes: 1, discards: 1, discarded_bytes: 1024, ..Traffic::default() };
    assert_eq!(disk.disk.traffic_of(ClassTag(2)), two);
    assert_eq!(disk.disk.traffic_of(ClassTag(5)), five);
    assert_eq!(disk.disk.traffic_of(ClassTag(9)), Traffic::default());
    let all = Traffic { flushes: 1, discards: 1, discarded_bytes: 1024, ..two };
    assert_eq!(disk.disk.traffic(), all);
}
