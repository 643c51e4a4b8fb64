//! Scrub: all copies of a placement group are compared, a chunk of objects at a time, and what is not alike is told and replaced
//! (scrub.md 2).
//!
//! A group's primary takes a slot on every member (waiting in the line of one that has none, or refused where presets of other systems are followed), then goes from chunk to chunk. It keeps writes away from one while all copies look
//! what they have of it; each sends a map, and the maps are compared, also with what an earlier deep scrub has recorded (`recorded.rs`). A write that comes meanwhile breaks the chunk off, so many
//! times for each, and then waits. Reads never wait.
//!
//! A scrub ends with its interval, on every member: slots are free, ranges are nobody's, and the writes that waited are the router's. How
//! far it had come is kept on the primary's disk, and if that leads again it goes on there. What an operator has asked for, and what the last scrub has come to, all
//! members know and keep: who leads next begins anew, and a disk that was made empty and filled again asks the others.
//!
//! What is kept for a scrub is this owner's, on the primary ([`ScrubRun`]) and on every copy ([`RangeScan`]). What it may not know is
//! how an access reaches a disk, or how an object is replaced: the one is the store's, the other recovery's.

mod chunk;
mod compare;
mod copy;
mod found;
mod kind;
mod load;
mod map;
mod options;
mod pace;
mod primary;
mod record;
mod recorded;
mod run;
mod scan;
mod schedule;

pub use chunk::ChunkBounds;
pub use found::{InconsistentState, ScrubError, ScrubErrorCounts, ScrubErrors};
pub use kind::{ScrubItem, ScrubKind, ScrubRequest, ScrubStep};
pub use load::MachineLoad;
pub use map::{ScanAsked, ScannedState, ScrubMap, ScrubMessage, ScrubRange};
pub use options::{ScrubOptions, ScrubReading, ScrubSlots};
pub use record::{ScrubFindings, ScrubProgress, ScrubRecord};
pub use recorded::RecordedDigest;
pub use schedule::{ScrubHeld, ScrubSchedule, ScrubWindow};

use crate::ids::{OsdId, PgId};
use crate::recovery::Reserver;
use load::LoadSeen;
use loadline_base::Time;
use run::ScrubRun;
use scan::RangeScan;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What an OSD has of scrubs.
#[derive(Debug)]
pub(crate) struct Scrub {
    /// Slots of this OSD, for groups that it leads and for others.
    slots: Reserver,
    /// Who asked for each slot that is taken.
    askers: BTreeMap<PgId, SlotAsker>,
    /// Who found none free, in the order of their asking.
    line: VecDeque<SlotAsker>,
    /// Groups that were called out of the line and whose primary has not asked yet: no more than there are free slots.
    called: BTreeSet<PgId>,
    /// Scrubs of groups that this OSD leads.
    runs: BTreeMap<PgId, ScrubRun>,
    /// Ranges that this OSD looks at.
    scans: BTreeMap<PgId, RangeScan>,
    /// What is known of groups' scrubs. One that is to begin, or to go on, stands here as under way.
    records: BTreeMap<PgId, ScrubRecord>,
    /// Numbers runs and ranges.
    number: u32,
    /// When the OSD looks next whose time has come.
    tick_at: Option<Time>,
    /// Groups for which a member had no slot, and until when they wait.
    refused: BTreeMap<PgId, Time>,
    /// How busy the machine is.
    load: LoadSeen,
}

/// A run that asks for a slot, and its primary.
#[derive(Clone, Copy, Debug)]
struct SlotAsker {
    pg: PgId,
    osd: OsdId,
    number: u32,
}

impl Scrub {
    pub(crate) fn new(options: &ScrubOptions) -> Scrub {
        Scrub {
            slots: Reserver::new(options.scrubs_max, 0),
            askers: BTreeMap::new(),
            line: VecDeque::new(),
            called: BTreeSet::new(),
            runs: BTreeMap::new(),
            scans: BTreeMap::new(),
            records: BTreeMap::new(),
            number: 0,
            tick_at: None,
            refused: BTreeMap::new(),
            load: LoadSeen::default(),
        }
    }

    /// The look at a range of this number, unless it is over.
    fn scan(&mut self, pg: PgId, number: u32) -> Option<&mut RangeScan> {
        self.scans.get_mut(&pg).filter(|scan| scan.asked.range.number == number)
    }

    /// Stops as a crash does: only what a disk will tell again is known afterwards, and what the machine has told.
    pub(crate) fn crash(&mut self, options: &ScrubOptions) {
        *self = Scrub { number: self.number, load: self.load, ..Scrub::new(options) };
    }

    fn next_number(&mut self) -> u32 {
        self.number = self.number.wrapping_add(1);
        self.number
    }

    /// What it waits for or has, for checkers of what must end; `None` if there is nothing.
    pub(crate) fn unfinished(&self) -> Option<String> {
        let Scrub { slots, runs, scans, askers, line, called, .. } = self;
        let is_asked = !askers.is_empty() || !line.is_empty() || !called.is_empty();
        let is_idle = slots.is_idle() && runs.is_empty() && scans.is_empty() && !is_asked;
        (!is_idle)
            .then(|| format!("{runs:?}, {scans:?}, {slots:?}, {askers:?}, {line:?}, {called:?}"))
    }
}
