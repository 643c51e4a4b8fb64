//! The simulated world: one node in virtual time, with links, drives and a load, and one loop that lets the next thing happen.
//!
//! What an OSD stands on is a part that is named: the direct store on modelled drives, as studies of another system's figures
//! want it, or the paged store on disks with contents and faults. A load issues ops and hears of their replies, and what it writes
//! to a disk with contents is zeros; a test that issues its own ops has none ([`ByHand`]).
//!
//! Of what is due at one time, links come first, then workers and modelled drives, then disks, then timers.

use crate::disk::SimDisk;
use crate::events::SimEvent;
use crate::hdd::Hdd;
use crate::lanes::{LaneId, Lanes};
use crate::osd_drive::{DriveAnswer, OsdDrive, RunningDrive, Then};
use crate::workload::{ByHand, Issue, OpDone, Workload};
use loadline_base::{IdVec, Span, Time};
use loadline_cluster::{
    Cluster, Config, Map, OsdState, OwnerEffects, PoolId, PoolSpec, StartError,
};
use loadline_device::Outcome;
use loadline_node::{Delays, Lateness, Node};
use loadline_osd::{
    Data, Effect, Envelope, Event, Message, OpKind, Osd, OsdId, OsdOptions, OsdSet, PgId,
    PgProgress, Policy, Reply, TraceSpan, Waits,
};
use loadline_store::{RequestId, Submission, paged};

/// What a simulated world of modelled drives is built from.
#[derive(Clone, Debug, PartialEq)]
pub struct SimConfig {
    /// The engine.
    pub cluster: Config,
    /// What every OSD's drive is.
    pub drive: OsdDrive,
    /// What takes time besides the drives.
    pub delays: Delays,
    /// Software time per client op, one op at a time over the whole cluster, only while recovery is pending: the
    /// study era's defect under mClock (qos.md 13.3b). `None` switches it off.
    pub software_stage: Option<Span>,
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
}

/// Where events of one kind go, which come in the order of their times.
#[derive(Clone, Debug)]
struct SimLanes {
    links: LaneId,
    pushes: LaneId,
    workers: LaneId,
    stage: LaneId,
    drives: IdVec<OsdId, LaneId>,
}

/// The software stage of the study's era.
#[derive(Clone, Copy, Debug, Default)]
struct SoftwareStage {
    /// Time per client op, if there is one.
    time: Option<Span>,
    free_at: Time,
    /// Whether recovery is pending: as of which map epoch, and the answer.
    recovery_pending: (u32, bool),
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
pub struct Sim<W = ByHand> {
    now: Time,
    events: Lanes<SimEvent>,
    node: Node,
    drives: IdVec<OsdId, RunningDrive>,
    /// Whether the drives are disks with contents, which know themselves when they answer.
    has_disks: bool,
    lanes: SimLanes,
    stage: SoftwareStage,
    load: W,
    tokens: Vec<u64>,
    due: LoadDue,
    trace: Vec<TraceSpan>,
    /// Bytes of images and edits in each store's log that a worker has paid for.
    logged: IdVec<OsdId, u64>,
}

impl<W: Workload> Sim<W> {
    /// A world of direct stores on modelled drives at time zero.
    pub fn new(config: SimConfig, load: W) -> Sim<W> {
        let SimConfig { cluster, drive, delays, software_stage } = config;
        let drives = (0..cluster.osds).map(|osd| RunningDrive::new(&drive, osd)).collect();
        let node = Node::new(&cluster, delays);
        let stage = SoftwareStage { time: software_stage, ..SoftwareStage::default() };
        Sim { stage, ..Sim::around(Time::ZERO, node, drives, load) }
    }

    /// A world of paged stores on disks, none of which is open yet.
    pub(crate) fn on_disks(now: Time, config: DisksConfig<'_>, load: W) -> Sim<W> {
        let DisksConfig { cluster, stores, disks, delays } = config;
        let node = Node::on_disks(cluster, stores, delays);
        let drives = disks.into_iter().map(RunningDrive::on_disk).collect();
        Sim { has_disks: true, ..Sim::around(now, node, drives, load) }
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
        for osd in sim.drives().ids().collect::<Vec<_>>() {
            sim.open(osd);
        }
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

    fn around(now: Time, node: Node, drives: IdVec<OsdId, RunningDrive>, load: W) -> Sim<W> {
        let mut events = Lanes::new();
        Sim {
            now,
            node,
            lanes: SimLanes {
                links: events.add_lane(),
                pushes: events.add_lane(),
                workers: events.add_lane(),
                stage: events.add_lane(),
                drives: drives.ids().map(|_| events.add_lane()).collect(),
            },
            logged: drives.ids().map(|_| 0).collect(),
            drives,
            has_disks: false,
            stage: SoftwareStage::default(),
            load,
            tokens: Vec::new(),
            due: LoadDue::default(),
            trace: Vec::new(),
            events,
        }
    }

    /// Has the map's owner do something, and carries out what follows.
    pub fn change<T>(&mut self, change: impl FnOnce(&mut Cluster, &mut OwnerEffects) -> T) -> T {
        let changed = self.node.change(self.now, change);
        self.carry_out();
        changed
    }

    /// Creates a pool.
    pub fn create_pool(&mut self, spec: PoolSpec) -> PoolId {
        self.change(|cluster, fx| cluster.create_pool(spec, fx))
    }

    /// Fills a pool with full objects in no time.
    pub fn prefill(&mut self, pool: PoolId, objects: u64) {
        self.node.prefill(pool, objects);
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
        self.node.be_late(lateness);
    }

    /// Lets the load begin.
    pub fn start_load(&mut self) {
        self.load.start(self.now, &mut self.due.issue);
        self.issue_ops();
        self.carry_out();
    }

    /// Lets the load end; ops under way still finish.
    pub fn stop_load(&mut self) {
        self.load.stop();
    }

    /// Lets time pass.
    pub fn run_until(&mut self, until: Time) {
        while self.step_until(until) {}
        self.now = until;
    }

    /// Lets things happen until `ready` says so. False if nothing ever will before that.
    pub fn wait_until(&mut self, mut ready: impl FnMut(&Sim<W>) -> bool) -> bool {
        while !ready(self) {
            if !self.step_until(Time::MAX) {
                return false;
            }
        }
        true
    }

    /// Lets the next thing happen, if it is due by `until`.
    #[inline]
    pub(crate) fn step_until(&mut self, until: Time) -> bool {
        let disk = if self.has_disks { self.next_disk() } else { None };
        let timer = self.node.next_timer();
        let others = disk.map_or(timer, |(at, _)| at.min(timer));
        if let Some((at, event)) = self.events.pop_until(others.min(until)) {
            self.now = at;
            self.handle(event);
        } else if others > until || others == Time::MAX {
            return false;
        } else {
            // A disk that was made to wait may be late.
            self.now = self.now.max(others);
            match disk {
                Some((at, osd)) if at <= self.now => self.disk_answers(osd),
                _ => {
                    self.node.fire(self.now);
                    self.carry_out();
                    self.reopen_closed();
                }
            }
        }
        self.carry_out();
        true
    }

    fn next_disk(&self) -> Option<(Time, OsdId)> {
        let answers = self.drives.iter().map(|(osd, drive)| Some((drive.next_done()?, osd)));
        answers.flatten().min()
    }

    #[inline]
    fn handle(&mut self, event: SimEvent) {
        match event {
            SimEvent::Arrive(envelope) => {
                self.node.step(self.now, envelope.to, Event::Message(envelope));
            }
            SimEvent::Computed(osd, run) => self.node.step(self.now, osd, Event::Computed(run)),
            SimEvent::DriveDone(osd, request) => {
                if let Some((at, next)) = self.drives[osd].calibrated().finish(self.now) {
                    self.schedule_drive(osd, at, next);
                }
                self.node.step(self.now, osd, Event::DeviceDone(request, Outcome::Done));
            }
            SimEvent::DriveStep(osd, at) => self.drive_stepped(osd, at),
            SimEvent::ReadDone(osd, request) => {
                self.node.step(self.now, osd, Event::DeviceDone(request, Outcome::Done));
            }
            SimEvent::Staged(envelope) => self.carry(envelope),
            SimEvent::Replied(reply) => self.replied(reply),
            SimEvent::LoadWake(at) => {
                if self.due.wake == Some(at) {
                    self.due.wake = None;
                    self.load.woke(self.now, &mut self.due.issue);
                    self.issue_ops();
                }
            }
        }
    }

    /// Lets the node go on, and does what it asks for, until it is at rest.
    #[inline]
    pub(crate) fn carry_out(&mut self) {
        while let Some(effect) = self.node.next(self.now) {
            match effect {
                Effect::Send(envelope) => self.carry(envelope),
                Effect::Device(osd, submission) => {
                    self.request(osd, &submission, Vec::new());
                }
                Effect::Io(osd, life, io) => {
                    let (id, request) = (RequestId::new(io.id.0, life), io.request);
                    self.request(osd, &Submission { id, request, commits: true }, io.data);
                }
                Effect::Compute(osd, run) => {
                    let (at, event) =
                        (self.now + self.node.delays().worker, SimEvent::Computed(osd, run));
                    match self.node.delays().logged_kib {
                        Span::ZERO => self.events.push_lane(self.lanes.workers, at, event),
                        kib => {
                            let at = at + kib * self.newly_logged(osd) / 1024;
                            self.events.push(at, event);
                        }
                    }
                }
                Effect::PutEnded(_, end) => {
                    self.load.put_ended(self.now, &end);
                    self.issue_ops();
                }
                Effect::Reply(reply) => match self.node.delays().link {
                    Span::ZERO => self.replied(reply),
                    link => {
                        self.events.push_lane(
                            self.lanes.links,
                            self.now + link,
                            SimEvent::Replied(reply),
                        );
                    }
                },
                Effect::Trace(span) => self.trace.push(span),
                effect => unreachable!("neither asked for nor left by the node: {effect:?}"),
            }
        }
    }

    /// Bytes of images and edits that came into the log of an OSD's store since it was last asked.
    fn newly_logged(&mut self, osd: OsdId) -> u64 {
        let store = self.node.osd(osd).paged_store();
        let all = store.map_or(0, |store| store.metrics().totals.log_physical_bytes);
        all.saturating_sub(std::mem::replace(&mut self.logged[osd], all))
    }

    #[inline]
    fn request(&mut self, osd: OsdId, submission: &Submission, data: Vec<u8>) {
        match self.drives[osd].submit(self.now, submission, data) {
            Then::Done(at, id) => self.schedule_drive(osd, at, id),
            Then::ReadDone(at, id) => self.events.push(at, SimEvent::ReadDone(osd, id)),
            Then::Step(at) => self.events.push(at, SimEvent::DriveStep(osd, at)),
            Then::Nothing => {}
        }
    }

    /// A mechanical drive has come to a moment at which something happens inside.
    fn drive_stepped(&mut self, osd: OsdId, at: Time) {
        let mut answers = Vec::new();
        if let Some(next) = self.drives[osd].advance(at, &mut answers) {
            self.events.push(next, SimEvent::DriveStep(osd, next));
        }
        for DriveAnswer { request, outcome } in answers {
            self.node.happened(osd, Event::DeviceDone(request, outcome));
        }
    }

    fn disk_answers(&mut self, osd: OsdId) {
        let (life, done) = self.drives[osd].disk_mut().answer(self.now);
        self.node.happened(osd, Event::IoDone(life, done));
        self.carry_out();
        self.reopen_if_idle(osd);
    }

    /// Opens an OSD's disk again, as soon as nothing of its earlier life is under way.
    pub fn open(&mut self, osd: OsdId) {
        self.drives[osd].disk_mut().reopen = true;
        self.reopen_if_idle(osd);
        self.carry_out();
    }

    /// An OSD that was to close its disk before it is opened again may have heard of it now.
    fn reopen_closed(&mut self) {
        if self.has_disks {
            self.drives.ids().for_each(|osd| self.reopen_if_idle(osd));
        }
    }

    fn reopen_if_idle(&mut self, osd: OsdId) {
        let drive = self.drives[osd].disk_mut();
        if drive.reopen && drive.disk.in_flight() == 0 && !self.node.osd(osd).has_disk() {
            drive.reopen = false;
            let bytes = drive.disk.spec().size;
            self.node.change(self.now, |cluster, fx| cluster.open_osd(osd, bytes, fx));
        }
    }

    fn schedule_drive(&mut self, osd: OsdId, at: Time, request: RequestId) {
        self.events.push_lane(self.lanes.drives[osd], at, SimEvent::DriveDone(osd, request));
    }

    /// Takes a message over its link.
    #[inline]
    fn carry(&mut self, envelope: Envelope) {
        let delay = self.node.delays().of(&envelope.message);
        if delay == Span::ZERO {
            return self.node.send(envelope);
        }
        let lane = if matches!(envelope.message, Message::Push(_)) {
            self.lanes.pushes
        } else {
            self.lanes.links
        };
        self.events.push_lane(lane, self.now + delay, SimEvent::Arrive(envelope));
    }

    fn replied(&mut self, reply: Reply) {
        let Some(issued) = self.cluster().finish(reply.op) else { return };
        let token = self.tokens.get(usize::from(reply.op.slot)).copied().unwrap_or_default();
        let done = OpDone { token, issued: issued.issued, reply };
        self.load.replied(self.now, &done, &mut self.due.issue);
        self.issue_ops();
    }

    fn issue_ops(&mut self) {
        let mut issue = std::mem::take(&mut self.due.issue);
        for Issue { target, token } in issue.drain(..) {
            let data = match target.kind {
                OpKind::Write if self.has_disks => Data::new(vec![0; target.length as usize]),
                _ => Data::NONE,
            };
            let (op, envelope) = self.node.cluster_mut().issue(self.now, &target, data);
            let index = usize::from(op.slot);
            if self.tokens.len() <= index {
                self.tokens.resize(index + 1, 0);
            }
            self.tokens[index] = token;
            match (envelope, self.stage.time) {
                (Some(envelope), Some(stage)) if self.recovery_is_pending() => {
                    self.stage.free_at = self.stage.free_at.max(self.now) + stage;
                    let staged = SimEvent::Staged(envelope);
                    self.events.push_lane(self.lanes.stage, self.stage.free_at, staged);
                }
                (Some(envelope), _) => self.carry(envelope),
                (None, _) => {}
            }
        }
        self.due.issue = issue;
        for (osd, put) in self.load.puts() {
            self.node.happened(osd, Event::Put(put));
        }
        self.schedule_wake();
    }

    fn schedule_wake(&mut self) {
        if let Some(at) = self.load.next_wake()
            && self.due.wake.is_none_or(|scheduled| at < scheduled)
        {
            self.due.wake = Some(at);
            self.events.push(at, SimEvent::LoadWake(at));
        }
    }

    /// Whether some copy is not where it should be; looked up again only when the map has changed.
    fn recovery_is_pending(&mut self) -> bool {
        let epoch = self.node.cluster().map().epoch();
        if self.stage.recovery_pending.0 != epoch {
            self.stage.recovery_pending = (epoch, !self.node.cluster().is_clean());
        }
        self.stage.recovery_pending.1
    }

    /// The present time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// What is misplaced, degraded and recovering over all pools.
    pub fn progress(&mut self) -> PgProgress {
        self.node.progress()
    }

    /// Whether every copy is where it should be, and served.
    pub fn is_clean(&self) -> bool {
        let cluster = self.node.cluster();
        cluster.is_clean() && cluster.map().pgs().all(|(_, state)| state.ready)
    }

    /// Who waited where since the last reset.
    pub fn waits(&self) -> Waits {
        self.node.waits()
    }

    /// Measures waits from now on.
    pub fn reset_waits(&mut self) {
        self.node.reset_waits();
    }

    /// Device requests submitted so far, over all drives.
    pub fn device_requests(&self) -> u64 {
        self.drives.values().map(RunningDrive::requests).sum()
    }

    /// The mechanical drive of an OSD, to look into; `None` if it is another one.
    pub fn hdd(&self, osd: OsdId) -> Option<&Hdd> {
        self.drives[osd].mechanical()
    }

    /// The same drive, to spoil.
    pub fn hdd_mut(&mut self, osd: OsdId) -> Option<&mut Hdd> {
        self.drives[osd].mechanical_mut()
    }

    /// The map, as its owner has it.
    pub fn map(&self) -> &Map {
        self.node.cluster().map()
    }

    /// The load.
    pub fn workload(&self) -> &W {
        &self.load
    }

    /// The load, to read its results or to reset them.
    pub fn workload_mut(&mut self) -> &mut W {
        &mut self.load
    }

    /// The stages of traced ops since the last call.
    pub fn take_trace(&mut self) -> Vec<TraceSpan> {
        std::mem::take(&mut self.trace)
    }

    /// The node, to look into.
    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// The drives, to look into.
    pub(crate) fn drives(&self) -> &IdVec<OsdId, RunningDrive> {
        &self.drives
    }

    /// The drives, to spoil or to replace.
    pub(crate) fn drives_mut(&mut self) -> &mut IdVec<OsdId, RunningDrive> {
        &mut self.drives
    }

    /// Sends a client's message on its way.
    pub(crate) fn send(&mut self, envelope: Envelope) {
        self.carry(envelope);
        self.carry_out();
    }

    /// The disks as they are, when the node is gone.
    pub(crate) fn into_disks(self) -> Vec<SimDisk> {
        self.drives.into_values().map(RunningDrive::into_disk).collect()
    }

    /// An OSD's disk, to look into or to spoil.
    pub fn disk(&mut self, osd: OsdId) -> &mut SimDisk {
        &mut self.drives_mut()[osd].disk_mut().disk
    }

    /// An OSD, to look into.
    pub fn osd(&mut self, osd: OsdId) -> &mut Osd {
        self.node.osd(osd)
    }

    /// The copies that list other objects than their primary does.
    pub fn copies_that_differ(&mut self) -> Vec<(PgId, OsdId)> {
        self.node.copies_that_differ()
    }

    /// The node, to ask for reports.
    pub fn node_mut(&mut self) -> &mut Node {
        &mut self.node
    }

    /// The cluster, to look into.
    pub fn cluster(&mut self) -> &mut Cluster {
        self.node.cluster_mut()
    }
}
