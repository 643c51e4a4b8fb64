//! The nodes of a tree in order: every one once, for the checker; those that may have keys of a range, a few at a time, for who reads them again.

use super::{Child, Missing, PageNo, Tree, TreePages, node};
use crate::paged::node::{NodeFault, TreeNode, check};
use std::ops::Range;

/// A walk over all nodes: each before what is below it, in key order. It keeps its place where a page is missing, so
/// a tree larger than the cache can be walked; the tree must not change meanwhile.
#[derive(Clone, Debug)]
pub struct Walk {
    /// The nodes to come, the next one last.
    ahead: Vec<NodeAhead>,
}

/// A node that its parent has named.
#[derive(Clone, Debug)]
struct NodeAhead {
    child: Child,
    levels: u8,
    low: Vec<u8>,
    high: Option<Vec<u8>>,
}

/// A node that the walk has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visited {
    /// Its page.
    pub number: PageNo,
    /// Its height above the leaves, which have 1.
    pub level: u8,
    /// Its keys are this one or greater.
    pub low: Vec<u8>,
    /// Its keys are smaller than this one, if there is a limit.
    pub high: Option<Vec<u8>>,
    /// Whether the page is a sound node and in its place. What is below one that is not is left out.
    pub verdict: Result<(), NodeFault>,
}

impl Tree {
    /// A walk from the root.
    pub fn walk(&self) -> Walk {
        let root = NodeAhead { child: self.root, levels: self.height, low: Vec::new(), high: None };
        Walk { ahead: vec![root] }
    }
}

impl Walk {
    /// The next node, or nothing after the last one.
    pub fn next<P: TreePages>(&mut self, pages: &P) -> Result<Option<Visited>, Missing> {
        let Some(NodeAhead { child, .. }) = self.ahead.last() else {
            return Ok(None);
        };
        let page = pages.page(child.page).ok_or(Missing(*child))?;
        let here = self.ahead.pop().expect("there was a last one");
        let verdict = check(page).and_then(|()| here.check_place(TreeNode::new(page)));
        if verdict.is_ok() && here.levels > 1 {
            self.descend(&here, TreeNode::new(page));
        }
        let NodeAhead { child, levels: level, low, high } = here;
        Ok(Some(Visited { number: child.page, level, low, high, verdict }))
    }

    fn descend(&mut self, here: &NodeAhead, node: TreeNode<'_>) {
        let mut high = here.high.clone();
        for at in (0..node.count()).rev() {
            let low = if at == 0 { here.low.clone() } else { node.key(at).to_vec() };
            let (child, levels) = (node.child(at), here.levels - 1);
            self.ahead.push(NodeAhead { child, levels, low: low.clone(), high });
            high = Some(low);
        }
    }
}

impl NodeAhead {
    /// Whether the node is of the sort that its level asks for, and its keys are within the bounds.
    fn check_place(&self, node: TreeNode<'_>) -> Result<(), NodeFault> {
        if node.is_leaf() != (self.levels == 1) || (!node.is_leaf() && node.count() == 0) {
            return Err(NodeFault::Level);
        }
        for at in u16::from(!node.is_leaf())..node.count() {
            let key = node.key(at);
            if key < &self.low[..] || self.high.as_ref().is_some_and(|high| key >= &high[..]) {
                return Err(NodeFault::Bounds(at));
            }
        }
        Ok(())
    }
}

/// Which nodes are asked for.
#[derive(Clone, Copy, Debug)]
pub struct NodesAsked<'a> {
    /// Those that may have keys of this range.
    pub keys: &'a Range<Vec<u8>>,
    /// Those above the first leaf that lead to keys before the range too were told with what is before it.
    pub goes_on: bool,
    /// So many are enough, if a leaf is among them.
    pub enough: usize,
}

/// Some nodes, each before what is below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodesWithin {
    /// As their parents name them.
    pub nodes: Vec<Child>,
    /// The key from which on others follow; `None` if they are all.
    pub next: Option<Vec<u8>>,
    has_leaf: bool,
}

impl Tree {
    /// The next of the nodes that are asked for. Leaves need not be resident, and what is below a node that is left out is not told.
    pub fn nodes_within<P: TreePages>(
        &self,
        pages: &P,
        asked: NodesAsked<'_>,
        is_left_out: impl Fn(PageNo) -> bool,
    ) -> Result<NodesWithin, Missing> {
        let mut found = NodesWithin::default();
        gather(pages, (self.root, self.height, &[]), asked, &is_left_out, &mut found)?;
        Ok(found)
    }
}

/// Gathers a node of that many levels whose keys begin at `low`, and what is below it. Answers whether to look for more.
fn gather<P: TreePages>(
    pages: &P,
    (child, levels, low): (Child, u8, &[u8]),
    asked: NodesAsked<'_>,
    is_left_out: &impl Fn(PageNo) -> bool,
    found: &mut NodesWithin,
) -> Result<bool, Missing> {
    let (from, until) = (&asked.keys.start[..], &asked.keys.end[..]);
    let is_leaf = levels == 1;
    if is_leaf && found.has_leaf && found.nodes.len() >= asked.enough {
        found.next = Some(low.to_vec());
        return Ok(false);
    }
    if is_leaf || !asked.goes_on || low >= from {
        found.nodes.push(child);
        found.has_leaf |= is_leaf;
    }
    if is_leaf || is_left_out(child.page) {
        return Ok(true);
    }
    let inner = node(pages, child)?;
    let first = inner.route(from);
    for at in first..inner.count() {
        let low = if at == 0 { low } else { inner.key(at) };
        if at > first && low >= until {
            return Ok(false);
        }
        if !gather(pages, (inner.child(at), levels - 1, low), asked, is_left_out, found)? {
            return Ok(false);
        }
    }
    Ok(true)
}
