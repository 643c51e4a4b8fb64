//! One look at a whole cluster, reading only: what it says of itself, and what its OSDs count in a short window.
//!
//! Everything may be missing. What did not answer is named, and what is made of the look works with what there is.

use crate::answers::{
    ClusterLogLine, ClusterStatus, ConfigVersion, OpHistory, OsdMapDump, OsdMetadata, OsdUsage,
    OsdUsages, PerfDump, PgStat, Releases, Reservations, StoredOption, read_pgs, shown_options,
};
use crate::connection::{CephConnection, CephError, CommandTarget, ask, tell};
use crate::stamp::seconds_of;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Versions of the configuration that are looked through for a capacity's history.
const LOG_VERSIONS: u64 = 500;

/// Lines of the cluster's log that are looked through for refusals.
const LOG_LINES: u64 = 200;

/// OSDs that are asked at a time.
const ASKED_AT_A_TIME: usize = 8;

/// What is known of a cluster.
#[derive(Clone, Debug, Default)]
pub struct ClusterLook {
    /// `status`, at the end of the window.
    pub status: ClusterStatus,
    /// The map.
    pub map: OsdMapDump,
    /// Releases of its daemons.
    pub releases: Releases,
    /// What is stored in its configuration.
    pub stored: Vec<StoredOption>,
    /// How that came about, the newest version first.
    pub config_log: Vec<ConfigVersion>,
    /// Warnings of its log.
    pub warnings: Vec<ClusterLogLine>,
    /// Its placement groups when the window began, and when it ended.
    pub groups: [PgTotals; 2],
    /// Its OSDs, by number.
    pub osds: Vec<OsdLook>,
    /// Length of the window in seconds.
    pub window_s: f64,
    /// The time of day at its end, in seconds since 1970.
    pub time_of_day_s: f64,
    /// What did not answer, and why.
    pub missing: Vec<String>,
}

/// What is known of an OSD.
#[derive(Clone, Debug, Default)]
pub struct OsdLook {
    /// Its number.
    pub id: u32,
    /// Whether it runs.
    pub up: bool,
    /// Whether data is placed on it.
    pub is_in: bool,
    /// Its host and disk.
    pub metadata: Option<OsdMetadata>,
    /// How full it is.
    pub usage: OsdUsage,
    /// Options of QoS as they are in force in its process; empty if it did not answer.
    pub options: BTreeMap<String, String>,
    /// Its counters second by second; the first when the window began.
    pub counters: Vec<PerfDump>,
    /// Its slowest ops.
    pub history: OpHistory,
    /// Its slots.
    pub slots: Reservations,
}

/// One second of an OSD in which it had work all the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BusySample {
    /// Ops that it carried out, as a primary or as a copy.
    pub served: f64,
}

/// All placement groups together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PgTotals {
    /// How many told.
    pub groups: u64,
    /// Copies on the wrong OSD.
    pub misplaced: f64,
    /// Copies that do not exist.
    pub degraded: f64,
    /// Those of which copies are to move.
    pub moving: Vec<MovingGroup>,
    /// Those with objects of which none is.
    pub settled: Vec<SettledGroup>,
    /// When the latest of them told of itself, by the cluster's clock; 0 if none did.
    pub told_at_s: f64,
    /// Snapshots still to be trimmed, summed over groups.
    pub trim_queue: u64,
    /// PgGroups that trim.
    pub trimming: u64,
    /// PgGroups under a deep scrub.
    pub deep_scrubbing: u64,
    /// When each was deep-scrubbed last, since 1970; the birth of those that never were.
    pub deep_stamps: Vec<DeepStamp>,
}

/// A group of which copies are to move.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MovingGroup {
    /// Its name.
    pub pgid: String,
    /// Who sends its copies; -1 while nobody serves it.
    pub primary: i64,
    /// Who receives them; nobody where members lack what their log tells.
    pub targets: Vec<i64>,
    /// Copies that are not where they belong, or do not exist.
    pub left: f64,
    /// Whether it waits for a slot.
    pub waits: bool,
    /// Objects.
    pub objects: f64,
    /// Since when it has these members, by the cluster's clock: its recovery began then.
    pub began_s: Option<f64>,
    /// When it got its slot, or went to wait for one.
    pub changed_s: Option<f64>,
    /// The map that gave it these members.
    pub epoch: u64,
}

/// A group that has all its copies where they belong.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettledGroup {
    /// Its name.
    pub pgid: String,
    /// Since when, by the cluster's clock.
    pub since_s: f64,
    /// The map that gave it its members.
    pub epoch: u64,
    /// Objects.
    pub objects: f64,
}

impl MovingGroup {
    fn of(group: &PgStat) -> MovingGroup {
        /// Stands for nobody.
        const NONE: i64 = i32::MAX as i64;
        let is_target = |osd: &&i64| (0..NONE).contains(*osd) && !group.acting.contains(*osd);
        MovingGroup {
            pgid: group.pgid.clone(),
            primary: group.acting.first().copied().unwrap_or(-1),
            targets: group.up.iter().filter(is_target).copied().collect(),
            objects: group.stat_sum.num_objects,
            began_s: seconds_of(&group.last_became_active),
            changed_s: seconds_of(&group.last_change),
            epoch: group.mapping_epoch,
            left: group.stat_sum.num_objects_misplaced + group.stat_sum.num_objects_degraded,
            waits: ["backfill_wait", "recovery_wait"].iter().any(|word| group.state.contains(word)),
        }
    }

    /// Its number within its pool, which decides the queue of an OSD that it has.
    pub(crate) fn number(&self) -> u32 {
        let number = self.pgid.split_once('.').map(|(_, number)| number);
        number.and_then(|number| u32::from_str_radix(number, 16).ok()).unwrap_or(0)
    }
}

/// When a group was deep-scrubbed last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeepStamp {
    /// Since 1970.
    pub seconds: f64,
    /// Whether it ever was.
    pub ever: bool,
}

impl PgTotals {
    fn add(&mut self, group: &PgStat) {
        self.groups += 1;
        self.misplaced += group.stat_sum.num_objects_misplaced;
        self.degraded += group.stat_sum.num_objects_degraded;
        let moving = MovingGroup::of(group);
        if moving.left > 0.0 {
            self.moving.push(moving);
        } else if let Some(since_s) = moving.changed_s.filter(|_| moving.objects > 0.0) {
            let MovingGroup { pgid, epoch, objects, .. } = moving;
            self.settled.push(SettledGroup { pgid, since_s, epoch, objects });
        }
        self.told_at_s = self.told_at_s.max(seconds_of(&group.last_fresh).unwrap_or(0.0));
        self.trim_queue = self.trim_queue.saturating_add(group.snaptrimq_len);
        self.trimming += u64::from(group.state.contains("snaptrim"));
        self.deep_scrubbing += u64::from(group.state.contains("scrubbing+deep"));
        if let Some(seconds) = seconds_of(&group.last_deep_scrub_stamp) {
            let ever = group.last_deep_scrub != "0'0";
            self.deep_stamps.push(DeepStamp { seconds, ever });
        }
    }

    /// Reads the answer to `pg dump`.
    ///
    /// # Errors
    /// If it is not one.
    pub fn read(output: &[u8]) -> Result<PgTotals, serde_json::Error> {
        let mut totals = PgTotals::default();
        read_pgs(output, |group| totals.add(&group))?;
        Ok(totals)
    }
}

/// Whether an option has to do with QoS.
fn is_of_qos(name: &str) -> bool {
    const PREFIXES: [&str; 9] = [
        "osd_mclock",
        "osd_op_queue",
        "osd_max_backfills",
        "osd_recovery",
        "osd_scrub",
        "osd_deep_scrub",
        "osd_max_scrubs",
        "osd_snap_trim",
        "osd_op_num_",
    ];
    const NAMES: [&str; 8] = [
        "osd_delete_sleep",
        "osd_delete_sleep_hdd",
        "osd_delete_sleep_ssd",
        "osd_delete_sleep_hybrid",
        "osd_async_recovery_min_cost",
        "osd_min_pg_log_entries",
        "osd_max_pg_log_entries",
        "osd_pg_log_trim_min",
    ];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || NAMES.contains(&name)
}

/// So many copies tell the pace of a recovery within a quarter or so.
const COPIES_TOLD: f64 = 64.0;

/// Looks at a cluster for `seconds`, at least one.
///
/// # Errors
/// [`CephError`] if not even its status and its map can be had.
pub fn look(on: &dyn CephConnection, seconds: u64) -> Result<ClusterLook, CephError> {
    look_until_told(on, seconds..=seconds)
}

/// Looks at a cluster for so many seconds, at least one, and for longer while a recovery goes on of which too little has been seen.
///
/// # Errors
/// [`CephError`] if not even its status and its map can be had.
pub fn look_until_told(
    on: &dyn CephConnection,
    seconds: RangeInclusive<u64>,
) -> Result<ClusterLook, CephError> {
    use CommandTarget::{Manager, Monitor};
    let map: OsdMapDump = ask(on, &Monitor, &json!({"prefix": "osd dump"}))?;
    let missing = Mutex::new(Vec::new());
    let gather = Gather { on, missing: &missing };
    let usages: OsdUsages = gather.ask(&Manager, &json!({"prefix": "osd df"}));
    let mut osds: Vec<OsdLook> = map
        .osds
        .iter()
        .map(|entry| OsdLook {
            id: entry.id as u32,
            up: entry.up,
            is_in: entry.is_in,
            usage: usages
                .nodes
                .iter()
                .find(|node| node.id == entry.id)
                .cloned()
                .unwrap_or_default(),
            ..OsdLook::default()
        })
        .collect();
    osds.sort_by_key(|osd| osd.id);
    let metadata: Vec<OsdMetadata> = gather.ask(&Monitor, &json!({"prefix": "osd metadata"}));
    for osd in &mut osds {
        osd.metadata = metadata.iter().find(|of| of.id == u64::from(osd.id)).cloned();
    }
    gather.each(&mut osds, |gather, osd| gather.settings(osd));
    let before = gather.groups(&osds);
    let began_s = on.time_of_day_s();
    gather.each(&mut osds, |gather, osd| gather.count(osd));
    let is_told = |osds: &[OsdLook]| {
        before.moving.is_empty()
            || osds.iter().map(OsdLook::copies_sent).sum::<f64>() >= COPIES_TOLD
    };
    for second in 0..(*seconds.end()).max(1) {
        if second >= (*seconds.start()).max(1) && is_told(&osds) {
            break;
        }
        on.pause(Duration::from_secs(1));
        gather.each(&mut osds, |gather, osd| gather.count(osd));
    }
    let after = gather.groups(&osds);
    // Asking takes time as well: on a busy machine a second a second.
    let window_s = (on.time_of_day_s() - began_s).max(1.0);
    gather.each(&mut osds, |gather, osd| gather.queues(osd));
    let status: ClusterStatus = ask(on, &Monitor, &json!({"prefix": "status"}))?;
    // Each cluster has one. Whatever else answers would have nothing amiss.
    if status.fsid.is_empty() {
        let (target, prefix) = (Monitor, "status".to_owned());
        return Err(CephError::Garbled { target, prefix, reason: "it names no fsid".to_owned() });
    }
    let log =
        json!({"prefix": "log last", "num": LOG_LINES, "level": "warn", "channel": "cluster"});
    let found = ClusterLook {
        status,
        map,
        releases: gather.ask(&Monitor, &json!({"prefix": "versions"})),
        stored: gather.ask(&Monitor, &json!({"prefix": "config dump"})),
        config_log: gather.ask(&Monitor, &json!({"prefix": "config log", "num": LOG_VERSIONS})),
        warnings: gather.ask(&Monitor, &log),
        groups: [before, after],
        osds,
        window_s,
        time_of_day_s: on.time_of_day_s(),
        missing: Vec::new(),
    };
    let mut missing = missing.into_inner().expect("nobody panics with it");
    missing.sort();
    missing.dedup();
    Ok(ClusterLook { missing, ..found })
}

/// Asks, and notes what does not answer.
#[derive(Clone, Copy)]
struct Gather<'a> {
    on: &'a dyn CephConnection,
    missing: &'a Mutex<Vec<String>>,
}

impl Gather<'_> {
    fn ask<T: DeserializeOwned + Default>(&self, target: &CommandTarget, command: &Value) -> T {
        self.noted(ask(self.on, target, command))
    }

    fn noted<T: Default>(&self, found: Result<T, CephError>) -> T {
        found.unwrap_or_else(|error| {
            self.missing.lock().expect("nobody panics with it").push(error.to_string());
            T::default()
        })
    }

    /// Does the same for every OSD that runs, some at a time.
    fn each(&self, osds: &mut [OsdLook], act: impl Fn(&Gather<'_>, &mut OsdLook) + Sync) {
        let places: Vec<Mutex<&mut OsdLook>> = osds.iter_mut().map(Mutex::new).collect();
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..places.len().min(ASKED_AT_A_TIME) {
                scope.spawn(|| {
                    while let Some(place) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let mut osd = place.lock().expect("each is taken once");
                        if osd.up {
                            act(self, &mut osd);
                        }
                    }
                });
            }
        });
    }

    fn settings(&self, osd: &mut OsdLook) {
        let target = CommandTarget::Osd(osd.id);
        let output = self.noted(tell(self.on, &target, &json!({"prefix": "config show"})));
        osd.options = shown_options(&output, is_of_qos).unwrap_or_default();
    }

    fn count(&self, osd: &mut OsdLook) {
        let target = CommandTarget::Osd(osd.id);
        match ask(self.on, &target, &json!({"prefix": "perf dump"})) {
            Ok(counters) => osd.counters.push(counters),
            Err(error) => self.noted(Err(error)),
        }
    }

    fn queues(&self, osd: &mut OsdLook) {
        let target = CommandTarget::Osd(osd.id);
        osd.history = self.ask(&target, &json!({"prefix": "dump_historic_ops"}));
        osd.slots = self.ask(&target, &json!({"prefix": "dump_recovery_reservations"}));
    }

    /// The groups as the OSDs know them now: each tells the manager before it is asked.
    fn groups(&self, osds: &[OsdLook]) -> PgTotals {
        for osd in osds.iter().filter(|osd| osd.up) {
            // One that does not leaves its groups some seconds old.
            let _ =
                tell(self.on, &CommandTarget::Osd(osd.id), &json!({"prefix": "flush_pg_stats"}));
        }
        let command = json!({"prefix": "pg dump", "dumpcontents": ["pgs"]});
        let output = self.noted(tell(self.on, &CommandTarget::Manager, &command));
        if output.is_empty() {
            return PgTotals::default();
        }
        self.noted(PgTotals::read(&output).map_err(|error| CephError::Garbled {
            target: CommandTarget::Manager,
            prefix: "pg dump".to_owned(),
            reason: error.to_string(),
        }))
    }
}

impl OsdLook {
    /// `ssd` or `hdd`: which of an option's two forms counts for it.
    pub fn medium(&self) -> &'static str {
        match &self.metadata {
            Some(metadata) if metadata.rotational => "hdd",
            _ => "ssd",
        }
    }

    /// An option in force, as a number.
    pub fn number(&self, option: &str) -> Option<f64> {
        self.options.get(option)?.parse().ok()
    }

    /// How many queues it has, if it tells.
    pub(crate) fn queues(&self) -> Option<u32> {
        let of_medium = format!("osd_op_num_shards_{}", self.medium());
        let told = ["osd_op_num_shards", &of_medium].into_iter().filter_map(|it| self.number(it));
        told.map(|number| number as u32).find(|number| *number > 0)
    }

    /// Random 4 KiB writes per second that its scheduler reckons with.
    pub fn capacity_iops(&self) -> Option<f64> {
        self.number(&format!("osd_mclock_max_capacity_iops_{}", self.medium()))
    }

    /// Bytes per second that its scheduler reckons with.
    pub fn bandwidth(&self) -> Option<f64> {
        self.number(&format!("osd_mclock_max_sequential_bandwidth_{}", self.medium()))
    }

    /// Whether its queue is mClock's.
    pub fn is_mclock(&self) -> bool {
        self.options.get("osd_op_queue").is_some_and(|queue| queue == "mclock_scheduler")
    }

    /// The first and the last counters of the window, if they are of one process.
    pub fn ends(&self) -> Option<(&PerfDump, &PerfDump)> {
        let (first, last) = (self.counters.first()?, self.counters.last()?);
        // Counters that fell are of a process that began meanwhile.
        (self.counters.len() > 1 && last.osd.op >= first.osd.op).then_some((first, last))
    }

    /// Copies that it sent or asked for in the window.
    pub fn copies_sent(&self) -> f64 {
        let copies = |counters: &PerfDump| counters.osd.push + counters.osd.pull;
        self.ends().map_or(0.0, |(first, last)| copies(last) - copies(first))
    }

    /// What waited in its scheduler at each sample, over all classes.
    pub fn waiting(&self) -> impl Iterator<Item = u64> {
        self.counters.iter().map(|counters| counters.waiting.values().sum())
    }

    /// Seconds in which it was busy from end to end: work was under way or waited at both.
    pub fn busy(&self) -> Vec<BusySample> {
        const UNDER_WAY: f64 = 4.0;
        let is_busy = |counters: &PerfDump| {
            counters.osd.op_wip >= UNDER_WAY || counters.waiting.values().any(|length| *length > 0)
        };
        let pairs = self.counters.windows(2);
        let busy = pairs.filter(|pair| is_busy(&pair[0]) && is_busy(&pair[1]));
        let all = |counters: &PerfDump| counters.osd.op + counters.osd.subop_w;
        busy.map(|pair| BusySample { served: all(&pair[1]) - all(&pair[0]) })
            .filter(|sample| sample.served >= 0.0)
            .collect()
    }
}
