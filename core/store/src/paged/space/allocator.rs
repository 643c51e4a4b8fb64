//! Which pages are free to be given out.
//!
//! A page that was given back stays unusable until the checkpoint that contains the giving back has ended: until then a
//! crash leads back to a state that may still read it. (Data is written straight to fresh pages, so "free as of now"
//! would let a write destroy what a restart needs.)

use super::page_set::PageSet;
use crate::paged::ids::PageNo;
use crate::paged::layout::Layout;

/// Neighbouring pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRun {
    /// The first one.
    pub first: PageNo,
    /// How many.
    pub count: u64,
}

/// One bit per page in memory: set while the page may not be given out.
#[derive(Clone, Debug)]
pub struct Allocator {
    first: PageNo,
    count: u64,
    words: Vec<u64>,
    free: u64,
    cursor: u64,
    given_back: PageSet,
    /// Given back before the instant of the running checkpoint.
    given_back_before: PageSet,
    /// Given back before the instant of the last one that has ended.
    ended: PageSet,
    /// How many pages are in these, or on their way from there: the device is being told.
    returning: u64,
}

impl Allocator {
    /// All pages of the store, every one taken until [`Allocator::load`] says otherwise.
    pub fn new(layout: &Layout) -> Allocator {
        Allocator {
            first: layout.pages_first,
            count: layout.pages_count,
            words: vec![u64::MAX; layout.pages_count.div_ceil(64) as usize],
            free: 0,
            cursor: 0,
            given_back: PageSet::default(),
            given_back_before: PageSet::default(),
            ended: PageSet::default(),
            returning: 0,
        }
    }

    /// Takes over a part of the free map: `bits` speak of the pages from `first` on, 1 for used.
    pub fn load(&mut self, first: PageNo, bits: &[u8]) {
        let start = first.0 - self.first.0;
        for (at, byte) in bits.iter().enumerate() {
            let from = start + at as u64 * 8;
            for bit in (0..8).filter(|bit| byte >> bit & 1 == 0) {
                if from + bit < self.count {
                    self.clear(from + bit);
                }
            }
        }
    }

    fn is_taken(&self, index: u64) -> bool {
        self.words[(index / 64) as usize] >> (index % 64) & 1 == 1
    }

    fn set(&mut self, index: u64) {
        assert!(!self.is_taken(index), "a page is given out once");
        self.words[(index / 64) as usize] |= 1 << (index % 64);
        self.free -= 1;
    }

    fn clear(&mut self, index: u64) {
        assert!(self.is_taken(index), "a page is given back once");
        self.words[(index / 64) as usize] &= !(1 << (index % 64));
        self.free += 1;
    }

    /// Pages that may be given out.
    pub fn free(&self) -> u64 {
        self.free
    }

    /// Pages that will be free when the next checkpoint has ended.
    pub fn returning(&self) -> u64 {
        self.returning
    }

    /// Gives out up to `most` neighbouring pages, after the ones given out last if possible.
    pub fn take(&mut self, most: u64) -> Option<PageRun> {
        if self.free == 0 || most == 0 {
            return None;
        }
        let start = self.next_free(self.cursor).or_else(|| self.next_free(0))?;
        let mut end = start;
        while end < self.count && end - start < most && !self.is_taken(end) {
            self.set(end);
            end += 1;
        }
        self.cursor = end % self.count;
        Some(PageRun { first: self.first.plus(start), count: end - start })
    }

    fn next_free(&self, from: u64) -> Option<u64> {
        let mut word = (from / 64) as usize;
        let mut taken = self.words.get(word)? | ((1 << (from % 64)) - 1);
        while taken == u64::MAX {
            word += 1;
            taken = *self.words.get(word)?;
        }
        let index = word as u64 * 64 + u64::from(taken.trailing_ones());
        (index < self.count).then_some(index)
    }

    /// Where the next pages are looked for.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Looks for the next pages where it did before; what it has given out since was taken back.
    pub fn rewind(&mut self, cursor: u64) {
        self.cursor = cursor;
    }

    /// Takes certain pages, those that the log says were written. False if one of them is taken.
    pub fn claim(&mut self, run: PageRun) -> bool {
        let from = run.first.0 - self.first.0;
        if (from..from + run.count).any(|index| self.is_taken(index)) {
            return false;
        }
        (from..from + run.count).for_each(|index| self.set(index));
        true
    }

    /// Takes back pages that nothing durable has ever spoken of: they may be given out at once.
    pub fn unclaim(&mut self, run: PageRun) {
        let from = run.first.0 - self.first.0;
        (from..from + run.count).for_each(|index| self.clear(index));
    }

    /// Notes pages as given back. They are free when the checkpoint that contains this has ended.
    pub fn give_back(&mut self, run: PageRun) {
        self.returning += run.count;
        self.given_back.put(run.first.0 - self.first.0, run.count);
    }

    /// A checkpoint takes its instant.
    pub fn instant(&mut self) {
        assert_eq!(self.given_back_before.count(), 0, "one checkpoint at a time");
        self.given_back_before = std::mem::take(&mut self.given_back);
    }

    /// Whether the next checkpoint frees pages.
    pub fn gives_back(&self) -> bool {
        self.given_back.count() > 0
    }

    /// How many the next checkpoint frees.
    pub fn given_back(&self) -> u64 {
        self.given_back.count()
    }

    /// The checkpoint has ended: what it had seen given back may [return](Allocator::next_ended).
    pub fn end(&mut self) {
        assert!(!self.has_ended(), "what one has freed returns before the next one frees more");
        self.ended = std::mem::take(&mut self.given_back_before);
    }

    /// Whether there is more of what the last checkpoint has freed.
    pub fn has_ended(&self) -> bool {
        self.ended.count() > 0
    }

    /// The next neighbouring pages of that, at most so many. The caller discards them and says that they have
    /// [returned](Allocator::returned), or [keeps](Allocator::keep_back) them.
    pub fn next_ended(&mut self, most: u64) -> Option<PageRun> {
        let (start, count) = self.ended.take(most)?;
        Some(PageRun { first: self.first.plus(start), count })
    }

    /// Pages that a checkpoint has seen given back are free.
    pub fn returned(&mut self, run: PageRun) {
        self.returning -= run.count;
        self.unclaim(run);
    }

    /// They are not free before another one has ended.
    pub fn keep_back(&mut self, run: PageRun) {
        self.returning -= run.count;
        self.give_back(run);
    }

    /// Whether a page may not be given out now.
    pub fn holds(&self, page: PageNo) -> bool {
        self.is_taken(page.0 - self.first.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paged::ids::PageSize;
    use crate::paged::layout::Format;
    use loadline_base::{Bytes, Rng};

    fn allocator() -> Allocator {
        let format = Format {
            store_id: 1,
            data_bytes: Bytes::from_mib(4),
            log_device_bytes: None,
            log_bytes: Bytes::from_mib(1),
            segment_bytes: Bytes::from_kib(64),
            block_bytes: 512,
            recovery_bytes: Bytes::from_mib(1),
            page: PageSize::DEFAULT,
        };
        let layout = format.layout().expect("it fits");
        let mut allocator = Allocator::new(&layout);
        allocator.load(layout.pages_first, &vec![0; layout.pages_count.div_ceil(8) as usize]);
        assert_eq!(allocator.free(), layout.pages_count);
        allocator
    }

    /// A page was given back and given out again before a checkpoint had ended, and data was written over what the restart
    /// of a crash in between still had to read.
    #[test]
    fn a_page_given_back_is_not_free_before_a_checkpoint_after_it_has_ended() {
        let mut allocator = allocator();
        let run = allocator.take(8).expect("pages are free");
        let free = allocator.free();
        allocator.instant();
        allocator.give_back(run);
        allocator.end();
        assert_eq!((allocator.next_ended(9), allocator.returning()), (None, 8));
        allocator.instant();
        assert!(allocator.holds(run.first) && !allocator.has_ended());
        allocator.end();
        assert_eq!(allocator.next_ended(9), Some(run));
        // The device is being told, and who needs room need not despair.
        assert_eq!((allocator.free(), allocator.returning()), (free, 8));
        allocator.returned(run);
        assert_eq!((allocator.free(), allocator.returning()), (free + 8, 0));
    }

    #[test]
    fn no_page_is_given_out_twice_and_all_are_given_out() {
        let mut allocator = allocator();
        let mut rng = Rng::new(1);
        let mut taken = vec![false; allocator.count as usize];
        let claimed = PageRun { first: allocator.first.plus(100), count: 20 };
        assert!(allocator.claim(claimed) && !allocator.claim(claimed));
        while let Some(run) = allocator.take(1 + rng.below(64)) {
            for page in run.first.0..run.first.0 + run.count {
                let at = (page - allocator.first.0) as usize;
                assert!(!std::mem::replace(&mut taken[at], true), "page {page}");
            }
        }
        assert_eq!(taken.iter().filter(|taken| !**taken).count(), 20);
        assert_eq!(allocator.free(), 0);
    }
}
