//! The owner of a paged store: every op, request and answer passes here, and after each of them the same upkeep.

pub(in crate::paged) mod checkpoint;
mod commit;
mod discard;
mod fault;
mod loads;
mod memory;
mod op;
mod ops;
mod plan;
mod prepare;
mod query;
mod requests;
mod reread;
mod rereading;
mod restart;
mod run;
mod upkeep;

pub use checkpoint::CheckpointStep;
pub use fault::Fault;
pub use query::DIGEST_PIECE;
pub use rereading::REREAD_PAGES;
pub use restart::{RestartFault, RestartProgress};

use super::api::{
    Answer, Ask, Cause, IoDone, IoId, LostEnds, Op, OpError, OpLane, Outbox, PastDamage, RoomClaim,
    Stages,
};
use super::bounds::{Room, StoreLimits, limits};
use super::contents::NoteOfLoss;
use super::ids::{Child, StoreId};
use super::layout::Layout;
use super::metrics::Metrics;
use super::options::{LogMode, Options};
use super::seed::Seed;
use super::space::{Pages, Space};
use super::superblock::Superblock;
use super::tree::{TOGETHER, Tree};
use super::wait::Wait;
use checkpoint::Checkpoints;
use commit::CommitLog;
use loadline_base::{Bytes, SlotId, Time};
use loadline_device::Outcome;
use memory::Memory;
use op::{OpTerms, OpWork, RunningOp};
use ops::Ops;
use requests::{DeviceRequests, RequestPurpose};
use restart::Restart;

/// One disk's store. See [`super`].
pub struct PagedStore<T> {
    options: Options,
    now: Time,
    superblock: Superblock,
    space: Space,
    memory: Memory,
    requests: DeviceRequests,
    ops: Ops<T>,
    log: CommitLog<T>,
    checkpoint: Checkpoints<T>,
    restart: Option<Box<Restart>>,
    fault: Option<Fault>,
    metrics: Metrics,
}

impl<T: Copy> PagedStore<T> {
    /// Begins to open the store on devices of this size, whatever state it was left in. The first requests are in `out`.
    /// Ops may be submitted at once; they wait until the restart is over.
    pub fn open(
        now: Time,
        options: Options,
        data_bytes: Bytes,
        log_device_bytes: Option<Bytes>,
        out: &mut Outbox<T>,
    ) -> PagedStore<T> {
        let mut store = PagedStore::closed(now, options);
        store.begin_restart(data_bytes, log_device_bytes);
        store.hand_over(out);
        store
    }

    /// Where the restart loses a page of an object that the log needs, this is noted. To be said right after [`open`](Self::open).
    pub fn note_losses(&mut self, note: NoteOfLoss) {
        if let Some(restart) = &mut self.restart {
            restart.losses.note_by(note);
        }
    }

    /// A store of which nothing is known yet.
    fn closed(now: Time, options: Options) -> PagedStore<T> {
        let layout = Layout::unknown();
        let tree = Tree { root: Child::default(), height: 1 };
        let pages = Pages::new(layout, Seed::NONE, 1, 0).expect("there is memory for one page");
        let space = Space::new(pages, tree);
        let superblock = Superblock::unknown(layout);
        PagedStore {
            options,
            now,
            superblock,
            space,
            memory: Memory::new(Room::new(&layout, 1)),
            requests: DeviceRequests::default(),
            ops: Ops::default(),
            log: CommitLog::closed(&options, &superblock),
            checkpoint: Checkpoints::new(now, &options),
            restart: None,
            fault: None,
            metrics: Metrics::default(),
        }
    }

    /// Takes an op. Its completion comes now or later, exactly once.
    pub fn submit(&mut self, now: Time, op: Op<T>, out: &mut Outbox<T>) {
        self.submit_promised(now, op, self.options.log_mode, out);
    }

    /// The same, but a transaction is answered when `promise` is kept, whatever the store's log mode. Answers keep the order of the log,
    /// so one that asks for less may wait for one before it that asks for more. A store without a log promises nothing before a
    /// checkpoint, and none takes [`LogMode::None`] for less than [`LogMode::Background`].
    pub fn submit_promised(&mut self, now: Time, op: Op<T>, promise: LogMode, out: &mut Outbox<T>) {
        self.enter(now, op, OpTerms::promising(promise), out);
    }

    /// The same as [`submit`](Self::submit), where it is said what becomes of a transaction if the device is full. With `past` it is as with
    /// [`submit_past_damage`](Self::submit_past_damage).
    pub fn submit_claiming(
        &mut self,
        now: Time,
        op: Op<T>,
        (claim, past): (RoomClaim, Option<PastDamage>),
        out: &mut Outbox<T>,
    ) {
        let promise = self.options.log_mode;
        self.enter(now, op, OpTerms { promise, past, claim }, out);
    }

    fn enter(&mut self, now: Time, op: Op<T>, terms: OpTerms, out: &mut Outbox<T>) {
        self.now = now;
        if self.take(op, terms) {
            self.upkeep();
        }
        self.hand_over(out);
    }

    /// Takes several ops as if each came after the other at the same time, each with its promise. What their keys need comes from memory together, and so they
    /// cost the processor less than one by one.
    pub fn submit_all(&mut self, now: Time, ops: &mut Vec<(Op<T>, LogMode)>, out: &mut Outbox<T>) {
        self.now = now;
        let mut rest = ops.drain(..);
        loop {
            let group = rest.as_slice();
            let group = &group[..group.len().min(TOGETHER)];
            if group.is_empty() {
                break;
            }
            let (count, values) = (group.len(), self.values_together(group));
            let is_read = values[..count].iter().all(Option::is_some);
            let places = match is_read || self.restart.is_some() {
                true => [None; TOGETHER],
                false => self.places_together(group),
            };
            let shape = self.space.shape();
            let mut are_waiting = false;
            for (((op, promise), value), place) in rest.by_ref().take(count).zip(values).zip(places)
            {
                if let Some(value) = value {
                    self.metrics.totals.ops += 1;
                    self.ops.end(op.token, Stages::at(now), Ok(Answer::Value(value)));
                    continue;
                }
                self.space.foresee(shape, place);
                if self.take(op, OpTerms::promising(promise)) {
                    are_waiting = true;
                    if self.restart.is_none() {
                        self.give_turns();
                    }
                }
            }
            if are_waiting {
                self.upkeep();
            }
        }
        drop(rest);
        self.hand_over(out);
    }

    /// Takes an op. Answers whether it waits for its turn.
    fn take(&mut self, op: Op<T>, terms: OpTerms) -> bool {
        self.metrics.totals.ops += 1;
        if let Some(answer) = self.answer_at_once(&op) {
            self.ops.end(op.token, Stages::at(self.now), Ok(answer));
        } else if self.fault.is_some() {
            self.ops.end(op.token, Stages::at(self.now), Err(OpError::Stopped));
        } else {
            let mut running = RunningOp::new(self.now, op, terms);
            let is_update = matches!(&running.work, OpWork::Asked(ask) if Self::is_update(ask));
            if is_update && self.ops.is_busy(running.lane) {
                self.prepare_ahead(&mut running);
            }
            self.ops.enter(running);
            return true;
        }
        false
    }

    /// The same as [`submit`](Self::submit), for an update that bytes around what it writes do not keep from being carried out, though they cannot be
    /// read: `past` says what becomes of the pages that they are in.
    pub fn submit_past_damage(
        &mut self,
        now: Time,
        op: Op<T>,
        past: PastDamage,
        out: &mut Outbox<T>,
    ) {
        self.submit_claiming(now, op, (RoomClaim::Asked, Some(past)), out);
    }

    /// The owner's word to a [doubt](crate::paged::Doubt): others have these parts of the update, so the pages that they are in are lost here. Every
    /// other page that cannot be read stays what it was, and the update does nothing to it.
    pub fn go_past(&mut self, now: Time, slot: SlotId, ends: LostEnds, out: &mut Outbox<T>) {
        self.now = now;
        if self.fault.is_none() {
            self.end_doubt(slot, ends);
            self.upkeep();
        }
        self.hand_over(out);
    }

    /// Lets no op that is in this lane now sleep for the throttle, whose charge stands: those after it sleep for what they make dirty. It
    /// is for an op that was promised to go now, and for those that have to go before it.
    pub fn hurry(&mut self, now: Time, lane: OpLane, out: &mut Outbox<T>) {
        self.now = now;
        if let Some(running) = self.ops.hurry(lane) {
            self.wake(running);
            self.upkeep();
        }
        self.hand_over(out);
    }

    /// Begins no checkpoint any more, so that what the last one has left at home stays as it is: one that runs goes on to its end
    /// ([`checkpoint_step`](Self::checkpoint_step)). Updates that need a checkpoint to make room wait meanwhile.
    pub fn hold_checkpoints(&mut self) {
        self.checkpoint.hold();
    }

    /// Checkpoints may begin again.
    pub fn release_checkpoints(&mut self, now: Time, out: &mut Outbox<T>) {
        self.checkpoint.release();
        self.tick(now, out);
    }

    /// Takes a device's answer.
    pub fn done(&mut self, now: Time, done: IoDone, out: &mut Outbox<T>) {
        self.now = now;
        if self.fault.is_none() {
            let purpose = self.requests.answered(done.id);
            self.answered(purpose, done);
            self.upkeep();
        }
        self.hand_over(out);
    }

    /// Does what is due by the clock.
    pub fn tick(&mut self, now: Time, out: &mut Outbox<T>) {
        self.now = now;
        if self.fault.is_none() {
            self.upkeep();
        }
        self.hand_over(out);
    }

    fn answered(&mut self, purpose: RequestPurpose, done: IoDone) {
        let logged = match purpose {
            RequestPurpose::LogWrite(position) => self.log.write_done(position, done),
            RequestPurpose::LogFlush(target) => self.log.flush_done(self.now, target, done.outcome),
            RequestPurpose::Witness => self.log.witness_done(done.outcome),
            RequestPurpose::Load(page) => return self.load_done(page, done),
            RequestPurpose::OwnWrite(slot) => return self.own_write_done(slot, done.outcome),
            RequestPurpose::OwnRead(slot, piece) => return self.own_read_done(slot, piece, done),
            RequestPurpose::Reread(slot, piece) => return self.reread_done(slot, piece, done),
            RequestPurpose::Rewrite(slot, page) => return self.rewrite_done(slot, page, &done),
            RequestPurpose::Checkpoint(request) => return self.checkpoint_io_done(request, done),
            RequestPurpose::Discard(run) => return self.discarded(run),
            RequestPurpose::Restart(request) => return self.restart_io_done(request, done),
        };
        if let Err(fault) = logged {
            self.stop(fault);
        }
    }

    /// Stops for good.
    fn stop(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }

    fn hand_over(&mut self, out: &mut Outbox<T>) {
        if self.fault.is_some() {
            self.fail_everybody();
            self.ops.forget_doubts();
            self.requests.withdraw();
        }
        self.requests.hand_over(&mut out.io);
        self.ops.hand_over(out);
    }

    /// Whether the restart is over and ops are carried out.
    pub fn is_open(&self) -> bool {
        self.restart.is_none() && self.fault.is_none()
    }

    /// Why it has stopped, if it has.
    pub fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// How far the restart is, while it runs.
    pub fn restart_progress(&self) -> Option<RestartProgress> {
        self.restart.as_ref().map(|restart| restart.progress())
    }

    /// What the restart holds beside the cache and the bits of what is free, while it reads the log: at most
    /// [`restart_bytes_max`](super::bounds::restart_bytes_max).
    pub fn restart_memory(&self) -> u64 {
        self.restart.as_ref().map_or(0, |restart| restart.memory())
    }

    /// On whose behalf a request goes that has not been answered.
    pub fn cause(&self, id: IoId) -> Cause {
        self.requests.cause(id)
    }

    /// Which step the running checkpoint is at.
    pub fn checkpoint_step(&self) -> Option<CheckpointStep> {
        self.checkpoint.step()
    }

    /// What has been counted and timed.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The last marker.
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// Which store it is, once that has been read.
    pub fn id(&self) -> Option<StoreId> {
        StoreId::new(self.superblock.store_id)
    }

    /// Pages and tree, to look into.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// How many ops wait, by what they wait for.
    pub fn waits(&self) -> Vec<(Wait, usize)> {
        let mut counts = self.ops.waits();
        let others =
            [(Wait::Log, self.log.waiters()), (Wait::Checkpoint, self.checkpoint.waiters())];
        counts.extend(others.into_iter().filter(|(_, count)| *count > 0));
        counts.into_iter().collect()
    }

    /// Since when the first of those waits that are owed and find no room on the device; `None` if none does.
    pub fn without_room_since(&self) -> Option<Time> {
        self.ops.without_room_since()
    }

    /// What an op waits for whose token is meant; `None` if it is not here.
    pub fn wait_of(&self, is_meant: impl Fn(&T) -> bool) -> Option<Wait> {
        let of_log = || self.log.holds(&is_meant).then_some(Wait::Log);
        self.ops.wait_of(&is_meant).or_else(of_log)
    }

    /// The largest things that this store takes.
    pub fn limits(&self) -> StoreLimits {
        limits(&self.superblock.layout)
    }
}

impl<T: Copy> PagedStore<T> {
    fn fail_everybody(&mut self) {
        let mut all = self.ops.take_queued();
        all.extend(self.checkpoint.take_waiters());
        all.extend(self.ops.take_suspended());
        let mut ended: Vec<(T, Stages)> = all.into_iter().map(|op| (op.token, op.stages)).collect();
        ended.extend(self.log.take_waiters());
        for (token, stages) in ended {
            self.ops.end(token, stages, Err(OpError::Stopped));
        }
    }

    /// Whether an answer's outcome is what was asked for.
    fn is_good(outcome: Outcome) -> bool {
        outcome == Outcome::Done
    }

    /// Whether an op asks for changes.
    fn is_update(ask: &Ask) -> bool {
        matches!(ask, Ask::Transaction(_))
    }
}
