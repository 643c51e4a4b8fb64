//! What happens to an OSD, and what it asks of its world.

use crate::ids::{OpId, OsdId, PgId, ShardId, ThreadId};
use crate::message::{Activation, Envelope};
use crate::waits::Stage;
use loadline_base::Time;
use loadline_device::Outcome;
use loadline_qos::Work;
use loadline_store::{RequestId, Submission};

/// Something that happened, at the `now` it is stepped with.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A message arrived.
    Message(Envelope),
    /// A worker has spent the processor time of its item ([`Effect::Compute`]).
    Computed(WorkerRun),
    /// The device answered a request ([`Effect::Device`]).
    DeviceDone(RequestId, Outcome),
    /// A timer fired ([`Effect::Timer`]).
    Timer(Timer),
    /// A placement group begins a new interval here.
    Activate(PgId, Box<Activation>),
    /// A placement group's new interval does without this copy, which stays as it is.
    Deactivate(PgId),
    /// A placement group has left this OSD: its objects are to be deleted, as background work.
    Retire(PgId),
}

/// One worker's present item. The run number tells it from the worker's earlier and later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerRun {
    /// The shard.
    pub shard: ShardId,
    /// The worker inside the shard.
    pub thread: ThreadId,
    /// The run of that worker.
    pub run: u32,
}

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// A shard's scheduler said that nothing may run before now.
    Shard(ShardId),
    /// A recovery item has slept.
    RecoveryWake(SleepingItem),
    /// A refused reservation may be tried again.
    ReservationRetry(PgId, u32),
}

/// A recovery item that sleeps outside the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SleepingItem {
    /// Its placement group.
    pub pg: PgId,
    /// The pushes that it was promised.
    pub pushes: u32,
    /// In which life of the OSD: a crash takes back all promises.
    pub life: u32,
}

/// What an OSD wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Carry this message; it may arrive at any later time, in order per pair of OSDs.
    Send(Envelope),
    /// Hand this request to the OSD's device.
    Device(OsdId, Submission),
    /// Let this worker of the OSD compute; a world whose code is the work itself answers at once.
    Compute(OsdId, WorkerRun),
    /// Wake the OSD at this time.
    Timer(OsdId, Time, Timer),
    /// The op is finished.
    Reply(Reply),
    /// A stage of a traced op ended.
    Trace(TraceSpan),
    /// For the owner of the map: every copy of this placement group is complete and nothing is in flight, as of this
    /// interval, which is to end now.
    Recovered(PgId, u32),
}

impl Effect {
    /// Whether the owner of the map deals with it, not the world.
    pub fn is_for_owner(&self) -> bool {
        matches!(self, Effect::Recovered(..))
    }
}

/// The end of a client's op, with its stage stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The op.
    pub op: OpId,
    /// When the primary admitted it to its queue.
    pub admitted: Time,
    /// When a worker took it.
    pub dequeued: Time,
    /// When it was handed to the store.
    pub executed: Time,
    /// When it was durable on the primary.
    pub committed: Time,
    /// When enough copies had answered.
    pub replied: Time,
}

/// One stage of one traced op on one OSD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceSpan {
    /// The op.
    pub op: OpId,
    /// Where.
    pub osd: OsdId,
    /// As which kind of work.
    pub work: Work,
    /// In which stage.
    pub stage: Stage,
    /// Since when.
    pub start: Time,
    /// Until when.
    pub end: Time,
}
