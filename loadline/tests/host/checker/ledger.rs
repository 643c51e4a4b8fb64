//! What may be read, by what was acknowledged. Each block is a register; each write has the interval from just before it was
//! sent to just after its answer was seen. A content may be read unless a write that began after that content's own answer
//! was itself answered before the read began. A write without an answer may come into force at any time, or never, until the
//! node that it was sent to is gone and the block has been read: from then on the block keeps what was read.
//!
//! Where the log mode promises nothing before a flush, a kill makes a write of an answered one that no answered flush has
//! followed; until then what it has covered is remembered.

use super::block::{BLOCK_BYTES, Content, decode};
use std::collections::BTreeSet;
use std::ops::Range;

/// A moment, counted in events.
pub(crate) type Stamp = u64;

#[derive(Clone, Copy, Debug)]
struct Write {
    content: Content,
    sent: Stamp,
    acknowledged: Option<Stamp>,
    /// Whether the node's death does not take it.
    is_kept: bool,
}

#[derive(Clone, Debug)]
struct History(Vec<Write>);

impl History {
    fn settled(content: Content) -> History {
        History(vec![Write { content, sent: 0, acknowledged: Some(0), is_kept: true }])
    }

    /// Whether a read that began at `from` can no longer meet this write.
    fn is_superseded(&self, write: &Write, from: Stamp) -> bool {
        let answered = write.acknowledged;
        answered.is_some_and(|answered| {
            let covers = |later: &Write| {
                later.sent > answered && later.acknowledged.is_some_and(|done| done < from)
            };
            self.0.iter().any(covers)
        })
    }

    fn allowed(&self, from: Stamp) -> impl Iterator<Item = &Write> {
        self.0.iter().filter(move |write| !self.is_superseded(write, from))
    }

    /// Forgets what can be read no more by a read that begins at `from`, even if the node dies before.
    fn forget_covered(&mut self, from: Stamp) {
        let is_kept = |write: &&Write| write.is_kept;
        let kept = History(self.0.iter().filter(is_kept).copied().collect());
        self.0.retain(|write| !kept.is_superseded(write, from));
    }
}

/// A request that has not been answered.
#[derive(Debug)]
pub(crate) struct Open {
    sent: Stamp,
    blocks: Range<u64>,
}

/// All blocks of an image, and every answer that broke a promise.
#[derive(Debug)]
pub(crate) struct Ledger {
    now: Stamp,
    blocks: Vec<History>,
    open: BTreeSet<Stamp>,
    /// Whether an answer is a promise that a kill keeps; else a flush is.
    answers_promise: bool,
    /// Writes and zeroings that were answered.
    pub(crate) acknowledged: u64,
    /// A sentence for each block that held what it may not.
    pub(crate) losses: Vec<String>,
}

impl Ledger {
    /// An image of zeroes, of which a kill may take nothing that was answered, or else nothing that was flushed.
    pub(crate) fn new(blocks: u64, answers_promise: bool) -> Ledger {
        let blocks = (0..blocks).map(|_| History::settled(Content::Zeroes)).collect();
        let (open, losses) = Default::default();
        Ledger { now: 0, blocks, open, answers_promise, acknowledged: 0, losses }
    }

    pub(crate) fn blocks(&self) -> u64 {
        self.blocks.len() as u64
    }

    fn begin(&mut self, blocks: Range<u64>) -> Open {
        self.now += 1;
        self.open.insert(self.now);
        Open { sent: self.now, blocks }
    }

    pub(crate) fn begin_read(&mut self, blocks: Range<u64>) -> Open {
        self.begin(blocks)
    }

    /// A write that is about to be sent, and the content that it gives to its blocks.
    pub(crate) fn begin_write(&mut self, blocks: Range<u64>) -> (Open, Content) {
        let content = Content::Generation(self.now + 1);
        (self.change(blocks, content), content)
    }

    /// A zeroing that is about to be sent.
    pub(crate) fn begin_zero(&mut self, blocks: Range<u64>) -> Open {
        self.change(blocks, Content::Zeroes)
    }

    fn change(&mut self, blocks: Range<u64>, content: Content) -> Open {
        let open = self.begin(blocks);
        let write = Write { content, sent: open.sent, acknowledged: None, is_kept: false };
        self.histories(&open).for_each(|history| history.0.push(write));
        open
    }

    fn histories(&mut self, open: &Open) -> impl Iterator<Item = &mut History> {
        let range = open.blocks.start as usize..open.blocks.end as usize;
        self.blocks[range].iter_mut()
    }

    /// A write's or a zeroing's answer.
    pub(crate) fn acknowledge(&mut self, open: &Open) {
        self.now += 1;
        let now = self.now;
        self.open.remove(&open.sent);
        self.acknowledged += 1;
        // Reads in flight may still meet what this write covers.
        let oldest = self.open.first().copied().unwrap_or(now + 1);
        let is_kept = self.answers_promise;
        for history in self.histories(open) {
            let own = history.0.iter_mut().find(|write| write.sent == open.sent);
            let own = own.expect("an open write is in its blocks' histories");
            (own.acknowledged, own.is_kept) = (Some(now), is_kept);
            history.forget_covered(oldest);
        }
    }

    /// A flush's answer: what was answered before it was sent is kept.
    pub(crate) fn flushed(&mut self, flush: &Open) {
        self.open.remove(&flush.sent);
        let oldest = self.open.first().copied().unwrap_or(self.now + 1);
        for history in self.blocks.iter_mut().filter(|history| history.0.len() > 1) {
            for write in &mut history.0 {
                write.is_kept |= write.acknowledged.is_some_and(|answered| answered < flush.sent);
            }
            history.forget_covered(oldest);
        }
    }

    /// A read's answer, to be held against everything that it may hold.
    pub(crate) fn finish_read(&mut self, open: &Open, data: &[u8]) {
        self.open.remove(&open.sent);
        assert_eq!(data.len() / BLOCK_BYTES, (open.blocks.end - open.blocks.start) as usize);
        for (block, bytes) in open.blocks.clone().zip(data.chunks_exact(BLOCK_BYTES)) {
            self.judge(block, bytes, open.sent);
        }
    }

    /// What is read while nothing is open, after the node that had the open requests is gone: it stays.
    pub(crate) fn settle(&mut self, open: &Open, data: &[u8]) {
        self.finish_read(open, data);
        for (block, bytes) in open.blocks.clone().zip(data.chunks_exact(BLOCK_BYTES)) {
            if let Ok(content) = decode(block, bytes) {
                self.blocks[block as usize] = History::settled(content);
            }
        }
    }

    /// The node is gone; its open requests will not be answered.
    pub(crate) fn abandon(&mut self) {
        self.open.clear();
        for write in self.blocks.iter_mut().flat_map(|history| &mut history.0) {
            write.acknowledged = write.acknowledged.filter(|_| write.is_kept);
        }
    }

    fn judge(&mut self, block: u64, bytes: &[u8], from: Stamp) {
        let history = &self.blocks[block as usize];
        let found = decode(block, bytes);
        if found.is_ok_and(|found| history.allowed(from).any(|write| write.content == found)) {
            return;
        }
        let found = found.map_or_else(|damage| damage.to_string(), |found| format!("{found:?}"));
        let allowed: Vec<_> = history.allowed(from).collect();
        self.losses.push(format!("block {block} held {found} at {from}, allowed: {allowed:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checker::block::encode;

    fn reads(ledger: &mut Ledger, open: &Open, content: Content) -> bool {
        let before = ledger.losses.len();
        ledger.finish_read(open, &encode(0, content));
        ledger.losses.len() == before
    }

    #[test]
    fn what_was_acknowledged_must_be_read() {
        let mut ledger = Ledger::new(1, true);
        let (write, first) = ledger.begin_write(0..1);
        let early = ledger.begin_read(0..1);
        ledger.acknowledge(&write);
        let late = ledger.begin_read(0..1);
        assert!(reads(&mut ledger, &early, Content::Zeroes), "it began before the answer");
        assert!(!reads(&mut ledger, &late, Content::Zeroes), "an acknowledged write is lost");
        let late = ledger.begin_read(0..1);
        assert!(reads(&mut ledger, &late, first));
    }

    #[test]
    fn writes_at_once_leave_either() {
        let mut ledger = Ledger::new(1, true);
        let (one, first) = ledger.begin_write(0..1);
        let (two, second) = ledger.begin_write(0..1);
        ledger.acknowledge(&one);
        ledger.acknowledge(&two);
        for content in [first, second] {
            let read = ledger.begin_read(0..1);
            assert!(reads(&mut ledger, &read, content));
        }
        let zero = ledger.begin_zero(0..1);
        ledger.acknowledge(&zero);
        let read = ledger.begin_read(0..1);
        assert!(!reads(&mut ledger, &read, first), "both were covered");
    }

    #[test]
    fn a_kill_takes_what_was_not_flushed_where_answers_promise_nothing() {
        let mut ledger = Ledger::new(1, false);
        let (write, first) = ledger.begin_write(0..1);
        ledger.acknowledge(&write);
        let flush = ledger.begin_read(0..0);
        ledger.flushed(&flush);
        let early = ledger.begin_read(0..0);
        let (write, second) = ledger.begin_write(0..1);
        ledger.acknowledge(&write);
        ledger.flushed(&early);
        let read = ledger.begin_read(0..1);
        assert!(!reads(&mut ledger, &read, first), "the node lives");
        ledger.abandon();
        for (content, may_be) in [(first, true), (second, true), (Content::Zeroes, false)] {
            let read = ledger.begin_read(0..1);
            assert_eq!(reads(&mut ledger, &read, content), may_be, "{content:?}");
        }
    }

    #[test]
    fn what_was_never_answered_is_decided_by_the_first_look() {
        let mut ledger = Ledger::new(1, true);
        let (_, open) = ledger.begin_write(0..1);
        ledger.abandon();
        let look = ledger.begin_read(0..1);
        ledger.settle(&look, &encode(0, Content::Zeroes));
        assert!(ledger.losses.is_empty());
        let again = ledger.begin_read(0..1);
        assert!(!reads(&mut ledger, &again, open), "it came back from the dead");
    }
}
