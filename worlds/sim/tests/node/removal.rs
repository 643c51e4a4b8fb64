//! Copies of placement groups that leave: of a pool that was removed, and of groups that have moved away. However often the node dies meanwhile, all
//! of them go, no slot stays taken, and the room comes back.

use crate::judge::{BLOCK, Block, Judged, OSDS, is_whole, sync, target};
use loadline_base::Span;
use loadline_cluster::{PoolId, PoolSpec, Target};
use loadline_osd::{Data, OpKind, OsdId, PgId};
use loadline_sim::Sim;
use loadline_sim::disk::CutStyle;
use loadline_store::ObjectNo;
use loadline_store::paged::LogMode;

/// Objects of the pool that goes, and its groups: each goes in some transactions on each disk, and not all at once.
const OBJECTS: u64 = 360;
const PGS: u32 = 4;
/// Pages that a disk may use more of than before the pool was there, beside those that blocks have: trees, with longer logs in them.
const MORE_PAGES: u64 = 24;

/// Pages in use on a disk when checkpoints have given back what is free, beside those of blocks that it holds: of all disks the most. What blocks
/// hold is known from reads or answers, and nothing is under way.
fn overhead(judged: &mut Judged) -> u64 {
    sync(judged.node());
    let later = judged.node().now() + Span::from_secs(1);
    judged.node().wait_until(|node| node.now() > later);
    let map = judged.node().map().clone();
    let over = (0..OSDS).map(OsdId::new).map(|osd| {
        let space = judged.node().osd(osd).space().expect("its disk is open");
        let is_here = |block: &Block| {
            let pg = map.pg_of(PoolId::new(0), ObjectNo(block.0));
            map.pg(pg).acting.contains(&osd)
        };
        let written = judged.known.iter().filter(|(_, known)| known.acked != 0);
        let held = written.filter(|(block, _)| is_here(block)).count() as u64;
        (space.total - space.free)
            .checked_sub(held)
            .expect("a block that holds something has a page")
    });
    over.max().expect("there are disks")
}

/// A node under a load, and a pool beside it that is full of objects nobody uses.
fn with_pool(seed: u64) -> (Judged, PoolId, u64) {
    let mut judged = Judged::new(seed, LogMode::Fsync, 0);
    load(&mut judged);
    judged.finish_ops();
    let before = overhead(&mut judged);
    let (name, object_bytes) = ("other".to_owned(), u64::from(BLOCK));
    let spec = PoolSpec { name, pgs: PGS, copies: 3, object_bytes, recovery_priority: 0 };
    let pool = judged.node().create_pool(spec);
    assert!(judged.node().wait_until(is_whole));
    for object in 0..OBJECTS {
        let target = Target { pool, ..target(OpKind::Write, object, (0, BLOCK)) };
        let id = judged.node().issue(&target, Data::new(vec![7; BLOCK as usize]));
        let is_answered = |node: &Sim| node.workload().replies.iter().any(|it| it.op == id);
        assert!(judged.node().wait_until(is_answered));
        judged.node().workload_mut().replies.clear();
    }
    (judged, pool, before)
}

fn load(judged: &mut Judged) {
    for _ in 0..judged.rng.below(12) {
        judged.issue();
        let steps = judged.rng.below(15);
        judged.steps(steps);
    }
}

fn remove(judged: &mut Judged, pool: PoolId) {
    let node = judged.node();
    if node.map().pools().contains_key(&pool) {
        let removed = node.change(|cluster, fx| cluster.remove_pool(pool, fx));
        removed.expect("nobody uses it");
    }
}

/// Copies that leave, and the objects that are left in them, on all OSDs.
fn left(node: &mut Sim) -> (u64, u64) {
    let left = (0..OSDS).map(|osd| node.osd(OsdId::new(osd)).left_to_delete());
    left.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// Waits until nothing leaves any more, and nothing waits for anything.
fn finish(judged: &mut Judged, pgs: &[PgId]) {
    let limit = judged.node().now() + Span::from_secs(120);
    loop {
        judged.steps(50);
        let node = judged.node();
        let is_over = left(node) == (0, 0)
            && (0..OSDS).map(OsdId::new).all(|osd| {
                let is_idle = node.osd(osd).unfinished().is_none();
                is_idle && node.osd(osd).copies().all(|pg| !pgs.contains(&pg))
            });
        if is_over && is_whole(node) {
            return;
        }
        let left = left(node);
        assert!(node.now() < limit, "all of it goes: {left:?}, {}", judged.state());
    }
}

/// Something that ends intervals, of groups that stay and of those that leave.
fn happen(judged: &mut Judged) {
    let osd = judged.rng.below(u64::from(OSDS)) as u32;
    match judged.rng.below(6) {
        0 | 1 if judged.down.is_empty() => {
            judged.take_down(OsdId::new(osd));
            judged.down.insert(osd);
        }
        2 => judged.open_all(),
        3 if judged.out.is_empty() => {
            judged.node().set_in(OsdId::new(osd), false);
            judged.out.insert(osd);
        }
        4 => {
            for osd in std::mem::take(&mut judged.out) {
                judged.node().set_in(OsdId::new(osd), true);
            }
        }
        _ => {}
    }
}

/// A kill or a power cut after so many steps of a removal, and more of them in the next lives. Whether the first one met it.
fn dies(seed: u64, steps: u64) -> bool {
    let (mut judged, pool, before) = with_pool(seed);
    let pgs: Vec<PgId> = judged.node().map().pgs_of(pool).collect();
    remove(&mut judged, pool);
    judged.steps(steps);
    let was_under_way = left(judged.node()).1 > 0;
    for style in [CutStyle::AllLost, CutStyle::AllKept, CutStyle::Random, CutStyle::Torn] {
        let power = (judged.rng.below(3) > 0).then_some(style);
        judged.crash(power);
        for _ in 0..judged.rng.below(3) {
            load(&mut judged);
            happen(&mut judged);
            let steps = judged.rng.below(150);
            judged.steps(steps);
        }
    }
    judged.settle_and_check();
    // A map that was on no disk yet died with the node.
    remove(&mut judged, pool);
    finish(&mut judged, &pgs);
    judged.settle_and_check();
    finish(&mut judged, &pgs);
    let over = overhead(&mut judged);
    println!("{before} {over}");
    assert!(over <= before + MORE_PAGES, "{before} pages, and {over} without the pool");
    was_under_way
}

#[test]
fn every_copy_goes_however_often_the_node_dies() {
    let lives = (0..16).filter(|life| {
        println!("life {life}");
        dies(*life, life * 20)
    });
    let met = lives.count();
    assert!(met > 8, "the first death of {met} meets a removal");
}

#[test]
#[ignore = "a long search; make soak runs it"]
fn every_copy_goes_whatever_step_the_node_dies_after() {
    for life in 0..1_000 {
        println!("life {life}");
        dies(100 + life, life % 500);
    }
}
