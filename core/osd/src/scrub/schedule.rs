//! When a placement group is scrubbed without being asked: targets, deadlines, and what forbids it (scrub.md 2.2, 2.3).
//!
//! All that is drawn is drawn from the group and the stamp of its last scrub, so nothing has to be kept, and a restart draws the same.

use super::kind::ScrubKind;
use super::load::LoadSeen;
use super::record::ScrubRecord;
use crate::ids::PgId;
use loadline_base::{Span, WallTime, mix64};

const HOUR: u64 = 3_600;
const DAY: u64 = 86_400;
/// 1970-01-01 was a Thursday; the field's week begins with Sunday as 0.
const FIRST_WEEK_DAY: u64 = 4;

/// A part of the day or of the week, from `begin` on and before `end`, around the end of it if `end` is the earlier; all of it if both are
/// the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubWindow {
    /// The first hour, or day.
    pub begin: u32,
    /// The first one after it.
    pub end: u32,
}

impl ScrubWindow {
    /// How many of so many hours, or days, are in it.
    fn length(self, all: u32) -> u32 {
        match (self.end + all - self.begin) % all {
            0 => all,
            some => some,
        }
    }

    fn contains(self, at: u64) -> bool {
        let (begin, end) = (u64::from(self.begin), u64::from(self.end));
        match begin.cmp(&end) {
            std::cmp::Ordering::Equal => true,
            std::cmp::Ordering::Less => (begin..end).contains(&at),
            std::cmp::Ordering::Greater => at >= begin || at < end,
        }
    }
}

/// Why the clock does not begin the scrub of a group whose time has come. One past its deadline is begun all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrubHeld {
    /// It is none of the hours, or days, in which scrubs begin.
    Hours,
    /// The machine is too busy.
    Load {
        /// Processes that ran, or could, for each processor in the last minute; in thousandths.
        minute_milli: u32,
        /// Below so many one would begin (`osd_scrub_load_threshold`).
        threshold_milli: u32,
    },
}

impl std::fmt::Display for ScrubHeld {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let per_processor = |milli: u32| f64::from(milli) / 1_000.0;
        match *self {
            ScrubHeld::Hours => f.write_str(
                "outside the hours of osd_scrub_begin_hour to osd_scrub_end_hour and the week days",
            ),
            ScrubHeld::Load { minute_milli, threshold_milli } => write!(
                f,
                "load {:.2} per processor, osd_scrub_load_threshold {:.2}",
                per_processor(minute_milli),
                per_processor(threshold_milli)
            ),
        }
    }
}

/// When scrubs are begun by the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScrubSchedule {
    /// A group is scrubbed no sooner after its last scrub (`osd_scrub_min_interval`).
    pub least: Span,
    /// And no later, whatever the hour (`osd_scrub_max_interval`); zero for no such bound.
    pub most: Span,
    /// A scrub is deep so long after the last deep one (`osd_deep_scrub_interval`).
    pub deep: Span,
    /// Up to so much of the least interval is added, in parts per million (`osd_scrub_interval_randomize_ratio`).
    pub spread_ppm: u32,
    /// So many of a million scrubs are deep before they need be (`osd_deep_scrub_randomize_ratio`).
    pub early_deep_ppm: u32,
    /// So many of a million looks are left out, so that OSDs do not all begin at once (`osd_scrub_backoff_ratio`).
    pub backoff_ppm: u32,
    /// Hours in which scrubs may begin, UTC (`osd_scrub_begin_hour`, `osd_scrub_end_hour`).
    pub hours: ScrubWindow,
    /// The same of days of the week, Sunday being 0 (`osd_scrub_begin_week_day`, `osd_scrub_end_week_day`).
    pub week_days: ScrubWindow,
    /// None is begun while the machine has so many processes to run for each processor, in thousandths, unless it has fewer than usual
    /// and ever fewer (`osd_scrub_load_threshold`).
    pub load_threshold_milli: u32,
    /// Shallow ones are not begun (`noscrub`).
    pub no_shallow: bool,
    /// Deep ones are not begun (`nodeep-scrub`).
    pub no_deep: bool,
    /// Even while something is recovered (`osd_scrub_during_recovery`).
    pub during_recovery: bool,
}

impl ScrubSchedule {
    /// Whether the clock begins none.
    pub fn is_paused(&self) -> bool {
        self.no_shallow && self.no_deep
    }

    /// When a group is due, as far as the clock goes.
    pub fn target(&self, pg: PgId, last: WallTime) -> WallTime {
        let drawn = draw(pg, last, 1) % 1_000_000;
        let spread =
            self.least.nanos() / 1_000_000 * u64::from(self.spread_ppm) / 1_000_000 * drawn;
        last.after(self.least).after(Span::from_nanos(spread))
    }

    /// From when on a group is due at any hour.
    pub fn deadline(&self, last: WallTime) -> Option<WallTime> {
        (self.most > Span::ZERO).then(|| last.after(self.most))
    }

    /// Whether scrubs may begin at this time of the week.
    pub fn is_permitted(&self, now: WallTime) -> bool {
        let seconds = now.unix_nanos() / 1_000_000_000;
        let (hour, day) = (seconds % DAY / HOUR, (seconds / DAY + FIRST_WEEK_DAY) % 7);
        self.hours.contains(hour) && self.week_days.contains(day)
    }

    /// Whether they may at any hour of the week.
    pub fn is_permitted_always(&self) -> bool {
        self.permitted_hours() == 7 * 24
    }

    /// In how many hours of a week scrubs may begin.
    pub(super) fn permitted_hours(&self) -> u64 {
        u64::from(self.hours.length(24) * self.week_days.length(7))
    }

    /// When scrubs may begin again: the first full hour from now on in which they may, or now.
    pub(super) fn permitted_from(&self, now: WallTime) -> WallTime {
        let hour = Span::from_secs(HOUR);
        let begun = now.unix_nanos() / hour.nanos() * hour.nanos();
        let hours = (1..=7 * 24).map(|more| WallTime::from_unix_nanos(begun).after(hour * more));
        let mut candidates = std::iter::once(now).chain(hours);
        candidates.find(|at| self.is_permitted(*at)).unwrap_or(now)
    }

    /// Whether a group has waited for longer than it should at any hour: for any scrub as long as the longest interval, for a deep one
    /// half as long again as its own.
    pub fn is_late(&self, record: &ScrubRecord, now: WallTime) -> bool {
        let last = record.last_by(now);
        let is_late = last.and_then(|last| self.deadline(last)).is_some_and(|at| at <= now);
        let last_deep = record.last_deep_by(now);
        let is_deep_late = self.deep > Span::ZERO
            && !self.no_deep
            && last_deep.is_some_and(|last| last.after(self.deep + self.deep / 2) <= now);
        is_late || is_deep_late
    }

    /// How a group is to be scrubbed now, if it is. One that waits for nothing but the turn of its kind waits, but for a deep one that need not be yet: it is
    /// a shallow one then.
    pub(super) fn due(
        &self,
        pg: PgId,
        record: &ScrubRecord,
        (now, load): (WallTime, &LoadSeen),
        turns: ScrubTurns,
    ) -> Option<ScrubKind> {
        let comes = self.comes(pg, record, now)?;
        if !comes.is_late && self.forbids(now, load).is_some() {
            return None;
        }
        let instead = comes.is_early.then_some(ScrubKind::Shallow);
        std::iter::once(comes.kind).chain(instead).find(|kind| turns.has(*kind))
    }

    /// Why the scrub of a group is not begun whose time has come.
    pub(super) fn held_back(
        &self,
        pg: PgId,
        record: &ScrubRecord,
        (now, load): (WallTime, &LoadSeen),
    ) -> Option<ScrubHeld> {
        let waits = self.comes(pg, record, now).is_some_and(|comes| !comes.is_late);
        self.forbids(now, load).filter(|_| waits)
    }

    /// Which scrub of a group it is time for, whether or not one may begin now.
    fn comes(&self, pg: PgId, record: &ScrubRecord, now: WallTime) -> Option<ComingScrub> {
        let last = record.last_by(now)?;
        let is_late = self.deadline(last).is_some_and(|deadline| deadline <= now);
        let is_due = self.target(pg, last) <= now || is_late;
        let kind = self.kind(pg, record, now).filter(|_| is_due)?;
        let is_early = kind == ScrubKind::Deep && !self.must_be_deep(record, now);
        Some(ComingScrub { kind, is_late, is_early })
    }

    /// What stands against every scrub that is not past its deadline.
    fn forbids(&self, now: WallTime, load: &LoadSeen) -> Option<ScrubHeld> {
        let threshold_milli = self.load_threshold_milli;
        if !self.is_permitted(now) {
            return Some(ScrubHeld::Hours);
        }
        let minute_milli = load.minute_milli();
        (!load.permits(threshold_milli))
            .then_some(ScrubHeld::Load { minute_milli, threshold_milli })
    }

    /// Which kind a scrub of the group is, if one is allowed.
    fn kind(&self, pg: PgId, record: &ScrubRecord, now: WallTime) -> Option<ScrubKind> {
        if record.findings.counts.deep > 0 && self.no_deep {
            return None;
        }
        let draws_deep = || {
            let last = record.last_by(now).unwrap_or_default();
            draw(pg, last, 2) % 1_000_000 < u64::from(self.early_deep_ppm)
        };
        let is_deep_due = self.must_be_deep(record, now) || !self.no_shallow && draws_deep();
        match (is_deep_due && !self.no_deep, self.no_shallow) {
            (true, _) => Some(ScrubKind::Deep),
            (false, false) => Some(ScrubKind::Shallow),
            (false, true) => None,
        }
    }

    /// Whether a scrub of the group is to be deep by more than chance: for its time, or for what a deep one has found.
    fn must_be_deep(&self, record: &ScrubRecord, now: WallTime) -> bool {
        record.last_deep_by(now).is_some_and(|last| last.after(self.deep) <= now)
            || record.findings.counts.deep > 0
    }

    /// Whether an OSD leaves its look at this second out.
    pub(super) fn leaves_out(&self, osd: u32, second: u64) -> bool {
        mix64(u64::from(osd) << 40 ^ mix64(second)) % 1_000_000 < u64::from(self.backoff_ppm)
    }

    /// Whether nothing is ever begun.
    pub(super) fn is_off(&self) -> bool {
        self.no_shallow && self.no_deep
    }
}

/// Of which kinds the share of the scrub before is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScrubTurns {
    pub(super) shallow: bool,
    pub(super) deep: bool,
}

impl ScrubTurns {
    pub(super) const ALL: ScrubTurns = ScrubTurns { shallow: true, deep: true };

    pub(super) fn has(self, kind: ScrubKind) -> bool {
        match kind {
            ScrubKind::Shallow => self.shallow,
            ScrubKind::Deep => self.deep,
        }
    }
}

/// A scrub for which it is time.
struct ComingScrub {
    kind: ScrubKind,
    /// It is past its deadline.
    is_late: bool,
    /// It is deep by chance, before it need be.
    is_early: bool,
}

fn draw(pg: PgId, last: WallTime, what: u64) -> u64 {
    mix64(u64::from(pg.get()) ^ mix64(last.unix_nanos() ^ mix64(what)))
}

#[cfg(test)]
mod tests {
    use super::super::load::MachineLoad;
    use super::*;
    use loadline_base::Time;

    const PG: PgId = PgId::new(7);

    fn at(seconds: u64) -> WallTime {
        WallTime::from_unix_nanos(seconds * 1_000_000_000)
    }

    fn days(days: u64) -> Span {
        Span::from_secs(days * DAY)
    }

    fn schedule() -> ScrubSchedule {
        ScrubSchedule {
            least: days(1),
            most: days(7),
            deep: days(7),
            spread_ppm: 500_000,
            early_deep_ppm: 0,
            backoff_ppm: 660_000,
            hours: ScrubWindow::default(),
            week_days: ScrubWindow::default(),
            load_threshold_milli: 500,
            no_shallow: false,
            no_deep: false,
            during_recovery: false,
        }
    }

    /// What is due on an idle machine.
    fn due(schedule: &ScrubSchedule, record: &ScrubRecord, now: u64) -> Option<ScrubKind> {
        schedule.due(PG, record, (at(now), &LoadSeen::default()), ScrubTurns::ALL)
    }

    fn record(last: u64, deep: u64) -> ScrubRecord {
        ScrubRecord { last: Some(at(last)), last_deep: Some(at(deep)), ..ScrubRecord::default() }
    }

    #[test]
    fn targets_are_spread_over_half_of_the_least_interval() {
        let target = |pg: u32| schedule().target(PgId::new(pg), at(0)).since(at(0));
        let targets: Vec<Span> = (0..1_000).map(target).collect();
        assert!(targets.iter().all(|it| *it >= days(1) && *it < Span::from_secs(DAY * 3 / 2)));
        let early = targets.iter().filter(|it| **it < Span::from_secs(DAY * 5 / 4)).count();
        assert!((400..600).contains(&early), "{early}");
        let looks = (0..10_000).filter(|second| !schedule().leaves_out(3, *second)).count();
        assert!((3_200..3_600).contains(&looks), "a third of them: {looks}");
    }

    #[test]
    fn hours_pass_midnight_and_days_the_end_of_the_week() {
        let hours = |begin, end| ScrubSchedule { hours: ScrubWindow { begin, end }, ..schedule() };
        let night = hours(22, 6);
        let hour = |schedule: &ScrubSchedule, hour| schedule.is_permitted(at(hour * HOUR));
        assert_eq!(
            [21, 22, 23, 24, 29, 30].map(|it| hour(&night, it)),
            [false, true, true, true, true, false]
        );
        assert!((0..24).all(|it| hour(&hours(0, 0), it)));
        assert_eq!([7, 8, 16, 17].map(|it| hour(&hours(8, 17), it)), [false, true, true, false]);
        let weekend = ScrubSchedule { week_days: ScrubWindow { begin: 6, end: 1 }, ..schedule() };
        // Thursday, Friday, Saturday, Sunday, Monday.
        let days = [0, 1, 2, 3, 4].map(|day| weekend.is_permitted(at(day * DAY)));
        assert_eq!(days, [false, false, true, true, false]);
    }

    #[test]
    fn shares_are_parts_of_the_hours_that_scrubs_may_have() {
        let share = |schedule: &ScrubSchedule| {
            [ScrubKind::Shallow, ScrubKind::Deep].map(|kind| schedule.share(kind, 8))
        };
        let all = schedule();
        assert_eq!(share(&all), [Span::from_secs(3_600), Span::from_secs(7 * 3_600)]);
        // Eight hours of five days, from Monday on.
        let hours = ScrubWindow { begin: 20, end: 4 };
        let week_days = ScrubWindow { begin: 1, end: 6 };
        let nights = ScrubSchedule { hours, week_days, ..all };
        assert_eq!(nights.permitted_hours(), 40);
        assert_eq!(nights.share(ScrubKind::Deep, 8), Span::from_secs(6_000));
        // 1970-01-01 was a Thursday.
        let from = |now| nights.permitted_from(at(now)).unix_nanos() / 1_000_000_000;
        assert_eq!([from(4 * HOUR + 5), from(21 * HOUR + 5)], [20 * HOUR, 21 * HOUR + 5]);
        assert_eq!(from(2 * DAY + HOUR), 4 * DAY, "not on a Saturday");
    }

    #[test]
    fn a_group_is_late_by_the_interval_of_either_kind() {
        let late = |last, deep, now| schedule().is_late(&record(last, deep), at(now));
        assert!(!late(3 * DAY, 0, 10 * DAY - 1) && late(3 * DAY, 0, 10 * DAY));
        assert!(!late(10 * DAY, 0, 21 * DAY / 2 - 1) && late(10 * DAY, 0, 21 * DAY / 2));
    }

    /// A node's clock was years ahead while its groups were scrubbed. (None of them was scrubbed by the clock again until then.)
    #[test]
    fn what_a_clock_that_was_ahead_has_noted_does_not_count() {
        let (now, ahead) = (30 * DAY, 3_650 * DAY);
        assert_eq!(due(&schedule(), &record(ahead, ahead), now), Some(ScrubKind::Deep));
        assert!(schedule().is_late(&record(ahead, ahead), at(now)));
        let since = |since| ScrubRecord { since: Some(at(since)), ..record(now, now) };
        assert_eq!(
            due(&schedule(), &since(ahead), now + 1),
            None,
            "it is scrubbed once, and not on and on"
        );
        let young = ScrubRecord { since: Some(at(now)), ..record(ahead, ahead) };
        assert_eq!(due(&schedule(), &young, now + 1), None, "it is a new group");
    }

    #[test]
    fn a_deadline_holds_at_any_hour() {
        let never = ScrubWindow { begin: 3, end: 4 };
        let schedule = ScrubSchedule { hours: never, ..schedule() };
        let due_at = |now| due(&schedule, &record(0, 0), now);
        assert_eq!(due_at(6 * DAY + 5 * HOUR), None);
        assert_eq!(due_at(6 * DAY + 3 * HOUR), Some(ScrubKind::Shallow));
        assert_eq!(due_at(7 * DAY + 5 * HOUR), Some(ScrubKind::Deep));
        let open = ScrubSchedule { most: Span::ZERO, ..schedule };
        assert_eq!(due(&open, &record(0, 0), 90 * DAY + 5 * HOUR), None);
    }

    #[test]
    fn a_busy_machine_holds_back_what_is_not_past_its_deadline() {
        const ALL: ScrubTurns = ScrubTurns::ALL;
        let mut busy = LoadSeen::default();
        let load = MachineLoad { minute_milli: 830, quarter_hour_milli: 800 };
        busy.told(Time::ZERO, load);
        let (schedule, record) = (schedule(), record(0, 0));
        let why = |now| schedule.held_back(PG, &record, (at(now), &busy));
        let is_due = |now| schedule.due(PG, &record, (at(now), &busy), ALL).is_some();
        assert_eq!((why(DAY / 2), is_due(DAY / 2)), (None, false), "its time has not come");
        let held = ScrubHeld::Load { minute_milli: 830, threshold_milli: 500 };
        assert_eq!((why(2 * DAY), is_due(2 * DAY)), (Some(held), false));
        assert_eq!((why(7 * DAY), is_due(7 * DAY)), (None, true));
        assert_eq!(held.to_string(), "load 0.83 per processor, osd_scrub_load_threshold 0.50");
        let patient = ScrubSchedule { load_threshold_milli: 831, ..schedule };
        assert!(patient.due(PG, &record, (at(2 * DAY), &busy), ALL).is_some());
        let hours = ScrubWindow { begin: 3, end: 4 };
        let night = ScrubSchedule { hours, ..schedule };
        assert_eq!(night.held_back(PG, &record, (at(2 * DAY), &busy)), Some(ScrubHeld::Hours));
    }

    #[test]
    fn flags_forbid_kinds() {
        let kind = |no_shallow, no_deep, deep_due: bool, errors| {
            let schedule = ScrubSchedule { no_shallow, no_deep, ..schedule() };
            let mut record = record(20 * DAY, if deep_due { 0 } else { 19 * DAY });
            record.findings.counts.deep = errors;
            due(&schedule, &record, 22 * DAY)
        };
        use ScrubKind::{Deep, Shallow};
        assert_eq!(kind(false, false, true, 0), Some(Deep));
        assert_eq!(kind(false, false, false, 0), Some(Shallow));
        assert_eq!(kind(false, true, true, 0), Some(Shallow), "deep is due and forbidden");
        assert_eq!(kind(true, false, true, 0), Some(Deep));
        assert_eq!(kind(true, false, false, 0), None);
        assert_eq!(kind(true, true, true, 0), None);
        assert_eq!(kind(false, false, false, 1), Some(Deep), "what a deep one found, it looks at");
        assert_eq!(kind(false, true, false, 1), None);
        let all_deep = ScrubSchedule { early_deep_ppm: 1_000_000, ..schedule() };
        assert_eq!(due(&all_deep, &record(20 * DAY, 19 * DAY), 22 * DAY), Some(Deep));
    }

    /// While a deep scrub has its share, others of its kind wait, but for those that are deep by chance: nothing is lost if they are not.
    #[test]
    fn what_has_no_turn_waits_unless_it_need_not_be_deep() {
        let (shallow, deep) = (true, false);
        let turns = ScrubTurns { shallow, deep };
        let due = |schedule: ScrubSchedule, last_deep| {
            let record = record(20 * DAY, last_deep);
            schedule.due(PG, &record, (at(22 * DAY), &LoadSeen::default()), turns)
        };
        let all_deep = ScrubSchedule { early_deep_ppm: 1_000_000, ..schedule() };
        assert_eq!(due(schedule(), 20 * DAY), Some(ScrubKind::Shallow));
        assert_eq!(due(all_deep, 20 * DAY), Some(ScrubKind::Shallow), "deep by chance");
        assert_eq!([due(schedule(), 0), due(all_deep, 0)], [None; 2], "it must be deep");
    }
}
