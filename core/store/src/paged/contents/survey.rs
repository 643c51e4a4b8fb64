//! Looking through a transaction that goes in steps, before the first of them.
//!
//! Once a step is carried out the others must follow, so what could keep them from it is found out before: every page of the device
//! that they will look at is read once, so that none of them is damaged, and what they put into the tree is counted with the nodes
//! that it goes into ([`TreeGrowth`]), so that there is room for it. Like a query the survey goes in parts, and updates wait for
//! its end and for the first step.
//!
//! What an earlier change of the same transaction makes is not there yet. In the place of a copy stands what it is made of, and counts as
//! shared. Extents that it has written or cut count one by one when they are copied, and nobody knows then where.

use super::cells::next_attribute;
use super::kv;
use super::object::{first_extent, is_there, part_of_page};
use super::shared::{self, Stretch};
use super::step::Miss;
use crate::paged::api::ObjectId;
use crate::paged::bounds::{self, TreeGrowth, cut_bytes};
use crate::paged::change::{Change, FilledRun};
use crate::paged::extent;
use crate::paged::ids::{PageNo, PageSize};
use crate::paged::keys::{self, KeyBuffer};
use crate::paged::node::entry_bytes;
use crate::paged::space::Space;
use std::ops::Range;

/// Bytes of an object's own cell with its entry.
const OBJECT_CELL: usize = entry_bytes(keys::OBJECT_KEY, 16);
/// The same of an extent without checksums, of a shared range, of the cell that says how far a transaction is.
const EXTENT_CELL: usize = entry_bytes(keys::EXTENT_KEY, extent::HEADER);
const SHARED_CELL: usize = entry_bytes(keys::SHARED_KEY, shared::RANGE);
const PROGRESS_CELL: usize = entry_bytes(keys::PROGRESS.len(), 16);
/// A checksum in an extent.
const PAGE_SUM: usize = 4;

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
    /// Finds so far.
    finds: u64,
    /// The copies that the transaction has made, each with what it was made of.
    copies: Vec<(ObjectId, ObjectId)>,
    /// Extents that the transaction makes in its objects, but for those of copies.
    made: Vec<MadeExtent>,
    /// What the steps put.
    growth: TreeGrowth,
}

/// An extent that an earlier change of the transaction makes.
#[derive(Clone, Debug)]
struct MadeExtent {
    object: ObjectId,
    pages: Range<u64>,
    /// Where it begins on the device, if that is known before it is written.
    first: Option<PageNo>,
    /// Whether it is what a cut has left of one that was there.
    is_rest: bool,
}

/// Something that a change looks at.
enum SurveyItem<'a> {
    /// A user's key, and how long its new value is, if it has one.
    Value(&'a [u8], Option<usize>),
    /// One cell.
    Cell(Vec<u8>),
    /// One cell that is put, and its bytes with their entry.
    Put(Vec<u8>, usize),
    /// The page of an object that this byte is in, if it is there and the byte is not its first.
    Ragged(ObjectId, u64),
    /// An object's pages that are written one by one: all of them, or those that are there.
    Pages(ObjectId, Range<u64>, WrittenPages),
    /// An object's extents at these page indices are taken away.
    Cut(ObjectId, Range<u64>),
    /// A run of pages becomes an extent at this page index of an object.
    Place(ObjectId, u64, &'a FilledRun),
    /// An object's extents are shared with another one.
    Share(ObjectId, ObjectId),
    /// So are those that the transaction has made in it.
    ShareMade(ObjectId, ObjectId),
    /// An object's attributes, and the places of their copies.
    Attributes(ObjectId, Option<ObjectId>),
}

/// Where something of an object's extent is cut away.
struct Cut {
    object: ObjectId,
    /// The page indices that are gone.
    pages: Range<u64>,
    /// How many pages the extent has behind them.
    behind: u64,
    /// What is gone, if it is there already.
    stretch: Option<Stretch>,
}

/// Which pages are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WrittenPages {
    All,
    Present,
}

impl Survey {
    /// Grows with everything that is seen.
    pub(super) fn measure(&self) -> u64 {
        self.finds
    }

    /// An object, what it is a copy of, what that is one of. What the last of them holds is there already.
    fn lineage(&self, object: ObjectId) -> Vec<ObjectId> {
        let mut lineage = vec![object];
        for (to, from) in self.copies.iter().rev() {
            if lineage.last() == Some(to) {
                lineage.push(*from);
            }
        }
        lineage
    }

    fn origin(&self, object: ObjectId) -> ObjectId {
        *self.lineage(object).last().expect("it begins with the object")
    }

    /// Whether the transaction may have written this page of an object, and something else owns it as well by now.
    fn may_share_written(&self, object: ObjectId, index: u64) -> bool {
        let lineage = self.lineage(object);
        let is_it = |made: &&MadeExtent| made.pages.contains(&index) && !made.is_rest;
        !self.copies.is_empty()
            && self.made.iter().filter(is_it).any(|made| lineage.contains(&made.object))
    }

    /// Counts cells that are put, each with its bytes: all of them or, where a page is missing, none.
    fn put(&mut self, space: &Space, cells: &[(Vec<u8>, usize)]) -> Result<(), Miss> {
        let paths = cells.iter().map(|(key, _)| space.tree.path(&space.pages, key));
        let paths = paths.collect::<Result<Vec<_>, _>>()?;
        for (path, (key, bytes)) in paths.iter().zip(cells) {
            self.growth.put(path, *bytes);
            if !keys::is_short(key) {
                self.growth.put_users_keys();
            }
        }
        Ok(())
    }
}

/// Looks on. Answers how many pages of the device the steps take at most.
pub fn survey(space: &Space, changes: &[Change<'_>], survey: &mut Survey) -> Result<u64, Miss> {
    let layout = space.pages.layout();
    for change in &changes[survey.change..] {
        let sights = sights_of(change, layout.page);
        for sight in &sights[survey.sight..] {
            look(space, sight, survey)?;
            survey.sight += 1;
            survey.finds += 1;
            (survey.next, survey.name) = (0, None);
        }
        if let Change::Clone { from, to } = change {
            survey.copies.push((*to, *from));
        }
        survey.change += 1;
        survey.sight = 0;
    }
    survey.put(space, &[(keys::PROGRESS.to_vec(), PROGRESS_CELL)])?;
    Ok(survey.growth.pages(layout.page, bounds::levels(layout)))
}

fn sights_of<'a>(change: &'a Change<'_>, size: PageSize) -> Vec<SurveyItem<'a>> {
    let page = size.bytes() as u64;
    let own = |object| SurveyItem::Put(keys::object(object), OBJECT_CELL);
    let all = 0..u64::MAX;
    let ragged = |object, at| SurveyItem::Ragged(object, at);
    let end = |object, at: u64| {
        let pages = at / page..at.div_ceil(page);
        SurveyItem::Pages(object, pages, WrittenPages::Present)
    };
    match change {
        Change::Put { key, value } => vec![SurveyItem::Value(key, Some(value.len()))],
        Change::Delete { key } => vec![SurveyItem::Value(key, None)],
        Change::Write { object, offset, data, .. } => {
            let to = offset + data.len() as u64;
            let pages =
                SurveyItem::Pages(*object, offset / page..to.div_ceil(page), WrittenPages::All);
            vec![own(*object), ragged(*object, *offset), ragged(*object, to), pages]
        }
        Change::Place { object, index, runs, .. } => {
            let mut sights = vec![own(*object)];
            let mut at = *index;
            for run in runs {
                let count = run.sums.len();
                sights.push(SurveyItem::Cut(*object, at..at + count as u64));
                sights.push(SurveyItem::Place(*object, at, run));
                at += count as u64;
            }
            sights
        }
        Change::Punch { object, from, to, .. } => vec![
            SurveyItem::Cell(keys::object(*object)),
            ragged(*object, *from),
            ragged(*object, *to),
            end(*object, *from),
            end(*object, *to),
            SurveyItem::Cut(*object, from.div_ceil(page)..to / page),
        ],
        Change::Truncate { object, length, .. } => vec![
            own(*object),
            ragged(*object, *length),
            end(*object, *length),
            SurveyItem::Cut(*object, length.div_ceil(page)..u64::MAX),
        ],
        Change::Remove { object } => vec![
            SurveyItem::Cell(keys::object(*object)),
            SurveyItem::Cut(*object, all),
            SurveyItem::Attributes(*object, None),
        ],
        Change::Clone { from, to } => vec![
            SurveyItem::Cut(*to, all),
            SurveyItem::Attributes(*to, None),
            own(*to),
            SurveyItem::Cell(keys::object(*from)),
            SurveyItem::Share(*from, *to),
            SurveyItem::ShareMade(*from, *to),
            SurveyItem::Attributes(*from, Some(*to)),
        ],
        Change::SetAttribute { object, name, value } => {
            let bytes = entry_bytes(keys::OBJECT_KEY + name.len(), value.len());
            vec![own(*object), SurveyItem::Put(keys::attribute(*object, name), bytes)]
        }
        Change::RemoveAttribute { object, name } => {
            let attribute = SurveyItem::Cell(keys::attribute(*object, name));
            vec![SurveyItem::Cell(keys::object(*object)), attribute]
        }
    }
}

fn look(space: &Space, sight: &SurveyItem<'_>, survey: &mut Survey) -> Result<(), Miss> {
    match sight {
        SurveyItem::Value(key, length) => survey.look_at_value(space, key, *length),
        SurveyItem::Cell(key) => look_at_cell(space, key),
        SurveyItem::Put(key, bytes) => survey.put(space, &[(key.clone(), *bytes)]),
        SurveyItem::Ragged(object, at) => survey.look_at_ragged(space, *object, *at),
        SurveyItem::Pages(object, pages, which) => {
            survey.look_at_pages(space, *object, pages, *which)
        }
        SurveyItem::Cut(object, pages) => survey.look_at_cut(space, *object, pages),
        SurveyItem::Place(object, index, run) => survey.look_at_place(space, *object, *index, run),
        SurveyItem::Share(from, to) => survey.look_at_shared(space, *from, *to),
        SurveyItem::ShareMade(from, to) => survey.look_at_shared_made(space, *from, *to),
        SurveyItem::Attributes(object, copy) => survey.look_at_attributes(space, *object, *copy),
    }
}

fn look_at_cell(space: &Space, key: &[u8]) -> Result<(), Miss> {
    space.tree.reach(&space.pages, key)?;
    Ok(())
}

impl Survey {
    fn look_at_value(
        &mut self,
        space: &Space,
        key: &[u8],
        length: Option<usize>,
    ) -> Result<(), Miss> {
        let page = space.pages.layout().page;
        let mut buffer = KeyBuffer::default();
        let there = kv::pieces_at(space, key, length.unwrap_or(0))? as u64;
        let put = length.map_or(0, |length| kv::pieces(page, key, length)) as u64;
        for at in self.next..there {
            let piece = buffer.piece(key, at as u32);
            if at < put {
                let bytes = entry_bytes(piece.len(), kv::piece_bytes(page, key));
                self.put(space, &[(piece.to_vec(), bytes)])?;
            } else {
                look_at_cell(space, piece)?;
            }
            self.see(at + 1);
        }
        let own = buffer.user(key);
        let Some(length) = length else { return look_at_cell(space, own) };
        let bytes = entry_bytes(own.len(), if put == 0 { 1 + length } else { 5 });
        self.put(space, &[(own.to_vec(), bytes)])
    }

    fn look_at_ragged(&self, space: &Space, object: ObjectId, at: u64) -> Result<(), Miss> {
        let (object, (index, inside)) = (self.origin(object), part_of_page(space, at));
        if inside > 0
            && let Some(extent) = first_extent(space, object, index..index + 1)?
        {
            is_there(space, (object, index), &extent, false)?;
        }
        Ok(())
    }

    /// A page that is not the object's alone gets another place, and an extent of its own.
    fn look_at_pages(
        &mut self,
        space: &Space,
        object: ObjectId,
        pages: &Range<u64>,
        which: WrittenPages,
    ) -> Result<(), Miss> {
        let (origin, has_copies) = (self.origin(object), !self.copies.is_empty());
        for index in pages.start.max(self.next)..pages.end {
            let extent = first_extent(space, origin, index..index + 1)?;
            let behind = extent.as_ref().map_or(0, |extent| extent.range().end - (index + 1));
            let page = extent.and_then(|extent| extent.part(index..index + 1));
            let stretch = page.map(|page| shared::stretch(space, &page)).transpose()?;
            let is_moved = match &stretch {
                Some(stretch) => stretch.is_shared() || has_copies,
                None => which == WrittenPages::All || self.may_share_written(object, index),
            };
            if is_moved {
                let own = (keys::extent(object, index), EXTENT_CELL + PAGE_SUM);
                let cut = Cut { object, pages: index..index + 1, behind, stretch };
                self.put_cut(space, cut, vec![own])?;
                self.growth.write(1);
                let (pages, first) = (index..index + 1, None);
                self.made.push(MadeExtent { object, pages, first, is_rest: false });
            }
            self.see(index + 1);
        }
        Ok(())
    }

    fn look_at_cut(
        &mut self,
        space: &Space,
        object: ObjectId,
        pages: &Range<u64>,
    ) -> Result<(), Miss> {
        let origin = self.origin(object);
        loop {
            let ahead = pages.start.max(self.next)..pages.end;
            let Some(extent) = first_extent(space, origin, ahead.clone())? else { break };
            let part = extent.part(ahead).expect("it overlaps");
            let stretch = shared::stretch(space, &part)?;
            let end = part.index + stretch.run.count;
            let behind = extent.range().end - end;
            let cut = Cut { object, pages: part.index..end, behind, stretch: Some(stretch) };
            self.put_cut(space, cut, Vec::new())?;
            if behind > 0 && end == pages.end {
                let (pages, first) = (end..end + 1, Some(extent.page(end).0));
                self.made.push(MadeExtent { object, pages, first, is_rest: true });
            }
            self.see(end);
        }
        if !pages.is_empty() && pages.end < u64::MAX && !self.made.is_empty() {
            // It may end inside of an extent that the transaction has made.
            let cut = Cut { object, pages: pages.clone(), behind: 0, stretch: None };
            self.put_cut(space, cut, Vec::new())?;
        }
        Ok(())
    }

    fn look_at_place(
        &mut self,
        space: &Space,
        object: ObjectId,
        index: u64,
        run: &FilledRun,
    ) -> Result<(), Miss> {
        let bytes = EXTENT_CELL + run.sums.len() * PAGE_SUM;
        self.put(space, &[(keys::extent(object, index), bytes)])?;
        let (pages, first) = (index..index + run.sums.len() as u64, Some(run.first));
        self.made.push(MadeExtent { object, pages, first, is_rest: false });
        Ok(())
    }

    /// What is behind a cut gets a cell, and so does what it leaves of a shared range.
    fn put_cut(
        &mut self,
        space: &Space,
        cut: Cut,
        mut cells: Vec<(Vec<u8>, usize)>,
    ) -> Result<(), Miss> {
        let Cut { object, pages, behind, stretch } = cut;
        // An extent that the transaction has written or copied may reach farther than any that is there.
        let has_written = self.made.iter().any(|made| !made.is_rest);
        let behind = if has_written || !self.copies.is_empty() { u64::MAX } else { behind };
        if behind > 0 {
            let bytes = cut_bytes(space.pages.layout().page, behind);
            cells.push((keys::extent(object, pages.end), bytes));
        }
        cells.extend(stretch.into_iter().flat_map(|stretch| self.ranges_when_released(&stretch)));
        self.put(space, &cells)?;
        let ends = [pages.start, pages.end];
        for index in ends {
            if self.may_share_written(object, index) {
                self.growth.put_somewhere(space.tree.height, SHARED_CELL);
            }
        }
        Ok(())
    }

    fn ranges_when_released(&self, stretch: &Stretch) -> Vec<(Vec<u8>, usize)> {
        let first_pages = stretch.ranges_when_released(!self.copies.is_empty());
        first_pages.into_iter().map(|page| (keys::shared(page), SHARED_CELL)).collect()
    }

    /// A copy's extent may be put twice: when what is before it in one cell is cut away it gets one of its own.
    fn look_at_shared(&mut self, space: &Space, from: ObjectId, to: ObjectId) -> Result<(), Miss> {
        let page = space.pages.layout().page;
        let (origin, again) = (self.origin(from), cut_bytes(page, u64::MAX));
        while let Some(extent) = first_extent(space, origin, self.next..u64::MAX)? {
            let part = extent.part(self.next..u64::MAX).expect("it overlaps");
            let stretch = shared::stretch(space, &part)?;
            let bytes = EXTENT_CELL + PAGE_SUM * stretch.run.count as usize + again;
            let mut cells = vec![(keys::extent(to, part.index), bytes)];
            let first_pages = stretch.ranges_when_shared();
            cells.extend(first_pages.into_iter().map(|page| (keys::shared(page), SHARED_CELL)));
            self.put(space, &cells)?;
            self.see(part.index + stretch.run.count);
        }
        Ok(())
    }

    /// What was cut off or written is found in no extent that is there.
    fn look_at_shared_made(
        &mut self,
        space: &Space,
        from: ObjectId,
        to: ObjectId,
    ) -> Result<(), Miss> {
        let lineage = self.lineage(from);
        let again = cut_bytes(space.pages.layout().page, u64::MAX);
        for at in self.next as usize..self.made.len() {
            let MadeExtent { object, pages, first, .. } = &self.made[at];
            if lineage.contains(object) {
                let sums = PAGE_SUM * (pages.end - pages.start) as usize;
                let first = *first;
                let mut cells = vec![(keys::extent(to, pages.start), EXTENT_CELL + sums + again)];
                cells.extend(first.map(|page| (keys::shared(page), SHARED_CELL)));
                self.put(space, &cells)?;
                if first.is_none() {
                    self.growth.put_somewhere(space.tree.height, SHARED_CELL);
                }
            }
            self.see(at as u64 + 1);
        }
        Ok(())
    }

    fn look_at_attributes(
        &mut self,
        space: &Space,
        object: ObjectId,
        copy: Option<ObjectId>,
    ) -> Result<(), Miss> {
        let origin = self.origin(object);
        let behind = |name: &Option<Vec<u8>>| {
            name.as_ref().map_or(Vec::new(), |name| [&name[..], &[0]].concat())
        };
        while let Some((name, value)) = next_attribute(space, origin, &behind(&self.name))? {
            if let Some(copy) = copy {
                let key = keys::attribute(copy, &name);
                let bytes = entry_bytes(key.len(), value.len());
                self.put(space, &[(key, bytes)])?;
            }
            self.name = Some(name);
            self.finds += 1;
        }
        Ok(())
    }

    /// What is before this is seen.
    fn see(&mut self, next: u64) {
        self.next = next;
        self.finds += 1;
    }
}
