//! The worked examples of the specification, number by number.

use loadline_base::Time;
use loadline_qos::{
    ClassId, ClientKey, Lane, LoadlineConfig, MClock, Params, Phase, PublishedConfig, Request,
    Scheduler, Take,
};

/// The examples start here: the clock of the field never starts at 0.
const START_MS: u64 = 1_000_000;

fn at_ms(ms: u64) -> Time {
    Time::from_nanos((START_MS + ms) * 1_000_000)
}

fn shared(r: f64, w: f64, l: f64) -> Lane {
    Lane::Shared(Params::new(r, w, l).unwrap())
}

/// One line of an example: when, what, in which phase; the head's tags in ms and in units of weighted time.
#[derive(Debug, PartialEq)]
enum Line {
    Served(u64, &'static str, Phase),
    WaitUntil(u64, u64),
}

use Line::{Served, WaitUntil};
use Phase::{Reservation, Weight};

/// Enqueues `(class, cost, name)` at the start, then serves everything, `service_ms` per request.
fn run(
    mut scheduler: MClock<&'static str>,
    load: &[(u32, u32, &'static str)],
    service_ms: u64,
) -> Vec<Line> {
    for (class, cost, name) in load {
        let flow = scheduler.flow(at_ms(0), ClassId::new(*class), ClientKey(0));
        scheduler.enqueue(at_ms(0), Request::new(flow, *cost, *name)).unwrap();
    }
    let mut lines = Vec::new();
    let mut ms = 0;
    loop {
        match scheduler.take(at_ms(ms)) {
            Take::Ready(taken) => {
                lines.push(Served(ms, taken.payload, taken.phase));
                ms += service_ms;
            }
            Take::NotBefore(time) => {
                let until = time.nanos() / 1_000_000 - START_MS;
                lines.push(WaitUntil(ms, until));
                ms = until;
            }
            Take::Empty => return lines,
        }
    }
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

/// qos.md 2.10. The one difference from the printed table is foretold there: at 0.40 s C7's reservation tag equals
/// `now`, and in integers that is due.
#[test]
fn example_1_as_published() {
    let lanes = [shared(10.0, 2.0, 0.0), shared(4.0, 1.0, 8.0)];
    let scheduler = MClock::as_published(PublishedConfig::default(), &lanes);
    let expected = vec![
        Served(0, "C1", Reservation),
        Served(50, "R1", Reservation),
        Served(100, "C2", Reservation),
        Served(150, "C3", Weight),
        Served(200, "C4", Reservation),
        Served(250, "C5", Weight),
        Served(300, "R2", Weight),
        Served(350, "C6", Reservation),
        Served(400, "C7", Reservation),
        WaitUntil(450, 500),
        Served(500, "R3", Reservation),
    ];
    assert_eq!(run(scheduler, &EXAMPLE_1, 50), expected);
}

#[test]
fn example_1_loadline() {
    let lanes = [shared(10.0, 2.0, 0.0), shared(4.0, 1.0, 8.0)];
    let scheduler = MClock::loadline(LoadlineConfig::default(), &lanes);
    println!("{:?}", run(scheduler, &EXAMPLE_1, 50));
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
    let expected = || {
        vec![
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
        ]
    };
    let published = MClock::as_published(PublishedConfig::default(), &lanes);
    assert_eq!(run(published, &EXAMPLE_2, 20), expected());
    let loadline = MClock::loadline(LoadlineConfig::default(), &lanes);
    assert_eq!(run(loadline, &EXAMPLE_2, 20), expected());
}
