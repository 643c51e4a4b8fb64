//! The same histories while disks are filled to the brim: writes wait, everything else goes on, no OSD stays down for it, and all is as it was written
//! when there is room again.

use super::happen;
use super::judge::Judged;
use crate::swarm::many_seeds;

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

#[test]
#[ignore = "a long search; make soak runs it"]
fn every_image_and_snapshot_reads_as_it_was_written_on_full_disks_in_many_more_histories() {
    for seed in many_seeds(1_000) {
        history(seed);
    }
}
