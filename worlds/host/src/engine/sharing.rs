//! Whose turn it is, of the connections that wait for memory.

use super::Engine;
use super::doors::Speaks;

impl Engine {
    /// Looks whether some of those that wait for memory can go on, if some was given back or a second has passed.
    pub(super) fn give_memory(&mut self) {
        for (conn, since) in self.memory.take_waiting(self.host.now) {
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
