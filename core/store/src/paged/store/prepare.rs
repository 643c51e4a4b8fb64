//! From what is asked to what is done: limits are checked, patterns become bytes, and large writes go to fresh pages beside
//! the log, so that only their places and checksums go through it.

use super::PagedStore;
use super::op::{OpWork, RunningOp};
use super::ops::Unwritten;
use super::plan::{BESIDE_OWN_DATA, Lack};
use super::requests::RequestPurpose;
use crate::objects::Version;
use crate::paged::api::{Ask, Edit, ObjectId, OpError, Payload, StoreDevice};
use crate::paged::change::{Change, FilledRun};
use crate::paged::extent;
use crate::paged::ids::PageSize;
use crate::paged::options::LogMode;
use crate::paged::space::PageRun;
use crate::paged::wait::Wait;
use loadline_base::SlotId;
use loadline_device::Outcome;
use std::borrow::Cow;

/// The share of the device's pages that must be free beside them for smaller writes to go beside the log: one in so many. Each page that such a
/// write takes comes free with the next checkpoint only, so a fuller device would make one for every few thousand writes; through the
/// log they take none.
const PLENTY_SHARE: u64 = 64;

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
        let own = self.own_pages(edits, running.terms.promise);
        match self.find_own_pages(own.pages, running.terms.claim) {
            Ok(()) => {}
            Err(Lack::Wait(wait)) => return self.park(running, wait, true),
            Err(Lack::Fail(error)) => return self.fail(running, error),
        }
        self.begin_own(&mut running, own);
        self.go_on_with_own(running, true);
    }

    /// The same, ahead of an update's turn, for one whose own data may go now: it stands behind others of its lane, and its pages are nobody's until
    /// it is carried out.
    pub(super) fn prepare_ahead(&mut self, running: &mut RunningOp<T>) {
        if !self.places_small(running.terms.promise)
            || self.restart.is_some()
            || self.ops.parked() > 0
            || self.ops.holds_updates()
        {
            return;
        }
        let Ask::Transaction(edits) = Self::ask_of(running) else { return };
        let limits = self.limits();
        if edits.iter().try_for_each(|edit| limits.check(edit)).is_err() {
            return;
        }
        let own = self.own_pages(edits, running.terms.promise);
        if own.pages > 0 && own.are_small {
            self.metrics.totals.own_ahead += 1;
            self.begin_own(running, own);
        }
    }

    /// What of these edits goes beside the log: large writes, what no record holds, and where there are plenty of free pages smaller writes, too.
    fn own_pages(&self, edits: &[Edit], promise: LogMode) -> BesideLog {
        let large = self.options.direct_write.get();
        let pages_from =
            |least: u64| -> u64 { edits.iter().map(|edit| self.whole_pages(edit, least)).sum() };
        let least = self.options.placed_write.get().min(large);
        if self.places_small(promise) {
            let pages = pages_from(least);
            if pages > 0 && pages + self.pages_for_large() <= self.space.pages.allocator.free() {
                let are_small = pages_from(large) == 0;
                return BesideLog { pages, least, are_small };
            }
        }
        BesideLog { pages: pages_from(large), least: large, are_small: false }
    }

    /// Whether smaller writes may go beside the log, too. Who is answered before the device has anything would wait for it, and who is alone would wait
    /// for two requests, one after the other, where the log is one.
    fn places_small(&self, promise: LogMode) -> bool {
        self.options.places_small()
            && matches!(promise, LogMode::Fsync | LogMode::LogOnly)
            && (self.log.updaters() > 0 || self.ops.has_own_writes())
    }

    /// Free pages that smaller writes leave to all others.
    pub(super) fn pages_for_large(&self) -> u64 {
        let share = self.superblock.layout.pages_count / PLENTY_SHARE;
        share.max(self.kept_pages()) + BESIDE_OWN_DATA
    }

    /// How many pages of an edit go beside the log: those of a write of so many bytes of whole pages at least, or of one that no record holds.
    fn whole_pages(&self, edit: &Edit, least: u64) -> u64 {
        let Edit::Write { offset, data, .. } = edit else { return 0 };
        let page = self.superblock.layout.page.bytes() as u64;
        let whole = (offset + data.length()) / page;
        let pages = whole.saturating_sub(offset.div_ceil(page));
        // A record has more than the data alone: the object, its version, the other edits.
        let record = self.limits().transaction_bytes as u64 * 3 / 4;
        let is_large = pages * page >= least || data.length() > record;
        if is_large { pages } else { 0 }
    }

    /// Turns what an update asks into changes, and sends its own data on its way.
    fn begin_own(&mut self, running: &mut RunningOp<T>, own: BesideLog) {
        let OpWork::Asked(Ask::Transaction(edits)) =
            std::mem::replace(&mut running.work, OpWork::Changes(Vec::new()))
        else {
            unreachable!("it was a transaction");
        };
        if own.pages == 0 {
            running.work = OpWork::Changes(edits.into_iter().map(change_of).collect());
            return;
        }
        self.metrics.totals.own_small += u64::from(own.are_small);
        let page = self.superblock.layout.page;
        let mut changes = Vec::with_capacity(edits.len());
        let mut writes = Vec::new();
        for edit in edits {
            let is_direct = self.whole_pages(&edit, own.least) > 0;
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
        let mut parts = Vec::new();
        let mut at = head;
        while at < tail {
            let most = (((tail - at) / size) as u64).min(extent::pages_max(page));
            let run = self.space.pages.allocator.take(most).expect("free pages were counted");
            let own = at..at + run.count as usize * size;
            at = own.end;
            let sums = bytes[own.clone()].chunks_exact(size).map(crc32c::crc32c).collect();
            runs.push(FilledRun { first: run.first, sums });
            parts.push((run, own));
        }
        let index = (offset + head as u64) / size as u64;
        changes.push(Change::Place { object, version, index, runs });
        if tail < bytes.len() {
            changes.push(ragged(tail, bytes.len()));
        }
        match &parts[..] {
            [(run, own)] if own.len() == bytes.len() => writes.push((*run, data.into_bytes())),
            _ => writes.extend(parts.into_iter().map(|(run, own)| (run, bytes[own].to_vec()))),
        }
    }

    fn write_own(&mut self, running: &mut RunningOp<T>, writes: Vec<(PageRun, Vec<u8>)>) {
        let own = self.ops.begin_own_writes(writes.len() as u32);
        let journey = running.journey();
        journey.own = writes.iter().map(|(run, _)| *run).collect();
        journey.own_writes = Some(own);
        let (class, page) = (running.class, self.superblock.layout.page);
        for (run, data) in writes {
            self.metrics.totals.own_bytes += data.len() as u64;
            let offset = page.offset(run.first);
            self.requests.write(
                RequestPurpose::OwnWrite(own),
                StoreDevice::Data,
                offset,
                class,
                data,
            );
        }
    }

    /// An update whose changes are known has its turn: it goes on if its own data is where it belongs, and else waits for that.
    pub(super) fn go_on_with_own(&mut self, mut running: RunningOp<T>, first: bool) {
        let own = running.journey.as_mut().and_then(|journey| journey.own_writes.take());
        match own.map(|own| (own, self.ops.own_writes_over(own))) {
            None => self.update(running, first),
            Some((_, Some(Ok(())))) => self.update(running, false),
            Some((_, Some(Err(Unwritten)))) => self.fail(running, OpError::Unwritable),
            Some((own, None)) => {
                running.wait = Wait::OwnData;
                running.journey().own_writes = Some(own);
                self.ops.await_own_writes(own, running);
            }
        }
    }

    /// A part of an op's own data is on the device, or is not.
    pub(super) fn own_write_done(&mut self, own: SlotId, outcome: Outcome) {
        self.ops.own_write_done(own, Self::is_good(outcome));
    }
}

/// What of an update goes beside the log.
#[derive(Clone, Copy)]
struct BesideLog {
    pages: u64,
    /// Writes of so many bytes of whole pages at least.
    least: u64,
    /// None of them has to: all of it could go through the log.
    are_small: bool,
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
