//! A disk that is too small for what belongs on it: what is pushed onto it is refused, and goes on when there is room.

use crate::judge::{BLOCK, OSDS, config, disk_of, fresh_disk, is_whole, settings, stores, target};
use loadline_base::{Bytes, Rng, Span, Time};
use loadline_cluster::PoolSpec;
use loadline_osd::{Data, OpKind, OsdId, PgId, RecoveryKind, RecoveryState, SnapshotNo};
use loadline_sim::Sim;
use loadline_store::paged::LogMode;
use std::ops::Range;

const PGS: u32 = 4;
const OBJECT_BYTES: u32 = 64 << 10;
/// What log and recovery area take of each disk is 6 MiB. Of this one 4 MiB are left, 1,000 pages.
const SMALL: Bytes = Bytes::from_mib(10);

/// A node with so many objects of so many bytes, three quarters of which are on each OSD.
fn node(objects: u64, bytes: u32) -> Sim {
    let disks = (0..OSDS).map(|osd| fresh_disk(u64::from(osd) + 1)).collect();
    let started = Sim::start(Time::ZERO, &config(&settings()), stores(LogMode::LogOnly), disks);
    let mut node = started.unwrap_or_else(|(error, _)| panic!("no start: {error}"));
    let (name, object_bytes) = ("p".into(), u64::from(OBJECT_BYTES));
    node.create_pool(PoolSpec { name, pgs: PGS, copies: 3, object_bytes, recovery_priority: 0 });
    for object in 0..objects {
        assert!(op(&mut node, OpKind::Write, object, 0, bytes), "there is room");
    }
    assert!(node.wait_until(is_whole));
    node
}

/// Carries an op out. Returns whether it was answered with what was asked for.
fn op(node: &mut Sim, kind: OpKind, object: u64, offset: u32, length: u32) -> bool {
    let bytes = vec![1 + (object % 255) as u8; length as usize];
    let target = target(kind, object, (offset, length));
    let data = if kind == OpKind::Write { Data::new(bytes.clone()) } else { Data::NONE };
    let id = node.issue(&target, data);
    let limit = node.now() + Span::from_secs(5);
    let answered = |node: &Sim| node.workload().replies.iter().any(|reply| reply.op == id);
    node.wait_until(|node| answered(node) || node.now() > limit);
    let replies = std::mem::take(&mut node.workload_mut().replies);
    let reply = replies.into_iter().find(|reply| reply.op == id);
    reply.is_some_and(|reply| match kind {
        OpKind::Read => reply.result.is_ok_and(|read| read.into_vec() == bytes),
        _ => reply.result.is_ok(),
    })
}

fn run_for(node: &mut Sim, span: Span) {
    let until = node.now() + span;
    node.wait_until(|node| node.now() > until);
}

/// The groups whose recovery waits for room, by kind.
fn too_full(node: &mut Sim, kind: RecoveryKind) -> usize {
    let state = Some(RecoveryState::TooFull(kind));
    let recovery = (0..PGS).map(|pg| node.node_mut().pg_report(PgId::new(pg)).recovery);
    recovery.filter(|recovery| *recovery == state).count()
}

/// Gives an OSD the small disk instead of its own, and waits until it is as full as it may be.
fn fill_small(node: &mut Sim, osd: OsdId) {
    node.take_down(osd);
    node.replace(osd, disk_of(SMALL, 99));
    node.open(osd);
    assert!(comes_to_wait(node), "the rest waits for room");
    assert_eq!(node.cluster().fault(osd), None, "the OSD goes on");
}

/// Runs until a backfill waits for room. It tries again now and then, and nothing else may happen in between: a look at
/// any given time may find it trying.
fn comes_to_wait(node: &mut Sim) -> bool {
    let limit = node.now() + Span::from_secs(60);
    while too_full(node, RecoveryKind::Backfill) == 0 {
        let mut events = 0;
        node.wait_until(|_| {
            events += 1;
            events > 1
        });
        if node.now() > limit {
            return false;
        }
    }
    true
}

fn free_percent(node: &mut Sim, osd: OsdId) -> u64 {
    let space = node.osd(osd).space().expect("its disk is open");
    space.free * 100 / space.total
}

/// The push that took the last page stopped its OSD, and what came next stopped it again.
fn refused_until_there_is_room(objects: u64, bytes: u32, free: Range<u64>) {
    let mut node = node(objects, bytes);
    let small = OsdId::new(2);
    fill_small(&mut node, small);
    let found = free_percent(&mut node, small);
    assert!(free.contains(&found), "{found} % are free");
    for object in 0..objects {
        assert!(op(&mut node, OpKind::Read, object, 0, bytes), "object {object} is served");
    }
    // There is room for what an OSD must always be able to write down.
    node.take_down(small);
    node.open(small);
    run_for(&mut node, Span::from_secs(1));
    assert_eq!(node.cluster().fault(small), None, "it starts again");
    for object in 8..objects {
        assert!(op(&mut node, OpKind::Remove, object, 0, 0), "removals need no room");
    }
    run_for(&mut node, Span::from_secs(1));
    node.check_fullness();
    assert!(node.wait_until(is_whole), "it goes on");
    assert_eq!(node.cluster().fault(small), None);
    assert_eq!(node.copies_that_differ(), []);
    node.take_down(OsdId::new(0));
    for object in 0..8 {
        assert!(op(&mut node, OpKind::Read, object, 0, bytes), "object {object} is there");
    }
}

/// A disk keeps 3 % for itself.
#[test]
fn small_objects_are_refused_until_there_is_room() {
    refused_until_there_is_room(800, 8192, 1..4);
}

/// Large objects go beside the log, for which the store takes pages before it knows what else it takes.
#[test]
fn large_objects_are_refused_until_there_is_room() {
    refused_until_there_is_room(128, OBJECT_BYTES, 1..4);
}

/// An OSD that came back had forgotten for up to a second that it was too full for backfills.
#[test]
fn an_osd_that_comes_back_knows_that_it_is_too_full() {
    let mut node = node(800, 8192);
    let small = OsdId::new(2);
    fill_small(&mut node, small);
    for object in 0..30 {
        assert!(op(&mut node, OpKind::Remove, object, 0, 0));
    }
    let free = free_percent(&mut node, small);
    assert!((4..10).contains(&free), "room for pushes, not for backfills: {free} %");
    let filled = node.osd(small).received();
    node.take_down(small);
    node.open(small);
    run_for(&mut node, Span::from_millis(500));
    assert!(node.cluster().backfill_full_osds().contains(small));
    assert!(comes_to_wait(&mut node));
    assert_eq!(node.osd(small).received(), filled, "nothing was pushed onto it");
}

/// Writes filled a disk within the second between two looks at how full it is, and the OSD stopped.
#[test]
fn a_burst_of_writes_stops_before_the_disk_is_full() {
    let mut node = node(0, 0);
    let mut written = 0;
    let fits = |node: &mut Sim, object| {
        (0..OBJECT_BYTES / BLOCK).all(|block| op(node, OpKind::Write, object, block * BLOCK, BLOCK))
    };
    while written < 1_000 && fits(&mut node, written) {
        written += 1;
    }
    assert!((200..1_000).contains(&written), "it holds some objects: {written}");
    assert!(!node.cluster().full_osds().is_empty() && node.cluster().held_writes() > 0);
    for osd in (0..OSDS).map(OsdId::new) {
        assert_eq!(node.cluster().fault(osd), None, "{osd} goes on");
    }
    assert!(op(&mut node, OpKind::Read, 0, 0, OBJECT_BYTES), "reads go on");
}

/// Writes that nobody waits for.
fn issue_writes(node: &mut Sim, objects: Range<u64>) {
    let write = |object: u64| {
        let data = Data::new(vec![1 + (object % 255) as u8; BLOCK as usize]);
        (target(OpKind::Write, object, (0, BLOCK)), data)
    };
    for (target, data) in objects.map(write) {
        node.issue(&target, data);
    }
}

fn set_full(node: &mut Sim, is_full: bool) {
    for osd in (0..OSDS).map(OsdId::new) {
        node.disk(osd).set_full(is_full);
    }
}

fn waiting(node: &mut Sim) -> usize {
    (0..OSDS).map(|osd| node.cluster().waits_for_room(OsdId::new(osd))).sum()
}

/// The devices are full for a minute while clients write and what `before` began is under way; then there is room.
fn outlives_full_devices(log_mode: LogMode, before: fn(&mut Sim)) {
    let disks = (0..OSDS).map(|osd| fresh_disk(u64::from(osd) + 1)).collect();
    let started = Sim::start(Time::ZERO, &config(&settings()), stores(log_mode), disks);
    let mut node = started.unwrap_or_else(|(error, _)| panic!("no start: {error}"));
    let (name, object_bytes) = ("p".into(), u64::from(OBJECT_BYTES));
    node.create_pool(PoolSpec { name, pgs: PGS, copies: 3, object_bytes, recovery_priority: 0 });
    for object in 0..100 {
        assert!(op(&mut node, OpKind::Write, object, 0, BLOCK), "there is room");
    }
    assert!(node.wait_until(is_whole));
    before(&mut node);
    set_full(&mut node, true);
    issue_writes(&mut node, 100..400);
    for _ in 0..60 {
        run_for(&mut node, Span::from_secs(1));
        node.check_fullness();
        assert!(op(&mut node, OpKind::Read, 7, 0, BLOCK), "reads go on");
    }
    // Where objects hold data was told in the order of writes, which waited.
    for object in 0..100 {
        let kind = OpKind::Ranges(SnapshotNo::HEAD);
        assert!(op(&mut node, kind, object, 0, OBJECT_BYTES), "object {object} is looked at");
    }
    for osd in (0..OSDS).map(OsdId::new) {
        assert_eq!(node.cluster().fault(osd), None, "{osd} goes on");
    }
    assert!(waiting(&mut node) > 0 && !node.cluster().full_osds().is_empty());
    set_full(&mut node, false);
    for _ in 0..10 {
        run_for(&mut node, Span::from_secs(1));
        node.check_fullness();
    }
    assert_eq!(waiting(&mut node), 0, "there is room");
    assert!(node.wait_until(is_whole), "everything goes on by itself");
    assert_eq!(node.cluster().held_writes(), 0);
    for object in 0..400 {
        assert!(op(&mut node, OpKind::Read, object, 0, BLOCK), "object {object} is right");
    }
    assert_eq!(node.copies_that_differ(), []);
    // What was answered is also what a crash leaves.
    let mut rng = Rng::new(1);
    let disks = node.crash(None, &mut rng);
    let again = Sim::start(Time::ZERO, &config(&settings()), stores(log_mode), disks);
    let mut node = again.unwrap_or_else(|(error, _)| panic!("no start: {error}"));
    assert!(node.wait_until(is_whole));
    for object in 0..400 {
        assert!(op(&mut node, OpKind::Read, object, 0, BLOCK), "object {object} outlived a crash");
    }
}

/// A file system filled up beside the OSDs' files. Every write that found no room was taken for the death of its disk: all
/// OSDs stopped, clients hung, and room alone brought nothing back.
#[test]
fn writes_wait_while_the_devices_have_no_room() {
    outlives_full_devices(LogMode::LogOnly, |_| {});
    outlives_full_devices(LogMode::Fsync, |_| {});
}

/// The log of these disks holds a fraction of what is written, so that a checkpoint is under way.
#[test]
fn a_checkpoint_waits_while_the_devices_have_no_room() {
    outlives_full_devices(LogMode::LogOnly, |node| {
        issue_writes(node, 400..900);
        run_for(node, Span::from_millis(3));
    });
}

#[test]
fn recovery_waits_while_the_devices_have_no_room() {
    outlives_full_devices(LogMode::LogOnly, |node| {
        let back = OsdId::new(1);
        node.take_down(back);
        for object in 0..60 {
            assert!(op(node, OpKind::Write, object, 0, BLOCK));
        }
        node.open(back);
        run_for(node, Span::from_millis(2));
    });
}
