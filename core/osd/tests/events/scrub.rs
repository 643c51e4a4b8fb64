//! Scrubs by events: their steps, their slots, the writes that they meet, and what ends them.

use crate::bench::{Bench, PG, filling, interval, options, plan, write_of};
use loadline_base::{Span, Time, WallTime};
use loadline_osd::{
    Activation, AsideFor, ChunkBounds, Directive, Effect, IntervalId, Message, OpKind, OsdId,
    OsdOptions, OsdSet, PgId, ScrubError, ScrubErrors, ScrubKind, ScrubMessage, ScrubOptions,
    ScrubReading, ScrubRecord, ScrubRequest, ScrubSlots,
};
use loadline_qos::SchedulerKind;

fn bench_with(osds: u32, options: OsdOptions) -> Bench {
    Bench::new(osds, plan("quincy", SchedulerKind::Wpq), options)
}

/// So many copies of objects of 4 KiB, in an interval.
fn copies(osds: u32, objects: &[u64], options: OsdOptions) -> Bench {
    let mut bench = bench_with(osds, options);
    (0..osds).for_each(|osd| bench.fill(osd, objects));
    let acting: Vec<u32> = (0..osds).collect();
    bench.activate(PG, interval(2, &acting));
    bench.run();
    bench
}

fn within(scrub: impl FnOnce(&mut ScrubOptions)) -> OsdOptions {
    let mut options = options();
    scrub(&mut options.scrub);
    options
}

fn ask(bench: &mut Bench, pg: PgId, kind: ScrubKind) {
    let request = ScrubRequest { kind, is_requested: true, repairs: false };
    bench.direct(OsdId::new(0), Directive::Scrub(pg, request));
}

fn record(bench: &Bench, osd: u32) -> ScrubRecord {
    bench.osds[osd as usize].scrub_record(PG).cloned().unwrap_or_default()
}

/// Nothing is under way, and no slot is taken.
#[track_caller]
fn is_over(bench: &Bench) {
    for osd in &bench.osds {
        assert_eq!(osd.unfinished(), None);
    }
}

/// What a device is asked of an object's bytes; a listing is one byte.
fn reads_objects(effect: &Effect) -> bool {
    matches!(effect, Effect::Device(_, submission) if submission.request.length.get() > 1)
}

fn lines(seen: &[String], like: &str) -> usize {
    seen.iter().filter(|line| line.contains(like)).count()
}

/// Where this stands among what was seen.
#[track_caller]
fn place(seen: &[String], line: &str) -> usize {
    seen.iter().position(|seen| seen == line).unwrap_or_else(|| panic!("no {line} in {seen:?}"))
}

#[test]
fn copies_that_are_alike_are_compared_chunk_by_chunk() {
    let mut bench = copies(2, &[1, 2, 3, 4, 5], options());
    ask(&mut bench, PG, ScrubKind::Deep);
    // A read of one byte is a listing: the primary's to choose a chunk, and every copy's to scan it.
    bench.check(&[
        "osd.0 to osd.1: reserve for scrub",
        "osd.1 to osd.0: granted for scrub",
        "osd.0: Read of 1 as background_best_effort",
        "osd.0 to osd.1: look at - to 4",
        "osd.0: Read of 1 as background_best_effort",
        "osd.0: Read of 4096 as background_best_effort",
        "osd.1: Read of 1 as background_best_effort",
        "osd.0: Read of 4096 as background_best_effort",
        "osd.0: Read of 4096 as background_best_effort",
        "osd.1: Read of 4096 as background_best_effort",
        "osd.0: Read of 4096 as background_best_effort",
        "osd.1: Read of 4096 as background_best_effort",
        "osd.1: Read of 4096 as background_best_effort",
        "osd.1: Read of 4096 as background_best_effort",
        "osd.1 to osd.0: map of 4",
        "osd.0: Read of 1 as background_best_effort",
        "osd.0 to osd.1: look at 4 to -",
        "osd.0: Read of 1 as background_best_effort",
        "osd.0: Read of 4096 as background_best_effort",
        "osd.1: Read of 1 as background_best_effort",
        "osd.1: Read of 4096 as background_best_effort",
        "osd.1 to osd.0: map of 1",
        "osd.0 to osd.1: scrub found 0",
        "osd.0 to osd.1: released by scrub",
    ]);
    for osd in 0..2 {
        let record = record(&bench, osd);
        assert!(record.last.is_some() && record.last == record.last_deep, "{record:?}");
        assert_eq!((record.last_clean, record.under_way), (record.last, None));
    }
    is_over(&bench);
}

/// On a real clock a timer fires late. A look that did was taken for one of an earlier life: none followed it, and no scrub began by the clock.
#[test]
fn a_look_that_comes_late_is_a_look() {
    let refuses = within(|scrub| scrub.slots = ScrubSlots::OrRefused(Span::from_secs(300)));
    let mut bench = copies(2, &[1], refuses);
    for number in 1..3 {
        ask(&mut bench, PG, ScrubKind::Shallow);
        assert_eq!(bench.run(), [""; 0], "it waits for a look");
        bench.now += Span::from_millis(1_300);
        assert_eq!(lines(&bench.run(), "scrub found 0"), 1, "look {number}");
        is_over(&bench);
    }
}

#[test]
fn a_shallow_scrub_reads_nothing_and_says_nothing_of_what_a_deep_one_has_found() {
    let mut bench = copies(2, &[1, 2], options());
    bench.spoil(1, 2);
    ask(&mut bench, PG, ScrubKind::Shallow);
    let seen = bench.run();
    assert_eq!((lines(&seen, "Read of 4096"), lines(&seen, "scrub found 0")), (0, 1), "{seen:?}");
    ask(&mut bench, PG, ScrubKind::Deep);
    bench.run();
    let found = record(&bench, 0).findings;
    assert_eq!((found.counts.shallow, found.counts.deep), (0, 1));
    let state = &found.named[0];
    let bad = vec![(OsdId::new(1), ScrubErrors::one(ScrubError::Read))];
    assert_eq!((state.object.0, state.authority, &state.bad), (2, Some(OsdId::new(0)), &bad));
    ask(&mut bench, PG, ScrubKind::Shallow);
    bench.run();
    assert_eq!(record(&bench, 0).findings, found);
    is_over(&bench);
}

/// What is missing on one, and what is older on the other.
#[test]
fn objects_that_differ_are_found_without_reading_them() {
    let mut bench = bench_with(2, options());
    bench.fill(0, &[1, 2, 3]);
    bench.fill(1, &[1, 3]);
    bench.activate(PG, interval(2, &[0, 1]));
    bench.run();
    ask(&mut bench, PG, ScrubKind::Shallow);
    bench.run();
    let found = record(&bench, 0).findings;
    let errors = |error| vec![(OsdId::new(1), ScrubErrors::one(error))];
    let told: Vec<_> = found.named.iter().map(|state| (state.object.0, &state.bad)).collect();
    let wanted = [(2, errors(ScrubError::Missing)), (3, errors(ScrubError::ObjectInfo))];
    assert_eq!(told, wanted.iter().map(|(object, bad)| (*object, bad)).collect::<Vec<_>>());
}

#[test]
fn what_is_bad_is_replaced_from_a_right_copy_and_looked_at_again() {
    for bad in [0, 2] {
        let mut bench = copies(3, &[1, 2, 3], options());
        bench.spoil(bad, 2);
        let request = ScrubRequest { kind: ScrubKind::Deep, is_requested: true, repairs: true };
        bench.direct(OsdId::new(0), Directive::Scrub(PG, request));
        let seen = bench.run();
        assert_eq!(lines(&seen, "push 2"), 1, "{seen:?}");
        place(&seen, "pg 0 recovered in 2");
        assert_eq!(record(&bench, 0).findings.counts.deep, 1, "nobody has looked yet");
        bench.activate(PG, interval(3, &[0, 1, 2]));
        bench.run();
        let record = record(&bench, 0);
        assert_eq!((record.findings.counts.all(), record.has_failed_repair), (0, false));
        is_over(&bench);
    }
}

#[test]
fn what_has_no_good_copy_is_told_and_left() {
    let mut bench = copies(2, &[1, 2, 3], options());
    (0..2).for_each(|osd| bench.spoil(osd, 2));
    let request = ScrubRequest { kind: ScrubKind::Deep, is_requested: true, repairs: true };
    bench.direct(OsdId::new(0), Directive::Scrub(PG, request));
    let seen = bench.run();
    assert_eq!(lines(&seen, "push"), 0, "{seen:?}");
    let record = record(&bench, 0);
    assert!(record.has_failed_repair);
    assert_eq!((record.findings.named[0].authority, record.findings.counts.deep), (None, 2));
    is_over(&bench);
}

#[test]
fn a_chunk_has_as_many_objects_as_allowed() {
    let objects: Vec<u64> = (0..12).collect();
    let chunks = |most, kind| {
        let bounds = ChunkBounds { least: 1, most };
        let options = within(|scrub| {
            (scrub.deep_chunk, scrub.shallow_chunk) = match kind {
                ScrubKind::Deep => (bounds, scrub.shallow_chunk),
                ScrubKind::Shallow => (scrub.deep_chunk, bounds),
            }
        });
        let mut bench = copies(2, &objects, options);
        ask(&mut bench, PG, kind);
        lines(&bench.run(), "look at")
    };
    for kind in [ScrubKind::Shallow, ScrubKind::Deep] {
        assert_eq!([4, 6, 12].map(|most| chunks(most, kind)), [3, 2, 1]);
    }
}

/// A device that answers nothing holds the scan in its first chunk. No worker waits for it.
fn held(most: u32) -> Bench {
    let options = within(|scrub| {
        scrub.preemptions_max = most;
        scrub.reading = ScrubReading::Ahead { objects: 1, bytes: 1 << 20 };
    });
    let mut bench = copies(2, &[1, 2, 3], options);
    bench.hold(|effect| matches!(effect, Effect::Device(..)));
    ask(&mut bench, PG, ScrubKind::Deep);
    bench.run();
    bench
}

#[test]
fn writes_break_a_chunk_off_so_often_and_then_wait() {
    for most in [0, 2] {
        let mut bench = held(most);
        for op in 0..most {
            bench.op(op, OpKind::Write, 2, 2);
            let seen = bench.run();
            assert!(seen.contains(&"osd.0 to osd.1: write 2".to_owned()), "{seen:?}");
            assert_eq!(lines(&seen, "look at"), 0, "it waits for the write: {seen:?}");
            bench.answer_held();
            bench.run();
        }
        // Reads go on, and so do writes to what lies elsewhere.
        bench.op(7, OpKind::Read, 2, 2);
        bench.op(8, OpKind::Write, 2, 2);
        bench.op(9, OpKind::Write, 3, 2);
        let seen = bench.run();
        assert_eq!(lines(&seen, "write"), 0, "they wait: {seen:?}");
        bench.release();
        let seen = bench.run();
        let order = ["osd.0 to osd.1: write 2", "osd.0 to osd.1: write 3", "reply 8", "reply 9"];
        let map = seen.iter().rposition(|line| line == "osd.1 to osd.0: map of 3").unwrap();
        let places: Vec<usize> = order.iter().map(|line| place(&seen, line)).collect();
        assert!(places.is_sorted() && map < places[0], "{seen:?}");
        assert_eq!(record(&bench, 0).findings.counts.all(), 0);
        is_over(&bench);
    }
}

/// In presets of other systems the worker waits for what it reads, and nothing of the group goes meanwhile (scrub.md 2.6).
#[test]
fn a_stride_keeps_its_worker_and_the_group() {
    let mut bench = copies(2, &[1, 2, 3], options());
    bench.hold(reads_objects);
    ask(&mut bench, PG, ScrubKind::Deep);
    bench.run();
    bench.op(1, OpKind::Read, 2, 2);
    bench.op(2, OpKind::Write, 9, 2);
    let seen = bench.run();
    assert_eq!((lines(&seen, "Read"), lines(&seen, "write")), (0, 0), "they wait: {seen:?}");
    bench.release();
    let seen = bench.run();
    assert_eq!((lines(&seen, "reply"), lines(&seen, "scrub found 0")), (2, 1), "{seen:?}");
    is_over(&bench);
    // A crash in the middle keeps no worker.
    bench.hold(reads_objects);
    ask(&mut bench, PG, ScrubKind::Deep);
    bench.run();
    bench.direct(OsdId::new(0), Directive::Crash);
    bench.release();
    bench.direct(OsdId::new(0), Directive::Join);
    bench.activate(PG, interval(3, &[0, 1]));
    bench.run();
    bench.op(3, OpKind::Write, 2, 3);
    let seen = bench.run();
    assert_eq!(lines(&seen, "reply 3"), 1, "{seen:?}");
}

#[test]
fn a_scrub_waits_for_a_write_that_was_begun_before() {
    let mut bench = copies(2, &[1, 2, 3], options());
    bench.hold(|effect| matches!(effect, Effect::Device(..)));
    bench.op(1, OpKind::Write, 2, 2);
    bench.run();
    ask(&mut bench, PG, ScrubKind::Deep);
    let seen = bench.run();
    assert_eq!((lines(&seen, "granted"), lines(&seen, "look at")), (1, 0), "{seen:?}");
    bench.release();
    let seen = bench.run();
    assert!(place(&seen, "reply 1") < place(&seen, "osd.0 to osd.1: look at - to -"), "{seen:?}");
    assert_eq!(record(&bench, 0).findings.counts.all(), 0);
    is_over(&bench);
}

#[test]
fn a_scrub_sleeps_between_chunks() {
    let mut bench = copies(2, &[1, 2, 3, 4, 5], within(|it| it.sleep = Span::from_secs(1)));
    ask(&mut bench, PG, ScrubKind::Deep);
    for second in [1, 2] {
        let before = Time::from_nanos(second * 1_000_000_000 - 1);
        assert_eq!(lines(&bench.run_until(before), "look at"), 0, "before each, the first one too");
        assert_eq!(lines(&bench.run_until(Time::from_secs(second)), "look at"), 1);
    }
    is_over(&bench);
}

/// An object of three strides is read in as many steps; two that are smaller are read in one.
#[test]
fn a_full_stride_lets_other_work_go_first() {
    const LISTINGS: usize = 2;
    let stride = |bytes| within(|it| it.reading = loadline_osd::ScrubReading::Strides(bytes));
    let runs = |bytes| {
        let mut bench = copies(1, &[1, 2], stride(bytes));
        ask(&mut bench, PG, ScrubKind::Deep);
        let before = bench.computed;
        let reads = lines(&bench.run(), "Read of");
        (reads, bench.computed - before)
    };
    let (reads, whole) = runs(64 << 10);
    assert_eq!(reads, 2 + LISTINGS);
    let (reads, cut) = runs(2048);
    assert_eq!((reads, cut), (4 + LISTINGS, whole + 3));
}

const OTHER: PgId = PgId::new(1);

/// Two groups with the same copies, and one slot on each OSD.
fn two_groups_at_rest() -> Bench {
    let mut bench = copies(2, &[1, 2], options());
    for osd in 0..2 {
        bench.osds[osd].place(OTHER, 1);
        bench.osds[osd].prefill(OTHER, [loadline_store::ObjectNo(5)], 4096);
    }
    bench.activate(OTHER, interval(2, &[0, 1]));
    bench.run();
    bench
}

/// Both asked for, the first under way.
fn two_groups() -> Bench {
    let mut bench = two_groups_at_rest();
    bench.hold(reads_objects);
    ask(&mut bench, PG, ScrubKind::Deep);
    ask(&mut bench, OTHER, ScrubKind::Deep);
    let seen = bench.run();
    assert_eq!(lines(&seen, "look at"), 1, "one at a time: {seen:?}");
    bench
}

#[test]
fn a_scrub_waits_in_line_for_a_slot() {
    let mut bench = two_groups();
    bench.release();
    let seen = bench.run();
    assert_eq!(lines(&seen, "scrub found 0"), 2, "{seen:?}");
    is_over(&bench);
}

/// A run kept the slots that it had while it waited in the next line: of eight OSDs most slots were kept for runs that could not begin, and a round
/// took four times as long. Whenever nothing is on its way, no group waits for which every copy has a slot.
#[test]
fn no_slot_is_kept_for_a_scrub_that_waits() {
    const GROUPS: u32 = 40;
    for slots in [1, 2] {
        // No worker waits for what is held.
        let options = within(|scrub| {
            scrub.scrubs_max = slots;
            scrub.reading = ScrubReading::Ahead { objects: 1, bytes: 1 << 20 };
        });
        let mut bench = bench_with(8, options);
        let groups: Vec<(PgId, Vec<u32>)> =
            (0..GROUPS).map(|number| (PgId::new(number), drawn_members(number))).collect();
        for (pg, members) in &groups {
            for osd in members {
                bench.osds[*osd as usize].place(*pg, pg.get());
                bench.osds[*osd as usize].prefill(*pg, [loadline_store::ObjectNo(5)], 4096);
            }
            bench.activate(*pg, interval(2, members));
        }
        bench.run();
        bench.hold(reads_objects);
        for (pg, members) in &groups {
            let request =
                ScrubRequest { kind: ScrubKind::Deep, is_requested: true, repairs: false };
            bench.direct(OsdId::new(members[0]), Directive::Scrub(*pg, request));
        }
        let mut most_at_once = 0;
        loop {
            bench.run();
            let led = |members: &[u32]| &bench.osds[members[0] as usize];
            let (running, others): (Vec<_>, Vec<_>) =
                groups.iter().partition(|(pg, members)| led(members).scrubs(*pg).is_some());
            let taken = |osd: &u32| running.iter().filter(|(_, it)| it.contains(osd)).count();
            assert!((0..8).all(|osd| taken(&osd) <= slots));
            let is_under_way = |pg| {
                led(&groups[pg as usize].1)
                    .scrub_record(PgId::new(pg))
                    .is_some_and(|it| it.under_way.is_some())
            };
            for (pg, members) in others.iter().filter(|(pg, _)| is_under_way(pg.get())) {
                let is_held_up = members.iter().any(|osd| taken(osd) == slots);
                assert!(is_held_up, "{pg} of {members:?} waits for nothing beside {running:?}");
            }
            most_at_once = most_at_once.max(running.len());
            if running.is_empty() {
                break;
            }
            bench.release_one();
        }
        assert!(most_at_once >= slots * 2, "{most_at_once}");
        is_over(&bench);
    }
}

/// Three of eight OSDs.
fn drawn_members(number: u32) -> Vec<u32> {
    let mut osds: Vec<u32> = (0..8).collect();
    osds.sort_by_key(|osd| loadline_base::mix64(u64::from(number << 8 | *osd)));
    osds.truncate(3);
    osds
}

/// A group's slot was granted while an operator asked anew: the answer to what was broken off counted for the next run, which went on with a slot that
/// the other group had by then.
#[test]
fn an_answer_to_an_earlier_run_is_no_slot() {
    let mut bench = two_groups_at_rest();
    bench.hold(
        |effect| matches!(effect, Effect::Send(envelope) if envelope.from == Some(OsdId::new(1))),
    );
    ask(&mut bench, PG, ScrubKind::Deep);
    bench.run();
    ask(&mut bench, PG, ScrubKind::Deep);
    bench.run();
    bench.release_one();
    bench.run();
    assert_eq!(bench.osds[0].scrubs(PG), None, "the slot was given back");
    bench.release();
    bench.run();
    is_over(&bench);
}

/// Two groups that share osd.1, which has one slot: whoever comes second is refused, gives its own slot back, and looks again at another
/// second, until both are done and no slot is taken.
#[test]
fn who_is_refused_gives_its_slots_back_and_looks_again() {
    let options = within(|scrub| {
        scrub.slots = ScrubSlots::OrRefused(Span::from_secs(300));
        scrub.schedule.backoff_ppm = 660_000;
    });
    let mut bench = bench_with(3, options);
    for (pg, acting) in [(PG, [0, 1]), (OTHER, [2, 1])] {
        for osd in acting {
            bench.osds[osd as usize].place(pg, 0);
            bench.osds[osd as usize].prefill(pg, [loadline_store::ObjectNo(5)], 4096);
        }
        bench.activate(pg, interval(2, &acting));
    }
    bench.run();
    bench.hold(reads_objects);
    ask(&mut bench, PG, ScrubKind::Deep);
    let request = ScrubRequest { kind: ScrubKind::Deep, is_requested: true, repairs: false };
    bench.direct(OsdId::new(2), Directive::Scrub(OTHER, request));
    assert_eq!(lines(&bench.run_until(Time::from_nanos(1)), "reserve"), 0, "nobody looks yet");
    let seen = bench.run_until(Time::from_secs(60));
    assert_eq!(lines(&seen, "look at"), 1, "one at a time: {seen:?}");
    assert!(lines(&seen, "refused") > 0, "{seen:?}");
    bench.release();
    let seen = bench.run_until(Time::from_secs(120));
    assert_eq!(lines(&seen, "scrub found 0"), 2, "{seen:?}");
    is_over(&bench);
}

#[test]
fn more_slots_let_a_waiting_scrub_begin() {
    let mut bench = two_groups();
    let more = within(|scrub| scrub.scrubs_max = 2);
    for osd in 0..2 {
        bench.configure(osd, plan("quincy", SchedulerKind::Wpq), more);
    }
    let seen = bench.run();
    assert_eq!(lines(&seen, "look at"), 1, "{seen:?}");
    bench.release();
    bench.run();
    is_over(&bench);
}

/// An operator asks anew while a write waits for the chunk: what is broken off gives the write back, and it is not sent again by anybody.
#[test]
fn a_write_outlives_the_scrub_that_it_waited_for() {
    let mut bench = held(0);
    bench.op(8, OpKind::Write, 2, 2);
    let seen = bench.run();
    assert_eq!(lines(&seen, "write"), 0, "it waits: {seen:?}");
    ask(&mut bench, PG, ScrubKind::Deep);
    bench.release();
    let seen = bench.run();
    place(&seen, "reply 8");
    assert_eq!(record(&bench, 0).under_way, None, "and the scrub has ended");
    is_over(&bench);
}

/// A deep scrub of two copies that has compared their first chunk; what is for the primary is held.
fn behind_its_first_chunk(options: OsdOptions) -> Bench {
    let mut bench = copies(2, &[1, 2, 3, 4, 5], options);
    ask(&mut bench, PG, ScrubKind::Deep);
    bench.hold(|effect| matches!(effect, Effect::Send(envelope) if envelope.to == OsdId::new(0)));
    bench.run();
    for _ in 0..2 {
        bench.answer_held();
        bench.run();
    }
    bench
}

/// The primary or a replica crashes, or the interval ends, in the middle: no slot stays taken, no write waits, and the scrub goes on
/// where it was when somebody leads who knows of it.
#[test]
fn a_scrub_ends_with_its_interval_and_goes_on_where_it_was() {
    let mut bench = behind_its_first_chunk(within(|scrub| scrub.preemptions_max = 0));
    let reached = record(&bench, 0).under_way.expect("it goes on").reached;
    assert_eq!(reached.map(|object| object.0), Some(4), "the first chunk is compared");
    bench.op(1, OpKind::Write, 5, 2);
    bench.run();
    assert_eq!(bench.osds[0].aside_of_op(&write_of(1, 5)), Some(AsideFor::Scrub));
    bench.release();
    bench.activate(PG, interval(3, &[0, 1]));
    let seen = bench.run();
    assert_eq!(lines(&seen, "reply"), 0, "the router sends it again: {seen:?}");
    place(&seen, "osd.0 to osd.1: look at 4 to -");
    assert_eq!(lines(&seen, "scrub found 0"), 1, "{seen:?}");
    is_over(&bench);
}

/// A member's disk was made empty and filled again behind the first chunk: nobody has compared what is there now. (The scrub went on behind that chunk, and
/// told of all copies what it had seen of the earlier one.)
#[test]
fn a_scrub_begins_anew_when_a_copy_was_filled_meanwhile() {
    let mut bench = behind_its_first_chunk(options());
    bench.release();
    bench.activate(PG, filling(interval(3, &[0]), 1));
    let seen = bench.run();
    assert_eq!(lines(&seen, "pg 0 recovered in 3"), 1, "{seen:?}");
    assert_eq!(lines(&seen, "look at"), 0, "{seen:?}");
    bench.activate(PG, interval(4, &[0, 1]));
    let seen = bench.run();
    place(&seen, "osd.0 to osd.1: look at - to 4");
    is_over(&bench);
}

/// The primary was away itself, and cannot know what was filled meanwhile: it begins anew, though nothing was written while it was away, so that it lacks nothing.
/// (It went on where it was, if it lacked nothing.)
#[test]
fn a_scrub_begins_anew_when_its_primary_was_away() {
    for (before, looks_at) in [(2, "4 to -"), (3, "- to 4")] {
        let mut bench = behind_its_first_chunk(options());
        bench.release();
        let before = IntervalId { term: 0, epoch: before };
        bench.activate(PG, Activation { before, ..interval(4, &[0, 1]) });
        place(&bench.run(), &format!("osd.0 to osd.1: look at {looks_at}"));
        is_over(&bench);
    }
}

/// Which copies are compared is this primary's doing: another one, whose disk may have been made anew since, begins from the start.
#[test]
fn what_members_are_told_of_a_scrub_is_not_how_far_it_came() {
    let mut bench = behind_its_first_chunk(options());
    let own = record(&bench, 0).under_way.expect("it goes on");
    assert!(own.reached.is_some(), "the first chunk is compared");
    bench.message(Some(1), 0, PG, 2, Message::Scrub(ScrubMessage::Recall));
    bench.run();
    let told = record(&bench, 1).under_way.expect("it is told");
    assert_eq!((told.request, told.began), (own.request, own.began));
    assert_eq!((told.reached, told.objects, told.members), (None, 0, OsdSet::EMPTY));
}

/// Who leads with an empty disk and is asked before the members have said what they know takes both.
#[test]
fn what_members_know_is_taken_beside_what_was_asked_for() {
    let mut bench = copies(2, &[1, 2, 3], options());
    bench.hold(|effect| matches!(effect, Effect::Send(envelope) if envelope.to == OsdId::new(1)));
    ask(&mut bench, PG, ScrubKind::Deep);
    bench.run();
    let ended = ScrubRecord { last: Some(WallTime::from_unix_nanos(7)), ..ScrubRecord::default() };
    let known = ScrubMessage::Known(Box::new(ended.clone()));
    bench.message(Some(1), 0, PG, 2, Message::Scrub(known));
    bench.run();
    let own = record(&bench, 0);
    assert_eq!(own.last, ended.last);
    assert_eq!(own.under_way.map(|it| it.request.kind), Some(ScrubKind::Deep));
}

#[test]
fn a_replica_that_crashes_keeps_no_slot() {
    let mut bench = held(5);
    bench.restart(1);
    let alone = Activation { copies: 2, ..interval(3, &[0]) };
    bench.activate(PG, alone);
    bench.release();
    bench.run();
    is_over(&bench);
    assert!(record(&bench, 0).under_way.is_some(), "it waits for the copy");
    bench.activate(PG, interval(4, &[0, 1]));
    let seen = bench.run();
    assert_eq!(lines(&seen, "scrub found 0"), 1, "{seen:?}");
    is_over(&bench);
}

/// A read meets something bad: recovery goes first, and the scrub comes back after it.
#[test]
fn recovery_breaks_a_scrub_off() {
    let mut bench = held(5);
    bench.spoil(0, 1);
    bench.op(7, OpKind::Read, 1, 2);
    bench.run();
    bench.release();
    let seen = bench.run();
    place(&seen, "pg 0 recovered in 2");
    assert_eq!(lines(&seen, "scrub found"), 0, "{seen:?}");
    bench.activate(PG, interval(3, &[0, 1]));
    let seen = bench.run();
    assert_eq!(lines(&seen, "scrub found 0"), 1, "{seen:?}");
    is_over(&bench);
}
