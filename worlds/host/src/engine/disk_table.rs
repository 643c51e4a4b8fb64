//! What is known of each OSD's disk.

use crate::{DiskKind, DiskProblem, OpenedDisk};
use loadline_base::{Bytes, IdVec, Time};
use loadline_osd::OsdId;
use std::fs;
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

/// How an OSD comes by the disk of its next life. What an earlier life had open never is that: its path may lead to something else by now, and
/// a device that is there again is another one to the system.
#[derive(Debug, Default)]
pub(super) enum NextDisk {
    /// None is on its way.
    #[default]
    None,
    /// It is what is at the path when nothing of the earlier life is in flight.
    AtPath,
    /// A thread opens that, by this number: one that was told of before, and is wanted no more, has another.
    Opening(u64),
    /// It is open, and is used when nothing of the earlier life is in flight.
    Open(OpenedDisk),
}

/// An OSD's disk.
#[derive(Debug, Default)]
pub(super) struct EngineDisk {
    /// What it is, while a loop has it open.
    pub open: Option<OpenFacts>,
    /// Why it could not be opened when that was tried last.
    pub unopened: Option<DiskProblem>,
    pub path: PathBuf,
    /// The start has found that it holds nothing.
    pub is_blank: bool,
    pub bytes: Bytes,
    /// What takes its place.
    pub next: NextDisk,
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
    /// How many threads were told to open what is at a path.
    pub openings: u64,
    /// The files that were made at the start.
    pub made: Vec<PathBuf>,
}

impl EngineDisks {
    /// Takes away what a start has made of which nothing comes, if it has made all: those that were there may be of the same cluster by now, and want the
    /// others. A file that cannot be removed is refused at the next start.
    pub(super) fn unmake(&self) {
        let all = if self.made.len() == self.of.len() { &self.made[..] } else { &[] };
        for path in all {
            let _ = fs::remove_file(path);
        }
    }
}

impl EngineDisk {
    /// Whether a disk for the OSD's next life is on its way.
    pub(super) fn is_to_come(&self) -> bool {
        !matches!(self.next, NextDisk::None)
    }
}
