//! `osd dump`, `osd pool ls detail`, `osd df`, `osd metadata`, `versions`.

use crate::lenient;
use serde::Deserialize;
use std::collections::BTreeMap;

/// `osd dump`: the map of OSDs and pools.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct OsdMapDump {
    /// Grows with each change.
    #[serde(deserialize_with = "lenient::whole")]
    pub epoch: u64,
    /// Flags of the whole cluster, such as `noscrub`.
    pub flags_set: Vec<String>,
    /// Share of a disk from which on the cluster warns.
    #[serde(deserialize_with = "lenient::number")]
    pub nearfull_ratio: f64,
    /// The pools.
    pub pools: Vec<PoolEntry>,
    /// The OSDs.
    pub osds: Vec<OsdEntry>,
}

/// One pool.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PoolEntry {
    /// Its number, which PG names begin with.
    #[serde(alias = "pool_id", deserialize_with = "lenient::whole")]
    pub pool: u64,
    /// Its name.
    pub pool_name: String,
    /// 1 for copies, 3 for erasure codes.
    #[serde(rename = "type", deserialize_with = "lenient::whole")]
    pub kind: u64,
    /// Copies, or chunks.
    #[serde(deserialize_with = "lenient::whole")]
    pub size: u64,
    /// Copies without which it does not serve.
    #[serde(deserialize_with = "lenient::whole")]
    pub min_size: u64,
    /// Placement groups.
    #[serde(deserialize_with = "lenient::whole")]
    pub pg_num: u64,
    /// `on`, `off` or `warn`.
    pub pg_autoscale_mode: String,
    /// Of an erasure-coded pool.
    pub erasure_code_profile: String,
    /// Who uses it, with what each notes of it.
    pub application_metadata: BTreeMap<String, BTreeMap<String, String>>,
}

impl PoolEntry {
    /// Whether its objects are cut into coded chunks.
    pub fn is_erasure_coded(&self) -> bool {
        self.kind == 3
    }
}

/// One OSD in the map.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct OsdEntry {
    /// Its number.
    #[serde(rename = "osd", deserialize_with = "lenient::whole")]
    pub id: u64,
    /// Whether it runs.
    #[serde(deserialize_with = "lenient::flag")]
    pub up: bool,
    /// Whether data is placed on it.
    #[serde(rename = "in", deserialize_with = "lenient::flag")]
    pub is_in: bool,
    /// The map in which its process came up: another number is another process, whose counters began at zero.
    #[serde(deserialize_with = "lenient::whole")]
    pub up_from: u64,
}

/// `osd df`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct OsdUsages {
    /// Of each OSD.
    pub nodes: Vec<OsdUsage>,
}

/// How full an OSD is.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct OsdUsage {
    /// Its number.
    #[serde(deserialize_with = "lenient::whole")]
    pub id: u64,
    /// `ssd`, `hdd` or one of the operator's.
    pub device_class: String,
    /// Size in KiB.
    #[serde(deserialize_with = "lenient::whole")]
    pub kb: u64,
    /// Of it taken.
    #[serde(deserialize_with = "lenient::whole")]
    pub kb_used: u64,
    /// Placement groups that it takes part in.
    #[serde(deserialize_with = "lenient::whole")]
    pub pgs: u64,
}

/// `osd metadata`: what an OSD says of its host and disk, all of it as text.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct OsdMetadata {
    /// Its number.
    #[serde(deserialize_with = "lenient::whole")]
    pub id: u64,
    /// Its host.
    #[serde(deserialize_with = "lenient::text")]
    pub hostname: String,
    /// Whether the kernel takes its disk for a rotating one.
    #[serde(deserialize_with = "lenient::flag")]
    pub rotational: bool,
    /// `ssd` or `hdd`, as BlueStore found it.
    #[serde(deserialize_with = "lenient::text")]
    pub bluestore_bdev_type: String,
    /// Bytes of its disk.
    #[serde(deserialize_with = "lenient::whole")]
    pub bluestore_bdev_size: u64,
    /// Whether its database has a disk of its own.
    #[serde(deserialize_with = "lenient::flag")]
    pub bluefs_dedicated_db: bool,
    /// Its release, such as `18.2.7`.
    #[serde(deserialize_with = "lenient::text")]
    pub ceph_version_short: String,
    /// Processor of the host.
    #[serde(deserialize_with = "lenient::text")]
    pub cpu: String,
}

/// `versions`: which releases run, by kind of daemon.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Releases {
    /// The OSDs' with how many run each.
    pub osd: BTreeMap<String, u64>,
    /// All daemons'.
    pub overall: BTreeMap<String, u64>,
}

impl Releases {
    /// The OSDs' releases as numbers, such as `18.2.7`.
    pub fn of_osds(&self) -> Vec<String> {
        let short = |text: &String| text.split_whitespace().nth(2).unwrap_or(text).to_owned();
        self.osd.keys().map(short).collect()
    }
}
