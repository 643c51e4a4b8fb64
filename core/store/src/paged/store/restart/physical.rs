//! Making the pages of a checkpoint whole that had begun and not ended (checkpoint.md 8.2, 8.3).
//!
//! All images of that checkpoint are used or none (16.11): those of the recovery area are read twice, once to see that
//! the set is complete, once to write its pages home. Those of the log are collected in memory, edits applied; that takes
//! as much memory as the checkpoint had pages.

use super::stream::{Progress, Stream};
use super::{Phase, Request, RestartFault, RestartProgress};
use crate::paged::api::{IoDone, Target};
use crate::paged::codec::Reader;
use crate::paged::edit::PageEdit;
use crate::paged::ids::{CheckpointId, Lsn, PageNo};
use crate::paged::image::{Form, Restorer};
use crate::paged::image_set::{HEADER_BLOCK, ImageSetHeader, ImageSetReader};
use crate::paged::layout::{Layout, SUPERBLOCK};
use crate::paged::log::{Kind as RecordKind, Record, Ring};
use crate::paged::options::Protection;
use crate::paged::page;
use crate::paged::store::checkpoint::marker_offsets;
use crate::paged::store::{PagedStore, Purpose};
use crate::paged::superblock::{Begun, Superblock};
use loadline_device::{Kind, Outcome};
use std::collections::{BTreeMap, VecDeque};

/// Bytes of one read of the recovery area.
const PIECE: u64 = 1 << 20;
/// Pages of one write home.
const RUN_MAX: usize = 64;
/// Requests in flight.
const IN_FLIGHT_MAX: u32 = 8;

/// Where the physical part is.
enum Stage {
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
    stage: Stage,
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
            Protection::Checkpoint => Stage::Images { first: true, reader: None, next: 0 },
            Protection::Log => {
                let ring = Ring::new(&superblock.layout, superblock.store_id);
                let from = superblock.completed;
                Stage::Log(Box::new(Stream::new(ring, 0, from.position, from.chain)))
            }
        };
        let total = match begun.protection {
            Protection::Checkpoint => 2 * begun.images.bytes,
            Protection::Log => begun.state.position.0 - superblock.completed.position.0,
        };
        Physical {
            begun,
            layout: superblock.layout,
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
            Stage::Images { first: true, .. } => "checking images",
            Stage::Images { .. } => "restoring pages from images",
            Stage::Log(_) => "restoring pages from the log",
            _ => "writing restored pages",
        };
        RestartProgress { phase, done: self.done.min(self.total), total: self.total }
    }

    pub(super) fn answered(&mut self, request: Request, done: IoDone) -> Result<(), RestartFault> {
        let good = done.outcome == Outcome::Done;
        match (request, &mut self.stage) {
            (Request::Stream(number, position), Stage::Log(stream)) => {
                self.done += done.data.len() as u64;
                let target = self.layout.log_target;
                if !stream.answered(number, position, done) {
                    return Err(RestartFault::Unreadable(target));
                }
            }
            (Request::Stream(..), _) => {}
            (Request::Area(offset), _) => {
                self.in_flight -= 1;
                self.done += done.data.len() as u64;
                self.arrived.insert(offset, done.data);
                if !good {
                    return Err(RestartFault::Unreadable(Target::Data));
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
        let Stage::Images { first, reader, next: _ } = &mut self.stage else {
            unreachable!("the images are read");
        };
        let first = *first;
        if reader.is_none() {
            let Some(block) = self.arrived.remove(&0) else { return Ok(false) };
            let header = ImageSetHeader::decode(&block).map_err(RestartFault::Images)?;
            let Begun { state, images, .. } = self.begun;
            header.expect(state.id, self.layout.page, images).map_err(RestartFault::Images)?;
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
                    push_home(&mut self.home, number, &bytes, raw, self.begun.state.id);
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
                let form = Form::from_byte(reader.byte().ok_or(damaged)?).ok_or(damaged)?;
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
        let Stage::Log(stream) = &mut self.stage else { unreachable!("the log is read") };
        let end = self.begun.state.position;
        let mut stream =
            std::mem::replace(stream, Box::new(Stream::new(*stream.ring(), u32::MAX, Lsn(0), 0)));
        let mut result = Ok(());
        let progress = stream.pump(|before, record| {
            let inside = before.position() < end && record.end <= end && result.is_ok();
            if inside {
                result = self.take_record(record);
            }
            inside
        });
        let reached =
            stream.scan().position() >= end && stream.scan().chain() == self.begun.state.chain;
        let position = stream.scan().position();
        if let Stage::Log(place) = &mut self.stage {
            *place = stream;
        }
        result?;
        match progress {
            _ if reached => Ok(true),
            Some(Progress::Wait) => Ok(false),
            Some(Progress::End) | None => Err(RestartFault::LogEnds(position)),
        }
    }

    /// Turns the collected pages into runs.
    fn collect(&mut self) {
        for (number, (bytes, raw)) in std::mem::take(&mut self.pages) {
            push_home(&mut self.home, number, &bytes, raw, self.begun.state.id);
        }
    }
}

/// Adds a page to the runs to be written: to the last one if it is its neighbour.
fn push_home(
    home: &mut VecDeque<(PageNo, Vec<u8>)>,
    number: PageNo,
    bytes: &[u8],
    raw: bool,
    id: CheckpointId,
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
        page::seal(&mut run[at..], id);
    }
}

impl<T: Copy> PagedStore<T> {
    fn physical(&mut self) -> &mut Physical {
        match &mut self.restarting().phase {
            Phase::Physical(physical) => physical,
            _ => unreachable!("the physical part runs"),
        }
    }

    /// Goes on with the physical part. Answers whether the next phase has begun.
    pub(super) fn advance_physical(&mut self) -> bool {
        loop {
            let went_on = match self.physical().stage {
                Stage::Images { .. } => self.advance_images(),
                Stage::Log(_) => self.advance_physical_log(),
                Stage::Home => self.write_home(true),
                Stage::Flush | Stage::MarkerFlush => self.flush_physical(),
                Stage::Marker => self.write_end_marker(),
                Stage::Done => {
                    self.restarting().phase = Phase::Map { next: 0, loaded: 0 };
                    return true;
                }
            };
            if !went_on || self.fault.is_some() {
                return false;
            }
        }
    }

    fn physical_failed(&mut self, fault: RestartFault) -> bool {
        self.give_up(fault);
        false
    }

    fn advance_images(&mut self) -> bool {
        self.read_area();
        let whole = match self.physical().read_images() {
            Ok(whole) => whole,
            Err(fault) => return self.physical_failed(fault),
        };
        self.write_home(false);
        let physical = self.physical();
        if !whole {
            // Reading goes on as writes are answered.
            return false;
        }
        let Stage::Images { first, .. } = physical.stage else {
            unreachable!("the images are read")
        };
        physical.stage = match first {
            true => Stage::Images { first: false, reader: None, next: 0 },
            false => Stage::Home,
        };
        physical.arrived.clear();
        true
    }

    /// Asks for the next pieces of the recovery area.
    fn read_area(&mut self) {
        let class = self.options.classes.restart;
        loop {
            let physical = self.physical();
            let end = HEADER_BLOCK as u64
                + physical.begun.images.bytes.next_multiple_of(HEADER_BLOCK as u64);
            let end = end.min(physical.layout.recovery_bytes);
            let waiting =
                physical.in_flight as usize + physical.arrived.len() + physical.home.len();
            let Stage::Images { next, .. } = &mut physical.stage else { return };
            if *next >= end || waiting >= IN_FLIGHT_MAX as usize {
                return;
            }
            let offset = *next;
            let length = if offset == 0 { HEADER_BLOCK as u64 } else { PIECE.min(end - offset) };
            *next += length;
            physical.in_flight += 1;
            let place = (physical.layout.recovery_offset + offset, length);
            let purpose = Purpose::Restart(Request::Area(offset));
            self.request(purpose, Target::Data, Kind::Read, place, class, Vec::new());
        }
    }

    fn advance_physical_log(&mut self) -> bool {
        let class = self.options.classes.restart;
        let target = self.superblock.layout.log_target;
        loop {
            let Stage::Log(stream) = &mut self.physical().stage else { return false };
            let Some((request, offset, length)) = stream.next_read() else { break };
            self.request(
                Purpose::Restart(request),
                target,
                Kind::Read,
                (offset, length),
                class,
                Vec::new(),
            );
        }
        match self.physical().read_log() {
            Ok(true) => {
                let physical = self.physical();
                physical.collect();
                physical.stage = Stage::Home;
                true
            }
            Ok(false) => {
                let Stage::Log(stream) = &mut self.physical().stage else { return false };
                stream.wants_reads()
            }
            Err(fault) => self.physical_failed(fault),
        }
    }

    /// Writes runs home while few requests are in flight. With `all`, goes on when the last is done.
    fn write_home(&mut self, all: bool) -> bool {
        let class = self.options.classes.restart;
        let page = self.superblock.layout.page;
        loop {
            let physical = self.physical();
            if physical.in_flight >= IN_FLIGHT_MAX || (!all && physical.home.len() < 2) {
                return false;
            }
            let Some((first, data)) = physical.home.pop_front() else { break };
            physical.in_flight += 1;
            self.write(
                Purpose::Restart(Request::Home),
                Target::Data,
                page.offset(first),
                class,
                data,
            );
        }
        let physical = self.physical();
        if physical.in_flight > 0 {
            return false;
        }
        physical.stage = Stage::Flush;
        true
    }

    fn flush_physical(&mut self) -> bool {
        let class = self.options.classes.restart;
        let physical = self.physical();
        if physical.in_flight > 0 {
            return false;
        }
        if !std::mem::replace(&mut physical.sent, true) {
            physical.in_flight = 1;
            self.flush(Purpose::Restart(Request::Flush), Target::Data, class);
            return false;
        }
        physical.sent = false;
        physical.stage = match physical.stage {
            Stage::Flush => Stage::Marker,
            _ => Stage::Done,
        };
        true
    }

    /// The pages are durable: the checkpoint is completed after all.
    fn write_end_marker(&mut self) -> bool {
        let class = self.options.classes.restart;
        let state = self.physical().begun.state;
        let mut marker = self.superblock;
        marker.sequence += 1;
        (marker.completed, marker.begun) = (state, None);
        self.superblock = marker;
        self.space.tree = crate::paged::tree::Tree { root: state.root, height: state.height };
        for offset in marker_offsets(&marker) {
            let bytes = marker.encode();
            assert_eq!(bytes.len() as u64, SUPERBLOCK, "a superblock has its size");
            self.write(Purpose::Restart(Request::Marker), Target::Data, offset, class, bytes);
        }
        let physical = self.physical();
        physical.in_flight = 2;
        physical.stage = Stage::MarkerFlush;
        true
    }
}
