//! What an OSD asks of its store: an access to a place, what it does there, and what is kept with it.

use crate::commit::Commit;
use crate::disk::{Access, Touch};
use crate::ids::PgId;
use crate::message::{ClientOp, Data, OpKind};
use crate::osd::Osd;
use crate::snapshots::Before;
use loadline_base::Time;
use loadline_qos::Urgency;
use loadline_store::paged::Edit;
use loadline_store::{ObjectNo, Version};

impl Osd {
    /// Hands an access to the store in the class of the work it belongs to. `urgency` is that of the placement group's
    /// primary, which decides the class of its recovery; other work has its class whatever the state of the group.
    pub(crate) fn access(
        &mut self,
        now: Time,
        urgency: Urgency,
        place: &Place,
        update: Update,
        token: Commit,
    ) {
        let (work, _) = token.work();
        let class = self.charges.class_tag(&self.policy, work, urgency);
        let Place { pg, object, offset, length } = *place;
        let Update { touch, version, first, edits } = update;
        let access =
            Access { pg, object, offset, length, touch, version, first, edits, class, token };
        self.store.access(now, access, &mut self.submissions);
    }
}

/// What an access does, and what the disk is to keep with it.
pub(crate) struct Update {
    pub touch: Touch,
    /// The object's version from then on.
    pub version: Version,
    /// What must have happened on the disk before, on its own.
    pub first: Vec<Edit>,
    pub edits: Vec<Edit>,
}

impl Update {
    /// An access that leaves everything as it is.
    pub(crate) fn none(touch: Touch) -> Update {
        Update { touch, version: Version::default(), first: Vec::new(), edits: Vec::new() }
    }
}

impl Touch {
    /// What an update does to the object's bytes.
    pub(crate) fn of(kind: OpKind, before: Before, data: Data) -> Touch {
        match kind {
            OpKind::Write => Touch::Write(data),
            // An object that begins empty has no bytes to zero.
            OpKind::Zero if matches!(before, Before::Create(_)) => Touch::Nothing,
            OpKind::Zero => Touch::Zero,
            OpKind::Trim { .. } => Touch::Version,
            OpKind::Remove | OpKind::Purge => Touch::Remove,
            OpKind::Read | OpKind::ReadAt(_) | OpKind::Ranges(_) => {
                unreachable!("a read is no update")
            }
        }
    }
}

/// A byte range of an object.
pub(crate) struct Place {
    pub pg: PgId,
    pub object: ObjectNo,
    pub offset: u64,
    pub length: u64,
}

impl Place {
    /// No bytes, but what is known of a placement group.
    pub(crate) fn of_group(pg: PgId) -> Place {
        Place { pg, object: ObjectNo::default(), offset: 0, length: 0 }
    }

    pub(crate) fn of(op: &ClientOp) -> Place {
        Place {
            pg: op.pg,
            object: op.object,
            offset: u64::from(op.offset),
            length: u64::from(op.length),
        }
    }
}
