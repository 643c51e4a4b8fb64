//! Users' keys. A value that is too long for a cell stands in pieces beside it.

use super::{Miss, Needs};
use crate::paged::ids::{PageNo, PageSize};
use crate::paged::keys::{KeyBuffer, USER};
use crate::paged::node::{cell_max, entry_bytes};
use crate::paged::space::{Scratch, Space};

/// First byte of a value that stands in its cell.
const WHOLE: u8 = 0;
/// First byte of a value that stands in pieces; its length follows.
const PIECES: u8 = 1;

/// The longest value that a key's own cell takes.
fn whole_max(page: PageSize, key: &[u8]) -> usize {
    cell_max(page) - 2 - key.len()
}

/// Bytes of a piece.
fn piece_bytes(page: PageSize, key: &[u8]) -> usize {
    cell_max(page) - 7 - key.len()
}

fn pieces(page: PageSize, key: &[u8], value_len: usize) -> usize {
    if value_len <= whole_max(page, key) { 0 } else { value_len.div_ceil(piece_bytes(page, key)) }
}

/// How many pieces a cell's value says there are.
fn pieces_of(page: PageSize, key: &[u8], cell: Option<&[u8]>) -> usize {
    match cell {
        Some([PIECES, length @ ..]) => {
            let length = length.try_into().map_or(0, u32::from_le_bytes);
            pieces(page, key, length as usize)
        }
        _ => 0,
    }
}

fn page_size(space: &Space) -> PageSize {
    space.pages.layout().page
}

/// See [`super::slack`].
pub(super) fn slack(space: &Space, key: &[u8], value: &[u8]) -> usize {
    let page = page_size(space);
    match pieces(page, key, value.len()) {
        0 => entry_bytes(key.len() + 1, value.len() + 1),
        count => {
            let piece = entry_bytes(key.len() + 7, piece_bytes(page, key));
            entry_bytes(key.len() + 1, 5) + count * piece
        }
    }
}

/// Plans [`put`].
pub(super) fn plan_put(
    space: &Space,
    key: &[u8],
    value: &[u8],
    slack: usize,
    needs: &mut Needs,
) -> Result<(), Miss> {
    let page = page_size(space);
    let mut buffer = KeyBuffer::default();
    let new = pieces(page, key, value.len());
    let cell = if new == 0 { value.len() + 1 } else { 5 };
    let full = buffer.user(key);
    let (tree, pages) = (&space.tree, &space.pages);
    let planned = tree.plan_put(pages, full, cell, slack, &mut needs.footprint)?;
    let old = pieces_of(page, key, planned.old);
    needs.leaf = planned.leaf.filter(|_| new == 0 && old == 0);
    for at in 0..new {
        let length = piece_bytes(page, key).min(value.len() - at * piece_bytes(page, key));
        tree.plan_put(pages, buffer.piece(key, at as u32), length, slack, &mut needs.footprint)?;
    }
    plan_remove_pieces(space, key, new..old, needs)
}

/// Plans [`delete`].
pub(super) fn plan_delete(space: &Space, key: &[u8], needs: &mut Needs) -> Result<(), Miss> {
    let mut buffer = KeyBuffer::default();
    let old = space.tree.get(&space.pages, buffer.user(key))?;
    let old = pieces_of(page_size(space), key, old);
    space.tree.plan_remove(&space.pages, buffer.user(key), &mut needs.footprint)?;
    needs.frees = true;
    plan_remove_pieces(space, key, 0..old, needs)
}

fn plan_remove_pieces(
    space: &Space,
    key: &[u8],
    pieces: std::ops::Range<usize>,
    needs: &mut Needs,
) -> Result<(), Miss> {
    let mut buffer = KeyBuffer::default();
    needs.frees |= !pieces.is_empty();
    for at in pieces {
        space.tree.plan_remove(&space.pages, buffer.piece(key, at as u32), &mut needs.footprint)?;
    }
    Ok(())
}

/// Sets the value of a key.
pub(super) fn put(space: &mut Space, key: &[u8], value: &[u8], removed: &mut Vec<Vec<u8>>) {
    let page = page_size(space);
    let new = pieces(page, key, value.len());
    let mut scratch = std::mem::take(&mut space.scratch);
    let full = scratch.key.user(key);
    scratch.value.clear();
    if new == 0 {
        scratch.value.push(WHOLE);
        scratch.value.extend_from_slice(value);
    } else {
        scratch.value.push(PIECES);
        scratch.value.extend_from_slice(&(value.len() as u32).to_le_bytes());
    }
    let old = space
        .tree
        .put(&mut space.pages, full, &scratch.value, |old| pieces_of(page, key, Some(old)));
    for (at, piece) in value.chunks(piece_bytes(page, key)).enumerate().take(new) {
        space.tree.put(&mut space.pages, scratch.key.piece(key, at as u32), piece, |_| ());
    }
    space.scratch = scratch;
    remove_pieces(space, key, new..old.unwrap_or(0), removed);
}

/// Sets the value of a key, both in one cell before and after, in the leaf that was planned for it.
pub(super) fn put_in_leaf(space: &mut Space, leaf: PageNo, key: &[u8], value: &[u8]) {
    let Scratch { key: full, value: cell } = &mut space.scratch;
    cell.clear();
    cell.push(WHOLE);
    cell.extend_from_slice(value);
    space.tree.put_in_leaf(&mut space.pages, leaf, full.user(key), cell);
}

/// Removes a key.
pub(super) fn delete(space: &mut Space, key: &[u8], removed: &mut Vec<Vec<u8>>) {
    let mut buffer = KeyBuffer::default();
    let full = buffer.user(key);
    let cell = space.tree.get(&space.pages, full).expect("the path was planned");
    let old = pieces_of(page_size(space), key, cell);
    if cell.is_some() {
        space.tree.remove(&mut space.pages, full);
        removed.push(full.to_vec());
    }
    remove_pieces(space, key, 0..old, removed);
}

fn remove_pieces(
    space: &mut Space,
    key: &[u8],
    pieces: std::ops::Range<usize>,
    removed: &mut Vec<Vec<u8>>,
) {
    let mut buffer = KeyBuffer::default();
    for at in pieces {
        let piece = buffer.piece(key, at as u32);
        space.tree.remove(&mut space.pages, piece);
        removed.push(piece.to_vec());
    }
}

/// The value of a user's key.
pub(super) fn get(space: &Space, key: &[u8]) -> Result<Option<Vec<u8>>, Miss> {
    let mut buffer = KeyBuffer::default();
    let Some(cell) = space.tree.get(&space.pages, buffer.user(key))? else { return Ok(None) };
    let count = match cell {
        [WHOLE, value @ ..] => return Ok(Some(value.to_vec())),
        cell => pieces_of(page_size(space), key, Some(cell)),
    };
    let mut value = Vec::new();
    for at in 0..count {
        let piece = space.tree.get(&space.pages, buffer.piece(key, at as u32))?;
        value.extend_from_slice(piece.unwrap_or_default());
    }
    Ok(Some(value))
}

/// The user's key of a cell of the tree, if it is one.
pub(super) fn user_key(key: &[u8]) -> Option<&[u8]> {
    key.strip_prefix(&[USER])
}
