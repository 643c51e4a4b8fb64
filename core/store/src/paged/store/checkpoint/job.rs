//! The running checkpoint, and what leads to the next one.

use crate::paged::ids::{CheckpointId, Lsn, PageNo};
use crate::paged::image::Compressor;
use crate::paged::image_set::ImageSetEncoder;
use crate::paged::metrics::{CheckpointReason, CheckpointReport};
use crate::paged::options::Options;
use crate::paged::store::op::RunningOp;
use crate::paged::superblock::CheckpointState;
use crate::paged::throttle::{Dirtied, Pressure, Throttle};
use loadline_base::{Span, Time};

/// Where a checkpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckpointStep {
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

/// Images on their way to the recovery region.
pub(in crate::paged::store) struct ImagesOut {
    /// Those that no request holds yet.
    pub(super) bytes: Vec<u8>,
    /// Where they go inside the region.
    pub(super) offset: u64,
    /// How many have been written.
    pub(super) done: u64,
}

/// A running checkpoint.
pub(in crate::paged::store) struct CheckpointJob {
    pub(super) step: CheckpointStep,
    pub(super) step_began: Time,
    /// The log must be durable up to here before anything else is written.
    pub(super) log_end: Lsn,
    pub(super) state: CheckpointState,
    pub(super) pages: Vec<PageNo>,
    /// The next page to make an image of, then the next to write home.
    pub(super) next: usize,
    pub(super) encoder: ImageSetEncoder,
    pub(super) images: ImagesOut,
    pub(super) pages_done: u64,
    pub(super) in_flight: u32,
    pub(super) flushed: bool,
    pub(super) report: CheckpointReport,
}

/// The running checkpoint, and what leads to the next one.
pub(in crate::paged::store) struct Checkpoints<T> {
    pub(super) job: Option<CheckpointJob>,
    pub(super) wanted: Option<CheckpointReason>,
    /// None begins: somebody looks at what the last one has left on the device.
    pub(super) held: bool,
    /// Ops that wait for the end of this checkpoint.
    pub(super) waiters: Vec<(CheckpointId, RunningOp<T>)>,
    pub(super) last_instant: Time,
    /// Whether every edit since the last instant stands in the log.
    pub(super) interval_is_logged: bool,
    pub(super) throttle: Throttle,
    pub(super) compressor: Compressor,
}

impl<T> Checkpoints<T> {
    pub(in crate::paged::store) fn new(now: Time, options: &Options) -> Checkpoints<T> {
        Checkpoints {
            job: None,
            wanted: None,
            held: false,
            waiters: Vec::new(),
            last_instant: now,
            interval_is_logged: false,
            throttle: Throttle::new(options.throttle),
            compressor: Compressor::new(options.compression),
        }
    }

    /// Asks for a checkpoint, if none is asked for.
    pub(in crate::paged::store) fn want(&mut self, reason: CheckpointReason) {
        self.wanted.get_or_insert(reason);
    }

    /// None begins any more.
    pub(in crate::paged::store) fn hold(&mut self) {
        self.held = true;
    }

    /// They may begin again.
    pub(in crate::paged::store) fn release(&mut self) {
        self.held = false;
    }

    /// Whether one is under way.
    pub(in crate::paged::store) fn is_running(&self) -> bool {
        self.job.is_some()
    }

    /// Which step the running one is at.
    pub(in crate::paged::store) fn step(&self) -> Option<CheckpointStep> {
        self.job.as_ref().map(|job| job.step)
    }

    /// What is counted of the running one.
    pub(in crate::paged::store) fn report(&mut self) -> Option<&mut CheckpointReport> {
        self.job.as_mut().map(|job| &mut job.report)
    }

    /// Old versions are in so many slots now.
    pub(in crate::paged::store) fn note_old_versions(&mut self, used: u32) {
        if let Some(report) = self.report() {
            report.buffer_used_max = report.buffer_used_max.max(used);
        }
    }

    /// How long an update that touches so much is to sleep.
    pub(in crate::paged::store) fn throttle(
        &mut self,
        now: Time,
        pressure: &Pressure,
        touch: Dirtied,
    ) -> Span {
        self.throttle.charge(now, pressure, touch)
    }

    /// How many ops wait for one.
    pub(in crate::paged::store) fn waiters(&self) -> usize {
        self.waiters.len()
    }

    /// All ops that wait for one.
    pub(in crate::paged::store) fn take_waiters(
        &mut self,
    ) -> impl Iterator<Item = RunningOp<T>> + '_ {
        self.waiters.drain(..).map(|(_, running)| running)
    }
}

impl CheckpointJob {
    pub(super) fn enter(&mut self, now: Time, step: CheckpointStep) {
        let time = now.since(self.step_began);
        let report = &mut self.report;
        let total = match self.step {
            CheckpointStep::Log => &mut report.log_sync_duration,
            CheckpointStep::Images | CheckpointStep::ImagesSync => {
                &mut report.recovery_data_write_duration
            }
            CheckpointStep::Begin | CheckpointStep::BeginSync => &mut report.write_entry_duration,
            CheckpointStep::Pages => &mut report.pages_write_duration,
            CheckpointStep::PagesSync | CheckpointStep::End | CheckpointStep::EndSync => {
                &mut report.sync_duration
            }
        };
        *total += time;
        (self.step, self.step_began) = (step, now);
        (self.next, self.flushed) = (0, false);
    }
}
