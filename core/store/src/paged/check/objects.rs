//! Objects, their attributes, their extents and the data in them.

use super::finding::{CellFault, PageOwner, StoreFinding};
use super::ownership::OwnedRun;
use super::report::offset;
use super::{CheckReport, ReadAt};
use crate::paged::api::{ObjectId, StoreDevice};
use crate::paged::extent::{self, Extent};
use crate::paged::keys;
use crate::paged::layout::Layout;

/// Bytes of an object's key.
const OBJECT_KEY: usize = 21;

/// How far an object's extents reach.
struct Mapped {
    object: ObjectId,
    /// One past its last page index.
    pages_end: u64,
    /// One past its last byte that is not zero, as far as its extents' last pages tell. One that is damaged tells nothing.
    data_end: u64,
}

/// What was seen of objects. Keys of attributes and extents come before those of objects, each in the objects' order.
pub(super) struct ObjectsSeen<'a> {
    devices: &'a dyn ReadAt,
    layout: Layout,
    /// Objects that have attributes, each once.
    attributed: Vec<ObjectId>,
    mapped: Vec<Mapped>,
    /// Objects with their lengths.
    known: Vec<(ObjectId, u64)>,
    data: Vec<u8>,
}

impl<'a> ObjectsSeen<'a> {
    pub(super) fn new(devices: &'a dyn ReadAt, layout: Layout) -> ObjectsSeen<'a> {
        let (attributed, mapped, known) = (Vec::new(), Vec::new(), Vec::new());
        ObjectsSeen { devices, layout, attributed, mapped, known, data: Vec::new() }
    }

    pub(super) fn add_attribute(
        &mut self,
        key: &[u8],
        report: &mut CheckReport,
    ) -> Result<(), CellFault> {
        let (object, _) = keys::read_object(key).ok_or(CellFault::Key)?;
        report.totals.attributes += 1;
        if self.attributed.last() != Some(&object) {
            self.attributed.push(object);
        }
        Ok(())
    }

    pub(super) fn add_object(
        &mut self,
        key: &[u8],
        value: &[u8],
        report: &mut CheckReport,
    ) -> Result<(), CellFault> {
        let (object, _) = keys::read_object(key).ok_or(CellFault::Key)?;
        if key.len() != OBJECT_KEY {
            return Err(CellFault::Key);
        }
        let (length, version) = value.split_first_chunk().ok_or(CellFault::Value)?;
        if version.len() != 8 {
            return Err(CellFault::Value);
        }
        let length = u64::from_le_bytes(*length);
        self.known.push((object, length));
        report.totals.objects += 1;
        report.totals.object_bytes = report.totals.object_bytes.saturating_add(length);
        Ok(())
    }

    /// An extent: its cell, and the data that it speaks of.
    pub(super) fn add_extent(
        &mut self,
        key: &[u8],
        value: &[u8],
        report: &mut CheckReport,
    ) -> Result<OwnedRun, CellFault> {
        let (object, index) = keys::read_extent(key).ok_or(CellFault::Key)?;
        let extent = Extent::decode(index, value).ok_or(CellFault::Value)?;
        let count = extent.sums.len() as u64;
        let pages_end = index.checked_add(count).ok_or(CellFault::Key)?;
        if count > extent::pages_max(self.layout.page) {
            return Err(CellFault::ExtentLength);
        }
        if !self.layout.is_run(extent.first, count) {
            return Err(CellFault::Outside);
        }
        report.totals.extents += 1;
        let data_end = self.check_data(object, &extent, report);
        match self.mapped.last_mut().filter(|last| last.object == object) {
            Some(last) if last.pages_end > index => return Err(CellFault::Overlap),
            Some(last) => {
                (last.pages_end, last.data_end) = (pages_end, data_end.max(last.data_end))
            }
            None => self.mapped.push(Mapped { object, pages_end, data_end }),
        }
        let owner = PageOwner::Object { object, index };
        Ok(OwnedRun { first: extent.first, count, owner, shared: extent.shared })
    }

    /// Compares every page of an extent with its checksum. Answers where in the object its last byte that is not zero ends.
    fn check_data(&mut self, object: ObjectId, extent: &Extent, report: &mut CheckReport) -> u64 {
        let page = self.layout.page.bytes();
        self.data.resize(extent.sums.len() * page, 0);
        let start = offset(&self.layout, extent.first);
        if !self.devices.read_at(StoreDevice::Data, start, &mut self.data) {
            report.find(StoreFinding::Unreadable { target: StoreDevice::Data, offset: start });
            return 0;
        }
        let mut is_last_whole = true;
        for ((bytes, sum), at) in self.data.chunks_exact(page).zip(&extent.sums).zip(0..) {
            is_last_whole = crc32c::crc32c(bytes) == *sum;
            if !is_last_whole {
                let (number, index) = (extent.first.plus(at), extent.index + at);
                let offset = offset(&self.layout, number);
                report.find(StoreFinding::Data { object, index, page: number, offset });
            }
        }
        let last = &self.data[self.data.len() - page..];
        let inside = last.iter().rposition(|byte| *byte != 0).map_or(0, |at| at as u64 + 1);
        match inside {
            0 => 0,
            _ if !is_last_whole => 0,
            inside => (extent.range().end - 1).saturating_mul(page as u64).saturating_add(inside),
        }
    }

    pub(super) fn finish(self, report: &mut CheckReport) {
        let known = self.known;
        let find = |object: ObjectId| {
            known.binary_search_by_key(&object, |known| known.0).map(|at| known[at].1)
        };
        for object in self.attributed {
            if find(object).is_err() {
                report.find(StoreFinding::NoObject { object });
            }
        }
        for Mapped { object, pages_end, data_end } in self.mapped {
            match find(object) {
                Err(_) => report.find(StoreFinding::NoObject { object }),
                Ok(length) if pages_end > self.layout.page.pages_for(length) => {
                    report.find(StoreFinding::ExtentsBehindEnd { object, length, pages_end });
                }
                Ok(length) if data_end > length => {
                    report.find(StoreFinding::BehindEnd { object, length, end: data_end });
                }
                Ok(_) => {}
            }
        }
    }
}
