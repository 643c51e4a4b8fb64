//! A rack that its loop and the owner's hold in turns.

use super::rack_disks::RackDisks;
use loadline_node::Rack;
use std::sync::{Mutex, MutexGuard};

/// A rack with its disks' requests.
pub(super) struct RackOnLoop {
    pub rack: Rack,
    pub disks: RackDisks,
    /// Whether the system has refused the loop a real-time priority word, and a duration limit.
    pub refused: (bool, bool),
}

/// A rack that its loop and the owner's hold in turns.
pub(super) struct SharedRack {
    /// Whoever comes next holds this while it waits, so that a loop that turns without a rest lets a look in between two turns.
    next: Mutex<()>,
    held: Mutex<RackOnLoop>,
}

impl SharedRack {
    pub(super) fn new(rack: Rack) -> SharedRack {
        let disks = RackDisks::default();
        let held = RackOnLoop { rack, disks, refused: (false, false) };
        SharedRack { next: Mutex::new(()), held: Mutex::new(held) }
    }

    /// Holds it. A loop that has died takes the node with it.
    pub(super) fn hold(&self) -> MutexGuard<'_, RackOnLoop> {
        let _next = self.next.lock().expect("no loop has died");
        self.held.lock().expect("no loop has died")
    }
}
