//! What is promised: to classes by each OSD's profile, and to images by all OSDs together.

use super::ImageUse;
use serde::{Deserialize, Serialize};

/// What the profile in force promises and allows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileInForce {
    /// Each OSD that is up.
    pub osds: Vec<OsdPromises>,
    /// The images that are promised or allowed something, by name.
    pub images: Vec<ImageUse>,
    /// 4 KiB writes per second that images are promised, with all copies.
    pub promised_writes_per_s: f64,
    /// What could be promised to them: what the OSDs reserve for clients, each as much as the one that reserves least.
    pub reserved_writes_per_s: f64,
}

/// What one OSD promises and allows its classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OsdPromises {
    /// The OSD.
    pub osd: u32,
    /// Whose behaviour it has: `quincy`, `reef` or `loadline`.
    pub preset: String,
    /// `mclock`, `wpq` or `fifo`; the latter two promise nothing.
    pub scheduler: String,
    /// The profile.
    pub profile: String,
    /// 4 KiB writes per second that it divides.
    pub capacity_iops: f64,
    /// Its classes; none where nothing is promised.
    pub classes: Vec<ClassRow>,
}

/// One service class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassRow {
    /// Its name.
    pub class: String,
    /// What it has at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation_iops: Option<f64>,
    /// Its share of what is left.
    pub weight: f64,
    /// What it has at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_iops: Option<f64>,
}
