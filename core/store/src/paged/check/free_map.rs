//! The free map against what is really in use.

use super::finding::StoreFinding;
use super::report::offset;
use super::{CheckReport, ReadAt};
use crate::paged::api::StoreDevice;
use crate::paged::edit::PageEdit;
use crate::paged::ids::{Child, PageNo};
use crate::paged::layout::bits_per_map_page;
use crate::paged::page::{self, HEADER, PageKind, PageStamp};
use crate::paged::superblock::Superblock;
use std::ops::Range;

/// Reads the free map and compares it with the pages in use, which are in order. Without the whole tree only the map's own
/// pages are checked.
pub(super) fn check(
    devices: &dyn ReadAt,
    superblock: &Superblock,
    used: &[Range<u64>],
    is_whole: bool,
    report: &mut CheckReport,
) {
    let layout = &superblock.layout;
    let per_page = bits_per_map_page(layout.page);
    let mut bytes = vec![0; layout.page.bytes()];
    let mut wanted = vec![0; layout.page.bytes()];
    let mut differences = Differences::default();
    let mut stamps = Vec::new();
    for at in 0..layout.map_pages {
        let number = layout.map_first.plus(at);
        let found = load(devices, superblock, number, &mut bytes, report);
        if let Err(finding) = found {
            report.find(finding);
            continue;
        }
        stamps.push(page::stamp(&bytes));
        let first = layout.pages_first.0 + at * per_page;
        let pages = first..(first + per_page).min(layout.pages().end.0);
        let map = &bytes[HEADER..];
        if !tail_is_used(map, pages.end - first) {
            let offset = offset(layout, number);
            report.find(StoreFinding::FreeBehindEnd { page: number, offset });
        }
        let all_bits = map.iter().map(|byte| u64::from(byte.count_zeros())).sum::<u64>();
        report.totals.free_pages += all_bits;
        if is_whole {
            fill(&mut wanted, number, used, &pages);
            differences.compare(map, &wanted[HEADER..], &pages, report);
        }
    }
    differences.end(report);
    // Which page it is the digest cannot say, and of a map that is not all there it says nothing.
    let is_read = stamps.len() as u64 == layout.map_pages;
    let digest = PageStamp::digest(stamps);
    if is_read && superblock.completed.map.is_some_and(|wanted| wanted != digest) {
        let offset = offset(layout, layout.map_first);
        report.find(StoreFinding::FreeMap { offset, pages: layout.map_pages });
    }
}

fn load(
    devices: &dyn ReadAt,
    superblock: &Superblock,
    number: PageNo,
    bytes: &mut [u8],
    report: &mut CheckReport,
) -> Result<(), StoreFinding> {
    let offset = offset(&superblock.layout, number);
    if !devices.read_at(StoreDevice::Data, offset, bytes) {
        return Err(StoreFinding::Unreadable { target: StoreDevice::Data, offset });
    }
    let wanted = Child::of_any_version(number);
    let kind = page::verify(bytes, superblock.seed(), wanted);
    let kind = kind.map_err(|fault| StoreFinding::Page { page: number, offset, fault })?;
    if kind != PageKind::FreeMap {
        return Err(StoreFinding::Kind { page: number, offset });
    }
    let wrote = page::writer(bytes);
    if wrote > superblock.completed.id {
        report.find(StoreFinding::Future { page: number, offset, wrote });
    }
    Ok(())
}

/// Whether every bit from `first` on is set.
fn tail_is_used(map: &[u8], first: u64) -> bool {
    let at = (first / 8) as usize;
    let Some(byte) = map.get(at) else { return true };
    let behind = 0xff << (first % 8);
    byte & behind == behind && map[at + 1..].iter().all(|byte| *byte == 0xff)
}

/// The page of the map as it should be, if it speaks of these pages.
fn fill(wanted: &mut [u8], number: PageNo, used: &[Range<u64>], pages: &Range<u64>) {
    page::init(wanted, PageKind::FreeMap, number);
    let from = used.partition_point(|span| span.end <= pages.start);
    for span in used[from..].iter().take_while(|span| span.start < pages.end) {
        let (start, end) = (span.start.max(pages.start), span.end.min(pages.end));
        let (first, count) = ((start - pages.start) as u32, (end - start) as u32);
        PageEdit::Bits { first, count, used: true }.apply(number, wanted);
    }
}

/// Neighbouring pages that differ in the same way, over the borders of map pages.
#[derive(Default)]
struct Differences {
    pages: Range<u64>,
    is_leak: bool,
}

impl Differences {
    fn compare(&mut self, map: &[u8], wanted: &[u8], pages: &Range<u64>, report: &mut CheckReport) {
        for ((found, wanted), first) in map.iter().zip(wanted).zip((pages.start..).step_by(8)) {
            if found == wanted {
                continue;
            }
            for bit in 0..8 {
                let (number, differs) = (first + bit, (found ^ wanted) >> bit & 1 == 1);
                if differs && number < pages.end {
                    self.add(number, found >> bit & 1 == 1, report);
                }
            }
        }
    }

    fn add(&mut self, number: u64, is_leak: bool, report: &mut CheckReport) {
        if self.pages.end != number || self.is_leak != is_leak {
            self.end(report);
            (self.pages, self.is_leak) = (number..number, is_leak);
        }
        self.pages.end += 1;
    }

    /// The present difference goes no further.
    fn end(&mut self, report: &mut CheckReport) {
        let (first, count) = (PageNo(self.pages.start), self.pages.end - self.pages.start);
        match self.is_leak {
            _ if count == 0 => {}
            true => report.find(StoreFinding::Leaked { first, count }),
            false => report.find(StoreFinding::UsedButFree { first, count }),
        }
        self.pages = 0..0;
    }
}
