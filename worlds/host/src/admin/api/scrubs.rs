//! Scrubs: what begins, when the last ones were, what they have found.

use serde::{Deserialize, Serialize};

/// Scrubs that were asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scrubbing {
    /// Placement groups whose primaries were told. Each begins as soon as its members have a slot.
    pub pgs: Vec<String>,
    /// Placement groups that nobody serves now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// The scrubs of all placement groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scrubs {
    /// In the order of their names.
    pub pgs: Vec<ScrubRow>,
    /// The deep scrubs of all.
    pub round: ScrubRound,
}

/// How deep scrubs keep up with their interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScrubRound {
    /// Placement groups that are served.
    pub pgs: u32,
    /// Of these: due for a deep scrub, or with one under way.
    pub pgs_left: u32,
    /// Objects and former states of objects of those that are not compared yet.
    pub states_left: u64,
    /// How many of them are compared in a second, by what deep scrubs under way have done since they began.
    pub states_per_s: f64,
    /// When the last one is done at that rate; none if nothing is left, or nothing is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_in_ns: Option<u64>,
    /// How long a round of all placement groups takes at that rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes_ns: Option<u64>,
    /// When health says `PG_NOT_DEEP_SCRUBBED` of the first one that is not done until then; none if nothing is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_in_ns: Option<u64>,
    /// When the next one is due, where nothing is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_in_ns: Option<u64>,
    /// Within so long each is to be scrubbed deeply (`osd_deep_scrub_interval`), the longest of all OSDs.
    pub interval_ns: u64,
    /// What is in the way of the deadline and what would change that; none if it will be met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wants: Option<String>,
}

/// The scrubs of one placement group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScrubRow {
    /// The group.
    pub pg: String,
    /// What it is scrubbed for: `shallow` or `deep`; none if no scrub is under way or waits for a slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_way: Option<String>,
    /// Whether that has its slots, and goes on.
    pub runs: bool,
    /// How long it rests because it is ahead of its pace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rests_ns: Option<u64>,
    /// Why the clock does not begin one although its time has come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_back: Option<String>,
    /// Objects and former states of objects that it has compared.
    pub objects_scrubbed: u64,
    /// Since the last one of any kind ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_ns: Option<u64>,
    /// The same of a deep one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_deep_ns: Option<u64>,
    /// The same of one that found nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_clean_ns: Option<u64>,
    /// How long the last one took.
    pub duration_ns: u64,
    /// Errors that a shallow scrub finds.
    pub shallow_errors: u64,
    /// Errors that take a deep one.
    pub deep_errors: u64,
    /// Something was to be repaired that has no good copy.
    #[serde(default)]
    pub failed_repair: bool,
}

/// What is not alike in the copies of a placement group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InconsistentStates {
    /// The group.
    pub pg: String,
    /// How many objects and former states of objects are not as they should be.
    pub inconsistent: u64,
    /// The first of them.
    pub states: Vec<InconsistentRow>,
}

/// One state of one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InconsistentRow {
    /// The object's number in its pool.
    pub object: u64,
    /// The number of the newest snapshot that shows it; none of the present state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<u32>,
    /// The image that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Where in the image it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset_bytes: Option<u64>,
    /// The OSD whose copy counts; none if all are bad.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected_osd: Option<u32>,
    /// The OSDs whose copies are as an earlier deep scrub has recorded them in this version; none if none has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_recorded: Option<Vec<u32>>,
    /// The copies that are bad.
    pub bad: Vec<BadCopy>,
}

/// A copy that is bad.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadCopy {
    /// Whose it is.
    pub osd: u32,
    /// What is wrong, in the field's words, e.g. `read_error`.
    pub errors: Vec<String>,
}
