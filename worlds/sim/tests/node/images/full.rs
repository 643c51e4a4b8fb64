//! The same histories while disks are filled to the brim: writes wait, everything else goes on, no OSD stays down for it, and all is as it was written
//! when there is room again.

use super::happen;
use super::judge::{CELL, Judged, POOL};
use crate::judge::OSDS;
use crate::swarm::many_seeds;
use loadline_cluster::images::{ImageId, OBJECT_BYTES_MIN};
use loadline_osd::{OsdId, PgId};

/// What a history has met.
#[derive(Default)]
struct Met {
    /// Rounds in which a disk was full.
    full: usize,
    /// Snapshots and clones that were read.
    read: usize,
}

fn history(seed: u64) -> Met {
    let mut judged = Judged::new(seed);
    let mut met = Met::default();
    for _ in 0..6 + judged.rng.below(6) {
        for _ in 0..judged.rng.below(4) {
            judged.change_table();
        }
        judged.load();
        judged.fill(700);
        for _ in 0..1 + judged.rng.below(5) {
            let full = judged.node().cluster().full_osds();
            met.full += usize::from(!full.is_empty());
            judged.load();
            happen(&mut judged);
            met.read += judged.check_some();
            let steps = judged.rng.below(2_000);
            judged.steps(steps);
        }
        if judged.rng.below(3) == 0 {
            judged.make_room();
        }
        judged.drain();
        judged.check_some();
    }
    while judged.make_room() {
        judged.drain();
    }
    judged.heal();
    judged.check_every_copy();
    judged.finish_trims();
    judged.check_all();
    judged.remove_everything();
    met
}

#[test]
fn every_image_and_snapshot_reads_as_it_was_written_on_disks_that_were_full() {
    let all: Vec<Met> = (0..8).inspect(|seed| println!("seed {seed}")).map(history).collect();
    let full: usize = all.iter().map(|met| met.full).sum();
    let read: usize = all.iter().map(|met| met.read).sum();
    assert!(full > 50 && read > 10, "{full} rounds on full disks, {read} reads");
}

/// An OSD without room for pushes had hundreds of objects that were removed while it was away. They came behind those that it had to refuse, and so
/// never.
#[test]
fn what_was_removed_meanwhile_goes_from_a_disk_without_room_for_pushes() {
    history(1139);
}

/// Writes that waited for room went on when there was some, and made objects of an image that had gone by then: nobody ever removed those.
#[test]
fn what_waits_for_room_ends_with_its_image() {
    const CELLS: u64 = 50;
    let mut judged = Judged::new(1);
    judged.table(|i| i.create("i0", POOL, CELLS * CELL, OBJECT_BYTES_MIN)).expect("it is new");
    judged.copies.insert("i0".into(), vec![0; CELLS as usize]);
    judged.fill(700);
    let before = judged.node().cluster().held_writes();
    judged.update("i0", 0, CELLS, false);
    let waiting = judged.node().cluster().held_writes() - before;
    assert!(waiting > 0, "there is room for it");

    let image = judged.node().cluster().kept_images().image("i0").expect("it is there").id;
    judged.forget("i0");
    judged.table(|images| images.remove("i0")).expect("it is there");
    while judged.node().cluster().images().jobs().next().is_some() {
        judged.work();
        judged.go_on();
    }
    assert!(judged.node().cluster().held_writes() <= before, "the others wait, or have found room");
    while judged.make_room() {
        judged.drain();
    }
    judged.heal();
    let pgs: Vec<PgId> = judged.node().cluster().map().pgs_of(POOL).collect();
    for (osd, pg) in (0..OSDS).map(OsdId::new).flat_map(|osd| pgs.iter().map(move |pg| (osd, *pg)))
    {
        let all = judged.node().osd(osd).objects(pg).list_after(None, usize::MAX);
        let left = all.into_iter().find(|(object, _)| ImageId::of(*object).0 == image);
        assert_eq!(left, None, "{pg} on {osd}");
    }
}

#[test]
#[ignore = "a long search; make soak runs it"]
fn every_image_and_snapshot_reads_as_it_was_written_on_full_disks_in_many_more_histories() {
    for seed in many_seeds(1_000) {
        history(seed);
    }
}
