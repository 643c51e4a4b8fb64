//! Looking through a transaction that goes in steps, before the first of them.
//!
//! Once a step is carried out the others must follow, so what could keep them from it is found out before: every page of the device
//! that they will look at is read once, so that none of them is damaged, and what they may add to the tree is counted, so
//! that there is room for it. What an earlier change of the same transaction makes is not there yet; the later ones find it in pages
//! that it has just changed. Like a query the survey goes in parts, and updates wait for its end and for the first step.

use super::cells::next_attribute;
use super::object::{first_extent, is_there, part_of_page};
use super::step::Miss;
use super::{kv, shared};
use crate::paged::api::ObjectId;
use crate::paged::change::Change;
use crate::paged::keys::{self, KeyBuffer};
use crate::paged::space::Space;
use std::ops::Range;

/// Bytes of the cells that taking a stretch of pages away, or sharing it, may add: two parts of an extent and two of a shared range, or
/// the extent's copy, and its own range, each with its entry in a node.
const STRETCH_CELLS: u64 = 400;
/// The same of any change of an object whatever it finds: its own cell, and the parts of what is cut in two, which may be whole cells.
const CHANGE_CELLS: u64 = 1600;
/// A checksum in an extent and its copy.
const PAGE_SUMS: u64 = 8;

/// How far a survey is.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Changes that are looked through.
    change: usize,
    /// Sights of the next one that are seen.
    sight: usize,
    /// Where the next sight goes on: a page index, a piece's number.
    next: u64,
    /// Behind this attribute's name, if any.
    name: Option<Vec<u8>>,
    /// Bytes of cells that the steps may add.
    bytes: u64,
}

/// Something that a change looks at.
enum SurveyItem<'a> {
    /// A user's key, and how long its new value is.
    Value(&'a [u8], usize),
    /// One cell.
    Cell(Vec<u8>),
    /// An object's extents at these page indices with the ranges that they share, and the places of their copies in another.
    Extents(ObjectId, Range<u64>, Option<ObjectId>),
    /// An object's attributes, and the places of their copies.
    Attributes(ObjectId, Option<ObjectId>),
    /// The page of an object that this byte is in, if it is there and the byte is not its first.
    Ragged(ObjectId, u64),
}

impl Survey {
    /// Grows with everything that is seen.
    pub(super) fn measure(&self) -> u64 {
        let name = self.name.as_ref().map_or(0, |name| name.len() as u64);
        (self.change as u64) << 48 | (self.sight as u64) << 44 | (self.next + name + self.bytes)
    }
}

/// Looks on. Answers how many pages of the device the steps take at most: twice what their cells hold, because pages may be half
/// full, and one for each level.
pub fn survey(space: &Space, changes: &[Change<'_>], survey: &mut Survey) -> Result<u64, Miss> {
    let page = space.pages.layout().page.bytes() as u64;
    for change in &changes[survey.change..] {
        let sights = sights_of(change, page);
        for sight in &sights[survey.sight..] {
            look(space, sight, survey)?;
            survey.sight += 1;
            (survey.next, survey.name) = (0, None);
        }
        survey.bytes += cells_of(change, page);
        survey.change += 1;
        survey.sight = 0;
    }
    Ok(2 * survey.bytes.div_ceil(page) + u64::from(space.tree.height))
}

/// Bytes of cells and pages that a change adds whatever it finds.
fn cells_of(change: &Change<'_>, page: u64) -> u64 {
    match change {
        Change::Put { key, value } => (value.len() + 64) as u64 * 2 + key.len() as u64 * 16,
        Change::Delete { .. } | Change::RemoveAttribute { .. } => 0,
        Change::SetAttribute { name, value, .. } => 2 * (name.len() + value.len() + 64) as u64,
        Change::Write { data, .. } => {
            let pages = data.len() as u64 / page + 2;
            CHANGE_CELLS + pages * (STRETCH_CELLS + page / 2)
        }
        Change::Place { runs, .. } => {
            let pages: u64 = runs.iter().map(|run| run.sums.len() as u64).sum();
            CHANGE_CELLS + pages * PAGE_SUMS + runs.len() as u64 * STRETCH_CELLS
        }
        Change::Punch { .. }
        | Change::Truncate { .. }
        | Change::Remove { .. }
        | Change::Clone { .. } => CHANGE_CELLS + 2 * page,
    }
}

fn sights_of<'a>(change: &'a Change<'_>, page: u64) -> Vec<SurveyItem<'a>> {
    let cell = |object| SurveyItem::Cell(keys::object(object));
    let whole = 0..u64::MAX;
    match change {
        Change::Put { key, value } => vec![SurveyItem::Value(key, value.len())],
        Change::Delete { key } => vec![SurveyItem::Value(key, 0)],
        Change::Write { object, offset, data, .. } => {
            let end = offset + data.len() as u64;
            let pages = offset / page..end.div_ceil(page);
            let ends = [*offset, end].map(|at| SurveyItem::Ragged(*object, at));
            let [first, last] = ends;
            vec![cell(*object), first, last, SurveyItem::Extents(*object, pages, None)]
        }
        Change::Place { object, index, runs, .. } => {
            let pages: u64 = runs.iter().map(|run| run.sums.len() as u64).sum();
            vec![cell(*object), SurveyItem::Extents(*object, *index..index + pages, None)]
        }
        Change::Punch { object, from, to, .. } => {
            let pages = from / page..to.div_ceil(page);
            let [first, last] = [*from, *to].map(|at| SurveyItem::Ragged(*object, at));
            vec![cell(*object), first, last, SurveyItem::Extents(*object, pages, None)]
        }
        Change::Truncate { object, length, .. } => {
            let behind = length / page..u64::MAX;
            let first = SurveyItem::Ragged(*object, *length);
            vec![cell(*object), first, SurveyItem::Extents(*object, behind, None)]
        }
        Change::Remove { object } => vec![
            cell(*object),
            SurveyItem::Extents(*object, whole, None),
            SurveyItem::Attributes(*object, None),
        ],
        Change::Clone { from, to } => vec![
            cell(*to),
            SurveyItem::Extents(*to, whole.clone(), None),
            SurveyItem::Attributes(*to, None),
            cell(*from),
            SurveyItem::Extents(*from, whole, Some(*to)),
            SurveyItem::Attributes(*from, Some(*to)),
        ],
        Change::SetAttribute { object, name, .. } | Change::RemoveAttribute { object, name } => {
            vec![cell(*object), SurveyItem::Cell(keys::attribute(*object, name))]
        }
    }
}

fn look(space: &Space, sight: &SurveyItem<'_>, survey: &mut Survey) -> Result<(), Miss> {
    let reach = |key: &[u8]| space.tree.reach(&space.pages, key);
    match sight {
        SurveyItem::Value(key, length) => {
            let mut buffer = KeyBuffer::default();
            let pieces = kv::pieces_at(space, key, *length)?;
            reach(buffer.user(key))?;
            for at in survey.next..pieces as u64 {
                reach(buffer.piece(key, at as u32))?;
                survey.next = at + 1;
            }
        }
        SurveyItem::Cell(key) => drop(reach(key)?),
        SurveyItem::Extents(object, pages, copy) => {
            let from = |survey: &Survey| pages.start.max(survey.next)..pages.end;
            while let Some(extent) = first_extent(space, *object, from(survey))? {
                let part = extent.part(from(survey)).expect("it overlaps");
                let stretch = shared::stretch(space, &part)?;
                if let Some(copy) = copy {
                    reach(&keys::extent(*copy, part.index))?;
                }
                let is_alone = copy.is_none() && !stretch.is_shared();
                survey.bytes += if is_alone { 0 } else { STRETCH_CELLS };
                survey.bytes += stretch.run.count * PAGE_SUMS;
                survey.next = part.index + stretch.run.count;
            }
        }
        SurveyItem::Attributes(object, copy) => {
            let behind = |survey: &Survey| {
                survey.name.as_ref().map_or(Vec::new(), |name| [&name[..], &[0]].concat())
            };
            while let Some((name, value)) = next_attribute(space, *object, &behind(survey))? {
                if let Some(copy) = copy {
                    reach(&keys::attribute(*copy, &name))?;
                    survey.bytes += 2 * (name.len() + value.len() + 64) as u64;
                }
                survey.next += 1;
                survey.name = Some(name);
            }
        }
        SurveyItem::Ragged(object, at) => {
            let (index, inside) = part_of_page(space, *at);
            if inside > 0
                && let Some(extent) = first_extent(space, *object, index..index + 1)?
            {
                is_there(space, (*object, index), &extent, false)?;
            }
        }
    }
    Ok(())
}
