//! The map on the disks of its OSDs: when it is written, when it counts, and what waits for that.
//!
//! A placement group serves nobody in a new interval before all who take part have the interval on their disks and a
//! quorum of the OSDs has a map that tells of it. So whoever starts from such a map knows the last interval in
//! which a write may have been acknowledged.

use crate::cluster::{Cluster, OwnerEffects};
use crate::durable::Durable;
use crate::map::OsdState;
use crate::map_change::MapChange;
use crate::quorum::{Holders, MapCommit, Term};
use loadline_base::Bytes;
use loadline_osd::{Data, Directive, DiskFault, Identity, IntervalId, Opened, OsdId, OsdSet, PgId};
use loadline_store::paged::ids::StoreId;

impl Cluster {
    pub(crate) fn durable(&mut self) -> &mut Durable {
        self.durable.as_mut().expect("the OSDs have disks")
    }

    /// Begins to open an OSD's disk, which has this size. When that has ended, the OSD comes up by itself if the cluster
    /// serves and the disk is its own.
    pub fn open_osd(&mut self, osd: OsdId, bytes: Bytes, fx: &mut OwnerEffects) {
        assert!(!self.map.osds()[osd].up, "{osd} runs already");
        let durable = self.durable();
        durable.disks.found.remove(&osd);
        durable.disks.faults.remove(&osd);
        durable.disks.stores.note_found(osd, None);
        durable.disks.healing.is_over(osd);
        self.begin_to_open(osd, bytes, fx);
    }

    pub(crate) fn opened(&mut self, osd: OsdId, opened: Opened, fx: &mut OwnerEffects) {
        self.osds[osd].note_open();
        self.note_store(osd, opened.store);
        let durable = self.durable();
        durable.disks.log_modes.insert(osd, opened.log_mode);
        let Some(commit) = &durable.saving.commit else {
            durable.disks.found.insert(osd, Ok(opened));
            return;
        };
        let ours = Identity { cluster: durable.cluster, osd, term: commit.term().0 };
        let may_lack = durable.disks.fillable.contains(osd) || durable.disks.stores.has_come(osd);
        let promised = durable.disks.promised.get(&osd).copied().unwrap_or_default();
        let fault = match opened.identity {
            Some(found) if found.cluster != ours.cluster => Some(DiskFault::OtherCluster),
            Some(found) if found.osd != osd => Some(DiskFault::OtherOsd(found.osd)),
            Some(_) if promised == Term::GIVEN_UP => Some(DiskFault::GivenUp(osd)),
            Some(found) if !may_lack && Term(found.term) < promised => Some(DiskFault::Stale(osd)),
            Some(_) => None,
            None => (!may_lack).then_some(DiskFault::Empty),
        };
        if let Some(fault) = fault {
            return self.stopped(osd, fault, fx);
        }
        if let Some(store) = opened.store.filter(|_| opened.identity.is_none()) {
            self.expect_store(osd, store, fx);
        }
        self.map.give_number(osd);
        self.durable().disks.fillable.remove(osd);
        // It has forgotten that it was too full, and the next look may be a second away.
        self.check_fullness(fx);
        self.show_images(osd, fx);
        fx.direct(osd, Directive::Identify(ours));
        if !self.durable().disks.held.contains(osd) {
            let state = OsdState { up: true, ..self.map.osds()[osd] };
            self.set_osd(osd, state, fx);
        }
        self.durable().disks.found.insert(osd, Ok(opened));
        self.retire_orphans(osd, fx);
    }

    pub(crate) fn note_store(&mut self, osd: OsdId, store: Option<StoreId>) {
        if let Some(durable) = &mut self.durable {
            durable.disks.stores.note_found(osd, store);
        }
    }

    /// An OSD's disk has failed: it is down until somebody opens it again.
    pub(crate) fn stopped(&mut self, osd: OsdId, fault: DiskFault, fx: &mut OwnerEffects) {
        // An OSD on the direct store has no disk that could be opened again, but its drive may fail as well.
        if let Some(durable) = &mut self.durable {
            durable.disks.faults.insert(osd, fault);
            if durable.saving.commit.is_none() {
                durable.disks.found.insert(osd, Err(fault));
            }
        }
        self.crash(osd, fx);
        let state = OsdState { up: false, ..self.map.osds()[osd] };
        self.set_osd(osd, state, fx);
        if self.may_lose_what_it_accepted(osd) {
            self.lose_what_it_had(osd);
        }
        let change = self.last_change();
        if let Some(durable) = &mut self.durable {
            durable.disks.stopped_by.insert(osd, change);
        }
    }

    /// A member of a placement group's present interval has it on its disk.
    pub(crate) fn activated(&mut self, osd: OsdId, pg: PgId, interval: u32, fx: &mut OwnerEffects) {
        if !self.map.has_pg(pg) {
            return;
        }
        let state = self.map.pg_mut(pg);
        if state.interval == interval {
            state.activated.insert(osd);
            if state.is_activated() {
                self.save_map(fx);
            }
        }
    }

    /// The OSDs that run.
    pub(crate) fn up_osds(&self) -> OsdSet {
        self.map.osds().iter().filter(|(_, state)| state.up).map(|(osd, _)| osd).collect()
    }

    /// Something of the map has changed: it is written at once, or as soon as the one before it counts.
    pub(crate) fn save_map(&mut self, fx: &mut OwnerEffects) {
        let up = self.up_osds();
        let Some(durable) = &mut self.durable else { return };
        durable.saving.changes.made = durable.saving.changes.made.next();
        let Some(commit) = &durable.saving.commit else { return };
        // A map that waits for an OSD that has gone, or that has forgotten it, will never count; the next one may.
        let waits_in_vain =
            durable.saving.newest.is_some_and(|newest| !newest.holders.have_quorum(up));
        let forgotten = durable.saving.newest.is_some()
            && up.iter().any(|osd| !durable.saving.given.contains(osd));
        let is_first = commit.committed().is_none();
        if forgotten || !is_first && (commit.is_committed() || waits_in_vain) {
            self.write_map(fx);
        }
    }

    /// Writes the map as it is now.
    pub(crate) fn write_map(&mut self, fx: &mut OwnerEffects) {
        let up = self.up_osds();
        let epoch = self.map.next_epoch();
        let settled = self.map.pgs().filter(|(_, state)| state.is_activated());
        let intervals: Vec<(PgId, u32)> = settled.map(|(pg, state)| (pg, state.interval)).collect();
        let durable = self.durable();
        let holding: OsdSet =
            up.iter().filter(|osd| durable.saving.holding.contains(*osd)).collect();
        let commit = durable.saving.commit.as_mut().expect("the start has chosen a map");
        let holders = match commit.committed() {
            Some(_) if !holding.is_empty() => holding,
            Some(committed) => committed.holders.now,
            None => durable.saving.start_holders,
        };
        let summary = commit.begin(epoch, holders);
        (durable.saving.newest, durable.saving.given) = (Some(summary), up);
        (durable.saving.changes.written, durable.saving.intervals) =
            (durable.saving.changes.made, intervals);
        durable.kept_images.write(&durable.images);
        let bytes = Data::new(self.record(summary).encode());
        self.fullness.note_map(Bytes::new(bytes.len() as u64));
        for osd in up.iter() {
            fx.direct(osd, Directive::SaveMap(epoch, bytes.clone()));
        }
    }

    /// This owner's term is promised to a disk. The next map tells of it: a disk of this OSD that lacks the term is an
    /// old copy from then on.
    pub(crate) fn identified(&mut self, osd: OsdId, term: u64, fx: &mut OwnerEffects) {
        let durable = self.durable();
        let Some(commit) = durable.saving.commit.as_mut() else { return };
        if commit.term().0 != term {
            return;
        }
        let is_news = durable.disks.promised.insert(osd, Term(term)) != Some(Term(term));
        let might = commit.may_begin();
        match commit.promised(osd) && !might {
            true => self.write_map(fx),
            false if is_news => self.save_map(fx),
            false => {}
        }
    }

    pub(crate) fn map_saved(&mut self, osd: OsdId, epoch: u32, fx: &mut OwnerEffects) {
        let durable = self.durable();
        durable.saving.holding.insert(osd);
        // Until now it would have been an empty disk after a crash, which is filled without anybody's word as its OSD's next one.
        let is_news = durable.disks.stores.learn(osd);
        let Some(commit) = &mut durable.saving.commit else { return };
        let was_serving = commit.committed().is_some();
        if commit.saved(osd, epoch) {
            durable.saving.changes.kept = durable.saving.changes.written;
            self.images_are_kept(fx);
            if !was_serving {
                self.begin_to_serve(fx);
            }
            for (pg, interval) in std::mem::take(&mut self.durable().saving.intervals) {
                self.begin_service(pg, interval, fx);
            }
            self.retire_removed(fx);
        }
        let up = self.up_osds();
        let durable = self.durable();
        let held: OsdSet = up.iter().filter(|osd| durable.saving.holding.contains(*osd)).collect();
        // A map may count before all who are to hold it have it. The next one names the others too, and the one after that asks
        // for nobody else: what needs few is lost with few.
        let lags =
            durable.saving.newest.is_some_and(|newest| newest.holders != Holders::first(held));
        let commit = durable.saving.commit.as_ref().expect("it was there");
        if is_news || commit.is_committed() && (durable.saving.is_changed() || lags) {
            self.save_map(fx);
        }
    }

    /// A placement group may serve in this interval, if it is still the present one.
    fn begin_service(&mut self, pg: PgId, interval: u32, fx: &mut OwnerEffects) {
        if !self.map.has_pg(pg) {
            return;
        }
        let state = self.map.pg(pg);
        if state.interval == interval && !state.ready && !state.acting.is_empty() {
            self.serve(pg, fx);
        }
    }

    /// An interval that this owner began, told from those of other owners.
    pub(crate) fn interval_id(&self, epoch: u32) -> IntervalId {
        let commit = self.durable.as_ref().and_then(|durable| durable.saving.commit.as_ref());
        IntervalId { term: commit.map_or(0, |commit| commit.term().0), epoch }
    }

    /// The last change of the map. Who answers for a change waits for it, not for the map to rest: others may follow without end.
    pub fn last_change(&self) -> MapChange {
        self.durable.as_ref().map_or_else(MapChange::default, |durable| durable.saving.changes.made)
    }

    /// Whether a change of the map is on a quorum of the disks.
    pub fn is_kept(&self, change: MapChange) -> bool {
        self.durable.as_ref().is_none_or(|durable| durable.saving.changes.kept >= change)
    }

    /// An OSD that went down has no map in its present life.
    pub(crate) fn forget_what_was_given(&mut self, osd: OsdId) {
        if let Some(durable) = &mut self.durable {
            durable.saving.given.remove(osd);
        }
    }

    /// Whether every change of the map so far is on a quorum of the disks, and no map is being written.
    pub fn is_map_committed(&self) -> bool {
        let Some(durable) = &self.durable else { return true };
        !durable.saving.is_changed()
            && durable.saving.commit.as_ref().is_some_and(MapCommit::is_committed)
    }

    /// Whether all OSDs that run have the newest map, and it names all of them: whichever of their disks are there at the next
    /// start, as many of them may be missing as can be.
    pub fn is_map_everywhere(&self) -> bool {
        let up = self.up_osds();
        let Some(durable) = &self.durable else { return true };
        let on = durable.saving.commit.as_ref().map_or(OsdSet::EMPTY, MapCommit::on);
        let all = Holders::first(up);
        let names_all = durable.saving.newest.is_some_and(|newest| newest.holders == all);
        self.is_map_committed() && names_all && up.iter().all(|osd| on.contains(osd))
    }

    /// Why an OSD's disk is of no use, if it is not.
    pub fn fault(&self, osd: OsdId) -> Option<DiskFault> {
        self.durable.as_ref()?.disks.faults.get(&osd).copied()
    }
}
