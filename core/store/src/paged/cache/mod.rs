//! The page cache: frames of one page each, in one block of memory.
//!
//! The cache knows which page is in which frame and which frame to give up. It reads and writes no device, and it does
//! not know what dirty means: whoever needs a page to stay pins it.
//!
//! Replacement is S3-FIFO (Yang et al., SOSP 2023): a new page enters a small queue of a tenth of the frames; when it
//! comes to the head of that queue it moves to the main queue if it was used twice meanwhile, else it leaves and only
//! its number is remembered. A page that is remembered when it comes back goes to the main queue at once. The main queue
//! gives each used page another round. So a scan passes through the small queue and leaves the main one alone, and a
//! use costs one counter, no list operation. One use is not enough to stay because an operation that missed a page
//! begins again when the page is there, and finds it.
//!
//! Hits in a cache of 1,000 frames, 400,000 accesses (`cache/tests.rs`): Zipf over 20,000 pages, 68.7 % against 61.3 %
//! with LRU; the same with every third access from a scan that never comes back, 45.7 % against 36.0 %.

mod ghost;
mod queue;
mod table;
#[cfg(test)]
mod tests;

use super::ids::{PageNo, PageSize};
use super::memory::{AnonymousMemory, NoMemory, collected};
use ghost::Ghost;
use loadline_base::{IdVec, define_id};
use queue::{Frame, FrameQueue, Home};
use table::PageTable;

define_id! {
    /// A place for one page in the cache.
    pub struct FrameId, "frame"
}

/// The largest use count. Two bits are enough to tell a page that is worth three more rounds from one that is worth none.
const USES_MAX: u8 = 3;

/// Uses in the small queue that make a page stay.
const USES_TO_STAY: u8 = 2;

/// Pages in memory. See the module.
pub struct Cache {
    memory: AnonymousMemory,
    page_size: PageSize,
    frames: IdVec<FrameId, Frame>,
    table: PageTable,
    free: Vec<FrameId>,
    small: FrameQueue,
    main: FrameQueue,
    ghost: Ghost,
    /// The small queue gives up pages while it has more than this many.
    small_target: u32,
    pinned: u32,
}

impl Cache {
    /// An empty cache of `frames` pages. The memory is only touched as frames are taken.
    pub fn new(frames: u32, page_size: PageSize) -> Result<Cache, NoMemory> {
        assert!(frames > 0, "a cache has at least one frame");
        let small_target = (frames / 10).max(1);
        Ok(Cache {
            memory: AnonymousMemory::zeroed(frames as usize * page_size.bytes())?,
            page_size,
            frames: collected((0..frames).map(|_| Frame::new()))?.into_iter().collect(),
            table: PageTable::new(frames)?,
            free: collected((0..frames).rev().map(FrameId::new))?,
            small: FrameQueue::new(),
            main: FrameQueue::new(),
            ghost: Ghost::new((frames - small_target).max(1))?,
            small_target,
            pinned: 0,
        })
    }

    /// The frame of `page`, if it has one, hidden or not. It does not count as a use.
    #[inline]
    pub fn find(&self, page: PageNo) -> Option<FrameId> {
        self.table.find(page).map(FrameId::new)
    }

    /// The frame that holds `page`, if it is resident and not hidden. It does not count as a use.
    #[inline]
    pub fn find_visible(&self, page: PageNo) -> Option<FrameId> {
        self.find(page).filter(|frame| !self.frames[*frame].hidden)
    }

    /// The frame that holds `page`, if it is resident and not hidden. It counts as a use, once per `op`.
    #[inline]
    pub fn hit(&self, page: PageNo, op: u32) -> Option<FrameId> {
        let id = self.find(page)?;
        let frame = &self.frames[id];
        if frame.hidden {
            return None;
        }
        if frame.used_by.replace(op) != op && frame.uses.get() < USES_MAX {
            frame.uses.set(frame.uses.get() + 1);
        }
        Some(id)
    }

    /// Hides a frame whose page is not there yet, or shows it again.
    pub fn set_hidden(&mut self, frame: FrameId, hidden: bool) {
        self.frames[frame].hidden = hidden;
    }

    /// Whether a frame is hidden.
    pub fn is_hidden(&self, frame: FrameId) -> bool {
        self.frames[frame].hidden
    }

    /// The bytes of the page in `frame`.
    #[inline]
    pub fn bytes(&self, frame: FrameId) -> &[u8] {
        let size = self.page_size.bytes();
        &self.memory[frame.get() as usize * size..][..size]
    }

    /// The bytes of the page in `frame`, to change.
    #[inline]
    pub fn bytes_mut(&mut self, frame: FrameId) -> &mut [u8] {
        let size = self.page_size.bytes();
        &mut self.memory[frame.get() as usize * size..][..size]
    }

    /// The page in `frame`, which must hold one.
    #[inline]
    pub fn page(&self, frame: FrameId) -> PageNo {
        let frame = &self.frames[frame];
        assert!(frame.home != Home::Free, "a free frame holds no page");
        frame.page
    }

    /// A frame for `page`, which must not be resident: free, or freed by giving up another page. None if every page is
    /// pinned. The frame is pinned once, [`find`](Cache::find) finds it from now on, and its bytes are whatever they
    /// were: the caller fills them before it unpins.
    pub fn acquire(&mut self, page: PageNo) -> Option<FrameId> {
        assert!(self.find(page).is_none(), "{page} is resident already");
        if !self.make_room(1) {
            return None;
        }
        let id = self.free.pop().expect("there is room");
        let home = if self.ghost.take(page) { Home::Main } else { Home::Small };
        let frame = &mut self.frames[id];
        frame.page = page;
        frame.pins = 1;
        frame.home = home;
        frame.uses.set(0);
        frame.hidden = false;
        self.pinned += 1;
        self.table.insert(page, id.get());
        Some(id)
    }

    /// Keeps the page in `frame` until it is unpinned as often as it was pinned.
    #[inline]
    pub fn pin(&mut self, frame: FrameId) {
        let frame = &mut self.frames[frame];
        assert!(frame.home != Home::Free, "a free frame cannot be pinned");
        self.pinned += u32::from(frame.pins == 0);
        frame.pins += 1;
    }

    /// Whether a frame is kept.
    #[inline]
    pub fn is_pinned(&self, frame: FrameId) -> bool {
        self.frames[frame].pins > 0
    }

    /// Takes back one [`pin`](Cache::pin).
    #[inline]
    pub fn unpin(&mut self, id: FrameId) {
        let frame = &mut self.frames[id];
        assert!(frame.pins > 0, "a frame is unpinned once per pin");
        frame.pins -= 1;
        if frame.pins > 0 {
            return;
        }
        self.pinned -= 1;
        if !frame.queued {
            match frame.home {
                Home::Main => self.main.push(id, &mut self.frames),
                _ => self.small.push(id, &mut self.frames),
            }
        }
    }

    /// Drops `page` if it is resident; it must not be pinned. Its frame becomes free and nothing remembers the page.
    pub fn forget(&mut self, page: PageNo) {
        self.ghost.take(page);
        let Some(id) = self.find(page) else { return };
        assert!(self.frames[id].pins == 0, "{page} is pinned");
        match self.frames[id].home {
            Home::Main => self.main.remove(id, &mut self.frames),
            _ => self.small.remove(id, &mut self.frames),
        }
        self.release(id);
    }

    /// Gives up pages until `frames` frames are free. False if too many pages are pinned; what could go has gone then.
    pub fn make_room(&mut self, frames: u32) -> bool {
        while self.free() < frames {
            if !self.evict() {
                return false;
            }
        }
        true
    }

    /// How many frames there are.
    pub fn frames(&self) -> u32 {
        self.frames.len() as u32
    }

    /// How many frames hold no page.
    pub fn free(&self) -> u32 {
        self.free.len() as u32
    }

    /// How many frames are pinned.
    pub fn pinned(&self) -> u32 {
        self.pinned
    }

    /// Gives up one page. False if all are pinned.
    fn evict(&mut self) -> bool {
        loop {
            let victim = if self.small.len() > self.small_target || self.main.is_empty() {
                self.next_of_small()
            } else {
                self.next_of_main()
            };
            if let Some(id) = victim {
                self.release(id);
                return true;
            }
            if self.small.is_empty() && self.main.is_empty() {
                return false;
            }
        }
    }

    /// Takes the head of the small queue: a victim, or none if the page was pinned or stays.
    fn next_of_small(&mut self) -> Option<FrameId> {
        let id = self.small.pop(&mut self.frames)?;
        let frame = &mut self.frames[id];
        let stays = frame.uses.get() >= USES_TO_STAY;
        if stays {
            frame.home = Home::Main;
            frame.uses.set(0);
        }
        // A pinned frame stays out of the queues until it is unpinned, so that it is met once, not at every round.
        if frame.pins > 0 {
            return None;
        }
        if stays {
            self.main.push(id, &mut self.frames);
            return None;
        }
        self.ghost.remember(frame.page);
        Some(id)
    }

    /// Takes the head of the main queue: a victim, or none if the page was pinned or has another round.
    fn next_of_main(&mut self) -> Option<FrameId> {
        let id = self.main.pop(&mut self.frames)?;
        let frame = &self.frames[id];
        if frame.pins > 0 {
            return None;
        }
        let uses = frame.uses.get();
        if uses == 0 {
            return Some(id);
        }
        frame.uses.set(uses - 1);
        self.main.push(id, &mut self.frames);
        None
    }

    /// Makes the frame free; it is in no queue.
    fn release(&mut self, id: FrameId) {
        let frame = &mut self.frames[id];
        frame.home = Home::Free;
        self.table.remove(frame.page);
        self.free.push(id);
    }
}
