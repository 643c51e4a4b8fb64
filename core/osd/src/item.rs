//! What waits in a shard's queue.

use crate::ids::{ClientId, OpId, OsdId, OsdSet, PgId};
use crate::item_size::ItemSize;
use crate::message::{Envelope, KeyPut, MendStep, Message};
use crate::scrub::{ScrubItem, ScrubReading, ScrubStep};
use crate::shard_flows::TenantItem;
use crate::snapshots::image_of;
use crate::trim::TrimItem;
use loadline_base::{Bytes, SlotId};
use loadline_qos::{ReplicaWrites, ServiceClass, Work};

/// One item of a shard's queue.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A message that arrived.
    Message(Box<Envelope>),
    /// Start up to so many objects of this placement group (qos.md 9.4).
    Recovery(PgId, u32),
    /// Delete some objects of a placement group that has left; so many states of objects went with the item before, or one if that has slept or
    /// there was none.
    Delete(PgId, u32),
    /// A step of a scrub.
    Scrub(ScrubItem),
    /// Trim some objects of a placement group.
    Trim(TrimItem),
    /// A put of a key that this disk alone keeps.
    Put(KeyPut),
    /// A request of the store's checkpoint, of so many bytes.
    StoreIo(SlotId, u32),
    /// The next part of a transfer that the disk gets in parts.
    Part {
        /// Which transfer.
        transfer: SlotId,
        /// Bytes of the part.
        bytes: u32,
        /// The class whose work the transfer is.
        class: ServiceClass,
        /// The work that it belongs to.
        work: Work,
    },
}

/// How far background work has come that an item is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacedStage {
    /// A part of a transfer is here; the next one is to follow.
    Part,
    /// An object that comes has begun where it comes from.
    Pushed,
    /// It begins when the item is carried out, or soon after leave is given.
    New,
}

impl Item {
    /// Whether the worker that carries it out waits for what it reads, and its placement group with it.
    pub(crate) fn reads_in_worker(&self, reading: ScrubReading) -> bool {
        let is_scan = matches!(self, Item::Scrub(item) if item.step == ScrubStep::Scan);
        is_scan && matches!(reading, ScrubReading::Strides(_))
    }

    /// How far it has come, and what begins with it, where background work is paced; `None` of what is no background work or must not wait.
    /// What begins is what the item is charged in its queue, unless more follows that is charged later.
    ///
    /// A deletion and a trim may wait before each item, and a scrub before each look at objects, as long as no write waits for that. A
    /// checkpoint is none of it: clients' writes wait for the room that it makes, and the store has few of its requests at a time.
    pub(crate) fn paced(&self, charge: u32, object_bytes: u64) -> Option<(PacedStage, u64)> {
        match self {
            Item::Part { .. } => Some((PacedStage::Part, 0)),
            Item::Recovery(_, pushes) => Some((PacedStage::New, u64::from(*pushes) * object_bytes)),
            Item::Delete(..) | Item::Trim(_) => Some((PacedStage::New, u64::from(charge))),
            Item::Scrub(item) => item.may_wait.then_some((PacedStage::New, u64::from(charge))),
            Item::Message(envelope) => match envelope.message {
                Message::Push(_) | Message::PushHistory(..) => Some((PacedStage::Pushed, 0)),
                Message::PushAsked(bytes) => Some((PacedStage::New, bytes)),
                _ => None,
            },
            Item::Put(_) | Item::StoreIo(..) => None,
        }
    }

    /// The placement group, whose items are carried out one at a time. What concerns the disk alone has none.
    #[inline]
    pub fn pg(&self) -> Option<PgId> {
        match self {
            Item::Message(envelope) => Some(envelope.pg),
            Item::Recovery(pg, _) | Item::Delete(pg, _) => Some(*pg),
            Item::Scrub(item) => Some(item.pg),
            Item::Trim(item) => Some(item.pg),
            Item::Put(_) | Item::StoreIo(..) | Item::Part { .. } => None,
        }
    }

    /// The placement group in whose log this is an entry that its primary has numbered.
    #[inline]
    pub(crate) fn log_entry(&self) -> Option<PgId> {
        let Item::Message(envelope) = self else { return None };
        let is_entry = matches!(envelope.message, Message::Write(_) | Message::Settle(_));
        is_entry.then_some(envelope.pg)
    }

    /// Which kind of work this is.
    #[inline]
    pub fn work(&self) -> Work {
        match self {
            Item::Recovery(..) => Work::RecoveryItem,
            Item::Delete(..) => Work::PgDelete,
            Item::Scrub(item) => item.work(),
            Item::Trim(_) => Work::SnapTrim,
            Item::Put(_) => Work::ClientOp,
            Item::StoreIo(..) => Work::Checkpoint,
            Item::Part { work, .. } => *work,
            Item::Message(envelope) => match envelope.message {
                Message::Op(op) => op.work(),
                // Both are entries of the log, and kept in its order.
                Message::Write(_) | Message::Settle(_) => Work::ReplicaWrite,
                Message::WriteDone(..)
                | Message::WriteDoubted(..)
                | Message::GoPast(..)
                | Message::Unwritten(..)
                | Message::WriteMissed(..)
                | Message::Settled(_) => Work::ReplicaAck,
                Message::Push(_) | Message::PushHistory(..) => Work::Push,
                Message::PushReply(_)
                | Message::HistoryStored(..)
                | Message::NoRoom(_)
                | Message::Left(..)
                | Message::Unreadable(_)
                | Message::Mend(
                    _,
                    MendStep::Bad(_) | MendStep::Held(..) | MendStep::Given(..) | MendStep::End(_),
                ) => Work::PushReply,
                Message::Pull(_)
                | Message::WhatIsLeft(_)
                | Message::Mend(_, MendStep::Begin | MendStep::Wanted(_)) => Work::Pull,
                Message::Scan(_) | Message::ScanReply(_) => Work::BackfillScan,
                Message::Scrub(_) => Work::ScrubMessage,
                Message::PushAsked(_)
                | Message::PushAllowed
                | Message::Reserve(..)
                | Message::ReserveGranted
                | Message::ReserveRevoked
                | Message::ReserveTooFull
                | Message::ReserveReleased => Work::PeeringEvent,
            },
        }
    }

    /// The client's op that this is part of, if its stages are traced.
    #[inline]
    pub(crate) fn traced_op(&self) -> Option<OpId> {
        let Item::Message(envelope) = self else { return None };
        match &envelope.message {
            Message::Op(op) => op.traced.then_some(op.id),
            Message::Write(write) => write.traced.then_some(write.op),
            _ => None,
        }
    }

    /// Payload that the item carries.
    #[inline]
    pub fn payload(&self) -> Bytes {
        let envelope = match self {
            Item::Message(envelope) => envelope,
            Item::StoreIo(_, bytes) | Item::Part { bytes, .. } => {
                return Bytes::new(u64::from(*bytes));
            }
            Item::Put(put) => return put.payload(),
            Item::Scrub(item) => return Bytes::new(u64::from(item.bytes)),
            Item::Recovery(..) | Item::Delete(..) | Item::Trim(_) => return Bytes::ZERO,
        };
        match &envelope.message {
            Message::Op(op) if op.kind.is_update() => Bytes::new(u64::from(op.charged_bytes())),
            Message::Write(write) => Bytes::new(u64::from(write.charged_bytes())),
            Message::Push(push) => push.length(),
            Message::PushHistory(_, step) => step.length(),
            Message::Mend(_, MendStep::Held(range, _) | MendStep::Given(range, _)) => {
                Bytes::new(range.length)
            }
            _ => Bytes::ZERO,
        }
    }

    /// What a worker has to do with it.
    #[inline]
    pub(crate) fn size(&self) -> ItemSize {
        let goes_on = matches!(self, Item::Part { .. } | Item::StoreIo(..));
        let payload = if goes_on { Bytes::ZERO } else { self.payload() };
        ItemSize { work: self.work(), payload, goes_on }
    }

    /// What of an image it is, where that may be a tenant.
    #[inline]
    pub(crate) fn tenant(&self) -> Option<TenantItem> {
        let Item::Message(envelope) = self else { return None };
        match &envelope.message {
            Message::Op(op) => Some(TenantItem::Op {
                image: op.image(),
                given: op.given,
                bytes: op.charged_bytes(),
            }),
            Message::Write(write) => Some(TenantItem::Copy { image: image_of(write.object) }),
            _ => None,
        }
    }

    /// Whose work it is: local work 0, then the OSDs, then the clients (qos.md 1.2, owner numbers). Where replica writes are strict, as
    /// in the original, an OSD's owner number is its own, so that what osd.0 sends is one's with local work.
    ///
    /// A strict replica write is its primary's. One that is charged as client work is its client's: a client's op has to wait here for both,
    /// and waits for neither longer if they have one line.
    #[inline]
    pub(crate) fn owner(&self, replica_writes: ReplicaWrites) -> u32 {
        match self {
            Item::Message(envelope) => match (&envelope.message, replica_writes) {
                (Message::Op(op), _) => owner_of_client(op.client),
                (Message::Write(write), ReplicaWrites::AsClientWork) => {
                    owner_of_client(write.client)
                }
                (Message::Settle(_), ReplicaWrites::AsClientWork) => LOCAL,
                (_, ReplicaWrites::Strict) => envelope.from.map_or(LOCAL, OsdId::get),
                (_, ReplicaWrites::AsClientWork) => envelope.from.map_or(LOCAL, owner_of_osd),
            },
            Item::Put(put) => owner_of_client(put.client),
            _ => LOCAL,
        }
    }
}

/// The owner of what no client and no other OSD has asked for.
const LOCAL: u32 = 0;

fn owner_of_osd(osd: OsdId) -> u32 {
    1 + osd.get()
}

fn owner_of_client(client: ClientId) -> u32 {
    1 + OsdSet::OSDS_MAX + client.get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Before, ClientOp, Data, OpKind, Push, ReplicaWrite, WriteTag};
    use crate::snapshots::SnapshotNo;
    use loadline_qos::Urgency;
    use loadline_store::{ObjectNo, Version};

    const PG: PgId = PgId::new(0);

    fn message(message: Message) -> Item {
        let (from, to, urgency) = (None, OsdId::new(0), Urgency::default());
        let envelope =
            Envelope { from, to, pg: PG, interval: 1, urgency, message, data: Data::NONE };
        Item::Message(Box::new(envelope))
    }

    /// A copy was charged the whole range of zeros, of which nothing travels, and their primary one op.
    #[test]
    fn a_copy_is_charged_what_its_primary_is() {
        const LENGTH: u32 = 4 << 20;
        let id = crate::ids::OpId { slot: SlotId::new(1), number: 1 };
        for (kind, carried) in [
            (OpKind::Write, LENGTH),
            (OpKind::Zero, 0),
            (OpKind::Remove, 0),
            (OpKind::Purge, 0),
            (OpKind::Trim(SnapshotNo(1)), 0),
        ] {
            let (client, background, length) = (ClientId::new(1), false, LENGTH);
            let nobodys = ClientOp::of_nobody(PG, ObjectNo(1), kind);
            let op = ClientOp { id, client, background, length, ..nobodys };
            let tag = WriteTag { slot: SlotId::new(1), sequence: 1 };
            let write = ReplicaWrite::of(&op, tag, Before::Nothing, Version(1));
            let carried = Bytes::new(u64::from(carried));
            assert_eq!(message(Message::Op(op)).payload(), carried, "{kind:?}");
            assert_eq!(message(Message::Write(write)).payload(), carried, "{kind:?} of a copy");
        }
    }

    /// Trims, deletions and scrubs went past the pace: on real disks they had the processor to themselves, and a p99 of 1.06 ms came to 5.08.
    #[test]
    fn all_background_work_is_paced_but_what_others_wait_for() {
        const CHARGE: u32 = 7000;
        const OBJECT: u64 = 4 << 20;
        let check = |item: Item, wanted| assert_eq!(item.paced(CHARGE, OBJECT), wanted, "{item:?}");
        let charged = Some((PacedStage::New, u64::from(CHARGE)));
        check(Item::Delete(PG, 30), charged);
        check(
            Item::Trim(TrimItem { pg: PG, number: 1, objects: 2, object_bytes: OBJECT }),
            charged,
        );
        for step in [ScrubStep::Choose, ScrubStep::List, ScrubStep::Scan, ScrubStep::Compare] {
            let item = ScrubItem::plain(PG, 1, step);
            check(Item::Scrub(ScrubItem { may_wait: true, ..item }), charged);
            check(Item::Scrub(item), None);
        }
        check(Item::Recovery(PG, 2), Some((PacedStage::New, 2 * OBJECT)));
        check(message(Message::PushAsked(9)), Some((PacedStage::New, 9)));
        let push = Push { object: ObjectNo(1), meta: None, base: None, bytes: 0, pulled: false };
        check(message(Message::Push(push)), Some((PacedStage::Pushed, 0)));
        let (transfer, class) = (SlotId::new(1), ServiceClass::Recovery);
        let part = Item::Part { transfer, bytes: 9, class, work: Work::Push };
        check(part, Some((PacedStage::Part, 0)));
        check(Item::StoreIo(SlotId::new(1), 9), None);
    }
}
