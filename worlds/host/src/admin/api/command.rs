//! Commands. Each variant names what is answered.

use super::{BenchAsked, ImageAsked, Level, OsdAsked, OsdMove, PoolAsked, SnapshotName, Who};
use loadline_osd::OsdId;

/// What can be asked of a running node.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// How the node is. [`Status`](super::Status)
    Status,
    /// About OSDs.
    Osd(OsdCommand),
    /// About pools.
    Pool(PoolCommand),
    /// About images and their snapshots.
    Image(ImageCommand),
    /// About settings.
    Config(ConfigCommand),
    /// The ops in flight, the oldest first. [`OpDump`](super::OpDump)
    Ops,
    /// The slowest of the ops that ended lately, the slowest first. [`OpDump`](super::OpDump)
    OpHistory,
    /// Ends the node: open ops are answered, stores are made clean. [`Done`](super::Done), before it begins.
    Shutdown,
    /// One of the others, whose cost is known and accepted: what destroys data or ends service is refused without.
    Meant(Box<Command>),
}

impl Command {
    /// The same, its cost accepted.
    pub fn meant(self) -> Command {
        Command::Meant(Box::new(self))
    }
}

/// What can be asked about OSDs.
#[derive(Clone, Debug, PartialEq)]
pub enum OsdCommand {
    /// All of them. [`Osds`](super::Osds)
    List,
    /// Takes one down or out, or brings it back. [`Done`](super::Done)
    Move(OsdId, OsdMove),
    /// Makes one on a file or a device that holds none. [`Added`](super::Added)
    Add(OsdAsked),
    /// Gives one an empty disk in place of its own, to be filled by backfill. [`Done`](super::Done)
    Replace(OsdId, OsdAsked),
    /// Forgets one that is down and out. [`Done`](super::Done)
    Remove(OsdId),
    /// Measures its disk. [`BenchResult`](super::BenchResult)
    Bench(OsdId, BenchAsked),
    /// What waits in its queues, and why. [`QueueDump`](super::QueueDump)
    Queues(OsdId),
    /// Whether these could stop at once without an end of service. [`OkToStop`](super::OkToStop)
    OkToStop(Vec<OsdId>),
}

/// What can be asked about pools.
#[derive(Clone, Debug, PartialEq)]
pub enum PoolCommand {
    /// All of them. [`Pools`](super::Pools)
    List,
    /// Makes one. [`Done`](super::Done)
    Create(PoolAsked),
    /// Removes one that has no images. [`Done`](super::Done)
    Remove(String),
}

/// What can be asked about images and snapshots.
#[derive(Clone, Debug, PartialEq)]
pub enum ImageCommand {
    /// All images. [`Images`](super::Images)
    List,
    /// One image. [`Image`](super::Image)
    Info(String),
    /// Makes an image. [`Done`](super::Done)
    Create(ImageAsked),
    /// Gives an image another size in bytes; what is cut off is gone. [`Done`](super::Done)
    Resize(String, u64),
    /// Gives an image another name. [`Done`](super::Done)
    Rename {
        /// Its name.
        image: String,
        /// Its name from now on.
        name: String,
    },
    /// Removes an image without snapshots and clones. [`Done`](super::Done)
    Remove(String),
    /// Makes an image that begins as a snapshot is. [`Done`](super::Done)
    Clone {
        /// The snapshot.
        from: SnapshotName,
        /// The new image's name.
        name: String,
    },
    /// The snapshots of an image. [`Snapshots`](super::Snapshots)
    Snapshots(String),
    /// Keeps an image as it is now. [`Done`](super::Done)
    Snapshot(SnapshotName),
    /// Removes a snapshot without clones. [`Done`](super::Done)
    RemoveSnapshot(SnapshotName),
}

/// What can be asked about settings.
#[derive(Clone, Debug, PartialEq)]
pub enum ConfigCommand {
    /// The values that somebody set, at all levels or for one [`Who`]; for one OSD its every option with the value in
    /// force. [`ConfigRows`](super::ConfigRows)
    Show(Option<Who>),
    /// One option on every level. [`Explained`](super::Explained)
    Get(Who, String),
    /// Sets an option. [`ConfigChanged`](super::ConfigChanged)
    Set {
        /// For whom.
        who: Who,
        /// The option's name.
        option: String,
        /// The value as text.
        value: String,
        /// For how long.
        level: Level,
    },
    /// Takes a value away again. [`ConfigChanged`](super::ConfigChanged)
    Remove {
        /// For whom it was set.
        who: Who,
        /// The option's name.
        option: String,
        /// At which level.
        level: Level,
    },
}
