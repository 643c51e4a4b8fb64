//! What a disk uses after recovery and backfill: holes stay holes, and snapshots go on sharing pages.
//!
//! Recovery pushed whole objects: 10 MiB of random writes took 6.5 MiB of a disk, and 118 MiB after its OSD had been down
//! once. An object's former states were pushed one by one, each with all its bytes.

use super::judge::{CELL, Judged, POOL, contents};
use crate::judge::{OSDS, fresh_disk};
use loadline_base::Span;
use loadline_cluster::images::OBJECT_BYTES_MIN;
use loadline_osd::OsdId;
use loadline_sim::disk::Trouble;

pub(super) const CELLS: u64 = 40 * 16;
/// Pages that two disks with the same contents may differ by: their trees are not of the same shape.
pub(super) const TREE_PAGES: u64 = 8;

/// A node that has a copy of everything on each disk, with an image of 40 objects.
fn judged(seed: u64) -> Judged {
    let mut judged = Judged::with_copies(seed, OSDS);
    let create = judged.table(|i| i.create("i", POOL, CELLS * CELL, OBJECT_BYTES_MIN));
    create.expect("there is no other");
    judged.copies.insert("i".into(), vec![0; CELLS as usize]);
    judged
}

impl Judged {
    /// Writes or zeroes so many cells at random.
    pub(super) fn scatter(&mut self, cells: u64, zero: bool) {
        for _ in 0..cells {
            let cell = self.rng.below(CELLS);
            self.update("i", cell, 1, zero);
            self.drain();
        }
    }

    /// Has an OSD filled anew.
    fn refill(&mut self, osd: OsdId) {
        self.take_down(osd);
        self.node().replace(osd, fresh_disk(99));
        self.heal();
    }

    pub(super) fn snapshot(&mut self, name: &str) {
        self.table(|images| images.snapshot_create("i", name)).expect("there is no other");
        self.copies.insert(format!("i@{name}"), self.copies["i"].clone());
    }

    /// Pages in use on each disk: the same for all, but for a few.
    #[track_caller]
    pub(super) fn check_used(&mut self) -> u64 {
        let used = |osd: u32| {
            let space = self.node().osd(OsdId::new(osd)).space().expect("it is open");
            space.total - space.free
        };
        let used: Vec<u64> = (0..OSDS).map(used).collect();
        let (least, most) = (*used.iter().min().expect("four"), *used.iter().max().expect("four"));
        assert!(most - least <= TREE_PAGES + most / 50, "{used:?} pages are used");
        most
    }
}

#[test]
fn recovery_and_backfill_leave_holes() {
    let mut judged = judged(1);
    judged.scatter(100, false);
    let before = judged.check_used();
    judged.take_down(OsdId::new(1));
    judged.scatter(60, false);
    judged.scatter(20, true);
    judged.heal();
    let recovered = judged.check_used();
    assert!(recovered < before + 80, "{before} pages were used, then {recovered}");
    judged.refill(OsdId::new(2));
    judged.check_used();
    judged.check_every_copy();
}

#[test]
fn snapshots_share_pages_on_a_copy_that_was_made_anew() {
    let mut judged = judged(2);
    judged.update("i", 0, CELLS, false);
    judged.drain();
    for (at, name) in ["a", "b", "c"].into_iter().enumerate() {
        judged.snapshot(name);
        if at == 1 {
            judged.take_down(OsdId::new(1));
        }
        judged.scatter(60, false);
        judged.scatter(20, true);
    }
    judged.heal();
    let used = judged.check_used();
    assert!(used < CELLS * 2, "four states of {CELLS} cells take {used} pages");
    for osd in [2, 0, 3] {
        judged.refill(OsdId::new(osd));
        judged.check_used();
    }
    judged.check_every_copy();
    judged.remove_everything();
}

/// An OSD is down while almost everything is discarded: what it had must not come back, nor keep its room.
#[test]
fn what_was_discarded_meanwhile_goes() {
    let mut judged = judged(3);
    judged.update("i", 0, CELLS, false);
    judged.drain();
    judged.take_down(OsdId::new(1));
    for object in 0..CELLS / 16 {
        // Now and then a whole object, or its first or last part.
        let (from, count) = [(0, 16), (0, 9), (7, 9), (3, 10)][object as usize % 4];
        judged.update("i", object * 16 + from, count, true);
        judged.drain();
    }
    judged.heal();
    judged.check_used();
    judged.check_every_copy();
}

/// The node dies at some moment of a recovery: what has come of an object counts for nothing until all of it has.
#[test]
fn a_crash_in_the_middle_of_a_push_leaves_nothing_half_done() {
    let mut cut = 0;
    for steps in 0..24 {
        let mut judged = judged(steps);
        judged.update("i", 0, CELLS, false);
        judged.drain();
        judged.snapshot("a");
        judged.scatter(20, false);
        judged.take_down(OsdId::new(1));
        judged.scatter(20, false);
        judged.scatter(30, true);
        judged.open_what_is_down();
        judged.steps(10 + steps * 40);
        cut += u32::from(judged.node().osd(OsdId::new(1)).received().objects > 0);
        judged.crash();
        judged.heal();
        judged.check_used();
        judged.check_all();
        judged.take_down(OsdId::new(0));
        judged.check_all();
    }
    assert!(cut > 8, "recovery is under way when the node dies: {cut} times");
}

/// Former states of one object have bad pages, another one on each of the disks. (Nothing tested that what is mended is more than the present.)
#[test]
fn what_each_copy_can_read_of_former_states_is_put_together() {
    let mut judged = judged(7);
    judged.update("i", 0, CELLS, false);
    judged.drain();
    for name in ["a", "b"] {
        judged.snapshot(name);
        judged.update("i", 3 * 16, 16, false);
        judged.drain();
    }
    // What the log tells of it is done with, and nothing is in memory.
    let until = judged.node().now() + Span::from_secs(1);
    judged.node().wait_until(|node| node.now() > until);
    judged.crash();
    judged.heal();
    for (at, name) in ["i@a", "i@b", "i"].into_iter().enumerate() {
        for osd in 0..OSDS {
            let stamp = judged.copies[name][3 * 16 + 4 * at + osd as usize];
            let disk = judged.node().disk(OsdId::new(osd));
            let image = disk.image();
            let pages = image.chunks(CELL as usize).zip((0..).step_by(CELL as usize));
            let bytes = contents(stamp);
            let bad: Vec<u64> =
                pages.filter(|(page, _)| *page == bytes).map(|(_, at)| at).collect();
            assert!(!bad.is_empty(), "{name} is on osd.{osd}");
            bad.iter().for_each(|at| disk.fail_reads(*at..at + CELL, Trouble::Always));
        }
    }
    judged.check_all();
    judged.heal();
    judged.check_every_copy();
    let repaired = |osd| judged.node().node_mut().damage(OsdId::new(osd)).repaired;
    assert!((0..OSDS).map(repaired).sum::<u64>() > 0, "something was bad");
}
