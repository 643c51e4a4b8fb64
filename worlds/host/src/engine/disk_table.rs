//! What is known of each OSD's disk.

use crate::{DiskKind, DiskProblem, OpenedDisk};
use loadline_base::{Bytes, IdVec, Time};
use loadline_osd::OsdId;
use std::path::PathBuf;

/// What a disk is that a loop has open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenFacts {
    /// Device and inode of what is open.
    pub identity: (u64, u64),
    /// Whether requests pass the page cache by.
    pub direct: bool,
    pub kind: DiskKind,
    /// What its file lacks of its blocks.
    pub lacks: Bytes,
}

impl OpenFacts {
    pub(super) fn of(disk: &OpenedDisk) -> OpenFacts {
        let (identity, direct) = (disk.identity(), disk.mode().direct);
        OpenFacts { identity, direct, kind: disk.kind(), lacks: disk.lacks() }
    }
}

/// An OSD's disk.
#[derive(Debug, Default)]
pub(super) struct EngineDisk {
    /// What it is, while a loop has it open.
    pub open: Option<OpenFacts>,
    /// Why it could not be opened, if something was there.
    pub unopened: Option<DiskProblem>,
    pub path: PathBuf,
    /// The start has found that it holds nothing.
    pub is_blank: bool,
    pub bytes: Bytes,
    /// It is to be opened as soon as nothing is in flight.
    pub reopen: bool,
    /// What takes its place then.
    pub next: Option<OpenedDisk>,
    /// Since when the OSD is up or down, to the second.
    pub since: Time,
    /// Whether it was up then.
    pub was_up: bool,
    /// A number for the drive that it stands on; 0 if the system does not tell.
    pub drive: u64,
    /// What the log has been told of its capacity: operations per second that are far from what was stored.
    pub capacity_found: Option<f64>,
    /// Whether the log has told that there is no room for its writes.
    pub waits_for_room: bool,
}

/// All of them.
#[derive(Default)]
pub(super) struct EngineDisks {
    pub of: IdVec<OsdId, EngineDisk>,
}
