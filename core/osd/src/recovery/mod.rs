//! Recovery of placement groups: reservations, admission, and the life of one recovered object.

mod admission;
mod backfill;
mod delete;
mod history;
mod leave;
mod listing;
mod lost;
mod mend;
mod object;
mod reservation;
mod reserver;
mod room;
mod start;
mod turns;
mod unreadable;

pub use admission::AdmissionBounds;
pub use reserver::Reserver;
pub(crate) use reserver::ReserverChange;

use crate::ids::{OsdId, PgId};
use crate::message::RecoveryKind;
use crate::policy::OsdOptions;
use admission::RecoveryAdmission;
use std::collections::BTreeMap;
use turns::AskedTurns;

/// What an OSD has of recovery: slots for the groups that it leads, slots that it gives to other primaries, and what may be queued
/// at a time.
pub(crate) struct Recovery {
    local: Reserver,
    remote: Reserver,
    /// Which primary asked for each remote slot, and for what.
    remote_askers: BTreeMap<PgId, (OsdId, RecoveryKind)>,
    /// Its disk has no room for backfills.
    is_backfill_full: bool,
    admission: RecoveryAdmission,
    turns: AskedTurns,
}

impl Recovery {
    pub(crate) fn new(options: &OsdOptions) -> Recovery {
        let local = Reserver::new(options.backfills_max, options.recovery_priority_min);
        Recovery {
            remote: local.clone(),
            local,
            remote_askers: BTreeMap::new(),
            is_backfill_full: false,
            admission: RecoveryAdmission::new(options.admission()),
            turns: AskedTurns::default(),
        }
    }

    /// Forgets that a group has asked for leave.
    fn forget_turns(&mut self, pg: PgId) {
        let promised = self.turns.forget(pg);
        self.admission.item_ran(promised, 0);
    }

    /// New bounds of what may be queued.
    pub(crate) fn set_bounds(&mut self, options: &OsdOptions) {
        self.admission.set_bounds(options.admission());
    }

    /// What it waits for or has, for checkers of what must end; `None` if there is nothing.
    pub(crate) fn unfinished(&self) -> Option<String> {
        let Recovery { local, remote, admission, turns, .. } = self;
        let is_idle =
            local.is_idle() && remote.is_idle() && admission.is_idle() && turns.is_empty();
        (!is_idle).then(|| format!("{admission:?}, {turns:?}, {local:?}, {remote:?}"))
    }
}
