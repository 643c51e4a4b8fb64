//! How far a scrub, a trim and a removal are, by what groups and OSDs tell of them.
//!
//! Groups report to the manager, which takes the reports in every two seconds (`mgr_tick_period`), so that what groups tell is up to that old
//! when every OSD was told to report just before. When a scrub or a trim ended they stamp themselves, by the clocks of their hosts. What an
//! OSD's store holds, and which groups of removed pools it has yet to empty, its counters tell at once.

use super::sight::ClusterSight;
use loadline_ceph::answers::PgStat;
use loadline_ceph::seconds_of;
use loadline_node::PoolScrub;
use std::collections::BTreeMap;

/// A deep scrub that every group of a pool was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AskedScrub {
    /// When each group had been scrubbed last before that; of one that never was, its birth.
    before: BTreeMap<String, f64>,
}

/// How far it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ScrubTold {
    pub(super) left: PoolScrub,
    /// When the last group had been compared, if all have; seconds since 1970.
    pub(super) ended_s: Option<f64>,
    /// How long each group that has been compared took, summed.
    pub(super) group_s: f64,
}

impl AskedScrub {
    /// `groups` is what the pool's groups told before they were asked.
    pub(super) fn of(groups: &[PgStat]) -> AskedScrub {
        let stamp = |group: &PgStat| (group.pgid.clone(), scrubbed_at(group));
        AskedScrub { before: groups.iter().map(stamp).collect() }
    }

    pub(super) fn told(&self, groups: &[PgStat]) -> ScrubTold {
        let mut told = ScrubTold::default();
        let mut last_s = 0.0f64;
        for (pgid, before) in &self.before {
            let group = groups.iter().find(|group| group.pgid == *pgid);
            match group {
                Some(group) if scrubbed_at(group) > *before => {
                    last_s = last_s.max(scrubbed_at(group));
                    told.group_s += group.scrub_duration.max(0.0);
                }
                // One of which nothing is told is not over.
                group => {
                    told.left.groups_left += 1;
                    let Some(group) = group else { continue };
                    let runs = group.state.contains("scrubbing");
                    told.left.groups_running += u64::from(runs);
                    // Until it runs, the number is still that of the scrub before.
                    let compared = if runs { group.objects_scrubbed } else { 0.0 };
                    told.left.objects_left += (group.stat_sum.num_objects - compared) as u64;
                }
            }
        }
        told.ended_s = (told.left.groups_left == 0).then_some(last_s);
        told
    }
}

/// When it was compared last, since 1970.
fn scrubbed_at(group: &PgStat) -> f64 {
    seconds_of(&group.last_deep_scrub_stamp).unwrap_or(0.0)
}

/// How far the trim of a pool's only snapshot is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct TrimTold {
    /// Clones, and one while a group has not said that it is through.
    pub(super) left: u64,
    /// When the last group was through, if all are; seconds since 1970.
    pub(super) ended_s: Option<f64>,
}

impl TrimTold {
    pub(super) fn of(groups: &[PgStat]) -> TrimTold {
        let trims = |group: &PgStat| group.snaptrimq_len > 0 || group.state.contains("snaptrim");
        let left = clones(groups).max(u64::from(groups.iter().any(trims)));
        let changed = groups.iter().filter_map(|group| seconds_of(&group.last_change));
        // Its last change of state is the end of its trim.
        TrimTold { left, ended_s: changed.reduce(f64::max).filter(|_| left == 0) }
    }
}

/// Former states that a pool's groups keep for snapshots.
pub(super) fn clones(groups: &[PgStat]) -> u64 {
    groups.iter().map(|group| group.stat_sum.num_object_clones.max(0.0) as u64).sum()
}

/// A removed pool whose bytes the OSDs give back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RemovedPool {
    /// What its copies were, in bytes and in objects.
    bytes: f64,
    copies: u64,
    /// What all stores held when it was there.
    held: f64,
}

impl RemovedPool {
    /// Below this share of it, what is left is what clients have written meanwhile beyond what was there.
    const NOTHING: f64 = 0.02;

    /// Nothing if not every one of so many OSDs told what it holds: what the look lacks would stand against what is given back.
    pub(super) fn of(
        before: &ClusterSight,
        osds: usize,
        object_bytes: u64,
        copies: u64,
    ) -> Option<RemovedPool> {
        let is_whole = before.counters.len() >= osds;
        let bytes = (object_bytes * copies) as f64;
        is_whole.then(|| RemovedPool { bytes, copies, held: held(before) })
    }

    /// Copies that are left, if every one of so many OSDs told what it has.
    pub(super) fn left(&self, now: &ClusterSight, osds: usize) -> Option<u64> {
        if now.counters.len() < osds {
            return None;
        }
        let given_back = self.held - held(now);
        let share = (1.0 - given_back / self.bytes.max(1.0)).clamp(0.0, 1.0);
        let removes = now.counters.values().any(|it| it.osd.numpg_removing > 0.0);
        if share <= RemovedPool::NOTHING && !removes {
            return Some(0);
        }
        Some(((self.copies as f64 * share).ceil() as u64).max(1))
    }
}

/// Bytes of objects in all stores.
fn held(sight: &ClusterSight) -> f64 {
    sight.counters.values().map(|it| it.bluestore.stored).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_ceph::answers::{PerfDump, read_pgs};

    /// A group as it was recorded.
    fn recorded(name: &str) -> PgStat {
        let path = format!("{}/../../worlds/ceph/tests/samples/{name}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).expect("it was recorded");
        let mut found = Vec::new();
        let dump = format!("{{\"pg_stats\": [{text}]}}");
        read_pgs(dump.as_bytes(), |group| found.push(group)).expect("it is a dump");
        found.remove(0)
    }

    /// The recorded group was compared at 08:27:42 (16 objects in 1.45 s), and again from 08:27:50 on.
    #[test]
    fn a_scrub_is_over_when_each_group_has_a_later_stamp_than_before() {
        let done = recorded("scrub-pg.json");
        let running = recorded("scrubbing-pg.json");
        let mut born = done.clone();
        born.last_deep_scrub_stamp = "2026-11-22T08:25:17.000000+0000".to_owned();
        let other = PgStat { pgid: "1.6".to_owned(), ..born.clone() };
        let asked = AskedScrub::of(&[born.clone(), other.clone()]);
        let left = |objects_left, groups_left, groups_running| PoolScrub {
            objects_left,
            groups_left,
            groups_running,
            slots: None,
        };
        // The number of an earlier scrub stands there until the next begins.
        assert_eq!(asked.told(&[born, other.clone()]).left, left(32, 2, 0));
        let half = PgStat { objects_scrubbed: 9.0, ..running.clone() };
        let half = PgStat { last_deep_scrub_stamp: other.last_deep_scrub_stamp.clone(), ..half };
        assert_eq!(asked.told(&[half, other.clone()]).left, left(23, 2, 1));
        let told = asked.told(&[done.clone(), other.clone()]);
        assert_eq!((told.left, told.ended_s), (left(16, 1, 0), None));
        let later = PgStat {
            last_deep_scrub_stamp: "2026-11-22T08:27:51.500000+0000".to_owned(),
            scrub_duration: 2.0,
            ..other
        };
        let told = asked.told(&[done.clone(), later.clone()]);
        assert_eq!(told.left, PoolScrub::default());
        assert_eq!(told.ended_s, seconds_of(&later.last_deep_scrub_stamp));
        assert!((told.group_s - 3.446_560_306).abs() < 1e-9, "{told:?}");
        assert_eq!(asked.told(&[done]).left.groups_left, 1, "who is silent is not through");
        // Asked again, the same group is at its second scrub, and its first stamp counts for nothing.
        let again = AskedScrub::of(&[recorded("scrub-pg.json")]);
        assert_eq!(again.told(&[running]).left, left(16, 1, 1));
    }

    /// Recorded two looks apart, the first while two groups still trimmed: 96 clones went in about a second.
    #[test]
    fn a_trim_is_over_when_no_group_has_a_clone_or_trims() {
        let group = |clones: f64, snaptrimq_len: u64, state: &str, second: &str| {
            let mut group = recorded("scrub-pg.json");
            group.stat_sum.num_object_clones = clones;
            group.snaptrimq_len = snaptrimq_len;
            group.state = state.to_owned();
            group.last_change = format!("2026-11-29T16:03:{second}+0000");
            group
        };
        let told = |groups: &[PgStat]| TrimTold::of(groups);
        let clean = |second| group(0.0, 0, "active+clean", second);
        let trims = group(3.0, 1, "active+clean+snaptrim", "01.5");
        assert_eq!(told(&[clean("01.2"), trims]), TrimTold { left: 3, ended_s: None });
        let waits = group(0.0, 1, "active+clean+snaptrim_wait", "01.5");
        assert_eq!(told(&[clean("01.2"), waits]).left, 1);
        let over = told(&[clean("01.2"), clean("02.25"), clean("00.1")]);
        assert_eq!((over.left, over.ended_s), (0, seconds_of("2026-11-29T16:03:02.25+0000")));
    }

    /// Ten objects of 1 MB in three copies beside 50 MB of clients.
    #[test]
    fn a_removal_is_over_when_the_bytes_are_gone_and_no_group_is_left_to_empty() {
        let sight = |held: [f64; 3], removing: f64| {
            let mut sight = ClusterSight::default();
            for (osd, stored) in held.into_iter().enumerate() {
                let mut counters = PerfDump::default();
                counters.bluestore.stored = stored * 1e6;
                counters.osd.numpg_removing = if osd == 0 { removing } else { 0.0 };
                sight.counters.insert(osd as u32, counters);
            }
            sight
        };
        let before = sight([30.0, 25.0, 25.0], 0.0);
        let removed = RemovedPool::of(&before, 3, 1_000_000, 30).expect("every OSD told");
        assert_eq!(RemovedPool::of(&before, 4, 1_000_000, 30), None, "one did not tell");
        let left = |held, removing| removed.left(&sight(held, removing), 3);
        assert_eq!(left([30.0, 25.0, 25.0], 0.0), Some(30), "no OSD has heard of it yet");
        assert_eq!(left([20.0, 25.0, 20.5], 4.0), Some(16));
        assert_eq!(left([20.0, 15.0, 15.0], 1.0), Some(1), "a group is still to be emptied");
        assert_eq!(left([20.0, 15.0, 15.0], 0.0), Some(0));
        assert_eq!(left([20.1, 15.1, 15.2], 0.0), Some(0), "clients wrote a little more");
        assert_eq!(removed.left(&sight([20.0, 15.0, 15.0], 0.0), 4), None, "one did not answer");
    }
}
