//! Client routing: image or object to placement group to primary, and again when the map changes.

use crate::map::Map;
use crate::pool::PoolId;
use crate::sent::SentBytes;
use loadline_base::{Bytes, SlotId, Slots, Time};
use loadline_osd::{
    Aside, AsideFor, ClientId, ClientOp, Data, Envelope, GivenOps, Message, OpId, OpKind, OsdId,
    OsdSet, PgId, TenantTable, TenantTerms,
};
use loadline_qos::Urgency;
use loadline_store::ObjectNo;
use std::collections::{BTreeMap, BTreeSet};

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

/// What an op takes of a disk beside its data: the pages at both of its ends, and of the tree.
const AROUND_A_WRITE: u64 = 16 << 10;

/// What an op may take on each disk at most. Zeros give pages back, but those at both ends, and what a snapshot goes on showing.
pub(crate) fn room_for(op: &ClientOp) -> u64 {
    match op.kind {
        OpKind::Write => u64::from(op.length) + AROUND_A_WRITE,
        OpKind::Zero => AROUND_A_WRITE,
        _ => 0,
    }
}

/// An op without a reply.
#[derive(Clone, Debug)]
struct OpenOp {
    issued: IssuedOp,
    /// Whether an OSD may have it: it was sent, and has not been put aside since.
    is_on_its_way: bool,
}

/// The ops that have no reply yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Router {
    ops: Slots<OpenOp>,
    issued: u32,
    /// What those of them that are on their way may take of each disk.
    sent: SentBytes,
    /// What images with a reservation or a limit were given.
    given: BTreeMap<u32, GivenOps>,
}

impl Router {
    /// Numbers a new op.
    pub(crate) fn open(&mut self, now: Time, map: &Map, target: &Target, data: Data) -> OpId {
        let pg = map.pg_of(target.pool, target.object);
        let Target { client, kind, traced, background, object, offset, length, .. } = *target;
        self.issued = self.issued.wrapping_add(1);
        let id = OpId { slot: SlotId::new(0), number: self.issued };
        let (resent, given) = (false, GivenOps::default());
        let op = ClientOp {
            id,
            client,
            kind,
            traced,
            background,
            resent,
            aside: Aside::NONE,
            pg,
            object,
            offset,
            length,
            given,
        };
        let issued = IssuedOp { op, data, issued: now };
        let slot = self.ops.acquire(OpenOp { issued, is_on_its_way: false });
        let op = &mut self.ops.at_mut(slot).issued.op;
        op.id.slot = slot;
        op.id
    }

    /// The message that carries an op to its present primary; `None` if nobody serves it now. When its placement
    /// group begins its next interval, it is due again.
    pub(crate) fn route(&mut self, map: &Map, id: OpId) -> Option<Box<Envelope>> {
        let OpenOp { issued, is_on_its_way } = self.ops.at_mut(id.slot);
        let state = map.pg(issued.op.pg);
        let to = state.serving();
        if issued.op.resent {
            issued.op.aside.add(AsideFor::Interval);
        }
        if to.is_none() {
            issued.op.aside.add(AsideFor::Serving);
        }
        let mut op = issued.op;
        issued.op.resent |= to.is_some();
        // One that was sent once may be with an OSD that takes part, whether or not somebody serves the group now.
        let bytes = room_for(&op);
        if issued.op.resent && bytes > 0 && !std::mem::replace(is_on_its_way, true) {
            self.sent.send(op.pg, state.members(), bytes);
        }
        let to = to?;
        if let Some(given) = self.given.get(&op.image()) {
            op.given = *given;
        }
        let data = issued.data.clone();
        let (pg, interval, urgency) = (op.pg, state.interval, Urgency::default());
        let message = Message::Op(op);
        let from = None;
        Some(Box::new(Envelope { from, to, pg, interval, urgency, message, data }))
    }

    /// An op waits here for this before it is sent.
    pub(crate) fn put_aside(&mut self, id: OpId, reason: AsideFor) {
        self.ops.at_mut(id.slot).issued.op.aside.add(reason);
    }

    /// An op is as if it had never been sent, as far as room goes, until it is routed.
    pub(crate) fn call_back(&mut self, id: OpId) {
        let OpenOp { issued, is_on_its_way } = self.ops.at_mut(id.slot);
        if std::mem::take(is_on_its_way) {
            self.sent.end(issued.op.pg, room_for(&issued.op));
        }
    }

    /// These OSDs take part in a placement group from now on.
    pub(crate) fn change_members(&mut self, pg: PgId, members: OsdSet) {
        self.sent.change_members(pg, members);
    }

    /// An op without a reply.
    pub(crate) fn issued(&self, id: OpId) -> &IssuedOp {
        &self.ops.at(id.slot).issued
    }

    /// What ops that are on their way may take of an OSD's disk.
    pub(crate) fn sent_bytes(&self, osd: OsdId) -> Bytes {
        self.sent.on(osd)
    }

    /// Ends an op; `None` if it has ended already.
    pub(crate) fn close(&mut self, id: OpId) -> Option<IssuedOp> {
        self.ops.get(id.slot).filter(|open| open.issued.op.id == id)?;
        self.call_back(id);
        let OpenOp { issued, .. } = self.ops.release(id.slot);
        if issued.op.is_clients()
            && let Some(given) = self.given.get_mut(&issued.op.image())
        {
            given.add(issued.op.charged_bytes());
        }
        Some(issued)
    }

    /// What these images are given is counted from now on, and told with their ops.
    pub(crate) fn count(&mut self, tenants: &TenantTable) {
        self.given.retain(|image, _| tenants.images.get(image).is_some_and(TenantTerms::is_bound));
        for (image, _) in tenants.images.iter().filter(|(_, terms)| terms.is_bound()) {
            self.given.entry(*image).or_default();
        }
    }

    /// The ops of a placement group that have no reply yet, in the order of issue.
    pub(crate) fn open_ops(&self, pg: PgId) -> Vec<OpId> {
        let of_pg = self.ops.iter().map(|(_, open)| &open.issued.op).filter(|op| op.pg == pg);
        self.in_order(of_pg.map(|op| op.id).collect())
    }

    /// The writes and zeros that have no reply yet, in no order that matters.
    pub(crate) fn open_changes(&self) -> impl Iterator<Item = &ClientOp> {
        self.changes().map(|open| &open.issued.op)
    }

    /// Those of them that no OSD has: they wait here for room, or for somebody who serves their placement group.
    pub(crate) fn changes_that_wait(&self) -> impl Iterator<Item = &ClientOp> {
        self.changes().filter(|open| !open.is_on_its_way).map(|open| &open.issued.op)
    }

    fn changes(&self) -> impl Iterator<Item = &OpenOp> {
        let is_change =
            |open: &&OpenOp| matches!(open.issued.op.kind, OpKind::Write | OpKind::Zero);
        self.ops.iter().map(|(_, open)| open).filter(is_change)
    }

    /// The placement groups of which an OSD may have answered an update that nobody has heard of.
    pub(crate) fn updates_on_their_way(&self) -> BTreeSet<PgId> {
        let sent = self.ops.iter().map(|(_, open)| &open.issued.op).filter(|op| op.resent);
        sent.filter(|op| op.kind.is_update()).map(|op| op.pg).collect()
    }

    /// Ops in the order of issue.
    pub(crate) fn in_order(&self, mut ids: Vec<OpId>) -> Vec<OpId> {
        ids.sort_by_key(|id| self.place(*id));
        ids
    }

    /// All ops that have no reply yet, in the order of issue.
    pub(crate) fn all_open_ops(&self) -> Vec<&IssuedOp> {
        let mut ops: Vec<&IssuedOp> = self.ops.iter().map(|(_, open)| &open.issued).collect();
        ops.sort_by_key(|issued| self.place(issued.op.id));
        ops
    }

    /// Sorts ops by age, because their numbers may have wrapped around.
    fn place(&self, id: OpId) -> std::cmp::Reverse<u32> {
        std::cmp::Reverse(self.issued.wrapping_sub(id.number))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::pool::PoolSpec;
    use loadline_osd::OsdId;

    /// Reads an object of the first pool.
    pub(crate) const READ: Target = Target {
        client: ClientId::new(0),
        kind: OpKind::Read,
        traced: false,
        background: false,
        pool: PoolId::new(0),
        object: ObjectNo(1),
        offset: 0,
        length: 4096,
    };

    /// A pool of one placement group with one copy.
    pub(crate) fn spec() -> PoolSpec {
        let name = "pool".to_owned();
        PoolSpec { name, pgs: 1, copies: 1, object_bytes: 1 << 20, recovery_priority: 0 }
    }

    fn map() -> Map {
        let mut map = Map::new(1, 1);
        map.add_pool(spec());
        let state = map.pg_mut(PgId::new(0));
        (state.acting, state.ready) = (vec![OsdId::new(0)], true);
        map
    }

    fn open(router: &mut Router) -> OpId {
        router.open(Time::ZERO, &map(), &READ, Data::NONE)
    }

    #[test]
    fn an_answer_to_an_earlier_op_of_a_slot_ends_nothing() {
        let mut router = Router::default();
        let first = open(&mut router);
        assert!(router.close(first).is_some());
        assert_eq!(router.close(first), None, "its second answer");
        let second = open(&mut router);
        assert_eq!(second.slot, first.slot);
        assert_eq!(router.close(first), None, "an answer that comes late");
        assert!(router.close(second).is_some());
    }

    #[test]
    fn only_what_was_sent_before_counts_as_sent_again() {
        let (mut router, mut map) = (Router::default(), map());
        let id = open(&mut router);
        let mut sent = |map: &Map| match router.route(map, id)?.message {
            Message::Op(op) => Some((op.resent, op.aside.to_string())),
            other => panic!("an op was to be sent, not {other:?}"),
        };
        map.pg_mut(PgId::new(0)).ready = false;
        assert_eq!(sent(&map), None, "nobody serves it");
        map.pg_mut(PgId::new(0)).ready = true;
        assert_eq!(sent(&map), Some((false, "an OSD that serves its PG".to_owned())));
        let both = "an OSD that serves its PG and the next interval of its PG";
        assert_eq!(sent(&map), Some((true, both.to_owned())));
    }

    #[test]
    fn the_order_of_issue_outlives_the_last_number() {
        let mut router = Router { issued: u32::MAX - 1, ..Router::default() };
        let ids: Vec<OpId> = (0..3).map(|_| open(&mut router)).collect();
        assert_eq!(ids.iter().map(|id| id.number).collect::<Vec<_>>(), [u32::MAX, 0, 1]);
        assert_eq!(router.in_order(vec![ids[2], ids[0], ids[1]]), ids);
        assert_eq!(router.open_ops(PgId::new(0)), ids);
    }
}
