//! Requests that never reach the owner, and the ways in which a connection ends.

use crate::client::{MODERN, choice, contexts, option, request};
use crate::disk::{SIZE, Shop};
use crate::talk::Talk;
use loadline_wire::nbd::{Close, PAYLOAD_MAX, ReplyPayload, Violation};

const EPERM: u32 = 1;
const EINVAL: u32 = 22;
const ENOSPC: u32 = 28;
const EOVERFLOW: u32 = 75;

const TOO_LONG: u32 = PAYLOAD_MAX + 1;
const END: u64 = SIZE as u64;

/// Whoever refuses a request must pass over its payload: the next request is understood.
#[track_caller]
fn check(export: &str, flags: u16, command: u16, offset: u64, length: u32, error: u32) {
    for mut talk in [Talk::simple(export), Talk::structured(export)] {
        let mut bytes = request(flags, command, 1, offset, length);
        if command == 1 {
            bytes.resize(bytes.len() + length as usize, 0xa5);
        }
        assert_eq!(talk.refused(&bytes), error);
        talk.command(&request(0, 0, 2, 0, 1));
    }
}

#[test]
fn ranges_past_the_end() {
    for (command, error) in [(0, EINVAL), (1, ENOSPC), (4, EINVAL), (5, EINVAL), (6, ENOSPC)] {
        check("disk", 0, command, END, 1, error);
        check("disk", 0, command, END - 1, 2, error);
        check("disk", 0, command, u64::MAX, 1, error);
        check("disk", 0, command, u64::MAX, 4096, error);
    }
    assert_eq!(Talk::structured("disk").refused(&request(0, 7, 1, END, 1)), EINVAL);
    check("huge", 0, 6, u64::MAX - 9, 10, ENOSPC);
}

#[test]
fn empty_ranges_and_flushes_with_one() {
    for command in [0, 1, 4, 5, 6] {
        check("disk", 0, command, 0, 0, EINVAL);
    }
    assert_eq!(Talk::structured("disk").refused(&request(0, 7, 1, 0, 0)), EINVAL);
    check("disk", 0, 3, 0, 1, EINVAL);
    check("disk", 0, 3, 512, 0, EINVAL);
}

#[test]
fn payloads_beyond_32_mib() {
    check("huge", 0, 0, 0, TOO_LONG, EINVAL);
    check("huge", 0, 0, 0, u32::MAX, EINVAL);
    check("huge", 0, 1, 0, TOO_LONG, EINVAL);
    let mut talk = Talk::structured("huge");
    assert_eq!(talk.refused(&request(4, 0, 1, 0, TOO_LONG)), EOVERFLOW);
}

#[test]
fn a_read_only_export_is_not_written() {
    for command in [1, 4, 6] {
        check("tape", 0, command, 0, 10, EPERM);
        check("tape", 1, command, 0, 10, EPERM);
    }
}

#[test]
fn unknown_commands_and_those_that_were_not_offered() {
    for command in [8, 9, 0x100, u16::MAX] {
        check("disk", 0, command, 0, 1, EINVAL);
    }
    check("tape", 0, 5, 0, 1, EINVAL);
    assert_eq!(Talk::simple("disk").refused(&request(0, 7, 1, 0, 1)), EINVAL, "no context");
}

/// Block status needs a context of the export that is chosen, from the last selection.
#[test]
fn contexts_that_do_not_count() {
    let select = |name, queries: &[&str]| option(10, &contexts(name, queries));
    let good = || select("disk", &["base:allocation"]);
    for (selections, error) in [
        (vec![select("tape", &["base:allocation"])], Some(EINVAL)),
        (vec![good(), select("disk", &[])], Some(EINVAL)),
        (vec![good(), option(10, b"malformed")], Some(EINVAL)),
        (vec![select("tape", &["base:allocation"]), good()], None),
        (vec![select("", &["base:allocation"])], None),
    ] {
        let mut talk = Talk::greeted(MODERN);
        talk.say(&[option(8, &[]), selections.concat(), option(7, &choice("disk", &[]))].concat());
        let status = request(0, 7, 1, 0, 1);
        match error {
            Some(error) => assert_eq!(talk.refused(&status), error),
            None => drop(talk.command(&status)),
        }
    }
}

#[test]
fn flags_that_a_command_does_not_have() {
    let table: [(u16, u16); 7] =
        [(0, 0b101), (1, 1), (3, 1), (4, 1), (5, 1), (6, 0b1_0011), (7, 0b1001)];
    for (command, known) in table {
        for flag in (0..16).map(|bit| 1 << bit).filter(|flag| known & flag == 0) {
            let mut bytes = request(flag, command, 1, 0, u32::from(command != 3));
            bytes.extend((command == 1).then_some(0xa5));
            let mut talk = Talk::structured("disk");
            assert_eq!(talk.refused(&bytes), EINVAL, "command {command} with flag {flag:#x}");
        }
    }
    assert_eq!(Talk::simple("disk").refused(&request(4, 0, 1, 0, 1)), EINVAL, "DF, not structured");
    check("huge", 16, 6, 0, 1, EINVAL);
}

#[test]
fn what_is_no_request_ends_the_connection() {
    let mut talk = Talk::simple("disk");
    let first = talk.command(&request(0, 0, 1, 0, 4));
    let bytes = [7; 56];
    assert_eq!(talk.session.receive(&bytes, &Shop, &mut talk.out), 28);
    assert_eq!(talk.out.close, Some(Close::Violated(Violation::RequestMagic(0x0707_0707))));
    assert_eq!(talk.session.want(), 0);
    assert_eq!(talk.finish(&first, ReplyPayload::Data(vec![0; 4])), [], "dropped after the end");
    assert_eq!(talk.session.receive(&bytes, &Shop, &mut talk.out), 0);
}

#[test]
fn a_goodbye_waits_for_what_is_in_flight() {
    let mut talk = Talk::simple("disk");
    let first = talk.command(&request(0, 0, 1, 0, 4));
    let second = talk.command(&request(0, 3, 2, 0, 0));
    assert_eq!(talk.say(&request(0, 2, 3, 0, 0)), []);
    assert_eq!((talk.session.want(), talk.out.close.clone()), (0, None));
    talk.finish(&second, ReplyPayload::Done);
    assert_eq!(talk.out.close, None);
    assert_eq!(talk.finish(&first, ReplyPayload::Data(vec![0; 4])).len(), 16 + 4);
    assert!(talk.closed_by_request());
}

#[test]
fn a_goodbye_with_nothing_in_flight_closes_at_once_and_ends_the_input() {
    let mut talk = Talk::simple("disk");
    let bytes = [request(0, 2, 3, 0, 0), request(0, 0, 4, 0, 1)].concat();
    assert_eq!(talk.session.receive(&bytes, &Shop, &mut talk.out), 28);
    assert!(talk.closed_by_request());
    assert_eq!(talk.out.commands, []);
}

#[test]
fn violations_read_as_sentences() {
    let sentence = |violation: Violation| violation.to_string();
    assert_eq!(
        sentence(Violation::UnknownExport("a\nb".into())),
        "the client asked for the export \"a\\nb\", which does not exist"
    );
    assert_eq!(
        sentence(Violation::RequestMagic(7)),
        "a request began with 0x00000007 instead of 0x25609513"
    );
    assert_eq!(
        sentence(Violation::OptionMagic(7)),
        "an option began with 0x0000000000000007 instead of IHAVEOPT"
    );
}
