//! The owner of the OSDs: routes ops, carries out changes of the map, and passes every other effect on to its world.

use crate::durable::Durable;
use crate::fullness::Fullness;
use crate::map::{Map, OsdState, PoolId, PoolSpec};
use crate::peering::{Copies, Peered, Rules, peer};
use crate::router::{IssuedOp, Router, Target};
use loadline_base::{IdVec, Time};
use loadline_osd::{
    Activation, Data, Effect, Effects, Envelope, Event, Notice, OpId, Options, Osd, OsdId, OsdSet,
    PgId, Policy, Progress, Waits,
};
use loadline_store::ObjectNo;

/// What a cluster is built from. Every OSD starts with the same settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How many OSDs.
    pub osds: u32,
    /// Decides where placement groups fall.
    pub placement_seed: u64,
    /// How work enters the queues.
    pub policy: Policy,
    /// The OSDs' bounds.
    pub options: Options,
}

/// The map with its OSDs.
pub struct Cluster {
    pub(crate) map: Map,
    pub(crate) osds: IdVec<OsdId, Osd>,
    pub(crate) router: Router,
    pub(crate) fullness: Fullness,
    /// What concerns the disks, where the OSDs have some.
    pub(crate) durable: Option<Durable>,
}

impl Cluster {
    /// A cluster of OSDs that are up and in, without pools.
    pub fn new(config: &Config) -> Cluster {
        let osd = |index: u32| {
            let policy = Policy {
                seed: config.policy.seed ^ u64::from(index) << 32,
                ..config.policy.clone()
            };
            Osd::new(OsdId::new(index), policy, config.options)
        };
        Cluster {
            map: Map::new(config.osds, config.placement_seed),
            osds: (0..config.osds).map(osd).collect(),
            router: Router::default(),
            fullness: Fullness::default(),
            durable: None,
        }
    }

    /// The map as it stands.
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// Creates a pool and peers its placement groups.
    pub fn create_pool(&mut self, now: Time, spec: PoolSpec, fx: &mut Effects) -> PoolId {
        let pool = self.map.add_pool(spec);
        self.map.next_epoch();
        self.place_pool(pool);
        for pg in self.map.pgs_of(pool) {
            self.peer_pg(now, pg, fx);
        }
        self.save_map(now, fx);
        pool
    }

    /// Fills a pool with full objects at once, outside time: how a study prepares what it does not measure.
    pub fn prefill(&mut self, pool: PoolId, objects: u64) {
        let bytes = self.map.pools()[&pool].spec.object_bytes;
        for object in (0..objects).map(ObjectNo) {
            let pg = self.map.pg_of(pool, object);
            for osd in self.map.pg(pg).acting.clone() {
                self.osds[osd].prefill(pg, object, bytes);
            }
        }
    }

    /// Takes a client's op. The answer is its number, and where to send it, if somebody serves it now.
    pub fn issue(&mut self, now: Time, target: &Target, data: Data) -> (OpId, Option<Envelope>) {
        let id = self.router.open(now, &self.map, target, data);
        (id, self.route(id))
    }

    /// Ends an op whose reply has reached its client; `None` for the second reply to a resent op.
    pub fn finish(&mut self, id: OpId) -> Option<IssuedOp> {
        self.router.close(id)
    }

    /// Steps one OSD; what the world has to do is appended to `fx`. Events for an OSD that is down are dropped.
    #[inline]
    pub fn step(&mut self, now: Time, osd: OsdId, event: Event, fx: &mut Effects) {
        // An OSD whose disk is open lives, even if the map does not say yet that it takes part.
        let is_heard = match event {
            Event::Message(_) => self.map.osds()[osd].up,
            _ => self.map.osds()[osd].up || self.osds[osd].has_disk(),
        };
        if is_heard {
            self.osds[osd].step(now, event, fx);
            self.settle(now, fx);
        }
    }

    /// Deals with what the OSDs have told.
    #[inline]
    pub(crate) fn settle(&mut self, now: Time, fx: &mut Effects) {
        // Asked before taken: it is so after nearly every event.
        if fx.owner.is_empty() {
            return;
        }
        for notice in std::mem::take(&mut fx.owner) {
            self.settle_one(now, notice, fx);
        }
    }

    fn settle_one(&mut self, now: Time, notice: Notice, fx: &mut Effects) {
        match notice {
            Notice::Recovered(pg, interval) => self.pg_recovered(now, pg, interval, fx),
            Notice::Activated(osd, pg, interval) => self.activated(now, osd, pg, interval, fx),
            Notice::Identified(osd, term) => self.identified(now, osd, term, fx),
            Notice::MapSaved(osd, epoch) => self.map_saved(now, osd, epoch, fx),
            Notice::Synced(osd, number) => self.synced(osd, number),
            Notice::Opened(osd, opened) => self.opened(now, osd, *opened, fx),
            Notice::Stopped(osd, fault) => self.stopped(now, osd, fault, fx),
        }
    }

    /// Marks an OSD up or down, in or out, and moves placement groups accordingly.
    pub fn set_osd(&mut self, now: Time, osd: OsdId, state: OsdState, fx: &mut Effects) {
        let before = self.map.osds()[osd];
        if before == state {
            return;
        }
        self.map.set_osd(osd, state);
        self.map.next_epoch();
        if before.up && !state.up {
            self.osds[osd].crash(now);
            self.sync_without(osd);
        }
        self.place_pools();
        let pgs: Vec<PgId> = self.map.pgs().map(|(pg, _)| pg).collect();
        for pg in pgs {
            self.peer_pg(now, pg, fx);
            self.retire_strays(now, pg, fx);
        }
        self.save_map(now, fx);
    }

    /// New settings for every OSD at once, between two events.
    pub fn configure(&mut self, now: Time, policy: &Policy, options: Options, fx: &mut Effects) {
        for osd in self.osds.ids() {
            self.osds[osd].configure(now, policy.clone(), options, fx);
            self.settle(now, fx);
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

    /// Begins a new interval of a placement group if the present one cannot go on: placement wants other OSDs, or one
    /// that takes part has gone, or nobody serves yet.
    pub(crate) fn peer_pg(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let state = self.map.pg(pg);
        let mut members = state.acting.iter().chain(&state.backfill);
        let goes_on = !state.acting.is_empty()
            && state.running == self.running(&state.up)
            && members.all(|osd| self.map.osds()[*osd].up);
        if !goes_on {
            self.begin_interval(now, pg, fx);
        }
    }

    fn running(&self, osds: &[OsdId]) -> Vec<OsdId> {
        osds.iter().copied().filter(|osd| self.map.osds()[*osd].up).collect()
    }

    pub(crate) fn begin_interval(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let peered = self.decide(pg);
        let spec = self.map.pool_of(pg).1.spec.clone();
        let interval = self.map.epoch();
        let id = self.interval_id(interval);
        let running = self.running(&self.map.pg(pg).up);
        let state = self.map.pg_mut(pg);
        state.interval = interval;
        state.running = running;
        state.acting = peered.acting.clone();
        state.backfill = peered.backfill.clone();
        state.clean = peered.missing.is_empty()
            && state.acting == state.up
            && state.acting.len() == spec.copies as usize;
        state.ready = self.durable.is_none();
        state.activated = OsdSet::EMPTY;
        if !state.acting.is_empty() && state.ready {
            state.active_in = id;
        }
        self.share_log(pg, &peered);
        let activation = Activation {
            interval,
            term: id.term,
            acting: peered.acting,
            copies: spec.copies,
            missing: peered.missing,
            asynchronous: peered.asynchronous,
            backfill: peered.backfill,
            object_bytes: spec.object_bytes,
            recovery_priority: spec.recovery_priority,
        };
        self.activate(now, pg, &activation, fx);
        self.route_open_ops(pg, fx);
    }

    /// Sends the ops of a placement group that have no reply yet to who serves it now, if somebody does.
    pub(crate) fn route_open_ops(&mut self, pg: PgId, fx: &mut Effects) {
        for op in self.router.open_ops(pg) {
            fx.world.extend(self.route(op).map(Effect::Send));
        }
    }

    fn decide(&self, pg: PgId) -> Peered {
        self.decide_without(pg, OsdSet::EMPTY)
    }

    /// The same, as if these OSDs were down.
    pub(crate) fn decide_without(&self, pg: PgId, gone: OsdSet) -> Peered {
        let is_left = |osd: OsdId| !gone.contains(osd);
        let up = self.map.osds().iter().filter(|(osd, state)| state.up && is_left(*osd));
        let states = up.map(|(osd, _)| (osd, self.osds[osd].copy(pg))).collect();
        let state = self.map.pg(pg);
        let rules = Rules {
            copies: self.map.pool_of(pg).1.spec.copies as usize,
            active_in: state.active_in,
        };
        peer(&state.up, &state.acting, &Copies { states }, &rules)
    }

    /// All acting OSDs take the authority's log: what they lack of it, they are told.
    fn share_log(&mut self, pg: PgId, peered: &Peered) {
        let Some(authority) = peered.authority else { return };
        let copy = self.osds[authority].copy(pg).expect("the authority has a copy");
        let log = copy.log.clone();
        for osd in peered.acting.iter().filter(|osd| **osd != authority) {
            self.osds[*osd].adopt_log(pg, log.clone());
        }
    }

    /// Tells everybody who has a copy of the new interval. First those who do not take part any more, then the members,
    /// replicas first, so that nothing reaches one that does not know the interval yet.
    fn activate(&mut self, now: Time, pg: PgId, activation: &Activation, fx: &mut Effects) {
        let index = self.map.index_in_pool(pg);
        let members: Vec<OsdId> =
            activation.backfill.iter().chain(activation.acting.iter().rev()).copied().collect();
        for osd in self.osds.ids().filter(|osd| !members.contains(osd)).collect::<Vec<_>>() {
            self.step(now, osd, Event::Deactivate(pg), fx);
        }
        for osd in members {
            self.osds[osd].place(pg, index);
            self.step(now, osd, Event::Activate(pg, Box::new(activation.clone())), fx);
        }
    }

    /// Copies that nobody needs any more are deleted, once every copy is where it should be.
    pub(crate) fn retire_strays(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let state = self.map.pg(pg);
        // Where the map is on disks, the members' own state may not be there yet.
        if !state.clean || !state.ready {
            return;
        }
        let strays = self.osds.ids().filter(|osd| !state.acting.contains(osd));
        let strays: Vec<OsdId> = strays.filter(|osd| self.osds[*osd].copy(pg).is_some()).collect();
        for osd in strays {
            self.step(now, osd, Event::Retire(pg), fx);
        }
    }

    /// Every copy is complete and nothing is in flight: the members that were filled or caught up take the primary's
    /// log, and the placement group goes where it should be.
    fn pg_recovered(&mut self, now: Time, pg: PgId, interval: u32, fx: &mut Effects) {
        if !self.map.has_pg(pg) || self.map.pg(pg).interval != interval {
            return;
        }
        let state = self.map.pg(pg);
        let Some(&primary) = state.acting.first() else { return };
        let members: Vec<OsdId> = state.acting.iter().chain(&state.backfill).copied().collect();
        let copy = self.osds[primary].copy(pg).expect("the primary has a copy");
        let log = copy.log.clone();
        for osd in members {
            self.osds[osd].complete(pg, log.clone());
        }
        self.map.next_epoch();
        self.begin_interval(now, pg, fx);
        self.retire_strays(now, pg, fx);
    }

    /// The counters of the whole cluster.
    pub fn progress(&mut self) -> Progress {
        let mut sum = Progress::default();
        for (_, osd) in self.osds.iter_mut() {
            sum += osd.progress();
        }
        sum
    }

    /// Whether every placement group is served and has every copy where it should be.
    pub fn is_clean(&self) -> bool {
        self.map.pgs().all(|(_, state)| state.clean)
    }

    /// The copies that list other objects than their primary does, for checkers of what must be alike.
    pub fn copies_that_differ(&mut self) -> Vec<(PgId, OsdId)> {
        let groups = self.map.pgs().map(|(pg, state)| (pg, state.acting.clone()));
        let mut differing = Vec::new();
        for (pg, acting) in groups.collect::<Vec<_>>() {
            let Some(primary) = acting.first() else { continue };
            let listed = self.osds[*primary].objects(pg).clone();
            let others =
                acting.iter().skip(1).filter(|osd| *self.osds[**osd].objects(pg) != listed);
            differing.extend(others.map(|osd| (pg, *osd)));
        }
        differing
    }

    /// Who waited where, over all OSDs.
    pub fn waits(&self) -> Waits {
        let mut sum = Waits::default();
        for osd in self.osds.values() {
            sum.merge(osd.waits());
        }
        sum
    }

    /// Forgets who waited where, to measure from now on.
    pub fn reset_waits(&mut self) {
        for (_, osd) in self.osds.iter_mut() {
            osd.reset_waits();
        }
    }

    /// One OSD, to look into.
    pub fn osd(&mut self, osd: OsdId) -> &mut Osd {
        &mut self.osds[osd]
    }
}
