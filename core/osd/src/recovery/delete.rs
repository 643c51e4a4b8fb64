//! Deletion of a placement group that has left: a few objects per item, as background work, and a pause after each
//! transaction where the scheduler does not pace it (qos.md 11, scrub.md 4).
//!
//! It takes one of the OSD's local slots, as the recovery of a group that the OSD leads does, and keeps it until the copy is gone or
//! comes back. Any recovery is more urgent and takes the slot of a deletion that is under way: it goes on where it was, as nothing is lost by its waiting. The field's
//! own priority lies above backfills; one that lost its slot here would rest for a whole retry interval. Only where the disk is too full for
//! backfills room comes before them, and behind recovery by log, for which ops wait.

use super::Recovery;
use crate::access::{METADATA_BYTES, ObjectRange};
use crate::commit::Commit;
use crate::disk::object_id;
use crate::event::{Effect, Effects, Timer};
use crate::ids::PgId;
use crate::item::Item;
use crate::message::ReservationPriority;
use crate::osd::Osd;
use crate::pg::{DeletionStage, Leaving};
use crate::snapshots::SnapshotNo;
use loadline_base::{Span, Time};
use loadline_store::ObjectNo;
use loadline_store::paged::Edit;

/// Objects and former states of objects removed by one transaction (`osd_target_transaction_size`).
const STATES_PER_ITEM: usize = 30;
/// How urgent a deletion's claim to a slot is: less than any recovery.
const URGENCY: ReservationPriority = 80;
/// The same on a disk that is too full for backfills: no less than any of them, and less than recovery by log.
const URGENCY_FOR_ROOM: ReservationPriority = 179;

impl Osd {
    /// Begins to delete a copy, as soon as it has a slot.
    pub(crate) fn begin_deletion(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let here = self.pg_mut(pg).expect("it leaves");
        // From the first deletion on, nothing may be concluded from what is still here.
        (here.leaving, here.filling) = (Some(Leaving::default()), true);
        self.ask_for_deletion_slot(now, pg, fx);
    }

    fn ask_for_deletion_slot(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let (urgency, mut changes) = (self.deletion_urgency(), Vec::new());
        self.recovery.local.ask(pg, urgency, &mut changes);
        self.local_changed(now, &changes, fx);
    }

    fn deletion_urgency(&self) -> ReservationPriority {
        if self.recovery.is_backfill_full { URGENCY_FOR_ROOM } else { URGENCY }
    }

    /// Deletions are more urgent from now on, or less: those that wait for a slot, and those that have one.
    pub(super) fn deletion_urgency_changed(&mut self, now: Time, fx: &mut Effects) {
        let (urgency, mut changes) = (self.deletion_urgency(), Vec::new());
        let leaves = |pg| self.groups.get(pg).is_some_and(|here| here.leaving.is_some());
        self.recovery.local.set_priority(leaves, urgency, &mut changes);
        self.local_changed(now, &changes, fx);
    }

    /// Queues the next item of a deletion that has a slot; one that has lost it waits until it has one again.
    pub(super) fn go_on_deleting(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let has_slot = self.recovery.local.holds(pg);
        let Some(leaving) = self.pg_mut(pg).and_then(|here| here.leaving.as_mut()) else { return };
        if has_slot {
            leaving.stage = DeletionStage::Queued;
            let states = leaving.states.max(1);
            self.enqueue(now, Item::Delete(pg, states), fx);
        } else {
            leaving.stage = DeletionStage::NoSlot;
        }
    }

    /// A slot was granted to a group: to its deletion, if it is one that waits for it.
    pub(super) fn deletion_slot_granted(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let leaving = self.pg(pg).and_then(|here| here.leaving);
        if leaving.is_some_and(|leaving| leaving.stage == DeletionStage::NoSlot) {
            self.go_on_deleting(now, pg, fx);
        }
    }

    /// A worker carries out a deletion item. One whose slot is gone waits for it.
    pub(crate) fn run_delete(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let leaving = self.pg(pg).and_then(|here| here.leaving);
        if leaving.is_none_or(|leaving| leaving.stage != DeletionStage::Queued) {
            return;
        }
        if !self.recovery.local.holds(pg) {
            return self.go_on_deleting(now, pg, fx);
        }
        let edits = self.delete_some(pg);
        let place =
            ObjectRange { pg, object: ObjectNo::default(), offset: 0, length: METADATA_BYTES };
        self.keep_all(now, &place, edits, Commit::Deleted);
    }

    /// Forgets the next objects. The answer is what that asks of the disk.
    fn delete_some(&mut self, pg: PgId) -> Vec<Edit> {
        let listed = self.list_after(pg, None, STATES_PER_ITEM);
        let (mut count, mut edits) = (0, Vec::new());
        for (object, _) in listed {
            if count >= STATES_PER_ITEM {
                break;
            }
            self.store.objects(pg).remove(object);
            edits.push(Edit::Remove { object: object_id(pg, object, SnapshotNo::HEAD) });
            let past = self.clear_object(pg, object);
            count += 1 + past.len();
            edits.extend(past);
        }
        self.counters.deleted += count as u64;
        let last = self.count(pg) == 0;
        let is_durable = self.is_durable();
        let here = self.pg_mut(pg).expect("it leaves");
        here.leaving = Some(Leaving { stage: DeletionStage::Writing, states: count as u32 });
        if !is_durable {
            return Vec::new();
        }
        edits.append(&mut here.save_deletion(pg, last));
        edits
    }

    /// The deletion is durable: the next objects, or the end of the placement group here.
    pub(crate) fn deleted(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let Some(leaving) = self.pg(pg).and_then(|here| here.leaving) else { return };
        // The copy has come back since, and leaves once more.
        if leaving.stage != DeletionStage::Writing {
            return;
        }
        if self.count(pg) == 0 {
            self.groups.remove(pg);
            self.forget_scrubs(pg);
            self.release_slots(now, pg, fx);
        } else if self.options.delete_sleep == Span::ZERO {
            self.go_on_deleting(now, pg, fx);
        } else {
            let wake = now + self.options.delete_sleep;
            let leaving = Leaving { stage: DeletionStage::Sleeping(wake), ..leaving };
            self.pg_mut(pg).expect("it leaves").leaving = Some(leaving);
            fx.world.push(Effect::Timer(self.id, wake, Timer::DeletionWake(pg)));
        }
    }

    /// A deletion has slept and queues again, unless the copy has come back or left once more since.
    pub(crate) fn deletion_woke(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let Some(leaving) = self.pg_mut(pg).and_then(|here| here.leaving.as_mut()) else { return };
        if matches!(leaving.stage, DeletionStage::Sleeping(wake) if wake <= now) {
            // Who has slept is charged for one object, as the field does it.
            leaving.states = 1;
            self.go_on_deleting(now, pg, fx);
        }
    }

    /// Whether anything is recovered here, or waits to be. Deletions take slots as well, and are none of it.
    pub(crate) fn recovers(&self) -> bool {
        let Recovery { local, remote, admission, turns, .. } = &self.recovery;
        let leaves = |pg: PgId| self.pg(pg).is_some_and(|here| here.leaving.is_some());
        let is_idle = remote.is_idle() && admission.is_idle() && turns.is_empty();
        !is_idle || local.claimants().any(|pg| !leaves(pg))
    }

    /// How many copies of placement groups this OSD deletes, and how many objects are still in them.
    pub fn left_to_delete(&mut self) -> (u64, u64) {
        let leaving = self.groups.iter().filter(|(_, here)| here.leaving.is_some());
        let leaving: Vec<PgId> = leaving.map(|(pg, _)| pg).collect();
        let objects = leaving.iter().map(|pg| self.count(*pg)).sum();
        (leaving.len() as u64, objects)
    }

    /// States of objects that it has deleted, of copies that had left, since it was made.
    pub fn deleted_states(&self) -> u64 {
        self.counters.deleted
    }
}
