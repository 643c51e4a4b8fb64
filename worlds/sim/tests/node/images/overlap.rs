//! A clone sees less of its parent than there is, and the page in which that ends has rotted.

use super::flips::rest;
use super::judge::{CELL, Judged, POOL, contents};
use crate::judge::{OSDS, first_page};
use loadline_cluster::images::OBJECT_BYTES_MIN;
use loadline_osd::OsdId;
use std::ops::Range;

const CELLS: u64 = 16;
/// The cell in which a clone's view of its parent ends.
const LAST: u64 = 3;

/// An image with a clone that sees a part of its fourth cell, of which nothing is in memory.
fn with_clone() -> Judged {
    let mut judged = Judged::new(11);
    let create = judged.table(|i| i.create("a", POOL, CELLS * CELL, OBJECT_BYTES_MIN));
    create.expect("there is no other");
    judged.copies.insert("a".into(), vec![0; CELLS as usize]);
    judged.update("a", 0, CELLS, false);
    judged.drain();
    judged.table(|images| images.snapshot_create("a", "s")).expect("it is new");
    judged.table(|images| images.clone_image("a@s", "b")).expect("there is no other");
    for size in [LAST * CELL + 1000, CELLS * CELL] {
        judged.table(|images| images.resize("b", size)).expect("nothing of it is being cut");
        while judged.node().cluster().images().jobs().next().is_some() {
            judged.work();
            judged.steps(1);
        }
    }
    let mut seen = judged.copies["a"].clone();
    seen[LAST as usize..].fill(0);
    judged.copies.insert("b".into(), seen);
    rest(&mut judged);
    judged.crash();
    rest(&mut judged);
    judged
}

fn rot(judged: &mut Judged, osds: Range<u32>) {
    let wanted = contents(judged.copies["a"][LAST as usize]);
    for osd in osds.map(OsdId::new) {
        let disk = judged.node().disk(osd);
        let image = disk.image();
        let pages = image.chunks(CELL as usize).enumerate();
        let pages = pages.skip((first_page() / CELL) as usize).filter(|(_, page)| *page == wanted);
        pages.for_each(|(at, _)| disk.rot(at as u64 * CELL..at as u64 * CELL + 1));
    }
}

/// The clone's object was to be made of the parent's with its first write, and that could not be done: the OSD stopped, and so did the next one that had a copy.
#[test]
fn a_clone_is_written_though_the_last_page_that_it_sees_is_bad() {
    for osds in (0..OSDS).map(|osd| osd..osd + 1).chain([0..OSDS]) {
        println!("{osds:?}");
        let mut judged = with_clone();
        rot(&mut judged, osds);
        judged.update("b", 8, 1, false);
        judged.drain();
        for osd in (0..OSDS).map(OsdId::new) {
            assert_eq!(judged.node().cluster().fault(osd), None);
        }
        judged.update("b", LAST, 1, false);
        judged.drain();
        judged.check("b");
    }
}
