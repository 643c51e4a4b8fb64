//! Pages that nobody owns and no checkpoint needs any more: the device is told, then they may be given out again.

use super::PagedStore;
use crate::paged::space::PageRun;

/// Shorter runs are not worth a request of their own.
const DISCARD_MIN_BYTES: u64 = 64 << 10;

/// Runs that are freed in one turn, and their pages. There may be a million of them, one for each small write since the checkpoint before, and ops wait meanwhile: each of
/// the pages is looked for in memory.
const RUNS_PER_TURN: usize = 256;
const PAGES_PER_TURN: u64 = 4096;

impl<T: Copy> PagedStore<T> {
    /// Frees what the checkpoint that has just ended had seen given back, or begins to.
    pub(super) fn free_given_back(&mut self) {
        self.space.pages.allocator.end();
        self.free_some();
        while self.restart.is_some() && self.space.pages.allocator.has_ended() {
            // Nobody else has a turn, and nobody asks when the next one is.
            self.free_some();
        }
    }

    /// Frees some of that. The rest has its turn with the next event, or at once where there is none.
    pub(super) fn free_some(&mut self) {
        let mut left = PAGES_PER_TURN;
        for _ in 0..RUNS_PER_TURN {
            let Some(run) = self.space.pages.allocator.next_ended(left) else { break };
            left -= run.count;
            if !self.space.pages.forget(run) {
                // Somebody still reads what the page held: it stays for another round.
                self.space.pages.allocator.keep_back(run);
            } else if run.count * self.superblock.layout.page.bytes() as u64 >= DISCARD_MIN_BYTES {
                self.discard(run);
            } else {
                self.space.pages.allocator.returned(run);
            }
        }
        self.ops.note_change();
    }

    fn discard(&mut self, run: PageRun) {
        let page = self.superblock.layout.page;
        let place = (page.offset(run.first), run.count * page.bytes() as u64);
        let class = self.options.classes.checkpoint;
        self.metrics.totals.discarded_bytes += place.1;
        self.requests.discard(run, place, class);
    }

    /// The device has been told; that it may have refused changes nothing.
    pub(super) fn discarded(&mut self, run: PageRun) {
        self.space.pages.allocator.returned(run);
        self.ops.note_change();
    }
}
