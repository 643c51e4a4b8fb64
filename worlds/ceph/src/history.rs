//! A recovery from its beginning on, by one look: groups tell since when they have had their members, and when they got a slot or were done.
//!
//! Where groups wait for slots a window of some seconds sees one or two of them, and their pace is that of what they happen to hold. But every group says
//! when its recovery began, and one that got other members in the end (by a later map) says when that was, and how many objects it has: it was done
//! then. Where all move side by side nobody says who sent what to whom, and the window alone tells the pace, with what the OSDs have sent in it.

use crate::look::{ClusterLook, MovingGroup, OsdLook, PgTotals};
use loadline_base::{Span, Time};
use loadline_forecast::{Forecast, GroupLeft};
use std::collections::BTreeMap;

/// A group, and to whom its copies go.
type GroupTarget<'a> = (&'a str, i64);

/// An OSD, and which of its queues.
type OsdQueue = (i64, u32);

type LeftByWay<'a> = BTreeMap<GroupTarget<'a>, GroupLeft<OsdQueue>>;

/// Moments between the beginning and the window of which is said what was left then.
const MOMENTS: u32 = 16;

/// What the look tells of the recovery.
pub(crate) fn course(look: &ClusterLook) -> Forecast<GroupTarget<'_>, OsdQueue> {
    let mut course = Forecast::default();
    let [before, now] = &look.groups;
    if before.groups == 0 || now.groups == 0 {
        return course;
    }
    let queues = Queues { look };
    let now_s = now.told_at_s;
    let told_s = now_s - before.told_at_s;
    let is_told = before.told_at_s > 0.0 && told_s >= 1.0;
    let window_began_s = now_s - if is_told { told_s } else { look.window_s };
    let waits = now.moving.iter().any(|group| group.waits);
    let began_s = began_s(&now.moving).unwrap_or(now_s);
    let at = |seconds: f64| {
        Time::ZERO + Span::from_secs_f64((seconds - began_s.min(window_began_s)).max(0.0))
    };
    if waits && began_s < window_began_s {
        let past = BeforeWindow::new(&queues, [before, now], began_s, window_began_s);
        for moment in 0..MOMENTS {
            let share = f64::from(moment) / f64::from(MOMENTS);
            let seconds = began_s + share * (window_began_s - began_s);
            course.note(at(seconds), past.left_at(seconds));
        }
    }
    let now_left = |groups: &MovingGroup| groups.left;
    course.note(at(window_began_s), queues.left(&before.moving, now_left));
    course.note(at(now_s), queues.left(&now.moving, now_left));
    if !waits {
        course.note_sent(look.osds.iter().map(OsdLook::copies_sent).sum());
    }
    course
}

/// When most of these began to move: others may lack copies for years.
fn began_s(moving: &[MovingGroup]) -> Option<f64> {
    let mut began: Vec<f64> = moving.iter().filter_map(|group| group.began_s).collect();
    began.sort_by(f64::total_cmp);
    began.get(began.len() / 2).copied()
}

/// The queues of the OSDs that were looked at.
struct Queues<'a> {
    look: &'a ClusterLook,
}

impl<'a> Queues<'a> {
    fn queue(&self, osd: i64, group: &MovingGroup) -> OsdQueue {
        let found = self.look.osds.iter().find(|of| i64::from(of.id) == osd);
        (osd, group.number() % found.and_then(OsdLook::queues).unwrap_or(1))
    }

    /// So much was left of each.
    fn left(&self, groups: &'a [MovingGroup], left: impl Fn(&MovingGroup) -> f64) -> LeftByWay<'a> {
        let mut all = LeftByWay::new();
        for group in groups {
            let from = self.queue(group.primary, group);
            let way = |to: Option<i64>, left: f64| {
                let to_queue = to.map(|to| self.queue(to, group));
                let left = GroupLeft { from, to: to_queue, left, waits: group.waits };
                ((group.pgid.as_str(), to.unwrap_or(-1)), left)
            };
            let of_each = left(group) / group.targets.len().max(1) as f64;
            match group.targets.as_slice() {
                [] => all.extend([way(None, of_each)]),
                targets => all.extend(targets.iter().map(|to| way(Some(*to), of_each))),
            }
        }
        all
    }
}

/// What is known of the time before the window, of which no look was made.
struct BeforeWindow<'a, 'q> {
    queues: &'q Queues<'a>,
    now: &'a PgTotals,
    /// What each group had left when the window began.
    left: BTreeMap<&'a str, f64>,
    began_s: f64,
    window_began_s: f64,
    /// Objects of those that are to move, and their copies.
    objects: f64,
    copies: f64,
    /// The earliest map that gave one of these its members.
    epoch: u64,
}

impl<'a, 'q> BeforeWindow<'a, 'q> {
    fn new(
        queues: &'q Queues<'a>,
        [before, now]: [&'a PgTotals; 2],
        began_s: f64,
        window_began_s: f64,
    ) -> BeforeWindow<'a, 'q> {
        let left = before.moving.iter().map(|group| (group.pgid.as_str(), group.left)).collect();
        let (mut copies, mut objects, mut epoch) = (0.0, 0.0, u64::MAX);
        for group in now.moving.iter().filter(|group| !group.targets.is_empty()) {
            copies += group.copies();
            objects += group.objects;
            epoch = epoch.min(group.epoch);
        }
        BeforeWindow { queues, now, left, began_s, window_began_s, objects, copies, epoch }
    }

    /// What was left at a moment, of those that move now and of those that were done until the window began.
    fn left_at(&self, at_s: f64) -> LeftByWay<'a> {
        let mut all = self.queues.left(&self.now.moving, |group| {
            let then = self.left.get(group.pgid.as_str()).copied().unwrap_or(group.left);
            let in_all = group.copies().max(then);
            let changed_s = group.changed_s.unwrap_or(at_s);
            let done = match group.waits {
                // Of one that had a slot before, all that it moved was moved by then.
                true => f64::from(u8::from(at_s >= changed_s)),
                false => {
                    let took_s = (self.window_began_s - changed_s).max(1.0);
                    ((at_s - changed_s) / took_s).clamp(0.0, 1.0)
                }
            };
            in_all - (in_all - then) * done
        });
        // One that only spoke with its members anew did so when the others began.
        let done = self.now.settled.iter().filter(|group| {
            group.epoch > self.epoch
                && group.since_s > self.began_s + 1.0
                && group.since_s > at_s
                && group.since_s <= self.window_began_s
        });
        all.extend(done.map(|group| {
            let left = group.objects * self.copies / self.objects.max(1.0);
            ((group.pgid.as_str(), -1), GroupLeft { from: (-1, 0), to: None, left, waits: true })
        }));
        all
    }
}

impl MovingGroup {
    /// Copies that its targets get of all of its objects.
    fn copies(&self) -> f64 {
        self.objects * self.targets.len() as f64
    }
}
