//! Clients' commands on their way: ops go to their placement groups, replies to whoever waits for the command.

use super::Engine;
use super::client_ops::Waiter;
use super::host_node::HostNode;
use super::image_ops::NewOp;
use super::op_trace::OpTrace;
use super::range_work::{RangeAsk, RangeWork};
use crate::ConnId;
use loadline_base::SlotId;
use loadline_cluster::images::{Displaced, ImageId, Piece, SnapshotId};
use loadline_cluster::{IssuedOp, SyncEnd, SyncOf, Target};
use loadline_osd::{ClientId, OpId, Reply, SnapshotNo, TraceSpan};
use std::ops::Range;

impl Engine {
    /// Begins a command that is made of these ops.
    pub(super) fn begin_command(
        &mut self,
        waiter: Waiter,
        client: ClientId,
        ops: Vec<NewOp>,
        then_sync: Option<ImageId>,
    ) {
        let command = self.clients.begin(waiter, client, &ops, then_sync);
        self.issue_all(client, command, ops);
    }

    /// Begins a command that is carried out in steps, the first of them in this turn of the loop if it has time for it.
    pub(super) fn begin_steps(
        &mut self,
        waiter: Waiter,
        client: ClientId,
        work: RangeWork,
        then_sync: Option<ImageId>,
    ) {
        self.clients.begin_steps(waiter, client, work, then_sync);
    }

    /// A client sends nothing more on its connection: others wait for what its commands change. They go on, since it may still read.
    pub(super) fn leave_behind(&mut self, conn: ConnId) {
        let close = self.nbd_close_of(conn);
        self.clients.leave_behind(|waiter| waiter.is_nbd_of(conn), close);
    }

    /// A connection has gone: its commands take no further step, and what no OSD has of their writes and zeros ends. Others wait for the rest.
    pub(super) fn give_up(&mut self, conn: ConnId) {
        let close = self.nbd_close_of(conn);
        self.clients.give_up(|waiter| waiter.is_nbd_of(conn), close);
        self.end_given_up();
    }

    /// The guest of a face has gone: the same of its requests.
    pub(super) fn give_up_guest(&mut self, face: usize) {
        let close = self.nbd_number_close();
        let is_of = |waiter: &Waiter| matches!(waiter, Waiter::Vhost(guest) if guest.is_of(face));
        self.clients.give_up(is_of, close);
        self.end_given_up();
    }

    /// Ends what no OSD has of the writes and zeros of who has gone. To be called every second or so: an OSD that had one may have been called
    /// back from it, to wait for room.
    pub(super) fn end_given_up(&mut self) {
        if self.has_left() {
            let clients = &self.clients;
            let is_unwanted = |op: OpId| clients.is_given_up(op);
            let ended = self.host.node.cluster_mut().end_unwanted(is_unwanted);
            self.end_without_osd(ended);
        }
    }

    /// Ends what nobody carries out any more of the parts of jobs on images, to be tried again later. To be called every second or so: who had it may have
    /// gone.
    pub(super) fn end_waiting_jobs(&mut self) {
        let clients = &self.clients;
        let is_of_job = |waiter: &Waiter| matches!(waiter, Waiter::Image(_));
        let is_theirs = |op: OpId| clients.is_op_of(op, is_of_job);
        let ended = self.host.node.cluster_mut().end_held(is_theirs);
        self.end_without_osd(ended);
    }

    /// Whether what is shown is still changed by who has gone, or may be: what others do there now could come before that.
    pub(super) fn is_left_at(&self, (image, snapshot): (ImageId, SnapshotId)) -> bool {
        let is_left = || self.clients.is_left_at(image) || self.nbd_is_unheard_at(image);
        snapshot == SnapshotId::HEAD && is_left()
    }

    /// The close by which a connection has left something behind that still changes an image, if no OSD has some of that.
    pub(super) fn left_without_osd(&self, image: ImageId, conn: ConnId) -> Option<u64> {
        let is_own = |waiter: &Waiter| waiter.is_nbd_of(conn);
        let close = self.clients.left_by(image, is_own)?;
        let mut waiting = self.host.node.cluster().changes_that_wait();
        waiting.any(|op| self.clients.is_op_of(op.id, is_own)).then_some(close)
    }

    /// Whether others than this connection have left something behind, by closes of smaller numbers than this one, that still changes an image.
    pub(super) fn is_left_by_others(&self, image: ImageId, conn: ConnId, before: u64) -> bool {
        let close = self.clients.left_by(image, |waiter| !waiter.is_nbd_of(conn));
        close.is_some_and(|close| close < before)
    }

    /// Whether anybody has left something behind.
    pub(super) fn has_left(&self) -> bool {
        self.clients.has_left()
    }

    /// Others may not have to wait any more at an image for those who have closed.
    pub(super) fn others_go_on_at(&mut self, image: ImageId) {
        self.clients.free(image);
    }

    /// Whoever had to wait for what others have left behind goes on.
    pub(super) fn go_on_behind_others(&mut self) {
        while let Some(image) = self.clients.next_freed() {
            self.nbd_begin_held(image);
            self.vhost.touch_image(image);
        }
    }

    /// Whether a guest of an image waits for what others have left behind.
    pub(super) fn guest_waits_at(&self, image: ImageId) -> bool {
        self.vhost.waits_at(image)
    }

    /// Takes the steps that are due, as many as a turn of the loop has time for.
    pub(super) fn take_steps(&mut self) {
        while let Some((command, client, work)) = self.clients.next_step() {
            let cluster = self.host.node.cluster();
            let is_there = |since| cluster.view_of(work.image, since).is_some();
            let view = cluster.view_of(work.image, work.snapshot);
            let view = view.filter(|_| work.since().is_none_or(is_there));
            let ask = work.ask();
            let mut racks = self.host.node.hold_racks();
            let matters = |piece: &Piece| {
                view.as_ref().is_some_and(|view| match ask {
                    RangeAsk::Zero | RangeAsk::Held => racks.may_hold_data(view, piece),
                    RangeAsk::Changed(since) => racks.may_have_changed(view, since, piece),
                })
            };
            let step = work.step(view.as_ref(), matters);
            drop(racks);
            let ops = self.clients.stepped(command, step);
            self.issue_all(client, command, ops);
        }
    }

    fn issue_all(&mut self, client: ClientId, command: SlotId, ops: Vec<NewOp>) {
        if ops.is_empty() {
            return self.command_over(command);
        }
        for op in ops {
            self.issue(client, command, op);
        }
    }

    fn issue(&mut self, client: ClientId, command: SlotId, op: NewOp) {
        let NewOp { kind, pool, object, offset, length, at, data } = op;
        let image = ImageId::of(object).0;
        let traced = self.watches.wants_trace(image);
        let target =
            Target { client, kind, traced, background: false, pool, object, offset, length };
        let HostNode { node, now, health, .. } = &mut self.host;
        health.issued(image);
        let (id, envelope) = node.cluster_mut().issue(*now, &target, data);
        self.watches.issued(image, id);
        self.clients.issued(id.slot, command, at, length);
        if let Some(envelope) = envelope {
            node.send(envelope);
        }
    }

    /// A stage of an op that somebody wants to see has ended.
    pub(super) fn traced(&mut self, span: TraceSpan) {
        self.watches.traced(span);
    }

    /// The client in this process wants to see these ops of an image, the next one being the first.
    pub(super) fn begin_direct_trace(&mut self, image: ImageId, ops: Range<u64>) {
        self.watches.begin_direct_trace(OpTrace::begin(image, ops));
    }

    /// What it has to see until now.
    pub(super) fn end_direct_trace(&mut self) -> Vec<TraceSpan> {
        self.watches.end_direct_trace()
    }

    /// An op has its reply.
    pub(super) fn replied(&mut self, reply: Reply) {
        let Some(issued) = self.host.node.cluster_mut().finish(reply.op) else { return };
        if !self.takes_reply() {
            return;
        }
        self.host.health.replied(&issued, &reply);
        self.watches.replied(&issued, &reply);
        // What a snapshot had alone may have been given back since it was removed, and nobody knows what the answer was made of.
        let image = ImageId::of(issued.op.object).0;
        let is_there = |shown: SnapshotNo| {
            self.host.node.cluster().view_of(image, SnapshotId(shown.0)).is_some()
        };
        let is_gone = !issued.op.kind.shown().all(is_there);
        if let Some(command) = self.clients.replied(&issued, reply, is_gone) {
            self.command_over(command);
        }
    }

    /// What waited to be written to an image that was removed or made smaller has ended.
    pub(super) fn end_displaced(&mut self) {
        let ended = self.host.node.cluster_mut().take_displaced();
        self.end_without_osd(ended);
    }

    /// Ops have ended that no OSD had.
    fn end_without_osd(&mut self, ended: Vec<(IssuedOp, Displaced)>) {
        for (issued, why) in ended {
            if !self.takes_reply() {
                return;
            }
            self.host.health.displaced(ImageId::of(issued.op.object).0);
            if let Some(command) = self.clients.displaced(issued.op.id, why) {
                self.command_over(command);
            }
        }
    }

    /// All ops of a command have ended that it has until now.
    fn command_over(&mut self, command: SlotId) {
        if self.clients.goes_on(command) {
            return;
        }
        if let Some(image) = self.clients.takes_sync(command) {
            let of = SyncOf::Image(image);
            let number = self.host.node.change(self.host.now, |cluster, fx| cluster.sync(of, fx));
            return self.clients.awaits(number, command);
        }
        let (waiter, ended) = self.clients.end(command);
        match waiter {
            Waiter::Nbd(command) => self.nbd_command_ended(command, ended),
            Waiter::Vhost(command) => self.vhost_command_ended(command, ended),
            Waiter::Image(pool) => self.image_work_ended(pool, &ended),
            Waiter::Direct(token) => self.direct_op_ended(token, ended),
        }
    }

    pub(super) fn client_synced(&mut self, sync: SyncEnd) {
        for command in self.clients.synced(sync) {
            self.command_over(command);
        }
    }
}
