//! The map on the disks of its OSDs: when it is written, when it counts, and what waits for that.
//!
//! A placement group serves nobody in a new interval before all who take part have the interval on their disks and a
//! quorum of the OSDs has a map that tells of it. So whoever starts from such a map knows the last interval in
//! which a write may have been acknowledged.

use crate::cluster::{Cluster, OwnerEffects};
use crate::give_up::Loss;
use crate::healing::Healing;
use crate::images::Images;
use crate::kept_images::KeptImages;
use crate::map::OsdState;
use crate::map_change::MapChange;
use crate::quorum::{Holders, MapCommit, Summary, Term};
use crate::settings::Scope;
use crate::stores::Stores;
use loadline_base::Bytes;
use loadline_osd::{Data, Directive, DiskFault, Identity, IntervalId, Opened, OsdId, OsdSet, PgId};
use loadline_store::paged::ids::StoreId;
use std::collections::BTreeMap;

/// How far the changes of the map have come.
#[derive(Clone, Copy, Debug, Default)]
struct Changes {
    made: MapChange,
    /// The newest map that was begun tells of these.
    written: MapChange,
    /// The newest map that counts does.
    kept: MapChange,
}

/// What a cluster with disks keeps beside its map.
pub(crate) struct Durable {
    /// Tells this cluster's disks from every other one's.
    pub cluster: u128,
    /// Each OSD's size as it was made.
    pub sizes: BTreeMap<OsdId, Bytes>,
    /// The last term that each OSD's disk is known to have durably.
    pub promised: BTreeMap<OsdId, Term>,
    /// The drive that each OSD's capacity was measured on.
    pub measured_on: BTreeMap<OsdId, u64>,
    /// Which store is whose.
    pub stores: Stores,
    /// The images.
    pub images: Images,
    /// Those that clients and OSDs may know of.
    pub kept_images: KeptImages,
    /// Settings that an operator stored, as text, by where they hold and the option's name.
    pub settings: BTreeMap<(Scope, String), String>,
    /// The way of this owner's maps to the disks; `None` before it knows which map counts.
    pub commit: Option<MapCommit>,
    /// The holders of the map that this owner started with.
    start_holders: OsdSet,
    /// The newest map that was begun.
    newest: Option<Summary>,
    /// The OSDs that have a map of this owner: only they may be named as its holders.
    holding: OsdSet,
    /// Who has been given the newest map in its present life.
    given: OsdSet,
    /// The intervals that the newest map tells of.
    intervals: Vec<(PgId, u32)>,
    changes: Changes,
    /// What each disk said when it was opened, as long as something is to be made of it.
    pub found: BTreeMap<OsdId, Result<Opened, DiskFault>>,
    /// Placement groups that were removed by a change that is not kept yet.
    pub removed_pgs: BTreeMap<PgId, MapChange>,
    /// Why an OSD is down, if its disk was the reason.
    pub faults: BTreeMap<OsdId, DiskFault>,
    /// The change of the map before which such an OSD had gone down, if it was up in this life.
    pub stopped_by: BTreeMap<OsdId, MapChange>,
    /// What may be lost with disks that were given up in this life.
    pub loss: Option<Loss>,
    /// The OSDs whose disk may be empty when it is opened: an operator has said so.
    pub fillable: OsdSet,
    /// The OSDs that take no part when their disk is open, until their world lets them.
    pub held: OsdSet,
    /// Which disks are mended by themselves.
    pub healing: Healing,
    syncs: BTreeMap<u32, OsdSet>,
    next_sync: u32,
    synced: Vec<u32>,
}

impl Durable {
    pub(crate) fn new() -> Durable {
        Durable {
            cluster: 0,
            sizes: BTreeMap::new(),
            promised: BTreeMap::new(),
            measured_on: BTreeMap::new(),
            stores: Stores::default(),
            images: Images::default(),
            kept_images: KeptImages::default(),
            settings: BTreeMap::new(),
            commit: None,
            start_holders: OsdSet::EMPTY,
            newest: None,
            given: OsdSet::EMPTY,
            holding: OsdSet::EMPTY,
            intervals: Vec::new(),
            changes: Changes::default(),
            found: BTreeMap::new(),
            removed_pgs: BTreeMap::new(),
            faults: BTreeMap::new(),
            stopped_by: BTreeMap::new(),
            loss: None,
            fillable: OsdSet::EMPTY,
            held: OsdSet::EMPTY,
            healing: Healing::default(),
            syncs: BTreeMap::new(),
            next_sync: 0,
            synced: Vec::new(),
        }
    }

    /// Whether the map has changed since the last one that was begun.
    fn is_changed(&self) -> bool {
        self.changes.made > self.changes.written
    }

    /// The placement groups whose removal a map tells of that counts now.
    pub(crate) fn take_kept_removals(&mut self) -> Vec<PgId> {
        let kept = self.changes.kept;
        self.removed_pgs.extract_if(.., |_, change| *change <= kept).map(|(pg, _)| pg).collect()
    }

    /// The map that counts is known: from here on this owner writes its own.
    pub(crate) fn begin(&mut self, commit: MapCommit, start_holders: OsdSet) {
        (self.commit, self.start_holders) = (Some(commit), start_holders);
    }

    /// An OSD gets another disk, which holds no map yet.
    pub(crate) fn forget_disk(&mut self, osd: OsdId) {
        self.holding.remove(osd);
        self.fillable.insert(osd);
    }
}

impl Cluster {
    pub(crate) fn durable(&mut self) -> &mut Durable {
        self.durable.as_mut().expect("the OSDs have disks")
    }

    /// Begins to open an OSD's disk, which has this size. When that has ended, the OSD comes up by itself if the cluster
    /// serves and the disk is its own.
    pub fn open_osd(&mut self, osd: OsdId, bytes: Bytes, fx: &mut OwnerEffects) {
        assert!(!self.map.osds()[osd].up, "{osd} runs already");
        let durable = self.durable();
        durable.found.remove(&osd);
        durable.faults.remove(&osd);
        durable.stores.note_found(osd, None);
        durable.healing.is_over(osd);
        self.begin_to_open(osd, bytes, fx);
    }

    pub(crate) fn opened(&mut self, osd: OsdId, opened: Opened, fx: &mut OwnerEffects) {
        self.osds[osd].note_open();
        self.note_store(osd, opened.store);
        let durable = self.durable();
        let Some(commit) = &durable.commit else {
            durable.found.insert(osd, Ok(opened));
            return;
        };
        let ours = Identity { cluster: durable.cluster, osd, term: commit.term().0 };
        let may_lack = durable.fillable.contains(osd) || durable.stores.has_come(osd);
        let promised = durable.promised.get(&osd).copied().unwrap_or_default();
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
        self.durable().fillable.remove(osd);
        // It has forgotten that it was too full, and the next look may be a second away.
        self.check_fullness(fx);
        self.show_images(osd, fx);
        fx.direct(osd, Directive::Identify(ours));
        if !self.durable().held.contains(osd) {
            let state = OsdState { up: true, ..self.map.osds()[osd] };
            self.set_osd(osd, state, fx);
        }
        self.durable().found.insert(osd, Ok(opened));
        self.retire_orphans(osd, fx);
    }

    pub(crate) fn note_store(&mut self, osd: OsdId, store: Option<StoreId>) {
        if let Some(durable) = &mut self.durable {
            durable.stores.note_found(osd, store);
        }
    }

    /// An OSD's disk has failed: it is down until somebody opens it again.
    pub(crate) fn stopped(&mut self, osd: OsdId, fault: DiskFault, fx: &mut OwnerEffects) {
        // An OSD on the direct store has no disk that could be opened again, but its drive may fail as well.
        if let Some(durable) = &mut self.durable {
            durable.faults.insert(osd, fault);
            if durable.commit.is_none() {
                durable.found.insert(osd, Err(fault));
            }
        }
        self.crash(osd, fx);
        let state = OsdState { up: false, ..self.map.osds()[osd] };
        self.set_osd(osd, state, fx);
        let change = self.last_change();
        if let Some(durable) = &mut self.durable {
            durable.stopped_by.insert(osd, change);
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
        durable.changes.made = durable.changes.made.next();
        let Some(commit) = &durable.commit else { return };
        // A map that waits for an OSD that has gone, or that has forgotten it, will never count; the next one may.
        let waits_in_vain = durable.newest.is_some_and(|newest| !newest.holders.have_quorum(up));
        let forgotten =
            durable.newest.is_some() && up.iter().any(|osd| !durable.given.contains(osd));
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
        let holding: OsdSet = up.iter().filter(|osd| durable.holding.contains(*osd)).collect();
        let commit = durable.commit.as_mut().expect("the start has chosen a map");
        let holders = match commit.committed() {
            Some(_) if !holding.is_empty() => holding,
            Some(committed) => committed.holders.now,
            None => durable.start_holders,
        };
        let summary = commit.begin(epoch, holders);
        (durable.newest, durable.given) = (Some(summary), up);
        (durable.changes.written, durable.intervals) = (durable.changes.made, intervals);
        durable.kept_images.write(&durable.images);
        let bytes = Data::new(self.record(summary).encode());
        for osd in up.iter() {
            fx.direct(osd, Directive::SaveMap(epoch, bytes.clone()));
        }
    }

    /// This owner's term is promised to a disk. The next map tells of it: a disk of this OSD that lacks the term is an
    /// old copy from then on.
    pub(crate) fn identified(&mut self, osd: OsdId, term: u64, fx: &mut OwnerEffects) {
        let durable = self.durable();
        let Some(commit) = durable.commit.as_mut() else { return };
        if commit.term().0 != term {
            return;
        }
        let is_news = durable.promised.insert(osd, Term(term)) != Some(Term(term));
        let is_news = durable.stores.learn(osd) || is_news;
        let might = commit.may_begin();
        match commit.promised(osd) && !might {
            true => self.write_map(fx),
            false if is_news => self.save_map(fx),
            false => {}
        }
    }

    pub(crate) fn map_saved(&mut self, osd: OsdId, epoch: u32, fx: &mut OwnerEffects) {
        let durable = self.durable();
        durable.holding.insert(osd);
        let Some(commit) = &mut durable.commit else { return };
        let was_serving = commit.committed().is_some();
        if commit.saved(osd, epoch) {
            durable.changes.kept = durable.changes.written;
            self.images_are_kept(fx);
            if !was_serving {
                self.begin_to_serve(fx);
            }
            for (pg, interval) in std::mem::take(&mut self.durable().intervals) {
                self.begin_service(pg, interval, fx);
            }
            self.retire_removed(fx);
        }
        let up = self.up_osds();
        let durable = self.durable();
        let held: OsdSet = up.iter().filter(|osd| durable.holding.contains(*osd)).collect();
        // A map may count before all who are to hold it have it. The next one names the others too, and the one after that asks
        // for nobody else: what needs few is lost with few.
        let lags = durable.newest.is_some_and(|newest| newest.holders != Holders::first(held));
        let commit = durable.commit.as_ref().expect("it was there");
        if commit.is_committed() && (durable.is_changed() || lags) {
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
        let commit = self.durable.as_ref().and_then(|durable| durable.commit.as_ref());
        IntervalId { term: commit.map_or(0, |commit| commit.term().0), epoch }
    }

    /// Makes everything durable that was answered, on every OSD that runs. The number comes back with
    /// [`Cluster::take_synced`].
    pub fn sync(&mut self, fx: &mut OwnerEffects) -> u32 {
        let up = self.up_osds();
        let durable = self.durable();
        durable.next_sync = durable.next_sync.wrapping_add(1);
        let number = durable.next_sync;
        match up.is_empty() {
            true => durable.synced.push(number),
            false => drop(durable.syncs.insert(number, up)),
        }
        for osd in up.iter() {
            fx.direct(osd, Directive::Sync(number));
        }
        number
    }

    pub(crate) fn synced(&mut self, osd: OsdId, number: u32) {
        let durable = self.durable();
        let Some(left) = durable.syncs.get_mut(&number) else { return };
        left.remove(osd);
        if left.is_empty() {
            durable.syncs.remove(&number);
            durable.synced.push(number);
        }
    }

    /// An OSD that went down will not answer: what it had is on others, or is not served.
    pub(crate) fn sync_without(&mut self, osd: OsdId) {
        let Some(durable) = &mut self.durable else { return };
        durable.given.remove(osd);
        for number in durable.syncs.keys().copied().collect::<Vec<_>>() {
            self.synced(osd, number);
        }
    }

    /// The numbers of the syncs that have ended since the last call.
    pub fn take_synced(&mut self) -> Vec<u32> {
        self.durable.as_mut().map_or_else(Vec::new, |durable| std::mem::take(&mut durable.synced))
    }

    /// The last change of the map. Who answers for a change waits for it, not for the map to rest: others may follow without end.
    pub fn last_change(&self) -> MapChange {
        self.durable.as_ref().map_or_else(MapChange::default, |durable| durable.changes.made)
    }

    /// Whether a change of the map is on a quorum of the disks.
    pub fn is_kept(&self, change: MapChange) -> bool {
        self.durable.as_ref().is_none_or(|durable| durable.changes.kept >= change)
    }

    /// Whether every change of the map so far is on a quorum of the disks, and no map is being written.
    pub fn is_map_committed(&self) -> bool {
        let Some(durable) = &self.durable else { return true };
        !durable.is_changed() && durable.commit.as_ref().is_some_and(MapCommit::is_committed)
    }

    /// Whether all OSDs that run have the newest map, and it names all of them: whichever of their disks are there at the next
    /// start, as many of them may be missing as can be.
    pub fn is_map_everywhere(&self) -> bool {
        let up = self.up_osds();
        let Some(durable) = &self.durable else { return true };
        let on = durable.commit.as_ref().map_or(OsdSet::EMPTY, MapCommit::on);
        let all = Holders::first(up);
        let names_all = durable.newest.is_some_and(|newest| newest.holders == all);
        self.is_map_committed() && names_all && up.iter().all(|osd| on.contains(osd))
    }

    /// Why an OSD's disk is of no use, if it is not.
    pub fn fault(&self, osd: OsdId) -> Option<DiskFault> {
        self.durable.as_ref()?.faults.get(&osd).copied()
    }
}
