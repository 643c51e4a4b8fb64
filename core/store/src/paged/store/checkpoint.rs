//! The checkpoint: a job that goes on a step at a time, whenever something it waits for has happened.
//!
//! Steps (checkpoint.md 5; the numbers of the invariants are those of its section 16):
//!
//! | step | what is durable at its end | why then |
//! |---|---|---|
//! | [`Step::Log`] | the log through the instant | 2: before any page |
//! | [`Step::Images`], [`Step::ImagesSync`] | an image of each page; under `log` protection they were in the log | 3 |
//! | [`Step::Begin`], [`Step::BeginSync`] | the superblock with the begun checkpoint | 4: between the images and the first page |
//! | [`Step::Pages`], [`Step::PagesSync`] | every page at home | |
//! | [`Step::End`], [`Step::EndSync`] | the superblock with the completed checkpoint | 7: after every page |
//!
//! With one owner the instant itself is a moment between two events: no op is half carried out, nobody waits for a lock.

use super::{Fault, PagedStore, Purpose};
use crate::paged::api::{Answer, IoDone, Target};
use crate::paged::ids::{CheckpointId, Lsn, PageNo};
use crate::paged::image::Content;
use crate::paged::image_set::{HEADER_BLOCK, ImageSetEncoder};
use crate::paged::layout::{SUPERBLOCK, superblock_offsets};
use crate::paged::log::Kind;
use crate::paged::metrics::{CheckpointReport, Reason};
use crate::paged::options::{LogMode, Protection, WriteOrder};
use crate::paged::superblock::{Begun, CheckpointState, ImageSum, Superblock};
use crate::paged::throttle::{Phase, Pressure};
use loadline_base::Time;
use loadline_device::Outcome;

/// Bytes of one write of images.
const IMAGE_WRITE: usize = 256 << 10;
/// Pages of one write at most.
const PAGE_RUN_MAX: usize = 32;
/// Above this share of the buffer, old versions are written first (checkpoint.md 6.5).
const DRAIN_FIRST: (u32, u32) = (2, 3);

/// Where a checkpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Making the log durable through the instant.
    Log,
    /// Writing images.
    Images,
    /// Making them durable.
    ImagesSync,
    /// Writing the begin marker.
    Begin,
    /// Making it durable.
    BeginSync,
    /// Writing pages home.
    Pages,
    /// Making them durable.
    PagesSync,
    /// Writing the end marker.
    End,
    /// Making it durable.
    EndSync,
}

/// What a request of the checkpoint is for.
#[derive(Clone, Debug)]
pub(super) enum Request {
    Images(u64),
    Marker,
    Pages(Vec<PageNo>),
    Flush,
}

/// A running checkpoint.
pub(super) struct Job {
    step: Step,
    step_began: Time,
    state: CheckpointState,
    pages: Vec<PageNo>,
    /// The next page to make an image of, then the next to write home.
    next: usize,
    encoder: ImageSetEncoder,
    images: Vec<u8>,
    images_offset: u64,
    images_done: u64,
    pages_done: u64,
    in_flight: u32,
    flushed: bool,
    pub(super) report: CheckpointReport,
}

impl Job {
    /// Which checkpoint it is.
    pub(super) fn id(&self) -> CheckpointId {
        self.state.id
    }

    pub(super) fn step(&self) -> Step {
        self.step
    }

    /// Old versions are in so many slots now.
    pub(super) fn note_buffer(&mut self, used: u32) {
        self.report.buffer_used_max = self.report.buffer_used_max.max(used);
    }

    fn enter(&mut self, now: Time, step: Step) {
        let time = now.since(self.step_began);
        let report = &mut self.report;
        let total = match self.step {
            Step::Log => &mut report.log_sync_duration,
            Step::Images | Step::ImagesSync => &mut report.recovery_data_write_duration,
            Step::Begin | Step::BeginSync => &mut report.write_entry_duration,
            Step::Pages => &mut report.pages_write_duration,
            Step::PagesSync | Step::End | Step::EndSync => &mut report.sync_duration,
        };
        *total += time;
        (self.step, self.step_began) = (step, now);
        (self.next, self.flushed) = (0, false);
    }
}

impl<T: Copy> PagedStore<T> {
    /// Begins a checkpoint if one is due, and takes the running one as far as it goes. Answers whether it has ended one.
    pub(super) fn advance_checkpoint(&mut self) -> bool {
        if self.job.is_none() {
            self.look_for_reason();
            if !self.take_instant() {
                return false;
            }
        }
        while self.fault.is_none() && self.advance_step() {}
        let ended = self.job.as_ref().is_some_and(|job| job.step == Step::EndSync && job.flushed);
        if ended {
            self.end_checkpoint();
        }
        ended
    }

    /// The triggers of checkpoint.md 5.
    fn look_for_reason(&mut self) {
        let pages = &self.space.pages;
        let trigger =
            u64::from(self.options.dirty_trigger_percent) * u64::from(pages.frames()) / 100;
        let images_max = self.superblock.layout.images_max() / 2;
        let log = self.log.used() * 100 / self.superblock.layout.log_bytes;
        if u64::from(pages.counts().dirty) >= trigger.min(images_max) {
            self.want_checkpoint(Reason::DirtyPages);
        } else if log >= u64::from(self.options.log_trigger_percent) && pages.counts().dirty > 0 {
            self.want_checkpoint(Reason::LogSize);
        } else if self.next_checkpoint().is_some_and(|time| self.now >= time) {
            self.want_checkpoint(Reason::Timer);
        }
    }

    /// When the clock alone begins one.
    pub(super) fn next_checkpoint(&self) -> Option<Time> {
        let due = self.job.is_none() && self.space.pages.counts().dirty > 0;
        due.then(|| self.last_instant + self.options.checkpoint_interval)
    }

    /// Takes the instant, if a checkpoint is wanted and there is anything to do.
    fn take_instant(&mut self) -> bool {
        let Some(reason) = self.checkpoint_wanted.take() else { return false };
        if self.space.pages.counts().dirty == 0
            && self.log_position().0 == self.superblock.completed.position
        {
            // Nothing has changed since the last one: it is as good as a new one.
            self.answer_checkpoint_waiters(self.superblock.completed.id.next());
            self.unpark |= reason != Reason::Request;
            return false;
        }
        let id = self.superblock.completed.id.next();
        let protection =
            if self.interval_is_logged { Protection::Log } else { Protection::Checkpoint };
        let mut pages = self.space.pages.take_instant();
        if self.options.write_order == WriteOrder::Sequential {
            pages.sort_unstable();
        }
        if self.restart.is_none() && self.options.log_mode != LogMode::None {
            self.log.append(Kind::Instant, &id.0.to_le_bytes());
        }
        let (position, chain) = self.log_position();
        if self.restart.is_none() {
            self.group.demand(position);
            self.interval_is_logged = self.options.protection == Protection::Log
                && self.options.log_mode != LogMode::None;
            self.space.pages.journal.set(self.interval_is_logged);
        }
        let tree = self.space.tree;
        let mut report = CheckpointReport::new(id, reason, protection, self.now);
        report.total_pages = pages.len() as u64;
        self.job = Some(Job {
            step: Step::Log,
            step_began: self.now,
            state: CheckpointState { id, position, chain, root: tree.root, height: tree.height },
            pages,
            next: 0,
            encoder: ImageSetEncoder::new(id, self.superblock.layout.page),
            images: Vec::new(),
            images_offset: HEADER_BLOCK as u64,
            images_done: 0,
            pages_done: 0,
            in_flight: 0,
            flushed: false,
            report,
        });
        self.last_instant = self.now;
        self.throttle.checkpoint_began(self.now);
        true
    }

    /// Up to where the pages in memory contain the log.
    fn log_position(&self) -> (Lsn, u32) {
        match &self.restart {
            Some(restart) => restart.replayed(),
            None => (self.log.head(), self.log.chain()),
        }
    }

    /// Goes on with the present step. Answers whether the next one has begun.
    fn advance_step(&mut self) -> bool {
        let Some(job) = &mut self.job else { return false };
        match job.step {
            Step::Log => self.log_is_durable(),
            Step::Images => self.write_images(),
            Step::ImagesSync if job.flushed => self.enter_step(Step::Begin),
            Step::Begin => self.write_marker(Step::BeginSync),
            Step::BeginSync if job.flushed => {
                self.marked_begin();
                self.enter_step(Step::Pages)
            }
            Step::Pages => self.write_pages(),
            Step::PagesSync if job.flushed => self.enter_step(Step::End),
            Step::End => self.write_marker(Step::EndSync),
            _ => self.flush_once(),
        }
    }

    fn enter_step(&mut self, step: Step) -> bool {
        self.job.as_mut().expect("a checkpoint runs").enter(self.now, step);
        true
    }

    fn log_is_durable(&mut self) -> bool {
        let job = self.job.as_ref().expect("a checkpoint runs");
        let needs_log = self.restart.is_none() && self.options.log_mode != LogMode::None;
        if needs_log && self.group.flushed() < job.state.position {
            return false;
        }
        let next = match job.report.protection {
            Protection::Log => Step::Begin,
            Protection::Checkpoint => Step::Images,
        };
        self.enter_step(next)
    }

    /// A step that ends with a flush sends it once all its writes are done.
    fn flush_once(&mut self) -> bool {
        let job = self.job.as_mut().expect("a checkpoint runs");
        let is_sync = matches!(
            job.step,
            Step::ImagesSync | Step::BeginSync | Step::PagesSync | Step::EndSync
        );
        if is_sync && !job.flushed && job.in_flight == 0 && job.next == 0 {
            job.next = 1;
            job.in_flight = 1;
            let class = self.options.classes.checkpoint;
            self.flush(Purpose::Checkpoint(Request::Flush), Target::Data, class);
        }
        false
    }

    /// Fills writes with images as long as few are in flight.
    fn write_images(&mut self) -> bool {
        loop {
            let job = self.job.as_mut().expect("a checkpoint runs");
            if job.in_flight >= self.options.checkpoint_writes {
                return false;
            }
            let first = job.next;
            while job.next < job.pages.len() && job.images.len() < IMAGE_WRITE {
                let number = job.pages[job.next];
                let (bytes, raw) = self.space.pages.as_of_instant(number);
                job.report.data_pages += u64::from(raw);
                let content = Content::of(raw);
                job.encoder.append(number, content, bytes, &mut self.compressor, &mut job.images);
                job.next += 1;
            }
            let is_last = job.next == job.pages.len();
            let whole = if is_last {
                job.images.len().next_multiple_of(HEADER_BLOCK)
            } else {
                job.images.len() / HEADER_BLOCK * HEADER_BLOCK
            };
            job.images.resize(job.images.len().max(whole), 0);
            if whole == 0 {
                return self.images_written();
            }
            let rest = job.images.split_off(whole);
            let data = std::mem::replace(&mut job.images, rest);
            let offset = self.superblock.layout.recovery_offset + job.images_offset;
            job.images_offset += data.len() as u64;
            job.in_flight += 1;
            let images = (job.next - first) as u64;
            self.metrics.totals.recovery_data_bytes += data.len() as u64;
            let class = self.options.classes.checkpoint;
            let purpose = Purpose::Checkpoint(Request::Images(images));
            self.write(purpose, Target::Data, offset, class, data);
        }
    }

    /// When all images are on the device, the header follows.
    fn images_written(&mut self) -> bool {
        let job = self.job.as_mut().expect("a checkpoint runs");
        if job.in_flight > 0 {
            return false;
        }
        job.report.recovery_data_bytes = job.encoder.sum().bytes;
        let header = job.encoder.header().to_vec();
        job.in_flight = 1;
        let offset = self.superblock.layout.recovery_offset;
        let class = self.options.classes.checkpoint;
        self.write(Purpose::Checkpoint(Request::Images(0)), Target::Data, offset, class, header);
        self.enter_step(Step::ImagesSync)
    }

    /// The superblock that the present step writes.
    fn marker(&self) -> Superblock {
        let job = self.job.as_ref().expect("a checkpoint runs");
        let mut next = self.superblock;
        next.sequence += 1;
        next.protection = self.options.protection;
        if job.step < Step::Pages {
            let images = match job.report.protection {
                Protection::Checkpoint => job.encoder.sum(),
                Protection::Log => ImageSum::default(),
            };
            next.begun =
                Some(Begun { state: job.state, protection: job.report.protection, images });
        } else {
            (next.completed, next.begun) = (job.state, None);
        }
        next
    }

    fn write_marker(&mut self, next: Step) -> bool {
        let marker = self.marker();
        self.put_marker(&marker);
        self.superblock = marker;
        self.job.as_mut().expect("a checkpoint runs").in_flight = 2;
        self.enter_step(next)
    }

    /// Writes a superblock into its slot, at both ends of the device.
    fn put_marker(&mut self, marker: &Superblock) {
        let bytes = marker.encode();
        let class = self.options.classes.checkpoint;
        for offset in marker_offsets(marker) {
            self.write(
                Purpose::Checkpoint(Request::Marker),
                Target::Data,
                offset,
                class,
                bytes.clone(),
            );
        }
    }

    fn marked_begin(&mut self) {
        // From here on a crash leads to this checkpoint's state, and pages may be overwritten.
        assert!(self.superblock.begun.is_some(), "the begin marker is durable");
    }

    /// Writes pages home as long as few requests are in flight: those with old versions first while the buffer is full.
    fn write_pages(&mut self) -> bool {
        loop {
            let job = self.job.as_mut().expect("a checkpoint runs");
            if job.in_flight >= self.options.checkpoint_writes {
                return false;
            }
            let (used, slots) = self.space.pages.old_versions();
            let drain = used * DRAIN_FIRST.1 > slots * DRAIN_FIRST.0;
            let run = match drain.then(|| self.space.pages.next_old_version()).flatten() {
                Some(number) => vec![number],
                None => next_run(job, &self.space.pages),
            };
            if run.is_empty() {
                let done = job.in_flight == 0;
                return done && self.enter_step(Step::PagesSync);
            }
            self.write_run(run);
        }
    }

    fn write_run(&mut self, run: Vec<PageNo>) {
        let job = self.job.as_mut().expect("a checkpoint runs");
        let page = self.superblock.layout.page;
        let mut data = Vec::with_capacity(run.len() * page.bytes());
        let used_before = self.space.pages.old_versions().0;
        for number in &run {
            if job.report.protection == Protection::Log {
                job.report.data_pages += u64::from(self.space.pages.as_of_instant(*number).1);
            }
            let copied = self.space.pages.begin_home_write(*number, job.state.id, &mut data);
            job.report.copied_on_write_pages += u64::from(copied);
        }
        job.in_flight += 1;
        let (used, slots) = self.space.pages.old_versions();
        self.unpark |= used < used_before;
        let offset = page.offset(run[0]);
        let class = self.options.classes.checkpoint;
        self.metrics.totals.pages_written += run.len() as u64;
        self.write(Purpose::Checkpoint(Request::Pages(run)), Target::Data, offset, class, data);
        if self.throttle.buffer_released(u64::from(used), u64::from(slots)) {
            self.wake_all();
        }
    }

    pub(super) fn checkpoint_io_done(&mut self, request: Request, done: IoDone) {
        let job = self.job.as_mut().expect("a checkpoint runs");
        job.in_flight -= 1;
        if done.outcome != Outcome::Done {
            let fault = match request {
                Request::Flush => Fault::Flush(Target::Data),
                _ => Fault::CheckpointWrite,
            };
            return self.stop(fault);
        }
        match request {
            Request::Images(images) => job.images_done += images,
            Request::Marker => {}
            Request::Flush => job.flushed = true,
            Request::Pages(pages) => {
                job.pages_done += pages.len() as u64;
                pages.into_iter().for_each(|page| self.space.pages.home_write_done(page));
                self.unpark = true;
            }
        }
    }

    /// The end marker is durable: the log before the instant, the images and the pages given back are needed no more.
    fn end_checkpoint(&mut self) {
        let mut job = self.job.take().expect("a checkpoint runs");
        job.enter(self.now, Step::EndSync);
        job.report.duration = self.now.since(job.report.start);
        if self.restart.is_none() {
            self.log.release(job.state.position);
        }
        self.free_given_back();
        self.throttle.checkpoint_ended(self.now);
        self.wake_all();
        self.metrics.checkpointed(job.report);
        self.answer_checkpoint_waiters(job.state.id);
        self.unpark = true;
    }

    fn answer_checkpoint_waiters(&mut self, ended: CheckpointId) {
        let waiters = std::mem::take(&mut self.checkpoint_waiters);
        for (id, running) in waiters {
            if id <= ended {
                self.complete(running, Ok(Answer::Checkpointed(self.superblock.completed.id)));
            } else {
                self.want_checkpoint(Reason::Request);
                self.checkpoint_waiters.push((id, running));
            }
        }
    }

    /// What presses on the store now.
    pub(super) fn pressure(&self) -> Pressure {
        let pages = &self.space.pages;
        let (used, slots) = pages.old_versions();
        let mut pressure = Pressure {
            buffer_used: u64::from(used),
            buffer_slots: u64::from(slots),
            dirty: u64::from(pages.counts().dirty),
            frames: u64::from(pages.frames()),
            updaters: (self.committing.len() + self.sleeping.len()).max(1) as u64,
            ..Pressure::default()
        };
        if let Some(job) = &self.job {
            pressure.phase = match job.step {
                Step::Log => Phase::Preparing,
                Step::Images | Step::ImagesSync | Step::Begin | Step::BeginSync => Phase::Images,
                Step::Pages => Phase::Pages,
                Step::PagesSync | Step::End | Step::EndSync => Phase::Syncing,
            };
            pressure.with_images = job.report.protection == Protection::Checkpoint;
            pressure.pages_total = job.pages.len() as u64;
            pressure.images_written = job.images_done;
            pressure.pages_written = job.pages_done;
            pressure.pages_synced = if job.step > Step::PagesSync { job.pages_done } else { 0 };
        }
        pressure
    }
}

/// Where the slot of a superblock stands, at both ends.
pub(super) fn marker_offsets(marker: &Superblock) -> [u64; 2] {
    let offsets = superblock_offsets(marker.layout.data_bytes);
    let slot = (marker.sequence % 2) as usize;
    assert!(offsets[slot] + SUPERBLOCK <= offsets[slot + 2], "the ends do not overlap");
    [offsets[slot], offsets[slot + 2]]
}

/// The next pages that lie next to each other and are not on their way yet.
fn next_run(job: &mut Job, pages: &crate::paged::space::Pages) -> Vec<PageNo> {
    let mut run: Vec<PageNo> = Vec::new();
    while let Some(number) = job.pages.get(job.next).copied() {
        if pages.is_in_checkpoint(number) {
            let joins = run.last().is_none_or(|last| last.plus(1) == number);
            if !joins || run.len() == PAGE_RUN_MAX {
                return run;
            }
            run.push(number);
        }
        job.next += 1;
    }
    run
}
