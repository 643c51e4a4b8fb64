//! Whether a page that came from the device is a node that can be read without further care.

use super::{CELL_HEADER, CHILD, TreeNode, head, short, slot_head, slot_place};

/// What is wrong with a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeFault {
    /// The page is not a tree node.
    Kind,
    /// The header's places contradict one another or the page's size.
    Header,
    /// A slot leads to where no whole cell is.
    Slot(u16),
    /// Two cells overlap, or there is more or less garbage than the header says.
    Cells,
    /// A key is not greater than the one before it.
    Order(u16),
    /// A slot's head, or what all keys share, is not that of the key.
    Head(u16),
    /// An inner node's first key is not empty, or the value is no child.
    Child(u16),
    /// A node of the other sort than its level asks for, or one without cells below the root.
    Level,
    /// A key is outside of what the parent's separators allow.
    Bounds(u16),
}

/// Whether `page` is a sound node by itself. Any bytes may be asked about.
pub fn check(page: &[u8]) -> Result<(), NodeFault> {
    let node = TreeNode::of(page).ok_or(NodeFault::Kind)?;
    check_header(node)?;
    check_cells(node)?;
    for at in 0..node.count() {
        check_entry(node, at)?;
    }
    Ok(())
}

fn check_header(node: TreeNode<'_>) -> Result<(), NodeFault> {
    let is_sound = node.slots_end() <= node.cells_start() && node.cells_start() <= node.page.len();
    if is_sound { Ok(()) } else { Err(NodeFault::Header) }
}

/// Every slot leads to a whole cell; together with the garbage they fill the space up to the end.
fn check_cells(node: TreeNode<'_>) -> Result<(), NodeFault> {
    let mut cells = Vec::with_capacity(usize::from(node.count()));
    for (slot, at) in node.slots().iter().zip(0..) {
        cells.push(cell_range(node, slot_place(slot)).ok_or(NodeFault::Slot(at))?);
    }
    cells.sort_unstable();
    let apart = cells.is_sorted_by(|one, next| one.1 <= next.0);
    let bytes: usize = cells.iter().map(|(start, end)| end - start).sum();
    if apart && bytes + node.garbage() == node.page.len() - node.cells_start() {
        Ok(())
    } else {
        Err(NodeFault::Cells)
    }
}

/// First byte and end of the cell at `place`, if it is inside of the cells' space.
fn cell_range(node: TreeNode<'_>, place: usize) -> Option<(usize, usize)> {
    let body = place + CELL_HEADER;
    if place < node.cells_start() || body > node.page.len() {
        return None;
    }
    let length = usize::from(short(node.page, place)) + usize::from(short(node.page, place + 2));
    (body + length <= node.page.len()).then_some((place, body + length))
}

/// Order, head and, in an inner node, the child.
fn check_entry(node: TreeNode<'_>, at: u16) -> Result<(), NodeFault> {
    let (key, value) = node.cell(at);
    if !node.is_leaf() && (value.len() != CHILD || (at == 0) != key.is_empty()) {
        return Err(NodeFault::Child(at));
    }
    if at > 0 && node.key(at - 1) >= key {
        return Err(NodeFault::Order(at));
    }
    let first = node.first_keyed();
    if usize::from(at) < first {
        return Ok(());
    }
    let skip = node.skip();
    let shares = key.len() >= skip && key[..skip] == node.key(first as u16)[..skip];
    let head_is_right = slot_head(&node.slots()[usize::from(at)]) == head(key, skip);
    if shares && head_is_right { Ok(()) } else { Err(NodeFault::Head(at)) }
}
