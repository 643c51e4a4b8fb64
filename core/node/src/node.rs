//! The dispatch: events to OSDs, and what follows from them to whom it concerns.

use loadline_base::{Agenda, Span, Time};
use loadline_cluster::Cluster;
use loadline_osd::{Effect, Effects, Envelope, Event, Message, OsdId, Timer};
use std::collections::VecDeque;

/// What takes time in a world. What takes none is due at once and never leaves the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// One way of a message between two OSDs, or between a client and one.
    pub link: Span,
    /// What the push of a recovered object takes on top, for reading beside the queue and for transfer.
    pub push: Span,
    /// Processor time that a worker spends on an item.
    pub worker: Span,
}

impl Delays {
    /// How long a message is on its way.
    #[inline]
    pub fn of(&self, message: &Message) -> Span {
        match message {
            Message::Push(_) => self.link + self.push,
            _ => self.link,
        }
    }
}

/// The map's owner with its OSDs, and what is due for them.
///
/// A world tells what has happened ([`Node::happened`], [`Node::fire`]) or changes something ([`Node::change`]), and then
/// carries out what [`Node::next`] answers until nothing is left. Events come to OSDs in the order in which they became
/// due, each after everything that the one before has asked for has been carried out.
pub struct Node {
    cluster: Cluster,
    delays: Delays,
    /// Events that are due now.
    due: VecDeque<(OsdId, Event)>,
    timers: Agenda<(OsdId, Timer)>,
    effects: Effects,
    /// What was asked for and is being carried out, the next thing last.
    asked: Vec<Effect>,
}

impl Node {
    /// A node at rest, in a world with these delays.
    pub fn new(cluster: Cluster, delays: Delays) -> Node {
        Node {
            cluster,
            delays,
            due: VecDeque::new(),
            timers: Agenda::default(),
            effects: Effects::default(),
            asked: Vec::new(),
        }
    }

    /// The map's owner, to ask.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The map's owner, for what asks nothing of the world.
    pub fn cluster_mut(&mut self) -> &mut Cluster {
        &mut self.cluster
    }

    /// Has the map's owner do something.
    pub fn change<T>(&mut self, change: impl FnOnce(&mut Cluster, &mut Effects) -> T) -> T {
        change(&mut self.cluster, &mut self.effects)
    }

    /// What takes time here.
    pub fn delays(&self) -> &Delays {
        &self.delays
    }

    /// Sends a client's message on its way.
    pub fn send(&mut self, envelope: Envelope) {
        self.effects.world.push(Effect::Send(envelope));
    }

    /// Something has happened to an OSD at this moment. It is as [`Node::happened`], but waits in no line if there is none.
    #[inline]
    pub fn step(&mut self, now: Time, osd: OsdId, event: Event) {
        if self.is_settled() {
            self.cluster.step(now, osd, event, &mut self.effects);
        } else {
            self.happened(osd, event);
        }
    }

    /// Something has happened to an OSD.
    #[inline]
    pub fn happened(&mut self, osd: OsdId, event: Event) {
        self.due.push_back((osd, event));
    }

    /// When the next timer fires; [`Time::MAX`] if none is set.
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
                    effect => return Some(effect),
                }
            }
            let (osd, event) = self.due.pop_front()?;
            self.cluster.step(now, osd, event, &mut self.effects);
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

    /// An OSD's queues are replaced by new ones, which have asked for nothing yet.
    pub fn forget_queues(&mut self, osd: OsdId) {
        self.due.retain(|(of, event)| *of != osd || !matches!(event, Event::Computed(_)));
        self.timers.retain(|(of, timer)| *of != osd || !matches!(timer, Timer::Shard(_)));
    }

    /// An OSD is none any more.
    pub fn forget_osd(&mut self, osd: OsdId) {
        self.due.retain(|(of, _)| *of != osd);
        self.timers.retain(|(of, _)| *of != osd);
    }
}
