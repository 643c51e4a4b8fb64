//! The log that a restart would replay: every record means something, and the data beside it is where it says.

use super::finding::{RecordFault, Remark, StoreFinding};
use super::log_reader::{LogEnd, LogReader};
use super::ownership::first_inside;
use super::report::offset;
use super::{CheckReport, ReadAt};
use crate::paged::api::StoreDevice;
use crate::paged::change::{Change, FilledRun, decode_all};
use crate::paged::codec::Reader;
use crate::paged::contents::{Carried, each_run};
use crate::paged::edit::PageEdit;
use crate::paged::ids::{Lsn, PageNo};
use crate::paged::image::{ImageForm, Restorer};
use crate::paged::layout::Layout;
use crate::paged::log::{Record, RecordKind};
use crate::paged::superblock::Superblock;
use std::ops::Range;

/// Reads the log from the last completed checkpoint on. `used` are the pages in use as of that checkpoint, in order, and `carried` says how far it holds
/// the first transaction behind it, if it does in part.
pub(super) fn check(
    devices: &dyn ReadAt,
    superblock: &Superblock,
    (used, carried): (&[Range<u64>], Option<Carried>),
    report: &mut CheckReport,
) {
    let mut reader = LogReader::new(devices, superblock);
    let mut records = RecordsSeen::new(superblock, reader.witnessed(), carried);
    let mut faults = Vec::new();
    let end = reader.read(|record| {
        if let Err(fault) = records.add(record, report) {
            faults.push((record.position, fault));
        }
        true
    });
    let is_damaged = match end {
        LogEnd::Unreadable(offset) => Err(offset),
        LogEnd::NoRecord | LogEnd::Stopped => reader.is_damaged(),
    };
    match is_damaged {
        Ok(false) => {}
        Ok(true) => {
            let position = reader.position();
            report.find(StoreFinding::LogDamaged { position, offset: reader.place(position) });
        }
        Err(offset) => {
            report.find(StoreFinding::Unreadable { target: superblock.layout.log_target, offset });
        }
    }
    report.totals.log_bytes = reader.position().0 - superblock.completed.position.0;
    records.check_placed(devices, used, report, &mut faults);
    for (position, fault) in faults {
        let offset = reader.place(position);
        report.find(StoreFinding::Record { position, offset, fault });
    }
}

/// What the records say, as far as it must be looked at together.
struct RecordsSeen {
    layout: Layout,
    /// The last position of which the log or its witness says that it is durable, with the data beside the log.
    durable: Lsn,
    /// The first transaction, and whether it stands there again; and how far the tree holds it.
    first: Option<(Lsn, bool)>,
    carried: Option<Carried>,
    /// Runs that transactions placed and that the tree does not hold, by the record's position.
    placed: Vec<(Lsn, FilledRun)>,
    restorer: Restorer,
    page: Vec<u8>,
}

impl RecordsSeen {
    fn new(superblock: &Superblock, witnessed: Lsn, carried: Option<Carried>) -> RecordsSeen {
        let layout = superblock.layout;
        RecordsSeen {
            layout,
            durable: superblock.completed.position.max(witnessed),
            first: None,
            carried,
            placed: Vec::new(),
            restorer: Restorer::new(),
            page: vec![0; layout.page.bytes()],
        }
    }

    fn add(&mut self, record: Record<'_>, report: &mut CheckReport) -> Result<(), RecordFault> {
        report.totals.log_records += 1;
        match record.kind {
            RecordKind::Transaction => {
                report.totals.log_transactions += 1;
                self.add_transaction(record)
            }
            RecordKind::Again => self.add_transaction(record),
            RecordKind::Image => self.add_image(record),
            RecordKind::Edits => edits(record.body, |page, _| self.is_known(page)),
            RecordKind::Durable => {
                let through = record.body.try_into().map_err(|_| RecordFault::Body)?;
                self.durable = self.durable.max(Lsn(u64::from_le_bytes(through)));
                Ok(())
            }
            RecordKind::Instant if record.body.len() != 8 => Err(RecordFault::Body),
            RecordKind::Instant | RecordKind::Segment | RecordKind::Pad => Ok(()),
        }
    }

    fn add_transaction(&mut self, record: Record<'_>) -> Result<(), RecordFault> {
        let changes = decode_all(record.body).ok_or(RecordFault::Body)?;
        let runs = |change: &Change<'_>| match change {
            Change::Place { runs, .. } => runs.iter().all(|run| self.is_run(run)),
            _ => true,
        };
        if !changes.iter().all(runs) {
            return Err(RecordFault::Outside);
        }
        let first = *self.first.get_or_insert((record.position, record.kind == RecordKind::Again));
        let placed = &mut self.placed;
        each_run(Some(first), self.carried, &record, |_, run| placed.push((record.position, run)));
        Ok(())
    }

    fn add_image(&mut self, record: Record<'_>) -> Result<(), RecordFault> {
        let mut reader = Reader::new(record.body);
        let number = PageNo(reader.u64().ok_or(RecordFault::Body)?);
        let form = reader.byte().and_then(ImageForm::from_byte).ok_or(RecordFault::Body)?;
        reader.byte().ok_or(RecordFault::Body)?;
        let restored = self.restorer.restore(reader.rest(), form, &mut self.page);
        match restored {
            Ok(()) if self.is_known(number) => Ok(()),
            Ok(()) => Err(RecordFault::Outside),
            Err(_) => Err(RecordFault::Body),
        }
    }

    fn is_run(&self, run: &FilledRun) -> bool {
        self.layout.is_run(run.first, run.sums.len() as u64)
    }

    fn is_known(&self, page: PageNo) -> bool {
        self.layout.is_page(page) || self.layout.is_map(page)
    }

    /// Data beside the log: the pages were free, and those that were made durable hold it. The first record whose data was
    /// not made durable and is not there ends the log for a restart.
    fn check_placed(
        &self,
        devices: &dyn ReadAt,
        used: &[Range<u64>],
        report: &mut CheckReport,
        faults: &mut Vec<(Lsn, RecordFault)>,
    ) {
        let mut end = Lsn(u64::MAX);
        for (position, run) in &self.placed {
            match first_unlike(devices, &self.layout, run) {
                Some(page) if *position < self.durable => {
                    faults.push((*position, RecordFault::Data { page }));
                }
                Some(_) => end = end.min(*position),
                None => {}
            }
        }
        if end < Lsn(u64::MAX) {
            report.remarks.push(Remark::CutAt { position: end });
        }
        let replayed = self.placed.iter().filter(|(position, _)| *position < end);
        let mut runs: Vec<(Range<u64>, Lsn)> = replayed
            .map(|(position, run)| (run.first.0..run.first.0 + run.sums.len() as u64, *position))
            .collect();
        runs.sort_unstable_by_key(|(pages, position)| (pages.start, *position));
        let mut taken = 0;
        for (pages, position) in runs {
            let again = (pages.start < taken).then_some(PageNo(pages.start));
            if let Some(page) = first_inside(used, pages.clone()).or(again) {
                faults.push((position, RecordFault::Used { page }));
            }
            taken = pages.end.max(taken);
        }
    }
}

/// Decodes a record of edits. `fits` is asked about each.
pub(super) fn edits(
    body: &[u8],
    mut fits: impl FnMut(PageNo, PageEdit<'_>) -> bool,
) -> Result<(), RecordFault> {
    let mut reader = Reader::new(body);
    while !reader.is_empty() {
        let number = PageNo(reader.u64().ok_or(RecordFault::Body)?);
        let (edit, rest) = PageEdit::decode(reader.rest()).ok_or(RecordFault::Body)?;
        reader = Reader::new(rest);
        if !fits(number, edit) {
            return Err(RecordFault::Outside);
        }
    }
    Ok(())
}

/// The first page of a run that does not have its checksum or cannot be read.
fn first_unlike(devices: &dyn ReadAt, layout: &Layout, run: &FilledRun) -> Option<PageNo> {
    if run.is_lost() {
        return None;
    }
    let mut bytes = vec![0; layout.page.bytes()];
    (0..).zip(&run.sums).map(|(at, sum)| (run.first.plus(at), sum)).find_map(|(page, sum)| {
        let is_read = devices.read_at(StoreDevice::Data, offset(layout, page), &mut bytes);
        (!is_read || crc32c::crc32c(&bytes) != *sum).then_some(page)
    })
}
