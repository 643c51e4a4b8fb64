//! Clients' commands under way: each is made of ops on objects, and ends with the last of them.

use super::image_ops::NewOp;
use super::nbd::NbdCommand;
use super::range_work::{CommandFailure, HeldRanges, RangeAsk, RangeStep, RangeTurns, RangeWork};
use super::vhost::VhostCommand;
use crate::ConnId;
use loadline_base::{SlotId, Slots, Span};
use loadline_cluster::images::{Displaced, ImageId};
use loadline_cluster::{IssuedOp, PoolId, SyncEnd};
use loadline_osd::{ClientId, OpId, OpKind, Reply};
use std::collections::BTreeMap;
use std::ops::Range;

/// Who waits for a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiter {
    /// A command of an NBD connection.
    Nbd(NbdCommand),
    /// A request of a guest that is connected by vhost-user.
    Vhost(VhostCommand),
    /// A background job on the images of this pool.
    Image(PoolId),
    /// An op of the client in this process, by its own number.
    Direct(u64),
}

impl Waiter {
    /// Whether the end of the node waits for all steps: the next life knows nothing of the command, and an error is none that its client bears.
    fn outstays_steps(&self) -> bool {
        matches!(self, Waiter::Vhost(command) if !command.is_kept)
    }

    /// Whether it is a command of this NBD connection.
    pub(super) fn is_nbd_of(&self, conn: ConnId) -> bool {
        matches!(self, Waiter::Nbd(command) if command.is_of(conn))
    }
}

/// How a command has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    /// What was read, if it was a read.
    pub data: Result<Vec<u8>, CommandFailure>,
    /// Where data is held in what it asked about, in order.
    pub held: Vec<Range<u64>>,
    /// How many bytes of its range that tells of.
    pub covered: u64,
    /// From admission to reply of its longest op.
    pub inside: Span,
}

/// A command under way.
#[derive(Debug)]
struct ClientCommand {
    waiter: Waiter,
    client: ClientId,
    /// The image that its ops change, until they have ended.
    changes: Option<ImageId>,
    /// What is carried out in steps: none of it is left where it has only the ops that it began with.
    work: Option<RangeWork>,
    /// Its ops without a reply, and its sync.
    left: u32,
    /// Bytes that its reads bring together.
    length: usize,
    data: Vec<u8>,
    held: HeldRanges,
    failed: Option<CommandFailure>,
    /// Whoever has asked for it has gone.
    is_given_up: bool,
    inside: Span,
    /// It is to be durable before it ends, with all that clients of this image were answered.
    then_sync: Option<ImageId>,
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
    /// By the slots of the ops, which are few and used again.
    parts: Vec<Option<CommandPart>>,
    syncs: BTreeMap<u32, Vec<SlotId>>,
    turns: RangeTurns,
    /// Commands of clients that have closed, by the image that they change, with the number of that close.
    left: BTreeMap<ImageId, BTreeMap<SlotId, u64>>,
    /// Images at which others may not have to wait any more for those who have closed.
    freed: Vec<ImageId>,
    /// The node is about to end: who has had a step gets no other.
    is_ending: bool,
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

    /// Takes no further step, and what no OSD has of it is not wanted.
    fn give_up(&mut self) {
        self.is_given_up = true;
        self.work.iter_mut().for_each(RangeWork::give_up);
    }
}

impl ClientOps {
    /// A command of these ops begins.
    pub(super) fn begin(
        &mut self,
        waiter: Waiter,
        client: ClientId,
        ops: &[NewOp],
        then_sync: Option<ImageId>,
    ) -> SlotId {
        let reads = ops.iter().filter(|op| !op.kind.is_update());
        let length = reads.map(|op| op.at + u64::from(op.length)).max().unwrap_or(0);
        let length = length as usize;
        let changes = ops.iter().find(|op| op.kind.is_update());
        let changes = changes.map(|op| ImageId::of(op.object).0);
        let left = ops.len() as u32;
        let command = ClientCommand { left, length, changes, ..new(waiter, client) };
        self.commands.acquire(ClientCommand { then_sync, ..command })
    }

    /// A command begins that is carried out in steps.
    pub(super) fn begin_steps(
        &mut self,
        waiter: Waiter,
        client: ClientId,
        work: RangeWork,
        then_sync: Option<ImageId>,
    ) {
        let changes = (work.ask() == RangeAsk::Zero).then_some(work.image);
        let command = ClientCommand { work: Some(work), changes, then_sync, ..new(waiter, client) };
        let command = self.commands.acquire(command);
        self.turns.push(client, command);
    }

    /// A turn of the loop begins, which has time for so many steps.
    pub(super) fn begin_turn(&mut self) {
        self.turns.begin_turn();
    }

    /// Whether a step is due in this turn.
    pub(super) fn may_step(&self) -> bool {
        self.turns.may_go_on()
    }

    /// Whether a step is left for the next turn.
    pub(super) fn has_steps(&self) -> bool {
        self.turns.are_left()
    }

    /// The next command that takes a step in this turn, and what is left of it.
    pub(super) fn next_step(&mut self) -> Option<(SlotId, ClientId, &mut RangeWork)> {
        let command = self.turns.next()?;
        let here = self.commands.at_mut(command);
        Some((command, here.client, here.work.as_mut().expect("it is carried out in steps")))
    }

    /// A command has taken a step, whose ops are about to be issued, or has failed in it.
    pub(super) fn stepped(
        &mut self,
        command: SlotId,
        step: Result<RangeStep, CommandFailure>,
    ) -> Vec<NewOp> {
        let here = self.commands.at_mut(command);
        match step {
            Ok(step) => {
                self.turns.took(&step);
                here.left = step.ops.len() as u32;
                step.ops
            }
            Err(failure) => {
                here.failed = Some(failure);
                Vec::new()
            }
        }
    }

    /// Whether a command whose ops have ended has a step left, which it takes when it is its turn.
    pub(super) fn goes_on(&mut self, command: SlotId) -> bool {
        let here = self.commands.at_mut(command);
        let has_more = here.work.as_ref().is_some_and(|work| !work.is_done());
        if has_more && self.is_ending && !here.waiter.outstays_steps() {
            here.failed = here.failed.or(Some(CommandFailure::Ending));
        }
        let goes_on = has_more && here.failed.is_none();
        let client = here.client;
        if goes_on {
            self.turns.push(client, command);
        } else if let Some(image) = here.changes.take() {
            self.changes_no_more(image, command);
        }
        goes_on
    }

    fn changes_no_more(&mut self, image: ImageId, command: SlotId) {
        let Some(left) = self.left.get_mut(&image) else { return };
        let Some(close) = left.remove(&command) else { return };
        // Whoever waits for it may not wait for those of later closes.
        if left.values().all(|other| *other > close) {
            self.freed.push(image);
        }
        if left.is_empty() {
            self.left.remove(&image);
        }
    }

    /// A client has closed, by a close of this number if it is not known of an earlier one. Nothing orders what its commands change with what others
    /// write there: those wait for it. The owner of such work is no sign of who it was: its number is given again while it lives.
    pub(super) fn leave_behind(&mut self, is_of: impl Fn(&Waiter) -> bool, close: u64) {
        self.leave_with(is_of, close, |_| ());
    }

    /// The same of one that has gone, whose commands are given up: whoever comes after it may write there then.
    pub(super) fn give_up(&mut self, is_of: impl Fn(&Waiter) -> bool, close: u64) {
        self.leave_with(is_of, close, ClientCommand::give_up);
    }

    fn leave_with(
        &mut self,
        is_of: impl Fn(&Waiter) -> bool,
        close: u64,
        then: fn(&mut ClientCommand),
    ) {
        let of = self.commands.iter().filter(|(_, command)| is_of(&command.waiter));
        for id in of.map(|(id, _)| id).collect::<Vec<_>>() {
            let command = self.commands.at_mut(id);
            then(command);
            if let Some(image) = command.changes {
                self.left.entry(image).or_default().entry(id).or_insert(close);
            }
        }
    }

    /// Whether a command of a client that has closed still changes an image.
    pub(super) fn is_left_at(&self, image: ImageId) -> bool {
        self.left.contains_key(&image)
    }

    /// The first close by which one of these has left such a command behind.
    pub(super) fn left_by(&self, image: ImageId, is_of: impl Fn(&Waiter) -> bool) -> Option<u64> {
        let left = self.left.get(&image).into_iter().flatten();
        let left =
            left.filter(|(id, _)| self.commands.get(**id).is_some_and(|it| is_of(&it.waiter)));
        left.map(|(_, close)| *close).min()
    }

    /// Whether there is such a command at all.
    pub(super) fn has_left(&self) -> bool {
        !self.left.is_empty()
    }

    /// Whether an op is one of a command of one of these.
    pub(super) fn is_op_of(&self, op: OpId, is_of: impl Fn(&Waiter) -> bool) -> bool {
        self.command_of(op).is_some_and(|command| is_of(&command.waiter))
    }

    /// Whether an op is one of a command that is given up.
    pub(super) fn is_given_up(&self, op: OpId) -> bool {
        self.command_of(op).is_some_and(|command| command.is_given_up)
    }

    fn command_of(&self, op: OpId) -> Option<&ClientCommand> {
        let part = self.parts.get(op.slot.get() as usize).copied().flatten()?;
        self.commands.get(part.command)
    }

    /// Others may not have to wait any more at an image for those who have closed.
    pub(super) fn free(&mut self, image: ImageId) {
        self.freed.push(image);
    }

    /// Whether there are such images.
    pub(super) fn has_freed(&self) -> bool {
        !self.freed.is_empty()
    }

    /// The next one.
    pub(super) fn next_freed(&mut self) -> Option<ImageId> {
        self.freed.pop()
    }

    /// The node is about to end, and commands that are carried out in steps do not keep it.
    pub(super) fn end_steps(&mut self) {
        self.is_ending = true;
    }

    /// An op of a command has been issued.
    pub(super) fn issued(&mut self, op: SlotId, command: SlotId, at: u64, length: u32) {
        let place = op.get() as usize;
        if self.parts.len() <= place {
            self.parts.resize(place + 1, None);
        }
        self.parts[place] = Some(CommandPart { command, at, length });
    }

    /// An op has its reply, which counts for nothing if what it tells of is gone. Answers its command if that was the last one.
    pub(super) fn replied(
        &mut self,
        issued: &IssuedOp,
        reply: Reply,
        is_gone: bool,
    ) -> Option<SlotId> {
        let CommandPart { command, at, length } = self.take_part(reply.op);
        let here = self.commands.at_mut(command);
        here.inside = here.inside.max(reply.replied.since(reply.admitted));
        match reply.result {
            _ if is_gone => here.failed = Some(CommandFailure::Gone),
            Ok(data) if issued.op.kind.is_update() => drop(data),
            Ok(data)
                if data.ranges().is_none() && matches!(issued.op.kind, OpKind::Changed { .. }) =>
            {
                let most = here.work.as_ref().map_or(0, RangeWork::extents_most);
                here.held.extend(most, std::iter::once(at..at + u64::from(length)));
            }
            Ok(data) => match data.ranges() {
                Some(ranges) => {
                    let from = u64::from(issued.op.offset);
                    // Zeros are told where it is compared with something that has others there.
                    let held = ranges.data.iter().chain(&ranges.zeros);
                    let most = here.work.as_ref().map_or(0, RangeWork::extents_most);
                    here.held.extend(most, held.map(|r| at + r.start - from..at + r.end - from));
                }
                None if here.length > 0 => here.take(at as usize, length as usize, data.into_vec()),
                None => {}
            },
            Err(_) => here.failed = Some(CommandFailure::NoCopy),
        }
        here.left -= 1;
        (here.left == 0).then_some(command)
    }

    /// An op has ended that no OSD had. Answers its command if that was the last one.
    pub(super) fn displaced(&mut self, op: OpId, why: Displaced) -> Option<SlotId> {
        let CommandPart { command, .. } = self.take_part(op);
        let here = self.commands.at_mut(command);
        here.failed = Some(match why {
            Displaced::Gone => CommandFailure::Gone,
            Displaced::PastEnd => CommandFailure::PastEnd,
        });
        here.left -= 1;
        (here.left == 0).then_some(command)
    }

    fn take_part(&mut self, op: OpId) -> CommandPart {
        let part = self.parts.get_mut(op.slot.get() as usize).and_then(Option::take);
        part.expect("the op was issued")
    }

    /// The image that a command whose ops have ended is still to be made durable with; it asks once.
    pub(super) fn takes_sync(&mut self, command: SlotId) -> Option<ImageId> {
        let here = self.commands.at_mut(command);
        here.then_sync.take().filter(|_| here.failed.is_none())
    }

    /// A command waits for the sync of this number.
    pub(super) fn awaits(&mut self, number: u32, command: SlotId) {
        self.syncs.entry(number).or_default().push(command);
    }

    /// The commands that have waited for a sync, which fail if it has.
    pub(super) fn synced(&mut self, sync: SyncEnd) -> Vec<SlotId> {
        let commands = self.syncs.remove(&sync.number).unwrap_or_default();
        for command in commands.iter().filter(|_| !sync.is_durable) {
            self.commands.at_mut(*command).failed = Some(CommandFailure::MayBeLost);
        }
        commands
    }

    /// A command is over.
    pub(super) fn end(&mut self, command: SlotId) -> (Waiter, Ended) {
        let command = self.commands.release(command);
        let ClientCommand { waiter, work, data, held, failed, inside, .. } = command;
        let (held, covered) = held.told(work.map_or(0, |work| work.covered));
        (waiter, Ended { data: failed.map_or(Ok(data), Err), held, covered, inside })
    }

    /// Commands that have not ended.
    pub(super) fn open_commands(&self) -> usize {
        self.commands.len()
    }
}

/// A command of no op.
fn new(waiter: Waiter, client: ClientId) -> ClientCommand {
    ClientCommand {
        waiter,
        client,
        changes: None,
        work: None,
        left: 0,
        length: 0,
        data: Vec::new(),
        held: HeldRanges::default(),
        failed: None,
        is_given_up: false,
        inside: Span::ZERO,
        then_sync: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flush was answered as a good one whatever had become of the disk that it was to make durable.
    #[test]
    fn a_command_fails_with_the_sync_that_it_waits_for() {
        let image = ImageId { family: 1, member: 2 };
        for (is_durable, data) in [(true, Ok(Vec::new())), (false, Err(CommandFailure::MayBeLost))]
        {
            let mut clients = ClientOps::default();
            let waiter = Waiter::Direct(7);
            let command = clients.begin(waiter, ClientId::new(1), &[], Some(image));
            assert_eq!(clients.takes_sync(command), Some(image));
            assert_eq!(clients.takes_sync(command), None, "it asks once");
            clients.awaits(3, command);
            assert_eq!(clients.synced(SyncEnd { number: 2, is_durable: false }), []);
            assert_eq!(clients.synced(SyncEnd { number: 3, is_durable }), [command]);
            assert_eq!(clients.end(command).1.data, data);
        }
    }
}
