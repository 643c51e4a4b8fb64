//! A store takes ops, checkpoints, and has everything again after a restart.

use loadline_base::{Bytes, Rng, Time};
use loadline_device::ClassTag;
use loadline_sim::disk::{CutStyle, SimDisk, SimDiskSpec, Timing};
use loadline_sim::{SimStore, StoreDisks};
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::{Answer, Ask, Edit, Format, LogMode, Op, Options, Protection};
use std::collections::BTreeMap;

fn disks() -> StoreDisks {
    let spec = SimDiskSpec {
        size: Bytes::from_mib(16),
        sector: 512,
        write_cache: true,
        timing: Timing::FREE,
    };
    let mut disks = StoreDisks { data: SimDisk::new(spec, 1), log: None };
    let format = Format {
        store_id: 7,
        data_bytes: spec.size,
        log_device_bytes: None,
        log_bytes: Bytes::from_mib(1),
        segment_bytes: Bytes::from_kib(128),
        block_bytes: 512,
        recovery_bytes: Bytes::from_mib(2),
        page: PageSize::DEFAULT,
    };
    disks.format(&format, Protection::Checkpoint).expect("it fits");
    disks
}

fn options(protection: Protection) -> Options {
    Options {
        log_mode: LogMode::Fsync,
        protection,
        cache: Bytes::from_mib(1),
        old_versions: Bytes::from_kib(256),
        ..Options::default()
    }
}

fn op(token: u64, ask: Ask) -> Op<u64> {
    Op { ask, lane: None, class: ClassTag(1), token }
}

fn ask(host: &mut SimStore, what: Ask) -> Answer {
    host.submit(op(0, what.clone()));
    assert!(
        host.wait_until(|host| !host.ended().is_empty()),
        "{what:?}: {:?}",
        host.store().waits()
    );
    let done = host.ended_mut().pop().expect("it was there");
    done.result.unwrap_or_else(|error| panic!("{what:?}: {error:?}"))
}

fn check(protection: Protection) {
    let mut rng = Rng::new(3);
    let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let mut host = SimStore::open(Time::ZERO, options(protection), disks());
    for round in 0..6 {
        for _ in 0..2000 {
            let key = format!("key{}", rng.below(3000)).into_bytes();
            let edit = if rng.below(4) == 0 {
                model.remove(&key);
                Edit::Delete { key }
            } else {
                let value = vec![rng.next_u64() as u8; rng.below(200) as usize];
                model.insert(key.clone(), value.clone());
                Edit::Put { key, value }
            };
            assert_eq!(ask(&mut host, Ask::Transaction(vec![edit])), Answer::Done);
        }
        for (key, value) in &model {
            assert_eq!(ask(&mut host, Ask::Get(key.clone())), Answer::Value(Some(value.clone())));
        }
        assert!(host.store().metrics().totals.checkpoints > 0 || round == 0);
        let mut disks = host.into_disks();
        disks.data.power_cut(CutStyle::Random, &mut rng);
        host = SimStore::open(Time::ZERO, options(protection), disks);
        for (key, value) in &model {
            assert_eq!(
                ask(&mut host, Ask::Get(key.clone())),
                Answer::Value(Some(value.clone())),
                "round {round}"
            );
        }
    }
}

#[test]
fn keys_survive_power_cuts_under_checkpoint_protection() {
    check(Protection::Checkpoint);
}

#[test]
fn keys_survive_power_cuts_under_log_protection() {
    check(Protection::Log);
}
