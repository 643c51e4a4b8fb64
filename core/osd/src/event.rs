//! What happens to an OSD, and what it asks of its world.

use crate::bench::{BenchShape, BenchStep, NoRoom};
use crate::disk::Identity;
use crate::ids::{OpId, OsdId, PgId, ShardId, ThreadId};
use crate::message::{Activation, Data, Envelope};
use crate::waits::Stage;
use loadline_base::{Span, Time};
use loadline_device::Outcome;
use loadline_qos::Work;
use loadline_store::paged::{Exceeded, Fault, Io, IoDone};
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
    /// The disk answered a request of the paged store ([`Effect::Io`]), of the life that it names.
    IoDone(u32, IoDone),
    /// A timer fired ([`Effect::Timer`]).
    Timer(Timer),
    /// Keep who this disk is.
    Identify(Identity),
    /// Keep this map, of this epoch.
    SaveMap(u32, Data),
    /// Make everything durable that was answered, and say so under this number.
    Sync(u32),
    /// Carry out a step of a benchmark of this shape. One step at a time.
    Bench(BenchShape, BenchStep),
    /// A placement group begins a new interval here.
    Activate(PgId, Box<Activation>),
    /// A placement group's new interval does without this copy, which stays as it is.
    Deactivate(PgId),
    /// A placement group has left this OSD: its objects are to be deleted, as background work.
    Retire(PgId),
    /// An operator gives up the objects of a placement group that nobody can give: each becomes the newest that is left of it.
    GiveUpUnfound(PgId),
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
    /// The deletion of a placement group has slept.
    DeletionWake(PgId),
    /// A refused reservation may be tried again.
    ReservationRetry(PgId, u32),
    /// The paged store has something to do by the clock.
    Store,
    /// The device may have room again for the writes that it had none for.
    Room,
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

/// What an OSD, or the owner of the map, wants done by the world.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Carry this message; it may arrive at any later time, in order per pair of OSDs.
    Send(Envelope),
    /// Hand this request to the OSD's device.
    Device(OsdId, Submission),
    /// Hand this request of the paged store to the OSD's disk; the answer names the life too.
    Io(OsdId, u32, Io),
    /// Let this worker of the OSD compute; a world whose code is the work itself answers at once.
    Compute(OsdId, WorkerRun),
    /// Wake the OSD at this time.
    Timer(OsdId, Time, Timer),
    /// The op is finished.
    Reply(Reply),
    /// The step of the benchmark has ended, and took so long.
    Benched(OsdId, Result<Span, NoRoom>),
    /// A stage of a traced op ended.
    Trace(TraceSpan),
}

/// What an OSD tells the owner of the map.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// Every copy of this placement group is complete and nothing is in flight, as of this interval, which is to end now.
    Recovered(PgId, u32),
    /// The copy's part in this interval is on its disk, and durable.
    Activated(OsdId, PgId, u32),
    /// Who this disk is is on it, with this term, and durable.
    Identified(OsdId, u64),
    /// The map of this epoch is on this OSD's disk, and durable.
    MapSaved(OsdId, u32),
    /// Everything that was answered before is durable on this OSD.
    Synced(OsdId, u32),
    /// The disk is open and read.
    Opened(OsdId, Box<Opened>),
    /// The disk is of no use any more.
    Stopped(OsdId, DiskFault),
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

/// Why an OSD is left out although its disk could be reached, until somebody opens it again. What keeps a disk from being
/// reached at all is its world's to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// The store has stopped.
    Store(Fault),
    /// What stands under an OSD's keys is not what an OSD writes.
    Contents,
    /// The disk holds nothing: an operator must say that it is to be filled.
    Empty,
    /// The disk is another cluster's.
    OtherCluster,
    /// The disk is another OSD's of this cluster.
    OtherOsd(OsdId),
    /// The disk is this OSD's as it was once: the OSD has served since from a disk that knew more.
    Stale(OsdId),
    /// The disk is this OSD's, which an operator gave up as lost; the others have gone on without it, and what it says has no place in
    /// their history.
    GivenUp(OsdId),
    /// The disk says that it is this OSD's, and so does another one, and nothing tells which of them it last served from.
    Twice(OsdId),
    /// The device could not write.
    Unwritable,
    /// The device could not read what other copies need.
    Unreadable,
    /// The disk is full.
    Full,
    /// What the OSD must write down is larger than its store takes.
    Exceeds(Exceeded),
}

impl std::fmt::Display for DiskFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DiskFault::Store(fault) => fault.fmt(f),
            DiskFault::Contents => {
                f.write_str("the disk holds no state of an OSD that can be read")
            }
            DiskFault::Empty => f.write_str("the disk is empty; `loadline osd replace` fills it"),
            DiskFault::OtherCluster => f.write_str("the disk belongs to another cluster"),
            DiskFault::OtherOsd(osd) => {
                write!(f, "the disk is {osd}'s: swap them, or correct the paths in node.toml")
            }
            DiskFault::Stale(osd) => write!(
                f,
                "the disk is an old copy of {osd}'s: bring back the one that {osd} served from last, or fill one with `loadline osd replace`"
            ),
            DiskFault::GivenUp(osd) => write!(
                f,
                "{osd}'s disk was given up as lost, and what it held is not believed any more: `loadline osd replace` lets the others fill an empty disk"
            ),
            DiskFault::Twice(osd) => write!(
                f,
                "two disks say that they are {osd}'s, and neither is known to be the older: take the wrong one away"
            ),
            DiskFault::Unwritable => f.write_str("the device could not write"),
            DiskFault::Unreadable => f.write_str("an object that other copies need cannot be read"),
            DiskFault::Full => f.write_str("the disk is full"),
            DiskFault::Exceeds(exceeded) => exceeded.fmt(f),
        }
    }
}

/// What a disk told when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Who it is; `None` if nobody has said so yet.
    pub identity: Option<Identity>,
    /// The map that it keeps.
    pub map: Option<Vec<u8>>,
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
