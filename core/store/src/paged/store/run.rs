//! One op's turn: [plan](super::plan) a step, pass the throttle, keep it, append to the log.

use super::PagedStore;
use super::op::{BadPage, KeptPages, Looking, OpWork, PassedPage, RunningOp};
use super::plan::{Lack, Plan, UpdateVerdict};
use super::prepare;
use crate::paged::api::{Answer, Ask, Damage, LostEnds, OpError, PastDamage};
use crate::paged::change::{Change, FilledRun, LostPage};
use crate::paged::contents::{self, DataPage, Miss, QueryFindings};
use crate::paged::exceeded::{Bound, Exceeded};
use crate::paged::metrics::CheckpointReason;
use crate::paged::options::LogMode;
use crate::paged::space::Takes;
use crate::paged::store::Fault;
use crate::paged::throttle::{Dirtied, ThrottlePolicy};
use crate::paged::wait::Wait;
use loadline_base::{SlotId, Span};

impl<T: Copy> PagedStore<T> {
    /// Gives an op its turn.
    pub(super) fn run(&mut self, mut running: RunningOp<T>) {
        if let Some(error) = running.journey.as_mut().and_then(|journey| journey.failed.take()) {
            return self.missed(running, error);
        }
        match &running.work {
            OpWork::Asked(ask) if Self::is_update(ask) => {
                if self.ops.parked() == 0 {
                    self.prepare(running);
                } else {
                    running.wait = Wait::Turn;
                    self.ops.park(running, false);
                }
            }
            OpWork::Asked(_) => self.query(running),
            OpWork::Changes(_) => self.go_on_with_own(running, false),
            OpWork::Reading(_) => self.read_arrived(running),
            OpWork::Rereading(_) => self.reread_on(running),
        }
    }

    /// Gives a parked op another turn; if it still cannot go it stays first.
    pub(super) fn retry(&mut self, running: RunningOp<T>) {
        match &running.work {
            OpWork::Asked(ask) if Self::is_update(ask) => self.prepare(running),
            OpWork::Changes(_) => self.update(running, true),
            _ => self.run(running),
        }
    }

    /// Lets an op wait for something that [`Ops::note_change`](super::ops::Ops::note_change) is told of.
    ///
    /// It keeps no pages meanwhile: ops that wait for what the others keep would wait for ever.
    pub(super) fn park(&mut self, mut running: RunningOp<T>, wait: Wait, first: bool) {
        if wait == Wait::Room {
            return self.park_without_room(running);
        }
        running.wait = wait;
        let let_go = self.let_pins_go(&mut running) > 0;
        // Where pages are dirty or on their way home, a checkpoint is what those that want frames wait for. Woken before, they would read their
        // pages, find out what this one did, and wake it in turn, for as long as that takes.
        let is_for_pins = !self.checkpoint.is_running() && self.space.pages.counts().dirty == 0;
        if let_go && is_for_pins {
            self.ops.note_change();
        }
        match wait {
            Wait::LogRoom => self.checkpoint.want(CheckpointReason::LogSize),
            // What is on its way back may be enough.
            Wait::FreePages if self.space.pages.allocator.has_ended() => {}
            Wait::FreePages => self.checkpoint.want(CheckpointReason::Space),
            Wait::Frames if !self.checkpoint.is_running() => {
                self.checkpoint.want(CheckpointReason::DirtyPages)
            }
            _ => {}
        }
        self.ops.park(running, first);
    }

    /// Lets an update wait for pages that others give back. It holds up nobody meanwhile but those behind it in its lane, so that they can.
    fn park_without_room(&mut self, mut running: RunningOp<T>) {
        running.wait = Wait::Room;
        self.start_over(&mut running);
        self.let_pins_go(&mut running);
        running.journey().without_room_since.get_or_insert(self.now);
        self.ops.park_without_room(running);
    }

    /// An update whose own data is where it belongs.
    pub(super) fn update(&mut self, mut running: RunningOp<T>, first: bool) {
        if self.is_held_back(&running) {
            return self.park(running, Wait::Turn, false);
        }
        match self.place_lost(&mut running) {
            Ok(()) => {}
            Err(Lack::Wait(wait)) => return self.park(running, wait, first),
            Err(Lack::Fail(error)) => return self.fail(running, error),
        }
        if running.survey() == Looking::UnderWay {
            return self.survey(running);
        }
        let OpWork::Changes(changes) =
            std::mem::replace(&mut running.work, OpWork::Changes(Vec::new()))
        else {
            unreachable!("an update has changes");
        };
        loop {
            let (from, kept) = running
                .journey
                .as_ref()
                .map_or_else(Default::default, |journey| (journey.progress, journey.kept()));
            let survey = running.survey();
            let verdict = self.judge(&changes, (from, running.terms.claim), kept, survey);
            if let UpdateVerdict::Go(plan) = verdict
                && plan.next.is_some()
                && survey == Looking::NotYet
            {
                self.forget(plan);
                running.work = OpWork::Changes(changes);
                return self.survey(running);
            }
            if let UpdateVerdict::Go(plan) = verdict
                && running.is_in_doubt()
            {
                self.forget(plan);
                running.work = OpWork::Changes(changes);
                return self.ask(running);
            }
            if let UpdateVerdict::Go(plan) = verdict
                && self.throttle_passes(&mut running, plan)
            {
                if self.carry_out(&mut running, &changes, plan) {
                    return self.carried_out(running);
                }
                continue;
            }
            running.work = OpWork::Changes(changes);
            let first = first || running.is_begun() || running.holds_updates();
            return match verdict {
                UpdateVerdict::Go(plan) => self.sleep(running, plan),
                UpdateVerdict::Load(misses) => self.load_for_step(running, kept, &misses),
                UpdateVerdict::Wait(wait) => self.park(running, wait, first),
                UpdateVerdict::Fail(error) => self.fail(running, error),
            };
        }
    }

    /// Pages that the next step misses. What was asked for ahead may have pushed out what the way to the next mark needs and nobody
    /// had to keep: then that alone is asked for.
    fn load_for_step(&mut self, mut running: RunningOp<T>, kept: KeptPages, misses: &[Miss]) {
        let (asked, most) = (kept.count + misses.len(), self.memory.room().pins_max());
        match Exceeded::check(Bound::StepPages, asked as u64, most.into()) {
            Ok(()) => self.load_for(running, misses),
            Err(_) if !kept.are_nearest => {
                self.release_pins(&mut running);
                running.journey().pins_are_nearest = true;
                self.load_for(running, &misses[..1]);
            }
            Err(exceeded) => self.fail(running, OpError::Exceeds(exceeded)),
        }
    }

    /// Looks through an update that goes in steps, before the first of them. Until then it is as if it had not begun.
    fn survey(&mut self, mut running: RunningOp<T>) {
        if !self.hold_updates(&mut running) {
            return self.park(running, Wait::Turn, false);
        }
        let mut found = running.take_found();
        let OpWork::Changes(changes) = &running.work else { unreachable!("an update has changes") };
        self.space.pages.next_op();
        match contents::survey(&self.space, changes, &mut found.survey) {
            Ok(pages) => {
                running.journey().survey = Looking::Over(pages);
                self.release_pins(&mut running);
                self.update(running, true);
            }
            Err(miss) => {
                running.journey().survey = Looking::UnderWay;
                self.look_on(running, found, miss);
            }
        }
    }

    /// An op needs what it cannot have. An update that goes past damage leaves such pages as they are; or it loses those that are damaged, and goes
    /// by those that may be read another time.
    fn missed(&mut self, mut running: RunningOp<T>, error: OpError) {
        let bad = std::mem::take(&mut running.journey().bad_pages);
        let goes_past = running.terms.past.is_some() && !running.is_begun();
        let is_partial = |bad: &BadPage| self.partly_changed(&running, bad).is_some();
        if !goes_past || bad.is_empty() || !bad.iter().all(is_partial) {
            return self.fail(running, error);
        }
        for bad in bad {
            let passed = self.partly_changed(&running, &bad).expect("it was looked at");
            let OpWork::Changes(changes) = &mut running.work else { unreachable!("it changes") };
            let all = std::mem::take(changes).into_iter();
            *changes = all.flat_map(|change| change.without(&passed.page)).collect();
            if running.terms.past == Some(PastDamage::Leave) {
                running.stages.untouched = running.stages.untouched.or(passed.ends);
                continue;
            }
            running.stages.lost = running.stages.lost.or(passed.ends);
            running.journey().passed.push(passed);
        }
        self.start_over(&mut running);
        self.update(running, true);
    }

    /// An update has found all that it needs, but for pages that it goes by: its owner is asked about these.
    fn ask(&mut self, mut running: RunningOp<T>) {
        self.start_over(&mut running);
        self.release_pins(&mut running);
        let ends = running.stages.lost;
        self.ops.doubt(running, ends);
    }

    /// The word has come about pages that an update goes by: where others have what it would do there, the page is lost.
    pub(super) fn end_doubt(&mut self, slot: SlotId, word: LostEnds) {
        let mut running = self.ops.release(slot);
        let passed = &mut running.journey().passed;
        passed.retain_mut(|passed| {
            passed.is_lost |= word.cover(passed.ends);
            passed.is_lost
        });
        self.ops.wake(running);
    }

    /// What an update does to a part of a page; `None` if it does not, or more than once.
    fn partly_changed(&self, running: &RunningOp<T>, bad: &BadPage) -> Option<PassedPage> {
        let OpWork::Changes(changes) = &running.work else { return None };
        let size = self.superblock.layout.page.bytes() as u64;
        let DataPage { object, index, .. } = bad.page;
        let page = LostPage { object, index, from: index * size, to: (index + 1) * size };
        let mut all = changes.iter().filter_map(|change| change.lost_ends(&page));
        // Two changes of one page would be two places for it.
        let (Some((ends, version)), None) = (all.next(), all.next()) else { return None };
        // An object that ends in the page would have nothing of it, so it must be lost.
        let loses = bad.is_damaged && matches!(running.terms.past, Some(PastDamage::Lose(_)));
        let is_end = |it: &Change<'static>| {
            matches!(it, Change::Truncate { .. }) && it.lost_ends(&page).is_some()
        };
        if !loses && changes.iter().any(is_end) {
            return None;
        }
        Some(PassedPage { page, ends, version, is_lost: bad.is_damaged })
    }

    /// Gives the pages a place that an update loses, and notes that they are lost.
    fn place_lost(&mut self, running: &mut RunningOp<T>) -> Result<(), Lack> {
        let RunningOp { work: OpWork::Changes(changes), journey: Some(journey), terms, .. } =
            running
        else {
            return Ok(());
        };
        while let Some(at) = journey.passed.iter().position(|passed| passed.is_lost) {
            self.find_lost_page(changes, terms.claim)?;
            let place = self.space.pages.allocator.take(1).expect("there is one");
            journey.own.push(place);
            let PassedPage { page, version, .. } = journey.passed.remove(at);
            let LostPage { object, index, .. } = page;
            let runs = vec![FilledRun::lost(place.first)];
            changes.push(Change::Place { object, version, index, runs });
            if let Some(PastDamage::Lose(note)) = &terms.past {
                changes.push(prepare::change_of(note.edit()));
            }
        }
        Ok(())
    }

    /// What an update has found out so far counts no more; it holds up nobody.
    fn start_over(&mut self, running: &mut RunningOp<T>) {
        self.let_updates_go(running);
        let journey = running.journey();
        journey.retries = 0;
        (journey.survey, journey.found) = (Looking::NotYet, QueryFindings::default());
    }

    /// Whether an update must wait: for a transaction that is carried out in part, because nobody else may change what it finds, or
    /// for a query in parts.
    pub(super) fn is_held_back(&self, running: &RunningOp<T>) -> bool {
        let is_ahead = running.is_begun() || running.holds_updates();
        self.ops.holds_updates() && !is_ahead
    }

    fn sleep(&mut self, running: RunningOp<T>, plan: Plan) {
        self.forget(plan);
        self.ops.sleep(self.now + running.stages.throttled, running);
    }

    /// Whether the op may go on now. Else it has been told how long to sleep.
    fn throttle_passes(&mut self, running: &mut RunningOp<T>, plan: Plan) -> bool {
        if running.admitted {
            return true;
        }
        running.admitted = true;
        running.stages.planned = self.now;
        if self.options.throttle == ThrottlePolicy::None {
            return true;
        }
        let pressure = self.pressure();
        let Takes { in_checkpoint, clean, .. } = plan.takes;
        let log_bytes = u32::try_from(self.log.record().len()).unwrap_or(u32::MAX);
        let touch = Dirtied { in_checkpoint, clean, log_bytes };
        let mut sleep = self.checkpoint.throttle(self.now, &pressure, touch);
        if self.options.throttle.is_turn() {
            sleep = sleep - running.in_lane;
        }
        if sleep == Span::ZERO || self.ops.is_hurried(running.lane) {
            return true;
        }
        running.stages.throttled = sleep;
        false
    }

    /// Makes a step what the pages are.
    pub(super) fn keep(&mut self, changes: &[Change<'_>], plan: Plan) {
        match plan.place {
            Some(place) => {
                if place.is_new() {
                    self.space.reshaped();
                }
                contents::put_in_place(&mut self.space, changes, place);
            }
            None => {
                self.space.reshaped();
                self.space.pages.keep_draft();
            }
        }
    }

    /// Carries a step of an update out and appends it to the log. Answers whether it was the last one.
    fn carry_out(
        &mut self,
        running: &mut RunningOp<T>,
        changes: &[Change<'_>],
        plan: Plan,
    ) -> bool {
        let returning = self.space.pages.allocator.returning();
        self.keep(changes, plan);
        if self.space.pages.allocator.returning() > returning {
            self.ops.note_room();
        }
        self.release_pins(running);
        running.journey.iter_mut().for_each(|journey| journey.pins_are_nearest = false);
        let is_first = !running.is_begun();
        if is_first {
            running.stages.admitted = self.now;
            if plan.next.is_some() {
                self.ops.begin_in_part(self.log.record().to_vec());
            }
            self.let_updates_go(running);
        }
        if self.options.log_mode != LogMode::None {
            let (before, _) = self.log.head();
            if is_first {
                running.record = self.log.append_transaction(changes);
            }
            if self.space.pages.journal.is_on() {
                self.log.append_physical(&mut self.space.pages, &mut self.metrics.totals);
            }
            self.metrics.totals.log_bytes += self.log.head().0.0 - before.0;
        }
        self.checkpoint.note_old_versions(self.space.pages.old_versions().0);
        if let Some(next) = plan.next {
            self.metrics.totals.steps += 1;
            running.journey().progress = Some(next);
        }
        plan.next.is_none()
    }

    /// An update is carried out whole: it waits for the log, if for anything.
    fn carried_out(&mut self, mut running: RunningOp<T>) {
        running.stages.applied = self.now;
        self.metrics.totals.transactions += 1;
        self.ops.apply(running.token);
        if running.is_begun() {
            self.ops.end_in_part();
        }
        if self.options.log_mode == LogMode::None {
            self.ops.end(running.token, running.stages, Ok(Answer::Done));
        } else {
            let whose = (running.token, running.stages, running.terms.promise);
            self.log.commit(self.now, whose, running.record, &mut self.ops);
        }
        self.ops.leave_lane(running.lane);
    }

    /// Ends an op with an error; nothing of it is carried out.
    pub(super) fn fail(&mut self, mut running: RunningOp<T>, mut error: OpError) {
        if running.is_begun() {
            // What is carried out stands, and the rest is in the log: the next start brings it to its end.
            self.stop(Fault::Unfinished);
            return self.ops.end(running.token, running.stages, Err(OpError::Stopped));
        }
        if let OpError::Damaged(Damage::Object(id, range)) = &mut error
            && let Ok(Some(meta)) = contents::meta(&self.space, *id)
        {
            // It may have become shorter than where the damaged page began.
            *range = range.start.min(meta.length)..range.end.min(meta.length);
        }
        self.release_pins(&mut running);
        self.take_own_back(&mut running);
        self.finish(running, Err(error));
    }

    /// Takes the pages back that an update was given for its own data, which are nobody's now.
    fn take_own_back(&mut self, running: &mut RunningOp<T>) {
        self.ops.note_room();
        let own = running.journey.as_mut().map(|journey| std::mem::take(&mut journey.own));
        for run in own.unwrap_or_default() {
            // A later part of the transaction may have looked at what an earlier one has written there.
            match self.space.pages.forget(run) {
                true => self.space.pages.allocator.unclaim(run),
                false => self.space.pages.allocator.give_back(run),
            }
        }
    }

    /// Ends an op that does not wait for the log.
    pub(super) fn finish(&mut self, mut running: RunningOp<T>, result: Result<Answer, OpError>) {
        self.release_pins(&mut running);
        self.let_updates_go(&mut running);
        self.ops.end(running.token, running.stages, result);
        self.ops.leave_lane(running.lane);
    }

    /// An answer that needs no pages.
    pub(super) fn ask_of(running: &RunningOp<T>) -> &Ask {
        match &running.work {
            OpWork::Asked(ask) => ask,
            OpWork::Changes(_) | OpWork::Reading(_) | OpWork::Rereading(_) => {
                unreachable!("the op is as it was asked")
            }
        }
    }
}
