//! The processors of a simulated machine, where all of its OSDs and their clients share them.
//!
//! Work waits in one line. A processor works at a piece for one slice at most; if more of the piece is left, it goes to the end of the
//! line. So a long piece does not hold up short ones for longer than a slice, as where threads take turns; a slice without end is a
//! thread that carries each piece out before it takes the next.
//!
//! Left out: which processor a thread ran on before, priorities, and work that no op and no object asks for.

use loadline_base::{Bytes, SlotId, Slots, Span, Time};
use loadline_osd::{ItemSize, Message};
use loadline_qos::Work;
use std::collections::VecDeque;

/// Processors that take turns at what there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorSpec {
    /// How many work at once.
    pub cores: u32,
    /// How long one works at a piece before it takes the next in line.
    pub slice: Span,
}

/// What work takes of whoever does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkPrice {
    /// A small write or a read on one copy, with all that it causes: messages, the store, its part of the client's work.
    pub per_copy: Span,
    /// Each MiB that an OSD takes in or sends as data of objects, on top.
    pub per_mib: Span,
}

impl WorkPrice {
    /// What a worker's item takes. What only tells of others' work is part of theirs.
    pub(crate) fn of_item(&self, size: ItemSize) -> Span {
        let is_access = matches!(
            size.work,
            Work::ClientOp | Work::BackgroundOp | Work::ReplicaWrite | Work::Push
        );
        let own = if is_access && !size.goes_on { self.per_copy } else { Span::ZERO };
        own + self.of_data(size.payload)
    }

    /// What a message takes before it leaves: its sender has read what goes with it.
    pub(crate) fn of_message(&self, message: &Message) -> Span {
        match message {
            Message::Push(push) => self.per_copy + self.of_data(push.length()),
            _ => Span::ZERO,
        }
    }

    fn of_data(&self, bytes: Bytes) -> Span {
        self.per_mib * bytes.get() / (1 << 20)
    }
}

/// Processors with the work that waits for them, and what happens after each piece of it.
pub(crate) struct Processors<E> {
    spec: ProcessorSpec,
    idle: u32,
    line: VecDeque<ProcessorWork<E>>,
    running: Slots<ProcessorWork<E>>,
}

struct ProcessorWork<E> {
    left: Span,
    then: E,
}

/// A processor has begun with a piece, and is to be looked after then.
pub(crate) type Slice = (Time, SlotId);

impl<E> Processors<E> {
    pub(crate) fn new(spec: ProcessorSpec) -> Processors<E> {
        assert!(spec.cores > 0 && spec.slice > Span::ZERO, "processors get something done");
        Processors { spec, idle: spec.cores, line: VecDeque::new(), running: Slots::new() }
    }

    /// A piece of work joins the line. The answer is a slice that begins with that.
    pub(crate) fn work(&mut self, now: Time, left: Span, then: E) -> Option<Slice> {
        self.line.push_back(ProcessorWork { left, then });
        self.begin(now)
    }

    /// A slice is over. The answer is what follows on its piece, if that is done, and the slice that begins.
    pub(crate) fn slice_over(&mut self, now: Time, piece: SlotId) -> (Option<E>, Option<Slice>) {
        self.idle += 1;
        let piece = self.running.release(piece);
        let done = match piece.left {
            Span::ZERO => Some(piece.then),
            _ => {
                self.line.push_back(piece);
                None
            }
        };
        (done, self.begin(now))
    }

    fn begin(&mut self, now: Time) -> Option<Slice> {
        if self.idle == 0 {
            return None;
        }
        let mut piece = self.line.pop_front()?;
        self.idle -= 1;
        let slice = piece.left.min(self.spec.slice);
        piece.left = piece.left - slice;
        Some((now + slice, self.running.acquire(piece)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of these sizes come together; they are done in this order at these times.
    fn check(cores: u32, slice: u64, pieces: &[u64], done: &[(usize, u64)]) {
        let slice = Span::from_nanos(slice);
        let mut processors = Processors::new(ProcessorSpec { cores, slice });
        let mut slices: Vec<Slice> = Vec::new();
        for (number, takes) in pieces.iter().enumerate() {
            slices.extend(processors.work(Time::ZERO, Span::from_nanos(*takes), number));
        }
        let mut found = Vec::new();
        while let Some(first) = (0..slices.len()).min_by_key(|at| slices[*at].0) {
            let (now, piece) = slices.remove(first);
            let (ended, next) = processors.slice_over(now, piece);
            found.extend(ended.map(|number| (number, now.nanos())));
            slices.extend(next);
        }
        assert_eq!(found, done);
    }

    #[test]
    fn work_waits_for_a_processor_and_takes_turns() {
        check(1, 100, &[30, 30], &[(0, 30), (1, 60)]);
        check(2, 100, &[30, 30, 30], &[(0, 30), (1, 30), (2, 60)]);
        // The long piece gives way after each slice.
        check(1, 100, &[250, 30, 30], &[(1, 130), (2, 160), (0, 310)]);
        check(1, 1000, &[250, 30, 30], &[(0, 250), (1, 280), (2, 310)]);
        check(4, 100, &[250], &[(0, 250)]);
        check(1, 100, &[0, 0], &[(0, 0), (1, 0)]);
    }
}
