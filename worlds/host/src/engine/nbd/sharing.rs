//! How NBD connections share memory, and which of them end because their clients let nothing move.

use super::RECEIVE_IDLE;
use crate::ConnId;
use crate::engine::Engine;
use crate::engine::budget::{CONNECTION, ConnectionCharge, STALL};
use crate::engine::doors::Complaint;
use loadline_wire::nbd::OPTION_MAX;

/// What TLS takes beside what it says that it holds: keys, the client's certificates, and the handshake's words until they are summed up.
const TLS: u64 = 16 << 10;

impl Engine {
    /// How much more the requests of a connection may take of what all share.
    pub(super) fn nbd_room(&self, conn: ConnId) -> u64 {
        self.memory.room(conn, self.host.requests_part())
    }

    /// Tells a session how much its next requests may take.
    pub(super) fn nbd_give_room(&mut self, conn: ConnId) {
        let room = self.nbd_room(conn);
        let Some(connection) = self.nbd.connections.get_mut(&conn) else { return };
        connection.session.set_room(room, &mut connection.out);
    }

    /// Charges a connection for what it holds now.
    pub(super) fn nbd_charge(&mut self, conn: ConnId) {
        let Some(connection) = self.nbd.connections.get_mut(&conn) else { return };
        let unread = (connection.asked + connection.unread.len()) as u64;
        let buffers = unread + connection.channel.held();
        let buffers = buffers.saturating_sub(RECEIVE_IDLE as u64);
        let option = if connection.session.is_negotiating() { OPTION_MAX as u64 } else { 0 };
        let tls = if connection.channel.is_tls() { TLS } else { 0 };
        let (states, requests) = (CONNECTION + option + tls, connection.session.held());
        self.memory.charge(conn, ConnectionCharge { states, buffers, requests });
        self.memory.set_short(conn, connection.session.lacks_room());
        if connection.session.waits_for_room() && !connection.is_waiting {
            connection.is_waiting = true;
            self.memory.wait(conn, self.host.now);
        }
    }

    /// Gives a connection that waits for memory what there is; whether it waits no longer.
    pub(in crate::engine) fn nbd_goes_on(&mut self, conn: ConnId) -> bool {
        self.nbd_give_room(conn);
        let Some(connection) = self.nbd.connections.get_mut(&conn) else { return true };
        if connection.session.waits_for_room() {
            return false;
        }
        connection.is_waiting = false;
        self.nbd_read_on(conn);
        true
    }

    /// Ends connections whose clients chose no export in time, were silent for longer than is allowed, or let nothing move while
    /// others wait for the memory that they hold.
    pub(in crate::engine) fn nbd_end_idle(&mut self) {
        let (limits, now) = (self.host.config.doors, self.host.now);
        let mut ends = Vec::new();
        for (conn, connection) in &self.nbd.connections {
            let still = now.since(connection.moved);
            let is_quiet = connection.session.held() == 0 && connection.session.in_flight() == 0;
            if self.doors.awaits_handshake(*conn) {
                // It waits for its turn, and not we for it.
                continue;
            }
            if connection.session.is_negotiating()
                && now.since(connection.came) >= limits.negotiation
            {
                ends.push((*conn, Complaint::NoChoice, limits.negotiation));
            } else if is_quiet && limits.idle.is_some_and(|idle| still >= idle) {
                ends.push((*conn, Complaint::Idle, still));
            } else if still >= STALL
                && connection.session.awaits_client()
                && self.memory.others_are_short(*conn)
            {
                ends.push((*conn, Complaint::Stalled, still));
            } else if let Some((complaint, span)) = self.nbd_holds_others_up(*conn, still) {
                ends.push((*conn, complaint, span));
            }
        }
        for (conn, complaint, span) in ends {
            self.host.world.close(conn);
            let seconds = span.as_secs_f64();
            self.doors.complain(now, complaint, || match complaint {
                Complaint::NoChoice => format!("an NBD client chose no export within {seconds:.0} s"),
                Complaint::Idle => format!("an NBD connection was silent for {seconds:.0} s and is ended"),
                Complaint::Unheard => format!(
                    "an NBD client that had closed its end took no answers for {seconds:.0} s, while others waited for what it had \
                     still asked for: its connection is ended"
                ),
                Complaint::HeardForLong => format!(
                    "an NBD client that had closed its end was not answered all within {seconds:.0} s, while others waited for \
                     that: its connection is ended"
                ),
                _ => format!(
                    "an NBD client took and sent nothing for {seconds:.0} s, while others waited for the memory of its requests: its \
                     connection is ended"
                ),
            });
        }
    }
}
