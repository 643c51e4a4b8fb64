//! How a node is.

use super::{OsdRow, QosRow, ScrubRound};
use serde::{Deserialize, Serialize};

/// How a node is, at one instant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Whether anything needs somebody's attention.
    pub health: Health,
    /// Since the node's start.
    pub uptime_ns: u64,
    /// The map's epoch; every change of the cluster raises it.
    pub map_epoch: u32,
    /// How the node reaches disks and sockets, e.g. `io_uring` or `threads (io_uring refused: EPERM)`.
    pub io_mode: String,
    /// How many OSDs there are, and how many serve.
    pub osd_counts: OsdCounts,
    /// Each OSD.
    pub osds: Vec<OsdRow>,
    /// Placement groups by state; their sum is all of them.
    pub pgs: Vec<PgCount>,
    /// Copies that are not as they should be.
    pub objects: ObjectCounts,
    /// What recovery does.
    pub recovery: RecoveryPace,
    /// What is still kept for removed snapshots.
    #[serde(default)]
    pub trim: TrimProgress,
    /// How deep scrubs keep up with their interval.
    #[serde(default)]
    pub scrub: ScrubRound,
    /// What is left of copies of placement groups that have left their OSDs.
    #[serde(default)]
    pub deletion: DeletionProgress,
    /// What clients do.
    pub client: ClientRates,
    /// The images that are promised or allowed something, by name.
    #[serde(default)]
    pub images: Vec<ImageUse>,
    /// How the gate before each OSD's disk stands, of those that are up.
    #[serde(default)]
    pub gates: Vec<GateRow>,
    /// Who holds what of the memory.
    pub memory: MemoryUse,
    /// Who is connected.
    pub connections: ConnectionCounts,
}

/// Where a node is met beside its admin socket. What lies in or below that socket's folder is told by a relative path, which holds wherever
/// that folder is seen, as from outside a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodePlaces {
    /// The Unix socket for NBD.
    pub nbd: Option<String>,
    /// The file with the page's address and token.
    pub page: Option<String>,
}

/// Whether anything needs attention, and what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// The worst of what was found.
    pub level: HealthLevel,
    /// One sentence for each finding, the worst first; none if all is well.
    pub findings: Vec<String>,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HealthLevel {
    /// All is well.
    Ok,
    /// Clients are served, with less safety or speed than wanted.
    Warn,
    /// Some data cannot be reached.
    Error,
}

impl HealthLevel {
    /// The level's name.
    pub const fn name(self) -> &'static str {
        match self {
            HealthLevel::Ok => "ok",
            HealthLevel::Warn => "warn",
            HealthLevel::Error => "error",
        }
    }
}

/// How the gate before an OSD's disk stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GateRow {
    /// The OSD.
    pub osd: u32,
    /// 4 KiB writes per second by which its promises go: as told, or as found where that is far from it.
    pub capacity_iops: f64,
    /// What was found, if it is far from what was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_iops: Option<f64>,
    /// How long its disk may take for what is in flight; none under presets of other systems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_goal_ns: Option<u64>,
    /// The largest part that a transfer of background work enters the disk in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_bytes: Option<u64>,
    /// Whether nothing more leaves its queues until the disk has answered some of what it has.
    pub is_closed: bool,
    /// Ops that clients may have in the store, while one of the images is promised something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_window_ops: Option<u32>,
    /// How recovery and backfill are paced beside clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<BackgroundRow>,
}

/// How recovery and backfill are paced on an OSD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BackgroundRow {
    /// What may begin in a second; none while no client asks for anything, and the disk alone decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_begin_bytes_per_s: Option<f64>,
    /// At the disk now.
    pub ops: u32,
    /// Its bytes.
    pub bytes: u64,
    /// Items that are kept out of the queues until they may begin.
    pub kept_out: u64,
    /// The share of what they have alone that clients are promised.
    pub client_share: f64,
    /// What clients have alone, as looks at the disk without background work have shown it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients_alone: Option<FareRow>,
    /// What they had lately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients_lately: Option<FareRow>,
}

/// How clients fare at one disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FareRow {
    /// Reads and writes, those for other copies among them, that end in a second.
    pub accesses_per_s: f64,
    /// How long one takes.
    pub mean_ns: f64,
}

/// How many OSDs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OsdCounts {
    /// In the map.
    pub total: u32,
    /// Running and answering.
    pub up: u32,
    /// Used by placement.
    #[serde(rename = "in")]
    pub is_in: u32,
}

/// Placement groups in one state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PgCount {
    /// The state in the field's words, e.g. `active+clean`.
    pub state: String,
    /// How many.
    pub pgs: u32,
}

/// Copies of objects that are not as they should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectCounts {
    /// Copies that there should be.
    pub copies: u64,
    /// Copies that exist, but not yet where placement wants them.
    pub misplaced: u64,
    /// Copies that do not exist.
    pub degraded: u64,
    /// Objects that are being recovered now.
    pub recovering: u64,
}

/// What recovery and backfill moved, averaged over the last seconds, and how long what is left takes at the pace of each queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecoveryPace {
    /// Objects made whole.
    pub objects_per_s: f64,
    /// Their data.
    pub bytes_per_s: f64,
    /// When nothing is left; none if nothing is, nothing moves, or a queue has not moved enough to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_in_ns: Option<u64>,
    /// The least that it takes; none if nothing is left, or nothing moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_ns: Option<u64>,
}

/// What is still kept for removed snapshots, and how fast it is given back, averaged over the last seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrimProgress {
    /// Removed snapshots for which something is kept, once for each placement group.
    pub snapshots_left: u64,
    /// Former states of objects that are kept for them; copies of one are one.
    pub objects_left: u64,
    /// Those that are given back.
    pub objects_per_s: f64,
    /// When nothing is left at that rate; none if nothing is, or nothing is given back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_in_ns: Option<u64>,
}

/// What is left of copies of placement groups that have left their OSDs, and how fast it goes, averaged over the last seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeletionProgress {
    /// Copies that are deleted.
    pub copies_left: u64,
    /// Objects that are still in them.
    pub objects_left: u64,
    /// Objects and former states of objects that go.
    pub objects_per_s: f64,
    /// When nothing is left at that rate; none if nothing is, or nothing goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_in_ns: Option<u64>,
}

/// What clients were served, averaged over the last seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientRates {
    /// Over how long.
    pub window_ns: u64,
    /// Reads answered.
    pub reads_per_s: f64,
    /// Writes answered, with what else changes data.
    pub writes_per_s: f64,
    /// Data read.
    pub read_bytes_per_s: f64,
    /// Data written.
    pub written_bytes_per_s: f64,
}

/// What an image is promised, and what it was served, averaged over the last seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageUse {
    /// The image.
    pub name: String,
    /// What it is promised and allowed.
    pub qos: QosRow,
    /// Ops answered.
    pub ops_per_s: f64,
    /// From arrival to reply, on average; 0 without ops.
    pub mean_ns: u64,
    /// The same of the slowest.
    pub longest_ns: u64,
    /// Whole seconds that are remembered.
    #[serde(default)]
    pub seconds: u64,
    /// Those in which it got less than 95 % of the lesser of what it asked for and what it is promised, from arrival to reply.
    #[serde(default)]
    pub seconds_short: u64,
}

/// Who holds what of the node's memory. The parts of the stores and of the node itself are set aside, whether they are used or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// All that the node may take.
    pub budget_bytes: u64,
    /// What the process has in memory now.
    pub resident_bytes: u64,
    /// Of the budget, the page caches'.
    pub caches_bytes: u64,
    /// Old versions of pages, which checkpoints keep.
    pub old_versions_bytes: u64,
    /// What the OSDs take for requests, windows and recovery.
    pub osd_work_bytes: u64,
    /// The program, the map, admin connections.
    pub node_bytes: u64,
    /// What is left for connections of NBD clients and guests.
    pub connections_bytes: u64,
    /// What they hold of it now.
    pub connections_held_bytes: u64,
    /// The most that they have held.
    pub connections_peak_bytes: u64,
    /// How many of them wait for some.
    pub connections_waiting: u32,
}

/// Who is connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionCounts {
    /// NBD connections.
    pub nbd: u32,
    /// Guests that are connected by vhost-user.
    #[serde(default)]
    pub vhost: u32,
    /// Admin connections, that which asks among them.
    pub admin: u32,
    /// Connections to the page and to `/metrics` over TCP.
    #[serde(default)]
    pub page: u32,
    /// Connections that were refused since the start.
    pub refused: u64,
}
