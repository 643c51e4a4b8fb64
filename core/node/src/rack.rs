//! A rack: the OSDs that one loop turns, with the events that are due for them, their timers, and what they have asked for.

use crate::delays::Delays;
use loadline_base::{Agenda, IdVec, Time};
use loadline_osd::{Directive, Effect, Effects, Event, Notice, Osd, OsdId, Timer};
use std::collections::VecDeque;

/// What is for an OSD: where it comes from is in it.
pub type RackEvent = (OsdId, Event);

/// What an OSD has told the owner of the map, in this life.
pub type LifeNotice = (OsdId, u32, Notice);

/// The OSDs of one loop. Nothing in it is shared with anybody: what comes is an event, and what leaves is a list that whoever turns it empties,
/// one for the OSDs of other racks ([`Rack::leaving`]) and one for the owner of the map ([`Rack::told`]).
pub struct Rack {
    /// By their ids. Those of other racks are none here.
    osds: IdVec<OsdId, Option<Osd>>,
    delays: Delays,
    /// Events that are due now.
    due: VecDeque<(OsdId, Event)>,
    timers: Agenda<(OsdId, Timer)>,
    effects: Effects,
    /// What was asked for and is being carried out, the next thing last.
    asked: Vec<Effect>,
    leaving: Vec<RackEvent>,
    told: Vec<LifeNotice>,
}

impl Rack {
    pub(crate) fn new(osds: impl Iterator<Item = Osd>, delays: Delays) -> Rack {
        Rack {
            osds: osds.map(Some).collect(),
            delays,
            due: VecDeque::new(),
            timers: Agenda::default(),
            effects: Effects::default(),
            asked: Vec::new(),
            leaving: Vec::new(),
            told: Vec::new(),
        }
    }

    /// A rack of its own for the OSDs that are meant, before anything has happened to them.
    pub fn part(&mut self, is_meant: impl Fn(OsdId) -> bool) -> Rack {
        assert!(self.is_settled() && self.timers.next() == Time::MAX, "nothing has begun");
        let mut parted = Rack::new(std::iter::empty(), self.delays);
        for (osd, seat) in self.osds.iter_mut() {
            parted.osds.push(if is_meant(osd) { seat.take() } else { None });
        }
        parted
    }

    /// Takes one more OSD in.
    pub(crate) fn add(&mut self, osd: OsdId, added: Osd) {
        while self.osds.len() <= usize::from(osd) {
            self.osds.push(None);
        }
        self.osds[osd] = Some(added);
    }

    /// What takes time here.
    #[inline]
    pub(crate) fn delays(&self) -> &Delays {
        &self.delays
    }

    /// The OSDs that stand here.
    pub fn osds(&self) -> impl Iterator<Item = (OsdId, &Osd)> {
        self.osds.iter().filter_map(|(id, osd)| Some((id, osd.as_ref()?)))
    }

    /// Whether an OSD stands here.
    #[inline]
    pub fn holds(&self, osd: OsdId) -> bool {
        self.osds.get(osd).is_some_and(Option::is_some)
    }

    /// One of them.
    #[inline]
    pub fn osd(&self, osd: OsdId) -> &Osd {
        self.osds[osd].as_ref().expect("it stands in this rack")
    }

    /// The same, to be changed.
    #[inline]
    pub fn osd_mut(&mut self, osd: OsdId) -> &mut Osd {
        self.osds[osd].as_mut().expect("it stands in this rack")
    }

    /// What is for OSDs of other racks, in the order in which it leaves.
    pub fn leaving(&mut self) -> &mut Vec<RackEvent> {
        &mut self.leaving
    }

    /// What OSDs of this rack have told the owner of the map, in that order.
    #[inline]
    pub fn told(&mut self) -> &mut Vec<LifeNotice> {
        &mut self.told
    }

    /// Sends what takes its way, if there is one.
    #[inline]
    pub(crate) fn ask(&mut self, effect: Effect) {
        self.effects.world.push(effect);
    }

    /// Something has happened to an OSD of this rack.
    #[inline]
    pub fn happened(&mut self, osd: OsdId, event: Event) {
        self.due.push_back((osd, event));
    }

    /// Something is to happen to an OSD, here or elsewhere.
    #[inline]
    pub(crate) fn pass(&mut self, osd: OsdId, event: Event) {
        match self.holds(osd) {
            true => self.happened(osd, event),
            false => self.leaving.push((osd, event)),
        }
    }

    /// Something from another rack, or from the owner of the map, has come for an OSD.
    pub fn arrived(&mut self, now: Time, (osd, event): RackEvent) {
        match event {
            Event::Directive(directive) => self.direct(now, osd, directive),
            event => self.happened(osd, event),
        }
    }

    /// The owner of the map tells an OSD something: it hears that before anything else that is due.
    pub(crate) fn direct(&mut self, now: Time, osd: OsdId, directive: Directive) {
        let event = Event::Directive(directive);
        if !self.holds(osd) {
            return self.leaving.push((osd, event));
        }
        if matches!(event, Event::Directive(Directive::Renew(_))) {
            self.forget_queues(osd);
        }
        self.step(now, osd, event);
    }

    /// Has an OSD take an event. Answers whether it has told the owner of the map something.
    #[inline]
    pub(crate) fn step(&mut self, now: Time, osd: OsdId, event: Event) -> bool {
        let stepped = self.osds[osd].as_mut().expect("it stands in this rack");
        stepped.step(now, event, &mut self.effects);
        // Asked first: it is so after nearly every event.
        if self.effects.owner.is_empty() {
            return false;
        }
        let life = stepped.life();
        self.told.extend(self.effects.owner.drain(..).map(|notice| (osd, life, notice)));
        true
    }

    /// When the next timer fires; [`Time::MAX`] if there is none.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.timers.next()
    }

    /// Fires the next timer, if its time has come.
    pub fn fire(&mut self, now: Time) -> bool {
        let Some((_, (osd, timer))) = self.timers.pop_until(now) else { return false };
        self.happened(osd, Event::Timer(timer));
        true
    }

    /// Whether nothing is due and nothing is asked for at this moment.
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.due.is_empty() && self.asked.is_empty() && self.effects.world.is_empty()
    }

    /// What the world has to do next. Goes on with what is due until there is such a thing; `None` if all is done.
    pub fn next(&mut self, now: Time) -> Option<Effect> {
        self.next_heard(now, |_| ())
    }

    /// The same, where the owner of the map hears what it is told before anything else is done.
    // An effect is large: inlined, it is looked at where it lies instead of being handed over.
    #[inline(always)]
    pub(crate) fn next_heard(
        &mut self,
        now: Time,
        mut hear: impl FnMut(&mut Rack),
    ) -> Option<Effect> {
        loop {
            while let Some(effect) = self.pop_asked() {
                match effect {
                    Effect::Send(envelope) if self.delays.is_at_once(&envelope.message) => {
                        self.pass(envelope.to, Event::Message(envelope));
                    }
                    Effect::Compute(osd, run, _) if self.delays.computes_at_once() => {
                        self.happened(osd, Event::Computed(run));
                    }
                    Effect::Timer(osd, at, timer) => self.timers.push(at, (osd, timer)),
                    // Nobody waits for it, and the disk may be another one by now, or be read by the next life.
                    Effect::Io(osd, life, _) if !self.osd(osd).is_in_disk_life(life) => {}
                    effect => return Some(effect),
                }
            }
            let (osd, event) = self.due.pop_front()?;
            if self.step(now, osd, event) {
                hear(self);
            }
        }
    }

    /// The next of what was asked for, in the order in which it was.
    #[inline]
    fn pop_asked(&mut self) -> Option<Effect> {
        // Popping from the back is the cheapest way to empty a list that mostly holds one or two.
        if self.asked.is_empty() {
            if self.effects.world.len() < 2 {
                return self.effects.world.pop();
            }
            std::mem::swap(&mut self.asked, &mut self.effects.world);
            self.asked.reverse();
        }
        self.asked.pop()
    }

    /// An OSD's queues are replaced by new ones, which have asked for nothing yet: they number their workers' runs anew, and may have
    /// fewer shards. So nothing of the old ones may come to them, whether it is due or has only been asked for.
    fn forget_queues(&mut self, osd: OsdId) {
        let is_of_queue = |timer: &Timer| matches!(timer, Timer::Shard(_) | Timer::Background);
        self.due.retain(|(of, event)| *of != osd || !matches!(event, Event::Computed(_)));
        self.timers.retain(|(of, timer)| *of != osd || !is_of_queue(timer));
        self.ask_no_more(|effect| match effect {
            Effect::Compute(of, ..) => *of == osd,
            Effect::Timer(of, _, timer) => *of == osd && is_of_queue(timer),
            _ => false,
        });
    }

    /// An OSD is none any more, and nothing comes to it or from it. It keeps its place, for one of its number that comes later: something may still be on
    /// its way to it from another rack, and is of an interval that is over.
    pub(crate) fn forget(&mut self, osd: OsdId) {
        self.due.retain(|(of, _)| *of != osd);
        self.timers.retain(|(of, _)| *of != osd);
        self.ask_no_more(|effect| match effect {
            Effect::Send(envelope) => envelope.to == osd,
            Effect::Device(of, _)
            | Effect::Io(of, ..)
            | Effect::Compute(of, ..)
            | Effect::Timer(of, ..) => *of == osd,
            Effect::Reply(_) | Effect::PutEnded(..) | Effect::Benched(..) | Effect::Trace(_) => {
                false
            }
        });
    }

    /// What is meant is not carried out any more.
    fn ask_no_more(&mut self, is_meant: impl Fn(&Effect) -> bool) {
        self.effects.world.retain(|effect| !is_meant(effect));
        self.asked.retain(|effect| !is_meant(effect));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Node;
    use crate::tests::{node, write};
    use loadline_cluster::OsdState;
    use loadline_cluster::settings::{Enforcement, Settings};
    use loadline_device::Medium;
    use loadline_osd::{Data, OsdOptions, Policy, ShardId, ThreadId, WorkerRun};
    use loadline_qos::LOADLINE_PRESET;

    /// What is due for a node's OSDs and when, by OSD: the events in their order, then the timers in theirs.
    fn awaited(node: &mut Node) -> Vec<(u32, String)> {
        let mut awaited: Vec<_> =
            node.rack().due.drain(..).map(|(osd, due)| (osd.get(), format!("{due:?}"))).collect();
        assert_eq!(node.next(Time::ZERO), None, "what was asked for is timers alone");
        while let Some((_, (osd, timer))) =
            node.rack().timers.pop_until(Time::from_nanos(u64::MAX - 1))
        {
            awaited.push((osd.get(), format!("{timer:?}")));
        }
        awaited
    }

    fn settings() -> (Policy, OsdOptions) {
        let (osd, media) = (OsdId::new(0), &[Medium::Ssd]);
        let settings = Settings::new(LOADLINE_PRESET, media, Enforcement::Refuse);
        (Policy { plan: settings.plan(osd), seed: 1 }, settings.osd_options(osd))
    }

    /// Has both OSDs of a node of two wait for the end of a computation, for room, and for timers of a queue and of a store, of which the
    /// last has only been asked for. Only one that is down can be renewed.
    fn with_awaited(renewed: Option<OsdId>) -> Node {
        let mut node = node(Delays::default());
        if let Some(osd) = renewed {
            let state = OsdState { up: false, is_in: true };
            node.change(Time::ZERO, |cluster, fx| cluster.set_osd(osd, state, fx));
        }
        for osd in [0, 1].map(OsdId::new) {
            let run = WorkerRun { shard: ShardId::new(0), thread: ThreadId::new(0), run: 1 };
            node.happened(osd, Event::Computed(run));
            node.happened(osd, Event::Timer(Timer::Room));
            let timers = [Timer::Shard(ShardId::new(0)), Timer::Background, Timer::Store];
            for (at, timer) in timers.into_iter().enumerate() {
                node.rack().timers.push(Time::from_nanos(1 + at as u64), (osd, timer));
            }
            let asked = Time::from_nanos(9);
            node.rack().effects.world.push(Effect::Timer(
                osd,
                asked,
                Timer::Shard(ShardId::new(0)),
            ));
            node.rack().asked.push(Effect::Timer(osd, asked, Timer::Store));
        }
        node
    }

    /// New queues have asked for nothing: what the old ones had asked for does not come to them. The store stays, and gets what is its.
    #[test]
    fn what_replaced_queues_waited_for_does_not_come() {
        let renewed = OsdId::new(1);
        let mut node = with_awaited(Some(renewed));
        let (policy, options) = settings();
        node.change(Time::ZERO, |cluster, fx| cluster.renew_osd(renewed, policy, options, fx));
        let awaited = awaited(&mut node);
        let of_renewed: Vec<_> =
            awaited.iter().filter(|(osd, _)| *osd == 1).map(|(_, what)| what).collect();
        assert_eq!(of_renewed, ["Timer(Room)", "Store", "Store"]);
        assert_eq!(awaited.len(), 7 + 3, "the other OSD's stay: {awaited:?}");
    }

    /// A worker of the old queue had begun an item when its OSD crashed, and the OSD was renewed before anybody heard that it was done. The
    /// new worker in its place has made no run either, so it took that for its own and found that it runs nothing: the node ended.
    #[test]
    fn a_run_of_a_replaced_queue_is_none_of_the_new_ones() {
        let mut node = node(Delays::default());
        let osd = OsdId::new(0);
        let (_, issued) = node.cluster_mut().issue(Time::ZERO, &write(1), Data::NONE);
        let issued = issued.expect("the group is served");
        assert_eq!(issued.to, osd);
        node.step(Time::ZERO, osd, Event::Message(issued));
        assert!(matches!(node.rack().effects.world[..], [Effect::Compute(of, ..)] if of == osd));
        let state = |up| OsdState { up, is_in: true };
        let (policy, options) = settings();
        node.change(Time::ZERO, |cluster, fx| cluster.set_osd(osd, state(false), fx));
        node.change(Time::ZERO, |cluster, fx| cluster.renew_osd(osd, policy, options, fx));
        node.change(Time::ZERO, |cluster, fx| cluster.set_osd(osd, state(true), fx));
        let left = std::iter::from_fn(|| node.next(Time::ZERO)).count();
        assert!(left > 0 && node.is_settled(), "the op goes to who serves it now");
    }

    /// An OSD whose number is given anew gets nothing that was meant for the one before, and one that is none any more is not asked.
    #[test]
    fn what_a_forgotten_osd_waited_for_does_not_come() {
        let mut node = with_awaited(None);
        node.forget_osd(OsdId::new(1));
        let awaited = awaited(&mut node);
        assert!(awaited.iter().all(|(osd, _)| *osd == 0), "{awaited:?}");
        assert_eq!(awaited.len(), 7);
    }
}
