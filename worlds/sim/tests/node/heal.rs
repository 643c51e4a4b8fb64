//! Stores that are damaged at rest: an OSD heals itself from the others where they have all that it had, one at a time, and is
//! left as it is where they have not.
//!
//! An OSD whose log had one flipped bit stayed down until an operator gave it another disk, while every other copy of what it
//! had was whole.

mod opened_again;

use crate::by_hand::OpenedStore;
use crate::judge::{self, BLOCK, OSDS, config, fresh_disk, is_whole, settings, sync, target};
use crate::scrub::scrub_report;
use loadline_base::{Rng, Span, Time};
use loadline_cluster::images::{Images, OBJECT_BYTES_MIN};
use loadline_cluster::{NotHealed, PoolId, PoolSpec, StartError};
use loadline_osd::{Data, DiskFault, Notice, OpKind, OsdId, OsdSet, PgId, ScrubKind, ScrubRequest};
use loadline_sim::Sim;
use loadline_sim::disk::SimDisk;
use loadline_store::ObjectNo;
use loadline_store::paged::ids::{PageNo, StoreId};
use loadline_store::paged::layout::{SUPERBLOCK, superblock_offsets};
use loadline_store::paged::superblock::Superblock;
use loadline_store::paged::{Answer, Ask, Edit, Fault, LogMode, Options, RestartFault};

const OBJECTS: u64 = 16;

fn op(node: &mut Sim, kind: OpKind, object: u64, data: Data) -> Vec<u8> {
    let id = node.issue(&target(kind, object, (0, BLOCK)), data);
    assert!(node.wait_until(|node| node.workload().replies.iter().any(|reply| reply.op == id)));
    let replies = std::mem::take(&mut node.workload_mut().replies);
    let reply = replies.into_iter().find(|reply| reply.op == id).expect("it was found");
    reply.result.expect("it is carried out").into_vec()
}

/// Everything stays in the log.
fn stores() -> Options {
    Options { checkpoint_interval: Span::from_secs(100_000), ..judge::stores(LogMode::LogOnly) }
}

fn write(node: &mut Sim, object: u64, range: (u32, u32), byte: u8) {
    let data = Data::new(vec![byte; range.1 as usize]);
    let id = node.issue(&target(OpKind::Write, object, range), data);
    assert!(node.wait_until(|node| node.workload().replies.iter().any(|reply| reply.op == id)));
    node.workload_mut().replies.clear();
}

fn contents(object: u64) -> Vec<u8> {
    vec![object as u8 + 1; BLOCK as usize]
}

/// The disks of a node that has written, made durable and died.
fn written(copies: u32) -> (Time, Vec<SimDisk>) {
    let disks = (0..OSDS).map(|osd| fresh_disk(u64::from(osd) + 1)).collect();
    let started = Sim::start(Time::ZERO, &config(&settings()), stores(), disks);
    let mut node = started.unwrap_or_else(|(error, _)| panic!("no start: {error}"));
    let (name, pgs, object_bytes) = ("p".into(), 8, 64 << 10);
    node.create_pool(PoolSpec { name, pgs, copies, object_bytes, recovery_priority: 0 });
    assert!(node.wait_until(is_whole));
    for object in 0..OBJECTS {
        op(&mut node, OpKind::Write, object, Data::new(contents(object)));
    }
    sync(&mut node);
    (node.now(), node.crash(None, &mut Rng::new(5)))
}

/// Flips a bit in the first record that a restart needs.
fn damage(disk: &mut SimDisk) {
    let superblocks = [0..4096, 4096..8192].map(|place| Superblock::decode(&disk.peek(place)));
    let superblock = Superblock::newest(superblocks).expect("it holds a store");
    let position = superblock.completed.position.0 + 8;
    let place = superblock.layout.log_offset + position % superblock.layout.log_bytes;
    disk.rot(place..place + 1);
}

fn start(at: Time, disks: Vec<SimDisk>) -> Result<Sim, StartError> {
    let started = Sim::start(at, &config(&settings()), stores(), disks);
    started.map_err(|(error, _)| error)
}

fn with_damage(copies: u32, victims: &[u32]) -> (Time, Vec<SimDisk>) {
    let (at, mut disks) = written(copies);
    victims.iter().for_each(|victim| damage(&mut disks[*victim as usize]));
    (at, disks)
}

fn is_log_damage(fault: Option<DiskFault>) -> bool {
    matches!(fault, Some(DiskFault::Store(Fault::Restart(RestartFault::LogDamaged(_)))))
}

/// Heals until all is whole. Answers whose disks were made empty, in order.
fn heal(node: &mut Sim) -> Vec<OsdId> {
    let mut healed = Vec::new();
    let empty = |osd: OsdId| fresh_disk(100 + u64::from(osd.get()));
    for _ in 0..OSDS {
        // A disk that waits for its turn, or for peering, may be emptied when that is over.
        node.wait_until(|node| {
            let waits =
                |osd| matches!(node.may_heal(osd), Some(Err(why)) if why != NotHealed::Again);
            !(0..OSDS).map(OsdId::new).any(waits)
        });
        let begun = node.heal_damaged(empty);
        assert!(begun.len() <= 1, "one at a time: {begun:?}");
        healed.extend(begun);
    }
    let is_mended = node.wait_until(is_whole);
    let left: Vec<_> = (0..OSDS).map(|osd| node.may_heal(OsdId::new(osd))).collect();
    assert!(is_mended, "all is in its place again: {healed:?} were healed, {left:?}");
    healed
}

/// Everything reads as it was written, whichever OSD is down.
fn check_all(node: &mut Sim) {
    for down in (0..OSDS).map(OsdId::new) {
        node.take_down(down);
        for object in 0..OBJECTS {
            let read = op(node, OpKind::Read, object, Data::NONE);
            assert!(read == contents(object), "object {object} without {down}");
        }
        node.open(down);
        assert!(node.wait_until(is_whole));
    }
    assert!(node.copies_that_differ().is_empty());
}

#[test]
fn a_damaged_log_is_healed_from_the_other_copies() {
    for victim in 0..OSDS {
        let (at, disks) = with_damage(3, &[victim]);
        let mut node = start(at, disks).expect("the others are enough");
        let victim = OsdId::new(victim);
        assert!(is_log_damage(node.cluster().fault(victim)));
        assert_eq!(heal(&mut node), [victim]);
        assert_eq!(node.cluster().fault(victim), None);
        check_all(&mut node);
    }
}

/// The disk, if what its OSD keeps there were of a format that is by so much later.
fn with_later_format(disk: &SimDisk, by: u32) -> (SimDisk, u32) {
    let mut store = OpenedStore::new(disk.clone());
    let key = b"f".to_vec();
    let Answer::Value(Some(ours)) = store.ask(Ask::Get(key.clone())) else {
        panic!("an OSD writes its format")
    };
    let format = u32::from_le_bytes(ours.try_into().expect("four bytes")) + by;
    let put = Edit::Put { key, value: format.to_le_bytes().into() };
    store.ask(Ask::Transaction(vec![put]));
    (store.into_disk(), format)
}

/// An older program takes what it cannot read for damage, and makes a sound disk empty to fill it from the others.
#[test]
fn a_disk_of_a_later_format_is_left_as_it_is() {
    let (at, disks) = written(3);
    let (later, format) = with_later_format(&disks[2], 1);
    let mut changed = disks.clone();
    changed[2] = later;
    let mut node = start(at, changed).expect("the others are enough");
    let osd = OsdId::new(2);
    assert_eq!(node.cluster().fault(osd), Some(DiskFault::NewerFormat(format)));
    assert!(node.heal_damaged(|_| unreachable!("it is sound")).is_empty());
    assert_eq!(node.may_heal(osd), None);

    let mut node = start(at, disks).expect("all are as they were");
    assert!(node.wait_until(is_whole));
    check_all(&mut node);
}

/// What every one of them still named was not believed, and an operator had to say that the disk may be lost.
#[test]
fn damaged_superblocks_that_name_their_store_are_healed_as_other_damage_is() {
    for victim in 0..OSDS {
        let (at, mut disks) = written(3);
        let disk = &mut disks[victim as usize];
        for place in superblock_offsets(disk.spec().size.get()) {
            disk.rot(place + 24..place + SUPERBLOCK);
        }
        let mut node = start(at, disks).expect("the others are enough");
        assert_eq!(heal(&mut node), [OsdId::new(victim)]);
        check_all(&mut node);
    }
}

/// The node died in the middle of making a damaged disk empty. There was no superblock any more, and so nobody knew whose disk it was.
#[test]
fn a_disk_that_was_being_made_empty_when_the_node_died_is_made_empty_again() {
    let (at, disks) = with_damage(3, &[2]);
    let mut node = start(at, disks).expect("the others are enough");
    let victim = OsdId::new(2);
    assert!(node.wait_until(|node| node.may_heal(victim) == Some(Ok(()))));
    assert!(node.make_empty(victim, half_made(77)));
    let at = node.now();
    let mut node = start(at, node.crash(None, &mut Rng::new(6))).expect("the others are enough");
    assert!(node.wait_until(|node| node.may_heal(victim) == Some(Ok(()))));
    assert_eq!(node.cluster().expected_store(victim), Some(store_id(77)));
    assert!(node.make_empty(victim, fresh_disk(77)));
    node.open(victim);
    assert!(node.wait_until(is_whole));
    check_all(&mut node);
}

/// Half of another's store is left as it is. An operator who lets it be filled was told to say that what it holds may be lost: it holds nothing.
#[test]
fn what_somebody_else_was_making_is_left_alone() {
    let (at, mut disks) = written(3);
    disks[2] = half_made(78);
    let mut node = start(at, disks).expect("the others are enough");
    let victim = OsdId::new(2);
    let refused = Some(Err(NotHealed::Unfinished(victim)));
    assert!(node.wait_until(|node| node.may_heal(victim) == refused));
    assert!(node.heal_damaged(|osd| panic!("{osd} is made empty")).is_empty());
}

/// A disk on which the making of this store ended behind its second stage.
fn half_made(seed: u64) -> SimDisk {
    let mut disk = fresh_disk(seed);
    for place in superblock_offsets(disk.spec().size.get()) {
        disk.poke(place, &Superblock::mark_of_making(store_id(seed).get()));
    }
    disk
}

/// The store on a fresh disk.
fn store_id(seed: u64) -> StoreId {
    let superblock = Superblock::decode(&fresh_disk(seed).peek(0..SUPERBLOCK));
    StoreId::new(superblock.expect("it holds a store").store_id).expect("it has a number")
}

/// A quorum of the map's holders is two of four with the lowest number.
#[test]
fn two_damaged_logs_are_healed_one_after_the_other() {
    for victims in [[1, 2], [2, 3], [1, 3]] {
        let (at, disks) = with_damage(3, &victims);
        let mut node = start(at, disks).expect("the others are enough");
        assert_eq!(heal(&mut node), victims.map(OsdId::new));
        check_all(&mut node);
    }
}

/// A damaged disk was not filled again as long as the map was never at rest: recovery, or a long job, made one change after the
/// other.
#[test]
fn a_disk_is_healed_while_the_map_changes_without_end() {
    let (at, disks) = written(3);
    let mut node = start(at, disks).expect("all are here");
    assert!(node.wait_until(is_whole));
    let victim = OsdId::new(2);
    sync(&mut node);
    node.take_down(victim);
    damage(node.disk(victim));
    node.open(victim);
    for number in 0..3000 {
        let name = format!("i{number}");
        let made =
            |images: &mut Images| images.create(&name, PoolId::new(0), 1 << 20, OBJECT_BYTES_MIN);
        node.change_images(made).expect("the name is new");
        assert!(!node.is_map_committed(), "a change is always to come");
        if node.may_heal(victim) == Some(Ok(())) && node.waits_for_disk(victim) == (0, false) {
            assert_eq!(heal(&mut node), [victim]);
            return check_all(&mut node);
        }
        assert!(node.step(), "nothing goes on");
    }
    panic!("it waits still: {:?}", node.may_heal(victim));
}

/// An OSD that was healed once is damaged again: its device is not to be trusted, and it waits for an operator.
#[test]
fn a_disk_that_is_damaged_again_is_left_alone() {
    let (at, disks) = with_damage(3, &[1]);
    let mut node = start(at, disks).expect("the others are enough");
    let victim = OsdId::new(1);
    assert_eq!(heal(&mut node), [victim]);
    sync(&mut node);
    node.take_down(victim);
    damage(node.disk(victim));
    node.open(victim);
    assert!(node.wait_until(|node| node.may_heal(victim) == Some(Err(NotHealed::Again))));
    assert!(is_log_damage(node.cluster().fault(victim)));
    assert!(node.heal_damaged(|_| unreachable!("it is left as it is")).is_empty());
}

/// An operator has given an OSD that was healed once another disk, as it was told to. That one is healed as the first was, and its filling is nobody's healing.
/// (What was known of the first was said of every later one.)
#[test]
fn another_disk_is_not_taken_for_the_one_that_was_healed() {
    let (at, disks) = with_damage(3, &[1]);
    let mut node = start(at, disks).expect("the others are enough");
    let victim = OsdId::new(1);
    assert_eq!(heal(&mut node), [victim]);
    // What it had to be filled with has come, and whatever else comes is an ordinary move.
    for is_in in [false, true] {
        node.set_in(victim, is_in);
        is_whole_without_healing(&mut node);
    }
    sync(&mut node);
    node.take_down(victim);
    node.replace(victim, fresh_disk(50));
    node.open(victim);
    is_whole_without_healing(&mut node);
    sync(&mut node);
    node.take_down(victim);
    damage(node.disk(victim));
    node.open(victim);
    let may_be_emptied = |node: &Sim| {
        node.may_heal(victim) == Some(Ok(())) && node.waits_for_disk(victim) == (0, false)
    };
    assert!(node.wait_until(may_be_emptied));
    assert_eq!(heal(&mut node), [victim]);
    check_all(&mut node);
}

/// A scrub had found a page of an OSD's store bad, and before it could be healed an operator gave it another disk. (The page stayed known to be bad, and
/// the new disk was taken down, made empty and filled a second time.)
#[test]
fn a_bad_page_is_forgotten_with_its_disk() {
    let (at, disks) = written(3);
    let mut node = start(at, disks).expect("all are here");
    assert!(node.wait_until(is_whole));
    let (victim, page) = (OsdId::new(1), PageNo(7));
    for life in 0..3 {
        // What is told in another life than the present one is void.
        node.change(|cluster, fx| cluster.heard(victim, life, Notice::Rotten(page), fx));
    }
    let rotten = |node: &mut Sim| node.cluster().rotten().collect::<Vec<_>>();
    assert_eq!(rotten(&mut node), [(victim, page)]);
    node.take_down(victim);
    node.replace(victim, fresh_disk(50));
    node.open(victim);
    assert!(node.wait_until(is_whole));
    assert_eq!(rotten(&mut node), []);
    assert_eq!(node.take_rotten_down(), None);
    check_all(&mut node);
}

#[track_caller]
fn is_whole_without_healing(node: &mut Sim) {
    while !is_whole(node) {
        assert!(node.step(), "it is filled");
        assert_eq!(node.cluster().healing(), OsdSet::EMPTY);
    }
}

/// With one copy of each object, what is on the damaged disk is nowhere else.
#[test]
fn the_only_copy_is_never_made_empty() {
    let (at, disks) = with_damage(1, &[1]);
    let image = disks[1].image();
    let mut node = start(at, disks).expect("the others are enough");
    let victim = OsdId::new(1);
    assert!(is_log_damage(node.cluster().fault(victim)));
    for _ in 0..10_000 {
        assert!(node.heal_damaged(|_| unreachable!("it is left as it is")).is_empty());
        if !node.step() {
            break;
        }
    }
    let state = node.may_heal(victim);
    assert!(matches!(state, Some(Err(NotHealed::OnlyCopy(_)))), "{state:?}");
    // Opening writes its superblock once more, and nothing else.
    assert!(node.disk(victim).image()[8192..image.len() - 8192] == image[8192..image.len() - 8192]);
}

/// A node with two copies of everything, of which one object has one on osd.3 and another one on an OSD that cannot read a page of it any more, and
/// has not met it yet. Answers the object, its group and that OSD.
fn with_a_page_on_the_last_alone() -> (Sim, u64, PgId, OsdId) {
    const WHOLE: u32 = 64 << 10;
    let (at, disks) = written(2);
    let mut node = start(at, disks).expect("all are here");
    assert!(node.wait_until(is_whole));
    // A quorum of the map's holders is without the last one, too.
    let is_on_the_last = |node: &mut Sim, object: &u64| {
        let pg = node.map().pg_of(PoolId::new(0), ObjectNo(*object));
        node.map().pg(pg).acting.contains(&OsdId::new(3))
    };
    let object = (0..OBJECTS).find(|object| is_on_the_last(&mut node, object));
    let object = object.expect("it has a copy of some");
    let pg = node.map().pg_of(PoolId::new(0), ObjectNo(object));
    let acting = node.map().pg(pg).acting.clone();
    let other = *acting.iter().find(|osd| **osd != OsdId::new(3)).expect("there are two");
    // So much goes beside the log, and nothing of it is in memory after another start.
    write(&mut node, object, (0, WHOLE), 201);
    sync(&mut node);
    let at = node.now();
    let mut node = start(at, node.crash(None, &mut Rng::new(6))).expect("all are here");
    assert!(node.wait_until(is_whole));
    let image = node.disk(other).image();
    let pages = image.chunks(BLOCK as usize).enumerate();
    let is_of_it = |(_, page): &(usize, &[u8])| page.iter().all(|byte| *byte == 201);
    let (first, _) = pages.clone().find(is_of_it).expect("it has the write");
    let place = first as u64 * u64::from(BLOCK);
    node.disk(other).rot(place..place + 1);
    (node, object, pg, other)
}

/// Starts from these disks, of which osd.3's is damaged, and sees that it is left as it is.
fn leaves_the_last_as_it_is(at: Time, mut disks: Vec<SimDisk>, pg: PgId) -> Sim {
    let victim = OsdId::new(3);
    damage(&mut disks[3]);
    let mut node = start(at, disks).expect("the others are enough");
    for _ in 0..10_000 {
        assert!(node.heal_damaged(|_| unreachable!("it is left as it is")).is_empty());
        if !node.step() {
            break;
        }
    }
    assert_eq!(node.may_heal(victim), Some(Err(NotHealed::OnlyCopy(pg))));
    assert!(node.cluster().may_hold_last_copy(victim).contains(&pg));
    node
}

/// The copy that is left has lost a page around which a client wrote, and the damaged disk alone has it. It was made empty and filled from the other,
/// and the page was gone on both.
#[test]
fn a_disk_that_alone_has_a_page_is_never_made_empty() {
    let (mut node, object, pg, _) = with_a_page_on_the_last_alone();
    write(&mut node, object, (100, 50), 77);
    assert!(!node.is_clean(), "the copy lacks the page, and nothing was given back yet");
    let (at, disks) = (node.now(), node.crash(None, &mut Rng::new(6)));
    let node = leaves_the_last_as_it_is(at, disks, pg);
    assert_eq!(node.unfound(pg).0, [ObjectNo(object)], "an operator sees why");
}

fn scrub(node: &mut Sim, pg: PgId, request: ScrubRequest) {
    assert!(node.change(|cluster, fx| cluster.scrub(pg, request, fx)), "{pg} serves");
    let is_over = |node: &mut Sim| {
        let record = scrub_report(node, pg).record;
        record.last.is_some() && record.under_way.is_none()
    };
    while !is_over(node) || !is_whole(node) {
        assert!(node.step(), "the scrub ends");
    }
    sync(node);
}

/// A deep scrub had found the other copy bad, and was not asked to repair it: no client had met it, and so nobody lacked anything. The disk with the good one
/// was made empty, as soon as it was damaged or a page of its store was bad, and filled from what nobody could read.
#[test]
fn a_disk_is_never_made_empty_while_a_scrub_says_that_it_alone_is_good() {
    let deep = ScrubRequest { kind: ScrubKind::Deep, is_requested: true, repairs: false };
    let (mut node, _, pg, other) = with_a_page_on_the_last_alone();
    scrub(&mut node, pg, deep);
    let findings = scrub_report(&mut node, pg).record.findings;
    let bad: Vec<OsdId> = findings.named[0].bad.iter().map(|(osd, _)| *osd).collect();
    assert_eq!((findings.inconsistent, bad, node.is_clean()), (1, vec![other], true));
    let finds_a_page = |node: &mut Sim, osd: OsdId| {
        for life in 0..3 {
            let notice = Notice::Rotten(PageNo(7));
            node.change(|cluster, fx| cluster.heard(osd, life, notice, fx));
        }
    };
    let victim = OsdId::new(3);
    finds_a_page(&mut node, victim);
    assert_eq!(node.take_rotten_down(), None);
    let (at, disks) = (node.now(), node.crash(None, &mut Rng::new(6)));
    leaves_the_last_as_it_is(at, disks.clone(), pg);
    // Whose copy is bad is known after a start too, until it is repaired.
    let mut node = start(at, disks).expect("all are here");
    assert!(node.wait_until(is_whole));
    finds_a_page(&mut node, victim);
    assert_eq!(node.take_rotten_down(), None);
    scrub(&mut node, pg, ScrubRequest { repairs: true, ..deep });
    assert_eq!(node.take_rotten_down(), Some(victim));
}

#[test]
fn a_node_with_too_few_whole_disks_refuses_to_start() {
    let (at, disks) = with_damage(3, &[0, 1]);
    let refused = start(at, disks).err().expect("two of four without the lowest are no quorum");
    assert!(matches!(refused, StartError::NoQuorum { .. }), "{refused}");
    let (at, disks) = with_damage(3, &[0, 1, 2, 3]);
    let refused = start(at, disks).err().expect("no store can be opened").to_string();
    assert!(refused.starts_with("osd.0: the log is damaged at log position"), "{refused}");
}
