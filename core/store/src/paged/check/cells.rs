//! The leaves' cells by their kinds. They come in key order, which is what lets each kind be checked against the one before.

use super::finding::{CellFault, PageOwner, StoreFinding};
use super::objects::ObjectsSeen;
use super::ownership::{OwnedRun, Range};
use super::values::ValuesSeen;
use super::{CheckReport, ReadAt};
use crate::paged::contents::Carried;
use crate::paged::extent;
use crate::paged::ids::PageNo;
use crate::paged::keys;
use crate::paged::layout::Layout;

/// Where a cell stands.
#[derive(Clone, Copy)]
pub(super) struct CellPlace {
    pub page: PageNo,
    pub offset: u64,
    pub at: u16,
}

impl CellPlace {
    pub(super) fn finding(self, fault: CellFault) -> StoreFinding {
        StoreFinding::Cell { page: self.page, offset: self.offset, at: self.at, fault }
    }
}

/// All cells so far.
pub(super) struct Cells<'a> {
    layout: Layout,
    values: ValuesSeen,
    objects: ObjectsSeen<'a>,
    runs: Vec<OwnedRun>,
    ranges: Vec<Range>,
    /// How far the transaction is that is carried out in part, if one is.
    under_way: Option<Carried>,
}

impl<'a> Cells<'a> {
    pub(super) fn new(devices: &'a dyn ReadAt, layout: Layout) -> Cells<'a> {
        Cells {
            layout,
            values: ValuesSeen::new(layout.page),
            objects: ObjectsSeen::new(devices, layout),
            runs: Vec::new(),
            ranges: Vec::new(),
            under_way: None,
        }
    }

    /// A page is a node of the tree.
    pub(super) fn add_node(&mut self, page: PageNo) {
        self.runs.push(OwnedRun { first: page, count: 1, owner: PageOwner::Tree, shared: false });
    }

    /// The next cell.
    pub(super) fn add(
        &mut self,
        place: CellPlace,
        key: &[u8],
        value: &[u8],
        report: &mut CheckReport,
    ) {
        let verdict = match key.first() {
            Some(&keys::USER) => self.values.add_key(&key[1..], value, report),
            // They come behind the cell that says so: while a transaction is under way a value may be there in part.
            Some(&keys::PIECE) if self.under_way.is_some() => Ok(()),
            Some(&keys::PIECE) => self.values.add_piece(&key[1..], value),
            Some(&keys::OBJECTS) => self.objects.add_object(key, value, report),
            Some(&keys::ATTRIBUTE) => self.objects.add_attribute(key, report),
            Some(&keys::EXTENT) => {
                self.objects.add_extent(key, value, report).map(|run| self.runs.push(run))
            }
            Some(_) if key == keys::PROGRESS => {
                self.under_way = Carried::decode(value);
                self.under_way.map(drop).ok_or(CellFault::Value)
            }
            Some(&keys::SHARED) => self.add_range(key, value),
            _ => Err(CellFault::Namespace),
        };
        if let Err(fault) = verdict {
            report.find(place.finding(fault));
        }
    }

    fn add_range(&mut self, key: &[u8], value: &[u8]) -> Result<(), CellFault> {
        let first = keys::read_shared(key).ok_or(CellFault::Key)?;
        let (pages, owners) = value.split_first_chunk().ok_or(CellFault::Value)?;
        let owners = owners.try_into().map_err(|_| CellFault::Value)?;
        let (count, owners) = (u64::from_le_bytes(*pages), u32::from_le_bytes(owners));
        if !self.layout.is_run(first, count) {
            return Err(CellFault::Outside);
        }
        if count > extent::pages_max(self.layout.page) {
            return Err(CellFault::ExtentLength);
        }
        if owners < 2 {
            return Err(CellFault::NotShared);
        }
        if self.ranges.last().is_some_and(|last| last.first.plus(last.count) > first) {
            return Err(CellFault::Overlap);
        }
        self.ranges.push(Range { first, count, owners });
        Ok(())
    }

    /// How far the transaction is that is carried out in part, if one is.
    pub(super) fn under_way(&self) -> Option<Carried> {
        self.under_way
    }

    /// There are no more. Of a tree that was not walked whole nothing is said to be missing.
    pub(super) fn finish(
        self,
        is_whole: bool,
        report: &mut CheckReport,
    ) -> (Vec<OwnedRun>, Vec<Range>) {
        if is_whole {
            if self.under_way.is_none() {
                self.values.finish(report);
            }
            self.objects.finish(report);
        }
        (self.runs, self.ranges)
    }
}
