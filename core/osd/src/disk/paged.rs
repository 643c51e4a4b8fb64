//! The paged store under an OSD: accesses become its ops, its completions become theirs.

use super::keys::{note_of_loss, object_id};
use super::load::DiskLoad;
use super::map::KeptMap;
use super::requests::DiskRequests;
use super::steps::steps_of;
use super::transfers::{NextOp, ReadInParts, Rest, StoreTransfer, StoreTransfers};
use crate::access::{Access, AccessDone, AccessFailure, AccessKind};
use crate::capacity::EndedWork;
use crate::commit::Commit;
use crate::ids::PgId;
use crate::message::Data;
use crate::parts::NextPart;
use crate::snapshots::SnapshotNo;
use loadline_base::{Bytes, IdVec, SlotId, Span, Time};
use loadline_qos::ServiceClass;
use loadline_store::paged::{
    Answer, Ask, Cause, Completion, Doubt, Edit, Io, IoDone, IoId, LogMode, LongestWait, LostEnds,
    Op, OpError, OpLane, Options, Outbox, PagedStore, PastDamage, Stages, Wait,
};
use loadline_store::{CollectionId, ObjectNo, Objects, Window, WindowBounds};
use std::collections::BTreeSet;

/// What comes back with an op of the store; the OSD's own affair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreToken {
    pg: PgId,
    object: ObjectNo,
    /// What it takes of the window.
    length: Bytes,
    commit: Commit,
    /// It is a part of this transfer.
    transfer: Option<u32>,
    /// It is background work whose disk is paced.
    is_paced: bool,
}

impl StoreToken {
    /// Of an op that is all of its access.
    fn whole(pg: PgId, object: ObjectNo, length: u64, commit: Commit) -> StoreToken {
        let length = Bytes::new(length);
        StoreToken { pg, object, length, commit, transfer: None, is_paced: false }
    }
}

impl StoreToken {
    /// What its op has done of the work that a capacity counts; nothing, if that was the OSD's own bookkeeping.
    pub(crate) fn ended_work(&self) -> Option<EndedWork> {
        let is_update = match self.commit {
            Commit::Op(..)
            | Commit::Replica(..)
            | Commit::Pushed(..)
            | Commit::HistoryStored(..)
            | Commit::Put(_) => true,
            Commit::Read(..)
            | Commit::PushRead(..)
            | Commit::PastRead(..)
            | Commit::StateRead(..) => false,
            _ => return None,
        };
        Some(EndedWork { bytes: self.length.get(), is_update })
    }
}

/// What the end of an op means.
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart at once, and a box would cost each access an allocation"
)]
pub(crate) enum OpEnded {
    /// The end of an access.
    Access(AccessDone),
    /// More of the access is to come, when it is its turn.
    Turn(NextPart),
    /// More of the access is under way, or it was given up.
    Nothing,
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
    transfers: StoreTransfers,
    under_way: OpsUnderWay,
    /// What of maps the open disk has.
    pub(crate) kept_map: KeptMap,
    /// Counts openings: an answer of a device to an earlier one means nothing.
    pub(crate) life: u32,
    pub(crate) requests: DiskRequests,
    /// The ticks that are scheduled, each earlier than the one before it.
    ticks: Vec<Time>,
}

/// The store's ops that have no end yet.
#[derive(Clone, Debug, Default)]
struct OpsUnderWay {
    ops: u32,
    /// Of these what is background work whose disk is paced, and its bytes.
    background: (u32, u64),
    /// Updates that wait for the primary's word.
    doubts: Vec<Doubt<StoreToken>>,
}

/// An update of which it must be asked whether others have what cannot be read here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DoubtedUpdate {
    pub pg: PgId,
    pub commit: Commit,
    /// What cannot be done of it.
    pub ends: LostEnds,
}

impl DoubtedUpdate {
    fn of(doubt: &Doubt<StoreToken>) -> DoubtedUpdate {
        let Doubt { token: StoreToken { pg, commit, .. }, ends, .. } = *doubt;
        DoubtedUpdate { pg, commit, ends }
    }
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
            transfers: StoreTransfers::default(),
            under_way: OpsUnderWay::default(),
            kept_map: KeptMap::default(),
            life: 0,
            requests: DiskRequests::default(),
            ticks: Vec::new(),
        }
    }

    /// When the store answers what it is asked to write.
    pub(crate) fn log_mode(&self) -> LogMode {
        self.options.log_mode
    }

    /// Begins to open the store on a device of this size.
    pub(crate) fn open(&mut self, now: Time, data_bytes: Bytes) {
        self.close();
        let mut store = PagedStore::open(now, self.options, data_bytes, None, &mut self.out);
        store.note_losses(note_of_loss);
        self.store = Some(store);
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
        self.transfers.clear();
        self.under_way = OpsUnderWay::default();
        self.kept_map = KeptMap::default();
        self.life = self.life.wrapping_add(1);
        self.requests = DiskRequests::default();
        self.ticks.clear();
    }

    pub(crate) fn objects(&mut self, pg: PgId) -> &mut Objects {
        self.objects.get_or_default(pg.collection())
    }

    pub(crate) fn count(&self, pg: PgId) -> u64 {
        self.objects.get(pg.collection()).map_or(0, |objects| objects.len() as u64)
    }

    pub(crate) fn store(&self) -> Option<&PagedStore<StoreToken>> {
        self.store.as_ref()
    }

    /// Nothing of a placement group that is in the store now sleeps for the throttle.
    pub(crate) fn hurry(&mut self, now: Time, pg: PgId) {
        if let Some(store) = &mut self.store {
            store.hurry(now, OpLane(pg.get()), &mut self.out);
        }
    }

    /// Takes a device's answer.
    pub(crate) fn done(&mut self, now: Time, done: IoDone) {
        self.requests.ended(done.id);
        if let Some(store) = &mut self.store {
            store.done(now, done, &mut self.out);
        }
    }

    /// Does what is due by the clock, if a tick is: one that an earlier life has asked for is nobody's.
    pub(crate) fn tick(&mut self, now: Time) {
        let scheduled = self.ticks.len();
        self.ticks.retain(|at| *at > now);
        if self.ticks.len() == scheduled {
            return;
        }
        if let Some(store) = &mut self.store {
            store.tick(now, &mut self.out);
        }
    }

    /// When the next tick is due, if none comes before that. A far one, as the next checkpoint's, stays scheduled while nearer ones come and
    /// go: to ask for it anew after each of them would be one timer more for each.
    pub(crate) fn next_tick(&mut self) -> Option<Time> {
        let next = self.store.as_ref()?.next_tick()?;
        let is_earlier = self.ticks.last().is_none_or(|scheduled| next < *scheduled);
        is_earlier.then(|| {
            self.ticks.push(next);
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

    /// Whether the window has room for more.
    pub(crate) fn admits(&self) -> bool {
        self.window.admits(Bytes::new(1)) || self.waits_for_others()
    }

    /// How many ops the window has let in, as far as they are in the way of others.
    pub(crate) fn in_window(&self) -> u32 {
        if self.waits_for_others() { 0 } else { self.window.in_flight().1 }
    }

    /// Whether what fills the window ends by nothing that this disk does. While the device has no room for writes the window is theirs for as
    /// long, and reads that come behind them need not wait as well: what is queued is let in, and the owner of the map sends no more writes.
    /// While an update waits for its primary's word, that word may be in the queue.
    fn waits_for_others(&self) -> bool {
        self.requests.waits_for_room() > 0 || !self.under_way.doubts.is_empty()
    }

    pub(crate) fn set_window(&mut self, bounds: WindowBounds) {
        self.window.set_bounds(bounds);
    }

    /// What an op waits for whose commit is meant; `None` if it is not in the store.
    pub(crate) fn wait_of(&self, is_meant: impl Fn(&Commit) -> bool) -> Option<Wait> {
        self.store.as_ref()?.wait_of(|token| is_meant(&token.commit))
    }

    /// Whether a checkpoint is being written.
    pub(crate) fn is_checkpointing(&self) -> bool {
        self.store.as_ref().is_some_and(|store| store.checkpoint_step().is_some())
    }

    /// What is under way, and what ops of the store wait for.
    pub(crate) fn waits(&self) -> String {
        let waits = self.store.as_ref().map(PagedStore::waits);
        let (under_way, at_device) = (self.under_way.ops, self.requests.at_device());
        let for_room = self.requests.waits_for_room();
        format!(
            "{under_way} under way, {at_device} at the device, {for_room} of them for room, {waits:?}"
        )
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.under_way.ops == 0
    }

    /// A question of the loading.
    pub(crate) fn ask(&mut self, now: Time, ask: Ask) {
        let token = StoreToken::whole(PgId::new(0), ObjectNo(0), 0, Commit::Loaded);
        self.submit(now, Op { ask, lane: None, class: self.options.classes.restart, token });
    }

    /// Takes an access. Transfers of background work are carried out in parts of so many bytes, if that is said.
    pub(crate) fn access(&mut self, now: Time, access: Access, part: Option<u64>) {
        let Access { pg, object, offset, length, touch, version, first, class, token, .. } = access;
        let mut edits = access.edits;
        let transfer = |rest| StoreTransfer {
            pg,
            object,
            class,
            commit: token,
            entered: now,
            takes_turns: part.is_some(),
            begun: 0,
            rest,
        };
        let id = object_id(pg, object, SnapshotNo::HEAD);
        let disk_bytes = touch.disk_bytes(length);
        let in_order = !matches!(
            touch,
            AccessKind::Read
                | AccessKind::Look
                | AccessKind::Sync
                | AccessKind::OwnKey
                | AccessKind::Digest(_)
                | AccessKind::Reread(_)
                | AccessKind::List(_)
        );
        let ask = match touch {
            AccessKind::Read => Ask::Read { object: id, offset, length },
            AccessKind::ReadInOrder(label) => {
                Ask::Read { object: object_id(pg, object, label), offset, length }
            }
            AccessKind::ReadWhole { label, base, bytes } => {
                let read = ReadInParts::new((label, base), (bytes, length), part);
                return self.begin_transfer(now, transfer(Rest::Read(read)));
            }
            AccessKind::Look | AccessKind::LookInOrder(_) => {
                let label = match touch {
                    AccessKind::LookInOrder(label) => label,
                    _ => SnapshotNo::HEAD,
                };
                let (object, base) = (object_id(pg, object, label), None);
                Ask::Sparse { object, base, offset, length, with_bytes: false }
            }
            AccessKind::LookPast { label, base } => {
                let (object, base) =
                    (object_id(pg, object, label), Some(object_id(pg, object, base)));
                Ask::Sparse { object, base, offset, length, with_bytes: false }
            }
            AccessKind::Digest(label) => Ask::Digest(object_id(pg, object, label)),
            AccessKind::Reread(pages) => Ask::Reread(pages),
            AccessKind::List(most) => Ask::List { collection: pg.collection(), from: object, most },
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
                let steps = steps_of((pg, object), whole, version, (first, edits), (direct, part));
                return self.begin_transfer(now, transfer(Rest::Put(steps)));
            }
        };
        let lane = in_order.then_some(OpLane(pg.get()));
        if !first.is_empty() {
            let token = StoreToken::whole(pg, object, 0, Commit::Nothing);
            let op = Op { ask: Ask::Transaction(first), lane, class, token };
            // Where an ancestor is seen as far as into a page that is damaged, the object begins without that page, as the ancestor is without it.
            self.submit_past(now, op, Some(PastDamage::Lose(note_of_loss(id))));
        }
        let token = StoreToken::whole(pg, object, disk_bytes, token);
        let op = Op { ask, lane, class, token };
        self.submit_past(now, op, access.past_damage);
    }

    fn begin_transfer(&mut self, now: Time, transfer: StoreTransfer) {
        let number = self.transfers.begin(transfer);
        self.go_on(now, SlotId::new(number));
    }

    /// The next part of a transfer. Nothing, if that was given up.
    pub(crate) fn go_on(&mut self, now: Time, number: SlotId) {
        let number = number.get();
        let Some(transfer) = self.transfers.get_mut(number) else { return };
        let NextOp { ask, lane, bytes } = transfer.next();
        let StoreTransfer { pg, object, class, commit, takes_turns: is_paced, .. } = *transfer;
        let length = Bytes::new(bytes);
        let token = StoreToken { pg, object, length, commit, transfer: Some(number), is_paced };
        self.submit(now, Op { ask, lane, class, token });
    }

    /// How much background work whose disk is paced is under way: ops and their bytes.
    pub(crate) fn background(&self) -> (u32, u64) {
        self.under_way.background
    }

    /// See [`super::StoreBackend::give_up_puts`].
    pub(crate) fn give_up_puts(
        &mut self,
        pg: PgId,
        object: Option<ObjectNo>,
    ) -> BTreeSet<ObjectNo> {
        self.transfers.give_up_puts(pg, object)
    }

    fn submit(&mut self, now: Time, op: Op<StoreToken>) {
        self.submit_past(now, op, None);
    }

    fn submit_past(&mut self, now: Time, op: Op<StoreToken>, past: Option<PastDamage>) {
        self.enter(&op);
        let claim = op.token.commit.claim();
        if let Some(store) = self.store.as_mut() {
            store.submit_claiming(now, op, (claim, past), &mut self.out);
        }
    }

    /// Counts an op that is about to be handed in. A store that has stopped takes nothing; its owner has been told.
    fn enter(&mut self, op: &Op<StoreToken>) {
        if self.store.is_none() {
            return;
        }
        self.window.enter(op.token.length);
        self.under_way.ops += 1;
        if op.token.is_paced {
            self.under_way.background.0 += 1;
            self.under_way.background.1 += op.token.length.get();
        }
    }

    /// What has come to be in doubt since this was asked last.
    pub(crate) fn take_doubts(&mut self) -> Vec<DoubtedUpdate> {
        let new = std::mem::take(&mut self.out.doubts);
        let told = new.iter().map(DoubtedUpdate::of).collect();
        self.under_way.doubts.extend(new);
        told
    }

    /// Others have these parts of the update that is meant, if it is here.
    pub(crate) fn end_doubt(
        &mut self,
        now: Time,
        is_meant: impl Fn(&DoubtedUpdate) -> bool,
        ends: LostEnds,
    ) {
        let doubts = &mut self.under_way.doubts;
        let found = doubts.iter().position(|doubt| is_meant(&DoubtedUpdate::of(doubt)));
        if let (Some(at), Some(store)) = (found, self.store.as_mut()) {
            let Doubt { slot, .. } = doubts.remove(at);
            store.go_past(now, slot, ends, &mut self.out);
        }
    }

    /// Whether updates of a placement group wait for a word.
    pub(crate) fn has_doubts(&self, pg: PgId) -> bool {
        let mut all = self.under_way.doubts.iter().chain(&self.out.doubts);
        all.any(|doubt| doubt.token.pg == pg)
    }

    /// An op has ended.
    pub(crate) fn ended(&mut self, now: Time, completion: Completion<StoreToken>) -> OpEnded {
        let Completion { token, result, stages } = completion;
        self.window.leave(token.length);
        self.under_way.ops -= 1;
        if token.is_paced {
            self.under_way.background.0 -= 1;
            self.under_way.background.1 -= token.length.get();
        }
        let StoreToken { pg, object, commit, .. } = token;
        let mut entered = stages.submitted;
        let (result, told) = match token.transfer {
            None => of_result(result),
            Some(number) => match self.part_ended(number, result) {
                PartEnd::GivenUp => return OpEnded::Nothing,
                PartEnd::Next => return self.next_turn(now, number),
                PartEnd::Over(result, began) => {
                    entered = began;
                    (result, None)
                }
            },
        };
        let submitted = stages.planned;
        let held = Some(longest_wait(now, &stages, &commit));
        let token = commit;
        let lost = stages.lost;
        let result = match stages.untouched.any() {
            true => Err(AccessFailure::Untouched(stages.untouched)),
            false => result,
        };
        OpEnded::Access(AccessDone {
            pg,
            object,
            token,
            result,
            told,
            entered,
            submitted,
            held,
            lost,
        })
    }

    /// A part of a transfer has ended.
    fn part_ended(&mut self, number: u32, result: Result<Answer, OpError>) -> PartEnd {
        let Some(transfer) = self.transfers.get_mut(number) else { return PartEnd::GivenUp };
        let is_last = transfer.next_bytes().is_none();
        let (result, is_there) = match (result, &mut transfer.rest) {
            (Ok(Answer::Sparse(found)), Rest::Read(read)) => {
                let is_there = found.is_some();
                let (ranges, bytes) = found.unwrap_or_default();
                read.found(ranges, bytes);
                (Ok(Data::NONE), is_there)
            }
            (result, _) => (of_result(result).0, true),
        };
        if result.is_ok() && is_there && !is_last {
            return PartEnd::Next;
        }
        let StoreTransfer { rest, entered, .. } =
            self.transfers.end(number).expect("it is under way");
        let result = result.map(|_| match rest {
            Rest::Read(read) => Data::sparse(read.ranges, read.bytes),
            Rest::Put(_) => Data::NONE,
        });
        PartEnd::Over(result, entered)
    }

    /// A transfer has more parts: the next one goes at once, or when it is its turn. What begins a put writes nothing, so what it
    /// writes first goes with it.
    fn next_turn(&mut self, now: Time, number: u32) -> OpEnded {
        let transfer = self.transfers.get_mut(number).expect("it has a next part");
        let bytes = transfer.next_bytes().expect("it has a next part");
        let slot = SlotId::new(number);
        if !transfer.takes_turns || transfer.is_at_beginning() {
            self.go_on(now, slot);
            return OpEnded::Nothing;
        }
        let (work, _) = transfer.commit.work();
        let class = ServiceClass::ALL[usize::from(transfer.class.0)];
        OpEnded::Turn(NextPart { transfer: slot, bytes: bytes as u32, class, work })
    }
}

/// What an op waited for longest until its end now. What is carried out waits for the log alone.
fn longest_wait(now: Time, stages: &Stages, commit: &Commit) -> (Wait, Span) {
    let LongestWait { wait, span, .. } = stages.longest;
    let is_update = matches!(commit, Commit::Op(..) | Commit::Replica(..));
    let log = if is_update { now.since(stages.applied) } else { Span::ZERO };
    if log > span { (Wait::Log, log) } else { (wait, span) }
}

/// How a part of a transfer has ended.
enum PartEnd {
    GivenUp,
    Next,
    /// It was the last, or none follows it; and when the transfer was handed in.
    Over(Result<Data, AccessFailure>, Time),
}

fn of_result(result: Result<Answer, OpError>) -> (Result<Data, AccessFailure>, Option<Answer>) {
    match result {
        Ok(Answer::Bytes(bytes)) => (Ok(Data::new(bytes.unwrap_or_default())), None),
        Ok(Answer::Sparse(found)) => {
            let (ranges, bytes) = found.unwrap_or_default();
            (Ok(Data::sparse(ranges, bytes)), None)
        }
        Ok(answer) => (Ok(Data::NONE), Some(answer)),
        Err(OpError::Damaged(_) | OpError::Unreadable) => (Err(AccessFailure::Unreadable), None),
        Err(OpError::NoSpace) => (Err(AccessFailure::NoSpace), None),
        Err(OpError::Unwritable | OpError::Stopped) => (Err(AccessFailure::Stopped), None),
        Err(OpError::Exceeds(exceeded)) => (Err(AccessFailure::Exceeds(exceeded)), None),
    }
}

#[cfg(test)]
#[path = "paged_tests.rs"]
mod tests;
