//! The one B+tree of a store: user keys, object metadata, attributes, extents.
//!
//! Leaves hold keys with values; inner nodes hold separators with children. There are no links between siblings: a
//! walk along the keys goes through the parents, so a split edits only the path to the leaf and new pages.
//!
//! A parent names its child's page and *version*: which checkpoint writes the page that belongs there. A page that changes for
//! the first time after an instant is written by the coming checkpoint, so its parent names that one from then on, and
//! changes with it, up to the root. A reader that finds another version under a pointer has found what a lost write has
//! left. It follows that a page is dirty only if everything on the path to it is.
//!
//! A change has two halves. *Plan* looks for the pages that it needs and names them in a [`Footprint`]; a page that is
//! not resident is the answer [`Missing`], and the caller starts again when it has been read. *Apply* makes the edits
//! and never misses. A transaction plans all its changes on the unchanged tree, then applies them all:
//!
//! 1. `plan_put`, `plan_remove`, `plan_patch` for each change, at most one change for each key;
//! 2. `put`, `remove`, `patch` in any order;
//! 3. `settle` for each removed key, which merges pages that became small and frees those that became empty. It
//!    comes last because a later put of the same transaction may belong into the page that would be gone, and the
//!    neighbour that inherits its keys was never planned.

mod change;
mod plan;
mod walk;

pub use plan::{Footprint, PlannedPut};
pub use walk::{Visited, Walk};

use super::edit::PageEdit;
use super::ids::{Child, PageNo, PageVersion};
use super::node::Node;

/// The pages that a tree lives in.
pub trait TreePages {
    /// A page's bytes, if it is resident.
    fn page(&self, number: PageNo) -> Option<&[u8]>;
    /// Changes a resident page.
    fn edit(&mut self, number: PageNo, edit: PageEdit<'_>);
    /// Takes a free page, which is resident at once. Plans have counted it in [`Footprint::new_pages`].
    fn allocate(&mut self) -> PageNo;
    /// Gives a page back.
    fn free(&mut self, number: PageNo);
    /// Whether the page is resident and may be edited: the edit was planned, or it costs nothing extra.
    fn may_touch(&self, number: PageNo) -> bool;
    /// Whether the page was changed since the last instant.
    fn is_dirty(&self, number: PageNo) -> bool;
    /// The version of every page that is dirty: the one that the coming checkpoint gives.
    fn coming(&self) -> PageVersion;
}

/// A page that has to be read first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing(pub Child);

/// Where a tree begins. An empty tree is one empty leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The topmost node.
    pub root: Child,
    /// How many levels there are: 1 if the root is a leaf.
    pub height: u8,
}

/// A key and its value, in a resident page.
pub type Entry<'p> = (&'p [u8], &'p [u8]);

impl Tree {
    /// A new tree without keys. It allocates one page.
    pub fn create<P: TreePages>(pages: &mut P) -> Tree {
        let page = pages.allocate();
        pages.edit(page, PageEdit::Init { kind: super::page::PageKind::Leaf });
        Tree { root: Child { page, version: pages.coming() }, height: 1 }
    }

    /// The value of `key`.
    pub fn get<'p, P: TreePages>(
        &self,
        pages: &'p P,
        key: &[u8],
    ) -> Result<Option<&'p [u8]>, Missing> {
        let leaf = node(pages, self.leaf(pages, key)?)?;
        Ok(leaf.search(key).ok().map(|at| leaf.value(at)))
    }

    /// The first entry whose key is `key` or greater.
    pub fn at_or_after<'p, P: TreePages>(
        &self,
        pages: &'p P,
        key: &[u8],
    ) -> Result<Option<Entry<'p>>, Missing> {
        let mut first = None;
        self.visit(pages, key, |key, value| {
            first = Some((key, value));
            false
        })?;
        Ok(first)
    }

    /// The last entry whose key is from `from` to `to`. Only the nodes that may hold such keys need to be resident.
    pub fn last_within<'p, P: TreePages>(
        &self,
        pages: &'p P,
        (from, to): (&[u8], &[u8]),
    ) -> Result<Option<Entry<'p>>, Missing> {
        let last = last_below(pages, self.root, self.height, (from, to))?;
        Ok(last.filter(|(key, _)| *key >= from))
    }

    /// Shows `f` the entries from key `from` on, in key order, until it says `false`. After [`Missing`] the entries
    /// before that page have been shown: a caller that keeps count goes on behind the last of them.
    pub fn visit<'p, P: TreePages>(
        &self,
        pages: &'p P,
        from: &[u8],
        mut f: impl FnMut(&'p [u8], &'p [u8]) -> bool,
    ) -> Result<(), Missing> {
        visit_below(pages, self.root, self.height, from, &mut f).map(|_| ())
    }

    /// Shows `f` every entry whose key is from `from` on and below `to`, as long as it answers that it wants more. Only the
    /// nodes that may hold such keys need to be resident.
    pub fn visit_range<'p, P: TreePages>(
        &self,
        pages: &'p P,
        (from, to): (&[u8], &[u8]),
        mut f: impl FnMut(&'p [u8], &'p [u8]) -> bool,
    ) -> Result<(), Missing> {
        let mut inside = |key: &'p [u8], value: &'p [u8]| key < to && f(key, value);
        visit_below_end(pages, self.root, self.height, (from, to), &mut inside).map(|_| ())
    }

    /// The leaf that `key` belongs into. Only the nodes above it need to be resident.
    fn leaf<P: TreePages>(&self, pages: &P, key: &[u8]) -> Result<Child, Missing> {
        let mut child = self.root;
        for _ in 1..self.height {
            let inner = node(pages, child)?;
            child = inner.child(inner.route(key));
        }
        Ok(child)
    }
}

/// A resident node.
fn node<P: TreePages>(pages: &P, child: Child) -> Result<Node<'_>, Missing> {
    pages.page(child.page).map(Node::new).ok_or(Missing(child))
}

/// Visits what is below a node of that many levels. Says whether `f` wants more.
fn visit_below<'p, P: TreePages>(
    pages: &'p P,
    child: Child,
    levels: u8,
    from: &[u8],
    f: &mut impl FnMut(&'p [u8], &'p [u8]) -> bool,
) -> Result<bool, Missing> {
    let node = node(pages, child)?;
    if levels == 1 {
        let first = node.search(from).unwrap_or_else(|at| at);
        return Ok((first..node.count()).all(|at| f(node.key(at), node.value(at))));
    }
    for at in node.route(from)..node.count() {
        if !visit_below(pages, node.child(at), levels - 1, from, f)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The same, but no child is looked at that holds only keys from `to` on.
fn visit_below_end<'p, P: TreePages>(
    pages: &'p P,
    child: Child,
    levels: u8,
    (from, to): (&[u8], &[u8]),
    f: &mut impl FnMut(&'p [u8], &'p [u8]) -> bool,
) -> Result<bool, Missing> {
    if levels == 1 {
        return visit_below(pages, child, levels, from, f);
    }
    let node = node(pages, child)?;
    let first = node.route(from);
    for at in first..node.count() {
        if at > first && node.key(at) >= to {
            return Ok(false);
        }
        if !visit_below_end(pages, node.child(at), levels - 1, (from, to), f)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The last entry at or before `to` below a node of that many levels. Children that hold only keys before `from` are not
/// looked at.
fn last_below<'p, P: TreePages>(
    pages: &'p P,
    child: Child,
    levels: u8,
    (from, to): (&[u8], &[u8]),
) -> Result<Option<Entry<'p>>, Missing> {
    let node = node(pages, child)?;
    if levels == 1 {
        let end = node.search(to).map_or_else(|at| at, |at| at + 1);
        return Ok(end.checked_sub(1).map(|at| (node.key(at), node.value(at))));
    }
    for at in (0..=node.route(to)).rev() {
        let found = last_below(pages, node.child(at), levels - 1, (from, to))?;
        if found.is_some() || node.key(at) <= from {
            return Ok(found);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
