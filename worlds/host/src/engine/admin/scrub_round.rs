//! Whether deep scrubs keep up with their interval, and what would have to change if they do not.

use super::findings::LATE_DEEP_PERCENT;
use crate::admin::api::ScrubRound;
use crate::engine::host_node::HostNode;
use loadline_base::{Span, WallTime};
use loadline_node::{ScrubReport, ScrubReports};
use loadline_osd::{OsdId, ScrubHeld, ScrubKind, ScrubSchedule};
use std::collections::BTreeMap;

/// What is counted of all placement groups that are served.
#[derive(Default)]
struct RoundSoFar {
    round: ScrubRound,
    states: u64,
    /// What stands against deep scrubs of those that are left, whatever the rate.
    is_forbidden: bool,
    has_hours: bool,
    is_busy: bool,
}

impl RoundSoFar {
    fn count(&mut self, today: WallTime, schedule: &ScrubSchedule, report: &ScrubReport) {
        let ScrubReport { record, states, .. } = report;
        let Some(last) = record.last_deep_by(today) else { return };
        let round = &mut self.round;
        round.pgs += 1;
        round.interval_ns = round.interval_ns.max(schedule.deep.nanos());
        self.states += states;
        let under_way = record.under_way.as_ref().filter(|it| it.request.kind == ScrubKind::Deep);
        let due = last.after(schedule.deep);
        if under_way.is_none() && due > today {
            let due_in = due.since(today).nanos();
            round.due_in_ns = Some(round.due_in_ns.map_or(due_in, |other| other.min(due_in)));
            return;
        }
        let compared = under_way.map_or(0, |it| it.objects.min(*states));
        let took = under_way.map_or(Span::ZERO, |it| today.since(it.began));
        if took > Span::ZERO {
            round.states_per_s += compared as f64 / took.as_secs_f64();
        }
        round.pgs_left += 1;
        round.states_left += states - compared;
        let late = last.after(schedule.deep / 100 * (100 + LATE_DEEP_PERCENT));
        let late_in = late.since(today).nanos();
        round.late_in_ns = Some(round.late_in_ns.map_or(late_in, |other| other.min(late_in)));
        self.is_forbidden |= schedule.no_deep;
        self.is_busy |= matches!(report.held_back, Some(ScrubHeld::Load { .. }));
        self.has_hours |= !schedule.is_permitted_always();
    }

    fn conclude(mut self) -> ScrubRound {
        let round = &mut self.round;
        let rate = round.states_per_s;
        let at_rate =
            |states: u64| (rate > 0.0).then(|| Span::from_secs_f64(states as f64 / rate).nanos());
        if round.pgs_left > 0 {
            round.due_in_ns = None;
            round.ends_in_ns = at_rate(round.states_left);
            round.takes_ns = at_rate(self.states);
        }
        let is_too_late = match (round.ends_in_ns, round.late_in_ns) {
            (Some(ends), Some(late)) => ends > late,
            (None, Some(late)) => late == 0,
            _ => false,
        };
        let is_too_slow = round.takes_ns.is_some_and(|takes| takes > round.interval_ns);
        if is_too_late || is_too_slow || round.pgs_left > 0 && self.is_forbidden {
            round.wants = Some(match self.is_forbidden {
                true => resumed(round),
                false => wants(round, self.has_hours, self.is_busy),
            });
        }
        self.round
    }
}

fn resumed(round: &ScrubRound) -> String {
    let pgs = round.pgs_left;
    format!("nodeep-scrub is set and {pgs} PGs are due; `loadline scrub resume` lets them go on")
}

fn wants(round: &ScrubRound, has_hours: bool, is_busy: bool) -> String {
    let pgs = round.pgs_left;
    let days = |nanos: u64| Span::from_nanos(nanos).as_secs_f64() / 86_400.0;
    let hours = match has_hours {
        true => "more hours (osd_scrub_begin_hour, osd_scrub_end_hour and week days), ",
        false => "",
    };
    let load = match is_busy {
        true => "a machine that is less busy or a higher osd_scrub_load_threshold, ",
        false => "",
    };
    let remedy = "more PGs at a time (osd_max_scrubs), a profile that leaves background work more (osd_mclock_profile), or a longer osd_deep_scrub_interval";
    let interval = days(round.interval_ns);
    match round.takes_ns {
        Some(takes) => format!(
            "at {:.1} objects/s a round of all PGs takes {:.1} of {interval:.1} days, {pgs} are due; what would help: {hours}{load}{remedy}",
            round.states_per_s,
            days(takes)
        ),
        None => format!(
            "{pgs} PGs are due and none has been scrubbed deeply within {interval:.1} days and three quarters of that; what would help: {hours}{load}OSDs that are up and PGs that are clean, {remedy}"
        ),
    }
}

impl HostNode {
    /// How deep scrubs keep up.
    pub(super) fn scrub_round(&self, reports: &ScrubReports) -> ScrubRound {
        let today = self.config.clock.at(self.now);
        let mut schedules = BTreeMap::<OsdId, ScrubSchedule>::new();
        let mut so_far = RoundSoFar::default();
        for (pg, state) in self.node.cluster().map().pgs() {
            let Some(primary) = state.serving() else { continue };
            let schedule = schedules
                .entry(primary)
                .or_insert_with(|| self.settings.options(primary).scrub.schedule);
            so_far.count(today, schedule, &reports[&pg]);
        }
        so_far.conclude()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_osd::{OsdSet, ScrubProgress, ScrubRecord, ScrubRequest, ScrubWindow};

    const DAY: u64 = 86_400;

    fn at(seconds: u64) -> WallTime {
        WallTime::from_unix_nanos(seconds * 1_000_000_000)
    }

    fn schedule() -> ScrubSchedule {
        let days = |days| Span::from_secs(days * DAY);
        ScrubSchedule {
            least: days(1),
            most: days(7),
            deep: days(7),
            spread_ppm: 0,
            early_deep_ppm: 0,
            backoff_ppm: 0,
            hours: ScrubWindow::default(),
            week_days: ScrubWindow::default(),
            load_threshold_milli: 500,
            no_shallow: false,
            no_deep: false,
            during_recovery: false,
        }
    }

    /// A group of a thousand objects that was last scrubbed deeply then, and of which so many are compared since then.
    fn group(last_deep: u64, under_way: Option<(u64, u64)>) -> ScrubReport {
        let request = ScrubRequest { kind: ScrubKind::Deep, is_requested: false, repairs: false };
        let progress = |(began, objects): (u64, u64)| ScrubProgress {
            request,
            began: at(began),
            members: OsdSet::EMPTY,
            reached: None,
            objects,
            findings: Default::default(),
        };
        let record = ScrubRecord {
            last_deep: Some(at(last_deep)),
            under_way: under_way.map(progress),
            ..ScrubRecord::default()
        };
        ScrubReport { record, states: 1_000, ..ScrubReport::default() }
    }

    fn round(schedule: &ScrubSchedule, today: u64, groups: &[ScrubReport]) -> ScrubRound {
        let mut so_far = RoundSoFar::default();
        groups.iter().for_each(|group| so_far.count(at(today), schedule, group));
        so_far.conclude()
    }

    #[test]
    fn a_round_ends_when_what_is_due_is_compared_at_the_present_rate() {
        // Half of one in 100 s: 5 objects a second, and 1,500 of two groups to go.
        let groups = [group(DAY, Some((8 * DAY, 500))), group(DAY / 2, None), group(4 * DAY, None)];
        let found = round(&schedule(), 8 * DAY + 100, &groups);
        assert_eq!((found.pgs, found.pgs_left, found.states_left), (3, 2, 1_500));
        assert_eq!((found.states_per_s, found.ends_in_ns), (5.0, Some(300_000_000_000)));
        assert_eq!(found.takes_ns, Some(600_000_000_000));
        // The older of the two is late 12 days and a quarter after its last one.
        let late = DAY / 2 + 7 * DAY * 7 / 4 - (8 * DAY + 100);
        assert_eq!(found.late_in_ns, Some(late * 1_000_000_000));
        assert_eq!((found.wants, found.due_in_ns), (None, None));
        let rested = round(&schedule(), 5 * DAY, &groups[2..]);
        assert_eq!((rested.pgs_left, rested.due_in_ns), (0, Some(6 * DAY * 1_000_000_000)));
    }

    #[test]
    fn what_is_in_the_way_is_said_with_its_remedy() {
        let slow = [group(DAY, Some((8 * DAY, 1))), group(DAY, None)];
        let says = |schedule: &ScrubSchedule, today: u64, groups: &[ScrubReport]| {
            round(schedule, today, groups).wants.unwrap_or_default()
        };
        let found = says(&schedule(), 9 * DAY, &slow);
        assert!(found.contains("osd_max_scrubs") && !found.contains("hour"), "{found}");
        assert!(!found.contains("osd_scrub_load_threshold"), "{found}");
        let load = ScrubHeld::Load { minute_milli: 900, threshold_milli: 500 };
        let busy = [slow[0].clone(), ScrubReport { held_back: Some(load), ..slow[1].clone() }];
        assert!(says(&schedule(), 9 * DAY, &busy).contains("osd_scrub_load_threshold"));
        let hours = ScrubSchedule { hours: ScrubWindow { begin: 1, end: 2 }, ..schedule() };
        assert!(says(&hours, 9 * DAY, &slow).contains("osd_scrub_begin_hour"));
        let paused = ScrubSchedule { no_deep: true, ..schedule() };
        assert!(says(&paused, 9 * DAY, &slow).contains("`loadline scrub resume`"));
        assert_eq!(says(&paused, 7 * DAY, &slow[1..]), "", "nothing is due");
        let never = says(&schedule(), 14 * DAY, &slow[1..]);
        assert!(never.contains("none has been scrubbed"), "{never}");
    }
}
