//! The reader of fio's job files: `cargo +nightly fuzz run job_file`.
//!
//! What must hold stands in `lab/fio/tests/job/feed.rs`, which a normal test runs too.

#![no_main]

#[path = "../../lab/fio/tests/job/feed.rs"]
mod feed;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    feed::jobs(bytes);
});
