//! The direct store behind the front door of every store: the same ops, their effects in memory, one device request for
//! each write and read.
//!
//! Data is kept as what was given: a pattern stays a pattern, so that a simulated terabyte costs no memory. Nothing is kept
//! on the device, and its requests carry no data; a crash loses what was under way, and nothing else.

mod contents;

use crate::direct::{Access, DirectStore, RequestId, Submission};
use crate::paged::api::{
    Answer, Ask, Edit, Io, IoDone, IoId, ObjectId, Op, OpError, Outbox, Stages, Target,
};
use crate::paged::{Completion, Lane, ids::CheckpointId};
use crate::store::Store;
use crate::window::WindowBounds;
use contents::Contents;
use loadline_base::{Bytes, SlotId, Slots, Span, Time};
use loadline_device::{Kind, Outcome};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// An op that waits for its requests.
#[derive(Clone, Debug)]
struct Waiting<T> {
    op: Op<T>,
    left: u32,
    failed: bool,
    stages: Stages,
}

/// A direct store that takes [`Op`]s.
pub struct DirectOps<T> {
    store: DirectStore<SlotId>,
    contents: Contents,
    waiting: Slots<Waiting<T>>,
    lanes: BTreeMap<Lane, VecDeque<(Op<T>, Time)>>,
    requests: Slots<RequestId>,
    submissions: Vec<Submission>,
}

impl<T: Copy> DirectOps<T> {
    /// An empty store.
    pub fn new(bounds: WindowBounds) -> DirectOps<T> {
        DirectOps {
            store: DirectStore::new(bounds),
            contents: Contents::default(),
            waiting: Slots::new(),
            lanes: BTreeMap::new(),
            requests: Slots::new(),
            submissions: Vec::new(),
        }
    }

    /// Begins the next life: what was under way is forgotten, what was answered stays.
    pub fn restart(&mut self) {
        self.store.restart();
        (self.waiting, self.requests) = (Slots::new(), Slots::new());
        self.lanes.clear();
    }

    fn begin(&mut self, now: Time, op: Op<T>, submitted: Time, out: &mut Outbox<T>) {
        let accesses = accesses(&op, &self.contents);
        let stages =
            Stages { submitted, planned: now, admitted: now, applied: now, throttled: Span::ZERO };
        let left = accesses.len() as u32;
        let class = op.class;
        let slot = self.waiting.acquire(Waiting { op, left, failed: false, stages });
        for (kind, object, offset, length) in accesses {
            let access = Access {
                kind,
                collection: object.collection,
                object: object.object,
                offset,
                length: Bytes::new(length),
                class,
                token: slot,
            };
            self.store.access(now, access, &mut self.submissions);
        }
        if left == 0 {
            self.end(now, slot, out);
        }
        self.hand_over(out);
    }

    fn hand_over(&mut self, out: &mut Outbox<T>) {
        for Submission { id, request } in self.submissions.drain(..) {
            let id = IoId(self.requests.acquire(id));
            out.io.push(Io { id, target: Target::Data, request, data: Vec::new() });
        }
    }

    /// An op's requests are done: it takes effect, and the next of its lane begins.
    fn end(&mut self, now: Time, slot: SlotId, out: &mut Outbox<T>) {
        let Waiting { op, failed, mut stages, .. } = self.waiting.release(slot);
        stages.applied = now;
        let result = match (failed, &op.ask) {
            (true, Ask::Transaction(_)) => Err(OpError::Unwritable),
            (true, _) => Err(OpError::Unreadable),
            (false, _) => self.contents.answer(op.ask),
        };
        out.completions.push(Completion { token: op.token, result, stages });
        let Some(lane) = op.lane else { return };
        let queue = self.lanes.get_mut(&lane).expect("a running op keeps its lane");
        match queue.pop_front() {
            Some((next, submitted)) => self.begin(now, next, submitted, out),
            None => {
                self.lanes.remove(&lane);
            }
        }
    }
}

impl<T: Copy> Store<T> for DirectOps<T> {
    fn submit(&mut self, now: Time, op: Op<T>, out: &mut Outbox<T>) {
        if let Some(lane) = op.lane {
            if let Some(queue) = self.lanes.get_mut(&lane) {
                queue.push_back((op, now));
                return;
            }
            self.lanes.insert(lane, VecDeque::new());
        }
        self.begin(now, op, now, out);
    }

    fn done(&mut self, now: Time, done: IoDone, out: &mut Outbox<T>) {
        let id = self.requests.release(done.id.0);
        let Some(completion) = self.store.done(now, id, &mut self.submissions) else { return };
        let slot = completion.access.token;
        let waiting = self.waiting.at_mut(slot);
        waiting.left -= 1;
        waiting.failed |= done.outcome != Outcome::Done;
        if waiting.left == 0 {
            self.end(now, slot, out);
        }
        self.hand_over(out);
    }

    fn tick(&mut self, _now: Time, _out: &mut Outbox<T>) {}

    fn next_tick(&self) -> Option<Time> {
        None
    }
}

/// What an op does to the device: kind, object, first byte, bytes.
fn accesses<T>(op: &Op<T>, contents: &Contents) -> Vec<(Kind, ObjectId, u64, u64)> {
    match &op.ask {
        Ask::Transaction(edits) => edits
            .iter()
            .filter_map(|edit| match edit {
                Edit::Write { object, offset, data, .. } if data.length() > 0 => {
                    Some((Kind::Write, *object, *offset, data.length()))
                }
                _ => None,
            })
            .collect(),
        Ask::Read { object, offset, length } if *length > 0 => {
            vec![(Kind::Read, *object, *offset, *length)]
        }
        Ask::Sparse { object, base, offset, length, with_bytes: true } => {
            let ranges = contents.ranges(*object, *base, *offset, *length).unwrap_or_default();
            let read =
                |range: Range<u64>| (Kind::Read, *object, range.start, range.end - range.start);
            ranges.data.into_iter().map(read).collect()
        }
        _ => Vec::new(),
    }
}

/// The number that stands for a checkpoint where there are none.
const NO_CHECKPOINT: CheckpointId = CheckpointId(0);

/// The answer to an op that has nothing to do here.
fn nothing_to_do(ask: &Ask) -> Answer {
    match ask {
        Ask::Checkpoint => Answer::Checkpointed(NO_CHECKPOINT),
        _ => Answer::Done,
    }
}
