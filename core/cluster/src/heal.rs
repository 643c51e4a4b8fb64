//! An OSD whose store does not open because it is damaged heals itself: the disk is taken as lost, made empty, and filled again
//! from the other copies, as after `osd replace`.
//!
//! What stands on such a disk can be read by nobody, but a person with tools may get something out of it. So it is made empty
//! only when nothing is there that the others lack: every placement group is served without it, which peering allows to
//! copies of the last served interval alone, by one that lacks nothing at least, and no object is unfound. One disk at a time, and
//! the next when the first is filled: should another one die meanwhile, what it had is still on two. The empty disk holds no map and no
//! copy, so it has no vote on either until it was given one.
//!
//! What lies in an OSD's place may be anybody's, and is not asked whose it is when it cannot be opened. So a disk is made empty only if it
//! holds the store that the map knows as this OSD's ([`crate::stores`]), and the map tells beforehand which one comes next.
//!
//! What a second look may mend is looked at first: where something could not be read, or a page was bad that a transaction needed that had
//! begun, the disk is opened once more. A passing error has passed then, and the transaction is brought to its end. If an OSD that was
//! up meets it again in the same life of the node, or the same page of the tree still cannot be read, its disk is taken for damaged.
//!
//! A scrub reads pages again that nobody may need for long. An OSD of which one is bad serves on from what it can read, until the others have
//! everything that it has: then it is taken down, and healed as if its store had not opened.

use crate::cluster::{Cluster, OwnerEffects};
use crate::codec::OwnStores;
use crate::map::PgState;
use loadline_osd::{DiskFault, OsdId, OsdSet, PgId};
use loadline_store::paged::ids::{PageNo, StoreId};
use loadline_store::paged::superblock::SuperblockFault;
use loadline_store::paged::{Fault, RestartFault};
use std::fmt;

/// Why a damaged disk is not made empty now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotHealed {
    /// Nothing on it can be read that says which store it is.
    Nameless(OsdId),
    /// The map does not know yet which store is this OSD's: it was written by a program that did not ask.
    Unknown(OsdId, StoreId),
    /// It is the store of another OSD.
    OtherOsd(OsdId, StoreId),
    /// It is no store of this cluster's.
    Foreign(OsdId, StoreId),
    /// The making of a store was begun there, and nobody has said that it is to be this OSD's. Nothing else is on it.
    Unfinished(OsdId),
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
        let says = "lets the others fill it, and what it holds is lost";
        match self {
            NotHealed::Nameless(osd) => write!(
                f,
                "nothing on it says whose it is, so it is left as it is: `loadline osd replace {osd} PATH --overwrite` {says}"
            ),
            NotHealed::Unknown(osd, store) => write!(
                f,
                "it holds {store}, and which one is {osd}'s is not known yet, so it is left as it is: `loadline osd replace {osd} PATH --overwrite` {says}"
            ),
            NotHealed::OtherOsd(osd, store) => write!(
                f,
                "it holds {store}, which is {osd}'s, so it is left as it is: swap the disks, or correct their paths"
            ),
            NotHealed::Foreign(osd, store) => write!(
                f,
                "it holds {store}, which is none of this cluster's, so it is left as it is: if it is to be {osd}'s all the same, `loadline osd replace {osd} PATH --overwrite` {says}"
            ),
            NotHealed::Unfinished(osd) => {
                write!(f, "`loadline osd replace {osd} PATH` lets the others fill it")
            }
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
        let stays = is_damage_if_it_stays(fault) && !self.may_open_again(osd);
        match fault {
            _ if is_damage(fault) || stays => {
                Some(self.is_own(osd).and_then(|()| self.find_no_obstacle(osd)))
            }
            DiskFault::Store(Fault::Restart(RestartFault::Superblock(why)))
                if !matches!(why, SuperblockFault::Version(_)) =>
            {
                Some(Err(NotHealed::Nameless(osd)))
            }
            _ => None,
        }
    }

    /// Whether an OSD is down because of something that opening its disk once more may mend, and that was not tried yet.
    pub fn may_open_again(&self, osd: OsdId) -> bool {
        let Some(durable) = &self.durable else { return false };
        let may_pass = |fault| match fault {
            _ if is_as_good(fault) => true,
            _ if durable.disks.healing.opened_again.contains(osd) => false,
            DiskFault::Empty => self.is_serving() && durable.disks.stores.has_come(osd),
            _ => may_pass(fault),
        };
        self.stands_still_with(osd).is_some_and(may_pass)
    }

    /// A scrub has found a page of an OSD's store bad.
    pub(crate) fn note_rotten(&mut self, osd: OsdId, page: PageNo) {
        if let Some(durable) = &mut self.durable {
            durable.disks.healing.rotten.insert(osd, page);
        }
    }

    /// The OSDs that serve from a store of which a page is bad, with the page.
    pub fn rotten(&self) -> impl Iterator<Item = (OsdId, PageNo)> {
        let all = self.durable.iter().flat_map(|durable| &durable.disks.healing.rotten);
        all.map(|(osd, page)| (*osd, *page)).filter(|(osd, _)| self.map.osds()[*osd].up)
    }

    /// Whether an OSD that serves from such a store may be taken down to be healed: everything that it has is on others too.
    ///
    /// # Errors
    /// [`NotHealed`] says what stands against it.
    pub fn may_take_rotten_down(&self, osd: OsdId) -> Result<(), NotHealed> {
        self.find_no_obstacle(osd)?;
        // What it lacks itself it gets when it is filled.
        let is_elsewhere = |id: &PgId| {
            let pg = self.map.pg(*id);
            let copies = self.map.pool_of(*id).1.spec.copies as usize;
            pg.is_in_place(copies) && pg.lacking.iter().all(|lacking| lacking == osd)
        };
        match self.map.pgs().map(|(id, _)| id).find(|id| !is_elsewhere(id)) {
            Some(pg) => Err(NotHealed::OnlyCopy(pg)),
            None => Ok(()),
        }
    }

    /// Takes an OSD down that serves from such a store, to be healed.
    ///
    /// # Panics
    /// If it may not be.
    pub fn take_rotten_down(&mut self, osd: OsdId, fx: &mut OwnerEffects) {
        assert_eq!(self.may_take_rotten_down(osd), Ok(()), "{osd} may be taken down");
        let page = self.durable().disks.healing.rotten.remove(&osd);
        self.stopped(osd, DiskFault::Rotten(page.expect("it is known to be bad")), fx);
    }

    /// The disk of an OSD is opened once more.
    ///
    /// # Panics
    /// If it may not be.
    pub fn open_again(&mut self, osd: OsdId) {
        assert!(self.may_open_again(osd), "{osd}'s disk may be opened again");
        if !self.stands_still_with(osd).is_some_and(is_as_good) {
            self.durable().disks.healing.opened_again.insert(osd);
        }
    }

    /// Whether what lies in an OSD's place is what it served from.
    fn is_own(&self, osd: OsdId) -> Result<(), NotHealed> {
        let stores = &self.durable.as_ref().expect("the OSDs have disks").disks.stores;
        let store = stores.found(osd).ok_or(NotHealed::Nameless(osd))?;
        match stores.owner(store) {
            Some(owner) if owner == osd => Ok(()),
            Some(owner) => Err(NotHealed::OtherOsd(owner, store)),
            None if self.fault(osd).and_then(unfinished) == Some(store) => {
                Err(NotHealed::Unfinished(osd))
            }
            None if stores.of(osd) == OwnStores::default() => Err(NotHealed::Unknown(osd, store)),
            None => Err(NotHealed::Foreign(osd, store)),
        }
    }

    /// Why an OSD is down, if its disk is the reason and is not being opened.
    fn stands_still_with(&self, osd: OsdId) -> Option<DiskFault> {
        let is_down = !self.map.osds()[osd].up && !self.map.is_removed(osd);
        self.fault(osd).filter(|_| is_down && !self.osds[osd].is_opening())
    }

    fn find_no_obstacle(&self, osd: OsdId) -> Result<(), NotHealed> {
        let durable = self.durable.as_ref().expect("the OSDs have disks");
        let healing = &durable.disks.healing;
        if healing.emptied.contains(osd) {
            return Err(NotHealed::Again);
        }
        // What the others have without it must be on their disks; other changes may follow without end.
        let stopped_by = durable.disks.stopped_by.get(&osd).copied().unwrap_or_default();
        let told_by =
            durable.disks.stores.expected(osd).map(|(_, change)| change).unwrap_or_default();
        let can_write = self.is_serving() && self.missing_holders() == OsdSet::EMPTY;
        if !can_write || !self.is_kept(stopped_by.max(told_by)) {
            return Err(NotHealed::NoMap);
        }
        let is_first = |other: &OsdId| {
            let is_being_filled = self.map.pgs().any(|(_, pg)| pg.backfill.contains(other));
            self.is_being_emptied(*other) || self.osds[*other].is_opening() || is_being_filled
        };
        if let Some(other) = healing.filling.iter().find(is_first) {
            return Err(NotHealed::After(other));
        }
        let is_on_others = |pg: &PgId| self.map.pg(*pg).ready && self.is_whole_without(osd, *pg);
        match self.map.pgs().map(|(pg, _)| pg).find(|pg| !is_on_others(pg)) {
            Some(pg) => Err(NotHealed::OnlyCopy(pg)),
            None => Ok(()),
        }
    }

    /// The store that an OSD's disk is to hold when it has been made empty, if that was said: in this life, or in an earlier one that
    /// had begun to make it. Another one in its place would leave the half of it without an owner.
    pub fn expected_store(&self, osd: OsdId) -> Option<StoreId> {
        let stores = &self.durable.as_ref()?.disks.stores;
        let begun = self.fault(osd).and_then(unfinished);
        let begun = begun.filter(|store| stores.of(osd).next == Some(*store));
        stores.expected(osd).map(|(store, _)| store).or(begun)
    }

    /// An OSD's disk is to hold this store next. [`Cluster::may_heal`] waits for the map that tells so.
    pub fn expect_store(&mut self, osd: OsdId, store: StoreId, fx: &mut OwnerEffects) {
        let next_change = self.last_change().next();
        if self.durable().disks.stores.expect(osd, store, next_change) {
            self.save_map(fx);
        }
    }

    /// The disk of a damaged OSD is made empty now, as the store that was said to be the next, and is filled when it is opened
    /// after that. Its copies and its map are gone.
    ///
    /// # Panics
    /// If it may not be, or if nobody has said which store comes next.
    pub fn heal(&mut self, osd: OsdId) {
        assert_eq!(self.may_heal(osd), Some(Ok(())), "{osd}'s disk may be made empty");
        assert!(self.expected_store(osd).is_some(), "{osd}'s next store is known");
        let durable = self.durable();
        durable.disks.healing.begin(osd);
        durable.forget_disk(osd);
    }

    /// The disk that was to be made empty could not be.
    pub fn heal_failed(&mut self, osd: OsdId) {
        self.durable().disks.healing.is_over(osd);
    }

    /// Whether an OSD's disk is being made empty now. Until that is over, or has failed, nobody else may have to do with it.
    pub fn is_being_emptied(&self, osd: OsdId) -> bool {
        self.durable.as_ref().is_some_and(|durable| durable.disks.healing.emptying == Some(osd))
    }

    /// The OSDs that were found damaged, and whose disks are being filled again.
    pub fn healing(&self) -> OsdSet {
        let Some(durable) = &self.durable else { return OsdSet::EMPTY };
        let is_filled = |osd: &OsdId| self.map.pgs().any(|(_, pg)| pg.backfill.contains(osd));
        let is_healing = |osd: &OsdId| self.is_being_emptied(*osd) || is_filled(osd);
        durable.disks.healing.filling.iter().filter(is_healing).collect()
    }

    /// Members of placement groups have changed: an OSD that has all back is filled, and what comes to it later is no healing.
    pub(crate) fn note_filled(&mut self) {
        let Some(durable) = &self.durable else { return };
        let has_all = |osd: &OsdId| {
            let has = |pg: &PgState| pg.acting.contains(osd) && !pg.backfill.contains(osd);
            let is_up = self.map.osds()[*osd].up;
            is_up && self.map.pgs().all(|(_, pg)| !pg.up.contains(osd) || has(pg))
        };
        let filled: OsdSet = durable.disks.healing.filling.iter().filter(has_all).collect();
        for osd in filled.iter() {
            self.durable().disks.healing.filling.remove(osd);
        }
    }
}

/// Whether what the disk has is as good as before: then opening it is no second look at damage, and it may be opened each time.
fn is_as_good(fault: DiskFault) -> bool {
    matches!(fault, DiskFault::InDoubt | DiskFault::Full)
}

/// Whether opening the disk once more may find it good, or else says what is damaged.
fn may_pass(fault: DiskFault) -> bool {
    let at_start = matches!(fault, DiskFault::Store(Fault::Restart(RestartFault::Unreadable(..))));
    at_start || is_damage_if_it_stays(fault)
}

/// Whether it is damage if a second look finds it again: it was met by an OSD that was up, or one page of a store cannot be read that can be
/// opened otherwise. A disk of which more cannot be read is left as it is.
fn is_damage_if_it_stays(fault: DiskFault) -> bool {
    matches!(
        fault,
        DiskFault::Unreadable
            | DiskFault::Store(Fault::Unfinished | Fault::Restart(RestartFault::UnreadablePage(_)))
    )
}

/// The store of which only the making was begun.
fn unfinished(fault: DiskFault) -> Option<StoreId> {
    match fault {
        DiskFault::Store(Fault::Restart(RestartFault::Superblock(
            SuperblockFault::Unfinished(store),
        ))) => Some(store),
        _ => None,
    }
}

fn is_damage(fault: DiskFault) -> bool {
    match fault {
        DiskFault::Store(Fault::Restart(fault)) => fault.is_damage(),
        DiskFault::Contents | DiskFault::Rotten(_) => true,
        _ => false,
    }
}
