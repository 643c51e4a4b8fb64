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
mod report;
mod superblocks;
mod tree;
mod values;
mod words;

pub use finding::{CellFault, ImageFinding, PageOwner, RecordFault, Remark, StoreFinding};
pub use log_reader::{LogEnd, LogReader};
pub use read_at::{InMemory, ReadAt};
pub use report::{CheckReport, ContentTotals};
pub use superblocks::{SuperblockSlot, newest, slots};

use super::contents::Carried;
use super::superblock::Superblock;
use std::ops::Range;

/// Checks everything on these devices.
pub fn check(devices: &dyn ReadAt) -> CheckReport {
    let mut report = CheckReport::default();
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

/// Checks what the last completed checkpoint has left: superblocks, tree, cells, free map, and not the log. A store that runs may be
/// looked at so while it begins no checkpoint ([`PagedStore::hold_checkpoints`](super::PagedStore::hold_checkpoints)): only the log is
/// written meanwhile.
pub fn check_pages(devices: &dyn ReadAt) -> CheckReport {
    let mut report = CheckReport::default();
    if let Some(superblock) = superblocks::check(devices, &mut report) {
        check_tree(devices, &superblock, &mut report);
    }
    report
}

fn check_contents(devices: &dyn ReadAt, superblock: &Superblock, report: &mut CheckReport) {
    let (used, carried) = check_tree(devices, superblock, report);
    log::check(devices, superblock, (&used, carried), report);
}

/// Every page that the tree and its objects have, and the free map. Answers which pages are used, and how far the tree holds the first transaction
/// of the log, if it does in part.
fn check_tree(
    devices: &dyn ReadAt,
    superblock: &Superblock,
    report: &mut CheckReport,
) -> (Vec<Range<u64>>, Option<Carried>) {
    let mut cells = cells::Cells::new(devices, superblock.layout);
    // Below a damaged node everything would be called missing or leaked.
    let is_whole = tree::check(devices, superblock, &mut cells, report);
    let carried = cells.under_way();
    let (runs, ranges) = cells.finish(is_whole, report);
    let used = ownership::check(runs, ranges, report);
    free_map::check(devices, superblock, &used, is_whole, report);
    (used, carried)
}
