//! Sessions: fragments, order, bounds, and what is refused.

use super::commands::every_command;
use super::{asked, received};
use crate::admin::api::{AdminAnswer, AdminRefusal, Command, Done};
use crate::admin::{Audience, HttpOutbox, HttpSession};
use proptest::prelude::*;

/// Answers whatever has come out, each with the number of its command, in the order of `reversed`.
fn answer_all(session: &mut HttpSession, out: &mut HttpOutbox, reversed: bool) -> Vec<Command> {
    let mut seen = Vec::new();
    while !out.commands.is_empty() {
        let mut commands = std::mem::take(&mut out.commands);
        seen.extend(commands.iter().map(|(_, command)| command.clone()));
        if reversed {
            commands.reverse();
        }
        for (id, command) in commands {
            let refusal = AdminRefusal::conflict(format!("{command:?}"));
            session.answer(id, &Err(refusal), out);
        }
    }
    seen
}

/// A whole conversation: what came out as commands, and all bytes that were sent.
fn conversation<'a>(
    pieces: impl Iterator<Item = &'a [u8]>,
    reversed: bool,
) -> (Vec<Command>, Vec<u8>, bool) {
    conversation_with(Audience::Operator, pieces, reversed)
}

/// The same with somebody of these rights.
fn conversation_with<'a>(
    audience: Audience,
    pieces: impl Iterator<Item = &'a [u8]>,
    reversed: bool,
) -> (Vec<Command>, Vec<u8>, bool) {
    let (mut session, mut out) = (HttpSession::new(audience), HttpOutbox::default());
    let (mut seen, mut sent) = (Vec::new(), Vec::new());
    for piece in pieces {
        session.receive(piece, &mut out);
        seen.extend(answer_all(&mut session, &mut out, reversed));
        while !out.send.is_empty() {
            sent.append(&mut out.send);
            session.resume(&mut out);
            seen.extend(answer_all(&mut session, &mut out, reversed));
        }
    }
    (seen, sent, out.close)
}

#[test]
fn fragments_make_no_difference() {
    let commands = every_command("vol0", "monday");
    let mut bytes: Vec<u8> = commands.iter().flat_map(asked).collect();
    bytes.extend_from_slice(b"GET /nonsense HTTP/1.1\r\nConnection: close\r\n\r\nGET /status");
    let whole = conversation([&bytes[..]].into_iter(), false);
    assert_eq!((&whole.0, whole.2), (&commands, true));
    for size in [1, 2, 7, 1000] {
        assert!(conversation(bytes.chunks(size), false) == whole, "in pieces of {size}");
        assert!(conversation(bytes.chunks(size), true) == whole, "answered backwards, {size}");
    }
}

#[test]
fn answers_wait_for_those_before_them() {
    let request = [asked(&Command::Status), b"GET /no HTTP/1.1\r\n\r\n".into()].concat();
    let (mut session, mut out) = received(&request);
    assert!(out.send.is_empty(), "the second has its answer, the first has not");
    let (id, _) = out.commands[0];
    session.answer(id, &Ok(AdminAnswer::Done(Done {})), &mut out);
    let sent = String::from_utf8(out.send).unwrap();
    let codes: Vec<&str> = sent.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
    assert_eq!(codes, ["200", "404"]);
    assert!(!out.close, "the connection is kept");
}

#[test]
fn a_full_session_reads_on_when_an_answer_has_left() {
    let (mut session, mut out) = received(&asked(&Command::Status).repeat(40));
    assert_eq!((out.commands.len(), session.is_full()), (16, true));
    let (last, _) = out.commands[15];
    session.answer(last, &Ok(AdminAnswer::Done(Done {})), &mut out);
    assert_eq!((out.commands.len(), session.is_full()), (16, true), "its turn has not come");
    let (first, _) = out.commands[0];
    session.answer(first, &Ok(AdminAnswer::Done(Done {})), &mut out);
    assert_eq!((out.commands.len(), session.is_full()), (17, true));
}

#[test]
fn a_client_that_waits_for_leave_gets_it() {
    let head = b"POST /pool HTTP/1.1\r\nContent-Length: 12\r\nExpect: 100-continue\r\n\r\n";
    let (mut session, mut out) = received(head);
    assert_eq!(out.send, b"HTTP/1.1 100 Continue\r\n\r\n");
    session.receive(b"{\"name\":\"p\"}", &mut out);
    assert_eq!(out.commands.len(), 1);
}

#[test]
fn the_end_of_a_connection_follows_its_last_answer() {
    for request in
        ["GET /status HTTP/1.0\r\n\r\n", "GET /status HTTP/1.1\r\nConnection: x, Close\r\n\r\n"]
    {
        let (mut session, mut out) = received(&[request, request].concat().into_bytes());
        assert_eq!((out.commands.len(), out.close), (1, false), "what follows is not read");
        let (id, _) = out.commands[0];
        session.answer(id, &Ok(AdminAnswer::Done(Done {})), &mut out);
        let expected = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\
                        Cache-Control: no-store\r\nConnection: close\r\n\r\n{}\n";
        assert_eq!((String::from_utf8(out.send).unwrap().as_str(), out.close), (expected, true));
    }
}

/// A request that becomes no command: its status code, whether the connection ends, and what the answer says.
fn check_refused(request: &str, code: u16, closes: bool, says: &str) {
    let (_, out) = received(request.as_bytes());
    let sent = String::from_utf8(out.send).unwrap();
    assert!(out.commands.is_empty() && sent.starts_with(&format!("HTTP/1.1 {code} ")), "{sent}");
    assert!(sent.contains(says), "{sent}");
    assert_eq!(out.close, closes, "{request}");
}

#[test]
fn what_is_no_request_ends_the_connection() {
    let check = |request: &str, says| check_refused(request, 400, true, says);
    check("\u{16}\u{3}\u{1}\n", "no request of HTTP/1.1");
    check("GET /status HTTP/2.0\r\n\r\n", "no request of HTTP/1.1");
    check("BREW /pot HTTP/1.1\r\n\r\n", "there is no method BREW");
    check("POST /osd HTTP/1.1\r\nContent-Length: +1\r\n\r\n", "Content-Length is no length");
    check("POST /osd HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n", "the body is too large");
    check(&format!("POST /osd HTTP/1.1\r\nContent-Length: {}0\r\n\r\n", u64::MAX), "too large");
    check("POST /osd HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "differ");
    check("POST /osd HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "transfer encoding");
    check(&"x".repeat((64 << 10) + 1), "the head is too large");
    check(&format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(64 << 10)), "the head is too large");
    check(&format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(65)), "too many headers");
}

#[test]
fn what_cannot_be_meant_is_refused_and_the_connection_goes_on() {
    let check = |request: &str, body: &str, code, says| {
        let length = body.len();
        let request = format!("{request} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}");
        check_refused(&request, code, false, says);
    };
    check("GET /statu", "", 404, "there is no GET /statu");
    check("PUT /status", "", 404, "there is no PUT /status");
    check("GET status", "", 400, "is no path");
    check("GET /status/", "", 400, "an empty name names nothing");
    check("GET /image/%ff", "", 400, "percent-encoded UTF-8");
    check("GET /status", "{}", 400, "GET /status takes no body");
    check("GET /status?x=1", "", 400, "/status takes no query");
    check("GET /config?level=runtime", "", 400, "takes no query");
    check("DELETE /config/osd/x?level=any", "", 400, "is not understood");
    check("GET /config/osd.64", "", 404, "there is no section `osd.64`");
    check("DELETE /osd/64", "", 404, "a number from 0 to 63");
    check("PUT /osd/1/sideways", "", 404, "there is no PUT /osd/1/sideways");
    check("POST /pool", "", 400, "the body of POST /pool cannot be used");
    check("POST /pool", "{\"name\":\"p\",\"pg\":1}", 400, "unknown field `pg`");
    check("PUT /image/v/size", "{\"size_bytes\":-1}", 400, "and not `-1`");
    check("PUT /config/osd/x", "{\"value\":\"1\",\"level\":\"now\"}", 400, "unknown word `now`");
}

proptest! {
    /// Whatever comes in whatever pieces, each command can be answered, and the answers are those to the whole.
    #[test]
    fn anything_may_come(
        pieces in prop::collection::vec(
            prop_oneof![
                "[ -~]{0,12}".prop_map(String::into_bytes),
                Just(b"\r\n".to_vec()),
                Just(b"GET /status HTTP/1.1\r\n".to_vec()),
                Just(b"GET /live/events HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()),
                Just(b"GET /live.js HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()),
                Just(b"PUT /image/v/name HTTP/1.1\r\n".to_vec()),
                Just(b"Content-Length: 12\r\n\r\n{\"name\":\"p\"}".to_vec()),
                prop::collection::vec(any::<u8>(), 0..40),
            ],
            0..30,
        ),
        reversed in any::<bool>(),
        is_page in any::<bool>(),
    ) {
        let whole = pieces.concat();
        let audience = || if is_page { Audience::Page("t".into()) } else { Audience::Operator };
        let in_pieces = pieces.iter().map(Vec::as_slice);
        let (commands, sent, closes) = conversation_with(audience(), in_pieces, reversed);
        prop_assert!(sent.is_empty() || sent.starts_with(b"HTTP/1.1 "));
        let at_once = conversation_with(audience(), [&whole[..]].into_iter(), false);
        prop_assert!((commands, sent, closes) == at_once);
    }
}
