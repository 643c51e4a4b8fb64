//! Admin connections: requests in, commands carried out, answers out. An answer waits for what it tells of: a change until
//! it is durable, an OSD until it is up, work until it has ended.

mod changes;
mod config;
mod consent;
mod desk;
mod dump;
mod execute;
mod findings;
mod images;
mod live;
mod metrics;
mod new_disk;
mod osds;
mod pg_states;
mod pgs;
mod places;
mod pools;
mod scrub_round;
mod scrubs;
mod status;
mod why;

pub(super) use desk::{AdminConnections, CommandOutcome, DiskReady, Executed, Ticket};

use super::Engine;
use crate::ConnId;
use crate::admin::api::{AdminAnswer, AdminRefusal, Command};
use crate::admin::{Audience, HttpOutbox, HttpSession, PATIENCE, WORK_PATIENCE, patience_with};
use desk::{AdminConnection, BegunWork, Delayed, WaitingAnswer};

/// Bytes asked of a connection at a time.
const RECEIVE: usize = 64 << 10;

impl Engine {
    pub(super) fn admin_accepted(&mut self, conn: ConnId, audience: Audience) {
        let (session, out) = (HttpSession::new(audience), HttpOutbox::default());
        let (moved, unsent) = (self.host.now, 0);
        let connection = AdminConnection { session, out, closing: false, moved, unsent };
        self.admin.connections.insert(conn, connection);
        self.host.world.want(conn, RECEIVE);
    }

    pub(super) fn admin_received(&mut self, conn: ConnId, bytes: &[u8]) {
        let Some(connection) = self.admin.connections.get_mut(&conn) else { return };
        connection.moved = self.host.now;
        connection.session.receive(bytes, &mut connection.out);
        self.admin_go_on(conn);
    }

    fn admin_go_on(&mut self, conn: ConnId) {
        let Some(connection) = self.admin.connections.get_mut(&conn) else { return };
        for (request, command) in std::mem::take(&mut connection.out.commands) {
            self.admin_command(Ticket { conn, request }, command);
        }
        self.admin_flush(conn);
    }

    fn admin_command(&mut self, ticket: Ticket, command: Command) {
        self.begin_change(ticket, &command);
        let until = self.host.now + patience_with(&command);
        self.try_command(Delayed { ticket, command, until });
    }

    fn try_command(&mut self, delayed: Delayed) {
        let ticket = delayed.ticket;
        let outcome = match self.is_stopping() {
            false => self.execute(ticket, &delayed.command).unwrap_or_else(CommandOutcome::from),
            true => CommandOutcome::from(AdminRefusal::unavailable("the node stops")),
        };
        match outcome {
            CommandOutcome::Now(answer) => {
                self.end_change(ticket, answer.is_ok());
                self.admin_answer(ticket, &answer);
            }
            CommandOutcome::WhenKept(answer) => {
                self.end_change(ticket, true);
                self.answer_when_kept(ticket, answer);
            }
            // What is watched ends by the clock.
            CommandOutcome::Later if delayed.command.is_watch() => {}
            CommandOutcome::Later => {
                let until = self.host.now + WORK_PATIENCE;
                self.admin.begun.push(BegunWork { ticket, until });
            }
            CommandOutcome::Busy(_) if self.host.now < delayed.until => {
                self.admin.delayed.push(delayed)
            }
            CommandOutcome::Busy(why) => {
                self.end_change(ticket, false);
                let patience = patience_with(&delayed.command);
                let error = format!("{why}, and that has not ended within {patience}");
                self.admin_answer(ticket, &Err(AdminRefusal::unavailable(error)));
            }
        }
    }

    /// An answer to a client that has gone goes nowhere.
    fn admin_answer(&mut self, ticket: Ticket, answer: &Result<AdminAnswer, AdminRefusal>) {
        let Ticket { conn, request } = ticket;
        if let Some(connection) = self.admin.connections.get_mut(&conn) {
            connection.session.answer(request, answer, &mut connection.out);
        }
    }

    /// What took time has ended. What it has changed is kept before it is told, to whoever waits for it still.
    pub(super) fn admin_ended(
        &mut self,
        ticket: Ticket,
        answer: Result<AdminAnswer, AdminRefusal>,
    ) {
        self.end_change(ticket, answer.is_ok());
        if self.admin.begun.extract_if(.., |begun| begun.ticket == ticket).next().is_none() {
            return;
        }
        match answer {
            Ok(answer) => self.answer_when_kept(ticket, answer),
            Err(_) => {
                self.admin_answer(ticket, &answer);
                self.admin_go_on(ticket.conn);
            }
        }
    }

    /// What somebody waited for is known, and has changed nothing.
    pub(super) fn admin_told(&mut self, ticket: Ticket, answer: AdminAnswer) {
        self.admin_answer(ticket, &Ok(answer));
        self.admin_go_on(ticket.conn);
    }

    fn answer_when_kept(&mut self, ticket: Ticket, answer: AdminAnswer) {
        let change = self.host.node.cluster().last_change();
        let until = self.host.now + PATIENCE;
        self.admin.waiting.push(WaitingAnswer { ticket, answer, change, until });
    }

    /// Tells those of whose work no end is to be seen.
    fn tell_of_long_work(&mut self) {
        let now = self.host.now;
        let late: Vec<BegunWork> =
            self.admin.begun.extract_if(.., |begun| now >= begun.until).collect();
        for BegunWork { ticket, .. } in late {
            let error = format!(
                "it was begun, and has not ended within {WORK_PATIENCE}; it goes on, and `loadline status` tells what comes of it"
            );
            self.admin_answer(ticket, &Err(AdminRefusal::unavailable(error)));
            self.admin_go_on(ticket.conn);
        }
    }

    /// Answers what waited for the map. Without a quorum, or with a disk that does not answer, a map may never be kept, and that is told instead.
    pub(super) fn admin_settle(&mut self) {
        self.join_settle();
        self.tell_of_long_work();
        for delayed in std::mem::take(&mut self.admin.delayed) {
            let conn = delayed.ticket.conn;
            self.try_command(delayed);
            self.admin_go_on(conn);
        }
        if self.admin.waiting.is_empty() {
            return;
        }
        let refusal = self.host.without_quorum();
        let (cluster, now) = (self.host.node.cluster(), self.host.now);
        let is_due = |waiting: &mut WaitingAnswer| {
            refusal.is_some() || cluster.is_kept(waiting.change) || now >= waiting.until
        };
        let due: Vec<WaitingAnswer> = self.admin.waiting.extract_if(.., is_due).collect();
        for WaitingAnswer { ticket, answer, change, .. } in due {
            let is_kept = self.host.node.cluster().is_kept(change);
            let late = || {
                AdminRefusal::unavailable(format!(
                    "it is done, and no map that tells of it is on a quorum of the disks after {PATIENCE}: if one of them answers no more, take its OSD down"
                ))
            };
            let refusal = refusal.clone().or_else(|| (!is_kept).then(late));
            let answer = refusal.map_or(Ok(answer), Err);
            self.admin_answer(ticket, &answer);
            self.admin_go_on(ticket.conn);
        }
    }

    fn admin_flush(&mut self, conn: ConnId) {
        let Some(connection) = self.admin.connections.get_mut(&conn) else { return };
        let bytes = std::mem::take(&mut connection.out.send);
        if !bytes.is_empty() {
            connection.unsent += bytes.len();
            self.host.world.send(conn, bytes);
        }
        if connection.out.close && !connection.closing {
            connection.closing = true;
            self.host.world.close_when_sent(conn);
        } else if !connection.session.is_full() && connection.has_room() && !connection.closing {
            self.host.world.want(conn, RECEIVE);
        }
    }

    pub(super) fn admin_sent(&mut self, conn: ConnId, bytes: usize) {
        if let Some(connection) = self.admin.connections.get_mut(&conn) {
            connection.moved = self.host.now;
            connection.unsent = connection.unsent.saturating_sub(bytes);
            if connection.has_room() {
                connection.session.resume(&mut connection.out);
            }
        }
        self.admin_go_on(conn);
    }

    /// Tells one who follows the live view of a second.
    fn admin_event(&mut self, conn: ConnId, step: &str) {
        if let Some(connection) = self.admin.connections.get_mut(&conn) {
            connection.session.event(step, &mut connection.out);
        }
        self.admin_flush(conn);
    }

    pub(super) fn admin_closed(&mut self, conn: ConnId) {
        self.admin.connections.remove(&conn);
        self.watches.forget(conn);
        self.admin.waiting.retain(|waiting| waiting.ticket.conn != conn);
        self.admin.begun.retain(|begun| begun.ticket.conn != conn);
        let is_gone = |delayed: &mut Delayed| delayed.ticket.conn == conn;
        for delayed in self.admin.delayed.extract_if(.., is_gone).collect::<Vec<_>>() {
            self.end_change(delayed.ticket, false);
        }
    }
}
