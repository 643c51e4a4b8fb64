//! Accesses that the store carries out in several ops: an object that is put, and one that is read to be sent, in parts.
//!
//! Those of background work whose disk is paced wait for their turn between two parts; others go on at once.

use super::keys::object_id;
use super::steps::TransactionStep;
use crate::commit::Commit;
use crate::gate::PART_STEP;
use crate::ids::PgId;
use crate::snapshots::SnapshotNo;
use loadline_base::Time;
use loadline_device::ClassTag;
use loadline_store::ObjectNo;
use loadline_store::paged::{Ask, OpLane, Ranges};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

/// An access under way.
pub(super) struct StoreTransfer {
    pub pg: PgId,
    pub object: ObjectNo,
    pub class: ClassTag,
    pub commit: Commit,
    /// When it was handed in.
    pub entered: Time,
    /// It waits for its turn between two parts.
    pub takes_turns: bool,
    /// How many ops have begun.
    pub begun: u32,
    pub rest: Rest,
}

/// What is still to be done of it.
pub(super) enum Rest {
    Put(VecDeque<TransactionStep>),
    Read(ReadInParts),
}

/// A read of a whole object.
pub(super) struct ReadInParts {
    label: SnapshotNo,
    base: Option<SnapshotNo>,
    /// What is still to be read, how much of it at a time, and about how many bytes are found there.
    left: Range<u64>,
    span: u64,
    expected: u64,
    /// What was found.
    pub ranges: Ranges,
    pub bytes: Vec<u8>,
}

/// What the store is asked next.
pub(super) struct NextOp {
    pub ask: Ask,
    pub lane: Option<OpLane>,
    /// Bytes that it reads or writes, as far as can be told.
    pub bytes: u64,
}

impl ReadInParts {
    /// A state of an object of `length` bytes, of which `expected` are about to be found, `part` of these at a time.
    pub(super) fn new(
        (label, base): (SnapshotNo, Option<SnapshotNo>),
        (length, expected): (u64, u64),
        part: Option<u64>,
    ) -> ReadInParts {
        let parts = part.map_or(1, |part| expected.div_ceil(part).max(1));
        // One that is read at once is read to its end, however long it is by then.
        let left = 0..if parts == 1 { u64::MAX } else { length };
        let span =
            (left.end.div_ceil(parts)).checked_next_multiple_of(PART_STEP).unwrap_or(u64::MAX);
        let (ranges, bytes) = (Ranges::default(), Vec::new());
        ReadInParts { label, base, left, span, expected: expected.div_ceil(parts), ranges, bytes }
    }

    fn next(&mut self, pg: PgId, object: ObjectNo) -> NextOp {
        let Range { start: offset, end } = self.left;
        let length = self.span.min(end - offset);
        self.left.start += length;
        let ask = Ask::Sparse {
            object: object_id(pg, object, self.label),
            base: self.base.map(|base| object_id(pg, object, base)),
            offset,
            length,
            with_bytes: true,
        };
        // Nothing writes to an object that is being read to be sent, once what came before has been carried out.
        let lane = (offset == 0).then_some(OpLane(pg.get()));
        NextOp { ask, lane, bytes: self.expected }
    }

    /// A part has been read.
    pub(super) fn found(&mut self, ranges: Ranges, mut bytes: Vec<u8>) {
        self.ranges.append(ranges);
        match self.bytes.is_empty() {
            true => self.bytes = bytes,
            false => self.bytes.append(&mut bytes),
        }
    }
}

impl StoreTransfer {
    pub(super) fn next(&mut self) -> NextOp {
        self.begun += 1;
        match &mut self.rest {
            Rest::Put(steps) => {
                let step = steps.pop_front().expect("what is not over has a next step");
                let TransactionStep { edits, bytes } = step;
                let lane = Some(OpLane(self.pg.get()));
                NextOp { ask: Ask::Transaction(edits), lane, bytes }
            }
            Rest::Read(read) => read.next(self.pg, self.object),
        }
    }

    /// Whether nothing was written or read yet that counts.
    pub(super) fn is_at_beginning(&self) -> bool {
        self.begun == 1 && matches!(self.rest, Rest::Put(_))
    }

    /// How many bytes the next op reads or writes; `None` if there is none.
    pub(super) fn next_bytes(&self) -> Option<u64> {
        match &self.rest {
            Rest::Put(steps) => steps.front().map(|step| step.bytes),
            Rest::Read(read) => (!read.left.is_empty()).then_some(read.expected),
        }
    }
}

/// All of them by number. Those of an earlier life are forgotten, and their numbers are not given again.
#[derive(Default)]
pub(super) struct StoreTransfers {
    under_way: BTreeMap<u32, StoreTransfer>,
    begun: u32,
}

impl StoreTransfers {
    pub(super) fn begin(&mut self, transfer: StoreTransfer) -> u32 {
        self.begun = self.begun.wrapping_add(1);
        self.under_way.insert(self.begun, transfer);
        self.begun
    }

    /// One that was not given up.
    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut StoreTransfer> {
        self.under_way.get_mut(&number)
    }

    pub(super) fn end(&mut self, number: u32) -> Option<StoreTransfer> {
        self.under_way.remove(&number)
    }

    /// Forgets the puts of this object, or of all of the placement group. Answers whose they were: some of each may be on the disk.
    pub(super) fn give_up_puts(
        &mut self,
        pg: PgId,
        object: Option<ObjectNo>,
    ) -> BTreeSet<ObjectNo> {
        let is_meant = |it: &StoreTransfer| {
            let same = it.pg == pg && object.is_none_or(|object| it.object == object);
            same && matches!(it.rest, Rest::Put(_))
        };
        let given_up = self.under_way.extract_if(.., |_, transfer| is_meant(transfer));
        given_up.map(|(_, transfer)| transfer.object).collect()
    }

    pub(super) fn clear(&mut self) {
        self.under_way.clear();
    }
}
