//! The reader of the durable map: `cargo +nightly fuzz run map_record`.
//!
//! What must hold stands in `core/cluster/tests/map/feed.rs`, which a normal test runs too.

#![no_main]

#[path = "../../core/cluster/tests/map/feed.rs"]
mod feed;

use libfuzzer_sys::fuzz_target;

// The bytes as they are, and as the body of a record whose checksum fits.
fuzz_target!(|bytes: &[u8]| {
    feed::map(bytes);
});
