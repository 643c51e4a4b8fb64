//! The worked examples of the specification, number by number.

use loadline_base::{Span, Time};
use loadline_qos::{
    ClassId, ClientKey, Lane, LoadlineConfig, MClock, Params, Phase, PublishedConfig, Request,
    Scheduler, Take, WaitCause, Waiting,
};

/// The examples start here: the clock of the field never starts at 0.
const START_MS: u64 = 1_000_000;

fn at_ms(ms: u64) -> Time {
    Time::from_nanos((START_MS + ms) * 1_000_000)
}

fn shared(r: f64, w: f64, l: f64) -> Lane {
    Lane::Shared(Params::new(r, w, l).unwrap())
}

/// One line of an example: when, what, in which phase; or until when nothing may run.
#[derive(Debug, PartialEq)]
enum Line {
    Served(u64, &'static str, Phase),
    WaitUntil(u64, u64),
}

use Line::{Served, WaitUntil};
use Phase::{Reservation, Weight};

/// The tags of a served request in ms after the start: reservation, weighted, limit.
type TagsMs = (u64, u64, Option<u64>);

/// Enqueues `(class, cost, name)` at the start, then serves everything, `service_ms` per request.
fn run(
    mut scheduler: MClock<&'static str>,
    load: &[(u32, u32, &'static str)],
    service_ms: u64,
) -> (Vec<Line>, Vec<TagsMs>) {
    for (class, cost, name) in load {
        let flow = scheduler.flow(at_ms(0), ClassId::new(*class), ClientKey(0));
        scheduler.enqueue(at_ms(0), Request::new(flow, *cost, *name)).unwrap();
    }
    let (mut lines, mut tags, mut ms) = (Vec::new(), Vec::new(), 0);
    loop {
        let waiting = scheduler.waiting(at_ms(ms));
        tags.extend(waiting.iter().filter(|row| row.reason == WaitCause::Next).map(tags_ms));
        match scheduler.take(at_ms(ms)) {
            Take::Ready(taken) => {
                lines.push(Served(ms, taken.payload, taken.phase));
                ms += service_ms;
            }
            Take::NotBefore(time) => {
                let until = ms_of(time);
                lines.push(WaitUntil(ms, until));
                ms = until;
            }
            Take::Empty => return (lines, tags),
        }
    }
}

fn ms_of(time: Time) -> u64 {
    assert_eq!(time.nanos() % 1_000_000, 0, "the examples run in whole ms");
    time.nanos() / 1_000_000 - START_MS
}

fn tags_ms(row: &Waiting) -> TagsMs {
    let tags = row.tags.expect("a head is tagged");
    let proportion = (tags.proportion.unwrap() * 1e3).round() as u64;
    let reservation = tags.reservation.map_or(0, ms_of);
    (reservation, proportion.saturating_sub(START_MS), tags.limit.map(ms_of))
}

const EXAMPLE_1: [(u32, u32, &str); 10] = [
    (0, 1, "C1"),
    (0, 1, "C2"),
    (0, 1, "C3"),
    (0, 1, "C4"),
    (0, 1, "C5"),
    (0, 1, "C6"),
    (1, 2, "R1"),
    (1, 2, "R2"),
    (1, 2, "R3"),
    (0, 1, "C7"),
];

/// qos.md 2.10. In doubles, C6 missed its reservation at 0.30 s and C7 at 0.40 s by a rounding error: their tags
/// equal `now`, and in integers that is due. So C6 goes at 0.30 s, before R2, and C7 goes by reservation; all tags and
/// all other lines are those of the printed table.
#[test]
fn example_1_as_published() {
    let lanes = [shared(10.0, 2.0, 0.0), shared(4.0, 1.0, 8.0)];
    let scheduler = MClock::as_published(PublishedConfig::default(), &lanes);
    let (lines, tags) = run(scheduler, &EXAMPLE_1, 50);
    let expected = [
        Served(0, "C1", Reservation),
        Served(50, "R1", Reservation),
        Served(100, "C2", Reservation),
        Served(150, "C3", Weight),
        Served(200, "C4", Reservation),
        Served(250, "C5", Weight),
        Served(300, "C6", Reservation),
        Served(350, "R2", Weight),
        Served(400, "C7", Reservation),
        WaitUntil(450, 500),
        Served(500, "R3", Reservation),
    ];
    assert_eq!(lines, expected);
    let expected = [
        (0, 0, None),
        (0, 0, Some(0)),
        (100, 500, None),
        (200, 1_000, None),
        (200, 1_500, None),
        (300, 2_000, None),
        (300, 2_500, None),
        (500, 2_000, Some(250)),
        (400, 3_000, None),
        (500, 4_000, Some(500)),
    ];
    assert_eq!(tags, expected);
}

/// The same load in Loadline's mode. Every service moves the start tag by c/w, those by reservation too: C1 to C6 move C's to
/// 6/2, R1 moves R's to 2/1. So at 0.35 s R2 is ahead of C7, which then is due by reservation.
#[test]
fn example_1_loadline() {
    let lanes = [shared(10.0, 2.0, 0.0), shared(4.0, 1.0, 8.0)];
    let (lines, _) = run(MClock::loadline(LoadlineConfig::default(), &lanes), &EXAMPLE_1, 50);
    let expected = [
        Served(0, "C1", Reservation),
        Served(50, "R1", Reservation),
        Served(100, "C2", Reservation),
        Served(150, "C3", Weight),
        Served(200, "C4", Reservation),
        Served(250, "C5", Weight),
        Served(300, "C6", Reservation),
        Served(350, "R2", Weight),
        Served(400, "C7", Reservation),
        WaitUntil(450, 500),
        Served(500, "R3", Reservation),
    ];
    assert_eq!(lines, expected);
}

const EXAMPLE_2: [(u32, u32, &str); 8] = [
    (0, 1, "C1"),
    (0, 1, "C2"),
    (0, 1, "C3"),
    (0, 1, "C4"),
    (1, 1, "B1"),
    (1, 1, "B2"),
    (1, 1, "B3"),
    (1, 1, "B4"),
];

/// qos.md 2.11, in both modes: nothing in it depends on the past.
#[test]
fn example_2_in_both_modes() {
    let lanes = [shared(10.0, 1.0, 0.0), shared(0.0, 1.0, 5.0)];
    let expected = [
        Served(0, "C1", Reservation),
        Served(20, "B1", Weight),
        Served(40, "C2", Weight),
        Served(60, "C3", Weight),
        Served(80, "C4", Weight),
        WaitUntil(100, 200),
        Served(200, "B2", Weight),
        WaitUntil(220, 400),
        Served(400, "B3", Weight),
        WaitUntil(420, 600),
        Served(600, "B4", Weight),
    ];
    let published = MClock::as_published(PublishedConfig::default(), &lanes);
    assert_eq!(run(published, &EXAMPLE_2, 20).0, expected);
    let loadline = MClock::loadline(LoadlineConfig::default(), &lanes);
    assert_eq!(run(loadline, &EXAMPLE_2, 20).0, expected);
}

/// The weighted tag, in seconds after the start, of a request that comes so many seconds after two others of its client. Another client
/// has work at each pass.
fn weighted_after(seconds: u64) -> f64 {
    let lanes = [shared(0.0, 1.0, 0.0), shared(0.0, 1.0, 0.0)];
    let config = PublishedConfig {
        idle_age: Span::from_secs(3),
        erase_age: Span::from_secs(5),
        clean_every: Span::from_secs(2),
        ..PublishedConfig::default()
    };
    let mut scheduler = MClock::as_published(config, &lanes);
    let [absent, present] =
        [0, 1].map(|class| scheduler.flow(at_ms(0), ClassId::new(class), ClientKey(0)));
    let mut serve = |at, flow, cost| {
        scheduler.enqueue(at, Request::new(flow, cost, ())).unwrap();
        let tags = scheduler.waiting(at)[0].tags.expect("a head is tagged");
        assert!(matches!(scheduler.take(at), Take::Ready(_)));
        tags.proportion.unwrap() - START_MS as f64 / 1e3
    };
    // Both begin without an offset.
    for (flow, cost) in [(absent, 1), (present, 1), (absent, 100), (present, 50)] {
        serve(at_ms(0), flow, cost);
    }
    for pass in 1..=seconds / 2 {
        serve(at_ms(2000 * pass), present, 1);
    }
    serve(at_ms(1000 * seconds), absent, 100)
}

/// qos.md 2.6, measured with the library: with an idle age of 3 s, an erase age of 5 s and a pass every 2 s a client last used at 0
/// is idle from 6 s and gone from 8 s. Ages count from the first pass behind the last use; by the last use itself it was idle at 4 s
/// and gone at 6.
#[test]
fn a_record_ages_from_the_pass_behind_its_last_use() {
    for (seconds, wanted) in [
        // The tag of the last request, 100 s, and 100 s for this one.
        (2, 200.0),
        (4, 200.0),
        (5, 200.0),
        // The same, and the offset that makes a client that was idle even with the other one: that is at 53 s at the third pass.
        (6, 200.0 + 53.0 - 6.0),
        (7, 200.0 + 53.0 - 7.0),
        // Of a client that is not known any more the offset alone is left.
        (8, 54.0),
    ] {
        assert_eq!(weighted_after(seconds).round(), wanted, "after {seconds} s");
    }
}
