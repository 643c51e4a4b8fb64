//! A machine whose time the drive keeps: nothing waits, and everything has its instant.

use crate::answers::read;
use crate::naive::Machine;
use crate::{Served, spec};
use loadline_drive::MediumFault;
use loadline_wire::calendar::NEVER_NS;
use std::time::{Duration, Instant};

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "what virtual time costs of the real one")]
    Instant::now()
}

/// The instants, in ns, at which 32 reads all over the disk are answered, and by which slots.
fn answered() -> Vec<(u16, u64)> {
    let served = Served::in_virtual_time(Vec::new());
    let mut machine = Machine::in_virtual_time(served.socket(), &served.calendar());
    let stride = spec().sectors / 32;
    let reads: Vec<_> = (0..32).map(|index| read(index * 7 % 32 * stride, 8, 0)).collect();
    machine.commands(&reads);
    (0..32).map(|_| (machine.answers(1)[0].slot, machine.clock().now())).collect()
}

/// The instants are the model's, to the nanosecond, whatever this machine does meanwhile.
#[test]
fn the_same_commands_are_answered_at_the_same_instants() {
    let first = answered();
    let whole = first.last().unwrap().1;
    assert!((100_000_000..500_000_000).contains(&whole), "{whole} ns for 32 reads");
    assert!(
        first.is_sorted_by(|one, other| one.1 < other.1),
        "one arm answers one by one: {first:?}"
    );
    assert_eq!(first, answered());
}

/// The firmware tries for seven seconds to read a bad block, which pass in an instant.
#[test]
fn time_that_nobody_needs_is_not_waited_for() {
    let served = Served::in_virtual_time(vec![MediumFault::Unreadable(0..8)]);
    let mut machine = Machine::in_virtual_time(served.socket(), &served.calendar());
    let begun = now();
    assert_eq!(machine.run(&read(0, 8, 0), &[], 4096).sense[2], 3, "a medium error");
    assert!(machine.clock().now() > 7_000_000_000, "{} ns", machine.clock().now());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

/// A machine that waits runs at its time if the drive has nothing to say before; it may go on by itself until the drive has.
#[test]
fn a_machine_runs_when_it_wants_to() {
    let served = Served::in_virtual_time(Vec::new());
    let mut machine = Machine::in_virtual_time(served.socket(), &served.calendar());
    machine.clock().wait(1_000);
    assert_eq!(machine.clock().now(), 1_000);
    machine.clock().wait(250_000);
    assert_eq!(machine.clock().now(), 250_000);
    machine.command(&read(4_000_000, 8, 0), &[], 4096);
    let promised = machine.clock().free_until();
    assert!((250_000..60_000_000).contains(&promised), "the drive has an event at {promised} ns");
    machine.clock().wait(60_000_000);
    assert!((250_001..60_000_000).contains(&machine.clock().now()), "the answer came first");
    assert_eq!(machine.answers(1)[0].status, 0);
}

/// The next machine's time begins anew; one that keeps its own time is turned away with a sentence.
#[test]
fn machines_come_one_after_the_other() {
    let served = Served::in_virtual_time(Vec::new());
    let mut machine = Machine::in_virtual_time(served.socket(), &served.calendar());
    machine.clock().wait(5_000_000);
    drop(machine);
    let mut machine = Machine::in_virtual_time(served.socket(), &served.calendar());
    assert_eq!(machine.clock().now(), 0);
    machine.clock().wait(1_000_000);
    assert_eq!(machine.clock().now(), 1_000_000);
    assert_eq!(machine.run(&read(0, 8, 0), &[], 4096).status, 0);
    assert!(machine.clock().now() < 60_000_000, "{}", machine.clock().now());
    drop(machine);
    drop(std::os::unix::net::UnixStream::connect(served.socket()).unwrap());
    let begun = now();
    while served.told().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(20), "nobody was turned away");
        std::thread::yield_now();
    }
    assert!(served.told()[0].contains("CONFIG_UML_TIME_TRAVEL_SUPPORT"), "{:?}", served.told());
    assert_eq!(served.end().counts.sessions, 2);
}

/// The clock lies in memory that the machine writes. One that set it back ended the drive, whose model had been further.
#[test]
fn time_that_a_machine_sets_back_goes_on_all_the_same() {
    let served = Served::in_virtual_time(Vec::new());
    let mut machine = Machine::in_virtual_time(served.socket(), &served.calendar());
    machine.clock().wait(5_000_000);
    machine.command(&read(4_000_000, 8, 0), &[], 4096);
    machine.clock().lie(0);
    machine.command(&read(8_000_000, 8, 0), &[], 4096);
    assert_eq!(machine.answers(1)[0].status, 0);
    assert!(machine.clock().now() > 5_000_000, "{}", machine.clock().now());
    machine.clock().lie(0);
    drop(machine);
    let mut machine = Machine::in_virtual_time(served.socket(), &served.calendar());
    assert_eq!(machine.run(&read(0, 8, 0), &[], 4096).status, 0);
    // Nor is it followed behind the end of all time.
    machine.clock().lie(u64::MAX);
    assert!(machine.clock().time_of_day() > NEVER_NS);
    drop(machine);
    let counts = served.end().counts;
    assert_eq!((counts.reads[0].commands, counts.reads[0].aborted, counts.sessions), (3, 1, 2));
}
