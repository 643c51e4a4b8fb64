//! The readers of mode pages and of ATA log pages with descriptors: `cargo +nightly fuzz run mode_page`.
//!
//! What must hold stands in `core/device/tests/cdl/feed.rs`, which a normal test runs too.

#![no_main]

#[path = "../../core/device/tests/cdl/feed.rs"]
mod feed;

use libfuzzer_sys::fuzz_target;

// Sizes decide between the two, so each gets every input.
fuzz_target!(|bytes: &[u8]| {
    feed::mode_page(bytes);
    feed::ata_log(bytes);
});
