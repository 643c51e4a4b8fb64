//! The parsers of the log and its witness: `cargo +nightly fuzz run store_log`.
//!
//! What must hold stands in `core/store/tests/format/feed.rs`, which a normal test runs too.

#![no_main]

#[allow(dead_code, reason = "each target feeds one parser")]
#[path = "../../core/store/tests/format/feed.rs"]
mod feed;

use libfuzzer_sys::fuzz_target;
use loadline_store::paged::ids::Lsn;
use loadline_store::paged::log::{Log, RecordKind};

// The bytes as they are, which hardly ever have a checksum that fits, and as the body of a record that has one.
fuzz_target!(|bytes: &[u8]| {
    feed::log(bytes, 0);
    feed::log_witness(bytes);
    let body = &bytes[..bytes.len().min(feed::RING.body_max())];
    for kind in [RecordKind::Transaction, RecordKind::Image, RecordKind::Edits] {
        let mut log = Log::resume(feed::RING, Lsn(0), Lsn(0), 0, Vec::new());
        log.append(kind, body);
        let write = log.next_last_write().expect("something was appended");
        assert_eq!(feed::log(&write.data, 0), 2, "the segment's record and this one");
    }
});
