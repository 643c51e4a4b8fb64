//! The parser of a superblock: `cargo +nightly fuzz run store_superblock`.
//!
//! What must hold stands in `core/store/tests/format/feed.rs`, which a normal test runs too.

#![no_main]

#[allow(dead_code, reason = "each target feeds one parser")]
#[path = "../../core/store/tests/format/feed.rs"]
mod feed;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| feed::superblock(bytes));
