//! What a connection may hold: commands, bytes, replies that nobody takes.

use crate::client::{MODERN, choice, hello, option, request};
use crate::disk::Shop;
use crate::talk::Talk;
use loadline_wire::nbd::{CommandKind, ConnectionLimits, OPTION_MAX, PAYLOAD_MAX, ReplyPayload};

fn serving(limits: ConnectionLimits) -> Talk {
    let mut talk = Talk::with(limits);
    talk.heard();
    talk.say(&hello(MODERN));
    talk.say(&option(7, &choice("huge", &[])));
    talk
}

#[test]
fn no_more_commands_than_the_limit() {
    let mut talk = serving(ConnectionLimits { commands: 3, bytes: 1 << 20 });
    let bytes = request(0, 4, 1, 0, 1).repeat(5);
    assert_eq!(talk.session.receive(&bytes, &Shop, &mut talk.out), 3 * 28);
    assert!(talk.session.is_full());
    assert_eq!((talk.session.want(), talk.session.in_flight()), (0, 3));
    let first = talk.out.commands.remove(0);
    talk.finish(&first, ReplyPayload::Done);
    assert_eq!(talk.session.want(), 28);
    assert_eq!(talk.session.receive(&bytes[3 * 28..], &Shop, &mut talk.out), 28);
}

#[test]
fn bytes_count_from_the_request_until_the_reply_is_sent() {
    let mut talk = serving(ConnectionLimits { commands: 9, bytes: 1000 });
    let read = talk.command(&request(0, 0, 1, 0, 600));
    let write = [request(0, 1, 2, 0, 500), vec![0; 500]].concat();
    // The second command is let in, since 600 is below the limit, and is received whole.
    assert_eq!(talk.session.receive(&write[..100], &Shop, &mut talk.out), 100);
    assert!(!talk.session.is_full());
    assert_eq!(talk.session.want(), 428);
    let write = talk.command(&write[100..]);
    assert!(talk.session.is_full());
    talk.session.finish(
        loadline_wire::nbd::NbdReply { id: read.id, result: Ok(ReplyPayload::Data(vec![0; 600])) },
        &mut talk.out,
    );
    assert!(talk.session.is_full(), "the reply waits: 616 + 500");
    talk.finish(&write, ReplyPayload::Done);
    assert!(!talk.session.is_full());
}

#[test]
fn a_client_that_takes_no_replies_is_not_heard_further() {
    let mut talk = Talk::with(ConnectionLimits { commands: 1, bytes: 1000 });
    talk.say(&hello(MODERN));
    let list = option(3, &[]).repeat(100);
    let taken = talk.session.receive(&list, &Shop, &mut talk.out);
    // One list is 3 lines of 20 + 4 + 4 bytes, one description of 13 and an acknowledgement of 20: 117 bytes.
    // The ninth reaches 1053.
    assert_eq!(taken, 9 * 16);
    assert!(talk.session.is_full());
    talk.heard();
    assert_eq!(talk.session.want(), 16);
}

#[test]
fn want_counts_down_every_message() {
    let mut talk = Talk::with(ConnectionLimits::default());
    assert_eq!(talk.session.want(), 4);
    talk.say(&hello(MODERN)[..1]);
    assert_eq!(talk.session.want(), 3);
    talk.say(&hello(MODERN)[1..]);
    let go = option(7, &choice("disk", &[]));
    assert_eq!(talk.session.want(), 16);
    talk.say(&go[..17]);
    assert_eq!(talk.session.want(), go.len() - 17);
    talk.say(&go[17..]);
    assert_eq!(talk.session.want(), 28);
    talk.say(&request(0, 1, 1, u64::MAX, 300));
    assert_eq!(talk.session.want(), 300, "a payload to be passed over");
}

#[test]
fn the_bound_is_the_sum_that_the_documentation_states() {
    let limits = ConnectionLimits::default();
    let answers = 256 * (1024 * 28 + 4096 + 64);
    let sum = (64 << 20) + u64::from(PAYLOAD_MAX) + u64::from(OPTION_MAX) + answers;
    assert_eq!(limits.memory_max(), sum);
    assert!(sum < 105 << 20, "docs/nbd.md says less than 105 MiB");
}

/// What all connections take together is the owner's to share out: a request without room waits, half of it is never held, and
/// it goes on as soon as there is some.
#[test]
fn a_request_waits_until_the_owner_has_room_for_it() {
    let mut talk = serving(ConnectionLimits { commands: 9, bytes: 1 << 20 });
    let none = talk.session.held();
    talk.session.set_room(1000, &mut talk.out);
    let read = talk.command(&request(0, 0, 1, 0, 600));
    let write = [request(0, 1, 2, 0, 500), vec![7; 500]].concat();
    assert_eq!(talk.session.receive(&write, &Shop, &mut talk.out), 28, "its payload is not taken");
    assert_eq!((talk.session.waits_for_room(), talk.session.want()), (true, 0));
    assert_eq!((talk.session.held(), read.holds), (none, 600), "what is handed out is the owner's");
    talk.session.set_room(499, &mut talk.out);
    assert!(talk.session.waits_for_room(), "still too little");
    talk.finish(&read, ReplyPayload::Data(vec![0; 600]));
    talk.session.set_room(499, &mut talk.out);
    assert!(talk.session.waits_for_room(), "too little to begin with a part of it");
    talk.session.set_room(500, &mut talk.out);
    assert_eq!((talk.session.waits_for_room(), talk.session.want()), (false, 500));
    assert_eq!(talk.session.held(), none + 500, "its payload is on its way");
    let write = talk.command(&write[28..]);
    assert_eq!((talk.session.held(), write.holds), (none, 500));
    assert_eq!(write.kind, CommandKind::Write(vec![7; 500]));
    // What takes nothing needs no room, and neither does what makes no sense.
    talk.session.set_room(0, &mut talk.out);
    talk.command(&request(0, 3, 3, 0, 0));
    let past = request(0, 0, 4, u64::MAX - 9, 600);
    assert_eq!(talk.session.receive(&past, &Shop, &mut talk.out), 28);
    assert!(!talk.session.waits_for_room());
}

/// A client that says everything at once, its choice of an export and its requests, had all the room that there is.
#[test]
fn the_first_requests_behind_the_handshake_have_no_more_room_than_others() {
    let mut talk = Talk::with(ConnectionLimits::default());
    talk.heard();
    talk.session.set_room(1000, &mut talk.out);
    let choice = [hello(MODERN), option(7, &choice("huge", &[]))].concat();
    let all = [choice.clone(), request(0, 0, 1, 0, 600), request(0, 0, 2, 0, 600)].concat();
    assert_eq!(talk.session.receive(&all, &Shop, &mut talk.out), all.len());
    assert_eq!((talk.out.commands.len(), talk.session.waits_for_room()), (1, true));
}
