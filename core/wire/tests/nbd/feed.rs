//! Any bytes as a client, with what must hold afterwards; also the body of the fuzz target `nbd_session`.

use crate::client::{Answer, MODERN, Reader, choice, contexts, hello, option, request};
use crate::disk::{Disk, Shop};
use loadline_wire::nbd::{
    CommandKind, ConnectionLimits, ExportCommand, NbdReply, NbdSession, SessionOutbox,
};
use loadline_wire::request_room::ROOM_MIN;

const LIMITS: ConnectionLimits = ConnectionLimits { commands: 4, bytes: 64 << 10 };

/// The client's opening: nothing, simple replies, structured ones with metadata, a read-only export.
fn opening(choice_of: u8) -> Vec<u8> {
    let context = contexts("disk", &["base:allocation"]);
    match choice_of % 4 {
        0 => Vec::new(),
        1 => [hello(MODERN), option(1, b"disk")].concat(),
        2 => {
            let options = [option(8, &[]), option(10, &context), option(7, &choice("disk", &[]))];
            [hello(MODERN), options.concat()].concat()
        }
        _ => [hello(MODERN), option(7, &choice("tape", &[]))].concat(),
    }
}

/// Requests that nearly make sense, seven bytes each, numbered by their cookies; also how much each of them reads.
fn script(bytes: &[u8]) -> (Vec<u8>, Vec<usize>) {
    let mut said = Vec::new();
    let mut reads = Vec::new();
    for (cookie, item) in bytes.chunks_exact(7).enumerate() {
        let command = u16::from(item[0] % 10);
        let offset = u64::from(u16::from_be_bytes([item[2], item[3]]));
        let length = u32::from_be_bytes([0, item[4] % 2, item[5], item[6]]);
        said.extend(request(u16::from(item[1]), command, cookie as u64, offset, length));
        if command == 1 {
            said.resize(said.len() + length as usize, item[6]);
        }
        reads.push(if command == 0 { length as usize } else { 0 });
    }
    (said, reads)
}

/// The same of a client that has to begin with TLS, whose TLS changes nothing.
fn through_tls(opening: Vec<u8>) -> Vec<u8> {
    match opening.split_at_checked(4) {
        Some((hello, rest)) => [hello, &option(5, &[]), rest].concat(),
        None => opening,
    }
}

/// What there is between a client and its session, and whether that has room for little.
#[derive(Clone, Copy)]
struct Way {
    tls: bool,
    is_short: bool,
}

/// A client that says `opening`, then `bytes` as they are or as a script, in pieces of one size.
pub(crate) fn client(bytes: &[u8]) {
    let [mode, piece, rest @ ..] = bytes else { return };
    let way = Way { tls: mode & 8 != 0, is_short: mode & 16 != 0 };
    let opening = if way.tls { through_tls(opening(*mode)) } else { opening(*mode) };
    let piece = usize::from(*piece) + 1;
    if mode & 4 == 0 {
        converse(&[&opening, rest].concat(), piece, way);
        return;
    }
    let (said, reads) = script(rest);
    let all = converse(&[&opening[..], &said].concat(), piece, way);
    let heard_before = converse(&opening, opening.len().max(1), way).len();
    if mode % 4 != 0 {
        check_answers(&all[heard_before..], &reads);
    }
}

/// Every answer is a message, and none has a cookie that was not sent.
fn check_answers(heard: &[u8], reads: &[usize]) {
    let mut reader = Reader(heard);
    while !reader.0.is_empty() {
        let (Answer::Simple { cookie, .. } | Answer::Chunk { cookie, .. }) =
            reader.answer(|cookie| reads[cookie as usize]);
        assert!((cookie as usize) < reads.len(), "an answer to nothing");
    }
}

/// Says everything in pieces to a session whose owner answers, latest command first, only when it must. Returns
/// what was heard.
fn converse(said: &[u8], piece: usize, way: Way) -> Vec<u8> {
    let mut out = SessionOutbox::default();
    let mut session = match way.tls {
        true => NbdSession::behind_tls(LIMITS, &mut out),
        false => NbdSession::new(LIMITS, &mut out),
    };
    let mut disk = Disk::new();
    let mut commands = Vec::new();
    let mut heard = Vec::new();
    let mut rest = said;
    loop {
        if way.is_short {
            let held: u64 = commands.iter().map(|command: &ExportCommand| command.holds).sum();
            session.set_room(ROOM_MIN.saturating_sub(held + session.held()), &mut out);
        }
        let next = &rest[..rest.len().min(piece)];
        rest = &rest[session.receive(next, &Shop, &mut out)..];
        if session.is_securing() {
            session.secured();
        }
        commands.append(&mut out.commands);
        check_bounds(&session, &out, &commands);
        if !rest.is_empty() && session.want() > 0 {
            continue;
        }
        let Some(command) = commands.pop() else {
            let queued = std::mem::take(&mut out.send).concat();
            session.sent(queued.len() as u64);
            heard.extend(queued);
            let waits = session.waits_for_room();
            if rest.is_empty() && !waits || out.close.is_some() {
                return heard;
            }
            assert!(
                session.want() > 0 || waits && way.is_short,
                "nothing in flight, nothing unsent, and yet it takes nothing"
            );
            continue;
        };
        let result = Ok(disk.carry_out(&command));
        session.finish(NbdReply { id: command.id, result }, &mut out);
    }
}

fn check_bounds(session: &NbdSession, out: &SessionOutbox, commands: &[ExportCommand]) {
    assert!(commands.len() <= LIMITS.commands);
    assert!(out.close.is_some() || session.in_flight() == commands.len());
    let payload = |command: &ExportCommand| match &command.kind {
        CommandKind::Write(data) => data.capacity(),
        _ => 0,
    };
    let held: usize = commands.iter().map(payload).sum();
    let queued: usize = out.send.iter().map(Vec::len).sum();
    assert!((held + queued) as u64 <= LIMITS.memory_max());
}
