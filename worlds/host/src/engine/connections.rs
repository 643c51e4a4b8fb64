//! Connections that come and go: who is let in, and who is ended for being silent.

use super::Engine;
use super::doors::{Complaint, Speaks, TurnedAway};
use crate::admin::Audience;
use crate::{ConnId, Disconnect, ListenerId, Peer};
use loadline_base::Span;

/// How long an admin connection may be silent with nothing under way.
const ADMIN_IDLE: Span = Span::from_secs(30);

impl Engine {
    pub(super) fn accepted(&mut self, listener: ListenerId, conn: ConnId, peer: Peer) {
        match self.doors.spoken_at(listener) {
            None => self.host.world.close(conn),
            Some(speaks) if !self.let_in(conn, speaks, peer) => {}
            Some(Speaks::Nbd) => self.nbd_accepted(listener, conn),
            Some(Speaks::Vhost) => self.vhost_accepted(listener, conn),
            Some(Speaks::Admin) => self.admin_accepted(conn, Audience::Operator),
            Some(Speaks::Page) => {
                let token = self.admin.page_token.clone();
                self.admin_accepted(conn, Audience::Page(token));
            }
        }
    }

    /// Lets a connection in, or sends it away. Answers whether it is in.
    fn let_in(&mut self, conn: ConnId, speaks: Speaks, peer: Peer) -> bool {
        let memory = self.memory.held().more_connections(self.host.states_most());
        let refused = match self.doors.enter(conn, speaks, peer, memory) {
            Ok(()) => return true,
            Err(TurnedAway::Full(_)) if speaks.is_asked() && self.end_idlest(speaks) => {
                return self.let_in(conn, speaks, peer);
            }
            Err(refused) => refused,
        };
        self.doors.refused += 1;
        self.host.world.close(conn);
        let what = match speaks {
            Speaks::Nbd => "NBD",
            Speaks::Vhost => "vhost-user",
            Speaks::Admin => "admin",
            Speaks::Page => "HTTP",
        };
        self.doors.complain(self.host.now, Complaint::Refused, || {
            format!("an {what} connection of {peer} was refused: {refused}")
        });
        false
    }

    /// Ends a connection of this kind that has nothing under way, for one that may have: the longest silent one of who has most. Answers
    /// whether there was one.
    fn end_idlest(&mut self, speaks: Speaks) -> bool {
        let mut idle = self.admin.idle_since(self.host.now, Span::ZERO);
        idle.retain(|conn| self.doors.speaks(*conn) == Some(speaks));
        // They come in order of their silence, and of equals the last counts.
        let idlest = idle.into_iter().rev().max_by_key(|conn| self.doors.of_same_peer(*conn));
        let Some(conn) = idlest else { return false };
        self.host.world.close(conn);
        self.closed(conn, Disconnect::Asked);
        true
    }

    pub(super) fn closed(&mut self, conn: ConnId, reason: Disconnect) {
        if let Disconnect::Broken(number) = reason {
            tracing::debug!(?conn, error = %std::io::Error::from_raw_os_error(number), "connection broke");
        }
        match self.doors.leave(conn) {
            Some(Speaks::Nbd) => self.nbd_closed(conn),
            Some(Speaks::Vhost) => self.vhost_closed(conn),
            Some(Speaks::Admin | Speaks::Page) => self.admin_closed(conn),
            None => {}
        }
    }

    /// Ends connections that have been silent for too long. To be called every second or so.
    pub(super) fn end_idle(&mut self) {
        self.nbd_end_idle();
        for conn in self.admin.idle_since(self.host.now, ADMIN_IDLE) {
            self.host.world.close(conn);
            let seconds = ADMIN_IDLE;
            self.doors.complain(self.host.now, Complaint::Idle, || {
                format!("an admin or HTTP connection was silent for {seconds} and is ended")
            });
        }
    }
}
