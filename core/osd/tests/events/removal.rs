//! The slot that the deletion of a copy takes: it waits for one, gives way to recovery, and loses none.

use crate::bench::{Bench, PG, filling, interval, missing, options};
use crate::benchmark::Rig;
use crate::recovery::two;
use loadline_base::{Span, Time};
use loadline_osd::{
    Data, Directive, Effect, Envelope, Event, Message, Notice, OsdId, OsdOptions, PgId, Push,
};
use loadline_qos::Urgency;
use loadline_store::paged::Ranges;
use loadline_store::{ObjectMeta, ObjectNo, Version};

const OTHER: PgId = PgId::new(1);
const OSD: OsdId = OsdId::new(0);

/// Two copies on osd.0: the objects of `PG`, of which osd.1 has none, and as many in another group.
fn bench(options: OsdOptions) -> Bench {
    let objects: Vec<u64> = (0..61).collect();
    let mut bench = two([&objects, &[]], options);
    bench.osds[0].place(OTHER, 1);
    for object in objects {
        bench.osds[0].prefill(OTHER, [loadline_store::ObjectNo(object)], 4096);
    }
    bench
}

fn retire(bench: &mut Bench, pg: PgId) {
    bench.direct(OSD, Directive::Retire(pg));
}

fn is_write(effect: &Effect) -> bool {
    matches!(effect, Effect::Device(..))
}

fn is_push(effect: &Effect) -> bool {
    matches!(effect, Effect::Send(envelope) if matches!(envelope.message, Message::Push(_)))
}

/// Objects that are left of each group on osd.0.
fn left(bench: &mut Bench) -> [usize; 2] {
    [PG, OTHER].map(|pg| bench.osds[0].objects(pg).len())
}

#[track_caller]
fn is_over(bench: &mut Bench, pgs: &[PgId]) {
    for pg in pgs {
        assert!(bench.osds[0].copy(*pg).is_none() && bench.osds[0].objects(*pg).is_empty());
    }
    assert_eq!(bench.osds[0].left_to_delete(), (0, 0));
    assert_eq!(bench.osds[0].unfinished(), None, "no slot is lost");
}

#[test]
fn so_many_copies_are_deleted_at_a_time() {
    for (backfills_max, after_one) in [(1, [31, 61]), (2, [31, 31])] {
        let mut bench = bench(OsdOptions { backfills_max, ..options() });
        bench.hold(is_write);
        retire(&mut bench, PG);
        retire(&mut bench, OTHER);
        bench.run();
        assert_eq!(left(&mut bench), after_one);
        bench.release();
        bench.run();
        is_over(&mut bench, &[PG, OTHER]);
    }
}

/// A setting gives a slot to one that waits, or takes none from one that is under way.
#[test]
fn a_new_number_of_slots_lets_one_in_that_waits() {
    let mut bench = bench(options());
    bench.hold(is_write);
    retire(&mut bench, PG);
    retire(&mut bench, OTHER);
    bench.run();
    let two_slots = OsdOptions { backfills_max: 2, ..options() };
    let plan = crate::bench::plan("quincy", loadline_qos::SchedulerKind::Wpq);
    bench.configure(0, plan, two_slots);
    bench.run();
    assert_eq!(left(&mut bench), [31, 31]);
    bench.release();
    bench.run();
    is_over(&mut bench, &[PG, OTHER]);
}

/// A backfill is under way when a copy is to go: it keeps its slot to its end, and neither rests nor asks anew.
#[test]
fn a_deletion_takes_no_slot_from_a_backfill() {
    let mut bench = bench(options());
    bench.hold(is_push);
    bench.activate(PG, filling(interval(2, &[0]), 1));
    bench.run();
    retire(&mut bench, OTHER);
    bench.check(&[]);
    assert_eq!(left(&mut bench), [61, 61]);
    bench.release();
    let seen = bench.run();
    let place = |like: &str| seen.iter().position(|line| line.contains(like));
    let (recovered, first) = (place("recovered in 2"), place("as background_best_effort"));
    assert!(recovered.is_some() && recovered < first, "{seen:?}");
    assert_eq!(bench.now, Time::ZERO, "nothing has rested");
    is_over(&mut bench, &[OTHER]);
}

/// One that is under way when recovery needs the slot gives it up behind its transaction, and goes on where it was.
#[test]
fn a_deletion_gives_its_slot_to_recovery() {
    for delete_sleep in [Span::ZERO, Span::from_secs(1)] {
        for is_backfill in [true, false] {
            let mut bench = bench(OsdOptions { delete_sleep, ..options() });
            bench.hold(is_write);
            retire(&mut bench, OTHER);
            bench.run();
            let whole = interval(2, &[0]);
            let objects: Vec<u64> = (0..61).collect();
            bench.activate(
                PG,
                match is_backfill {
                    true => filling(whole, 1),
                    false => missing(interval(2, &[0, 1]), 1, &objects),
                },
            );
            bench.hold(is_push);
            bench.answer_held();
            let seen = bench.run_until(bench.now + Span::from_secs(3));
            assert!(seen.iter().any(|line| line.contains("reserve")), "{seen:?}");
            assert_eq!(left(&mut bench)[1], 31, "{seen:?}");
            bench.release();
            let seen = bench.run_until(bench.now + Span::from_secs(9));
            assert!(seen.contains(&"pg 0 recovered in 2".to_owned()), "{seen:?}");
            is_over(&mut bench, &[OTHER]);
        }
    }
}

/// The owner of the map asks about a copy that waits, or that is being deleted: that ends an interval, and no deletion.
#[test]
fn a_question_about_a_copy_that_leaves_ends_no_deletion() {
    for asked in [PG, OTHER] {
        for numbers in [1, 3] {
            let mut bench = bench(options());
            bench.hold(is_write);
            retire(&mut bench, PG);
            retire(&mut bench, OTHER);
            bench.run();
            for number in 0..numbers {
                bench.direct(OSD, Directive::Query(asked, number));
                bench.direct(OSD, Directive::Deactivate(asked));
                bench.run();
                retire(&mut bench, asked);
                bench.run();
                assert_eq!(left(&mut bench), [31, 61], "one has the slot");
            }
            bench.release();
            bench.run();
            is_over(&mut bench, &[PG, OTHER]);
        }
    }
}

/// A copy that comes back while it waits, or while it is deleted, leaves the slot to the other one.
#[test]
fn a_copy_that_comes_back_leaves_its_slot() {
    for (back, goes) in [(PG, OTHER), (OTHER, PG)] {
        let mut bench = bench(options());
        bench.hold(is_write);
        retire(&mut bench, PG);
        retire(&mut bench, OTHER);
        bench.run();
        bench.activate(back, interval(3, &[0]));
        bench.release();
        bench.run();
        is_over(&mut bench, &[goes]);
        let objects = if back == PG { 31 } else { 61 };
        assert_eq!(bench.osds[0].objects(back).len(), objects);
        // It leaves once more while nothing else is under way.
        retire(&mut bench, back);
        bench.run();
        is_over(&mut bench, &[PG, OTHER]);
    }
}

/// A copy comes back and leaves again while a transaction of its deletion is written: there is one deletion, and not two.
#[test]
fn an_answer_to_an_earlier_deletion_goes_on_with_none() {
    let mut bench = bench(OsdOptions { delete_sleep: Span::from_secs(1), ..options() });
    bench.hold(is_write);
    retire(&mut bench, PG);
    bench.run();
    bench.activate(PG, interval(3, &[0]));
    bench.hold(|effect| is_write(effect) || matches!(effect, Effect::Compute(..)));
    retire(&mut bench, PG);
    bench.run();
    bench.release();
    let seen = bench.run_until(Time::ZERO + Span::from_secs(20));
    let writes = seen.iter().filter(|line| line.contains("as background_best_effort")).count();
    assert_eq!(writes, 3, "{seen:?}");
    is_over(&mut bench, &[PG]);
}

/// A disk that is too full for backfills needs room first: what waits goes before them, and takes the slot of one.
#[test]
fn on_a_full_disk_a_deletion_goes_before_backfills() {
    for is_full_before in [true, false] {
        let mut bench = bench(options());
        bench.hold(is_push);
        bench.activate(PG, filling(interval(2, &[0]), 1));
        bench.run();
        if is_full_before {
            bench.direct(OSD, Directive::SetBackfillFull(true));
        }
        retire(&mut bench, OTHER);
        bench.direct(OSD, Directive::SetBackfillFull(true));
        bench.run();
        is_gone(&mut bench, OTHER);
        bench.release();
        let seen = bench.run_until(Time::ZERO + options().backfill_retry_interval);
        assert!(seen.contains(&"pg 0 recovered in 2".to_owned()), "{seen:?}");
        is_over(&mut bench, &[OTHER]);
    }
}

/// The disk becomes too full while a copy is being deleted, and may have room again before a backfill comes. (A deletion under way was as urgent as when
/// it had asked for its slot: a backfill took that, and the room was not given.)
#[test]
fn a_deletion_under_way_is_as_urgent_as_the_disk_is_full() {
    for stays_full in [true, false] {
        let mut bench = bench(options());
        bench.hold(is_write);
        retire(&mut bench, OTHER);
        bench.run();
        bench.direct(OSD, Directive::SetBackfillFull(true));
        bench.activate(PG, filling(interval(2, &[0]), 1));
        bench.run();
        bench.direct(OSD, Directive::SetBackfillFull(stays_full));
        bench.hold(is_push);
        bench.answer_held();
        bench.run();
        assert_eq!(left(&mut bench), [61, if stays_full { 0 } else { 31 }]);
        bench.release();
        let seen = bench.run_until(Time::ZERO + options().backfill_retry_interval);
        assert!(seen.contains(&"pg 0 recovered in 2".to_owned()), "{seen:?}");
        is_over(&mut bench, &[OTHER]);
    }
}

#[track_caller]
fn is_gone(bench: &mut Bench, pg: PgId) {
    assert!(bench.osds[0].objects(pg).is_empty() && bench.osds[0].copy(pg).is_none());
}

/// What a crash ends begins again when the next life is told to, with every slot free.
#[test]
fn a_crash_takes_no_slot_with_it() {
    let mut bench = bench(options());
    bench.hold(is_write);
    retire(&mut bench, PG);
    retire(&mut bench, OTHER);
    bench.run();
    bench.restart(0);
    bench.release();
    bench.run();
    assert_eq!(bench.osds[0].unfinished(), None);
    retire(&mut bench, OTHER);
    retire(&mut bench, PG);
    bench.run();
    is_over(&mut bench, &[PG, OTHER]);
}

/// An object on its way to a copy that lacks it, in hundreds of ranges: some of it is on the disk when the interval ends. If the copy leaves,
/// or is filled in the next one, nobody looks for that. It stayed, and where the object was made anew its old bytes showed.
#[test]
fn what_came_in_part_goes_with_the_interval() {
    let next =
        [Directive::Retire(PG), Directive::Activate(PG, Box::new(filling(interval(3, &[1]), 0)))];
    for next in next {
        let mut rig = Rig::new();
        rig.step(Event::Directive(Directive::Join));
        let lacking = missing(interval(2, &[1, 0]), 0, &[1]);
        rig.step(Event::Directive(Directive::Activate(PG, Box::new(lacking))));
        rig.run_until(|rig| rig.told.contains(&Notice::Activated(PG, 2)));
        let before = rig.free();
        let data: Vec<_> = (0..400).map(|page| page * 8192..page * 8192 + 4096).collect();
        let data = Data::sparse(Ranges { data, zeros: Vec::new() }, vec![1; 400 * 4096]);
        let push = Push {
            object: ObjectNo(1),
            meta: Some(ObjectMeta { version: Version(1), length: 400 * 8192 }),
            base: None,
            bytes: data.len() as u64,
            pulled: false,
        };
        let (from, to, urgency) = (Some(OsdId::new(1)), OSD, Urgency::default());
        let message = Message::Push(push);
        let envelope = Envelope { from, to, pg: PG, interval: 2, urgency, message, data };
        rig.step(Event::Message(Box::new(envelope)));
        rig.run_until(|rig| before - rig.free() >= 100);
        rig.step(Event::Directive(next.clone()));
        rig.run_until(|rig| rig.line.is_empty() && rig.osd.unfinished().is_none());
        assert!(rig.osd.objects(PG).is_empty());
        assert!(before - rig.free() <= 8, "{next:?}: {before} {}", rig.free());
    }
}
