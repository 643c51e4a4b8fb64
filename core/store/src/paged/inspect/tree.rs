//! The tree's outline, and the walk over its leaves that other views use.

use super::{InspectTrouble, Inspector, Part, ShownValue, describe};
use crate::paged::ids::{Child, PageNo};
use crate::paged::node::{self, NodeFault, TreeNode};
use crate::paged::page;

impl Inspector<'_> {
    /// Every node, the root first, each before what is below it; at most so many.
    pub fn tree(&self, most: usize) -> Result<Vec<Part>, InspectTrouble> {
        let (mut rows, mut nodes) = (Vec::new(), 0);
        let mut levels = vec![(0_u64, 0_u64); usize::from(self.superblock.completed.height) + 1];
        self.walk(&[], &mut |number, level, node: TreeNode<'_>| {
            nodes += 1;
            let sum = &mut levels[usize::from(level)];
            *sum = (sum.0 + 1, sum.1 + node.used() as u64);
            if rows.len() < most {
                let first =
                    if node.count() > 0 { describe::key(node.key(0)) } else { "empty".into() };
                rows.push(vec![
                    u64::from(level).into(),
                    number.0.into(),
                    u64::from(node.count()).into(),
                    (node.free() as u64).into(),
                    first.into(),
                ]);
            }
            true
        })?;
        let size = self.superblock.layout.page.bytes() as u64 - page::HEADER as u64;
        let row = |(level, (pages, used)): (u64, (u64, u64))| -> Vec<ShownValue> {
            vec![level.into(), pages.into(), (100 * used / (pages * size).max(1)).into()]
        };
        let by_level = (0..).zip(levels).skip(1).map(row).collect();
        let more = nodes - rows.len() as u64;
        Ok(vec![
            Part::table("levels, leaves first", &["level", "pages", "percent full"], by_level, 0),
            Part::table(
                "nodes",
                &["level", "page", "cells", "free bytes", "first key"],
                rows,
                more,
            ),
        ])
    }

    /// Shows nodes that may hold keys from `from` on, with their heights above the leaves' 1, until `visit` says that it is
    /// enough.
    pub(super) fn walk(
        &self,
        from: &[u8],
        visit: &mut dyn FnMut(PageNo, u8, TreeNode<'_>) -> bool,
    ) -> Result<bool, InspectTrouble> {
        let completed = self.superblock.completed;
        // Not more nodes than pages: in a damaged tree a node may be its own ancestor.
        let mut left = self.superblock.layout.pages_count;
        self.walk_below((completed.root, completed.height), from, &mut left, visit)
    }

    fn walk_below(
        &self,
        (child, level): (Child, u8),
        from: &[u8],
        left: &mut u64,
        visit: &mut dyn FnMut(PageNo, u8, TreeNode<'_>) -> bool,
    ) -> Result<bool, InspectTrouble> {
        let number = child.page;
        let bytes = self.page_bytes(number)?;
        page::verify(&bytes, self.superblock.seed(), child)
            .map_err(|fault| InspectTrouble::Page(number, fault))?;
        node::check(&bytes).map_err(|fault| InspectTrouble::Node(number, fault))?;
        let node = TreeNode::new(&bytes);
        if node.is_leaf() != (level == 1) || *left == 0 {
            return Err(InspectTrouble::Node(number, NodeFault::Level));
        }
        *left -= 1;
        if !visit(number, level, node) {
            return Ok(false);
        }
        let first = if node.is_leaf() { node.count() } else { node.route(from) };
        for at in first..node.count() {
            if !self.walk_below((node.child(at), level - 1), from, left, visit)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Shows cells of leaves from `from` on, until `visit` says that it is enough.
    pub(super) fn cells(
        &self,
        from: &[u8],
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), InspectTrouble> {
        self.walk(from, &mut |_, level, node| {
            let first = node.search(from).unwrap_or_else(|at| at);
            level > 1 || (first..node.count()).all(|at| visit(node.key(at), node.value(at)))
        })?;
        Ok(())
    }
}
