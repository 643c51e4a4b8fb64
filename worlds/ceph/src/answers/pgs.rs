//! `pg dump pgs`: group by group, because a large cluster's answer is some hundred MB.

use crate::lenient;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// One placement group.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PgStat {
    /// POOL.NUMBER in hexadecimal.
    pub pgid: String,
    /// Words joined by `+`.
    pub state: String,
    /// Where the map wants it; -1 and 2147483647 stand for nowhere.
    pub up: Vec<i64>,
    /// Who serves it.
    pub acting: Vec<i64>,
    /// When it told of itself last.
    pub last_fresh: String,
    /// When its state became what it is.
    pub last_change: String,
    /// Since when it serves with these members.
    pub last_became_active: String,
    /// The map that gave it these members.
    #[serde(deserialize_with = "lenient::whole")]
    pub mapping_epoch: u64,
    /// The version that the last deep scrub saw; `0'0` before the first, whose stamp is the group's birth.
    pub last_deep_scrub: String,
    /// When.
    pub last_deep_scrub_stamp: String,
    /// The version that the last scrub saw.
    pub last_scrub: String,
    /// When.
    pub last_scrub_stamp: String,
    /// Seconds that the last scrub took.
    #[serde(deserialize_with = "lenient::number")]
    pub scrub_duration: f64,
    /// Objects that the scrub under way has compared; the last one's until another begins.
    #[serde(deserialize_with = "lenient::number")]
    pub objects_scrubbed: f64,
    /// Snapshots whose objects are still to be trimmed.
    #[serde(deserialize_with = "lenient::whole")]
    pub snaptrimq_len: u64,
    /// What it holds.
    pub stat_sum: PgSums,
}

/// Sums over a group's objects.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PgSums {
    /// Bytes, each object once.
    #[serde(deserialize_with = "lenient::number")]
    pub num_bytes: f64,
    /// Objects, clones included.
    #[serde(deserialize_with = "lenient::number")]
    pub num_objects: f64,
    /// Former states that snapshots keep.
    #[serde(deserialize_with = "lenient::number")]
    pub num_object_clones: f64,
    /// Copies that do not exist.
    #[serde(deserialize_with = "lenient::number")]
    pub num_objects_degraded: f64,
    /// Copies on the wrong OSD.
    #[serde(deserialize_with = "lenient::number")]
    pub num_objects_misplaced: f64,
    /// Errors that scrubs have found.
    #[serde(deserialize_with = "lenient::number")]
    pub num_scrub_errors: f64,
}

/// Reads the answer to `pg dump`, and tells `each` group; the whole is never held. The groups stand at the top or below `pg_map`.
///
/// # Errors
/// If it is not JSON; the groups until there have been told.
pub fn read_pgs(output: &[u8], mut each: impl FnMut(PgStat)) -> Result<(), serde_json::Error> {
    let mut from = serde_json::Deserializer::from_slice(output);
    PgGroups { each: &mut each, depth: 0 }.deserialize(&mut from)?;
    from.end()
}

struct PgGroups<'a, F> {
    each: &'a mut F,
    depth: u8,
}

impl<'de, F: FnMut(PgStat)> DeserializeSeed<'de> for PgGroups<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de, F: FnMut(PgStat)> Visitor<'de> for PgGroups<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a dump of placement groups")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "pg_stats" => map.next_value_seed(List { each: self.each })?,
                "pg_map" if self.depth == 0 => {
                    map.next_value_seed(PgGroups { each: self.each, depth: 1 })?;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

struct List<'a, F> {
    each: &'a mut F,
}

impl<'de, F: FnMut(PgStat)> DeserializeSeed<'de> for List<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(PgStat)> Visitor<'de> for List<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of placement groups")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(group) = list.next_element::<PgStat>()? {
            (self.each)(group);
        }
        Ok(())
    }
}
