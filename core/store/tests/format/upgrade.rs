//! Stores of format 1, made by the last program that knew no other: they open, hold what they held, and go on as stores of
//! format 2, also where the power goes in the middle of that.
//!
//! The four images in `format-1/` are devices of 1 MiB with pages of 1 KiB, packed with zstd, as that program left them after
//! the same life under each protection: with its last changes in the log (`idle`), and in the middle of writing the
//! checkpoint home that holds them (`begun`).

use super::sample::{Disks, Sample, object};
use loadline_store::paged::check::{check, slots};
use loadline_store::paged::{Answer, Ask, Edit, Payload, Protection};
use loadline_store::{ObjectMeta, Version};

const IMAGES: [(&str, Protection, &[u8]); 4] = [
    ("log-idle", Protection::Log, include_bytes!("format-1/log-idle.zst")),
    ("log-begun", Protection::Log, include_bytes!("format-1/log-begun.zst")),
    ("checkpoint-idle", Protection::Checkpoint, include_bytes!("format-1/checkpoint-idle.zst")),
    ("checkpoint-begun", Protection::Checkpoint, include_bytes!("format-1/checkpoint-begun.zst")),
];

fn unpack(image: &[u8]) -> Disks {
    Disks { data: zstd::bulk::decompress(image, 1 << 20).expect("it was packed"), log: None }
}

/// Which format the newest superblock has.
fn format_of(disks: &Disks) -> u32 {
    let found = slots(&disks.bytes()).into_iter().filter_map(|slot| Some((slot.found.ok()?, slot)));
    let (_, slot) = found.max_by_key(|(found, _)| found.sequence).expect("there is a store");
    let version = &disks.data[slot.offset as usize + 12..][..4];
    u32::from_le_bytes(version.try_into().expect("four bytes"))
}

fn value(store: &mut Sample, key: &[u8]) -> Option<Vec<u8>> {
    match store.answer(Ask::Get(key.to_vec())) {
        Ok(Answer::Value(value)) => value,
        other => panic!("{key:?}: {other:?}"),
    }
}

fn bytes(store: &mut Sample, number: u64) -> Vec<u8> {
    match store.answer(Ask::Read { object: object(number), offset: 0, length: 1 << 20 }) {
        Ok(Answer::Bytes(Some(bytes))) => bytes,
        other => panic!("object {number}: {other:?}"),
    }
}

/// Everything that the old program had acknowledged.
fn assert_holds_what_it_held(store: &mut Sample, name: &str) {
    for at in 0..60_u32 {
        let round = if (20..40).contains(&at) { 2 } else { 1 };
        let wanted = (at != 7).then(|| vec![round ^ at as u8; 40 + at as usize % 90]);
        assert_eq!(value(store, format!("key {at:04}").as_bytes()), wanted, "{name}: key {at}");
    }
    assert_eq!(value(store, b"long"), Some(vec![7; 1500]), "{name}");
    let mut third = vec![11; 20_000];
    assert_eq!(bytes(store, 1), third, "{name}");
    third[1_000..4_000].fill(33);
    assert_eq!(bytes(store, 3), third, "{name}");
    assert_eq!(bytes(store, 2), [vec![0; 500], vec![22; 3_000]].concat(), "{name}");
    assert_eq!(bytes(store, 4), vec![44; 18_000], "{name}");
    for number in [1, 3] {
        let colour = store.answer(Ask::Attribute(object(number), b"colour".to_vec()));
        assert_eq!(colour, Ok(Answer::Value(Some(b"green".to_vec()))), "{name}: object {number}");
    }
    let meta = store.answer(Ask::Stat(object(4)));
    let wanted = ObjectMeta { version: Version(4), length: 18_000 };
    assert_eq!(meta, Ok(Answer::Meta(Some(wanted))), "{name}");
}

/// Changes in every part of the store, and a checkpoint of them.
fn go_on(store: &mut Sample) {
    for at in 60..90_u32 {
        let key = format!("key {at:04}").into_bytes();
        store.ask(Ask::Transaction(vec![Edit::Put { key, value: vec![9; 100] }]));
    }
    let data = Payload::Bytes(vec![55; 4_000]);
    let write = Edit::Write { object: object(5), offset: 0, data, version: Version(9) };
    store.ask(Ask::Transaction(vec![write]));
    store.ask(Ask::Checkpoint);
}

fn assert_went_on(store: &mut Sample, name: &str) {
    assert_holds_what_it_held(store, name);
    assert_eq!(value(store, b"key 0089"), Some(vec![9; 100]), "{name}");
    assert_eq!(bytes(store, 5), vec![55; 4_000], "{name}");
}

#[test]
fn a_store_of_format_1_opens_and_goes_on_as_format_2() {
    for (name, protection, image) in IMAGES {
        let disks = unpack(image);
        assert_eq!(format_of(&disks), 1, "{name}");
        assert_eq!(check(&disks.bytes()).findings, [], "{name}: before");
        for protection in [protection, Protection::Log, Protection::Checkpoint] {
            let mut store = Sample::open(disks.clone(), protection);
            assert_eq!(format_of(&store.disks), 2, "{name}");
            assert_holds_what_it_held(&mut store, name);
            assert_eq!(check(&store.disks.bytes()).findings, [], "{name}: opened");
            // Once more, before anything has made a checkpoint.
            let mut store = Sample::open(store.disks, protection);
            assert_holds_what_it_held(&mut store, name);
            go_on(&mut store);
            assert_eq!(check(&store.disks.bytes()).findings, [], "{name}: went on");
            let mut store = Sample::open(store.disks, protection);
            assert_went_on(&mut store, name);
            let known = store.store.superblock().completed;
            assert!(known.map.is_some() && known.root.version.to_string() != "not known", "{name}");
        }
    }
}

/// The power goes after every single request of the upgrade and of the first changes behind it, once with everything written so
/// far on the device and once with what no flush has covered lost.
#[test]
fn an_upgrade_may_be_cut_short_anywhere() {
    for (name, protection, image) in IMAGES {
        for keeps_unflushed in [true, false] {
            let mut steps = 0;
            loop {
                let mut store = Sample::begin(unpack(image), protection);
                store.durable = Some(store.disks.clone());
                let mut left = steps;
                while left > 0 && !(store.store.is_open() && store.is_idle()) {
                    assert_eq!(store.store.fault(), None, "{name}");
                    store.step();
                    left -= 1;
                }
                if left > 0 {
                    let put = Edit::Put { key: b"new".to_vec(), value: vec![1; 10] };
                    store.submit(Ask::Transaction(vec![put]));
                    store.submit(Ask::Checkpoint);
                }
                while left > 0 && !store.is_idle() {
                    store.step();
                    left -= 1;
                }
                let left_behind = match keeps_unflushed {
                    true => store.disks,
                    false => store.durable.expect("it was asked for"),
                };
                let when = format!("{name}, cut after {steps} requests, {keeps_unflushed}");
                assert_eq!(check(&left_behind.bytes()).findings, [], "{when}");
                let mut store = Sample::open(left_behind, protection);
                assert_holds_what_it_held(&mut store, &when);
                if left > 0 {
                    assert!(steps > 20, "{name}: the cuts reach into the upgrade");
                    break;
                }
                steps += 1;
            }
        }
    }
}
