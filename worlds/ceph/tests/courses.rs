//! Recoveries of a real cluster, recorded look by look: what is told at each of them, and what it then took.

use loadline_ceph::answers::{OsdCounters, PerfDump};
use loadline_ceph::{
    BacklogKind, ClusterLook, MovingGroup, OsdLook, PgTotals, SettledGroup, backlogs,
};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Objects, who sends, who receives, since when, by which map.
type Group = (f64, i64, Vec<i64>, f64, u64);

/// Its name, copies left, whether it waits, since when.
type Moving = (String, f64, u8, f64);

#[derive(Deserialize)]
struct Recorded {
    /// When all was clean, in seconds.
    ended: f64,
    groups: BTreeMap<String, Group>,
    /// When each was, and by which map.
    settled: BTreeMap<String, (f64, u64)>,
    /// The second, copies sent so far, and what was left.
    looks: Vec<(f64, f64, Vec<Moving>)>,
}

impl Recorded {
    fn read(name: &str) -> Recorded {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/courses");
        let text = std::fs::read_to_string(folder.join(name)).expect("it was recorded");
        serde_json::from_str(&text).expect("it is a course")
    }

    /// The groups as they told then, by a clock that began long before.
    fn totals(&self, at: usize) -> PgTotals {
        const CLOCK_S: f64 = 1e9;
        let (second, _, left) = &self.looks[at];
        let moving = |(pgid, left, waits, changed): &Moving| {
            let (objects, primary, targets, began, epoch) = self.groups[pgid].clone();
            MovingGroup {
                pgid: pgid.clone(),
                primary,
                targets,
                left: *left,
                waits: *waits > 0,
                objects,
                began_s: Some(CLOCK_S + began),
                changed_s: Some(CLOCK_S + changed),
                epoch,
            }
        };
        let settled = self.settled.iter().filter(|(_, (since, _))| since <= second);
        let settled = settled.map(|(pgid, (since, epoch))| SettledGroup {
            pgid: pgid.clone(),
            since_s: CLOCK_S + since,
            epoch: *epoch,
            objects: self.groups[pgid].0,
        });
        PgTotals {
            groups: 65,
            misplaced: left.iter().map(|group| group.1).sum(),
            moving: left.iter().map(moving).collect(),
            settled: settled.collect(),
            told_at_s: CLOCK_S + second,
            ..PgTotals::default()
        }
    }

    /// What is told at this look by it and by what was seen in so many seconds before it.
    fn told(&self, at: usize, window_s: f64) -> Option<f64> {
        let began =
            self.looks[..at].iter().rposition(|look| look.0 <= self.looks[at].0 - window_s)?;
        let sent = [self.looks[began].1, self.looks[at].1];
        let counted = |push: f64| PerfDump {
            osd: OsdCounters { push, ..OsdCounters::default() },
            ..PerfDump::default()
        };
        let osd = |id: u32| OsdLook {
            id,
            options: BTreeMap::from([("osd_op_num_shards".to_owned(), "8".to_owned())]),
            // One counts for all.
            counters: sent.map(|sent| counted(if id == 0 { sent } else { 0.0 })).to_vec(),
            ..OsdLook::default()
        };
        let look = ClusterLook {
            groups: [self.totals(began), self.totals(at)],
            osds: (0..4).map(osd).collect(),
            window_s: self.looks[at].0 - self.looks[began].0,
            ..ClusterLook::default()
        };
        let mut told = backlogs(&look).into_iter().filter(|it| it.kind == BacklogKind::Recovery);
        Some(told.next().and_then(|told| told.remaining_s).unwrap_or(f64::INFINITY))
    }
}

/// How many looks are right within a quarter, or 5 s, and how many there are.
fn right(name: &str, window_s: f64) -> (usize, usize) {
    let recorded = Recorded::read(name);
    let looks = (0..recorded.looks.len()).filter_map(|at| {
        let took = recorded.ended - recorded.looks[at].0;
        Some((took, recorded.told(at, window_s)?))
    });
    let looks: Vec<(f64, f64)> = looks.collect();
    let is_right = |(took, told): &&(f64, f64)| (told - took).abs() <= (0.25 * took).max(5.0);
    let right = looks.iter().filter(is_right).count();
    println!("{name}: {right} of {}: {looks:.0?}", looks.len());
    (right, looks.len())
}

fn check(name: &str, window_s: f64, share: f64) {
    let (right, looks) = right(name, window_s);
    assert!(right as f64 >= share * looks as f64, "{name}: {right} of {looks} are right");
}

/// One group after the other goes to the OSD that is back. By a window of 5 s and copies alone 42 of 70 looks at the second were right.
#[test]
fn one_slot_for_each_osd_is_told_from_the_first_look_on() {
    check("slots-in.json", 5.0, 0.9);
    check("tail-in.json", 5.0, 0.9);
    check("slots-out.json", 5.0, 0.9);
}

/// Each queue of an OSD has a limit of its own, and a copy takes it some seconds.
#[test]
fn queues_with_limits_are_told_by_what_their_like_move() {
    check("open-in.json", 18.0, 0.7);
    check("open-out.json", 18.0, 0.7);
}
