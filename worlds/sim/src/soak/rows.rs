//! The rows of checkpoint.md 9 as they exist in this store, and how each is recognised at the moment of a crash.

use super::place::Place;
use crate::StoreHost;
use loadline_device::Kind;
use loadline_store::paged::image_set::{HEADER_BLOCK, ImageSetHeader};
use loadline_store::paged::layout::{SUPERBLOCK, superblock_offsets};
use loadline_store::paged::superblock::Superblock;
use loadline_store::paged::{Fault, Protection, RestartFault, Step};
use std::fmt;

/// A row of the table. See the head of [this module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// No checkpoint was running.
    Idle,
    /// 6-7: the instant's record is in the log's buffer, or on its way.
    InstantWritten,
    /// 8-9: the instant's record is being flushed.
    InstantFlushed,
    /// 10: images overwrite those of an earlier checkpoint.
    OldImagesGo,
    /// 11: some of the images are written.
    SomeImages,
    /// 12: the begin marker is half written.
    MarkerHalf,
    /// 12: the begin marker is written and not flushed.
    MarkerVolatile,
    /// 13: pages are half written; their images are in the recovery area.
    PagesWithImages,
    /// 13: pages are half written; their images are in the log.
    PagesWithLog,
    /// 14: pages are being flushed.
    PagesFlushed,
    /// 15: pages that nobody owns are being discarded.
    Discards,
    /// 16: the end marker is written and not flushed.
    EndVolatile,
    /// 16: the end marker was just made durable.
    AfterEnd,
    /// The physical part of a restart was running.
    Restore,
    /// A replay was running.
    Replay,
    /// A checkpoint inside a replay was running.
    ReplayCheckpoint,
    /// A write or flush of images failed.
    ImagesFail,
    /// A write or flush of pages failed.
    PagesFail,
    /// An image was damaged, and the restart refused.
    BadImage,
    /// The images had been wiped, and the restart refused.
    NoImages,
    /// A begun checkpoint met a restart under the other protection.
    ProtectionSwitched,
}

/// How often each row was hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowCounts([u64; Row::ALL.len()]);

impl Row {
    /// All rows, in the order of the table.
    pub const ALL: [Row; 21] = [
        Row::Idle,
        Row::InstantWritten,
        Row::InstantFlushed,
        Row::OldImagesGo,
        Row::SomeImages,
        Row::MarkerHalf,
        Row::MarkerVolatile,
        Row::PagesWithImages,
        Row::PagesWithLog,
        Row::PagesFlushed,
        Row::Discards,
        Row::EndVolatile,
        Row::AfterEnd,
        Row::Restore,
        Row::Replay,
        Row::ReplayCheckpoint,
        Row::ImagesFail,
        Row::PagesFail,
        Row::BadImage,
        Row::NoImages,
        Row::ProtectionSwitched,
    ];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Row::Idle => "no checkpoint",
            Row::InstantWritten => "6-7 instant in the buffer",
            Row::InstantFlushed => "8-9 instant being flushed",
            Row::OldImagesGo => "10 old images overwritten",
            Row::SomeImages => "11 some images",
            Row::MarkerHalf => "12 begin marker half written",
            Row::MarkerVolatile => "12 begin marker not flushed",
            Row::PagesWithImages => "13 pages, images beside",
            Row::PagesWithLog => "13 pages, images in the log",
            Row::PagesFlushed => "14 pages being flushed",
            Row::Discards => "15 discards",
            Row::EndVolatile => "16 end marker not flushed",
            Row::AfterEnd => "16 after the end",
            Row::Restore => "during restore",
            Row::Replay => "during replay",
            Row::ReplayCheckpoint => "checkpoint of a replay",
            Row::ImagesFail => "I/O error in images",
            Row::PagesFail => "I/O error in pages",
            Row::BadImage => "bad image",
            Row::NoImages => "images wiped",
            Row::ProtectionSwitched => "protection switched",
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl RowCounts {
    /// One hit more.
    pub fn hit(&mut self, row: Row) {
        self.0[row as usize] += 1;
    }

    /// How often a row was hit.
    pub fn of(&self, row: Row) -> u64 {
        self.0[row as usize]
    }

    /// All of them, in the order of [`Row::ALL`].
    pub fn all(&self) -> &[u64; Row::ALL.len()] {
        &self.0
    }

    /// Adds another count.
    pub fn add(&mut self, other: &RowCounts) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, more)| *sum += more);
    }
}

/// The row in which a crash at this moment falls. `before` is the checkpoint's step one event earlier.
pub(super) fn row_of(host: &StoreHost, before: Option<Step>) -> Row {
    let store = host.store();
    let layout = &store.superblock().layout;
    let in_flight = |kind: Kind, place: Option<Place>| {
        host.in_flight().any(|sent| {
            sent.request.kind == kind
                && place.is_none_or(|place| {
                    Place::of_request(layout, sent.target, &sent.request) == place
                })
        })
    };
    let step = store.checkpoint_step();
    if let Some(progress) = store.restart_progress() {
        return match progress.phase {
            "checking images" | "restoring pages from images" => Row::Restore,
            "restoring pages from the log" | "writing restored pages" => Row::Restore,
            _ if step.is_some() => Row::ReplayCheckpoint,
            _ => Row::Replay,
        };
    }
    let Some(step) = step else {
        return match before {
            Some(_) => Row::AfterEnd,
            None if in_flight(Kind::Discard, None) => Row::Discards,
            None => Row::Idle,
        };
    };
    if let Some(row) = failure_row(store.fault(), step) {
        return row;
    }
    match step {
        Step::Log if in_flight(Kind::Flush, None) => Row::InstantFlushed,
        Step::Log => Row::InstantWritten,
        Step::Images if has_old_images(host) => Row::OldImagesGo,
        Step::Images | Step::ImagesSync => Row::SomeImages,
        Step::Begin | Step::BeginSync if in_flight(Kind::Write, Some(Place::Superblock)) => {
            Row::MarkerHalf
        }
        Step::Begin | Step::BeginSync => Row::MarkerVolatile,
        Step::Pages => match store.superblock().begun.map(|begun| begun.protection) {
            Some(Protection::Log) => Row::PagesWithLog,
            _ => Row::PagesWithImages,
        },
        Step::PagesSync => Row::PagesFlushed,
        Step::End | Step::EndSync => Row::EndVolatile,
    }
}

fn failure_row(fault: Option<Fault>, step: Step) -> Option<Row> {
    match fault? {
        Fault::CheckpointWrite | Fault::Flush(_) if step <= Step::Log => None,
        Fault::CheckpointWrite | Fault::Flush(_) if step <= Step::ImagesSync => {
            Some(Row::ImagesFail)
        }
        Fault::CheckpointWrite | Fault::Flush(_) if step >= Step::Pages => Some(Row::PagesFail),
        _ => None,
    }
}

/// Whether the images of an earlier checkpoint are still the ones that the header speaks of.
fn has_old_images(host: &StoreHost) -> bool {
    let superblock = host.store().superblock();
    let from = superblock.layout.recovery_offset;
    let header = host.data().peek(from..from + HEADER_BLOCK as u64);
    ImageSetHeader::decode(&header, superblock.seed()).is_ok()
}

/// The row of a restart that refused.
pub(super) fn refusal_row(fault: RestartFault, wiped: bool) -> Option<Row> {
    match fault {
        RestartFault::Images(_) | RestartFault::Image(_) if wiped => Some(Row::NoImages),
        RestartFault::Images(_) | RestartFault::Image(_) => Some(Row::BadImage),
        _ => None,
    }
}

/// The newest superblock that stands on a data device.
pub(super) fn superblock_on(disk: &crate::disk::SimDisk) -> Option<Superblock> {
    let offsets = superblock_offsets(disk.spec().size.get());
    let copies: Vec<Vec<u8>> =
        offsets.iter().map(|offset| disk.peek(*offset..*offset + SUPERBLOCK)).collect();
    Superblock::newest(copies.iter().map(|bytes| Superblock::decode(bytes))).ok()
}
