//! Client routing: image or object to placement group to primary, and again when the map changes.

use crate::map::{Map, PoolId};
use loadline_base::{SlotId, Slots, Time};
use loadline_osd::{ClientId, ClientOp, Data, Envelope, Message, OpId, OpKind, PgId};
use loadline_qos::Urgency;
use loadline_store::ObjectNo;

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Who asks.
    pub client: ClientId,
    /// Read or write.
    pub kind: OpKind,
    /// Whether the op's stages go to the trace.
    pub traced: bool,
    /// Whether the client wants only what others leave.
    pub background: bool,
    /// The pool.
    pub pool: PoolId,
    /// The object inside the pool.
    pub object: ObjectNo,
    /// First byte inside the object.
    pub offset: u32,
    /// How many bytes.
    pub length: u32,
}

/// An op on its way, as the router remembers it until its reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuedOp {
    /// The op as it was sent.
    pub op: ClientOp,
    /// What it writes.
    pub data: Data,
    /// When the client issued it.
    pub issued: Time,
}

/// The ops that have no reply yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Router {
    ops: Slots<IssuedOp>,
    issued: u32,
}

impl Router {
    /// Numbers a new op.
    pub(crate) fn open(&mut self, now: Time, map: &Map, target: &Target, data: Data) -> OpId {
        let pg = map.pg_of(target.pool, target.object);
        let Target { client, kind, traced, background, object, offset, length, .. } = *target;
        self.issued = self.issued.wrapping_add(1);
        let id = OpId { slot: SlotId::new(0), number: self.issued };
        let resent = false;
        let op =
            ClientOp { id, client, kind, traced, background, resent, pg, object, offset, length };
        let slot = self.ops.acquire(IssuedOp { op, data, issued: now });
        let op = &mut self.ops.at_mut(slot).op;
        op.id.slot = slot;
        op.id
    }

    /// The message that carries an op to its present primary; `None` if nobody serves it now. When its placement
    /// group begins its next interval, it is due again.
    pub(crate) fn route(&mut self, map: &Map, id: OpId) -> Option<Envelope> {
        let issued = self.ops.at_mut(id.slot);
        let op = issued.op;
        let state = map.pg(op.pg);
        let to = state.acting.first().copied().filter(|_| state.ready)?;
        issued.op.resent = true;
        let data = issued.data.clone();
        let (pg, interval, urgency) = (op.pg, state.interval, Urgency::default());
        let message = Message::Op(op);
        Some(Envelope { from: None, to, pg, interval, urgency, message, data })
    }

    /// An op without a reply.
    pub(crate) fn issued(&self, id: OpId) -> &IssuedOp {
        self.ops.at(id.slot)
    }

    /// The op of this number in this slot, if it is still there.
    pub(crate) fn op(&self, number: u32, slot: u32) -> Option<OpId> {
        let slot = SlotId::new(slot);
        self.ops.get(slot).map(|issued| issued.op.id).filter(|id| id.number == number)
    }

    /// Ends an op; `None` if it has ended already.
    pub(crate) fn close(&mut self, id: OpId) -> Option<IssuedOp> {
        self.ops.get(id.slot).filter(|issued| issued.op.id == id)?;
        Some(self.ops.release(id.slot))
    }

    /// The ops of a placement group that have no reply yet, in the order of issue.
    pub(crate) fn open_ops(&self, pg: PgId) -> Vec<OpId> {
        let of_pg = self.ops.iter().filter(|(_, issued)| issued.op.pg == pg);
        let mut ids: Vec<OpId> = of_pg.map(|(_, issued)| issued.op.id).collect();
        ids.sort_by_key(|id| self.place(*id));
        ids
    }

    /// All ops that have no reply yet, in the order of issue.
    pub(crate) fn all_open_ops(&self) -> Vec<&IssuedOp> {
        let mut ops: Vec<&IssuedOp> = self.ops.iter().map(|(_, issued)| issued).collect();
        ops.sort_by_key(|issued| self.place(issued.op.id));
        ops
    }

    /// Sorts ops by age, because their numbers may have wrapped around.
    fn place(&self, id: OpId) -> std::cmp::Reverse<u32> {
        std::cmp::Reverse(self.issued.wrapping_sub(id.number))
    }
}
