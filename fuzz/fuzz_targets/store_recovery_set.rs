//! The parser of the image set in the recovery area: `cargo +nightly fuzz run store_recovery_set`.
//!
//! What must hold stands in `core/store/tests/format/feed.rs`, which a normal test runs too.

#![no_main]

#[allow(dead_code, reason = "each target feeds one parser")]
#[path = "../../core/store/tests/format/feed.rs"]
mod feed;

use libfuzzer_sys::fuzz_target;

// The first two bytes are the length of the pieces in which the set is fed.
fuzz_target!(|bytes: &[u8]| {
    if let Some((piece, set)) = bytes.split_first_chunk() {
        feed::images(set, usize::from(u16::from_le_bytes(*piece)));
    }
});
