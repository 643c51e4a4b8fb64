//! Which flow is which client's: looked up when a flow is opened or closed, never on the hot path.

use crate::{ClassId, ClientKey, FlowId};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The open flows by class and client.
#[derive(Clone, Debug, Default)]
pub(super) struct Directory {
    by_client: BTreeMap<(ClassId, ClientKey), FlowId>,
}

impl Directory {
    pub(super) fn find(&self, class: ClassId, client: ClientKey) -> Option<FlowId> {
        self.by_client.get(&(class, client)).copied()
    }

    pub(super) fn insert(&mut self, class: ClassId, client: ClientKey, flow: FlowId) {
        self.by_client.insert((class, client), flow);
    }

    pub(super) fn remove(&mut self, class: ClassId, client: ClientKey) {
        self.by_client.remove(&(class, client));
    }

    /// The flows of a class.
    pub(super) fn of_class(&self, class: ClassId) -> Vec<FlowId> {
        let all = (class, ClientKey(0))..=(class, ClientKey(u64::MAX));
        self.by_client.range(all).map(|(_, flow)| *flow).collect()
    }
}
