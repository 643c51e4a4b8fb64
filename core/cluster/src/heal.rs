//! An OSD whose store does not open because it is damaged heals itself: the disk is taken as lost, made empty, and filled again
//! from the other copies, as after `osd replace`.
//!
//! What stands on such a disk can be read by nobody, but a person with tools may get something out of it. So it is made empty
//! only when nothing is there that the others lack: every placement group is served without it, which peering allows to
//! copies of the last served interval alone, and no object is unfound. One disk at a time, and the next when the first is
//! filled: should another one die meanwhile, what it had is still on two. The empty disk holds no map and no copy, so it has no vote
//! on either until it was given one.
//!
//! What a second look may mend is looked at first: where something could not be read, or a page was bad that a transaction needed that had
//! begun, the disk is opened once more. A passing error has passed then, and the transaction is brought to its end. If an OSD that was
//! up meets it again in the same life of the node, its disk is taken for damaged.

use crate::cluster::Cluster;
use loadline_osd::{DiskFault, OsdId, OsdSet, PgId};
use loadline_store::paged::{Fault, RestartFault};
use std::fmt;

/// Why a damaged disk is not made empty now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotHealed {
    /// Nobody serves this placement group, or not all of it: the damaged disk may have its only whole copy.
    OnlyCopy(PgId),
    /// This OSD's disk is being filled, and goes first.
    After(OsdId),
    /// The map cannot be written now.
    NoMap,
    /// It was filled in this life of the node already: the device itself is not to be trusted.
    Again,
}

impl fmt::Display for NotHealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotHealed::OnlyCopy(pg) => {
                write!(f, "it may have the only whole copy of {pg}, so it is left as it is")
            }
            NotHealed::After(osd) => write!(f, "it is filled again after {osd}"),
            NotHealed::NoMap => f.write_str("it is filled again when the map can be written"),
            NotHealed::Again => f.write_str(
                "it was filled again since the node started, so the device may be failing: `loadline osd replace` gives it another",
            ),
        }
    }
}

impl Cluster {
    /// Whether an OSD is down because what its disk holds is damaged, and then whether the disk may be made empty and filled
    /// again now.
    ///
    /// # Errors
    /// [`NotHealed`] says what stands against it.
    pub fn may_heal(&self, osd: OsdId) -> Option<Result<(), NotHealed>> {
        let fault = self.stands_still_with(osd)?;
        let happens_again = is_of_our_own(fault) && !self.may_open_again(osd);
        let is_damaged = is_damage(fault) || happens_again;
        is_damaged.then(|| self.find_no_obstacle(osd))
    }

    /// Whether an OSD is down because of something that opening its disk once more may mend, and that was not tried yet.
    pub fn may_open_again(&self, osd: OsdId) -> bool {
        let is_untried =
            self.durable.as_ref().is_some_and(|it| !it.healing.opened_again.contains(osd));
        self.stands_still_with(osd).is_some_and(may_pass) && is_untried
    }

    /// The disk of an OSD is opened once more.
    ///
    /// # Panics
    /// If it may not be.
    pub fn open_again(&mut self, osd: OsdId) {
        assert!(self.may_open_again(osd), "{osd}'s disk may be opened again");
        self.durable().healing.opened_again.insert(osd);
    }

    /// Why an OSD is down, if its disk is the reason and is not being opened.
    fn stands_still_with(&self, osd: OsdId) -> Option<DiskFault> {
        let is_down = !self.map.osds()[osd].up && !self.map.is_removed(osd);
        self.fault(osd).filter(|_| is_down && !self.osds[osd].is_opening())
    }

    fn find_no_obstacle(&self, osd: OsdId) -> Result<(), NotHealed> {
        let durable = self.durable.as_ref().expect("the OSDs have disks");
        let healing = &durable.healing;
        if healing.emptied.contains(osd) {
            return Err(NotHealed::Again);
        }
        // What the others have without it must be on their disks; other changes may follow without end.
        let stopped_by = durable.stopped_by.get(&osd).copied().unwrap_or_default();
        let can_write = self.is_serving() && self.missing_holders() == OsdSet::EMPTY;
        if !can_write || !self.is_kept(stopped_by) {
            return Err(NotHealed::NoMap);
        }
        let is_first = |other: &OsdId| {
            let is_being_filled = self.map.pgs().any(|(_, pg)| pg.backfill.contains(other));
            healing.emptying == Some(*other) || self.osds[*other].is_opening() || is_being_filled
        };
        if let Some(other) = healing.emptied.iter().find(is_first) {
            return Err(NotHealed::After(other));
        }
        let is_whole = |id: PgId| {
            let pg = self.map.pg(id);
            pg.ready && pg.unfound.is_empty()
        };
        match self.map.pgs().map(|(id, _)| id).find(|id| !is_whole(*id)) {
            Some(pg) => Err(NotHealed::OnlyCopy(pg)),
            None => Ok(()),
        }
    }

    /// The disk of a damaged OSD is made empty now, and is filled when it is opened after that. Its copies and its map are gone.
    ///
    /// # Panics
    /// If it may not be.
    pub fn heal(&mut self, osd: OsdId) {
        assert_eq!(self.may_heal(osd), Some(Ok(())), "{osd}'s disk may be made empty");
        let healing = &mut self.durable().healing;
        healing.emptied.insert(osd);
        healing.emptying = Some(osd);
        self.expect_new_disk(osd);
    }

    /// The disk that was to be made empty could not be.
    pub fn heal_failed(&mut self, osd: OsdId) {
        self.durable().healing.is_over(osd);
    }

    /// The OSDs that were found damaged, and whose disks are being filled again.
    pub fn healing(&self) -> OsdSet {
        let Some(durable) = &self.durable else { return OsdSet::EMPTY };
        let is_filled = |osd: &OsdId| self.map.pgs().any(|(_, pg)| pg.backfill.contains(osd));
        let is_healing = |osd: &OsdId| durable.healing.emptying == Some(*osd) || is_filled(osd);
        durable.healing.emptied.iter().filter(is_healing).collect()
    }
}

/// Whether opening the disk once more may find it good, or else says what is damaged.
fn may_pass(fault: DiskFault) -> bool {
    let at_start = matches!(fault, DiskFault::Store(Fault::Restart(RestartFault::Unreadable(_))));
    at_start || is_of_our_own(fault)
}

/// Whether it was met by an OSD that was up. A disk that cannot be read when it is opened may be anybody's, and is left as it is.
fn is_of_our_own(fault: DiskFault) -> bool {
    matches!(fault, DiskFault::Unreadable | DiskFault::Store(Fault::Unfinished))
}

fn is_damage(fault: DiskFault) -> bool {
    match fault {
        DiskFault::Store(Fault::Restart(fault)) => fault.is_damage(),
        DiskFault::Contents => true,
        _ => false,
    }
}
