//! Everything that the shards of one OSD are built from, and how work enters them.

use crate::{
    Capacity, Charge, ClassValues, ClientKey, ClientReads, CostModel, Era, Fifo, Lane,
    LoadlineConfig, MClock, MclockForm, Params, ParamsError, Preset, ProfileValues,
    PublishedConfig, Queue, RecordOwner, ReplicaWrites, SchedulerKind, ScrubDepth, ServiceClass,
    Work, WorkOptions, WorkSize, Wpq,
};
use alloc::vec::Vec;

/// What the trim of an object writes: a page of metadata.
const TRIMMED_BYTES: u64 = 4096;

/// A preset with the settings of one OSD filled in.
///
/// It is a plain value: build a new one when a setting changes, and give the scheduler its
/// [`ShardPlan::params`].
#[derive(Clone, Debug, PartialEq)]
pub struct ShardPlan {
    /// The behaviour.
    pub preset: Preset,
    /// The scheduler.
    pub scheduler: SchedulerKind,
    /// The OSD's capacity and its number of shards.
    pub capacity: Capacity,
    /// The nine parameters in force.
    pub values: ProfileValues,
    /// From bytes to mClock's cost.
    pub cost_model: CostModel,
    /// Priorities and input costs.
    pub work_options: WorkOptions,
    /// The priority from which work is strict.
    pub cut_off: u32,
}

/// How one piece of work enters a shard's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Its class.
    pub class: ServiceClass,
    /// Its client inside the class: with the class it names a flow.
    pub client: ClientKey,
    /// Its priority.
    pub priority: u32,
    /// Its cost, scaled for the scheduler in force.
    pub cost: u32,
}

/// A reservation or a limit in every unit that people think in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateFigures {
    /// Part of the capacity.
    pub part: f64,
    /// Cost units per second and shard.
    pub units_per_shard: f64,
    /// Small operations per second and shard.
    pub iops_per_shard: f64,
    /// Bytes per second and shard in large transfers.
    pub bytes_per_shard: f64,
    /// Small operations per second and OSD.
    pub iops_per_osd: f64,
    /// Bytes per second and OSD in large transfers.
    pub bytes_per_osd: f64,
}

/// What a class is promised and allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassFigures {
    /// The class.
    pub class: ServiceClass,
    /// `None` without a reservation.
    pub reservation: Option<RateFigures>,
    /// Relative to the other classes.
    pub weight: f64,
    /// `None` without a limit.
    pub limit: Option<RateFigures>,
}

impl ShardPlan {
    /// What one shard is told of a class.
    ///
    /// # Errors
    /// [`ParamsError`] for values that cannot be scheduled.
    pub fn params(&self, values: &ClassValues) -> Result<Params, ParamsError> {
        values.params(self.preset.profiles.unit, &self.capacity)
    }

    /// The class table of one shard, by [`ServiceClass::id`].
    ///
    /// Under WPQ the immediate class is no lane of its own: priorities alone decide, and a replica write
    /// (127) takes part in the lottery.
    ///
    /// # Errors
    /// [`ParamsError`] for values that cannot be scheduled.
    pub fn lanes(&self) -> Result<Vec<Lane>, ParamsError> {
        let lane = |class| match (self.values.of(class), self.scheduler) {
            (Some(values), _) => Ok(Lane::Shared(self.params(values)?)),
            (None, SchedulerKind::Mclock) => Ok(Lane::Strict),
            (None, SchedulerKind::Wpq | SchedulerKind::Fifo) => {
                Ok(Lane::Shared(self.params(&self.values.client)?))
            }
        };
        ServiceClass::ALL.into_iter().map(lane).collect()
    }

    /// An empty queue for one shard. Only WPQ draws from `seed`.
    ///
    /// # Errors
    /// [`ParamsError`] for values that cannot be scheduled.
    pub fn queue<T>(&self, seed: u64) -> Result<Queue<T>, ParamsError> {
        let lanes = self.lanes()?;
        Ok(match self.scheduler {
            SchedulerKind::Mclock => Queue::MClock(self.mclock(&lanes)),
            SchedulerKind::Wpq => Queue::Wpq(Wpq::new(&lanes, self.cut_off, seed)),
            SchedulerKind::Fifo => Queue::Fifo(Fifo::new(&lanes)),
        })
    }

    fn mclock<T>(&self, lanes: &[Lane]) -> MClock<T> {
        match self.preset.mclock {
            MclockForm::AsPublished { beside, .. } => {
                let cut_off = self.cut_off;
                let config = PublishedConfig { beside, cut_off, ..PublishedConfig::default() };
                MClock::as_published(config, lanes)
            }
            MclockForm::Loadline => MClock::loadline(LoadlineConfig::default(), lanes),
        }
    }

    /// How a piece of work enters: its class, its client, its priority and its scaled cost.
    ///
    /// `owner` is the client's number for client work, the sending OSD's for recovery messages, and 0 for
    /// what the OSD queues for itself (qos.md 1.2).
    pub fn admit(&self, work: Work, size: &WorkSize, owner: u64) -> Admission {
        let charge = self.charge(work, size);
        let cost = match self.scheduler {
            SchedulerKind::Mclock => self.cost_model.scaled(charge.bytes),
            SchedulerKind::Wpq | SchedulerKind::Fifo => {
                u32::try_from(charge.bytes).unwrap_or(u32::MAX)
            }
        };
        let client = self.client(owner);
        Admission { class: charge.class, client, priority: charge.priority, cost }
    }

    /// The published charge with the preset's switches applied.
    fn charge(&self, work: Work, size: &WorkSize) -> Charge {
        let Preset { era, replica_writes, client_reads, .. } = self.preset;
        let charge = Charge::published(era, self.scheduler, work, size, &self.work_options);
        match work {
            Work::ReplicaWrite if replica_writes == ReplicaWrites::AsClientWork => {
                Charge { class: ServiceClass::Client, ..charge }
            }
            Work::ClientOp | Work::BackgroundOp if client_reads == ClientReads::Data => {
                Charge { bytes: charge.bytes.max(size.read), ..charge }
            }
            // Each object, or state of one, is an operation: metadata is written, and its data given back.
            Work::SnapTrim | Work::PgDelete if client_reads == ClientReads::Data => {
                let each = self.cost_model.scaled(TRIMMED_BYTES);
                Charge { bytes: u64::from(size.objects) * u64::from(each), ..charge }
            }
            work if work.is_scrub() && self.scheduler == SchedulerKind::Mclock => {
                let bytes = match client_reads {
                    ClientReads::Data => Some(size.payload),
                    ClientReads::Message if era == Era::E2Plus => self.scrub_chunk(size),
                    ClientReads::Message => None,
                };
                Charge { bytes: bytes.unwrap_or(charge.bytes), ..charge }
            }
            _ => charge,
        }
    }

    /// What the step costs in E2+ that finds a scrub's chunk free, or that lists one on a replica.
    fn scrub_chunk(&self, size: &WorkSize) -> Option<u64> {
        let depth = match size.object_size_average {
            0 => ScrubDepth::Shallow,
            _ => ScrubDepth::Deep,
        };
        let event = self.work_options.scrub_event_cost;
        let cost =
            self.cost_model.scrub_chunk(event, size.objects, size.object_size_average, depth);
        cost.filter(|_| size.objects > 0)
    }

    /// The client as which an owner's work enters.
    pub fn client(&self, owner: u64) -> ClientKey {
        match (self.scheduler, self.preset.mclock) {
            (
                SchedulerKind::Mclock,
                MclockForm::AsPublished { records: RecordOwner::PerClass, .. },
            ) => ClientKey(0),
            _ => ClientKey(owner),
        }
    }

    /// The share of what they have alone that clients are promised: the reserved part of the capacity, or where nothing is reserved
    /// the part that their weight gives them beside all others. `None` under a scheduler that promises nothing.
    pub fn client_share(&self) -> Option<f64> {
        if self.scheduler != SchedulerKind::Mclock {
            return None;
        }
        let figures = self.figures().ok()?;
        let client = figures.iter().find(|class| class.class == ServiceClass::Client)?;
        let weights: f64 = figures.iter().map(|class| class.weight).sum();
        let by_weight = if weights > 0.0 { client.weight / weights } else { 0.0 };
        Some(client.reservation.map_or(by_weight, |reserved| reserved.part.min(1.0)))
    }

    /// What each class is promised and allowed, per shard and per OSD.
    ///
    /// # Errors
    /// [`ParamsError`] for values that cannot be scheduled.
    pub fn figures(&self) -> Result<Vec<ClassFigures>, ParamsError> {
        let figures = |class: ServiceClass| {
            let values = self.values.of(class).expect("a shared class has values");
            let params = self.params(values)?;
            let reservation = (params.reservation() > 0.0).then_some(params.reservation());
            Ok(ClassFigures {
                class,
                reservation: reservation.map(|rate| self.rate_figures(rate)),
                weight: params.weight(),
                limit: params.limit().map(|rate| self.rate_figures(rate)),
            })
        };
        ServiceClass::SHARED.into_iter().map(figures).collect()
    }

    /// In mixed units a small operation costs 1 and a large transfer its bytes times the cost per byte; in
    /// bytes an operation costs what the device could stream meanwhile, and a byte costs 1.
    fn rate_figures(&self, units_per_shard: f64) -> RateFigures {
        let (iops, bytes) = match self.cost_model {
            CostModel::Time { per_byte, .. } => (units_per_shard, units_per_shard / per_byte),
            CostModel::Bytes { per_io, .. } => (units_per_shard / per_io, units_per_shard),
        };
        let shards = f64::from(self.capacity.shards);
        RateFigures {
            part: units_per_shard / self.capacity.units_per_shard(self.preset.profiles.unit),
            units_per_shard,
            iops_per_shard: iops,
            bytes_per_shard: bytes,
            iops_per_osd: iops * shards,
            bytes_per_osd: bytes * shards,
        }
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
