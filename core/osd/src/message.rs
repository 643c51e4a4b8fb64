//! What OSDs and the router send to each other.

use crate::aside::Aside;
use crate::delay::Delay;
use crate::ids::{ClientId, IntervalId, OpId, OsdId, OsdSet, PgId};
use crate::pg_log::PgLog;
use crate::scrub::ScrubMessage;
use crate::snapshots::{FormerState, SnapshotNo, image_of};
use crate::tenants::GivenOps;
use loadline_base::{Bytes, SlotId};
use loadline_qos::{Urgency, Work};
use loadline_store::paged::{LostEnds, Payload, Ranges};
use loadline_store::{ObjectMeta, ObjectNo, Version};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a client asks of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpKind {
    /// Read a byte range.
    Read,
    /// Read a byte range as it was at a snapshot.
    ReadAt(SnapshotNo),
    /// Tell where a byte range holds data, now or at a snapshot. The rest reads as zeros.
    Ranges(SnapshotNo),
    /// Tell where a byte range may be other than it was at a snapshot, now or at a later one. The rest is the same.
    Changed {
        /// Compared with how it was then.
        since: SnapshotNo,
        /// How it is then, or [`SnapshotNo::HEAD`] for now.
        at: SnapshotNo,
    },
    /// Write a byte range on every copy.
    Write,
    /// Make a byte range read as zeros, on every copy.
    Zero,
    /// Remove the object, on every copy. What snapshots show of it stays.
    Remove,
    /// Remove the object and whatever snapshots show of it, on every copy.
    Purge,
    /// Give back what only this snapshot showed, which was removed, on every copy. No client sends it: a primary trims by itself.
    Trim(SnapshotNo),
}

impl OpKind {
    /// The snapshots whose states it tells of, for a client.
    pub fn shown(self) -> impl Iterator<Item = SnapshotNo> {
        let shown = match self {
            OpKind::ReadAt(at) | OpKind::Ranges(at) => [at, SnapshotNo::HEAD],
            OpKind::Changed { since, at } => [since, at],
            _ => [SnapshotNo::HEAD; 2],
        };
        shown.into_iter().filter(|snapshot| *snapshot != SnapshotNo::HEAD)
    }

    /// Whether it changes every copy.
    pub const fn is_update(self) -> bool {
        let is_read = matches!(self, OpKind::Read | OpKind::ReadAt(_));
        !is_read && !matches!(self, OpKind::Ranges(_) | OpKind::Changed { .. })
    }

    /// How many bytes of a range of this length it carries to or from a copy. The rest tells or changes metadata alone, however long its range.
    pub(crate) const fn moved_bytes(self, length: u32) -> u32 {
        match self {
            OpKind::Read | OpKind::ReadAt(_) | OpKind::Write => length,
            OpKind::Ranges(_)
            | OpKind::Changed { .. }
            | OpKind::Zero
            | OpKind::Remove
            | OpKind::Purge
            | OpKind::Trim(_) => 0,
        }
    }

    /// Whether it only gives back what nobody can read any more.
    pub(crate) const fn is_cleanup(self) -> bool {
        matches!(self, OpKind::Purge | OpKind::Trim(_))
    }
}

/// The bytes that travel with a message. Empty where a store keeps no bytes; shared, because each copy of a write
/// needs them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Data {
    bytes: Option<Arc<Vec<u8>>>,
    /// Where they stand in their object, if that is not one place.
    ranges: Option<Arc<Ranges>>,
}

impl Data {
    /// No bytes.
    pub const NONE: Data = Data { bytes: None, ranges: None };

    /// These bytes.
    pub fn new(bytes: Vec<u8>) -> Data {
        Data { bytes: (!bytes.is_empty()).then(|| Arc::new(bytes)), ranges: None }
    }

    /// The bytes of some ranges of an object, one after the other, or only where they are.
    pub fn sparse(ranges: Ranges, bytes: Vec<u8>) -> Data {
        Data { ranges: Some(Arc::new(ranges)), ..Data::new(bytes) }
    }

    /// Where an object holds data, if that was asked for, or if the bytes are those of a pushed object.
    pub fn ranges(&self) -> Option<&Ranges> {
        self.ranges.as_deref()
    }

    /// The bytes, to look at.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.as_ref().map_or(&[], |bytes| bytes)
    }

    /// The bytes as a store takes them, without copying them.
    pub(crate) fn into_payload(self) -> Payload {
        self.bytes.map_or_else(|| Payload::Bytes(Vec::new()), Payload::Shared)
    }

    /// The bytes, without copying them if nobody else has them.
    pub fn into_vec(self) -> Vec<u8> {
        self.bytes.map_or_else(Vec::new, Arc::unwrap_or_clone)
    }

    /// How many bytes.
    pub fn len(&self) -> usize {
        self.bytes().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A client's op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientOp {
    /// Comes back with the reply.
    pub id: OpId,
    /// Whose op it is.
    pub client: ClientId,
    /// What to do.
    pub kind: OpKind,
    /// Whether every stage of this op is written to the trace.
    pub traced: bool,
    /// Whether its client wants only what others leave ([`Work::BackgroundOp`]). The copies of a write do not differ by
    /// it: what one copy has, the others must have.
    pub background: bool,
    /// Whether it was sent before: then it may have been carried out already, which the log knows.
    pub resent: bool,
    /// What it was put aside for before it came to a queue.
    pub aside: Aside,
    /// The object's placement group.
    pub pg: PgId,
    /// The object.
    pub object: ObjectNo,
    /// First byte inside the object.
    pub offset: u32,
    /// How many bytes.
    pub length: u32,
    /// What its image was given until it was sent, where that counts.
    pub given: GivenOps,
}

impl ClientOp {
    /// An op without a range that no client waits for.
    pub(crate) fn of_nobody(pg: PgId, object: ObjectNo, kind: OpKind) -> ClientOp {
        ClientOp {
            id: OpId::NOBODYS,
            client: ClientId::new(0),
            kind,
            traced: false,
            background: true,
            resent: false,
            aside: Aside::NONE,
            pg,
            object,
            offset: 0,
            length: 0,
            given: GivenOps::default(),
        }
    }

    /// The number of the image that its object belongs to.
    pub fn image(&self) -> u32 {
        image_of(self.object)
    }

    /// The bytes that it counts for beside its being an op.
    pub const fn charged_bytes(&self) -> u32 {
        self.kind.moved_bytes(self.length)
    }

    /// Whether it counts for what its image is promised and allowed.
    pub const fn is_clients(&self) -> bool {
        !self.background && !self.kind.is_cleanup()
    }

    /// Which kind of work it is on its primary.
    pub(crate) fn work(&self) -> Work {
        match self.background {
            _ if self.kind.is_cleanup() => Work::SnapTrim,
            true => Work::BackgroundOp,
            false => Work::ClientOp,
        }
    }
}

/// A key that one disk alone keeps is to have this value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPut {
    /// Comes back with the [`PutEnd`].
    pub token: u64,
    /// Whose put it is.
    pub client: ClientId,
    /// The key.
    pub key: Vec<u8>,
    /// Its value from now on.
    pub value: Vec<u8>,
}

impl KeyPut {
    /// What it carries.
    pub(crate) fn payload(&self) -> Bytes {
        Bytes::new((self.key.len() + self.value.len()) as u64)
    }
}

/// The end of a put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PutEnd {
    /// That of the put.
    pub token: u64,
    /// Whether the key has the value now, as durably as the store's log mode promises.
    pub is_kept: bool,
}

/// A primary's number for a write in flight. Slots are used again, so the sequence number tells an answer to
/// the present write from a late one to its predecessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteTag {
    /// Where the primary keeps it.
    pub slot: SlotId,
    /// Never used twice by one OSD.
    pub sequence: u32,
}

/// What is done to an object's past before an update, or instead of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Before {
    /// Nothing: the object goes on as it was.
    #[default]
    Nothing,
    /// What it is now is kept under this label.
    Keep(SnapshotNo),
    /// It begins empty, and no snapshot up to this one shows it.
    Create(SnapshotNo),
    /// It begins as the first bytes of a state of an ancestor's object.
    Copy {
        /// No snapshot up to this one shows it.
        born: SnapshotNo,
        /// The ancestor.
        image: u32,
        /// Which state.
        label: SnapshotNo,
        /// How many bytes.
        length: u32,
    },
    /// The state with this label gets another.
    Relabel(SnapshotNo, SnapshotNo),
    /// The state with this label goes.
    Drop(SnapshotNo),
}

/// A write as a replica carries it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaWrite {
    /// To be named in the acknowledgement.
    pub tag: WriteTag,
    /// The client's op, for the log and the trace.
    pub op: OpId,
    /// Whose op it is.
    pub client: ClientId,
    /// Whether the op is traced.
    pub traced: bool,
    /// What to do; never a read.
    pub kind: OpKind,
    /// What is done to the object's past before, or instead.
    pub before: Before,
    /// The object.
    pub object: ObjectNo,
    /// First byte inside the object.
    pub offset: u32,
    /// How many bytes.
    pub length: u32,
    /// The version that the primary gave the write.
    pub version: Version,
}

impl ReplicaWrite {
    /// What the other copies are sent of an op.
    pub(crate) fn of(
        op: &ClientOp,
        tag: WriteTag,
        before: Before,
        version: Version,
    ) -> ReplicaWrite {
        ReplicaWrite {
            tag,
            op: op.id,
            client: op.client,
            traced: op.traced,
            kind: op.kind,
            before,
            object: op.object,
            offset: op.offset,
            length: op.length,
            version,
        }
    }

    /// See [`ClientOp::charged_bytes`].
    pub(crate) const fn charged_bytes(&self) -> u32 {
        self.kind.moved_bytes(self.length)
    }
}

/// One object on its way to a copy that lacks it. With it goes what of it holds data; the rest are holes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Push {
    /// The object.
    pub object: ObjectNo,
    /// Its version and length at the sender; `None` if it does not exist there, and should not exist at all.
    pub meta: Option<ObjectMeta>,
    /// The state of the object that the target has already, and that what goes with it was compared with.
    pub base: Option<SnapshotNo>,
    /// Bytes of data carried; its length, where a store keeps no bytes.
    pub bytes: u64,
    /// Whether it answers a pull of the primary (then no push reply is due).
    pub pulled: bool,
}

impl Push {
    /// Data carried.
    pub fn length(&self) -> Bytes {
        Bytes::new(self.bytes)
    }
}

/// A step of the way of an object with a past to a copy that lacks it. First everything goes that is there of it, then
/// its former states come one by one, each confirmed before the next, and its present state, or its absence, comes last,
/// as a [`Push`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryPush {
    /// An object with a past is coming.
    Begin {
        /// No snapshot up to this one shows its present state.
        born: SnapshotNo,
        /// The version of its removal, if it does not exist now.
        removed: Option<Version>,
    },
    /// This former state, with what holds data of it.
    State {
        /// The state.
        state: FormerState,
        /// See [`Push::base`].
        base: Option<SnapshotNo>,
        /// See [`Push::bytes`].
        bytes: u64,
    },
}

impl HistoryPush {
    /// The label of the state that it brings; that of none for the beginning.
    pub fn label(&self) -> SnapshotNo {
        match self {
            HistoryPush::Begin { .. } => SnapshotNo::HEAD,
            HistoryPush::State { state, .. } => state.label,
        }
    }

    /// Data carried.
    pub fn length(&self) -> Bytes {
        match self {
            HistoryPush::Begin { .. } => Bytes::ZERO,
            HistoryPush::State { bytes, .. } => Bytes::new(*bytes),
        }
    }
}

/// Bytes of a state of an object that one copy cannot read, and another may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadRange {
    /// Which state.
    pub label: SnapshotNo,
    /// First byte.
    pub offset: u64,
    /// How many; no more than a page, once it is known to be bad.
    pub length: u64,
    /// The version of the state. In another one the bytes may be others.
    pub version: Version,
}

/// A step of the mending of a copy whose primary has no whole one to put in its place. The ranges that cannot be read are asked for one by
/// one, each of all who have the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MendStep {
    /// To the copy: read all of the object, and tell what cannot be read.
    Begin,
    /// From the copy: this cannot be read here.
    Bad(BadRange),
    /// To another one: can you read it?
    Wanted(BadRange),
    /// Its answer; the bytes go with it.
    Held(BadRange, RangeHeld),
    /// To the copy: the bytes, or why there are none.
    Given(BadRange, RangeHeld),
    /// From the copy: everything was read, and what was given is durable. False if that was not possible, or something is bad everywhere.
    End(bool),
}

/// Whether a copy has bytes that another one cannot read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeHeld {
    /// Here they are.
    Found,
    /// The object does not count as being here. They were in this version of it.
    Former(Version),
    /// They cannot be read here either.
    Bad,
    /// Nobody has them, and the snapshot that their state is kept for was removed. Somebody can still ask for them if the state is also what this
    /// older one shows; [`SnapshotNo::HEAD`] if there is none.
    Removed(SnapshotNo),
    /// The state has another version here: a write has not reached all copies yet, so both look again.
    Otherwise,
}

/// Which state of an object counts from now on, by an operator's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// The object.
    pub object: ObjectNo,
    /// The version that it has from now on.
    pub version: Version,
    /// The version in which it is what counts, on those that have it so; `None` if nothing of it is left.
    pub left: Option<Version>,
}

/// Which kind of recovery a reservation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryKind {
    /// From the PG log: may wait for a slot, is never refused.
    Log,
    /// By scanning.
    Backfill,
}

/// The part of a placement group's objects that a scan covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanRange {
    /// Exclusive lower end; `None` is the start.
    pub after: Option<ObjectNo>,
    /// Inclusive upper end; `None` is the end.
    pub last: Option<ObjectNo>,
}

/// What one OSD tells another about a placement group.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// A client's op, to the primary.
    Op(ClientOp),
    /// A write, to a replica.
    Write(ReplicaWrite),
    /// A replica's write is durable; what it waited for longest there, and what of it is lost there with pages that cannot be read.
    WriteDone(WriteTag, Delay, LostEnds),
    /// A replica waits with a write, because its device does not read now what stands around these parts of it.
    WriteDoubted(WriteTag, LostEnds),
    /// Others have these parts of the write: who cannot read what stands around them goes past it. What nobody has is not written.
    GoPast(WriteTag, LostEnds),
    /// These parts of the update with this version were written nowhere, and its client was refused.
    Unwritten(Version, LostEnds),
    /// A replica could not carry the write out, because what it must look at cannot be read there. It has noted durably that
    /// it lacks the object.
    WriteMissed(WriteTag, ObjectNo),
    /// May objects of about so many bytes together be pushed to you? Writes wait for an object that is on its way, so who paces its
    /// disk is asked before.
    PushAsked(u64),
    /// Yes, now.
    PushAllowed,
    /// An object for a copy that lacks it.
    Push(Push),
    /// The pushed object is durable.
    PushReply(ObjectNo),
    /// There is no room for the pushed object.
    NoRoom(ObjectNo),
    /// A step of the way of an object with a past.
    PushHistory(ObjectNo, HistoryPush),
    /// The step that brought the state of this label is durable: the next one, please.
    HistoryStored(ObjectNo, SnapshotNo),
    /// The primary lacks this object and asks a holder to push it.
    Pull(ObjectNo),
    /// The holder cannot read it.
    Unreadable(ObjectNo),
    /// No copy can be read whole, and one is mended with what the others can.
    Mend(ObjectNo, MendStep),
    /// In which version is this object there, which is lacking and which nobody can give?
    WhatIsLeft(ObjectNo),
    /// In this one; `None` if not at all.
    Left(ObjectNo, Option<Version>),
    /// An older state of an object counts from now on, because the newest is lost.
    Settle(Settlement),
    /// The disk knows that.
    Settled(ObjectNo),
    /// Which objects do you have in this range?
    Scan(ScanRange),
    /// These.
    ScanReply(Box<ScanReply>),
    /// Something about a scrub.
    Scrub(ScrubMessage),
    /// May this placement group recover on you?
    Reserve(RecoveryKind, ReservationPriority),
    /// Yes, until released.
    ReserveGranted,
    /// The slot is taken back for something more urgent.
    ReserveRevoked,
    /// No, or no longer: the disk has no room for a backfill.
    ReserveTooFull,
    /// The slot is no longer needed.
    ReserveReleased,
}

/// How urgent a recovery is (qos.md 9.2): higher goes first.
pub type ReservationPriority = u8;

/// Answer to a scan.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanReply {
    /// The range that was asked for.
    pub range: ScanRange,
    /// The objects in it, in order.
    pub objects: Vec<(ObjectNo, ObjectMeta)>,
}

/// A message with its addresses.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// The sender; `None` for the router.
    pub from: Option<OsdId>,
    /// The receiver.
    pub to: OsdId,
    /// What it is about.
    pub pg: PgId,
    /// The map epoch at which the sender's placement group began its present interval. What was sent in an earlier
    /// interval is void.
    pub interval: u32,
    /// The state of the placement group for which recovery traffic is sent: in later eras it decides the class.
    pub urgency: Urgency,
    /// The contents.
    pub message: Message,
    /// The bytes of an op, of a replica's write or of a push.
    pub data: Data,
}

/// A new interval of a placement group, as its owner tells every OSD that holds a copy.
#[derive(Clone, Debug, PartialEq)]
pub struct Activation {
    /// The map epoch.
    pub interval: u32,
    /// The term of the map's owner; 0 where the map is not on disks.
    pub term: u64,
    /// Who serves clients; the first is the primary.
    pub acting: Vec<OsdId>,
    /// How many copies the pool wants.
    pub copies: u32,
    /// What each acting OSD misses, by the log; absent means nothing.
    pub missing: Vec<(OsdId, BTreeSet<ObjectNo>)>,
    /// Objects of which acting OSDs have lost pages; absent means none.
    pub damaged: Vec<(OsdId, BTreeSet<ObjectNo>)>,
    /// Members of `acting` that lack objects but need not hold up writes (asynchronous recovery).
    pub asynchronous: OsdSet,
    /// Who is to be filled by scanning.
    pub backfill: Vec<OsdId>,
    /// How large the pool's objects are, for costs that name an average (bytes).
    pub object_bytes: u64,
    /// Added to reservation priorities (the pool's `recovery_priority`).
    pub recovery_priority: i8,
    /// The placement group's number inside its pool.
    pub index_in_pool: u32,
    /// What the last writes were. All acting OSDs take this log; `None` if there is nothing to take over.
    pub log: Option<Arc<PgLog>>,
    /// The last interval before this one in which somebody served the placement group.
    pub before: IntervalId,
}

impl Activation {
    /// The interval, told from those of other owners.
    pub(crate) fn id(&self) -> IntervalId {
        IntervalId { term: self.term, epoch: self.interval }
    }

    /// Whether some copy is absent or lacks something.
    pub(crate) fn is_degraded(&self) -> bool {
        (self.acting.len() as u32) < self.copies
            || !self.missing.is_empty()
            || !self.backfill.is_empty()
    }
}
