//! What is owed on a device that is full: it takes what is kept for it, and waits behind that for what others give back.

use crate::sample::{Disks, Sample, object};
use loadline_base::Bytes;
use loadline_store::Version;
use loadline_store::paged::bounds::{kept_pages, limits};
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::{
    Answer, Ask, Edit, Format, LogMode, OpError, Options, Payload, Protection, RoomClaim, Wait,
};
use std::collections::BTreeMap;

/// Objects of a page that fill the device have numbers from here on.
const FILLERS: u64 = 100;
/// Pages of the object that a copy shares.
const SHARED: u64 = 400;
/// Holes with ragged ends, each of which takes two pages.
const HOLES: u64 = 80;

fn format(page_bytes: u32) -> Format {
    Format {
        store_id: 5,
        data_bytes: Bytes::new(1500 * u64::from(page_bytes) + (2 << 20)),
        log_device_bytes: None,
        log_bytes: Bytes::from_kib(1024),
        segment_bytes: Bytes::from_kib(128),
        block_bytes: 512,
        recovery_bytes: Bytes::from_mib(1),
        page: PageSize::new(page_bytes).expect("a legal size"),
    }
}

fn open(disks: Disks, direct_write: Bytes) -> Sample {
    let options = Options { direct_write, ..Sample::options(Protection::Checkpoint) };
    Sample::begin_with(disks, options).opened()
}

fn write(number: u64, offset: u64, length: u64) -> Edit {
    let data = Payload::Pattern { seed: number, offset, length };
    Edit::Write { object: object(number), offset, data, version: Version(1) }
}

/// A device without room for whoever yields. An object stands on it of which there is a copy, and fillers, as many as the answer says.
fn full(page_bytes: u32, direct_write: Bytes) -> (Sample, u64) {
    let disks = Disks::made(&format(page_bytes), Protection::Checkpoint);
    let mut sample = open(disks, direct_write);
    let page = u64::from(page_bytes);
    for at in 0..SHARED / 8 {
        sample.ask(Ask::Transaction(vec![write(2, at * 8 * page, 8 * page)]));
    }
    sample.ask(Ask::Transaction(vec![Edit::Clone { from: object(2), to: object(6) }]));
    let mut fillers = 0;
    loop {
        sample.submit_claiming(7, RoomClaim::Yields, vec![write(FILLERS + fillers, 0, page)]);
        match &sample.run_dry()[&7] {
            Ok(_) => fillers += 1,
            Err(error) => break assert_eq!(*error, OpError::NoSpace),
        }
    }
    (sample, fillers)
}

fn remove(fillers: std::ops::Range<u64>) -> Vec<Edit> {
    fillers.map(|at| Edit::Remove { object: object(FILLERS + at) }).collect()
}

/// The largest update that an OSD owes, on a device on which nobody else finds room any more.
#[test]
fn one_update_finds_room_in_what_is_kept() {
    for page_bytes in [1024, 4096] {
        let (mut sample, _) = full(page_bytes, Bytes::from_mib(64));
        let layout = sample.store.superblock().layout;
        let (kept, limits) = (kept_pages(&layout), limits(&layout));
        let free = sample.free_or_returning();
        assert!((kept..kept + 20).contains(&free), "{free} are free and {kept} kept");
        let key = |at: u8| vec![at; 13];
        let bytes = (limits.transaction_bytes - limits.value_bytes - 400) as u64;
        let mut edits = vec![write(2, 100, bytes.min((SHARED - 2) * u64::from(page_bytes)))];
        edits.push(Edit::Put { key: key(1), value: vec![1; limits.value_bytes] });
        edits.extend((2..6).map(|at| Edit::Put { key: key(at), value: vec![at; 20] }));
        sample.submit_claiming(1, RoomClaim::Owed, edits);
        assert_eq!(sample.run_dry(), BTreeMap::from([(1, Ok(Answer::Done))]));
        let taken = free - sample.free_or_returning();
        assert!(taken > 0 && taken <= kept, "{taken} of {kept} pages");
    }
}

/// Each waits in its own way: for pages of the tree and of data that goes through the log, and for pages of data that goes beside it.
#[test]
fn what_is_owed_waits_for_room_and_holds_nobody_up() {
    for (page_bytes, direct_write) in [(4096, 1 << 26), (4096, 1 << 14), (1024, 1 << 26)] {
        let (mut sample, fillers) = full(page_bytes, Bytes::new(direct_write));
        let bytes = 8 * u64::from(page_bytes);
        let owed = |at: u64| vec![write(50_000 + at, 0, bytes)];
        let mut count = 0;
        loop {
            sample.submit_claiming(1, RoomClaim::Owed, owed(count));
            if !sample.run_dry().contains_key(&1) {
                break;
            }
            count += 1;
        }
        let layout = sample.store.superblock().layout;
        assert!(count < kept_pages(&layout), "{count} have found room");
        assert_eq!(sample.store.wait_of(|token| *token == 1), Some(Wait::Room));
        assert!(sample.store.without_room_since().is_some());
        // Others of its lane wait for it, those of others do not.
        sample.submit_claiming(1, RoomClaim::Owed, vec![Edit::Delete { key: b"none".to_vec() }]);
        sample.submit_claiming(2, RoomClaim::Asked, vec![write(3, 0, bytes)]);
        sample.submit_claiming(3, RoomClaim::Owed, remove(0..1));
        let ended = sample.run_dry();
        assert_eq!(ended.keys().copied().collect::<Vec<_>>(), [2, 3], "{ended:?}");
        assert_eq!(ended[&2], Err(OpError::NoSpace));
        assert_eq!(ended[&3], Ok(Answer::Done));
        let mut at = 1;
        while sample.store.wait_of(|token| *token == 1).is_some() {
            assert!(at < fillers, "they are all gone");
            sample.submit_claiming(3, RoomClaim::Owed, remove(at..at + 1));
            assert_eq!(sample.run_dry().get(&3), Some(&Ok(Answer::Done)));
            at += 1;
        }
        assert!(at < 100, "{at} pages were given back for it");
        assert_eq!(sample.store.without_room_since(), None);
        let mut sample = open(sample.disks, Bytes::new(direct_write));
        for at in 0..=count {
            let read = Ask::Read { object: object(50_000 + at), offset: 0, length: bytes };
            let written = loadline_store::paged::api::pattern(50_000 + at, 0, bytes);
            assert!(sample.answer(read) == Ok(Answer::Bytes(Some(written))), "{at} of {count}");
        }
    }
}

/// A transaction in steps is looked through while all other updates wait. One that finds then that there is no room for it lets them go.
#[test]
fn a_transaction_in_steps_that_waits_for_room_holds_nobody_up() {
    let (mut sample, fillers) = full(1024, Bytes::from_mib(64));
    let options = Options {
        cache: loadline_store::paged::bounds::cache_least(&sample.store.superblock().layout),
        log_mode: LogMode::Fsync,
        ..Sample::options(Protection::Checkpoint)
    };
    let mut sample = {
        sample.settle();
        Sample::begin_with(sample.disks, options).opened()
    };
    let hole = |at: u64| {
        let range = at * 2048 + 100..at * 2048 + 1800;
        Edit::Punch { object: object(2), range, version: Version(2) }
    };
    let edits: Vec<Edit> = (0..HOLES).map(hole).collect();
    let put = Edit::Put { key: b"k".to_vec(), value: Vec::new() };
    let edits: Vec<Edit> = edits.into_iter().chain([put]).collect();
    sample.submit_claiming(1, RoomClaim::Owed, edits);
    assert_eq!(sample.run_dry(), BTreeMap::new());
    assert_eq!(sample.store.wait_of(|token| *token == 1), Some(Wait::Room));
    for at in 0..fillers {
        sample.submit_claiming(3, RoomClaim::Owed, remove(at..at + 1));
        let ended = sample.run_dry();
        assert_eq!(ended.get(&3), Some(&Ok(Answer::Done)), "filler {at}");
        if let Some(result) = ended.get(&1) {
            assert_eq!(*result, Ok(Answer::Done));
            assert!(sample.store.metrics().totals.steps > 0, "it goes in steps");
            return;
        }
    }
    panic!(
        "it waits for ever: {:?}, {:?}, {} free of {fillers}",
        sample.store.wait_of(|token| *token == 1),
        sample.store.waits(),
        sample.free_or_returning()
    );
}

/// What is kept is for one update. Of several that come before the store has done anything, those that find no more room wait for it, each in its lane,
/// and none of them has kept what another one needs: one after the other is carried out as room comes back.
#[test]
fn several_updates_at_once_find_room_one_after_the_other() {
    for (page_bytes, direct_write) in [(4096, 1 << 26), (4096, 1 << 14), (1024, 1 << 26)] {
        let (mut sample, fillers) = full(page_bytes, Bytes::new(direct_write));
        let layout = sample.store.superblock().layout;
        let (kept, before) = (kept_pages(&layout), sample.free_or_returning());
        let pages = kept / 5;
        let bytes = pages * u64::from(page_bytes);
        let updates = 10..18_u64;
        for lane in updates.clone() {
            sample.submit_claiming(lane, RoomClaim::Owed, vec![write(60_000 + lane, 0, bytes)]);
        }
        let mut ended = sample.run_dry();
        assert!(ended.values().all(|result| *result == Ok(Answer::Done)), "{ended:?}");
        let waiting: Vec<u64> = updates.clone().filter(|lane| !ended.contains_key(lane)).collect();
        assert!(!ended.is_empty() && !waiting.is_empty(), "{ended:?} of {kept} pages");
        for lane in &waiting {
            assert_eq!(sample.store.wait_of(|token| token == lane), Some(Wait::Room));
        }
        // Those that wait hold none of the pages.
        let taken = before - sample.free_or_returning();
        let done = ended.len() as u64;
        assert!(taken <= done * (pages + 40), "{taken} for {done} of {pages} pages");
        let mut at = 0;
        while ended.len() < updates.clone().count() {
            assert!(at + 8 <= fillers, "{at} fillers are gone, {ended:?}");
            sample.submit_claiming(3, RoomClaim::Owed, remove(at..at + 8));
            let mut more = sample.run_dry();
            assert_eq!(more.remove(&3), Some(Ok(Answer::Done)));
            assert!(more.values().all(|result| *result == Ok(Answer::Done)), "{more:?}");
            ended.extend(more);
            at += 8;
        }
    }
}
