//! A look at the cluster while a study runs: who has done what, and whether it may go on.

use loadline_base::{Span, Time};
use loadline_ceph::answers::{ClusterStatus, OsdMapDump, PerfDump};
use loadline_ceph::guard::APPLICATION;
use loadline_ceph::{CephConnection, CephError, CommandTarget, ask};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What one look found.
#[derive(Clone, Debug, Default)]
pub(super) struct ClusterSight {
    pub(super) at: Time,
    pub(super) status: ClusterStatus,
    /// Of each OSD that answered.
    pub(super) counters: BTreeMap<u32, PerfDump>,
}

impl ClusterSight {
    pub(super) fn ask(
        on: &dyn CephConnection,
        osds: &[u32],
        at: Time,
    ) -> Result<ClusterSight, CephError> {
        let status: ClusterStatus = ask(on, &CommandTarget::Monitor, &json!({"prefix": "status"}))?;
        // One that is down, or young, does not answer: a missing sample and no error.
        let dump = |osd: &u32| {
            Some((*osd, ask(on, &CommandTarget::Osd(*osd), &json!({"prefix": "perf dump"})).ok()?))
        };
        Ok(ClusterSight { at, status, counters: osds.iter().filter_map(dump).collect() })
    }

    /// Those of some OSDs that did not answer.
    pub(super) fn silent(&self, osds: &[u32]) -> Vec<u32> {
        osds.iter().copied().filter(|osd| !self.counters.contains_key(osd)).collect()
    }

    /// The sum over all OSDs of what a counter has grown by since another look. What one that this look lacks has done in its life
    /// is not what it has done since.
    pub(super) fn grown(&self, since: &ClusterSight, of: fn(&PerfDump) -> f64) -> f64 {
        let one = |(osd, now): (&u32, &PerfDump)| {
            let before = of(since.counters.get(osd)?);
            // A process that was begun anew counts from zero.
            Some(if of(now) >= before { of(now) - before } else { of(now) })
        };
        self.counters.iter().filter_map(one).sum()
    }
}

/// Writes that must go on.
#[derive(Clone, Debug)]
pub(super) struct WriteWatch {
    /// The look at which any OSD had last written more than before.
    last: ClusterSight,
}

impl WriteWatch {
    pub(super) fn begin(first: ClusterSight) -> WriteWatch {
        WriteWatch { last: first }
    }

    /// Since when nothing has been written.
    pub(super) fn see(&mut self, sight: &ClusterSight) -> Span {
        if sight.grown(&self.last, |it| it.osd.op_w) > 0.0 {
            self.last = sight.clone();
        }
        sight.at.since(self.last.at)
    }
}

/// Reasons for a warning that a study itself brings about, or that say nothing of the data.
const EXPLAINED: [&str; 17] = [
    "POOL_APP_NOT_ENABLED",
    "MGR_MODULE_ERROR",
    "MGR_MODULE_DEPENDENCY",
    "PG_DEGRADED",
    "OBJECT_MISPLACED",
    "OSDMAP_FLAGS",
    "PG_NOT_SCRUBBED",
    "PG_NOT_DEEP_SCRUBBED",
    "SLOW_OPS",
    "BLUESTORE_SLOW_OP_ALERT",
    "DB_DEVICE_STALLED_READ_ALERT",
    "BLOCK_DEVICE_STALLED_READ_ALERT",
    "OSD_SLOW_PING_TIME_FRONT",
    "OSD_SLOW_PING_TIME_BACK",
    "PG_SLOW_SNAP_TRIMMING",
    "TOO_FEW_PGS",
    "POOL_PG_NUM_NOT_POWER_OF_TWO",
];

/// While a map changes, groups talk before they serve: an OSD that comes or goes explains that for a while.
const PEERING_S: f64 = 20.0;

/// What is watched for while a study runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Watchman {
    /// The OSD that the study has stopped.
    pub(super) stopped: Option<u32>,
    /// The map in which each OSD came up.
    up_from: BTreeMap<u32, u64>,
    unavailable_since: Option<Time>,
}

impl Watchman {
    /// The processes are those that run now.
    pub(super) fn begin(&mut self, on: &dyn CephConnection) -> Result<(), CephError> {
        self.up_from = up_from(on)?;
        Ok(())
    }

    /// Why a study must end, by what a look found.
    pub(super) fn alarm(&mut self, sight: &ClusterSight) -> Option<String> {
        let status = &sight.status;
        if status.health.status == "HEALTH_ERR" {
            let why: Vec<&str> =
                status.reasons().map(|(_, it)| it.summary.message.as_str()).collect();
            return Some(format!("the cluster's health became HEALTH_ERR ({})", why.join("; ")));
        }
        if status.pgmap.unfound_objects > 0 {
            return Some(format!(
                "{} objects have no copy that answers",
                status.pgmap.unfound_objects
            ));
        }
        let mut is_unavailable = false;
        for (code, check) in status.reasons() {
            match code {
                "PG_AVAILABILITY" => is_unavailable = true,
                "OSD_DOWN"
                    if self.stopped.is_some()
                        && status.osdmap.num_up_osds + 1 == status.osdmap.num_osds => {}
                code if EXPLAINED.contains(&code) => {}
                code => return Some(format!("{code}: {}", check.summary.message)),
            }
        }
        let since = is_unavailable.then(|| self.unavailable_since.unwrap_or(sight.at));
        self.unavailable_since = since;
        let long = since.is_some_and(|since| sight.at.since(since).as_secs_f64() > PEERING_S);
        long.then(|| format!("groups have not served for {PEERING_S} s (PG_AVAILABILITY)"))
    }

    /// The same, by what is asked more rarely: other processes, and other people's clients.
    pub(super) fn rare_alarm(&self, on: &dyn CephConnection) -> Result<Option<String>, CephError> {
        for (osd, came) in up_from(on)? {
            let was = self.up_from.get(&osd);
            if was.is_some_and(|was| *was != came) && self.stopped != Some(osd) {
                return Ok(Some(format!("osd.{osd} went down and came up again")));
            }
        }
        let map: OsdMapDump = ask(on, &CommandTarget::Monitor, &json!({"prefix": "osd dump"}))?;
        let paces: Vec<Value> =
            ask(on, &CommandTarget::Manager, &json!({"prefix": "osd pool stats"}))?;
        let is_ours = |name: &str| {
            let pool = map.pools.iter().find(|pool| pool.pool_name == name);
            name == ".mgr"
                || pool.is_none_or(|pool| pool.application_metadata.contains_key(APPLICATION))
        };
        let foreign = paces.iter().find(|pace| {
            let rates = pace["client_io_rate"].as_object();
            rates.is_some_and(|rates| !rates.is_empty())
                && !is_ours(pace["pool_name"].as_str().unwrap_or_default())
        });
        Ok(foreign.map(|pace| {
            let name = pace["pool_name"].as_str().unwrap_or_default();
            format!("somebody's clients began to use the pool {name}")
        }))
    }
}

fn up_from(on: &dyn CephConnection) -> Result<BTreeMap<u32, u64>, CephError> {
    let map: OsdMapDump = ask(on, &CommandTarget::Monitor, &json!({"prefix": "osd dump"}))?;
    Ok(map.osds.iter().filter(|osd| osd.up).map(|osd| (osd.id as u32, osd.up_from)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_ceph::answers::{HealthCheck, HealthSummary};

    fn sight(second: u64, health: &str, codes: &[&str]) -> ClusterSight {
        let mut status = ClusterStatus::default();
        status.health.status = health.to_owned();
        (status.osdmap.num_osds, status.osdmap.num_up_osds) = (4, 3);
        let check = |code: &&str| {
            let summary = HealthSummary { message: format!("about {code}") };
            ((*code).to_owned(), HealthCheck { summary, ..HealthCheck::default() })
        };
        status.health.checks = codes.iter().map(check).collect();
        ClusterSight { at: Time::from_secs(second), status, ..ClusterSight::default() }
    }

    /// A cluster that was paused, or full, took no write any more: fio waited for ever, and with it a study that had changed it.
    #[test]
    fn writes_that_do_not_go_on_are_seen() {
        let sight = |second: u64, writes: [f64; 2]| {
            let mut sight = sight(second, "HEALTH_OK", &[]);
            for (osd, op_w) in writes.into_iter().enumerate() {
                let mut counters = PerfDump::default();
                counters.osd.op_w = op_w;
                sight.counters.insert(osd as u32, counters);
            }
            sight
        };
        let mut watch = WriteWatch::begin(sight(10, [5.0, 7.0]));
        assert_eq!(watch.see(&sight(12, [5.0, 7.0])), Span::from_secs(2));
        assert_eq!(watch.see(&sight(14, [5.0, 8.0])), Span::ZERO);
        let mut one = sight(40, [5.0, 8.0]);
        one.counters.remove(&1);
        assert_eq!(watch.see(&one), Span::from_secs(26), "who is silent has not written");
        assert_eq!(watch.see(&sight(50, [5.0, 8.0])), Span::from_secs(36));
    }

    /// osd.2 missed the first look, and has served a million ops since it was begun; osd.1 was begun anew.
    #[test]
    fn what_has_grown_is_told_of_those_that_were_seen_before() {
        let sight = |ops: &[(u32, f64)]| {
            let mut sight = sight(1, "HEALTH_OK", &[]);
            for (osd, op) in ops {
                let mut counters = PerfDump::default();
                counters.osd.op = *op;
                sight.counters.insert(*osd, counters);
            }
            sight
        };
        let first = sight(&[(0, 100.0), (1, 500.0)]);
        let last = sight(&[(0, 130.0), (1, 7.0), (2, 1e6)]);
        assert_eq!(last.grown(&first, |it| it.osd.op), 37.0);
        assert_eq!(first.silent(&[0, 1, 2]), [2]);
        assert_eq!(last.silent(&[0, 1, 2]), [0; 0]);
    }

    #[test]
    fn what_a_study_brings_about_is_no_alarm_and_the_rest_is() {
        let mut watchman = Watchman::default();
        let warn = "HEALTH_WARN";
        assert_eq!(watchman.alarm(&sight(1, warn, &["PG_DEGRADED", "OSDMAP_FLAGS"])), None);
        let why = watchman.alarm(&sight(2, "HEALTH_ERR", &["PG_DAMAGED"])).unwrap();
        assert!(why.contains("HEALTH_ERR (about PG_DAMAGED)"), "{why}");
        for code in ["OSD_NEARFULL", "MON_DOWN", "OSD_DOWN", "SOMETHING_NEW"] {
            assert_eq!(
                watchman.alarm(&sight(3, warn, &[code])),
                Some(format!("{code}: about {code}"))
            );
        }
        watchman.stopped = Some(3);
        assert_eq!(watchman.alarm(&sight(4, warn, &["OSD_DOWN"])), None);
        let mut unfound = sight(5, "HEALTH_OK", &[]);
        unfound.status.pgmap.unfound_objects = 2;
        assert!(watchman.alarm(&unfound).unwrap().starts_with("2 objects have no copy"));
    }

    #[test]
    fn groups_may_talk_for_a_while_and_not_for_long() {
        let mut watchman = Watchman::default();
        let at = |second| sight(second, "HEALTH_WARN", &["PG_AVAILABILITY"]);
        assert_eq!(watchman.alarm(&at(10)), None);
        assert_eq!(watchman.alarm(&at(29)), None);
        assert_eq!(watchman.alarm(&sight(30, "HEALTH_OK", &[])), None);
        assert_eq!(watchman.alarm(&at(31)), None, "it served in between");
        assert!(watchman.alarm(&at(52)).unwrap().contains("PG_AVAILABILITY"));
    }
}
