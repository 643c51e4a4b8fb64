//! The draft of a transaction: the pages that it changes, as they will be, beside those that are resident.
//!
//! A transaction is carried out on copies first. Nothing that the store stands on changes meanwhile, so a draft that misses a
//! page, or lacks room, is dropped and made again; and what it takes is counted, not estimated: the pages that become dirty,
//! frames, pages of the device, bytes of the log. One that has all it takes is kept, which cannot fail.

use super::PageRun;
use super::pages::{EditOf, FrameState, Pages};
use crate::paged::cache::FrameId;
use crate::paged::edit::PageEdit;
use crate::paged::ids::{PageNo, PageSize};
use std::collections::BTreeMap;

/// The number of a page that a draft wants and that the device does not have. Drafts that have one are not kept; no device has
/// so many pages, and a child's number of 40 bits takes it.
const NOWHERE: u64 = (1 << 40) - 1;

/// A page of a draft.
struct Drafted {
    number: PageNo,
    /// Where it is resident, kept there meanwhile; a new page has no frame yet.
    frame: Option<FrameId>,
    /// What an edit means for the resident page.
    is: EditOf,
    raw: bool,
    /// It is given back again: nothing is to be written.
    gone: bool,
}

/// Everything of one draft. Its memory is kept from one transaction to the next.
#[derive(Default)]
pub(super) struct Draft {
    on: bool,
    pages: Vec<Drafted>,
    bytes: Vec<u8>,
    /// Pages of the draft that have no frame.
    new: BTreeMap<PageNo, u32>,
    taken: Vec<PageNo>,
    lacking: u64,
    freed: Vec<PageRun>,
    /// Where the allocator stood.
    cursor: u64,
    /// A merge that nobody needs may make it as large as this.
    ease: usize,
}

/// What a draft takes to be kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Takes {
    /// Pages of the running checkpoint whose old version must be kept.
    pub in_checkpoint: u32,
    /// Other pages that become dirty.
    pub clean: u32,
    /// Frames for pages that are not resident.
    pub frames: u32,
    /// Pages of the device.
    pub pages: u64,
    /// How many of these there are not.
    pub lacking: u64,
}

impl Takes {
    /// One page more is edited.
    pub fn add(&mut self, edit: EditOf) {
        match edit {
            EditOf::Checkpoint => self.in_checkpoint += 1,
            EditOf::Clean => self.clean += 1,
            EditOf::Dirty => {}
        }
    }
}

impl Draft {
    fn bytes(&self, at: u32, page: PageSize) -> &[u8] {
        &self.bytes[at as usize * page.bytes()..][..page.bytes()]
    }

    /// A page of the draft that has no frame.
    #[inline]
    pub(super) fn new_page(&self, number: PageNo, page: PageSize) -> Option<&[u8]> {
        self.new.get(&number).map(|at| self.bytes(*at, page))
    }

    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.on
    }
}

impl Pages {
    /// Begins a draft. Until it is kept or dropped, edits go to it.
    pub(super) fn begin_draft(&mut self, ease: usize) {
        assert!(!self.draft.on, "one draft at a time");
        self.draft.on = true;
        self.draft.ease = ease;
        self.draft.cursor = self.allocator.cursor();
    }

    /// How many pages the draft has.
    pub fn drafted(&self) -> usize {
        self.draft.pages.len()
    }

    /// What it takes to keep the draft.
    pub fn draft_takes(&self) -> Takes {
        let mut takes = Takes {
            pages: self.draft.taken.len() as u64 + self.draft.lacking,
            lacking: self.draft.lacking,
            ..Takes::default()
        };
        for page in self.draft.pages.iter().filter(|page| !page.gone) {
            takes.frames += u32::from(page.frame.is_none());
            takes.add(page.is);
        }
        takes
    }

    /// A drafted page as it is in the draft.
    pub(super) fn drafted_bytes(&self, frame: FrameId) -> Option<&[u8]> {
        self.states[frame].drafted.map(|at| self.draft.bytes(at, self.layout.page))
    }

    fn drafted_at(&self, number: PageNo) -> Option<u32> {
        match self.find(number) {
            Some(frame) => self.states[frame].drafted,
            None => self.draft.new.get(&number).copied(),
        }
    }

    /// Whether a page is in the draft.
    pub fn is_drafted(&self, number: PageNo) -> bool {
        self.draft.on && self.drafted_at(number).is_some()
    }

    fn add_new(&mut self, number: PageNo) {
        let at = self.draft.pages.len() as u32;
        let (frame, is) = (None, EditOf::Clean);
        self.draft.pages.push(Drafted { number, frame, is, raw: false, gone: false });
        let bytes = self.draft.bytes.len() + self.layout.page.bytes();
        self.draft.bytes.resize(bytes, 0);
        self.draft.new.insert(number, at);
    }

    fn add_resident(&mut self, number: PageNo) -> u32 {
        let frame = self.find(number).expect("an edited page is resident");
        let at = self.draft.pages.len() as u32;
        let (is, raw) = (self.touch(number), self.states[frame].raw);
        self.draft.pages.push(Drafted { number, frame: Some(frame), is, raw, gone: false });
        self.draft.bytes.extend_from_slice(self.cache.bytes(frame));
        self.states[frame].drafted = Some(at);
        self.cache.pin(frame);
        at
    }

    pub(super) fn edit_draft(&mut self, number: PageNo, edit: &PageEdit<'_>) {
        let at = self.drafted_at(number).unwrap_or_else(|| self.add_resident(number));
        let page = &mut self.draft.pages[at as usize];
        match edit {
            PageEdit::InitRaw => page.raw = true,
            PageEdit::Init { .. } => page.raw = false,
            _ => {}
        }
        if page.is == EditOf::Dirty {
            // Of the others the whole image is logged.
            self.journal.edit(number, edit);
        }
        let size = self.layout.page.bytes();
        edit.apply(number, &mut self.draft.bytes[at as usize * size..][..size]);
    }

    pub(super) fn allocate_draft(&mut self) -> PageNo {
        let number = self.allocate_unwritten();
        self.add_new(number);
        number
    }

    /// Takes a page of the device for which nothing is to be written. It is not resident.
    pub fn allocate_unwritten(&mut self) -> PageNo {
        match self.allocator.take(1) {
            Some(run) => {
                self.mark_used(run);
                self.draft.taken.push(run.first);
                run.first
            }
            None => {
                self.draft.lacking += 1;
                PageNo(NOWHERE - self.draft.lacking)
            }
        }
    }

    /// Gives `number`, which holds nothing worth reading, a place in the draft. It is not resident.
    pub fn adopt(&mut self, number: PageNo) {
        assert!(self.draft.on && self.cache.find(number).is_none(), "{number} is nowhere");
        self.add_new(number);
    }

    /// Gives pages back; they can be given out again after the checkpoint that contains this.
    pub fn give_back(&mut self, run: PageRun) {
        assert!(self.draft.on, "only a transaction gives back");
        // A page that the device does not have stands nowhere in its map.
        if self.layout.is_page(run.first) {
            self.mark(run, false);
            self.draft.freed.push(run);
        }
        for at in 0..run.count {
            if let Some(at) = self.drafted_at(run.first.plus(at)) {
                self.draft.pages[at as usize].gone = true;
            }
        }
    }

    /// Whether a merge may edit this page although nobody needs it to.
    pub(super) fn may_draft(&self, number: PageNo) -> bool {
        self.is_drafted(number)
            || self.is_resident(number)
                && !self.needs_old_version(number)
                && self.draft.pages.len() < self.draft.ease
    }

    /// Makes the draft what the pages are. The caller has seen to all that it [takes](Pages::draft_takes).
    pub fn keep_draft(&mut self) {
        let mut draft = std::mem::take(&mut self.draft);
        assert_eq!(draft.lacking, 0, "the device has every page of a draft that is kept");
        let size = self.layout.page.bytes();
        for (at, page) in draft.pages.drain(..).enumerate() {
            let frame = match page.frame {
                Some(frame) => frame,
                None if page.gone => continue,
                None => self.take_frame(page.number),
            };
            self.states[frame].drafted = None;
            if !page.gone {
                self.states[frame].raw = page.raw;
                self.begin_change(page.number, frame);
                self.cache.bytes_mut(frame).copy_from_slice(&draft.bytes[at * size..][..size]);
            }
            self.cache.unpin(frame);
        }
        for run in draft.freed.drain(..) {
            self.allocator.give_back(run);
            for at in 0..run.count {
                self.drop_changes(run.first.plus(at));
            }
        }
        self.reset_draft(draft);
    }

    /// Forgets the draft.
    pub(super) fn drop_draft(&mut self) {
        let draft = std::mem::take(&mut self.draft);
        for frame in draft.pages.iter().filter_map(|page| page.frame) {
            self.states[frame].drafted = None;
            self.cache.unpin(frame);
        }
        for first in &draft.taken {
            self.allocator.unclaim(PageRun { first: *first, count: 1 });
        }
        self.allocator.rewind(draft.cursor);
        self.journal.clear();
        self.reset_draft(draft);
    }

    fn reset_draft(&mut self, mut draft: Draft) {
        draft.on = false;
        draft.pages.clear();
        draft.bytes.clear();
        draft.new.clear();
        draft.taken.clear();
        draft.freed.clear();
        draft.lacking = 0;
        self.draft = draft;
    }

    fn take_frame(&mut self, number: PageNo) -> FrameId {
        let frame = self.cache.acquire(number).expect("room for a new page was made");
        self.states[frame] = FrameState::default();
        frame
    }
}
