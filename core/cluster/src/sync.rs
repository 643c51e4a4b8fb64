//! Making durable what was answered: who is asked for it, and what becomes of it when OSDs go and come ([`crate::syncs`]).

use crate::cluster::{Cluster, OwnerEffects};
use crate::debts::PeeringOutcome;
use crate::map::PgState;
use crate::pool::PoolId;
use crate::syncs::{SyncEnd, SyncOf};
use loadline_osd::{Directive, DiskFault, IntervalId, OsdId, OsdSet, PgId};
use loadline_store::paged::{Fault, LogMode, RestartFault};
use std::collections::BTreeSet;

impl Cluster {
    /// Makes everything durable that was answered, on every OSD that runs. The number comes back with
    /// [`Cluster::take_synced`].
    pub fn sync(&mut self, of: SyncOf, fx: &mut OwnerEffects) -> u32 {
        let up = self.up_osds();
        let durable = self.durable();
        let pool = match of {
            SyncOf::Image(image) => durable.images.get(image).map(|image| image.pool),
            SyncOf::Node => None,
        };
        let number = durable.syncs.begin((of, pool), up);
        for osd in up.iter() {
            fx.direct(osd, Directive::Sync(number));
        }
        number
    }

    /// The syncs that have ended since the last call.
    pub fn take_synced(&mut self) -> Vec<SyncEnd> {
        self.durable.as_mut().map_or_else(Vec::new, |durable| durable.syncs.take_ended())
    }

    /// An OSD went down and will not answer: whether others have what it had, the next intervals of its groups tell.
    pub(crate) fn sync_without(&mut self, osd: OsdId, fx: &mut OwnerEffects) {
        let up = self.up_osds();
        let Some(durable) = &self.durable else { return };
        let mode = durable.disks.log_modes.get(&osd).copied();
        // Before the disk was open nothing was answered, and what is answered with an fsync is durable.
        if mode.is_some_and(|mode| mode != LogMode::Fsync) {
            self.open_debts_of(osd);
        }
        if matches!(mode, Some(LogMode::Background | LogMode::None)) {
            self.lose_what_it_had(osd);
        }
        for asked in self.durable().syncs.without(osd, up) {
            up.iter().for_each(|osd| fx.direct(osd, Directive::Sync(asked)));
        }
    }

    /// Of the groups that an OSD has served that goes, what was answered lately may be nowhere else.
    fn open_debts_of(&mut self, osd: OsdId) {
        // An answer may be on its way.
        let on_their_way = self.updates_on_their_way();
        let durable = self.durable.as_mut().expect("the OSDs have disks");
        let served = self.map.pgs().filter(|(_, state)| state.acting.contains(&osd));
        for (pg, state) in served {
            if durable.syncs.has_answered(pg) || on_their_way.contains(&pg) {
                let group = (self.map.pool_of(pg).0, pg);
                durable.syncs.open_debt(group, state.servers(), whole_of(state));
            }
        }
    }

    /// A cluster goes on without some of its disks: what an earlier life has answered may be there alone, where an end of the node takes nothing of that from a
    /// disk. In other log modes it is there already, or the end has taken it.
    pub(crate) fn open_debts_of_who_is_away(&mut self) {
        let durable = self.durable.as_ref().expect("the OSDs have disks");
        if durable.disks.log_modes.values().all(|mode| *mode != LogMode::LogOnly) {
            return;
        }
        let away = self.away();
        let gone_of = |pg| -> OsdSet {
            self.may_bring_back(pg).iter().filter(|osd| away.contains(*osd)).collect()
        };
        let served = self.map.pgs().filter(|(_, pg)| pg.served.interval != IntervalId::NEVER);
        let gone: Vec<_> = served.map(|(pg, _)| (pg, gone_of(pg))).collect();
        for (pg, gone) in gone.into_iter().filter(|(_, gone)| !gone.is_empty()) {
            let pool = self.map.pool_of(pg).0;
            self.durable().syncs.open_debt((pool, pg), gone, gone);
        }
        for osd in away.iter() {
            if self.may_lose_what_it_accepted(osd) {
                self.lose_what_it_had(osd);
            }
        }
    }

    /// What an OSD that is down had of what was answered will not come back: its device has lost it, or it gets another disk, or is none any more.
    pub(crate) fn lose_what_it_had(&mut self, osd: OsdId) {
        let lost = self.durable().syncs.forget_osd(osd);
        self.lose(&lost);
    }

    /// Whether an OSD's device has failed to make durable what it had accepted: in a flush, or in the writes by which a start has it accept all of it once more.
    pub(crate) fn may_lose_what_it_accepted(&self, osd: OsdId) -> bool {
        use Fault::{Flush, Restart};
        let fault = self.fault(osd);
        matches!(fault, Some(DiskFault::Store(Flush(_) | Restart(RestartFault::Unwritable))))
    }

    /// Peering has seen these copies of a group, and has decided who serves it, if somebody can: `is_rest` says that no copy was left that had all.
    pub(crate) fn settle_debt(&mut self, pg: PgId, told: OsdSet, is_rest: bool) {
        let Some(durable) = &mut self.durable else { return };
        let (pool, state) = (self.map.pool_of(pg).0, self.map.pg(pg));
        let whole = (!state.acting.is_empty()).then(|| whole_of(state));
        if durable.syncs.decided((pool, pg), PeeringOutcome { told, whole, is_rest }) {
            self.lose(&BTreeSet::from([pool]));
        }
    }

    fn lose(&mut self, pools: &BTreeSet<PoolId>) {
        if !pools.is_empty() {
            let durable = self.durable();
            let of_pools = durable.images.list().filter(|image| pools.contains(&image.pool));
            durable.syncs.lose(pools, of_pools.map(|image| image.id));
        }
    }
}

/// Who serves a placement group and lacks nothing of it.
fn whole_of(state: &PgState) -> OsdSet {
    state.servers().iter().filter(|osd| !state.lacking.contains(*osd)).collect()
}
