//! What is told of a node to whoever looks: the map's owner and the OSDs side by side, as they are at this moment. Nothing here
//! decides anything; who does goes by what they have told each other.

use crate::Node;
use crate::node::HeldRacks;
use loadline_base::{Time, WallTime};
use loadline_cluster::images::ImageId;
use loadline_cluster::{IssuedOp, Outage, PgState, PoolId};
use loadline_forecast::{Forecast, GroupLeft};
use loadline_osd::{
    Aside, AsideFor, DamageCounts, GateReport, OpWait, Osd, OsdId, OsdSet, PgId, PgProgress,
    Received, RecoveryState, ScrubHeld, ScrubKind, ScrubRecord, ShardId, SnapshotNo,
    TrackedCapacity, TrimState, Waits,
};
use loadline_store::ObjectNo;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

/// A placement group as an operator sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PgReport {
    /// Nobody serves it: its last copies are on OSDs that are down.
    pub down: bool,
    /// Ops are carried out; otherwise the interval has not begun on all disks.
    pub active: bool,
    /// Every copy is where it should be and lacks nothing, and there is nothing to recover.
    pub clean: bool,
    /// It has fewer members than it should have copies.
    pub undersized: bool,
    /// Those who serve it are not those that placement wants.
    pub remapped: bool,
    /// What its primary does about it.
    pub recovery: Option<RecoveryState>,
    /// Copies that are not as they should be.
    pub progress: PgProgress,
    /// Copies that there should be, of the objects that its primary knows.
    pub copies: u64,
    /// Objects that some OSD should get and that can be read on no other.
    pub unfound: u64,
    /// What its primary does about what is kept for removed snapshots.
    pub trim: Option<TrimState>,
    /// It is being scrubbed, in this way.
    pub scrubbing: Option<ScrubKind>,
    /// Its last scrub has found copies that are not alike, or not as they were written.
    pub inconsistent: bool,
    /// Some of them have no good copy to be repaired from.
    pub failed_repair: bool,
}

/// What is known of how much of an image was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenBytes {
    /// So many bytes at most, as far as the copies that run know.
    pub bytes: u64,
    /// Copies that do not run, or that nobody has asked yet, may know of more.
    pub may_be_more: bool,
}

/// What is still kept for removed snapshots, and what has been given back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrimReport {
    /// Removed snapshots for which something is kept, once for each placement group.
    pub snapshots_left: u64,
    /// The most of them in one placement group.
    pub snapshots_most: u64,
    /// States of objects that are kept for them alone, or to be given to older snapshots; copies of one are one.
    pub objects_left: u64,
    /// Those that primaries have trimmed since the OSDs were made.
    pub trimmed: u64,
}

/// Copies of placement groups that have left their OSDs, and go object by object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeletionReport {
    /// Copies that are still there.
    pub copies_left: u64,
    /// Objects in them.
    pub objects_left: u64,
}

/// The scrubs of a placement group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScrubReport {
    /// What its primary knows of them.
    pub record: ScrubRecord,
    /// Whether the one that is under way has all of its slots.
    pub runs: bool,
    /// Until when it rests, if it is ahead of its pace.
    pub rests_until: Option<WallTime>,
    /// Why none is begun although its time has come.
    pub held_back: Option<ScrubHeld>,
    /// Objects and former states of objects that there are to be compared.
    pub states: u64,
}

/// The scrubs of all placement groups.
pub type ScrubReports = BTreeMap<PgId, ScrubReport>;

/// How far the scrubs of a pool are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolScrub {
    /// Objects that are still to be compared, copies of one counted once.
    pub objects_left: u64,
    /// Placement groups whose scrub has not ended.
    pub groups_left: u64,
    /// Those of them that have a slot on every copy.
    pub groups_running: u64,
    /// What slots would allow the others, where that is known.
    pub slots: Option<ScrubSlotsLeft>,
}

/// What slots allow the groups of a pool whose scrub has not begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubSlotsLeft {
    /// Those for which every copy has a slot beside the scrubs of the pool that are under way, one after the other in the order of their numbers.
    pub groups_fitting: u64,
    /// So often the OSD with the most groups for its slots has to fill them, for all whose scrub has not ended.
    pub rounds: u64,
}

impl ScrubSlotsLeft {
    /// Of groups with these members.
    fn of(
        running: &[Vec<OsdId>],
        waiting: &[Vec<OsdId>],
        slots_of: impl FnMut(OsdId) -> usize,
    ) -> ScrubSlotsLeft {
        let mut held: BTreeMap<OsdId, usize> = BTreeMap::new();
        for osd in running.iter().chain(waiting).flatten() {
            *held.entry(*osd).or_default() += 1;
        }
        let slots: Vec<usize> = held.keys().copied().map(slots_of).collect();
        let rounds = held.values().zip(&slots).map(|(held, slots)| held.div_ceil(*slots));
        let rounds = rounds.max().unwrap_or(0) as u64;
        let mut free: BTreeMap<OsdId, usize> = held.keys().copied().zip(slots).collect();
        let take = |free: &mut BTreeMap<OsdId, usize>, members: &[OsdId]| {
            let free = free.iter_mut().filter(|(osd, _)| members.contains(osd));
            free.for_each(|(_, free)| *free = free.saturating_sub(1));
        };
        running.iter().for_each(|members| take(&mut free, members));
        let mut groups_fitting = 0;
        for members in waiting {
            if members.iter().all(|osd| free[osd] > 0) {
                groups_fitting += 1;
                take(&mut free, members);
            }
        }
        ScrubSlotsLeft { groups_fitting, rounds }
    }
}

/// What recovery has left to move, by placement group; each goes through one queue of its primary.
pub type LeftToRecover = BTreeMap<PgId, GroupLeft<(OsdId, ShardId)>>;

/// A recovery as it was seen so far.
pub type RecoveryForecast = Forecast<PgId, (OsdId, ShardId)>;

impl HeldRacks<'_> {
    /// How a placement group is.
    fn pg_report(&mut self, id: PgId) -> PgReport {
        let copies = self.cluster().map().pool_of(id).1.spec.copies;
        let PgState { up, acting, clean, ready, unfound, .. } = self.cluster().map().pg(id);
        let mut report = PgReport {
            down: acting.is_empty(),
            active: *ready && !acting.is_empty(),
            clean: *clean,
            undersized: acting.len() < copies as usize,
            remapped: acting != up,
            recovery: None,
            progress: PgProgress::default(),
            copies: 0,
            unfound: unfound.len() as u64,
            trim: None,
            scrubbing: None,
            inconsistent: false,
            failed_repair: false,
        };
        if let Some(primary) = acting.first().copied() {
            let primary = self.osd(primary);
            report.recovery = primary.recovery_of(id);
            report.trim = primary.trim_state(id);
            report.scrubbing = primary.scrubs(id);
            if let Some(record) = primary.scrub_record(id) {
                report.inconsistent = record.findings.counts.all() > 0;
                report.failed_repair = record.has_failed_repair;
            }
            report.progress = primary.progress_of(id);
            report.copies = primary.objects(id).len() as u64 * u64::from(copies);
        }
        // What was found bad since the interval began, the map does not tell.
        let is_whole = report.progress == PgProgress::default() && report.unfound == 0;
        report.clean &= is_whole && report.recovery.is_none();
        report
    }
}

impl Node {
    /// What recovery has left to move.
    pub fn left_to_recover(&self) -> LeftToRecover {
        let map = self.cluster().map();
        let mut all = LeftToRecover::new();
        for (osd, it) in self.each_osd() {
            for (pg, GroupLeft { from, left, waits, .. }) in it.left_to_recover() {
                // One that is down, or has lost a group, leads nobody.
                if map.has_pg(pg) && map.pg(pg).acting.first() == Some(&osd) {
                    all.insert(pg, GroupLeft { from: (osd, from), to: None, left, waits });
                }
            }
        }
        all
    }

    /// The scrubs of a pool that are under way or asked for.
    pub fn pool_scrub(&mut self, pool: PoolId) -> PoolScrub {
        let mut scrub = PoolScrub::default();
        let mut racks = self.hold_racks();
        let map = racks.cluster().map();
        let (mut running, mut waiting) = (Vec::new(), Vec::new());
        for pg in map.pgs_of(pool) {
            let acting = &map.pg(pg).acting;
            let Some(primary) = acting.first().copied() else { continue };
            let osd = racks.osd(primary);
            let under_way = osd.scrub_record(pg).and_then(|record| record.under_way.as_ref());
            let Some(compared) = under_way.map(|scrub| scrub.objects) else { continue };
            scrub.objects_left += (osd.objects(pg).len() as u64).saturating_sub(compared);
            match osd.scrubs(pg).is_some() {
                true => running.push(acting.clone()),
                false => waiting.push(acting.clone()),
            }
        }
        scrub.groups_left = (running.len() + waiting.len()) as u64;
        scrub.groups_running = running.len() as u64;
        let slots_of = |osd| racks.osd(osd).scrub_slots();
        scrub.slots = Some(ScrubSlotsLeft::of(&running, &waiting, slots_of));
        scrub
    }

    /// The OSDs, to look at one after the other.
    pub fn each_osd(&self) -> impl Iterator<Item = (OsdId, impl Deref<Target = Osd> + '_)> {
        self.osds().map(move |osd| (osd, self.look_at(osd)))
    }

    /// The scrubs of a placement group; those of one without a primary are not known.
    pub fn scrub_report(&self, now: Time, pg: PgId) -> ScrubReport {
        let primary = self.cluster().map().pg(pg).acting.first();
        primary.map_or_else(ScrubReport::default, |it| scrub_of(&self.look_at(*it), now, pg))
    }

    /// The same of all placement groups. An OSD is looked into once.
    pub fn scrub_reports(&self, now: Time) -> ScrubReports {
        let mut reports = BTreeMap::new();
        for (primary, pgs) in self.by_primary() {
            let primary = primary.map(|primary| self.look_at(primary));
            let report =
                |pg| primary.as_ref().map_or_else(ScrubReport::default, |it| scrub_of(it, now, pg));
            reports.extend(pgs.into_iter().map(|pg| (pg, report(pg))));
        }
        reports
    }

    /// The placement groups by who is the first of their copies, if there is one.
    fn by_primary(&self) -> BTreeMap<Option<OsdId>, Vec<PgId>> {
        let mut by_primary: BTreeMap<Option<OsdId>, Vec<PgId>> = BTreeMap::new();
        for (pg, state) in self.cluster().map().pgs() {
            by_primary.entry(state.acting.first().copied()).or_default().push(pg);
        }
        by_primary
    }

    /// What an op without a reply waits for now.
    pub fn wait_of_op(&self, now: Time, issued: &IssuedOp) -> OpWait {
        let op = &issued.op;
        let before = |reason: Option<AsideFor>| {
            let span = now.since(issued.issued);
            OpWait::Before { span, aside: reason.map_or(Aside::NONE, Aside::of) }
        };
        let held = self.cluster().held_for(op);
        let Some(primary) = self.cluster().map().pg(op.pg).serving().filter(|_| held.is_none())
        else {
            return before(held);
        };
        let osd = self.look_at(primary);
        if let Some(delay) = osd.delay_of_op(now, op) {
            return OpWait::Primary(delay);
        }
        let Some(progress) = osd.progress_of_op(op.id) else {
            return before(osd.aside_of_op(op));
        };
        drop(osd);
        let of_copy =
            |copy: OsdId| self.look_at(copy).delay_of_copy(now, op.pg, primary, progress.tag);
        let delays = progress.pending.iter().filter_map(of_copy);
        let span = now.since(progress.committed.unwrap_or(progress.executed));
        OpWait::Replica { span, delay: delays.max_by_key(|delay| delay.span) }
    }

    /// What is kept for removed snapshots, as the primaries know it.
    pub fn trim_report(&self) -> TrimReport {
        let mut report = TrimReport::default();
        let all = self.look_at_all();
        for (pg, state) in self.cluster().map().pgs() {
            let Some(primary) = state.acting.first() else { continue };
            let (snapshots, objects) = all.osd(*primary).left_to_trim(pg);
            report.snapshots_left += snapshots;
            report.objects_left += objects;
            report.snapshots_most = report.snapshots_most.max(snapshots);
        }
        report.trimmed = self.osds().map(|osd| all.osd(osd).trim_counts().objects).sum();
        report
    }

    /// States of objects that were trimmed since the OSDs were made.
    pub fn trimmed(&self) -> u64 {
        self.each_osd().map(|(_, osd)| osd.trim_counts().objects).sum()
    }

    /// What is left of copies that are deleted.
    pub fn deletion_report(&mut self) -> DeletionReport {
        let mut report = DeletionReport::default();
        for osd in self.osds() {
            let (copies, objects) = self.osd(osd).left_to_delete();
            report.copies_left += copies;
            report.objects_left += objects;
        }
        report
    }

    /// Objects and former states of objects that have gone, of copies that had left, since the OSDs were made.
    pub fn deleted(&self) -> u64 {
        self.each_osd().map(|(_, osd)| osd.deleted_states()).sum()
    }

    /// How a placement group is.
    pub fn pg_report(&mut self, id: PgId) -> PgReport {
        self.hold_racks().pg_report(id)
    }

    /// How all placement groups are, those of one primary after those of another: a rack is held for as long as one of its OSDs is looked into.
    pub fn pg_reports(&mut self) -> Vec<PgReport> {
        let mut reports = Vec::new();
        for pgs in self.by_primary().into_values() {
            let mut racks = self.hold_racks();
            reports.extend(pgs.into_iter().map(|pg| racks.pg_report(pg)));
        }
        reports
    }

    /// How many placement groups an OSD has a copy of.
    pub fn pgs_on(&self, osd: OsdId) -> u32 {
        let pgs = self.cluster().map().pgs();
        let looked_at = self.look_at(osd);
        pgs.filter(|(pg, _)| looked_at.copy(*pg).is_some()).count() as u32
    }

    /// What a stop of these OSDs would cost.
    pub fn outage(&self, osds: OsdSet) -> Outage {
        let all = self.look_at_all();
        self.cluster().outage(osds, |osd, pg| all.osd(osd).copy(pg))
    }

    /// What an OSD's disk could not read.
    pub fn damage(&self, osd: OsdId) -> DamageCounts {
        self.look_at(osd).damage()
    }

    /// What an OSD is believed to be able to do.
    pub fn capacity(&self, osd: OsdId) -> TrackedCapacity {
        self.look_at(osd).capacity()
    }

    /// How the gate before an OSD's disk stands.
    pub fn gate(&self, now: Time, osd: OsdId) -> GateReport {
        self.look_at(osd).gate_report(now)
    }

    /// What recovery and backfill have brought to all OSDs.
    pub fn received(&self) -> Received {
        let mut sum = Received::default();
        for (_, osd) in self.each_osd() {
            sum += osd.received();
        }
        sum
    }

    /// What is misplaced, degraded and recovering over all placement groups.
    pub fn progress(&mut self) -> PgProgress {
        let mut sum = PgProgress::default();
        for osd in self.osds() {
            sum += self.osd(osd).progress();
        }
        sum
    }

    /// Who waited where, over all OSDs.
    pub fn waits(&self) -> Waits {
        let mut sum = Waits::default();
        for (_, osd) in self.each_osd() {
            sum.merge(osd.waits());
        }
        sum
    }

    /// Forgets who waited where, to measure from now on.
    pub fn reset_waits(&mut self) {
        for osd in self.osds() {
            self.osd(osd).reset_waits();
        }
    }

    /// The copies that list other objects than their primary does, for checkers of what must be alike.
    pub fn copies_that_differ(&mut self) -> Vec<(PgId, OsdId)> {
        let groups = self.cluster().map().pgs().map(|(pg, state)| (pg, state.acting.clone()));
        let mut differing = Vec::new();
        for (pg, acting) in groups.collect::<Vec<_>>() {
            let Some(primary) = acting.first() else { continue };
            let listed = self.osd(*primary).objects(pg).clone();
            let others = acting.iter().skip(1).filter(|osd| *self.osd(**osd).objects(pg) != listed);
            differing.extend(others.map(|osd| (pg, *osd)));
        }
        differing
    }

    /// Fills a pool with so many full objects at once, from this one on, outside time: how a study prepares what it does not measure.
    pub fn prefill(&mut self, pool: PoolId, first: ObjectNo, objects: u64) {
        let bytes = self.cluster().map().pools()[&pool].spec.object_bytes;
        for (pg, objects) in self.by_group(pool, first, objects) {
            let objects: Arc<[ObjectNo]> = objects.into();
            for osd in self.cluster().map().pg(pg).acting.clone() {
                self.osd(osd).prefill(pg, Arc::clone(&objects), bytes);
            }
        }
    }

    /// Keeps a state under a label of each of so many objects, on every copy.
    pub fn keep_at_once(
        &mut self,
        pool: PoolId,
        (first, objects): (ObjectNo, u64),
        label: SnapshotNo,
    ) {
        for (pg, objects) in self.by_group(pool, first, objects) {
            for osd in self.cluster().map().pg(pg).acting.clone() {
                self.osd(osd).keep_at_once(pg, &objects, label);
            }
        }
    }

    fn by_group(
        &self,
        pool: PoolId,
        first: ObjectNo,
        objects: u64,
    ) -> BTreeMap<PgId, Vec<ObjectNo>> {
        let mut groups: BTreeMap<PgId, Vec<ObjectNo>> = BTreeMap::new();
        for object in (first.0..first.0 + objects).map(ObjectNo) {
            let pg = self.cluster().map().pg_of(pool, object);
            groups.entry(pg).or_default().push(object);
        }
        groups
    }

    /// Bytes of an image from `from` on that were ever written and not removed, at most: what the objects reach to, as far as
    /// the copies that run know. Any of them may have missed what others have.
    pub fn written(&mut self, image: ImageId, from: u64) -> WrittenBytes {
        let mut told = WrittenBytes::default();
        let Some(found) = self.cluster().images().get(image) else { return told };
        let (pool, object_bytes) = (found.pool, found.object_bytes);
        let first = image.object((from / object_bytes) as u32);
        let last = image.object(u32::MAX);
        let mut lengths: BTreeMap<ObjectNo, u64> = BTreeMap::new();
        let mut racks = self.hold_racks();
        let map = racks.cluster().map();
        for pg in map.pgs_of(pool) {
            let state = map.pg(pg);
            told.may_be_more |= state.serving().is_none() || !state.unfound.is_empty();
            for member in &state.acting {
                let member = racks.osd(*member);
                for (object, meta) in member.objects(pg).range(first..=last) {
                    let length = lengths.entry(object).or_default();
                    *length = meta.length.max(*length);
                }
            }
        }
        let behind = |(object, length): (ObjectNo, u64)| {
            let begin = u64::from(ImageId::of(object).1) * object_bytes;
            (begin + length).saturating_sub(from.max(begin))
        };
        told.bytes = lengths.into_iter().map(behind).sum();
        told
    }
}

/// What an OSD, as a placement group's primary, tells of its scrubs.
fn scrub_of(primary: &Osd, now: Time, pg: PgId) -> ScrubReport {
    ScrubReport {
        record: primary.scrub_record(pg).cloned().unwrap_or_default(),
        runs: primary.scrubs(pg).is_some(),
        rests_until: primary.scrub_rests_until(now, pg),
        held_back: primary.scrub_held_back(now, pg),
        states: primary.states_to_scrub(pg),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(members: &[[u32; 2]]) -> Vec<Vec<OsdId>> {
        members.iter().map(|group| group.map(OsdId::new).to_vec()).collect()
    }

    #[test]
    fn slots_allow_what_every_member_has_one_for() {
        let check = |running: &[[u32; 2]], waiting: &[[u32; 2]], slots, expected| {
            let left = ScrubSlotsLeft::of(&groups(running), &groups(waiting), |_| slots);
            assert_eq!((left.groups_fitting, left.rounds), expected);
        };
        check(&[], &[], 1, (0, 0));
        check(&[], &[[0, 1], [1, 2], [2, 3]], 1, (2, 2));
        check(&[[0, 1]], &[[1, 2], [2, 3], [0, 3]], 1, (1, 2));
        check(&[[0, 1], [0, 1]], &[[0, 2], [0, 3], [2, 3], [2, 3]], 2, (2, 2));
        // Fewer slots than before: those that run keep theirs.
        check(&[[0, 1], [0, 1]], &[[0, 2], [2, 3]], 1, (1, 3));
    }
}
