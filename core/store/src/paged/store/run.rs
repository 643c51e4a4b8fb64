//! One op's turn: draft a step, see that everything it takes is there, pass the throttle, keep it, append to the log.

use super::PagedStore;
use super::op::{Running, Wait, Work};
use crate::paged::api::{Answer, Ask, Damage, OpError};
use crate::paged::bounds::{self, Bound, Exceeded};
use crate::paged::change::Change;
use crate::paged::contents::{self, Carried, Miss, Step};
use crate::paged::ids::{Lsn, PageNo};
use crate::paged::log::Kind;
use crate::paged::metrics::Reason;
use crate::paged::options::LogMode;
use crate::paged::space::Takes;
use crate::paged::store::Fault;
use crate::paged::throttle::{Policy, Touch};
use crate::paged::tree::{Place, TreePages};
use loadline_base::Span;

/// Pages of the device that only transactions may take that give some back: else a full store could not be emptied.
const PAGES_RESERVED: u64 = 16;
/// Bytes of the log that are left for records beside a transaction's: instants, positions, padding of one block.
const LOG_SLACK: u64 = 4096;

/// What is to become of an update now.
pub(super) enum Verdict {
    Go(Plan),
    Load(Vec<Miss>),
    Wait(Wait),
    Fail(OpError),
}

/// The next step of a transaction; all that it takes is there.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    takes: Takes,
    /// The place that takes all of it. Otherwise the step is drafted.
    place: Option<Place>,
    /// Where the transaction goes on afterwards; `None` if it is at its end.
    pub(super) next: Option<Carried>,
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
        if self.is_held_back(&running) {
            return self.park(running, Wait::Turn, false);
        }
        let Work::Changes(changes) =
            std::mem::replace(&mut running.work, Work::Changes(Vec::new()))
        else {
            unreachable!("an update has changes");
        };
        loop {
            let (from, pins) = running
                .journey
                .as_ref()
                .map_or_else(Default::default, |journey| (journey.progress, journey.pins.len()));
            let verdict = self.judge(&changes, from, pins);
            if let Verdict::Go(plan) = verdict
                && self.throttle_passes(&mut running, plan)
            {
                if self.carry_out(&mut running, &changes, plan) {
                    return self.carried_out(running);
                }
                continue;
            }
            running.work = Work::Changes(changes);
            let first = first || running.is_begun();
            return match verdict {
                Verdict::Go(plan) => self.sleep(running, plan),
                Verdict::Load(misses) => {
                    let (asked, most) = (pins + misses.len(), self.room.pins_max());
                    match Exceeded::check(Bound::StepPages, asked as u64, most.into()) {
                        Ok(()) => self.load_for(running, &misses),
                        Err(exceeded) => self.fail(running, OpError::Exceeds(exceeded)),
                    }
                }
                Verdict::Wait(wait) => self.park(running, wait, first),
                Verdict::Fail(error) => self.fail(running, error),
            };
        }
    }

    /// Whether an update must wait: for a transaction that is carried out in part, because nobody else may change what it finds, or
    /// for a query in parts.
    pub(super) fn is_held_back(&self, running: &Running<T>) -> bool {
        (self.under_way.is_some() || self.updates_held) && !running.is_begun()
    }

    fn sleep(&mut self, mut running: Running<T>, plan: Plan) {
        self.forget(plan);
        running.wait = Wait::Throttle;
        self.sleeper += 1;
        let until = self.now + running.stages.throttled;
        self.sleeping.insert((until, self.sleeper), running);
    }

    /// Drafts a transaction's next step and compares what it takes with what is there.
    pub(super) fn judge(&mut self, changes: &[Change<'_>], from: Carried, pins: usize) -> Verdict {
        self.space.pages.next_op();
        let plan = match contents::place_for(&self.space, changes) {
            Some(place) => self.plan_for(place),
            None => match self.draft(changes, from, pins) {
                Ok(plan) => plan,
                Err(misses) => return Verdict::Load(misses),
            },
        };
        let lack = self
            .find_pages(changes, plan, from)
            .and_then(|()| self.find_frames(plan.takes))
            .and_then(|()| self.find_log_room(changes, plan, from));
        match lack {
            Ok(()) => Verdict::Go(plan),
            Err(verdict) => {
                self.forget(plan);
                verdict
            }
        }
    }

    fn plan_for(&self, place: Place) -> Plan {
        let mut takes = Takes::default();
        place.pages().for_each(|page| takes.add(self.space.pages.touch(page)));
        Plan { takes, place: Some(place), next: None }
    }

    /// Drafts the next step: all that is left, or as much as one step may change and as may be kept in memory for it.
    pub(super) fn draft(
        &mut self,
        changes: &[Change<'_>],
        from: Carried,
        pins: usize,
    ) -> Result<Plan, Vec<Miss>> {
        let (pages_max, pins_max) = (self.room.step_max() as usize, self.room.pins_max() as usize);
        let mut marks_max = u32::MAX;
        loop {
            self.space.begin_draft(pages_max);
            let mut step = Step::new(from, pages_max, marks_max);
            let is_whole = contents::draft(&mut self.space, changes, &mut step);
            let misses = step.misses();
            if misses.is_empty() && !step.is_over() {
                let takes = self.space.pages.draft_takes();
                let next = (!is_whole).then(|| step.progress());
                return Ok(Plan { takes, place: None, next });
            }
            self.space.drop_draft();
            let may_end_before = step.marks() > 0 && step.marks() < marks_max;
            if misses.is_empty() || (pins >= pins_max && may_end_before) {
                marks_max = step.marks();
            } else {
                // What later changes miss takes half of what may be kept, the other half is the next one's.
                let most = (pins_max / 2).saturating_sub(pins).clamp(1, misses.len());
                return Err(misses[..most].to_vec());
            }
        }
    }

    /// A plan is not carried out.
    pub(super) fn forget(&mut self, plan: Plan) {
        if plan.place.is_none() {
            self.space.drop_draft();
        }
    }

    /// Free pages of the device.
    fn find_pages(&self, changes: &[Change<'_>], plan: Plan, from: Carried) -> Result<(), Verdict> {
        let Takes { pages, lacking, .. } = plan.takes;
        let allocator = &self.space.pages.allocator;
        let is_begun = from != Carried::default();
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
        let wanted = if is_begun || gives_back || self.restart.is_some() {
            // It fitted once, or it must go on, or it makes room.
            pages
        } else if plan.next.is_some() {
            // Once begun it must come to its end.
            pages + contents::pages_bound(&self.space, changes) + PAGES_RESERVED
        } else if pages > 0 {
            pages + PAGES_RESERVED
        } else {
            0
        };
        let free = allocator.free() + pages - lacking;
        if wanted <= free {
            Ok(())
        } else if wanted <= free + allocator.returning() {
            Err(Verdict::Wait(Wait::FreePages))
        } else {
            Err(Verdict::Fail(OpError::NoSpace))
        }
    }

    /// Frames, pages that may become dirty, and slots for old versions.
    fn find_frames(&mut self, takes: Takes) -> Result<(), Verdict> {
        let Takes { in_checkpoint, clean, frames, .. } = takes;
        let (asked, most) = (u64::from(clean + in_checkpoint), u64::from(self.room.hold_max()));
        Exceeded::check(Bound::StepPages, asked, most)
            .map_err(|exceeded| Verdict::Fail(OpError::Exceeds(exceeded)))?;
        let pages = &mut self.space.pages;
        let counts = pages.counts();
        if counts.held + clean > self.room.held_max()
            || counts.dirty + clean + in_checkpoint > self.room.dirty_max()
            || !pages.make_room(frames)
        {
            return Err(Verdict::Wait(Wait::Frames));
        }
        let (used, slots) = pages.old_versions();
        match in_checkpoint > slots - used {
            true => Err(Verdict::Wait(Wait::OldVersions)),
            false => Ok(()),
        }
    }

    /// Room in the log, for the record and for what the pages add to it.
    fn find_log_room(
        &mut self,
        changes: &[Change<'_>],
        plan: Plan,
        from: Carried,
    ) -> Result<(), Verdict> {
        if self.restart.is_some() {
            return Ok(());
        }
        let is_begun = from != Carried::default();
        if !is_begun {
            self.body.clear();
            changes.iter().for_each(|change| change.encode(&mut self.body));
            let most = self.limits().transaction_bytes as u64;
            Exceeded::check(Bound::TransactionBytes, self.body.len() as u64, most)
                .map_err(|exceeded| Verdict::Fail(OpError::Exceeds(exceeded)))?;
        }
        let is_logged = self.options.log_mode != LogMode::None && !is_begun;
        let mut wanted = if is_logged { self.body.len() as u64 + LOG_SLACK } else { 0 };
        if is_begun || plan.next.is_some() {
            // It stands in the log once more behind each instant until it has ended; two of them are needed at a time.
            let body = self.under_way.as_ref().unwrap_or(&self.body);
            wanted += 2 * (body.len() as u64 + LOG_SLACK);
        }
        let journal = &self.space.pages.journal;
        if journal.is_on() {
            let Takes { in_checkpoint, clean, .. } = plan.takes;
            let image = bounds::image_bytes_max(self.superblock.layout.page);
            let edits = journal.edits().len().max(self.body.len()) as u64;
            let physical = u64::from(in_checkpoint + clean) * image + edits + LOG_SLACK;
            if wanted + physical > bounds::log_room_max(&self.superblock.layout) / 2 {
                // It would take most of a small log. This interval's checkpoint writes images of its own.
                self.interval_is_logged = false;
                self.space.pages.journal.set(false);
            } else {
                wanted += physical;
            }
        }
        match wanted > self.log.room() {
            true => Err(Verdict::Wait(Wait::LogRoom)),
            false => Ok(()),
        }
    }

    /// Whether the op may go on now. Else it has been told how long to sleep.
    fn throttle_passes(&mut self, running: &mut Running<T>, plan: Plan) -> bool {
        if running.admitted {
            return true;
        }
        running.admitted = true;
        running.stages.planned = self.now;
        if self.options.throttle == Policy::None {
            return true;
        }
        let pressure = self.pressure();
        let Takes { in_checkpoint, clean, .. } = plan.takes;
        let log_bytes = u32::try_from(self.body.len()).unwrap_or(u32::MAX);
        let touch = Touch { in_checkpoint, clean, log_bytes };
        let sleep = self.throttle.charge(self.now, &pressure, touch);
        running.stages.throttled = sleep;
        sleep == Span::ZERO
    }

    /// Makes a step what the pages are.
    pub(super) fn keep(&mut self, changes: &[Change<'_>], plan: Plan) {
        match plan.place {
            Some(place) => contents::put_in_place(&mut self.space, changes, place),
            None => self.space.pages.keep_draft(),
        }
    }

    /// Carries a step of an update out and appends it to the log. Answers whether it was the last one.
    fn carry_out(&mut self, running: &mut Running<T>, changes: &[Change<'_>], plan: Plan) -> bool {
        self.keep(changes, plan);
        self.release_pins(running);
        let is_first = !running.is_begun();
        if is_first {
            running.stages.admitted = self.now;
            if plan.next.is_some() {
                self.under_way = Some(self.body.clone());
            }
        }
        if self.options.log_mode != LogMode::None {
            let before = self.log.head();
            if is_first {
                running.record = self.append_transaction(changes);
            }
            if self.space.pages.journal.is_on() {
                self.append_physical();
            }
            self.metrics.totals.log_bytes += self.log.head().0 - before.0;
        }
        if let Some(job) = &mut self.job {
            job.note_buffer(self.space.pages.old_versions().0);
        }
        if let Some(next) = plan.next {
            self.metrics.totals.steps += 1;
            running.journey().progress = next;
        }
        plan.next.is_none()
    }

    /// An update is carried out whole: it waits for the log, if for anything.
    fn carried_out(&mut self, mut running: Running<T>) {
        running.stages.applied = self.now;
        self.metrics.totals.transactions += 1;
        if running.is_begun() {
            self.under_way = None;
            self.unpark = true;
        }
        if self.options.log_mode == LogMode::None {
            self.complete(running.token, running.stages, Ok(Answer::Done));
        } else {
            self.commit(running.token, running.stages, running.record);
        }
        self.leave_lane(running.lane);
    }

    fn append_transaction(&mut self, changes: &[Change<'_>]) -> Lsn {
        self.append_sign();
        self.own_data_unflushed |=
            changes.iter().any(|change| matches!(change, Change::Place { .. }));
        self.log.append(Kind::Transaction, &self.body)
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

    fn append_image(&mut self, page: PageNo) {
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
        if running.is_begun() {
            // What is carried out stands, and the rest is in the log: the next start brings it to its end.
            self.stop(Fault::Unfinished);
            return self.complete(running.token, running.stages, Err(OpError::Stopped));
        }
        if let OpError::Damaged(Damage::Object(id, range)) = &mut error
            && let Ok(Some(meta)) = contents::meta(&self.space, *id)
        {
            range.end = range.end.min(meta.length);
        }
        self.release_pins(&mut running);
        if let Some(journey) = &mut running.journey {
            for run in std::mem::take(&mut journey.own) {
                // A later part of the transaction may have looked at what an earlier one has written there.
                match self.space.pages.forget(run) {
                    true => self.space.pages.allocator.unclaim(run),
                    false => self.space.pages.allocator.give_back(run),
                }
            }
        }
        self.finish(running, Err(error));
    }

    /// Ends an op that does not wait for the log.
    pub(super) fn finish(&mut self, mut running: Running<T>, result: Result<Answer, OpError>) {
        self.release_pins(&mut running);
        self.let_updates_go(&mut running);
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
