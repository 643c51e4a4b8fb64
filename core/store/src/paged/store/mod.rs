//! The owner of a paged store: every op, request and answer passes here, and after each of them the same upkeep.

pub(in crate::paged) mod checkpoint;
mod commit;
mod discard;
mod loads;
mod op;
mod plan;
mod prepare;
mod query;
mod restart;
mod run;
mod upkeep;

pub use checkpoint::Step;
pub use op::Wait;
pub use restart::{RestartFault, RestartProgress};

use super::api::{
    Answer, Ask, Cause, Completion, Io, IoDone, IoId, Lane, Op, OpError, Outbox, Stages, Target,
};
use super::bounds::{Limits, Room, limits};
use super::ids::{CheckpointId, PageNo};
use super::image::Compressor;
use super::log::{Group, Log, Witness};
use super::metrics::Metrics;
use super::options::Options;
use super::space::Space;
use super::superblock::Superblock;
use super::throttle::Throttle;
use checkpoint::Job;
use commit::Committing;
use loadline_base::{Bytes, SlotId, Slots, Time};
use loadline_device::{ClassTag, Kind, Outcome, Priority, Request};
use loads::Load;
use op::Running;
use restart::Restart;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// Why a store has stopped. It answers nothing any more; the next start restores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The device refused a write of the log, or of its witness.
    LogWrite,
    /// The device refused a flush. What it had accepted before may be lost, so nobody may try again.
    Flush(Target),
    /// The device refused a write of a checkpoint.
    CheckpointWrite,
    /// A transaction that was carried out in part could not go on. The next start brings it to its end.
    Unfinished,
    /// It could not be opened.
    Restart(RestartFault),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::LogWrite => f.write_str("the log could not be written"),
            Fault::Flush(_) => {
                f.write_str("a flush failed, and what was written before may be lost")
            }
            Fault::CheckpointWrite => f.write_str("a checkpoint could not write"),
            Fault::Unfinished => {
                f.write_str("a transaction that was carried out in part could not go on")
            }
            Fault::Restart(fault) => fault.fmt(f),
        }
    }
}

/// What a request is for.
#[derive(Clone, Debug)]
enum Purpose {
    /// The log from this position on.
    LogWrite(super::ids::Lsn),
    /// A flush for the log.
    LogFlush(Target),
    /// One place of the log's witness.
    Witness,
    /// A page into the cache.
    Load(PageNo),
    /// An op's own data, written beside the log.
    OwnWrite(SlotId),
    /// An object's bytes, read beside the cache: whose, and which of its pieces.
    OwnRead(SlotId, usize),
    /// A request of the checkpoint.
    Checkpoint(checkpoint::Request),
    /// Pages that nobody owns any more.
    Discard(super::space::PageRun),
    /// A request of the restart.
    Restart(restart::Request),
}

/// One disk's store. See [`super`].
pub struct PagedStore<T> {
    options: Options,
    now: Time,
    superblock: Superblock,
    space: Space,
    log: Log,
    group: Group,
    witness: Witness,
    /// Flushes that the group still waits for.
    log_flushes: u32,
    /// Data was written beside the log since the data device was last flushed.
    own_data_unflushed: bool,
    compressor: Compressor,
    throttle: Throttle,
    job: Option<Job>,
    restart: Option<Box<Restart>>,
    fault: Option<Fault>,
    /// Whether every edit since the last instant stands in the log.
    interval_is_logged: bool,
    last_instant: Time,
    checkpoint_wanted: Option<super::metrics::Reason>,
    ios: Slots<Purpose>,
    loads: BTreeMap<PageNo, Load>,
    /// Pages kept for ops that wait for others.
    pinned_for_ops: u32,
    waiting: Slots<Running<T>>,
    lanes: BTreeMap<Lane, VecDeque<Running<T>>>,
    ready: VecDeque<Running<T>>,
    parked: VecDeque<Running<T>>,
    /// Something that parked ops wait for has changed.
    unpark: bool,
    sleeping: BTreeMap<(Time, u64), Running<T>>,
    sleeper: u64,
    committing: VecDeque<Committing<T>>,
    syncing: VecDeque<Committing<T>>,
    checkpoint_waiters: Vec<(CheckpointId, Running<T>)>,
    /// What may be held in memory.
    room: Room,
    /// The record of a transaction that is carried out in part. All others wait for its end.
    under_way: Option<Vec<u8>>,
    /// A query goes in parts: updates wait for its end.
    updates_held: bool,
    body: Vec<u8>,
    metrics: Metrics,
    out: Outbox<T>,
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

    /// Takes an op. Its completion comes now or later, exactly once.
    pub fn submit(&mut self, now: Time, op: Op<T>, out: &mut Outbox<T>) {
        self.now = now;
        self.metrics.totals.ops += 1;
        let at_once = self.answer_at_once(&op);
        let running = Running::new(now, op);
        if let Some(answer) = at_once {
            self.complete(running.token, running.stages, Ok(answer));
        } else if self.fault.is_some() {
            self.complete(running.token, running.stages, Err(OpError::Stopped));
        } else {
            self.enter(running);
            self.upkeep();
        }
        self.hand_over(out);
    }

    /// Takes a device's answer.
    pub fn done(&mut self, now: Time, done: IoDone, out: &mut Outbox<T>) {
        self.now = now;
        if self.fault.is_none() {
            let purpose = self.ios.release(done.id.0);
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

    fn answered(&mut self, purpose: Purpose, done: IoDone) {
        match purpose {
            Purpose::LogWrite(position) => self.log_write_done(position, done),
            Purpose::LogFlush(target) => self.log_flush_done(target, done.outcome),
            Purpose::Witness => self.witness_write_done(done.outcome),
            Purpose::Load(page) => self.load_done(page, done),
            Purpose::OwnWrite(slot) => self.own_write_done(slot, done.outcome),
            Purpose::OwnRead(slot, piece) => self.own_read_done(slot, piece, done),
            Purpose::Checkpoint(request) => self.checkpoint_io_done(request, done),
            Purpose::Discard(run) => self.discarded(run),
            Purpose::Restart(request) => self.restart_io_done(request, done),
        }
    }

    /// Hands a request to the world.
    fn request(
        &mut self,
        purpose: Purpose,
        target: Target,
        kind: Kind,
        place: (u64, u64),
        class: ClassTag,
        data: Vec<u8>,
    ) {
        let request = Request {
            kind,
            offset: place.0,
            length: Bytes::new(place.1),
            class,
            priority: Priority::default(),
            duration_limit: None,
        };
        let id = IoId(self.ios.acquire(purpose));
        self.out.io.push(Io { id, target, request, data });
    }

    fn write(
        &mut self,
        purpose: Purpose,
        target: Target,
        offset: u64,
        class: ClassTag,
        data: Vec<u8>,
    ) {
        let length = data.len() as u64;
        self.request(purpose, target, Kind::Write, (offset, length), class, data);
    }

    fn flush(&mut self, purpose: Purpose, target: Target, class: ClassTag) {
        self.request(purpose, target, Kind::Flush, (0, 0), class, Vec::new());
    }

    /// Stops for good.
    fn stop(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }

    fn hand_over(&mut self, out: &mut Outbox<T>) {
        if self.fault.is_some() {
            self.fail_everybody();
            self.out.io.clear();
        }
        out.io.append(&mut self.out.io);
        out.completions.append(&mut self.out.completions);
    }

    fn complete(&mut self, token: T, stages: Stages, result: Result<Answer, OpError>) {
        self.out.completions.push(Completion { token, result, stages });
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

    /// On whose behalf a request goes that has not been answered.
    pub fn cause(&self, id: IoId) -> Cause {
        match self.ios.at(id.0) {
            Purpose::LogWrite(_) | Purpose::LogFlush(_) | Purpose::Witness => Cause::Log,
            Purpose::Load(_) | Purpose::OwnWrite(_) | Purpose::OwnRead(..) => Cause::Op,
            Purpose::Checkpoint(_) | Purpose::Discard(_) => Cause::Checkpoint,
            Purpose::Restart(_) => Cause::Restart,
        }
    }

    /// Which step the running checkpoint is at.
    pub fn checkpoint_step(&self) -> Option<Step> {
        self.job.as_ref().map(Job::step)
    }

    /// What has been counted and timed.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The last marker.
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// Pages and tree, to look into.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// How many ops wait, by what they wait for.
    pub fn waits(&self) -> Vec<(Wait, usize)> {
        let mut counts: BTreeMap<Wait, usize> = BTreeMap::new();
        let queued = self.lanes.values().flatten();
        let all = self.waiting.iter().map(|(_, running)| running).chain(&self.parked);
        for running in all.chain(self.sleeping.values()).chain(queued) {
            *counts.entry(running.wait).or_default() += 1;
        }
        let log = self.committing.len() + self.syncing.len();
        if log > 0 {
            counts.insert(Wait::Log, log);
        }
        if !self.checkpoint_waiters.is_empty() {
            counts.insert(Wait::Checkpoint, self.checkpoint_waiters.len());
        }
        counts.into_iter().collect()
    }

    /// The largest things that this store takes.
    pub fn limits(&self) -> Limits {
        limits(&self.superblock.layout)
    }
}

impl<T: Copy> crate::Store<T> for PagedStore<T> {
    fn submit(&mut self, now: Time, op: Op<T>, out: &mut Outbox<T>) {
        PagedStore::submit(self, now, op, out);
    }

    fn done(&mut self, now: Time, done: IoDone, out: &mut Outbox<T>) {
        PagedStore::done(self, now, done, out);
    }

    fn tick(&mut self, now: Time, out: &mut Outbox<T>) {
        PagedStore::tick(self, now, out);
    }

    fn next_tick(&self) -> Option<Time> {
        PagedStore::next_tick(self)
    }
}

impl<T: Copy> PagedStore<T> {
    /// Takes an op out of a lane's queue, or lets it in at once.
    fn enter(&mut self, mut running: Running<T>) {
        if let Some(queue) = running.lane.and_then(|lane| self.lanes.get_mut(&lane)) {
            running.wait = Wait::Lane;
            queue.push_back(running);
            return;
        }
        if let Some(lane) = running.lane {
            self.lanes.insert(lane, VecDeque::new());
        }
        self.ready.push_back(running);
    }

    /// An op is carried out, or has failed: the next of its lane may go.
    fn leave_lane(&mut self, lane: Option<Lane>) {
        let Some(lane) = lane else { return };
        let queue = self.lanes.get_mut(&lane).expect("an op that runs keeps its lane");
        match queue.pop_front() {
            Some(next) => self.ready.push_back(next),
            None => {
                self.lanes.remove(&lane);
            }
        }
    }

    fn fail_everybody(&mut self) {
        let mut all: Vec<Running<T>> = self.ready.drain(..).chain(self.parked.drain(..)).collect();
        all.extend(std::mem::take(&mut self.sleeping).into_values());
        all.extend(std::mem::take(&mut self.lanes).into_values().flatten());
        all.extend(self.checkpoint_waiters.drain(..).map(|(_, running)| running));
        let waiting: Vec<SlotId> = self.waiting.iter().map(|(slot, _)| slot).collect();
        all.extend(waiting.into_iter().map(|slot| self.waiting.release(slot)));
        let mut ended: Vec<(T, Stages)> = all.into_iter().map(|op| (op.token, op.stages)).collect();
        let committing = self.committing.drain(..).chain(self.syncing.drain(..));
        ended.extend(committing.map(|op| (op.token, op.stages)));
        for (token, stages) in ended {
            self.complete(token, stages, Err(OpError::Stopped));
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
