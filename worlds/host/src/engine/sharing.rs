//! Whose turn it is, of the connections that wait for memory.

use super::Engine;
use super::doors::Speaks;
use crate::Peer;
use std::collections::BTreeMap;

impl Engine {
    /// Looks whether some of those that wait for memory can go on, if some was given back or a second has passed. Whose peer
    /// holds least goes first, so that a crowd of one peer holds up nobody but itself.
    pub(super) fn give_memory(&mut self) {
        let mut waiting = self.memory.take_waiting(self.host.now);
        if waiting.is_empty() {
            return;
        }
        let mut of_peer: BTreeMap<Peer, u64> = BTreeMap::new();
        for (conn, charged) in self.nbd.charged().chain(self.vhost.charged()) {
            *of_peer.entry(self.doors.peer(conn)).or_default() += charged.data;
        }
        waiting.sort_by_key(|(conn, since)| (of_peer.get(&self.doors.peer(*conn)), *since));
        for (conn, since) in waiting {
            self.memory.offer_express(conn, since, self.host.now);
            let goes_on = match self.doors.speaks(conn) {
                Some(Speaks::Nbd) => self.nbd_goes_on(conn),
                Some(Speaks::Vhost) => self.vhost_goes_on(conn),
                Some(Speaks::Admin | Speaks::Page) | None => true,
            };
            if !goes_on {
                self.memory.wait(conn, since);
            }
        }
    }

    /// Ends those that wait for memory and whose peer has gone: nothing is received from them meanwhile, so nobody else would notice. To be
    /// called every second or so.
    pub(super) fn end_gone(&mut self) {
        for conn in self.host.world.hung_up(&self.memory.who_waits()) {
            self.host.world.close(conn);
        }
    }
}
