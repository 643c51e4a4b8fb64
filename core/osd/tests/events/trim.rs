//! Snapshot trims by events: which objects go together, what they wait for, and what ends them.

use crate::bench::{Bench, PG, interval, options, plan};
use loadline_base::{Span, Time};
use loadline_osd::{
    Activation, Directive, Effect, Lineage, Message, OpKind, OsdId, OsdOptions, PgId, STATES_MAX,
    ScrubKind, ScrubRequest, SnapshotNo, TrimOptions, TrimState, Views,
};
use loadline_qos::SchedulerKind;
use std::sync::Arc;

const IMAGE: u32 = 1 << 16;

/// The object of a block.
fn object(block: u64) -> u64 {
    u64::from(IMAGE) << 32 | block
}

/// The image has these live snapshots.
fn show(bench: &mut Bench, live: &[u32]) {
    let live: Vec<SnapshotNo> = live.iter().copied().map(SnapshotNo).collect();
    let mut views = Views::default();
    let newest = live.last().copied().unwrap_or_default();
    let lineage = Lineage { newest, object_bytes: 8192, ancestors: Vec::new() };
    views.insert(IMAGE, SnapshotNo::HEAD, lineage);
    views.insert_live(IMAGE, live);
    let views = Arc::new(views);
    for osd in (0..bench.osds.len() as u32).map(OsdId::new) {
        bench.direct(osd, Directive::ShowImages(views.clone()));
    }
}

fn within(trim: impl FnOnce(&mut TrimOptions)) -> OsdOptions {
    let mut options = options();
    trim(&mut options.trim);
    options
}

/// Two copies of these groups, each with objects of so many blocks that snapshot 1 shows as they were.
fn with_clones(pgs: &[PgId], blocks: u64, options: OsdOptions) -> Bench {
    let mut bench = Bench::new(2, plan("quincy", SchedulerKind::Wpq), options);
    let mut number = 0;
    for pg in pgs {
        bench.activate(*pg, interval(1, &[0, 1]));
    }
    for live in [&[][..], &[1]] {
        show(&mut bench, live);
        for pg in pgs {
            for block in 0..blocks {
                number += 1;
                bench.op_in(*pg, number, OpKind::Write, object(block), 1, false);
                bench.run();
            }
        }
    }
    bench
}

/// What osd.0 has done for a group, and what is left on both.
#[track_caller]
fn left(bench: &Bench, pg: PgId) -> u64 {
    let left: Vec<(u64, u64)> = bench.osds.iter().map(|osd| osd.left_to_trim(pg)).collect();
    assert_eq!(left[0], left[1], "the copies are alike");
    left[0].1
}

#[track_caller]
fn is_over(bench: &Bench, objects: u64) {
    for osd in &bench.osds {
        assert_eq!(osd.unfinished(), None);
        assert!(!osd.keeps_any(PG));
    }
    assert_eq!(bench.osds[0].trim_counts().objects, objects, "each goes once");
}

fn begun(seen: &[String]) -> usize {
    seen.iter().filter(|line| line.starts_with("osd.0 to osd.1: write ")).count()
}

/// Answers of the other copy.
fn is_answer(effect: &Effect) -> bool {
    matches!(effect, Effect::Send(envelope) if matches!(envelope.message, Message::WriteDone(..)))
}

#[test]
fn what_was_kept_for_a_removed_snapshot_alone_goes_on_all_copies() {
    let mut bench = with_clones(&[PG], 5, options());
    assert_eq!(bench.osds[0].left_to_trim(PG), (0, 0), "the snapshot lives");
    show(&mut bench, &[]);
    let seen = bench.run();
    assert_eq!((begun(&seen), left(&bench, PG)), (5, 0), "{seen:?}");
    is_over(&bench, 5);
    assert_eq!(bench.osds[0].trim_counts().snapshots, 1);
    show(&mut bench, &[]);
    assert_eq!(bench.run(), [""; 0], "nothing is left to be trimmed");
}

#[test]
fn so_many_objects_are_trimmed_at_a_time() {
    for (most, together) in [(1, 1), (2, 2), (9, 5)] {
        let mut bench = with_clones(&[PG], 5, within(|trim| trim.objects_max = most));
        bench.hold(is_answer);
        show(&mut bench, &[]);
        assert_eq!(begun(&bench.run()), together, "the next ones wait for all of these");
        assert_eq!(bench.osds[0].trim_state(PG), Some(TrimState::Trimming));
        bench.release();
        bench.run();
        is_over(&bench, 5);
    }
}

#[test]
fn so_many_groups_are_trimmed_at_a_time() {
    let pgs = [0, 1, 2].map(PgId::new);
    let mut bench = with_clones(&pgs, 3, options());
    bench.hold(is_answer);
    show(&mut bench, &[]);
    assert_eq!(begun(&bench.run()), 2, "two objects of one group");
    let states = |bench: &Bench| pgs.map(|pg| bench.osds[0].trim_state(pg));
    let (trims, waits) = (Some(TrimState::Trimming), Some(TrimState::Waiting));
    assert_eq!(states(&bench), [trims, waits, waits]);
    let more = within(|trim| trim.pgs_max = 3);
    bench.configure(0, plan("quincy", SchedulerKind::Wpq), more);
    assert_eq!(begun(&bench.run()), 4, "two of each of the others");
    assert_eq!(states(&bench), [trims; 3]);
    bench.release();
    bench.run();
    assert_eq!(pgs.map(|pg| left(&bench, pg)), [0; 3]);
    is_over(&bench, 9);
}

#[test]
fn a_trim_sleeps_after_its_objects() {
    let mut bench = with_clones(&[PG], 5, within(|trim| trim.sleep = Span::from_secs(5)));
    show(&mut bench, &[]);
    let mut begun_at = Vec::new();
    for second in 0..=12 {
        begun_at.push(begun(&bench.run_until(Time::ZERO + Span::from_secs(second))));
    }
    assert_eq!(begun_at, [2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0]);
    bench.run_until(Time::ZERO + Span::from_secs(20));
    is_over(&bench, 5);
}

#[test]
fn nothing_is_trimmed_while_it_is_forbidden() {
    let off = within(|trim| trim.is_off = true);
    let mut bench = with_clones(&[PG], 5, off);
    show(&mut bench, &[]);
    assert_eq!(bench.run(), [""; 0]);
    assert_eq!((bench.osds[0].trim_state(PG), left(&bench, PG)), (None, 5));
    bench.hold(is_answer);
    bench.configure(0, plan("quincy", SchedulerKind::Wpq), options());
    assert_eq!(begun(&bench.run()), 2);
    // What is on its way goes on; nothing follows.
    bench.configure(0, plan("quincy", SchedulerKind::Wpq), off);
    bench.release();
    assert_eq!(begun(&bench.run()), 0);
    assert_eq!((bench.osds[0].unfinished(), left(&bench, PG)), (None, 3));
    bench.configure(0, plan("quincy", SchedulerKind::Wpq), options());
    bench.run();
    is_over(&bench, 5);
}

/// Snapshots came and went while nothing was trimmed, and each of them left a state of an object: its past grew beyond what a disk keeps under
/// one key, and the OSD stopped.
#[test]
fn a_past_that_is_full_is_trimmed_by_the_next_write() {
    let mut bench = with_clones(&[PG], 1, within(|trim| trim.is_off = true));
    let last = STATES_MAX as u32 + 5;
    for snapshot in 2..=last {
        show(&mut bench, &[snapshot]);
        bench.op_in(PG, 100 + snapshot, OpKind::Write, object(0), 1, false);
        bench.run();
    }
    assert_eq!(left(&bench, PG), STATES_MAX as u64 - 1, "one is kept for a live one");
    show(&mut bench, &[]);
    bench.configure(0, plan("quincy", SchedulerKind::Wpq), options());
    bench.run();
    is_over(&bench, u64::from(last));
}

/// Two snapshots go. Between them a scrub that was asked for meanwhile has its turn.
#[test]
fn a_group_is_trimmed_or_scrubbed_and_never_both() {
    let mut bench = with_clones(&[PG], 2, options());
    show(&mut bench, &[1, 2]);
    for block in 0..2 {
        bench.op(50 + block, OpKind::Write, object(u64::from(block)), 1);
        bench.run();
    }
    bench.hold(is_answer);
    show(&mut bench, &[]);
    assert_eq!(begun(&bench.run()), 2);
    let request = ScrubRequest { kind: ScrubKind::Shallow, is_requested: true, repairs: false };
    bench.direct(OsdId::new(0), Directive::Scrub(PG, request));
    assert_eq!(bench.run(), [""; 0], "the scrub waits");
    bench.release();
    let seen = bench.run();
    let place = |like: &str| seen.iter().position(|line| line.contains(like));
    let (reserved, released) = (place("reserve for scrub"), place("released by scrub"));
    let (reserved, released) = (reserved.expect("it begins"), released.expect("it ends"));
    assert_eq!([begun(&seen[..reserved]), begun(&seen[reserved..released])], [0, 0], "{seen:?}");
    assert_eq!(begun(&seen[released..]), 2, "the second snapshot");
    is_over(&bench, 4);
}

/// An interval ends while objects are on their way, and while the trim sleeps or waits for its slot.
#[test]
fn the_next_interval_trims_what_is_left() {
    let pgs = [0, 1].map(PgId::new);
    for sleep in [Span::ZERO, Span::from_secs(5)] {
        let mut bench = with_clones(&pgs, 3, within(|trim| trim.sleep = sleep));
        bench.hold(is_answer);
        show(&mut bench, &[]);
        bench.run();
        if sleep > Span::ZERO {
            bench.release();
            bench.run();
        }
        for pg in pgs {
            bench.activate(pg, interval(2, &[0, 1]));
        }
        bench.release();
        bench.run_until(Time::ZERO + Span::from_secs(60));
        assert_eq!(pgs.map(|pg| left(&bench, pg)), [0; 2]);
        for osd in &bench.osds {
            assert_eq!(osd.unfinished(), None, "no slot is lost");
        }
    }
}

/// A disk without room for what was to be pushed waited for the trims that would have given it some, and they for the group to be whole.
#[test]
fn a_group_whose_recovery_waits_for_room_is_trimmed() {
    let mut bench = Bench::new(3, plan("quincy", SchedulerKind::Wpq), options());
    bench.activate(PG, interval(1, &[0, 1]));
    for (at, live) in [&[][..], &[1]].into_iter().enumerate() {
        show(&mut bench, live);
        for block in 0..5 {
            bench.op(10 * at as u32 + block, OpKind::Write, object(block.into()), 1);
            bench.run();
        }
    }
    bench.direct(OsdId::new(2), Directive::SetBackfillFull(true));
    let backfill = vec![OsdId::new(2)];
    bench.activate(PG, Activation { copies: 3, backfill, ..interval(2, &[0, 1]) });
    bench.run();
    show(&mut bench, &[]);
    bench.run_until(Time::ZERO + Span::from_secs(10));
    let left =
        |bench: &Bench| bench.osds.iter().map(|osd| osd.left_to_trim(PG)).collect::<Vec<_>>();
    assert_eq!(left(&bench), [(0, 0); 3]);
    assert_eq!(bench.osds[0].trim_counts().objects, 5);
    bench.direct(OsdId::new(2), Directive::SetBackfillFull(false));
    bench.run_until(Time::ZERO + Span::from_secs(200));
    assert_eq!(left(&bench), [(0, 0); 3]);
    for osd in &bench.osds {
        assert!(osd.unfinished().is_none() && !osd.keeps_any(PG));
    }
}

/// A group that lacks copies, or whose copies lack objects, waits until it is whole.
#[test]
fn only_a_whole_group_is_trimmed() {
    let mut bench = with_clones(&[PG], 3, options());
    let degraded = Activation { copies: 3, ..interval(2, &[0, 1]) };
    bench.activate(PG, degraded);
    show(&mut bench, &[]);
    bench.run();
    assert_eq!(left(&bench, PG), 3);
    bench.activate(PG, interval(3, &[0, 1]));
    bench.run();
    is_over(&bench, 3);
}
