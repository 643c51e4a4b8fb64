//! Snapshot trim: what was kept for removed snapshots alone is given back, a few objects at a time (scrub.md 3).
//!
//! There is no queue of removed snapshots to be kept or lost. The map says which snapshots live ([`Views`](crate::snapshots::Views)), the mapper
//! of a copy for which ones something is kept, and what is kept for one that does not live is what there is to trim. So nothing has to be
//! written down of how far a trim has come, no restart goes over what is done, and whatever a copy brings back from the past is trimmed too.
//!
//! A group's primary trims one removed snapshot after the other, each with a slot of its OSD. An item of the queue begins the trim of some
//! objects, each a replicated update like a client's; when all copies have all of them, and after a pause where the scheduler does not pace it,
//! the next item follows. The last one finds nothing. A group is trimmed or scrubbed, never both; a scrub that waits goes between two snapshots.

mod options;
mod primary;
mod run;

pub use options::TrimOptions;
pub use run::{TrimItem, TrimState};

use crate::ids::PgId;
use crate::recovery::Reserver;
use run::TrimRun;
use std::collections::{BTreeMap, BTreeSet};

/// What an OSD trims.
#[derive(Debug)]
pub(crate) struct Trim {
    slots: Reserver,
    /// Groups that this OSD leads and trims, or that wait for a slot.
    runs: BTreeMap<PgId, TrimRun>,
    /// Groups in which an object could not be trimmed. They wait for their next interval.
    failed: BTreeSet<PgId>,
    /// Numbers runs.
    number: u32,
}

impl Trim {
    pub(crate) fn new(options: &TrimOptions) -> Trim {
        Trim {
            slots: Reserver::new(options.pgs_max, 0),
            runs: BTreeMap::new(),
            failed: BTreeSet::new(),
            number: 0,
        }
    }

    /// Stops as a crash does.
    pub(crate) fn crash(&mut self, options: &TrimOptions) {
        *self = Trim { number: self.number, ..Trim::new(options) };
    }

    /// Whether a group is trimmed, or is to be as soon as it has a slot.
    pub(crate) fn is_at(&self, pg: PgId) -> bool {
        self.runs.contains_key(&pg)
    }

    /// What it waits for or has, for checkers of what must end; `None` if there is nothing.
    pub(crate) fn unfinished(&self) -> Option<String> {
        let is_idle = self.runs.is_empty() && self.slots.is_idle();
        (!is_idle).then(|| format!("{:?}, {:?}", self.runs, self.slots))
    }
}
