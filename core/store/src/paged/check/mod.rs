//! The offline checker: reads a store's devices as they lie there and says everything that is wrong with them.
//!
//! It shares the formats' decoders with the store and nothing else: no cache, no time, no requests. What it proves of a
//! store without a begun checkpoint: there is a newest superblock; every page of the tree is whole, in its place and in order;
//! every cell means something; every page of object data has its checksum; every page has the owners it is said to
//! have, and the free map has exactly those; the log's records decode up to the log's end. Of a store in which a
//! checkpoint has begun, whose pages may be torn, it proves instead that the images are there which make it whole.
//!
//! Reading order: `superblocks`, `tree`, `cells` with `values` and `objects`, `ownership`, `free_map`, `log`, `images`.

mod cells;
mod finding;
mod free_map;
mod images;
mod log;
mod log_reader;
mod objects;
mod ownership;
mod read_at;
mod superblocks;
mod tree;
mod values;
mod words;

pub use finding::{CellFault, Finding, ImageFinding, Owner, RecordFault, Remark};
pub use log_reader::{LogEnd, LogReader};
pub use read_at::{InMemory, ReadAt};
pub use superblocks::{Slot, newest, slots};

use super::ids::PageNo;
use super::layout::Layout;
use super::superblock::Superblock;

/// Findings that are kept; a store that has more is no better known by more.
const FINDINGS_MAX: usize = 1000;

/// What the checker found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What is wrong, at most a thousand.
    pub findings: Vec<Finding>,
    /// How many more there were.
    pub more: u64,
    /// What a crash leaves behind and a restart mends.
    pub remarks: Vec<Remark>,
    /// What there is.
    pub totals: Totals,
}

/// What a store holds, as far as it could be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
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

impl Report {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    fn find(&mut self, finding: Finding) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding);
        } else {
            self.more += 1;
        }
    }
}

/// Checks everything on these devices.
pub fn check(devices: &dyn ReadAt) -> Report {
    let mut report = Report::default();
    let Some(superblock) = superblocks::check(devices, &mut report) else { return report };
    match superblock.begun {
        Some(begun) => {
            report.remarks.push(Remark::Begun { checkpoint: begun.state.id });
            images::check(devices, &superblock, &begun, &mut report);
        }
        None => check_contents(devices, &superblock, &mut report),
    }
    report
}

fn check_contents(devices: &dyn ReadAt, superblock: &Superblock, report: &mut Report) {
    let mut cells = cells::Cells::new(devices, superblock.layout);
    // Below a damaged node everything would be called missing or leaked.
    let is_whole = tree::check(devices, superblock, &mut cells, report);
    let (runs, ranges) = cells.finish(is_whole, report);
    let used = ownership::check(runs, ranges, report);
    free_map::check(devices, superblock, &used, is_whole, report);
    log::check(devices, superblock, &used, report);
}

/// Where a page stands on the data device; a page that cannot be there at all has no smaller place.
fn offset(layout: &Layout, page: PageNo) -> u64 {
    page.0.saturating_mul(layout.page.bytes() as u64)
}
