//! The nodes that may have keys of a range, in order and a few at a time: for who reads them again.

use super::{Child, Missing, Tree, TreePages, node};
use crate::paged::ids::PageNo;
use std::ops::Range;

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
