//! What is kept for removed snapshots goes, all of it and once, on a node that dies at any moment of that.

use super::holes::{CELLS, TREE_PAGES};
use super::judge::{CELL, Judged, POOL};
use crate::judge::{OSDS, is_whole, sync};
use loadline_base::Span;
use loadline_cluster::images::OBJECT_BYTES_MIN;
use loadline_node::TrimReport;
use loadline_osd::OsdId;
use loadline_sim::StoreDisks;
use loadline_sim::disk::CutStyle;
use loadline_store::paged::LogMode;
use loadline_store::paged::check::check;

/// Pages that a disk may use more of: those that trees differ by, and as many for the logs of what was written and trimmed.
const MORE_PAGES: u64 = 2 * TREE_PAGES;

/// An image with snapshots `a` and `b`, between which and since then cells were written. The answer has the pages that it took without them.
fn with_snapshots(seed: u64, cells: u64) -> (Judged, u64) {
    let mut judged = Judged::in_mode(seed, OSDS, LogMode::Fsync);
    let create = judged.table(|i| i.create("i", POOL, CELLS * CELL, OBJECT_BYTES_MIN));
    create.expect("there is no other");
    judged.copies.insert("i".into(), vec![0; CELLS as usize]);
    judged.update("i", 0, CELLS, false);
    judged.drain();
    let used = settled(&mut judged);
    for name in ["a", "b"] {
        judged.snapshot(name);
        judged.scatter(cells, false);
    }
    (judged, used)
}

/// Pages in use on each disk when checkpoints have given back what is free.
fn settled(judged: &mut Judged) -> u64 {
    sync(judged.node());
    let later = judged.node().now() + Span::from_secs(1);
    judged.node().wait_until(|node| node.now() > later && is_whole(node));
    judged.check_used()
}

/// A checker that knows nothing of the node finds on each disk as many states of objects as there are objects: none of a removed snapshot, whatever the
/// node says that is left.
fn no_former_states(judged: &mut Judged) {
    let pgs: Vec<_> =
        judged.node().map().pgs().map(|(pg, state)| (pg, state.acting.clone())).collect();
    for osd in (0..OSDS).map(OsdId::new) {
        let here = pgs.iter().filter(|(_, acting)| acting.contains(&osd));
        let objects: usize = here.map(|(pg, _)| judged.node().osd(osd).objects(*pg).len()).sum();
        let data = judged.node().disk(osd).clone();
        let states = check(&StoreDisks { data, log: None }).totals.objects;
        assert_eq!(states, objects as u64, "{osd}: states, and objects");
    }
}

fn remove(judged: &mut Judged, snapshot: &str) {
    judged.table(|images| images.snapshot_remove("i", snapshot)).expect("it has no clones");
    judged.copies.remove(&format!("i@{snapshot}"));
}

fn report(judged: &mut Judged) -> TrimReport {
    judged.node().node_mut().trim_report()
}

#[test]
fn a_removed_snapshot_leaves_at_once_and_its_space_comes_back() {
    let (mut judged, before) = with_snapshots(1, 60);
    let with = settled(&mut judged);
    assert!(with > before + 90, "{before} pages, then {with}");
    // Objects of which a cell was written since.
    let (then, now) = (&judged.copies["i@b"], &judged.copies["i"]);
    let kept = then.chunks(16).zip(now.chunks(16)).filter(|(then, now)| then != now).count() as u64;
    remove(&mut judged, "b");
    let left = report(&mut judged).objects_left;
    assert!(left > 5, "the command returns while {left} of {kept} states are still there");
    judged.finish_trims();
    assert_eq!(report(&mut judged).trimmed, kept, "each goes once");
    judged.check_all();
    remove(&mut judged, "a");
    judged.finish_trims();
    let used = settled(&mut judged);
    assert!(used <= before + MORE_PAGES, "{before} pages, and {used} without the snapshots");
    judged.check_all();
}

/// A power cut or a kill after so many steps of a trim, and another one after so many of the next life.
fn dies(seed: u64, steps: u64) -> bool {
    let (mut judged, before) = with_snapshots(seed, 25);
    sync(judged.node());
    remove(&mut judged, "a");
    remove(&mut judged, "b");
    judged.steps(steps);
    let was_under_way = report(&mut judged).objects_left > 0;
    for style in [CutStyle::AllLost, CutStyle::AllKept, CutStyle::Random, CutStyle::Torn] {
        let power = (judged.rng.below(3) > 0).then_some(style);
        judged.crash_with(power);
        let steps = judged.rng.below(200);
        judged.steps(steps);
    }
    judged.heal();
    judged.finish_trims();
    judged.check_all();
    assert_eq!(judged.node().copies_that_differ(), []);
    let used = settled(&mut judged);
    assert!(used <= before + MORE_PAGES, "{before} pages, and {used} without the snapshots");
    no_former_states(&mut judged);
    for osd in (0..OSDS).map(OsdId::new) {
        let unfinished = judged.node().osd(osd).unfinished();
        let is_trim = unfinished.as_ref().is_some_and(|what| what.contains("TrimRun"));
        assert!(!is_trim, "{osd}: {unfinished:?}");
    }
    judged.remove_everything();
    was_under_way
}

#[test]
fn every_clone_goes_once_however_often_the_node_dies() {
    let lives = (0..24).filter(|life| dies(*life, life * 8)).count();
    assert!(lives > 12, "the first death of {lives} meets a trim");
}

#[test]
#[ignore = "a long search; make soak runs it"]
fn every_clone_goes_once_in_many_more_lives() {
    for life in 0..2_000 {
        dies(100 + life, life % 200);
    }
}
