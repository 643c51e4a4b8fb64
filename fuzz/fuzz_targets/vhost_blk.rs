//! Any bytes as requests in the rings of a guest's disk: `cargo +nightly fuzz run vhost_blk`.
//!
//! What must hold stands in `core/wire/tests/vhost/feed.rs`, which a normal test runs too.

#![no_main]

#[path = "../../core/wire/tests/vhost/feed.rs"]
#[allow(dead_code, reason = "the other target runs the rest")]
mod feed;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| feed::guest(bytes));
