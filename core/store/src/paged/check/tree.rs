//! Every node of the tree once, from the root: whole, in its place, in order. The leaves' cells are handed on in key order.

use super::cells::{CellPlace, Cells};
use super::report::offset;
use super::{CheckReport, ReadAt, StoreFinding};
use crate::paged::api::StoreDevice;
use crate::paged::ids::{Child, PageNo};
use crate::paged::node::{self, NodeFault, TreeNode};
use crate::paged::page::{self, PageKind};
use crate::paged::superblock::Superblock;
use std::collections::BTreeSet;

/// Walks the tree of the last completed checkpoint. False if a part of it cannot be reached.
pub(super) fn check(
    devices: &dyn ReadAt,
    superblock: &Superblock,
    cells: &mut Cells<'_>,
    report: &mut CheckReport,
) -> bool {
    let (seen, spare) = (BTreeSet::new(), Vec::new());
    let mut walk = CheckWalk { devices, superblock, cells, report, seen, spare, is_whole: true };
    let completed = superblock.completed;
    walk.seen.insert(completed.root.page);
    walk.visit(completed.root, completed.height, Bounds { low: &[], high: None });
    walk.is_whole
}

struct CheckWalk<'a, 'c> {
    devices: &'a dyn ReadAt,
    superblock: &'a Superblock,
    cells: &'a mut Cells<'c>,
    report: &'a mut CheckReport,
    /// Nodes that were named so far. A node that is its own ancestor would be walked for ever.
    seen: BTreeSet<PageNo>,
    spare: Vec<Vec<u8>>,
    is_whole: bool,
}

/// Which keys a node may hold: from `low` on, below `high`.
#[derive(Clone, Copy)]
struct Bounds<'k> {
    low: &'k [u8],
    high: Option<&'k [u8]>,
}

impl CheckWalk<'_, '_> {
    fn visit(&mut self, child: Child, level: u8, bounds: Bounds<'_>) {
        let size = self.superblock.layout.page.bytes();
        let mut bytes = self.spare.pop().unwrap_or_else(|| vec![0; size]);
        match self.load(child, level, bounds, &mut bytes) {
            Ok(()) if level == 1 => self.leaf(child.page, TreeNode::new(&bytes)),
            Ok(()) => self.inner(child.page, level, bounds, TreeNode::new(&bytes)),
            Err(finding) => self.lose(finding),
        }
        self.spare.push(bytes);
    }

    /// Something below here is not looked at.
    fn lose(&mut self, finding: StoreFinding) {
        self.report.find(finding);
        self.is_whole = false;
    }

    /// Reads a page and makes sure that it is a node in its place.
    fn load(
        &mut self,
        child: Child,
        level: u8,
        bounds: Bounds<'_>,
        bytes: &mut [u8],
    ) -> Result<(), StoreFinding> {
        let number = child.page;
        let offset = offset(&self.superblock.layout, number);
        if !self.devices.read_at(StoreDevice::Data, offset, bytes) {
            return Err(StoreFinding::Unreadable { target: StoreDevice::Data, offset });
        }
        let fault = |fault| StoreFinding::Page { page: number, offset, fault };
        let kind = page::verify(bytes, self.superblock.seed(), child).map_err(fault)?;
        if kind == PageKind::FreeMap {
            return Err(StoreFinding::Kind { page: number, offset });
        }
        let fault = |fault| StoreFinding::Node { page: number, offset, fault };
        node::check(bytes).map_err(fault)?;
        check_place(TreeNode::new(bytes), level, bounds).map_err(fault)?;
        let wrote = page::writer(bytes);
        if wrote > self.superblock.completed.id {
            self.report.find(StoreFinding::Future { page: number, offset, wrote });
        }
        self.cells.add_node(number);
        Ok(())
    }

    fn leaf(&mut self, page: PageNo, node: TreeNode<'_>) {
        self.report.totals.leaf_pages += 1;
        let offset = offset(&self.superblock.layout, page);
        for at in 0..node.count() {
            let place = CellPlace { page, offset, at };
            self.cells.add(place, node.key(at), node.value(at), self.report);
        }
    }

    fn inner(&mut self, page: PageNo, level: u8, bounds: Bounds<'_>, node: TreeNode<'_>) {
        self.report.totals.inner_pages += 1;
        let offset = offset(&self.superblock.layout, page);
        for at in 0..node.count() {
            let child = node.child(at);
            let number = child.page;
            if !self.superblock.layout.is_page(number) {
                self.lose(StoreFinding::ChildOutside { page, offset, child: number });
            } else if !self.seen.insert(number) {
                self.lose(StoreFinding::ChildTwice { page, offset, child: number });
            } else {
                let low = if at == 0 { bounds.low } else { node.key(at) };
                let high = if at + 1 < node.count() { Some(node.key(at + 1)) } else { bounds.high };
                self.visit(child, level - 1, Bounds { low, high });
            }
        }
    }
}

/// Whether the node is of the sort that its level asks for, and its keys are within the bounds.
fn check_place(node: TreeNode<'_>, level: u8, bounds: Bounds<'_>) -> Result<(), NodeFault> {
    // A leaf that was emptied while its parent could not be touched stays where it is.
    let may_be_empty = node.is_leaf();
    if node.is_leaf() != (level == 1) || (node.count() == 0 && !may_be_empty) {
        return Err(NodeFault::Level);
    }
    for at in u16::from(!node.is_leaf())..node.count() {
        let key = node.key(at);
        if key < bounds.low || bounds.high.is_some_and(|high| key >= high) {
            return Err(NodeFault::Bounds(at));
        }
    }
    Ok(())
}
