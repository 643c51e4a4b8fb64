//! Admin connections: requests in, commands carried out, answers out. An answer to a change waits until the change is
//! durable.

mod execute;

use super::Engine;
use crate::ConnId;
use crate::admin::api::{Answer, Command, Refusal};
use crate::admin::{Outbox, RequestId, Session};
use std::collections::BTreeMap;

/// Bytes asked of a connection at a time.
const RECEIVE: usize = 64 << 10;

/// What is to happen before a command is answered.
#[derive(Debug)]
pub(super) enum Outcome {
    /// Nothing.
    Now(Result<Answer, Refusal>),
    /// The map as it is now must be committed.
    WhenKept(Answer),
}

#[derive(Default)]
struct Connection {
    session: Session,
    out: Outbox,
    closing: bool,
}

/// An answer that waits.
#[derive(Debug)]
struct Waiting {
    conn: ConnId,
    request: RequestId,
    answer: Answer,
}

/// All connections.
#[derive(Default)]
pub(super) struct AdminConnections {
    connections: BTreeMap<ConnId, Connection>,
    waiting: Vec<Waiting>,
}

impl Engine {
    pub(super) fn admin_accepted(&mut self, conn: ConnId) {
        self.admin.connections.insert(conn, Connection::default());
        self.world.want(conn, RECEIVE);
    }

    pub(super) fn admin_received(&mut self, conn: ConnId, bytes: &[u8]) {
        let Some(connection) = self.admin.connections.get_mut(&conn) else { return };
        connection.session.receive(bytes, &mut connection.out);
        self.admin_go_on(conn);
    }

    fn admin_go_on(&mut self, conn: ConnId) {
        let Some(connection) = self.admin.connections.get_mut(&conn) else { return };
        for (request, command) in std::mem::take(&mut connection.out.commands) {
            self.admin_command(conn, request, command);
        }
        self.admin_flush(conn);
    }

    fn admin_command(&mut self, conn: ConnId, request: RequestId, command: Command) {
        match self.execute(command) {
            Outcome::Now(answer) => self.admin_answer(conn, request, &answer),
            Outcome::WhenKept(answer) => {
                self.admin.waiting.push(Waiting { conn, request, answer });
            }
        }
    }

    fn admin_answer(&mut self, conn: ConnId, request: RequestId, answer: &Result<Answer, Refusal>) {
        if let Some(connection) = self.admin.connections.get_mut(&conn) {
            connection.session.answer(request, answer, &mut connection.out);
        }
    }

    /// Answers what waited for the map.
    pub(super) fn admin_settle(&mut self) {
        if self.admin.waiting.is_empty() || !self.cluster.is_map_committed() {
            return;
        }
        for Waiting { conn, request, answer } in std::mem::take(&mut self.admin.waiting) {
            self.admin_answer(conn, request, &Ok(answer));
            self.admin_go_on(conn);
        }
    }

    fn admin_flush(&mut self, conn: ConnId) {
        let Some(connection) = self.admin.connections.get_mut(&conn) else { return };
        let bytes = std::mem::take(&mut connection.out.send);
        if !bytes.is_empty() {
            self.world.send(conn, bytes);
        }
        if connection.out.close && !connection.closing {
            connection.closing = true;
            self.world.close_when_sent(conn);
        } else if !connection.session.is_full() && !connection.closing {
            self.world.want(conn, RECEIVE);
        }
    }

    pub(super) fn admin_sent(&mut self, conn: ConnId, _queued: usize) {
        self.admin_flush(conn);
    }

    pub(super) fn admin_closed(&mut self, conn: ConnId) {
        self.admin.connections.remove(&conn);
        self.admin.waiting.retain(|waiting| waiting.conn != conn);
    }
}
