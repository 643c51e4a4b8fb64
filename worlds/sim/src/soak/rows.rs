//! The rows of checkpoint.md 9 as they exist in this store, and how each is recognised at the moment of a crash.

use super::place::StoreRegion;
use crate::SimStore;
use loadline_device::RequestKind;
use loadline_store::paged::image_set::{HEADER_BLOCK, ImageSetHeader};
use loadline_store::paged::layout::{SUPERBLOCK, superblock_offsets};
use loadline_store::paged::superblock::Superblock;
use loadline_store::paged::{CheckpointStep, Fault, Protection, RestartFault};
use std::fmt;

/// A row of the table. See the head of [this module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SoakRow {
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
pub struct RowCounts([u64; SoakRow::ALL.len()]);

impl SoakRow {
    /// All rows, in the order of the table.
    pub const ALL: [SoakRow; 21] = [
        SoakRow::Idle,
        SoakRow::InstantWritten,
        SoakRow::InstantFlushed,
        SoakRow::OldImagesGo,
        SoakRow::SomeImages,
        SoakRow::MarkerHalf,
        SoakRow::MarkerVolatile,
        SoakRow::PagesWithImages,
        SoakRow::PagesWithLog,
        SoakRow::PagesFlushed,
        SoakRow::Discards,
        SoakRow::EndVolatile,
        SoakRow::AfterEnd,
        SoakRow::Restore,
        SoakRow::Replay,
        SoakRow::ReplayCheckpoint,
        SoakRow::ImagesFail,
        SoakRow::PagesFail,
        SoakRow::BadImage,
        SoakRow::NoImages,
        SoakRow::ProtectionSwitched,
    ];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            SoakRow::Idle => "no checkpoint",
            SoakRow::InstantWritten => "6-7 instant in the buffer",
            SoakRow::InstantFlushed => "8-9 instant being flushed",
            SoakRow::OldImagesGo => "10 old images overwritten",
            SoakRow::SomeImages => "11 some images",
            SoakRow::MarkerHalf => "12 begin marker half written",
            SoakRow::MarkerVolatile => "12 begin marker not flushed",
            SoakRow::PagesWithImages => "13 pages, images beside",
            SoakRow::PagesWithLog => "13 pages, images in the log",
            SoakRow::PagesFlushed => "14 pages being flushed",
            SoakRow::Discards => "15 discards",
            SoakRow::EndVolatile => "16 end marker not flushed",
            SoakRow::AfterEnd => "16 after the end",
            SoakRow::Restore => "during restore",
            SoakRow::Replay => "during replay",
            SoakRow::ReplayCheckpoint => "checkpoint of a replay",
            SoakRow::ImagesFail => "I/O error in images",
            SoakRow::PagesFail => "I/O error in pages",
            SoakRow::BadImage => "bad image",
            SoakRow::NoImages => "images wiped",
            SoakRow::ProtectionSwitched => "protection switched",
        }
    }
}

impl fmt::Display for SoakRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl RowCounts {
    /// One hit more.
    pub fn hit(&mut self, row: SoakRow) {
        self.0[row as usize] += 1;
    }

    /// How often a row was hit.
    pub fn of(&self, row: SoakRow) -> u64 {
        self.0[row as usize]
    }

    /// All of them, in the order of [`SoakRow::ALL`].
    pub fn all(&self) -> &[u64; SoakRow::ALL.len()] {
        &self.0
    }

    /// Adds another count.
    pub fn add(&mut self, other: &RowCounts) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, more)| *sum += more);
    }
}

/// The row in which a crash at this moment falls. `before` is the checkpoint's step one event earlier.
pub(super) fn row_of(host: &SimStore, before: Option<CheckpointStep>) -> SoakRow {
    let store = host.store();
    let layout = &store.superblock().layout;
    let in_flight = |kind: RequestKind, place: Option<StoreRegion>| {
        host.in_flight().any(|(target, request)| {
            request.kind == kind
                && place
                    .is_none_or(|place| StoreRegion::of_request(layout, target, request) == place)
        })
    };
    let step = store.checkpoint_step();
    if let Some(progress) = store.restart_progress() {
        return match progress.phase {
            "checking images" | "restoring pages from images" => SoakRow::Restore,
            "restoring pages from the log" | "writing restored pages" => SoakRow::Restore,
            _ if step.is_some() => SoakRow::ReplayCheckpoint,
            _ => SoakRow::Replay,
        };
    }
    let Some(step) = step else {
        return match before {
            Some(_) => SoakRow::AfterEnd,
            None if in_flight(RequestKind::Discard, None) => SoakRow::Discards,
            None => SoakRow::Idle,
        };
    };
    if let Some(row) = failure_row(store.fault(), step) {
        return row;
    }
    match step {
        CheckpointStep::Log if in_flight(RequestKind::Flush, None) => SoakRow::InstantFlushed,
        CheckpointStep::Log => SoakRow::InstantWritten,
        CheckpointStep::Images if has_old_images(host) => SoakRow::OldImagesGo,
        CheckpointStep::Images | CheckpointStep::ImagesSync => SoakRow::SomeImages,
        CheckpointStep::Begin | CheckpointStep::BeginSync
            if in_flight(RequestKind::Write, Some(StoreRegion::Superblock)) =>
        {
            SoakRow::MarkerHalf
        }
        CheckpointStep::Begin | CheckpointStep::BeginSync => SoakRow::MarkerVolatile,
        CheckpointStep::Pages => match store.superblock().begun.map(|begun| begun.protection) {
            Some(Protection::Log) => SoakRow::PagesWithLog,
            _ => SoakRow::PagesWithImages,
        },
        CheckpointStep::PagesSync => SoakRow::PagesFlushed,
        CheckpointStep::End | CheckpointStep::EndSync => SoakRow::EndVolatile,
    }
}

fn failure_row(fault: Option<Fault>, step: CheckpointStep) -> Option<SoakRow> {
    match fault? {
        Fault::CheckpointWrite | Fault::Flush(_) if step <= CheckpointStep::Log => None,
        Fault::CheckpointWrite | Fault::Flush(_) if step <= CheckpointStep::ImagesSync => {
            Some(SoakRow::ImagesFail)
        }
        Fault::CheckpointWrite | Fault::Flush(_) if step >= CheckpointStep::Pages => {
            Some(SoakRow::PagesFail)
        }
        _ => None,
    }
}

/// Whether the images of an earlier checkpoint are still the ones that the header speaks of.
fn has_old_images(host: &SimStore) -> bool {
    let superblock = host.store().superblock();
    let from = superblock.layout.recovery_offset;
    let header = host.disks().data.peek(from..from + HEADER_BLOCK as u64);
    ImageSetHeader::decode(&header, superblock.seed()).is_ok()
}

/// The row of a restart that refused.
pub(super) fn refusal_row(fault: RestartFault, wiped: bool) -> Option<SoakRow> {
    match fault {
        RestartFault::Images(_) | RestartFault::Image(_) if wiped => Some(SoakRow::NoImages),
        RestartFault::Images(_) | RestartFault::Image(_) => Some(SoakRow::BadImage),
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
