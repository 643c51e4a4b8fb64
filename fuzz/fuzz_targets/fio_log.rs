//! The reader of fio's logs: `cargo +nightly fuzz run fio_log`.
//!
//! What must hold stands in `lab/fio/tests/log/feed.rs`, which a normal test runs too.

#![no_main]

#[path = "../../lab/fio/tests/log/feed.rs"]
mod feed;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    feed::log(bytes);
});
