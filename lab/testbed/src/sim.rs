//! A simulated cluster: virtual time, modelled drives, the study's own load.

use crate::{Heed, Outside, Pace, RecoveryProgress, Seen, Stop, Testbed};
use loadline_base::{Bytes, Span, Time};
use loadline_cluster::{OsdState, PoolId, PoolSpec};
use loadline_load::{BlockImage, Load, LoadSpec};
use loadline_osd::{ClientId, OsdId, OsdService, TraceSpan, Waits};
use loadline_sim::{Sim, SimConfig};
use std::ops::Range;

/// What a simulated cluster is made of.
pub struct SimulatedSpec {
    /// Engine, drives, links.
    pub world: SimConfig,
    /// Placement groups of each pool.
    pub pgs: u32,
    /// Copies of each object.
    pub copies: u32,
    /// Size of each object.
    pub object_size: Bytes,
    /// What the clients do.
    pub load: LoadSpec,
    /// Of the load.
    pub seed: u64,
    /// Client ops whose stages are kept.
    pub traced: Option<Range<u64>>,
}

/// A simulated cluster.
pub struct Simulated {
    sim: Sim<Load>,
    link: Span,
    pool: PoolSpec,
    image: BlockImage,
    /// Objects that were not in their places when an OSD had returned.
    returned: u64,
}

/// The published figures were read once a second; a short run needs it finer, and asking does not disturb a simulated cluster.
const TICK: Span = Span::from_millis(100);

const GONE: OsdState = OsdState { up: false, is_in: false };
const BACK: OsdState = OsdState { up: true, is_in: true };

impl Simulated {
    /// A cluster without pools.
    pub fn new(spec: SimulatedSpec) -> Simulated {
        let object_bytes = spec.object_size.get() as u32;
        let objects = spec.load.image.get() / u64::from(object_bytes);
        let image = BlockImage { pool: PoolId::new(0), objects, object_bytes };
        let mut load = Load::new(&spec.load, image, ClientId::new(1), spec.seed);
        if let Some(traced) = spec.traced {
            load.trace(traced);
        }
        let pool = PoolSpec {
            name: String::new(),
            pgs: spec.pgs,
            copies: spec.copies,
            object_bytes: spec.object_size.get(),
            recovery_priority: 0,
        };
        let link = spec.world.delays.link;
        Simulated { sim: Sim::new(spec.world, load), link, pool, image, returned: 0 }
    }

    fn left(&mut self) -> u64 {
        let progress = self.sim.progress();
        progress.misplaced + progress.degraded
    }
}

impl Testbed for Simulated {
    fn now(&self) -> Time {
        self.sim.now()
    }

    fn pace(&self) -> Pace {
        Pace { clean: Span::from_secs(1), recovery: TICK, first_sign: Span::ZERO }
    }

    fn pass(&mut self, until: Time) -> Result<(), Stop> {
        self.sim.run_until(until);
        Ok(())
    }

    fn make_image(&mut self, heed: &mut Heed<'_>) -> Result<(), Stop> {
        let pool = self.make_pool("image")?;
        assert_eq!(pool, self.image.pool, "the image's pool is the first");
        self.fill(pool, self.image.objects, heed)
    }

    fn make_pool(&mut self, name: &str) -> Result<PoolId, Stop> {
        Ok(self.sim.create_pool(PoolSpec { name: name.to_owned(), ..self.pool.clone() }))
    }

    fn fill(&mut self, pool: PoolId, objects: u64, _heed: &mut Heed<'_>) -> Result<(), Stop> {
        self.sim.prefill(pool, objects);
        Ok(())
    }

    fn take_out(&mut self, osd: OsdId) -> Result<(), Stop> {
        self.sim.set_osd(osd, GONE);
        Ok(())
    }

    fn bring_back(&mut self, osd: OsdId) -> Result<(), Stop> {
        self.sim.set_osd(osd, BACK);
        self.returned = self.left();
        Ok(())
    }

    /// What is filled here takes no requests.
    fn settle(&mut self, _heed: &mut Heed<'_>) -> Result<(), Stop> {
        Ok(())
    }

    fn count_from_now(&mut self) -> Result<(), Stop> {
        self.sim.reset_waits();
        Ok(())
    }

    fn start_load(&mut self, _heed: &mut Heed<'_>) -> Result<Time, Stop> {
        let now = self.sim.now();
        self.sim.workload_mut().measure_from(now);
        self.sim.start_load();
        Ok(now)
    }

    fn end_load(&mut self, _heed: &mut Heed<'_>) -> Result<Seen, Stop> {
        let seen = self.sim.workload().record(self.sim.now());
        Ok(Seen {
            iops: seen.iops(),
            latency: (&seen.latency).into(),
            seconds: seen.seconds,
            outside: Outside::Links { link: self.link, all: seen.outside },
        })
    }

    fn progress(&mut self) -> Result<RecoveryProgress, Stop> {
        let left = self.left();
        let moved = self.returned.saturating_sub(left);
        Ok(RecoveryProgress {
            moved,
            left,
            clean: self.sim.is_clean(),
            recovered: left == 0 && moved > 0,
        })
    }

    fn service(&mut self) -> Result<(Time, Vec<OsdService>), Stop> {
        let now = self.sim.now();
        let osds: Vec<OsdId> = self.sim.cluster().map().osds().ids().collect();
        let service = osds.into_iter().map(|osd| self.sim.osd(osd).service(now));
        Ok((now, service.collect()))
    }

    fn waits(&mut self) -> Result<Box<Waits>, Stop> {
        Ok(Box::new(self.sim.waits()))
    }

    fn device_requests(&mut self) -> Result<u64, Stop> {
        Ok(self.sim.device_requests())
    }

    fn take_trace(&mut self) -> Vec<TraceSpan> {
        self.sim.take_trace()
    }
}
