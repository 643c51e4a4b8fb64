//! What an OSD asks of its store, and how that ends: an access to a place, what it does there, and what is kept with it.

use crate::commit::Commit;
use crate::directive::DiskFault;
use crate::disk::Whole;
use crate::ids::PgId;
use crate::message::{Before, ClientOp, Data, OpKind};
use crate::snapshots::SnapshotNo;
use loadline_base::{Span, Time};
use loadline_device::ClassTag;
use loadline_store::paged::{
    Answer, DIGEST_PIECE, Edit, Exceeded, LostEnds, OwnPages, PastDamage, Wait,
};
use loadline_store::{ObjectNo, Version};

/// What is done to an object's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AccessKind {
    /// Read them.
    Read,
    /// Read a state of the object after all writes of the placement group that were handed in before.
    ReadInOrder(SnapshotNo),
    /// Read what a state of the object, of so many bytes, holds, or in what it is other than another one, in the same order as far as
    /// its beginning goes.
    ReadWhole { label: SnapshotNo, base: Option<SnapshotNo>, bytes: u64 },
    /// Tell where the object holds data.
    Look,
    /// Tell where a state of the object holds data, in the same order.
    LookInOrder(SnapshotNo),
    /// Tell where a state of the object is other than another one, as far as its end, in the same order.
    LookPast { label: SnapshotNo, base: SnapshotNo },
    /// Read all of a state of the object from the device, and tell its digest. In no order: who asks keeps writes away, and nothing else is to
    /// wait for it.
    Digest(SnapshotNo),
    /// Read pages of the store's own making again from the device, in no order either.
    Reread(OwnPages),
    /// Tell so many states of objects at most, from this object on, in no order either.
    List(usize),
    /// Write them.
    Write(Data),
    /// Make them zeros.
    Zero,
    /// Nothing but its version, if it exists.
    Version,
    /// Make a state of the object this, whatever it was.
    Put(Whole),
    /// Remove the object.
    Remove,
    /// Nothing but the edits that come with it.
    Nothing,
    /// The same, in no order with anything else.
    OwnKey,
    /// Make durable what was answered before.
    Sync,
}

/// One access to one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub pg: PgId,
    pub object: ObjectNo,
    /// First byte inside the object.
    pub offset: u64,
    pub length: u64,
    pub touch: AccessKind,
    /// The object's version after an update.
    pub version: Version,
    /// What must have happened before, on its own. The direct store has no edits.
    pub first: Vec<Edit>,
    /// What is to be kept together with it.
    pub edits: Vec<Edit>,
    /// See [`Update::past_damage`].
    pub past_damage: Option<PastDamage>,
    pub class: ClassTag,
    pub token: Commit,
}

/// An access that the store has carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AccessDone {
    pub pg: PgId,
    pub object: ObjectNo,
    pub token: Commit,
    /// What was read.
    pub result: Result<Data, AccessFailure>,
    /// What a store of bytes tells beside it.
    pub told: Option<Answer>,
    /// When it was handed in, and when it left the window for the device.
    pub entered: Time,
    pub submitted: Time,
    /// What it waited for longest in a store of bytes.
    pub held: Option<(Wait, Span)>,
    /// What an update did to pages that are lost here, because what stands around it cannot be read.
    pub lost: LostEnds,
}

/// Why a store could not carry an access out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessFailure {
    /// The bytes are damaged or cannot be read here; another copy may have them.
    Unreadable,
    /// Bytes around these ends of what an update writes are, and no other copy was to carry it out: their pages are as they were, and
    /// everything else is done.
    Untouched(LostEnds),
    /// There is no room.
    NoSpace,
    /// It is larger than the store takes. The OSD cuts its work to fit, so this is a bug, and no reason to take the disk for damaged.
    Exceeds(Exceeded),
    /// The store cannot go on.
    Stopped,
}

impl AccessFailure {
    /// What it means for the OSD, where nobody else can help.
    pub(crate) fn fault(self) -> DiskFault {
        match self {
            AccessFailure::Unreadable => DiskFault::Unreadable,
            AccessFailure::Untouched(_) => DiskFault::InDoubt,
            AccessFailure::NoSpace => DiskFault::Full,
            AccessFailure::Exceeds(exceeded) => DiskFault::Exceeds(exceeded),
            AccessFailure::Stopped => DiskFault::Unwritable,
        }
    }
}

/// What an access does, and what the disk is to keep with it.
pub(crate) struct Update {
    pub touch: AccessKind,
    /// The object's version from then on.
    pub version: Version,
    /// What must have happened on the disk before, on its own.
    pub first: Vec<Edit>,
    pub edits: Vec<Edit>,
    /// What cannot be read around it here does not keep the rest from being written.
    pub past_damage: Option<PastDamage>,
}

impl Update {
    /// An access that leaves everything as it is.
    pub(crate) fn none(touch: AccessKind) -> Update {
        let (version, first, edits) = (Version::default(), Vec::new(), Vec::new());
        Update { touch, version, first, edits, past_damage: None }
    }
}

/// What an access that tells or changes metadata has to do with the disk, however long its range.
pub(crate) const METADATA_BYTES: u64 = 4096;

impl AccessKind {
    /// How many bytes of a range of this length a store of bytes reads or writes at a time.
    pub(crate) fn disk_bytes(&self, length: u64) -> u64 {
        match self {
            AccessKind::Look
            | AccessKind::LookInOrder(_)
            | AccessKind::LookPast { .. }
            | AccessKind::Zero
            | AccessKind::Version
            | AccessKind::Remove
            | AccessKind::Nothing => length.min(METADATA_BYTES),
            // One piece after the other.
            AccessKind::Digest(_) => length.min(DIGEST_PIECE),
            AccessKind::Read
            | AccessKind::ReadInOrder(_)
            | AccessKind::ReadWhole { .. }
            | AccessKind::Reread(_)
            | AccessKind::List(_)
            | AccessKind::Write(_)
            | AccessKind::Put(_)
            | AccessKind::OwnKey
            | AccessKind::Sync => length,
        }
    }

    /// What an update does to the object's bytes.
    pub(crate) fn of(kind: OpKind, before: Before, data: Data) -> AccessKind {
        match kind {
            OpKind::Write => AccessKind::Write(data),
            // An object that begins empty has no bytes to zero.
            OpKind::Zero if matches!(before, Before::Create(_)) => AccessKind::Nothing,
            OpKind::Zero => AccessKind::Zero,
            OpKind::Trim(_) => AccessKind::Version,
            OpKind::Remove | OpKind::Purge => AccessKind::Remove,
            OpKind::Read | OpKind::ReadAt(_) | OpKind::Ranges(_) | OpKind::Changed { .. } => {
                unreachable!("a read is no update")
            }
        }
    }
}

/// A byte range of an object.
pub(crate) struct ObjectRange {
    pub pg: PgId,
    pub object: ObjectNo,
    pub offset: u64,
    pub length: u64,
}

impl ObjectRange {
    /// No bytes, but what is known of a placement group.
    pub(crate) fn of_group(pg: PgId) -> ObjectRange {
        ObjectRange { pg, object: ObjectNo::default(), offset: 0, length: 0 }
    }

    pub(crate) fn of(op: &ClientOp) -> ObjectRange {
        ObjectRange {
            pg: op.pg,
            object: op.object,
            offset: u64::from(op.offset),
            length: u64::from(op.length),
        }
    }
}
