//! A page that only a snapshot shows is lost on every disk. Its object is unfound as long as anybody can ask for that page, and no longer; and what the object holds
//! beside it does not wait for it either.

use super::flips::rest;
use super::judge::{CELL, Judged, POOL, contents};
use crate::judge::{OSDS, first_page, is_whole};
use loadline_base::Span;
use loadline_cluster::images::{OBJECT_BYTES_MIN, split};
use loadline_osd::OsdId;
use loadline_sim::Sim;
use loadline_store::ObjectNo;
use loadline_store::paged::LogMode;

const CELLS: u64 = 4 * 16;
/// The cell of which a page is lost.
const LOST: u64 = 3;

/// An image with a snapshot, of which nothing is in memory.
fn with_snapshot(seed: u64) -> Judged {
    let mut judged = Judged::in_mode(seed, 3, LogMode::Fsync);
    let create = judged.table(|i| i.create("i", POOL, CELLS * CELL, OBJECT_BYTES_MIN));
    create.expect("there is no other");
    judged.copies.insert("i".into(), vec![0; CELLS as usize]);
    write(&mut judged, "i", 0, CELLS);
    judged.snapshot("a");
    judged
}

fn write(judged: &mut Judged, name: &str, from: u64, count: u64) {
    judged.update(name, from, count, false);
    judged.drain();
}

/// The page that the snapshot shows rots on all disks, and nothing of it is in memory.
fn lose(judged: &mut Judged) {
    rest(judged);
    judged.crash();
    rest(judged);
    let wanted = contents(judged.copies["i@a"][LOST as usize]);
    for osd in (0..OSDS).map(OsdId::new) {
        let disk = judged.node().disk(osd);
        let image = disk.image();
        let pages = image.chunks(CELL as usize).enumerate();
        let pages = pages.skip((first_page() / CELL) as usize).filter(|(_, page)| *page == wanted);
        pages.for_each(|(at, _)| disk.rot(at as u64 * CELL..at as u64 * CELL + 1));
    }
}

fn unfound(node: &Sim) -> Vec<ObjectNo> {
    node.map().pgs().flat_map(|(pg, _)| node.unfound(pg).0).collect()
}

fn remove_snapshot(judged: &mut Judged) {
    judged.table(|images| images.snapshot_remove("i", "a")).expect("it has no clones");
    judged.copies.remove("i@a");
}

/// Nothing is unfound a moment later, all is whole, and it goes as everything does.
#[track_caller]
fn is_found(mut judged: Judged) {
    let limit = judged.node().now() + Span::from_secs(5);
    let is_found = |node: &Sim| unfound(node).is_empty() && is_whole(node);
    judged.node().wait_until(|node| is_found(node) || node.now() > limit);
    assert!(is_found(judged.node()), "{:?}: {}", unfound(judged.node()), judged.state());
    judged.finish_trims();
    judged.check_all();
    judged.check_every_copy();
    judged.remove_everything();
}

/// It was unfound, and its group not clean, until a restart: only a read at the snapshot could have ended that, and nobody reads at one that was removed.
#[test]
fn what_a_removed_snapshot_showed_is_not_unfound() {
    let mut judged = with_snapshot(1);
    write(&mut judged, "i", LOST, 1);
    lose(&mut judged);
    assert!(judged.is_cell_refused("i@a", LOST));
    assert_eq!(unfound(judged.node()).len(), 1);
    write(&mut judged, "i", 0, 16);
    assert_eq!(unfound(judged.node()).len(), 1, "the snapshot shows it still");
    remove_snapshot(&mut judged);
    is_found(judged);
}

/// The snapshot is removed while a read there is on its way, at any moment: it may be refused, and nothing is unfound after that.
#[test]
fn what_is_refused_after_its_snapshot_was_removed_is_not_unfound() {
    for steps in (0..60).step_by(5) {
        let mut judged = with_snapshot(5);
        write(&mut judged, "i", LOST, 1);
        lose(&mut judged);
        judged.begin_to_read_cell("i@a", LOST);
        for _ in 0..steps {
            judged.node().step();
        }
        remove_snapshot(&mut judged);
        assert!(judged.node().wait_until(|node| !node.workload().replies.is_empty()));
        judged.node().workload_mut().replies.clear();
        is_found(judged);
    }
}

/// A clone has read it. It is unfound until the snapshot goes, whatever is written to the image that the clone was made of, or to the clone. (It counted as a part
/// of that image as it is now: a write there ended it, and nothing else.)
#[test]
fn what_a_clone_shows_of_a_snapshot_is_unfound_as_long_as_that_is_there() {
    let mut judged = with_snapshot(2);
    write(&mut judged, "i", LOST, 1);
    judged.table(|images| images.clone_image("i@a", "c")).expect("there is no other");
    judged.copies.insert("c".into(), judged.copies["i@a"].clone());
    lose(&mut judged);
    assert!(judged.is_cell_refused("c", LOST));
    let found = unfound(judged.node());
    assert_eq!(found.len(), 1);
    write(&mut judged, "i", LOST, 1);
    write(&mut judged, "c", 0, 16);
    assert_eq!(unfound(judged.node()), found, "the snapshot shows it still");
    judged.table(|images| images.remove("c")).expect("it has no snapshots");
    judged.copies.remove("c");
    remove_snapshot(&mut judged);
    is_found(judged);
}

/// A write into a part of it was refused, so the disks tell that each copy has lost a page, and all of it was written anew since. (Nothing is trimmed where a
/// copy has lost a page, and each had lost it as long as what was to be trimmed was there.)
#[test]
fn what_every_copy_has_lost_of_a_removed_snapshot_does_not_keep_it_from_being_trimmed() {
    let mut judged = with_snapshot(3);
    lose(&mut judged);
    assert!(judged.is_refused("i", LOST * CELL + 300, vec![7; 500]));
    write(&mut judged, "i", LOST, 1);
    let later = judged.node().now() + Span::from_secs(100);
    judged.node().run_until(later);
    assert!(judged.is_cell_refused("i@a", LOST));
    assert_eq!(unfound(judged.node()).len(), 1);
    remove_snapshot(&mut judged);
    is_found(judged);
}

/// A copy has missed a write of another page, and cannot be given the object because nobody can read all of what the snapshot shows. (It lacked the object for
/// good, and whoever gave up what was unfound would have lost that write.)
#[test]
fn what_a_removed_snapshot_showed_keeps_no_object_from_a_copy_that_lacks_it() {
    let mut judged = with_snapshot(4);
    write(&mut judged, "i", LOST, 1);
    lose(&mut judged);
    let view = judged.view("i");
    let object = split(&view, 0, CELL).next().expect("it is in the image").object;
    let map = judged.node().map();
    let last = *map.pg(map.pg_of(POOL, object)).acting.last().expect("it serves");
    judged.take_down(last);
    write(&mut judged, "i", 8, 1);
    judged.open_what_is_down();
    let limit = judged.node().now() + Span::from_secs(100);
    judged.node().wait_until(|node| !unfound(node).is_empty() || node.now() > limit);
    assert_eq!(unfound(judged.node()).len(), 1);
    remove_snapshot(&mut judged);
    is_found(judged);
}
