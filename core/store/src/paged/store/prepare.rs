//! From what is asked to what is done: limits are checked, patterns become bytes, and large writes go to fresh pages beside
//! the log, so that only their places and checksums go through it.

use super::PagedStore;
use super::op::{OpWork, RunningOp};
use super::plan::Lack;
use super::requests::RequestPurpose;
use crate::objects::Version;
use crate::paged::api::{Ask, Edit, ObjectId, OpError, Payload, StoreDevice};
use crate::paged::change::{Change, FilledRun};
use crate::paged::extent;
use crate::paged::ids::PageSize;
use crate::paged::space::PageRun;
use crate::paged::wait::Wait;
use loadline_device::Outcome;
use std::borrow::Cow;

impl<T: Copy> PagedStore<T> {
    /// An update as it was asked.
    pub(super) fn prepare(&mut self, mut running: RunningOp<T>) {
        if self.is_held_back(&running) {
            return self.park(running, Wait::Turn, false);
        }
        let Ask::Transaction(edits) = Self::ask_of(&running) else {
            unreachable!("only updates are prepared");
        };
        let limits = self.limits();
        if let Err(exceeded) = edits.iter().try_for_each(|edit| limits.check(edit)) {
            return self.fail(running, OpError::Exceeds(exceeded));
        }
        let page = self.superblock.layout.page;
        let wanted: u64 = edits.iter().map(|edit| self.own_pages(edit)).sum();
        match self.find_own_pages(wanted, running.terms.claim) {
            Ok(()) => {}
            Err(Lack::Wait(wait)) => return self.park(running, wait, true),
            Err(Lack::Fail(error)) => return self.fail(running, error),
        }
        let OpWork::Asked(Ask::Transaction(edits)) =
            std::mem::replace(&mut running.work, OpWork::Changes(Vec::new()))
        else {
            unreachable!("it was a transaction");
        };
        if wanted == 0 {
            running.work = OpWork::Changes(edits.into_iter().map(change_of).collect());
            return self.update(running, true);
        }
        let mut changes = Vec::with_capacity(edits.len());
        let mut writes = Vec::new();
        for edit in edits {
            let is_direct = self.own_pages(&edit) > 0;
            match edit {
                Edit::Write { object, offset, data, version } if is_direct => {
                    self.place(page, (object, version), offset, data, &mut changes, &mut writes);
                }
                other => changes.push(change_of(other)),
            }
        }
        running.work = OpWork::Changes(changes);
        self.write_own(running, writes);
    }

    /// How many pages of an edit go beside the log: those of a write that is large, or that no record holds.
    fn own_pages(&self, edit: &Edit) -> u64 {
        let Edit::Write { offset, data, .. } = edit else { return 0 };
        let page = self.superblock.layout.page.bytes() as u64;
        let whole = (offset + data.length()) / page;
        let pages = whole.saturating_sub(offset.div_ceil(page));
        // A record has more than the data alone: the object, its version, the other edits.
        let record = self.limits().transaction_bytes as u64 * 3 / 4;
        let is_large = pages * page >= self.options.direct_write.get() || data.length() > record;
        if is_large { pages } else { 0 }
    }

    /// Splits a large write into its ragged ends and its whole pages, which get their places here.
    fn place(
        &mut self,
        page: PageSize,
        (object, version): (ObjectId, Version),
        offset: u64,
        data: Payload,
        changes: &mut Vec<Change<'static>>,
        writes: &mut Vec<(PageRun, Vec<u8>)>,
    ) {
        let bytes = data.bytes();
        let size = page.bytes();
        let head = (offset.next_multiple_of(size as u64) - offset) as usize;
        let pages = (bytes.len() - head) / size;
        let tail = head + pages * size;
        let ragged = |from: usize, to: usize| Change::Write {
            object,
            version,
            offset: offset + from as u64,
            data: Cow::Owned(bytes[from..to].to_vec()),
        };
        if head > 0 {
            changes.push(ragged(0, head));
        }
        let mut runs = Vec::new();
        let mut at = head;
        while at < tail {
            let most = (((tail - at) / size) as u64).min(extent::pages_max(page));
            let run = self.space.pages.allocator.take(most).expect("free pages were counted");
            let own = &bytes[at..at + run.count as usize * size];
            let sums = own.chunks_exact(size).map(crc32c::crc32c).collect();
            runs.push(FilledRun { first: run.first, sums });
            writes.push((run, own.to_vec()));
            at += own.len();
        }
        let index = (offset + head as u64) / size as u64;
        changes.push(Change::Place { object, version, index, runs });
        if tail < bytes.len() {
            changes.push(ragged(tail, bytes.len()));
        }
    }

    fn write_own(&mut self, mut running: RunningOp<T>, writes: Vec<(PageRun, Vec<u8>)>) {
        running.wait = Wait::OwnData;
        running.journey().left = writes.len() as u32;
        running.journey().own = writes.iter().map(|(run, _)| *run).collect();
        let (class, page) = (running.class, self.superblock.layout.page);
        let slot = self.ops.suspend(running);
        for (run, data) in writes {
            self.metrics.totals.own_bytes += data.len() as u64;
            let offset = page.offset(run.first);
            self.requests.write(
                RequestPurpose::OwnWrite(slot),
                StoreDevice::Data,
                offset,
                class,
                data,
            );
        }
    }

    /// A part of an op's own data is on the device, or is not.
    pub(super) fn own_write_done(&mut self, slot: loadline_base::SlotId, outcome: Outcome) {
        let journey = self.ops.suspended(slot).journey();
        journey.left -= 1;
        if !Self::is_good(outcome) {
            journey.failed = Some(OpError::Unwritable);
        }
        if journey.left == 0 {
            self.ops.resume(slot);
        }
    }
}

/// An edit that goes through the log as it is.
pub(super) fn change_of(edit: Edit) -> Change<'static> {
    match edit {
        Edit::Put { key, value } => Change::Put { key: key.into(), value: value.into() },
        Edit::Delete { key } => Change::Delete { key: key.into() },
        Edit::Write { object, offset, data, version } => {
            Change::Write { object, version, offset, data: data.into_bytes().into() }
        }
        Edit::Punch { object, range, version } => {
            Change::Punch { object, version, from: range.start, to: range.end.max(range.start) }
        }
        Edit::Truncate { object, length, version } => Change::Truncate { object, version, length },
        Edit::Remove { object } => Change::Remove { object },
        Edit::Clone { from, to } => Change::Clone { from, to },
        Edit::SetAttribute { object, name, value } => {
            Change::SetAttribute { object, name: name.into(), value: value.into() }
        }
        Edit::RemoveAttribute { object, name } => {
            Change::RemoveAttribute { object, name: name.into() }
        }
    }
}
