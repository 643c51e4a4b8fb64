//! Every bound of what a store takes, and where each comes from.
//!
//! There are two kinds. What is *asked* is bounded by the layout alone ([`StoreLimits`]), so that whoever asks can know before, and what
//! one life of a store has logged the next one can carry out whatever its cache. What is *held* while it is carried out is bounded by
//! the layout and the cache ([`Room`]). The two do not meet: a transaction that needs more pages than may be held at once goes in
//! steps ([`contents`](super::contents)), so its size in pages is no bound at all, and nothing within the limits is ever refused but
//! for want of space on the device.
//!
//! **A step needs few pages.** Between two marks of a transaction stand at most 8 cells that are put and 2 that are removed: writing
//! one page of a cloned object sets the object's cell; takes one extent away and leaves two parts of it; does the same with the shared
//! range that the page stands in, and sets the page's own; sets the extent of the page's copy; notes the progress. Every cell has a way
//! from the root to its leaf, which may be edited whole, and every cell put may split one node of each level, so a level below
//! the root has at most 10 old nodes and 8 new ones. The root has 3: itself, its other half, and the root above. Five more are the
//! copy, the page it was, and pages of the free map. That is [`unit_pages`].
//!
//! **The tree is not high.** A store whose every page is a leaf has [`levels`] levels if its inner nodes are half full of keys of 40
//! bytes, which is more than objects' keys have. A tree of users' longest keys may be higher: then what a step needs may in theory be more
//! than its bound, and it is refused by name ([`Bound::StepPages`]) if it is more than there is.
//!
//! **A query has no bound.** One that needs more pages than may be kept for it goes in parts, each of which finds at least one cell more:
//! ways to few leaves, far less than what a step needs.
//!
//! **What a tree grows by.** A transaction in steps must come to its end once it has begun, so before its first step its growth is bounded
//! ([`TreeGrowth`]). Say that nodes hold `N` bytes and a transaction puts cells of `b` bytes, with their entries, into them, in whatever order, while
//! others go. A node that holds `u` of them counts as `1 + 4/3 (2u/N - 1)`, or as 1 while it is not half full. Then a byte that is put is worth `8/3N`,
//! and nothing else is worth anything:
//! - A split comes when a node and the new cell together exceed `N`, and leaves halves that differ by one cell at most, which is a quarter of
//!   a node. What the full node counted beyond 1 is then at least what the second half counts.
//! - A merge leaves a third of its node free, so what that counts beyond 1 is less than the node that is given back.
//! - Behind the tree's last key a cell goes alone and the full node stays. The last node of a level therefore counts up to 1 more, for
//!   its first half.
//!
//! So the nodes of a level never are more than they were by more than what was put is worth and what those counted beyond 1 that are put
//! into. A node that inherits the keys of one that became empty was not looked at; what it may count beyond 1 stands for both in
//! what is given back and in the least that each node that is put into counts. Each split puts a cell into the level above: with `E` bytes in it
//! a split costs not 1 but, all levels together, `3N / (3N - 8E)`.
//!
//! Checksums of pages are not put again when an extent is cut: they count where their page's index belongs, whichever leaf has
//! them. A leaf may thus hold one extent's more or less than it counts. Where two of those and an extent's cell are no more than a
//! quarter of a node, which is so from pages of 4 KiB on, the above holds with that; with smaller pages they are put each time.
//!
//! **The cache.** [`cache_least`] is twice the free map, which stays in memory, and twice what a step needs. So three quarters of it, the
//! most that may be dirty, hold a step when nothing else is, and the rest the pages that it only reads.
//!
//! **A restart.** What it holds beside the cache and the bits of what is free is bounded ([`restart_bytes_max`]): it reads its log in pieces, keeps no more of what
//! it finds there than an eighth of the cache twice over, transactions that wait for pages and changes that are gathered, and takes places beside the log as it comes
//! by them.
//!
//! **The log.** A record fits half a segment, a sixteenth of the log, and so three of them fit what is left of a log of four segments when
//! two are taken off for padding: the transaction, and twice its repetition behind a checkpoint's instant while it goes in steps. What
//! `log` protection adds is no bound: an interval whose edits find no room, or would be a larger record than any other may be, goes on
//! without them, and its checkpoint writes the images ([`physical_bytes_max`]).

use super::api::Edit;
use super::exceeded::{Bound, Exceeded};
use super::extent;
use super::ids::{PageNo, PageSize};
use super::keys;
use super::layout::{Layout, SEGMENT_LEAST, SEGMENTS_LEAST};
use super::node::{CHILD, cell_max, entry_bytes, key_max};
use super::page::HEADER;
use loadline_base::Bytes;
use std::collections::BTreeMap;

/// The largest things that a store takes. They follow from its layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreLimits {
    /// Bytes of a key, and of an attribute's name. A key and a piece's number fit into half a cell, so that a piece holds the
    /// other half.
    pub key_bytes: usize,
    /// Bytes of a value: a quarter of a transaction.
    pub value_bytes: usize,
    /// Bytes of a transaction as it stands in the log. Whole pages that go beside the log take 4 each, and some 10 for each
    /// run of them.
    pub transaction_bytes: usize,
    /// Bytes of an attribute's name and value together.
    pub attribute_bytes: usize,
    /// One past the last byte of an object.
    pub object_bytes: u64,
    /// Bytes of one read.
    pub read_bytes: u64,
}

/// The longest value whatever the segment: one op reads it at a time.
const VALUE_MAX: usize = 1 << 20;
/// One past the last byte of any object: page indices stay far from where sums overflow.
pub(crate) const OBJECT_MAX: u64 = 1 << 44;
/// The longest read: its bytes are gathered in memory.
const READ_MAX: u64 = 64 << 20;

/// A value of so many bytes is taken by every store, whatever its layout: the smallest log has four of the smallest segments.
pub const VALUE_LEAST: usize =
    (SEGMENTS_LEAST * SEGMENT_LEAST / TRANSACTIONS_PER_LOG) as usize / VALUES_PER_TRANSACTION;
/// A transaction takes no more of the log than this part of it.
const TRANSACTIONS_PER_LOG: u64 = 16;
/// A value takes no more of a transaction than this part of it.
const VALUES_PER_TRANSACTION: usize = 4;

/// The largest things that a store with this layout takes.
pub fn limits(layout: &Layout) -> StoreLimits {
    let page = layout.page;
    let transaction_bytes =
        (layout.segment_bytes / 2).min(layout.log_bytes / TRANSACTIONS_PER_LOG) as usize;
    StoreLimits {
        key_bytes: (key_max(page) - 29).min(cell_max(page) / 2),
        value_bytes: (transaction_bytes / VALUES_PER_TRANSACTION).min(VALUE_MAX),
        transaction_bytes,
        attribute_bytes: cell_max(page) - 21,
        object_bytes: OBJECT_MAX,
        read_bytes: READ_MAX,
    }
}

impl StoreLimits {
    /// Whether an edit is within the limits.
    pub(crate) fn check(&self, edit: &Edit) -> Result<(), Exceeded> {
        let StoreLimits { key_bytes, value_bytes, attribute_bytes, object_bytes, .. } = *self;
        let key = |key: &[u8]| {
            let exceeded = Exceeded {
                bound: Bound::KeyBytes,
                asked: key.len() as u64,
                most: key_bytes as u64,
            };
            if (1..=key_bytes).contains(&key.len()) { Ok(()) } else { Err(exceeded) }
        };
        let name =
            |name: &[u8]| Exceeded::check(Bound::KeyBytes, name.len() as u64, key_bytes as u64);
        let end = |end| Exceeded::check(Bound::ObjectBytes, end, object_bytes);
        match edit {
            Edit::Put { key: own, value } => {
                key(own)?;
                Exceeded::check(Bound::ValueBytes, value.len() as u64, value_bytes as u64)
            }
            Edit::Delete { key: own } => key(own),
            Edit::Write { offset, data, .. } => end(offset.saturating_add(data.length())),
            Edit::Punch { range, .. } => end(range.start.max(range.end)),
            Edit::Truncate { length, .. } => end(*length),
            Edit::SetAttribute { name: own, value, .. } => {
                name(own)?;
                let bytes = (own.len() + value.len()) as u64;
                Exceeded::check(Bound::AttributeBytes, bytes, attribute_bytes as u64)
            }
            Edit::RemoveAttribute { name: own, .. } => name(own),
            Edit::Remove { .. } | Edit::Clone { .. } => Ok(()),
        }
    }
}

/// Levels of a tree that fills a store with this layout, see [above](self).
pub fn levels(layout: &Layout) -> u32 {
    let fan_out = ((layout.page.bytes() - HEADER) / 2 / entry_bytes(40, 8)) as u64;
    let (mut levels, mut leaves) = (1, 1);
    while leaves < layout.pages_count {
        levels += 1;
        leaves *= fan_out;
    }
    levels
}

/// Bytes that a node's cells and their entries may take.
const fn node_bytes(page: PageSize) -> u64 {
    (page.bytes() - HEADER) as u64
}

/// Nodes that a tree may grow by beside what is put: per level the last node's, one that it was merged with, and the root.
const NODES_PER_LEVEL: u64 = 3;
/// The same for the leaves in which cells of objects stand beside longer ones of other kinds: a few splits between those.
const NODES_BETWEEN_KINDS: u64 = 8;

/// Bytes that a leaf may hold beyond what counts there, and bytes that count each time when the end of an extent is put again, both for
/// [checksums](self).
const fn sums_elsewhere_and_again(page: PageSize) -> (u64, u64) {
    let sums = 4 * extent::pages_max(page);
    let extent = entry_bytes(keys::EXTENT_KEY, extent::HEADER) as u64 + sums;
    if extent + 2 * sums <= node_bytes(page) / 4 { (sums, 0) } else { (0, sums) }
}

/// What counts when an extent is cut so that this many pages behind get a cell of their own.
pub(crate) fn cut_bytes(page: PageSize, pages_behind: u64) -> usize {
    let (_, again) = sums_elsewhere_and_again(page);
    entry_bytes(keys::EXTENT_KEY, extent::HEADER)
        + again.min(pages_behind.saturating_mul(4)) as usize
}

/// What a transaction may take of the device, [derived](self) from what it puts and where.
#[derive(Clone, Debug, Default)]
pub struct TreeGrowth {
    /// Bytes that are put, with their entries.
    bytes: u64,
    /// Nodes on the way to what is put, and the bytes that they hold.
    nodes: BTreeMap<PageNo, u64>,
    /// Nodes on the way to what is put one knows not where: all of them may be full.
    unknown_nodes: u64,
    /// Whether keys are put that users have made: they may be long, and so what stands for them above.
    has_users_keys: bool,
    /// Pages of object data.
    data_pages: u64,
}

impl TreeGrowth {
    /// A cell is put into the last of these nodes.
    pub fn put(&mut self, path: &[(PageNo, usize)], bytes: usize) {
        self.nodes.extend(path.iter().map(|(page, used)| (*page, *used as u64)));
        self.bytes += bytes as u64;
    }

    /// A cell is put into a tree of that height, one knows not where.
    pub fn put_somewhere(&mut self, height: u8, bytes: usize) {
        self.unknown_nodes += u64::from(height);
        self.bytes += bytes as u64;
    }

    /// Keys of users, or names of attributes, are put.
    pub fn put_users_keys(&mut self) {
        self.has_users_keys = true;
    }

    /// Pages of an object are written.
    pub fn write(&mut self, data_pages: u64) {
        self.data_pages += data_pages;
    }

    /// The most pages that it takes before any that it gives back is free again.
    pub fn pages(&self, page: PageSize, levels: u32) -> u64 {
        let (node, levels) = (node_bytes(page), u64::from(levels));
        let (elsewhere, _) = sums_elsewhere_and_again(page);
        let key = match self.has_users_keys {
            true => key_max(page).min(cell_max(page) / 2 + keys::EXTENT_KEY),
            false => keys::EXTENT_KEY,
        };
        let separator = entry_bytes(key, CHILD) as u64;
        let inherited = node / 4 + 2 * elsewhere + 2 * separator;
        let beyond_half = |used: &u64| (2 * (used + elsewhere)).saturating_sub(node).max(inherited);
        let known = self.nodes.values().map(beyond_half).sum::<u64>();
        let unknown = self.unknown_nodes * (node + 2 * elsewhere);
        let grown = (4 * (2 * self.bytes + known + unknown)).div_ceil(3 * node - 8 * separator);
        self.data_pages + grown + NODES_PER_LEVEL * levels + NODES_BETWEEN_KINDS
    }
}

/// Pages that are kept for what is [owed](super::RoomClaim::Owed): the most that one update of an OSD takes. It writes or cuts one range of an object,
/// as long as a transaction may be, with a ragged page at both ends; an extent is cut at each end, and so is the shared range below it; and it
/// puts the object, the value of its past, which is as long as a value may be, and a few keys. Whoever could be refused was refused when that
/// much was left, so this is for those who were taken before, and for what an OSD notes down for itself.
pub fn kept_pages(layout: &Layout) -> u64 {
    let page = layout.page;
    let StoreLimits { value_bytes, transaction_bytes, .. } = limits(layout);
    let (levels, data) = (levels(layout), transaction_bytes.div_ceil(page.bytes()) as u64);
    let mut growth = TreeGrowth::default();
    growth.write(data + 2);
    // The extents that the range gets, and one that is cut off at each end; and the same of shared ranges.
    let extents = data.div_ceil(extent::pages_max(page)) + 2;
    let cells = extents as usize * cut_bytes(page, extent::pages_max(page));
    growth.put_somewhere(levels as u8, cells);
    growth.put_somewhere(levels as u8, cells);
    let piece = cell_max(page) - LONG_KEY - PIECE_BESIDE;
    let pieces = value_bytes.div_ceil(piece);
    growth.put_somewhere(levels as u8, pieces * entry_bytes(LONG_KEY + PIECE_BESIDE, piece));
    for _ in 0..KEYS_OWED {
        growth.put_somewhere(levels as u8, entry_bytes(LONG_KEY, LONG_KEY));
    }
    growth.pages(page, levels)
}

/// Keys that are put beside: the object, its log entry, its past, what is lost of it, what is known of its group.
const KEYS_OWED: usize = 5;
/// None of these keys is longer than an extent's, nor is what stands under it where that is no long value.
const LONG_KEY: usize = keys::EXTENT_KEY;
/// What the key of a piece of a value has beside the value's own.
const PIECE_BESIDE: usize = 7;

/// Most pages that a transaction changes between two marks, in a tree of so many levels.
pub const fn unit_pages(levels: u32) -> u32 {
    18 * (levels - 1) + 3 + 5
}

/// The least cache that a store with this layout opens with. With any more it carries out whatever it takes, and whatever is in
/// its log.
pub fn cache_least(layout: &Layout) -> Bytes {
    let pages = 2 * (layout.map_pages + u64::from(unit_pages(levels(layout))));
    Bytes::new(pages * layout.page.bytes() as u64)
}

/// What may be held in memory at once, and what is kept of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Pages of the cache.
    frames: u32,
    /// Images that the recovery area holds: no checkpoint may have more pages.
    images: u32,
    /// See [`unit_pages`].
    unit: u32,
    /// See [`kept_pages`].
    kept: u64,
}

impl Room {
    /// The room of a store with this layout and so many pages of cache.
    pub fn new(layout: &Layout, frames: u32) -> Room {
        let images = u32::try_from(layout.images_max()).unwrap_or(u32::MAX);
        Room { frames, images, unit: unit_pages(levels(layout)), kept: kept_pages(layout) }
    }

    /// Pages of the device that are kept for what is owed.
    pub fn kept_pages(&self) -> u64 {
        self.kept
    }

    /// The most pages that may be dirty or on their way home: three quarters of the cache (checkpoint.md 3.4).
    pub fn held_max(&self) -> u32 {
        self.frames / 4 * 3
    }

    /// The most pages that may be dirty at a checkpoint's instant.
    pub fn dirty_max(&self) -> u32 {
        self.images
    }

    /// The most pages that one step may change, when nothing else is held.
    pub fn hold_max(&self) -> u32 {
        self.held_max().min(self.images)
    }

    /// A transaction that changes no more pages than this is one step. Not all that could be held: while it waits for so much, all
    /// others wait as well.
    pub fn step_max(&self) -> u32 {
        (self.frames / 4).min(self.images / 2).max(self.unit)
    }

    /// The most pages that are kept in memory for one op. A query that needs more goes in parts.
    pub fn pins_max(&self) -> u32 {
        (self.frames / 4).max(self.unit)
    }

    /// The most that may be kept for an op while pages are kept for others: those that wait for each other's would wait for ever.
    pub fn pins_beside_others_max(&self) -> u32 {
        self.frames / 8
    }
}

/// The most room that a log with this layout ever has. The block of its head may not meet that of its start, and ending a segment
/// early may cost all of it.
pub const fn log_room_max(layout: &Layout) -> u64 {
    layout.log_bytes - 2 * layout.segment_bytes
}

/// Bytes of the log that so many images of pages and a record of their edits take at most, with the padding that they may cause: less than
/// an image where a segment has no room for the next one, and less than the edits where it has none for those.
///
/// `None` if the edits are no record: none is larger than a transaction's may be.
pub fn physical_bytes_max(layout: &Layout, images: u64, edits: u64) -> Option<u64> {
    let image = layout.page.bytes() as u64 + RECORD_SLACK;
    let images_per_segment = layout.segment_bytes / image - 1;
    let is_record = edits <= limits(layout).transaction_bytes as u64;
    is_record.then(|| (images + images / images_per_segment + 1) * image + 2 * edits)
}

/// Of the memory for pages, this part is what transactions of the log may take that a restart has read and not carried out.
pub(crate) const REPLAY_PART: u64 = 8;
/// Bytes of one read of the log in a restart.
pub(crate) const REPLAY_READ: u64 = 1 << 20;
/// Reads of the log that have come or are on their way.
pub(crate) const REPLAY_READS: usize = 4;
/// Runs beside the log that are compared with their checksums at a time.
pub(crate) const RUNS_COMPARED: usize = 8;
/// Bytes between two places of the log's tail that a restart notes, and what it notes of each.
pub(crate) const TAIL_PIECE: u64 = 1 << 20;
const TAIL_NOTE: u64 = 16;
/// A decoded transaction takes so many times the bytes that it has in the log: a run of one page is nine bytes there.
const DECODED: u64 = 12;

/// The most that a restart holds between two events, in the part that reads the log, beside the cache and the bits of what is free: pieces of the log and what
/// of them is being looked at, in a buffer that has grown to twice that; runs beside it that are compared or written again; transactions and changes that are gathered, in
/// buffers that have grown likewise; the largest transaction, read and decoded; and a note for each piece of the tail.
pub fn restart_bytes_max(layout: &Layout, cache: Bytes) -> u64 {
    let transaction = limits(layout).transaction_bytes as u64;
    let run = extent::pages_max(layout.page) * layout.page.bytes() as u64;
    let pieces = REPLAY_READS as u64 + 2 * 2;
    pieces * REPLAY_READ
        + 2 * RUNS_COMPARED as u64 * run
        + 4 * cache.get() / REPLAY_PART
        + (DECODED + 4) * transaction
        + 2 * layout.log_bytes / TAIL_PIECE * TAIL_NOTE
}

/// More than what a record of an image takes beside the page: headers, its place, a proof that may come before it.
const RECORD_SLACK: u64 = 128;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paged::layout::Format;

    #[test]
    fn what_is_derived_fits_together_on_every_small_layout() {
        for (page, log, segment) in
            [(1024, 256, 64), (4096, 512, 128), (4096, 65536, 1024), (16384, 256, 64)]
        {
            let format = Format {
                store_id: 1,
                data_bytes: Bytes::from_mib(256),
                log_device_bytes: None,
                log_bytes: Bytes::from_kib(log),
                segment_bytes: Bytes::from_kib(segment),
                block_bytes: 512,
                recovery_bytes: Bytes::from_mib(2),
                page: PageSize::new(page).expect("a legal size"),
            };
            let layout = format.layout().expect("it fits");
            let least = cache_least(&layout).get() / u64::from(page);
            let room = Room::new(&layout, least as u32);
            let unit = unit_pages(levels(&layout));
            assert!(room.hold_max() >= unit && room.pins_max() >= unit, "{room:?}");
            assert!(room.step_max() <= room.hold_max(), "{room:?}");
            let map = layout.map_pages as u32;
            assert!(map + unit + room.pins_beside_others_max() <= room.frames, "{room:?}");
            let limits = limits(&layout);
            assert!(limits.value_bytes >= VALUE_LEAST, "{limits:?}");
            let records = 3 * (limits.transaction_bytes as u64 + 4096);
            assert!(records <= log_room_max(&layout), "{limits:?}");
            assert!(4 * limits.value_bytes <= limits.transaction_bytes, "{limits:?}");
        }
    }

    #[test]
    fn the_documentation_tells_what_follows_from_the_size_of_a_disk() {
        let text = include_str!("../../../../docs/disk-format.md");
        for gib in [1u64, 64, 1024] {
            let size = Bytes::from_mib(gib << 10);
            let layout = Format::of_disk(1, size).layout().expect("it fits");
            let (levels, map, least) = (levels(&layout), layout.map_pages, cache_least(&layout));
            let kept = kept_pages(&layout);
            let row = format!("| {size} | {levels} | {map} pages | {least} | {kept} pages |");
            assert!(text.contains(&row), "there is no line {row}");
        }
    }
}
