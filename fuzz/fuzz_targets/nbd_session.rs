//! Any bytes as an NBD client: `cargo +nightly fuzz run nbd_session`.
//!
//! What must hold stands in `core/wire/tests/nbd/feed.rs`, which a normal test runs too.

#![no_main]

#[allow(dead_code, reason = "the tests use more of the naive client")]
#[path = "../../core/wire/tests/nbd/client.rs"]
mod client;
#[path = "../../core/wire/tests/nbd/disk.rs"]
mod disk;
#[path = "../../core/wire/tests/nbd/feed.rs"]
mod feed;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| feed::client(bytes));
