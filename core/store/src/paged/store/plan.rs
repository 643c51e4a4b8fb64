//! What a transaction's next step takes, and whether it is there: pages of the device, frames, room in the log.

use super::PagedStore;
use super::op::{KeptPages, Looking};
use crate::paged::api::{OpError, RoomClaim};
use crate::paged::bounds;
use crate::paged::change::Change;
use crate::paged::contents::{self, Carried, Miss, StepUnderWay};
use crate::paged::exceeded::{Bound, Exceeded};
use crate::paged::options::LogMode;
use crate::paged::space::Takes;
use crate::paged::tree::ValuePlace;
use crate::paged::wait::Wait;

/// Pages of the device that only transactions may take that give some back: else a full store could not be emptied.
const PAGES_RESERVED: u64 = 16;
/// Pages that must be free beside those for an update's own data.
pub(super) const BESIDE_OWN_DATA: u64 = 64;
/// Bytes of the log that are left for records beside a transaction's: instants, positions, padding of one block.
const LOG_SLACK: u64 = 4096;

/// What is to become of an update now.
pub(super) enum UpdateVerdict {
    Go(Plan),
    Load(Vec<Miss>),
    Wait(Wait),
    Fail(OpError),
}

/// Something that a step takes is not there.
pub(super) enum Lack {
    Wait(Wait),
    Fail(OpError),
}

/// The next step of a transaction; all that it takes is there.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub(super) takes: Takes,
    /// The place that takes all of it. Otherwise the step is drafted.
    pub(super) place: Option<ValuePlace>,
    /// Where the transaction goes on afterwards; `None` if it is at its end.
    pub(super) next: Option<Carried>,
}

impl<T: Copy> PagedStore<T> {
    /// Drafts a transaction's next step and compares what it takes with what is there. The step goes on from where those before it have come to,
    /// or is the first one.
    pub(super) fn judge(
        &mut self,
        changes: &[Change<'_>],
        (from, claim): (Option<Carried>, RoomClaim),
        kept: KeptPages,
        survey: Looking,
    ) -> UpdateVerdict {
        self.space.pages.next_op();
        let plan = match contents::place_for(&mut self.space, changes) {
            Some(place) => self.plan_for(place),
            None => match self.draft(changes, from, kept) {
                Ok(plan) => plan,
                Err(misses) => return UpdateVerdict::Load(misses),
            },
        };
        let lack = self
            .find_pages(changes, plan, (from, claim), survey)
            .and_then(|()| self.find_frames(plan.takes))
            .and_then(|()| self.find_log_room(changes, plan, from));
        match lack {
            Ok(()) => UpdateVerdict::Go(plan),
            Err(lack) => {
                self.forget(plan);
                match lack {
                    Lack::Wait(wait) => UpdateVerdict::Wait(wait),
                    Lack::Fail(error) => UpdateVerdict::Fail(error),
                }
            }
        }
    }

    fn plan_for(&self, place: ValuePlace) -> Plan {
        let mut takes = Takes::default();
        place.pages().for_each(|page| takes.add(self.space.pages.touch(page)));
        Plan { takes, place: Some(place), next: None }
    }

    /// Drafts the next step: all that is left, or as much as one step may change and as may be kept in memory for it.
    pub(super) fn draft(
        &mut self,
        changes: &[Change<'_>],
        from: Option<Carried>,
        kept: KeptPages,
    ) -> Result<Plan, Vec<Miss>> {
        let (pages_max, pins_max) =
            (self.memory.room().step_max() as usize, self.memory.room().pins_max() as usize);
        let mut marks_max = u32::MAX;
        loop {
            self.space.begin_draft(pages_max);
            let mut step = StepUnderWay::new(from, pages_max, marks_max);
            if let Some(restart) = &self.restart {
                step = restart.of_replay(step);
            }
            let is_whole = contents::draft(&mut self.space, changes, &mut step);
            let misses = step.misses();
            if misses.is_empty() && !step.is_over() {
                let takes = self.space.pages.draft_takes();
                let next = (!is_whole).then(|| step.progress());
                return Ok(Plan { takes, place: None, next });
            }
            self.space.drop_draft();
            let may_end_before = step.marks() > 0 && step.marks() < marks_max;
            let is_enough = kept.count >= pins_max || kept.are_nearest;
            if misses.is_empty() || (is_enough && may_end_before) {
                marks_max = step.marks();
            } else {
                // What later changes miss takes half of what may be kept, the other half is the next one's.
                let ahead = if kept.are_nearest { 0 } else { pins_max / 2 };
                let most = ahead.saturating_sub(kept.count).clamp(1, misses.len());
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
    fn find_pages(
        &self,
        changes: &[Change<'_>],
        plan: Plan,
        (from, claim): (Option<Carried>, RoomClaim),
        survey: Looking,
    ) -> Result<(), Lack> {
        let Takes { pages, lacking, .. } = plan.takes;
        let allocator = &self.space.pages.allocator;
        let is_begun = from.is_some();
        let reserved = self.reserved(changes, claim);
        // One that has begun holds up all others: nobody would give back what it waits for.
        let claim = if is_begun { RoomClaim::Asked } else { claim };
        let wanted = match survey {
            // It fitted once, or it must go on.
            _ if is_begun || self.restart.is_some() => pages,
            // Once begun it must come to its end.
            Looking::Over(bound) if plan.next.is_some() => pages.max(bound) + reserved,
            _ if pages > 0 => pages + reserved,
            _ => 0,
        };
        self.find_free(wanted, allocator.free() + pages - lacking, claim)
    }

    /// Pages that these changes leave for others.
    pub(super) fn reserved(&self, changes: &[Change<'_>], claim: RoomClaim) -> u64 {
        match claim {
            _ if changes.iter().all(Change::gives_back) => 0,
            RoomClaim::Yields => self.kept_pages(),
            RoomClaim::Asked | RoomClaim::Owed => PAGES_RESERVED,
        }
    }

    /// Pages that only what is [owed](RoomClaim::Owed) may take.
    pub fn kept_pages(&self) -> u64 {
        self.memory.room().kept_pages().max(PAGES_RESERVED)
    }

    /// A page for one that an update loses. Nothing else is taken for it: the reserve is not touched.
    pub(super) fn find_lost_page(
        &self,
        changes: &[Change<'_>],
        claim: RoomClaim,
    ) -> Result<(), Lack> {
        let wanted = 1 + self.reserved(changes, claim);
        self.find_free(wanted, self.space.pages.allocator.free(), claim)
    }

    /// Pages for an update's own data, which are taken before it is known what else it takes.
    pub(super) fn find_own_pages(&self, own: u64, claim: RoomClaim) -> Result<(), Lack> {
        let beside = match claim {
            RoomClaim::Yields => BESIDE_OWN_DATA.max(self.kept_pages()),
            RoomClaim::Asked | RoomClaim::Owed => BESIDE_OWN_DATA,
        };
        let wanted = if own > 0 { own + beside } else { 0 };
        self.find_free(wanted, self.space.pages.allocator.free(), claim)
    }

    fn find_free(&self, wanted: u64, free: u64, claim: RoomClaim) -> Result<(), Lack> {
        if wanted <= free {
            Ok(())
        } else if wanted <= free + self.space.pages.allocator.returning() {
            Err(Lack::Wait(Wait::FreePages))
        } else if claim == RoomClaim::Owed {
            Err(Lack::Wait(Wait::Room))
        } else {
            Err(Lack::Fail(OpError::NoSpace))
        }
    }

    /// What carries out again what has fitted once.
    pub(super) fn find_for_replay(&mut self, takes: Takes) -> Result<(), Lack> {
        let Takes { pages, lacking, .. } = takes;
        let free = self.space.pages.allocator.free() + pages - lacking;
        self.find_free(pages, free, RoomClaim::Asked)?;
        self.find_frames(takes)
    }

    /// Frames, pages that may become dirty, and slots for old versions.
    fn find_frames(&mut self, takes: Takes) -> Result<(), Lack> {
        let Takes { in_checkpoint, clean, frames, .. } = takes;
        let (asked, most) =
            (u64::from(clean + in_checkpoint), u64::from(self.memory.room().hold_max()));
        Exceeded::check(Bound::StepPages, asked, most)
            .map_err(|exceeded| Lack::Fail(OpError::Exceeds(exceeded)))?;
        let pages = &mut self.space.pages;
        let counts = pages.counts();
        if counts.held + clean > self.memory.room().held_max()
            || counts.dirty + clean + in_checkpoint > self.memory.room().dirty_max()
            || !pages.make_room(frames)
        {
            return Err(Lack::Wait(Wait::Frames));
        }
        let (used, slots) = pages.old_versions();
        match in_checkpoint > slots - used {
            true => Err(Lack::Wait(Wait::OldVersions)),
            false => Ok(()),
        }
    }

    /// Room in the log, for the record and for what the pages add to it.
    fn find_log_room(
        &mut self,
        changes: &[Change<'_>],
        plan: Plan,
        from: Option<Carried>,
    ) -> Result<(), Lack> {
        if self.restart.is_some() {
            return Ok(());
        }
        let is_begun = from.is_some();
        if !is_begun {
            let bytes = self.log.encode(changes);
            let most = self.limits().transaction_bytes as u64;
            Exceeded::check(Bound::TransactionBytes, bytes, most)
                .map_err(|exceeded| Lack::Fail(OpError::Exceeds(exceeded)))?;
        }
        let is_logged = self.options.log_mode != LogMode::None && !is_begun;
        let record = self.log.record().len() as u64;
        let mut wanted = if is_logged { record + LOG_SLACK } else { 0 };
        if is_begun || plan.next.is_some() {
            // It stands in the log once more behind each instant until it has ended; two of them are needed at a time.
            let record = self.ops.in_part().map_or(record, |begun| begun.len() as u64);
            wanted += 2 * (record + LOG_SLACK);
        }
        let journal = &self.space.pages.journal;
        if journal.is_on() {
            let Takes { in_checkpoint, clean, .. } = plan.takes;
            let edits = record.max(journal.edits().len() as u64);
            let layout = &self.superblock.layout;
            let images = u64::from(in_checkpoint + clean);
            let physical = bounds::physical_bytes_max(layout, images, edits)
                .map(|bytes| wanted + bytes + LOG_SLACK)
                .filter(|all| *all <= bounds::log_room_max(layout) / 2);
            match physical {
                Some(all) => wanted = all,
                // It would take most of a small log. This interval's checkpoint writes images of its own.
                None => self.log_pages(false),
            }
        }
        match wanted > self.log.room() {
            true => Err(Lack::Wait(Wait::LogRoom)),
            false => Ok(()),
        }
    }
}
