//! What the changes of objects need. See [`super::object`] for what they do.

use super::object::{attribute_slack, clone_slack, earliest, extents, owns_alone, whole_pages};
use super::read::DataPage;
use super::{Miss, Needs, shared};
use crate::paged::api::ObjectId;
use crate::paged::change::Run;
use crate::paged::extent::Extent;
use crate::paged::keys;
use crate::paged::space::{PageRun, Space};
use std::ops::Range;

/// Plans the object's own cell.
fn meta(space: &Space, id: ObjectId, needs: &mut Needs) -> Result<(), Miss> {
    let key = keys::object(id);
    Ok(space.tree.plan_range(&space.pages, &key, &key, &mut needs.footprint)?)
}

/// Plans every change of the extents of a range of page indices: cutting, joining with the one before, new ones inside.
fn map(
    space: &Space,
    id: ObjectId,
    range: Range<u64>,
    needs: &mut Needs,
) -> Result<Vec<Extent>, Miss> {
    let from = earliest(space, id, range.start.saturating_sub(1));
    let to = keys::extent(id, range.end);
    space.tree.plan_range(&space.pages, &from, &to, &mut needs.footprint)?;
    let found = extents(space, id, range)?;
    for extent in found.iter().filter(|extent| extent.shared || needs.after_clone) {
        let run = PageRun { first: extent.first, count: extent.sums.len() as u64 };
        shared::plan(space, run, &mut needs.footprint)?;
    }
    needs.frees |= !found.is_empty();
    Ok(found)
}

/// Plans a write through memory.
pub(super) fn write(
    space: &Space,
    id: ObjectId,
    offset: u64,
    length: u64,
    needs: &mut Needs,
) -> Result<(), Miss> {
    meta(space, id, needs)?;
    pages(space, id, offset..offset + length, needs)
}

/// Plans the pages that a range of bytes is written into.
fn pages(space: &Space, id: ObjectId, range: Range<u64>, needs: &mut Needs) -> Result<(), Miss> {
    if range.is_empty() {
        return Ok(());
    }
    let page = space.pages.layout().page.bytes() as u64;
    let indices = range.start / page..range.end.div_ceil(page);
    let found = map(space, id, indices.clone(), needs)?;
    // Behind the object's end there are zeros: who writes up to it writes all that the page holds.
    let length = super::meta(space, id)?.map_or(0, |meta| meta.length);
    for index in indices {
        let reaches = (index + 1) * page <= range.end || (length <= range.end && !needs.again);
        let covered = range.start <= index * page && reaches;
        let extent = found.iter().find(|extent| extent.range().contains(&index));
        match extent {
            None => needs.new_data += 1,
            Some(extent) => data_page(space, (id, extent), index, covered, needs)?,
        }
    }
    Ok(())
}

/// Plans a page that exists: it must be resident, unless all of it is overwritten.
fn data_page(
    space: &Space,
    (id, extent): (ObjectId, &Extent),
    index: u64,
    covered: bool,
    needs: &mut Needs,
) -> Result<(), Miss> {
    let (number, sum) = extent.page(index);
    let resident = space.pages.is_resident(number);
    if !resident && (!covered || space.pages.is_loading(number)) {
        return Err(Miss::Data(DataPage { number, sum, object: id, index }));
    }
    // Other changes of the transaction may give the page another owner or take one away: it is edited where it is, or a
    // new one takes its place.
    let may_copy = needs.after_clone || !owns_alone(space, extent, index)?;
    needs.new_data += u32::from(needs.again) + u32::from(may_copy);
    if resident {
        needs.data.push(number);
    } else if needs.after_clone || !may_copy {
        needs.adopted += 1;
    }
    Ok(())
}

/// Plans pages that are on the device already.
pub(super) fn place(
    space: &Space,
    id: ObjectId,
    index: u64,
    runs: &[Run],
    needs: &mut Needs,
) -> Result<(), Miss> {
    meta(space, id, needs)?;
    let pages: u64 = runs.iter().map(|run| run.sums.len() as u64).sum();
    map(space, id, index..index + pages, needs)?;
    Ok(())
}

/// Plans zeros.
pub(super) fn punch(
    space: &Space,
    id: ObjectId,
    from: u64,
    to: u64,
    needs: &mut Needs,
) -> Result<(), Miss> {
    meta(space, id, needs)?;
    match super::meta(space, id)? {
        None if !needs.again => Ok(()),
        _ => zero(space, id, from..to, needs),
    }
}

fn zero(space: &Space, id: ObjectId, range: Range<u64>, needs: &mut Needs) -> Result<(), Miss> {
    let page = space.pages.layout().page.bytes() as u64;
    let (whole, ends) = whole_pages(page, &range);
    for end in ends.into_iter().filter(|end| !end.is_empty()) {
        let index = end.start / page;
        if let Some(extent) = map(space, id, index..index + 1, needs)?.first() {
            data_page(space, (id, extent), index, false, needs)?;
        }
    }
    map(space, id, whole, needs)?;
    Ok(())
}

/// Plans another length.
pub(super) fn truncate(
    space: &Space,
    id: ObjectId,
    length: u64,
    needs: &mut Needs,
) -> Result<(), Miss> {
    meta(space, id, needs)?;
    let page = space.pages.layout().page;
    match super::meta(space, id)? {
        // An earlier change of the transaction may have made the object, or made it longer.
        _ if needs.again => {
            zero(space, id, length..u64::MAX / page.bytes() as u64 * page.bytes() as u64, needs)
        }
        Some(old) if length < old.length => {
            zero(space, id, length..page.pages_for(old.length) * page.bytes() as u64, needs)
        }
        _ => Ok(()),
    }
}

/// Plans a removal.
pub(super) fn remove(space: &Space, id: ObjectId, needs: &mut Needs) -> Result<(), Miss> {
    meta(space, id, needs)?;
    map(space, id, 0..u64::MAX, needs)?;
    attributes(space, id, needs)
}

/// Plans a clone.
pub(super) fn clone(
    space: &Space,
    from: ObjectId,
    to: ObjectId,
    needs: &mut Needs,
) -> Result<(), Miss> {
    remove(space, to, needs)?;
    meta(space, from, needs)?;
    for extent in map(space, from, 0..u64::MAX, needs)? {
        let run = PageRun { first: extent.first, count: extent.sums.len() as u64 };
        shared::plan(space, run, &mut needs.footprint)?;
        needs.footprint.insert(clone_slack(&extent));
    }
    for (name, value) in super::attributes(space, from)? {
        needs.footprint.insert(attribute_slack(&name, &value));
    }
    attributes(space, from, needs)
}

/// Plans the removal of all attributes.
fn attributes(space: &Space, id: ObjectId, needs: &mut Needs) -> Result<(), Miss> {
    let from = keys::attribute(id, &[]);
    super::attributes(space, id)?;
    // Up to the last name there could be: a clone brings names that are not here yet.
    let last = keys::attribute(id, &[u8::MAX; 64]);
    Ok(space.tree.plan_range(&space.pages, &from, &last, &mut needs.footprint)?)
}

/// Plans an attribute.
pub(super) fn set_attribute(
    space: &Space,
    id: ObjectId,
    name: &[u8],
    value: &[u8],
    slack: usize,
    needs: &mut Needs,
) -> Result<(), Miss> {
    meta(space, id, needs)?;
    let key = keys::attribute(id, name);
    let footprint = &mut needs.footprint;
    space.tree.plan_put(&space.pages, &key, value.len(), slack, footprint)?;
    Ok(())
}

/// Plans an attribute less.
pub(super) fn remove_attribute(
    space: &Space,
    id: ObjectId,
    name: &[u8],
    needs: &mut Needs,
) -> Result<(), Miss> {
    needs.frees = true;
    let key = keys::attribute(id, name);
    Ok(space.tree.plan_remove(&space.pages, &key, &mut needs.footprint)?)
}
