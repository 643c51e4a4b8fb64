//! The paged store under an OSD: accesses become its ops, its completions become theirs.

use super::keys::object_id;
use super::load::DiskLoad;
use super::requests::DiskRequests;
use super::steps::{TransactionStep, steps_of};
use crate::access::{Access, AccessDone, AccessFailure, AccessKind};
use crate::commit::Commit;
use crate::ids::PgId;
use crate::message::Data;
use crate::snapshots::SnapshotNo;
use loadline_base::{Bytes, IdVec, Time};
use loadline_device::ClassTag;
use loadline_store::paged::{
    Answer, Ask, Cause, Completion, Edit, Io, IoDone, IoId, Op, OpError, OpLane, Options, Outbox,
    PagedStore,
};
use loadline_store::{CollectionId, ObjectNo, Objects, Window, WindowBounds};
use std::collections::{BTreeMap, VecDeque};

/// What comes back with an op of the store; the OSD's own affair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreToken {
    pg: PgId,
    object: ObjectNo,
    /// What it takes of the window.
    length: Bytes,
    commit: Commit,
    /// It is a step of this put, and the next one follows.
    put: Option<u32>,
}

/// An object that is being put: what is still to be done of it.
struct Putting {
    pg: PgId,
    object: ObjectNo,
    lane: Option<OpLane>,
    class: ClassTag,
    commit: Commit,
    steps: VecDeque<TransactionStep>,
}

/// Puts under way by number. Those of an earlier life are forgotten, and their numbers are not given again.
#[derive(Default)]
struct Puts {
    under_way: BTreeMap<u32, Putting>,
    begun: u32,
}

impl Puts {
    fn begin(&mut self, putting: Putting) -> u32 {
        self.begun = self.begun.wrapping_add(1);
        self.under_way.insert(self.begun, putting);
        self.begun
    }
}

/// How far the OSD's disk is.
pub(crate) enum OpeningPhase {
    /// No store: it was never opened, or has stopped.
    Closed,
    /// The store restarts, or what it holds is being read.
    Loading(DiskLoad),
    /// Accesses are carried out.
    Open,
}

/// A disk of bytes.
pub(crate) struct Paged {
    options: Options,
    store: Option<PagedStore<StoreToken>>,
    pub(crate) out: Outbox<StoreToken>,
    pub(crate) phase: OpeningPhase,
    objects: IdVec<CollectionId, Objects>,
    window: Window,
    puts: Puts,
    /// Accesses without an end yet.
    under_way: u32,
    /// Counts openings: an answer of a device to an earlier one means nothing.
    pub(crate) life: u32,
    pub(crate) requests: DiskRequests,
    /// The tick that is scheduled.
    tick_at: Time,
}

impl Paged {
    pub(crate) fn new(options: Options, bounds: WindowBounds) -> Paged {
        Paged {
            options,
            store: None,
            out: Outbox::new(),
            phase: OpeningPhase::Closed,
            objects: IdVec::new(),
            window: Window::new(bounds),
            puts: Puts::default(),
            under_way: 0,
            life: 0,
            requests: DiskRequests::default(),
            tick_at: Time::MAX,
        }
    }

    /// Begins to open the store on a device of this size.
    pub(crate) fn open(&mut self, now: Time, data_bytes: Bytes) {
        self.close();
        self.store = Some(PagedStore::open(now, self.options, data_bytes, None, &mut self.out));
        self.phase = OpeningPhase::Loading(DiskLoad::default());
        let ask = DiskLoad::first();
        self.ask(now, ask);
    }

    /// Forgets the store and everything under way, as a crash does.
    pub(crate) fn close(&mut self) {
        self.store = None;
        self.out = Outbox::new();
        self.phase = OpeningPhase::Closed;
        self.objects = IdVec::new();
        self.window = Window::new(self.window.bounds());
        self.puts.under_way.clear();
        self.under_way = 0;
        self.life = self.life.wrapping_add(1);
        self.requests = DiskRequests::default();
        self.tick_at = Time::MAX;
    }

    pub(crate) fn objects(&mut self, pg: PgId) -> &mut Objects {
        let collection = pg.collection();
        while self.objects.len() <= usize::from(collection) {
            self.objects.push(Objects::default());
        }
        &mut self.objects[collection]
    }

    pub(crate) fn store(&self) -> Option<&PagedStore<StoreToken>> {
        self.store.as_ref()
    }

    /// Takes a device's answer.
    pub(crate) fn done(&mut self, now: Time, done: IoDone) {
        self.requests.ended(done.id);
        if let Some(store) = &mut self.store {
            store.done(now, done, &mut self.out);
        }
    }

    /// Does what is due by the clock.
    pub(crate) fn tick(&mut self, now: Time) {
        self.tick_at = Time::MAX;
        if let Some(store) = &mut self.store {
            store.tick(now, &mut self.out);
        }
    }

    /// When the next tick is due, if it has not been said yet.
    pub(crate) fn next_tick(&mut self) -> Option<Time> {
        let next = self.store.as_ref()?.next_tick()?;
        (next < self.tick_at).then(|| {
            self.tick_at = next;
            next
        })
    }

    /// The requests for the device since the last call.
    pub(crate) fn take_io(&mut self) -> Vec<Io> {
        std::mem::take(&mut self.out.io)
    }

    /// On whose behalf the store sends a request.
    pub(crate) fn cause(&self, id: IoId) -> Cause {
        self.store.as_ref().map_or(Cause::Op, |store| store.cause(id))
    }

    /// Whether the window has room for more. While the device has no room for writes the window is theirs for as long, and
    /// reads that come behind them need not wait as well. It lets in what is queued, and the owner of the map sends no more
    /// writes.
    pub(crate) fn admits(&self) -> bool {
        self.window.admits(Bytes::new(1)) || self.requests.waits_for_room() > 0
    }

    pub(crate) fn set_window(&mut self, bounds: WindowBounds) {
        self.window.set_bounds(bounds);
    }

    /// What is under way, and what ops of the store wait for.
    pub(crate) fn waits(&self) -> String {
        let waits = self.store.as_ref().map(PagedStore::waits);
        let (under_way, at_device) = (self.under_way, self.requests.at_device());
        let for_room = self.requests.waits_for_room();
        format!(
            "{under_way} under way, {at_device} at the device, {for_room} of them for room, {waits:?}"
        )
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.under_way == 0
    }

    /// A question of the loading.
    pub(crate) fn ask(&mut self, now: Time, ask: Ask) {
        let token = StoreToken {
            pg: PgId::new(0),
            object: ObjectNo(0),
            length: Bytes::ZERO,
            commit: Commit::Loaded,
            put: None,
        };
        self.submit(now, Op { ask, lane: None, class: self.options.classes.restart, token });
    }

    /// Takes an access.
    pub(crate) fn access(&mut self, now: Time, access: Access) {
        let Access { pg, object, offset, length, touch, version, first, class, token, .. } = access;
        let mut edits = access.edits;
        let id = object_id(pg, object, SnapshotNo::HEAD);
        let in_order = !matches!(touch, AccessKind::Read | AccessKind::Sync | AccessKind::OwnKey);
        let ask = match touch {
            AccessKind::Read => Ask::Read { object: id, offset, length },
            AccessKind::ReadInOrder(label) => {
                Ask::Read { object: object_id(pg, object, label), offset, length }
            }
            AccessKind::ReadWhole { label, base } => Ask::Sparse {
                object: object_id(pg, object, label),
                base: base.map(|base| object_id(pg, object, base)),
                offset: 0,
                length: u64::MAX,
                with_bytes: true,
            },
            AccessKind::Look(label) => {
                let (object, base) = (object_id(pg, object, label), None);
                Ask::Sparse { object, base, offset, length, with_bytes: false }
            }
            AccessKind::Nothing | AccessKind::OwnKey => Ask::Transaction(edits),
            AccessKind::Sync => Ask::Sync,
            AccessKind::Write(data) => {
                let data = data.into_payload();
                edits.push(Edit::Write { object: id, offset, data, version });
                Ask::Transaction(edits)
            }
            AccessKind::Zero => {
                edits.push(Edit::Punch { object: id, range: offset..offset + length, version });
                Ask::Transaction(edits)
            }
            AccessKind::Version => {
                edits.push(Edit::Punch { object: id, range: 0..0, version });
                Ask::Transaction(edits)
            }
            AccessKind::Remove => {
                edits.push(Edit::Remove { object: id });
                Ask::Transaction(edits)
            }
            AccessKind::Put(whole) => {
                let direct = self.options.direct_write.get();
                let steps = steps_of((pg, object), whole, version, (first, edits), direct);
                let lane = Some(OpLane(pg.get()));
                let putting = Putting { pg, object, lane, class, commit: token, steps };
                let number = self.puts.begin(putting);
                return self.go_on_putting(now, number);
            }
        };
        let lane = in_order.then_some(OpLane(pg.get()));
        if !first.is_empty() {
            let commit = Commit::Nothing;
            let token = StoreToken { pg, object, length: Bytes::ZERO, commit, put: None };
            self.submit(now, Op { ask: Ask::Transaction(first), lane, class, token });
        }
        let token = StoreToken { pg, object, length: Bytes::new(length), commit: token, put: None };
        self.submit(now, Op { ask, lane, class, token });
    }

    /// The next step of a put. Nothing, if it was given up.
    fn go_on_putting(&mut self, now: Time, number: u32) {
        let Some(putting) = self.puts.under_way.get_mut(&number) else { return };
        let Putting { pg, object, lane, class, commit, .. } = *putting;
        let TransactionStep { edits, bytes } =
            putting.steps.pop_front().expect("each put ends with a step");
        let is_last = putting.steps.is_empty();
        if is_last {
            self.puts.under_way.remove(&number);
        }
        let put = (!is_last).then_some(number);
        let token = StoreToken { pg, object, length: Bytes::new(bytes), commit, put };
        self.submit(now, Op { ask: Ask::Transaction(edits), lane, class, token });
    }

    /// See [`super::StoreBackend::give_up_puts`].
    pub(crate) fn give_up_puts(&mut self, pg: PgId, object: Option<ObjectNo>) {
        let is_meant =
            |put: &Putting| put.pg == pg && object.is_none_or(|object| put.object == object);
        self.puts.under_way.retain(|_, put| !is_meant(put));
    }

    fn submit(&mut self, now: Time, op: Op<StoreToken>) {
        // A store that has stopped takes nothing; its owner has been told.
        let Some(store) = self.store.as_mut() else { return };
        self.window.enter(op.token.length);
        self.under_way += 1;
        store.submit(now, op, &mut self.out);
    }

    /// An op has ended: what it answers, and the access if it was one. Nothing, if more of the access is to come, or if
    /// that was given up.
    pub(crate) fn ended(
        &mut self,
        now: Time,
        completion: Completion<StoreToken>,
    ) -> Option<(AccessDone, Option<Answer>)> {
        let Completion { token, result, stages } = completion;
        self.window.leave(token.length);
        self.under_way -= 1;
        let StoreToken { pg, object, commit, put, .. } = token;
        if let Some(number) = put {
            if result.is_ok() {
                self.go_on_putting(now, number);
                return None;
            }
            self.puts.under_way.remove(&number)?;
        }
        let (result, answer) = match result {
            Ok(Answer::Bytes(bytes)) => (Ok(Data::new(bytes.unwrap_or_default())), None),
            Ok(Answer::Sparse(found)) => {
                let (ranges, bytes) = found.unwrap_or_default();
                (Ok(Data::sparse(ranges, bytes)), None)
            }
            Ok(answer) => (Ok(Data::NONE), Some(answer)),
            Err(OpError::Damaged(_) | OpError::Unreadable) => {
                (Err(AccessFailure::Unreadable), None)
            }
            Err(OpError::NoSpace) => (Err(AccessFailure::NoSpace), None),
            Err(OpError::Unwritable | OpError::Stopped) => (Err(AccessFailure::Stopped), None),
            Err(OpError::Exceeds(exceeded)) => (Err(AccessFailure::Exceeds(exceeded)), None),
        };
        let (entered, submitted) = (stages.submitted, stages.planned);
        Some((AccessDone { pg, object, token: commit, result, entered, submitted }, answer))
    }
}

#[cfg(test)]
#[path = "paged_tests.rs"]
mod tests;
