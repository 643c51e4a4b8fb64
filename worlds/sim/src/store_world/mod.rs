//! One OSD's paged store in virtual time: clients, a scheduler, a processor, and the store on simulated disks.
//!
//! A client's op waits in the scheduler as class *client*, takes the processor, and enters the store. What the store
//! asks of its disks for that op goes to them at once: it was scheduled already. What a checkpoint asks waits in the same
//! scheduler, in the class that the plan gives to [`Work::Checkpoint`], and reaches a disk only when it is its turn.
//!
//! Equal configurations, loads and seeds give equal events.

mod gate;
mod processor;
mod workload;

#[cfg(test)]
mod tests;

pub use gate::GateCounts;
pub use processor::ProcessorCosts;
pub use workload::{StoreDone, StoreIssue, StoreWorkload};

use crate::disk::SimDisk;
use crate::store_host::StoreDisks;
use gate::{Gate, GateItem};
use loadline_base::{SlotId, Time};
use loadline_device::ClassTag;
use loadline_qos::{ParamsError, ShardPlan, Work, WorkSize};
use loadline_store::WindowBounds;
use loadline_store::paged::{
    Format, FormatError, Io, IoDone, IoId, Op, Options, Outbox, PagedStore, StoreDevice,
};
use processor::Processor;

/// What a store's world is built from.
pub struct StoreWorldConfig {
    /// The scheduler: how clients' ops and checkpoint requests are charged, and who goes first.
    pub plan: ShardPlan,
    /// What may be at the disks before nothing more is taken from the scheduler.
    pub window: WindowBounds,
    /// The store's settings. Their classes are replaced by those of the plan.
    pub options: Options,
    /// The store's regions.
    pub format: Format,
    /// Empty disks of the format's sizes.
    pub disks: StoreDisks,
    /// What work costs the processor.
    pub processor: ProcessorCosts,
    /// Seeds a scheduler that draws.
    pub seed: u64,
}

/// Why there is no such world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StoreWorldError {
    /// The plan cannot be scheduled.
    Plan(ParamsError),
    /// The store cannot be formatted like that.
    Format(FormatError),
}

/// A store with its disks, its scheduler and its clients.
pub struct StoreWorld<W> {
    now: Time,
    store: PagedStore<u64>,
    disks: StoreDisks,
    gate: Gate,
    processor: Processor,
    checkpoint: ClassTag,
    load: W,
    out: Outbox<u64>,
    issue: Vec<StoreIssue>,
}

impl<W: StoreWorkload> StoreWorld<W> {
    /// A freshly formatted store that begins to open, at time zero.
    ///
    /// # Errors
    /// [`StoreWorldError`] for a plan or a format that cannot be.
    pub fn new(config: StoreWorldConfig, load: W) -> Result<StoreWorld<W>, StoreWorldError> {
        let StoreWorldConfig { plan, window, mut options, format, mut disks, processor, seed } =
            config;
        let class = |work| ClassTag(plan.admit(work, &WorkSize::default(), 0).class as u8);
        options.classes.log = class(Work::ClientOp);
        options.classes.checkpoint = class(Work::Checkpoint);
        options.classes.restart = class(Work::PeeringEvent);
        disks.format(&format, options.protection).map_err(StoreWorldError::Format)?;
        let gate = Gate::new(plan, window, seed).map_err(StoreWorldError::Plan)?;
        let mut out = Outbox::new();
        let (data_bytes, log_bytes) = (format.data_bytes, format.log_device_bytes);
        let mut world = StoreWorld {
            now: Time::ZERO,
            store: PagedStore::open(Time::ZERO, options, data_bytes, log_bytes, &mut out),
            disks,
            gate,
            processor: Processor::new(processor),
            checkpoint: options.classes.checkpoint,
            load,
            out,
            issue: Vec::new(),
        };
        world.carry_out();
        Ok(world)
    }

    /// Lets the load begin.
    pub fn start_load(&mut self) {
        self.load.start(self.now, &mut self.issue);
        self.carry_out();
    }

    /// Lets the load end; ops under way still finish.
    pub fn stop_load(&mut self) {
        self.load.stop();
    }

    /// Lets time pass.
    pub fn run_until(&mut self, until: Time) {
        while let Some(at) = self.next_event().filter(|at| *at <= until) {
            self.now = at;
            self.step();
        }
        self.now = until;
    }

    /// When something happens next, by itself.
    pub fn next_event(&mut self) -> Option<Time> {
        let now = self.now;
        let scheduler = (self.processor.is_idle(now)).then(|| self.gate.next_take(now)).flatten();
        let events = [
            self.disks.data.next_done(),
            self.disks.log.as_ref().and_then(SimDisk::next_done),
            self.processor.next_done(now),
            self.store.next_tick(),
            self.load.next_wake(),
            scheduler,
        ];
        events.into_iter().flatten().min().map(|at| at.max(now))
    }

    /// Everything that is due now.
    fn step(&mut self) {
        self.answer(StoreDevice::Data);
        if self.disks.log.is_some() {
            self.answer(StoreDevice::Log);
        }
        if let Some(issue) = self.processor.take_done(self.now) {
            self.submit(issue);
        }
        if self.store.next_tick().is_some_and(|at| at <= self.now) {
            self.store.tick(self.now, &mut self.out);
            self.carry_out();
        }
        if self.load.next_wake().is_some_and(|at| at <= self.now) {
            self.load.woke(self.now, &mut self.issue);
        }
        self.carry_out();
    }

    fn answer(&mut self, target: StoreDevice) {
        let now = self.now;
        while let Some(done) = self.disks.of(target).finish(now) {
            let id = IoId(SlotId::from(done.id as usize));
            self.gate.left(id);
            let done = IoDone { id, outcome: done.outcome, data: done.data };
            self.store.done(now, done, &mut self.out);
            self.carry_out();
        }
    }

    fn submit(&mut self, issue: StoreIssue) {
        let class = self.gate.client_class();
        let op = Op { ask: issue.ask, lane: None, class, token: issue.token };
        let before = self.store.metrics().totals;
        self.store.submit(self.now, op, &mut self.out);
        self.processor.charge(self.now, &before, &self.store.metrics().totals);
        self.carry_out();
    }

    /// Hands on what the store and the load have asked for, until both are content.
    fn carry_out(&mut self) {
        let now = self.now;
        for io in std::mem::take(&mut self.out.io) {
            if io.request.class == self.checkpoint {
                self.gate.checkpoint_waits(now, io);
            } else {
                self.send(io);
            }
        }
        for completion in self.out.completions.drain(..) {
            let done = StoreDone::of(&completion);
            self.load.done(now, &done, &mut self.issue);
        }
        for issue in self.issue.drain(..) {
            self.gate.client_waits(now, issue);
        }
        while self.processor.is_idle(now) {
            match self.gate.take(now) {
                Some(GateItem::Client(issue)) => self.processor.begin(now, issue),
                Some(GateItem::Checkpoint(io)) => self.send(io),
                None => return,
            }
        }
    }

    fn send(&mut self, io: Io) {
        self.gate.entered(io.id, io.request.length);
        let id = usize::from(io.id.0) as u64;
        self.disks.of(io.target).submit(self.now, id, &io.request, io.data);
    }

    /// The present time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The store, to read its metrics and what waits in it.
    pub fn store(&self) -> &PagedStore<u64> {
        &self.store
    }

    /// The disks, to read what they were asked.
    pub fn disks(&self) -> &StoreDisks {
        &self.disks
    }

    /// What has passed the scheduler.
    pub fn gate_counts(&self) -> GateCounts {
        self.gate.counts()
    }

    /// The class of checkpoint requests.
    pub fn checkpoint_class(&self) -> ClassTag {
        self.checkpoint
    }

    /// The load.
    pub fn workload(&self) -> &W {
        &self.load
    }

    /// The load, to begin another phase of it.
    pub fn workload_mut(&mut self) -> &mut W {
        &mut self.load
    }
}
