//! What the page's port answers, and what it does not.

use crate::admin::api::{Command, ScrubHow};
use crate::admin::{Audience, HttpOutbox, HttpSession, UNSENT_MAX};

const TOKEN: &str = "0123abcd";

/// What somebody at the page's port gets: the commands that are let through, and what is sent at once.
fn asked(request: &str) -> (HttpSession, HttpOutbox) {
    let mut session = HttpSession::new(Audience::Page(TOKEN.into()));
    let mut out = HttpOutbox::default();
    session.receive(request.replace('\n', "\r\n").as_bytes(), &mut out);
    (session, out)
}

fn check_refused(request: &str, code: u16, says: &str) {
    let (_, out) = asked(request);
    let sent = String::from_utf8(out.send).unwrap();
    assert!(out.commands.is_empty(), "{request}: {:?}", out.commands);
    assert!(sent.starts_with(&format!("HTTP/1.1 {code} ")) && sent.contains(says), "{sent}");
}

fn check_commands(request: &str, expected: &[Command]) {
    let (_, out) = asked(request);
    let commands: Vec<Command> = out.commands.into_iter().map(|(_, command)| command).collect();
    assert_eq!(commands, expected, "{}", String::from_utf8_lossy(&out.send));
}

#[test]
fn the_page_comes_with_its_parts_and_from_nowhere_else() {
    for (path, kind) in [
        ("/", "text/html"),
        ("/live.css", "text/css"),
        ("/charts.js", "text/javascript"),
        ("/live.js", "text/javascript"),
    ] {
        let (_, out) = asked(&format!("GET {path} HTTP/1.1\nHost: 127.0.0.1:7480\n\n"));
        let sent = String::from_utf8(out.send).unwrap();
        assert!(sent.starts_with("HTTP/1.1 200 OK\r\n"), "{sent}");
        assert!(sent.contains(&format!("Content-Type: {kind}; charset=utf-8")), "{sent}");
        assert!(sent.contains("Content-Security-Policy: default-src 'self'"), "{sent}");
        assert!(!sent.contains("https://"), "nothing is loaded from elsewhere");
    }
}

/// `GET /` of the admin socket was "no part of a path". What a tunnel brings to a browser can be asked by any site that is open there.
#[test]
fn a_browser_at_the_admin_socket_may_look() {
    let asked = |request: &str| {
        let mut session = HttpSession::new(Audience::Operator);
        let mut out = HttpOutbox::default();
        session.receive(request.replace('\n', "\r\n").as_bytes(), &mut out);
        (String::from_utf8_lossy(&out.send).into_owned(), out.commands.len())
    };
    let (page, _) = asked("GET / HTTP/1.1\nHost: node\n\n");
    assert!(page.contains("Content-Type: text/html") && page.contains("/live.js"), "{page}");
    let browser = "Host: localhost:7480\nUser-Agent: Mozilla/5.0 (X11)\n";
    for path in ["/", "/live.css", "/charts.js", "/live.js"] {
        assert!(
            asked(&format!("GET {path} HTTP/1.1\n{browser}\n")).0.contains(" 200 OK"),
            "{path}"
        );
    }
    for path in ["/live", "/status", "/metrics"] {
        assert_eq!(asked(&format!("GET {path} HTTP/1.1\n{browser}\n")).1, 1, "{path}");
    }
    let stop = |headers: &str| asked(&format!("POST /shutdown HTTP/1.1\n{headers}\n"));
    assert_eq!(stop("Host: node\n").1, 1, "a program may do everything");
    for marks in
        [browser, "Host: localhost\nOrigin: null\n", "Host: localhost\nSec-Fetch-Site: none\n"]
    {
        let (refused, commands) = stop(marks);
        assert!(commands == 0 && refused.contains("a browser may only look"), "{refused}");
    }
    let led = "GET /status HTTP/1.1\nHost: evil.example\nUser-Agent: Mozilla/5.0\n\n";
    assert!(asked(led).0.contains("this machine's alone"), "{}", asked(led).0);
}

#[test]
fn who_looks_needs_no_token() {
    let get = |path| format!("GET {path} HTTP/1.1\nHost: localhost:7480\n\n");
    check_commands(&get("/metrics"), &[Command::Metrics]);
    check_commands(&get("/live"), &[Command::Live]);
    check_refused(&get("/osd"), 403, "the admin socket");
    check_refused(&get("/nothing"), 404, "there is no GET /nothing");
}

#[test]
fn a_name_that_others_can_bind_is_refused() {
    check_refused("GET / HTTP/1.1\nHost: evil.example\n\n", 403, "this machine's alone");
    check_refused("GET /live/events HTTP/1.1\n\n", 403, "this machine's alone");
    check_refused("GET /metrics HTTP/1.1\nHost: 10.0.0.7:7480\n\n", 403, "this machine's alone");
}

#[test]
fn what_changes_something_takes_the_token() {
    let scrub =
        |token: &str| format!("POST /scrub/deep-scrub/osd.1 HTTP/1.1\nHost: localhost\n{token}\n");
    check_refused(&scrub(""), 403, "takes the page's token");
    check_refused(&scrub("Authorization: Bearer 0123abce\n"), 403, "takes the page's token");
    check_refused(&scrub("Authorization: Basic 0123abcd\n"), 403, "takes the page's token");
    let command = Command::Scrub { how: ScrubHow::DeepScrub, what: "osd.1".into() };
    check_commands(&scrub("Authorization: Bearer 0123abcd\n"), &[command]);
    let head = format!("HTTP/1.1\nHost: localhost\nAuthorization: Bearer {TOKEN}\n");
    for (request, body) in [
        ("POST /shutdown", ""),
        ("PUT /osd/0/down", ""),
        ("POST /scrub/repair/osd.1", ""),
        ("DELETE /image/vol0?yes=true", ""),
        ("PUT /config/osd.0/noscrub", "{\"value\":\"1\"}"),
        ("PUT /config/osd/osd_max_backfills", "{\"value\":\"1\"}"),
    ] {
        let request = format!("{request} {head}Content-Length: {}\n\n{body}", body.len());
        check_refused(&request, 403, "the admin socket");
    }
}

#[test]
fn a_stream_goes_on_until_its_connection_ends() {
    let stream = "GET /live/events HTTP/1.1\nHost: localhost\n\n";
    let (mut session, mut out) = asked(&format!("{stream}{stream}"));
    let head = String::from_utf8(std::mem::take(&mut out.send)).unwrap();
    assert!(head.contains("Content-Type: text/event-stream\r\n"), "{head}");
    assert_eq!(head.matches("HTTP/1.1").count(), 1, "what follows is not read");
    assert!(session.streams() && !session.is_idle() && !out.close);
    session.event("{}", &mut out);
    assert_eq!(out.send, b"data: {}\n\n");
    let behind = format!("GET /live HTTP/1.1\nHost: localhost\n\n{stream}");
    let (session, out) = asked(&behind);
    assert!(!session.streams() && out.send.is_empty(), "an answer before it is still owed");
}

/// A client that asked for files without end and read none had them all in memory.
#[test]
fn what_is_answered_at_once_waits_for_what_was_answered_before() {
    let files = "GET /live.js HTTP/1.1\nHost: localhost\n\n".repeat(1_000);
    let (mut session, mut out) = asked(&files);
    let (mut answers, mut most) = (0, 0);
    while !out.send.is_empty() {
        most = most.max(out.send.len());
        answers += String::from_utf8_lossy(&out.send).matches("HTTP/1.1 200").count();
        out.send.clear();
        session.resume(&mut out);
    }
    assert_eq!(answers, 1_000);
    assert!(most < UNSENT_MAX + (32 << 10), "{most}");
}

#[test]
fn a_page_holds_less_than_an_operator() {
    check_refused(
        &format!("GET / HTTP/1.1\nHost: localhost\nA: {}\n\n", "x".repeat(17 << 10)),
        400,
        "at most 16384 bytes",
    );
    check_refused(
        "POST /x HTTP/1.1\nHost: localhost\nContent-Length: 4097\n\n",
        400,
        "at most 4096 bytes",
    );
    let (session, out) = asked(&"GET /live HTTP/1.1\nHost: localhost\n\n".repeat(9));
    assert_eq!((out.commands.len(), session.is_full()), (1, true));
}
