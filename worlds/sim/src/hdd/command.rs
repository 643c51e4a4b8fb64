//! A command in the drive, and its answer.

use super::ending::Ending;
use super::geometry::SectorPlace;
use super::limits::{Expiry, LimitWatch};
use loadline_base::{Span, Time};
use loadline_device::RequestKind;
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
