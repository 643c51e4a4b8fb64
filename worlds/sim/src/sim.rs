//! The composition root of the simulated world: a cluster, its drives and links, a load, and one event loop.

use crate::events::SimEvent;
use crate::hdd::Hdd;
use crate::lanes::{LaneId, Lanes};
use crate::osd_drive::{Answer, OsdDrive, Running, Then};
use crate::workload::{Done, Issue, Workload};
use loadline_base::{IdVec, Span, Time};
use loadline_cluster::{Cluster, Config, OsdState, PoolId, PoolSpec};
use loadline_device::Outcome;
use loadline_osd::{
    Data, Effect, Effects, Envelope, Event, Message, Options, OsdId, Policy, Progress, Reply,
    TraceSpan, Waits,
};
use loadline_store::RequestId;

/// What a simulated world is built from.
#[derive(Clone, Debug, PartialEq)]
pub struct SimConfig {
    /// The engine.
    pub cluster: Config,
    /// What every OSD's drive is.
    pub drive: OsdDrive,
    /// Processor time that a worker spends on an item.
    pub worker_time: Span,
    /// One-way delay of a message, and of an op or a reply between client and OSD.
    pub link_delay: Span,
    /// What the push of a recovered object takes on top, for reading beside the queue and for transfer.
    pub object_handling: Span,
    /// Software time per client op, one op at a time over the whole cluster, only while recovery is pending: the
    /// study era's defect under mClock (qos.md 13.3b). `None` switches it off.
    pub software_stage: Option<Span>,
}

/// A cluster in virtual time under a load.
pub struct Sim<W> {
    now: Time,
    events: Lanes<SimEvent>,
    cluster: Cluster,
    drives: IdVec<OsdId, Running>,
    config: SimConfig,
    links: LaneId,
    pushes: LaneId,
    workers: LaneId,
    stage: LaneId,
    stage_free_at: Time,
    /// As of which map epoch, and the answer.
    recovery_pending: (u32, bool),
    load: W,
    tokens: Vec<u64>,
    issue: Vec<Issue>,
    effects: Effects,
    drive_lanes: IdVec<OsdId, LaneId>,
    wake: Option<Time>,
    trace: Vec<TraceSpan>,
}

impl<W: Workload> Sim<W> {
    /// A world at time zero.
    pub fn new(config: SimConfig, load: W) -> Sim<W> {
        let mut events = Lanes::new();
        let osds = config.cluster.osds;
        Sim {
            now: Time::ZERO,
            cluster: Cluster::new(&config.cluster),
            drives: (0..osds).map(|osd| Running::new(&config.drive, osd)).collect(),
            links: events.add_lane(),
            pushes: events.add_lane(),
            workers: events.add_lane(),
            stage: events.add_lane(),
            drive_lanes: (0..osds).map(|_| events.add_lane()).collect(),
            stage_free_at: Time::ZERO,
            recovery_pending: (0, false),
            load,
            tokens: Vec::new(),
            issue: Vec::new(),
            effects: Effects::default(),
            wake: None,
            trace: Vec::new(),
            events,
            config,
        }
    }

    /// Creates a pool.
    pub fn create_pool(&mut self, spec: PoolSpec) -> PoolId {
        let pool = self.cluster.create_pool(self.now, spec, &mut self.effects);
        self.carry_out();
        pool
    }

    /// Fills a pool with full objects in no time.
    pub fn prefill(&mut self, pool: PoolId, objects: u64) {
        self.cluster.prefill(pool, objects);
    }

    /// Marks an OSD up or down, in or out.
    pub fn set_osd(&mut self, osd: OsdId, state: OsdState) {
        self.cluster.set_osd(self.now, osd, state, &mut self.effects);
        self.carry_out();
    }

    /// New settings for every OSD at once.
    pub fn configure(&mut self, policy: &Policy, options: Options) {
        self.cluster.configure(self.now, policy, options, &mut self.effects);
        self.carry_out();
    }

    /// Lets the load begin.
    pub fn start_load(&mut self) {
        self.load.start(self.now, &mut self.issue);
        self.issue_ops();
    }

    /// Lets the load end; ops under way still finish.
    pub fn stop_load(&mut self) {
        self.load.stop();
    }

    /// Lets time pass.
    pub fn run_until(&mut self, until: Time) {
        while let Some((at, event)) = self.events.pop_until(until) {
            self.now = at;
            self.handle(event);
        }
        self.now = until;
    }

    fn handle(&mut self, event: SimEvent) {
        match event {
            SimEvent::Arrive(envelope) => self.step(envelope.to, Event::Message(envelope)),
            SimEvent::Computed(osd, run) => self.step(osd, Event::Computed(run)),
            SimEvent::DriveDone(osd, request) => {
                if let Some((at, next)) = self.drives[osd].calibrated().finish(self.now) {
                    self.schedule_drive(osd, at, next);
                }
                self.step(osd, Event::DeviceDone(request, Outcome::Done));
            }
            SimEvent::DriveStep(osd, at) => self.drive_stepped(osd, at),
            SimEvent::ReadDone(osd, request) => {
                self.step(osd, Event::DeviceDone(request, Outcome::Done));
            }
            SimEvent::Timer(osd, timer) => self.step(osd, Event::Timer(timer)),
            SimEvent::Staged(envelope) => self.carry_message(envelope),
            SimEvent::Replied(reply) => self.replied(reply),
            SimEvent::LoadWake(at) => {
                if self.wake == Some(at) {
                    self.wake = None;
                    self.load.woke(self.now, &mut self.issue);
                    self.issue_ops();
                }
            }
        }
    }

    fn step(&mut self, osd: OsdId, event: Event) {
        self.cluster.step(self.now, osd, event, &mut self.effects);
        self.carry_out();
    }

    /// Turns the engine's effects into events.
    fn carry_out(&mut self) {
        // Popping from the back is the cheapest way to empty a list that mostly holds one or two.
        if self.effects.world.len() > 1 {
            self.effects.world.reverse();
        }
        while let Some(effect) = self.effects.world.pop() {
            match effect {
                Effect::Send(envelope) => self.carry_message(envelope),
                Effect::Device(osd, submission) => {
                    match self.drives[osd].submit(self.now, &submission) {
                        Then::Done(at, id) => self.schedule_drive(osd, at, id),
                        Then::ReadDone(at, id) => {
                            self.events.push(at, SimEvent::ReadDone(osd, id));
                        }
                        Then::Step(at) => self.events.push(at, SimEvent::DriveStep(osd, at)),
                        Then::Nothing => {}
                    }
                }
                Effect::Compute(osd, run) => {
                    let at = self.now + self.config.worker_time;
                    self.events.push_lane(self.workers, at, SimEvent::Computed(osd, run));
                }
                Effect::Timer(osd, at, timer) => self.events.push(at, SimEvent::Timer(osd, timer)),
                Effect::Reply(reply) => {
                    let at = self.now + self.config.link_delay;
                    self.events.push_lane(self.links, at, SimEvent::Replied(reply));
                }
                Effect::Trace(span) => self.trace.push(span),
                Effect::Io(..) => unreachable!("calibrated drives hold no bytes"),
                Effect::Benched(..) => unreachable!("no study measures an OSD's room"),
            }
        }
    }

    /// A mechanical drive has come to a moment at which something happens inside.
    fn drive_stepped(&mut self, osd: OsdId, at: Time) {
        let mut answers = Vec::new();
        if let Some(next) = self.drives[osd].advance(at, &mut answers) {
            self.events.push(next, SimEvent::DriveStep(osd, next));
        }
        for Answer { request, outcome } in answers {
            self.step(osd, Event::DeviceDone(request, outcome));
        }
    }

    fn schedule_drive(&mut self, osd: OsdId, at: Time, request: RequestId) {
        self.events.push_lane(self.drive_lanes[osd], at, SimEvent::DriveDone(osd, request));
    }

    fn carry_message(&mut self, envelope: Envelope) {
        let (lane, delay) = match envelope.message {
            Message::Push(_) => (self.pushes, self.config.link_delay + self.config.object_handling),
            _ => (self.links, self.config.link_delay),
        };
        self.events.push_lane(lane, self.now + delay, SimEvent::Arrive(envelope));
    }

    fn replied(&mut self, reply: Reply) {
        let Some(issued) = self.cluster.finish(reply.op) else { return };
        let token = self.tokens[usize::from(reply.op.slot)];
        let done = Done { token, issued: issued.issued, reply };
        self.load.replied(self.now, &done, &mut self.issue);
        self.issue_ops();
    }

    fn issue_ops(&mut self) {
        let mut issue = std::mem::take(&mut self.issue);
        for Issue { target, token } in issue.drain(..) {
            let (op, envelope) = self.cluster.issue(self.now, &target, Data::NONE);
            let index = usize::from(op.slot);
            if self.tokens.len() <= index {
                self.tokens.resize(index + 1, 0);
            }
            self.tokens[index] = token;
            match (envelope, self.config.software_stage) {
                (Some(envelope), Some(stage)) if self.recovery_is_pending() => {
                    self.stage_free_at = self.stage_free_at.max(self.now) + stage;
                    let staged = SimEvent::Staged(envelope);
                    self.events.push_lane(self.stage, self.stage_free_at, staged);
                }
                (Some(envelope), _) => self.carry_message(envelope),
                (None, _) => {}
            }
        }
        self.issue = issue;
        self.schedule_wake();
    }

    fn schedule_wake(&mut self) {
        if let Some(at) = self.load.next_wake()
            && self.wake.is_none_or(|scheduled| at < scheduled)
        {
            self.wake = Some(at);
            self.events.push(at, SimEvent::LoadWake(at));
        }
    }

    /// Whether some copy is not where it should be; looked up again only when the map has changed.
    fn recovery_is_pending(&mut self) -> bool {
        let epoch = self.cluster.map().epoch();
        if self.recovery_pending.0 != epoch {
            self.recovery_pending = (epoch, !self.cluster.is_clean());
        }
        self.recovery_pending.1
    }

    /// The present time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// What is misplaced, degraded and recovering over all pools.
    pub fn progress(&mut self) -> Progress {
        self.cluster.progress()
    }

    /// Whether every copy is where it should be.
    pub fn is_clean(&self) -> bool {
        self.cluster.is_clean()
    }

    /// Who waited where since the last reset.
    pub fn waits(&self) -> Waits {
        self.cluster.waits()
    }

    /// Measures waits from now on.
    pub fn reset_waits(&mut self) {
        self.cluster.reset_waits();
    }

    /// Device requests submitted so far, over all drives.
    pub fn device_requests(&self) -> u64 {
        self.drives.values().map(Running::requests).sum()
    }

    /// The mechanical drive of an OSD, to look into; `None` if it is a calibrated one.
    pub fn hdd(&self, osd: OsdId) -> Option<&Hdd> {
        self.drives[osd].mechanical()
    }

    /// The same drive, to spoil.
    pub fn hdd_mut(&mut self, osd: OsdId) -> Option<&mut Hdd> {
        self.drives[osd].mechanical_mut()
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

    /// The cluster, to look into.
    pub fn cluster(&mut self) -> &mut Cluster {
        &mut self.cluster
    }
}
