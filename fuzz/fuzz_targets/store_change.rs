//! The parser of a transaction's changes: `cargo +nightly fuzz run store_change`.
//!
//! What must hold stands in `core/store/tests/format/feed.rs`, which a normal test runs too.

#![no_main]

#[allow(dead_code, reason = "each target feeds one parser")]
#[path = "../../core/store/tests/format/feed.rs"]
mod feed;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| feed::change(bytes));
