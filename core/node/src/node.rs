//! The dispatch: events to OSDs, and what follows from them to whom it concerns.

use crate::post::{Lateness, Letter, Post};
use loadline_base::{Agenda, IdVec, Span, Time};
use loadline_cluster::{Cluster, Config, OwnerEffects};
use loadline_osd::{
    Directive, Effect, Effects, Envelope, Event, Message, Osd, OsdId, OsdOptions, Policy, Timer,
};
use loadline_store::paged;
use std::collections::VecDeque;

/// What takes time in a world. What takes none is due at once and never leaves the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// One way of a message between two OSDs, or between a client and one.
    pub link: Span,
    /// What each MiB of a recovered object takes on top: one stream's share of the wire.
    pub link_mib: Span,
    /// Processor time that a worker spends on an item.
    pub worker: Span,
    /// What its OSD's next item takes on top for each KiB of images and edits that came into the store's log meanwhile.
    pub logged_kib: Span,
}

impl Delays {
    /// How long a message is on its way.
    #[inline]
    pub fn of(&self, message: &Message) -> Span {
        match message {
            Message::Push(push) if self.link_mib > Span::ZERO => {
                self.link + self.link_mib * push.length().get() / (1 << 20)
            }
            _ => self.link,
        }
    }
}

/// The map's owner, the OSDs, and what is due for them.
///
/// The owner and the OSDs do not know each other: what they tell each other passes here, before anything else is done.
///
/// A world tells what has happened ([`Node::happened`], [`Node::fire`]) or changes something ([`Node::change`]), and then
/// carries out what [`Node::next`] answers until nothing is left. Events come to OSDs in the order in which they became
/// due, each after everything that the one before has asked for has been carried out.
pub struct Node {
    cluster: Cluster,
    osds: IdVec<OsdId, Osd>,
    post: Post,
    delays: Delays,
    /// Events that are due now.
    due: VecDeque<(OsdId, Event)>,
    timers: Agenda<(OsdId, Timer)>,
    effects: Effects,
    /// What was asked for and is being carried out, the next thing last.
    asked: Vec<Effect>,
}

impl Node {
    /// A node of OSDs on direct stores, in a world with these delays.
    pub fn new(config: &Config, delays: Delays) -> Node {
        let osd = |osd, policy| Osd::new(osd, policy, config.options);
        Node::of(Cluster::new(config), config, osd, delays)
    }

    /// A node of OSDs on paged stores, whose disks are still to be opened.
    pub fn on_disks(config: &Config, stores: paged::Options, delays: Delays) -> Node {
        let osd = |osd, policy| Osd::paged(osd, policy, config.options, stores);
        Node::of(Cluster::on_disks(config), config, osd, delays)
    }

    fn of(
        cluster: Cluster,
        config: &Config,
        osd: impl Fn(OsdId, Policy) -> Osd,
        delays: Delays,
    ) -> Node {
        let policy = |index: u32| {
            let seed = config.policy.seed ^ u64::from(index) << 32;
            Policy { seed, ..config.policy.clone() }
        };
        Node {
            cluster,
            osds: (0..config.osds).map(|index| osd(OsdId::new(index), policy(index))).collect(),
            post: Post::default(),
            delays,
            due: VecDeque::new(),
            timers: Agenda::default(),
            effects: Effects::default(),
            asked: Vec::new(),
        }
    }

    /// From now on, what the map's owner and the OSDs tell each other takes its time.
    pub fn be_late(&mut self, lateness: Lateness) {
        self.post.be_late(lateness);
    }

    /// The map's owner, to ask.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The map's owner, for what asks nothing of anybody.
    pub fn cluster_mut(&mut self) -> &mut Cluster {
        &mut self.cluster
    }

    /// Has the map's owner do something.
    pub fn change<T>(
        &mut self,
        now: Time,
        change: impl FnOnce(&mut Cluster, &mut OwnerEffects) -> T,
    ) -> T {
        let mut fx = OwnerEffects::default();
        let changed = change(&mut self.cluster, &mut fx);
        self.post_for_owner(now, fx);
        self.deliver(now);
        changed
    }

    /// One more OSD on a paged store, which is down and out. Its disk is to be opened, and may be empty.
    pub fn add_osd(
        &mut self,
        policy: Policy,
        options: OsdOptions,
        stores: paged::Options,
    ) -> OsdId {
        let osd = self.cluster.add_osd();
        self.osds.push(Osd::paged(osd, policy, options, stores));
        osd
    }

    /// One OSD, to look into.
    pub fn osd(&mut self, osd: OsdId) -> &mut Osd {
        &mut self.osds[osd]
    }

    pub(crate) fn osds(&self) -> &IdVec<OsdId, Osd> {
        &self.osds
    }

    pub(crate) fn osds_mut(&mut self) -> &mut IdVec<OsdId, Osd> {
        &mut self.osds
    }

    /// What takes time here.
    pub fn delays(&self) -> &Delays {
        &self.delays
    }

    /// Sends a client's message on its way.
    pub fn send(&mut self, envelope: Box<Envelope>) {
        self.effects.world.push(Effect::Send(envelope));
    }

    /// Something has happened to an OSD at this moment. It is as [`Node::happened`], but waits in no line if there is none.
    #[inline]
    pub fn step(&mut self, now: Time, osd: OsdId, event: Event) {
        if self.is_settled() {
            self.step_osd(now, osd, event);
        } else {
            self.happened(osd, event);
        }
    }

    /// Something has happened to an OSD.
    #[inline]
    pub fn happened(&mut self, osd: OsdId, event: Event) {
        self.due.push_back((osd, event));
    }

    /// When the next timer fires, or a letter arrives that is on its way; [`Time::MAX`] if there is none.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.timers.next().min(self.post.next())
    }

    /// Fires the next timer, or lets letters arrive, if the time has come.
    pub fn fire(&mut self, now: Time) -> bool {
        let letter = self.post.next();
        if letter <= now && letter < Time::MAX {
            self.deliver(now);
            return true;
        }
        let Some((_, (osd, timer))) = self.timers.pop_until(now) else { return false };
        self.happened(osd, Event::Timer(timer));
        true
    }

    /// Has an OSD take an event, and whoever is concerned what follows from it.
    #[inline]
    fn step_osd(&mut self, now: Time, osd: OsdId, event: Event) {
        self.osds[osd].step(now, event, &mut self.effects);
        // Asked first: it is so after nearly every event.
        if !self.effects.owner.is_empty() {
            self.post_of_osd(now, osd);
            self.deliver(now);
        }
    }

    fn post_of_osd(&mut self, now: Time, osd: OsdId) {
        let life = self.osds[osd].life();
        for notice in self.effects.owner.drain(..) {
            self.post.send(now, Letter::Notice(osd, life, notice));
        }
    }

    fn post_for_owner(&mut self, now: Time, fx: OwnerEffects) {
        self.effects.world.extend(fx.messages.into_iter().map(Effect::Send));
        for (osd, directive) in fx.directives {
            self.post.send(now, Letter::Directive(osd, directive));
        }
    }

    /// Lets the map's owner and the OSDs tell each other what is due, until neither has more to say.
    fn deliver(&mut self, now: Time) {
        while let Some(letter) = self.post.arrived(now) {
            match letter {
                Letter::Notice(osd, life, notice) => {
                    let mut fx = OwnerEffects::default();
                    self.cluster.heard(osd, life, notice, &mut fx);
                    self.post_for_owner(now, fx);
                }
                Letter::Directive(osd, directive) => {
                    if matches!(directive, Directive::Renew(_)) {
                        self.forget_queues(osd);
                    }
                    self.osds[osd].step(now, Event::Directive(directive), &mut self.effects);
                    self.post_of_osd(now, osd);
                }
            }
        }
    }

    /// Whether nothing is due and nothing is asked for at this moment.
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.due.is_empty() && self.asked.is_empty() && self.effects.world.is_empty()
    }

    /// What the world has to do next. Goes on with what is due until there is such a thing; `None` if all is done.
    // An effect is large: inlined, it is looked at where it lies instead of being handed over.
    #[inline(always)]
    pub fn next(&mut self, now: Time) -> Option<Effect> {
        loop {
            while let Some(effect) = self.pop_asked() {
                match effect {
                    Effect::Send(envelope) if self.delays.of(&envelope.message) == Span::ZERO => {
                        self.happened(envelope.to, Event::Message(envelope));
                    }
                    Effect::Compute(osd, run) if self.delays.worker == Span::ZERO => {
                        self.happened(osd, Event::Computed(run));
                    }
                    Effect::Timer(osd, at, timer) => self.timers.push(at, (osd, timer)),
                    // Nobody waits for it, and the disk may be another one by now, or be read by the next life.
                    Effect::Io(osd, life, _) if !self.osds[osd].is_in_disk_life(life) => {}
                    effect => return Some(effect),
                }
            }
            let (osd, event) = self.due.pop_front()?;
            self.step_osd(now, osd, event);
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
            Effect::Compute(of, _) => *of == osd,
            Effect::Timer(of, _, timer) => *of == osd && is_of_queue(timer),
            _ => false,
        });
    }

    /// An OSD is none any more.
    pub fn forget_osd(&mut self, osd: OsdId) {
        self.due.retain(|(of, _)| *of != osd);
        self.timers.retain(|(of, _)| *of != osd);
        self.ask_no_more(|effect| match effect {
            Effect::Send(envelope) => envelope.to == osd,
            Effect::Device(of, _)
            | Effect::Io(of, ..)
            | Effect::Compute(of, _)
            | Effect::Timer(of, ..) => *of == osd,
            Effect::Reply(_) | Effect::PutEnded(..) | Effect::Benched(..) | Effect::Trace(_) => {
                false
            }
        });
        self.post.forget(osd);
        while self.osds.len() > self.cluster.map().osds().len() {
            self.osds.pop();
        }
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
    use crate::tests::{node, write};
    use loadline_cluster::OsdState;
    use loadline_cluster::settings::{Enforcement, Settings};
    use loadline_device::Medium;
    use loadline_osd::{Data, ShardId, ThreadId, WorkerRun};
    use loadline_qos::LOADLINE_PRESET;

    /// What is due for a node's OSDs and when, by OSD: the events in their order, then the timers in theirs.
    fn awaited(node: &mut Node) -> Vec<(u32, String)> {
        let mut awaited: Vec<_> =
            node.due.drain(..).map(|(osd, due)| (osd.get(), format!("{due:?}"))).collect();
        assert_eq!(node.next(Time::ZERO), None, "what was asked for is timers alone");
        while let Some((_, (osd, timer))) = node.timers.pop_until(Time::from_nanos(u64::MAX - 1)) {
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
                node.timers.push(Time::from_nanos(1 + at as u64), (osd, timer));
            }
            let asked = Time::from_nanos(9);
            node.effects.world.push(Effect::Timer(osd, asked, Timer::Shard(ShardId::new(0))));
            node.asked.push(Effect::Timer(osd, asked, Timer::Store));
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
        assert!(matches!(node.effects.world[..], [Effect::Compute(of, _)] if of == osd));
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
