#![no_main]
//! Any bytes as a client of the admin socket: no panic, every command can be answered, and fragments make no difference.

use libfuzzer_sys::fuzz_target;
use loadline_host::admin::api::{AdminAnswer, Done};
use loadline_host::admin::{HttpOutbox, HttpSession};

/// What a session says to bytes that come in pieces, each command answered at once.
fn answered<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<u8>, usize, bool) {
    let (mut session, mut out) = (HttpSession::new(), HttpOutbox::default());
    let mut count = 0;
    for piece in pieces {
        session.receive(piece, &mut out);
        while let Some((id, _)) = out.commands.pop() {
            session.answer(id, &Ok(AdminAnswer::Done(Done {})), &mut out);
            count += 1;
        }
    }
    (out.send, count, out.close)
}

fuzz_target!(|input: (u8, &[u8])| {
    let (size, bytes) = input;
    let whole = answered([bytes].into_iter());
    let pieces = answered(bytes.chunks(usize::from(size) + 1));
    assert_eq!(whole, pieces);
});
