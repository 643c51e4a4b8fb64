//! Whose turn it is, of the connections that wait for memory.

use super::Engine;
use super::doors::Speaks;
use crate::ConnId;

impl Engine {
    /// Looks whether some of those that wait for memory can go on, if some was given back or a second has passed.
    pub(super) fn give_memory(&mut self) {
        let now = self.host.now;
        for (conn, since) in self.memory.take_waiting(now) {
            if !self.goes_on(conn) {
                self.memory.wait(conn, since);
            }
        }
    }

    /// Gives a connection that waits for memory what there is; whether it waits no longer.
    fn goes_on(&mut self, conn: ConnId) -> bool {
        match self.doors.speaks(conn) {
            Some(Speaks::Nbd) => self.nbd_goes_on(conn),
            Some(Speaks::Vhost) => self.vhost_goes_on(conn),
            Some(Speaks::Admin | Speaks::Page) | None => true,
        }
    }

    /// Ends those whose peer has gone and that wait for memory, or may have more to be read behind what is under way: nothing is received from them
    /// meanwhile, so nobody else would notice. To be called every second or so.
    pub(super) fn end_gone(&mut self) {
        let mut asked = self.memory.who_waits();
        asked.extend(self.nbd_who_has_closed());
        for conn in self.host.world.hung_up(&asked) {
            self.host.world.close(conn);
        }
    }
}
