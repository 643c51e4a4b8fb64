//! Clients' commands under way: each is made of ops on objects, and ends with the last of them.

use super::nbd::NbdCommand;
use super::vhost::VhostCommand;
use loadline_base::{SlotId, Slots, Span};
use loadline_cluster::{IssuedOp, PoolId};
use loadline_osd::{Data, OpKind, Reply};
use loadline_store::ObjectNo;
use std::collections::BTreeMap;
use std::ops::Range;

/// Who waits for a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiter {
    /// A command of an NBD connection.
    Nbd(NbdCommand),
    /// A request of a guest that is connected by vhost-user.
    Vhost(VhostCommand),
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
    /// A command of these ops begins.
    pub(super) fn begin(&mut self, waiter: Waiter, ops: &[NewOp], then_sync: bool) -> SlotId {
        let reads = ops.iter().filter(|op| !op.kind.is_update());
        let length = reads.map(|op| op.at + u64::from(op.length)).max().unwrap_or(0);
        self.commands.acquire(ClientCommand {
            waiter,
            left: ops.len() as u32,
            length: length as usize,
            data: Vec::new(),
            held: Vec::new(),
            failed: false,
            inside: Span::ZERO,
            then_sync,
        })
    }

    /// An op of a command has been issued.
    pub(super) fn issued(&mut self, op: SlotId, command: SlotId, at: u64, length: u32) {
        self.parts.insert(op.get(), CommandPart { command, at, length });
    }

    /// An op has its reply. Answers its command if that was the last one.
    pub(super) fn replied(&mut self, issued: &IssuedOp, reply: Reply) -> Option<SlotId> {
        let CommandPart { command, at, length } =
            self.parts.remove(&reply.op.slot.get()).expect("the op was issued");
        let here = self.commands.at_mut(command);
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
        (here.left == 0).then_some(command)
    }

    /// Whether a command whose ops have ended is still to be made durable; it asks once.
    pub(super) fn takes_sync(&mut self, command: SlotId) -> bool {
        let here = self.commands.at_mut(command);
        std::mem::take(&mut here.then_sync) && !here.failed
    }

    /// A command waits for the sync of this number.
    pub(super) fn awaits(&mut self, number: u32, command: SlotId) {
        self.syncs.entry(number).or_default().push(command);
    }

    /// The commands that have waited for a sync.
    pub(super) fn synced(&mut self, number: u32) -> Vec<SlotId> {
        self.syncs.remove(&number).unwrap_or_default()
    }

    /// A command is over.
    pub(super) fn end(&mut self, command: SlotId) -> (Waiter, Ended) {
        let command = self.commands.release(command);
        let ClientCommand { waiter, data, held, failed, inside, .. } = command;
        (waiter, Ended { data: (!failed).then_some(data), held, inside })
    }

    /// Commands that have not ended.
    pub(super) fn open_commands(&self) -> usize {
        self.commands.len()
    }
}
