//! Flow handles of the schedulers that keep no state per flow beyond where its requests go.

use crate::{ClassId, ClientKey, FlowId, Lane};
use loadline_base::IdVec;
use std::collections::BTreeMap;

/// One open flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
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
    by_client: BTreeMap<(ClassId, ClientKey), FlowId>,
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
        self.by_client.get(&(class, client)).copied()
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
        let opened = Some(Flow { class, client, strict, rank });
        let flow = match self.closed.pop() {
            Some(flow) => {
                self.flows[flow] = opened;
                flow
            }
            None => self.flows.push(opened),
        };
        self.by_client.insert((class, client), flow);
        flow
    }

    /// Closes a flow, if it is open.
    pub(crate) fn close(&mut self, flow: FlowId) -> Option<Flow> {
        self.get(flow)?;
        let closed = self.flows[flow].take()?;
        self.closed.push(flow);
        self.by_client.remove(&(closed.class, closed.client));
        Some(closed)
    }

    pub(crate) fn get(&self, flow: FlowId) -> Option<&Flow> {
        self.flows.get(flow)?.as_ref()
    }

    /// The flow behind the handle of a waiting request, which is open by construction.
    pub(crate) fn at(&self, flow: FlowId) -> &Flow {
        self.flows[flow].as_ref().expect("what waits has an open flow")
    }

    /// Changes the rank of every open flow.
    pub(crate) fn rerank(&mut self, change: impl Fn(u32) -> u32) {
        for flow in self.flows.iter_mut().filter_map(|(_, flow)| flow.as_mut()) {
            flow.rank = change(flow.rank);
        }
    }
}
