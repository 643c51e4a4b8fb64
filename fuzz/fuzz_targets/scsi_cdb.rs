//! Any bytes as commands and mode parameters of a host: `cargo +nightly fuzz run scsi_cdb`.
//!
//! What must hold stands in `core/scsi/tests/disk/feed.rs`, which a normal test runs too.

#![no_main]

#[path = "../../core/scsi/tests/disk/feed.rs"]
mod feed;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| feed::commands(bytes));
