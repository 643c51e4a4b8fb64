//! What the checker tells: its findings, and what a store holds.

use super::finding::{Remark, StoreFinding};
use crate::paged::ids::PageNo;
use crate::paged::layout::Layout;

/// Findings that are kept; a store that has more is no better known by more.
const FINDINGS_MAX: usize = 1000;

/// What the checker found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// What is wrong, at most a thousand.
    pub findings: Vec<StoreFinding>,
    /// How many more there were.
    pub more: u64,
    /// What a crash leaves behind and a restart mends.
    pub remarks: Vec<Remark>,
    /// What there is.
    pub totals: ContentTotals,
}

/// What a store holds, as far as it could be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContentTotals {
    /// Tree pages with children.
    pub inner_pages: u64,
    /// Tree pages with keys.
    pub leaf_pages: u64,
    /// Pages of object data, a shared one counted once.
    pub data_pages: u64,
    /// Of those, the ones that several objects own.
    pub shared_pages: u64,
    /// Pages that the free map calls free.
    pub free_pages: u64,
    /// Users' keys.
    pub keys: u64,
    /// Bytes of their values.
    pub value_bytes: u64,
    /// Objects.
    pub objects: u64,
    /// Sum of the objects' lengths.
    pub object_bytes: u64,
    /// Attributes of objects.
    pub attributes: u64,
    /// Extents of objects.
    pub extents: u64,
    /// Records that a restart would read.
    pub log_records: u64,
    /// Transactions among them.
    pub log_transactions: u64,
    /// Bytes of log from the last completed checkpoint to the log's end.
    pub log_bytes: u64,
    /// Images of the begun checkpoint, if there is one.
    pub images: u64,
}

impl CheckReport {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    pub(super) fn find(&mut self, finding: StoreFinding) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding);
        } else {
            self.more += 1;
        }
    }
}

/// Where a page stands on the data device; a page that cannot be there at all has no smaller place.
pub(super) fn offset(layout: &Layout, page: PageNo) -> u64 {
    page.0.saturating_mul(layout.page.bytes() as u64)
}
