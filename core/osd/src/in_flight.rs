//! The ops that an OSD carries out as their primary, each in its slot until all copies have answered.

use crate::delay::Delay;
use crate::ids::{OpId, OsdId, OsdSet, PgId};
use crate::message::{ClientOp, Data, WriteTag};
use loadline_base::{SlotId, Slots, Time};
use loadline_store::paged::LostEnds;
use loadline_store::{ObjectNo, Version};
use std::collections::BTreeSet;

/// An op that is being carried out on its primary.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    pub op: ClientOp,
    /// Of an update: the version that it gives its object.
    pub version: Version,
    sequence: u32,
    /// Who has not confirmed it yet, this OSD included.
    pub pending: OsdSet,
    pub stamps: Stamps,
    /// Whether it makes its object from an ancestor's.
    pub copies: bool,
    /// The object that a read looks into: its own, or an ancestor's.
    pub looks_into: Option<ObjectNo>,
    /// That object was put here meanwhile, in several steps: what was read may be what is between two of them.
    pub is_overtaken: bool,
    /// What a read has read, or what an update writes.
    pub data: Data,
    /// What kept the other copy that answered last.
    pub last: Option<Delay>,
    /// What of an update is lost in all copies that have confirmed it.
    pub lost: LostEnds,
    /// Who asks whether others have what cannot be read there, and about what.
    pub doubts: Vec<(OsdId, LostEnds)>,
}

/// When an op passed which stage on its primary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamps {
    pub admitted: Time,
    pub dequeued: Time,
    pub executed: Time,
    pub committed: Time,
    /// What it waited for longest there.
    pub longest: Delay,
}

impl Stamps {
    /// Of an op that has not waited until now.
    pub(crate) fn at(now: Time, osd: OsdId) -> Stamps {
        let longest = Delay::none(osd);
        Stamps { admitted: now, dequeued: now, executed: now, committed: now, longest }
    }
}

impl InFlight {
    /// Whether it makes this object from an ancestor's.
    pub(crate) fn begins(&self, object: ObjectNo) -> bool {
        self.copies && self.op.object == object
    }

    /// Whether this OSD has not confirmed it yet.
    pub(crate) fn waits_for(&self, osd: OsdId) -> bool {
        self.pending.contains(osd)
    }
}

/// All of them.
#[derive(Default)]
pub(crate) struct InFlightOps {
    ops: Slots<InFlight>,
    /// Numbers ops so that none is confused with another in the same slot.
    sequence: u32,
    /// Objects whose pull or push is put off until a copy has confirmed the updates of them that are under way.
    put_off: BTreeSet<(PgId, ObjectNo)>,
}

impl InFlightOps {
    /// Keeps an op until these OSDs have confirmed it.
    pub(crate) fn begin(&mut self, op: ClientOp, stamps: Stamps, pending: OsdSet) -> WriteTag {
        self.sequence = self.sequence.wrapping_add(1);
        let sequence = self.sequence;
        let (copies, data, last) = (false, Data::NONE, None);
        let lost = LostEnds::BOTH;
        let doubts = Vec::new();
        let (looks_into, is_overtaken) = (None, false);
        let in_flight = InFlight {
            op,
            version: Version::default(),
            sequence,
            pending,
            stamps,
            copies,
            looks_into,
            is_overtaken,
            data,
            last,
            lost,
            doubts,
        };
        WriteTag { slot: self.ops.acquire(in_flight), sequence }
    }

    /// The op of this tag, unless it has ended.
    #[inline]
    pub(crate) fn get_mut(&mut self, tag: WriteTag) -> Option<&mut InFlight> {
        let same = self.ops.get(tag.slot).is_some_and(|op| op.sequence == tag.sequence);
        same.then(|| self.ops.at_mut(tag.slot))
    }

    /// An op is over.
    pub(crate) fn end(&mut self, tag: WriteTag) -> InFlight {
        self.ops.release(tag.slot)
    }

    /// Whether an update of this object is under way that this copy has not confirmed. If it has, what is read there has the update in it.
    pub(crate) fn is_owed(&self, (pg, object): (PgId, ObjectNo), osd: OsdId) -> bool {
        let is_owed = |in_flight: &InFlight| {
            let op = &in_flight.op;
            op.pg == pg && op.object == object && op.kind.is_update() && in_flight.waits_for(osd)
        };
        self.ops.iter().any(|(_, in_flight)| is_owed(in_flight))
    }

    /// A pull or a push of this object waits for what is under way.
    pub(crate) fn put_off(&mut self, pg: PgId, object: ObjectNo) {
        self.put_off.insert((pg, object));
    }

    /// Whether one did, until now.
    #[inline]
    pub(crate) fn take_put_off(&mut self, pg: PgId, object: ObjectNo) -> bool {
        !self.put_off.is_empty() && self.put_off.remove(&(pg, object))
    }

    /// An object is put here: reads that look into it are to look again.
    pub(crate) fn overtake(&mut self, pg: PgId, object: ObjectNo) {
        let looks =
            |in_flight: &InFlight| in_flight.op.pg == pg && in_flight.looks_into == Some(object);
        let reads = self.ops.iter().filter(|(_, in_flight)| looks(in_flight));
        for slot in reads.map(|(slot, _)| slot).collect::<Vec<SlotId>>() {
            self.ops.at_mut(slot).is_overtaken = true;
        }
    }

    /// Forgets the ops of a placement group.
    pub(crate) fn drop_of(&mut self, pg: PgId) {
        self.put_off.retain(|(of, _)| *of != pg);
        let of_pg = self.ops.iter().filter(|(_, in_flight)| in_flight.op.pg == pg);
        for slot in of_pg.map(|(slot, _)| slot).collect::<Vec<SlotId>>() {
            self.ops.release(slot);
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.ops = Slots::new();
        self.put_off.clear();
    }

    /// Whether any of them makes this object from an ancestor's.
    pub(crate) fn begins(&self, object: ObjectNo) -> bool {
        self.ops.iter().any(|(_, in_flight)| in_flight.begins(object))
    }

    /// Whether any update of a placement group is to one of these objects.
    pub(crate) fn updates_any(&self, pg: PgId, is_meant: impl Fn(ObjectNo) -> bool) -> bool {
        let mut ops = self.ops.iter().map(|(_, in_flight)| &in_flight.op);
        ops.any(|op| op.pg == pg && op.kind.is_update() && is_meant(op.object))
    }

    /// The op of this number, with its tag.
    pub(crate) fn find(&self, op: OpId) -> Option<(WriteTag, &InFlight)> {
        let (slot, found) = self.ops.iter().find(|(_, in_flight)| in_flight.op.id == op)?;
        Some((WriteTag { slot, sequence: found.sequence }, found))
    }

    pub(crate) fn len(&self) -> usize {
        self.ops.len()
    }
}
