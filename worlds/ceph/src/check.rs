//! The known traps of a Ceph cluster's QoS, looked for in one look: each a finding with its remedy and where that is known from.

use crate::estimate::{commit_s, deep_interval_s, scrub_pace};
use crate::guard::is_same;
use crate::look::{ClusterLook, OsdLook};
use serde::Serialize;
use std::collections::BTreeMap;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// Something is not as its operator believes.
    Warning,
    /// Data or service is in danger.
    Error,
}

/// Something to know.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClusterFinding {
    /// Stable, for programs.
    pub code: &'static str,
    /// How bad.
    pub severity: Severity,
    /// What was found, with its place and figures.
    pub what: String,
    /// What to do.
    pub remedy: String,
    /// Where that is known from.
    pub source: &'static str,
}

const DOCS: &str = "docs.ceph.com, mClock config reference";

/// Everything that is found, the worst first.
pub fn check(look: &ClusterLook) -> Vec<ClusterFinding> {
    let mut findings = Vec::new();
    health(look, &mut findings);
    capacities(look, &mut findings);
    slow(look, &mut findings);
    refused(look, &mut findings);
    stored_not_in_force(look, &mut findings);
    custom_keys(look, &mut findings);
    sleeps(look, &mut findings);
    media(look, &mut findings);
    queues(look, &mut findings);
    erasure_codes(look, &mut findings);
    flags(look, &mut findings);
    scrubs(look, &mut findings);
    trimming(look, &mut findings);
    missing(look, &mut findings);
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

fn health(look: &ClusterLook, into: &mut Vec<ClusterFinding>) {
    if look.status.health.status != "HEALTH_ERR" {
        return;
    }
    let reasons: Vec<String> = look
        .status
        .reasons()
        .filter(|(_, check)| check.severity == "HEALTH_ERR")
        .map(|(code, check)| format!("{code}: {}", check.summary.message))
        .collect();
    into.push(ClusterFinding {
        code: "health-error",
        severity: Severity::Error,
        what: format!("the cluster says HEALTH_ERR: {}", reasons.join("; ")),
        remedy: "deal with that first (`ceph health detail`); no setting of QoS helps".to_owned(),
        source: "docs.ceph.com, health checks",
    });
}

/// Four boots on one machine stored values up to 2.9 times apart for equal OSDs: what is further off is no measurement of this disk.
const CAPACITY_FACTOR: f64 = 3.0;

/// Against equals, whose own values scatter as much, it takes more.
const EQUALS_FACTOR: f64 = 4.0;

/// Under load an OSD serves part of its capacity: copies and metadata cost, and so do the others of its host.
const SERVED_FACTOR: f64 = 20.0;

fn capacities(look: &ClusterLook, into: &mut Vec<ClusterFinding>) {
    for osd in look.osds.iter().filter(|osd| osd.is_mclock()) {
        let Some(capacity) = osd.capacity_iops() else { continue };
        let mut against = Vec::new();
        let others: Vec<f64> = equals(look, osd).filter_map(OsdLook::capacity_iops).collect();
        if let Some(usual) = median(others)
            && off_by(capacity, usual) >= EQUALS_FACTOR
        {
            against.push(format!("equal OSDs have {usual:.0}"));
        }
        // A correction goes down, since a boot's benchmark promises too much; what goes up so far was not measured here.
        if let Some(first) = measured_first(look, osd)
            && capacity / first.max(1.0) >= CAPACITY_FACTOR
        {
            against.push(format!("it measured {first:.0} itself"));
        }
        let served = osd.busy();
        let most = served.iter().map(|sample| sample.served).fold(0.0, f64::max);
        if served.len() >= 3 && most > 0.0 && capacity / most >= SERVED_FACTOR {
            against.push(format!("busy it served at most {most:.0} ops in a second"));
        }
        if !against.is_empty() {
            let (id, medium) = (osd.id, osd.medium());
            into.push(ClusterFinding {
                code: "capacity-not-this-disks",
                severity: Severity::Warning,
                what: format!("osd.{id} reckons with {capacity:.0} IOPS, and {}", against.join(", and ")),
                remedy: format!(
                    "measure it under a load of its own, then `ceph config set osd.{id} osd_mclock_max_capacity_iops_{medium} \
                     VALUE`: at the section `osd` it would have no effect"
                ),
                source: DOCS,
            });
        }
    }
}

/// How many times the larger of two is the smaller.
fn off_by(a: f64, b: f64) -> f64 {
    if a <= 0.0 || b <= 0.0 { 1.0 } else { (a / b).max(b / a) }
}

/// Other OSDs with a disk of the same kind and size.
fn equals<'a>(look: &'a ClusterLook, of: &'a OsdLook) -> impl Iterator<Item = &'a OsdLook> {
    let disk = |osd: &OsdLook| {
        osd.metadata
            .as_ref()
            .map(|disk| (disk.rotational, disk.bluestore_bdev_size, disk.bluefs_dedicated_db))
    };
    let wanted = disk(of);
    look.osds.iter().filter(move |osd| osd.id != of.id && wanted.is_some() && disk(osd) == wanted)
}

/// With fewer than two there is no usual value.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    (values.len() >= 2).then(|| (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0)
}

/// What it measured of itself first, as far back as the log of the configuration goes.
fn measured_first(look: &ClusterLook, osd: &OsdLook) -> Option<f64> {
    let name = format!("osd.{}/osd_mclock_max_capacity_iops_{}", osd.id, osd.medium());
    // The newest version comes first.
    let changes = look.config_log.iter().rev().flat_map(|version| &version.changes);
    let mut values = changes
        .filter(|change| change.name == name)
        .flat_map(|change| [&change.previous_value, &change.new_value].into_iter().flatten());
    values.next()?.parse().ok()
}

/// A disk this many times slower than its equals holds back every write that has a copy there.
const SLOW_FACTOR: f64 = 4.0;

/// Below this, in seconds, nobody calls a disk slow.
const SLOW_FROM_S: f64 = 0.01;

fn slow(look: &ClusterLook, into: &mut Vec<ClusterFinding>) {
    for osd in &look.osds {
        let Some((mean, when)) = commits(osd) else { continue };
        let others = equals(look, osd).filter_map(commits);
        let others = others.filter(|(_, at)| *at == when).map(|(mean, _)| mean).collect();
        let Some(usual) = median(others) else { continue };
        if mean >= SLOW_FROM_S && mean / usual.max(1e-6) >= SLOW_FACTOR {
            into.push(ClusterFinding {
                code: "slow-osd",
                severity: Severity::Warning,
                what: format!(
                    "osd.{} commits in {:.1} ms {when}, equal OSDs in {:.1} ms",
                    osd.id,
                    mean * 1e3,
                    usual * 1e3
                ),
                remedy: format!(
                    "look at its disk and host (smartctl, dmesg, other load); `ceph osd primary-affinity osd.{} 0` spares reads \
                     meanwhile",
                    osd.id
                ),
                source: "docs.ceph.com, troubleshooting OSDs",
            });
        }
    }
}

/// Mean time to durable: of the window if enough happened there, else since the OSD began.
fn commits(osd: &OsdLook) -> Option<(f64, &'static str)> {
    const ENOUGH_NOW: f64 = 20.0;
    const ENOUGH_EVER: f64 = 500.0;
    let (first, last) = osd.ends()?;
    let (before, after) = (&first.bluestore.txc_commit_lat, &last.bluestore.txc_commit_lat);
    if after.avgcount - before.avgcount >= ENOUGH_NOW {
        return Some((commit_s(osd)?, "now"));
    }
    let ever = after.mean_since(&crate::answers::LatencyCounter::default())?;
    (after.avgcount >= ENOUGH_EVER).then_some((ever, "since its start"))
}

fn refused(look: &ClusterLook, into: &mut Vec<ClusterFinding>) {
    let mut by_option: BTreeMap<&str, (u32, &str)> = BTreeMap::new();
    for line in &look.warnings {
        let Some(rest) = line.message.strip_prefix("Change to ") else { continue };
        if !rest.contains("did not take effect") {
            continue;
        }
        let option = rest.split_whitespace().next().unwrap_or("an option");
        let entry = by_option.entry(option).or_insert((0, &line.stamp));
        *entry = (entry.0 + 1, &line.stamp);
    }
    for (option, (times, last)) in by_option {
        let open = look.osds.iter().all(|osd| {
            osd.options
                .get("osd_mclock_override_recovery_settings")
                .is_none_or(|open| open == "true")
        });
        // The door was opened since: whoever wanted the value has it.
        if open {
            continue;
        }
        let value = look.osds.iter().find_map(|osd| osd.options.get(option));
        into.push(ClusterFinding {
            code: "limit-refused",
            severity: Severity::Warning,
            what: format!(
                "a change of {option} was answered with success and did not take effect ({times} OSDs logged it, last at {last}); \
                 in force is {}",
                value.map_or("another value", String::as_str)
            ),
            remedy: format!(
                "if it was meant: `ceph config set osd osd_mclock_override_recovery_settings true` first, then {option} again, and \
                 read it back with `ceph tell osd.N config get {option}`"
            ),
            source: DOCS,
        });
    }
}

/// What is stored for an OSD, the most special section first.
fn stored_for<'a>(look: &'a ClusterLook, osd: &OsdLook, option: &str) -> Option<&'a str> {
    let own = format!("osd.{}", osd.id);
    [own.as_str(), "osd", "global"].iter().find_map(|section| {
        let mut found = look.stored.iter().filter(|stored| {
            stored.name == option && stored.section == *section && stored.mask.is_empty()
        });
        found.next().map(|stored| stored.value.as_str())
    })
}

fn stored_not_in_force(look: &ClusterLook, into: &mut Vec<ClusterFinding>) {
    let mut names: Vec<&str> = look.stored.iter().map(|stored| stored.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let is_masked = |name: &str| {
        look.stored.iter().any(|stored| stored.name == name && !stored.mask.is_empty())
    };
    for option in names.into_iter().filter(|name| !is_masked(name)) {
        let other: Vec<String> = look
            .osds
            .iter()
            .filter_map(|osd| {
                let (stored, force) = (stored_for(look, osd, option)?, osd.options.get(option)?);
                (!is_same(stored, force))
                    .then(|| format!("osd.{}: {force} instead of {stored}", osd.id))
            })
            .collect();
        if other.is_empty() {
            continue;
        }
        let boot = option.starts_with("osd_op_queue") || option.starts_with("osd_op_num_");
        let remedy = match boot {
            true => "it is read at the start: restart these OSDs, or remove it".to_owned(),
            false => format!(
                "`ceph tell osd.N config diff` tells what outranks it; `ceph config rm` removes {option}"
            ),
        };
        into.push(ClusterFinding {
            code: "stored-not-in-force",
            severity: Severity::Warning,
            what: format!("{option} is stored and not in force: {}", other.join(", ")),
            remedy,
            source: DOCS,
        });
    }
}

fn custom_keys(look: &ClusterLook, into: &mut Vec<ClusterFinding>) {
    let profile = |osd: &OsdLook| osd.options.get("osd_mclock_profile").cloned();
    let profiles: Vec<String> = look.osds.iter().filter_map(profile).collect();
    if profiles.iter().any(|name| name == "custom") || profiles.is_empty() {
        return;
    }
    let left: Vec<String> = look
        .stored
        .iter()
        .filter(|stored| stored.is_class_key())
        .map(|stored| format!("{} = {} at {}", stored.name, stored.value, stored.who()))
        .collect();
    if left.is_empty() {
        return;
    }
    into.push(ClusterFinding {
        code: "custom-keys-left",
        severity: Severity::Warning,
        what: format!(
            "the profile in force is called {}, and these keys of a custom one still outrank it: {}",
            profiles[0],
            left.join(", ")
        ),
        remedy: "`ceph config rm SECTION KEY` for each, or take the profile `custom` with all nine keys set".to_owned(),
        source: DOCS,
    });
}

fn sleeps(look: &ClusterLook, into: &mut Vec<ClusterFinding>) {
    let mclock = look.osds.iter().any(OsdLook::is_mclock);
    let ignored: Vec<String> = look
        .stored
        .iter()
        .filter(|stored| {
            let sleeps = [
                "osd_recovery_sleep",
                "osd_scrub_sleep",
                "osd_snap_trim_sleep",
                "osd_delete_sleep",
            ];
            sleeps.iter().any(|name| stored.name.starts_with(name))
                && stored.value.parse::<f64>().is_ok_and(|seconds| seconds > 0.0)
        })
        .map(|stored| format!("{} = {} at {}", stored.name, stored.value, stored.who()))
        .collect();
    if mclock && !ignored.is_empty() {
        into.push(ClusterFinding {
            code: "sleeps-ignored",
            severity: Severity::Warning,
            what: format!(
                "mClock ignores every sleep, and these are stored: {}",
                ignored.join(", ")
            ),
            remedy: "remove them, and hold background work back by profile or limit".to_owned(),
            source: DOCS,
        });
    }
}

fn media(look: &ClusterLook, into: &mut Vec<ClusterFinding>) {
    for osd in &look.osds {
        let Some(disk) = &osd.metadata else { continue };
        let class = osd.usage.device_class.as_str();
        let wrong = match (class, disk.rotational) {
            ("ssd" | "nvme", true) => "hard disk's",
            ("hdd", false) => "flash disk's",
            _ => continue,
        };
        into.push(ClusterFinding {
            code: "medium-mistaken",
            severity: Severity::Warning,
            what: format!(
                "osd.{} is of the class {class}, and its kernel says rotational = {}: it runs with a {wrong} settings",
                osd.id,
                u8::from(disk.rotational)
            ),
            remedy: "virtual disks and controllers often say the wrong thing: set /sys/block/DEV/queue/rotational before the OSD \
                     starts, or correct the device class"
                .to_owned(),
            source: DOCS,
        });
    }
}

fn queues(look: &ClusterLook, into: &mut Vec<ClusterFinding>) {
    let mut by_queue: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for osd in &look.osds {
        if let Some(queue) = osd.options.get("osd_op_queue") {
            by_queue.entry(queue).or_default().push(osd.id);
        }
    }
    if by_queue.len() > 1 {
        let told: Vec<String> =
            by_queue.iter().map(|(queue, osds)| format!("{queue} on {osds:?}")).collect();
        into.push(ClusterFinding {
            code: "queues-mixed",
            severity: Severity::Warning,
            what: format!("OSDs run different queues: {}", told.join(", ")),
            remedy: "set osd_op_queue at `osd`, and restart each OSD that has another".to_owned(),
            source: DOCS,
        });
    }
}

fn erasure_codes(look: &ClusterLook, into: &mut Vec<ClusterFinding>) {
    let coded: Vec<&str> = look
        .map
        .pools
        .iter()
        .filter(|pool| pool.is_erasure_coded())
        .map(|pool| pool.pool_name.as_str())
        .collect();
    if coded.is_empty() || !look.osds.iter().any(OsdLook::is_mclock) {
        return;
    }
    into.push(ClusterFinding {
        code: "ec-reads-unscheduled",
        severity: Severity::Note,
        what: format!(
            "recovery of erasure-coded pools ({}) reads chunks through the immediate queue: no profile holds these reads back",
            coded.join(", ")
        ),
        remedy: "bound it by osd_max_backfills and osd_recovery_max_active until a release with pull request 64618".to_owned(),
        source: "tracker.ceph.com 71655",
    });
}

fn flags(look: &ClusterLook, into: &mut Vec<ClusterFinding>) {
    let left: Vec<&str> = [
        "noscrub",
        "nodeep-scrub",
        "nobackfill",
        "norecover",
        "norebalance",
        "nosnaptrim",
        "noout",
        "pauserd",
        "pausewr",
    ]
    .into_iter()
    .filter(|flag| look.map.flags_set.iter().any(|set| set == flag))
    .collect();
    if !left.is_empty() {
        into.push(ClusterFinding {
            code: "flags-set",
            severity: Severity::Warning,
            what: format!("flags hold work back in the whole cluster: {}", left.join(", ")),
            remedy: "`ceph osd unset FLAG` when whoever set it is done".to_owned(),
            source: "docs.ceph.com, health checks, OSDMAP_FLAGS",
        });
    }
    let open = look.osds.iter().filter(|osd| {
        osd.options.get("osd_mclock_override_recovery_settings").is_some_and(|open| open == "true")
    });
    if let Some(osd) = open.into_iter().next() {
        into.push(ClusterFinding {
            code: "override-open",
            severity: Severity::Note,
            what: format!(
                "osd_mclock_override_recovery_settings is true: osd_max_backfills is {}",
                osd.options.get("osd_max_backfills").map_or("unknown", String::as_str)
            ),
            remedy: "closing it does not put the limits back: remove osd_max_backfills and osd_recovery_max_active* as well".to_owned(),
            source: DOCS,
        });
    }
}

fn scrubs(look: &ClusterLook, into: &mut Vec<ClusterFinding>) {
    let (pace, interval) = (scrub_pace(look), deep_interval_s(look));
    let days = |seconds: f64| seconds / 86_400.0;
    let late = pace.round_s.is_none_or(|round| round > interval);
    if pace.overdue > 0 && late {
        let round = pace.round_s.map_or("none ends".to_owned(), |round| {
            format!("a round takes {:.1} days", days(round))
        });
        into.push(ClusterFinding {
            code: "scrub-deadlines-missed",
            severity: Severity::Warning,
            what: format!(
                "{} of {} groups are overdue for a deep scrub, and at the pace of the last day {round}, with {:.1} days between two",
                pace.overdue,
                pace.groups,
                days(interval)
            ),
            remedy: "give scrubs longer hours or more slots (osd_scrub_begin_hour, osd_max_scrubs), or a longer \
                     osd_deep_scrub_interval"
                .to_owned(),
            source: "docs.ceph.com, OSD config reference, scrubbing",
        });
    }
}

fn trimming(look: &ClusterLook, into: &mut Vec<ClusterFinding>) {
    let [before, after] = &look.groups;
    if after.trim_queue > before.trim_queue && before.groups > 0 {
        into.push(ClusterFinding {
            code: "trim-queue-grows",
            severity: Severity::Warning,
            what: format!(
                "snapshots to be trimmed went from {} to {} in {:.0} s: more are deleted than trimmed",
                before.trim_queue, after.trim_queue, look.window_s
            ),
            remedy: "delete fewer at a time, or let trimming have more: best effort's limit, osd_pg_max_concurrent_snap_trims".to_owned(),
            source: "docs.ceph.com, health checks, PG_SLOW_SNAP_TRIMMING",
        });
    }
}

fn missing(look: &ClusterLook, into: &mut Vec<ClusterFinding>) {
    if !look.missing.is_empty() {
        into.push(ClusterFinding {
            code: "not-all-answered",
            severity: Severity::Warning,
            what: format!(
                "{} questions went without an answer: {}",
                look.missing.len(),
                look.missing[0]
            ),
            remedy: "what they tell of was not checked".to_owned(),
            source: "this look",
        });
    }
    let down: Vec<u32> = look.osds.iter().filter(|osd| !osd.up).map(|osd| osd.id).collect();
    if !down.is_empty() {
        into.push(ClusterFinding {
            code: "osd-down",
            severity: Severity::Warning,
            what: format!("OSDs are down: {down:?}"),
            remedy: "start them, or mark them out so that their copies are made elsewhere"
                .to_owned(),
            source: "docs.ceph.com, health checks, OSD_DOWN",
        });
    }
}
