//! Whether a run may change a cluster: facts, and a sentence for each condition that is not met. Reads only.

use crate::answers::{ClusterStatus, OsdMapDump, OsdUsage, OsdUsages, Releases, StoredOption};
use crate::connection::{CephConnection, CephError, CommandTarget, ask};
use crate::guard::held::{APPLICATION, holder};
use serde::Deserialize;
use serde_json::json;

/// Reasons for a warning that hinder nobody.
const HARMLESS: [&str; 3] = ["POOL_APP_NOT_ENABLED", "MGR_MODULE_ERROR", "MGR_MODULE_DEPENDENCY"];

/// Flags with which nothing would move, or nothing would be as it looks.
const HINDERING: [&str; 7] =
    ["noout", "nobackfill", "norecover", "norebalance", "pauserd", "pausewr", "full"];

/// What a run needs that writes, while an OSD is out where one goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedRoom {
    /// Bytes that it writes, each object once.
    pub bytes: u64,
    /// Copies of each.
    pub copies: u32,
    /// The OSD that is taken out meanwhile, if one is.
    pub victim: Option<u32>,
}

/// What a plan found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterPlan {
    /// The cluster's identity, which `--yes-i-may-hurt-this-cluster` must name.
    pub fsid: String,
    /// In reading order, each a name and a value.
    pub facts: Vec<(&'static str, String)>,
    /// Conditions that are not met.
    pub refusals: Vec<String>,
    /// Its OSDs, by number.
    pub osds: Vec<u32>,
    /// What is met only if the operator says so: data of others.
    pub others: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct PoolPace {
    pool_name: String,
    client_io_rate: serde_json::Map<String, serde_json::Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct PlanRoom {
    pools: Vec<PoolRoom>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct PoolRoom {
    name: String,
    stats: PoolStats,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct PoolStats {
    #[serde(deserialize_with = "crate::lenient::whole")]
    objects: u64,
}

/// Looks whether a run may change a cluster, and has room for what it writes.
///
/// # Errors
/// [`CephError`] if the cluster does not tell.
pub fn plan(on: &dyn CephConnection, wanted: Option<WantedRoom>) -> Result<ClusterPlan, CephError> {
    use CommandTarget::{Manager, Monitor};
    let status: ClusterStatus = ask(on, &Monitor, &json!({"prefix": "status"}))?;
    let map: OsdMapDump = ask(on, &Monitor, &json!({"prefix": "osd dump"}))?;
    let releases: Releases = ask(on, &Monitor, &json!({"prefix": "versions"}))?;
    let usages: OsdUsages = ask(on, &Manager, &json!({"prefix": "osd df"}))?;
    let paces: Vec<PoolPace> = ask(on, &Manager, &json!({"prefix": "osd pool stats"}))?;
    let room: PlanRoom = ask(on, &Monitor, &json!({"prefix": "df"}))?;
    let mut refusals = Vec::new();
    let found = releases.of_osds();
    if found.len() > 1 {
        refusals.push(format!(
            "its OSDs run several releases ({}): end the upgrade first",
            found.join(", ")
        ));
    }
    let bad: Vec<String> = status
        .reasons()
        .filter(|(code, _)| !HARMLESS.contains(code))
        .map(|(code, check)| format!("{code}: {}", check.summary.message))
        .collect();
    if !bad.is_empty() {
        refusals.push(format!(
            "its health is {} ({}): put that right first",
            status.health.status,
            bad.join("; ")
        ));
    }
    let tally = &status.osdmap;
    if tally.num_up_osds != tally.num_osds || tally.num_in_osds != tally.num_osds {
        refusals.push(format!(
            "of its {} OSDs {} are up and {} in: start the others and take them in",
            tally.num_osds, tally.num_up_osds, tally.num_in_osds
        ));
    }
    if !status.is_clean() {
        refusals
            .push("its groups are not all active+clean: wait until recovery has ended".to_owned());
    }
    let flags: Vec<&str> =
        HINDERING.into_iter().filter(|flag| map.flags_set.iter().any(|set| set == flag)).collect();
    if !flags.is_empty() {
        refusals.push(format!("somebody has set {}: `ceph osd unset` it", flags.join(", ")));
    }
    if let Some(wanted) = wanted {
        refusals.extend(lacks_osds(&map, wanted));
        refusals.extend(lacks_room(&map, &usages, wanted));
    }
    if let Some(holder) = holder(on)? {
        refusals.push(format!("a run holds it: {holder}; `loadline ceph undo` ends one that died"));
    }
    let is_ours = |name: &str| {
        let pool = map.pools.iter().find(|pool| pool.pool_name == name);
        name == ".mgr"
            || pool.is_some_and(|pool| pool.application_metadata.contains_key(APPLICATION))
    };
    for pace in
        paces.iter().filter(|pace| !is_ours(&pace.pool_name) && !pace.client_io_rate.is_empty())
    {
        refusals.push(format!(
            "somebody's clients use the pool {}: come back when they rest",
            pace.pool_name
        ));
    }
    let others: Vec<String> = room
        .pools
        .iter()
        .filter(|pool| !is_ours(&pool.name) && pool.stats.objects > 0)
        .map(|pool| {
            format!("the pool {} holds {} objects of somebody else", pool.name, pool.stats.objects)
        })
        .collect();
    let facts = vec![
        ("cluster", status.fsid.clone()),
        ("release", found.join(", ")),
        ("health", status.health.status.clone()),
        (
            "osds",
            format!("{} up and in of {}", tally.num_up_osds.min(tally.num_in_osds), tally.num_osds),
        ),
        ("groups", format!("{}, {} pools", status.pgmap.num_pgs, map.pools.len())),
        ("way", on.describe()),
    ];
    let osds = map.osds.iter().map(|osd| osd.id as u32).collect();
    Ok(ClusterPlan { fsid: status.fsid, facts, refusals, osds, others })
}

/// Options that decide how an OSD serves, in whichever section somebody has stored them, and that a run does not set itself; each a sentence
/// with the command that takes it away. `own` are the options that the run sets for all OSDs.
///
/// # Errors
/// [`CephError`] if the cluster does not tell.
pub fn stored_beside(
    on: &dyn CephConnection,
    own: &[(String, String)],
) -> Result<Vec<String>, CephError> {
    let all: Vec<StoredOption> =
        ask(on, &CommandTarget::Monitor, &json!({"prefix": "config dump"}))?;
    let is_own = |stored: &StoredOption| {
        // A narrower section outranks what is set for all OSDs.
        let is_outranked = stored.mask.is_empty() && ["global", "osd"].contains(&&*stored.section);
        is_outranked && own.iter().any(|(name, _)| *name == stored.name)
    };
    let is_of_osds =
        |section: &str| section == "global" || section == "osd" || section.starts_with("osd.");
    let beside = all
        .iter()
        .filter(|stored| is_of_osds(&stored.section) && decides_service(stored))
        .filter(|stored| !is_own(stored));
    Ok(beside
        .map(|stored| {
            let StoredOption { name, value, .. } = stored;
            let who = stored.who();
            format!(
                "{name} = {value} is stored for {who}, and a setup that does not set it would run with it: \
                 `ceph config rm {who} {name}` (note the value for afterwards)"
            )
        })
        .collect())
}

/// Keys of mClock's classes, which outrank a built-in profile, the profile itself, limits and sleeps.
fn decides_service(stored: &StoredOption) -> bool {
    const LIMITS: [&str; 4] = [
        "osd_mclock_profile",
        "osd_mclock_override_recovery_settings",
        "osd_max_backfills",
        "osd_max_scrubs",
    ];
    let name = &*stored.name;
    stored.is_class_key()
        || LIMITS.contains(&name)
        || name.starts_with("osd_recovery_")
        || name.starts_with("osd_") && name.contains("_sleep")
}

fn lacks_osds(map: &OsdMapDump, wanted: WantedRoom) -> Vec<String> {
    let mut refusals = Vec::new();
    let (osds, copies) = (map.osds.len(), wanted.copies);
    match wanted.victim {
        Some(victim) => {
            if !map.osds.iter().any(|osd| osd.id == u64::from(victim)) {
                refusals.push(format!("there is no osd.{victim}"));
            }
            if osds <= copies as usize {
                refusals.push(format!(
                    "it has {osds} OSDs, and {copies} copies need one more while one is out"
                ));
            }
        }
        None if osds < copies as usize => {
            refusals.push(format!("it has {osds} OSDs, and {copies} copies need as many"));
        }
        None => {}
    }
    refusals
}

/// While an OSD is out the others hold every copy, and in no case may one come near to full.
fn lacks_room(map: &OsdMapDump, usages: &OsdUsages, wanted: WantedRoom) -> Option<String> {
    let is_victim = |node: &&OsdUsage| wanted.victim.is_some_and(|osd| node.id == u64::from(osd));
    let others = usages.nodes.iter().filter(|node| !is_victim(node));
    let (mut free, mut count) = (u64::MAX, 0u64);
    let near = if map.nearfull_ratio > 0.0 { map.nearfull_ratio } else { 0.85 };
    let moved = usages.nodes.iter().find(is_victim);
    for node in others {
        let room = (node.kb as f64 * near) as u64;
        free = free.min(room.saturating_sub(node.kb_used) << 10);
        count += 1;
    }
    if count == 0 {
        return None;
    }
    let written = wanted.bytes.saturating_mul(u64::from(wanted.copies));
    let each = (written + moved.map_or(0, |node| node.kb_used << 10)) / count;
    // PgGroups do not spread evenly: a fifth more than the mean.
    let each = each + each / 5;
    (each > free).then(|| {
        format!(
            "an OSD would take {} MiB more before one is nearly full, and the study needs {} MiB on each: take a smaller --set scale \
             or image",
            free >> 20,
            each >> 20
        )
    })
}
