//! Objects with a past: what is kept before a write, what a snapshot reads, and how such objects are recovered.

use crate::bench::{Bench, PG, filling, interval, missing, options, plan, write_of};
use loadline_osd::{
    Ancestor, ClientOp, Directive, Effect, Lineage, Message, OpKind, OsdId, SnapshotNo, Views,
};
use loadline_qos::SchedulerKind;
use loadline_store::ObjectNo;
use std::sync::Arc;

/// The image, its only object, and a clone of it with the same block.
const IMAGE: u32 = 1 << 16;
const OBJECT: u64 = (IMAGE as u64) << 32;
const CLONE: u32 = IMAGE + 1;
const CHILD: u64 = (CLONE as u64) << 32;
/// An object of another image, which is recovered after those.
const OTHER: u64 = CHILD << 1;

fn at(snapshot: u32) -> OpKind {
    OpKind::ReadAt(SnapshotNo(snapshot))
}

fn bench(osds: u32) -> Bench {
    let mut bench = Bench::new(osds, plan("quincy", SchedulerKind::Fifo), options());
    let acting: Vec<u32> = (0..osds).collect();
    bench.activate(PG, interval(1, &acting));
    bench.check(&[]);
    bench
}

/// The image has this newest snapshot, and the clone was made of the one before it.
fn show(bench: &mut Bench, newest: u32) {
    show_views(bench, newest, Views::default());
}

/// The same, with all of the image's live snapshots.
fn show_live(bench: &mut Bench, live: &[u32]) {
    let mut views = Views::default();
    views.insert_live(IMAGE, live.iter().copied().map(SnapshotNo).collect());
    show_views(bench, live.last().copied().unwrap_or(0), views);
}

fn show_views(bench: &mut Bench, newest: u32, mut views: Views) {
    let lineage = |newest, ancestors| Lineage { newest, object_bytes: 8192, ancestors };
    views.insert(IMAGE, SnapshotNo::HEAD, lineage(SnapshotNo(newest), Vec::new()));
    let parent = Ancestor { image: IMAGE, snapshot: SnapshotNo(1), overlap: 8192 };
    views.insert(CLONE, SnapshotNo::HEAD, lineage(SnapshotNo::HEAD, vec![parent]));
    let views = Arc::new(views);
    for osd in (0..bench.osds.len() as u32).map(OsdId::new) {
        bench.direct(osd, Directive::ShowImages(views.clone()));
    }
}

/// An op that has its reply.
fn done(bench: &mut Bench, number: u32, kind: OpKind, object: u64, interval: u32) -> Vec<String> {
    bench.op(number, kind, object, interval);
    let seen = bench.run();
    assert_eq!(seen.last(), Some(&format!("reply {number}")), "{seen:?}");
    seen
}

/// What each OSD can say of an object now and at snapshots 1, 2 and 3.
fn shown(bench: &mut Bench, object: u64) -> Vec<[bool; 4]> {
    let holds = |osd: &mut loadline_osd::Osd, at: u32| {
        osd.may_hold_data(PG, ObjectNo(object), SnapshotNo(at), 0)
    };
    bench.osds.iter_mut().map(|osd| [0, 1, 2, 3].map(|at| holds(osd, at))).collect()
}

#[test]
fn a_snapshot_goes_on_showing_what_was_removed_and_not_what_came_later() {
    let mut bench = bench(2);
    done(&mut bench, 1, OpKind::Write, OBJECT, 1);
    show(&mut bench, 1);
    done(&mut bench, 2, OpKind::Remove, OBJECT, 1);
    show(&mut bench, 2);
    assert_eq!(shown(&mut bench, OBJECT), [[false, true, false, false]; 2]);
    done(&mut bench, 3, OpKind::Write, OBJECT, 1);
    show(&mut bench, 3);
    assert_eq!(shown(&mut bench, OBJECT), [[true, true, false, true]; 2]);
    assert_eq!(done(&mut bench, 4, at(1), OBJECT, 1)[0], "osd.0: Read of 4096 as client");
    assert_eq!(done(&mut bench, 5, at(2), OBJECT, 1)[0], "osd.0: Read of 1 as client");
}

/// The clone of snapshot 3 shows snapshot 1 too: when 3 goes, it gets the label 1; when 1 goes, it goes.
#[test]
fn a_removed_snapshot_leaves_what_an_older_one_shows() {
    let mut bench = bench(2);
    done(&mut bench, 1, OpKind::Write, OBJECT, 1);
    show_live(&mut bench, &[1, 3]);
    done(&mut bench, 2, OpKind::Remove, OBJECT, 1);
    show_live(&mut bench, &[1]);
    let seen = bench.run();
    assert!(
        seen.contains(&"osd.0: Write of 4096 as background_best_effort".to_owned()),
        "{seen:?}"
    );
    assert_eq!(shown(&mut bench, OBJECT), [[false, true, false, false]; 2]);
    show_live(&mut bench, &[1]);
    assert_eq!(bench.run(), [""; 0], "done already");
    show_live(&mut bench, &[]);
    bench.run();
    assert_eq!(shown(&mut bench, OBJECT), [[false; 4]; 2]);
    assert!(!bench.osds[1].may_hold_any(PG, ObjectNo(OBJECT)));
}

#[test]
fn zeros_where_nothing_is_change_nothing() {
    let mut bench = bench(2);
    assert_eq!(done(&mut bench, 1, OpKind::Zero, OBJECT, 1), ["reply 1"]);
    assert!(bench.osds[0].objects(PG).is_empty());
}

/// An object of 4 KiB with two former states, then removed.
fn with_past() -> Bench {
    let mut bench = bench(1);
    done(&mut bench, 1, OpKind::Write, OBJECT, 1);
    for snapshot in [1, 2] {
        show(&mut bench, snapshot);
        done(&mut bench, 10 + snapshot, OpKind::Write, OBJECT, 1);
    }
    bench
}

fn with_another(bench: Bench) -> Bench {
    let mut two = Bench::new(2, plan("quincy", SchedulerKind::Fifo), options());
    two.osds[0] = bench.osds.into_iter().next().expect("one OSD");
    show(&mut two, 2);
    two
}

#[test]
fn an_object_is_backfilled_with_its_past_one_state_at_a_time() {
    let mut bench = with_another(with_past());
    bench.activate(PG, filling(interval(2, &[0]), 1));
    let pushes = [
        format!("osd.0 to osd.1: push of {OBJECT} with a past"),
        format!("osd.1 to osd.0: stored {OBJECT} at 0"),
        format!("osd.0 to osd.1: push {OBJECT} at 1"),
        format!("osd.1 to osd.0: stored {OBJECT} at 1"),
        format!("osd.0 to osd.1: push {OBJECT} at 2"),
        format!("osd.1 to osd.0: stored {OBJECT} at 2"),
        format!("osd.0 to osd.1: push {OBJECT}"),
        format!("osd.1 to osd.0: push reply {OBJECT}"),
    ];
    let seen = bench.run();
    let is_push = |line: &&String| line.contains("push") || line.contains("stored");
    assert_eq!(seen.iter().filter(is_push).cloned().collect::<Vec<_>>(), pushes);
    assert_eq!(shown(&mut bench, OBJECT), [[true, true, true, true]; 2]);
    bench.check_copies(&[0, 1], &[OBJECT]);
}

/// The old object of a copy went before the new one was read: when it could not be read, nothing was left of either.
#[test]
fn a_copy_keeps_what_it_has_of_an_object_that_cannot_be_given() {
    let mut bench = with_another(with_past());
    bench.fill(1, &[OBJECT]);
    // The drive of these tests has every object of an image in one place.
    bench.spoil(0, OBJECT << 22 >> 22);
    bench.activate(PG, missing(interval(2, &[0, 1]), 1, &[OBJECT]));
    let seen = bench.run();
    assert!(!seen.iter().any(|line| line.contains("push")), "{seen:?}");
    assert!(bench.osds[1].objects(PG).meta(ObjectNo(OBJECT)).is_some(), "{seen:?}");
}

/// The object itself could be read, and a former state could not: the copy's own was gone by then.
#[test]
fn a_copy_keeps_what_it_has_of_an_object_whose_past_cannot_be_given() {
    for readable in 0..3 {
        let mut bench = with_another(with_past());
        bench.fill(1, &[OBJECT]);
        bench.hold(|effect| matches!(effect, Effect::Device(..)));
        bench.activate(PG, missing(interval(2, &[0, 1]), 1, &[OBJECT]));
        let mut seen = bench.run();
        for _ in 0..readable {
            bench.answer_held();
            seen.extend(bench.run());
        }
        bench.spoil(0, OBJECT << 22 >> 22);
        bench.release();
        seen.extend(bench.run());
        assert!(!seen.iter().any(|line| line.contains("push")), "{readable}: {seen:?}");
        assert!(bench.osds[1].objects(PG).meta(ObjectNo(OBJECT)).is_some(), "{readable}: {seen:?}");
    }
}

/// Only former states were left of an object, and comparisons of copies did not list it.
#[test]
fn an_object_that_only_snapshots_show_is_backfilled_too() {
    let mut bench = with_past();
    done(&mut bench, 20, OpKind::Remove, OBJECT, 1);
    let mut bench = with_another(bench);
    bench.activate(PG, filling(interval(2, &[0]), 1));
    bench.run();
    assert_eq!(shown(&mut bench, OBJECT), [[false, true, true, false]; 2]);
    assert_eq!(bench.osds[0].progress(), loadline_osd::PgProgress::default());
}

/// The first write of a clone's object copies from its parent's, which a replica may lack: it gets that first.
#[test]
fn a_clone_waits_until_every_copy_has_what_it_is_made_from() {
    let mut bench = with_past();
    done(&mut bench, 20, OpKind::Write, OTHER, 1);
    let mut bench = with_another(bench);
    bench.hold(|effect| {
        matches!(effect, Effect::Send(sent) if matches!(sent.message, Message::PushHistory(..)))
    });
    bench.activate(PG, missing(interval(2, &[0, 1]), 1, &[OBJECT, OTHER]));
    bench.run();
    let op = ClientOp { offset: 4096, ..write_of(30, CHILD) };
    bench.message(None, 0, PG, 2, Message::Op(op));
    bench.run();
    assert!(bench.osds[0].objects(PG).meta(ObjectNo(CHILD)).is_none(), "it waits");
    bench.release();
    // As long as another object is missing, the interval goes on.
    bench.hold(|effect| {
        matches!(effect, Effect::Send(sent) if sent.message == Message::PushReply(ObjectNo(OTHER)))
    });
    let seen = bench.run();
    let place = |line: &str| seen.iter().position(|seen| *seen == line).expect("it was seen");
    let pushed = place(&format!("osd.1 to osd.0: push reply {OBJECT}"));
    assert!(pushed < place(&format!("osd.0 to osd.1: write {CHILD}")), "{seen:?}");
    assert_eq!(seen.last().map(String::as_str), Some("reply 30"));
    bench.check_copies(&[0, 1], &[OBJECT, CHILD, OTHER]);
    let length = bench.osds[1].objects(PG).meta(ObjectNo(CHILD)).map(|meta| meta.length);
    assert_eq!(length, Some(8192));
}

/// What was written after the newest snapshot only is no snapshot's: when it is removed, nothing of it stays.
#[test]
fn a_snapshot_keeps_nothing_that_came_later() {
    let mut bench = bench(2);
    show(&mut bench, 1);
    for number in 1..=3 {
        done(&mut bench, number, OpKind::Write, OBJECT, 1);
    }
    assert_eq!(shown(&mut bench, OBJECT), [[true, false, true, true]; 2]);
    done(&mut bench, 4, OpKind::Remove, OBJECT, 1);
    assert_eq!(shown(&mut bench, OBJECT), [[false; 4]; 2]);
    assert!(bench.osds.iter_mut().all(|osd| !osd.may_hold_any(PG, ObjectNo(OBJECT))));
}
