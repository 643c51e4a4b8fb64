//! When a checkpoint begins, and the moment at which it does.

use super::job::ImagesOut;
use super::{CheckpointJob, CheckpointStep};
use crate::paged::ids::Lsn;
use crate::paged::image_set::{HEADER_BLOCK, ImageSetEncoder};
use crate::paged::metrics::{CheckpointReason, CheckpointReport};
use crate::paged::options::{LogMode, Protection, WriteOrder};
use crate::paged::store::PagedStore;
use crate::paged::superblock::CheckpointState;
use loadline_base::{Time, mix64};

impl<T: Copy> PagedStore<T> {
    /// The triggers of checkpoint.md 5.
    pub(super) fn look_for_reason(&mut self) {
        let pages = &self.space.pages;
        let trigger =
            u64::from(self.options.dirty_trigger_percent) * u64::from(pages.frames()) / 100;
        let images_max = self.superblock.layout.images_max() / 2;
        let log = self.log.used() * 100 / self.superblock.layout.log_bytes;
        let spread = u64::from(self.options.trigger_spread_percent.min(99));
        let drawn = mix64(self.superblock.store_id ^ self.superblock.completed.id.0) % (spread + 1);
        let early = |trigger: u64| (trigger * (100 - drawn)).div_ceil(100);
        let log_trigger = early(self.options.log_trigger_percent.into());
        if u64::from(pages.counts().dirty) >= early(trigger.min(images_max)) {
            self.checkpoint.want(CheckpointReason::DirtyPages);
        } else if log >= log_trigger && pages.counts().dirty > 0 {
            self.checkpoint.want(CheckpointReason::LogSize);
        } else if self.is_running_out() {
            self.checkpoint.want(CheckpointReason::Space);
        } else if self.next_checkpoint().is_some_and(|time| self.now >= time) {
            self.checkpoint.want(CheckpointReason::Timer);
        }
    }

    /// Small writes take fresh pages, of which most wait for a checkpoint to come free. Each checkpoint writes what has changed of the tree, nearly all of it where
    /// writes are random, so the later the better; the quarter that is left to small writes is for those that come while it runs, and where that is too little they go through the
    /// log.
    fn is_running_out(&self) -> bool {
        let allocator = &self.space.pages.allocator;
        let waiting = allocator.given_back();
        self.options.places_small()
            && !allocator.has_ended()
            && waiting / 3 > allocator.free().saturating_sub(self.pages_for_large())
            && waiting > self.pages_for_large() / 2
    }

    /// When the clock alone begins one.
    pub(in crate::paged::store) fn next_checkpoint(&self) -> Option<Time> {
        let may_begin = self.checkpoint.job.is_none() && !self.checkpoint.held;
        let due = may_begin && self.space.pages.counts().dirty > 0;
        due.then(|| self.checkpoint.last_instant + self.options.checkpoint_interval)
    }

    /// Takes the instant, if a checkpoint is wanted and there is anything to do.
    pub(super) fn take_instant(&mut self) -> bool {
        if self.space.pages.allocator.has_ended() {
            // What the last one has freed is all back before another one frees more.
            return false;
        }
        let Some(reason) = self.checkpoint.wanted.take() else { return false };
        let wants_pages = matches!(reason, CheckpointReason::Space | CheckpointReason::Restart);
        let frees = wants_pages && self.space.pages.allocator.gives_back();
        if self.space.pages.counts().dirty == 0
            && self.last_commit() == self.superblock.completed.position
            && !frees
        {
            // Nothing has changed since the last one: it is as good as a new one. Who waits for anything but an answer goes
            // on waiting, for what other ops keep.
            self.answer_checkpoint_waiters(self.superblock.completed.id.next());
            return false;
        }
        let id = self.superblock.completed.id.next();
        let protection = if self.checkpoint.interval_is_logged {
            Protection::Log
        } else {
            Protection::Checkpoint
        };
        let (mut pages, map) = self.space.pages.take_instant(id);
        if self.options.write_order == WriteOrder::Sequential {
            pages.sort_unstable();
        }
        if self.restart.is_none() && self.options.log_mode != LogMode::None {
            self.log.append_instant(id);
        }
        let (position, chain) = self.log_position();
        let mut log_end = position;
        if self.restart.is_none() {
            if let Some(record) = self.ops.in_part() {
                // The pages hold a part of it: a restart that begins here must find what it is.
                log_end = self.log.append_again(record);
            }
            self.log.demand(log_end);
            self.log_pages(self.logs_pages());
        }
        let tree = self.space.tree;
        let mut report = CheckpointReport::new(id, reason, protection, self.now);
        report.total_pages = pages.len() as u64;
        self.checkpoint.job = Some(CheckpointJob {
            step: CheckpointStep::Log,
            step_began: self.now,
            log_end,
            state: CheckpointState {
                id,
                position,
                chain,
                root: tree.root,
                height: tree.height,
                map: Some(map),
            },
            pages,
            next: 0,
            encoder: ImageSetEncoder::new(self.superblock.seed(), id, self.superblock.layout.page),
            images: ImagesOut { bytes: Vec::new(), offset: HEADER_BLOCK as u64, done: 0 },
            pages_done: 0,
            in_flight: 0,
            flushed: false,
            report,
        });
        self.checkpoint.last_instant = self.now;
        self.checkpoint.throttle.checkpoint_began(self.now);
        true
    }

    /// Behind the last record of the log that the pages in memory contain. Of two copies of one store the one that went on has more.
    pub fn last_commit(&self) -> Lsn {
        match &self.restart {
            Some(restart) => restart.replayed().0,
            None => self.log.last_commit(),
        }
    }

    /// Up to where the pages in memory contain the log.
    pub(super) fn log_position(&self) -> (Lsn, u32) {
        match &self.restart {
            Some(restart) => restart.replayed(),
            None => self.log.head(),
        }
    }
}
