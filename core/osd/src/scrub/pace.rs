//! How fast an OSD goes through its groups by the clock, at most: a round is to be over in its time, and one that is over sooner helps nobody.
//!
//! Of the interval in which each group is to be scrubbed, every group that an OSD leads has an equal share. The next one of the same kind begins no sooner
//! than when the share of the one before is over: deep ones, whose shares are hours or days, keep no shallow one waiting. And in its share a group is compared evenly: what is ahead of that rests, and so does what has come to hours in which none may begin. One that rests has no
//! slot and keeps nobody from a trim; how far it has come stands in its record, so a restart goes on resting. What is behind goes as fast as its
//! class may, and so does a group whose scrub is late, or of which errors are known. What an operator asks for never rests.
//!
//! Presets of other systems have no pace: they scrub a group as fast as they can, and leave it alone for the rest of the week.

use super::kind::ScrubKind;
use super::record::{ScrubProgress, ScrubRecord};
use super::schedule::{ScrubSchedule, ScrubTurns};
use crate::ids::PgId;
use crate::osd::Osd;
use loadline_base::{Span, Time, WallTime};

/// Shallow scrubs have one part of this many of their interval and deep ones one of theirs. The rest is left for what holds them up: each other, where
/// there is one slot, recoveries, restarts, clients that want everything.
const PARTS: u64 = 3;
/// What is ahead by less goes on: slots are asked for once for that much.
const AHEAD_LEAST: Span = Span::from_secs(1);

impl ScrubSchedule {
    /// How long the scrub of one of so many groups may last, so that all have theirs in time.
    pub fn share(&self, kind: ScrubKind, groups: usize) -> Span {
        let interval = match kind {
            ScrubKind::Shallow => self.least,
            ScrubKind::Deep => self.deep,
        };
        interval * self.permitted_hours() / (7 * 24) / (PARTS * groups.max(1) as u64)
    }
}

impl ScrubRecord {
    /// When the last scrub of this kind of the group began, as far as the record tells: of a deep one before the last, when it ended, and of a
    /// shallow one before it nothing.
    fn began(&self, kind: ScrubKind) -> Option<WallTime> {
        if let Some(progress) = self.under_way.as_ref().filter(|it| it.request.kind == kind) {
            return Some(progress.began);
        }
        let is_last_deep = self.last_deep == self.last;
        match kind {
            ScrubKind::Shallow => self.last.filter(|_| !is_last_deep),
            ScrubKind::Deep => self.last_deep,
        }
        .map(|ended| match (kind, is_last_deep) {
            (ScrubKind::Deep, false) => ended,
            _ => ended.before(self.duration),
        })
    }
}

impl ScrubProgress {
    /// When this part of a group with so many states goes on that has this share.
    fn goes_on(&self, states: u64, share: Span) -> WallTime {
        let done = self.objects.min(states);
        let part = u128::from(share.nanos()) * u128::from(done) / u128::from(states.max(1));
        self.began.after(Span::from_nanos(part as u64))
    }
}

impl Osd {
    /// How long the scrub of a group that this OSD leads is to last if the clock begins it; nothing where it is to be over as soon as it can.
    pub(super) fn scrub_share(&self, kind: ScrubKind) -> Span {
        if !self.options.scrub.is_paced {
            return Span::ZERO;
        }
        let led = self.groups.iter().filter(|(_, here)| here.primary.is_some());
        self.options.scrub.schedule.share(kind, led.count())
    }

    /// Objects and former states of objects that the scrub of a group compares.
    pub fn states_to_scrub(&self, pg: PgId) -> u64 {
        let former = self.pg(pg).map_or(0, |here| here.kept.mapper().states());
        self.store.count(pg) + former
    }

    /// Until when the scrub of a group rests that the clock has begun; `None` if it has none, or that goes on.
    pub fn scrub_rests_until(&self, now: Time, pg: PgId) -> Option<WallTime> {
        let record = self.scrub_record(pg)?;
        let progress = record.under_way.as_ref().filter(|it| !it.request.is_requested)?;
        let (today, schedule) = (self.options.clock.at(now), &self.options.scrub.schedule);
        // What is known to be wrong is looked at again without a pause.
        let has_errors = record.findings.counts.all() + progress.findings.counts.all() > 0;
        let hurries = has_errors || schedule.is_late(record, today);
        if !self.options.scrub.is_paced || hurries {
            return None;
        }
        let share = self.scrub_share(progress.request.kind);
        let until = progress.goes_on(self.states_to_scrub(pg), share);
        // Whoever has set the clock back since then does not keep it waiting for longer than its share.
        let is_ahead = until > today.after(AHEAD_LEAST) && until <= today.after(share);
        match schedule.is_permitted(today) {
            true => is_ahead.then_some(until),
            false => Some(until.max(schedule.permitted_from(today))),
        }
    }

    /// Of which kinds the clock may begin the next scrub here.
    pub(super) fn scrub_turns(&self, today: WallTime) -> ScrubTurns {
        let has_turn = |kind| {
            let share = self.scrub_share(kind);
            let led = self.scrub_records().filter(|(pg, _)| self.primary(*pg).is_some());
            let mut begun = led.filter_map(|(_, record)| record.began(kind));
            // One of the future was told by a clock that was set back since.
            !begun.any(|began| began <= today && began.after(share) > today)
        };
        ScrubTurns { shallow: has_turn(ScrubKind::Shallow), deep: has_turn(ScrubKind::Deep) }
    }
}
