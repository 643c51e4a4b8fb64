//! NBD connections: bytes to commands, commands to ops on objects, ends of ops to bytes.
//!
//! A client may close while requests of it are still to be read. It is heard out, since one that has closed its end alone still
//! reads its answers; and what others ask for at the same image meanwhile waits, so that it comes behind all of it.
//!
//! **Nothing that a client has sent begins behind what another has sent after the close.** The loop tells of a close before all that was
//! received after it, on whichever connection, so it is known here before the other's request can begin. From then until the last of the closed one's
//! requests has begun the other waits, and until they have ended by what the client has left behind (`leave_behind`). Of several that have closed
//! each waits for those before it: somebody may have been answered, and closed then.
//!
//! **Nobody waits for ever.** Closes have numbers, and what came before one does not wait for it; a guest does, whose ring does not tell. Nothing new comes of who has closed, whoever closed
//! first waits for nobody, and each finds memory for a small request (`budget.rs`). One that has gone is ended, and so is one that takes no answers or
//! goes on for long, and what no OSD has of its writes by then ends.

mod channel;
mod connections;
mod sharing;
mod tls;

pub(super) use connections::{NbdCommand, NbdConnections};

use super::Engine;
use super::budget::{HEARD_OUT, STALL};
use super::client_ops::{Ended, Waiter};
use super::doors::Complaint;
use super::exports::{NodeExports, snapshot_of, view_of};
use super::image_ops::read_of;
use super::range_work::{CommandFailure, RangeAsk, RangeWork};
use crate::{ConnId, ListenerId};
use channel::NbdChannel;
use connections::{Brings, HeldCommand, NbdConnection};
use loadline_base::Span;
use loadline_cluster::images::{ImageId, SnapshotId};
use loadline_osd::{ClientId, OpKind};
use loadline_wire::nbd::{
    ChangeExtent, Close, CommandKind, ConnectionLimits, ExportCommand, ExportId, NbdFailure,
    NbdReply, NbdSession, ReplyPayload, SessionOutbox, StatusExtent,
};
use loadline_wire::request_room::RangeLimits;
use std::ops::Range;

/// Bytes asked of a busy connection at a time: what the system's buffer of a Unix socket holds.
const RECEIVE: usize = 256 << 10;
/// Bytes asked of one that has nothing under way: a buffer that may wait for long is a short one.
const RECEIVE_IDLE: usize = 16 << 10;

impl Engine {
    /// The connections whose clients have an image open, or a snapshot of it.
    pub(super) fn nbd_open_at(&self, image: ImageId) -> Vec<ConnId> {
        let cluster = self.host.node.cluster();
        let is_of =
            |export: ExportId| view_of(cluster, export).is_some_and(|view| view.image == image);
        self.nbd.open_at(is_of)
    }

    pub(super) fn nbd_accepted(&mut self, listener: ListenerId, conn: ConnId) {
        let mut out = SessionOutbox::default();
        let limits = ConnectionLimits::default();
        let (session, channel) = match self.nbd.behind_tls.contains(&listener) {
            true => (NbdSession::behind_tls(limits, &mut out), NbdChannel::before_tls()),
            false => (NbdSession::new(limits, &mut out), NbdChannel::default()),
        };
        let client = self.doors.client(conn);
        let connection = NbdConnection {
            session,
            out,
            channel,
            client,
            unread: Vec::new(),
            asked: 0,
            is_busy: false,
            came: self.host.now,
            moved: self.host.now,
            is_waiting: false,
            chose_in_time: true,
            ended: false,
            closing: false,
        };
        self.memory.enter(conn, self.doors.peer(conn));
        self.nbd.connections.insert(conn, connection);
        self.host.world.await_close(conn);
        self.nbd.touched.push(conn);
        self.nbd_charge(conn);
        tracing::debug!(?conn, "an NBD client has come");
    }

    pub(super) fn nbd_received(&mut self, conn: ConnId, bytes: &[u8]) {
        let Some(connection) = self.nbd.connections.get_mut(&conn) else { return };
        connection.is_busy = bytes.len() >= connection.asked;
        (connection.asked, connection.moved) = (0, self.host.now);
        let is_tls = connection.channel.is_tls();
        if self.is_stopping() {
            // Whoever still talks is heard out, so that its connection can end without losing answers.
            self.nbd.touched.push(conn);
            return self.heard_while_stopping();
        }
        match is_tls {
            true => self.nbd_unseal(conn, bytes),
            false => self.nbd_take(conn, bytes),
        }
    }

    /// Gives a session what its client has said, and keeps what it cannot take.
    fn nbd_take(&mut self, conn: ConnId, bytes: &[u8]) {
        self.nbd_give_room(conn);
        let Some(connection) = self.nbd.connections.get_mut(&conn) else { return };
        if !connection.unread.is_empty() {
            connection.unread.extend_from_slice(bytes);
            return self.nbd_read_on(conn);
        }
        let client = connection.channel.client();
        let exports = NodeExports::new(self.host.node.cluster(), &self.host.config, client);
        let taken = connection.session.receive(bytes, &exports, &mut connection.out);
        connection.unread.extend_from_slice(&bytes[taken..]);
        self.nbd_commands(conn);
    }

    /// The client will send nothing more. Its connection ends when everything it asked for is answered, since it may still read, or at once
    /// if it has gone; others wait for what it writes.
    pub(super) fn nbd_ended(&mut self, conn: ConnId) {
        let Some(connection) = self.nbd.connections.get_mut(&conn) else { return };
        (connection.asked, connection.ended, connection.moved) = (0, true, self.host.now);
        self.nbd.touched.push(conn);
        if self.host.world.hung_up(&[conn]).is_empty() {
            return self.leave_behind(conn);
        }
        self.give_up(conn);
        self.host.world.close(conn);
    }

    /// Gives the session what it can take of what it could not before.
    fn nbd_read_on(&mut self, conn: ConnId) {
        let Some(connection) = self.nbd.connections.get_mut(&conn) else { return };
        let client = connection.channel.client();
        let exports = NodeExports::new(self.host.node.cluster(), &self.host.config, client);
        let taken = connection.session.receive(&connection.unread, &exports, &mut connection.out);
        connection.unread.drain(..taken);
        self.nbd_commands(conn);
    }

    /// Carries out the commands that a session has taken in, or begins with TLS where that is what its client has asked for.
    fn nbd_commands(&mut self, conn: ConnId) {
        let Some(connection) = self.nbd.connections.get_mut(&conn) else { return };
        if connection.session.is_securing() && !connection.channel.is_tls() {
            return self.nbd_wait_for_tls(conn);
        }
        let (client, has_ended) = (connection.client, connection.ended);
        let commands = std::mem::take(&mut connection.out.commands);
        self.nbd.touched.push(conn);
        if !connection.chose_in_time && !commands.is_empty() {
            return self.nbd_refuse(conn);
        }
        for command in commands {
            self.memory.begin(conn, command.holds);
            let Some((image, before)) = self.nbd_waits_for(conn, command.export) else {
                self.nbd_command(conn, client, command);
                continue;
            };
            let held = HeldCommand { conn, before, command };
            self.nbd.held.entry(image).or_default().push_back(held);
        }
        if has_ended {
            self.leave_behind(conn);
        }
        self.nbd_charge(conn);
    }

    /// Ends a connection behind the answers to its options.
    fn nbd_refuse(&mut self, conn: ConnId) {
        if self.nbd_send_queued(conn) {
            self.nbd_close_when_sent(conn);
        }
    }

    fn nbd_command(&mut self, conn: ConnId, client: ClientId, command: ExportCommand) {
        let ExportCommand { id, export, kind, offset, length, fua, holds } = command;
        let (past_end, is_flush) = (kind.past_end(), kind == CommandKind::Flush);
        let mut command = NbdCommand { conn, id, holds, past_end, brings: Brings::Nothing };
        let Some(view) = view_of(self.host.node.cluster(), export) else {
            return self.nbd_answer(command, Err(command.failure(CommandFailure::Gone)));
        };
        let range = (offset, u64::from(length));
        if offset + range.1 > view.size {
            return self.nbd_answer(command, Err(command.failure(CommandFailure::PastEnd)));
        }
        let ops = match kind {
            CommandKind::Read => {
                command.brings = Brings::Data;
                self.host.ops_of(&view, range, read_of(&view), Vec::new())
            }
            CommandKind::Write(bytes) => self.host.ops_of(&view, range, OpKind::Write, bytes),
            CommandKind::Trim | CommandKind::WriteZeroes { .. } => {
                let limits = RangeLimits::of_zeros(holds);
                let work = RangeWork::new(&view, RangeAsk::Zero, vec![range], limits);
                let then_sync = fua.then_some(view.image);
                return self.begin_steps(Waiter::Nbd(command), client, work, then_sync);
            }
            CommandKind::BlockStatus { since, .. } => {
                command.brings = since.map_or(Brings::Status, |_| Brings::Changes);
                let limits = RangeLimits::of_status(range.1, holds);
                let ask =
                    since.map_or(RangeAsk::Held, |since| RangeAsk::Changed(snapshot_of(since)));
                let work = RangeWork::new(&view, ask, vec![range], limits);
                return self.begin_steps(Waiter::Nbd(command), client, work, None);
            }
            CommandKind::Flush | CommandKind::Cache => Vec::new(),
        };
        let then_sync = (fua || is_flush).then_some(view.image);
        self.begin_command(Waiter::Nbd(command), client, ops, then_sync);
    }

    pub(super) fn nbd_command_ended(&mut self, command: NbdCommand, ended: Ended) {
        let Ended { data, held, covered, .. } = ended;
        let result = data.map(|data| match command.brings {
            Brings::Nothing => ReplyPayload::Done,
            Brings::Data => ReplyPayload::Data(data),
            Brings::Status => ReplyPayload::Extents(extents(held, covered)),
            Brings::Changes => ReplyPayload::Changes(changes(held, covered)),
        });
        self.nbd_answer(command, result.map_err(|why| command.failure(why)));
    }

    /// A command has ended, and gives back what it holds; its client is answered, if it is still there.
    fn nbd_answer(&mut self, command: NbdCommand, result: Result<ReplyPayload, NbdFailure>) {
        let NbdCommand { conn, id, holds, .. } = command;
        self.memory.end(conn, holds);
        let Some(connection) = self.nbd.connections.get_mut(&conn) else { return };
        connection.session.finish(NbdReply { id, result }, &mut connection.out);
        self.nbd.touched.push(conn);
    }

    pub(super) fn nbd_sent(&mut self, conn: ConnId, bytes: usize) {
        let now = self.host.now;
        let Some(connection) = self.nbd.connections.get_mut(&conn) else { return };
        connection.session.sent(connection.channel.sent(bytes));
        connection.moved = now;
        self.nbd.touched.push(conn);
    }

    /// Sends what the sessions have queued and asks for what they can take, once per round.
    pub(super) fn nbd_flush(&mut self) {
        self.nbd_begin_handshakes();
        while let Some(conn) = self.nbd.touched.pop() {
            let waiting = self
                .nbd
                .connections
                .get(&conn)
                .is_some_and(|c| !c.unread.is_empty() && c.session.want() > 0);
            if waiting {
                self.nbd_give_room(conn);
                self.nbd_read_on(conn);
            }
            self.nbd_flush_one(conn);
            self.nbd_hear_out(conn);
            self.nbd_charge(conn);
        }
    }

    /// Sends what a session has queued. Answers whether that goes on.
    fn nbd_send_queued(&mut self, conn: ConnId) -> bool {
        let Some(connection) = self.nbd.connections.get_mut(&conn) else { return false };
        if !connection.channel.is_plain() {
            return self.nbd_send_sealed(conn);
        }
        for buffer in connection.out.send.drain(..) {
            self.host.world.send(conn, buffer);
        }
        true
    }

    fn nbd_flush_one(&mut self, conn: ConnId) {
        let stopping = self.is_stopping();
        let has_room = self.nbd_room(conn) >= RECEIVE as u64;
        let Some(connection) = self.nbd.connections.get_mut(&conn) else { return };
        if connection.closing {
            return connection.out.send.clear();
        }
        if !self.nbd_send_queued(conn) {
            return;
        }
        let Some(connection) = self.nbd.connections.get_mut(&conn) else { return };
        if let Some(close) = &connection.out.close {
            let says = match close {
                Close::Violated(violation) => {
                    Some(format!("an NBD client broke the protocol: {violation}"))
                }
                Close::CutShort(failure) => {
                    let why = &failure.message;
                    Some(format!(
                        "a read of an NBD client failed in the midst of its answer: {why}"
                    ))
                }
                Close::Asked => None,
            };
            if let Some(says) = says {
                self.doors.complain(self.host.now, Complaint::Violation, || says);
            }
            self.give_up(conn);
            return self.nbd_close_when_sent(conn);
        }
        if connection.is_over() {
            return self.nbd_close_when_sent(conn);
        }
        let is_short = stopping || connection.session.is_securing();
        let want = if is_short { RECEIVE_IDLE } else { connection.session.want() };
        if want > 0 && connection.may_be_asked() {
            let is_busy = connection.is_busy || connection.session.in_flight() > 0;
            let is_long = (is_busy || want > RECEIVE_IDLE) && has_room;
            connection.asked = if is_long { RECEIVE } else { RECEIVE_IDLE };
            self.host.world.want(conn, connection.asked);
        }
    }

    pub(super) fn nbd_closed(&mut self, conn: ConnId) {
        if self.nbd.connections.remove(&conn).is_some() {
            self.give_up(conn);
            self.nbd_is_heard(conn);
            for command in self.nbd.drop_held(conn) {
                self.memory.end(conn, command.holds);
            }
            self.memory.leave(conn);
        }
        tracing::debug!(?conn, "an NBD client has gone");
    }

    /// No client may ask anything new: what is under way is answered, then connections end.
    pub(super) fn nbd_shut_down(&mut self) {
        for (conn, connection) in &mut self.nbd.connections {
            connection.unread.clear();
            self.nbd.touched.push(*conn);
        }
        self.nbd_hear_nobody();
    }
}

impl Engine {
    /// A client sends nothing more, or has gone. What it has sent before may still have to be read.
    pub(super) fn nbd_closes(&mut self, conn: ConnId) {
        let Some(connection) = self.nbd.connections.get_mut(&conn) else { return };
        connection.chose_in_time = !connection.session.is_negotiating();
        self.nbd.touched.push(conn);
        let export = connection.session.writes_to();
        let view = export.and_then(|export| view_of(self.host.node.cluster(), export));
        if let Some(view) = view.filter(|_| !self.is_stopping()) {
            self.nbd.note_close(conn, view.image, self.host.now);
        }
    }

    /// The number of a client's close: it is now if it is not known of.
    pub(super) fn nbd_close_of(&mut self, conn: ConnId) -> u64 {
        let known = self.nbd.unheard(conn).map(|unheard| unheard.close);
        known.unwrap_or_else(|| self.nbd.number_close())
    }

    /// Somebody else has closed, a guest: the number of that.
    pub(super) fn nbd_number_close(&mut self) -> u64 {
        self.nbd.number_close()
    }

    /// Clients that have closed and are not at their end: they may have gone since.
    pub(super) fn nbd_who_has_closed(&self) -> Vec<ConnId> {
        let all = self.nbd.connections.keys();
        all.filter(|conn| self.nbd.has_closed(**conn)).copied().collect()
    }

    /// The image at which a command that has come has to wait for what others who have closed have left behind, or may still have to say, and the
    /// number of the close from which on they do not matter.
    fn nbd_waits_for(&self, conn: ConnId, export: ExportId) -> Option<(ImageId, u64)> {
        if !self.has_left() && self.nbd.unheard.is_empty() {
            return None;
        }
        let view = view_of(self.host.node.cluster(), export)?;
        let before = self.nbd.comes_before(conn);
        let waits = view.read_at == SnapshotId::HEAD && self.nbd_waits_at(view.image, conn, before);
        waits.then_some((view.image, before))
    }

    /// Whether others who closed before that have left something behind at an image, or may still have to say something: it would come behind
    /// a command that begins now.
    fn nbd_waits_at(&self, image: ImageId, conn: ConnId, before: u64) -> bool {
        let mut unheard = self.nbd.unheard.iter();
        unheard.any(|unheard| unheard.image == image && unheard.close < before)
            || self.is_left_by_others(image, conn, before)
    }

    /// Whether no command waits so.
    pub(super) fn nbd_holds_none(&self) -> bool {
        !self.nbd.has_held()
    }

    /// Begins commands that had to wait at an image and need not any more.
    pub(super) fn nbd_begin_held(&mut self, image: ImageId) {
        let mut at = 0;
        while self.may_begin_asked()
            && let Some((conn, before)) = self.nbd.held_at(image, at)
        {
            if self.nbd_waits_at(image, conn, before) {
                at += 1;
                continue;
            }
            let command = self.nbd.take_held(image, at);
            let Some(connection) = self.nbd.connections.get(&conn).filter(|c| !c.closing) else {
                self.memory.end(conn, command.holds);
                continue;
            };
            let (client, has_closed) = (connection.client, self.nbd.has_closed(conn));
            self.nbd.touched.push(conn);
            self.nbd_command(conn, client, command);
            if has_closed {
                self.leave_behind(conn);
            }
        }
    }

    /// Whether a client that writes to an image has closed and is not heard out.
    pub(super) fn nbd_is_unheard_at(&self, image: ImageId) -> bool {
        self.nbd.unheard.iter().any(|unheard| unheard.image == image)
    }

    /// Notes that a client is heard out, if it is: everything that it has sent has begun.
    fn nbd_hear_out(&mut self, conn: ConnId) {
        if self.nbd.unheard(conn).is_none() {
            return;
        }
        let Some(connection) = self.nbd.connections.get(&conn) else { return };
        let has_begun = self.is_stopping() || connection.has_begun_all();
        if connection.closing || has_begun && !self.nbd.holds_of(conn) {
            self.nbd_is_heard(conn);
        }
    }

    /// Nothing of a client that has closed is still to begin.
    fn nbd_is_heard(&mut self, conn: ConnId) {
        if let Some(heard) = self.nbd.take_unheard(conn) {
            self.others_go_on_at(heard.image);
        }
    }

    /// Why a client that has closed and for whom others wait is ended, and how long it took: it lets nothing move, since nothing of it is under
    /// way and it takes no answers, or is not heard out for long, for whatever reason.
    fn nbd_holds_others_up(&self, conn: ConnId, still: Span) -> Option<(Complaint, Span)> {
        let Some(unheard) = self.nbd.unheard(conn) else {
            return self.nbd_leaves_for_long(conn, still);
        };
        if !self.nbd_is_waited_for(unheard.image, unheard.close) {
            return None;
        }
        let session = &self.nbd.connections.get(&conn)?.session;
        let is_its_turn = session.in_flight() == 0 && session.awaits_client();
        let since = self.host.now.since(unheard.since);
        match is_its_turn && still >= STALL {
            true => Some((Complaint::Unheard, still)),
            false => (since >= HEARD_OUT).then_some((Complaint::HeardForLong, since)),
        }
    }

    /// The same of one that is heard out and of whose writes no OSD has some: those end with its connection. What OSDs have, others wait for in
    /// any case.
    fn nbd_leaves_for_long(&self, conn: ConnId, still: Span) -> Option<(Complaint, Span)> {
        let connection = self.nbd.connections.get(&conn)?;
        if !connection.ended || still < HEARD_OUT {
            return None;
        }
        let image = view_of(self.host.node.cluster(), connection.session.writes_to()?)?.image;
        let close = self.left_without_osd(image, conn)?;
        self.nbd_is_waited_for(image, close).then_some((Complaint::HeardForLong, still))
    }

    /// Whether others wait at an image for what the close of this number has left behind: commands that came behind it, or a guest.
    fn nbd_is_waited_for(&self, image: ImageId, close: u64) -> bool {
        self.nbd.is_waited_for(image, close) || self.guest_waits_at(image)
    }

    /// Nobody is read from any more. What clients that have closed have asked for until now comes before what others have as before.
    fn nbd_hear_nobody(&mut self) {
        let unheard: Vec<ConnId> = self.nbd.unheard.iter().map(|unheard| unheard.conn).collect();
        for conn in unheard {
            self.leave_behind(conn);
            self.nbd_hear_out(conn);
        }
    }
}

/// What holds data of so many bytes and what does not, in order. Everything else was never written, or was discarded.
fn extents(held: Vec<Range<u64>>, covered: u64) -> Vec<StatusExtent> {
    let mut extents: Vec<StatusExtent> = Vec::new();
    let mut push = |length: u64, hole: bool| match extents.last_mut() {
        _ if length == 0 => {}
        Some(last) if last.hole == hole => last.length += length as u32,
        _ => extents.push(StatusExtent { length: length as u32, hole, zero: hole }),
    };
    let mut at = 0;
    for range in held {
        push(range.start - at, true);
        push(range.end - range.start, false);
        at = range.end;
    }
    push(covered - at, true);
    extents
}

/// What may be other in so many bytes and what is not, in order.
fn changes(changed: Vec<Range<u64>>, covered: u64) -> Vec<ChangeExtent> {
    let of =
        |extent: StatusExtent| ChangeExtent { length: extent.length, is_changed: !extent.hole };
    extents(changed, covered).into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_cover_what_was_asked_for_and_neighbours_are_one() {
        let shown = |held: &[Range<u64>], covered| -> Vec<(u32, bool)> {
            extents(held.to_vec(), covered).iter().map(|e| (e.length, e.hole)).collect()
        };
        assert_eq!(shown(&[], 10), [(10, true)]);
        assert_eq!(shown(std::slice::from_ref(&(0..10)), 10), [(10, false)]);
        assert_eq!(shown(&[0..2, 4..6, 6..7], 9), [(2, false), (2, true), (3, false), (2, true)]);
    }
}
