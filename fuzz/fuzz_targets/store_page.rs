//! The parser of a page behind its checksum, and edits: `cargo +nightly fuzz run store_page`.
//!
//! What must hold stands in `core/store/tests/format/feed.rs`, which a normal test runs too.

#![no_main]

#[allow(dead_code, reason = "each target feeds one parser")]
#[path = "../../core/store/tests/format/feed.rs"]
mod feed;

use libfuzzer_sys::fuzz_target;
use loadline_store::paged::ids::PageNo;
use loadline_store::paged::page::{self, PageKind};

// The first 4096 bytes are the page, the rest edits. A page that is refused is replaced by an empty leaf, so that edits are
// reached from short inputs too.
fuzz_target!(|bytes: &[u8]| {
    let (page, edits) = bytes.split_at(bytes.len().min(4096));
    feed::page(page, edits);
    let mut leaf = vec![0; 4096];
    page::init(&mut leaf, PageKind::Leaf, PageNo(1));
    feed::page(&leaf, bytes);
});
