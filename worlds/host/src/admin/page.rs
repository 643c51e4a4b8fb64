//! What is answered at the page's port: the page with its parts, the live view, metrics, and with the token the few commands for which
//! the page has buttons. Everything else belongs to the admin socket, whose file mode is its access control.
//!
//! A browser is a guest that others can talk into asking things: so a request must name this machine as its host (no other site's name may
//! be bound to it), and what changes anything must carry the token in a header, which no other site can make a browser send. The admin socket has
//! the page too, for who carries it to a browser through a tunnel; there is no token there, and so a browser may look and no more.

use super::api::{AdminRefusal, Command, ScrubHow, Who};
use super::head::{HttpHead, SessionBounds};
use super::route::{self, Method};
use std::sync::Arc;

/// Who asks on a connection.
#[derive(Clone, Debug)]
pub enum Audience {
    /// Who may do everything: the admin socket.
    Operator,
    /// Who may look, and with this token a little more: the page.
    Page(Arc<str>),
}

impl Audience {
    pub(super) const fn bounds(&self) -> SessionBounds {
        match self {
            Audience::Operator => {
                SessionBounds { head_bytes: 64 << 10, body_bytes: 1 << 20, open: 16 }
            }
            Audience::Page(_) => {
                SessionBounds { head_bytes: 16 << 10, body_bytes: 4 << 10, open: 1 }
            }
        }
    }
}

/// A file of the page.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageFile {
    pub(super) content_type: &'static str,
    pub(super) bytes: &'static [u8],
}

/// What a request is for.
#[derive(Debug)]
pub(super) enum Asked {
    Command(Command),
    File(PageFile),
    /// The live view, second by second, until somebody ends it.
    Stream,
}

/// Where the stream is.
const STREAM: &str = "/live/events";

const FILES: [(&str, PageFile); 4] = [
    (
        "/",
        PageFile {
            content_type: "text/html; charset=utf-8",
            bytes: include_bytes!("page/index.html"),
        },
    ),
    (
        "/live.css",
        PageFile {
            content_type: "text/css; charset=utf-8",
            bytes: include_bytes!("page/live.css"),
        },
    ),
    (
        "/charts.js",
        PageFile {
            content_type: "text/javascript; charset=utf-8",
            bytes: include_bytes!("page/charts.js"),
        },
    ),
    (
        "/live.js",
        PageFile {
            content_type: "text/javascript; charset=utf-8",
            bytes: include_bytes!("page/live.js"),
        },
    ),
];

/// What may be changed by the page: options whose change ends nothing and loses nothing.
const OPTIONS: [&str; 3] = ["osd_mclock_profile", "noscrub", "nodeep-scrub"];

impl Audience {
    /// What a request asks of somebody with these rights.
    ///
    /// # Errors
    /// A refusal that says what is wrong, or what it takes.
    pub(super) fn asked(&self, head: &HttpHead, body: &[u8]) -> Result<Asked, AdminRefusal> {
        self.lets_in(head)?;
        if head.method == Method::Get && head.target == STREAM {
            return Ok(Asked::Stream);
        }
        let file = FILES.iter().find(|(path, _)| *path == head.target);
        if let Some((_, file)) = file.filter(|_| head.method == Method::Get) {
            return Ok(Asked::File(*file));
        }
        let command = route::command(head.method, &head.target, body)?;
        match (self, right_of(&command)) {
            (_, Right::Look) => Ok(Asked::Command(command)),
            (Audience::Operator, _) if !head.is_a_browsers => Ok(Asked::Command(command)),
            (Audience::Operator, _) => {
                Err(AdminRefusal::forbidden("a browser may only look at the admin socket")
                    .wants("the page's port, of `loadline serve --page`, or `loadline` itself"))
            }
            (Audience::Page(token), Right::Act) => match head.token.as_deref() {
                Some(told) if is_same(told, token) => Ok(Asked::Command(command)),
                _ => Err(AdminRefusal::forbidden("this takes the page's token").wants(
                    "the header `Authorization: Bearer TOKEN`; `loadline page` shows the token",
                )),
            },
            (Audience::Page(_), Right::None) => {
                Err(AdminRefusal::forbidden("this cannot be asked at the page's port")
                    .wants("the admin socket"))
            }
        }
    }

    /// Refuses a browser that was led here by another name.
    fn lets_in(&self, head: &HttpHead) -> Result<(), AdminRefusal> {
        let may_be_led = matches!(self, Audience::Page(_)) || head.is_a_browsers;
        match may_be_led && !is_this_machine(&head.host) {
            true => Err(AdminRefusal::forbidden("the page is this machine's alone")
                .wants("a request for localhost, 127.0.0.1 or [::1]")),
            false => Ok(()),
        }
    }
}

/// What a command takes at the page.
enum Right {
    Look,
    Act,
    None,
}

fn right_of(command: &Command) -> Right {
    match command {
        Command::Metrics | Command::Live | Command::Status => Right::Look,
        Command::Scrub { how: ScrubHow::Scrub | ScrubHow::DeepScrub, .. } => Right::Act,
        Command::ConfigSet { who: Who::Osds, option, .. }
        | Command::ConfigRemove { who: Who::Osds, option, .. }
            if OPTIONS.contains(&option.as_str()) =>
        {
            Right::Act
        }
        _ => Right::None,
    }
}

/// Whether a header `Host` names this machine by what no name service can change.
fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    name.eq_ignore_ascii_case("localhost") || name == "[::1]" || is_loopback(name)
}

fn is_loopback(name: &str) -> bool {
    name.parse().is_ok_and(|address: std::net::Ipv4Addr| address.is_loopback())
}

/// Compares all of both, however early they differ: how long it takes tells nobody how much of a guess was right.
fn is_same(told: &str, token: &str) -> bool {
    let differs =
        told.bytes().zip(token.bytes()).fold(0, |differs, (one, other)| differs | (one ^ other));
    told.len() == token.len() && differs == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_meant() {
        for host in ["127.0.0.1:7480", "localhost", "LOCALHOST:1", "[::1]:7480", "127.8.9.1"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in
            ["", "evil.example", "127.0.0.1.evil.example:7480", "10.0.0.1", "localhost.evil", "::1"]
        {
            assert!(!is_this_machine(host), "{host}");
        }
    }

    #[test]
    fn a_token_is_right_or_wrong_as_a_whole() {
        assert!(is_same("abc", "abc"));
        for wrong in ["", "ab", "abd", "abcd"] {
            assert!(!is_same(wrong, "abc"), "{wrong}");
        }
    }
}
