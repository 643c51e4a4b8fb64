//! Objects: what each change does to extents, pages and what is known of the object.

use super::cells::{decode_meta, meta, next_attribute, put, remove_key};
use super::kv;
use super::shared;
use super::step::{ChangeStop, DataPage, Miss, StepUnderWay};
use crate::objects::{ObjectMeta, Version};
use crate::paged::api::ObjectId;
use crate::paged::change::FilledRun;
use crate::paged::edit::PageEdit;
use crate::paged::extent::{self, Extent, LOST_SUM, sum_offset};
use crate::paged::ids::PageNo;
use crate::paged::keys;
use crate::paged::space::{PageRun, Space};
use crate::paged::tree::{Missing, TreePages};
use std::ops::Range;

fn put_meta(space: &mut Space, id: ObjectId, meta: ObjectMeta) -> Result<(), Missing> {
    put(space, &keys::object(id), &encode_meta(meta))
}

/// Gives an object a version, and at least this length; it exists afterwards.
fn reach_to(space: &mut Space, id: ObjectId, version: Version, length: u64) -> Result<(), Missing> {
    let key = keys::object(id);
    let found = space.tree.find(&space.pages, &key)?;
    let Some((place, old)) = found.and_then(|(place, value)| Some((place, decode_meta(value)?)))
    else {
        return put_meta(space, id, ObjectMeta { version, length });
    };
    let new = encode_meta(ObjectMeta { version, length: old.length.max(length) });
    space.tree.patch(&mut space.pages, (&key, place), 0, &new);
    Ok(())
}

fn encode_meta(meta: ObjectMeta) -> [u8; 16] {
    let mut value = [0; 16];
    value[..8].copy_from_slice(&meta.length.to_le_bytes());
    value[8..].copy_from_slice(&meta.version.0.to_le_bytes());
    value
}

/// Shows `f` the extents that overlap page indices of an object, in order, until it says `false`. After [`Missing`] those before
/// that page have been shown.
pub(super) fn visit_extents(
    space: &Space,
    id: ObjectId,
    range: Range<u64>,
    mut f: impl FnMut(Extent) -> bool,
) -> Result<(), Missing> {
    if range.is_empty() {
        return Ok(());
    }
    let start = keys::extent(id, range.start);
    let reaching = (&earliest(space, id, range.start)[..], &start[..]);
    let first = space.tree.last_within(&space.pages, reaching)?;
    let first = first.and_then(|(key, value)| decode(key, value));
    let mut from = range.start;
    if let Some(first) = first.filter(|extent| extent.range().end > range.start) {
        from = first.range().end;
        if !f(first) {
            return Ok(());
        }
    }
    if from >= range.end {
        return Ok(());
    }
    let bounds = (&keys::extent(id, from)[..], &keys::extent(id, range.end)[..]);
    space.tree.visit_range(&space.pages, bounds, |key, value| decode(key, value).is_none_or(&mut f))
}

pub(super) fn first_extent(
    space: &Space,
    id: ObjectId,
    range: Range<u64>,
) -> Result<Option<Extent>, Missing> {
    let mut first = None;
    visit_extents(space, id, range, |extent| {
        first = Some(extent);
        false
    })?;
    Ok(first)
}

/// The extent in a cell of some object.
fn decode(key: &[u8], value: &[u8]) -> Option<Extent> {
    let (_, index) = keys::read_extent(key)?;
    Extent::decode(index, value)
}

/// The first key whose extent could reach page index `index`.
fn earliest(space: &Space, id: ObjectId, index: u64) -> Vec<u8> {
    let longest = extent::pages_max(space.pages.layout().page);
    keys::extent(id, index.saturating_sub(longest - 1))
}

fn page_bytes(space: &Space) -> u64 {
    space.pages.layout().page.bytes() as u64
}

/// The page index of a byte, and where in the page it is.
pub(super) fn part_of_page(space: &Space, at: u64) -> (u64, u64) {
    let page = page_bytes(space);
    (at / page, at % page)
}

/// Writes bytes through pages in memory. There is a mark behind each page, at the bytes that are written.
pub(super) fn write(
    space: &mut Space,
    id: ObjectId,
    version: Version,
    offset: u64,
    data: &[u8],
    step: &mut StepUnderWay,
) -> Result<(), ChangeStop> {
    let end = offset + data.len() as u64;
    let mut done = step.inside();
    if done == 0 {
        reach_to(space, id, version, end)?;
    }
    // Behind the object's end there are zeros: who writes up to it writes all that the page holds.
    let to_the_end = meta(space, id)?.is_none_or(|meta| meta.length <= end);
    let page = page_bytes(space);
    while offset + done < end {
        let at = offset + done;
        let (index, inside) = part_of_page(space, at);
        let count = (page - inside).min(end - at);
        let is_covered = inside == 0 && (count == page || to_the_end);
        let data = &data[done as usize..(done + count) as usize];
        write_page(space, (id, index), inside as u32, data, is_covered, step)?;
        done += count;
        step.mark(space, done)?;
    }
    Ok(())
}

/// Writes inside one page: in place if the object owns the page alone, else in a copy, else in a fresh page. What a page held
/// that is covered means nothing.
fn write_page(
    space: &mut Space,
    (id, index): (ObjectId, u64),
    inside: u32,
    data: &[u8],
    is_covered: bool,
    step: &mut StepUnderWay,
) -> Result<(), ChangeStop> {
    let edit = PageEdit::Bytes { offset: inside, data };
    let found = first_extent(space, id, index..index + 1)?;
    if let Some(extent) = &found
        && !is_covered
        && is_lost(space, extent.page(index), step)
    {
        return lose_page(space, (id, index), extent, step);
    }
    if let Some(extent) = &found
        && shared::is_owned_alone(space, extent, index)?
    {
        let number = extent.page(index).0;
        if !is_there(space, (id, index), extent, is_covered)? {
            space.pages.adopt(number);
            space.pages.edit(number, PageEdit::InitRaw);
        }
        space.pages.edit(number, edit);
        let sum = sum_of(space, number);
        return Ok(set_sum(space, (id, index), extent, sum)?);
    }
    let mut copied = None;
    if let Some(extent) = &found
        && is_there(space, (id, index), extent, is_covered)?
    {
        copied = space.pages.page(extent.page(index).0).map(<[u8]>::to_vec);
    }
    let number = space.pages.allocate();
    space.pages.edit(number, PageEdit::InitRaw);
    if let Some(bytes) = copied {
        space.pages.edit(number, PageEdit::Bytes { offset: 0, data: &bytes });
    }
    space.pages.edit(number, edit);
    let sums = vec![sum_of(space, number)];
    if found.is_some() {
        cut_first(space, id, index..index + 1, step)?;
    }
    Ok(insert(space, id, Extent { index, first: number, shared: false, sums })?)
}

/// Whether a step goes past a page of data that it cannot have.
fn is_lost(space: &Space, (number, sum): (PageNo, u32), step: &StepUnderWay) -> bool {
    step.losses.has(number, sum)
        && space.pages.page(number).is_none()
        && !space.pages.is_loading(number)
}

/// Makes an object's page, which cannot be had, one that is lost: whatever is found there, it lacks what is written now. A page that others own
/// too may be good for them, so then the object has a place of its own where nothing is.
fn lose_page(
    space: &mut Space,
    (id, index): (ObjectId, u64),
    extent: &Extent,
    step: &mut StepUnderWay,
) -> Result<(), ChangeStop> {
    if shared::is_owned_alone(space, extent, index)? {
        set_sum(space, (id, index), extent, LOST_SUM)?;
    } else {
        let first = space.pages.allocate_unwritten();
        cut_first(space, id, index..index + 1, step)?;
        insert(space, id, Extent { index, first, shared: false, sums: vec![LOST_SUM] })?;
    }
    note_loss(space, id, step)
}

/// Writes the checksum of a page into the extent that was just found.
fn set_sum(
    space: &mut Space,
    (id, index): (ObjectId, u64),
    extent: &Extent,
    sum: u32,
) -> Result<(), Missing> {
    let key = keys::extent(id, extent.index);
    let (place, _) = space.tree.find(&space.pages, &key)?.expect("it was just found");
    let offset = sum_offset(index - extent.index);
    space.tree.patch(&mut space.pages, (&key, place), offset, &sum.to_le_bytes());
    Ok(())
}

/// Notes that an object has lost a page.
fn note_loss(space: &mut Space, id: ObjectId, step: &mut StepUnderWay) -> Result<(), ChangeStop> {
    let Some(note) = step.losses.note_of(id) else { return Ok(()) };
    let (key, value) = note.parts();
    let mut buffer = keys::KeyBuffer::default();
    match space.tree.get(&space.pages, buffer.user(key))? {
        Some(_) => Ok(()),
        None => kv::put(space, key, value, step),
    }
}

/// Whether an object's page can be looked at. If not it must be read, unless all of it is overwritten.
pub(super) fn is_there(
    space: &Space,
    (object, index): (ObjectId, u64),
    extent: &Extent,
    is_covered: bool,
) -> Result<bool, Miss> {
    let (number, sum) = extent.page(index);
    let is_there = space.pages.page(number).is_some();
    if !is_there && (!is_covered || space.pages.is_loading(number)) {
        return Err(Miss::Data(DataPage { number, sum, object, index }));
    }
    Ok(is_there)
}

fn sum_of(space: &Space, number: PageNo) -> u32 {
    crc32c::crc32c(space.pages.page(number).expect("it was just edited"))
}

/// Adds an extent where there is none, as part of the one before it if that is its neighbour on the device as well.
fn insert(space: &mut Space, id: ObjectId, new: Extent) -> Result<(), Missing> {
    let longest = extent::pages_max(space.pages.layout().page);
    let before = match new.index.checked_sub(1) {
        Some(index) => first_extent(space, id, index..new.index)?,
        None => None,
    };
    let joins = |before: &Extent| {
        let pages = before.sums.len() as u64;
        before.range().end == new.index
            && before.first.plus(pages) == new.first
            && before.shared == new.shared
            && pages + new.sums.len() as u64 <= longest
    };
    match before.filter(joins) {
        Some(mut before) => {
            before.sums.extend_from_slice(&new.sums);
            put_extent(space, id, &before)
        }
        None => put_extent(space, id, &new),
    }
}

fn put_extent(space: &mut Space, id: ObjectId, extent: &Extent) -> Result<(), Missing> {
    put(space, &keys::extent(id, extent.index), &extent.encode())
}

/// Takes page indices away from an object and gives their pages back. There are marks in between, where it stands as it began: it
/// goes on with what is left.
fn cut(
    space: &mut Space,
    id: ObjectId,
    range: Range<u64>,
    inside: u64,
    step: &mut StepUnderWay,
) -> Result<(), ChangeStop> {
    while cut_first(space, id, range.clone(), step)? {
        step.mark(space, inside)?;
    }
    Ok(())
}

/// Takes the first page indices of a range away, as many as stand in one extent and have the same owners. False if there were
/// none.
fn cut_first(
    space: &mut Space,
    id: ObjectId,
    range: Range<u64>,
    step: &mut StepUnderWay,
) -> Result<bool, Missing> {
    let Some(extent) = first_extent(space, id, range.clone())? else { return Ok(false) };
    let inside = extent.part(range).expect("it overlaps");
    let stretch = shared::stretch(space, &inside)?;
    let gone = inside.index..inside.index + stretch.run.count;
    if extent.index >= gone.start {
        remove_key(space, &keys::extent(id, extent.index), step)?;
    }
    for kept in [0..gone.start, gone.end..u64::MAX] {
        if let Some(part) = extent.part(kept) {
            put_extent(space, id, &part)?;
        }
    }
    shared::release(space, &stretch, step)?;
    Ok(true)
}

/// Gives an object pages that are on the device already. There are marks between the runs, at their number, and while what
/// is in the way of one is cut.
pub(super) fn place(
    space: &mut Space,
    id: ObjectId,
    version: Version,
    index: u64,
    runs: &[FilledRun],
    step: &mut StepUnderWay,
) -> Result<(), ChangeStop> {
    let pages = |runs: &[FilledRun]| runs.iter().map(|run| run.sums.len() as u64).sum::<u64>();
    let done = step.inside();
    if done == 0 {
        // What is lost says nothing about the object's end.
        let is_lost = runs.iter().all(FilledRun::is_lost);
        let length = if is_lost { 0 } else { (index + pages(runs)) * page_bytes(space) };
        reach_to(space, id, version, length)?;
    }
    let mut at = index + pages(&runs[..done as usize]);
    for (run, done) in runs.iter().zip(0..).skip(done as usize) {
        let count = run.sums.len() as u64;
        let extent = Extent { index: at, first: run.first, shared: false, sums: run.sums.clone() };
        if !replace(space, id, &extent)? {
            cut(space, id, at..at + count, done, step)?;
            space.pages.mark_used(PageRun { first: run.first, count });
            put_extent(space, id, &extent)?;
        }
        at += count;
        step.mark(space, done + 1)?;
    }
    Ok(())
}

/// Gives an extent the place of one that has the same page indices and that nobody else owns: the cell stays where it is. False, and nothing done, if
/// there is no such one.
fn replace(space: &mut Space, id: ObjectId, new: &Extent) -> Result<bool, Missing> {
    let key = keys::extent(id, new.index);
    let found = space.tree.find(&space.pages, &key)?;
    let found = found.and_then(|(place, value)| Some((place, Extent::decode(new.index, value)?)));
    let Some((place, old)) = found.filter(|(_, old)| old.range() == new.range()) else {
        return Ok(false);
    };
    let stretch = shared::stretch(space, &old)?;
    if stretch.is_shared() || stretch.run.count < old.sums.len() as u64 {
        return Ok(false);
    }
    space.pages.give_back(stretch.run);
    space.pages.mark_used(PageRun { first: new.first, count: stretch.run.count });
    space.tree.patch(&mut space.pages, (&key, place), 0, &new.encode());
    Ok(true)
}

/// Makes a range read as zeros.
pub(super) fn punch(
    space: &mut Space,
    id: ObjectId,
    version: Version,
    range: Range<u64>,
    step: &mut StepUnderWay,
) -> Result<(), ChangeStop> {
    let Some(old) = meta(space, id)? else { return Ok(()) };
    if step.inside() == 0 {
        put_meta(space, id, ObjectMeta { version, ..old })?;
    }
    // Not cut at the object's end: there are zeros behind it.
    zero(space, id, range, step)
}

/// Zeros bytes: pages that exist and are covered in part are written, whole ones given back. There are marks behind the first
/// ragged end (1), the second (2), and while pages are given back.
fn zero(
    space: &mut Space,
    id: ObjectId,
    range: Range<u64>,
    step: &mut StepUnderWay,
) -> Result<(), ChangeStop> {
    let page = page_bytes(space);
    let (whole, ends) = whole_pages(page, &range);
    for (end, done) in ends.into_iter().zip(1..).skip(step.inside() as usize) {
        let index = end.start / page;
        if !end.is_empty() && first_extent(space, id, index..index + 1)?.is_some() {
            let zeros = vec![0; (end.end - end.start) as usize];
            write_page(space, (id, index), (end.start % page) as u32, &zeros, false, step)?;
            step.mark(space, done)?;
        }
    }
    cut(space, id, whole, 2, step)
}

/// The pages that a range of bytes covers whole, and its ragged ends, none longer than a page.
fn whole_pages(page: u64, range: &Range<u64>) -> (Range<u64>, [Range<u64>; 2]) {
    let (first, last) = (range.start.div_ceil(page), range.end / page);
    if first >= last {
        let middle = (first * page).clamp(range.start, range.end);
        return (first..first, [range.start..middle, middle..range.end]);
    }
    (first..last, [range.start..first * page, last * page..range.end])
}

/// Sets an object's length. What was behind a shorter one reads as zeros if it becomes longer again.
pub(super) fn truncate(
    space: &mut Space,
    id: ObjectId,
    version: Version,
    length: u64,
    step: &mut StepUnderWay,
) -> Result<(), ChangeStop> {
    let old = meta(space, id)?.unwrap_or_default();
    if length < old.length {
        let page = space.pages.layout().page;
        zero(space, id, length..page.pages_for(old.length) * page.bytes() as u64, step)?;
    }
    // Last, so that at any mark what is still behind the new end is not behind the object's.
    Ok(put_meta(space, id, ObjectMeta { version, length })?)
}

/// Removes an object with its attributes. What it is known by goes last, so at any mark the rest is still to be found.
pub(super) fn remove(
    space: &mut Space,
    id: ObjectId,
    step: &mut StepUnderWay,
) -> Result<(), ChangeStop> {
    if meta(space, id)?.is_none() {
        return Ok(());
    }
    cut(space, id, 0..u64::MAX, 0, step)?;
    while let Some((name, _)) = next_attribute(space, id, &[])? {
        remove_key(space, &keys::attribute(id, &name), step)?;
        step.mark(space, 0)?;
    }
    Ok(remove_key(space, &keys::object(id), step)?)
}

/// Makes `to` what `from` is. Both own the pages from now on. While what `to` was is removed a mark is at 0, then at one more than
/// the page index that is reached.
pub(super) fn clone(
    space: &mut Space,
    from: ObjectId,
    to: ObjectId,
    step: &mut StepUnderWay,
) -> Result<(), ChangeStop> {
    if from == to {
        return Ok(());
    }
    if step.inside() == 0 {
        remove(space, to, step)?;
        let Some(known) = meta(space, from)? else { return Ok(()) };
        put_meta(space, to, known)?;
        step.mark(space, 1)?;
    }
    let mut next = step.inside() - 1;
    while let Some(mut extent) = first_extent(space, from, next..u64::MAX)? {
        let mut part = extent.part(next..u64::MAX).expect("it reaches behind");
        let stretch = shared::stretch(space, &part)?;
        shared::share(space, &stretch)?;
        if !extent.shared {
            extent.shared = true;
            put_extent(space, from, &extent)?;
        }
        part.sums.truncate(stretch.run.count as usize);
        part.shared = true;
        next = part.range().end;
        insert(space, to, part)?;
        step.mark(space, next + 1)?;
    }
    let mut last = Vec::new();
    while let Some((name, value)) = next_attribute(space, from, &last)? {
        let key = keys::attribute(to, &name);
        if space.tree.get(&space.pages, &key)? != Some(&value) {
            put(space, &key, &value)?;
            step.mark(space, next + 1)?;
        }
        last = name;
        last.push(0);
    }
    Ok(())
}

/// Sets an attribute of an object, which exists afterwards.
pub(super) fn set_attribute(
    space: &mut Space,
    id: ObjectId,
    name: &[u8],
    value: &[u8],
) -> Result<(), ChangeStop> {
    if meta(space, id)?.is_none() {
        put_meta(space, id, ObjectMeta::default())?;
    }
    Ok(put(space, &keys::attribute(id, name), value)?)
}
