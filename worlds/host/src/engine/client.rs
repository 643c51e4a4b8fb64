//! Clients' commands on their way: ops go to their placement groups, replies to whoever waits for the command.

use super::Engine;
use super::client_ops::{NewOp, Waiter};
use super::host_node::HostNode;
use super::op_trace::OpTrace;
use loadline_base::SlotId;
use loadline_cluster::Target;
use loadline_cluster::images::ImageId;
use loadline_osd::{ClientId, Reply, TraceSpan};
use std::ops::Range;

impl Engine {
    /// Begins a command that is made of these ops.
    pub(super) fn begin_command(
        &mut self,
        waiter: Waiter,
        client: ClientId,
        ops: Vec<NewOp>,
        then_sync: bool,
    ) {
        let command = self.clients.begin(waiter, &ops, then_sync);
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
        self.host.health.replied(&issued, &reply);
        self.watches.replied(&issued, &reply);
        if let Some(command) = self.clients.replied(&issued, reply) {
            self.command_over(command);
        }
    }

    fn command_over(&mut self, command: SlotId) {
        if self.clients.takes_sync(command) {
            let number = self.host.node.change(self.host.now, |cluster, fx| cluster.sync(fx));
            return self.clients.awaits(number, command);
        }
        let (waiter, ended) = self.clients.end(command);
        match waiter {
            Waiter::Nbd(command) => self.nbd_command_ended(command, ended),
            Waiter::Vhost(command) => self.vhost_command_ended(command, ended),
            Waiter::Image => self.image_work_ended(&ended),
            Waiter::Direct(token) => self.direct_op_ended(token, ended),
        }
    }

    pub(super) fn client_synced(&mut self, number: u32) {
        for command in self.clients.synced(number) {
            self.command_over(command);
        }
    }
}
