//! Changes of a node's page, for [`PageEdit`](crate::paged::edit::PageEdit), which looks first whether they fit.

use super::{
    CELL_HEADER, CELLS_START, COUNT, GARBAGE, HEADER, SKIP, SLOT, TreeNode, entry_bytes, head,
    shared, short,
};

/// Puts a new cell before cell `at`.
pub(in crate::paged) fn insert(page: &mut [u8], at: u16, key: &[u8], value: &[u8]) {
    let node = TreeNode::new(page);
    let is_first_child = !node.is_leaf() && at == 0;
    if node.gap().len() < entry_bytes(key.len(), value.len()) {
        compact(page);
    }
    if !is_first_child {
        share(page, key);
    }
    let node = TreeNode::new(page);
    let (count, end) = (node.count(), node.slots_end());
    let head = head(key, node.skip());
    let place = push_cell(page, key, value);
    let slot = slot_start(at);
    page.copy_within(slot..end, slot + SLOT);
    set_slot(page, at, head, place);
    set_short(page, COUNT, usize::from(count) + 1);
}

/// Gives cell `at` another value.
pub(in crate::paged) fn replace(page: &mut [u8], at: u16, value: &[u8]) {
    let node = TreeNode::new(page);
    let (key, old) = node.cell(at);
    if value.len() > old.len() {
        let key = key.to_vec();
        remove(page, at);
        insert(page, at, &key, value);
        return;
    }
    let garbage = node.garbage() + old.len() - value.len();
    let place = node.place(at);
    set_short(page, GARBAGE, garbage);
    set_short(page, place + 2, value.len());
    patch(page, at, 0, value);
}

/// Overwrites a part of the value of cell `at`.
pub(in crate::paged) fn patch(page: &mut [u8], at: u16, offset: u16, bytes: &[u8]) {
    let place = TreeNode::new(page).place(at);
    let key_len = usize::from(short(page, place));
    let start = place + CELL_HEADER + key_len + usize::from(offset);
    page[start..start + bytes.len()].copy_from_slice(bytes);
}

/// Takes cell `at` out. Its bytes stay behind as garbage.
pub(in crate::paged) fn remove(page: &mut [u8], at: u16) {
    let node = TreeNode::new(page);
    let (key, value) = node.cell(at);
    let (count, end) = (usize::from(node.count()) - 1, node.slots_end());
    let garbage = node.garbage() + CELL_HEADER + key.len() + value.len();
    let slot = slot_start(at);
    page.copy_within(slot + SLOT..end, slot);
    set_short(page, COUNT, count);
    set_short(page, GARBAGE, garbage);
}

/// Takes out cell `from` and all behind it.
pub(in crate::paged) fn truncate(page: &mut [u8], from: u16) {
    set_short(page, COUNT, usize::from(from));
    compact(page);
}

/// Moves the cells together at the end of the page, in key order, and finds out anew what their keys share. What is
/// free becomes zero, so that an image of the page compresses well.
fn compact(page: &mut [u8]) {
    let old = page.to_vec();
    let node = TreeNode::new(&old);
    let skip = node.shared();
    set_short(page, CELLS_START, page.len());
    set_short(page, GARBAGE, 0);
    set_short(page, SKIP, skip);
    for at in 0..node.count() {
        let (key, value) = node.cell(at);
        let place = push_cell(page, key, value);
        set_slot(page, at, head(key, skip), place);
    }
    let gap = TreeNode::new(page).gap();
    page[gap].fill(0);
}

/// Shortens the skip to what `key` shares with the keys that are there.
fn share(page: &mut [u8], key: &[u8]) {
    let node = TreeNode::new(page);
    let first = node.first_keyed() as u16;
    if node.count() == first {
        set_short(page, SKIP, key.len());
        return;
    }
    let (skip, count) = (shared(key, node.key(first)), node.count());
    if skip < node.skip() {
        set_short(page, SKIP, skip);
        for at in first..count {
            let node = TreeNode::new(page);
            let (head, place) = (head(node.key(at), skip), node.place(at));
            set_slot(page, at, head, place);
        }
    }
}

/// Writes a cell below the others and says where. The caller has seen that the gap is wide enough.
fn push_cell(page: &mut [u8], key: &[u8], value: &[u8]) -> usize {
    let value_start = TreeNode::new(page).cells_start() - value.len();
    let key_start = value_start - key.len();
    let place = key_start - CELL_HEADER;
    page[value_start..][..value.len()].copy_from_slice(value);
    page[key_start..][..key.len()].copy_from_slice(key);
    set_short(page, place, key.len());
    set_short(page, place + 2, value.len());
    set_short(page, CELLS_START, place);
    place
}

/// Where slot `at` begins.
fn slot_start(at: u16) -> usize {
    HEADER + SLOT * usize::from(at)
}

fn set_slot(page: &mut [u8], at: u16, head: u32, place: usize) {
    let slot = slot_start(at);
    page[slot..slot + 4].copy_from_slice(&head.to_le_bytes());
    set_short(page, slot + 4, place);
}

/// Every number in a node is at most its size, 16 KiB.
fn set_short(page: &mut [u8], at: usize, number: usize) {
    page[at..at + 2].copy_from_slice(&(number as u16).to_le_bytes());
}
