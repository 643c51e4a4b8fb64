//! The dispatch between the owner of the map and the OSDs, and what a world sees of both.

use crate::delays::Delays;
use crate::post::{Lateness, Letter, Post};
use crate::rack::{LifeNotice, Rack, RackEvent};
use loadline_base::Time;
use loadline_cluster::{Cluster, Config, OwnerEffects};
use loadline_osd::{Effect, Envelope, Event, Osd, OsdId, OsdOptions, Policy};
use loadline_store::paged;
use std::ops::{Deref, DerefMut};

/// The racks that other loops turn, for who has to look into an OSD there.
pub trait OtherRacks {
    /// The rack that an OSD stands in, or is to stand in; `None` if it is the node's own. It is not turned until what is returned is dropped, which is
    /// to be soon, and before it is asked for once more. It may take as long as one of its turns.
    fn hold(&self, osd: OsdId) -> Option<Box<dyn DerefMut<Target = Rack> + '_>>;

    /// All of them at once.
    fn hold_all(&self) -> Vec<Box<dyn DerefMut<Target = Rack> + '_>>;
}

/// The map's owner, a rack of OSDs beside it on the same loop, and perhaps others on loops of their own.
///
/// The owner and the OSDs do not know each other: what they tell each other passes here, before anything else is done. What is for an OSD of
/// another rack, and what such a one tells, is the world's to carry ([`Node::leaving`], [`Node::heard`]).
///
/// A world tells what has happened ([`Node::happened`], [`Node::fire`]) or changes something ([`Node::change`]), and then
/// carries out what [`Node::next`] answers until nothing is left. Events come to OSDs in the order in which they became
/// due, each after everything that the one before has asked for has been carried out.
pub struct Node {
    owner: MapOwner,
    rack: Rack,
    others: Option<Box<dyn OtherRacks>>,
}

/// The owner of the map, and the letters that are on their way between it and the OSDs.
struct MapOwner {
    cluster: Cluster,
    post: Post,
}

/// An OSD that is looked into, wherever it stands.
enum Looked<'a> {
    Here(&'a Osd),
    There(Box<dyn DerefMut<Target = Rack> + 'a>, OsdId),
}

impl Deref for Looked<'_> {
    type Target = Osd;

    fn deref(&self) -> &Osd {
        match self {
            Looked::Here(osd) => osd,
            Looked::There(rack, osd) => rack.osd(*osd),
        }
    }
}

/// The same, to be changed in what nobody else goes by.
enum Held<'a> {
    Here(&'a mut Osd),
    There(Box<dyn DerefMut<Target = Rack> + 'a>, OsdId),
}

impl Deref for Held<'_> {
    type Target = Osd;

    fn deref(&self) -> &Osd {
        match self {
            Held::Here(osd) => osd,
            Held::There(rack, osd) => rack.osd(*osd),
        }
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut Osd {
        match self {
            Held::Here(osd) => osd,
            Held::There(rack, osd) => rack.osd_mut(*osd),
        }
    }
}

/// All racks, to compare what OSDs of several have.
pub(crate) struct AllLooked<'a> {
    own: &'a Rack,
    others: Vec<Box<dyn DerefMut<Target = Rack> + 'a>>,
}

impl AllLooked<'_> {
    /// An OSD, wherever it stands.
    pub(crate) fn osd(&self, osd: OsdId) -> &Osd {
        match self.others.iter().find(|rack| rack.holds(osd)) {
            Some(rack) => rack.osd(osd),
            None => self.own.osd(osd),
        }
    }
}

/// Racks that stand still for many looks: each from the first one into it on, as each time one is asked for takes as long as it turns.
pub struct HeldRacks<'a> {
    cluster: &'a Cluster,
    own: &'a mut Rack,
    elsewhere: Option<&'a dyn OtherRacks>,
    held: Vec<Box<dyn DerefMut<Target = Rack> + 'a>>,
}

impl<'a> HeldRacks<'a> {
    /// The map's owner, to ask.
    pub(crate) fn cluster(&self) -> &'a Cluster {
        self.cluster
    }

    /// An OSD, wherever it stands, to be changed in what nobody else goes by.
    pub(crate) fn osd(&mut self, osd: OsdId) -> &mut Osd {
        if self.own.holds(osd) {
            return self.own.osd_mut(osd);
        }
        let place = self.held.iter().position(|rack| rack.holds(osd)).unwrap_or_else(|| {
            let rack = self.elsewhere.and_then(|others| others.hold(osd));
            self.held.push(rack.expect("it stands somewhere"));
            self.held.len() - 1
        });
        self.held[place].osd_mut(osd)
    }
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
        let osds = (0..config.osds).map(|index| osd(OsdId::new(index), policy(index)));
        let owner = MapOwner { cluster, post: Post::default() };
        Node { owner, rack: Rack::new(osds, delays), others: None }
    }

    /// From now on, what the map's owner and the OSDs tell each other takes its time.
    pub fn be_late(&mut self, lateness: Lateness) {
        self.owner.post.be_late(lateness);
    }

    /// OSDs that this node's own rack does not hold stand in these, from now on.
    pub fn look_elsewhere(&mut self, others: Box<dyn OtherRacks>) {
        self.others = Some(others);
    }

    /// The map's owner, to ask.
    pub fn cluster(&self) -> &Cluster {
        &self.owner.cluster
    }

    /// The map's owner, for what asks nothing of anybody.
    pub fn cluster_mut(&mut self) -> &mut Cluster {
        &mut self.owner.cluster
    }

    /// Has the map's owner do something.
    pub fn change<T>(
        &mut self,
        now: Time,
        change: impl FnOnce(&mut Cluster, &mut OwnerEffects) -> T,
    ) -> T {
        let mut fx = OwnerEffects::default();
        let changed = change(&mut self.owner.cluster, &mut fx);
        self.owner.send_all(now, fx, &mut self.rack);
        self.owner.deliver(now, &mut self.rack);
        changed
    }

    /// One more OSD on a paged store, which is down and out. Its disk is to be opened, and may be empty.
    pub fn add_osd(
        &mut self,
        policy: Policy,
        options: OsdOptions,
        stores: paged::Options,
    ) -> OsdId {
        let osd = self.owner.cluster.add_osd();
        let added = Osd::paged(osd, policy, options, stores);
        self.rack_of(osd, |rack| rack.add(osd, added));
        osd
    }

    /// An OSD is none any more.
    pub fn forget_osd(&mut self, osd: OsdId) {
        self.rack_of(osd, |rack| rack.forget(osd));
        self.owner.post.forget(osd);
    }

    /// Changes the rack of an OSD.
    fn rack_of(&mut self, osd: OsdId, change: impl FnOnce(&mut Rack)) {
        match self.others.as_ref().and_then(|others| others.hold(osd)) {
            Some(mut rack) => change(&mut rack),
            None => change(&mut self.rack),
        }
    }

    /// The OSDs on this loop.
    pub fn rack(&mut self) -> &mut Rack {
        &mut self.rack
    }

    /// One OSD, to look into. It stands still until what is returned is dropped.
    pub fn look_at(&self, osd: OsdId) -> impl Deref<Target = Osd> + '_ {
        match self.others.as_ref().and_then(|others| others.hold(osd)) {
            Some(rack) => Looked::There(rack, osd),
            None => Looked::Here(self.rack.osd(osd)),
        }
    }

    /// The same where looking is changing: what is found out is kept.
    pub fn osd(&mut self, osd: OsdId) -> impl DerefMut<Target = Osd> + '_ {
        match self.others.as_ref().and_then(|others| others.hold(osd)) {
            Some(rack) => Held::There(rack, osd),
            None => Held::Here(self.rack.osd_mut(osd)),
        }
    }

    /// The racks for many looks at once, none of which is held before the first.
    pub fn hold_racks(&mut self) -> HeldRacks<'_> {
        let (cluster, own, held) = (&self.owner.cluster, &mut self.rack, Vec::new());
        HeldRacks { cluster, own, elsewhere: self.others.as_deref(), held }
    }

    /// All OSDs at once.
    pub(crate) fn look_at_all(&self) -> AllLooked<'_> {
        let others = self.others.as_ref().map_or(Vec::new(), |others| others.hold_all());
        AllLooked { own: &self.rack, others }
    }

    /// All OSDs, one after the other.
    pub(crate) fn osds(&self) -> impl Iterator<Item = OsdId> + use<> {
        self.cluster().map().osds().ids()
    }

    /// What takes time here.
    #[inline]
    pub fn delays(&self) -> &Delays {
        self.rack.delays()
    }

    /// Sends a client's message on its way.
    pub fn send(&mut self, envelope: Box<Envelope>) {
        self.rack.ask(Effect::Send(envelope));
    }

    /// Something has happened to an OSD on this loop at this moment. It is as [`Node::happened`], but waits in no line if there is none.
    #[inline]
    pub fn step(&mut self, now: Time, osd: OsdId, event: Event) {
        if self.is_settled() {
            if self.rack.step(now, osd, event) {
                self.owner.hear(now, &mut self.rack);
            }
        } else {
            self.happened(osd, event);
        }
    }

    /// Something has happened to an OSD on this loop.
    #[inline]
    pub fn happened(&mut self, osd: OsdId, event: Event) {
        self.rack.happened(osd, event);
    }

    /// Something is to happen to an OSD, wherever it stands.
    pub fn pass(&mut self, osd: OsdId, event: Event) {
        self.rack.pass(osd, event);
    }

    /// An OSD of another rack has told the owner something.
    pub fn heard(&mut self, now: Time, (osd, life, notice): LifeNotice) {
        self.owner.post.send(now, Letter::Notice(osd, life, notice));
        self.owner.deliver(now, &mut self.rack);
    }

    /// What is for OSDs of other racks, in the order in which it leaves.
    pub fn leaving(&mut self) -> &mut Vec<RackEvent> {
        self.rack.leaving()
    }

    /// When the next timer fires, or a letter arrives that is on its way; [`Time::MAX`] if there is none.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.rack.next_timer().min(self.owner.post.next())
    }

    /// Fires the next timer, or lets letters arrive, if the time has come.
    pub fn fire(&mut self, now: Time) -> bool {
        let letter = self.owner.post.next();
        if letter <= now && letter < Time::MAX {
            self.owner.deliver(now, &mut self.rack);
            return true;
        }
        self.rack.fire(now)
    }

    /// Whether nothing is due and nothing is asked for at this moment.
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.rack.is_settled()
    }

    /// What the world has to do next. Goes on with what is due until there is such a thing; `None` if all is done.
    // An effect is large: inlined, it is looked at where it lies instead of being handed over.
    #[inline(always)]
    pub fn next(&mut self, now: Time) -> Option<Effect> {
        let Node { owner, rack, .. } = self;
        rack.next_heard(now, |rack| owner.hear(now, rack))
    }
}

impl MapOwner {
    /// Hears what OSDs of the rack have told, and whoever is concerned hears what follows from it.
    fn hear(&mut self, now: Time, rack: &mut Rack) {
        self.take_told(now, rack);
        self.deliver(now, rack);
    }

    fn take_told(&mut self, now: Time, rack: &mut Rack) {
        for (osd, life, notice) in rack.told().drain(..) {
            self.post.send(now, Letter::Notice(osd, life, notice));
        }
    }

    fn send_all(&mut self, now: Time, fx: OwnerEffects, rack: &mut Rack) {
        for message in fx.messages {
            rack.ask(Effect::Send(message));
        }
        for (osd, directive) in fx.directives {
            self.post.send(now, Letter::Directive(osd, directive));
        }
    }

    /// Lets the map's owner and the OSDs tell each other what is due, until neither has more to say.
    fn deliver(&mut self, now: Time, rack: &mut Rack) {
        while let Some(letter) = self.post.arrived(now) {
            match letter {
                Letter::Notice(osd, life, notice) => {
                    let mut fx = OwnerEffects::default();
                    self.cluster.heard(osd, life, notice, &mut fx);
                    self.send_all(now, fx, rack);
                }
                Letter::Directive(osd, directive) => {
                    rack.direct(now, osd, directive);
                    self.take_told(now, rack);
                }
            }
        }
    }
}
