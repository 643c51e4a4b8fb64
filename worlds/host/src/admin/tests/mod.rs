//! The protocol from both sides: each command there and back, sessions under any fragmentation, a client on a socket.

mod answers;
mod client;
mod commands;
mod page;
mod session;

use super::api::Command;
use super::{Audience, HttpOutbox, HttpSession, client as client_side};

/// The bytes with which the client asks.
fn asked(command: &Command) -> Vec<u8> {
    client_side::encode("application/json", &command.request())
}

/// What a new session makes of bytes that come at once.
fn received(bytes: &[u8]) -> (HttpSession, HttpOutbox) {
    let (mut session, mut out) = (HttpSession::new(Audience::Operator), HttpOutbox::default());
    session.receive(bytes, &mut out);
    (session, out)
}
