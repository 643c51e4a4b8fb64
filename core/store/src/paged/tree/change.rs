//! Edits of what was reached, so nothing is missing here.
//!
//! How nodes are split and merged is what [`bounds`](crate::paged::bounds) counts on: a split leaves two halves that differ by one cell at
//! most, but behind the tree's last key; a merge leaves a third of its node free.

use super::{Child, FoundCell, PageNo, Tree, TreePages, ValuePlace};
use crate::paged::edit::PageEdit;
use crate::paged::node::{TreeNode, entry_bytes, shared};
use crate::paged::page::PageKind;

/// What a split hands to the level above.
pub(super) struct Split {
    /// Keys from this one on are in the new node.
    pub(super) separator: Vec<u8>,
    /// The new node.
    pub(super) right: Child,
}

/// A new cell for a node.
#[derive(Clone, Copy)]
pub(super) struct Cell<'a> {
    pub(super) at: u16,
    pub(super) key: &'a [u8],
    pub(super) value: &'a [u8],
}

/// A node on the way to a key.
#[derive(Clone, Copy)]
pub(super) struct WayNode {
    pub(super) number: PageNo,
    pub(super) levels: u8,
    /// Whether there is nothing behind it: it is the last one of its level.
    pub(super) is_last: bool,
}

impl Tree {
    /// Sets the value of `key`. If there was one before, answers what `look` makes of it.
    pub fn put<P: TreePages, R>(
        &mut self,
        pages: &mut P,
        key: &[u8],
        value: &[u8],
        look: impl FnOnce(&[u8]) -> R,
    ) -> Option<R> {
        self.root.version = pages.coming();
        let root = WayNode { number: self.root.page, levels: self.height, is_last: true };
        let (old, split) = put_below(pages, root, (key, value), look);
        if let Some(split) = split {
            self.grow(pages, &split);
        }
        old
    }

    /// Sets the value of `key` in a place that [was found](Tree::place_with_room) for it. Nothing may have changed since.
    pub fn put_in_place<P: TreePages>(
        &mut self,
        pages: &mut P,
        place: ValuePlace,
        key: &[u8],
        value: &[u8],
    ) {
        self.root.version = pages.coming();
        for (number, at) in &place.above[..place.depth] {
            claim_child(pages, *number, *at);
        }
        match place.at {
            Ok(at) => pages.edit(place.leaf, PageEdit::Replace { at, value }),
            Err(at) => pages.edit(place.leaf, PageEdit::Insert { at, key, value }),
        }
    }

    /// Takes out the cell of `key`, which is at this place. Its page stays, however empty, until [`settle`](Tree::settle).
    pub fn remove<P: TreePages>(&mut self, pages: &mut P, key: &[u8], place: FoundCell) {
        self.claim(pages, place.leaf, key);
        pages.edit(place.leaf, PageEdit::Remove { at: place.at });
    }

    /// Overwrites a part of the value of `key`, which is at this place.
    pub fn patch<P: TreePages>(
        &mut self,
        pages: &mut P,
        (key, place): (&[u8], FoundCell),
        offset: u16,
        bytes: &[u8],
    ) {
        self.claim(pages, place.leaf, key);
        pages.edit(place.leaf, PageEdit::Patch { at: place.at, offset, bytes });
    }

    /// Merges small nodes on the path to `key` with a neighbour that may be touched, and frees empty ones. To be
    /// called for each removed key when nothing else of the transaction is left to apply.
    pub fn settle<P: TreePages>(&mut self, pages: &mut P, key: &[u8]) {
        settle_below(pages, self.root.page, self.height, key);
        while self.height > 1 && pages.may_touch(self.root.page) {
            let root = resident(pages, self.root.page);
            if root.count() > 1 {
                return;
            }
            let child = root.child(0);
            pages.free(self.root.page);
            *self = Tree { root: child, height: self.height - 1 };
        }
    }

    /// The coming checkpoint writes the root.
    pub(super) fn claim_root<P: TreePages>(&mut self, pages: &P) {
        self.root.version = pages.coming();
    }

    /// Puts a root above the two halves of the old one.
    pub(super) fn grow<P: TreePages>(&mut self, pages: &mut P, split: &Split) {
        let page = pages.allocate();
        pages.edit(page, PageEdit::Init { kind: PageKind::Inner });
        let halves = [(&[][..], self.root), (&split.separator, split.right)];
        for ((key, child), at) in halves.into_iter().zip(0..) {
            pages.edit(page, PageEdit::Insert { at, key, value: &child.bits().to_le_bytes() });
        }
        *self = Tree { root: Child { page, version: pages.coming() }, height: self.height + 1 };
    }

    /// Sees that the leaf of `key`, which is to be edited, may be: everything on the path to it names the coming version.
    fn claim<P: TreePages>(&mut self, pages: &mut P, leaf: PageNo, key: &[u8]) {
        if pages.is_dirty(leaf) {
            return;
        }
        self.root.version = pages.coming();
        let mut number = self.root.page;
        for _ in 1..self.height {
            let at = resident(pages, number).route(key);
            number = claim_child(pages, number, at);
        }
    }
}

pub(super) fn resident<P: TreePages>(pages: &P, number: PageNo) -> TreeNode<'_> {
    TreeNode::new(pages.page(number).expect("the page was reached"))
}

/// Lets a node name the coming version of a child that is to be edited. The node is dirty afterwards.
pub(super) fn claim_child<P: TreePages>(pages: &mut P, number: PageNo, at: u16) -> PageNo {
    let child = resident(pages, number).child(at);
    let coming = Child { version: pages.coming(), ..child };
    // The version is the last three bytes. After a whole round of versions an old one may look like the coming one; a node is dirty with its path all the same.
    if child != coming || !pages.is_dirty(number) {
        let bytes = coming.bits().to_le_bytes();
        pages.edit(number, PageEdit::Patch { at, offset: 5, bytes: &bytes[5..] });
    }
    child.page
}

/// Puts into the leaf below a node, and hands splits upwards.
fn put_below<P: TreePages, R>(
    pages: &mut P,
    node: WayNode,
    (key, value): (&[u8], &[u8]),
    look: impl FnOnce(&[u8]) -> R,
) -> (Option<R>, Option<Split>) {
    if node.levels == 1 {
        return put_in_leaf(pages, node, (key, value), look);
    }
    let inner = resident(pages, node.number);
    let at = inner.route(key);
    let is_last = node.is_last && at + 1 == inner.count();
    let number = claim_child(pages, node.number, at);
    let child = WayNode { number, levels: node.levels - 1, is_last };
    let (old, split) = put_below(pages, child, (key, value), look);
    let split = split.and_then(|split| {
        let child = split.right.bits().to_le_bytes();
        insert(pages, node, Cell { at: at + 1, key: &split.separator, value: &child })
    });
    (old, split)
}

fn put_in_leaf<P: TreePages, R>(
    pages: &mut P,
    node: WayNode,
    (key, value): (&[u8], &[u8]),
    look: impl FnOnce(&[u8]) -> R,
) -> (Option<R>, Option<Split>) {
    let number = node.number;
    let leaf = resident(pages, number);
    let found = leaf.search(key);
    let old = found.ok().map(|at| look(leaf.value(at)));
    let split = match found {
        Ok(at) if value.len() <= leaf.value(at).len() + leaf.free() => {
            pages.edit(number, PageEdit::Replace { at, value });
            None
        }
        Ok(at) => {
            pages.edit(number, PageEdit::Remove { at });
            insert(pages, node, Cell { at, key, value })
        }
        Err(at) => insert(pages, node, Cell { at, key, value }),
    };
    (old, split)
}

/// Inserts a cell into a node that may have to be split for it.
pub(super) fn insert<P: TreePages>(pages: &mut P, node: WayNode, cell: Cell<'_>) -> Option<Split> {
    let Cell { at, key, value } = cell;
    if entry_bytes(key.len(), value.len()) <= resident(pages, node.number).free() {
        pages.edit(node.number, PageEdit::Insert { at, key, value });
        return None;
    }
    Some(split(pages, node, cell))
}

/// Splits a full node and puts the new cell where it belongs.
fn split<P: TreePages>(pages: &mut P, node: WayNode, new: Cell<'_>) -> Split {
    let number = node.number;
    let old = pages.page(number).expect("the page was reached").to_vec();
    let old = TreeNode::new(&old);
    let cell = |at: u16| match at.cmp(&new.at) {
        std::cmp::Ordering::Less => (old.key(at), old.value(at)),
        std::cmp::Ordering::Equal => (new.key, new.value),
        std::cmp::Ordering::Greater => (old.key(at - 1), old.value(at - 1)),
    };
    let count = old.count();
    // Behind the tree's last key the new one goes alone, so that ascending keys leave full pages behind.
    let is_behind_all = node.is_last && new.at == count;
    let from = if is_behind_all { count } else { middle(count, cell) };
    let first = cell(from).0;
    let separator =
        if old.is_leaf() { &first[..shared(cell(from - 1).0, first) + 1] } else { first };
    let kind = if old.is_leaf() { PageKind::Leaf } else { PageKind::Inner };
    let right = pages.allocate();
    pages.edit(right, PageEdit::Init { kind });
    for (from, at) in (from..=count).zip(0..) {
        let (key, value) = cell(from);
        let key = if at == 0 && !old.is_leaf() { &[] } else { key };
        pages.edit(right, PageEdit::Insert { at, key, value });
    }
    let is_left = new.at < from;
    let kept = from - u16::from(is_left);
    // A leaf that stays as it is was promised to the coming checkpoint by its parent, and is written by it.
    if kept < count || !pages.is_dirty(number) {
        pages.edit(number, PageEdit::Truncate { from: kept });
    }
    if is_left {
        let Cell { at, key, value } = new;
        pages.edit(number, PageEdit::Insert { at, key, value });
    }
    let right = Child { page: right, version: pages.coming() };
    Split { separator: separator.to_vec(), right }
}

/// The first of the cells up to `last` that belongs into the right half: none leaves the halves' bytes nearer to each other.
fn middle<'a>(last: u16, cell: impl Fn(u16) -> (&'a [u8], &'a [u8])) -> u16 {
    let bytes = |at| entry_bytes(cell(at).0.len(), cell(at).1.len());
    let all = (0..=last).map(bytes).sum::<usize>();
    let (mut at, mut left) = (0, 0);
    while 2 * left + bytes(at) < all {
        left += bytes(at);
        at += 1;
    }
    at
}

/// Settles what is below a node of that many levels, from the leaf upwards. Where a neighbour has inherited the keys of
/// a freed page the path leads to pages that may not be touched or are not dirty; nothing is to be done there.
fn settle_below<P: TreePages>(pages: &mut P, number: PageNo, levels: u8, key: &[u8]) {
    if levels == 1 || !pages.is_dirty(number) || resident(pages, number).count() == 0 {
        return;
    }
    let node = resident(pages, number);
    let at = node.route(key);
    let child = node.child(at).page;
    settle_below(pages, child, levels - 1, key);
    // The last child stays, however empty: whether the node itself could be dropped then is the parent's matter, and the
    // parent may not be touched.
    if is_hollow(pages, child) && resident(pages, number).count() > 1 {
        drop_child(pages, number, at);
    } else if pages.may_touch(child)
        && is_small(pages, child)
        && !(at > 0 && merge(pages, number, at - 1))
    {
        merge(pages, number, at);
    }
}

/// Whether there is nothing below a node but one empty leaf.
fn is_hollow<P: TreePages>(pages: &P, number: PageNo) -> bool {
    let Some(page) = pages.page(number) else { return false };
    let node = TreeNode::new(page);
    match node.count() {
        0 => true,
        1 => !node.is_leaf() && is_hollow(pages, node.child(0).page),
        _ => false,
    }
}

/// Frees a hollow node and what is below it.
fn free_hollow<P: TreePages>(pages: &mut P, number: PageNo) {
    let node = resident(pages, number);
    let below = (!node.is_leaf()).then(|| node.child(0).page);
    if let Some(child) = below {
        free_hollow(pages, child);
    }
    pages.free(number);
}

/// Under a quarter full.
fn is_small<P: TreePages>(pages: &P, number: PageNo) -> bool {
    let node = resident(pages, number);
    node.used() < node.free() / 3
}

/// Frees a hollow child. Its keys become those of the child before it, or of the next one if it was the first.
fn drop_child<P: TreePages>(pages: &mut P, number: PageNo, at: u16) {
    let node = resident(pages, number);
    let child = node.child(at).page;
    if at == 0 {
        let next = node.child(1).bits().to_le_bytes();
        pages.edit(number, PageEdit::Replace { at: 0, value: &next });
        pages.edit(number, PageEdit::Remove { at: 1 });
    } else {
        pages.edit(number, PageEdit::Remove { at });
    }
    free_hollow(pages, child);
}

/// Moves the cells of child `at + 1` into child `at`, if there is such a pair, both may be touched and all leave a third of one free: one
/// that is nearly full would be split again by what comes next.
fn merge<P: TreePages>(pages: &mut P, number: PageNo, at: u16) -> bool {
    let node = resident(pages, number);
    if at + 1 >= node.count() {
        return false;
    }
    let (left, right) = (node.child(at).page, node.child(at + 1).page);
    if !pages.may_touch(left) || !pages.may_touch(right) {
        return false;
    }
    let (into, from) = (resident(pages, left), resident(pages, right));
    let first_key = if from.is_leaf() { &[] } else { node.key(at + 1) };
    let third = (into.used() + into.free()) / 3;
    if from.used() + first_key.len() + third > into.free() {
        return false;
    }
    let (first_key, count) = (first_key.to_vec(), into.count());
    let moved = pages.page(right).expect("it may be touched").to_vec();
    let moved = TreeNode::new(&moved);
    if moved.count() > 0 {
        claim_child(pages, number, at);
    }
    for from in 0..moved.count() {
        let is_first_child = from == 0 && !moved.is_leaf();
        let key = if is_first_child { &first_key } else { moved.key(from) };
        let value = moved.value(from);
        pages.edit(left, PageEdit::Insert { at: count + from, key, value });
    }
    pages.edit(number, PageEdit::Remove { at: at + 1 });
    pages.free(right);
    true
}
