//! A simulated cluster: virtual time, modelled drives, the study's own load. It stands on the direct store, whose pools are filled at
//! once, or on the paged one, into which everything is written.

use crate::{
    ClonedObjects, FIRST_SIGN, Heed, KnownLater, Outside, Pace, RecoveryProgress, Seen,
    ServicesLeft, Stop, TestImage, Testbed, has_images,
};
use loadline_base::{Bytes, Span, Time};
use loadline_cluster::images::{ImageId, ImageQos};
use loadline_cluster::{OsdState, PoolId, PoolSpec, Target};
use loadline_load::{BlockImage, Load, LoadRecord, Loads};
use loadline_osd::{
    ClientId, Lineage, OpKind, OsdId, OsdService, ScrubKind, ScrubRequest, SnapshotNo, TenantTable,
    TraceSpan, Views, Waits,
};
use loadline_sim::disk::{OtherAccesses, SimDisk, SimDiskSpec, Timing};
use loadline_sim::{DisksConfig, Issue, OpDone, Sim, SimConfig, StoreDisks, Workload};
use loadline_stats::LatencyHistogram;
use loadline_store::ObjectNo;
use loadline_store::paged::{Format, Options};
use std::ops::Range;
use std::sync::Arc;

/// What a simulated cluster is made of.
pub struct SimulatedSpec {
    /// Engine, drives, links.
    pub world: SimConfig,
    /// What the OSDs' disks are, where their stores are the paged ones; then the drives of `world` are not there.
    pub disks: Option<SimulatedDisk>,
    /// Placement groups of each pool.
    pub pgs: u32,
    /// Copies of each object.
    pub copies: u32,
    /// Size of each object.
    pub object_size: Bytes,
    /// The images with their clients.
    pub images: Vec<TestImage>,
    /// Of the loads.
    pub seed: u64,
    /// Ops of the first image's clients whose stages are kept.
    pub traced: Option<Range<u64>>,
}

/// A disk with contents under an OSD.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedDisk {
    /// How much it holds.
    pub size: Bytes,
    /// How fast it is.
    pub timing: Timing,
    /// How it serves what is no write of blocks that hold something, where that differs.
    pub others: Option<OtherAccesses>,
    /// How the store on it is set.
    pub stores: Options,
}

/// Stores of studies that are no node's twin: with little memory for pages, so that many fit beside each other.
pub fn small_stores() -> Options {
    Options { cache: CACHE, ..Options::default() }
}

/// Who sends ops: the study's load, and before it whoever fills pools.
struct Clients {
    loads: Loads,
    filling: Option<Filling>,
}

/// Whole objects that are being written.
struct Filling {
    pool: PoolId,
    first: ObjectNo,
    object_bytes: u32,
    objects: u64,
    sent: u64,
    done: u64,
}

/// A simulated cluster.
pub struct Simulated {
    sim: Sim<Clients>,
    is_paged: bool,
    pool: PoolSpec,
    images: Vec<TestImage>,
    places: Vec<BlockImage>,
    /// Objects that recovery had brought before an OSD was brought back.
    received: u64,
}

/// The published figures were read once a second; a short run needs it finer, and asking does not disturb a simulated cluster.
const TICK: Span = Span::from_millis(100);

/// A step that makes no headway for so long has failed.
const PATIENCE: Span = Span::from_secs(60);

/// A cluster whose disks had nothing to do for so long is at rest; one that never comes to rest is left alone after a time.
const QUIET: Span = Span::from_secs(2);
const QUIET_LIMIT: Span = Span::from_secs(60);

/// What each store has for pages that is no node's.
const CACHE: Bytes = Bytes::from_mib(64);

/// Whole objects under way while a pool is filled.
const FILL_DEPTH: u64 = 16;

const GONE: OsdState = OsdState { up: false, is_in: false };
const EXPECTED: OsdState = OsdState { up: false, is_in: true };
const BACK: OsdState = OsdState { up: true, is_in: true };

/// The snapshot of an image with clones.
const SNAPSHOT: SnapshotNo = SnapshotNo(1);

/// The number of the image that stands there.
fn number(at: usize) -> ImageId {
    ImageId { family: at as u16 + 1, member: 0 }
}

impl Simulated {
    /// A cluster without pools.
    ///
    /// # Errors
    /// [`Stop::Failed`] if no store can be made on its disks.
    pub fn start(spec: SimulatedSpec) -> Result<Simulated, Stop> {
        let object_bytes = spec.object_size.get() as u32;
        let is_divided = has_images(&spec.images);
        let place = |(at, image): (usize, &TestImage)| {
            let id = number(at);
            let first = if is_divided { id.object(0) } else { ObjectNo(0) };
            let objects = image.load.image.get() / u64::from(object_bytes);
            BlockImage { pool: PoolId::new(0), first, objects, object_bytes }
        };
        let places: Vec<BlockImage> = spec.images.iter().enumerate().map(place).collect();
        let clients = spec.images.iter().zip(&places).zip(1..);
        let mut loads: Vec<Load> = clients
            .map(|((image, place), client)| {
                let seed = spec.seed.wrapping_add(u64::from(client - 1) << 32);
                Load::new(&image.load, *place, ClientId::new(client), seed)
            })
            .collect();
        if let Some((traced, load)) = spec.traced.zip(loads.first_mut()) {
            load.trace(traced);
        }
        let pool = PoolSpec {
            name: String::new(),
            pgs: spec.pgs,
            copies: spec.copies,
            object_bytes: spec.object_size.get(),
            recovery_priority: 0,
        };
        let clients = Clients { loads: Loads::new(loads), filling: None };
        let is_paged = spec.disks.is_some();
        let sim = match spec.disks {
            None => Sim::new(spec.world, clients),
            Some(disk) => on_disks(&spec.world, disk, spec.seed, clients)?,
        };
        Ok(Simulated { sim, is_paged, pool, images: spec.images, places, received: 0 })
    }

    /// The images share what clients get by their terms.
    fn share(&mut self) {
        let (osds, copies) = (self.sim.map().osds().len() as u32, self.pool.copies);
        let terms = |(at, image): (usize, &TestImage)| (number(at).get(), image.qos.terms(copies));
        let images = self.images.iter().enumerate().map(terms).collect();
        let table = Arc::new(TenantTable { osds, images });
        self.sim.change(|cluster, fx| cluster.share_images(table, fx));
    }

    /// Whole objects of a pool from this one on.
    fn fill_from(
        &mut self,
        pool: PoolId,
        (first, objects): (ObjectNo, u64),
        heed: &mut Heed<'_>,
    ) -> Result<(), Stop> {
        if !self.is_paged {
            self.sim.prefill(pool, first, objects);
            return Ok(());
        }
        let object_bytes = self.sim.map().pools()[&pool].spec.object_bytes as u32;
        let filling = Filling { pool, first, object_bytes, objects, sent: 0, done: 0 };
        self.sim.workload_mut().filling = Some(filling);
        self.sim.start_load();
        let (mut done, mut until) = (0, self.sim.now() + PATIENCE);
        while done < objects {
            self.sim.run_until(self.sim.now() + TICK);
            let before = done;
            done = self.sim.workload().filling.as_ref().map_or(0, |filling| filling.done);
            if done > before {
                until = self.sim.now() + PATIENCE;
            } else if self.sim.now() > until {
                return Err(Stop::Failed(format!("no object was written within {PATIENCE}")));
            }
            heed.at(done as f64 / objects as f64)?;
        }
        self.sim.workload_mut().filling = None;
        Ok(())
    }

    /// The image that has clones, behind those of the clients.
    fn with_clones(&self) -> ImageId {
        number(self.images.len())
    }

    fn show_snapshots(&mut self, pool: PoolId, live: Vec<SnapshotNo>) {
        let image = self.with_clones().get();
        let newest = live.last().copied().unwrap_or(SnapshotNo::HEAD);
        let object_bytes = self.sim.map().pools()[&pool].spec.object_bytes;
        let lineage = Lineage { newest, object_bytes, ancestors: Vec::new() };
        let mut views = Views::default();
        views.insert(image, SnapshotNo::HEAD, lineage);
        views.insert_live(image, live);
        let views = Arc::new(views);
        self.sim.change(|cluster, fx| cluster.show_views(&views, fx));
    }

    fn left(&mut self) -> u64 {
        let progress = self.sim.progress();
        progress.misplaced + progress.degraded
    }
}

fn on_disks(
    world: &SimConfig,
    disk: SimulatedDisk,
    seed: u64,
    clients: Clients,
) -> Result<Sim<Clients>, Stop> {
    let SimulatedDisk { size, timing, others, stores } = disk;
    let spec = SimDiskSpec { size, sector: 4096, write_cache: false, timing };
    let formatted = |osd| {
        let id = seed ^ u64::from(osd) << 32;
        let data = SimDisk::new(spec, id).with_others(others);
        let mut disks = StoreDisks { data, log: None };
        disks.format(&Format::of_disk(id, size), stores.protection).map(|()| disks.data)
    };
    let disks = (0..world.cluster.osds).map(formatted).collect::<Result<Vec<_>, _>>();
    let disks = disks.map_err(|error| format!("no store fits a disk of {size}: {error:?}"))?;
    let config = DisksConfig {
        cluster: &world.cluster,
        stores,
        disks,
        delays: world.delays,
        host: world.host.clone(),
    };
    let opened = Sim::opened(config, clients);
    opened.map_err(|(error, _)| Stop::Failed(format!("the disks do not open: {error:?}")))
}

impl Filling {
    fn send(&mut self, issue: &mut Vec<Issue>) {
        while self.sent < self.objects && self.sent - self.done < FILL_DEPTH {
            let target = Target {
                client: ClientId::new(0),
                kind: OpKind::Write,
                traced: false,
                background: false,
                pool: self.pool,
                object: ObjectNo(self.first.0 + self.sent),
                offset: 0,
                length: self.object_bytes,
            };
            issue.push(Issue { target, token: self.sent });
            self.sent += 1;
        }
    }
}

impl Workload for Clients {
    fn start(&mut self, now: Time, issue: &mut Vec<Issue>) {
        match &mut self.filling {
            Some(filling) => filling.send(issue),
            None => self.loads.start(now, issue),
        }
    }

    fn replied(&mut self, now: Time, done: &OpDone, issue: &mut Vec<Issue>) {
        match &mut self.filling {
            Some(filling) => {
                filling.done += 1;
                filling.send(issue);
            }
            None => self.loads.replied(now, done, issue),
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.loads.next_wake()
    }

    fn woke(&mut self, now: Time, issue: &mut Vec<Issue>) {
        self.loads.woke(now, issue);
    }

    fn stop(&mut self) {
        self.loads.stop();
    }
}

impl Testbed for Simulated {
    fn now(&self) -> Time {
        self.sim.now()
    }

    fn pace(&self) -> Pace {
        Pace { clean: Span::from_secs(1), recovery: TICK, first_sign: FIRST_SIGN }
    }

    fn pass(&mut self, until: Time) -> Result<(), Stop> {
        self.sim.run_until(until);
        Ok(())
    }

    fn make_images(&mut self, heed: &mut Heed<'_>) -> Result<(), Stop> {
        let pool = self.make_pool("image", Bytes::new(self.pool.object_bytes))?;
        for place in self.places.clone() {
            assert_eq!(pool, place.pool, "the images' pool is the first");
            self.fill_from(pool, (place.first, place.objects), heed)?;
        }
        if self.images.iter().any(|image| image.qos != ImageQos::default()) {
            self.share();
        }
        Ok(())
    }

    fn make_pool(&mut self, name: &str, object_size: Bytes) -> Result<PoolId, Stop> {
        let (name, object_bytes) = (name.to_owned(), object_size.get());
        Ok(self.sim.create_pool(PoolSpec { name, object_bytes, ..self.pool.clone() }))
    }

    fn fill(&mut self, pool: PoolId, objects: u64, heed: &mut Heed<'_>) -> Result<(), Stop> {
        self.fill_from(pool, (ObjectNo(0), objects), heed)
    }

    fn fill_with_clones(
        &mut self,
        pool: PoolId,
        ClonedObjects { objects, changed }: ClonedObjects,
        heed: &mut Heed<'_>,
    ) -> Result<(), Stop> {
        let first = self.with_clones().object(0);
        self.fill_from(pool, (first, objects), heed)?;
        self.show_snapshots(pool, vec![SNAPSHOT]);
        if self.is_paged {
            return self.fill_from(pool, (first, changed), heed);
        }
        self.sim.node_mut().keep_at_once(pool, (first, changed), SNAPSHOT);
        Ok(())
    }

    fn remove_snapshot(&mut self, pool: PoolId) -> Result<(), Stop> {
        self.show_snapshots(pool, Vec::new());
        Ok(())
    }

    fn remove_pool(&mut self, pool: PoolId) -> Result<(), Stop> {
        let removed = self.sim.change(|cluster, fx| cluster.remove_pool(pool, fx));
        removed.map_err(|in_use| Stop::Failed(format!("a pool cannot be removed: {in_use}")))
    }

    fn deep_scrub(&mut self, pool: PoolId) -> Result<(), Stop> {
        let request = ScrubRequest { kind: ScrubKind::Deep, is_requested: true, repairs: false };
        for pg in self.sim.map().pgs_of(pool).collect::<Vec<_>>() {
            if !self.sim.change(|cluster, fx| cluster.scrub(pg, request, fx)) {
                return Err(Stop::Failed(format!("pg {pg} is not served and cannot be scrubbed")));
            }
        }
        Ok(())
    }

    fn services(&mut self, scrubbed: Option<PoolId>) -> Result<ServicesLeft, Stop> {
        let node = self.sim.node_mut();
        Ok(ServicesLeft {
            scrub: scrubbed.map(|pool| node.pool_scrub(pool)).unwrap_or_default(),
            trim: node.trim_report().objects_left,
            removal: node.deletion_report().objects_left,
            closely: KnownLater::default(),
        })
    }

    fn take_out(&mut self, osd: OsdId) -> Result<(), Stop> {
        self.sim.set_osd(osd, GONE);
        Ok(())
    }

    fn bring_back(&mut self, osd: OsdId) -> Result<(), Stop> {
        // Before: what little was missed may have come when every group is served again.
        self.received = self.sim.received().objects;
        if self.is_paged {
            self.sim.set_osd(osd, EXPECTED);
            self.sim.open(osd);
            // Before every group is served again, nobody has said what is missing.
            let is_served = |sim: &Sim<Clients>| sim.map().pgs().all(|(_, group)| group.ready);
            if !self.sim.wait_until(|sim| sim.map().osds()[osd].up && is_served(sim)) {
                return Err(Stop::Failed(format!("{osd} did not come back")));
            }
        } else {
            self.sim.set_osd(osd, BACK);
        }
        Ok(())
    }

    /// What is filled at once takes no requests. What is written ends with the checkpoint that it began.
    fn settle(&mut self, heed: &mut Heed<'_>) -> Result<(), Stop> {
        let until = self.sim.now() + QUIET_LIMIT;
        let mut before = 0;
        while before != self.sim.device_requests() && self.is_paged && self.sim.now() < until {
            before = self.sim.device_requests();
            self.sim.run_until(self.sim.now() + QUIET);
            heed.at(1.0)?;
        }
        Ok(())
    }

    fn count_from_now(&mut self) -> Result<(), Stop> {
        self.sim.reset_waits();
        Ok(())
    }

    fn start_load(&mut self, _heed: &mut Heed<'_>) -> Result<Time, Stop> {
        let now = self.sim.now();
        self.sim.workload_mut().loads.measure_from(now);
        self.sim.start_load();
        Ok(now)
    }

    fn latency(&mut self) -> Option<LatencyHistogram> {
        self.sim.workload().loads.latency().cloned()
    }

    fn end_load(&mut self, _heed: &mut Heed<'_>) -> Result<Vec<Seen>, Stop> {
        self.sim.stop_load();
        let seen = |seen: LoadRecord| Seen {
            iops: seen.iops(),
            latency: (&seen.latency).into(),
            lasted: seen.window,
            seconds: seen.seconds,
            outside: Outside::Way(seen.outside),
        };
        let records = self.sim.workload().loads.records(self.sim.now());
        Ok(records.into_iter().map(seen).collect())
    }

    fn progress(&mut self) -> Result<RecoveryProgress, Stop> {
        let left = self.left();
        let moved = self.sim.received().objects.saturating_sub(self.received);
        Ok(RecoveryProgress {
            moved,
            left,
            clean: self.sim.is_clean(),
            recovered: left == 0 && moved > 0,
            copied: None,
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

    fn drive_busy(&mut self, osd: OsdId) -> Result<Option<Span>, Stop> {
        Ok(Some(self.sim.drive_busy(osd)))
    }

    fn take_trace(&mut self) -> Result<Vec<TraceSpan>, Stop> {
        Ok(self.sim.take_trace())
    }
}
