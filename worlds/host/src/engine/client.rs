//! Clients' commands: each becomes ops on objects, and ends with the last of them.

use super::Engine;
use super::nbd::NbdCommand;
use loadline_base::{SlotId, Slots, Span};
use loadline_cluster::{IssuedOp, PoolId, Target};
use loadline_osd::{ClientId, Data, OpKind, Reply};
use loadline_store::ObjectNo;
use std::collections::BTreeMap;
use std::ops::Range;

/// Who waits for a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiter {
    /// A command of an NBD connection.
    Nbd(NbdCommand),
    /// A background job on images.
    Image,
    /// An op of the client in this process, by its own number.
    Direct(u64),
}

/// How a command has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    /// What was read, if it was a read; `None` if some of it could be read from no copy.
    pub data: Option<Vec<u8>>,
    /// Where data is held in what it asked about, in any order.
    pub held: Vec<Range<u64>>,
    /// From admission to reply of its longest op.
    pub inside: Span,
}

/// A command under way.
#[derive(Debug)]
struct ClientCommand {
    waiter: Waiter,
    /// Its ops without a reply, and its sync.
    left: u32,
    /// Bytes that its reads bring together.
    length: usize,
    data: Vec<u8>,
    held: Vec<Range<u64>>,
    failed: bool,
    inside: Span,
    /// It is to be durable before it ends.
    then_sync: bool,
}

/// One op of a command.
#[derive(Clone, Copy, Debug)]
struct CommandPart {
    command: SlotId,
    /// Where its bytes are in the command's.
    at: u64,
    length: u32,
}

/// The commands under way and their ops.
#[derive(Debug, Default)]
pub(super) struct ClientOps {
    commands: Slots<ClientCommand>,
    parts: BTreeMap<u32, CommandPart>,
    syncs: BTreeMap<u32, Vec<SlotId>>,
}

/// An op of a command that is about to be issued.
#[derive(Debug)]
pub(super) struct NewOp {
    pub kind: OpKind,
    pub pool: PoolId,
    pub object: ObjectNo,
    pub offset: u32,
    pub length: u32,
    /// Where its bytes are in the command's.
    pub at: u64,
    pub data: Data,
}

impl ClientCommand {
    /// Takes what one of its reads has read. What is missing at the end is zeros.
    fn take(&mut self, at: usize, length: usize, mut bytes: Vec<u8>) {
        if length == self.length {
            bytes.resize(length, 0);
            self.data = bytes;
            return;
        }
        self.data.resize(self.length, 0);
        let length = bytes.len().min(length);
        self.data[at..at + length].copy_from_slice(&bytes[..length]);
    }
}

impl ClientOps {
    pub(super) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }
}

impl Engine {
    /// Begins a command of `length` bytes, made of these ops.
    pub(super) fn begin_command(
        &mut self,
        waiter: Waiter,
        client: ClientId,
        ops: Vec<NewOp>,
        then_sync: bool,
    ) {
        let reads = ops.iter().filter(|op| !op.kind.is_update());
        let length = reads.map(|op| op.at + u64::from(op.length)).max().unwrap_or(0);
        let command = ClientCommand {
            waiter,
            left: ops.len() as u32,
            length: length as usize,
            data: Vec::new(),
            held: Vec::new(),
            failed: false,
            inside: Span::ZERO,
            then_sync,
        };
        let command = self.clients.commands.acquire(command);
        if ops.is_empty() {
            return self.command_over(command);
        }
        for op in ops {
            self.issue(client, command, op);
        }
    }

    fn issue(&mut self, client: ClientId, command: SlotId, op: NewOp) {
        let NewOp { kind, pool, object, offset, length, at, data } = op;
        let target =
            Target { client, kind, traced: false, background: false, pool, object, offset, length };
        let (id, envelope) = self.node.cluster_mut().issue(self.now, &target, data);
        self.clients.parts.insert(id.slot.get(), CommandPart { command, at, length });
        if let Some(envelope) = envelope {
            self.node.send(envelope);
        }
    }

    /// An op has its reply.
    pub(super) fn replied(&mut self, reply: Reply) {
        let Some(issued) = self.node.cluster_mut().finish(reply.op) else { return };
        self.health.replied(&issued, &reply);
        self.note_served(&issued);
        let CommandPart { command, at, length } =
            self.clients.parts.remove(&reply.op.slot.get()).expect("the op was issued");
        let here = self.clients.commands.at_mut(command);
        here.inside = here.inside.max(reply.replied.since(reply.admitted));
        match reply.result {
            Ok(data) if issued.op.kind.is_update() => drop(data),
            Ok(data) => match data.ranges() {
                Some(ranges) => {
                    let from = u64::from(issued.op.offset);
                    let held = ranges.data.iter();
                    here.held.extend(held.map(|r| at + r.start - from..at + r.end - from));
                }
                None => here.take(at as usize, length as usize, data.into_vec()),
            },
            Err(_) => here.failed = true,
        }
        here.left -= 1;
        if here.left == 0 {
            self.command_over(command);
        }
    }

    /// Every copy has carried an update out, the primary alone a read.
    fn note_served(&mut self, issued: &IssuedOp) {
        let (is_update, bytes) = (issued.op.kind.is_update(), u64::from(issued.op.length));
        let acting = &self.node.cluster().map().pg(issued.op.pg).acting;
        let copies = if is_update { acting.len() } else { 1 };
        for osd in acting.iter().take(copies) {
            self.disks.of[*osd].served.note_op(is_update, bytes);
        }
    }

    fn command_over(&mut self, slot: SlotId) {
        let command = self.clients.commands.at_mut(slot);
        if command.then_sync && !command.failed {
            command.then_sync = false;
            let number = self.node.change(self.now, |cluster, fx| cluster.sync(fx));
            self.clients.syncs.entry(number).or_default().push(slot);
            return;
        }
        let command = self.clients.commands.release(slot);
        let ClientCommand { waiter, data, held, failed, inside, .. } = command;
        let ended = Ended { data: (!failed).then_some(data), held, inside };
        match waiter {
            Waiter::Nbd(command) => self.nbd_command_ended(command, ended),
            Waiter::Image => self.image_work_ended(&ended),
            Waiter::Direct(token) => self.direct_op_ended(token, ended),
        }
    }

    pub(super) fn client_synced(&mut self, number: u32) {
        for slot in self.clients.syncs.remove(&number).unwrap_or_default() {
            self.command_over(slot);
        }
    }
}
