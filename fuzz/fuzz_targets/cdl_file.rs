//! The reader of `.cdl` files: `cargo +nightly fuzz run cdl_file`.
//!
//! What must hold stands in `core/device/tests/cdl/feed.rs`, which a normal test runs too.

#![no_main]

#[path = "../../core/device/tests/cdl/feed.rs"]
#[expect(dead_code, reason = "the target for pages and logs feeds the other readers")]
mod feed;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    feed::file(bytes);
});
