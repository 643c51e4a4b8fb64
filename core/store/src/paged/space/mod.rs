//! The pages of a store in memory: which are resident, dirty, part of the running checkpoint, free.
//!
//! This is the one place where a page changes. It keeps invariant 6 of checkpoint.md 16: the first change of a page that the
//! running checkpoint has not written yet leaves its old version behind. It does not know devices, the log or time.

mod allocator;
mod draft;
mod instant;
mod journal;
mod old_versions;
mod pages;

pub use allocator::{Allocator, PageRun};
pub use draft::Takes;
pub use journal::Journal;
pub use old_versions::OldVersions;
pub use pages::{EditOf, PageCounts, PageLoad, Pages};

use super::keys::KeyBuffer;
use super::tree::Tree;

/// Pages and the tree that stands in them.
pub struct Space {
    /// The pages.
    pub pages: Pages,
    /// Where the tree begins.
    pub tree: Tree,
    /// The tree before the draft.
    before: Tree,
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
        Space { pages, tree, before: tree, scratch: Scratch::default() }
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
