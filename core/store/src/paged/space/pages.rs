//! Resident pages and their states.

use super::{Allocator, Journal, OldVersions, PageRun};
use crate::paged::cache::{Cache, FrameId};
use crate::paged::edit::PageEdit;
use crate::paged::ids::{CheckpointId, PageNo};
use crate::paged::layout::Layout;
use crate::paged::node::Node;
use crate::paged::page;
use crate::paged::tree::TreePages;
use loadline_base::IdVec;
use std::cell::Cell;

/// What a frame's page is in the middle of.
#[derive(Clone, Debug, Default)]
struct State {
    /// Changed since the last instant.
    dirty: bool,
    /// The running checkpoint has not begun to write it home.
    in_checkpoint: bool,
    /// On its way home; a second read from the device might still find what was there before.
    writing: bool,
    /// On its way from the device.
    loading: bool,
    /// Object data: no header, checksum in the extent.
    raw: bool,
    /// Pinned because of one of the above.
    held: bool,
    old: Option<u32>,
    /// The op that used it last, so that an op counts as one use.
    used_by: Cell<u32>,
}

/// How many pages are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Changed since the last instant.
    pub dirty: u32,
    /// Of the running checkpoint, not yet on their way home.
    pub in_checkpoint: u32,
    /// Frames that cannot be given up because of either, or because they are on their way.
    pub held: u32,
    /// Pages of the free map that the running checkpoint has neither written nor kept an old version of.
    pub map_unsaved: u32,
}

/// What became of a page that was asked to be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Read it and call [`Pages::loaded`].
    Begin,
    /// Somebody reads it already.
    UnderWay,
    /// Every frame is in use.
    NoFrame,
}

/// The pages of a store.
pub struct Pages {
    layout: Layout,
    cache: Cache,
    states: IdVec<FrameId, State>,
    old: OldVersions,
    /// Pages that became dirty since the last instant, in that order. Some may have been given back since.
    dirty: Vec<PageNo>,
    /// Pages whose old version is or was kept in this checkpoint, the newest last.
    kept: Vec<PageNo>,
    counts: Counts,
    op: u32,
    /// What is free.
    pub allocator: Allocator,
    /// What the present transaction did.
    pub journal: Journal,
}

impl Pages {
    /// No page resident, none free.
    pub fn new(layout: Layout, cache_frames: u32, old_slots: u32) -> Pages {
        Pages {
            cache: Cache::new(cache_frames, layout.page),
            states: (0..cache_frames).map(|_| State::default()).collect(),
            old: OldVersions::new(old_slots, layout.page),
            dirty: Vec::new(),
            kept: Vec::new(),
            counts: Counts::default(),
            op: 0,
            allocator: Allocator::new(&layout),
            journal: Journal::default(),
            layout,
        }
    }

    /// Where everything stands.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// How many pages are in which state.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// How many frames there are.
    pub fn frames(&self) -> u32 {
        self.cache.frames()
    }

    /// Old versions kept, and how many there may be.
    pub fn old_versions(&self) -> (u32, u32) {
        (self.old.used(), self.old.slots())
    }

    /// Another op begins.
    pub fn next_op(&mut self) {
        self.op = self.op.wrapping_add(1);
    }

    /// Makes sure that so many frames can be taken without waiting. What was resident may not be afterwards.
    pub fn make_room(&mut self, frames: u32) -> bool {
        self.cache.make_room(frames)
    }

    /// How many frames are free at once.
    pub fn free_frames(&self) -> u32 {
        self.cache.free()
    }

    fn find(&self, number: PageNo) -> Option<FrameId> {
        self.cache.find(number).filter(|frame| !self.states[*frame].loading)
    }

    /// Whether a page can be read without waiting.
    pub fn is_resident(&self, number: PageNo) -> bool {
        self.find(number).is_some()
    }

    /// Keeps a resident page resident.
    pub fn pin(&mut self, number: PageNo) {
        let frame = self.find(number).expect("only a resident page can be kept");
        self.cache.pin(frame);
    }

    /// Takes a [`Pages::pin`] back.
    pub fn unpin(&mut self, number: PageNo) {
        let frame = self.cache.find(number).expect("a pinned page stays");
        self.cache.unpin(frame);
    }

    /// Takes a frame for a page that is to be read.
    pub fn begin_load(&mut self, number: PageNo, raw: bool) -> Load {
        if self.cache.find(number).is_some() {
            return Load::UnderWay;
        }
        let Some(frame) = self.cache.acquire(number) else { return Load::NoFrame };
        self.states[frame] = State { loading: true, raw, ..State::default() };
        Load::Begin
    }

    /// A page has been read and found good. It is resident, and pinned until [`Pages::unpin`].
    pub fn loaded(&mut self, number: PageNo, bytes: &[u8]) {
        let frame = self.cache.find(number).expect("a page being loaded has its frame");
        assert!(self.states[frame].loading, "{number} was being loaded");
        self.cache.bytes_mut(frame).copy_from_slice(bytes);
        self.states[frame].loading = false;
    }

    /// A page could not be read: its frame is free again.
    pub fn load_failed(&mut self, number: PageNo) {
        let frame = self.cache.find(number).expect("a page being loaded has its frame");
        self.states[frame].loading = false;
        self.cache.unpin(frame);
        self.cache.forget(number);
    }

    /// Whether changing `number` needs a slot for its old version.
    pub fn needs_old_version(&self, number: PageNo) -> bool {
        self.find(number).is_some_and(|frame| {
            let state = &self.states[frame];
            state.in_checkpoint && state.old.is_none()
        })
    }

    /// Whether changing `number` makes one more frame that cannot be given up.
    pub fn is_held(&self, number: PageNo) -> bool {
        self.find(number).is_some_and(|frame| self.states[frame].held)
    }

    /// Whether `number` was changed since the last instant.
    pub fn is_dirty(&self, number: PageNo) -> bool {
        self.find(number).is_some_and(|frame| self.states[frame].dirty)
    }

    /// Makes pages used, in memory and in the free map. Their bits in memory are set already.
    pub fn mark_used(&mut self, run: PageRun) {
        self.mark(run, true);
    }

    /// Gives pages back; they can be given out again after the checkpoint that contains this.
    pub fn give_back(&mut self, run: PageRun) {
        self.mark(run, false);
        self.allocator.give_back(run);
        for at in 0..run.count {
            self.drop_changes(run.first.plus(at));
        }
    }

    /// A page that is nobody's any more need not be written, unless the running checkpoint owes it.
    fn drop_changes(&mut self, number: PageNo) {
        let Some(frame) = self.find(number) else { return };
        if self.states[frame].dirty {
            self.states[frame].dirty = false;
            self.counts.dirty -= 1;
            self.settle_hold(frame);
        }
    }

    fn mark(&mut self, run: PageRun, used: bool) {
        let mut at = 0;
        while at < run.count {
            let (map, first) = self.layout.map_bit(run.first.plus(at));
            let per_page = crate::paged::layout::bits_per_map_page(self.layout.page);
            let count = (run.count - at).min(per_page - u64::from(first));
            self.edit(map, PageEdit::Bits { first, count: count as u32, used });
            at += count;
        }
    }

    /// Gives `number`, which is not resident and holds nothing worth reading, a frame. Room was planned.
    pub fn adopt(&mut self, number: PageNo) {
        let frame = self.cache.acquire(number).expect("room for a new page was planned");
        self.states[frame] = State::default();
        self.cache.unpin(frame);
    }

    /// Drops pages that are nobody's from memory. False, and nothing dropped, if one of them is kept or on its way.
    pub fn forget(&mut self, run: PageRun) -> bool {
        let numbers = || (0..run.count).map(|at| run.first.plus(at));
        if numbers()
            .any(|number| self.cache.find(number).is_some_and(|frame| self.cache.is_pinned(frame)))
        {
            return false;
        }
        numbers().for_each(|number| self.cache.forget(number));
        true
    }

    /// Whether `number` is still being loaded.
    pub fn is_loading(&self, number: PageNo) -> bool {
        self.cache.find(number).is_some_and(|frame| self.states[frame].loading)
    }

    /// Pins what must stay and lets go what need not.
    fn settle_hold(&mut self, frame: FrameId) {
        let state = &mut self.states[frame];
        let hold = state.dirty || state.in_checkpoint || state.writing;
        if hold == state.held {
            return;
        }
        state.held = hold;
        if hold {
            self.counts.held += 1;
            self.cache.pin(frame);
        } else {
            self.counts.held -= 1;
            self.cache.unpin(frame);
        }
    }

    /// A checkpoint's instant: every page changed so far is its, and every change from now on is the next one's.
    pub fn take_instant(&mut self) -> Vec<PageNo> {
        assert_eq!(self.counts.in_checkpoint, 0, "one checkpoint at a time");
        self.kept.clear();
        let mut pages = std::mem::take(&mut self.dirty);
        // A page that was given back and given out again within the interval stands there twice.
        pages.retain(|number| {
            let Some(frame) = self.find(*number) else { return false };
            let state = &mut self.states[frame];
            let first = state.dirty && !state.in_checkpoint;
            if first {
                state.in_checkpoint = true;
                state.dirty = false;
            }
            first
        });
        self.counts.in_checkpoint = pages.len() as u32;
        self.counts.map_unsaved =
            pages.iter().filter(|page| self.layout.is_map(**page)).count() as u32;
        assert_eq!(
            self.counts.dirty, self.counts.in_checkpoint,
            "the dirty pages are those listed"
        );
        self.counts.dirty = 0;
        self.allocator.instant();
        pages
    }

    /// A page of the running checkpoint as of the instant, and whether it is object data.
    pub fn as_of_instant(&self, number: PageNo) -> (&[u8], bool) {
        let frame = self.find(number).expect("a page of the checkpoint stays");
        let state = &self.states[frame];
        assert!(state.in_checkpoint, "{number} is the checkpoint's");
        let bytes = state.old.map_or(self.cache.bytes(frame), |slot| self.old.bytes(slot));
        (bytes, state.raw)
    }

    /// Appends a page of the running checkpoint, as it is to stand on the device, and lets its old version go. Answers
    /// whether there was one.
    pub fn begin_home_write(
        &mut self,
        number: PageNo,
        id: CheckpointId,
        out: &mut Vec<u8>,
    ) -> bool {
        let at = out.len();
        let (bytes, raw) = self.as_of_instant(number);
        out.extend_from_slice(bytes);
        if !raw {
            clear_gap(&mut out[at..]);
            page::seal(&mut out[at..], id);
        }
        let frame = self.find(number).expect("it was just read");
        let state = &mut self.states[frame];
        let old = state.old.take();
        state.in_checkpoint = false;
        state.writing = true;
        self.counts.in_checkpoint -= 1;
        if self.layout.is_map(number) && old.is_none() {
            self.counts.map_unsaved -= 1;
        }
        if let Some(slot) = old {
            self.old.release(slot);
        }
        old.is_some()
    }

    /// Whether a page is the running checkpoint's and not on its way home.
    pub fn is_in_checkpoint(&self, number: PageNo) -> bool {
        self.find(number).is_some_and(|frame| self.states[frame].in_checkpoint)
    }

    /// A page of the running checkpoint whose old version is kept.
    pub fn next_old_version(&mut self) -> Option<PageNo> {
        while let Some(number) = self.kept.pop() {
            if self.is_in_checkpoint(number) {
                return Some(number);
            }
        }
        None
    }

    /// A page is home.
    pub fn home_write_done(&mut self, number: PageNo) {
        let frame = self.find(number).expect("a page on its way home stays");
        self.states[frame].writing = false;
        self.settle_hold(frame);
    }

    /// A resident page as it is now, and whether it is object data.
    pub fn current(&self, number: PageNo) -> (&[u8], bool) {
        let frame = self.find(number).expect("the page is resident");
        (self.cache.bytes(frame), self.states[frame].raw)
    }
}

/// A node's gap means nothing and is not in its image; as zeros it is the same at home as after a restore.
fn clear_gap(page: &mut [u8]) {
    if let Some(gap) = Node::of(page).map(Node::gap) {
        page[gap].fill(0);
    }
}

impl TreePages for Pages {
    #[inline]
    fn page(&self, number: PageNo) -> Option<&[u8]> {
        let frame = self.find(number)?;
        if self.states[frame].used_by.replace(self.op) != self.op {
            self.cache.hit(frame);
        }
        Some(self.cache.bytes(frame))
    }

    fn edit(&mut self, number: PageNo, edit: PageEdit<'_>) {
        let frame = self.find(number).expect("an edited page is resident");
        let state = &mut self.states[frame];
        if state.in_checkpoint && state.old.is_none() {
            state.old = Some(self.old.keep(self.cache.bytes(frame)));
            self.kept.push(number);
            self.counts.map_unsaved -= u32::from(self.layout.is_map(number));
        }
        if !state.dirty {
            state.dirty = true;
            self.dirty.push(number);
            self.counts.dirty += 1;
            self.journal.first_change(number);
            self.settle_hold(frame);
        }
        match edit {
            PageEdit::InitRaw => self.states[frame].raw = true,
            PageEdit::Init { .. } => self.states[frame].raw = false,
            _ => {}
        }
        self.journal.edit(number, &edit);
        edit.apply(number, self.cache.bytes_mut(frame));
    }

    fn allocate(&mut self) -> PageNo {
        let run = self.allocator.take(1).expect("a free page was planned");
        self.mark_used(run);
        self.adopt(run.first);
        run.first
    }

    fn free(&mut self, number: PageNo) {
        self.give_back(PageRun { first: number, count: 1 });
    }

    fn may_touch(&self, number: PageNo) -> bool {
        self.is_resident(number) && !self.needs_old_version(number)
    }
}
