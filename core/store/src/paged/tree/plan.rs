//! The first half of a change: which pages it needs.

use super::{Missing, PageNo, Tree, TreePages, node};
use crate::paged::node::entry_bytes;

/// What a transaction needs before it may be applied. Kept by the caller from one transaction to the next, so that a
/// steady load allocates nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Resident pages that may be edited, each once.
    pub touched: Vec<PageNo>,
    /// How many pages may be allocated at most.
    pub new_pages: u32,
}

impl Footprint {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.touched.clear();
        self.new_pages = 0;
    }

    /// Adds a page.
    pub fn touch(&mut self, page: PageNo) {
        if !self.touched.contains(&page) {
            self.touched.push(page);
        }
    }
}

impl Tree {
    /// Plans a [`put`](Tree::put) of a value of `value_len` bytes, within [`key_max`](crate::paged::node::key_max) and
    /// [`cell_max`](crate::paged::node::cell_max).
    ///
    /// `slack` is the sum of [`entry_bytes`] over all puts of the transaction: a leaf with so much space left cannot
    /// split, whichever of them it gets. Otherwise every node of the path may split, and the root may get a parent. A
    /// value that does not grow splits nothing, unless other puts of the transaction may take its place.
    ///
    /// Answers the present value.
    pub fn plan_put<'p, P: TreePages>(
        &self,
        pages: &'p P,
        key: &[u8],
        value_len: usize,
        slack: usize,
        footprint: &mut Footprint,
    ) -> Result<Option<&'p [u8]>, Missing> {
        assert!(slack >= entry_bytes(key.len(), value_len), "the slack covers every put");
        let number = self.leaf(pages, key)?;
        let leaf = node(pages, number)?;
        assert!(leaf.takes(key.len(), value_len), "an entry is at most a quarter of a page");
        let old = leaf.search(key).ok().map(|at| leaf.value(at));
        let is_alone = slack == entry_bytes(key.len(), value_len);
        let grows = old.is_none_or(|old| old.len() < value_len);
        if (grows || !is_alone) && leaf.free() < slack {
            self.touch_path(pages, key, footprint)?;
            footprint.new_pages += u32::from(self.height) + 1;
        }
        footprint.touch(number);
        Ok(old)
    }

    /// Plans a [`remove`](Tree::remove) and the [`settle`](Tree::settle) that follows it.
    pub fn plan_remove<P: TreePages>(
        &self,
        pages: &P,
        key: &[u8],
        footprint: &mut Footprint,
    ) -> Result<(), Missing> {
        self.touch_path(pages, key, footprint)
    }

    /// Plans a [`patch`](Tree::patch).
    pub fn plan_patch<P: TreePages>(
        &self,
        pages: &P,
        key: &[u8],
        footprint: &mut Footprint,
    ) -> Result<(), Missing> {
        let leaf = self.leaf(pages, key)?;
        node(pages, leaf)?;
        footprint.touch(leaf);
        Ok(())
    }

    /// Plans any changes of keys from `from` to `to`, a few new ones among them: every node above and in between.
    pub fn plan_range<P: TreePages>(
        &self,
        pages: &P,
        from: &[u8],
        to: &[u8],
        footprint: &mut Footprint,
    ) -> Result<(), Missing> {
        let before = footprint.touched.len();
        touch_below(pages, self.root, self.height, (from, to), footprint)?;
        // Each leaf may split once, and with them the nodes above; new entries may fill two more.
        let leaves = footprint.touched.len() - before;
        footprint.new_pages += leaves as u32 + u32::from(self.height) + 3;
        Ok(())
    }

    /// Touches every node from the root to the leaf of `key`.
    fn touch_path<P: TreePages>(
        &self,
        pages: &P,
        key: &[u8],
        footprint: &mut Footprint,
    ) -> Result<(), Missing> {
        let mut number = self.root;
        for _ in 1..self.height {
            let inner = node(pages, number)?;
            footprint.touch(number);
            number = inner.child(inner.route(key));
        }
        node(pages, number)?;
        footprint.touch(number);
        Ok(())
    }
}

/// Touches a node of that many levels and everything below it that keys of the range belong into.
fn touch_below<P: TreePages>(
    pages: &P,
    number: PageNo,
    levels: u8,
    (from, to): (&[u8], &[u8]),
    footprint: &mut Footprint,
) -> Result<(), Missing> {
    let node = node(pages, number)?;
    footprint.touch(number);
    if levels > 1 {
        for at in node.route(from)..=node.route(to) {
            touch_below(pages, node.child(at), levels - 1, (from, to), footprint)?;
        }
    }
    Ok(())
}
