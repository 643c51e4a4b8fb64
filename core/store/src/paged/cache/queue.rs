//! First-in first-out queues of frames, linked through the frames themselves, so that any frame can leave at once.

use super::FrameId;
use crate::paged::ids::PageNo;
use loadline_base::IdVec;
use std::cell::Cell;

/// Where a frame's page belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// The frame holds no page.
    Free,
    /// The queue of pages on trial.
    Small,
    /// The queue of pages that have proved their worth.
    Main,
}

/// What the cache knows of one frame: 32 bytes, beside the page's own.
pub(super) struct Frame {
    pub(super) page: PageNo,
    pub(super) pins: u32,
    /// Neighbours in the queue; an end has none.
    before: u32,
    after: u32,
    pub(super) home: Home,
    /// Whether the frame is in its home queue. A pinned one need not be.
    pub(super) queued: bool,
    /// Uses since the page came or last had another round. A cell, because looking a page up changes nothing else.
    pub(super) uses: Cell<u8>,
    /// Not to be found: its page is still on its way.
    pub(super) hidden: bool,
    /// The op that used it last, so that an op counts as one use.
    pub(super) used_by: Cell<u32>,
}

/// No frame.
const NONE: u32 = u32::MAX;

impl Frame {
    /// A free frame.
    pub(super) const fn new() -> Frame {
        Frame {
            page: PageNo(0),
            pins: 0,
            before: NONE,
            after: NONE,
            home: Home::Free,
            queued: false,
            uses: Cell::new(0),
            hidden: false,
            used_by: Cell::new(0),
        }
    }
}

/// The ends of one queue.
pub(super) struct FrameQueue {
    head: u32,
    tail: u32,
    len: u32,
}

impl FrameQueue {
    /// An empty queue.
    pub(super) const fn new() -> FrameQueue {
        FrameQueue { head: NONE, tail: NONE, len: 0 }
    }

    pub(super) const fn len(&self) -> u32 {
        self.len
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a frame that is in no queue.
    pub(super) fn push(&mut self, id: FrameId, frames: &mut IdVec<FrameId, Frame>) {
        assert!(!frames[id].queued, "a frame is in one queue at most");
        let frame = &mut frames[id];
        frame.queued = true;
        frame.before = self.tail;
        frame.after = NONE;
        match self.tail {
            NONE => self.head = id.get(),
            tail => frames[FrameId::new(tail)].after = id.get(),
        }
        self.tail = id.get();
        self.len += 1;
    }

    /// Takes the oldest frame.
    pub(super) fn pop(&mut self, frames: &mut IdVec<FrameId, Frame>) -> Option<FrameId> {
        if self.is_empty() {
            return None;
        }
        let id = FrameId::new(self.head);
        self.remove(id, frames);
        Some(id)
    }

    /// Takes out a frame that is in this queue.
    pub(super) fn remove(&mut self, id: FrameId, frames: &mut IdVec<FrameId, Frame>) {
        let frame = &mut frames[id];
        assert!(frame.queued, "a frame leaves the queue it is in");
        frame.queued = false;
        let (before, after) = (frame.before, frame.after);
        match before {
            NONE => self.head = after,
            before => frames[FrameId::new(before)].after = after,
        }
        match after {
            NONE => self.tail = before,
            after => frames[FrameId::new(after)].before = before,
        }
        self.len -= 1;
    }
}
