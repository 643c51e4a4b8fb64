//! How long until recovery, scrubs and trimming have ended, and why it is not sooner.

use crate::history;
use crate::look::{ClusterLook, OsdLook};
use loadline_base::{Span, Time};
use loadline_forecast::{Forecast, GroupLeft, TimeLeft};
use serde::Serialize;
use std::collections::BTreeMap;

/// So much later than its last copy a cluster says that all is clean: the last group's members agree on it, each round of which waits for
/// a map (one a second), and groups tell of themselves every 5 s (`mgr_stats_period`), 2.5 s later in the mean, or when they are asked.
const TOLD_AFTER_S: f64 = 3.0;

const DAY_S: f64 = 86_400.0;

/// What is still to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BacklogKind {
    /// Copies that are not where they belong, or do not exist.
    Recovery,
    /// PgGroups in a round of deep scrubs.
    DeepScrub,
    /// Snapshots to be trimmed.
    Trim,
}

/// One kind of work that waits, with its pace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Backlog {
    /// Which.
    pub kind: BacklogKind,
    /// How much is left, in `unit`.
    pub left: f64,
    /// What is counted.
    pub unit: &'static str,
    /// `unit` per second at present.
    pub rate_per_s: f64,
    /// Seconds as it goes; `None` while nothing moves, or too little to tell.
    pub remaining_s: Option<f64>,
    /// Seconds that it takes at the least; `None` while nothing moves.
    pub least_s: Option<f64>,
    /// What it stands for, and why it is not faster: each a sentence.
    pub why: Vec<String>,
}

/// What is left to be done, and when it is over at the pace of the window.
pub fn backlogs(look: &ClusterLook) -> Vec<Backlog> {
    [recovery(look), deep_scrub(look), trim(look)].into_iter().flatten().collect()
}

fn recovery(look: &ClusterLook) -> Option<Backlog> {
    let [_, groups] = &look.groups;
    let told = &look.status.pgmap;
    let (misplaced, degraded) = match groups.groups {
        0 => (told.misplaced_objects as f64, told.degraded_objects as f64),
        _ => (groups.misplaced, groups.degraded),
    };
    let left = misplaced + degraded;
    if left == 0.0 && look.status.osdmap.num_remapped_pgs == 0 {
        return None;
    }
    let time = history::course(look).time_left().or_else(|| by_counters(look, left));
    let mut why = vec![class_of_recovery(look, misplaced, degraded)];
    if time.is_some_and(|time| time.about_s.is_none()) {
        why.push("too few copies have moved to tell a pace: watch longer (--seconds)".to_owned());
    }
    why.extend(held_back(look));
    Some(Backlog {
        kind: BacklogKind::Recovery,
        left,
        unit: "copies",
        rate_per_s: time.map_or(0.0, |time| time.rate_per_s),
        remaining_s: time.and_then(|time| time.about_s).map(|about| about + TOLD_AFTER_S),
        least_s: time.map(|time| time.least_s + TOLD_AFTER_S),
        why,
    })
}

/// By what the OSDs count, where their groups do not tell, or have not told anew.
fn by_counters(look: &ClusterLook, left: f64) -> Option<TimeLeft> {
    let moved: f64 = look.osds.iter().map(OsdLook::copies_sent).sum();
    let mut course = Forecast::default();
    let all =
        |left: f64| BTreeMap::from([((), GroupLeft { from: (), to: None, left, waits: true })]);
    course.note(Time::ZERO, all(left + moved));
    course.note(Time::ZERO + Span::from_secs_f64(look.window_s), all(left));
    course.time_left()
}

/// From 17.2.6 on the backfill of what is merely misplaced is best effort's (pull request 49975).
fn class_of_recovery(look: &ClusterLook, misplaced: f64, degraded: f64) -> String {
    let release = look.releases.of_osds().first().cloned().unwrap_or_default();
    let numbers: Vec<u32> = release.split('.').filter_map(|part| part.parse().ok()).collect();
    let class = match numbers.as_slice() < [17, 2, 6].as_slice() && !numbers.is_empty() {
        true => "background recovery",
        false => "background best effort",
    };
    format!(
        "{misplaced:.0} copies are misplaced and move as {class} in this release; {degraded:.0} are degraded and move as \
         background recovery"
    )
}

fn held_back(look: &ClusterLook) -> Vec<String> {
    let mut why = Vec::new();
    for flag in ["norecover", "nobackfill", "norebalance", "pause"] {
        if look.map.flags_set.iter().any(|set| set == flag) {
            why.push(format!("the flag {flag} is set: `ceph osd unset {flag}` lets it go on"));
        }
    }
    let waiting: usize = look.osds.iter().map(|osd| osd.slots.local_reservations.waiting()).sum();
    let under_way: usize =
        look.osds.iter().map(|osd| osd.slots.local_reservations.in_progress.len()).sum();
    let most =
        look.osds.iter().map(|osd| osd.slots.local_reservations.max_allowed).max().unwrap_or(0);
    if waiting > 0 {
        why.push(format!(
            "slots: {waiting} groups wait for one and {under_way} have one (osd_max_backfills is {most}); under mClock it \
             opens with osd_mclock_override_recovery_settings"
        ));
    }
    why.extend(limits(look));
    why.extend(slowest_disk(look));
    why
}

/// Whether background work waits in the scheduler, and what its limit comes to.
fn limits(look: &ClusterLook) -> Option<String> {
    let waits = |osd: &&OsdLook| {
        let background = osd.counters.iter().filter(|counters| {
            ["recovery", "best_effort"].iter().any(|class| counters.waiting.get(*class) > Some(&0))
        });
        background.count() * 2 > osd.counters.len().max(1)
    };
    let limited: Vec<&OsdLook> = look.osds.iter().filter(waits).collect();
    let first = limited.first()?;
    let share = first.number("osd_mclock_scheduler_background_best_effort_lim").unwrap_or(0.0);
    let bytes = first.bandwidth().unwrap_or(0.0);
    let limit = match share {
        0.0 => "none".to_owned(),
        _ => format!("{share} of {:.0} MiB/s", bytes / f64::from(1 << 20)),
    };
    Some(format!(
        "scheduler: background work waits in the queues of {} of {} OSDs; best effort's limit is {limit}",
        limited.len(),
        look.osds.len()
    ))
}

/// The OSD whose store takes longest, if it is long.
fn slowest_disk(look: &ClusterLook) -> Option<String> {
    /// A flash disk commits in a millisecond or two, a rotating one in some ten.
    const LONG_S: f64 = 0.03;
    let means = look.osds.iter().filter_map(|osd| Some((osd.id, commit_s(osd)?)));
    let (id, mean) = means.max_by(|a, b| a.1.total_cmp(&b.1))?;
    (mean >= LONG_S).then(|| {
        format!(
            "disk: osd.{id} commits in {:.0} ms on average; no setting makes it faster",
            mean * 1e3
        )
    })
}

/// Mean time from a transaction of the window to durable.
pub(crate) fn commit_s(osd: &OsdLook) -> Option<f64> {
    let (first, last) = osd.ends()?;
    last.bluestore.txc_commit_lat.mean_since(&first.bluestore.txc_commit_lat)
}

/// Seconds between two deep scrubs of a group, as it is in force.
pub(crate) fn deep_interval_s(look: &ClusterLook) -> f64 {
    let found = look.osds.iter().find_map(|osd| osd.number("osd_deep_scrub_interval"));
    found.filter(|seconds| *seconds > 0.0).unwrap_or(7.0 * DAY_S)
}

/// PgGroups that were deep-scrubbed in the last day, those that are overdue, and the seconds of the last day in which there were groups.
pub(crate) struct ScrubPace {
    pub(crate) groups: usize,
    pub(crate) done: usize,
    pub(crate) overdue: usize,
    /// Seconds for a round of all at this pace.
    pub(crate) round_s: Option<f64>,
}

pub(crate) fn scrub_pace(look: &ClusterLook) -> ScrubPace {
    let stamps = &look.groups[1].deep_stamps;
    let (now, interval) = (look.time_of_day_s, deep_interval_s(look));
    let oldest = stamps.iter().map(|stamp| stamp.seconds).fold(now, f64::min);
    let span = (now - oldest).clamp(1.0, DAY_S);
    let done = stamps.iter().filter(|stamp| stamp.ever && now - stamp.seconds <= span).count();
    let overdue = stamps.iter().filter(|stamp| now - stamp.seconds > interval).count();
    let round_s = (done > 0).then(|| stamps.len() as f64 * span / done as f64);
    ScrubPace { groups: stamps.len(), done, overdue, round_s }
}

fn deep_scrub(look: &ClusterLook) -> Option<Backlog> {
    let pace = scrub_pace(look);
    let under_way = look.groups[1].deep_scrubbing;
    if pace.overdue == 0 && under_way == 0 {
        return None;
    }
    let rate_per_s = pace.round_s.map_or(0.0, |round| pace.groups as f64 / round);
    let mut why = vec![format!(
        "{} of {} groups were deep-scrubbed in the last day, {} are overdue (osd_deep_scrub_interval {:.0} days), \
         {under_way} are under way",
        pace.done,
        pace.groups,
        pace.overdue,
        deep_interval_s(look) / DAY_S
    )];
    for flag in ["noscrub", "nodeep-scrub"] {
        if look.map.flags_set.iter().any(|set| set == flag) {
            why.push(format!("the flag {flag} is set: `ceph osd unset {flag}` lets it go on"));
        }
    }
    let slots = look.osds.iter().find_map(|osd| osd.number("osd_max_scrubs"));
    if let (Some(slots), true) = (slots, under_way > 0) {
        why.push(format!("slots: an OSD takes part in at most {slots} scrubs (osd_max_scrubs)"));
    }
    let left = (pace.overdue as f64).max(under_way as f64);
    let remaining_s = (rate_per_s > 0.0).then(|| left / rate_per_s);
    Some(Backlog {
        kind: BacklogKind::DeepScrub,
        left,
        unit: "groups",
        rate_per_s,
        remaining_s,
        least_s: remaining_s,
        why,
    })
}

fn trim(look: &ClusterLook) -> Option<Backlog> {
    let [before, after] = &look.groups;
    if after.trim_queue == 0 && after.trimming == 0 {
        return None;
    }
    let gone = before.trim_queue as f64 - after.trim_queue as f64;
    let rate_per_s = gone / look.window_s;
    let mut why = vec![format!("{} groups trim or wait to", after.trimming)];
    if look.map.flags_set.iter().any(|set| set == "nosnaptrim") {
        why.push(
            "the flag nosnaptrim is set: `ceph osd unset nosnaptrim` lets it go on".to_owned(),
        );
    }
    if rate_per_s < 0.0 {
        why.push("more snapshots are deleted than trimmed".to_owned());
    }
    let remaining_s = (rate_per_s > 0.0).then(|| after.trim_queue as f64 / rate_per_s);
    Some(Backlog {
        kind: BacklogKind::Trim,
        left: after.trim_queue as f64,
        unit: "snapshots in groups",
        rate_per_s,
        remaining_s,
        least_s: remaining_s,
        why,
    })
}
