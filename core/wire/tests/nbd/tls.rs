//! A client that has to begin with TLS: what is answered before, and what counts afterwards.

use crate::client::{MODERN, Reader, choice, contexts, option};
use crate::disk::Shop;
use crate::talk::Talk;
use loadline_wire::nbd::{Close, Violation};

const ACK: u32 = 1;
const INVALID: u32 = 0x8000_0003;
const TLS_REQUIRED: u32 = 0x8000_0005;
const STARTTLS: u32 = 5;

/// The kind of the one reply to an option.
fn reply(talk: &mut Talk, number: u32, data: &[u8]) -> u32 {
    let heard = talk.say(&option(number, data));
    let replies = Reader(&heard).option_replies();
    assert_eq!((replies.len(), replies[0].option), (1, number));
    replies[0].kind
}

/// A client whose TLS stands.
fn secured() -> Talk {
    let mut talk = Talk::before_tls(MODERN);
    assert_eq!(reply(&mut talk, STARTTLS, &[]), ACK);
    talk.session.secured();
    talk
}

#[test]
fn before_tls_nothing_is_told_and_nothing_chosen() {
    let mut talk = Talk::before_tls(MODERN);
    let contexts = contexts("disk", &["base:allocation"]);
    let chosen = choice("disk", &[]);
    for (number, data) in [
        (3, &[][..]),
        (6, &chosen),
        (7, &chosen),
        (8, &[]),
        (9, &contexts),
        (10, &contexts),
        (99, &[]),
    ] {
        assert_eq!(reply(&mut talk, number, data), TLS_REQUIRED, "option {number}");
    }
    assert!(talk.session.is_negotiating() && !talk.session.is_securing());
    assert_eq!(reply(&mut talk, STARTTLS, b"x"), INVALID);
    assert_eq!(reply(&mut talk, 2, &[]), ACK);
    assert!(talk.closed_by_request());
}

/// It has no room for an error, so that the connection ends.
#[test]
fn the_old_way_of_choosing_ends_the_connection() {
    for flags in [0, MODERN] {
        let mut talk = Talk::before_tls(flags);
        talk.session.receive(&option(1, b"disk"), &Shop, &mut talk.out);
        assert_eq!(talk.out.close, Some(Close::Violated(Violation::BeforeTls)));
    }
}

/// What stands right behind the option is TLS for its owner, and never an option: who sits between client and server could slip
/// some in.
#[test]
fn what_follows_is_not_read_as_options() {
    let mut talk = Talk::before_tls(MODERN);
    let starttls = option(STARTTLS, &[]);
    let slipped_in = option(8, &[]);
    let said = [&starttls[..], &slipped_in].concat();
    assert_eq!(talk.session.receive(&said, &Shop, &mut talk.out), starttls.len());
    assert!(talk.session.is_securing() && talk.session.is_negotiating());
    assert_eq!((talk.session.want(), talk.session.in_flight()), (0, 0));
    assert_eq!(talk.session.receive(&slipped_in, &Shop, &mut talk.out), 0);
    assert_eq!(Reader(&talk.heard()).option_replies().len(), 1, "one ACK");
}

#[test]
fn behind_tls_everything_goes_on_as_ever_and_tls_is_not_begun_again() {
    let mut talk = secured();
    assert_eq!(reply(&mut talk, STARTTLS, &[]), INVALID);
    assert_eq!(
        reply(&mut talk, 10, &contexts("disk", &["base:allocation"])),
        INVALID,
        "8 comes first"
    );
    assert_eq!(reply(&mut talk, 8, &[]), ACK);
    talk.say(&option(7, &choice("disk", &[])));
    assert!(!talk.session.is_negotiating(), "the export is chosen");
    // The client's flags hold from before: no zeroes follow the old way's answer.
    assert_eq!(secured().say(&option(1, b"disk")).len(), 10);
}
