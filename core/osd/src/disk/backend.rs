//! The two stores that an OSD may stand on, behind one way to access an object.

use super::paged::Paged;
use super::steps::Whole;
use crate::commit::Commit;
use crate::event::DiskFault;
use crate::ids::PgId;
use crate::message::Data;
use crate::snapshots::SnapshotNo;
use loadline_base::{Bytes, Time};
use loadline_device::{ClassTag, Kind};
use loadline_store::paged::{Edit, Exceeded};
use loadline_store::{
    Access as DirectAccess, Completion, DirectStore, ObjectNo, Objects, RequestId, Submission,
};

/// The store under an OSD.
pub(crate) enum Backend {
    /// Metadata in memory; one access is one request of a calibrated drive.
    Direct(DirectStore<Commit>),
    /// Bytes, a log and checkpoints on a disk.
    Paged(Box<Paged>),
}

/// What is done to an object's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    /// Read them.
    Read,
    /// Read a state of the object after all writes of the placement group that were handed in before.
    ReadInOrder(SnapshotNo),
    /// Read what a state of the object holds, or in what it is other than another one, in the same order.
    ReadWhole { label: SnapshotNo, base: Option<SnapshotNo> },
    /// Tell where a state of the object holds data, in the same order.
    Look(SnapshotNo),
    /// Write them.
    Write(Data),
    /// Make them zeros.
    Zero,
    /// Nothing but its version, if it exists.
    Version,
    /// Make a state of the object this, whatever it was.
    Put(Whole),
    /// Remove the object.
    Remove,
    /// Nothing but the edits that come with it.
    Nothing,
    /// Make durable what was answered before.
    Sync,
}

/// One access to one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub pg: PgId,
    pub object: ObjectNo,
    /// First byte inside the object.
    pub offset: u64,
    pub length: u64,
    pub touch: Touch,
    /// The object's version after an update.
    pub version: loadline_store::Version,
    /// What must have happened before, on its own. The direct store has no edits.
    pub first: Vec<Edit>,
    /// What is to be kept together with it.
    pub edits: Vec<Edit>,
    pub class: ClassTag,
    pub token: Commit,
}

/// An access that the store has carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub pg: PgId,
    pub object: ObjectNo,
    pub token: Commit,
    /// What was read.
    pub result: Result<Data, Failure>,
    /// When it was handed in, and when it left the window for the device.
    pub entered: Time,
    pub submitted: Time,
}

/// Why a store could not carry an access out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The bytes are damaged or cannot be read here; another copy may have them.
    Unreadable,
    /// There is no room.
    NoSpace,
    /// It is larger than the store takes. The OSD cuts its work to fit, so this is a bug, and no reason to take the disk for damaged.
    Exceeds(Exceeded),
    /// The store cannot go on.
    Stopped,
}

impl Failure {
    /// What it means for the OSD, where nobody else can help.
    pub(crate) fn fault(self) -> DiskFault {
        match self {
            Failure::Unreadable => DiskFault::Unreadable,
            Failure::NoSpace => DiskFault::Full,
            Failure::Exceeds(exceeded) => DiskFault::Exceeds(exceeded),
            Failure::Stopped => DiskFault::Unwritable,
        }
    }
}

impl Backend {
    /// The objects of a collection; an unknown collection is an empty one.
    pub(crate) fn objects(&mut self, pg: PgId) -> &mut Objects {
        match self {
            Backend::Direct(store) => store.objects(pg.collection()),
            Backend::Paged(paged) => paged.objects(pg),
        }
    }

    /// Takes an access.
    pub(crate) fn access(&mut self, now: Time, access: Access, out: &mut Vec<Submission>) {
        match self {
            Backend::Direct(store) => store.access(now, direct(&access), out),
            Backend::Paged(paged) => paged.access(now, access),
        }
    }

    /// Bytes of the log that a transaction may take, with some to spare.
    pub(crate) fn transaction_bytes(&self) -> usize {
        match self {
            Backend::Direct(_) => usize::MAX,
            Backend::Paged(paged) => {
                paged.store().map_or(usize::MAX, |store| store.limits().transaction_bytes / 4 * 3)
            }
        }
    }

    /// The paged store.
    ///
    /// # Panics
    /// If the OSD stands on the other one.
    pub(crate) fn paged(&mut self) -> &mut Paged {
        match self {
            Backend::Paged(paged) => paged,
            Backend::Direct(_) => panic!("an event of the paged store reached a direct one"),
        }
    }

    /// Forgets what is still to be done of objects that are being put: of this one, or of all of the collection.
    pub(crate) fn give_up_puts(&mut self, pg: PgId, object: Option<ObjectNo>) {
        if let Backend::Paged(paged) = self {
            paged.give_up_puts(pg, object);
        }
    }

    /// Takes a device's answer to the direct store. A sector that cannot be read, another copy has; a drive that cannot write
    /// is of no use.
    pub(crate) fn direct_done(
        &mut self,
        now: Time,
        id: RequestId,
        is_good: bool,
        out: &mut Vec<Submission>,
    ) -> Option<Done> {
        let Backend::Direct(store) = self else {
            panic!("an answer for a direct store reached a paged one");
        };
        let Completion { access, entered, submitted } = store.done(now, id, out)?;
        let pg = PgId::new(access.collection.get());
        let (object, token) = (access.object, access.token);
        let result = match (is_good, access.kind) {
            (true, _) => Ok(Data::NONE),
            (false, Kind::Read) => Err(Failure::Unreadable),
            (false, _) => Err(Failure::Stopped),
        };
        Some(Done { pg, object, token, result, entered, submitted })
    }

    /// The request of a direct store that the device has ended for time, if it is to be asked again.
    pub(crate) fn direct_again(&mut self, id: RequestId) -> Option<Submission> {
        match self {
            Backend::Direct(store) => store.again(id),
            Backend::Paged(_) => panic!("an answer for a direct store reached a paged one"),
        }
    }

    /// Whether the window has room for more.
    pub(crate) fn admits(&self) -> bool {
        match self {
            Backend::Direct(store) => store.admits(),
            Backend::Paged(paged) => paged.admits(),
        }
    }

    /// What waits in the store, and for what.
    pub(crate) fn waits(&self) -> String {
        match self {
            Backend::Direct(store) => format!("{} before the window", store.waiting()),
            Backend::Paged(paged) => paged.waits(),
        }
    }

    /// Whether nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        match self {
            Backend::Direct(store) => store.is_idle(),
            Backend::Paged(paged) => paged.is_idle(),
        }
    }
}

fn direct(access: &Access) -> DirectAccess<Commit> {
    let reads = matches!(
        access.touch,
        Touch::Read | Touch::ReadInOrder(_) | Touch::ReadWhole { .. } | Touch::Look(_)
    );
    DirectAccess {
        kind: if reads { Kind::Read } else { Kind::Write },
        collection: access.pg.collection(),
        object: access.object,
        offset: access.offset,
        // An empty object still costs the device one request.
        length: Bytes::new(access.length.max(1)),
        class: access.class,
        token: access.token,
    }
}
