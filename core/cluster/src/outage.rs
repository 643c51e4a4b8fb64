//! What a stop of OSDs would cost: which placement groups lose copies, and which nobody would serve any more. It asks the same
//! rules that decide when OSDs really go.

use crate::cluster::Cluster;
use crate::map::PgState;
use crate::peering::Peering;
use crate::quorum::is_quorum;
use crate::seeking::Seeking;
use loadline_osd::{CopyState, OsdId, OsdSet, PgId};

/// The placement groups that some OSDs serve, by what a stop of these OSDs makes of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outage {
    /// They are served on, with fewer copies than they should have.
    pub become_degraded: Vec<PgId>,
    /// The same, and they had too few before.
    pub become_more_degraded: Vec<PgId>,
    /// Nobody serves them now. Those that would be served in a moment are among them if they would be without the OSDs too.
    pub already_inactive: Vec<PgId>,
    /// Nobody would serve them, or not all of them, now or in a moment: the OSDs have their last whole copies, or too few would be left to keep a map.
    pub become_inactive: Vec<PgId>,
}

impl Outage {
    /// Whether everything that is served now would be served on, and it is known.
    pub fn is_harmless(&self) -> bool {
        self.already_inactive.is_empty() && self.become_inactive.is_empty()
    }
}

impl Cluster {
    /// What a stop of these OSDs would cost, where these are the copies now.
    pub fn outage<'a>(
        &self,
        osds: OsdSet,
        copy: impl Fn(OsdId, PgId) -> Option<CopyState<'a>>,
    ) -> Outage {
        let left: Vec<OsdId> = self.up_osds().iter().filter(|osd| !osds.contains(*osd)).collect();
        let mut outage = Outage::default();
        let keeps_maps = self.keeps_maps_without(osds);
        for (pg, state) in self.map.pgs() {
            let comes = self.waits_for(pg).is_some();
            if !comes && !state.acting.iter().any(|osd| osds.contains(*osd)) {
                continue;
            }
            let PgState { ready, clean, .. } = *state;
            let copies = left.iter().map(|osd| (*osd, copy(*osd, pg))).collect();
            let peered = self.peer_with(pg, copies);
            let stopped = self.up_osds().iter().filter(|osd| osds.contains(*osd));
            let has_last = stopped.filter_map(|osd| copy(osd, pg)).any(|it| peered.needs(&it));
            let goes_on = keeps_maps && !peered.acting.is_empty() && !has_last;
            let is_whole = |osd: &OsdId| copy(*osd, pg).is_none_or(|it| it.is_whole());
            let clean = clean && state.acting.iter().all(is_whole);
            let group = match (ready || comes, goes_on, ready, clean) {
                (true, false, ..) => &mut outage.become_inactive,
                (false, ..) | (true, true, false, _) => &mut outage.already_inactive,
                (true, true, true, true) => &mut outage.become_degraded,
                (true, true, true, false) => &mut outage.become_more_degraded,
            };
            group.push(pg);
        }
        outage
    }

    /// Whether a moment tells more of what a stop of these OSDs would cost: others have the next word about a placement group, or
    /// about the map. An OSD that went down a millisecond ago has left both in motion.
    pub fn is_settling_without(&self, osds: OsdSet) -> bool {
        let others_move = |pg| {
            let waits_for = self.waits_for(pg);
            waits_for.is_some_and(|awaited| awaited.iter().any(|osd| !osds.contains(osd)))
        };
        self.missing_holders() == OsdSet::EMPTY
            && (!self.is_map_held_without(osds) || self.map.pgs().any(|(pg, _)| others_move(pg)))
    }

    /// Whether the map that counts names all others that run, and nobody else.
    fn is_map_held_without(&self, osds: OsdSet) -> bool {
        let but_these =
            |of: OsdSet| -> OsdSet { of.iter().filter(|osd| !osds.contains(*osd)).collect() };
        let commit = self.durable.as_ref().and_then(|durable| durable.saving.commit.as_ref());
        let Some(kept) = commit.and_then(|commit| commit.committed()) else { return true };
        but_these(kept.holders.now) == but_these(self.up_osds())
    }

    /// The OSDs that have the next word about a placement group which comes to be served if nothing else happens; none of them, if it
    /// waits for the map.
    fn waits_for(&self, pg: PgId) -> Option<OsdSet> {
        let state = self.map.pg(pg);
        match self.peering.get(&pg) {
            Some(Peering::Asking { left, .. } | Peering::Joining { left, .. }) => Some(*left),
            None if state.ready || state.acting.is_empty() => None,
            None => {
                let members = state.acting.iter().chain(&state.backfill).copied();
                Some(members.filter(|osd| !state.activated.contains(*osd)).collect())
            }
        }
    }

    /// The placement groups of which an OSD that is down may have what no other has: nobody serves them, or all who do lack something or were found bad in
    /// something by a scrub, or objects of theirs are not found anywhere.
    pub fn may_hold_last_copy(&self, osd: OsdId) -> Vec<PgId> {
        if !self.may_come_back(osd) {
            return Vec::new();
        }
        let all = self.map.pgs().map(|(id, _)| id);
        all.filter(|id| !self.is_whole_without(osd, *id)).collect()
    }

    /// Whether those of a placement group's servers who run, without this OSD, have all of it, as far as is known: one lacks nothing, and nothing is unfound.
    /// Where each lacks something, nobody may have looked yet whether another one gives it.
    pub(crate) fn is_whole_without(&self, osd: OsdId, id: PgId) -> bool {
        let pg = self.map.pg(id);
        // While the others are asked, who has gone is still named among those who served last.
        let runs = |other: &OsdId| *other != osd && self.map.osds()[*other].up;
        let has_all =
            |other: &OsdId| runs(other) && !pg.lacking.with(pg.found_bad).contains(*other);
        let is_unfound = !pg.unfound.is_empty() || pg.had_unfound;
        let is_sought = self.seeking.get(&id).is_some_and(Seeking::is_missing_any);
        pg.acting.iter().any(has_all) && !is_unfound && !is_sought
    }

    /// `pool.group` as operators know it: the pool's number and, in hexadecimal, the group's own in its pool.
    pub fn pg_name(&self, pg: PgId) -> String {
        format!("{}.{:x}", self.map.pool_of(pg).0.get(), self.map.index_in_pool(pg))
    }

    fn keeps_maps_without(&self, osds: OsdSet) -> bool {
        let commit = self.durable.as_ref().and_then(|durable| durable.saving.commit.as_ref());
        let Some(kept) = commit.and_then(|commit| commit.committed()) else { return true };
        let left = self.up_osds().iter().filter(|osd| !osds.contains(*osd)).collect();
        is_quorum(kept.holders.now, left)
    }
}
