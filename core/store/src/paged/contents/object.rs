//! Objects: what each change does to extents, pages and what is known of the object.

use super::shared;
use crate::objects::{ObjectMeta, Version};
use crate::paged::api::ObjectId;
use crate::paged::change::Run;
use crate::paged::edit::PageEdit;
use crate::paged::extent::{self, Extent, sum_offset};
use crate::paged::ids::PageNo;
use crate::paged::keys;
use crate::paged::node::entry_bytes;
use crate::paged::space::{PageRun, Space};
use crate::paged::tree::{Missing, TreePages};
use std::ops::Range;

/// Bytes of an object's cell.
const META_ENTRY: usize = entry_bytes(21, 16);

/// See [`super::slack`]: `bytes` written through the log, `runs` placed.
pub(super) fn slack(space: &Space, bytes: u64, runs: usize) -> usize {
    let page = space.pages.layout().page;
    let longest = extent::HEADER + 4 * extent::pages_max(page) as usize;
    // Each page may be an extent of its own or make its neighbour longer, and each end may cut an extent in two.
    let extents = page.pages_for(bytes) as usize + 1 + runs;
    META_ENTRY + (extents + 2) * entry_bytes(keys::EXTENT_KEY, longest)
}

/// See [`super::slack`].
pub(super) fn attribute_slack(name: &[u8], value: &[u8]) -> usize {
    META_ENTRY + entry_bytes(21 + name.len(), value.len())
}

/// What a clone of one extent inserts: its copy, and its shared range, which may cut others in two at both ends.
pub(super) fn clone_slack(extent: &Extent) -> usize {
    let copy = entry_bytes(keys::EXTENT_KEY, extent::HEADER + 4 * extent.sums.len());
    copy + 3 * entry_bytes(9, 12)
}

/// Reads an object's cell.
pub(super) fn decode_meta(value: &[u8]) -> Option<ObjectMeta> {
    let (length, version) = value.split_at_checked(8)?;
    Some(ObjectMeta {
        length: u64::from_le_bytes(length.try_into().ok()?),
        version: Version(u64::from_le_bytes(version.try_into().ok()?)),
    })
}

fn put_meta(space: &mut Space, id: ObjectId, meta: ObjectMeta) {
    let mut value = [0; 16];
    value[..8].copy_from_slice(&meta.length.to_le_bytes());
    value[8..].copy_from_slice(&meta.version.0.to_le_bytes());
    space.tree.put(&mut space.pages, &keys::object(id), &value, |_| ());
}

fn meta(space: &Space, id: ObjectId) -> Option<ObjectMeta> {
    super::meta(space, id).expect("the path was planned")
}

/// Extents that overlap page indices of an object, in order.
pub(super) fn extents(
    space: &Space,
    id: ObjectId,
    range: Range<u64>,
) -> Result<Vec<Extent>, Missing> {
    let mut found = Vec::new();
    if range.is_empty() {
        return Ok(found);
    }
    let start = keys::extent(id, range.start);
    // An apply sees no leaf beside the range: nobody planned that one.
    let reaching = (&earliest(space, id, range.start)[..], &start[..]);
    if let Some((key, value)) = space.tree.last_within(&space.pages, reaching)? {
        found.extend(decode(key, value).filter(|extent| extent.range().end > range.start));
    }
    let from = found.last().map_or(range.start, |first: &Extent| first.range().end);
    if from >= range.end {
        return Ok(found);
    }
    let bounds = (&keys::extent(id, from)[..], &keys::extent(id, range.end)[..]);
    space.tree.visit_range(&space.pages, bounds, |key, value| {
        found.extend(decode(key, value));
        true
    })?;
    Ok(found)
}

/// The extent in a cell of some object.
fn decode(key: &[u8], value: &[u8]) -> Option<Extent> {
    let (_, index) = keys::read_extent(key)?;
    Extent::decode(index, value)
}

/// The first key whose extent could reach page index `index`.
pub(super) fn earliest(space: &Space, id: ObjectId, index: u64) -> Vec<u8> {
    let longest = extent::pages_max(space.pages.layout().page);
    keys::extent(id, index.saturating_sub(longest - 1))
}

fn planned_extents(space: &Space, id: ObjectId, range: Range<u64>) -> Vec<Extent> {
    extents(space, id, range).expect("the extents were planned")
}

/// Writes bytes through pages in memory.
pub(super) fn write(
    space: &mut Space,
    id: ObjectId,
    version: Version,
    offset: u64,
    data: &[u8],
    removed: &mut Vec<Vec<u8>>,
) {
    let old = meta(space, id).unwrap_or_default();
    let length = old.length.max(offset + data.len() as u64);
    put_meta(space, id, ObjectMeta { version, length });
    write_pages(space, id, offset, data, removed);
}

fn write_pages(
    space: &mut Space,
    id: ObjectId,
    mut offset: u64,
    mut data: &[u8],
    removed: &mut Vec<Vec<u8>>,
) {
    let page = space.pages.layout().page.bytes() as u64;
    while !data.is_empty() {
        let (index, inside) = (offset / page, offset % page);
        let count = (page - inside).min(data.len() as u64);
        let (now, rest) = data.split_at(count as usize);
        write_page(space, id, index, inside as u32, now, removed);
        (offset, data) = (offset + count, rest);
    }
}

/// Writes inside one page: in place if the object owns the page alone, else in a copy, else in a fresh page.
fn write_page(
    space: &mut Space,
    id: ObjectId,
    index: u64,
    inside: u32,
    data: &[u8],
    removed: &mut Vec<Vec<u8>>,
) {
    let edit = PageEdit::Bytes { offset: inside, data };
    let found = planned_extents(space, id, index..index + 1).pop();
    if let Some(extent) = &found
        && owns_alone(space, extent, index).expect("the ranges were planned")
    {
        let (number, _) = extent.page(index);
        if !space.pages.is_resident(number) {
            space.pages.adopt(number);
            space.pages.edit(number, PageEdit::InitRaw);
        }
        space.pages.edit(number, edit);
        let sum = sum_of(space, number);
        let key = keys::extent(id, extent.index);
        let offset = sum_offset(index - extent.index);
        space.tree.patch(&mut space.pages, &key, offset, &sum.to_le_bytes());
        return;
    }
    // A page that is not resident was planned as overwritten whole.
    let copied =
        found.map(|extent| extent.page(index).0).filter(|page| space.pages.is_resident(*page));
    let copied = copied.map(|page| space.pages.current(page).0.to_vec());
    let number = space.pages.allocate();
    space.pages.edit(number, PageEdit::InitRaw);
    if let Some(bytes) = copied {
        space.pages.edit(number, PageEdit::Bytes { offset: 0, data: &bytes });
    }
    space.pages.edit(number, edit);
    let sums = vec![sum_of(space, number)];
    cut(space, id, index..index + 1, removed);
    insert(space, id, Extent { index, first: number, shared: false, sums });
}

/// Whether nobody else owns the page at `index`.
pub(super) fn owns_alone(space: &Space, extent: &Extent, index: u64) -> Result<bool, Missing> {
    Ok(!extent.shared || shared::owners(space, extent.page(index).0)? == 1)
}

fn sum_of(space: &Space, number: PageNo) -> u32 {
    crc32c::crc32c(space.pages.current(number).0)
}

/// Adds an extent where there is none, as part of the one before it if that is its neighbour on the device as well.
fn insert(space: &mut Space, id: ObjectId, new: Extent) {
    let longest = extent::pages_max(space.pages.layout().page);
    let before = new.index.checked_sub(1).and_then(|index| {
        planned_extents(space, id, index..new.index).pop().filter(|before| {
            let pages = before.sums.len() as u64;
            before.range().end == new.index
                && before.first.plus(pages) == new.first
                && before.shared == new.shared
                && pages + new.sums.len() as u64 <= longest
        })
    });
    let whole = match before {
        Some(mut before) => {
            before.sums.extend_from_slice(&new.sums);
            before
        }
        None => new,
    };
    put_extent(space, id, &whole);
}

fn put_extent(space: &mut Space, id: ObjectId, extent: &Extent) {
    let key = keys::extent(id, extent.index);
    space.tree.put(&mut space.pages, &key, &extent.encode(), |_| ());
}

/// Takes page indices away from an object and gives their pages back.
fn cut(space: &mut Space, id: ObjectId, range: Range<u64>, removed: &mut Vec<Vec<u8>>) {
    for extent in planned_extents(space, id, range.clone()) {
        if extent.index >= range.start {
            let key = keys::extent(id, extent.index);
            space.tree.remove(&mut space.pages, &key);
            removed.push(key);
        }
        for kept in [0..range.start, range.end..u64::MAX] {
            if let Some(part) = extent.part(kept) {
                put_extent(space, id, &part);
            }
        }
        let gone = extent.part(range.clone()).expect("it overlaps");
        let run = PageRun { first: gone.first, count: gone.sums.len() as u64 };
        if gone.shared {
            shared::release(space, run, removed);
        } else {
            space.pages.give_back(run);
        }
    }
}

/// Gives an object pages that are on the device already.
pub(super) fn place(
    space: &mut Space,
    id: ObjectId,
    version: Version,
    index: u64,
    runs: &[Run],
    removed: &mut Vec<Vec<u8>>,
) {
    let page = space.pages.layout().page.bytes() as u64;
    let end = index + runs.iter().map(|run| run.sums.len() as u64).sum::<u64>();
    let old = meta(space, id).unwrap_or_default();
    put_meta(space, id, ObjectMeta { version, length: old.length.max(end * page) });
    cut(space, id, index..end, removed);
    let mut at = index;
    for run in runs {
        let count = run.sums.len() as u64;
        space.pages.mark_used(PageRun { first: run.first, count });
        let extent = Extent { index: at, first: run.first, shared: false, sums: run.sums.clone() };
        put_extent(space, id, &extent);
        at += count;
    }
}

/// The pages that a range of bytes covers whole, and its ragged ends.
pub(super) fn whole_pages(page: u64, range: &Range<u64>) -> (Range<u64>, [Range<u64>; 2]) {
    let (first, last) = (range.start.div_ceil(page), range.end / page);
    if first >= last {
        let middle = (first * page).clamp(range.start, range.end);
        return (first..first, [range.start..middle, middle..range.end]);
    }
    (first..last, [range.start..first * page, last * page..range.end])
}

/// Makes a range read as zeros.
pub(super) fn punch(
    space: &mut Space,
    id: ObjectId,
    version: Version,
    range: Range<u64>,
    removed: &mut Vec<Vec<u8>>,
) {
    let Some(old) = meta(space, id) else { return };
    put_meta(space, id, ObjectMeta { version, ..old });
    // Not cut at the object's end: there are zeros behind it, and an earlier change of the transaction may have moved it.
    zero(space, id, range, removed);
}

/// Zeros bytes: pages that exist and are covered in part are written, whole ones given back.
fn zero(space: &mut Space, id: ObjectId, range: Range<u64>, removed: &mut Vec<Vec<u8>>) {
    let page = space.pages.layout().page.bytes() as u64;
    let (whole, ends) = whole_pages(page, &range);
    for end in ends.into_iter().filter(|end| !end.is_empty()) {
        let index = end.start / page;
        if !planned_extents(space, id, index..index + 1).is_empty() {
            let zeros = vec![0; (end.end - end.start) as usize];
            write_pages(space, id, end.start, &zeros, removed);
        }
    }
    cut(space, id, whole, removed);
}

/// Sets an object's length. What was behind a shorter one reads as zeros if it becomes longer again.
pub(super) fn truncate(
    space: &mut Space,
    id: ObjectId,
    version: Version,
    length: u64,
    removed: &mut Vec<Vec<u8>>,
) {
    let page = space.pages.layout().page;
    let old = meta(space, id).unwrap_or_default();
    put_meta(space, id, ObjectMeta { version, length });
    if length < old.length {
        zero(space, id, length..page.pages_for(old.length) * page.bytes() as u64, removed);
    }
}

/// Removes an object with its attributes.
pub(super) fn remove(space: &mut Space, id: ObjectId, removed: &mut Vec<Vec<u8>>) {
    if meta(space, id).is_none() {
        return;
    }
    cut(space, id, 0..u64::MAX, removed);
    let mut keys = attribute_keys(space, id);
    keys.push(keys::object(id));
    for key in keys {
        space.tree.remove(&mut space.pages, &key);
        removed.push(key);
    }
}

fn attribute_keys(space: &Space, id: ObjectId) -> Vec<Vec<u8>> {
    let attributes = super::attributes(space, id).expect("the attributes were planned");
    attributes.iter().map(|(name, _)| keys::attribute(id, name)).collect()
}

/// Makes `to` what `from` is. Both own the pages from now on.
pub(super) fn clone(space: &mut Space, from: ObjectId, to: ObjectId, removed: &mut Vec<Vec<u8>>) {
    if from == to {
        return;
    }
    remove(space, to, removed);
    let Some(known) = meta(space, from) else { return };
    put_meta(space, to, known);
    for mut extent in planned_extents(space, from, 0..u64::MAX) {
        shared::share(space, PageRun { first: extent.first, count: extent.sums.len() as u64 });
        if !extent.shared {
            extent.shared = true;
            put_extent(space, from, &extent);
        }
        put_extent(space, to, &extent);
    }
    for (name, value) in super::attributes(space, from).expect("the attributes were planned") {
        space.tree.put(&mut space.pages, &keys::attribute(to, &name), &value, |_| ());
    }
}

/// Sets an attribute of an object, which exists afterwards.
pub(super) fn set_attribute(space: &mut Space, id: ObjectId, name: &[u8], value: &[u8]) {
    if meta(space, id).is_none() {
        put_meta(space, id, ObjectMeta::default());
    }
    space.tree.put(&mut space.pages, &keys::attribute(id, name), value, |_| ());
}

/// Removes an attribute.
pub(super) fn remove_attribute(
    space: &mut Space,
    id: ObjectId,
    name: &[u8],
    removed: &mut Vec<Vec<u8>>,
) {
    let key = keys::attribute(id, name);
    if space.tree.remove(&mut space.pages, &key) {
        removed.push(key);
    }
}
