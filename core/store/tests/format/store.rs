//! The paged store on devices that answer at once: it passes the contract of every store, and waits for room in its log.

use crate::sample::{Disks, Sample};
use loadline_base::Bytes;
use loadline_device::ClassTag;
use loadline_store::contract::{ContractWorld, check};
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::{
    Answer, Ask, Edit, Fault, Format, Op, OpError, Options, Protection, RestartFault, StoreDevice,
    Wait,
};

struct Instant {
    sample: Sample,
    protection: Protection,
    open_ops: u64,
}

impl Instant {
    fn new(protection: Protection) -> Instant {
        let sample = Sample::open(Disks::formatted(protection, false), protection);
        Instant { sample, protection, open_ops: 0 }
    }
}

impl ContractWorld for Instant {
    fn submit(&mut self, op: Op<u64>) {
        self.open_ops += 1;
        self.sample.submit_op(op);
    }

    fn run(&mut self) -> Vec<(u64, Result<Answer, OpError>)> {
        while (self.sample.out.completions.len() as u64) < self.open_ops || !self.sample.is_idle() {
            self.sample.step();
        }
        self.open_ops = 0;
        let ended = self.sample.out.completions.drain(..);
        ended.map(|done| (done.token, done.result)).collect()
    }

    fn crash(&mut self) {
        let classes = std::mem::take(&mut self.sample.classes);
        let disks = self.sample.disks.clone();
        self.sample = Sample::open(disks, self.protection);
        self.sample.classes.extend(classes);
    }

    fn classes(&self) -> Vec<ClassTag> {
        self.sample.classes.clone()
    }
}

#[test]
fn the_paged_store_keeps_the_contract() {
    for protection in [Protection::Checkpoint, Protection::Log] {
        check(|| Instant::new(protection));
    }
}

/// The data device answers nothing, so no checkpoint ends and none of the log can be given up: writes wait when it is full, and go
/// on when there is room.
#[test]
fn who_finds_no_room_in_the_log_waits_for_it() {
    const OPS: u32 = 1600;
    let disks = Disks::formatted(Protection::Checkpoint, true);
    let mut sample = Sample::open(disks, Protection::Checkpoint).with_a_key();
    let key = |at: u32| vec![b'k', (at % 10) as u8];
    for at in 0..OPS {
        let put = Edit::Put { key: key(at), value: vec![at as u8; 8000] };
        sample.submit(Ask::Transaction(vec![put]));
        while sample.step_only(StoreDevice::Log) {}
    }
    let waits = sample.store.waits();
    let count =
        |wait: Wait| waits.iter().find(|(of, _)| *of == wait).map_or(0, |(_, count)| *count);
    assert!(count(Wait::LogRoom) > 0, "{waits:?}");
    assert!(sample.out.completions.len() < OPS as usize);
    while sample.out.completions.len() < OPS as usize {
        sample.step();
    }
    assert!(sample.out.completions.iter().all(|done| done.result == Ok(Answer::Done)));
    let disks = sample.disks;
    let mut again = Sample::open(disks, Protection::Checkpoint);
    for at in OPS - 10..OPS {
        let found = again.answer(Ask::Get(key(at)));
        assert!(found == Ok(Answer::Value(Some(vec![at as u8; 8000]))), "put {at}");
    }
}

/// A cache that the machine does not have ended the process: `loadline kv get --cache 1TiB` in the middle of a start.
#[test]
fn a_cache_that_cannot_be_had_is_named() {
    let shape = Format {
        store_id: 80,
        data_bytes: Bytes::from_mib(16),
        log_device_bytes: None,
        log_bytes: Bytes::from_mib(4),
        segment_bytes: Bytes::from_kib(64),
        block_bytes: 512,
        recovery_bytes: Bytes::from_mib(2),
        page: PageSize::new(16384).expect("legal"),
    };
    // Together more than a process has addresses for, whatever the machine; and twice the pages that can be counted, half of which was named.
    let cache = Bytes::new(u64::from(u32::MAX) * 16384 * 2);
    let options = Options { cache, old_versions: cache, ..Sample::options(Protection::Checkpoint) };
    let mut sample = Sample::begin_with(Disks::made(&shape, Protection::Checkpoint), options);
    while !sample.store.is_open() && sample.store.fault().is_none() {
        sample.step();
    }
    let Some(Fault::Restart(fault)) = sample.store.fault() else { panic!("it cannot open") };
    assert_eq!(fault, RestartFault::NoMemory { asked: cache });
    assert!(!fault.is_damage());
    Sample::open(sample.disks, Protection::Checkpoint);
}
