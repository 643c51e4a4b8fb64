//! What happens to an OSD, and what it asks of its world.

use crate::bench::{BenchShape, BenchStep, NoRoom};
use crate::delay::OpDelay;
use crate::directive::{Directive, Notice};
use crate::ids::{OpId, OsdId, PgId, ShardId, ThreadId};
use crate::item_size::ItemSize;
use crate::message::{Data, Envelope, KeyPut, PutEnd};
use crate::scrub::MachineLoad;
use crate::waits::Stage;
use loadline_base::{Span, Time};
use loadline_device::Outcome;
use loadline_qos::Work;
use loadline_store::paged::{Io, IoDone};
use loadline_store::{RequestId, Submission};

/// Something that happened, at the `now` it is stepped with.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A message arrived.
    Message(Box<Envelope>),
    /// A worker has spent the processor time of its item ([`Effect::Compute`]).
    Computed(WorkerRun),
    /// A client puts a key that this OSD's disk alone keeps ([`Effect::PutEnded`]).
    Put(KeyPut),
    /// The device answered a request ([`Effect::Device`]).
    DeviceDone(RequestId, Outcome),
    /// The disk answered a request of the paged store ([`Effect::Io`]), of the life that it names.
    IoDone(u32, IoDone),
    /// A timer fired ([`Effect::Timer`]).
    Timer(Timer),
    /// Carry out a step of a benchmark of this shape. One step at a time.
    Bench(BenchShape, BenchStep),
    /// The machine tells how busy it is, from time to time.
    MachineLoad(MachineLoad),
    /// The owner of the map says what to do.
    Directive(Directive),
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
    /// More background work may begin.
    Background,
    /// A recovery item has slept.
    RecoveryWake(SleepingItem),
    /// The deletion of a placement group has slept.
    DeletionWake(PgId),
    /// Scrubs may be due.
    ScrubTick,
    /// The scrub of a placement group has slept, in the run of this number.
    ScrubWake(PgId, u32),
    /// The trim of a placement group has slept, in the run of this number.
    TrimWake(PgId, u32),
    /// A refused reservation may be tried again.
    ReservationRetry(PgId, u32),
    /// The paged store has something to do by the clock.
    Store,
    /// The device may have room again for the writes that it had none for.
    Room,
    /// What is owed has waited long for room in the store.
    Full,
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

/// What an OSD, or the owner of the map, wants done by the world. It passes through many hands, so what is large in it stays where it was
/// made.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Carry this message; it may arrive at any later time, in order per pair of OSDs.
    Send(Box<Envelope>),
    /// Hand this request to the OSD's device.
    Device(OsdId, Submission),
    /// Hand this request of the paged store to the OSD's disk; the answer names the life too.
    Io(OsdId, u32, Io),
    /// Let this worker of the OSD compute; a world whose code is the work itself answers at once.
    Compute(OsdId, WorkerRun, ItemSize),
    /// Wake the OSD at this time.
    Timer(OsdId, Time, Timer),
    /// The op is finished.
    Reply(Box<Reply>),
    /// A put is over ([`Event::Put`]).
    PutEnded(OsdId, PutEnd),
    /// The step of the benchmark has ended, and took so long.
    Benched(OsdId, Result<Span, NoRoom>),
    /// A stage of a traced op ended.
    Trace(TraceSpan),
}

/// What follows from a step, for each of the two who hear of it. What is asked of the world comes before all that follows
/// from what the owner is told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects {
    /// What the world is to do.
    pub world: Vec<Effect>,
    /// What the owner of the map is to know.
    pub owner: Vec<Notice>,
}

/// The bytes of an object can be read from no copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// The end of a client's op, with its stage stamps.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// When its answer was handed to the client: later than `replied` by what its world's processor did meanwhile, where that takes
    /// time.
    pub answered: Time,
    /// What it waited for longest.
    pub delay: OpDelay,
    /// What was read: at most what was asked for; what is missing at its end reads as zeros.
    pub result: Result<Data, Unreadable>,
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
