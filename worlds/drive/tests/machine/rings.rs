//! Rings that are stopped, and memory that is replaced, while commands are at the drive. A guest that is reset stops its rings and
//! hands the same memory to the next kernel: what was read for the first one landed in pages of the second, and an abort of
//! a command that nobody knew any more was answered in the second one's ring.

use crate::Served;
use crate::answers::read;
use crate::naive::{MORE_REQUESTS, Machine, REQUESTS};
use loadline_drive::MediumFault;

const FAR: u64 = 40_000_000_000;

/// A read of a mechanical drive that is there for sure: a query finds it.
fn read_under_way(machine: &mut Machine, block: u64) -> u16 {
    let slot = machine.command(&read(block, 8, 0), &[], 4096);
    assert_eq!(machine.task_function(6, slot), 10);
    slot
}

fn is_served(machine: &mut Machine) {
    assert_eq!(machine.run(&read(8, 8, 0), &[], 4096).status, 0);
}

#[test]
fn commands_are_answered_before_their_ring_stops() {
    let served = Served::mechanical(Vec::new());
    let mut machine = Machine::connect(served.socket());
    let slot = read_under_way(&mut machine, FAR);
    assert_eq!(machine.stop(REQUESTS), 1, "one was taken");
    assert_eq!(machine.answered(REQUESTS), 1);
    let answer = machine.answers(1).remove(0);
    assert_eq!((answer.slot, answer.status, answer.residual), (slot, 0, 0));
    machine.begin_anew(REQUESTS);
    is_served(&mut machine);
    assert_eq!(machine.answered(REQUESTS), 1);
}

/// Linux in user mode does not ask where a ring would go on.
#[test]
fn commands_are_answered_before_their_ring_is_disabled() {
    let served = Served::mechanical(Vec::new());
    let mut machine = Machine::connect(served.socket());
    read_under_way(&mut machine, FAR);
    machine.disable(REQUESTS);
    assert_eq!(machine.answered(REQUESTS), 1);
    machine.begin_anew(REQUESTS);
    is_served(&mut machine);
    assert_eq!(machine.answered(REQUESTS), 1);
}

#[test]
fn commands_are_answered_before_their_memory_goes() {
    let served = Served::mechanical(Vec::new());
    let mut machine = Machine::connect(served.socket());
    read_under_way(&mut machine, FAR);
    machine.share_other();
    assert_eq!(machine.answered(REQUESTS), 1, "into the memory in which they were offered");
}

/// What never ends is waited for by nobody, and belongs to nobody once its ring has gone.
#[test]
fn a_command_that_never_ends_goes_with_its_ring() {
    let check = |stop: fn(&mut Machine)| {
        let served = Served::mechanical(vec![MediumFault::Silent(0..8)]);
        let mut machine = Machine::connect(served.socket());
        let slot = read_under_way(&mut machine, 0);
        read_under_way(&mut machine, FAR);
        machine.paint(slot);
        stop(&mut machine);
        assert_eq!(machine.answered(REQUESTS), 1, "the other one is answered");
        machine.begin_anew(REQUESTS);
        assert_eq!(machine.task_function(6, slot), 0, "a query finds nothing");
        assert_eq!(machine.task_function(5, 0), 0);
        assert!(machine.answered(REQUESTS) == 0 && machine.is_painted(slot));
        machine.offer_again(slot);
        assert_eq!(machine.task_function(6, slot), 10, "it may be offered again");
        is_served(&mut machine);
        drop(machine);
        assert_eq!(served.end().counts.reads[0].aborted, 2);
    };
    check(|machine| assert_eq!(machine.stop(REQUESTS), 2));
    check(|machine| machine.disable(REQUESTS));
}

/// QEMU gives a machine a ring of commands for each of its processors: with two of them, the second one's ended the talk.
#[test]
fn each_processor_has_a_ring_of_its_own() {
    let served = Served::mechanical(vec![MediumFault::Silent(0..8)]);
    let mut machine = Machine::connect(served.socket());
    machine.begin_anew(MORE_REQUESTS);
    let beside = machine.command_beside(&read(8, 8, 0), 4096);
    assert_eq!(machine.used(MORE_REQUESTS, 1), [(beside, 4096 + 108)]);
    let silent = read_under_way(&mut machine, 0);
    let beside = machine.command_beside(&read(FAR, 8, 0), 4096);
    assert_eq!(machine.task_function(6, beside), 10);
    assert_eq!(machine.stop(MORE_REQUESTS), 2);
    assert_eq!(machine.answered(MORE_REQUESTS), 2, "answered before its ring stops");
    assert_eq!(machine.task_function(6, silent), 10, "and the other ring goes on");
    assert_eq!(machine.task_function(5, 0), 0);
    assert_eq!(machine.answers(1)[0].response, 4);
    is_served(&mut machine);
}

/// Whoever replaces memory while the ring goes on may still take such a command back.
#[test]
fn a_command_that_never_ends_outlives_other_memory() {
    let served = Served::mechanical(vec![MediumFault::Silent(0..8)]);
    let mut machine = Machine::connect(served.socket());
    let slot = read_under_way(&mut machine, 0);
    machine.share_again();
    assert_eq!(machine.task_function(5, 0), 0);
    let answer = machine.answers(1).remove(0);
    assert_eq!((answer.slot, answer.response), (slot, 4));
    is_served(&mut machine);
}

/// Where the drive keeps the time none passes until the machine is answered, so no command can end meanwhile.
#[test]
fn in_virtual_time_commands_go_with_their_ring() {
    let served = Served::in_virtual_time(Vec::new());
    let mut machine = Machine::in_virtual_time(served.socket(), &served.calendar());
    let slot = machine.command(&read(FAR, 8, 0), &[], 4096);
    machine.paint(slot);
    let now = machine.clock().now();
    assert_eq!(machine.stop(REQUESTS), 1);
    assert_eq!((machine.answered(REQUESTS), machine.clock().now()), (0, now));
    machine.begin_anew(REQUESTS);
    machine.clock().wait(1_000_000_000);
    assert!(machine.answered(REQUESTS) == 0 && machine.is_painted(slot));
    is_served(&mut machine);
    drop(machine);
    assert_eq!(served.end().counts.reads[0].aborted, 1);
}

/// A guest that offered one command again and again once had the drive keep all of them.
#[test]
fn a_command_that_is_under_way_cannot_be_offered_again() {
    let served = Served::mechanical(vec![MediumFault::Silent(0..8)]);
    let mut machine = Machine::connect(served.socket());
    let slot = read_under_way(&mut machine, 0);
    machine.offer_again(slot);
    let mut next = Machine::connect(served.socket());
    is_served(&mut next);
    assert_eq!(served.told(), ["a ring of the machine makes no sense"]);
    drop(next);
    assert_eq!(served.end().counts.reads[0].commands, 2);
}

#[test]
fn what_has_been_answered_may_be_offered_again() {
    let served = Served::mechanical(Vec::new());
    let mut machine = Machine::connect(served.socket());
    let slot = machine.command(&read(8, 8, 0), &[], 4096);
    for _ in 0..3 {
        assert_eq!(machine.answers(1)[0].slot, slot);
        machine.offer_again(slot);
    }
    assert_eq!(machine.answers(1)[0].status, 0);
}

/// The drive takes as many commands as it has told the machine, and says of others that there is no room for them now.
#[test]
fn a_command_too_many_finds_the_task_set_full() {
    let served = Served::mechanical(vec![MediumFault::Silent(0..8)]);
    let mut machine = Machine::connect(served.socket());
    machine.commands(&[read(0, 8, 0); 33]);
    let answer = machine.answers(1).remove(0);
    assert_eq!((answer.slot, answer.status, answer.response), (32, 0x28, 0));
    assert_eq!((answer.residual, answer.sense.len()), (4096, 0));
    let inquiry = machine.run(&[0x12, 0, 0, 0, 36, 0], &[], 36);
    assert_eq!(inquiry.status, 0, "what needs no medium is answered all the same");
    assert_eq!(machine.task_function(5, 0), 0);
    assert!(machine.answers(32).iter().all(|answer| answer.response == 4));
    is_served(&mut machine);
    drop(machine);
    let counts = served.end().counts;
    assert_eq!((counts.reads[0].commands, counts.refused), (33, 1));
}
