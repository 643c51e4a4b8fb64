#![no_main]
//! Any bytes as a client of the admin socket or of the page: no panic, every command can be answered, and fragments make no difference.

use libfuzzer_sys::fuzz_target;
use loadline_host::admin::api::{AdminAnswer, Done};
use loadline_host::admin::{Audience, HttpOutbox, HttpSession};

/// What a session says to bytes that come in pieces, each command answered at once.
fn answered<'a>(
    is_page: bool,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<u8>, usize, bool) {
    let audience = if is_page { Audience::Page("t".into()) } else { Audience::Operator };
    let (mut session, mut out) = (HttpSession::new(audience), HttpOutbox::default());
    let (mut count, mut sent) = (0, Vec::new());
    for piece in pieces {
        session.receive(piece, &mut out);
        loop {
            while let Some((id, _)) = out.commands.pop() {
                session.answer(id, &Ok(AdminAnswer::Done(Done {})), &mut out);
                count += 1;
            }
            if out.send.is_empty() {
                break;
            }
            sent.append(&mut out.send);
            session.resume(&mut out);
        }
    }
    (sent, count, out.close)
}

fuzz_target!(|input: (u8, &[u8])| {
    let (size, bytes) = input;
    let is_page = size % 2 == 1;
    let whole = answered(is_page, [bytes].into_iter());
    let pieces = answered(is_page, bytes.chunks(usize::from(size) + 1));
    assert_eq!(whole, pieces);
});
