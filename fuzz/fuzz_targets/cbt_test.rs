//! The readers of CBT's recovery tests and of the configurations beside them: `cargo +nightly fuzz run cbt_test corpus/cbt_test seeds/cbt_test`.
//!
//! What must hold stands in `lab/cbt/tests/reader/feed.rs`, which a normal test runs too. Its seeds are that test's, `lab/cbt/tests/data`.

#![no_main]

#[path = "../../lab/cbt/tests/reader/feed.rs"]
mod feed;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    feed::anything(bytes);
});
