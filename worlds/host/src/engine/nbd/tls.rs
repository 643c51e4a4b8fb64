//! Connections that go through TLS: how it begins, what comes and goes through it, and how it comes to nothing.

use super::Engine;
use crate::engine::doors::Complaint;
use crate::engine::host_node::Alarm;
use crate::{ConnId, ListenerId, NextHandshake};
use loadline_tls::TlsFault;

impl Engine {
    /// Whoever comes in there has to begin with TLS.
    pub(in crate::engine) fn nbd_needs_tls_at(&mut self, listener: ListenerId) {
        self.nbd.behind_tls.insert(listener);
    }

    /// The client was told to begin with TLS: it waits for the turn of its handshake.
    pub(super) fn nbd_wait_for_tls(&mut self, conn: ConnId) {
        // What it was told goes before, as it is.
        if self.nbd_send_sealed(conn) {
            self.doors.ask_handshake(conn);
        }
    }

    /// Begins the handshakes whose turn has come, and sees to it that those which are early are looked at in time.
    pub(super) fn nbd_begin_handshakes(&mut self) {
        let now = self.host.now;
        while !self.is_stopping() {
            match self.doors.next_handshake(now) {
                NextHandshake::Begins(conn) => self.nbd_begin_tls(conn),
                NextHandshake::NotBefore(at) => {
                    if self.nbd.handshakes_at.is_none_or(|set| at < set || set <= now) {
                        self.nbd.handshakes_at = Some(at);
                        self.host.alarms.push(at, Alarm::Again);
                    }
                    return;
                }
                NextHandshake::None => return,
            }
        }
    }

    /// What the client has sent behind its wish for TLS is the beginning.
    fn nbd_begin_tls(&mut self, conn: ConnId) {
        let now = self.host.now;
        let Some(connection) = self.nbd.connections.get_mut(&conn) else { return };
        // It has as long as others from here on: it has waited for us.
        (connection.came, connection.moved) = (now, now);
        let server = self.host.config.nbd.tls.as_ref().expect("who has to begin with TLS can");
        connection.channel.begin(server);
        let begun = std::mem::take(&mut connection.unread);
        self.nbd_unseal(conn, &begun);
    }

    /// Takes what came through TLS, or makes it stand.
    pub(super) fn nbd_unseal(&mut self, conn: ConnId, bytes: &[u8]) {
        let Some(connection) = self.nbd.connections.get_mut(&conn) else { return };
        let mut out = Vec::new();
        let unsealed = connection.channel.unseal(bytes, &mut out);
        self.host.world.send(conn, out);
        self.nbd.touched.push(conn);
        let plain = match unsealed {
            Ok(plain) => plain,
            Err(fault) => return self.nbd_failed(conn, &fault),
        };
        if connection.session.is_securing() && connection.channel.is_open() {
            connection.session.secured();
            self.doors.end_handshake(conn);
            let name = connection.channel.client().and_then(|client| client.first());
            tracing::debug!(?conn, ?name, "an NBD client is known by TLS");
        }
        let has_ended = connection.channel.has_ended();
        if !plain.is_empty() {
            self.nbd_take(conn, &plain);
        }
        if has_ended {
            self.nbd_ended(conn);
        }
    }

    /// Sends what a session has queued through what lies between it and the socket. Answers whether that goes on.
    pub(super) fn nbd_send_sealed(&mut self, conn: ConnId) -> bool {
        let Some(connection) = self.nbd.connections.get_mut(&conn) else { return false };
        match connection.channel.seal(std::mem::take(&mut connection.out.send)) {
            Ok(buffers) => {
                buffers.into_iter().for_each(|buffer| self.host.world.send(conn, buffer));
                true
            }
            Err(fault) => {
                self.nbd_failed(conn, &fault);
                false
            }
        }
    }

    /// Closes when everything is sent, the word among it that nothing more comes.
    pub(super) fn nbd_close_when_sent(&mut self, conn: ConnId) {
        if let Some(connection) = self.nbd.connections.get_mut(&conn) {
            connection.closing = true;
            self.host.world.send(conn, connection.channel.close());
        }
        self.host.world.close_when_sent(conn);
    }

    /// TLS has come to nothing: the client hears why and no more, and what it asked for goes no further.
    fn nbd_failed(&mut self, conn: ConnId, fault: &TlsFault) {
        let Some(connection) = self.nbd.connections.get_mut(&conn) else { return };
        connection.closing = true;
        self.doors.end_handshake(conn);
        let peer = self.doors.peer(conn);
        self.doors.complain(self.host.now, Complaint::Tls, || {
            format!("TLS with the NBD client at {peer} has come to nothing: {fault}")
        });
        self.give_up(conn);
        self.host.world.close_when_sent(conn);
    }
}
