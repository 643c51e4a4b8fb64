//! The pages of a checkpoint, written home.

use super::{CheckpointJob, CheckpointStep};
use crate::paged::api::StoreDevice;
use crate::paged::ids::PageNo;
use crate::paged::options::Protection;
use crate::paged::space::Pages;
use crate::paged::store::PagedStore;
use crate::paged::store::requests::{CheckpointRequest, RequestPurpose};

/// Pages of one write at most, for the reason of the image writes' size.
const PAGE_RUN_MAX: usize = 16;
/// Above this share of the buffer, old versions are written first (checkpoint.md 6.5).
const DRAIN_FIRST: (u32, u32) = (2, 3);

impl<T: Copy> PagedStore<T> {
    /// Writes pages home as long as few requests are in flight: those with old versions first while the buffer is full.
    pub(super) fn write_pages(&mut self) -> bool {
        loop {
            let job = self.checkpoint.job.as_mut().expect("a checkpoint runs");
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
                return done && self.enter_step(CheckpointStep::PagesSync);
            }
            self.write_run(run);
        }
    }

    fn write_run(&mut self, run: Vec<PageNo>) {
        let job = self.checkpoint.job.as_mut().expect("a checkpoint runs");
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
        if used < used_before {
            self.ops.note_change();
        }
        let offset = page.offset(run[0]);
        let class = self.options.classes.checkpoint;
        self.metrics.totals.pages_written += run.len() as u64;
        self.requests.write(
            RequestPurpose::Checkpoint(CheckpointRequest::Pages(run)),
            StoreDevice::Data,
            offset,
            class,
            data,
        );
        if self.checkpoint.throttle.buffer_released(u64::from(used), u64::from(slots)) {
            self.wake_all();
        }
    }
}

/// The next pages that lie next to each other and are not on their way yet.
fn next_run(job: &mut CheckpointJob, pages: &Pages) -> Vec<PageNo> {
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
