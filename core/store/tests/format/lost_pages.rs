//! A page of an object goes bad on the device while it is in memory, a part of it is written, and the store dies before a checkpoint: the log needs
//! the page and cannot have it.
//!
//! The store did not open then, for one block of one object: where no other copy was to fill it from, everything else on the device was
//! gone with it.

use super::sample::{Disks, Sample};
use loadline_store::paged::check::check;
use loadline_store::paged::{
    Answer, Ask, Damage, Edit, Fault, LossNote, ObjectId, OpError, Payload, Protection,
    RestartFault, api,
};
use loadline_store::{CollectionId, ObjectNo, Version};

const PAGE: u64 = 4096;
const LENGTH: u64 = 8 * PAGE - 100;
const OBJECT: ObjectId =
    ObjectId { collection: CollectionId::new(3), object: ObjectNo(5), snapshot: 0 };
const COPY: ObjectId = ObjectId { snapshot: 9, ..OBJECT };

/// How a bad page is bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bad {
    Rotten,
    Unreadable,
}

fn write(offset: u64, bytes: Vec<u8>) -> Edit {
    Edit::Write { object: OBJECT, offset, data: Payload::Bytes(bytes), version: Version(2) }
}

fn note(object: ObjectId) -> LossNote {
    LossNote::new(&note_key(object), &[1])
}

fn note_key(object: ObjectId) -> Vec<u8> {
    [&b"lost "[..], &object.object.0.to_be_bytes()].concat()
}

/// What the device holds of the object's page, and where.
fn place_of(disks: &Disks, index: u64) -> usize {
    let bytes = api::pattern(4, index * PAGE, 512);
    let sector = disks.data.chunks(512).position(|sector| sector == bytes);
    sector.expect("the data is on the disk") * 512
}

/// Devices with an object of a checkpoint and these transactions behind it in the log, and where the object's pages 2 and 5 stand.
fn changed(protection: Protection, is_shared: bool, edits: Vec<Vec<Edit>>) -> (Disks, [usize; 2]) {
    let mut sample = Sample::open(Disks::formatted(protection, false), protection);
    let data = Payload::Pattern { seed: 4, offset: 0, length: LENGTH };
    let first = Edit::Write { object: OBJECT, offset: 0, data, version: Version(1) };
    let before = Edit::Put { key: b"before".to_vec(), value: b"1".to_vec() };
    sample.ask(Ask::Transaction(vec![first, before]));
    if is_shared {
        sample.ask(Ask::Transaction(vec![Edit::Clone { from: OBJECT, to: COPY }]));
    }
    sample.ask(Ask::Checkpoint);
    let places = [2, 5].map(|index| place_of(&sample.disks, index));
    // They are in memory from here on.
    sample.ask(Ask::Read { object: OBJECT, offset: 0, length: LENGTH });
    edits.into_iter().for_each(|edits| sample.ask(Ask::Transaction(edits)));
    (sample.disks, places)
}

/// The store on devices whose page at this place is bad, as far as it opens.
fn begin(mut disks: Disks, place: usize, bad: Bad, is_noted: bool) -> Sample {
    if bad == Bad::Rotten {
        disks.data[place + 10] ^= 1;
    }
    let mut sample = Sample::begin(disks, Protection::Checkpoint);
    if bad == Bad::Unreadable {
        sample.unreadable = Some(place as u64..place as u64 + PAGE);
    }
    if is_noted {
        sample.store.note_losses(note);
    }
    while !sample.store.is_open() && sample.store.fault().is_none() {
        sample.step();
    }
    sample
}

/// Compares the object with what it should be, but for pages that are lost.
fn check_bytes(sample: &mut Sample, object: ObjectId, model: &[u8], lost: &[u64], when: &str) {
    for index in 0..LENGTH.div_ceil(PAGE) {
        let (from, to) = (index * PAGE, ((index + 1) * PAGE).min(LENGTH));
        let answer = sample.answer(Ask::Read { object, offset: from, length: to - from });
        match lost.contains(&index) {
            true => {
                let damage = Damage::Object(object, from..(index + 1) * PAGE);
                assert!(answer == Err(OpError::Damaged(damage)), "{when}: page {index}");
            }
            false => {
                let bytes = model[from as usize..to as usize].to_vec();
                assert!(answer == Ok(Answer::Bytes(Some(bytes))), "{when}: page {index}");
            }
        }
    }
}

/// Changes of parts of the pages 2 and 5: each a transaction, with something else in it.
fn edits(model: &mut [u8]) -> Vec<Vec<Edit>> {
    let page = PAGE as usize;
    model[2 * page + 100..][..50].fill(7);
    model[2 * page + 300..3 * page + 200].fill(8);
    model[5 * page + 10..5 * page + 30].fill(0);
    let punch = 5 * PAGE + 10..5 * PAGE + 30;
    let put = |key: &[u8]| Edit::Put { key: key.to_vec(), value: b"2".to_vec() };
    vec![
        vec![write(2 * PAGE + 100, vec![7; 50]), put(b"first")],
        vec![write(2 * PAGE + 300, vec![8; page - 100]), put(b"second")],
        vec![Edit::Punch { object: OBJECT, range: punch, version: Version(3) }, put(b"third")],
    ]
}

#[test]
fn a_page_of_data_that_the_log_needs_and_cannot_have_is_lost_and_nothing_else() {
    for (protection, is_shared) in
        [(Protection::Checkpoint, false), (Protection::Checkpoint, true), (Protection::Log, false)]
    {
        let mut model = api::pattern(4, 0, LENGTH);
        let copied = model.clone();
        let (disks, places) = changed(protection, is_shared, edits(&mut model));
        for (place, lost) in places.into_iter().zip([2, 5]) {
            let when = format!("{protection}, shared {is_shared}, page {lost}");
            let mut sample = begin(disks.clone(), place, Bad::Rotten, true);
            assert_eq!(sample.store.fault(), None, "{when}");
            for life in 0..3 {
                let when = format!("{when}, life {life}");
                check_bytes(&mut sample, OBJECT, &model, &[lost], &when);
                for key in [&b"before"[..], b"first", b"second", b"third", &note_key(OBJECT)] {
                    let value = sample.answer(Ask::Get(key.to_vec()));
                    assert!(matches!(value, Ok(Answer::Value(Some(_)))), "{when}: {key:?}");
                }
                // Without a checkpoint the next restart looks at the page anew.
                if life == 1 {
                    sample.ask(Ask::Checkpoint);
                }
                sample = Sample::begin(sample.disks, protection);
                sample.store.note_losses(note);
                sample = sample.opened();
            }
            if is_shared {
                check_bytes(&mut sample, COPY, &copied, &[lost], &when);
            }
            // The device gives the page as it was again: that is good for whoever else it belongs to. The copy is read first, so that it is in memory.
            sample.disks.data[place + 10] ^= 1;
            sample = Sample::open(sample.disks, protection);
            if is_shared {
                check_bytes(&mut sample, COPY, &copied, &[], &when);
            }
            check_bytes(&mut sample, OBJECT, &model, &[lost], &when);
            let (from, to) = (lost * PAGE, (lost + 1) * PAGE);
            let whole = model[from as usize..to as usize].to_vec();
            sample.ask(Ask::Transaction(vec![write(from, whole)]));
            sample.ask(Ask::Checkpoint);
            assert_eq!(check(&sample.disks.bytes()).findings, [], "{when}");
            let mut sample = Sample::open(sample.disks, protection);
            check_bytes(&mut sample, OBJECT, &model, &[], &when);
        }
    }
}

/// A note that is there says more than that a page is lost.
#[test]
fn what_is_noted_already_stays() {
    let mut model = api::pattern(4, 0, LENGTH);
    let mut edits = edits(&mut model);
    edits.insert(0, vec![Edit::Put { key: note_key(OBJECT), value: b"more".to_vec() }]);
    let (disks, [place, _]) = changed(Protection::Checkpoint, false, edits);
    let mut sample = begin(disks, place, Bad::Rotten, true);
    let found = sample.answer(Ask::Get(note_key(OBJECT)));
    assert_eq!(found, Ok(Answer::Value(Some(b"more".to_vec()))));
    check_bytes(&mut sample, OBJECT, &model, &[2], "noted");
}

/// A store that is alone opens without a rotten page. One that the device does not read every store waits for: whether others have what stands there it
/// can ask nobody.
#[test]
fn a_restart_goes_past_rot_and_waits_for_a_page_that_is_not_read() {
    let mut model = api::pattern(4, 0, LENGTH);
    let (disks, [place, _]) = changed(Protection::Checkpoint, false, edits(&mut model));
    let mut sample = begin(disks.clone(), place, Bad::Rotten, false);
    assert_eq!(sample.store.fault(), None);
    check_bytes(&mut sample, OBJECT, &model, &[2], "rotten");
    for is_noted in [false, true] {
        let sample = begin(disks.clone(), place, Bad::Unreadable, is_noted);
        let fault = sample.store.fault();
        let is_named = matches!(fault, Some(Fault::Restart(RestartFault::UnreadablePage(_))));
        assert!(is_named, "{fault:?}");
        let mut sample = Sample::open(sample.disks, Protection::Checkpoint);
        check_bytes(&mut sample, OBJECT, &model, &[], "it was read another time");
    }
}

/// What covers a bad page whole asks nobody for it.
#[test]
fn a_bad_page_that_is_written_whole_behind_is_a_good_one() {
    let mut model = api::pattern(4, 0, LENGTH);
    let mut edits = edits(&mut model);
    model[2 * PAGE as usize..3 * PAGE as usize].fill(9);
    edits.push(vec![write(2 * PAGE, vec![9; PAGE as usize])]);
    let (disks, [place, _]) = changed(Protection::Checkpoint, false, edits);
    let mut sample = begin(disks, place, Bad::Rotten, false);
    assert_eq!(sample.store.fault(), None);
    check_bytes(&mut sample, OBJECT, &model, &[], "written whole");
}
