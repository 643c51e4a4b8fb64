//! Clients that have closed while requests of theirs were still to be read. They are heard out, since one that has closed its end alone still
//! reads its answers; and what others ask for at the same image meanwhile waits, so that it comes behind all of it.
//!
//! **Nothing that a client has sent begins behind what another has sent after the close.** The loop tells of a close before all that was
//! received after it, on whichever connection, so it is known here before the other's request can begin. From then until the last of the closed one's
//! requests has begun the other waits, and until they have ended by what the client has left behind (`leave_behind`). Of several that have closed
//! each waits for those before it: somebody may have been answered, and closed then.
//!
//! **Nobody waits for ever.** Nothing new comes of who has closed, whoever closed first waits for nobody, and each finds memory for a
//! small request (`budget.rs`). One that takes no answers is ended.

use super::Engine;
use crate::ConnId;
use crate::engine::budget::STALL;
use crate::engine::exports::view_of;
use loadline_base::Span;
use loadline_cluster::images::{ImageId, SnapshotId};
use loadline_wire::nbd::ExportId;

impl Engine {
    /// A client sends nothing more, or has gone. What it has sent before may still have to be read.
    pub(in crate::engine) fn nbd_closes(&mut self, conn: ConnId) {
        let Some(connection) = self.nbd.connections.get_mut(&conn) else { return };
        connection.chose_in_time = !connection.session.is_negotiating();
        self.nbd.touched.push(conn);
        let export = connection.session.writes_to();
        let view = export.and_then(|export| view_of(self.host.node.cluster(), export));
        if let Some(view) = view.filter(|_| !self.is_stopping()) {
            self.nbd.unheard.push((conn, view.image));
        }
    }

    /// The image at which a command has to wait for what others who have closed have left behind, or may still have to say: it would come before
    /// that.
    pub(super) fn nbd_waits_for(&self, conn: ConnId, export: ExportId) -> Option<ImageId> {
        if !self.has_left() && self.nbd.unheard.is_empty() {
            return None;
        }
        let view = view_of(self.host.node.cluster(), export)?;
        let mut before = self.nbd.unheard.iter().take_while(|(unheard, _)| *unheard != conn);
        let waits = before.any(|(_, image)| *image == view.image)
            || self.is_left_by_others(view.image, conn);
        (view.read_at == SnapshotId::HEAD && waits).then_some(view.image)
    }

    /// Whether no command waits so.
    pub(in crate::engine) fn nbd_holds_none(&self) -> bool {
        !self.nbd.has_held()
    }

    /// Begins commands that had to wait at an image and need not any more.
    pub(in crate::engine) fn nbd_begin_held(&mut self, image: ImageId) {
        let mut at = 0;
        while self.may_begin_asked()
            && let Some((conn, export)) = self.nbd.held_at(image, at)
        {
            if self.nbd_waits_for(conn, export).is_some() {
                at += 1;
                continue;
            }
            let command = self.nbd.take_held(image, at);
            let Some(connection) = self.nbd.connections.get(&conn).filter(|c| !c.closing) else {
                self.memory.end(conn, command.holds);
                continue;
            };
            let (client, has_ended) = (connection.client, connection.ended);
            self.nbd.touched.push(conn);
            self.nbd_command(conn, client, command);
            if has_ended {
                self.leave_behind(conn);
            }
        }
    }

    /// Whether a client that writes to an image has closed and is not heard out.
    pub(in crate::engine) fn nbd_is_unheard_at(&self, image: ImageId) -> bool {
        self.nbd.unheard.iter().any(|(_, of)| *of == image)
    }

    /// Notes that a client is heard out, if it is: everything that it has sent has begun.
    pub(super) fn nbd_hear_out(&mut self, conn: ConnId) {
        let Some(connection) = self.nbd.connections.get(&conn) else { return };
        if connection.closing || connection.has_begun_all() && !self.nbd.holds_of(conn) {
            self.nbd.is_heard(conn);
        }
    }

    /// Whether others wait for a client that has closed and lets nothing move: nothing of it is under way, and it takes no answers.
    pub(super) fn nbd_holds_others_up(&self, conn: ConnId, still: Span) -> bool {
        let unheard = self.nbd.unheard.iter().find(|(unheard, _)| *unheard == conn);
        let session = &self.nbd.connections[&conn].session;
        let is_its_turn = session.in_flight() == 0 && session.awaits_client();
        unheard.is_some_and(|(_, image)| {
            let is_awaited = self.nbd.held.contains_key(image) || self.vhost.shows(*image);
            is_its_turn && still >= STALL && is_awaited
        })
    }

    /// The next image at which nobody is left to be heard out.
    pub(in crate::engine) fn nbd_next_freed(&mut self) -> Option<ImageId> {
        self.nbd.freed.pop()
    }

    /// Nobody is read from any more.
    pub(super) fn nbd_hear_nobody(&mut self) {
        let unheard = std::mem::take(&mut self.nbd.unheard);
        self.nbd.freed.extend(unheard.into_iter().map(|(_, image)| image));
    }
}
