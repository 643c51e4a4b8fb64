//! Objects that change on disks without a write, so that every page of them is whole: what software may do, or hands. Where an earlier deep scrub has
//! recorded what they were, the next one finds it though all copies are alike, and knows the one that is as it was.

use super::flips::{DEEP, Flipped, REPAIR, check_disks, image, record, rest, scrub_all};
use super::judge::{CELL, Judged, contents};
use crate::by_hand::OpenedStore;
use crate::judge::OSDS;
use loadline_osd::{OsdId, OsdSet, ScrubError, ScrubErrors, ScrubRecord};
use loadline_store::paged::{Answer, Ask, Edit, ObjectId, Payload};
use loadline_store::{CollectionId, ObjectMeta, ObjectNo};

/// States of objects in a store that hold this at this place.
fn holding(store: &mut OpenedStore, offset: u64, bytes: &[u8]) -> Vec<(ObjectId, ObjectMeta)> {
    let mut found = Vec::new();
    for collection in (0..8).map(CollectionId::new) {
        let list = Ask::List { collection, from: ObjectNo(0), most: 1000 };
        let Answer::Objects(all) = store.ask(list) else { panic!("no list") };
        for (object, meta) in all {
            let read = Ask::Read { object, offset, length: CELL };
            if store.ask(read) == Answer::Bytes(Some(bytes.to_vec())) {
                found.push((object, meta));
            }
        }
    }
    found
}

/// The node dies, and a cell is changed on so many of the disks that have it, counted from the first, in every state of its object that has it:
/// to what a write would have made of it, under the version that it has. The answer is which these were.
fn change(judged: &mut Judged, cell: usize, copies: std::ops::Range<usize>) -> Vec<OsdId> {
    let (old, new) = (contents(judged.copies["i"][cell]), contents(u64::MAX));
    let offset = cell as u64 % 16 * CELL;
    let mut changed = Vec::new();
    rest(judged);
    judged.crash_and(None, |disks, _| {
        let mut copy = 0;
        for (osd, disk) in disks.iter_mut().enumerate() {
            let mut store = OpenedStore::new(disk.clone());
            let states = holding(&mut store, offset, &old);
            if states.is_empty() {
                continue;
            }
            if copies.contains(&copy) {
                for (object, ObjectMeta { version, .. }) in states {
                    let data = Payload::Bytes(new.clone());
                    let edit = Edit::Write { object, offset, data, version };
                    assert_eq!(store.ask(Ask::Transaction(vec![edit])), Answer::Done);
                }
                *disk = store.into_disk();
                changed.push(OsdId::new(osd as u32));
            }
            copy += 1;
        }
        assert_eq!(copy, 3, "three have it");
    });
    changed
}

fn recorded_digests(judged: &mut Judged) -> u64 {
    (0..OSDS).map(|osd| judged.node().osd(OsdId::new(osd)).scrub_counts().recorded).sum()
}

fn scrub(judged: &mut Judged, request: loadline_osd::ScrubRequest) -> ScrubRecord {
    scrub_all(judged, request, &mut Flipped::default());
    record(judged)
}

/// An image whose digests are recorded, if that is said.
fn scrubbed(seed: u64, is_recorded: bool) -> Judged {
    let mut judged = image(seed);
    if is_recorded {
        assert_eq!(scrub(&mut judged, DEEP).findings.counts.all(), 0);
    }
    judged
}

#[test]
fn what_all_copies_have_changed_alike_is_told_if_it_was_recorded() {
    let mut judged = scrubbed(7, false);
    change(&mut judged, 1, 0..3);
    assert_eq!(scrub(&mut judged, DEEP).findings.counts.all(), 0, "nobody knows better");

    let mut judged = scrubbed(7, true);
    let all = change(&mut judged, 1, 0..3);
    let found = scrub(&mut judged, DEEP).findings;
    assert_eq!((found.counts.deep, found.counts.shallow, found.inconsistent), (3, 0, 1));
    let state = &found.named[0];
    let wrong = ScrubErrors::one(ScrubError::RecordedDigest);
    assert_eq!((state.authority, state.as_recorded), (None, Some(OsdSet::EMPTY)));
    assert_eq!(state.bad, all.iter().map(|osd| (*osd, wrong)).collect::<Vec<_>>());
    // Nobody makes good what nobody has, and it is told until it is written.
    assert!(scrub(&mut judged, REPAIR).has_failed_repair);
    assert_eq!(scrub(&mut judged, DEEP).findings, found);
    judged.update("i", 1, 1, false);
    judged.drain();
    let record = scrub(&mut judged, DEEP);
    assert!(record.findings.counts.all() == 0 && !record.has_failed_repair, "{record:?}");
    judged.check_every_copy();
}

#[test]
fn two_copies_that_changed_alike_are_replaced_from_the_one_that_is_as_recorded() {
    for copies in [0..2, 1..3, 0..1] {
        // Without a record the majority is believed.
        for is_recorded in [true, false] {
            let mut judged = scrubbed(8, is_recorded);
            let changed = change(&mut judged, 1, copies.clone());
            let found = scrub(&mut judged, DEEP).findings;
            let right = found.named[0].authority.expect("one is right");
            if !is_recorded {
                assert_eq!(changed.contains(&right), changed.len() == 2);
                assert_eq!(found.named[0].as_recorded, None);
                continue;
            }
            assert!(!changed.contains(&right));
            let as_recorded = found.named[0].as_recorded.expect("it was recorded");
            assert_eq!(as_recorded.iter().count(), 3 - changed.len());
            assert!(as_recorded.contains(right));
            let record = scrub(&mut judged, REPAIR);
            assert!(record.findings.counts.all() == 0 && !record.has_failed_repair, "{record:?}");
            check_disks(&mut judged);
            judged.check_every_copy();
        }
    }
}

/// A digest is recorded once for each copy of a version, and again for what was written or replaced since.
#[test]
fn a_digest_is_recorded_once_for_each_version() {
    let mut judged = scrubbed(9, true);
    // Four objects on three OSDs.
    assert_eq!(recorded_digests(&mut judged), 12);
    scrub(&mut judged, DEEP);
    assert_eq!(recorded_digests(&mut judged), 12);
    judged.update("i", 1, 1, false);
    judged.drain();
    scrub(&mut judged, DEEP);
    assert_eq!(recorded_digests(&mut judged), 15);
    // It is on the disks.
    rest(&mut judged);
    judged.crash();
    scrub(&mut judged, DEEP);
    assert_eq!(recorded_digests(&mut judged), 0, "of this life");
}

/// A former state has the record of what it was when it was the present one.
#[test]
fn a_former_state_is_as_recorded_before_it_was_one() {
    let mut judged = scrubbed(10, true);
    judged.snapshot("a");
    // Another cell of the same object.
    judged.update("i", 2, 1, false);
    judged.drain();
    let before = recorded_digests(&mut judged);
    change(&mut judged, 1, 0..3);
    let found = scrub(&mut judged, DEEP).findings;
    let labels: Vec<u32> = found.named.iter().map(|state| state.label.0).collect();
    assert_eq!(before, 12);
    assert_eq!(labels.len(), 1, "the present state was written since it was recorded: {found:?}");
    assert!(labels[0] > 0 && found.named[0].authority.is_none(), "{found:?}");
}
