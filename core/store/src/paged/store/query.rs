//! Ops that change nothing.
//!
//! A query looks at resident pages. When one is missing it is read and kept, and the query begins again, so that it sees one state
//! of the store however long it has waited. One that needs more pages than may be kept for it goes in *parts*: it keeps what it
//! has found instead of the pages, goes on behind that, and until it has found everything updates wait, so that it still sees
//! one state. Object data is read afterwards, and checked by the checksums of the state that was seen; where a page was
//! written meanwhile all of it is read again, in the end while updates wait.

use super::PagedStore;
use super::op::{AwaitedBytes, Digested, OpWork, Reading, RunningOp};
use super::requests::RequestPurpose;
use crate::paged::api::{
    Answer, Ask, Damage, Edit, IoDone, ObjectId, Op, OpError, Ranges, StoreDevice, push_range,
};
use crate::paged::contents::{self, DataPage, Miss, QueryFindings};
use crate::paged::exceeded::{Bound, Exceeded};
use crate::paged::options::LogMode;
use crate::paged::tree::{TOGETHER, TreePages, ValuePlace};
use crate::paged::wait::Wait;
use loadline_base::SlotId;
use std::ops::Range;

/// Reads that miss at most so many pages bring them into the cache; longer ones pass beside it.
const CACHED_PAGES_MAX: usize = 16;
/// Pages of one request at most.
const RUN_MAX: usize = 256;
/// A digest reads pieces of this size, one after the other: what others ask the device for waits behind one of them at most.
pub const DIGEST_PIECE: u64 = 512 << 10;
/// A read that has met written pages so often is planned and read again while updates wait.
const REPLANS_MAX: u32 = 2;

impl<T: Copy> PagedStore<T> {
    /// The answer to a point read that nothing keeps waiting: it changes nothing, so no upkeep follows it.
    pub(super) fn answer_at_once(&mut self, op: &Op<T>) -> Option<Answer> {
        let Ask::Get(key) = &op.ask else { return None };
        if !self.is_open() || self.ops.in_part().is_some() || self.ops.is_busy(op.lane) {
            return None;
        }
        self.space.pages.next_op();
        contents::value(&self.space, key, &mut QueryFindings::default()).ok().map(Answer::Value)
    }

    /// Looks for the keys of the first ops of a list together. Answers the values of those that nothing keeps waiting: reads before which nothing else stands.
    pub(super) fn values_together(
        &mut self,
        group: &[(Op<T>, LogMode)],
    ) -> [Option<Option<Vec<u8>>>; TOGETHER] {
        let mut values = [const { None }; TOGETHER];
        let is_read = |(op, _): &&(Op<T>, LogMode)| {
            matches!(op.ask, Ask::Get(_)) && !self.ops.is_busy(op.lane)
        };
        let reads = group.iter().take_while(is_read).count();
        if reads > 0 && self.is_open() && self.ops.in_part().is_none() {
            self.space.pages.next_op();
            let keys = group[..reads].iter().map(|(op, _)| key_of(op));
            contents::get_together(&self.space, keys, |at, value| {
                values[at] = Some(value.map(<[u8]>::to_vec));
            });
        }
        values
    }

    /// Looks for the keys of ops together, of which not all are reads. Answers where updates may find theirs.
    pub(super) fn places_together(
        &mut self,
        group: &[(Op<T>, LogMode)],
    ) -> [Option<ValuePlace>; TOGETHER] {
        self.space.pages.next_op();
        contents::places_together(&self.space, group.iter().map(|(op, _)| key_of(op)))
    }

    pub(super) fn query(&mut self, mut running: RunningOp<T>) {
        let looks_at_pages = !matches!(Self::ask_of(&running), Ask::Sync | Ask::Checkpoint);
        if looks_at_pages && self.ops.in_part().is_some() {
            return self.park(running, Wait::Turn, false);
        }
        self.space.pages.next_op();
        let space = &self.space;
        let mut found = running.take_found();
        let answer = match Self::ask_of(&running) {
            Ask::Get(key) => contents::value(space, key, &mut found).map(Answer::Value),
            Ask::Scan { from, most } => {
                contents::scan(space, from, *most, &mut found).map(Answer::Pairs)
            }
            Ask::ScanBack { until, most } => {
                contents::scan_back(space, until, *most, &mut found).map(Answer::Pairs)
            }
            Ask::Stat(id) => contents::meta(space, *id).map(Answer::Meta).map_err(Miss::from),
            Ask::Attribute(id, name) => {
                let key = crate::paged::keys::attribute(*id, name);
                let value = space.tree.get(&space.pages, &key).map_err(Miss::from);
                value.map(|value| Answer::Value(value.map(<[u8]>::to_vec)))
            }
            Ask::Attributes(id) => {
                contents::attributes(space, *id, &mut found).map(Answer::Pairs).map_err(Miss::from)
            }
            Ask::List { collection, from, most } => {
                contents::list(space, *collection, *from, *most, &mut found).map(Answer::Objects)
            }
            Ask::Read { .. } | Ask::Sparse { .. } | Ask::Digest(_) => {
                return self.read(running, found);
            }
            Ask::Reread(pages) => {
                let pages = pages.clone();
                return self.begin_reread(running, &pages);
            }
            Ask::Sync if self.options.log_mode != LogMode::None => {
                return self.log.sync(running, &mut self.ops);
            }
            // Without a log only a checkpoint makes anything durable.
            Ask::Sync | Ask::Checkpoint => return self.await_checkpoint(running),
            Ask::Transaction(_) => unreachable!("updates go another way"),
        };
        match answer {
            Ok(answer) => self.finish(running, Ok(answer)),
            Err(miss) => self.look_on(running, found, miss),
        }
    }

    /// A query goes on when a page is there that it misses: from its beginning, or behind what it has found if it goes in parts.
    pub(super) fn look_on(&mut self, mut running: RunningOp<T>, found: QueryFindings, miss: Miss) {
        let most = self.memory.room().pins_max() as usize;
        if running.journey().pins.len() >= most {
            if !self.hold_updates(&mut running) {
                return self.park(running, Wait::Turn, false);
            }
            let journey = running.journey();
            // Where it found nothing with all of these pages, it needs even more of them for its next find.
            let is_further = found.measure() > journey.measured;
            journey.measured = found.measure();
            journey.in_parts = true;
            if is_further {
                self.release_pins(&mut running);
            }
        }
        if running.journey().holds_updates {
            running.journey().found = found;
        }
        self.load_for(running, &[miss]);
    }

    /// Lets updates wait until this query lets them go. False if they wait for another one.
    pub(super) fn hold_updates(&mut self, running: &mut RunningOp<T>) -> bool {
        let journey = running.journey();
        if !journey.holds_updates {
            journey.holds_updates = self.ops.hold_updates();
        }
        journey.holds_updates
    }

    /// Updates need not wait for this query any more.
    pub(super) fn let_updates_go(&mut self, running: &mut RunningOp<T>) {
        let Some(journey) = &mut running.journey else { return };
        if std::mem::take(&mut journey.holds_updates) {
            journey.measured = 0;
            self.ops.let_updates_go();
        }
    }

    /// Bytes of an object, or the next piece of its digest.
    fn read(&mut self, mut running: RunningOp<T>, mut found: QueryFindings) {
        if self.ops.in_part().is_some() {
            return self.park(running, Wait::Turn, false);
        }
        if running.journey().replans >= REPLANS_MAX && !self.hold_updates(&mut running) {
            return self.park(running, Wait::Turn, false);
        }
        let Digested { next, is_whole, .. } = running.journey().digested;
        let (id, from, length) = match Self::ask_of(&running) {
            Ask::Read { object, offset, length } | Ask::Sparse { object, offset, length, .. } => {
                (*object, *offset, *length)
            }
            Ask::Digest(id) if is_whole => {
                let id = *id;
                return self.end_digest(running, id, found);
            }
            Ask::Digest(id) => (*id, next, DIGEST_PIECE),
            _ => unreachable!("only these read objects"),
        };
        if let Some(range) = self.inside_one_page(&mut running, from, length) {
            let index = range.start / self.superblock.layout.page.bytes() as u64;
            match contents::page_inside(&self.space, id, index) {
                Ok(Some(page)) => return self.read_page(running, range, page),
                Ok(None) => {}
                Err(miss) => return self.look_on(running, found, miss),
            }
        }
        let meta = match contents::meta(&self.space, id) {
            Ok(Some(meta)) => meta,
            Ok(None) => {
                let nothing = match Self::ask_of(&running) {
                    Ask::Digest(_) => Answer::Digest(None),
                    Ask::Sparse { .. } => Answer::Sparse(None),
                    _ => Answer::Bytes(None),
                };
                return self.finish(running, Ok(nothing));
            }
            Err(miss) => return self.look_on(running, found, miss.into()),
        };
        let end = from.saturating_add(length).min(meta.length);
        let (asked, most) = (end.saturating_sub(from), self.limits().read_bytes);
        if let Err(exceeded) = Exceeded::check(Bound::ReadBytes, asked, most) {
            return self.fail(running, OpError::Exceeds(exceeded));
        }
        let range = from.min(end)..end;
        if let Ask::Sparse { base, with_bytes, .. } = Self::ask_of(&running) {
            let (base, with_bytes) = (*base, *with_bytes);
            return self.read_sparse(running, found, (id, base), range, with_bytes);
        }
        match contents::read_plan(&self.space, id, range.clone(), &mut found) {
            Ok(pages) => self.gather(running, range, &pages, None),
            Err(miss) => self.look_on(running, found, miss),
        }
    }

    /// Bytes that are all in one page: from memory, or as that page comes from the device.
    fn read_page(&mut self, mut running: RunningOp<T>, range: Range<u64>, page: DataPage) {
        let size = self.superblock.layout.page.bytes() as u64;
        let (from, length) = ((range.start % size) as usize, (range.end - range.start) as usize);
        if let Some(resident) = self.space.pages.page(page.number) {
            let bytes = resident[from..][..length].to_vec();
            return self.finish(running, Ok(Answer::Bytes(Some(bytes))));
        }
        let most = self.memory.room().pins_max() as usize;
        let journey = running.journey();
        if journey.replans > 0 || journey.pins.len() >= most {
            return self.gather(running, range, &[page], None);
        }
        journey.awaited = Some(AwaitedBytes { page, from, length });
        self.load_for(running, &[Miss::Data(page)]);
    }

    /// What a plain read that is not in parts asks for, if that is inside one page.
    fn inside_one_page(
        &self,
        running: &mut RunningOp<T>,
        from: u64,
        length: u64,
    ) -> Option<Range<u64>> {
        let size = self.superblock.layout.page.bytes() as u64;
        let is_plain = matches!(Self::ask_of(running), Ask::Read { .. });
        let is_inside = length > 0 && length <= size - from % size;
        let range = from..from.checked_add(length)?;
        (is_plain && is_inside && !running.journey().in_parts).then_some(range)
    }

    /// Where an object differs from another, and the bytes there.
    fn read_sparse(
        &mut self,
        running: RunningOp<T>,
        mut found: QueryFindings,
        objects: (ObjectId, Option<ObjectId>),
        range: Range<u64>,
        with_bytes: bool,
    ) {
        let plan = contents::sparse_plan(&self.space, objects, range.clone(), &mut found);
        let (pages, holes) = match plan {
            Ok(plan) => plan,
            Err(miss) => return self.look_on(running, found, miss),
        };
        let size = self.superblock.layout.page.bytes() as u64;
        let mut ranges = Ranges::default();
        let part =
            |index: u64| (index * size).max(range.start)..((index + 1) * size).min(range.end);
        pages.iter().for_each(|page| push_range(&mut ranges.data, part(page.index)));
        holes.into_iter().for_each(|index| push_range(&mut ranges.zeros, part(index)));
        if !with_bytes {
            return self.finish(running, Ok(Answer::Sparse(Some((ranges, Vec::new())))));
        }
        self.gather(running, range, &pages, Some(ranges));
    }

    /// Takes what is resident and asks for the rest.
    fn gather(
        &mut self,
        mut running: RunningOp<T>,
        range: Range<u64>,
        pages: &[DataPage],
        sparse: Option<Ranges>,
    ) {
        // A digest tells what the device holds, so what is resident counts only where the device has not got it yet.
        let from_device = matches!(Self::ask_of(&running), Ask::Digest(_));
        let is_missing = |page: &&DataPage| {
            !self.space.pages.is_resident(page.number)
                || from_device && self.space.pages.is_at_home(page.number)
        };
        let missing: Vec<DataPage> = pages.iter().filter(is_missing).copied().collect();
        let journey = running.journey();
        let (pins, in_parts, replans) = (journey.pins.len(), journey.in_parts, journey.replans);
        if replans < REPLANS_MAX {
            self.let_updates_go(&mut running);
        }
        // A sparse read is for another copy; who reads here has no use for its pages. One that goes in parts would look for all of
        // them again.
        if !missing.is_empty()
            && sparse.is_none()
            && !from_device
            && !in_parts
            && missing.len() <= CACHED_PAGES_MAX.min(self.space.pages.frames() as usize / 16)
            && pins + missing.len() <= self.memory.room().pins_max() as usize
        {
            let misses: Vec<Miss> = missing.into_iter().map(Miss::Data).collect();
            return self.load_for(running, &misses);
        }
        let size = self.superblock.layout.page.bytes() as u64;
        let indices = |ranges| (ranges, pages.iter().map(|page| page.index).collect::<Vec<u64>>());
        let sparse = sparse.map(indices);
        let count = match &sparse {
            Some((_, pages)) => pages.len() as u64,
            None => range.end.div_ceil(size).saturating_sub(range.start / size),
        };
        let ask = Self::ask_of(&running).clone();
        let pieces = neighbours(missing);
        let mut reading = Reading {
            ask,
            bytes: vec![0; (count * size) as usize],
            range,
            left: pieces.len(),
            pieces,
            sparse,
            spoiled: None,
            unreadable: false,
        };
        for page in pages {
            if let Some(resident) = self.space.pages.page(page.number) {
                let at = reading.place_of(page.index, size) * size as usize;
                reading.bytes[at..at + size as usize].copy_from_slice(resident);
            }
        }
        if reading.left == 0 {
            running.work = OpWork::Reading(Box::new(reading));
            return self.read_arrived(running);
        }
        self.read_pieces(running, reading);
    }

    fn read_pieces(&mut self, mut running: RunningOp<T>, reading: Reading) {
        let page = self.superblock.layout.page;
        let class = running.class;
        let places: Vec<(u64, u64)> = reading
            .pieces
            .iter()
            .map(|piece| (page.offset(piece[0].number), (piece.len() * page.bytes()) as u64))
            .collect();
        running.wait = Wait::Pages;
        running.work = OpWork::Reading(Box::new(reading));
        let slot = self.ops.suspend(running);
        for (piece, place) in places.into_iter().enumerate() {
            self.metrics.totals.pages_read += place.1 / page.bytes() as u64;
            self.requests.read(
                RequestPurpose::OwnRead(slot, piece),
                StoreDevice::Data,
                place,
                class,
            );
        }
    }

    /// A piece of a long read has come.
    pub(super) fn own_read_done(&mut self, slot: SlotId, piece: usize, done: IoDone) {
        let size = self.superblock.layout.page.bytes();
        let running = self.ops.suspended(slot);
        let OpWork::Reading(reading) = &mut running.work else { unreachable!("it reads") };
        reading.left -= 1;
        reading.unreadable |= !Self::is_good(done.outcome);
        if Self::is_good(done.outcome) {
            for (number, bytes) in done.data.chunks_exact(size).enumerate() {
                let page = reading.pieces[piece][number];
                if crc32c::crc32c(bytes) != page.sum {
                    reading.spoiled = Some(page);
                }
                let at = reading.place_of(page.index, size as u64) * size;
                reading.bytes[at..at + size].copy_from_slice(bytes);
            }
        }
        if reading.left == 0 {
            self.ops.resume(slot);
        }
    }

    /// All pieces of a read are there.
    pub(super) fn read_arrived(&mut self, mut running: RunningOp<T>) {
        let OpWork::Reading(reading) =
            std::mem::replace(&mut running.work, OpWork::Asked(Ask::Sync))
        else {
            unreachable!("it reads");
        };
        let Reading { ask, mut bytes, range, sparse, spoiled, unreadable, .. } = *reading;
        running.work = OpWork::Asked(ask);
        if unreadable {
            return self.fail(running, OpError::Unreadable);
        }
        if let Some(page) = spoiled {
            if running.journey().holds_updates {
                return self.fail(running, OpError::Damaged(self.object_damage(&page)));
            }
            // The page may have been written while it was read.
            running.journey().replans += 1;
            return self.read(running, QueryFindings::default());
        }
        let skip = (range.start % self.superblock.layout.page.bytes() as u64) as usize;
        let length = (range.end - range.start) as usize;
        match Self::ask_of(&running) {
            Ask::Digest(id) => {
                let id = *id;
                self.digest_piece(running, id, &bytes[skip..skip + length]);
            }
            _ => {
                let Some((ranges, pages)) = sparse else {
                    bytes.drain(..skip);
                    bytes.truncate(length);
                    return self.finish(running, Ok(Answer::Bytes(Some(bytes))));
                };
                // Only the first and the last page may be cut by what was asked for.
                let page = self.superblock.layout.page.bytes() as u64;
                if pages.first().is_some_and(|first| first * page < range.start) {
                    bytes.drain(..skip);
                }
                bytes.truncate(ranges.data_bytes() as usize);
                self.finish(running, Ok(Answer::Sparse(Some((ranges, bytes)))));
            }
        }
    }

    fn object_damage(&self, page: &DataPage) -> Damage {
        let size = self.superblock.layout.page.bytes() as u64;
        Damage::Object(page.object, page.index * size..(page.index + 1) * size)
    }

    fn digest_piece(&mut self, mut running: RunningOp<T>, id: ObjectId, bytes: &[u8]) {
        let digested = &mut running.journey().digested;
        digested.sum = crc32c::crc32c_append(digested.sum, bytes);
        digested.next += bytes.len() as u64;
        digested.is_whole = (bytes.len() as u64) < DIGEST_PIECE;
        match digested.is_whole {
            true => self.end_digest(running, id, QueryFindings::default()),
            false => self.read(running, QueryFindings::default()),
        }
    }

    /// The bytes of an object are digested; its attributes are next.
    fn end_digest(&mut self, mut running: RunningOp<T>, id: ObjectId, mut found: QueryFindings) {
        match contents::attributes(&self.space, id, &mut found) {
            Ok(attributes) => {
                let sum = running.journey().digested.sum;
                let digest = contents::digest_attributes(sum, attributes);
                self.finish(running, Ok(Answer::Digest(Some(digest))));
            }
            Err(miss) => self.look_on(running, found, miss.into()),
        }
    }
}

/// The first user's key that an op names; an empty one if it names none.
fn key_of<T>(op: &Op<T>) -> &[u8] {
    match &op.ask {
        Ask::Get(key) => key,
        Ask::Transaction(edits) => match &edits[..] {
            [Edit::Put { key, .. } | Edit::Delete { key }, ..] => key,
            _ => &[],
        },
        _ => &[],
    }
}

/// Groups pages that lie next to each other on the device and in the object.
fn neighbours(pages: Vec<DataPage>) -> Vec<Vec<DataPage>> {
    let mut groups: Vec<Vec<DataPage>> = Vec::new();
    for page in pages {
        match groups.last_mut() {
            Some(group)
                if group.len() < RUN_MAX
                    && group.last().is_some_and(|last| {
                        last.number.plus(1) == page.number && last.index + 1 == page.index
                    }) =>
            {
                group.push(page);
            }
            _ => groups.push(vec![page]),
        }
    }
    groups
}
