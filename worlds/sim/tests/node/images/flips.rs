//! Bits that flip where nothing is written any more: in objects' data, in pages of the tree (objects, extents, pasts, logs) and in the free map; of a
//! node that runs, whose caches know better, and of one that rests. A deep scrub of everything finds them all, and afterwards nothing bad is on any
//! disk, and no client has ever read anything wrong.

use super::judge::{CELL, Judged, POOL, contents};
use crate::judge::{OSDS, first_page, fresh_disk, is_scrubbed_since, is_whole, sync};
use loadline_base::{Rng, Span};
use loadline_cluster::images::OBJECT_BYTES_MIN;
use loadline_osd::{OsdId, PgId, ScrubKind, ScrubRecord, ScrubRequest};
use loadline_sim::StoreDisks;
use loadline_sim::disk::SimDisk;
use loadline_sim::rot::{Region, Regions};
use loadline_store::paged::LogMode;
use loadline_store::paged::check::{check, newest};

const PARTS: [Region; 4] =
    [Region::FreeMap, Region::InnerNodes, Region::Leaves, Region::ObjectData];
pub(super) const REPAIR: ScrubRequest =
    ScrubRequest { kind: ScrubKind::Deep, is_requested: true, repairs: true };

/// What came of flips.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flipped {
    flips: u64,
    /// Disks that were made empty and filled again.
    filled: u64,
    /// Things found bad, and those that were mended in their place or replaced.
    found: u64,
    mended: u64,
}

/// Flips bits in these parts of a store. Answers how many.
fn flip(disk: &mut SimDisk, parts: &[Region], many: u64, rng: &mut Rng) -> u64 {
    let disks = StoreDisks { data: disk.clone(), log: None };
    let superblock = newest(&disks).expect("it holds a store");
    let regions = Regions::of(&disks, &superblock);
    let mut flipped = 0;
    for _ in 0..many {
        let Some((_, place)) = regions.draw_of(parts, rng) else { continue };
        let byte = disk.peek(place..place + 1)[0];
        disk.poke(place, &[byte ^ 1 << rng.below(8)]);
        flipped += 1;
    }
    flipped
}

fn pgs(judged: &mut Judged) -> Vec<PgId> {
    judged.node().map().pgs().map(|(pg, _)| pg).collect()
}

/// Lets all rest: what is in memory alone is on its way home, and no checkpoint runs.
pub(super) fn rest(judged: &mut Judged) {
    judged.drain();
    judged.heal();
    sync(judged.node());
    let later = judged.node().now() + Span::from_secs(1);
    judged.node().wait_until(|node| node.now() > later);
}

/// Goes on as a real node does, which looks every second what may be mended, until everything is in its place and no scrub is under way.
fn mend(judged: &mut Judged, flipped: &mut Flipped) {
    let limit = judged.node().now() + Span::from_secs(600);
    loop {
        let seed = judged.rng.next_u64();
        let node = judged.node();
        let second = node.now() + Span::from_secs(1);
        node.run_until(second);
        node.open_again();
        node.take_rotten_down();
        let filled = node.heal_damaged(|osd| fresh_disk(seed ^ u64::from(osd.get()) << 8));
        flipped.filled += filled.len() as u64;
        let now = node.now();
        let reports: Vec<_> = {
            let node = node.node_mut();
            let pgs: Vec<PgId> = node.cluster().map().pgs().map(|(pg, _)| pg).collect();
            pgs.into_iter().map(|pg| node.scrub_report(now, pg)).collect()
        };
        let is_over = reports.iter().all(|report| report.record.under_way.is_none());
        let is_rotten = node.cluster().rotten().next().is_some();
        if is_over && !is_rotten && is_whole(node) {
            return;
        }
        assert!(now < limit, "it heals: {}, {reports:?}", judged.state());
    }
}

pub(super) fn scrub_all(judged: &mut Judged, request: ScrubRequest, flipped: &mut Flipped) {
    mend(judged, flipped);
    let asked = judged.node().now();
    for pg in pgs(judged) {
        assert!(judged.node().change(|cluster, fx| cluster.scrub(pg, request, fx)), "{pg} serves");
    }
    mend(judged, flipped);
    for pg in pgs(judged) {
        let now = judged.node().now();
        let record = judged.node().node_mut().scrub_report(now, pg).record;
        let has_ended = is_scrubbed_since(&record, request.kind, asked);
        assert!(has_ended, "{pg} was forgotten: {record:?}");
    }
}

/// A checker that knows nothing of the node finds nothing bad on any disk.
pub(super) fn check_disks(judged: &mut Judged) {
    rest(judged);
    for osd in (0..OSDS).map(OsdId::new) {
        let data = judged.node().disk(osd).clone();
        let report = check(&StoreDisks { data, log: None });
        assert!(report.findings.is_empty(), "{osd}: {:?}", report.findings);
    }
}

/// A node with images, snapshots and clones.
fn node(seed: u64) -> Judged {
    let mut judged = Judged::in_mode(seed, 3, LogMode::Fsync);
    for _ in 0..12 {
        judged.change_table();
        judged.load();
        judged.load();
        judged.drain();
    }
    judged
}

fn round(judged: &mut Judged, parts: &[Region], many: u64) -> Flipped {
    let mut flipped = Flipped::default();
    rest(judged);
    let victim = OsdId::new(judged.rng.below(u64::from(OSDS)) as u32);
    match judged.rng.below(2) {
        0 => judged.crash_and(None, |disks, rng| {
            flipped.flips = flip(&mut disks[victim.get() as usize], parts, many, rng);
        }),
        _ => {
            let mut rng = Rng::new(judged.rng.next_u64());
            flipped.flips = flip(judged.node().disk(victim), parts, many, &mut rng);
        }
    }
    let data = judged.node().disk(victim).clone();
    let is_bad = !check(&StoreDisks { data, log: None }).findings.is_empty();
    assert!(is_bad || flipped.flips == 0, "who reads all of the disk sees it");
    judged.check_some();
    scrub_all(judged, REPAIR, &mut flipped);
    check_disks(judged);
    judged.check_every_copy();
    for osd in (0..OSDS).map(OsdId::new) {
        let damage = judged.node().node_mut().damage(osd);
        flipped.found += damage.found;
        flipped.mended += damage.repaired;
        assert_eq!(damage.failed_ops, 0, "two copies are good");
    }
    // What is counted is counted from the start.
    judged.crash();
    flipped
}

fn search(seeds: std::ops::Range<u64>, rounds: u64, many: u64) -> Flipped {
    let mut sum = Flipped::default();
    for seed in seeds {
        let mut judged = node(seed);
        for number in 0..rounds {
            println!("seed {seed} round {number}");
            let Flipped { flips, filled, found, mended } = round(&mut judged, &PARTS, many);
            sum.flips += flips;
            sum.filled += filled;
            sum.found += found;
            sum.mended += mended;
            judged.change_table();
            judged.load();
        }
    }
    println!("{sum:?}");
    sum
}

#[test]
fn flipped_bits_are_found_by_a_deep_scrub_and_healed() {
    let sum = search(0..3, 3, 6);
    assert!(sum.flips > 30 && sum.filled > 0 && sum.mended > 3, "{sum:?}");
}

#[test]
#[ignore = "a long search; make soak runs it"]
fn two_thousand_flipped_bits_are_found_by_deep_scrubs_and_healed() {
    let sum = search(100..125, 8, 10);
    assert!(sum.flips >= 2_000, "{sum:?}");
}

/// A node with an image of four objects that have a cell each on every page.
pub(super) fn image(seed: u64) -> Judged {
    const CELLS: u64 = 64;
    let mut judged = Judged::in_mode(seed, 3, LogMode::Fsync);
    let create = judged.table(|i| i.create("i", POOL, CELLS * CELL, OBJECT_BYTES_MIN));
    create.expect("there is no other");
    judged.copies.insert("i".into(), vec![0; CELLS as usize]);
    judged.update("i", 0, CELLS, false);
    rest(&mut judged);
    judged
}

/// The node dies, and a bit flips in each of these cells on one of the disks that have it, counted from the first.
fn flip_cells(judged: &mut Judged, cells: &[(usize, usize)]) {
    let stamps: Vec<_> =
        cells.iter().map(|(cell, copy)| (judged.copies["i"][*cell], *copy)).collect();
    judged.crash_and(None, |disks, _| {
        // A page that was freed may hold the same.
        let places = |stamp: u64, disk: &SimDisk| -> Vec<u64> {
            let (image, bytes) = (disk.image(), contents(stamp));
            let pages = image.chunks(CELL as usize).enumerate();
            let pages = pages.skip((first_page() / CELL) as usize);
            pages.filter(|(_, page)| *page == bytes).map(|(at, _)| at as u64 * CELL).collect()
        };
        let of_copy = |(stamp, copy): (u64, usize)| {
            let all = disks.iter().enumerate().map(|(at, disk)| (at, places(stamp, disk)));
            all.filter(|(_, places)| !places.is_empty()).nth(copy).expect("three have it")
        };
        let all: Vec<(usize, Vec<u64>)> = stamps.into_iter().map(of_copy).collect();
        for (disk, places) in all {
            for place in places {
                let byte = disks[disk].peek(place + 9..place + 10)[0];
                disks[disk].poke(place + 9, &[byte ^ 4]);
            }
        }
    });
}

/// Of the group that has errors.
pub(super) fn record(judged: &mut Judged) -> ScrubRecord {
    let now = judged.node().now();
    let pgs = pgs(judged);
    let node = judged.node().node_mut();
    let records = pgs.into_iter().map(|pg| node.scrub_report(now, pg).record);
    let mut bad = records.filter(|record| record.findings.counts.all() > 0);
    let first = bad.next().unwrap_or_default();
    assert!(bad.next().is_none(), "one object is bad");
    first
}

const SHALLOW: ScrubRequest = ScrubRequest { kind: ScrubKind::Shallow, repairs: false, ..REPAIR };
pub(super) const DEEP: ScrubRequest = ScrubRequest { repairs: false, ..REPAIR };

/// Two copies are bad in different pages, and then all three. Only a deep scrub sees it; no copy is whole in the end, and one is put together.
#[test]
fn copies_that_are_bad_in_different_pages_are_made_whole() {
    for cells in [&[(1, 0), (2, 1)][..], &[(1, 0), (2, 1), (3, 2)]] {
        let mut judged = image(5);
        let mut flipped = Flipped::default();
        flip_cells(&mut judged, cells);
        scrub_all(&mut judged, SHALLOW, &mut flipped);
        assert_eq!(record(&mut judged).findings.counts.all(), 0, "nobody has read it");
        scrub_all(&mut judged, DEEP, &mut flipped);
        let found = record(&mut judged).findings;
        assert_eq!((found.counts.deep, found.inconsistent), (cells.len() as u64, 1));
        scrub_all(&mut judged, REPAIR, &mut flipped);
        let record = record(&mut judged);
        assert!(record.findings.counts.all() == 0 && !record.has_failed_repair, "{record:?}");
        check_disks(&mut judged);
        judged.check_every_copy();
    }
}

/// The same page of every copy: that is said, nothing is made of it, and everything else is there.
#[test]
fn what_is_bad_on_every_copy_is_said_until_it_is_written() {
    let mut judged = image(6);
    let mut flipped = Flipped::default();
    flip_cells(&mut judged, &[(1, 0), (1, 1), (1, 2)]);
    scrub_all(&mut judged, DEEP, &mut flipped);
    assert_eq!(record(&mut judged).findings.counts.deep, 3);
    scrub_all(&mut judged, REPAIR, &mut flipped);
    let bad = record(&mut judged);
    assert_eq!((bad.findings.counts.deep, bad.findings.named[0].authority), (3, None));
    assert!(bad.has_failed_repair);
    judged.update("i", 1, 1, false);
    judged.drain();
    scrub_all(&mut judged, DEEP, &mut flipped);
    let record = record(&mut judged);
    assert!(record.findings.counts.all() == 0 && !record.has_failed_repair, "{record:?}");
    rest(&mut judged);
    judged.check_every_copy();
}
