//! The forecast of one recovery, and how long it still takes.
//!
//! Where groups wait for slots, who has one hands it on: what is left takes as long as all of it at the pace of all. But a group takes time beside
//! its copies, for it asks for slots and its members agree on it twice; so groups have a pace as copies have, and the small ones, which are often the last,
//! are not told as nothing.
//!
//! Where nobody waits, groups move side by side, and each queue keeps its own pace while others run out of work: the last one decides, and all that is left over the
//! pace of all is wrong by half and more. A copy goes through the queue of who sends it and through that of who receives it, and the
//! one of both that has more to do holds it up. Those queues tell the pace; the others wait for them.

use crate::pace::FadingPace;
use loadline_base::Time;
use std::collections::BTreeMap;

/// A group of copies that are on their way, as one look finds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupLeft<Q> {
    /// The queue of who sends them.
    pub from: Q,
    /// That of who receives them, if it has one that counts.
    pub to: Option<Q>,
    /// Copies that are left.
    pub left: f64,
    /// Whether it waits for a slot.
    pub waits: bool,
}

impl<Q: Copy> GroupLeft<Q> {
    fn queues(&self) -> impl Iterator<Item = Q> {
        [Some(self.from), self.to].into_iter().flatten()
    }
}

/// How long it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeLeft {
    /// Copies per second, of all queues.
    pub rate_per_s: f64,
    /// It takes so long at the least: all that is left at the fastest pace that what was seen allows, if every queue that runs out of work
    /// left its pace to others.
    pub least_s: f64,
    /// Seconds as it goes; `None` while too few copies have moved to tell.
    pub about_s: Option<f64>,
}

/// Fewer copies tell no pace.
const COPIES_MIN: f64 = 4.0;

/// A queue's own pace counts as much as that of its like once it has moved so many copies. In two recoveries of a Ceph whose queues had limits of
/// their own 75 % of looks of 20 s were right by their common pace, 69 % with 24 here and 56 % with 8: what a queue moves comes in lumps.
const COPIES_KNOWN: f64 = 32.0;

/// How much of the time that is left is told by the groups that are left, where they wait for slots; the rest by the copies. A group cost as much as three to five copies of
/// 4 MiB in four recoveries of a Ceph, and had eight: by copies alone the last third was told too short by a third, by groups alone the first.
const TOLD_BY_GROUPS: f64 = 0.3;

/// Of two groups that have ended their pace tells half of that.
const GROUPS_KNOWN: f64 = 2.0;

/// What has been seen of a recovery that is going on; empty before it and after.
#[derive(Clone, Debug)]
pub struct Forecast<G, Q> {
    last: Option<LastLook<G, Q>>,
    all: FadingPace,
    /// Groups that have ended.
    ended: FadingPace,
    /// From the first copy on, and for as long as it has a group that does not wait.
    queues: BTreeMap<Q, FadingPace>,
    /// Copies that were sent, if that is known to be more than have arrived.
    sent: f64,
}

#[derive(Clone, Debug)]
struct LastLook<G, Q> {
    /// When the first one was.
    began: Time,
    at: Time,
    left: BTreeMap<G, GroupLeft<Q>>,
}

impl<G, Q> Default for Forecast<G, Q> {
    fn default() -> Forecast<G, Q> {
        let (all, ended) = (FadingPace::default(), FadingPace::default());
        Forecast { last: None, all, ended, queues: BTreeMap::new(), sent: 0.0 }
    }
}

impl<G: Ord, Q: Ord + Copy> Forecast<G, Q> {
    /// So much is left now.
    pub fn note(&mut self, at: Time, left: BTreeMap<G, GroupLeft<Q>>) {
        if left.is_empty() {
            // What comes after this is another recovery.
            *self = Forecast::default();
            return;
        }
        let began = self.last.as_ref().map_or(at, |last| last.began);
        if let Some(last) = self.last.take().filter(|last| last.at < at) {
            self.step(&last, at, &left);
        }
        self.last = Some(LastLook { began, at, left });
    }

    /// So many copies were sent since the first look, of which some may not have arrived.
    pub fn note_sent(&mut self, copies: f64) {
        self.sent = copies;
    }

    fn step(&mut self, last: &LastLook<G, Q>, at: Time, left: &BTreeMap<G, GroupLeft<Q>>) {
        let span_s = at.since(last.at).as_secs_f64();
        let before_s = last.at.since(last.began).as_secs_f64();
        self.fade(before_s / (before_s + span_s));
        self.all.add(0.0, span_s);
        self.ended.add(0.0, span_s);
        let mut moved: BTreeMap<Q, (f64, bool)> = BTreeMap::new();
        for (group, before) in &last.left {
            let now = left.get(group);
            let copies = before.left - now.map_or(0.0, |now| now.left);
            self.all.done += copies;
            self.ended.done += f64::from(u8::from(now.is_none()));
            for queue in before.queues() {
                let of = moved.entry(queue).or_default();
                *of = (of.0 + copies, of.1 || !before.waits);
            }
        }
        // What comes before the first copy is no pace of queues: copies are on their way then, and none has arrived.
        if self.all.done > 0.0 {
            for (queue, (copies, is_busy)) in moved {
                let span_s = if is_busy { span_s } else { 0.0 };
                self.queues.entry(queue).or_default().add(copies, span_s);
            }
        }
    }

    fn fade(&mut self, share: f64) {
        let own = [&mut self.all, &mut self.ended].into_iter();
        own.chain(self.queues.values_mut()).for_each(|pace| pace.fade(share));
    }

    /// How long what was left at the last look takes from then on; `None` if nothing was, or nothing has moved.
    pub fn time_left(&self) -> Option<TimeLeft> {
        let left = &self.last.as_ref()?.left;
        let copies: f64 = left.values().map(|of| of.left).sum();
        let all = FadingPace { done: self.all.done.max(self.sent), ..self.all };
        let (rate_per_s, at_most_per_s) = (all.per_s()?, all.at_most_per_s()?);
        let in_all = copies / rate_per_s;
        let waits = left.values().any(|of| of.waits && of.left > 0.0);
        let about_s = if waits {
            self.in_turns(in_all, left.len())
        } else {
            self.side_by_side(rate_per_s).max(in_all)
        };
        let least_s = copies / at_most_per_s;
        let about_s = (all.done >= COPIES_MIN).then_some(about_s);
        Some(TimeLeft { rate_per_s, least_s, about_s })
    }

    /// Of groups that wait for each other's slots.
    fn in_turns(&self, in_all: f64, groups: usize) -> f64 {
        let Some(ended_per_s) = self.ended.per_s() else { return in_all };
        let by_groups = TOLD_BY_GROUPS * self.ended.done / (self.ended.done + GROUPS_KNOWN);
        (1.0 - by_groups) * in_all + by_groups * groups as f64 / ended_per_s
    }

    /// Of groups that all move: the queue that takes longest.
    fn side_by_side(&self, rate_per_s: f64) -> f64 {
        let left = self.last.as_ref().map(|last| &last.left).into_iter().flatten();
        let left: Vec<&GroupLeft<Q>> = left.map(|(_, of)| of).collect();
        let mut queues: BTreeMap<Q, f64> = BTreeMap::new();
        for of in &left {
            of.queues().for_each(|queue| *queues.entry(queue).or_default() += of.left);
        }
        let busier =
            |of: &&GroupLeft<Q>| of.queues().max_by(|a, b| queues[a].total_cmp(&queues[b]));
        let deciding: BTreeMap<Q, f64> =
            left.iter().filter_map(busier).map(|queue| (queue, queues[&queue])).collect();
        let mut pooled = FadingPace::default();
        for pace in deciding.keys().filter_map(|queue| self.queues.get(queue)) {
            pooled.add(pace.done, pace.seconds);
        }
        // Copies that are sent and have not arrived count for every queue alike.
        let on_their_way = (self.sent / self.all.done.max(COPIES_MIN)).max(1.0);
        let passages = queues.values().sum::<f64>() / left.iter().map(|of| of.left).sum::<f64>();
        let alike = rate_per_s * passages / queues.len() as f64;
        let pooled_per_s = pooled.per_s().map_or(alike, |pace| pace * on_their_way);
        let seconds = deciding.iter().map(|(queue, left)| {
            let own = self.queues.get(queue).copied().unwrap_or_default();
            left / own.beside(pooled_per_s, COPIES_KNOWN)
        });
        seconds.fold(0.0, f64::max)
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
