//! Pages of the running checkpoint: taken at its instant, kept as they were, written home.

use super::Pages;
use crate::paged::ids::{CheckpointId, PageNo};
use crate::paged::node::TreeNode;
use crate::paged::page::{self, PageStamp};

impl Pages {
    /// The instant of checkpoint `id`: every page changed so far is its, and every change from now on is the next one's.
    /// Answers the pages, and the digest of the free map as it makes it.
    pub fn take_instant(&mut self, id: CheckpointId) -> (Vec<PageNo>, u32) {
        assert_eq!(self.counts.in_checkpoint, 0, "one checkpoint at a time");
        assert_eq!(self.coming, id, "pages were promised to this checkpoint");
        self.coming = id.next();
        self.touched.kept.clear();
        let mut pages = std::mem::take(&mut self.touched.dirty);
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
        for number in pages.iter().filter(|page| self.layout.is_map(**page)) {
            self.sums.map[(number.0 - self.layout.map_first.0) as usize] = PageStamp::of(id);
        }
        assert_eq!(
            self.counts.dirty, self.counts.in_checkpoint,
            "the dirty pages are those listed"
        );
        self.counts.dirty = 0;
        self.allocator.instant();
        let map = PageStamp::digest(self.sums.map.iter().copied());
        (pages, map)
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
            page::seal(&mut out[at..], self.sums.seed, id);
        }
        let frame = self.find(number).expect("it was just read");
        let state = &mut self.states[frame];
        let old = state.old.take();
        state.in_checkpoint = false;
        state.writing = true;
        self.counts.in_checkpoint -= 1;
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
        while let Some(number) = self.touched.kept.pop() {
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
}

/// A node's gap means nothing and is not in its image; as zeros it is the same at home as after a restore.
pub(super) fn clear_gap(page: &mut [u8]) {
    if let Some(gap) = TreeNode::of(page).map(TreeNode::gap) {
        page[gap].fill(0);
    }
}
