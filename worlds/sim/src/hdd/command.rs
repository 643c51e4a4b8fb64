//! A command in the drive, and how it ends.

use super::geometry::SectorPlace;
use super::limits::{Expiry, LimitWatch};
use loadline_base::{Span, Time};
use loadline_device::{Outcome, RequestKind};
use std::ops::Range;

/// A command that the drive has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinishedCommand {
    /// As it was submitted.
    pub id: u64,
    /// When the host has the answer.
    pub at: Time,
    /// What the answer is.
    pub outcome: Ending,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ending {
    /// Carried out whole.
    Good,
    /// Its time ran out under policy Dh: good status, no data.
    DataUnavailable,
    /// Its time ran out while it was queued.
    AbortedBefore,
    /// Its time ran out while it was carried out.
    AbortedDuring,
    /// Its time ran out while the firmware tried again to read a sector.
    AbortedInRecovery,
    /// A sector cannot be read.
    MediaError,
}

/// Sense key, additional sense code and its qualifier.
pub type Sense = (u8, u8, u8);

impl Ending {
    /// What a SCSI drive adds to its status (cdl.md 1.4); `None` for nothing.
    pub fn sense(self) -> Option<Sense> {
        match self {
            Ending::Good => None,
            Ending::DataUnavailable => Some((0x0f, 0x55, 0x0a)),
            Ending::AbortedBefore => Some((0x0b, 0x2e, 0x01)),
            Ending::AbortedDuring => Some((0x0b, 0x2e, 0x02)),
            Ending::AbortedInRecovery => Some((0x0b, 0x2e, 0x03)),
            Ending::MediaError => Some((0x03, 0x11, 0x00)),
        }
    }
}

impl From<Ending> for Outcome {
    fn from(ending: Ending) -> Outcome {
        match ending {
            Ending::Good => Outcome::Done,
            Ending::MediaError => Outcome::Failed,
            Ending::DataUnavailable
            | Ending::AbortedBefore
            | Ending::AbortedDuring
            | Ending::AbortedInRecovery => Outcome::OverLimit,
        }
    }
}

/// A command that waits or is carried out.
#[derive(Clone, Debug)]
pub(super) struct HddCommand {
    /// The host's name for it; `None` for a write that the cache has answered already.
    pub(super) id: Option<u64>,
    pub(super) kind: RequestKind,
    pub(super) sector: u64,
    pub(super) sectors: u64,
    pub(super) place: SectorPlace,
    /// When the firmware saw it: its limits count from here.
    pub(super) arrived: Time,
    /// Whether it has high NCQ priority.
    pub(super) high: bool,
    pub(super) watch: LimitWatch,
    /// Whether its guideline may move it forward.
    pub(super) steered: bool,
    /// When it is ended if it has not begun by then.
    pub(super) expiry: Option<Expiry>,
    /// Its place in the order of arrival.
    pub(super) number: u64,
}

impl HddCommand {
    pub(super) fn writes(&self) -> bool {
        self.kind == RequestKind::Write
    }

    /// The guideline by which it is chosen.
    pub(super) fn guideline(&self) -> Option<Span> {
        self.watch.guideline().filter(|_| self.steered)
    }

    pub(super) fn sectors(&self) -> Range<u64> {
        self.sector..self.sector + self.sectors
    }

    /// Whether it is a write that the cache has answered, of all these sectors.
    pub(super) fn caches(&self, sectors: &Range<u64>) -> bool {
        let own = self.sectors();
        self.id.is_none() && own.start <= sectors.start && sectors.end <= own.end
    }
}
