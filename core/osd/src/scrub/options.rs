//! The bounds of scrubs, which settings decide.

use super::chunk::ChunkBounds;
use super::kind::ScrubKind;
use super::schedule::ScrubSchedule;
use loadline_base::Span;

/// What an OSD's scrubs work within.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScrubOptions {
    /// Placement groups that may be scrubbed here at once, as primary or as replica (`osd_max_scrubs`).
    pub scrubs_max: usize,
    /// Objects of a deep scrub compared at a time (`osd_scrub_chunk_min`, `osd_scrub_chunk_max`).
    pub deep_chunk: ChunkBounds,
    /// The same of a shallow one (`osd_shallow_scrub_chunk_min`, `osd_shallow_scrub_chunk_max`).
    pub shallow_chunk: ChunkBounds,
    /// How often writes may break one chunk off (`osd_scrub_max_preemptions`).
    pub preemptions_max: u32,
    /// The pause between chunks (`osd_scrub_sleep`).
    pub sleep: Span,
    /// How a chunk is read.
    pub reading: ScrubReading,
    /// What becomes of a scrub for which a member has no slot.
    pub slots: ScrubSlots,
    /// Whether scrubs that the clock begins last as long as their interval has room for, and no less.
    pub is_paced: bool,
    /// When scrubs are begun by the clock.
    pub schedule: ScrubSchedule,
    /// How many objects a scrub that the clock has begun repairs by itself, at most; 0 for none (`osd_scrub_auto_repair`,
    /// `osd_scrub_auto_repair_num_errors`).
    pub auto_repairs_max: u64,
}

/// What becomes of a scrub for which a member has no slot (scrub.md 2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrubSlots {
    /// Members are asked one after the other, in order of their numbers. The scrub waits in the line of one that has none, and holds none of the others' meanwhile.
    InLine,
    /// All are asked at once, by an OSD that looks once a second; one that has none refuses, what others gave goes back, and the group waits for
    /// so long, or until no other one can begin.
    OrRefused(Span),
}

/// How a copy reads a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrubReading {
    /// The store lists the objects of a chunk when it is chosen, and again when it is scanned. Then one object after the other, in reads of so
    /// many bytes, for which the worker waits and with it everything of the group. A full one ends the step of the queue, a shorter one does
    /// not, so small objects are read one after the other in one go (`osd_deep_scrub_stride`).
    Strides(u64),
    /// So many objects at once, and so many bytes in each step of the queue.
    Ahead {
        /// Objects at once.
        objects: u32,
        /// Bytes of a step, beyond which no object is begun.
        bytes: u64,
    },
}

impl ScrubReading {
    /// How many reads are under way at most.
    pub(crate) fn at_once(self) -> u32 {
        match self {
            ScrubReading::Strides(_) => 1,
            ScrubReading::Ahead { objects, .. } => objects,
        }
    }

    /// Whether a chunk is chosen by what a store lists, and not by what the OSD knows.
    pub(crate) fn lists_to_choose(self) -> bool {
        matches!(self, ScrubReading::Strides(_))
    }

    /// Bytes of one step, beyond which it begins nothing more.
    pub(crate) fn step_bytes(self) -> u64 {
        match self {
            ScrubReading::Strides(bytes) | ScrubReading::Ahead { bytes, .. } => bytes,
        }
    }

    /// With steps that read as much as one part of a transfer, or less, where background work enters a disk in parts.
    pub(crate) fn in_parts(self, part: Option<u64>) -> ScrubReading {
        match (self, part) {
            (ScrubReading::Ahead { objects, bytes }, Some(part)) => {
                ScrubReading::Ahead { objects, bytes: bytes.min(part) }
            }
            (reading, _) => reading,
        }
    }
}

impl ScrubOptions {
    /// The bounds of a chunk.
    pub(crate) fn chunk(&self, kind: ScrubKind) -> ChunkBounds {
        match kind {
            ScrubKind::Shallow => self.shallow_chunk,
            ScrubKind::Deep => self.deep_chunk,
        }
    }
}
