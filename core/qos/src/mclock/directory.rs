//! Which flow is which client's: looked up when a flow is opened or closed, never on the hot path.

use crate::{ClassId, ClientKey, FlowId};
use std::collections::BTreeMap;

/// The open flows by class and client, and the handles that may be given out again.
#[derive(Clone, Debug, Default)]
pub(super) struct Directory {
    by_client: BTreeMap<(ClassId, ClientKey), FlowId>,
    closed: Vec<FlowId>,
}

impl Directory {
    pub(super) fn find(&self, class: ClassId, client: ClientKey) -> Option<FlowId> {
        self.by_client.get(&(class, client)).copied()
    }

    pub(super) fn insert(&mut self, class: ClassId, client: ClientKey, flow: FlowId) {
        self.by_client.insert((class, client), flow);
    }

    /// Forgets a client; its handle may be reused.
    pub(super) fn close(&mut self, class: ClassId, client: ClientKey, flow: FlowId) {
        self.by_client.remove(&(class, client));
        self.closed.push(flow);
    }

    /// The handle that was closed last.
    pub(super) fn reuse(&mut self) -> Option<FlowId> {
        self.closed.pop()
    }
}
