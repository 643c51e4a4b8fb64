//! The map: which OSDs exist and count, which pools there are, and where each placement group belongs.

use crate::codec::{MapRecord, OsdRecord, PgRecord};
use crate::images::MEMBER_BITS;
use crate::placement::Placement;
use crate::pool::{PoolId, PoolSpec};
use crate::served::LastServed;
use loadline_base::IdVec;
use loadline_osd::{OsdId, OsdSet, PgId};
use loadline_store::ObjectNo;
use std::collections::BTreeMap;

/// A pool of the map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// What it was created with.
    pub spec: PoolSpec,
    first_pg: PgId,
}

/// Whether an OSD runs, and whether it counts for placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OsdState {
    /// It runs and answers.
    pub up: bool,
    /// Placement may use it.
    pub is_in: bool,
}

/// Where a placement group is served from now, and where it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PgState {
    /// Where placement wants it, primary first.
    pub up: Vec<OsdId>,
    /// Those of `up` that ran when the present interval began.
    pub running: Vec<OsdId>,
    /// Who serves it, primary first; empty while nobody can.
    pub acting: Vec<OsdId>,
    /// Who is being filled by backfill.
    pub backfill: Vec<OsdId>,
    /// The epoch at which the present interval began; 0 before the first.
    pub interval: u32,
    /// The last interval in which somebody served it.
    pub served: LastServed,
    /// Whether ops may be sent to who serves it: at once, or where the map is kept on disks, when the disks of all who
    /// take part and a quorum's map tell of the interval.
    pub ready: bool,
    /// Who takes part in the present interval and has it on its disk.
    pub activated: OsdSet,
    /// Whether every copy is where it should be, and none lacks anything.
    pub clean: bool,
    /// Who of those that serve it lacks objects of it, or pages of them: when the present interval began, or as the primary says since. Until the next one has
    /// begun it is said of those who served last.
    pub lacking: OsdSet,
    /// Whose copies scrubs have found bad in something, and none has found good since, whatever intervals have begun.
    pub found_bad: OsdSet,
    /// Objects that some OSD should get and that can be read on no other, as the primary says.
    pub unfound: Vec<ObjectNo>,
    /// Whether there were some in an earlier interval, and something is missing still: the present primary may not have looked for it
    /// yet.
    pub had_unfound: bool,
}

impl PgState {
    /// The primary that ops go to now. Nobody, before the present interval has begun on all who take part.
    pub fn serving(&self) -> Option<OsdId> {
        self.acting.first().copied().filter(|_| self.ready)
    }

    /// Who serves it, if somebody does.
    pub(crate) fn servers(&self) -> OsdSet {
        self.acting.iter().copied().collect()
    }

    /// Who takes part in it: whom an update reaches.
    pub(crate) fn members(&self) -> OsdSet {
        self.acting.iter().chain(&self.backfill).copied().collect()
    }

    /// Whether so many copies are served from where placement wants them.
    pub(crate) fn is_in_place(&self, copies: usize) -> bool {
        self.acting == self.up && self.acting.len() == copies
    }
}

/// The map of one host's OSDs.
#[derive(Clone, Debug)]
pub struct Map {
    epoch: u32,
    placement: Placement,
    placement_seed: u64,
    osds: IdVec<OsdId, OsdState>,
    /// Numbers among the OSDs whose OSD was removed.
    removed: OsdSet,
    /// Who is out because it was away for long, and is used again as soon as it is up.
    taken_out: OsdSet,
    pools: BTreeMap<PoolId, Pool>,
    /// The next pool's number. Numbers are not used again.
    next_pool: PoolId,
    /// By number; those of a pool that was removed are none any more.
    pgs: IdVec<PgId, Option<(PoolId, PgState)>>,
}

impl PgState {
    /// Whether everybody who takes part in the present interval has it on its disk. While it is not known who does, nobody has.
    pub(crate) fn is_activated(&self) -> bool {
        let mut members = self.acting.iter().chain(&self.backfill);
        !self.acting.is_empty() && members.all(|osd| self.activated.contains(*osd))
    }
}

impl Pool {
    /// The number of its first placement group; the others follow it.
    pub fn first_pg(&self) -> PgId {
        self.first_pg
    }
}

impl Map {
    /// The map that a record tells of; where its placement groups belong is still to be found out.
    pub(crate) fn restore(record: &MapRecord) -> Map {
        let mut map = Map::new(0, record.placement_seed);
        map.epoch = record.epoch;
        let state = |osd: &OsdRecord| OsdState { up: osd.up, is_in: osd.is_in };
        map.osds = record.osds.values().map(state).collect();
        let those = |of: fn(&OsdRecord) -> bool| {
            record.osds.iter().filter(move |(_, record)| of(record)).map(|(osd, _)| *osd).collect()
        };
        (map.removed, map.taken_out) = (those(|osd| osd.lost), those(|osd| osd.taken_out));
        for (id, pool) in &record.pools {
            map.put_pool(*id, pool.first_pg, pool.spec.clone());
            for (pg, stored) in map.pgs_of(*id).zip(&pool.pgs) {
                let PgRecord { acting, backfill, interval, served } = stored.clone();
                let state = PgState { acting, backfill, interval, served, ..PgState::default() };
                *map.pg_mut(pg) = state;
            }
        }
        map.next_pool = record.next_pool;
        map.give_numbers_to(record.next_pg);
        map
    }

    /// Decides where placement groups fall.
    pub(crate) fn placement_seed(&self) -> u64 {
        self.placement_seed
    }

    /// A map of `osds` OSDs, all up and in, without pools. The seed decides where placement groups fall.
    ///
    /// # Panics
    /// If there are more OSDs than [`OsdSet::OSDS_MAX`].
    pub fn new(osds: u32, placement_seed: u64) -> Map {
        assert!(osds <= OsdSet::OSDS_MAX, "one host has at most {} OSDs", OsdSet::OSDS_MAX);
        let osds = (0..osds).map(|_| OsdState { up: true, is_in: true }).collect();
        let (pools, pgs) = (BTreeMap::new(), IdVec::new());
        let (removed, taken_out, next_pool) = (OsdSet::EMPTY, OsdSet::EMPTY, PoolId::new(0));
        let placement = Placement::Even;
        Map { epoch: 1, placement, placement_seed, osds, removed, taken_out, pools, next_pool, pgs }
    }

    /// How objects and groups are placed.
    pub(crate) fn placement(&self) -> &Placement {
        &self.placement
    }

    /// The same, placed in this way.
    pub fn placed(self, placement: Placement) -> Map {
        Map { placement, ..self }
    }

    /// Adds a pool; its placement groups have no members until they are peered.
    pub fn add_pool(&mut self, spec: PoolSpec) -> PoolId {
        let id = self.next_pool;
        self.next_pool = PoolId::new(id.get() + 1);
        self.put_pool(id, self.next_pg(), spec);
        id
    }

    fn put_pool(&mut self, id: PoolId, first_pg: PgId, spec: PoolSpec) {
        let past_the_last = PgId::new(first_pg.get() + spec.pgs);
        self.give_numbers_to(past_the_last);
        self.pools.insert(id, Pool { spec, first_pg });
        for pg in self.pgs_of(id) {
            self.pgs[pg] = Some((id, PgState::default()));
        }
    }

    /// Placement groups' numbers before this one are given.
    pub(crate) fn give_numbers_to(&mut self, next: PgId) {
        while self.next_pg() < next {
            self.pgs.push(None);
        }
    }

    /// Removes a pool. Answers its placement groups, which are none any more.
    pub(crate) fn remove_pool(&mut self, pool: PoolId) -> Vec<PgId> {
        let pgs: Vec<PgId> = self.pgs_of(pool).collect();
        for pg in &pgs {
            self.pgs[*pg] = None;
        }
        self.pools.remove(&pool);
        pgs
    }

    /// The next pool's number.
    pub(crate) fn next_pool(&self) -> PoolId {
        self.next_pool
    }

    /// The next placement group's number.
    pub(crate) fn next_pg(&self) -> PgId {
        PgId::from(self.pgs.len())
    }

    /// The present epoch; it grows with every change.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Begins the next epoch.
    ///
    /// # Panics
    /// If there is none left, which a cluster says from three quarters on, and does not start with.
    pub fn next_epoch(&mut self) -> u32 {
        self.epoch =
            self.epoch.checked_add(1).expect("a cluster near its last epoch does not start");
        self.epoch
    }

    /// Epochs up to this one may have been used by an owner whose map is lost.
    pub(crate) fn skip_epochs_to(&mut self, used: u32) {
        self.epoch = self.epoch.max(used);
    }

    /// The OSDs with their states, and numbers of removed ones among them, which are down and out.
    pub fn osds(&self) -> &IdVec<OsdId, OsdState> {
        &self.osds
    }

    /// One more OSD.
    pub(crate) fn add_osd(&mut self, state: OsdState) {
        self.osds.push(state);
    }

    /// An OSD is none any more. Its number stays for another one, unless it is the last; so does one before it for which a disk is `expected`.
    pub(crate) fn remove_osd(&mut self, osd: OsdId, expected: OsdSet) {
        self.removed.insert(osd);
        self.taken_out.remove(osd);
        let is_free = |map: &Map, osd: OsdId| map.is_removed(osd) && !expected.contains(osd);
        while let Some(last) = self.osds.ids().next_back().filter(|last| is_free(self, *last)) {
            self.osds.pop();
            self.removed.remove(last);
        }
    }

    /// Whether this number is nobody's now.
    pub fn is_removed(&self, osd: OsdId) -> bool {
        self.removed.contains(osd)
    }

    /// A number is an OSD's again.
    pub(crate) fn give_number(&mut self, osd: OsdId) {
        self.removed.remove(osd);
    }

    /// Changes an OSD's state.
    pub fn set_osd(&mut self, osd: OsdId, state: OsdState) {
        self.osds[osd] = state;
        if state.is_in {
            self.taken_out.remove(osd);
        }
    }

    /// Whether an OSD is out because it was away for long, and not by somebody's word.
    pub fn is_taken_out(&self, osd: OsdId) -> bool {
        self.taken_out.contains(osd)
    }

    /// An OSD is about to be taken out because it was away for long.
    pub(crate) fn note_taken_out(&mut self, osd: OsdId) {
        self.taken_out.insert(osd);
    }

    /// An OSD is out by somebody's word, if it is. Answers whether that is news.
    pub(crate) fn forget_taken_out(&mut self, osd: OsdId) -> bool {
        let was = self.is_taken_out(osd);
        self.taken_out.remove(osd);
        was
    }

    /// The pools.
    pub fn pools(&self) -> &BTreeMap<PoolId, Pool> {
        &self.pools
    }

    /// The placement groups.
    pub fn pgs(&self) -> impl Iterator<Item = (PgId, &PgState)> {
        self.pgs.iter().filter_map(|(id, pg)| pg.as_ref().map(|(_, state)| (id, state)))
    }

    /// Whether there is such a placement group.
    pub fn has_pg(&self, pg: PgId) -> bool {
        self.pgs.get(pg).is_some_and(Option::is_some)
    }

    /// The placement groups of one pool.
    pub fn pgs_of(&self, pool: PoolId) -> impl Iterator<Item = PgId> + use<> {
        let Pool { spec, first_pg } = &self.pools[&pool];
        let first = first_pg.get();
        (first..first + spec.pgs).map(PgId::new)
    }

    /// A placement group's state.
    pub fn pg(&self, pg: PgId) -> &PgState {
        &self.there(pg).1
    }

    /// A placement group's state, to change.
    pub fn pg_mut(&mut self, pg: PgId) -> &mut PgState {
        &mut self.pgs[pg].as_mut().expect("its pool was not removed").1
    }

    fn there(&self, pg: PgId) -> &(PoolId, PgState) {
        self.pgs[pg].as_ref().expect("its pool was not removed")
    }

    /// The pool of a placement group.
    pub fn pool_of(&self, pg: PgId) -> (PoolId, &Pool) {
        let pool = self.there(pg).0;
        (pool, &self.pools[&pool])
    }

    /// A placement group's number inside its pool.
    pub fn index_in_pool(&self, pg: PgId) -> u32 {
        pg.get() - self.pool_of(pg).1.first_pg.get()
    }

    /// The placement group of an object; blocks of one index of a family of images stay together.
    pub fn pg_of(&self, pool: PoolId, object: ObjectNo) -> PgId {
        let Pool { spec, first_pg } = &self.pools[&pool];
        let block = object.0 & !MEMBER_BITS;
        let group = self.placement.group(self.placement_seed, pool.get(), spec.pgs, block);
        PgId::new(first_pg.get() + group)
    }

    /// Where placement wants each placement group of `pool`, given who is in.
    pub fn place(&self, pool: PoolId) -> Vec<Vec<OsdId>> {
        let osds: Vec<OsdId> = self.osds.ids().collect();
        let Pool { spec, .. } = &self.pools[&pool];
        let (which, size) = ((self.placement_seed, pool.get()), (spec.pgs, spec.copies as usize));
        self.placement.members(which, size, &osds, |osd| self.osds[osd].is_in)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 90,000 objects over 18 placement groups: 5,000 each, standard deviation
    /// sqrt(90000 * 1/18 * 17/18) = 69; five of them is 345.
    #[test]
    fn objects_spread_evenly_over_any_number_of_placement_groups() {
        let mut map = Map::new(4, 1);
        let spec = PoolSpec {
            name: "p".into(),
            pgs: 18,
            copies: 3,
            object_bytes: 4 << 20,
            recovery_priority: 0,
        };
        let pool = map.add_pool(spec);
        let mut counts = [0i64; 18];
        for object in 0..90_000 {
            counts[map.pg_of(pool, ObjectNo(object)).get() as usize] += 1;
        }
        assert!(counts.iter().all(|count| (count - 5_000).abs() < 345), "{counts:?}");
    }
}
