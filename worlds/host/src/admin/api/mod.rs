//! What one may ask of a running node, what it answers, and how it refuses. Plain values; no bytes, no sockets.
//!
//! Every field that is a quantity ends in its unit: `_bytes`, `_ns`, `_per_s`. Times are spans before now unless a field
//! says otherwise, because a reader does not know the node's clock.

mod asked;
mod command;
mod dump;
mod live;
mod profile;
mod refusal;
mod scrubs;
mod status;
mod tables;

pub use asked::{
    BenchAsked, ImageAsked, NO_SUCH_OSD, NameAsked, OsdAsked, OsdMove, PoolAsked, QosAsked,
    ScrubHow, SizeAsked, SnapshotName, TracedOps, ValueAsked, ValueLevel, WatchSeconds, Who,
};
pub use command::Command;
#[cfg(test)]
pub(super) use command::VERBS;
pub use dump::{
    BenchResult, ImageWaits, KeptOutRow, OpDump, OpRow, OpSpan, OpStage, OpWaitRow, QueueDump,
    QueueTags, QueuedItem, ReasonShare, ShardQueue, StageShare, WaitFigures, WaitReason,
};
pub use live::{
    LiveClass, LiveImage, LiveNow, LiveOsd, LiveScrub, LiveSecond, LiveStep, LiveView, QueuedClass,
};
pub use profile::{ClassRow, OsdPromises, ProfileInForce};
pub use refusal::{AdminRefusal, RefusalKind};
pub use scrubs::{
    BadCopy, InconsistentRow, InconsistentStates, ScrubRound, ScrubRow, Scrubbing, Scrubs,
};
pub use status::{
    BackgroundRow, ClientRates, ConnectionCounts, DeletionProgress, FareRow, GateRow, Health,
    HealthLevel, ImageUse, MemoryUse, NodePlaces, ObjectCounts, OsdCounts, PgCount, RecoveryPace,
    Status, TrimProgress,
};
pub use tables::{
    Added, AlteredValue, ConfigChanged, ConfigRow, ConfigRows, Done, Explained, ExplainedLevel,
    ImageRow, ImageRows, OkToStop, OsdRow, Osds, PoolRow, Pools, QosRow, SnapshotRow, Snapshots,
    UnfoundObject, UnfoundObjects,
};

pub use super::Exposition;
use serde::Serialize;

/// What a node answers to a [`Command`] that it has carried out.
///
/// On the wire it is the inner value alone: who asked knows what to expect ([`Command`] names it at each variant).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AdminAnswer {
    /// It is done, and there is nothing more to say.
    Done(Done),
    /// Something new has its number.
    Added(Added),
    /// How the node is.
    Status(Box<Status>),
    /// Where it is met.
    Places(NodePlaces),
    /// The OSDs.
    Osds(Osds),
    /// The pools.
    Pools(Pools),
    /// The images.
    Images(ImageRows),
    /// One image.
    Image(ImageRow),
    /// The snapshots of an image.
    Snapshots(Snapshots),
    /// Values of options.
    Config(ConfigRows),
    /// One option on every level.
    Explained(Explained),
    /// What a change of the settings altered.
    Changed(ConfigChanged),
    /// What is promised.
    Profile(ProfileInForce),
    /// What waits in an OSD's queues.
    Queues(QueueDump),
    /// Ops.
    Ops(OpDump),
    /// What an image's ops waited for.
    Waits(ImageWaits),
    /// What an OSD's disk can do.
    Bench(BenchResult),
    /// Whether OSDs could stop.
    OkToStop(OkToStop),
    /// What no OSD can give.
    Unfound(UnfoundObjects),
    /// Scrubs that begin.
    Scrubbing(Scrubbing),
    /// Scrubs that were and are.
    Scrubs(Scrubs),
    /// What happens.
    Live(Box<LiveView>),
    /// What is measured; as text, unless JSON is accepted.
    Metrics(Exposition),
    /// What a scrub has found.
    Inconsistent(InconsistentStates),
}
