//! What is counted of the services while a run lasts: what each has left, when it ended, and how many slots scrubs have.

use super::study::ServicesStudy;
use crate::figure::Figures;
use crate::series::Series;
use loadline_base::{Span, Time};
use loadline_testbed::{PoolScrub, ServicesLeft};

/// One service.
#[derive(Clone, Debug)]
pub(super) struct ServiceCourse {
    /// What it is called in the keys of its figures.
    pub(super) name: &'static str,
    began: Time,
    /// What it had to do.
    all: u64,
    left: u64,
    ended: Option<Time>,
    /// How much later that was seen.
    told_after: Span,
    /// What was left at the end of each whole second.
    seconds: Vec<u64>,
}

impl ServiceCourse {
    pub(super) fn begin(name: &'static str, began: Time, all: u64) -> ServiceCourse {
        let (ended, told_after, seconds) = (None, Span::ZERO, Vec::new());
        ServiceCourse { name, began, all, left: all, ended, told_after, seconds }
    }

    /// So much is left now, and it is over since `ended` if it is.
    pub(super) fn look(&mut self, now: Time, left: u64, ended: Option<Time>) {
        self.left = left;
        if let Some(ended) = ended.filter(|_| self.ended.is_none()) {
            self.ended = Some(ended.max(self.began));
            self.told_after = now.since(ended);
        }
    }

    /// When it was over.
    pub(super) fn ended(&self) -> Option<Time> {
        self.ended
    }

    pub(super) fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    pub(super) fn done(&self) -> f64 {
        1.0 - self.left as f64 / self.all.max(1) as f64
    }

    fn put(&self, counted: &mut Figures, now: Time) {
        let lasted = self.ended.unwrap_or(now).since(self.began).as_secs_f64();
        let key = |figure: &str| format!("{}/{figure}", self.name);
        let done = self.all.saturating_sub(self.left) as f64;
        counted.put(&key("objects_per_s"), if lasted > 0.0 { done / lasted } else { 0.0 });
        counted.put(&key("objects"), self.all as f64);
        counted.put(&key("objects_left"), self.left as f64);
        if self.is_over() {
            counted.put(&key("seconds"), lasted);
            if self.told_after > Span::ZERO {
                counted.put(&key("told_after_s"), self.told_after.as_secs_f64());
            }
        }
    }
}

/// Slots of scrubs, by which they are bound.
#[derive(Clone, Debug, Default)]
struct SlotsCourse {
    /// The most groups that slots allow at a time. A group takes a slot for each copy: fewer than that are of use to nobody.
    most: u64,
    /// Placement groups with all their slots, times seconds.
    group_seconds: f64,
    /// Those that slots allowed beyond them, times seconds.
    idle: IdleSlots,
    /// Groups at the first look, and in how many rounds their scrubs are over at the soonest if all take equally long; where that is known.
    groups: u64,
    rounds: Option<u64>,
    /// Of each whole second's end.
    seconds: Vec<u64>,
    looked: PoolScrub,
}

/// Groups that slots allow beyond those that are scrubbed, by why they are not.
#[derive(Clone, Copy, Debug, Default)]
struct IdleSlots {
    /// One waits for which every copy has a slot.
    waiting: f64,
    /// Each that waits lacks one on some copy.
    unfit: f64,
    /// None waits.
    ending: f64,
}

impl IdleSlots {
    /// Of this moment.
    fn of(most: u64, scrub: &PoolScrub) -> Option<IdleSlots> {
        let free = most.saturating_sub(scrub.groups_running);
        let of_use = free.min(scrub.groups_left.saturating_sub(scrub.groups_running));
        let waiting = of_use.min(scrub.slots?.groups_fitting);
        Some(IdleSlots {
            waiting: waiting as f64,
            unfit: (of_use - waiting) as f64,
            ending: (free - of_use) as f64,
        })
    }

    fn add(&mut self, other: IdleSlots, seconds: f64) {
        self.waiting += other.waiting * seconds;
        self.unfit += other.unfit * seconds;
        self.ending += other.ending * seconds;
    }
}

impl SlotsCourse {
    /// So much is left now, and for so long it was as at the last look.
    fn look(&mut self, seconds: f64, scrub: PoolScrub) {
        self.group_seconds += self.looked.groups_running as f64 * seconds;
        if let Some(idle) = IdleSlots::of(self.most, &self.looked) {
            self.idle.add(idle, seconds);
        }
        if let Some(slots) = scrub.slots.filter(|_| self.rounds.is_none()) {
            self.rounds = Some(slots.rounds.max(scrub.groups_left.div_ceil(self.most.max(1))));
            self.groups = scrub.groups_left;
        }
        self.looked = scrub;
    }

    /// The shares of what slots allow in so many seconds.
    fn put(&self, counted: &mut Figures, seconds: f64) {
        let most = self.most.max(1) as f64;
        counted.put("scrub/slots_used", self.group_seconds / seconds / most);
        let Some(rounds) = self.rounds else { return };
        let IdleSlots { waiting, unfit, ending } = self.idle;
        let idle = [("waiting", waiting), ("unfit", unfit), ("ending", ending)];
        for (why, group_seconds) in idle {
            counted.put(&format!("scrub/slots_{why}"), group_seconds / seconds / most);
        }
        let reachable = self.groups as f64 / (most * rounds.max(1) as f64);
        counted.put("scrub/slots_reachable", reachable);
    }
}

/// All of a run's services.
#[derive(Clone, Debug, Default)]
pub(super) struct ServicesCourse {
    pub(super) of: Vec<ServiceCourse>,
    slots: SlotsCourse,
    looked: Option<Time>,
    seconds: usize,
}

impl ServicesCourse {
    /// Slots allow so many groups at a time.
    pub(super) fn slots_are(&mut self, most: u64) {
        self.slots.most = most;
    }

    pub(super) fn is_over(&self) -> bool {
        self.of.iter().all(ServiceCourse::is_over)
    }

    pub(super) fn service(&mut self, name: &str) -> Option<&mut ServiceCourse> {
        self.of.iter_mut().find(|service| service.name == name)
    }

    /// Scrubs are so far. The time since the last look counts as it was then.
    pub(super) fn look_at_scrub(&mut self, now: Time, told: &ServicesLeft) {
        let (scrub, closely) = (told.scrub, told.closely);
        let since = self.looked.map_or(Span::ZERO, |looked| now.since(looked));
        self.slots.look(since.as_secs_f64(), scrub);
        if let Some(all) = closely.groups_scrubbed {
            self.slots.group_seconds = all.as_secs_f64();
        }
        self.looked = Some(now);
        if let Some(service) = self.service("scrub") {
            let ended = closely.scrub_ended.unwrap_or(now);
            service.look(now, scrub.objects_left, (scrub.groups_left == 0).then_some(ended));
        }
    }

    /// So many whole seconds of the run are over.
    pub(super) fn seconds_are(&mut self, seconds: usize) {
        let more = seconds.saturating_sub(self.seconds);
        self.seconds = seconds;
        for service in &mut self.of {
            let left = service.left;
            let before = service.seconds.len();
            // A service that began later has done nothing in the seconds before.
            service.seconds.resize(seconds.saturating_sub(more), service.all);
            service.seconds.resize(before.max(seconds), left);
        }
        self.slots.seconds.resize(seconds, self.slots.looked.groups_running);
    }

    pub(super) fn put(&self, counted: &mut Figures, now: Time, study: &ServicesStudy) {
        self.of.iter().for_each(|service| service.put(counted, now));
        let Some(scrub) = self.of.iter().find(|service| service.name == "scrub") else { return };
        let lasted = scrub.ended.unwrap_or(now).since(scrub.began).as_secs_f64();
        if lasted <= 0.0 || self.slots.group_seconds <= 0.0 {
            return;
        }
        self.slots.put(counted, lasted);
        if let Some(pool) = study.steps.scrub {
            let mib = scrub.all.saturating_sub(scrub.left) as f64 * pool.object_size.as_mib_f64();
            counted.put("scrub/mib_per_s_of_pg", mib / self.slots.group_seconds);
        }
    }

    pub(super) fn put_series(&self, series: &mut Series) {
        for service in &self.of {
            let left = service.seconds.iter().map(|left| *left as f64);
            series.put(&format!("{}_left", service.name), left);
        }
        if self.of.iter().any(|service| service.name == "scrub") {
            series.put("scrubbed_pgs", self.slots.seconds.iter().map(|groups| *groups as f64));
        }
        series.fill_up(self.seconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_testbed::ScrubSlotsLeft;

    /// Six groups at a time, for ten that take two rounds at least.
    #[test]
    fn what_is_not_used_has_a_reason() {
        let scrub = |groups_left, groups_running, fitting: Option<u64>| PoolScrub {
            groups_left,
            groups_running,
            slots: fitting.map(|groups_fitting| ScrubSlotsLeft { groups_fitting, rounds: 2 }),
            ..PoolScrub::default()
        };
        let mut course = SlotsCourse { most: 6, ..SlotsCourse::default() };
        course.look(0.0, scrub(10, 0, Some(6)));
        course.look(1.0, scrub(10, 4, Some(1)));
        course.look(2.0, scrub(3, 3, Some(0)));
        course.look(1.0, scrub(0, 0, Some(0)));
        let mut counted = Figures::default();
        course.put(&mut counted, 4.0);
        let shares = ["used", "waiting", "unfit", "ending", "reachable"];
        let shares = shares.map(|share| counted.get(&format!("scrub/slots_{share}")));
        let of_24 = [11.0, 8.0, 2.0, 3.0].map(|part| Some(part / 24.0));
        assert_eq!((&shares[..4], shares[4]), (&of_24[..], Some(10.0 / 12.0)));
        // A cluster that does not tell who has its slots tells what is used.
        let mut course = SlotsCourse { most: 6, ..SlotsCourse::default() };
        course.look(0.0, scrub(3, 3, None));
        course.look(2.0, scrub(0, 0, None));
        let mut counted = Figures::default();
        course.put(&mut counted, 2.0);
        assert_eq!(counted.get("scrub/slots_used"), Some(0.5));
        assert_eq!(counted.get("scrub/slots_waiting"), None);
    }
}
