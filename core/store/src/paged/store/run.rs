//! One op's turn: plan, see that everything it takes is there, pass the throttle, apply, append to the log.

use super::op::{Running, Wait, Work};
use super::{PagedStore, limits};
use crate::paged::api::{Answer, Ask, Damage, OpError};
use crate::paged::change::Change;
use crate::paged::contents::{self, Miss};
use crate::paged::ids::PageSize;
use crate::paged::log::Kind;
use crate::paged::metrics::Reason;
use crate::paged::options::LogMode;
use crate::paged::space::EditOf;
use crate::paged::throttle::{Policy, Touch};
use crate::paged::tree::TreePages;
use loadline_base::Span;

/// Pages of the device that only transactions may take that give some back: else a full store could not be emptied.
const PAGES_RESERVED: u64 = 16;
/// Pages that one op asks for at a time.
const MISSES_MAX: usize = 64;

/// What is to become of an update now.
pub(super) enum Verdict {
    Go(Touch),
    Load(Vec<Miss>),
    Wait(Wait),
    Fail(OpError),
}

impl<T: Copy> PagedStore<T> {
    /// Gives an op its turn.
    pub(super) fn run(&mut self, mut running: Running<T>) {
        if let Some(error) = running.journey.as_mut().and_then(|journey| journey.failed.take()) {
            return self.fail(running, error);
        }
        match &running.work {
            Work::Asked(ask) if Self::is_update(ask) => {
                if self.parked.is_empty() {
                    self.prepare(running);
                } else {
                    running.wait = Wait::Turn;
                    self.parked.push_back(running);
                }
            }
            Work::Asked(_) => self.query(running),
            Work::Changes(_) => self.update(running, false),
            Work::Reading(_) => self.read_arrived(running),
        }
    }

    /// Gives a parked op another turn; if it still cannot go it stays first.
    pub(super) fn retry(&mut self, running: Running<T>) {
        match &running.work {
            Work::Asked(ask) if Self::is_update(ask) => self.prepare(running),
            Work::Changes(_) => self.update(running, true),
            _ => self.run(running),
        }
    }

    /// Lets an op wait for something that [`PagedStore::unpark`] is told of.
    ///
    /// It keeps no pages meanwhile: ops that wait for what the others keep would wait for ever.
    pub(super) fn park(&mut self, mut running: Running<T>, wait: Wait, first: bool) {
        running.wait = wait;
        self.release_pins(&mut running);
        match wait {
            Wait::LogRoom => self.want_checkpoint(Reason::LogSize),
            Wait::FreePages => self.want_checkpoint(Reason::Space),
            Wait::Frames if self.job.is_none() => self.want_checkpoint(Reason::DirtyPages),
            _ => {}
        }
        if first {
            self.parked.push_front(running);
        } else {
            self.parked.push_back(running);
        }
    }

    /// An update whose own data is where it belongs.
    pub(super) fn update(&mut self, mut running: Running<T>, first: bool) {
        let Work::Changes(changes) =
            std::mem::replace(&mut running.work, Work::Changes(Vec::new()))
        else {
            unreachable!("an update has changes");
        };
        let verdict = self.judge(&changes);
        if let Verdict::Go(touch) = verdict
            && self.throttle_passes(&mut running, touch)
        {
            self.apply(running, &changes);
            return;
        }
        running.work = Work::Changes(changes);
        match verdict {
            Verdict::Go(_) => {
                running.wait = Wait::Throttle;
                self.sleeper += 1;
                let until = self.now + running.stages.throttled;
                self.sleeping.insert((until, self.sleeper), running);
            }
            Verdict::Load(misses) => self.load_for(running, &misses),
            Verdict::Wait(wait) => self.park(running, wait, first),
            Verdict::Fail(error) => self.fail(running, error),
        }
    }

    /// Plans a transaction and compares what it takes with what is there.
    pub(super) fn judge(&mut self, changes: &[Change<'_>]) -> Verdict {
        self.space.pages.next_op();
        loop {
            let misses = self.plan(changes);
            if !misses.is_empty() {
                return Verdict::Load(misses);
            }
            let frames = self.needs.new_frames(self.page_size());
            if frames <= self.space.pages.free_frames() {
                break;
            }
            if frames > self.allowed(self.space.pages.frames() / 4) {
                return Verdict::Fail(OpError::TooLarge);
            }
            // What goes to make room may be what was planned on.
            if !self.space.pages.make_room(frames) {
                return Verdict::Wait(Wait::Frames);
            }
        }
        let touch = self.count_touch();
        match self
            .find_pages(changes)
            .or_else(|| self.find_frames(touch))
            .or_else(|| self.find_log_room(changes, touch))
        {
            Some(verdict) => verdict,
            None => Verdict::Go(touch),
        }
    }

    fn page_size(&self) -> PageSize {
        self.superblock.layout.page
    }

    /// Plans every change; what is missing for any of them is asked for at once.
    pub(super) fn plan(&mut self, changes: &[Change<'_>]) -> Vec<Miss> {
        self.needs.clear();
        let slack = changes.iter().map(|change| contents::slack(&self.space, change)).sum();
        let mut misses = Vec::new();
        for change in changes {
            if let Err(miss) = contents::plan(&self.space, change, slack, &mut self.needs)
                && !misses.contains(&miss)
            {
                misses.push(miss);
                if misses.len() == MISSES_MAX {
                    break;
                }
            }
        }
        misses
    }

    /// How many of the planned pages are the running checkpoint's, and how many are clean.
    fn count_touch(&self) -> Touch {
        let pages = &self.space.pages;
        let clean = self.needs.new_frames(self.page_size());
        let mut touch = Touch { in_checkpoint: 0, clean, log_bytes: 0 };
        for page in self.needs.touched() {
            match pages.touch(page) {
                EditOf::Checkpoint => touch.in_checkpoint += 1,
                EditOf::Clean => touch.clean += 1,
                EditOf::Dirty => {}
            }
        }
        if self.needs.frees || self.needs.new_pages(self.page_size()) > 0 {
            // Which pages of the free map change is only known when they do.
            touch.in_checkpoint +=
                pages.counts().map_unsaved.min(self.needs.new_pages(self.page_size()) + 8);
        }
        touch
    }

    /// Free pages of the device.
    fn find_pages(&self, changes: &[Change<'_>]) -> Option<Verdict> {
        let allocator = &self.space.pages.allocator;
        let gives_back = changes.iter().all(|change| {
            matches!(
                change,
                Change::Delete { .. }
                    | Change::Remove { .. }
                    | Change::Punch { .. }
                    | Change::Truncate { .. }
                    | Change::RemoveAttribute { .. }
            )
        });
        let reserve = if gives_back { 0 } else { PAGES_RESERVED };
        let wanted = u64::from(self.needs.new_pages(self.page_size())) + reserve;
        if self.restart.is_some() {
            // It fitted once, as it really was. Here later transactions have claimed their pages already, and the estimate
            // may not fit: it goes on as soon as nothing more can be had.
            let waits = wanted > allocator.free() && allocator.returning() > 0;
            return waits.then_some(Verdict::Wait(Wait::FreePages));
        }
        if wanted <= allocator.free() || self.needs.new_pages(self.page_size()) == 0 {
            None
        } else if wanted <= allocator.free() + allocator.returning() {
            Some(Verdict::Wait(Wait::FreePages))
        } else {
            Some(Verdict::Fail(OpError::NoSpace))
        }
    }

    /// The most pages that may be dirty, or on their way: three quarters of the cache (checkpoint.md 3.4).
    pub(super) fn held_max(&self) -> u32 {
        self.space.pages.frames() / 4 * 3
    }

    /// What one transaction may take at most of `most`: not all, because a plan is an estimate, and the one that a replay makes
    /// of the same transaction may come out higher.
    fn allowed(&self, most: u32) -> u32 {
        if self.restart.is_some() { most } else { most / 4 * 3 }
    }

    /// Frames that may become dirty, and slots for old versions.
    fn find_frames(&self, touch: Touch) -> Option<Verdict> {
        let pages = &self.space.pages;
        let counts = pages.counts();
        let newly_dirty = touch.clean + touch.in_checkpoint;
        let images_max = u32::try_from(self.superblock.layout.images_max()).unwrap_or(u32::MAX);
        // Not only those that are clean now: after a restart all of them are.
        let all = self.needs.touched().count() as u32 + self.needs.new_frames(self.page_size());
        if all > self.allowed(self.held_max().min(images_max)) {
            return Some(Verdict::Fail(OpError::TooLarge));
        }
        // Map pages that come on top are few and the cap leaves a quarter of the cache.
        if counts.held + touch.clean > self.held_max() || counts.dirty + newly_dirty > images_max {
            return Some(Verdict::Wait(Wait::Frames));
        }
        let (used, slots) = pages.old_versions();
        (touch.in_checkpoint > slots - used).then_some(Verdict::Wait(Wait::OldVersions))
    }

    /// Room in the log, with the worst that the pages may add to it.
    fn find_log_room(&mut self, changes: &[Change<'_>], touch: Touch) -> Option<Verdict> {
        self.body.clear();
        if self.options.log_mode == LogMode::None || self.restart.is_some() {
            return None;
        }
        changes.iter().for_each(|change| change.encode(&mut self.body));
        let layout = &self.superblock.layout;
        if self.body.len() > limits(layout).transaction_bytes {
            return Some(Verdict::Fail(OpError::TooLarge));
        }
        let images = if self.space.pages.journal.is_on() {
            // Clean pages give an image; a merge of dirty ones gives edits of at most a page; two pages of the free map.
            let pages = u64::from(touch.clean) + u64::from(touch.in_checkpoint) + 3;
            pages * (layout.page.bytes() as u64 + 64) + 2 * self.body.len() as u64
        } else {
            0
        };
        let wanted = self.body.len() as u64 + images + 4096;
        if wanted > layout.log_bytes / 4 {
            return Some(Verdict::Fail(OpError::TooLarge));
        }
        (wanted > self.log.room()).then_some(Verdict::Wait(Wait::LogRoom))
    }

    /// Whether the op may go on now. Else it has been told how long to sleep.
    fn throttle_passes(&mut self, running: &mut Running<T>, touch: Touch) -> bool {
        if running.admitted {
            return true;
        }
        running.admitted = true;
        running.stages.planned = self.now;
        if self.options.throttle == Policy::None {
            return true;
        }
        let pressure = self.pressure();
        let log_bytes = u32::try_from(self.body.len()).unwrap_or(u32::MAX);
        let sleep = self.throttle.charge(self.now, &pressure, Touch { log_bytes, ..touch });
        running.stages.throttled = sleep;
        sleep == Span::ZERO
    }

    /// Carries an update out and appends it to the log.
    fn apply(&mut self, mut running: Running<T>, changes: &[Change<'_>]) {
        running.stages.admitted = self.now;
        running.stages.applied = self.now;
        contents::apply(&mut self.space, changes, &self.needs);
        self.metrics.totals.transactions += 1;
        self.release_pins(&mut running);
        let lane = running.lane;
        if self.options.log_mode == LogMode::None {
            self.complete(running.token, running.stages, Ok(Answer::Done));
        } else {
            let position = self.append_transaction(changes);
            self.commit(running.token, running.stages, position);
        }
        self.leave_lane(lane);
        if let Some(job) = &mut self.job {
            job.note_buffer(self.space.pages.old_versions().0);
        }
    }

    fn append_transaction(&mut self, changes: &[Change<'_>]) -> crate::paged::ids::Lsn {
        self.append_sign();
        let before = self.log.head();
        let position = self.log.append(Kind::Transaction, &self.body);
        if self.space.pages.journal.is_on() {
            self.append_physical();
        }
        self.own_data_unflushed |=
            changes.iter().any(|change| matches!(change, Change::Place { .. }));
        self.metrics.totals.log_bytes += self.log.head().0 - before.0;
        position
    }

    /// Images of the pages that were clean, edits of the others.
    fn append_physical(&mut self) {
        let before = self.log.head();
        for at in 0..self.space.pages.journal.first_changed().len() {
            let page = self.space.pages.journal.first_changed()[at];
            // A page that was changed and given back in the same transaction is nobody's.
            if self.space.pages.is_dirty(page) {
                self.append_image(page);
            }
        }
        if !self.space.pages.journal.edits().is_empty() {
            self.append_sign();
            self.log.append(Kind::Edits, self.space.pages.journal.edits());
        }
        self.space.pages.journal.clear();
        self.metrics.totals.log_physical_bytes += self.log.head().0 - before.0;
    }

    fn append_image(&mut self, page: crate::paged::ids::PageNo) {
        let (bytes, raw) = self.space.pages.current(page);
        let content = crate::paged::image::Content::of(raw);
        self.body.clear();
        self.body.extend_from_slice(&page.0.to_le_bytes());
        self.body.extend_from_slice(&[0, u8::from(raw)]);
        let form = self.compressor.compress(bytes, content, &mut self.body);
        self.body[8] = form.byte();
        self.append_sign();
        self.log.append(Kind::Image, &self.body);
        self.metrics.totals.log_images += 1;
    }

    /// Ends an op with an error; nothing of it is carried out.
    pub(super) fn fail(&mut self, mut running: Running<T>, mut error: OpError) {
        if let OpError::Damaged(Damage::Object(id, range)) = &mut error
            && let Ok(Some(meta)) = contents::meta(&self.space, *id)
        {
            range.end = range.end.min(meta.length);
        }
        if let Some(journey) = &mut running.journey {
            for run in std::mem::take(&mut journey.own) {
                self.space.pages.allocator.unclaim(run);
            }
        }
        self.finish(running, Err(error));
    }

    /// Ends an op that does not wait for the log.
    pub(super) fn finish(&mut self, mut running: Running<T>, result: Result<Answer, OpError>) {
        self.release_pins(&mut running);
        self.complete(running.token, running.stages, result);
        self.leave_lane(running.lane);
    }

    /// Lets go the pages that were kept for an op.
    pub(super) fn release_pins(&mut self, running: &mut Running<T>) {
        let Some(journey) = &mut running.journey else { return };
        for page in journey.pins.drain(..) {
            self.space.pages.unpin(page);
            self.pinned_for_ops -= 1;
            self.unpark = true;
        }
    }

    /// Asks for a checkpoint, if none is asked for.
    pub(super) fn want_checkpoint(&mut self, reason: Reason) {
        self.checkpoint_wanted.get_or_insert(reason);
    }

    /// An answer that needs no pages.
    pub(super) fn ask_of(running: &Running<T>) -> &Ask {
        match &running.work {
            Work::Asked(ask) => ask,
            Work::Changes(_) | Work::Reading(_) => unreachable!("the op is as it was asked"),
        }
    }
}
