//! Client routing: image or object to placement group to primary, and again when the map changes.

use crate::map::{Map, PoolId};
use loadline_base::{Slots, Time};
use loadline_osd::{ClientId, ClientOp, Envelope, Message, OpId, OpKind, OsdId, PgId};
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssuedOp {
    /// The op as it was sent.
    pub op: ClientOp,
    /// When the client issued it.
    pub issued: Time,
    /// Where it was sent last; `None` while nobody serves its placement group.
    primary: Option<OsdId>,
}

/// The ops that have no reply yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Router {
    ops: Slots<IssuedOp>,
}

impl Router {
    /// Numbers a new op.
    pub(crate) fn open(&mut self, now: Time, map: &Map, target: &Target) -> OpId {
        let pg = map.pg_of(target.pool, target.object);
        let Target { client, kind, traced, object, offset, length, .. } = *target;
        let id = OpId::new(0);
        let op = ClientOp { id, client, kind, traced, pg, object, offset, length };
        let id = self.ops.acquire(IssuedOp { op, issued: now, primary: None });
        self.ops.at_mut(id).op.id = id;
        id
    }

    /// The message that carries an op to its present primary; `None` if nobody serves it now.
    pub(crate) fn route(&mut self, map: &Map, id: OpId) -> Option<Envelope> {
        let issued = self.ops.at_mut(id);
        let op = issued.op;
        let state = map.pg(op.pg);
        issued.primary = state.acting.first().copied();
        let interval = state.interval;
        let urgency = Urgency::default();
        let message = Message::Op(op);
        issued.primary.map(|to| Envelope { from: None, to, pg: op.pg, interval, urgency, message })
    }

    /// Ends an op; `None` if it has ended already.
    pub(crate) fn close(&mut self, id: OpId) -> Option<IssuedOp> {
        self.ops.get(id)?;
        Some(self.ops.release(id))
    }

    /// The ops that an OSD took with it when it crashed.
    pub(crate) fn lost_on(&self, osd: OsdId) -> Vec<OpId> {
        self.matching(|op| op.primary == Some(osd))
    }

    /// The ops of a placement group that nobody served.
    pub(crate) fn stranded(&self, pg: PgId) -> Vec<OpId> {
        self.matching(|op| op.primary.is_none() && op.op.pg == pg)
    }

    fn matching(&self, wanted: impl Fn(&IssuedOp) -> bool) -> Vec<OpId> {
        self.ops.iter().filter(|(_, op)| wanted(op)).map(|(id, _)| id).collect()
    }
}
