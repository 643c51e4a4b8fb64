//! Deletion of a placement group that has left: a few objects per item, as background work, and a pause after each
//! transaction where the scheduler does not pace it (qos.md 11).

use crate::access::ObjectRange;
use crate::commit::Commit;
use crate::disk::object_id;
use crate::event::{Effect, Effects, Timer};
use crate::ids::PgId;
use crate::item::Item;
use crate::osd::Osd;
use crate::pg::Leaving;
use crate::snapshots::SnapshotNo;
use loadline_base::{Span, Time};
use loadline_store::ObjectNo;
use loadline_store::paged::Edit;

/// Objects and former states of objects removed by one transaction (`osd_target_transaction_size`).
const STATES_PER_ITEM: usize = 30;
/// What one deleting transaction writes: metadata only.
const DELETION_BYTES: u64 = 4096;

impl Osd {
    /// A worker carries out a deletion item.
    pub(crate) fn run_delete(&mut self, now: Time, pg: PgId) {
        if self.pg(pg).is_some_and(|here| here.leaving.is_some()) {
            let edits = self.delete_some(pg);
            let place =
                ObjectRange { pg, object: ObjectNo::default(), offset: 0, length: DELETION_BYTES };
            self.keep_all(now, &place, edits, Commit::Deleted);
        }
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
        here.leaving = Some(Leaving { wake: None, states: count as u32 });
        if !is_durable {
            return Vec::new();
        }
        edits.append(&mut here.save_deletion(pg, last));
        edits
    }

    /// The deletion is durable: the next objects, or the end of the placement group here.
    pub(crate) fn deleted(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let Some(leaving) = self.pg(pg).and_then(|here| here.leaving) else { return };
        if self.count(pg) == 0 {
            self.groups.remove(pg);
            self.forget_scrubs(pg);
        } else if self.options.delete_sleep == Span::ZERO {
            self.enqueue(now, Item::Delete(pg, leaving.states), fx);
        } else {
            let wake = now + self.options.delete_sleep;
            let leaving = Leaving { wake: Some(wake), ..leaving };
            self.pg_mut(pg).expect("it leaves").leaving = Some(leaving);
            fx.world.push(Effect::Timer(self.id, wake, Timer::DeletionWake(pg)));
        }
    }

    /// A deletion has slept and queues again, unless the copy has come back or left once more since.
    pub(crate) fn deletion_woke(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let leaving = self.pg_mut(pg).and_then(|here| here.leaving.as_mut());
        let slept = leaving.and_then(|leaving| leaving.wake.take_if(|wake| *wake <= now));
        if slept.is_some() {
            self.enqueue(now, Item::Delete(pg, 1), fx);
        }
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
