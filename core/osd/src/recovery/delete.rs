//! Deletion of a placement group that has left: a few objects per item, as background work (qos.md 11).

use crate::client_io::{Place, Update};
use crate::commit::Commit;
use crate::disk::Touch;
use crate::event::Effect;
use crate::ids::PgId;
use crate::item::Item;
use crate::osd::Osd;
use loadline_base::Time;
use loadline_qos::Urgency;
use loadline_store::ObjectNo;
use loadline_store::paged::{Edit, ObjectId};

/// Objects removed by one transaction (`osd_target_transaction_size`).
const OBJECTS_PER_ITEM: usize = 30;
/// What one deleting transaction writes: metadata only.
const DELETION_BYTES: u64 = 4096;

impl Osd {
    /// A worker carries out a deletion item.
    pub(crate) fn run_delete(&mut self, now: Time, pg: PgId) {
        if self.pg(pg).is_some_and(|here| here.leaving) {
            let edits = self.deletion_edits(pg);
            self.store.objects(pg).remove_first(OBJECTS_PER_ITEM);
            let place =
                Place { pg, object: ObjectNo::default(), offset: 0, length: DELETION_BYTES };
            let update = Update { edits, ..Update::none(Touch::Nothing) };
            self.access(now, Urgency::default(), &place, update, Commit::Deleted);
        }
    }

    /// What the next deletion asks of the disk.
    fn deletion_edits(&mut self, pg: PgId) -> Vec<Edit> {
        if !self.is_durable() {
            return Vec::new();
        }
        let objects = self.store.objects(pg);
        let first = objects.list_after(None, OBJECTS_PER_ITEM);
        let last = first.len() == objects.len();
        let here = self.pg_mut(pg).expect("it leaves");
        let mut edits = here.save_deletion(pg, last);
        let collection = pg.collection();
        edits.extend(first.iter().map(|(object, _)| Edit::Remove {
            object: ObjectId { collection, object: *object, snapshot: 0 },
        }));
        edits
    }

    /// The deletion is durable: the next objects, or the end of the placement group here.
    pub(crate) fn deleted(&mut self, now: Time, pg: PgId, fx: &mut Vec<Effect>) {
        if self.pg(pg).is_none_or(|here| !here.leaving) {
            return;
        }
        if self.store.objects(pg).is_empty() {
            self.pgs[pg] = None;
        } else {
            self.enqueue(now, Item::Delete(pg), fx);
        }
    }
}
