//! Keys that one disk alone keeps, beside its placement groups' objects.
//!
//! A put waits in the queue as a client's op does and passes the same gate. No other OSD has a copy of it, so nothing is
//! sent, numbered or kept in a log of a group: when the disk has answered, it is over. A crash drops what is under way without a
//! word.

use crate::access::{AccessFailure, AccessKind, ObjectRange, Update};
use crate::commit::Commit;
use crate::disk::own_key;
use crate::event::{Effect, Effects};
use crate::ids::PgId;
use crate::message::{KeyPut, PutEnd};
use crate::osd::Osd;
use loadline_base::Time;
use loadline_qos::Urgency;
use loadline_store::paged::Edit;

impl Osd {
    /// A worker carries a put out.
    pub(crate) fn execute_put(&mut self, now: Time, put: KeyPut) {
        let length = put.payload().get();
        let place = ObjectRange { length, ..ObjectRange::of_group(PgId::new(0)) };
        let edits = vec![Edit::Put { key: own_key(&put.key), value: put.value }];
        let update = Update { edits, ..Update::none(AccessKind::OwnKey) };
        self.access(now, Urgency::default(), &place, update, Commit::Put(put.token));
    }

    /// The store has ended a put. One that it does not take, or has no room for, is its client's affair.
    pub(crate) fn put_ended(
        &mut self,
        token: u64,
        result: Result<(), AccessFailure>,
        fx: &mut Effects,
    ) {
        fx.world.push(Effect::PutEnded(self.id, PutEnd { token, is_kept: result.is_ok() }));
        if let Err(failure @ (AccessFailure::Stopped | AccessFailure::Unreadable)) = result {
            self.stop_for(failure, fx);
        }
    }
}
