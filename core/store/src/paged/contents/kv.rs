//! Users' keys. A value that is too long for a cell stands in pieces beside it.

use super::cells::{put as put_cell, remove_at, remove_key};
use super::step::{ChangeStop, Miss, StepUnderWay};
use crate::paged::change::Change;
use crate::paged::ids::PageSize;
use crate::paged::keys::{KeyBuffer, USER};
use crate::paged::node::cell_max;
use crate::paged::space::{Scratch, Space};
use crate::paged::tree::{CellChange, LeafRun, MissingOnWay, TOGETHER, ValuePlace};
use std::ops::Range;

/// First byte of a value that stands in its cell.
const WHOLE: u8 = 0;
/// First byte of a value that stands in pieces; its length follows.
const PIECES: u8 = 1;

/// The longest value that a key's own cell takes.
fn whole_max(page: PageSize, key: &[u8]) -> usize {
    cell_max(page) - 2 - key.len()
}

/// Whether a value stands in its key's own cell.
fn is_one_cell(page: PageSize, key: &[u8], value: &[u8]) -> bool {
    cell_max(page) >= 2 + key.len() + value.len()
}

/// Bytes of a piece.
pub(super) fn piece_bytes(page: PageSize, key: &[u8]) -> usize {
    cell_max(page) - 7 - key.len()
}

/// How many pieces a value of this length stands in.
pub(super) fn pieces(page: PageSize, key: &[u8], value_len: usize) -> usize {
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

/// The place that takes a transaction as it is: one that puts a value into its cell, and nothing has to give way for it.
pub fn place_for(space: &mut Space, changes: &[Change<'_>]) -> Option<ValuePlace> {
    let foreseen = space.take_foreseen();
    let [Change::Put { key, value }] = changes else { return None };
    if value.len() > whole_max(page_size(space), key) {
        return None;
    }
    let mut buffer = KeyBuffer::default();
    let is_whole = |old: &[u8]| old.first() == Some(&WHOLE);
    let cell = (buffer.user(key), value.len() + 1);
    if let Some(place) = foreseen
        && let Some(still) = space.tree.still_with_room(&space.pages, place, cell, is_whole)
    {
        return Some(still);
    }
    space.tree.place_with_room(&space.pages, cell, is_whole).ok().flatten()
}

/// A change of one cell of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyChange<'c> {
    /// The user's key.
    pub key: &'c [u8],
    /// Its value, or nothing if it is removed.
    pub value: Option<&'c [u8]>,
}

impl<'c> KeyChange<'c> {
    /// A change that is one of a user's key and its own cell alone, unless the present value stands in pieces.
    pub fn of(page: PageSize, change: &'c Change<'_>) -> Option<KeyChange<'c>> {
        match change {
            Change::Put { key, value } => {
                is_one_cell(page, key, value).then_some(KeyChange { key, value: Some(value) })
            }
            Change::Delete { key } => {
                is_one_cell(page, key, &[]).then_some(KeyChange { key, value: None })
            }
            _ => None,
        }
    }

    /// Appends its cell: the key as the tree has it, and behind that the value as the tree has it. Answers where the one ends and the other begins.
    pub fn encode(self, out: &mut Vec<u8>) -> usize {
        out.push(USER);
        out.extend_from_slice(self.key);
        let key_end = out.len();
        if let Some(value) = self.value {
            out.push(WHOLE);
            out.extend_from_slice(value);
        }
        key_end
    }

    /// The change that a cell was made from.
    pub fn decode((key, value): CellChange<'c>) -> KeyChange<'c> {
        KeyChange { key: &key[1..], value: value.map(|value| &value[1..]) }
    }

    /// As a transaction has it.
    pub fn as_change(self) -> Change<'c> {
        match self.value {
            Some(value) => Change::Put { key: self.key.into(), value: value.into() },
            None => Change::Delete { key: self.key.into() },
        }
    }
}

/// The [run](crate::paged::tree::LeafRun) that such changes begin with, in the order of their keys. It ends before a key whose value stands in pieces.
pub fn run_of<'c>(
    space: &Space,
    changes: impl IntoIterator<Item = CellChange<'c>>,
) -> Result<LeafRun, MissingOnWay> {
    let is_whole = |old: &[u8]| old.first() == Some(&WHOLE);
    space.tree.run_of(&space.pages, changes, is_whole)
}

/// How many pieces a key has, or will have with a value of this length.
pub(super) fn pieces_at(space: &Space, key: &[u8], value_len: usize) -> Result<usize, Miss> {
    let mut buffer = KeyBuffer::default();
    let page = page_size(space);
    let cell = space.tree.get(&space.pages, buffer.user(key))?;
    Ok(pieces_of(page, key, cell).max(pieces(page, key, value_len)))
}

/// Marks are behind each piece that is taken away, at one more than its number, then behind each one that is put.
const PUTTING: u64 = 1 << 32;

/// Sets the value of a key. Its own cell comes last: until then it tells how many pieces there were.
pub(super) fn put(
    space: &mut Space,
    key: &[u8],
    value: &[u8],
    step: &mut StepUnderWay,
) -> Result<(), ChangeStop> {
    let page = page_size(space);
    let mut buffer = KeyBuffer::default();
    if step.inside() == 0 && is_one_cell(page, key, value) {
        let is_whole = |old: &[u8]| old.first() == Some(&WHOLE);
        let cell = (buffer.user(key), value.len() + 1);
        if let Ok(Some(place)) = space.tree.place_with_room(&space.pages, cell, is_whole) {
            put_in_place(space, place, key, value);
            return Ok(());
        }
    }
    let new = pieces(page, key, value.len());
    let old = space.tree.get(&space.pages, buffer.user(key))?;
    let old = pieces_of(page, key, old);
    remove_pieces(space, key, new..old, step)?;
    let done = step.inside().saturating_sub(PUTTING);
    let each = value.chunks(piece_bytes(page, key)).take(new).zip(0..);
    for (piece, at) in each.skip(done as usize) {
        put_cell(space, buffer.piece(key, at as u32), piece)?;
        step.mark(space, PUTTING + at + 1)?;
    }
    let mut cell = std::mem::take(&mut space.scratch.value);
    cell.clear();
    if new == 0 {
        cell.push(WHOLE);
        cell.extend_from_slice(value);
    } else {
        cell.push(PIECES);
        cell.extend_from_slice(&(value.len() as u32).to_le_bytes());
    }
    let result = put_cell(space, buffer.user(key), &cell);
    space.scratch.value = cell;
    Ok(result?)
}

/// Sets the value of a key, both in one cell before and after, in the place that was found for it.
pub(super) fn put_in_place(space: &mut Space, place: ValuePlace, key: &[u8], value: &[u8]) {
    let Scratch { key: full, value: cell } = &mut space.scratch;
    cell.clear();
    cell.push(WHOLE);
    cell.extend_from_slice(value);
    space.tree.put_in_place(&mut space.pages, place, full.user(key), cell);
}

/// Removes a key, its own cell last.
pub(super) fn delete(
    space: &mut Space,
    key: &[u8],
    step: &mut StepUnderWay,
) -> Result<(), ChangeStop> {
    let mut buffer = KeyBuffer::default();
    let page = page_size(space);
    let full = buffer.user(key);
    let Some((place, cell)) = space.tree.find(&space.pages, full)? else { return Ok(()) };
    match pieces_of(page, key, Some(cell)) {
        0 => remove_at(space, (full, place), step),
        old => {
            remove_pieces(space, key, 0..old, step)?;
            remove_key(space, full, step)?;
        }
    }
    Ok(())
}

fn remove_pieces(
    space: &mut Space,
    key: &[u8],
    pieces: Range<usize>,
    step: &mut StepUnderWay,
) -> Result<(), ChangeStop> {
    let mut buffer = KeyBuffer::default();
    for at in pieces.start.max(step.inside() as usize)..pieces.end {
        remove_key(space, buffer.piece(key, at as u32), step)?;
        step.mark(space, at as u64 + 1)?;
    }
    Ok(())
}

/// The value of a user's key. Pieces that were found stay in `so_far` if a later one is missing.
pub(super) fn get(
    space: &Space,
    key: &[u8],
    so_far: &mut Vec<u8>,
) -> Result<Option<Vec<u8>>, Miss> {
    let mut buffer = KeyBuffer::default();
    let Some(cell) = space.tree.get(&space.pages, buffer.user(key))? else { return Ok(None) };
    let page = page_size(space);
    let count = match cell {
        [WHOLE, value @ ..] => return Ok(Some(value.to_vec())),
        cell => pieces_of(page, key, Some(cell)),
    };
    for at in so_far.len() / piece_bytes(page, key)..count {
        let piece = space.tree.get(&space.pages, buffer.piece(key, at as u32))?;
        so_far.extend_from_slice(piece.unwrap_or_default());
    }
    Ok(Some(std::mem::take(so_far)))
}

/// The places of several users' keys, looked for together, by their places among the keys.
pub fn places_together<'k>(
    space: &Space,
    keys: impl IntoIterator<Item = &'k [u8]>,
) -> [Option<ValuePlace>; TOGETHER] {
    let mut buffers: [KeyBuffer; TOGETHER] = Default::default();
    let full = users(keys, &mut buffers);
    space.tree.places_together(&space.pages, &full)
}

/// The values of several users' keys, looked for together. Shows `f` those that can be told at once, by their places among the keys: the value, or that there is none.
pub fn get_together<'k>(
    space: &Space,
    keys: impl IntoIterator<Item = &'k [u8]>,
    mut f: impl FnMut(usize, Option<&[u8]>),
) {
    let mut buffers: [KeyBuffer; TOGETHER] = Default::default();
    let full = users(keys, &mut buffers);
    space.tree.get_together(&space.pages, &full, |at, cell| match cell {
        None => f(at, None),
        Some([WHOLE, value @ ..]) => f(at, Some(value)),
        // It stands in pieces, which somebody else puts together.
        Some(_) => {}
    });
}

fn users<'k, 'b>(
    keys: impl IntoIterator<Item = &'k [u8]>,
    buffers: &'b mut [KeyBuffer; TOGETHER],
) -> Vec<&'b [u8]> {
    keys.into_iter().zip(buffers).map(|(key, buffer)| buffer.user(key)).collect()
}

/// The user's key of a cell of the tree, if it is one.
pub(super) fn user_key(key: &[u8]) -> Option<&[u8]> {
    key.strip_prefix(&[USER])
}
