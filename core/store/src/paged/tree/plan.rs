//! The first half of a change: which pages it needs.

use super::{Child, Missing, PageNo, Tree, TreePages, node};
use crate::paged::ids::PageSize;
use crate::paged::node::entry_bytes;
use crate::paged::page::HEADER;

/// What a transaction needs before it may be applied. Kept by the caller from one transaction to the next, so that a
/// steady load allocates nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Resident pages that may be edited, each once.
    pub touched: Vec<PageNo>,
    /// Those of them that may have to be split, each once.
    may_split: Vec<PageNo>,
    /// Bytes of new entries, of cells and slots.
    inserted: usize,
}

/// What a planned put will find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedPut<'p> {
    /// The present value.
    pub old: Option<&'p [u8]>,
    /// The leaf, if nothing but it will change: nothing has to be split, and it is dirty already.
    pub leaf: Option<PageNo>,
}

impl Footprint {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.touched.clear();
        self.may_split.clear();
        self.inserted = 0;
    }

    /// Adds a page.
    pub fn touch(&mut self, page: PageNo) {
        if !self.touched.contains(&page) {
            self.touched.push(page);
        }
    }

    /// Adds a page that may have to be split.
    fn touch_to_split(&mut self, page: PageNo) {
        self.touch(page);
        if !self.may_split.contains(&page) {
            self.may_split.push(page);
        }
    }

    /// Counts bytes of new entries.
    pub fn insert(&mut self, bytes: usize) {
        self.inserted += bytes;
    }

    /// How many pages may be allocated at most, on pages of this size.
    ///
    /// A full node splits at its first new entry. If that stands at its end, the left half stays full and may split a second
    /// time; every further split needs half a node of new entries. One more level may be added.
    pub fn new_pages(&self, page: PageSize) -> u32 {
        if self.may_split.is_empty() {
            return 0;
        }
        let half = (page.bytes() - HEADER) / 2;
        (2 * self.may_split.len() + 2 * self.inserted.div_ceil(half) + 2) as u32
    }
}

impl Tree {
    /// Plans a [`put`](Tree::put) of a value of `value_len` bytes, within [`key_max`](crate::paged::node::key_max) and
    /// [`cell_max`](crate::paged::node::cell_max).
    ///
    /// `slack` is the sum of [`entry_bytes`] over all puts of the transaction: a leaf with so much space left cannot
    /// split, whichever of them it gets. Otherwise every node of the path may split, and the root may get a parent. A
    /// value that does not grow splits nothing, unless other puts of the transaction may take its place. A leaf that is not
    /// dirty becomes so with all of its path, which names its version.
    pub fn plan_put<'p, P: TreePages>(
        &self,
        pages: &'p P,
        key: &[u8],
        value_len: usize,
        slack: usize,
        footprint: &mut Footprint,
    ) -> Result<PlannedPut<'p>, Missing> {
        assert!(slack >= entry_bytes(key.len(), value_len), "the slack covers every put");
        let child = self.leaf(pages, key)?;
        let (number, leaf) = (child.page, node(pages, child)?);
        assert!(leaf.takes(key.len(), value_len), "an entry is at most a quarter of a page");
        let old = leaf.search(key).ok().map(|at| leaf.value(at));
        let is_alone = slack == entry_bytes(key.len(), value_len);
        let grows = old.is_none_or(|old| old.len() < value_len);
        let fits = (!grows && is_alone) || leaf.free() >= slack;
        let is_dirty = pages.is_dirty(number);
        if !fits {
            self.visit_path(pages, key, |node| footprint.touch_to_split(node))?;
        } else if !is_dirty {
            self.visit_path(pages, key, |node| footprint.touch(node))?;
        }
        footprint.touch(number);
        footprint.insert(entry_bytes(key.len(), value_len));
        Ok(PlannedPut { old, leaf: (fits && is_dirty).then_some(number) })
    }

    /// Plans a [`remove`](Tree::remove) and the [`settle`](Tree::settle) that follows it.
    pub fn plan_remove<P: TreePages>(
        &self,
        pages: &P,
        key: &[u8],
        footprint: &mut Footprint,
    ) -> Result<(), Missing> {
        self.visit_path(pages, key, |node| footprint.touch(node))
    }

    /// Plans a [`patch`](Tree::patch).
    pub fn plan_patch<P: TreePages>(
        &self,
        pages: &P,
        key: &[u8],
        footprint: &mut Footprint,
    ) -> Result<(), Missing> {
        self.visit_path(pages, key, |node| footprint.touch(node))
    }

    /// Plans any changes of keys from `from` to `to`: every node above and in between. New entries are counted apart, by
    /// [`Footprint::insert`].
    pub fn plan_range<P: TreePages>(
        &self,
        pages: &P,
        from: &[u8],
        to: &[u8],
        footprint: &mut Footprint,
    ) -> Result<(), Missing> {
        touch_below(pages, self.root, self.height, (from, to), footprint)
    }

    /// Shows `f` every node from the root to the leaf of `key`.
    fn visit_path<P: TreePages>(
        &self,
        pages: &P,
        key: &[u8],
        mut f: impl FnMut(PageNo),
    ) -> Result<(), Missing> {
        let mut child = self.root;
        for _ in 1..self.height {
            let inner = node(pages, child)?;
            f(child.page);
            child = inner.child(inner.route(key));
        }
        node(pages, child)?;
        f(child.page);
        Ok(())
    }
}

/// Touches a node of that many levels and everything below it that keys of the range belong into.
fn touch_below<P: TreePages>(
    pages: &P,
    child: Child,
    levels: u8,
    (from, to): (&[u8], &[u8]),
    footprint: &mut Footprint,
) -> Result<(), Missing> {
    let node = node(pages, child)?;
    footprint.touch_to_split(child.page);
    if levels > 1 {
        for at in node.route(from)..=node.route(to) {
            touch_below(pages, node.child(at), levels - 1, (from, to), footprint)?;
        }
    }
    Ok(())
}
