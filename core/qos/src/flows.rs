//! Flow handles of the schedulers that keep no state per flow beyond where its requests go.

use crate::{ClassId, ClientKey, FlowId, Lane};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::{Bound, RangeInclusive};
use loadline_base::IdVec;

/// One open flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    handle: FlowId,
    pub(crate) class: ClassId,
    pub(crate) client: ClientKey,
    /// Whether its class is strict whatever the priority.
    pub(crate) strict: bool,
    /// Where the scheduler keeps the requests of this client; its own business.
    pub(crate) rank: u32,
}

/// The open flows, found by handle on the hot path and by class and client when a handle is asked for.
#[derive(Clone, Debug)]
pub(crate) struct FlowTable {
    lanes: Vec<Lane>,
    flows: IdVec<FlowId, Option<Flow>>,
    closed: Vec<FlowId>,
    /// A client's flows stand side by side.
    by_client: BTreeMap<(ClientKey, ClassId), FlowId>,
}

impl FlowTable {
    pub(crate) fn new(lanes: &[Lane]) -> FlowTable {
        FlowTable {
            lanes: lanes.to_vec(),
            flows: IdVec::new(),
            closed: Vec::new(),
            by_client: BTreeMap::new(),
        }
    }

    /// The handle of an open flow.
    pub(crate) fn find(&self, class: ClassId, client: ClientKey) -> Option<FlowId> {
        self.by_client.get(&(client, class)).copied()
    }

    /// Opens a flow that is not open yet.
    ///
    /// # Panics
    /// If `class` is not in the class table.
    pub(crate) fn open(&mut self, class: ClassId, client: ClientKey, rank: u32) -> FlowId {
        let strict = match self.lanes.get(usize::from(class)) {
            Some(lane) => *lane == Lane::Strict,
            None => panic!("{class} is not in a class table of {} classes", self.lanes.len()),
        };
        let flow = self.closed.pop().unwrap_or_else(|| self.flows.push(None));
        self.flows[flow] = Some(Flow { handle: flow, class, client, strict, rank });
        self.by_client.insert((client, class), flow);
        flow
    }

    /// Closes a flow, if it is open.
    pub(crate) fn close(&mut self, flow: FlowId) -> Option<Flow> {
        self.get(flow)?;
        let closed = self.flows[flow].take()?;
        self.closed.push(flow.next_generation());
        self.by_client.remove(&(closed.client, closed.class));
        Some(closed)
    }

    #[inline]
    pub(crate) fn get(&self, flow: FlowId) -> Option<&Flow> {
        self.flows.get(flow)?.as_ref().filter(|known| known.handle == flow)
    }

    /// The flow behind the handle of a waiting request, which is open by construction.
    pub(crate) fn at(&self, flow: FlowId) -> &Flow {
        self.flows[flow].as_ref().expect("what waits has an open flow")
    }

    /// The rank of a client, if it has an open flow.
    pub(crate) fn rank(&self, client: ClientKey) -> Option<u32> {
        let (_, flow) = self.by_client.range(every_class(client)).next()?;
        Some(self.at(*flow).rank)
    }

    /// The client with the greatest number up to that of `client`, perhaps itself, and its rank.
    pub(crate) fn at_or_below(&self, client: ClientKey) -> Option<(ClientKey, u32)> {
        let (key, flow) = self.by_client.range(..=*every_class(client).end()).next_back()?;
        Some((key.0, self.at(*flow).rank))
    }

    /// The rank of the client with the smallest number above that of `client`.
    pub(crate) fn rank_above(&self, client: ClientKey) -> Option<u32> {
        let above = (Bound::Excluded(*every_class(client).end()), Bound::Unbounded);
        let (_, flow) = self.by_client.range(above).next()?;
        Some(self.at(*flow).rank)
    }

    /// Changes the rank of a client in all its flows.
    pub(crate) fn set_rank(&mut self, client: ClientKey, rank: u32) {
        for (_, flow) in self.by_client.range(every_class(client)) {
            let flow = self.flows[*flow].as_mut().expect("what is found by its client is open");
            flow.rank = rank;
        }
    }
}

/// Where a client's flows stand.
fn every_class(client: ClientKey) -> RangeInclusive<(ClientKey, ClassId)> {
    (client, ClassId::new(0))..=(client, ClassId::new(u32::MAX))
}
