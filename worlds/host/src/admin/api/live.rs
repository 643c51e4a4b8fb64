//! The live view: what happened in each of the last seconds, and how it is now.

use super::{DeletionProgress, Health, ObjectCounts, OpRow, RecoveryPace, TrimProgress};
use serde::{Deserialize, Serialize};

/// All that a page shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveView {
    /// The last seconds, the oldest first.
    pub seconds: Vec<LiveSecond>,
    /// How it is now.
    pub now: LiveNow,
}

/// A second that has passed, as the stream tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveStep {
    /// The second.
    pub second: LiveSecond,
    /// How it is at its end.
    pub now: LiveNow,
}

/// What happened in one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveSecond {
    /// When it ended, since the node's start.
    pub at_ns: u64,
    /// Reads answered.
    pub reads: u64,
    /// Writes answered, with what else changes data.
    pub writes: u64,
    /// Data read.
    pub read_bytes: u64,
    /// Data written.
    pub written_bytes: u64,
    /// From issue to reply: half took no longer. Quantiles are at most an eighth too large.
    pub p50_ns: u64,
    /// 99 of 100 took no longer.
    pub p99_ns: u64,
    /// 999 of 1000 took no longer.
    pub p999_ns: u64,
    /// Objects that recovery and backfill have brought.
    pub recovered: u64,
    /// Their data.
    pub recovered_bytes: u64,
    /// States that were trimmed.
    pub trimmed: u64,
    /// Objects that have gone with copies of placement groups that had left.
    pub deleted: u64,
    /// Objects that scrubs have looked at.
    pub scrubbed: u64,
    /// Each service class, over all OSDs.
    pub classes: Vec<LiveClass>,
    /// The images that are promised something or have asked for something, by name.
    pub images: Vec<LiveImage>,
}

/// A service class in one second, in writes of 4 KiB.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveClass {
    /// Its name.
    pub class: String,
    /// What it is promised; 0 for nothing.
    pub promised: f64,
    /// What it asked for: what was taken from the queues and what waited in them at the end, which counts like that.
    pub asked: f64,
    /// What it was given.
    pub given: f64,
}

/// An image in one second, in ops.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveImage {
    /// The image.
    pub image: String,
    /// What it is promised; 0 for nothing.
    pub promised: u32,
    /// What it may have; 0 for no limit.
    pub limit: u32,
    /// Its ops that were open when the second began, and those that came in it.
    pub asked: u64,
    /// Its ops that ended.
    pub given: u64,
    /// How long these took on average.
    pub mean_ns: u64,
}

/// How it is at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveNow {
    /// Whether anything needs attention.
    pub health: Health,
    /// Since the node's start.
    pub uptime_ns: u64,
    /// The profile of the OSDs; the names of all where they differ.
    pub profile: String,
    /// The profiles there are.
    pub profiles: Vec<String>,
    /// Client ops without a reply.
    pub in_flight: u64,
    /// The oldest of them, and what they wait for.
    pub oldest: Vec<OpRow>,
    /// Copies that are not as they should be.
    pub objects: ObjectCounts,
    /// What recovery does.
    pub recovery: RecoveryPace,
    /// What is kept for removed snapshots.
    pub trim: TrimProgress,
    /// What is left of copies that are deleted.
    pub deletion: DeletionProgress,
    /// Scrubs.
    pub scrub: LiveScrub,
    /// Each OSD.
    pub osds: Vec<LiveOsd>,
}

/// Scrubs at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveScrub {
    /// Placement groups that are being scrubbed.
    pub running: u32,
    /// All placement groups.
    pub pgs: u32,
    /// Placement groups that are due for a deep scrub, or have one under way.
    #[serde(default)]
    pub pgs_left: u32,
    /// When the last of these is done at the present rate; none if there are none, or none is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_in_ns: Option<u64>,
    /// Errors that scrubs have found and nobody has repaired.
    pub errors: u64,
    /// The clock begins none: `noscrub` and `nodeep-scrub` are set.
    pub paused: bool,
}

/// An OSD at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveOsd {
    /// The OSD.
    pub osd: u32,
    /// It runs and answers.
    pub up: bool,
    /// Placement uses it.
    #[serde(rename = "in")]
    pub is_in: bool,
    /// What it holds at most.
    pub size_bytes: u64,
    /// What it holds.
    pub used_bytes: u64,
    /// 4 KiB writes per second by which its promises go; none while it is down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_iops: Option<f64>,
    /// That was found, and is far from what was told.
    pub capacity_is_found: bool,
    /// Nothing more leaves its queues until the disk has answered some of what it has.
    pub gate_closed: bool,
    /// Items that wait in its queues, by class.
    pub queued: Vec<QueuedClass>,
    /// Items of background work that wait outside of them.
    pub kept_out: u64,
}

/// Items of a class that wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedClass {
    /// The class.
    pub class: String,
    /// How many.
    pub items: u64,
}
