//! The checkpoint: a job that goes on a step at a time, whenever something it waits for has happened.
//!
//! Steps (checkpoint.md 5; the numbers of the invariants are those of its section 16):
//!
//! | step | what is durable at its end | why then |
//! |---|---|---|
//! | [`CheckpointStep::Log`] | the log through the instant | 2: before any page |
//! | [`CheckpointStep::Images`], [`CheckpointStep::ImagesSync`] | an image of each page; under `log` protection they were in the log | 3 |
//! | [`CheckpointStep::Begin`], [`CheckpointStep::BeginSync`] | the superblock with the begun checkpoint | 4: between the images and the first page |
//! | [`CheckpointStep::Pages`], [`CheckpointStep::PagesSync`] | every page at home | |
//! | [`CheckpointStep::End`], [`CheckpointStep::EndSync`] | the superblock with the completed checkpoint | 7: after every page |
//!
//! With one owner the instant itself is a moment between two events: no op is half carried out, nobody waits for a lock.

mod images;
mod instant;
mod job;
mod markers;
mod pages;
mod pressure;

pub use job::CheckpointStep;
pub(super) use job::Checkpoints;
pub(super) use markers::marker_offsets;

use job::CheckpointJob;

use super::op::RunningOp;
use super::requests::{CheckpointRequest, RequestPurpose};
use super::{Fault, PagedStore};
use crate::paged::api::{Answer, Ask, IoDone, StoreDevice};
use crate::paged::ids::CheckpointId;
use crate::paged::metrics::CheckpointReason;
use crate::paged::options::{LogMode, Protection};
use crate::paged::wait::Wait;
use loadline_device::Outcome;

impl<T: Copy> PagedStore<T> {
    /// From here on every edit stands in the log, or not: those who make a checkpoint of them need to know.
    pub(super) fn log_pages(&mut self, is_on: bool) {
        self.checkpoint.interval_is_logged = is_on;
        self.space.pages.journal.set(is_on);
    }

    /// The store is open from now on. What the restart has changed has no images in the log: the next checkpoint writes them itself. It does
    /// so too where the log holds anything behind the completed checkpoint, though nothing of it may be left to apply: images and edits of pages that stand
    /// there are of an earlier life's interval, and a physical restart would take them for this one's.
    pub(super) fn begin_intervals(&mut self) {
        self.checkpoint.last_instant = self.now;
        let completed = self.superblock.completed.position;
        let is_changed = self.space.pages.counts().dirty > 0 || self.last_commit() > completed;
        self.log_pages(!is_changed && self.logs_pages());
    }

    /// Whether the images of pages go to the log.
    fn logs_pages(&self) -> bool {
        self.options.protection == Protection::Log && self.options.log_mode != LogMode::None
    }

    /// Asks for a checkpoint whose instant is yet to come, and waits for its end.
    pub(super) fn await_checkpoint(&mut self, mut running: RunningOp<T>) {
        self.checkpoint.want(CheckpointReason::Request);
        let under_way = self.checkpoint.job.as_ref().map(|job| job.state.id);
        let last = under_way.unwrap_or(self.superblock.completed.id);
        let lane = running.lane.take();
        running.wait = Wait::Checkpoint;
        self.checkpoint.waiters.push((last.next(), running));
        self.ops.leave_lane(lane);
    }

    /// Begins a checkpoint if one is due, and takes the running one as far as it goes. Answers whether it has ended one.
    pub(super) fn advance_checkpoint(&mut self) -> bool {
        if self.checkpoint.job.is_none() {
            if self.checkpoint.held {
                return false;
            }
            self.look_for_reason();
            if !self.take_instant() {
                return false;
            }
        }
        while self.fault.is_none() && self.advance_step() {}
        let ended = self
            .checkpoint
            .job
            .as_ref()
            .is_some_and(|job| job.step == CheckpointStep::EndSync && job.flushed);
        if ended {
            self.end_checkpoint();
        }
        ended
    }

    /// Goes on with the present step. Answers whether the next one has begun.
    fn advance_step(&mut self) -> bool {
        let Some(job) = &mut self.checkpoint.job else { return false };
        match job.step {
            CheckpointStep::Log => self.log_is_durable(),
            CheckpointStep::Images => self.write_images(),
            CheckpointStep::ImagesSync if job.flushed => self.enter_step(CheckpointStep::Begin),
            CheckpointStep::Begin => self.write_marker(CheckpointStep::BeginSync),
            CheckpointStep::BeginSync if job.flushed => {
                self.marked_begin();
                self.enter_step(CheckpointStep::Pages)
            }
            CheckpointStep::Pages => self.write_pages(),
            CheckpointStep::PagesSync if job.flushed => self.enter_step(CheckpointStep::End),
            CheckpointStep::End => self.write_marker(CheckpointStep::EndSync),
            _ => self.flush_once(),
        }
    }

    fn enter_step(&mut self, step: CheckpointStep) -> bool {
        self.checkpoint.job.as_mut().expect("a checkpoint runs").enter(self.now, step);
        true
    }

    fn log_is_durable(&mut self) -> bool {
        let job = self.checkpoint.job.as_ref().expect("a checkpoint runs");
        if self.restart.is_none() && self.log.flushed() < job.log_end {
            return false;
        }
        let next = match job.report.protection {
            Protection::Log => CheckpointStep::Begin,
            Protection::Checkpoint => CheckpointStep::Images,
        };
        self.enter_step(next)
    }

    /// A step that ends with a flush sends it once all its writes are done.
    fn flush_once(&mut self) -> bool {
        let job = self.checkpoint.job.as_mut().expect("a checkpoint runs");
        let is_sync = matches!(
            job.step,
            CheckpointStep::ImagesSync
                | CheckpointStep::BeginSync
                | CheckpointStep::PagesSync
                | CheckpointStep::EndSync
        );
        if is_sync && !job.flushed && job.in_flight == 0 && job.next == 0 {
            job.next = 1;
            job.in_flight = 1;
            let class = self.options.classes.checkpoint;
            self.requests.flush(
                RequestPurpose::Checkpoint(CheckpointRequest::Flush),
                StoreDevice::Data,
                class,
            );
        }
        false
    }

    pub(super) fn checkpoint_io_done(&mut self, request: CheckpointRequest, done: IoDone) {
        let job = self.checkpoint.job.as_mut().expect("a checkpoint runs");
        job.in_flight -= 1;
        if done.outcome != Outcome::Done {
            let fault = match request {
                CheckpointRequest::Flush => Fault::Flush(StoreDevice::Data),
                _ => Fault::CheckpointWrite,
            };
            return self.stop(fault);
        }
        match request {
            CheckpointRequest::Images(images) => job.images.done += images,
            CheckpointRequest::Marker => {}
            CheckpointRequest::Flush => job.flushed = true,
            CheckpointRequest::Pages(pages) => {
                job.pages_done += pages.len() as u64;
                pages.into_iter().for_each(|page| self.space.pages.home_write_done(page));
                self.ops.note_change();
            }
        }
    }

    /// The end marker is durable: the log before the instant, the images and the pages given back are needed no more.
    fn end_checkpoint(&mut self) {
        let mut job = self.checkpoint.job.take().expect("a checkpoint runs");
        job.enter(self.now, CheckpointStep::EndSync);
        job.report.duration = self.now.since(job.report.start);
        if self.restart.is_none() {
            self.log.release(job.state.position);
        }
        self.free_given_back();
        self.checkpoint.throttle.checkpoint_ended(self.now);
        self.wake_all();
        self.metrics.checkpointed(job.report);
        self.answer_checkpoint_waiters(job.state.id);
        self.ops.note_change();
    }

    fn answer_checkpoint_waiters(&mut self, ended: CheckpointId) {
        let waiters = std::mem::take(&mut self.checkpoint.waiters);
        for (id, running) in waiters {
            if id <= ended {
                let answer = match Self::ask_of(&running) {
                    Ask::Sync => Answer::Done,
                    _ => Answer::Checkpointed(self.superblock.completed.id),
                };
                self.ops.end(running.token, running.stages, Ok(answer));
            } else {
                self.checkpoint.want(CheckpointReason::Request);
                self.checkpoint.waiters.push((id, running));
            }
        }
    }
}
