//! Resident pages and their states.

use super::draft::Draft;
use super::{Allocator, Journal, OldVersions, PageRun};
use crate::paged::cache::{Cache, FrameId};
use crate::paged::edit::PageEdit;
use crate::paged::ids::{CheckpointId, PageNo, PageVersion};
use crate::paged::layout::Layout;
use crate::paged::memory::{AnonymousMemory, NoMemory, collected};
use crate::paged::page::{self, PageStamp};
use crate::paged::seed::Seed;
use crate::paged::tree::TreePages;
use loadline_base::IdVec;

/// What a frame's page is in the middle of.
#[derive(Clone, Debug, Default)]
pub(super) struct FrameState {
    /// Changed since the last instant.
    pub(super) dirty: bool,
    /// The running checkpoint has not begun to write it home.
    pub(super) in_checkpoint: bool,
    /// On its way home; a second read from the device might still find what was there before.
    pub(super) writing: bool,
    /// Object data: no header, checksum in the extent.
    pub(super) raw: bool,
    /// Pinned because of one of the above.
    pub(super) held: bool,
    pub(super) old: Option<u32>,
    /// Which page of the draft it is.
    pub(super) drafted: Option<u32>,
}

/// How many pages are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageCounts {
    /// Changed since the last instant.
    pub dirty: u32,
    /// Of the running checkpoint, not yet on their way home.
    pub in_checkpoint: u32,
    /// Frames that cannot be given up because of either, or because they are on their way.
    pub held: u32,
}

/// What became of a page that was asked to be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageLoad {
    /// Read it and call [`Pages::loaded`].
    Begin,
    /// Somebody reads it already.
    UnderWay,
    /// Every frame is in use.
    NoFrame,
}

/// What an edit of a page would mean for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditOf {
    /// It is dirty already.
    Dirty,
    /// It would become dirty.
    Clean,
    /// The running checkpoint still needs it: its old version would have to be kept.
    Checkpoint,
}

/// What pages are proved by.
#[derive(Clone, Debug)]
pub(super) struct PageSums {
    /// What their checksums begin with.
    pub seed: Seed,
    /// Which writing of each page of the free map belongs to the last instant. They have no parent that could say it.
    pub map: Vec<PageStamp>,
}

/// Pages that were changed, for the instants.
#[derive(Clone, Debug, Default)]
pub(super) struct TouchedPages {
    /// Those that became dirty since the last instant, in that order. Some may have been given back since.
    pub dirty: Vec<PageNo>,
    /// Those whose old version is or was kept in this checkpoint, the newest last.
    pub kept: Vec<PageNo>,
}

/// The pages of a store.
pub struct Pages {
    pub(super) layout: Layout,
    pub(super) sums: PageSums,
    /// What the coming checkpoint will be.
    pub(super) coming: CheckpointId,
    pub(super) cache: Cache,
    pub(super) states: IdVec<FrameId, FrameState>,
    pub(super) old: OldVersions,
    pub(super) touched: TouchedPages,
    pub(super) counts: PageCounts,
    pub(super) op: u32,
    pub(super) draft: Draft,
    /// What is free.
    pub allocator: Allocator,
    /// What the present transaction did.
    pub journal: Journal,
}

impl Pages {
    /// No page resident, none free.
    pub fn new(
        layout: Layout,
        seed: Seed,
        cache_frames: u32,
        old_slots: u32,
    ) -> Result<Pages, NoMemory> {
        // What is large is asked for before anything is touched.
        let kept = AnonymousMemory::zeroed(old_slots as usize * layout.page.bytes())?;
        let cache = Cache::new(cache_frames, layout.page)?;
        let states = (0..cache_frames).map(|_| FrameState::default());
        Ok(Pages {
            sums: PageSums { seed, map: Vec::new() },
            coming: CheckpointId::FIRST,
            cache,
            states: collected(states)?.into_iter().collect(),
            old: OldVersions::new(kept, old_slots, layout.page)?,
            touched: TouchedPages::default(),
            counts: PageCounts::default(),
            op: 0,
            draft: Draft::default(),
            allocator: Allocator::new(&layout),
            journal: Journal::default(),
            layout,
        })
    }

    /// Where everything stands.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Says which checkpoint comes next: its number goes into every pointer to a page that changes from now on.
    pub fn set_coming(&mut self, id: CheckpointId) {
        assert_eq!(self.counts.dirty, 0, "no page waits for another checkpoint");
        self.coming = id;
    }

    /// The free map has been read. Answers the digest of what was found, page by page.
    pub fn take_map(&mut self) -> u32 {
        let numbers = (0..self.layout.map_pages).map(|at| self.layout.map_first.plus(at));
        self.sums.map = numbers.map(|number| page::stamp(self.current(number).0)).collect();
        PageStamp::digest(self.sums.map.iter().copied())
    }

    /// How many pages are in which state.
    pub fn counts(&self) -> PageCounts {
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

    #[inline]
    pub(super) fn find(&self, number: PageNo) -> Option<FrameId> {
        self.cache.find_visible(number)
    }

    /// Whether a page can be read without waiting.
    pub fn is_resident(&self, number: PageNo) -> bool {
        self.find(number).is_some()
    }

    /// Whether a page is resident and the device has it as it is: it was not changed since it was read or written.
    pub fn is_at_home(&self, number: PageNo) -> bool {
        self.find(number).is_some_and(|frame| !self.states[frame].held)
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
    pub fn begin_load(&mut self, number: PageNo, raw: bool) -> PageLoad {
        if self.cache.find(number).is_some() {
            return PageLoad::UnderWay;
        }
        let Some(frame) = self.cache.acquire(number) else { return PageLoad::NoFrame };
        self.states[frame] = FrameState { raw, ..FrameState::default() };
        self.cache.set_hidden(frame, true);
        PageLoad::Begin
    }

    /// A page has been read and found good. It is resident, and pinned until [`Pages::unpin`].
    pub fn loaded(&mut self, number: PageNo, bytes: &[u8]) {
        let frame = self.cache.find(number).expect("a page being loaded has its frame");
        assert!(self.cache.is_hidden(frame), "{number} was being loaded");
        self.cache.bytes_mut(frame).copy_from_slice(bytes);
        self.cache.set_hidden(frame, false);
    }

    /// A page could not be read: its frame is free again.
    pub fn load_failed(&mut self, number: PageNo) {
        let frame = self.cache.find(number).expect("a page being loaded has its frame");
        self.cache.set_hidden(frame, false);
        self.cache.unpin(frame);
        self.cache.forget(number);
    }

    /// What an edit of a resident page would mean for it.
    #[inline]
    pub fn touch(&self, number: PageNo) -> EditOf {
        let frame = self.find(number).expect("what is touched is resident");
        let state = &self.states[frame];
        if state.in_checkpoint && state.old.is_none() {
            EditOf::Checkpoint
        } else if state.dirty {
            EditOf::Dirty
        } else {
            EditOf::Clean
        }
    }

    /// Whether changing `number` needs a slot for its old version.
    pub fn needs_old_version(&self, number: PageNo) -> bool {
        self.find(number).is_some_and(|frame| {
            let state = &self.states[frame];
            state.in_checkpoint && state.old.is_none()
        })
    }

    /// Makes pages used, in memory and in the free map. Their bits in memory are set already.
    pub fn mark_used(&mut self, run: PageRun) {
        self.mark(run, true);
    }

    /// A page that is nobody's any more need not be written, unless the running checkpoint owes it.
    pub(super) fn drop_changes(&mut self, number: PageNo) {
        let Some(frame) = self.find(number) else { return };
        if self.states[frame].dirty {
            self.states[frame].dirty = false;
            self.counts.dirty -= 1;
            self.settle_hold(frame);
        }
    }

    pub(super) fn mark(&mut self, run: PageRun, used: bool) {
        let mut at = 0;
        while at < run.count {
            let (map, first) = self.layout.map_bit(run.first.plus(at));
            let per_page = crate::paged::layout::bits_per_map_page(self.layout.page);
            let count = (run.count - at).min(per_page - u64::from(first));
            self.edit(map, PageEdit::Bits { first, count: count as u32, used });
            at += count;
        }
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
        self.cache.find(number).is_some_and(|frame| self.cache.is_hidden(frame))
    }

    /// Pins what must stay and lets go what need not.
    pub(super) fn settle_hold(&mut self, frame: FrameId) {
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

    /// A resident page as it is now, and whether it is object data.
    pub fn current(&self, number: PageNo) -> (&[u8], bool) {
        let frame = self.find(number).expect("the page is resident");
        (self.cache.bytes(frame), self.states[frame].raw)
    }
}

impl Pages {
    /// Sees that a page may be changed where it is: what the running checkpoint owes is kept, and it is dirty from now on.
    #[inline]
    pub(super) fn begin_change(&mut self, number: PageNo, frame: FrameId) {
        let state = &mut self.states[frame];
        if state.in_checkpoint && state.old.is_none() {
            state.old = Some(self.old.keep(self.cache.bytes(frame)));
            self.touched.kept.push(number);
        }
        if !state.dirty {
            state.dirty = true;
            self.touched.dirty.push(number);
            self.counts.dirty += 1;
            self.journal.first_change(number);
            self.settle_hold(frame);
        }
    }
}

impl TreePages for Pages {
    #[inline]
    fn page(&self, number: PageNo) -> Option<&[u8]> {
        let frame = self.cache.hit(number, self.op);
        if self.draft.is_on() {
            return match frame {
                Some(frame) => self.drafted_bytes(frame).or_else(|| Some(self.cache.bytes(frame))),
                None => self.draft.new_page(number, self.layout.page),
            };
        }
        frame.map(|frame| self.cache.bytes(frame))
    }

    fn edit(&mut self, number: PageNo, edit: PageEdit<'_>) {
        if self.draft.is_on() {
            return self.edit_draft(number, &edit);
        }
        let frame = self.find(number).expect("an edited page is resident");
        self.begin_change(number, frame);
        self.journal.edit(number, &edit);
        edit.apply(number, self.cache.bytes_mut(frame));
    }

    fn allocate(&mut self) -> PageNo {
        self.allocate_draft()
    }

    fn free(&mut self, number: PageNo) {
        self.give_back(PageRun { first: number, count: 1 });
    }

    fn may_touch(&self, number: PageNo) -> bool {
        self.may_draft(number)
    }

    #[inline]
    fn is_dirty(&self, number: PageNo) -> bool {
        self.find(number).is_some_and(|frame| self.states[frame].dirty) || self.is_drafted(number)
    }

    #[inline]
    fn coming(&self) -> PageVersion {
        PageVersion::of(self.coming)
    }
}
