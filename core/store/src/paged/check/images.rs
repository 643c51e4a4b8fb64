//! The images of a begun checkpoint: all there, each of a sound page of the store. They are what a restart makes the pages
//! whole from, wherever that checkpoint put them.

use super::finding::{ImageFinding, StoreFinding};
use super::log::edits;
use super::log_reader::{LogEnd, LogReader};
use super::{CheckReport, ReadAt};
use crate::paged::api::StoreDevice;
use crate::paged::codec::Reader;
use crate::paged::edit::PageEdit;
use crate::paged::ids::PageNo;
use crate::paged::image::{Content, ImageForm, Restorer};
use crate::paged::image_set::{HEADER_BLOCK, ImageSetFault, ImageSetHeader, ImageSetReader};
use crate::paged::layout::Layout;
use crate::paged::log::{Record, RecordKind};
use crate::paged::node;
use crate::paged::options::Protection;
use crate::paged::page::{self, PageKind};
use crate::paged::superblock::{Begun, Superblock};
use std::collections::BTreeMap;

/// Bytes of a read.
const PIECE: usize = 1 << 20;

/// Checks the images from where the begun checkpoint put them.
pub(super) fn check(
    devices: &dyn ReadAt,
    superblock: &Superblock,
    begun: &Begun,
    report: &mut CheckReport,
) {
    let (offset, found) = match begun.protection {
        Protection::Checkpoint => {
            let found = in_recovery_area(devices, superblock, begun, report);
            (superblock.layout.recovery_offset, found)
        }
        Protection::Log => {
            let found = in_log(devices, superblock, begun, report);
            (superblock.layout.log_offset, found)
        }
    };
    if let Err(fault) = found {
        report.find(StoreFinding::Images { offset, fault });
    }
}

fn in_recovery_area(
    devices: &dyn ReadAt,
    superblock: &Superblock,
    begun: &Begun,
    report: &mut CheckReport,
) -> Result<(), ImageFinding> {
    let (layout, seed) = (&superblock.layout, superblock.seed());
    let mut block = vec![0; HEADER_BLOCK];
    if !devices.read_at(StoreDevice::Data, layout.recovery_offset, &mut block) {
        return Err(ImageFinding::Set(ImageSetFault::Missing));
    }
    let header = ImageSetHeader::decode(&block, seed).map_err(ImageFinding::Set)?;
    let state = begun.state;
    let expected = header.expect(state.image_seed(seed), state.id, layout.page, begun.images);
    expected.map_err(ImageFinding::Set)?;
    let end = header.sum.bytes.checked_add(HEADER_BLOCK as u64);
    if end.is_none_or(|end| end > layout.recovery_bytes) {
        return Err(ImageFinding::Set(ImageSetFault::Short));
    }
    let mut reader = ImageSetReader::new(header);
    let mut restorer = Restorer::new();
    let mut bytes = vec![0; layout.page.bytes()];
    while !reader.is_fed() {
        let mut piece = vec![0; (header.sum.bytes - reader.fed()).min(PIECE as u64) as usize];
        let offset = layout.recovery_offset + HEADER_BLOCK as u64 + reader.fed();
        if !devices.read_at(StoreDevice::Data, offset, &mut piece) {
            return Err(ImageFinding::Set(ImageSetFault::Short));
        }
        reader.feed(&piece);
        while let Some(image) = reader.image().map_err(ImageFinding::Set)? {
            let restored = restorer.restore(image.data, image.form, &mut bytes);
            restored.map_err(|_| ImageFinding::Unpack(image.page))?;
            check_page(layout, image.page, image.content, &bytes)?;
            report.totals.images += 1;
        }
    }
    reader.end().map_err(ImageFinding::Set)
}

fn in_log(
    devices: &dyn ReadAt,
    superblock: &Superblock,
    begun: &Begun,
    report: &mut CheckReport,
) -> Result<(), ImageFinding> {
    let end = begun.state.position;
    let mut reached = (superblock.completed.position, superblock.completed.chain);
    let mut restored = RestoredPages::new(superblock.layout);
    let mut result = Ok(());
    let mut reader = LogReader::new(devices, superblock);
    let why = reader.read(|record| {
        if record.end > end || result.is_err() {
            return false;
        }
        reached = (record.end, record.chain);
        result = restored.add(record);
        true
    });
    if let LogEnd::Unreadable(offset) = why {
        report.find(StoreFinding::Unreadable { target: superblock.layout.log_target, offset });
    }
    result?;
    if reached != (end, begun.state.chain) {
        return Err(ImageFinding::LogEnds(reached.0));
    }
    report.totals.images = restored.pages.len() as u64;
    for (number, (bytes, content)) in &restored.pages {
        check_page(&superblock.layout, *number, *content, bytes)?;
    }
    Ok(())
}

/// Pages as the log's images and edits make them.
struct RestoredPages {
    layout: Layout,
    restorer: Restorer,
    pages: BTreeMap<PageNo, (Vec<u8>, Content)>,
}

impl RestoredPages {
    fn new(layout: Layout) -> RestoredPages {
        RestoredPages { layout, restorer: Restorer::new(), pages: BTreeMap::new() }
    }

    fn add(&mut self, record: Record<'_>) -> Result<(), ImageFinding> {
        match record.kind {
            RecordKind::Image => self.add_image(record.body),
            RecordKind::Edits => self.add_edits(record.body),
            _ => Ok(()),
        }
    }

    fn add_image(&mut self, body: &[u8]) -> Result<(), ImageFinding> {
        let mut reader = Reader::new(body);
        let number = PageNo(reader.u64().unwrap_or(u64::MAX));
        let (form, raw) = (reader.byte().and_then(ImageForm::from_byte), reader.byte());
        let (Some(form), Some(raw)) = (form, raw) else {
            return Err(ImageFinding::Unpack(number));
        };
        let mut bytes = vec![0; self.layout.page.bytes()];
        let restored = self.restorer.restore(reader.rest(), form, &mut bytes);
        restored.map_err(|_| ImageFinding::Unpack(number))?;
        let content = Content::of(raw == 1);
        check_page(&self.layout, number, content, &bytes)?;
        self.pages.insert(number, (bytes, content));
        Ok(())
    }

    fn add_edits(&mut self, body: &[u8]) -> Result<(), ImageFinding> {
        let mut last = PageNo(0);
        let done = edits(body, |number, edit| {
            last = number;
            let Some((bytes, content)) = self.pages.get_mut(&number) else { return false };
            if !edit.fits(bytes) {
                return false;
            }
            edit.apply(number, bytes);
            match edit {
                PageEdit::InitRaw => *content = Content::Data,
                PageEdit::Init { .. } => *content = Content::Headed,
                _ => {}
            }
            true
        });
        done.map_err(|_| ImageFinding::Edit(last))
    }
}

/// Whether an unpacked image is a sound page of the store. Its checksum is not yet made: the restart does that.
fn check_page(
    layout: &Layout,
    number: PageNo,
    content: Content,
    bytes: &[u8],
) -> Result<(), ImageFinding> {
    if !(layout.is_page(number) || layout.is_map(number)) {
        return Err(ImageFinding::Outside(number));
    }
    let is_sound = match (content, page::kind(bytes)) {
        (Content::Data, _) => layout.is_page(number),
        (Content::Headed, Some(PageKind::FreeMap)) => layout.is_map(number),
        (Content::Headed, _) => node::check(bytes).is_ok(),
    };
    let is_its_own = content == Content::Data || bytes[8..16] == number.0.to_le_bytes();
    if is_sound && is_its_own { Ok(()) } else { Err(ImageFinding::Page(number)) }
}
