//! One node in the simulated world, with the links between its OSDs, their workers, and a load.
//!
//! What an OSD stands on is a part that is named: the direct store on modelled drives, as studies of another system's figures
//! want it, or the paged store on disks with contents and faults. A load issues ops and hears of their replies, and what it writes
//! to a disk with contents is zeros; a test that issues its own ops has none ([`ByHand`]).

use crate::disk::SimDisk;
use crate::drive::ServiceTime;
use crate::events::SimEvent;
use crate::hdd::Hdd;
use crate::host::{Computer, SimHost};
use crate::lanes::LaneId;
use crate::osd_drive::{OsdDrive, RunningDrive};
use crate::processors::{Processors, Slice, WorkPrice};
use crate::store_disks::StoreDisks;
use crate::workload::{ByHand, Issue, OpDone, Workload};
use crate::world::{DriveAsked, Drives, Machine, VirtualTime, World};
use loadline_base::{IdVec, Span, Time};
use loadline_cluster::{
    Cluster, Config, Map, OsdState, OwnerEffects, PoolId, PoolSpec, StartError,
};
use loadline_device::Outcome;
use loadline_node::{Delays, Lateness, Node};
use loadline_osd::{
    Data, Effect, Envelope, Event, ItemSize, MachineLoad, OpKind, Osd, OsdId, OsdOptions, OsdSet,
    PgId, PgProgress, Policy, Received, Reply, TraceSpan, Waits, WorkerRun,
};
use loadline_store::paged::{self, IoDone};
use loadline_store::{ObjectNo, RequestId};

/// What a simulated world of modelled drives is built from.
#[derive(Clone, Debug, PartialEq)]
pub struct SimConfig {
    /// The engine.
    pub cluster: Config,
    /// What every OSD's drive is.
    pub drive: OsdDrive,
    /// What takes time besides the drives.
    pub delays: Delays,
    /// What the OSDs share.
    pub host: SimHost,
}

/// What a simulated world of disks with contents is built from.
pub struct DisksConfig<'a> {
    /// The engine.
    pub cluster: &'a Config,
    /// The stores.
    pub stores: paged::Options,
    /// Formatted disks: empty ones, or what a life before has left.
    pub disks: Vec<SimDisk>,
    /// What takes time besides the disks.
    pub delays: Delays,
    /// What the OSDs share.
    pub host: SimHost,
}

/// Where events of one kind go, which come in the order of their times.
#[derive(Clone, Copy, Debug)]
struct SimLanes {
    links: LaneId,
    workers: LaneId,
}

/// What the load is about to do.
#[derive(Debug, Default)]
struct LoadDue {
    /// Ops to be issued.
    issue: Vec<Issue>,
    /// When it is to be woken.
    wake: Option<Time>,
}

/// A node in virtual time under a load.
pub type Sim<W = ByHand> = World<LoadedNode<W>>;

/// A node with what is between its OSDs and their clients.
pub struct LoadedNode<W> {
    node: Node,
    lanes: SimLanes,
    load: W,
    tokens: Vec<u64>,
    due: LoadDue,
    trace: Vec<TraceSpan>,
    /// Bytes of images and edits in each store's log that a worker has paid for.
    logged: IdVec<OsdId, u64>,
    /// Whether its disks have contents.
    has_disks: bool,
    /// What work takes, where OSDs share whoever does it.
    price: Option<WorkPrice>,
    /// Those who do it; where there are none, one thread does.
    processors: Option<Box<Processors<SimEvent>>>,
}

impl<W: Workload> Machine for LoadedNode<W> {
    const WAITS_FOR_ROOM: bool = true;

    #[inline]
    fn next_timer(&self) -> Time {
        self.node.next_timer()
    }

    fn fire(&mut self, now: Time) {
        self.node.fire(now);
    }

    // An effect is large: inlined, it is looked at where it lies instead of being handed over.
    #[inline(always)]
    fn next(&mut self, clock: &mut VirtualTime) -> Option<DriveAsked> {
        while let Some(effect) = self.node.next(clock.now()) {
            match effect {
                Effect::Device(osd, submission) => {
                    return Some(DriveAsked::Device(osd, submission));
                }
                Effect::Io(osd, life, io) => return Some(DriveAsked::Io(osd, life, io)),
                Effect::Send(envelope) => self.send(envelope, clock),
                Effect::Compute(osd, run, size) => self.compute((osd, size), run, clock),
                Effect::PutEnded(_, end) => {
                    self.load.put_ended(clock.now(), &end);
                    self.issue_ops(clock);
                }
                Effect::Reply(reply) => match self.node.delays().link {
                    Span::ZERO => self.replied(*reply, clock),
                    link => {
                        let at = clock.now() + link;
                        clock.push_lane(self.lanes.links, at, SimEvent::Replied(reply));
                    }
                },
                Effect::Trace(span) => self.trace.push(span),
                effect => unreachable!("neither asked for nor left by the node: {effect:?}"),
            }
        }
        None
    }

    #[inline]
    fn happened(&mut self, event: SimEvent, clock: &mut VirtualTime) {
        match event {
            SimEvent::Arrive(envelope) => {
                self.node.step(clock.now(), envelope.to, Event::Message(envelope));
            }
            SimEvent::Computed(osd, run) => self.node.step(clock.now(), osd, Event::Computed(run)),
            SimEvent::SliceOver(piece) => {
                let processors = self.processors.as_mut().expect("one has worked");
                let (done, next) = processors.slice_over(clock.now(), piece);
                look_after(next, clock);
                if let Some(done) = done {
                    self.happened(done, clock);
                }
            }
            SimEvent::Leave(envelope) => match self.node.delays().of(&envelope.message) {
                Span::ZERO => self.happened(SimEvent::Arrive(envelope), clock),
                _ => self.carry(envelope, clock),
            },
            SimEvent::Replied(reply) => self.replied(*reply, clock),
            SimEvent::LoadWake(at) => {
                if self.due.wake == Some(at) {
                    self.due.wake = None;
                    self.load.woke(clock.now(), &mut self.due.issue);
                    self.issue_ops(clock);
                }
            }
            event => unreachable!("the world's own: {event:?}"),
        }
    }

    #[inline]
    fn device_done(&mut self, now: Time, osd: OsdId, request: RequestId, outcome: Outcome) {
        self.node.step(now, osd, Event::DeviceDone(request, outcome));
    }

    fn io_done(&mut self, _: Time, osd: OsdId, life: u32, done: IoDone) {
        self.node.happened(osd, Event::IoDone(life, done));
    }

    fn open_resting(&mut self, now: Time, answered: Option<OsdId>, drives: &mut Drives) {
        match answered {
            Some(osd) => self.open_if_resting(now, osd, drives),
            // An OSD that was to close its disk before it is opened again may have heard of it now.
            None => drives.of.ids().for_each(|osd| self.open_if_resting(now, osd, drives)),
        }
    }
}

impl<W: Workload> LoadedNode<W> {
    fn new(clock: &mut VirtualTime, osds: u32, node: Node, load: W) -> LoadedNode<W> {
        LoadedNode {
            node,
            lanes: SimLanes { links: clock.add_lane(), workers: clock.add_lane() },
            load,
            tokens: Vec::new(),
            due: LoadDue::default(),
            trace: Vec::new(),
            logged: (0..osds).map(|_| 0).collect(),
            has_disks: false,
            price: None,
            processors: None,
        }
    }

    /// The same where whoever computes is shared.
    fn on_host(self, host: &SimHost) -> LoadedNode<W> {
        let Some((computer, price)) = host.computing else { return self };
        let processors = match computer {
            Computer::Processors(spec) => Some(Box::new(Processors::new(spec))),
            Computer::Thread { .. } => None,
        };
        LoadedNode { price: Some(price), processors, ..self }
    }

    /// Bytes of images and edits that came into the log of an OSD's store since it was last asked.
    fn newly_logged(&mut self, osd: OsdId) -> u64 {
        let store = self.node.rack().osd(osd).paged_store();
        let all = store.map_or(0, |store| store.metrics().totals.log_physical_bytes);
        all.saturating_sub(std::mem::replace(&mut self.logged[osd], all))
    }

    fn open_if_resting(&mut self, now: Time, osd: OsdId, drives: &mut Drives) {
        let drive = drives.of[osd].disk_mut();
        if drive.reopen
            && drive.disks.data.in_flight() == 0
            && !self.node.rack().osd(osd).has_disk()
        {
            drive.reopen = false;
            let bytes = drive.disks.data.spec().size;
            self.node.change(now, |cluster, fx| cluster.open_osd(osd, bytes, fx));
        }
    }

    /// Lets a worker compute.
    #[inline]
    fn compute(&mut self, (osd, size): (OsdId, ItemSize), run: WorkerRun, clock: &mut VirtualTime) {
        let event = SimEvent::Computed(osd, run);
        if let Some(price) = &self.price {
            let takes = price.of_item(size);
            return match &mut self.processors {
                Some(line) => look_after(line.work(clock.now(), takes, event), clock),
                None => {
                    clock.pass(takes);
                    self.node.happened(osd, Event::Computed(run));
                }
            };
        }
        let at = clock.now() + self.node.delays().worker;
        match self.node.delays().logged_kib {
            Span::ZERO => clock.push_lane(self.lanes.workers, at, event),
            kib => clock.push(at + kib * self.newly_logged(osd) / 1024, event),
        }
    }

    /// Takes a message over its link, once it is ready.
    #[inline]
    fn send(&mut self, envelope: Box<Envelope>, clock: &mut VirtualTime) {
        let takes = self.price.map_or(Span::ZERO, |price| price.of_message(&envelope.message));
        match &mut self.processors {
            Some(line) if takes > Span::ZERO => {
                let slice = line.work(clock.now(), takes, SimEvent::Leave(envelope));
                look_after(slice, clock);
            }
            None if takes > Span::ZERO => {
                clock.pass(takes);
                self.node.happened(envelope.to, Event::Message(envelope));
            }
            _ => self.carry(envelope, clock),
        }
    }

    /// Takes a message over its link.
    #[inline]
    fn carry(&mut self, envelope: Box<Envelope>, clock: &mut VirtualTime) {
        let delay = self.node.delays().of(&envelope.message);
        if delay == Span::ZERO {
            return self.node.send(envelope);
        }
        let (at, event) = (clock.now() + delay, SimEvent::Arrive(envelope));
        match delay == self.node.delays().link {
            true => clock.push_lane(self.lanes.links, at, event),
            false => clock.push(at, event),
        }
    }

    fn replied(&mut self, reply: Reply, clock: &mut VirtualTime) {
        let Some(issued) = self.node.cluster_mut().finish(reply.op) else { return };
        let token = self.tokens.get(usize::from(reply.op.slot)).copied().unwrap_or_default();
        let done = OpDone { token, issued: issued.issued, reply };
        self.load.replied(clock.now(), &done, &mut self.due.issue);
        self.issue_ops(clock);
    }

    fn issue_ops(&mut self, clock: &mut VirtualTime) {
        let mut issue = std::mem::take(&mut self.due.issue);
        for Issue { target, token } in issue.drain(..) {
            let data = match target.kind {
                OpKind::Write if self.has_disks => Data::new(vec![0; target.length as usize]),
                _ => Data::NONE,
            };
            let (op, envelope) = self.node.cluster_mut().issue(clock.now(), &target, data);
            let index = usize::from(op.slot);
            if self.tokens.len() <= index {
                self.tokens.resize(index + 1, 0);
            }
            self.tokens[index] = token;
            match envelope {
                // The thread hears of it when it looks for what has happened.
                Some(envelope) if clock.goes_in_rounds() => {
                    clock.push(clock.now(), SimEvent::Arrive(envelope));
                }
                Some(envelope) => self.carry(envelope, clock),
                None => {}
            }
        }
        self.due.issue = issue;
        for (osd, put) in self.load.puts() {
            self.node.happened(osd, Event::Put(put));
        }
        self.schedule_wake(clock);
    }

    fn schedule_wake(&mut self, clock: &mut VirtualTime) {
        if let Some(at) = self.load.next_wake()
            && self.due.wake.is_none_or(|scheduled| at < scheduled)
        {
            self.due.wake = Some(at);
            clock.push(at, SimEvent::LoadWake(at));
        }
    }
}

fn look_after(slice: Option<Slice>, clock: &mut VirtualTime) {
    if let Some((at, piece)) = slice {
        clock.push(at, SimEvent::SliceOver(piece));
    }
}

/// What takes time where OSDs share a host.
fn on_host(delays: Delays, host: &SimHost) -> Delays {
    Delays { shares_processors: host.computing.is_some(), ..delays }
}

impl<W: Workload> Sim<W> {
    /// A world of direct stores on modelled drives at time zero.
    pub fn new(config: SimConfig, load: W) -> Sim<W> {
        let SimConfig { cluster, drive, delays, host } = config;
        let node = Node::new(&cluster, on_host(delays, &host));
        let mut clock = VirtualTime::new(Time::ZERO);
        let machine = LoadedNode::new(&mut clock, cluster.osds, node, load);
        let machine = machine.on_host(&host);
        let drives = (0..cluster.osds).map(|osd| RunningDrive::new(&drive, osd));
        World::around(clock, machine, drives).on_host(&host)
    }

    /// A world of paged stores on disks, none of which is open yet.
    pub(crate) fn on_disks(now: Time, config: DisksConfig<'_>, load: W) -> Sim<W> {
        let DisksConfig { cluster, stores, disks, delays, host } = config;
        let node = Node::on_disks(cluster, stores, on_host(delays, &host));
        let mut clock = VirtualTime::new(now);
        let machine = LoadedNode::new(&mut clock, cluster.osds, node, load);
        let drive = |data| RunningDrive::on_disks(StoreDisks { data, log: None });
        let machine = LoadedNode { has_disks: true, ..machine }.on_host(&host);
        World::around(clock, machine, disks.into_iter().map(drive)).on_host(&host)
    }

    /// The same at time zero, when they are open and a cluster.
    ///
    /// # Errors
    /// [`StartError`] if the disks do not lead to a cluster.
    pub fn opened(config: DisksConfig<'_>, load: W) -> Result<Sim<W>, (StartError, Vec<SimDisk>)> {
        Sim::on_disks(Time::ZERO, config, load).begin(OsdSet::EMPTY)
    }

    /// Opens the disks and makes them a cluster, or goes on from what they hold.
    pub(crate) fn begin(self, given_up: OsdSet) -> Result<Sim<W>, (StartError, Vec<SimDisk>)> {
        let mut sim = self;
        sim.osds().for_each(|osd| sim.open(osd));
        sim.wait_until(|sim| !sim.node().cluster().is_opening());
        if sim.cluster().is_new() {
            sim.change(|cluster, fx| cluster.create(0x010a_d11e, fx));
        } else {
            if let Err(error) = sim.change(|cluster, fx| cluster.start(given_up, fx)) {
                return Err((error, sim.into_disks()));
            }
            sim.change(|cluster, fx| cluster.take_over(fx));
        }
        sim.wait_until(|sim| sim.node().cluster().is_serving());
        Ok(sim)
    }

    /// From now on the machine is so busy; at the start it is idle.
    pub fn set_machine_load(&mut self, load: MachineLoad) {
        let osds: Vec<OsdId> = self.machine.node.cluster().map().osds().ids().collect();
        for osd in osds {
            self.machine.node.happened(osd, Event::MachineLoad(load));
        }
        self.carry_out();
    }

    /// Has the map's owner do something, and carries out what follows.
    pub fn change<T>(&mut self, change: impl FnOnce(&mut Cluster, &mut OwnerEffects) -> T) -> T {
        let now = self.now();
        let changed = self.machine.node.change(now, change);
        self.carry_out();
        changed
    }

    /// Creates a pool.
    pub fn create_pool(&mut self, spec: PoolSpec) -> PoolId {
        self.change(|cluster, fx| cluster.create_pool(spec, fx))
    }

    /// Fills a pool with full objects in no time.
    pub fn prefill(&mut self, pool: PoolId, first: ObjectNo, objects: u64) {
        self.machine.node.prefill(pool, first, objects);
    }

    /// Marks an OSD up or down, in or out.
    pub fn set_osd(&mut self, osd: OsdId, state: OsdState) {
        self.change(|cluster, fx| cluster.set_osd(osd, state, fx));
    }

    /// New settings for every OSD at once.
    pub fn configure(&mut self, policy: &Policy, options: OsdOptions) {
        self.change(|cluster, fx| cluster.configure(policy, options, fx));
    }

    /// From now on what the map's owner and the OSDs tell each other takes its time, as between threads.
    pub fn be_late(&mut self, lateness: Lateness) {
        self.machine.node.be_late(lateness);
    }

    /// Lets the load begin.
    pub fn start_load(&mut self) {
        self.machine.load.start(self.clock.now(), &mut self.machine.due.issue);
        self.machine.issue_ops(&mut self.clock);
        self.carry_out();
    }

    /// Lets the load end; ops under way still finish.
    pub fn stop_load(&mut self) {
        self.machine.load.stop();
    }

    /// Opens an OSD's disk again, as soon as nothing of its earlier life is under way.
    pub fn open(&mut self, osd: OsdId) {
        self.drives.of[osd].disk_mut().reopen = true;
        self.machine.open_if_resting(self.now(), osd, &mut self.drives);
        self.carry_out();
    }

    /// What is misplaced, degraded and recovering over all pools.
    pub fn progress(&mut self) -> PgProgress {
        self.machine.node.progress()
    }

    /// What recovery and backfill have brought to all OSDs.
    pub fn received(&self) -> Received {
        self.machine.node.received()
    }

    /// Whether every copy is where it should be, and served.
    pub fn is_clean(&self) -> bool {
        let cluster = self.machine.node.cluster();
        cluster.is_clean() && cluster.map().pgs().all(|(_, state)| state.ready)
    }

    /// Who waited where since the last reset.
    pub fn waits(&self) -> Waits {
        self.machine.node.waits()
    }

    /// Measures waits from now on.
    pub fn reset_waits(&mut self) {
        self.machine.node.reset_waits();
    }

    /// The mechanical drive of an OSD, to look into; `None` if it is another one.
    pub fn hdd(&self, osd: OsdId) -> Option<&Hdd> {
        self.drives.of[osd].mechanical()
    }

    /// The same drive, to spoil.
    pub fn hdd_mut(&mut self, osd: OsdId) -> Option<&mut Hdd> {
        self.drives.of[osd].mechanical_mut()
    }

    /// An OSD's calibrated drive is so fast from now on.
    ///
    /// # Panics
    /// If the OSD stands on another one.
    pub fn set_service(&mut self, osd: OsdId, service: ServiceTime) {
        self.drives.of[osd].calibrated().set_service(service);
    }

    /// The map, as its owner has it.
    pub fn map(&self) -> &Map {
        self.machine.node.cluster().map()
    }

    /// The load.
    pub fn workload(&self) -> &W {
        &self.machine.load
    }

    /// The load, to read its results or to reset them.
    pub fn workload_mut(&mut self) -> &mut W {
        &mut self.machine.load
    }

    /// The stages of traced ops since the last call.
    pub fn take_trace(&mut self) -> Vec<TraceSpan> {
        std::mem::take(&mut self.machine.trace)
    }

    /// The node, to look into.
    pub(crate) fn node(&self) -> &Node {
        &self.machine.node
    }

    /// The OSDs.
    pub(crate) fn osds(&self) -> impl Iterator<Item = OsdId> + use<W> {
        self.drives.of.ids()
    }

    /// Sends a client's message on its way.
    pub(crate) fn send_message(&mut self, envelope: Box<Envelope>) {
        self.machine.carry(envelope, &mut self.clock);
        self.carry_out();
    }

    /// The disks as they are, when the node is gone.
    pub(crate) fn into_disks(self) -> Vec<SimDisk> {
        self.drives.of.into_values().map(|drive| drive.into_disks().data).collect()
    }

    /// An OSD's disk, to look into or to spoil.
    pub fn disk(&mut self, osd: OsdId) -> &mut SimDisk {
        &mut self.disks_of_mut(osd).data
    }

    /// An OSD, to look into.
    pub fn osd(&mut self, osd: OsdId) -> &mut Osd {
        self.machine.node.rack().osd_mut(osd)
    }

    /// The copies that list other objects than their primary does.
    pub fn copies_that_differ(&mut self) -> Vec<(PgId, OsdId)> {
        self.machine.node.copies_that_differ()
    }

    /// The node, to ask for reports.
    pub fn node_mut(&mut self) -> &mut Node {
        &mut self.machine.node
    }

    /// The cluster, to look into.
    pub fn cluster(&mut self) -> &mut Cluster {
        self.machine.node.cluster_mut()
    }
}
