//! The simulated disk itself: takes requests, answers them when they are due, and loses what a fault takes.

use super::contents::{BlockVersion, DiskContents};
use super::faults::{Fate, FaultPlan};
use super::timing::{DeviceAccess, OtherAccesses, Station, Timing};
use super::traffic::Traffics;
use super::{BaseImage, CutStyle, FaultCounts, RequestDone, SimDiskSpec, Traffic, Trouble};
use loadline_base::{Bytes, Rng, SlotId, Slots, Time};
use loadline_device::{ClassTag, Outcome, Request, RequestKind};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;

/// What a disk does not answer.
#[derive(Clone, Debug, Default)]
struct Silence {
    /// What is never answered.
    hung: Vec<SlotId>,
    /// The next request is never answered.
    hangs_next: bool,
    /// Nothing is answered before this time.
    until: Time,
}

/// A disk in virtual time that holds bytes. The fault model stands at the head of [this module](super).
#[derive(Clone)]
pub struct SimDisk {
    spec: SimDiskSpec,
    rng: Rng,
    contents: DiskContents,
    station: Station,
    faults: FaultPlan,
    traffics: Traffics,
    in_flight: Slots<InFlightRequest>,
    /// What is due when; equal times in random order.
    due: BinaryHeap<Reverse<(Time, u32, SlotId)>>,
    silence: Silence,
    submitted: u64,
    /// Share of the requests with a duration limit that are ended for it.
    over_limit_percent: u8,
    /// The writes that were carried out, if they are noted.
    written: Option<Vec<Written>>,
}

/// A write that was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// First byte on the disk.
    pub offset: u64,
    /// What had stood there before; as long as the write.
    pub before: Vec<u8>,
}

#[derive(Clone)]
struct InFlightRequest {
    id: u64,
    /// Its place in the order of submission.
    number: u64,
    asked: Request,
    /// Where it really goes.
    range: Range<u64>,
    data: Vec<u8>,
    fate: Fate,
    /// For a flush: the first write that it does not cover.
    covers_before: u64,
}

impl SimDisk {
    /// A disk full of zeros.
    pub fn new(spec: SimDiskSpec, seed: u64) -> SimDisk {
        assert!(matches!(spec.sector, 512 | 4096), "a sector has 512 or 4096 bytes");
        assert!(spec.size.get().is_multiple_of(u64::from(spec.sector)), "a disk has whole sectors");
        SimDisk {
            spec,
            rng: Rng::new(seed),
            contents: DiskContents::new(&spec),
            station: Station::new(spec.timing, None),
            faults: FaultPlan::default(),
            traffics: Traffics::default(),
            in_flight: Slots::new(),
            due: BinaryHeap::new(),
            silence: Silence::default(),
            submitted: 0,
            over_limit_percent: 0,
            written: None,
        }
    }

    /// A disk that durably holds the first bytes of an image, which it reads as they are needed and never changes.
    pub fn over(spec: SimDiskSpec, image: Arc<dyn BaseImage>, seed: u64) -> SimDisk {
        SimDisk { contents: DiskContents::over(&spec, image), ..SimDisk::new(spec, seed) }
    }

    /// A disk that durably holds `image`, which has its size.
    pub fn from_image(spec: SimDiskSpec, image: &[u8], seed: u64) -> SimDisk {
        assert_eq!(image.len() as u64, spec.size.get(), "an image has the disk's size");
        let mut disk = SimDisk::new(spec, seed);
        disk.contents.write(0, image);
        disk.contents.flush(disk.contents.next_write());
        disk
    }

    /// The disk is so fast from now on, as one that has begun to fail or to throttle itself; its channels stay as many.
    pub fn set_timing(&mut self, timing: Timing) {
        self.spec.timing = Timing { channels: self.spec.timing.channels, ..timing };
        self.station.set_timing(timing);
    }

    /// The same disk, which serves other accesses than writes of what holds something in times of their own.
    pub fn with_others(self, others: Option<OtherAccesses>) -> SimDisk {
        SimDisk { station: Station::new(self.spec.timing, others), ..self }
    }

    /// A device with the disk's speed and nothing to do.
    pub(crate) fn station(&self) -> Station {
        Station::new(self.spec.timing, self.station.others())
    }

    /// What the disk is made of.
    pub fn spec(&self) -> &SimDiskSpec {
        &self.spec
    }

    /// Takes a request. `data` is what a write writes, and a buffer to be used again for any other.
    ///
    /// A request that is not whole sectors inside the disk is a bug of the caller, and so is one with a wrong buffer.
    pub fn submit(&mut self, now: Time, id: u64, request: &Request, data: Vec<u8>) {
        self.submit_on((now, None), id, request, data);
    }

    /// The same on a disk that is a part of this device.
    pub(crate) fn submit_on(
        &mut self,
        (now, device): (Time, Option<&mut Station>),
        id: u64,
        request: &Request,
        data: Vec<u8>,
    ) {
        self.assert_well_formed(request, &data);
        self.traffics.count(request);
        let place = request.offset..request.offset + request.length.get();
        let (mut fate, range) = self.faults.meet(request.kind, place);
        let percent = u64::from(self.over_limit_percent);
        // Drawn on disks only that end some: on the others limits do not change what a seed tells.
        if percent > 0 && request.duration_limit.is_some() && self.rng.below(100) < percent {
            self.faults.counts.over_limit += 1;
            fate = Fate::OverLimit;
        }
        assert!(range.end <= self.spec.size.get(), "a write goes astray inside the disk");
        self.submitted += 1;
        let slot = self.in_flight.acquire(InFlightRequest {
            id,
            number: self.submitted,
            asked: *request,
            range,
            data,
            fate,
            covers_before: self.contents.next_write(),
        });
        if std::mem::take(&mut self.silence.hangs_next) {
            self.faults.counts.hung_requests += 1;
            self.silence.hung.push(slot);
            return;
        }
        let access = self.access(now, request);
        let station = device.unwrap_or(&mut self.station);
        let due = station.due(now, access).max(self.silence.until);
        if request.kind == RequestKind::Write {
            self.station.wrote_to(request.offset + request.length.get(), due);
        }
        self.due.push(Reverse((due, self.rng.next_u64() as u32, slot)));
    }

    /// What the device has to know of a request.
    fn access(&self, now: Time, request: &Request) -> DeviceAccess {
        let Request { kind, offset, length, .. } = *request;
        let mut access = DeviceAccess { kind, length, first: Bytes::ZERO, joins: false };
        if kind == RequestKind::Write && self.station.others().is_some() {
            access.joins = self.station.is_written_to(offset, now);
            access.first = self.contents.absent(offset, length);
        }
        access
    }

    /// When the next answer is due, if anything is in flight.
    pub fn next_done(&self) -> Option<Time> {
        self.due.peek().map(|Reverse((due, ..))| *due)
    }

    /// The next answer that is due by `now`.
    pub fn finish(&mut self, now: Time) -> Option<RequestDone> {
        if self.next_done()? > now {
            return None;
        }
        let Reverse((.., slot)) = self.due.pop()?;
        let mut request = self.in_flight.release(slot);
        let outcome = self.carry_out(&mut request);
        let InFlightRequest { id, asked, data, .. } = request;
        Some(RequestDone { id, request: asked, outcome, data })
    }

    /// How many requests are in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// The requests in flight, as they were asked.
    pub fn requests(&self) -> impl Iterator<Item = &Request> {
        self.in_flight.iter().map(|(_, request)| &request.asked)
    }

    /// Cuts the power and turns it on again: what is there afterwards is durable.
    pub fn power_cut(&mut self, style: CutStyle, rng: &mut Rng) {
        let mut in_flight = Vec::new();
        for request in self.drop_in_flight() {
            let write = self.contents.next_write() + request.number;
            match request.asked.kind {
                _ if request.fate == Fate::Lost => {}
                RequestKind::Write => {
                    in_flight.extend(BlockVersion::of_write(
                        write,
                        request.range.start,
                        &request.data,
                    ));
                }
                RequestKind::Discard => {
                    in_flight.extend(self.contents.discard(write, request.range))
                }
                RequestKind::Read | RequestKind::Flush => {}
            }
        }
        self.contents.cut(in_flight, style, rng);
        self.faults.counts.power_cuts += 1;
    }

    /// The process dies and the disk stays powered.
    pub fn kill(&mut self, rng: &mut Rng) {
        for mut request in self.drop_in_flight() {
            let changes = matches!(request.asked.kind, RequestKind::Write | RequestKind::Discard);
            if changes && rng.below(2) == 0 && request.fate != Fate::Lost {
                request.fate = Fate::Sound;
                self.carry_out(&mut request);
            }
        }
        self.faults.counts.kills += 1;
    }

    /// Makes the disk another size, as somebody would who copies it onto another one: nothing is in flight.
    pub fn resize(&mut self, size: Bytes) {
        assert!(self.due.is_empty(), "a disk is resized at rest");
        assert!(size.get().is_multiple_of(u64::from(self.spec.sector)), "a disk has whole sectors");
        self.contents.resize(size.get());
        self.spec.size = size;
    }

    /// Notes from now on what each write replaces.
    pub fn note_writes(&mut self) {
        self.written = Some(Vec::new());
    }

    /// The writes that were noted, in the order in which they were carried out.
    pub fn take_written(&mut self) -> Vec<Written> {
        self.written.take().unwrap_or_default()
    }

    /// What a read would return now. Any range inside the disk will do.
    pub fn peek(&self, range: Range<u64>) -> Vec<u8> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        self.contents.read(range.start, &mut bytes);
        bytes
    }

    /// The same, into a buffer.
    pub fn read(&self, offset: u64, into: &mut [u8]) {
        self.contents.read(offset, into);
    }

    /// Changes bytes at rest, in every copy that the disk has of them.
    pub fn poke(&mut self, offset: u64, bytes: &[u8]) {
        assert!(offset + bytes.len() as u64 <= self.spec.size.get(), "poke inside the disk");
        self.contents.change_at_rest(offset, bytes.len(), |place, byte| *byte = bytes[place]);
    }

    /// All bytes, as a read would return them now.
    pub fn image(&self) -> Vec<u8> {
        self.peek(0..self.spec.size.get())
    }

    /// How much memory the visible contents take; what was never written takes none.
    pub fn resident(&self) -> Bytes {
        self.contents.resident()
    }

    /// All requests that were submitted so far.
    pub fn traffic(&self) -> Traffic {
        self.traffics.total()
    }

    /// The requests of one class that were submitted so far.
    pub fn traffic_of(&self, class: ClassTag) -> Traffic {
        self.traffics.of(class)
    }

    /// How many faults have happened so far.
    pub fn fault_counts(&self) -> FaultCounts {
        self.faults.counts
    }

    /// Flips one to eight bits in every sector of which `range` holds a part, inside the range and for good.
    pub fn rot(&mut self, range: Range<u64>) {
        assert!(
            range.start < range.end && range.end <= self.spec.size.get(),
            "rot inside the disk"
        );
        let sector = u64::from(self.spec.sector);
        let mut start = range.start;
        while start < range.end {
            let end = range.end.min((start / sector + 1) * sector);
            let place = start + self.rng.below(end - start);
            let flips = 1 + self.rng.below(255) as u8;
            self.contents.change_at_rest(place, 1, |_, byte| *byte ^= flips);
            self.faults.counts.rotten_sectors += 1;
            start = end;
        }
    }

    /// Ends this share of the requests that have a duration limit as if it had passed.
    pub fn end_over_limit(&mut self, percent: u8) {
        assert!(percent <= 100, "a share is at most 100 percent");
        self.over_limit_percent = percent;
    }

    /// Makes reads fail that touch `range`.
    pub fn fail_reads(&mut self, range: Range<u64>, trouble: Trouble) {
        self.faults.fail_reads(range, trouble);
    }

    /// Everything can be read again.
    pub fn end_failing_reads(&mut self) {
        self.faults.end_failing_reads();
    }

    /// Makes the `nth` write from now fail; 1 is the next.
    pub fn fail_write(&mut self, nth: u64) {
        self.faults.fail_write(nth);
    }

    /// Makes the `nth` write from now be answered and never done; 1 is the next.
    pub fn lose_write(&mut self, nth: u64) {
        self.faults.lose_write(nth);
    }

    /// Leaves the next request without an answer, for as long as the power is on and the process lives.
    pub fn hang(&mut self) {
        self.silence.hangs_next = true;
    }

    /// Answers nothing that is submitted from now on before this time.
    pub fn hold_until(&mut self, time: Time) {
        self.silence.until = time;
    }

    /// Whether writes from now on find no room: some of their sectors may be written all the same.
    pub fn set_full(&mut self, is_full: bool) {
        self.faults.is_full = is_full;
    }

    /// Makes the `nth` flush from now fail; 1 is the next.
    pub fn fail_flush(&mut self, nth: u64) {
        self.faults.fail_flush(nth);
    }

    /// No flush fails any more that was to.
    pub fn end_failing_flushes(&mut self) {
        self.faults.end_failing_flushes();
    }

    /// Makes the `nth` write from now go to the sector at `to` instead; 1 is the next.
    pub fn misdirect_write(&mut self, nth: u64, to: u64) {
        assert!(to.is_multiple_of(u64::from(self.spec.sector)), "a write goes astray by sectors");
        self.faults.misdirect_write(nth, to);
    }

    /// Carries a request out on the contents, at the moment of its answer.
    fn carry_out(&mut self, request: &mut InFlightRequest) -> Outcome {
        let InFlightRequest { range, data, fate, .. } = request;
        if *fate == Fate::Lost {
            return Outcome::Done;
        }
        let failed = *fate != Fate::Sound;
        match request.asked.kind {
            RequestKind::Read if !failed => {
                data.resize((range.end - range.start) as usize, 0);
                self.contents.read(range.start, data);
            }
            RequestKind::Read => {}
            RequestKind::Write => {
                if let Some(written) = &mut self.written {
                    let mut before = vec![0; data.len()];
                    self.contents.read(range.start, &mut before);
                    written.push(Written { offset: range.start, before });
                }
                if failed {
                    let versions =
                        BlockVersion::of_write(self.contents.next_write(), range.start, data);
                    let (sector, rng) = (self.spec.sector, &mut self.rng);
                    self.contents.apply(versions.map(|version| version.some_of(sector, rng)));
                } else {
                    self.contents.write(range.start, data);
                }
                self.faults.written(range);
            }
            RequestKind::Discard => self.discard(range.clone()),
            RequestKind::Flush if failed => self.contents.flush_failed(request.covers_before),
            RequestKind::Flush => self.contents.flush(request.covers_before),
        }
        match fate {
            Fate::Sound | Fate::Lost => Outcome::Done,
            Fate::Fails => Outcome::Failed,
            Fate::OverLimit => Outcome::OverLimit,
            Fate::NoSpace => Outcome::NoSpace,
        }
    }

    /// Most drives forget a discarded range at once, some ignore the hint, some do either sector by sector.
    fn discard(&mut self, range: Range<u64>) {
        let versions = self.contents.discard(self.contents.next_write(), range);
        match self.rng.below(4) {
            0 => {}
            1 => {
                let (sector, rng) = (self.spec.sector, &mut self.rng);
                let versions = versions.into_iter().map(|version| version.some_of(sector, rng));
                self.contents.apply(versions);
            }
            _ => self.contents.apply(versions.into_iter()),
        }
    }

    /// Takes everything out of flight, in the order of submission.
    fn drop_in_flight(&mut self) -> Vec<InFlightRequest> {
        let due = self.due.drain().map(|Reverse((.., slot))| slot);
        let slots: Vec<SlotId> = due.chain(self.silence.hung.drain(..)).collect();
        self.silence.hangs_next = false;
        self.silence.until = Time::ZERO;
        let mut requests: Vec<InFlightRequest> =
            slots.into_iter().map(|slot| self.in_flight.release(slot)).collect();
        requests.sort_by_key(|request| request.number);
        self.station = self.station();
        requests
    }

    fn assert_well_formed(&self, request: &Request, data: &[u8]) {
        let Request { kind, offset, length, .. } = *request;
        if kind == RequestKind::Flush {
            assert_eq!((offset, length), (0, Bytes::ZERO), "a flush has no range");
            return;
        }
        let sector = u64::from(self.spec.sector);
        assert!(length > Bytes::ZERO, "a request has at least one sector");
        assert!(
            offset.is_multiple_of(sector) && length.get().is_multiple_of(sector),
            "{kind:?} of {length} at {offset}: a request is whole sectors of {sector} bytes"
        );
        let end = offset.checked_add(length.get());
        assert!(
            end.is_some_and(|end| end <= self.spec.size.get()),
            "{kind:?} of {length} at {offset}: a request is inside the disk of {}",
            self.spec.size
        );
        assert!(
            kind != RequestKind::Write || data.len() as u64 == length.get(),
            "a write brings as many bytes as it says"
        );
    }
}
