//! Writes that the device had no room for wait here and are asked for again until it has.
//!
//! A write may be asked for again where a flush may not. A flush that failed leaves open which of the *answered* writes the
//! device has dropped, so that nobody can repeat them. A write that found no room was never answered: the store has
//! concluded nothing from it, and whatever its range holds by now, the same bytes over the same range make it what was asked
//! for. The store orders by answers alone, so to it the write is slow, no more. A held write of the log holds back the ops
//! that wait for its answer and nothing else; a held write of a checkpoint holds back the end of that checkpoint, and the
//! one before stays the disk's state. So the store never sees a full device, whatever it was doing.

use loadline_base::{SlotId, Span, Time};
use loadline_store::paged::Io;
use std::collections::BTreeSet;

/// When to ask for the first time, and at the latest: somebody who has made room wants to see work go on.
const PAUSE_FIRST: Span = Span::from_millis(50);
const PAUSE_LAST: Span = Span::from_secs(1);

/// The writes, in the order in which they were refused.
#[derive(Debug, Default)]
pub(crate) struct WaitForRoom {
    writes: Vec<Io>,
    /// Those that were asked for again and have no answer yet.
    asked: BTreeSet<SlotId>,
    /// For how long the latest ones wait.
    pause: Span,
}

impl WaitForRoom {
    /// Takes a write that found no room. Answers when [`take`](Self::take) is to be called, if nobody was told so yet.
    pub(crate) fn hold(&mut self, now: Time, write: Io) -> Option<Time> {
        let in_vain = !self.asked.is_empty();
        self.asked.remove(&write.id.0);
        self.writes.push(write);
        if self.writes.len() > 1 {
            return None;
        }
        self.pause = if in_vain { (self.pause * 2).min(PAUSE_LAST) } else { PAUSE_FIRST };
        Some(now + self.pause)
    }

    /// All of them, to be asked for again.
    pub(crate) fn take(&mut self) -> Vec<Io> {
        self.asked.extend(self.writes.iter().map(|write| write.id.0));
        std::mem::take(&mut self.writes)
    }

    /// A request has an answer other than that there is no room.
    pub(crate) fn answered(&mut self, id: SlotId) {
        self.asked.remove(&id);
    }

    /// How many wait, those that are being asked for again among them.
    pub(crate) fn count(&self) -> usize {
        self.writes.len() + self.asked.len()
    }
}
