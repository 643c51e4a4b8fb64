//! The owner of the map: routes ops, carries out changes of the map, and tells OSDs what follows from them. It knows them by what
//! they tell alone ([`Cluster::heard`]).

use crate::durable::Durable;
use crate::fullness::Fullness;
use crate::map::{Map, OsdState};
use crate::osds::KnownOsd;
use crate::peering::Peering;
use crate::placement::Placement;
use crate::pool::{PoolId, PoolSpec};
use crate::router::{IssuedOp, Router, Target};
use crate::seeking::Seeking;
use loadline_base::{Bytes, IdVec, Time};
use loadline_osd::{
    ClientOp, Data, Directive, Envelope, Notice, OpId, OsdId, OsdOptions, PgId, Policy,
    TenantTable, Views,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a cluster is built from. Every OSD starts with the same settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How many OSDs.
    pub osds: u32,
    /// How objects and placement groups are placed.
    pub placement: Placement,
    /// Decides where placement groups fall.
    pub placement_seed: u64,
    /// How work enters the queues.
    pub policy: Policy,
    /// The OSDs' bounds.
    pub options: OsdOptions,
}

/// What the map's owner wants done, in this order: ops are sent, and OSDs directed.
#[derive(Debug, Default)]
pub struct OwnerEffects {
    /// Ops on their way to their primaries.
    pub messages: Vec<Box<Envelope>>,
    /// What OSDs are told, which reaches each of them in this order.
    pub directives: Vec<(OsdId, Directive)>,
}

impl OwnerEffects {
    /// Tells an OSD.
    pub(crate) fn direct(&mut self, osd: OsdId, directive: Directive) {
        self.directives.push((osd, directive));
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.directives.is_empty()
    }
}

/// The map and its owner, who knows OSDs by what they tell.
pub struct Cluster {
    pub(crate) map: Map,
    pub(crate) osds: IdVec<OsdId, KnownOsd>,
    pub(crate) router: Router,
    /// Placement groups between two intervals.
    pub(crate) peering: BTreeMap<PgId, Peering>,
    /// Objects that could be read nowhere.
    pub(crate) seeking: BTreeMap<PgId, Seeking>,
    pub(crate) fullness: Fullness,
    /// What concerns the disks, where the OSDs have some.
    pub(crate) durable: Option<Durable>,
}

impl Cluster {
    /// A cluster of OSDs that are up and in, without pools.
    pub fn new(config: &Config) -> Cluster {
        Cluster {
            map: Map::new(config.osds, config.placement_seed).placed(config.placement.clone()),
            osds: (0..config.osds).map(|_| KnownOsd::default()).collect(),
            router: Router::default(),
            peering: BTreeMap::new(),
            seeking: BTreeMap::new(),
            fullness: Fullness::default(),
            durable: None,
        }
    }

    /// The map as it stands.
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// Creates a pool and peers its placement groups.
    pub fn create_pool(&mut self, spec: PoolSpec, fx: &mut OwnerEffects) -> PoolId {
        let pool = self.map.add_pool(spec);
        self.map.next_epoch();
        self.place_pool(pool);
        for pg in self.map.pgs_of(pool) {
            self.peer_pg(pg, fx);
        }
        self.save_map(fx);
        pool
    }

    /// Takes a client's op. The answer is its number, and where to send it, if somebody serves it now.
    pub fn issue(
        &mut self,
        now: Time,
        target: &Target,
        data: Data,
    ) -> (OpId, Option<Box<Envelope>>) {
        let id = self.router.open(now, &self.map, target, data);
        (id, self.route(id))
    }

    /// Ends an op whose reply has reached its client; `None` for the second reply to a resent op.
    pub fn finish(&mut self, id: OpId) -> Option<IssuedOp> {
        let ended = self.end_op(id)?;
        if let Some(durable) = self.durable.as_mut().filter(|_| ended.op.kind.is_update()) {
            durable.syncs.note_answered(ended.op.pg);
        }
        Some(ended)
    }

    /// The writes and zeros that have no reply yet, in no order that matters.
    pub(crate) fn open_changes(&self) -> impl Iterator<Item = &ClientOp> {
        self.router.open_changes()
    }

    /// The writes and zeros without a reply that no OSD has: they wait for room, or for somebody who serves their placement group.
    pub fn changes_that_wait(&self) -> impl Iterator<Item = &ClientOp> {
        self.router.changes_that_wait()
    }

    /// Ends an op, whether it has a reply or never will.
    pub(crate) fn end_op(&mut self, id: OpId) -> Option<IssuedOp> {
        let ended = self.router.close(id)?;
        self.fullness.forget(&ended.op);
        Some(ended)
    }

    /// Hears what an OSD tells, in which of its lives. What follows is appended to `fx`.
    pub fn heard(&mut self, osd: OsdId, life: u32, notice: Notice, fx: &mut OwnerEffects) {
        if !self.osds.get(osd).is_some_and(|known| known.is_in_life(life)) {
            return;
        }
        match notice {
            Notice::Opened(opened) => self.opened(osd, *opened, fx),
            Notice::Stopped(fault, store) => {
                self.note_store(osd, store);
                self.stopped(osd, fault, fx);
            }
            Notice::Room(room) => self.osds[osd].note_room(room),
            Notice::Copy(pg, number, report) => self.copy_told(osd, (pg, number), report, fx),
            Notice::Joined(pg, interval) => self.joined(osd, (pg, interval), fx),
            Notice::Activated(pg, interval) => self.activated(osd, pg, interval, fx),
            Notice::Unfound(pg, interval, objects) => self.unfound(pg, interval, objects, fx),
            Notice::Lacking(pg, interval, osds) => self.lacking(pg, interval, osds, fx),
            Notice::FoundBad(pg, interval, osds) => self.found_bad(pg, interval, osds),
            Notice::Recovered(pg, interval) => self.recovered(pg, interval, fx),
            Notice::Identified(term) => self.identified(osd, term, fx),
            Notice::MapSaved(epoch) => self.map_saved(osd, epoch, fx),
            Notice::Synced(asked) => self.durable().syncs.done(osd, asked),
            Notice::Rotten(page) => self.note_rotten(osd, page),
        }
    }

    /// Marks an OSD up or down, in or out, and moves placement groups accordingly.
    pub fn set_osd(&mut self, osd: OsdId, state: OsdState, fx: &mut OwnerEffects) {
        let before = self.map.osds()[osd];
        if before == state {
            return;
        }
        self.map.set_osd(osd, state);
        self.map.next_epoch();
        if before.up && !state.up {
            self.crash(osd, fx);
            self.forget_what_was_given(osd);
            self.sync_without(osd, fx);
        }
        let comes = state.up && !before.up;
        if comes {
            fx.direct(osd, Directive::Join);
        }
        self.place_pools();
        for pg in self.map.pgs().map(|(pg, _)| pg).collect::<Vec<_>>() {
            self.peer_pg(pg, fx);
            if comes {
                self.seek_with(pg, osd, fx);
                self.retire_stray(pg, osd, fx);
            }
        }
        self.share_kept_images(fx);
        self.save_map(fx);
    }

    /// New settings for every OSD at once.
    pub fn configure(&mut self, policy: &Policy, options: OsdOptions, fx: &mut OwnerEffects) {
        for osd in self.osds.ids() {
            fx.direct(osd, Directive::Configure(Box::new((policy.clone(), options))));
        }
    }

    /// Lets images share what clients get by these terms.
    pub fn share_images(&mut self, tenants: Arc<TenantTable>, fx: &mut OwnerEffects) {
        self.router.count(&tenants);
        for osd in self.osds.ids().collect::<Vec<_>>() {
            fx.direct(osd, Directive::ShareImages(tenants.clone()));
        }
    }

    /// Shows every OSD the images like this, where no map on disks tells of them.
    pub fn show_views(&mut self, views: &Arc<Views>, fx: &mut OwnerEffects) {
        for osd in self.osds.ids().collect::<Vec<_>>() {
            fx.direct(osd, Directive::ShowImages(views.clone()));
        }
    }

    pub(crate) fn place_pools(&mut self) {
        for pool in self.map.pools().keys().copied().collect::<Vec<_>>() {
            self.place_pool(pool);
        }
    }

    fn place_pool(&mut self, pool: PoolId) {
        let placed = self.map.place(pool);
        for (pg, up) in self.map.pgs_of(pool).zip(placed) {
            self.map.pg_mut(pg).up = up;
        }
    }

    /// Sends the ops of a placement group that have no reply yet to who serves it now, if somebody does.
    pub(crate) fn route_open_ops(&mut self, pg: PgId, fx: &mut OwnerEffects) {
        let ops = self.router.open_ops(pg);
        self.route_anew(ops, fx);
    }

    /// The placement groups of which an update may be answered without anybody having heard of it.
    pub(crate) fn updates_on_their_way(&self) -> BTreeSet<PgId> {
        self.router.updates_on_their_way()
    }

    /// Whether every placement group is served and has every copy where it should be.
    pub fn is_clean(&self) -> bool {
        self.map.pgs().all(|(_, state)| state.clean)
    }

    /// Has an OSD stop as a crash does.
    pub(crate) fn crash(&mut self, osd: OsdId, fx: &mut OwnerEffects) {
        self.osds[osd].end_life();
        fx.direct(osd, Directive::Crash);
    }

    /// Has an OSD open its disk.
    pub(crate) fn begin_to_open(&mut self, osd: OsdId, bytes: Bytes, fx: &mut OwnerEffects) {
        self.osds[osd].note_opening();
        fx.direct(osd, Directive::Open(bytes));
    }

    /// Whether an OSD's disk is being opened.
    pub fn is_opening_disk(&self, osd: OsdId) -> bool {
        self.osds[osd].is_opening()
    }

    /// Whether disks are being opened.
    pub fn is_opening(&self) -> bool {
        self.osds.values().any(KnownOsd::is_opening)
    }
}
