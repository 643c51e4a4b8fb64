//! The stream of a database's backup: `cargo +nightly fuzz run kv_backup corpus/kv_backup seeds/kv_backup`.
//!
//! What must hold stands in `worlds/kv/tests/backup/feed.rs`, which a normal test runs too.

#![no_main]

#[path = "../../worlds/kv/tests/backup/feed.rs"]
mod feed;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    feed::stream(bytes);
});
