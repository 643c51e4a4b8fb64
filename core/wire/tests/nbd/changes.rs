//! What has changed since something, as a metadata context of QEMU's name.

use crate::client::{Answer, MODERN, Reader, be, choice, contexts, option, request};
use crate::talk::Talk;
use loadline_wire::nbd::{ChangeExtent, CommandKind, ExportId, ReplyPayload};

const SINCE_MONDAY: &str = "qemu:dirty-bitmap:monday";
const BLOCK_STATUS: u16 = 7;

/// The contexts that an option is answered with.
fn answered(talk: &mut Talk, number: u32, queries: &[&str]) -> Vec<String> {
    let heard = talk.say(&option(number, &contexts("tape", queries)));
    let replies = Reader(&heard).option_replies();
    let (ack, contexts) = replies.split_last().expect("there is a reply");
    assert_eq!(ack.kind, 1, "it is accepted");
    let name = |data: &[u8]| String::from_utf8(data[4..].to_vec()).unwrap();
    contexts.iter().map(|context| name(&context.data)).collect()
}

fn structured() -> Talk {
    let mut talk = Talk::greeted(MODERN);
    talk.say(&option(8, &[]));
    talk
}

#[test]
fn each_thing_to_compare_with_is_a_context() {
    let mut talk = structured();
    let tuesday = "qemu:dirty-bitmap:tuesday";
    let all = ["base:allocation", SINCE_MONDAY, tuesday];
    assert_eq!(answered(&mut talk, 9, &[]), all);
    assert_eq!(answered(&mut talk, 9, &["qemu:"]), all[1..]);
    assert_eq!(answered(&mut talk, 9, &["qemu:dirty-bitmap:"]), all[1..]);
    assert_eq!(answered(&mut talk, 9, &[tuesday]), [tuesday]);
    assert!(answered(&mut talk, 9, &["qemu:dirty-bitmap:sunday"]).is_empty());
    assert!(answered(&mut talk, 10, &["qemu:dirty-bitmap:"]).is_empty(), "nobody means all");
    // A connection has one: the first.
    assert_eq!(answered(&mut talk, 10, &[tuesday, SINCE_MONDAY]), [SINCE_MONDAY]);
    assert_eq!(answered(&mut talk, 10, &[SINCE_MONDAY, "base:allocation"]), ["base:allocation"]);
}

#[test]
fn what_has_changed_is_dirty_and_the_rest_is_not() {
    let mut talk = structured();
    answered(&mut talk, 10, &[SINCE_MONDAY]);
    talk.say(&option(7, &choice("tape", &[])));
    let command = talk.command(&request(0, BLOCK_STATUS, 5, 4096, 8192));
    assert_eq!(command.kind, CommandKind::BlockStatus { one: false, since: Some(ExportId(21)) });
    let extent = |length, is_changed| ChangeExtent { length, is_changed };
    let changes = ReplyPayload::Changes(vec![extent(4096, false), extent(8192, true)]);
    let heard = talk.finish(&command, changes);
    let Answer::Chunk { cookie, done, kind, data } = Reader(&heard).answer(|_| 0) else {
        panic!("it is a chunk")
    };
    assert_eq!((cookie, done, kind), (5, true, 5));
    // The context's number, then lengths inside the request with their states.
    assert_eq!(data, be(&[(1, 4), (4096, 4), (0, 4), (4096, 4), (1, 4)]));
}
