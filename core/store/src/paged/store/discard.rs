//! Pages that nobody owns and no checkpoint needs any more: the device is told, then they may be given out again.

use super::PagedStore;
use crate::paged::space::PageRun;

/// Shorter runs are not worth a request of their own.
const DISCARD_MIN_BYTES: u64 = 64 << 10;

impl<T: Copy> PagedStore<T> {
    /// Frees what the checkpoint that has just ended had seen given back.
    pub(super) fn free_given_back(&mut self) {
        let mut runs = self.space.pages.allocator.ended();
        runs.sort_unstable_by_key(|run| run.first);
        runs.dedup_by(|next, last| {
            let joins = last.first.plus(last.count) == next.first;
            last.count += if joins { next.count } else { 0 };
            joins
        });
        for run in runs {
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
