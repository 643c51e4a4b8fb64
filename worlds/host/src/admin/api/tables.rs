//! Answers that are tables: OSDs, pools, images, snapshots and settings.

use super::ValueLevel;
use serde::{Deserialize, Serialize};

/// It is done. On the wire an empty object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {}

/// An OSD that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    /// Its number.
    pub osd: u32,
}

/// The OSDs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Osds {
    /// By number.
    pub osds: Vec<OsdRow>,
}

/// One OSD.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OsdRow {
    /// Its number.
    pub osd: u32,
    /// It runs and answers.
    pub up: bool,
    /// Placement uses it.
    #[serde(rename = "in")]
    pub is_in: bool,
    /// Its file or device.
    pub path: String,
    /// What it holds at most.
    pub size_bytes: u64,
    /// What it holds.
    pub used_bytes: u64,
    /// Placement groups that it has a copy of.
    pub pgs: u32,
    /// When its writes are answered: `fsync`, `log-only`, `background` or `none`.
    pub log_mode: String,
    /// How its disk is opened: `direct` or `buffered`, with the reason for the latter.
    pub disk_mode: String,
    /// The capacity in force, which mClock divides: 4 KiB writes per second, measured or set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_iops: Option<f64>,
    /// Since it last went up; none while it is down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uptime_ns: Option<u64>,
    /// Why it is down, if it did not go by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// The pools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pools {
    /// In the order of their making.
    pub pools: Vec<PoolRow>,
}

/// One pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolRow {
    /// Its name.
    pub name: String,
    /// Placement groups.
    pub pgs: u32,
    /// Copies of each object.
    pub copies: u32,
    /// Images in it.
    pub images: u32,
}

/// The images.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageRows {
    /// By name.
    pub images: Vec<ImageRow>,
}

/// One image. Its name is also its export's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageRow {
    /// Its name.
    pub name: String,
    /// The pool that holds it.
    pub pool: String,
    /// Its size.
    pub size_bytes: u64,
    /// Size of its objects.
    pub object_bytes: u64,
    /// The snapshot that it began as, `image@snapshot`, if it is a clone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// What it is promised and allowed, if anything was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qos: Option<QosRow>,
    /// Its snapshots, the oldest first.
    pub snapshots: Vec<SnapshotRow>,
}

/// What an image is promised and allowed over all OSDs, in ops of 4 KiB per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct QosRow {
    /// It has at least so many; 0 for none.
    pub reservation_iops: u32,
    /// It has at most so many; 0 for no limit.
    pub limit_iops: u32,
    /// After less than the limit it may have at once what the limit gives in this time.
    pub burst_ns: u64,
    /// Its share of what is left, beside 1 of an image for which nothing was said.
    pub weight: f64,
}

/// Whether OSDs could stop, in the field's words. Placement groups are named as `2.1f`: the pool's number and, in
/// hexadecimal, the group's in its pool. Only groups that these OSDs serve are counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OkToStop {
    /// Whether everything that is served now would be served on.
    pub ok_to_stop: bool,
    /// The OSDs.
    pub osds: Vec<u32>,
    /// Groups that would be served on.
    pub num_ok_pgs: usize,
    /// Groups that would not, or of which nobody knows.
    pub num_not_ok_pgs: usize,
    /// Groups that nobody serves now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bad_already_inactive: Vec<String>,
    /// Groups that nobody would serve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bad_become_inactive: Vec<String>,
    /// Groups that would have fewer copies than they should.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ok_become_degraded: Vec<String>,
    /// Groups that have too few copies already, and would have fewer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ok_become_more_degraded: Vec<String>,
}

/// What no OSD can give of a placement group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnfoundObjects {
    /// The group.
    pub pg: String,
    /// The objects.
    pub objects: Vec<UnfoundObject>,
}

/// One object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnfoundObject {
    /// Its number in its pool.
    pub object: u64,
    /// The image that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Where in the image it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset_bytes: Option<u64>,
}

/// The snapshots of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshots {
    /// The image's number, which stays when it is renamed.
    pub image_id: String,
    /// The cluster's number: another one may have an image of the same.
    pub cluster_id: String,
    /// The oldest first.
    pub snapshots: Vec<SnapshotRow>,
}

/// One snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotRow {
    /// Its name inside the image.
    pub name: String,
    /// Its number; later ones are larger.
    pub id: u32,
    /// The image's size at that time.
    pub size_bytes: u64,
    /// Images that began as it.
    pub clones: Vec<String>,
}

/// Values of options.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigRows {
    /// In the order of the option table, and of each option the least specific first.
    pub rows: Vec<ConfigRow>,
}

/// One value of an option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigRow {
    /// For whom: `global`, `osd` or `osd.N`.
    pub who: String,
    /// The option.
    pub option: String,
    /// The value as text.
    pub value: String,
    /// Where it comes from, e.g. `stored for global` or `profile balanced`.
    pub origin: String,
    /// What the next start would bring into force, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_restart: Option<String>,
}

/// One option of one OSD on every level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explained {
    /// For whom.
    pub who: String,
    /// The option.
    pub option: String,
    /// Every level, from built-in up.
    pub levels: Vec<ExplainedLevel>,
    /// The value in force.
    pub value: String,
    /// Where it comes from.
    pub origin: String,
    /// What the next start would bring into force, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_restart: Option<String>,
}

/// One level of an option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplainedLevel {
    /// The level.
    pub level: String,
    /// Its value, if it has one.
    pub value: Option<String>,
}

/// What a change of the settings altered: every value in force that is another now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigChanged {
    /// At which level the change was made.
    pub level: ValueLevel,
    /// In order of OSD and option; none if a stronger level hides the change.
    pub altered: Vec<AlteredValue>,
}

/// A value in force that is another now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlteredValue {
    /// On which OSD.
    pub osd: u32,
    /// Which option.
    pub option: String,
    /// What was in force.
    pub before: String,
    /// What is in force.
    pub after: String,
}
