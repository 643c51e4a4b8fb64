//! The numbers of OSDs, placement groups and ops.

use loadline_base::{SlotId, define_id};
use loadline_store::CollectionId;

define_id! {
    /// An OSD: one disk with its store and its queue.
    pub struct OsdId, "osd."
}

define_id! {
    /// A placement group, numbered densely over all pools of the map.
    pub struct PgId, "pg "
}

define_id! {
    /// One queue of an OSD.
    pub struct ShardId, "shard "
}

define_id! {
    /// A worker thread of a shard.
    pub struct ThreadId, "thread "
}

define_id! {
    /// A client, as the router numbers it.
    pub struct ClientId, "client "
}

impl PgId {
    /// Each disk keeps a placement group's objects in the collection of the same number.
    pub fn collection(self) -> CollectionId {
        CollectionId::new(self.get())
    }
}

/// A client's op, from the moment it is routed until it is replied to.
///
/// An op that was sent twice may be replied to twice, and the router's slots are used again: the number tells the op
/// from those that held its slot before and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpId {
    /// Where the router keeps it.
    pub slot: SlotId,
    /// Its number in the order of issue.
    pub number: u32,
}

impl OpId {
    /// What the log names where no client's op has written, or none is known any more.
    pub(crate) const NOBODYS: OpId = OpId { slot: SlotId::new(u32::MAX), number: 0 };

    /// The op's number, which no other op of the same run has.
    pub const fn get(self) -> u32 {
        self.number
    }
}

/// An interval of a placement group, told from those of other owners of the map: what an owner has begun and its last map
/// does not tell of may have the number of an interval of the next one. The later term is later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct IntervalId {
    /// The owner's term; 0 where the map is not on disks.
    pub term: u64,
    /// The map epoch at which it began.
    pub epoch: u32,
}

impl IntervalId {
    /// Before the first one.
    pub const NEVER: IntervalId = IntervalId { term: 0, epoch: 0 };
}

/// A small set of OSDs of one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OsdSet(u64);

impl OsdSet {
    /// The most OSDs that one host may have.
    pub const OSDS_MAX: u32 = 64;

    /// The empty set.
    pub const EMPTY: OsdSet = OsdSet(0);

    /// Adds an OSD.
    pub fn insert(&mut self, osd: OsdId) {
        self.0 |= 1 << osd.get();
    }

    /// Takes an OSD out. Returns whether it was in.
    pub fn remove(&mut self, osd: OsdId) -> bool {
        let before = self.0;
        self.0 &= !(1 << osd.get());
        self.0 != before
    }

    /// Whether an OSD is in.
    pub fn contains(self, osd: OsdId) -> bool {
        self.0 >> osd.get() & 1 == 1
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// One OSD.
    pub fn one(osd: OsdId) -> OsdSet {
        OsdSet(1 << osd.get())
    }

    /// A bit for each, the first OSD's the lowest.
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// The set of these bits.
    pub(crate) fn of_bits(bits: u64) -> OsdSet {
        OsdSet(bits)
    }

    /// The OSDs that are in this set or in the other.
    pub fn with(self, other: OsdSet) -> OsdSet {
        OsdSet(self.0 | other.0)
    }

    /// How many OSDs are in.
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// The OSDs, lowest first.
    pub fn iter(self) -> impl Iterator<Item = OsdId> {
        let mut bits = self.0;
        std::iter::from_fn(move || {
            let lowest = (bits != 0).then(|| bits.trailing_zeros())?;
            bits &= bits - 1;
            Some(OsdId::new(lowest))
        })
    }
}

impl FromIterator<OsdId> for OsdSet {
    fn from_iter<I: IntoIterator<Item = OsdId>>(osds: I) -> OsdSet {
        osds.into_iter().fold(OsdSet::EMPTY, |mut set, osd| {
            set.insert(osd);
            set
        })
    }
}
