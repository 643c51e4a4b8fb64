//! The last write of an object reached one disk alone before the power went, and that disk cannot read it. Nobody serves the
//! object until an operator gives the write up; then it is what it was before, on every copy, whatever happens meanwhile.

use crate::judge::{config, first_page, fresh_disk, is_whole, settings, stores, sync, target};
use loadline_base::{Rng, Span, Time};
use loadline_cluster::{Config, NotLost, PoolSpec, Target};
use loadline_osd::{Data, OpKind, OsdId, OsdOptions, OsdSet, PgId, Unreadable};
use loadline_sim::Sim;
use loadline_sim::disk::{CutStyle, SimDisk};
use loadline_store::ObjectNo;
use loadline_store::paged::LogMode;

pub(crate) const PG: PgId = PgId::new(0);
const OBJECT: ObjectNo = ObjectNo(5);
/// So much goes beside the log, and is not read by a restart once it is proven.
const BYTES: u32 = 64 << 10;
const PAGE: usize = 4096;

fn op(node: &mut Sim, kind: OpKind, data: Data) -> Result<Vec<u8>, Unreadable> {
    op_of(node, OBJECT.0, kind, data)
}

pub(crate) fn op_of(
    node: &mut Sim,
    object: u64,
    kind: OpKind,
    data: Data,
) -> Result<Vec<u8>, Unreadable> {
    answer(node, &target(kind, object, (0, BYTES)), data)
}

fn answer(node: &mut Sim, target: &Target, data: Data) -> Result<Vec<u8>, Unreadable> {
    let id = node.issue(target, data);
    assert!(node.wait_until(|node| node.workload().replies.iter().any(|reply| reply.op == id)));
    let reply = node.workload_mut().replies.pop().expect("it is the only one");
    reply.result.map(Data::into_vec)
}

pub(crate) fn contents(version: u8) -> Vec<u8> {
    vec![version; BYTES as usize]
}

fn read(node: &mut Sim) -> Result<Vec<u8>, Unreadable> {
    op(node, OpKind::Read, Data::NONE)
}

/// Copies that lack more than so much are recovered beside the writes.
pub(crate) fn config_with(asynchronous_above: u64) -> Config {
    let config = config(&settings());
    Config { options: OsdOptions { asynchronous_above, ..config.options }, ..config }
}

/// Whether copies may be recovered.
pub(crate) fn recover_with(asynchronous_above: u64, node: &mut Sim, may: bool) {
    let config = config_with(asynchronous_above);
    let backfills_max = if may { config.options.backfills_max } else { 0 };
    let options = OsdOptions { backfills_max, ..config.options };
    node.change(|cluster, fx| cluster.configure(&config.policy, options, fx));
}

fn start(at: Time, disks: Vec<SimDisk>) -> Sim {
    start_with(config(&settings()).options.asynchronous_above, at, disks)
}

pub(crate) fn start_with(asynchronous_above: u64, at: Time, disks: Vec<SimDisk>) -> Sim {
    let config = config_with(asynchronous_above);
    let started = Sim::start(at, &config, stores(LogMode::LogOnly), disks);
    started.unwrap_or_else(|(error, _)| panic!("no start: {error}"))
}

/// A new node with one group of three copies.
pub(crate) fn fresh(asynchronous_above: u64) -> Sim {
    let disks = (1..5).map(fresh_disk).collect();
    let mut node = start_with(asynchronous_above, Time::ZERO, disks);
    let (name, object_bytes) = ("p".into(), u64::from(BYTES));
    node.create_pool(PoolSpec { name, pgs: 1, copies: 3, object_bytes, recovery_priority: 0 });
    assert!(node.wait_until(is_whole));
    node
}

/// The power goes for all but these. The next life begins with such pages rotten there; so many are.
fn alone_with(
    asynchronous_above: u64,
    (node, alone): (Sim, &[OsdId]),
    is_rotten: impl Fn(&[u8]) -> bool,
) -> (Sim, usize) {
    let (at, mut disks) = (node.now(), node.crash(None, &mut Rng::new(3)));
    for (osd, disk) in (0..).map(OsdId::new).zip(&mut disks) {
        if !alone.contains(&osd) {
            disk.power_cut(CutStyle::AllLost, &mut Rng::new(4));
        }
    }
    let (mut node, mut rotten) = (start_with(asynchronous_above, at, disks), 0);
    for osd in alone {
        let disk = node.disk(*osd);
        let image = disk.image();
        let pages = image.chunks(PAGE).enumerate().filter(|(_, page)| is_rotten(page));
        for at in pages.map(|(at, _)| (at * PAGE) as u64) {
            disk.rot(at..at + 1);
            rotten += 1;
        }
    }
    (node, rotten)
}

/// A node whose last write is on the copy of this place in the acting set alone, and cannot be read there.
fn unfound(place: usize) -> Sim {
    unfound_with(config(&settings()).options.asynchronous_above, place)
}

fn unfound_with(asynchronous_above: u64, place: usize) -> Sim {
    let mut node = fresh(asynchronous_above);
    op(&mut node, OpKind::Write, Data::new(contents(1))).expect("it is written");
    sync(&mut node);
    op(&mut node, OpKind::Write, Data::new(contents(2))).expect("it is written");
    let is_second = |page: &[u8]| page.iter().all(|it| *it == 2);
    let alone = node.map().pg(PG).acting[place];
    let (mut node, rotten) = alone_with(asynchronous_above, (node, &[alone]), is_second);
    assert_eq!(rotten, BYTES as usize / PAGE, "it has the write");
    assert!(node.wait_until(is_unfound));
    node
}

fn steps(node: &mut Sim, events: u64) {
    for _ in 0..events {
        node.step();
    }
}

fn is_unfound(node: &Sim) -> bool {
    node.unfound(PG).0 == [OBJECT]
}

/// Every copy has the first write.
fn check(node: &mut Sim) {
    assert!(node.wait_until(is_whole));
    for down in (0..4).map(OsdId::new) {
        node.take_down(down);
        assert!(read(node) == Ok(contents(1)), "without {down}");
        node.open(down);
        assert!(node.wait_until(is_whole));
    }
    assert!(node.copies_that_differ().is_empty());
}

/// What was written to each page.
fn pages(of: impl Fn(usize) -> u8) -> Vec<u8> {
    (0..BYTES as usize / PAGE).flat_map(|page| [of(page); PAGE]).collect()
}

const ROTTEN: usize = 5;

fn of_page(page: usize) -> u8 {
    100 + page as u8
}

/// So many copies alone have the last write, to the first page, and another page of the object is rotten there, which the others have as it still is.
fn ahead_with_rot(place: usize, above: u64, holders: usize) -> Sim {
    let mut node = fresh(above);
    op(&mut node, OpKind::Write, Data::new(pages(of_page))).expect("it is written");
    sync(&mut node);
    let later = node.now() + Span::from_secs(1);
    node.wait_until(|node| node.now() > later);
    let last = target(OpKind::Write, OBJECT.0, (0, PAGE as u32));
    answer(&mut node, &last, Data::new(vec![2; PAGE])).expect("it is written");
    let is_bad = |page: &[u8]| page.iter().all(|it| *it == of_page(ROTTEN));
    let mut acting = node.map().pg(PG).acting.clone();
    acting.rotate_left(place);
    let (mut node, rotten) = alone_with(above, (node, &acting[..holders]), is_bad);
    assert_eq!(rotten, holders);
    recover_with(above, &mut node, false);
    assert!(node.wait_until(|node| node.map().pg(PG).ready));
    node
}

/// One copy alone has the last write, or two, and another page of the object is rotten there, which the others have as it still is. Who reads it has it from them,
/// and so has who writes into a part of it. (Who did so before recovery had come to the object was refused it, and everybody else for half a minute after that;
/// what nobody asked for healed.)
#[test]
fn what_copies_that_are_behind_have_as_it_still_is_comes_from_them() {
    for case in 0..24 {
        let (place, above) = (case % 3, [0, 3][case / 3 % 2]);
        let (writes, holders) = (case / 6 % 2 == 1, 1 + case / 12);
        let mut node = ahead_with_rot(place, above, holders);
        let mut wanted = pages(|page| if page == 0 { 2 } else { of_page(page) });
        if writes {
            let place = ((ROTTEN * PAGE + 100) as u32, 300);
            let into = target(OpKind::Write, OBJECT.0, place);
            let written = answer(&mut node, &into, Data::new(vec![3; 300]));
            assert!(written.is_ok(), "{case}: the others have what stands around it");
            wanted[ROTTEN * PAGE + 100..][..300].fill(3);
        }
        assert!(read(&mut node) == Ok(wanted.clone()), "{case}: the others have it");
        assert_eq!(node.unfound(PG).0, [], "{case}");
        recover_with(above, &mut node, true);
        for down in [None, Some(0), Some(1), Some(2), Some(3)].map(|down| down.map(OsdId::new)) {
            assert!(node.wait_until(is_whole));
            down.into_iter().for_each(|osd| node.take_down(osd));
            assert!(read(&mut node) == Ok(wanted.clone()), "{case}, without {down:?}");
            down.into_iter().for_each(|osd| node.open(osd));
        }
    }
}

/// Two writes into parts of the rotten page meet on the way, and some of their bytes are the same. The first is carried out again when others have given the page, and
/// never over what the second has written meanwhile.
#[test]
fn what_is_carried_out_again_undoes_nothing_that_came_later() {
    for case in 0..120 {
        let mut node = ahead_with_rot(case % 3, 3, 1 + case / 60);
        let into = |at: usize| target(OpKind::Write, OBJECT.0, ((ROTTEN * PAGE + at) as u32, 300));
        let first = node.issue(&into(100), Data::new(vec![3; 300]));
        steps(&mut node, case as u64 % 60 * 2);
        let second = node.issue(&into(250), Data::new(vec![4; 300]));
        let went_well = |node: &Sim, id| {
            let reply = node.workload().replies.iter().find(|reply| reply.op == id);
            reply.map(|reply| reply.result.is_ok())
        };
        let all = |node: &Sim| [first, second].iter().all(|id| went_well(node, *id).is_some());
        assert!(node.wait_until(all));
        let [first, second] = [first, second].map(|id| went_well(&node, id) == Some(true));
        node.workload_mut().replies.clear();
        assert!(second, "{case}: others have what stands around it");
        let page = read(&mut node).expect("others have the page")[ROTTEN * PAGE..].to_vec();
        assert!(page[250..550].iter().all(|byte| *byte == 4), "{case}: the second came later");
        assert!(!first || page[100..250].iter().all(|byte| *byte == 3), "{case}: it is answered");
    }
}

#[test]
fn what_it_was_before_is_what_counts_when_an_operator_says_so() {
    for place in 0..3 {
        let mut node = unfound(place);
        assert_eq!(read(&mut node), Err(Unreadable), "nobody says yet that it is lost");
        let idle =
            (0..4).map(OsdId::new).find(|osd| !node.cluster().map().pg(PG).acting.contains(osd));
        let idle = idle.expect("three of four act");
        node.take_down(idle);
        assert_eq!(node.unfound(PG).1, Err(NotLost::MayComeBack(OsdSet::one(idle))));
        assert_eq!(node.give_up_unfound(), 0);
        node.open(idle);
        assert!(node.wait_until(|node| node.unfound(PG).1.is_ok()));
        assert_eq!(node.give_up_unfound(), 1);
        check(&mut node);
        assert_eq!(node.unfound(PG), (Vec::new(), Err(NotLost::NoneUnfound)));
        let (at, disks) = (node.now(), node.crash(Some(CutStyle::Random), &mut Rng::new(6)));
        check(&mut start(at, disks));
    }
}

/// The disk that alone had the write was given up for another one, or removed, as it is said to be done. The others had waited for it, and went on waiting:
/// what they lack by name might have come back, as far as anybody knew, and nobody served the group any more.
///
/// Where the others had been recovered beside the writes, as they are under Loadline's own preset, it was so once more: nobody may go by logs that lack writes in
/// the middle, and no other was left.
#[test]
fn a_disk_that_alone_had_the_last_write_is_not_waited_for_when_it_is_gone_for_good() {
    for place in 0..3 {
        for case in 0..8 {
            let [is_removed, starts_anew, is_beside] = [1, 2, 4].map(|bit| case & bit > 0);
            let above = if is_beside { 0 } else { 3 };
            let mut node = unfound_with(above, place);
            let alone = (0..4).map(OsdId::new).find(|osd| holds_the_second(&mut node, *osd));
            let alone = alone.expect("one has it");
            node.take_down(alone);
            let waits = |node: &Sim| {
                let state = node.map().pg(PG);
                state.acting.is_empty() && !state.ready
            };
            assert!(node.wait_until(waits));
            if starts_anew {
                let at = node.now();
                node = start_with(above, at, node.crash(None, &mut Rng::new(8)));
                node.take_down(alone);
                assert!(node.wait_until(waits));
            }
            match is_removed {
                // The last one's number would not be kept.
                true if alone == OsdId::new(3) => continue,
                true => {
                    node.set_in(alone, false);
                    node.change(|cluster, fx| cluster.remove_osd(alone, fx));
                }
                false => {
                    node.replace(alone, fresh_disk(50));
                    node.open(alone);
                }
            }
            assert!(node.wait_until(|node| node.unfound(PG).1.is_ok()), "{place} {case}");
            assert_eq!(node.give_up_unfound(), 1);
            assert!(node.wait_until(is_whole));
            assert!(read(&mut node) == Ok(contents(1)));
        }
    }
}

/// Whether an OSD's disk has pages of the second write.
fn holds_the_second(node: &mut Sim, osd: OsdId) -> bool {
    let image = node.disk(osd).image();
    let is_second = |page: &[u8]| page[1..].iter().all(|it| *it == 2);
    image.chunks(PAGE).any(is_second)
}

/// The power goes at any moment of it: then it is unfound as before, or what it was before the lost write.
#[test]
fn a_crash_while_it_is_given_up_leaves_one_or_the_other() {
    let (mut again, mut done) = (0, 0);
    for place in 0..3 {
        let node = unfound(place);
        let at = node.now();
        let disks = node.crash(None, &mut Rng::new(7));
        for events in (0..100).step_by(7) {
            let mut node = start(at, disks.clone());
            assert!(node.wait_until(is_unfound));
            assert_eq!(node.give_up_unfound(), 1);
            steps(&mut node, events);
            let style =
                [None, Some(CutStyle::Random), Some(CutStyle::AllLost)][events as usize % 3];
            let (at, disks) = (node.now(), node.crash(style, &mut Rng::new(events)));
            let mut node = start(at, disks);
            if node.wait_until(|node| is_unfound(node) || is_whole(node)) && is_unfound(&node) {
                assert_eq!(node.give_up_unfound(), 1);
                again += 1;
            } else {
                done += 1;
            }
            check(&mut node);
        }
    }
    assert!(again > 5 && done > 5, "{again} and {done}");
}

/// Blocks of an object that goes to another copy in several transactions.
const BLOCKS: u32 = 60;

fn write_blocks(node: &mut Sim, version: u8) {
    for block in 0..BLOCKS {
        let place = (2 * block * PAGE as u32, PAGE as u32);
        let data = Data::new(vec![version; PAGE]);
        let id = node.issue(&target(OpKind::Write, OBJECT.0, place), data);
        assert!(node.wait_until(|node| node.workload().replies.iter().any(|reply| reply.op == id)));
        node.workload_mut().replies.clear();
    }
}

/// What the blocks hold; each is of one piece.
fn blocks(node: &mut Sim) -> Vec<u8> {
    let read = target(OpKind::Read, OBJECT.0, (0, 2 * BLOCKS * PAGE as u32));
    let id = node.issue(&read, Data::NONE);
    assert!(node.wait_until(|node| node.workload().replies.iter().any(|reply| reply.op == id)));
    let reply = node.workload_mut().replies.pop().expect("it is the only one");
    let bytes = reply.result.expect("it can be read").into_vec();
    bytes.chunks(2 * PAGE).map(|block| block[0]).collect()
}

/// A copy was being replaced when the only other one went bad. What is left of it is neither the old object nor the new one, and
/// is never taken for one.
#[test]
fn what_was_half_replaced_is_not_what_it_was_before() {
    let mut seen = std::collections::BTreeSet::new();
    for events in (0..400).step_by(10) {
        let disks = (1..5).map(fresh_disk).collect();
        let mut node = start(Time::ZERO, disks);
        let (name, object_bytes) = ("p".into(), 1 << 20);
        node.create_pool(PoolSpec { name, pgs: 1, copies: 2, object_bytes, recovery_priority: 0 });
        assert!(node.wait_until(is_whole));
        write_blocks(&mut node, 1);
        sync(&mut node);
        let [alone, other] = node.cluster().map().pg(PG).acting[..] else { panic!("two copies") };
        node.take_down(other);
        write_blocks(&mut node, 2);
        // Checkpoints take everything home, and nothing of it is in memory after another start.
        let later = node.now() + Span::from_secs(1);
        node.wait_until(|node| node.now() > later);
        node.take_down(alone);
        for osd in [alone, other] {
            node.open(osd);
            while !node.cluster().map().osds()[osd].up {
                assert!(node.step(), "it comes up");
            }
        }
        steps(&mut node, events);
        let image = node.disk(alone).image();
        for (at, page) in image.chunks(PAGE).enumerate().skip(first_page() as usize / PAGE) {
            if page.iter().all(|byte| *byte == 2) {
                let at = (at * PAGE) as u64;
                node.disk(alone).rot(at..at + 1);
            }
        }
        // Another interval begins, and with it all that was under way is void.
        let third = (0..4).map(OsdId::new).find(|osd| ![alone, other].contains(osd));
        node.set_in(alone, false);
        node.take_down(third.expect("there are four"));
        node.open(third.expect("there are four"));
        assert!(node.wait_until(|node| is_whole(node) || node.unfound(PG).1.is_ok()));
        node.give_up_unfound();
        let limit = node.now() + Span::from_secs(60);
        assert!(node.wait_until(|node| is_whole(node) || node.now() > limit) && is_whole(&node));
        let found = blocks(&mut node);
        assert!(found.iter().all(|block| *block == found[0]), "{events}: {found:?}");
        seen.insert(found.first().copied());
    }
    assert!([Some(1), Some(2), None].iter().all(|it| seen.contains(it)), "{seen:?}");
}

/// Its image is removed. (The removal failed until an operator gave the object up, and with it everything that came behind it.)
#[test]
fn what_nobody_can_give_can_be_removed() {
    for place in 0..3 {
        let mut node = unfound(place);
        op(&mut node, OpKind::Purge, Data::NONE).expect("nothing of it is needed");
        assert!(node.wait_until(|node| is_whole(node) && !is_unfound(node)), "place {place}");
        let shown = read(&mut node).expect("there is nothing that could not be read");
        assert!(shown.iter().all(|byte| *byte == 0), "place {place}");
        assert!(node.copies_that_differ().is_empty());
    }
}

/// Whoever reads it meanwhile does not get what it was before its last write.
#[test]
fn what_is_removed_is_shown_to_nobody_as_it_was_before() {
    for (place, ahead) in (0..3).flat_map(|place| (0..12).map(move |ahead| (place, ahead))) {
        let mut node = unfound(place);
        let read = target(OpKind::Read, OBJECT.0, (0, BYTES));
        let purge = target(OpKind::Purge, OBJECT.0, (0, BYTES));
        node.issue(&read, Data::NONE);
        steps(&mut node, ahead);
        node.issue(&purge, Data::NONE);
        node.issue(&read, Data::NONE);
        assert!(node.wait_until(|node| node.workload().replies.len() == 3));
        for reply in std::mem::take(&mut node.workload_mut().replies) {
            let shown = reply.result.map(Data::into_vec).unwrap_or_default();
            assert!(shown.iter().all(|byte| *byte == 0), "place {place}, {ahead} ahead");
        }
    }
}
