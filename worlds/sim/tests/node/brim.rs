//! Disks that are filled to the last page by what no fullness holds back: zeros, removals and trims of what snapshots share, scrubs, logs.

use crate::judge::{BLOCK, OSDS, config, disk_of, is_whole, settings, stores, target};
use loadline_base::{Bytes, Rng, Span, Time};
use loadline_cluster::images::{ImageError, Images};
use loadline_cluster::{PoolId, PoolSpec};
use loadline_node::Lateness;
use loadline_osd::{Data, DiskFault, OpId, OpKind, OsdId, PgId, ScrubKind, ScrubRequest};
use loadline_sim::Sim;
use loadline_store::paged::LogMode;
use std::collections::BTreeMap;

const PGS: u32 = 4;
const OBJECT_BYTES: u32 = 64 << 10;
/// Of a disk 4 MiB are left beside log and recovery area, 1,000 pages.
const SMALL: Bytes = Bytes::from_mib(10);
const POOL: PoolId = PoolId::new(0);

/// A node whose image fills its disks, and what each of its objects must read as.
struct Brim {
    node: Sim,
    rng: Rng,
    mode: LogMode,
    objects: BTreeMap<u64, Vec<u8>>,
    /// Updates without an answer.
    open: BTreeMap<(u32, u32), OpKind>,
    /// Disks that were found too full to go on with, and opened again.
    opened_again: usize,
}

fn key(id: OpId) -> (u32, u32) {
    (id.slot.get(), id.number)
}

impl Brim {
    fn new(seed: u64, mode: LogMode) -> Brim {
        Brim::late(seed, mode, Span::ZERO)
    }

    /// Writes objects of an image until a write waits for room, and makes a snapshot of it. The owner of the map and OSDs hear each other up to so
    /// late.
    fn late(seed: u64, mode: LogMode, most: Span) -> Brim {
        let disks = (0..OSDS).map(|osd| disk_of(SMALL, u64::from(osd) + 1)).collect();
        let lateness = Lateness { seed, most };
        let started =
            Sim::start_late(Time::ZERO, &config(&settings()), stores(mode), disks, lateness);
        let mut node = started.unwrap_or_else(|(error, _)| panic!("no start: {error}"));
        let (name, object_bytes) = ("p".into(), u64::from(OBJECT_BYTES));
        let spec = PoolSpec { name, pgs: PGS, copies: 3, object_bytes, recovery_priority: 0 };
        node.create_pool(spec);
        assert!(node.wait_until(is_whole));
        let (objects, open) = Default::default();
        let mut brim = Brim { node, rng: Rng::new(seed), mode, objects, open, opened_again: 0 };
        let size = 1000 * object_bytes;
        brim.table(|images| images.create("i", POOL, size, object_bytes).map(drop));
        let image = brim.node.cluster().images().find("i").expect("it is there").image;
        let numbers = (0..1000).map(|block| image.object(block).0);
        for object in numbers {
            let bytes = vec![1 + (object % 255) as u8; OBJECT_BYTES as usize];
            brim.issue(OpKind::Write, object, 0, OBJECT_BYTES, Data::new(bytes.clone()));
            brim.objects.insert(object, bytes);
            brim.run_for(Span::from_secs(1));
            if !brim.open.is_empty() {
                break;
            }
        }
        assert!((20..100).contains(&brim.objects.len()), "{} objects", brim.objects.len());
        brim.table(|images| images.snapshot_create("i", "s").map(drop));
        brim
    }

    fn table(&mut self, change: impl FnOnce(&mut Images) -> Result<(), ImageError>) {
        self.node.change_images(change).expect("it may be");
        assert!(self.node.wait_until(|node| node.is_map_committed()), "it is kept");
    }

    fn issue(&mut self, kind: OpKind, object: u64, offset: u32, length: u32, data: Data) {
        let id = self.node.issue(&target(kind, object, (offset, length)), data);
        self.open.insert(key(id), kind);
    }

    /// Zeroes the end of a block and the beginning of the next one, which each takes a page where a snapshot shares it.
    fn zero(&mut self, object: u64, block: u32) {
        let (offset, length) = (block * BLOCK + 100, BLOCK);
        self.issue(OpKind::Zero, object, offset, length, Data::NONE);
        let bytes = self.objects.get_mut(&object).expect("it was written");
        bytes[offset as usize..(offset + length) as usize].fill(0);
    }

    fn remove(&mut self, object: u64, kind: OpKind) {
        self.issue(kind, object, 0, 0, Data::NONE);
        self.objects.get_mut(&object).expect("it was written").fill(0);
    }

    fn take_replies(&mut self) {
        for reply in std::mem::take(&mut self.node.workload_mut().replies) {
            assert!(reply.result.is_ok(), "no disk is damaged");
            self.open.remove(&key(reply.op));
        }
    }

    /// Lets time pass, with what a node does every second.
    fn run_for(&mut self, span: Span) {
        let until = self.node.now() + span;
        while self.node.now() < until {
            let next = (self.node.now() + Span::from_secs(1)).min(until);
            self.node.wait_until(|node| node.now() >= next);
            self.node.check_fullness();
            let fault = |osd| self.node.cluster().fault(OsdId::new(osd));
            self.opened_again +=
                (0..OSDS).filter_map(fault).filter(|it| *it == DiskFault::Full).count();
            self.node.open_again();
            self.take_replies();
        }
    }

    fn steps(&mut self, steps: u64) {
        for _ in 0..steps {
            self.node.step();
        }
        self.take_replies();
    }

    fn wait_for_all(&mut self, what: &str) {
        let limit = self.node.now() + Span::from_secs(120);
        while !self.open.is_empty() {
            let state = self.state();
            assert!(self.node.now() < limit, "{what}: {:?}: {state}", self.open);
            self.run_for(Span::from_secs(1));
        }
    }

    fn state(&mut self) -> String {
        let of = |osd| {
            let (fault, space) = (self.node.cluster().fault(osd), self.node.osd(osd).space());
            format!("\n{osd} {fault:?} {space:?} {:?}", self.node.osd(osd).unfinished())
        };
        let mut text: String = (0..OSDS).map(OsdId::new).map(of).collect();
        for pg in (0..PGS).map(PgId::new) {
            let left: Vec<_> =
                (0..OSDS).map(|osd| self.node.osd(OsdId::new(osd)).left_to_trim(pg)).collect();
            text += &format!("\n{pg}: {:?} {left:?}", self.node.node_mut().pg_report(pg));
            text += &format!("\n   {:?}", self.node.cluster().map().pg(pg));
        }
        text
    }

    fn has_faults(&mut self) -> bool {
        (0..OSDS).map(OsdId::new).any(|osd| self.node.cluster().fault(osd).is_some())
    }

    /// Reads all objects but those that were never written for want of room.
    fn check(&mut self, what: &str) {
        for (object, bytes) in self.objects.clone() {
            let read = target(OpKind::Read, object, (0, OBJECT_BYTES));
            let id = self.node.issue(&read, Data::NONE);
            let is_answered = |node: &Sim| node.workload().replies.iter().any(|it| it.op == id);
            let limit = self.node.now() + Span::from_secs(20);
            self.node.wait_until(|node| is_answered(node) || node.now() > limit);
            let replies = std::mem::take(&mut self.node.workload_mut().replies);
            let reply = replies.into_iter().find(|reply| reply.op == id);
            let reply = reply.unwrap_or_else(|| panic!("{what}: no answer: {}", self.state()));
            let mut found = reply.result.expect("no disk is damaged").into_vec();
            found.resize(bytes.len(), 0);
            assert!(found == bytes, "{what}: object {object:x}");
        }
    }

    /// The snapshot goes and is trimmed, some objects go with their pasts, as those of an image do, and everything that waited goes on. Then the process dies.
    fn make_room(mut self) {
        self.table(|images| images.snapshot_remove("i", "s").map(drop));
        for object in self.objects.keys().copied().take(10).collect::<Vec<_>>() {
            self.remove(object, OpKind::Purge);
        }
        self.wait_for_all("there is room");
        let is_well = self.node.wait_until(is_whole);
        assert!(is_well && !self.has_faults(), "all goes on: {}", self.state());
        self.check("with room");
        assert_eq!(self.node.copies_that_differ(), []);
        let disks = self.node.crash(None, &mut self.rng);
        let again = Sim::start(Time::ZERO, &config(&settings()), stores(self.mode), disks);
        self.node = again.unwrap_or_else(|(error, _)| panic!("no start: {error}"));
        assert!(self.node.wait_until(is_whole), "{}", self.state());
        self.check("after a crash");
    }
}

/// Zeros went on where writes waited, because they give pages back. What a snapshot shares they do not: they took the last page, and all
/// OSDs stopped one after the other.
#[test]
fn zeros_of_what_a_snapshot_shares_wait_before_the_disks_are_full() {
    let mut brim = Brim::new(1, LogMode::LogOnly);
    let objects: Vec<u64> = brim.objects.keys().copied().collect();
    let waiting = brim.open.len();
    'all: for block in (0..14).step_by(2) {
        for object in &objects[..objects.len() - 1] {
            brim.zero(*object, block);
            brim.run_for(Span::from_millis(200));
            assert!(!brim.has_faults(), "{}", brim.state());
            if brim.open.len() > waiting + 20 {
                break 'all;
            }
        }
    }
    assert!(brim.open.len() > waiting, "the disks are full: {}", brim.state());
    brim.run_for(Span::from_secs(60));
    assert!(!brim.has_faults(), "{}", brim.state());
    brim.make_room();
}

/// All of them at once.
#[test]
fn a_burst_of_zeros_takes_no_disk_down() {
    let mut brim = Brim::new(2, LogMode::Fsync);
    let objects: Vec<u64> = brim.objects.keys().copied().collect();
    for block in (0..14).step_by(2) {
        for object in &objects[..objects.len() - 1] {
            brim.zero(*object, block);
        }
    }
    brim.run_for(Span::from_secs(60));
    assert!(!brim.has_faults(), "{}", brim.state());
    brim.make_room();
}

/// The owner of the map hears late how little room there is, and lets more through than is kept: it waits on the OSDs, and room does not come
/// while that stands before all else. They open their disks again.
#[test]
fn a_burst_that_outruns_what_is_known_of_the_room_is_survived() {
    let mut stood_still = 0;
    for seed in 10..14 {
        let mut brim = Brim::late(seed, LogMode::LogOnly, Span::from_millis(900));
        let objects: Vec<u64> = brim.objects.keys().copied().collect();
        for block in (0..14).step_by(2) {
            for object in &objects[..objects.len() - 1] {
                brim.zero(*object, block);
                brim.steps(20);
            }
        }
        brim.run_for(Span::from_secs(40));
        stood_still += brim.opened_again;
        brim.make_room();
    }
    assert!(stood_still > 0, "some disk is opened again");
}

/// Scrubs record digests, OSDs come and go, objects of the present image are removed that the snapshot keeps, while the disks are as full as they
/// may be.
#[test]
fn scrubs_removals_and_recovery_go_on_at_the_brim() {
    for seed in 3..6 {
        let mut brim = Brim::new(seed, LogMode::LogOnly);
        let objects: Vec<u64> = brim.objects.keys().copied().collect();
        let written = &objects[..objects.len() - 1];
        for round in 0..6 {
            for object in written {
                let block = brim.rng.below(15) as u32;
                match brim.rng.below(12) {
                    0 => brim.remove(*object, OpKind::Remove),
                    1..4 => brim.zero(*object, block),
                    _ => {}
                }
            }
            for pg in (0..PGS).map(PgId::new) {
                let kind = ScrubKind::Deep;
                let request = ScrubRequest { kind, is_requested: true, repairs: false };
                brim.node.change(|cluster, fx| cluster.scrub(pg, request, fx));
            }
            if round % 2 == 1 {
                let osd = OsdId::new(brim.rng.below(u64::from(OSDS)) as u32);
                brim.node.take_down(osd);
                brim.run_for(Span::from_millis(300));
                brim.node.open(osd);
            }
            brim.run_for(Span::from_secs(10));
        }
        brim.make_room();
    }
}
