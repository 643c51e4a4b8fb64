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
//! A change has three parts. [`Tree::reach`] sees that the pages on the way to a key are resident; one that is not is the answer
//! [`Missing`]. `put`, `remove` and `patch` of a key that was reached make the edits and miss nothing. `settle` for each
//! removed key merges pages that became small and frees those that became empty; it comes last, when nothing else of the
//! transaction is left to do, because a later put may belong into the page that would be gone.

mod change;
mod run;
mod walk;

pub use run::{CellChange, LeafRun, MissingOnWay};
pub use walk::{NodesAsked, NodesWithin, Visited, Walk};

use super::edit::PageEdit;
use super::ids::{Child, PageNo, PageVersion};
use super::node::{TreeNode, entry_bytes};

/// The pages that a tree lives in.
pub trait TreePages {
    /// A page's bytes, if it is resident.
    fn page(&self, number: PageNo) -> Option<&[u8]>;
    /// Changes a resident page.
    fn edit(&mut self, number: PageNo, edit: PageEdit<'_>);
    /// Takes a free page, which is resident at once.
    fn allocate(&mut self) -> PageNo;
    /// Gives a page back.
    fn free(&mut self, number: PageNo);
    /// Whether the page is resident and may be edited for the sake of a merge: it is edited anyway, or it costs little.
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

/// Keys that are looked for together at most: enough that their pages come from memory side by side.
pub const TOGETHER: usize = 16;

/// Levels above a leaf that a [`ValuePlace`] tells of. Only a tree of users' longest keys is higher.
const PLACE_DEPTH_MAX: usize = 7;

/// Where a value belongs, in a leaf that has room for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValuePlace {
    leaf: PageNo,
    /// In the leaf, as a search answers it.
    at: Result<u16, u16>,
    /// The nodes that change with the leaf, and which child of each it is under: all above it, or none if it is dirty.
    above: [(PageNo, u16); PLACE_DEPTH_MAX],
    depth: usize,
}

impl ValuePlace {
    /// Whether a put here adds a key.
    pub fn is_new(&self) -> bool {
        self.at.is_err()
    }

    /// Every page that a put here changes. All of them are resident.
    pub fn pages(&self) -> impl Iterator<Item = PageNo> {
        let above = self.above[..self.depth].iter().map(|step| step.0);
        above.chain([self.leaf])
    }
}

/// Where a cell is, in a resident leaf. It is good as long as nothing else of the tree is edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundCell {
    leaf: PageNo,
    at: u16,
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
        Ok(self.find(pages, key)?.map(|(_, value)| value))
    }

    /// The value of `key` with its place, where it may be edited without another search.
    pub fn find<'p, P: TreePages>(
        &self,
        pages: &'p P,
        key: &[u8],
    ) -> Result<Option<(FoundCell, &'p [u8])>, Missing> {
        let child = self.leaf(pages, key)?;
        let leaf = node(pages, child)?;
        let found = leaf.search(key).ok();
        Ok(found.map(|at| (FoundCell { leaf: child.page, at }, leaf.value(at))))
    }

    /// The values of several keys, at most [`TOGETHER`], [looked for together](Self::descend_together). Shows `f` each key's place among
    /// them with its value, or none if there is no such key; a key on whose way a page is missing is not shown.
    pub fn get_together<'p, P: TreePages>(
        &self,
        pages: &'p P,
        keys: &[&[u8]],
        mut f: impl FnMut(usize, Option<&'p [u8]>),
    ) {
        let leaves = self.descend_together(pages, keys, |_, _, _| ());
        for (at, (leaf, place)) in leaves.iter().take(keys.len()).enumerate() {
            if let Some(leaf) = leaf {
                f(at, place.map(|place| leaf.value(place)));
            }
        }
    }

    /// The places of those of several keys that are there, looked for in the same way, by the keys' places among them. What tells whether their leaves are dirty is near
    /// afterwards too.
    pub fn places_together<P: TreePages>(
        &self,
        pages: &P,
        keys: &[&[u8]],
    ) -> [Option<ValuePlace>; TOGETHER] {
        let depth = self.depth();
        if depth > PLACE_DEPTH_MAX {
            return [None; TOGETHER];
        }
        let nowhere = ValuePlace {
            leaf: self.root.page,
            at: Err(0),
            above: [(PageNo(0), 0); PLACE_DEPTH_MAX],
            depth,
        };
        let mut places = [nowhere; TOGETHER];
        let leaves = self.descend_together(pages, keys, |key, level, (above, below)| {
            places[key].above[depth - level] = above;
            places[key].leaf = below;
        });
        let dirty = places[..keys.len()].iter().filter(|place| pages.is_dirty(place.leaf)).count();
        core::hint::black_box(dirty);
        let mut found = [None; TOGETHER];
        for ((found, mut place), (_, at)) in found.iter_mut().zip(places).zip(&leaves) {
            if let Some(at) = at {
                place.at = Ok(*at);
                *found = Some(place);
            }
        }
        found
    }

    /// Finds the leaves of several keys, and the keys in them, a level at a time; of each page it looks at what the next step needs before it takes that step with
    /// any of them. So what is in memory and in no cache of the processor comes at the same time, not one after the other. Tells `f` of each step: which key's, how many
    /// levels above the leaves, the node with the cell that leads on, and the next node.
    fn descend_together<'p, P: TreePages>(
        &self,
        pages: &'p P,
        keys: &[&[u8]],
        mut f: impl FnMut(usize, usize, ((PageNo, u16), PageNo)),
    ) -> [(Option<TreeNode<'p>>, Option<u16>); TOGETHER] {
        assert!(keys.len() <= TOGETHER, "no more than go together");
        let mut children = [self.root; TOGETHER];
        let mut nodes = [(None, None); TOGETHER];
        for level in (0..usize::from(self.height)).rev() {
            for ((node, _), child) in nodes.iter_mut().zip(&children[..keys.len()]) {
                *node = pages.page(child.page).map(TreeNode::new);
            }
            let near = nodes.iter().flat_map(|(node, _)| node);
            // The sum says nothing, but without it nobody would look.
            core::hint::black_box(near.fold(0, |sum, node| sum ^ node.touch()));
            let found = nodes.iter_mut().zip(&mut children).zip(keys).enumerate();
            for (at, (((node, place), child), key)) in found {
                // Below a page that is missing it is found missing once more.
                let Some(node) = node else { continue };
                if level == 0 {
                    *place = node.search(key).ok();
                    continue;
                }
                let route = node.route(key);
                let next = node.child(route);
                f(at, level, ((child.page, route), next.page));
                *child = next;
            }
        }
        nodes
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

    /// The last entry whose key is `to` or before it, with the one behind, if one leaf has both.
    pub fn pair_at<'p, P: TreePages>(
        &self,
        pages: &'p P,
        to: &[u8],
    ) -> Result<Option<(Entry<'p>, Entry<'p>)>, Missing> {
        let leaf = node(pages, self.leaf(pages, to)?)?;
        let behind = leaf.search(to).map_or_else(|at| at, |at| at + 1);
        let entry = |at| (leaf.key(at), leaf.value(at));
        let has_both = (1..leaf.count()).contains(&behind);
        Ok(has_both.then(|| (entry(behind - 1), entry(behind))))
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

    /// Shows `f` the entries whose keys are below `to`, the greatest first, until it says `false`. After [`Missing`] the
    /// entries behind that page have been shown.
    pub fn visit_back<'p, P: TreePages>(
        &self,
        pages: &'p P,
        to: &[u8],
        mut f: impl FnMut(&'p [u8], &'p [u8]) -> bool,
    ) -> Result<(), Missing> {
        visit_back_below(pages, self.root, self.height, to, &mut f).map(|_| ())
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

    /// Sees that every node from the root to the leaf of `key` is resident. Answers the leaf.
    pub fn reach<P: TreePages>(&self, pages: &P, key: &[u8]) -> Result<PageNo, Missing> {
        let leaf = self.leaf(pages, key)?;
        node(pages, leaf)?;
        Ok(leaf.page)
    }

    /// The nodes from the root to the leaf of `key`, each with the bytes that it holds.
    pub fn path<P: TreePages>(
        &self,
        pages: &P,
        key: &[u8],
    ) -> Result<Vec<(PageNo, usize)>, Missing> {
        let mut path = Vec::with_capacity(usize::from(self.height));
        let mut child = self.root;
        loop {
            let node = node(pages, child)?;
            path.push((child.page, node.used()));
            if path.len() == usize::from(self.height) {
                return Ok(path);
            }
            child = node.child(node.route(key));
        }
    }

    /// The place that a value of this length may be put into as it is: nothing has to be split for it. `is_like` judges the present
    /// value. No place is found in a tree that is higher than any that one knows.
    pub fn place_with_room<P: TreePages>(
        &self,
        pages: &P,
        (key, value_len): (&[u8], usize),
        is_like: impl FnOnce(&[u8]) -> bool,
    ) -> Result<Option<ValuePlace>, Missing> {
        let depth = self.depth();
        if depth > PLACE_DEPTH_MAX {
            return Ok(None);
        }
        let mut above = [(PageNo(0), 0); PLACE_DEPTH_MAX];
        let mut child = self.root;
        for step in &mut above[..depth] {
            let inner = node(pages, child)?;
            *step = (child.page, inner.route(key));
            child = inner.child(step.1);
        }
        let leaf = node(pages, child)?;
        let at = leaf.search(key);
        let has_room = match at {
            Ok(at) => is_like(leaf.value(at)) && value_len <= leaf.value(at).len() + leaf.free(),
            Err(_) => entry_bytes(key.len(), value_len) <= leaf.free(),
        };
        let depth = if pages.is_dirty(child.page) { 0 } else { depth };
        Ok(has_room.then_some(ValuePlace { leaf: child.page, at, above, depth }))
    }

    /// A place that was found while the tree had the shape that it has, if a value of this length may be put into it as it is.
    pub fn still_with_room<P: TreePages>(
        &self,
        pages: &P,
        place: ValuePlace,
        (key, value_len): (&[u8], usize),
        is_like: impl FnOnce(&[u8]) -> bool,
    ) -> Option<ValuePlace> {
        let leaf = pages.page(place.leaf).map(TreeNode::new)?;
        let at = place.at.ok().filter(|at| leaf.key(*at) == key)?;
        let old = leaf.value(at);
        let has_room = is_like(old) && value_len <= old.len() + leaf.free();
        if pages.is_dirty(place.leaf) {
            return has_room.then_some(ValuePlace { depth: 0, ..place });
        }
        let above = &place.above[..place.depth];
        (has_room && above.iter().all(|(page, _)| pages.page(*page).is_some())).then_some(place)
    }

    /// The topmost node.
    fn top(&self) -> Child {
        self.root
    }

    /// Levels above the leaves.
    fn depth(&self) -> usize {
        usize::from(self.height) - 1
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
fn node<P: TreePages>(pages: &P, child: Child) -> Result<TreeNode<'_>, Missing> {
    pages.page(child.page).map(TreeNode::new).ok_or(Missing(child))
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

/// The same the other way: what is below `to`, the greatest first.
fn visit_back_below<'p, P: TreePages>(
    pages: &'p P,
    child: Child,
    levels: u8,
    to: &[u8],
    f: &mut impl FnMut(&'p [u8], &'p [u8]) -> bool,
) -> Result<bool, Missing> {
    let node = node(pages, child)?;
    if levels == 1 {
        let end = node.search(to).unwrap_or_else(|at| at);
        return Ok((0..end).rev().all(|at| f(node.key(at), node.value(at))));
    }
    for at in (0..=node.route(to)).rev() {
        if !visit_back_below(pages, node.child(at), levels - 1, to, f)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// As [`visit_below`], but no child is looked at that holds only keys from `to` on.
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
