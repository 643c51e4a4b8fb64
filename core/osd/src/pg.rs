//! A placement group's copy on one OSD, and what its primary knows beyond that.

use crate::aside::AsideFor;
use crate::counters::Received;
use crate::disk::{GroupDisk, LoadedGroup};
use crate::ids::{IntervalId, OpId, OsdId, OsdSet, ShardId};
use crate::message::{Activation, ClientOp, Data, RecoveryKind, ScanRange};
use crate::pg_log::{LogReach, PgLog};
use crate::snapshots::{ObjectHistories, SnapshotNo};
use crate::unfound::Unfound;
use loadline_base::Time;
use loadline_qos::Urgency;
use loadline_store::ObjectNo;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::sync::Arc;

/// One copy of a placement group.
#[derive(Clone, Debug)]
pub(crate) struct Pg {
    pub shard: ShardId,
    /// The present interval; 0 while this copy takes no part.
    pub interval: u32,
    /// The last interval in which it took part.
    pub active_in: IntervalId,
    pub log: PgLog,
    /// Objects that may not be here as the log tells: what was missing when the interval began and has not arrived.
    pub lacks: BTreeSet<ObjectNo>,
    /// Objects that should be here and were found bad in this interval. What is also named in `lacks` must come from
    /// elsewhere; the rest is as it was, and may be tried again in the next interval.
    pub unreadable: BTreeSet<ObjectNo>,
    /// Something, if writes may be missing from the middle of the log: while recovered beside the writes, those to objects that this copy lacked were not
    /// sent to it. Then it is the objects that it was given meanwhile as they are; when the interval has ended, those of them that are ahead of the log.
    pub gaps: Option<BTreeSet<ObjectNo>>,
    /// Whether only a comparison object by object can tell what is here: a new copy, until it is filled.
    pub filling: bool,
    pub leaving: Option<Leaving>,
    /// What it keeps of its objects' past.
    pub kept: ObjectHistories,
    /// What the disk holds of it.
    pub disk: GroupDisk,
    pub primary: Option<Box<Primary>>,
}

/// A copy that goes, object by object.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Leaving {
    pub stage: DeletionStage,
    /// States of objects that the last transaction has removed.
    pub states: u32,
}

/// What the deletion of a copy waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum DeletionStage {
    /// One of the OSD's local slots.
    #[default]
    NoSlot,
    /// Its turn in the queue.
    Queued,
    /// Its transaction.
    Writing,
    /// This time, while it sleeps.
    Sleeping(Time),
}

impl Pg {
    /// A copy of which nothing is here yet.
    pub(crate) fn new(shard: ShardId) -> Pg {
        Pg {
            shard,
            interval: 0,
            active_in: IntervalId::NEVER,
            log: PgLog::default(),
            lacks: BTreeSet::new(),
            unreadable: BTreeSet::new(),
            gaps: None,
            filling: true,
            leaving: None,
            kept: ObjectHistories::default(),
            disk: GroupDisk::default(),
            primary: None,
        }
    }

    /// A copy as its disk tells of it. Its shard is its owner's to say.
    pub(crate) fn loaded(shard: ShardId, group: LoadedGroup) -> Pg {
        let disk = GroupDisk::loaded(&group);
        let lacks = group.lacks_indeed();
        let LoadedGroup { record, entries, kept, .. } = group;
        Pg {
            active_in: record.active_in,
            disk,
            log: PgLog::loaded(record.tail, entries),
            lacks,
            kept,
            gaps: record.gaps.then(BTreeSet::new),
            filling: record.filling,
            ..Pg::new(shard)
        }
    }

    /// It has lost pages of an object, as its disk tells; if it lacks all of it, that says more.
    pub(crate) fn note_lost_pages(&mut self, object: ObjectNo) {
        if !self.lacks.contains(&object) {
            self.disk.note_damage(object);
        }
    }

    /// Takes part in a new interval, with a log that goes back so far.
    pub(crate) fn begin(&mut self, this: OsdId, reach: LogReach, activation: &Activation) {
        let missing = activation.missing.iter().find(|(osd, _)| *osd == this);
        self.interval = activation.interval;
        self.active_in = activation.id();
        self.lacks = missing.map_or(BTreeSet::new(), |(_, objects)| objects.clone());
        for object in &self.lacks {
            self.disk.damage.forget(*object);
        }
        self.unreadable.clear();
        self.gaps = activation.asynchronous.contains(this).then(BTreeSet::new);
        self.filling = activation.backfill.contains(&this);
        if !self.filling {
            self.disk.damage.end_strays_but(&self.lacks);
        }
        self.stay();
        self.log.keep_from_now_on(reach, activation.is_degraded());
    }

    /// The copy leaves no more.
    pub(crate) fn stay(&mut self) {
        self.leaving = None;
    }
}

/// What the owner of the map needs to know of a copy to begin a new interval.
#[derive(Clone, Copy, Debug)]
pub struct CopyState<'a> {
    /// Its last writes.
    pub log: &'a PgLog,
    /// Objects that may not be here as the log tells.
    pub lacks: &'a BTreeSet<ObjectNo>,
    /// Objects that are, and have lost pages.
    pub damaged: &'a BTreeSet<ObjectNo>,
    /// Whether writes may be missing from the middle of the log.
    pub gaps: bool,
    /// Whether only a comparison object by object can tell what is here.
    pub filling: bool,
    /// The last interval in which it took part.
    pub active_in: IntervalId,
    /// Who misses more objects than this is recovered beside the writes, if this copy has the log that holds.
    pub asynchronous_above: u64,
}

/// What a copy answers when its interval is ended: its state, as a value that can be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyReport {
    log: Arc<PgLog>,
    lacks: BTreeSet<ObjectNo>,
    damaged: BTreeSet<ObjectNo>,
    gaps: bool,
    filling: bool,
    active_in: IntervalId,
    asynchronous_above: u64,
    recovered: bool,
    /// Those that it lacks only if its primary has not recovered everything: they are ahead of its own log.
    ahead: BTreeSet<ObjectNo>,
}

impl CopyReport {
    pub(crate) fn of(state: CopyState<'_>, recovered: bool) -> CopyReport {
        CopyReport {
            log: Arc::new(state.log.clone()),
            lacks: state.lacks.clone(),
            damaged: state.damaged.clone(),
            gaps: state.gaps,
            filling: state.filling,
            active_in: state.active_in,
            asynchronous_above: state.asynchronous_above,
            recovered,
            ahead: BTreeSet::new(),
        }
    }

    /// The same of a copy that has these objects from its primary, ahead of its log.
    pub(crate) fn with_ahead(self, ahead: BTreeSet<ObjectNo>) -> CopyReport {
        CopyReport { ahead, ..self }
    }

    /// The state that it tells.
    pub fn state(&self) -> CopyState<'_> {
        let CopyReport { log, lacks, damaged, gaps, filling, active_in, .. } = self;
        let (gaps, filling, active_in) = (*gaps, *filling, *active_in);
        let asynchronous_above = self.asynchronous_above;
        CopyState { log, lacks, damaged, gaps, filling, active_in, asynchronous_above }
    }

    /// Whether this copy led the interval, every one was complete, and nothing was in flight.
    pub fn has_recovered(&self) -> bool {
        self.recovered
    }

    /// Its last writes.
    pub fn log(&self) -> &Arc<PgLog> {
        &self.log
    }

    /// What it lacks will never come.
    pub fn lack_nothing(&mut self) {
        self.lacks.clear();
    }

    /// The copy was made equal to its primary's, whose log it takes. It still lacks what it has missed of the last writes.
    pub fn complete(&mut self, log: &Arc<PgLog>) {
        (self.log, self.gaps, self.filling) = (log.clone(), false, false);
        for object in std::mem::take(&mut self.ahead) {
            self.lacks.remove(&object);
        }
    }
}

impl CopyState<'_> {
    /// Whether every object is here as the log tells, and the log tells everything.
    pub fn is_complete(&self) -> bool {
        !self.filling && !self.gaps && self.lacks.is_empty()
    }

    /// Whether, besides, no object has lost pages.
    pub fn is_whole(&self) -> bool {
        self.is_complete() && self.damaged.is_empty()
    }
}

/// What only the primary knows.
#[derive(Clone, Debug)]
pub(crate) struct Primary {
    pub shape: PgShape,
    pub ops: IntervalOps,
    /// What each acting OSD misses, and what of the part that was dealt with could not be brought to those that are
    /// filled; those that miss nothing are not named.
    pub missing: BTreeMap<OsdId, BTreeSet<ObjectNo>>,
    /// Which copies of what they have are not as they should be.
    pub bad: BadObjects,
    /// Missing objects that nobody can give.
    pub unfound: Unfound,
    /// Those that are recovered beside the writes, each with what it knows that it lacks.
    pub beside: BTreeMap<OsdId, BTreeSet<ObjectNo>>,
    pub backfill: Option<Backfill>,
    pub recovering: BTreeMap<ObjectNo, Recovering>,
    /// Objects that were read to be pushed, and what they held.
    pub read: Received,
    pub reservation: Reservation,
    /// Targets that were asked for a slot and not told that it is no longer needed.
    pub asked: OsdSet,
    /// The interval began with every copy in its place, and none was changed by recovery since.
    pub untouched: bool,
}

/// Copies of objects that are not as they should be, as far as is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct BadObjects {
    /// Who of them has the object, as far as is known, and could not read it, or has it otherwise than the others.
    pub unreadable: BTreeMap<ObjectNo, BadCopies>,
    /// Who has the object and has lost pages of it, as their disks tell, until each has got it whole.
    pub lost: BTreeMap<ObjectNo, OsdSet>,
    /// Who the owner of the map believes to lack something.
    pub told_lacking: OsdSet,
    /// Whose copies it was told that scrubs have found bad in something; `None` if nothing was told in this interval.
    pub told_found_bad: Option<OsdSet>,
}

/// Copies of an object of which no other is to be made.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BadCopies {
    /// All of them.
    pub all: OsdSet,
    /// Those that can be read, and are not what the others are: nothing of them may be lent.
    pub wrong: OsdSet,
}

/// What a placement group is in this interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PgShape {
    /// The acting OSDs, this one included.
    pub acting: OsdSet,
    pub copies: u32,
    pub recovery_priority: i8,
    pub object_bytes: u64,
}

/// The ops of an interval.
#[derive(Clone, Debug, Default)]
pub(crate) struct IntervalOps {
    /// How many are being carried out.
    pub in_flight: u32,
    /// Those that wait until there is room for an object.
    pub stalled: Vec<(ClientOp, Data)>,
    /// The interval counts, so objects may be changed in it.
    pub is_served: bool,
    /// Everything is recovered: the interval ends as soon as nothing is in flight.
    pub handing_over: bool,
}

/// How far the reservations of a placement group have come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reservation {
    /// Nothing to recover.
    None,
    /// Waiting for this OSD's local slot.
    Local(RecoveryKind),
    /// Holding the local slot, asking the targets in order; those that remain.
    Remote(RecoveryKind, VecDeque<OsdId>),
    /// Everything was given back, for this reason, and a timer will try again then. Timers of earlier times are void.
    Retry(Pause, Time),
    /// All slots held.
    Held(RecoveryKind),
}

impl Reservation {
    /// Why everything was given back, if it was.
    pub(crate) fn pause(&self) -> Option<Pause> {
        match self {
            Reservation::Retry(why, _) => Some(*why),
            _ => None,
        }
    }
}

/// Why a placement group has given its slots back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Something more urgent took one.
    Revoked,
    /// A disk has no room.
    TooFull,
    /// What is left can be read nowhere.
    Unfound,
}

/// An object on its way to where it is missing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recovering {
    /// Who has not confirmed it yet; the primary itself while it pulls.
    pub pending: OsdSet,
    /// Who gets it after the primary, which could not read its own copy.
    pub afterwards: OsdSet,
    /// Who was sent a part of it: what they had may be gone.
    pub touched: OsdSet,
    /// Of an object with a past: which step was sent last to whom. An answer to another one is to a push that was begun
    /// anew since.
    pub steps: BTreeMap<OsdId, SnapshotNo>,
    /// How far the mending of its copies is, where none can be read whole.
    pub mending: Option<Mending>,
    /// Client ops that wait for it.
    pub parked: Vec<(ClientOp, Data)>,
    /// Whether it goes to those that are being filled before its turn.
    pub ahead: bool,
}

/// The mending of copies of which none can be read whole, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mending {
    /// Whose copy it is now.
    pub copy: OsdId,
    /// Those that have had their turn, this one included.
    pub begun: OsdSet,
    /// Who was asked for the present range.
    pub asked: OsdSet,
    /// How often copies have had a range in different versions.
    pub otherwise: u32,
}

/// A backfill: objects are compared in order and pushed where missing or old.
#[derive(Clone, Debug)]
pub(crate) struct Backfill {
    pub targets: OsdSet,
    /// Everything up to here is on the targets, or on its way there.
    pub reached: Option<ObjectNo>,
    /// Whether `reached` means the end.
    pub at_end: bool,
    /// Objects beyond that which went to the targets before their turn.
    pub ahead: BTreeSet<ObjectNo>,
    /// What is still to be pushed of the range in hand.
    pub batch: BTreeMap<ObjectNo, OsdSet>,
    /// Where the range in hand ends; `None` is the end of all objects.
    pub range_last: Option<ObjectNo>,
    /// The targets whose lists of the range are still to come, while it is being compared.
    pub scan: Option<OsdSet>,
    /// Objects not yet known to be on the targets.
    pub left: u64,
}

/// What a primary may do with a write to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteWay {
    /// Carry it out, with these other OSDs.
    To(OsdSet),
    /// Wait until the object is recovered.
    Park,
}

impl Backfill {
    fn new(targets: OsdSet, objects: u64) -> Backfill {
        Backfill {
            targets,
            reached: None,
            at_end: false,
            ahead: BTreeSet::new(),
            batch: BTreeMap::new(),
            range_last: None,
            scan: None,
            left: objects,
        }
    }

    /// Whether writes to `object` must reach the targets too.
    pub(crate) fn covers(&self, object: ObjectNo) -> bool {
        self.at_end
            || self.reached.is_some_and(|reached| object <= reached)
            || self.ahead.contains(&object)
    }

    /// Notes a write to an object that the targets do not get. If its range is being compared or was compared
    /// before the write, the object has to be pushed after all.
    pub(crate) fn note_write(&mut self, object: ObjectNo, created: bool) {
        let comparing = self.scan.is_some();
        let in_range = self.range_last.is_none_or(|last| object <= last);
        let mut found = created;
        if (comparing || !self.batch.is_empty()) && in_range {
            let known = self.batch.insert(object, self.targets).is_some();
            found = if comparing { created } else { !known };
        }
        self.left += u64::from(found);
    }

    /// The range in hand is dealt with.
    pub(crate) fn advance(&mut self) {
        match self.range_last {
            Some(last) => self.reached = Some(last),
            None => self.at_end = true,
        }
    }
}

impl Primary {
    /// What an op waits for here outside of the queue.
    pub(crate) fn aside_of(&self, op: OpId) -> Option<AsideFor> {
        let is_among = |ops: &[(ClientOp, Data)]| ops.iter().any(|(it, _)| it.id == op);
        if is_among(&self.ops.stalled) {
            return Some(AsideFor::RecoveryRoom);
        }
        let is_parked = self.recovering.values().any(|object| is_among(&object.parked));
        is_parked.then_some(AsideFor::Recovery)
    }

    pub(crate) fn new(activation: &Activation, objects: u64) -> Primary {
        let targets: OsdSet = activation.backfill.iter().copied().collect();
        let lacking = activation.missing.iter().chain(&activation.damaged);
        let missing: BTreeMap<_, _> = activation.missing.iter().cloned().collect();
        let known = |osd: OsdId| (osd, missing.get(&osd).cloned().unwrap_or_default());
        Primary {
            shape: PgShape {
                acting: activation.acting.iter().copied().collect(),
                copies: activation.copies,
                recovery_priority: activation.recovery_priority,
                object_bytes: activation.object_bytes,
            },
            ops: IntervalOps::default(),
            beside: activation.asynchronous.iter().map(known).collect(),
            missing,
            bad: BadObjects {
                told_lacking: lacking.map(|(osd, _)| *osd).collect(),
                ..BadObjects::default()
            },
            unfound: Unfound::default(),
            backfill: (!targets.is_empty()).then(|| Backfill::new(targets, objects)),
            recovering: BTreeMap::new(),
            read: Received::default(),
            reservation: Reservation::None,
            asked: OsdSet::EMPTY,
            untouched: activation.missing.is_empty() && activation.backfill.is_empty(),
        }
    }

    /// The acting OSDs, this one included.
    pub(crate) fn members(&self) -> OsdSet {
        self.shape.acting
    }

    /// Whether every copy is there and has everything: only then copies can be compared, and only then objects are trimmed.
    pub(crate) fn is_whole(&self) -> bool {
        self.shape.acting.len() == self.shape.copies
            && self.recovery_needed().is_none()
            && self.bad.lost.is_empty()
            && self.recovering.is_empty()
            && !self.ops.handing_over
    }

    /// Whether anybody misses anything beside what a backfill has not reached.
    pub(crate) fn is_missing_any(&self) -> bool {
        !self.missing.is_empty()
    }

    /// Whether the log-based part is still under way.
    fn lacks_by_log(&self) -> bool {
        let may_come =
            |missing: &BTreeSet<ObjectNo>| missing.iter().any(|o| !self.unfound.is_hopeless(*o));
        self.missing
            .iter()
            .any(|(osd, missing)| self.shape.acting.contains(*osd) && may_come(missing))
    }

    /// What an object holds that is to be pushed, as far as can be told before it is read: the mean of those that were, or
    /// else the pool's size.
    pub(crate) fn push_bytes(&self) -> u64 {
        let Received { objects, bytes } = self.read;
        bytes.checked_div(objects).unwrap_or(self.shape.object_bytes)
    }

    /// An OSD misses `object`.
    pub(crate) fn note_missing(&mut self, osd: OsdId, object: ObjectNo) {
        self.missing.entry(osd).or_default().insert(object);
    }

    /// An OSD misses `object`, and its disk says so.
    pub(crate) fn note_lacking(&mut self, osd: OsdId, object: ObjectNo) {
        self.note_missing(osd, object);
        if let Some(known) = self.beside.get_mut(&osd) {
            known.insert(object);
        }
    }

    /// Whether writes to an object go on without this OSD, which misses it: it is recovered beside them, or filled. One that is recovered has to know: its log
    /// will not tell of them, and by that it would have the object.
    fn is_beside(&self, osd: OsdId, object: ObjectNo) -> bool {
        let is_filled = self.backfill.as_ref().is_some_and(|b| b.targets.contains(osd));
        is_filled || self.beside.get(&osd).is_some_and(|known| known.contains(&object))
    }

    /// The objects of a range that an OSD misses.
    pub(crate) fn missing_of(
        &self,
        osd: OsdId,
        range: ScanRange,
    ) -> impl Iterator<Item = ObjectNo> {
        let ScanRange { after, last } = range;
        let range = (after.map_or(Unbounded, Excluded), last.map_or(Unbounded, Included));
        let missing = self.missing.get(&osd).into_iter();
        missing.flat_map(move |missing| missing.range(range).copied())
    }

    /// Those that do not count as having an object, and may have it as it once was: copies that are behind, and those that are being filled.
    pub(crate) fn may_have_some(&self, object: ObjectNo) -> OsdSet {
        let bad = self.bad.unreadable.get(&object).copied().unwrap_or_default();
        let is_behind = |osd: &OsdId| self.misses(*osd, object) && !bad.all.contains(*osd);
        let behind: OsdSet = self.shape.acting.iter().filter(is_behind).collect();
        self.backfill.as_ref().map_or(behind, |backfill| behind.with(backfill.targets))
    }

    /// Whether an acting OSD misses `object`.
    pub(crate) fn misses(&self, osd: OsdId, object: ObjectNo) -> bool {
        self.missing.get(&osd).is_some_and(|missing| missing.contains(&object))
    }

    /// An OSD has `object` now.
    pub(crate) fn arrived(&mut self, osd: OsdId, object: ObjectNo) {
        self.untouched = false;
        if let Some(marks) = self.bad.unreadable.get_mut(&object) {
            marks.all.remove(osd);
            marks.wrong.remove(osd);
        }
        self.forget_lost(osd, object);
        self.found(osd, object);
    }

    /// An OSD has lost no page of `object` any more: it has all of it, or nothing.
    pub(crate) fn forget_lost(&mut self, osd: OsdId, object: ObjectNo) {
        if let Some(lost) = self.bad.lost.get_mut(&object) {
            lost.remove(osd);
            if lost.is_empty() {
                self.bad.lost.remove(&object);
            }
        }
    }

    /// An OSD does not miss `object`.
    pub(crate) fn found(&mut self, osd: OsdId, object: ObjectNo) {
        if let Some(known) = self.beside.get_mut(&osd) {
            known.remove(&object);
        }
        if let Some(missing) = self.missing.get_mut(&osd) {
            missing.remove(&object);
            if missing.is_empty() {
                self.missing.remove(&osd);
            }
        }
    }

    /// Which kind of recovery is next, if any.
    pub(crate) fn recovery_needed(&self) -> Option<RecoveryKind> {
        if self.lacks_by_log() {
            return Some(RecoveryKind::Log);
        }
        match &self.backfill {
            Some(_) => Some(RecoveryKind::Backfill),
            None => self.is_missing_any().then_some(RecoveryKind::Log),
        }
    }

    /// Who takes part in a write to `object` besides `this` OSD.
    pub(crate) fn write_way(&self, this: OsdId, object: ObjectNo) -> WriteWay {
        let mut targets = self.shape.acting;
        targets.remove(this);
        if self.missing.is_empty() && self.backfill.is_none() {
            return WriteWay::To(targets);
        }
        if self.recovering.contains_key(&object) {
            return WriteWay::Park;
        }
        if let Some(backfill) = &self.backfill
            && backfill.covers(object)
        {
            for target in backfill.targets.iter() {
                targets.insert(target);
            }
        }
        for (osd, missing) in &self.missing {
            if missing.contains(&object) {
                if !self.is_beside(*osd, object) {
                    return WriteWay::Park;
                }
                targets.remove(*osd);
            }
        }
        WriteWay::To(targets)
    }

    /// After a write of `object`: backfill targets that did not get it must get it later.
    pub(crate) fn note_write(&mut self, object: ObjectNo, created: bool) {
        if let Some(backfill) = &mut self.backfill
            && !backfill.covers(object)
        {
            backfill.note_write(object, created);
        }
    }
}

/// How a placement group's copies differ from what they should be; sums over groups give the cluster's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PgProgress {
    /// Copies that exist, but not yet where placement wants them.
    pub misplaced: u64,
    /// Copies that do not exist.
    pub degraded: u64,
    /// Objects being recovered now.
    pub recovering: u64,
}

impl std::ops::AddAssign for PgProgress {
    fn add_assign(&mut self, other: PgProgress) {
        self.misplaced += other.misplaced;
        self.degraded += other.degraded;
        self.recovering += other.recovering;
    }
}

impl Primary {
    /// Why this placement group recovers, which in later eras decides the class of its recovery traffic.
    pub(crate) fn urgency(&self) -> Urgency {
        if self.shape.acting.len() < self.shape.copies {
            Urgency::Undersized
        } else if self.is_missing_any() {
            Urgency::Degraded
        } else {
            Urgency::Misplaced
        }
    }

    /// Copies that members of the group lack by the log.
    fn missing_copies(&self) -> u64 {
        self.missing.values().map(|missing| missing.len() as u64).sum()
    }

    /// Copies that targets of a backfill do not have yet.
    fn waiting_copies(&self) -> u64 {
        self.backfill.as_ref().map_or(0, |b| b.left * u64::from(b.targets.len()))
    }

    /// Copies that somebody is there to take: those of absent OSDs are not among them.
    pub(crate) fn to_move(&self) -> u64 {
        self.missing_copies() + self.waiting_copies()
    }

    /// The counters of this placement group, given how many objects it has.
    pub(crate) fn progress(&self, objects: u64) -> PgProgress {
        let (missing, waiting) = (self.missing_copies(), self.waiting_copies());
        let absent = u64::from(self.shape.copies.saturating_sub(self.shape.acting.len()));
        // A target that is filled in place of an absent copy lowers the degraded count, the others move copies.
        let filling = self.backfill.as_ref().map_or(0, |b| u64::from(b.targets.len()).min(absent));
        let filled_left = self.backfill.as_ref().map_or(0, |b| b.left * filling);
        PgProgress {
            misplaced: waiting - filled_left,
            degraded: missing + (absent - filling) * objects + filled_left,
            recovering: self.recovering.len() as u64,
        }
    }
}

/// Names a placement group's shard: a fixed hash of its number inside its pool (qos.md 3).
pub fn shard_of(index_in_pool: u32, shards: u32) -> ShardId {
    ShardId::new(index_in_pool % shards)
}
