//! Requests to disks: each waits for memory in its disk's line, is carried out in one or several calls, and is
//! answered once.

use super::events::{CallPurpose, DiskId, LoopEvent};
use crate::OpenedDisk;
use crate::backend::{Arena, ArenaBlock, Backend, Call};
use loadline_base::{Bytes, SlotId, Slots};
use loadline_device::{Outcome, Priority, PriorityClass, Request, RequestKind};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;

/// The disks of a loop.
#[derive(Debug)]
pub(super) struct LoopDisks {
    disks: Slots<LoopDisk>,
    /// Memory of each for what is in flight.
    memory: Bytes,
    real_time_refused: bool,
    limits_refused: bool,
}

#[derive(Debug)]
struct LoopDisk {
    opened: OpenedDisk,
    arena: Arena,
    /// Requests that found no memory, in the order in which they came.
    line: VecDeque<Transfer>,
    unanswered: usize,
}

/// A request on its way.
#[derive(Debug)]
pub(super) struct Transfer {
    token: u64,
    request: Request,
    /// A write's bytes, or the part of a read's bytes that is there.
    data: Vec<u8>,
    /// How many bytes are moved already.
    moved: usize,
}

impl LoopDisks {
    /// Disks that have so much memory each.
    pub(super) fn new(memory: Bytes) -> LoopDisks {
        LoopDisks { disks: Slots::new(), memory, real_time_refused: false, limits_refused: false }
    }

    /// Takes a disk in. Answers its id, and why its memory is not registered, if it is not.
    pub(super) fn add(
        &mut self,
        opened: OpenedDisk,
        backend: &mut Backend<CallPurpose>,
    ) -> io::Result<(DiskId, Option<String>)> {
        let length =
            usize::try_from(self.memory.get()).expect("a disk's memory fits the address space");
        let arena = Arena::new(length)?;
        let disk = LoopDisk { opened, arena, line: VecDeque::new(), unanswered: 0 };
        let id = DiskId::new(self.disks.acquire(disk).get());
        let disk = self.at(id);
        match backend.attach(id, disk.opened.fd(), &disk.arena) {
            Ok(unregistered) => Ok((id, unregistered)),
            Err(error) => {
                self.disks.release(slot(id));
                Err(error)
            }
        }
    }

    pub(super) fn remove(&mut self, id: DiskId, backend: &mut Backend<CallPurpose>) -> OpenedDisk {
        assert_eq!(self.unanswered(id), 0, "{id} has requests in flight");
        backend.detach(id);
        self.disks.release(slot(id)).opened
    }

    pub(super) fn opened(&self, id: DiskId) -> &OpenedDisk {
        &self.at(id).opened
    }

    pub(super) fn opened_mut(&mut self, id: DiskId) -> &mut OpenedDisk {
        &mut self.disks.at_mut(slot(id)).opened
    }

    pub(super) fn unanswered(&self, id: DiskId) -> usize {
        self.at(id).unanswered
    }

    /// Whether the system has refused a real-time priority word to this process.
    pub(super) fn real_time_refused(&self) -> bool {
        self.real_time_refused
    }

    /// Whether the system has refused a duration limit.
    pub(super) fn limits_refused(&self) -> bool {
        self.limits_refused
    }

    fn at(&self, id: DiskId) -> &LoopDisk {
        self.disks.at(slot(id))
    }

    /// Takes a request. One that no disk could carry out is answered in `out`.
    pub(super) fn submit<M>(
        &mut self,
        id: DiskId,
        (token, request, data): (u64, Request, Vec<u8>),
        backend: &mut Backend<CallPurpose>,
        out: &mut Vec<LoopEvent<M>>,
    ) {
        let disk = self.disks.at_mut(slot(id));
        let writes = if request.kind == RequestKind::Write { request.length.get() } else { 0 };
        assert_eq!(data.len() as u64, writes, "a write brings its bytes, and nothing else does");
        disk.unanswered += 1;
        let transfer = Transfer { token, request, data, moved: 0 };
        let is_kept = request.kind == RequestKind::Discard && !disk.opened.takes_discards();
        if is_kept && disk.can_carry_out(&request) {
            // A discard is a hint, and the file keeps its blocks.
            out.push(disk.answer(id, transfer, Ok(())));
        } else if disk.can_carry_out(&request) {
            disk.line.push_back(transfer);
            disk.advance(id, backend);
        } else {
            out.push(disk.answer(id, transfer, Err(Errno::INVAL)));
        }
    }

    /// Goes on with a transfer whose call is over.
    pub(super) fn finish<M>(
        &mut self,
        id: DiskId,
        mut transfer: Transfer,
        (call, result): (Call, Result<usize, Errno>),
        backend: &mut Backend<CallPurpose>,
        out: &mut Vec<LoopEvent<M>>,
    ) {
        let disk = self.disks.at_mut(slot(id));
        let (block, result) = match call {
            Call::Read { block, .. } | Call::Write { block, .. } => {
                let milder =
                    result.err().and_then(|error| milder(transfer.request.priority, error));
                if let Some(milder) = milder {
                    self.real_time_refused |= result == Err(Errno::PERM);
                    self.limits_refused |= result != Err(Errno::PERM);
                    transfer.request.priority = milder;
                    return disk.move_next(id, transfer, block, backend);
                }
                let result = result.and_then(|moved| disk.take_moved(&mut transfer, &block, moved));
                if result == Ok(()) && transfer.rest() > 0 {
                    return disk.move_next(id, transfer, block, backend);
                }
                (Some(block), result)
            }
            Call::Punch { .. } => (None, result.map(drop).or_else(no_discard)),
            _ => (None, result.map(drop)),
        };
        if let Some(block) = block {
            disk.arena.give(block);
        }
        out.push(disk.answer(id, transfer, result));
        disk.advance(id, backend);
    }
}

impl LoopDisk {
    /// Whether the range is made of sectors of this disk.
    fn can_carry_out(&self, request: &Request) -> bool {
        let (offset, length) = (request.offset, request.length.get());
        let sector = u64::from(self.opened.sector());
        let end = offset.checked_add(length);
        match request.kind {
            RequestKind::Flush => length == 0,
            _ => {
                length > 0
                    && offset.is_multiple_of(sector)
                    && length.is_multiple_of(sector)
                    && end.is_some_and(|end| end <= self.opened.size().get())
            }
        }
    }

    /// Begins what stands in line as long as there is memory. The order is kept, so that a long request is not
    /// overtaken for ever.
    fn advance(&mut self, id: DiskId, backend: &mut Backend<CallPurpose>) {
        while let Some(transfer) = self.line.pop_front() {
            let Request { kind, offset, length, .. } = transfer.request;
            let call = match kind {
                RequestKind::Flush => Call::Flush { disk: id },
                RequestKind::Discard => Call::Punch { disk: id, offset, length: length.get() },
                RequestKind::Read | RequestKind::Write => {
                    let longest = self.arena.longest();
                    let Some(block) = self.arena.take(transfer.rest().min(longest)) else {
                        return self.line.push_front(transfer);
                    };
                    self.move_next(id, transfer, block, backend);
                    continue;
                }
            };
            backend.begin(CallPurpose::Transfer(id, transfer), call);
        }
    }

    /// Begins the next piece of a read or a write, as long as the block.
    fn move_next(
        &self,
        id: DiskId,
        transfer: Transfer,
        mut block: ArenaBlock,
        backend: &mut Backend<CallPurpose>,
    ) {
        let length = transfer.rest().min(block.len()).min(self.arena.longest());
        let offset = transfer.request.offset + transfer.moved as u64;
        let priority = kernel_word(transfer.request.priority);
        let (disk, piece) = (id, length as u32);
        let call = if transfer.request.kind == RequestKind::Read {
            Call::Read { disk, offset, length: piece, block, priority }
        } else {
            let bytes = &transfer.data[transfer.moved..][..length];
            block[..length].copy_from_slice(bytes);
            Call::Write { disk, offset, length: piece, block, priority }
        };
        backend.begin(CallPurpose::Transfer(id, transfer), call);
    }

    /// Accounts for what a call has moved. Only whole sectors count, since the rest must begin at one; nothing at
    /// all means that the disk ends before its size.
    fn take_moved(
        &self,
        transfer: &mut Transfer,
        block: &ArenaBlock,
        moved: usize,
    ) -> Result<(), Errno> {
        let moved = moved - moved % self.opened.sector() as usize;
        if moved == 0 {
            return Err(Errno::IO);
        }
        if transfer.request.kind == RequestKind::Read {
            // All at once, so that a read in pieces does not grow its buffer piece by piece.
            transfer.data.reserve_exact(transfer.rest());
            transfer.data.extend_from_slice(&block[..moved]);
        }
        transfer.moved += moved;
        Ok(())
    }

    fn answer<M>(
        &mut self,
        disk: DiskId,
        transfer: Transfer,
        result: Result<(), Errno>,
    ) -> LoopEvent<M> {
        self.unanswered -= 1;
        let mut data = transfer.data;
        let limited = transfer.request.priority.descriptor() != 0;
        let outcome = outcome(result, transfer.request.kind, limited);
        if result.is_err() && transfer.request.kind == RequestKind::Read {
            data = Vec::new();
        }
        LoopEvent::DiskDone {
            disk,
            token: transfer.token,
            outcome,
            data,
            error: result.err().filter(|_| outcome != Outcome::OverLimit).map(Errno::raw_os_error),
        }
    }
}

impl Transfer {
    /// Bytes still to be moved.
    fn rest(&self) -> usize {
        self.request.length.get() as usize - self.moved
    }
}

fn slot(id: DiskId) -> SlotId {
    SlotId::new(id.get())
}

/// A discard is a hint: a disk that knows none has carried it out, and so has a file system that has no room to note a hole.
fn no_discard(errno: Errno) -> Result<(), Errno> {
    let none =
        [Errno::OPNOTSUPP, Errno::NOSYS, Errno::NOTTY, Errno::NODEV, Errno::NOSPC, Errno::DQUOT];
    if none.contains(&errno) { Ok(()) } else { Err(errno) }
}

/// What an answer of the kernel means. With ETIME it tells, from 6.5 on, that the drive ended a command for its duration
/// limit; of a request without one it is a failure like any other. So is a lack of room that a flush tells: what it was to
/// make durable may be gone from the page cache by then.
fn outcome(result: Result<(), Errno>, kind: RequestKind, limited: bool) -> Outcome {
    match result {
        Ok(()) => Outcome::Done,
        Err(Errno::TIME) if limited => Outcome::OverLimit,
        Err(Errno::NOSPC | Errno::DQUOT) if kind == RequestKind::Write => Outcome::NoSpace,
        Err(_) => Outcome::Failed,
    }
}

/// The priority with which a request may go that the system has refused; `None` if its priority is not the reason. A
/// real-time class is a privilege; a descriptor is an invalid word to kernels before 6.5, and to drives without limits.
fn milder(priority: Priority, error: Errno) -> Option<Priority> {
    match error {
        Errno::PERM if priority.class() != PriorityClass::None => {
            Some(Priority::default().with_descriptor(priority.descriptor()))
        }
        Errno::INVAL | Errno::OPNOTSUPP if priority.descriptor() != 0 => {
            Some(priority.with_descriptor(0))
        }
        _ => None,
    }
}

/// The level that the kernel gives whoever has asked for none (`IOPRIO_BE_NORM`).
const NORMAL_LEVEL: u8 = 4;

/// The word as the kernel heeds it. Without a class it takes a level for an error (`block/ioprio.c`), and puts the task's own
/// word in the place of the whole, its descriptor included (cdl.md 2.1): a limit alone travels with the default class.
fn kernel_word(priority: Priority) -> u16 {
    match (priority.class(), priority.descriptor()) {
        (PriorityClass::None, 0) => 0,
        (PriorityClass::None, descriptor) => Priority::new(PriorityClass::BestEffort, NORMAL_LEVEL)
            .with_descriptor(descriptor)
            .word(),
        _ => priority.word(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_was_ended_for_time_has_not_failed() {
        assert_eq!(outcome(Ok(()), RequestKind::Read, true), Outcome::Done);
        assert_eq!(outcome(Err(Errno::TIME), RequestKind::Read, true), Outcome::OverLimit);
        assert_eq!(outcome(Err(Errno::IO), RequestKind::Read, true), Outcome::Failed);
        let unlimited = outcome(Err(Errno::TIME), RequestKind::Read, false);
        assert_eq!(unlimited, Outcome::Failed, "nobody set a limit");
    }

    #[test]
    fn a_write_without_room_may_be_asked_for_again_and_a_flush_may_not() {
        for errno in [Errno::NOSPC, Errno::DQUOT] {
            assert_eq!(outcome(Err(errno), RequestKind::Write, false), Outcome::NoSpace);
            assert_eq!(outcome(Err(errno), RequestKind::Flush, false), Outcome::Failed);
        }
    }

    /// Best effort, level 4, hint 1: 2 << 13 | 1 << 3 | 4.
    #[test]
    fn a_limit_alone_gets_a_class_so_that_the_kernel_keeps_it() {
        assert_eq!(kernel_word(Priority::default().with_descriptor(1)), 0x400c);
        assert_eq!(kernel_word(Priority::new(PriorityClass::None, 5)), 0);
        assert_eq!(kernel_word(Priority::new(PriorityClass::RealTime, 2)), 0x2002);
    }

    #[test]
    fn a_refused_word_loses_what_was_refused_and_nothing_else() {
        let limited = Priority::new(PriorityClass::RealTime, 2).with_descriptor(3);
        let without_class = Priority::default().with_descriptor(3);
        assert_eq!(milder(limited, Errno::PERM), Some(without_class));
        assert_eq!(milder(without_class, Errno::PERM), None);
        let without_limit = Priority::new(PriorityClass::RealTime, 2);
        assert_eq!(milder(limited, Errno::INVAL), Some(without_limit));
        assert_eq!(milder(without_limit, Errno::INVAL), None);
        assert_eq!(milder(limited, Errno::IO), None);
    }
}
