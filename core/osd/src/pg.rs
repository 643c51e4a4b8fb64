//! A placement group's copy on one OSD, and what its primary knows beyond that.

use crate::ids::{OsdId, OsdSet, ShardId};
use crate::message::{Activation, ClientOp, RecoveryKind};
use crate::pg_log::PgLog;
use loadline_qos::Urgency;
use loadline_store::{ObjectNo, Version};
use std::collections::{BTreeMap, VecDeque};

/// One copy of a placement group.
#[derive(Clone, Debug)]
pub(crate) struct Pg {
    pub shard: ShardId,
    pub interval: u32,
    pub log: PgLog,
    /// Whether every object up to the log's head is here; false while being filled.
    pub complete: bool,
    pub leaving: bool,
    pub primary: Option<Box<Primary>>,
}

/// What only the primary knows.
#[derive(Clone, Debug)]
pub(crate) struct Primary {
    /// The acting OSDs, this one included.
    pub acting: OsdSet,
    pub copies: u32,
    pub recovery_priority: i8,
    pub object_bytes: u64,
    pub missing: BTreeMap<OsdId, BTreeMap<ObjectNo, Version>>,
    pub asynchronous: OsdSet,
    pub backfill: Option<Backfill>,
    pub recovering: BTreeMap<ObjectNo, Recovering>,
    /// Missing objects that ops wait for; recovered first.
    pub urgent: VecDeque<ObjectNo>,
    pub reservation: Reservation,
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
    /// Refused; everything was given back, and a timer will try again.
    Retry,
    /// All slots held.
    Held(RecoveryKind),
}

/// An object on its way to where it is missing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recovering {
    /// Who has not confirmed it yet; the primary itself while it pulls.
    pub pending: OsdSet,
    /// Client ops that wait for it.
    pub parked: Vec<ClientOp>,
}

/// A backfill: objects are compared in order and pushed where missing or old.
#[derive(Clone, Debug)]
pub(crate) struct Backfill {
    pub targets: OsdSet,
    /// Everything up to here is on the targets, or on its way there.
    pub reached: Option<ObjectNo>,
    /// Whether `reached` means the end.
    pub at_end: bool,
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
            batch: BTreeMap::new(),
            range_last: None,
            scan: None,
            left: objects,
        }
    }

    /// Whether writes to `object` must reach the targets too.
    pub(crate) fn covers(&self, object: ObjectNo) -> bool {
        self.at_end || self.reached.is_some_and(|reached| object <= reached)
    }

    /// Notes a write to an object that the targets do not get. If its range is being compared or was compared
    /// before the write, the object has to be pushed after all.
    pub(crate) fn note_write(&mut self, object: ObjectNo, created: bool) {
        let comparing = self.scan.is_some();
        let in_range = self.range_last.is_none_or(|last| object <= last);
        let mut found = created;
        if (comparing || !self.batch.is_empty()) && in_range {
            let known = self.batch.insert(object, self.targets).is_some();
            found |= !known && !comparing;
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
    pub(crate) fn new(activation: &Activation, objects: u64) -> Primary {
        let targets: OsdSet = activation.backfill.iter().copied().collect();
        Primary {
            acting: activation.acting.iter().copied().collect(),
            copies: activation.copies,
            recovery_priority: activation.recovery_priority,
            object_bytes: activation.object_bytes,
            missing: activation.missing.iter().cloned().collect(),
            asynchronous: activation.asynchronous,
            backfill: (!targets.is_empty()).then(|| Backfill::new(targets, objects)),
            recovering: BTreeMap::new(),
            urgent: VecDeque::new(),
            reservation: Reservation::None,
        }
    }

    /// Whether the log-based part is still under way.
    pub(crate) fn is_missing_any(&self) -> bool {
        self.missing.values().any(|missing| !missing.is_empty())
    }

    /// Which kind of recovery is next, if any.
    pub(crate) fn recovery_needed(&self) -> Option<RecoveryKind> {
        if self.is_missing_any() {
            return Some(RecoveryKind::Log);
        }
        self.backfill.as_ref().map(|_| RecoveryKind::Backfill)
    }

    /// Who takes part in a write to `object` besides `this` OSD.
    pub(crate) fn write_way(&self, this: OsdId, object: ObjectNo) -> WriteWay {
        let mut targets = self.acting;
        targets.remove(this);
        if self.missing.is_empty() && self.backfill.is_none() {
            return WriteWay::To(targets);
        }
        if self.recovering.contains_key(&object) {
            return WriteWay::Park;
        }
        for (osd, missing) in &self.missing {
            if missing.contains_key(&object) {
                if !self.asynchronous.contains(*osd) {
                    return WriteWay::Park;
                }
                targets.remove(*osd);
            }
        }
        if let Some(backfill) = &self.backfill
            && backfill.covers(object)
        {
            for target in backfill.targets.iter() {
                targets.insert(target);
            }
        }
        WriteWay::To(targets)
    }

    /// Whether a read of `object` must wait because this OSD lacks it.
    pub(crate) fn read_parks(&self, this: OsdId, object: ObjectNo) -> bool {
        self.missing.get(&this).is_some_and(|missing| missing.contains_key(&object))
    }

    /// After a write of `object` to `written`: who did not get it must get it by recovery.
    pub(crate) fn note_write(&mut self, object: ObjectNo, version: Version, created: bool) {
        for missing in self.missing.values_mut() {
            if let Some(wanted) = missing.get_mut(&object) {
                *wanted = version;
            }
        }
        if let Some(backfill) = &mut self.backfill
            && !backfill.covers(object)
        {
            backfill.note_write(object, created);
        }
    }
}

/// How a placement group's copies differ from what they should be; sums over groups give the cluster's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Copies that exist, but not yet where placement wants them.
    pub misplaced: u64,
    /// Copies that do not exist.
    pub degraded: u64,
    /// Objects being recovered now.
    pub recovering: u64,
}

impl std::ops::AddAssign for Progress {
    fn add_assign(&mut self, other: Progress) {
        self.misplaced += other.misplaced;
        self.degraded += other.degraded;
        self.recovering += other.recovering;
    }
}

impl Primary {
    /// Why this placement group recovers, which in later eras decides the class of its recovery traffic.
    pub(crate) fn urgency(&self) -> Urgency {
        if self.acting.len() < self.copies {
            Urgency::Undersized
        } else if self.is_missing_any() {
            Urgency::Degraded
        } else {
            Urgency::Misplaced
        }
    }

    /// The counters of this placement group, given how many objects it has.
    pub(crate) fn progress(&self, objects: u64) -> Progress {
        let missing: u64 = self.missing.values().map(|missing| missing.len() as u64).sum();
        let absent = u64::from(self.copies.saturating_sub(self.acting.len()));
        let waiting = self.backfill.as_ref().map_or(0, |b| b.left * u64::from(b.targets.len()));
        // A target that is filled in place of an absent copy lowers the degraded count, the others move copies.
        let filling = self.backfill.as_ref().map_or(0, |b| u64::from(b.targets.len()).min(absent));
        let filled_left = self.backfill.as_ref().map_or(0, |b| b.left * filling);
        Progress {
            misplaced: waiting - filled_left,
            degraded: missing + (absent - filling) * objects + filled_left,
            recovering: self.recovering.len() as u64,
        }
    }
}

/// What the owner of the map needs to know of a copy to begin a new interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CopyInfo {
    /// The last write it has.
    pub head: Version,
    /// Whether it has every object up to there.
    pub complete: bool,
    /// How many objects it has.
    pub objects: u64,
}

/// Names a placement group's shard: a fixed hash of its number inside its pool (qos.md 3).
pub fn shard_of(index_in_pool: u32, shards: u32) -> ShardId {
    ShardId::new(index_in_pool % shards)
}
