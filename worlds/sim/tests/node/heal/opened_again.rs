//! Stores that stop for what a second look may mend: their disks are opened once more before anything else is thought of.
//!
//! A page went bad between the look that a transaction in steps takes at all that it needs and the step that needed it. The store
//! stopped, as it must, and the OSD stayed down until an operator opened its disk again.

use crate::judge::{
    self, BLOCK, OSDS, config, first_page, fresh_disk, is_whole, settings, stores, sync,
};
use loadline_base::{Bytes, Rng, Time};
use loadline_cluster::{PoolSpec, Target};
use loadline_osd::{Data, DiskFault, OpKind, OsdId};
use loadline_sim::Sim;
use loadline_sim::disk::{SimDisk, Trouble};
use loadline_store::paged::superblock::Superblock;
use loadline_store::paged::{Fault, LogMode, Options, RestartFault};

/// Every second block of one object is written, so that each is an extent of its own.
const EXTENTS: u32 = 4500;
/// And these of another one.
const OTHERS: u32 = 20;
const DISK: Bytes = Bytes::from_mib(32);
const VICTIM: OsdId = OsdId::new(1);

/// A cache in which the removal of an object of so many extents goes in steps.
fn small_caches() -> Options {
    Options { cache: Bytes::from_kib(520), ..stores(LogMode::LogOnly) }
}

fn start(at: Time, disks: Vec<SimDisk>) -> Sim {
    let started = Sim::start(at, &config(&settings()), small_caches(), disks);
    started.unwrap_or_else(|(error, _)| panic!("no start: {error}"))
}

fn block(object: u64, number: u32) -> Vec<u8> {
    vec![(object * 100) as u8 + (number % 97) as u8; BLOCK as usize]
}

fn at(kind: OpKind, object: u64, number: u32) -> Target {
    judge::target(kind, object, (2 * number * BLOCK, BLOCK))
}

/// The disks of a node that has written and died.
fn written() -> (Time, Vec<SimDisk>) {
    let disks = (0..OSDS).map(|osd| judge::disk_of(DISK, u64::from(osd) + 1)).collect();
    let mut node = start(Time::ZERO, disks);
    let (name, object_bytes) = ("p".into(), u64::from(2 * EXTENTS * BLOCK));
    node.create_pool(PoolSpec { name, pgs: 1, copies: 4, object_bytes, recovery_priority: 0 });
    assert!(node.wait_until(is_whole));
    for (object, blocks) in [(0, EXTENTS), (1, OTHERS)] {
        for number in 0..blocks {
            op_at(&mut node, at(OpKind::Write, object, number), Data::new(block(object, number)));
        }
    }
    sync(&mut node);
    (node.now(), node.crash(None, &mut Rng::new(5)))
}

fn op_at(node: &mut Sim, target: Target, data: Data) -> Vec<u8> {
    let id = node.issue(&target, data);
    assert!(node.wait_until(|node| node.workload().replies.iter().any(|reply| reply.op == id)));
    let reply = node.workload_mut().replies.pop().expect("it is the only one");
    reply.result.expect("it is carried out").into_vec()
}

/// Removes an object, and lets `strike` happen to the disk behind so many events. Answers with the node if a store has stopped in
/// the middle of it.
fn struck_while_removing(
    (at, disks): &(Time, Vec<SimDisk>),
    events: u32,
    strike: impl Fn(&mut SimDisk),
) -> Option<Sim> {
    let mut node = start(*at, disks.clone());
    assert!(node.wait_until(is_whole));
    let purge = judge::target(OpKind::Purge, 0, (0, 0));
    let id = node.issue(&purge, Data::NONE);
    for _ in 0..events {
        node.step();
    }
    strike(node.disk(VICTIM));
    let is_answered = |node: &Sim| node.workload().replies.iter().any(|reply| reply.op == id);
    assert!(node.wait_until(is_answered), "the others go on");
    node.workload_mut().replies.clear();
    let fault = node.cluster().fault(VICTIM);
    (fault == Some(DiskFault::Store(Fault::Unfinished))).then_some(node)
}

/// The first moment from this one on at which it stops the store in the middle, and the node.
fn stopped(written: &(Time, Vec<SimDisk>), from: u32, strike: impl Fn(&mut SimDisk)) -> (u32, Sim) {
    let struck = |events| Some((events, struck_while_removing(written, events, &strike)?));
    let mut moments = (from..2000).step_by(40);
    moments.find_map(struck).expect("some removal is struck between two steps")
}

fn check(node: &mut Sim) {
    for down in (0..OSDS).map(OsdId::new) {
        node.take_down(down);
        let gone = op_at(node, at(OpKind::Read, 0, 0), Data::NONE);
        assert!(gone.iter().all(|byte| *byte == 0), "the object is removed, without {down} too");
        for number in 0..OTHERS {
            let found = op_at(node, at(OpKind::Read, 1, number), Data::NONE);
            assert!(found == block(1, number), "block {number} without {down}");
        }
        node.open(down);
        assert!(node.wait_until(is_whole));
    }
    assert!(node.copies_that_differ().is_empty());
}

#[test]
fn a_transaction_that_cannot_go_on_is_brought_to_its_end_or_healed_from_the_others() {
    let written = written();
    let pages = |disk: &SimDisk| first_page()..disk.spec().size.get();

    let passing = |disk: &mut SimDisk| disk.fail_reads(pages(disk), Trouble::Times(3));
    let (moment, mut node) = stopped(&written, 400, passing);
    assert!(node.may_heal(VICTIM).is_none(), "nothing is known to be damaged");
    assert_eq!(node.open_again(), [VICTIM]);
    assert!(node.wait_until(is_whole));
    assert_eq!(node.cluster().fault(VICTIM), None);
    check(&mut node);

    let (_, mut node) = stopped(&written, moment, |disk| disk.rot(pages(disk)));
    assert_eq!(node.open_again(), [VICTIM]);
    let empty = |osd: OsdId| judge::disk_of(DISK, 100 + u64::from(osd.get()));
    assert!(node.wait_until(|node| node.may_heal(VICTIM) == Some(Ok(()))));
    assert!(!node.cluster().may_open_again(VICTIM), "it was tried");
    assert_eq!(node.heal_damaged(empty), [VICTIM]);
    assert!(node.wait_until(is_whole));
    check(&mut node);
}

/// A page of the tree that could not be read counted as damaged, and the disk was made empty for what passes.
#[test]
fn a_page_that_the_replay_cannot_read_is_looked_at_twice_before_its_disk_is_made_empty() {
    for (trouble, passes) in [(Trouble::Times(1), true), (Trouble::Always, false)] {
        let (at, mut disks) = super::written(3);
        let superblock = Superblock::decode(&disks[1].peek(0..4096)).expect("it holds a store");
        let map = superblock.layout.page.offset(superblock.layout.map_first);
        disks[1].fail_reads(map..map + u64::from(BLOCK), trouble);
        let mut node = super::start(at, disks).expect("the others are enough");
        let fault = node.cluster().fault(VICTIM);
        let is_page = |fault| matches!(fault, RestartFault::UnreadablePage(_));
        assert!(
            matches!(fault, Some(DiskFault::Store(Fault::Restart(fault))) if is_page(fault)),
            "{fault:?}"
        );
        assert_eq!(node.may_heal(VICTIM), None, "it is looked at again first");
        assert_eq!(node.open_again(), [VICTIM]);
        if !passes {
            assert!(node.wait_until(|node| node.may_heal(VICTIM) == Some(Ok(()))));
            assert_eq!(node.heal_damaged(|_| fresh_disk(101)), [VICTIM]);
        }
        assert!(node.wait_until(is_whole), "{trouble:?}");
        super::check_all(&mut node);
    }
}

/// A log that cannot be read at the start: a passing error passes, within the start where it passes soon, and a disk that stays so may be anybody's.
#[test]
fn a_disk_that_cannot_be_read_at_the_start_is_looked_at_twice_and_never_made_empty() {
    let (at, mut disks) = super::written(3);
    disks[1].fail_reads(8192..first_page(), Trouble::Times(1));
    let mut node = super::start(at, disks).expect("the others are enough");
    assert_eq!(node.cluster().fault(VICTIM), None, "it was read again");
    assert!(node.wait_until(is_whole));
    // More than the start asks for until a block is bad, and less than twice that.
    for (trouble, comes_up) in [(Trouble::Times(50), true), (Trouble::Always, false)] {
        let (at, mut disks) = super::written(3);
        disks[1].fail_reads(8192..first_page(), trouble);
        let mut node = super::start(at, disks).expect("the others are enough");
        let unreadable = |fault| {
            matches!(fault, Some(DiskFault::Store(Fault::Restart(RestartFault::Unreadable(..)))))
        };
        assert!(unreadable(node.cluster().fault(VICTIM)), "{trouble:?}");
        assert_eq!(node.open_again(), [VICTIM]);
        node.wait_until(|node| node.is_clean() || node.waits_for_disk(VICTIM) == (0, false));
        assert_eq!(node.cluster().fault(VICTIM).is_none(), comes_up, "{trouble:?}");
        assert_eq!((node.open_again(), node.may_heal(VICTIM)), (Vec::new(), None));
        assert!(!comes_up || node.wait_until(is_whole));
    }
}
