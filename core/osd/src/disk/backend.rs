//! The two stores that an OSD may stand on, behind one way to access an object.

use super::paged::Paged;
use crate::access::{Access, AccessDone, AccessFailure, AccessKind};
use crate::commit::Commit;
use crate::gate::HeldBack;
use crate::ids::PgId;
use crate::message::Data;
use crate::policy::OsdOptions;
use loadline_base::{Bytes, Time};
use loadline_device::RequestKind;
use loadline_qos::Work;
use loadline_store::paged::ids::StoreId;
use loadline_store::paged::{Fault, LostEnds};
use loadline_store::{
    AccessCompletion, DirectAccess, DirectStore, ObjectNo, Objects, RequestId, Submission,
};
use std::collections::BTreeSet;

/// The store under an OSD.
pub(crate) enum StoreBackend {
    /// Metadata in memory; one access is one request of a calibrated drive. Behind it, those that the drive has not got yet.
    Direct(DirectStore<Commit>, Vec<Submission>),
    /// Bytes, a log and checkpoints on a disk.
    Paged(Box<Paged>),
}

impl StoreBackend {
    /// The objects of a collection; an unknown collection is an empty one.
    pub(crate) fn objects(&mut self, pg: PgId) -> &mut Objects {
        match self {
            StoreBackend::Direct(store, _) => store.objects(pg.collection()),
            StoreBackend::Paged(paged) => paged.objects(pg),
        }
    }

    /// How many objects a collection has.
    pub(crate) fn count(&self, pg: PgId) -> u64 {
        match self {
            StoreBackend::Direct(store, _) => store.count(pg.collection()),
            StoreBackend::Paged(paged) => paged.count(pg),
        }
    }

    /// Takes an access. A paged store carries a transfer of background work out in parts of so many bytes.
    pub(crate) fn access(&mut self, now: Time, access: Access, part: Option<u64>) {
        match self {
            StoreBackend::Direct(store, out) => store.access(now, direct(&access), out),
            StoreBackend::Paged(paged) => paged.access(now, access, part),
        }
    }

    /// Accesses of a placement group that were handed in are slowed down for nobody's sake; a direct store slows none down.
    pub(crate) fn hurry(&mut self, now: Time, pg: PgId) {
        if let StoreBackend::Paged(paged) = self {
            paged.hurry(now, pg);
        }
    }

    /// Bytes of the log that a transaction may take, with some to spare.
    pub(crate) fn transaction_bytes(&self) -> usize {
        match self {
            StoreBackend::Direct(..) => usize::MAX,
            StoreBackend::Paged(paged) => {
                paged.store().map_or(usize::MAX, |store| store.limits().transaction_bytes / 4 * 3)
            }
        }
    }

    /// Bytes of a page of a paged store.
    pub(crate) fn page_bytes(&self) -> usize {
        match self {
            StoreBackend::Direct(..) => 0,
            StoreBackend::Paged(paged) => {
                paged.store().map_or(0, |store| store.superblock().layout.page.bytes())
            }
        }
    }

    /// Bytes of the largest value.
    pub(crate) fn value_bytes(&self) -> usize {
        match self {
            StoreBackend::Direct(..) => usize::MAX,
            StoreBackend::Paged(paged) => {
                paged.store().map_or(usize::MAX, |store| store.limits().value_bytes)
            }
        }
    }

    /// Why the store has stopped, if it has.
    pub(crate) fn fault(&self) -> Option<Fault> {
        match self {
            StoreBackend::Paged(paged) => paged.store()?.fault(),
            StoreBackend::Direct(..) => None,
        }
    }

    /// Which paged store it is, once that has been read.
    pub(crate) fn id(&self) -> Option<StoreId> {
        match self {
            StoreBackend::Paged(paged) => paged.store()?.id(),
            StoreBackend::Direct(..) => None,
        }
    }

    /// How far a paged store has come; of two copies of one the newer is further.
    pub(crate) fn logged(&self) -> u64 {
        match self {
            StoreBackend::Paged(paged) => paged.store().map_or(0, |store| store.last_commit().0),
            StoreBackend::Direct(..) => 0,
        }
    }

    /// The paged store.
    ///
    /// # Panics
    /// If the OSD stands on the other one.
    pub(crate) fn paged(&mut self) -> &mut Paged {
        match self {
            StoreBackend::Paged(paged) => paged,
            StoreBackend::Direct(..) => panic!("an event of the paged store reached a direct one"),
        }
    }

    /// Forgets what is still to be done of objects that are being put: of this one, or of all of the collection. Answers which they were: some of
    /// each may be on the disk.
    pub(crate) fn give_up_puts(
        &mut self,
        pg: PgId,
        object: Option<ObjectNo>,
    ) -> BTreeSet<ObjectNo> {
        match self {
            StoreBackend::Paged(paged) => paged.give_up_puts(pg, object),
            StoreBackend::Direct(..) => BTreeSet::new(),
        }
    }

    /// Takes a device's answer to the direct store. A sector that cannot be read, another copy has; a drive that cannot write
    /// is of no use.
    pub(crate) fn direct_done(
        &mut self,
        now: Time,
        id: RequestId,
        is_good: bool,
    ) -> Option<AccessDone> {
        let StoreBackend::Direct(store, out) = self else {
            panic!("an answer for a direct store reached a paged one");
        };
        let AccessCompletion { access, entered, submitted } = store.done(now, id, out)?;
        let pg = PgId::new(access.collection.get());
        let (object, token) = (access.object, access.token);
        let result = match (is_good, access.kind) {
            (true, _) => Ok(Data::NONE),
            (false, RequestKind::Read) => Err(AccessFailure::Unreadable),
            (false, _) => Err(AccessFailure::Stopped),
        };
        let (told, held) = (None, None);
        let lost = LostEnds::default();
        Some(AccessDone { pg, object, token, result, told, entered, submitted, held, lost })
    }

    /// Whether a direct store has requests to hand out. Asked first: after most events it has none.
    #[inline]
    pub(crate) fn has_submissions(&self) -> bool {
        matches!(self, StoreBackend::Direct(_, out) if !out.is_empty())
    }

    /// The requests of a direct store that its device has not got yet.
    pub(crate) fn submissions(&mut self) -> &mut Vec<Submission> {
        match self {
            StoreBackend::Direct(_, out) => out,
            StoreBackend::Paged(_) => panic!("a paged store has requests of its own"),
        }
    }

    /// What may be under way at a time from now on.
    pub(crate) fn set_window(&mut self, now: Time, options: &OsdOptions) {
        match self {
            StoreBackend::Direct(store, out) => store.set_window(now, options.throttle(), out),
            StoreBackend::Paged(paged) => paged.set_window(options.window),
        }
    }

    /// Whom a gate in front of it holds back.
    pub(crate) fn paced(&self) -> HeldBack {
        match self {
            StoreBackend::Direct(..) => HeldBack::All,
            StoreBackend::Paged(_) => HeldBack::Background,
        }
    }

    /// Forgets everything under way, as a crash does.
    pub(crate) fn crash(&mut self) {
        match self {
            StoreBackend::Direct(store, _) => store.restart(),
            StoreBackend::Paged(paged) => paged.close(),
        }
    }

    /// The request of a direct store that the device has ended for time, if it is to be asked again.
    pub(crate) fn direct_again(&mut self, id: RequestId) -> Option<Submission> {
        match self {
            StoreBackend::Direct(store, _) => store.again(id),
            StoreBackend::Paged(_) => panic!("an answer for a direct store reached a paged one"),
        }
    }

    /// Whose work a request of a direct store is.
    pub(crate) fn work_of(&self, id: RequestId) -> Work {
        match self {
            StoreBackend::Direct(store, _) => store.token(id).work().0,
            StoreBackend::Paged(_) => panic!("a request of a direct store reached a paged one"),
        }
    }

    /// Whether an answer is to a direct store's life that goes on.
    pub(crate) fn is_of_this_life(&self, id: RequestId) -> bool {
        matches!(self, StoreBackend::Direct(store, _) if store.is_of_this_life(id))
    }

    /// Whether the window has room for more.
    pub(crate) fn admits(&self) -> bool {
        match self {
            StoreBackend::Direct(store, _) => store.admits(),
            StoreBackend::Paged(paged) => paged.admits(),
        }
    }

    /// How many ops the window of a paged store has let in.
    pub(crate) fn in_window(&self) -> u32 {
        match self {
            StoreBackend::Direct(..) => 0,
            StoreBackend::Paged(paged) => paged.in_window(),
        }
    }

    /// What waits in the store, and for what.
    pub(crate) fn waits(&self) -> String {
        match self {
            StoreBackend::Direct(store, _) => format!("{} before the window", store.waiting()),
            StoreBackend::Paged(paged) => paged.waits(),
        }
    }

    /// Whether nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        match self {
            StoreBackend::Direct(store, _) => store.is_idle(),
            StoreBackend::Paged(paged) => paged.is_idle(),
        }
    }
}

fn direct(access: &Access) -> DirectAccess<Commit> {
    let reads = matches!(
        access.touch,
        AccessKind::Read
            | AccessKind::ReadInOrder(_)
            | AccessKind::ReadWhole { .. }
            | AccessKind::Look
            | AccessKind::LookInOrder(_)
            | AccessKind::LookPast { .. }
            | AccessKind::Digest(_)
            | AccessKind::Reread(_)
            | AccessKind::List(_)
    );
    DirectAccess {
        kind: if reads { RequestKind::Read } else { RequestKind::Write },
        collection: access.pg.collection(),
        object: access.object,
        offset: access.offset,
        // An empty object still costs the device one request.
        length: Bytes::new(access.length.max(1)),
        class: access.class,
        token: access.token,
    }
}
