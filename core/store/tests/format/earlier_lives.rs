//! Devices that held a store before: whatever shape it had, the next store is not confused by what is left of it, and a formatting
//! may be cut short anywhere.

use super::sample::{DATA, Disks, Sample, crashed};
use loadline_base::{Bytes, Rng};
use loadline_store::paged::check::check;
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::superblock::SuperblockFault;
use loadline_store::paged::{
    Answer, Ask, Edit, Fault, Format, Formatting, Protection, RestartFault, StoreDevice, format,
};

fn shape(store_id: u64, log_mib: u64, page: u32, block_bytes: u32) -> Format {
    Format {
        store_id,
        data_bytes: Bytes::new(DATA),
        log_device_bytes: None,
        log_bytes: Bytes::from_mib(log_mib),
        segment_bytes: Bytes::from_kib(64),
        block_bytes,
        recovery_bytes: Bytes::from_mib(2),
        page: PageSize::new(page).expect("a legal size"),
    }
}

fn write(disks: &mut Disks, pieces: impl IntoIterator<Item = (StoreDevice, u64, Vec<u8>)>) {
    for (target, offset, bytes) in pieces {
        disks.of(target)[offset as usize..][..bytes.len()].copy_from_slice(&bytes);
    }
}

fn formatting(format_of: &Format) -> Formatting {
    format(format_of, Protection::Log).expect("it fits")
}

fn get(store: &mut Sample, key: &str) -> Option<Vec<u8>> {
    match store.answer(Ask::Get(key.as_bytes().to_vec())) {
        Ok(Answer::Value(value)) => value,
        other => panic!("{key}: {other:?}"),
    }
}

/// One device after the other shape's life: logs smaller and larger than before, other pages, other blocks, and sequence numbers
/// that begin again below those of the earlier lives.
#[test]
fn what_an_earlier_life_has_left_is_never_taken_for_this_one_s() {
    let mut disks = crashed(Protection::Log, false);
    let shapes =
        [(8, 4096, 512), (1, 4096, 512), (4, 1024, 1024), (9, 16384, 4096), (8, 4096, 512)];
    for ((log_mib, page, block), life) in shapes.into_iter().zip(1_u8..) {
        let protection = if life % 2 == 0 { Protection::Checkpoint } else { Protection::Log };
        write(&mut disks, formatting(&shape(1000 + u64::from(life), log_mib, page, block)));
        let when = format!("life {life}");
        assert_eq!(check(&disks.bytes()).findings, [], "{when}: formatted");
        let mut store = Sample::open(disks, protection);
        for key in 0..200 {
            assert_eq!(get(&mut store, &format!("key {key}")), None, "{when}: it is new");
        }
        let mut rng = Rng::new(u64::from(life));
        store.fill(&mut rng);
        let put = Edit::Put { key: b"life".to_vec(), value: vec![life] };
        store.ask(Ask::Transaction(vec![put]));
        assert_eq!(check(&store.disks.bytes()).findings, [], "{when}: used");
        let mut store = Sample::open(store.disks, protection);
        assert_eq!(get(&mut store, "life"), Some(vec![life]), "{when}: opened again");
        store.fill(&mut rng);
        disks = store.crash_in_checkpoint();
        assert_eq!(check(&disks.bytes()).findings, [], "{when}: crashed");
    }
}

/// What became of a device whose formatting was cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Old,
    Nothing,
    New,
}

fn look(disks: Disks, when: &str) -> Left {
    let mut store = Sample::begin(disks, Protection::Checkpoint);
    while !store.store.is_open() {
        match store.store.fault() {
            Some(Fault::Restart(RestartFault::Superblock(SuperblockFault::Unfinished(store)))) => {
                assert_eq!(store.get(), 78, "{when}");
                return Left::Nothing;
            }
            Some(fault) => panic!("{when}: {fault}"),
            None => store.step(),
        }
    }
    assert_eq!(check(&store.disks.bytes()).findings, [], "{when}");
    match store.store.superblock().store_id {
        77 => Left::Old,
        _ => Left::New,
    }
}

/// The power goes after any write of a formatting, and also with any of the stage's later writes on the device before its
/// earlier ones.
#[test]
fn a_formatting_that_is_cut_short_leaves_the_old_store_or_nothing_or_the_new_one() {
    let old = crashed(Protection::Checkpoint, false);
    let new = formatting(&shape(78, 4, 4096, 512));
    let mut whole = old.clone();
    let mut seen = Vec::new();
    for (stage, pieces) in new.stages().iter().enumerate() {
        for backwards in [false, true] {
            let mut disks = whole.clone();
            let mut ordered = pieces.clone();
            if backwards {
                ordered.reverse();
            }
            for (at, piece) in ordered.into_iter().enumerate() {
                write(&mut disks, [piece]);
                let left = look(disks.clone(), &format!("stage {stage}, {backwards}, {at}"));
                let allowed: &[Left] = match stage {
                    0 => &[Left::Old, Left::Nothing],
                    1 => &[Left::Nothing],
                    _ => &[Left::New],
                };
                assert!(
                    allowed.contains(&left),
                    "stage {stage}, {backwards}, write {at}: {left:?}"
                );
                seen.push(left);
            }
        }
        write(&mut whole, pieces.clone());
    }
    assert!([Left::Old, Left::Nothing, Left::New].iter().all(|left| seen.contains(left)));
}

/// A superblock of an earlier life with a higher number stood at the other end and won.
#[test]
fn superblocks_of_two_stores_are_refused_whatever_their_numbers() {
    let old = crashed(Protection::Checkpoint, false);
    let mut disks = old.clone();
    write(&mut disks, formatting(&shape(78, 8, 4096, 512)));
    for place in [4096, DATA as usize - 4096] {
        let mut mixed = disks.clone();
        mixed.data[place..place + 4096].copy_from_slice(&old.data[place..place + 4096]);
        let mut store = Sample::begin(mixed.clone(), Protection::Checkpoint);
        while store.store.fault().is_none() {
            assert!(!store.store.is_open(), "one of them was chosen");
            store.step();
        }
        let two = RestartFault::Superblock(SuperblockFault::TwoStores);
        assert_eq!(store.store.fault(), Some(Fault::Restart(two)));
        assert!(!check(&mixed.bytes()).is_clean());
    }
}
