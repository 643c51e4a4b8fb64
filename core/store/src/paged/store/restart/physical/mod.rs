//! Making the pages of a checkpoint whole that had begun and not ended (checkpoint.md 8.2, 8.3).
//!
//! All images of that checkpoint are used or none (16.11): those of the recovery area are read twice, once to see that
//! the set is complete, once to write its pages home. Those of the log are collected in memory, edits applied; that takes
//! as much memory as the checkpoint had pages.

mod steps;

use super::fault::{RestartFault, RestartProgress};
use super::stream::{Stream, StreamProgress};
use crate::paged::api::{IoDone, StoreDevice};
use crate::paged::codec::Reader;
use crate::paged::edit::PageEdit;
use crate::paged::ids::{CheckpointId, Lsn, PageNo};
use crate::paged::image::{ImageForm, Restorer};
use crate::paged::image_set::{HEADER_BLOCK, ImageSetHeader, ImageSetReader};
use crate::paged::layout::Layout;
use crate::paged::log::{LogRing, Record, RecordKind};
use crate::paged::options::Protection;
use crate::paged::page;
use crate::paged::seed::Seed;
use crate::paged::store::requests::RestartRequest;
use crate::paged::superblock::{Begun, Superblock};
use loadline_device::Outcome;
use std::collections::{BTreeMap, VecDeque};

/// Bytes of one read of the recovery area.
const PIECE: u64 = 1 << 20;
/// Pages of one write home.
const RUN_MAX: usize = 64;
/// Requests in flight.
const IN_FLIGHT_MAX: u32 = 8;

/// Where the physical part is.
enum PhysicalStage {
    /// Reading the image set, to see that it is whole (first) or to write it home.
    Images {
        first: bool,
        reader: Option<ImageSetReader>,
        next: u64,
    },
    /// Reading the log.
    Log(Box<Stream>),
    /// Writing what is left.
    Home,
    Flush,
    Marker,
    MarkerFlush,
    Done,
}

/// The physical part of a restart.
pub(super) struct Physical {
    begun: Begun,
    layout: Layout,
    seed: Seed,
    stage: PhysicalStage,
    /// Pieces of the recovery area that have come, by offset.
    arrived: BTreeMap<u64, Vec<u8>>,
    restorer: Restorer,
    /// Pages as of the instant, from the log: their bytes, and whether they are object data.
    pages: BTreeMap<PageNo, (Vec<u8>, bool)>,
    /// Runs to be written home.
    home: VecDeque<(PageNo, Vec<u8>)>,
    in_flight: u32,
    sent: bool,
    done: u64,
    total: u64,
}

impl Physical {
    pub(super) fn new(superblock: &Superblock, begun: Begun) -> Physical {
        let stage = match begun.protection {
            Protection::Checkpoint => PhysicalStage::Images { first: true, reader: None, next: 0 },
            Protection::Log => {
                let ring = LogRing::new(superblock);
                let from = superblock.completed;
                PhysicalStage::Log(Box::new(Stream::new(ring, 0, from.position, from.chain)))
            }
        };
        let total = match begun.protection {
            Protection::Checkpoint => 2 * begun.images.bytes,
            Protection::Log => begun.state.position.0 - superblock.completed.position.0,
        };
        Physical {
            begun,
            layout: superblock.layout,
            seed: superblock.seed(),
            stage,
            arrived: BTreeMap::new(),
            restorer: Restorer::new(),
            pages: BTreeMap::new(),
            home: VecDeque::new(),
            in_flight: 0,
            sent: false,
            done: 0,
            total,
        }
    }

    pub(super) fn progress(&self) -> RestartProgress {
        let phase = match self.stage {
            PhysicalStage::Images { first: true, .. } => "checking images",
            PhysicalStage::Images { .. } => "restoring pages from images",
            PhysicalStage::Log(_) => "restoring pages from the log",
            _ => "writing restored pages",
        };
        RestartProgress { phase, done: self.done.min(self.total), total: self.total }
    }

    pub(super) fn answered(
        &mut self,
        request: RestartRequest,
        done: IoDone,
    ) -> Result<(), RestartFault> {
        let good = done.outcome == Outcome::Done;
        match (request, &mut self.stage) {
            (RestartRequest::Stream(number, position), PhysicalStage::Log(stream)) => {
                self.done += done.data.len() as u64;
                stream.answered(number, position, done);
            }
            (RestartRequest::Stream(..), _) => {}
            (RestartRequest::Area(offset), _) => {
                self.in_flight -= 1;
                self.done += done.data.len() as u64;
                self.arrived.insert(offset, done.data);
                if !good {
                    let at = self.layout.recovery_offset + offset;
                    return Err(RestartFault::Unreadable(StoreDevice::Data, at));
                }
            }
            _ => {
                self.in_flight -= 1;
                if !good {
                    return Err(RestartFault::Unwritable);
                }
            }
        }
        Ok(())
    }

    /// Takes pieces of the image set that have come: checks them, or unpacks them into runs.
    fn read_images(&mut self) -> Result<bool, RestartFault> {
        let PhysicalStage::Images { first, reader, next: _ } = &mut self.stage else {
            unreachable!("the images are read");
        };
        let first = *first;
        if reader.is_none() {
            let Some(block) = self.arrived.remove(&0) else { return Ok(false) };
            let header = ImageSetHeader::decode(&block, self.seed).map_err(RestartFault::Images)?;
            let Begun { state, images, .. } = self.begun;
            let expected =
                header.expect(state.image_seed(self.seed), state.id, self.layout.page, images);
            expected.map_err(RestartFault::Images)?;
            *reader = Some(ImageSetReader::new(header));
        }
        let reader = reader.as_mut().expect("it was just made");
        let mut bytes = vec![0; self.layout.page.bytes()];
        loop {
            while let Some(image) = reader.image().map_err(RestartFault::Images)? {
                let number = image.page;
                if !(self.layout.is_page(number) || self.layout.is_map(number)) {
                    return Err(RestartFault::Image(number));
                }
                let restored = self.restorer.restore(image.data, image.form, &mut bytes);
                restored.map_err(|_| RestartFault::Image(number))?;
                if !first {
                    let raw = image.content == crate::paged::image::Content::Data;
                    push_home(
                        &mut self.home,
                        number,
                        &bytes,
                        raw,
                        (self.seed, self.begun.state.id),
                    );
                }
            }
            let Some((offset, _)) = self.arrived.first_key_value() else { break };
            let expected = HEADER_BLOCK as u64 + reader.fed();
            if *offset != expected {
                break;
            }
            let piece = self.arrived.pop_first().expect("it was there").1;
            reader.feed(&piece);
        }
        let whole = reader.is_fed() && reader.end().is_ok();
        if reader.is_fed() && !whole {
            reader.end().map_err(RestartFault::Images)?;
        }
        Ok(whole)
    }

    /// One record of the log between the two instants.
    fn take_record(&mut self, record: Record<'_>) -> Result<(), RestartFault> {
        let damaged = RestartFault::Record(record.position);
        let mut reader = Reader::new(record.body);
        match record.kind {
            RecordKind::Image => {
                let number = PageNo(reader.u64().ok_or(damaged)?);
                let form = ImageForm::from_byte(reader.byte().ok_or(damaged)?).ok_or(damaged)?;
                let raw = reader.byte().ok_or(damaged)? == 1;
                let mut bytes = vec![0; self.layout.page.bytes()];
                let restored = self.restorer.restore(reader.rest(), form, &mut bytes);
                restored.map_err(|_| RestartFault::Image(number))?;
                if !(self.layout.is_page(number) || self.layout.is_map(number)) {
                    return Err(RestartFault::Image(number));
                }
                self.pages.insert(number, (bytes, raw));
            }
            RecordKind::Edits => {
                while !reader.is_empty() {
                    let number = PageNo(reader.u64().ok_or(damaged)?);
                    let (edit, rest) = PageEdit::decode(reader.rest()).ok_or(damaged)?;
                    reader = Reader::new(rest);
                    let (bytes, raw) = self.pages.get_mut(&number).ok_or(damaged)?;
                    if !edit.fits(bytes) {
                        return Err(damaged);
                    }
                    edit.apply(number, bytes);
                    *raw = match edit {
                        PageEdit::InitRaw => true,
                        PageEdit::Init { .. } => false,
                        _ => *raw,
                    };
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads the log up to the instant. True when it is there.
    fn read_log(&mut self) -> Result<bool, RestartFault> {
        let PhysicalStage::Log(stream) = &mut self.stage else { unreachable!("the log is read") };
        let (end, chain) = (self.begun.state.position, self.begun.state.chain);
        let mut stream =
            std::mem::replace(stream, Box::new(Stream::new(*stream.ring(), u32::MAX, Lsn(0), 0)));
        let mut result = Ok(());
        // The scan passes over padding by itself, so it may come to stand behind the instant.
        let mut reached = stream.scan().position() == end && stream.scan().chain() == chain;
        let progress = stream.pump(|_, record| {
            let inside = record.end <= end && result.is_ok();
            if inside {
                result = self.take_record(record);
                reached |= record.end == end && record.chain == chain;
            }
            inside
        });
        let position = stream.scan().position();
        let unreadable = stream.unreadable();
        if let PhysicalStage::Log(place) = &mut self.stage {
            *place = stream;
        }
        result?;
        match progress {
            _ if reached => Ok(true),
            Some(StreamProgress::Wait) => match unreadable {
                Some(at) => Err(RestartFault::Unreadable(StoreDevice::Log, at)),
                None => Ok(false),
            },
            Some(StreamProgress::End) | None => Err(RestartFault::LogEnds(position)),
        }
    }

    /// Turns the collected pages into runs.
    fn collect(&mut self) {
        for (number, (bytes, raw)) in std::mem::take(&mut self.pages) {
            push_home(&mut self.home, number, &bytes, raw, (self.seed, self.begun.state.id));
        }
    }
}

/// Adds a page to the runs to be written: to the last one if it is its neighbour.
fn push_home(
    home: &mut VecDeque<(PageNo, Vec<u8>)>,
    number: PageNo,
    bytes: &[u8],
    raw: bool,
    (seed, id): (Seed, CheckpointId),
) {
    let joins = home.back().is_some_and(|(first, run)| {
        let pages = run.len() / bytes.len();
        first.plus(pages as u64) == number && pages < RUN_MAX
    });
    if !joins {
        home.push_back((number, Vec::new()));
    }
    let run = &mut home.back_mut().expect("there is a run").1;
    let at = run.len();
    run.extend_from_slice(bytes);
    if !raw {
        page::seal(&mut run[at..], seed, id);
    }
}
