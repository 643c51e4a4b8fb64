//! OSDs that come and go: one more, another disk for one, one less.

use crate::cluster::{Cluster, OwnerEffects};
use crate::map::OsdState;
use crate::osds::KnownOsd;
use crate::settings::Scope;
use loadline_osd::{Directive, OsdId, OsdOptions, OsdSet, Policy};
use std::fmt;

/// Why an OSD cannot be forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoveError {
    /// It runs.
    Up(OsdId),
    /// Placement uses it.
    In(OsdId),
    /// Some data has not all of its copies where they should be; what is missing may be on this OSD only.
    NotClean,
    /// Of some data every copy that is served is bad in something, by what a scrub or a client has read; this OSD may have it good.
    NotWhole,
}

impl RemoveError {
    /// Whether it says what an OSD may take with it, and not that it cannot be removed.
    pub fn may_be_meant(self) -> bool {
        matches!(self, RemoveError::NotClean | RemoveError::NotWhole)
    }
}

impl fmt::Display for RemoveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RemoveError::Up(osd) => write!(f, "{osd} serves: take it down first"),
            RemoveError::In(osd) => write!(f, "placement uses {osd}: take it out first"),
            RemoveError::NotClean => f.write_str(
                "some copies are not where they should be yet: wait until all PGs are active+clean",
            ),
            RemoveError::NotWhole => f.write_str(
                "of some PGs every copy that is served is bad in something: have them repaired first, with `loadline repair`",
            ),
        }
    }
}

impl std::error::Error for RemoveError {}

impl Cluster {
    /// One more OSD, which is down and out; whoever holds the OSDs makes it. Its disk is to be opened, and may be empty.
    ///
    /// # Panics
    /// If there are [`OsdSet::OSDS_MAX`] already.
    pub fn add_osd(&mut self) -> OsdId {
        assert!(self.osds.len() < OsdSet::OSDS_MAX as usize, "a host has no room for another OSD");
        let id = OsdId::from(self.osds.len());
        self.osds.push(KnownOsd::default());
        self.map.add_osd(OsdState { up: false, is_in: false });
        self.expect_new_disk(id);
        id
    }

    /// The disk that is opened next for this OSD is another one than before, and may be empty: then it is filled.
    pub fn expect_new_disk(&mut self, osd: OsdId) {
        assert!(!self.map.osds()[osd].up, "{osd} runs");
        self.lose_what_it_had(osd);
        let durable = self.durable();
        durable.disks.healing.forget(osd);
        durable.forget_disk(osd);
    }

    /// The OSD whose disk is opened next takes no part until it is let: its world has something to do with the disk before.
    pub fn hold_osd(&mut self, osd: OsdId) {
        self.durable().disks.held.insert(osd);
    }

    /// Whether an OSD was held and its disk is open.
    pub fn is_held_open(&self, osd: OsdId) -> bool {
        let durable = self.durable.as_ref().expect("the OSDs have disks");
        durable.disks.held.contains(osd) && self.osds[osd].is_open()
    }

    /// Lets an OSD take part that was held; one whose disk is not open is held no longer.
    pub fn let_osd(&mut self, osd: OsdId, fx: &mut OwnerEffects) {
        if self.durable().disks.held.remove(osd) && self.osds[osd].is_open() {
            let state = OsdState { up: true, ..self.map.osds()[osd] };
            self.set_osd(osd, state, fx);
            self.retire_orphans(osd, fx);
        }
    }

    /// Settings for an OSD that takes part in nothing yet, those that are read at its start included.
    pub fn renew_osd(
        &self,
        osd: OsdId,
        policy: Policy,
        options: OsdOptions,
        fx: &mut OwnerEffects,
    ) {
        fx.direct(osd, Directive::Renew(Box::new((policy, options))));
    }

    /// Whether an OSD can be forgotten. [`RemoveError::may_be_meant`] tells whether somebody may want it all the same; nothing helps against the others.
    ///
    /// # Errors
    /// [`RemoveError`]
    pub fn may_remove_osd(&self, osd: OsdId) -> Result<(), RemoveError> {
        let state = self.map.osds()[osd];
        if state.up || self.osds[osd].is_opening() {
            return Err(RemoveError::Up(osd));
        }
        if state.is_in {
            return Err(RemoveError::In(osd));
        }
        let takes_part = self.map.pgs().any(|(_, pg)| {
            [&pg.up, &pg.acting, &pg.backfill].iter().any(|members| members.contains(&osd))
        });
        match takes_part || !self.is_clean() {
            true => Err(RemoveError::NotClean),
            false if self.may_hold_last_copy(osd).is_empty() => Ok(()),
            false => Err(RemoveError::NotWhole),
        }
    }

    /// Forgets an OSD and what was stored for it. Its disk is left as it is, and its number waits for another disk; that of
    /// the last one, and of removed ones before it, is given anew.
    ///
    /// # Panics
    /// If the OSD runs, or placement uses it.
    pub fn remove_osd(&mut self, osd: OsdId, fx: &mut OwnerEffects) {
        let may = self.may_remove_osd(osd);
        assert!(may.is_ok() || may.is_err_and(RemoveError::may_be_meant), "{osd}: {may:?}");
        self.forget_osd(osd, fx);
    }

    /// Forgets an OSD that was added, or whose number was to be given again, and has never come up. Returns whether it could, which it cannot if another one
    /// was added after it.
    pub fn take_back_osd(&mut self, osd: OsdId, fx: &mut OwnerEffects) -> bool {
        let OsdState { up, is_in } = self.map.osds()[osd];
        let is_last = self.map.osds().ids().next_back() == Some(osd);
        let was_never_up = !up && !is_in && self.durable().disks.fillable.contains(osd);
        let may_go = is_last || self.map.is_removed(osd);
        let can = may_go && was_never_up && !self.osds[osd].is_opening();
        if can {
            self.forget_osd(osd, fx);
        }
        can
    }

    fn forget_osd(&mut self, osd: OsdId, fx: &mut OwnerEffects) {
        self.crash(osd, fx);
        self.durable().disks.fillable.remove(osd);
        // Who is given a disk just now is told of by its number.
        let expected = self.durable().disks.fillable;
        self.map.remove_osd(osd, expected);
        self.map.next_epoch();
        while self.osds.len() > self.map.osds().len() {
            self.osds.pop();
        }
        self.lose_what_it_had(osd);
        let durable = self.durable();
        durable.disks.healing.forget(osd);
        durable.saving.holding.remove(osd);
        durable.disks.log_modes.remove(&osd);
        durable.disks.sizes.remove(&osd);
        durable.disks.promised.remove(&osd);
        durable.disks.measured_on.remove(&osd);
        durable.disks.stores.forget(osd);
        durable.disks.faults.remove(&osd);
        durable.settings.retain(|(scope, _), _| *scope != Scope::Osd(osd));
        for pg in self.map.pgs().map(|(pg, _)| pg).collect::<Vec<_>>() {
            self.map.pg_mut(pg).served.by.remove(osd);
            // What it alone may have had is waited for no more.
            if self.is_serving() && self.map.pg(pg).acting.is_empty() {
                self.peer_pg(pg, fx);
            }
        }
        self.save_map(fx);
    }
}
