//! Deletion of a placement group that has left: a few objects per item, as background work (qos.md 11).

use crate::client_io::Place;
use crate::commit::Commit;
use crate::event::Effect;
use crate::ids::PgId;
use crate::item::Item;
use crate::osd::Osd;
use loadline_base::Time;
use loadline_device::Kind;
use loadline_qos::Urgency;
use loadline_store::ObjectNo;

/// Objects removed by one transaction (`osd_target_transaction_size`).
const OBJECTS_PER_ITEM: usize = 30;
/// What one deleting transaction writes: metadata only.
const DELETION_BYTES: u64 = 4096;

impl Osd {
    /// A worker carries out a deletion item.
    pub(crate) fn run_delete(&mut self, now: Time, pg: PgId) {
        if self.pg(pg).is_some_and(|here| here.leaving) {
            self.store.objects(pg.collection()).remove_first(OBJECTS_PER_ITEM);
            let place =
                Place { pg, object: ObjectNo::default(), offset: 0, length: DELETION_BYTES };
            self.access(now, Urgency::default(), Kind::Write, &place, Commit::Deleted);
        }
    }

    /// The deletion is durable: the next objects, or the end of the placement group here.
    pub(crate) fn deleted(&mut self, now: Time, pg: PgId, fx: &mut Vec<Effect>) {
        if self.pg(pg).is_none_or(|here| !here.leaving) {
            return;
        }
        if self.store.objects(pg.collection()).is_empty() {
            self.pgs[pg] = None;
        } else {
            self.enqueue(now, Item::Delete(pg), fx);
        }
    }
}
