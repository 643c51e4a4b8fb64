//! The pages of a store in memory: which are resident, dirty, part of the running checkpoint, free.
//!
//! This is the one place where a page changes. It keeps invariant 6 of checkpoint.md 16: the first change of a page that the
//! running checkpoint has not written yet leaves its old version behind. It does not know devices, the log or time.

mod allocator;
mod draft;
mod instant;
mod journal;
mod old_versions;
mod page_set;
mod pages;
mod written;

pub use allocator::{Allocator, PageRun};
pub use draft::Takes;
pub use journal::Journal;
pub use old_versions::OldVersions;
pub use pages::{EditOf, PageCounts, PageLoad, Pages};

use super::keys::KeyBuffer;
use super::tree::{Tree, ValuePlace};

/// Pages and the tree that stands in them.
pub struct Space {
    /// The pages.
    pub pages: Pages,
    /// Where the tree begins.
    pub tree: Tree,
    /// The tree before the draft.
    before: Tree,
    /// Counts what may move keys to other places.
    shape: u64,
    /// The place of the op in hand, and the shape that the tree had when it was looked for.
    foreseen: Option<(u64, ValuePlace)>,
    /// A key and a value under construction.
    pub(in crate::paged) scratch: Scratch,
}

/// Memory for a key and a value, kept from one op to the next.
#[derive(Clone, Debug, Default)]
pub(in crate::paged) struct Scratch {
    pub key: KeyBuffer,
    pub value: Vec<u8>,
}

impl Space {
    /// Pages in which a tree stands.
    pub fn new(pages: Pages, tree: Tree) -> Space {
        let (shape, foreseen, scratch) = (0, None, Scratch::default());
        Space { pages, tree, before: tree, shape, foreseen, scratch }
    }

    /// Keys may stand in other places from now on.
    pub fn reshaped(&mut self) {
        self.shape += 1;
    }

    /// What the tree's shape is now, for places that are looked for.
    pub fn shape(&self) -> u64 {
        self.shape
    }

    /// Where the op that comes next may find its key, looked for in a tree of that shape.
    pub fn foresee(&mut self, shape: u64, place: Option<ValuePlace>) {
        self.foreseen = place.map(|place| (shape, place));
    }

    /// The same for the op in hand, if no key has moved since.
    pub fn take_foreseen(&mut self) -> Option<ValuePlace> {
        let (shape, place) = self.foreseen.take()?;
        (shape == self.shape).then_some(place)
    }

    /// Begins a draft, in which a merge that nobody needs is made as long as there are fewer pages than `ease` in it.
    pub fn begin_draft(&mut self, ease: usize) {
        self.before = self.tree;
        self.pages.begin_draft(ease);
    }

    /// Forgets the draft: nothing has happened.
    pub fn drop_draft(&mut self) {
        self.tree = self.before;
        self.pages.drop_draft();
    }
}
