//! Any bytes as a client of Redis' protocol: `cargo +nightly fuzz run resp_requests corpus/resp_requests seeds/resp_requests`.
//!
//! What must hold stands in `core/wire/tests/resp/feed.rs`, which a normal test runs too.

#![no_main]

#[path = "../../core/wire/tests/resp/feed.rs"]
mod feed;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| feed::connection(bytes));
