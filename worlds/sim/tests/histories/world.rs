//! A small cluster under a load that remembers what it was told, and the judge of what is left in the end.

use loadline_base::{Rng, Span, Time};
use loadline_cluster::settings::{
    DriveLimits, Enforcement, LevelTarget as Level, Scope, Settings, SettingsChange,
};
use loadline_cluster::{Config, OsdState, Placement, PoolId, PoolSpec, Target};
use loadline_device::Medium;
use loadline_device::cdl::{Descriptor, Limit, Limits, TimeoutPolicy as Ends, Unit};
use loadline_osd::{ClientId, OpKind, OsdId, OsdOptions, PgId, Policy};
use loadline_qos::preset;
use loadline_sim::hdd::{Feature, HddSpec, SECTOR};
use loadline_sim::{
    Delays, Issue, Mechanical, OpDone, OsdDrive, ReadService, ServiceTime, Sim, SimConfig, SimHost,
    Workload,
};
use loadline_store::ObjectNo;
use std::collections::BTreeMap;

pub(crate) const RUNS: OsdState = OsdState { up: true, is_in: true };
pub(crate) const DOWN: OsdState = OsdState { up: false, is_in: true };
pub(crate) const GONE: OsdState = OsdState { up: false, is_in: false };
pub(crate) const OUT: OsdState = OsdState { up: true, is_in: false };

pub(crate) const OBJECT_BYTES: u64 = 64 << 10;

/// Settings of OSDs on flash, with these options stored.
pub(crate) fn settings(preset_name: &str, options: &[(&str, &str)]) -> Settings {
    let preset = preset(preset_name).expect("a preset's name");
    let mut settings = Settings::new(*preset, &[Medium::Ssd; 4], Enforcement::Refuse);
    let limits = DriveLimits { reads: ending_limits(), writes: ending_limits() };
    for osd in settings.osds().collect::<Vec<_>>() {
        settings.set_drive_limits(osd, limits);
    }
    for (option, value) in options {
        store(&mut settings, option, value);
    }
    for osd in settings.osds().collect::<Vec<_>>() {
        settings.start(osd);
    }
    settings
}

pub(crate) fn store(settings: &mut Settings, option: &str, value: &str) {
    let change = SettingsChange::set(Level::Stored(Scope::Osds), option, value);
    settings.apply(&change).unwrap_or_else(|refused| panic!("{option}: {refused}"));
}

/// What the OSDs are told of the settings.
pub(crate) fn engine(settings: &Settings) -> (Policy, OsdOptions) {
    let osd = OsdId::new(0);
    (Policy { plan: settings.plan(osd), seed: 1 }, settings.osd_options(osd))
}

/// Four OSDs on quick drives.
fn config(settings: &Settings, shape: &Shape) -> SimConfig {
    let (policy, options) = engine(settings);
    SimConfig {
        cluster: Config {
            osds: 4,
            placement: Placement::Even,
            placement_seed: shape.seed,
            policy,
            options,
        },
        drive: shape.drive.clone(),
        delays: Delays {
            link: Span::from_micros(60),
            worker: shape.worker_time,
            ..Delays::default()
        },
        host: SimHost::default(),
    }
}

pub(crate) fn pool(name: &str, pgs: u32) -> PoolSpec {
    let (copies, recovery_priority) = (3, 0);
    PoolSpec { name: name.into(), pgs, copies, object_bytes: OBJECT_BYTES, recovery_priority }
}

/// How large a world is, and how busy.
pub(crate) struct Shape {
    pub(crate) seed: u64,
    pub(crate) pgs: u32,
    pub(crate) objects: u64,
    pub(crate) depth: u64,
    pub(crate) worker_time: Span,
    pub(crate) drive: OsdDrive,
}

impl Default for Shape {
    fn default() -> Shape {
        let worker_time = Span::from_micros(15);
        Shape { seed: 1, pgs: 6, objects: 60, depth: 16, worker_time, drive: quick_drive() }
    }
}

pub(crate) fn quick_drive() -> OsdDrive {
    OsdDrive::Calibrated(ServiceTime {
        per_request: Span::from_micros(50),
        per_part: Span::from_micros(50),
        per_mib: Span::from_micros(700),
        slices: None,
        reads: ReadService::Beside,
    })
}

/// Descriptors that end what takes longer than 20 ms, which is about two requests of the drive below.
pub(crate) fn ending_limits() -> Limits {
    let guideline = Limit { time: 2, policy: Ends::Abort };
    let unit = Unit::TenMilliseconds;
    let mut limits = Limits::default();
    limits.descriptors[0] = Descriptor { unit, guideline, ..Descriptor::default() };
    limits
}

/// A mechanical drive that ends requests for time.
pub(crate) fn ending_drive(seed: u64) -> OsdDrive {
    OsdDrive::Mechanical(Box::new(Mechanical {
        spec: HddSpec::built_in("hdd-22tb-cdl").expect("the program has it"),
        feature: Feature::DurationLimits,
        reads: ending_limits(),
        writes: ending_limits(),
        seed,
    }))
}

/// A closed loop that writes, and reads one op in four, and remembers what was acknowledged.
#[derive(Debug)]
pub(crate) struct Scribe {
    rng: Rng,
    pool: PoolId,
    objects: u64,
    depth: u64,
    running: bool,
    issued: u64,
    /// Ops without a reply: which object, and up to which byte it is written.
    open: BTreeMap<u64, (ObjectNo, u64)>,
    /// Acknowledged: how far each object has been written.
    acknowledged: BTreeMap<ObjectNo, u64>,
    /// A running hash over every reply with its time.
    pub(crate) trace: u64,
}

impl Scribe {
    pub(crate) fn new(seed: u64, pool: PoolId, objects: u64, depth: u64) -> Scribe {
        Scribe {
            rng: Rng::for_purpose(seed, 17),
            pool,
            objects,
            depth,
            running: false,
            issued: 0,
            open: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            trace: 0,
        }
    }

    pub(crate) fn replies(&self) -> u64 {
        self.issued - self.open.len() as u64
    }

    fn issue(&mut self, out: &mut Vec<Issue>) {
        let object = ObjectNo(self.rng.below(self.objects));
        let kind = if self.rng.below(4) == 0 { OpKind::Read } else { OpKind::Write };
        let (offset, length) = (self.rng.below(15) as u32 * 4096, 4096);
        let end = if kind == OpKind::Write { u64::from(offset) + 4096 } else { 0 };
        let client = ClientId::new(self.rng.below(3) as u32);
        let target = Target {
            client,
            kind,
            traced: false,
            background: false,
            pool: self.pool,
            object,
            offset,
            length,
        };
        self.open.insert(self.issued, (object, end));
        out.push(Issue { target, token: self.issued });
        self.issued += 1;
    }
}

impl Workload for Scribe {
    fn start(&mut self, _now: Time, out: &mut Vec<Issue>) {
        self.running = true;
        while (self.open.len() as u64) < self.depth {
            self.issue(out);
        }
    }

    fn replied(&mut self, now: Time, done: &OpDone, out: &mut Vec<Issue>) {
        let (object, end) = self.open.remove(&done.token).expect("an op is replied to once");
        let written = self.acknowledged.entry(object).or_default();
        *written = end.max(*written);
        self.trace = loadline_base::mix64(self.trace ^ done.token ^ now.nanos().rotate_left(32));
        if self.running {
            self.issue(out);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        None
    }

    fn woke(&mut self, _now: Time, _out: &mut Vec<Issue>) {}

    fn stop(&mut self) {
        self.running = false;
    }
}

/// A cluster with one pool under a [`Scribe`].
pub(crate) struct World {
    pub(crate) sim: Sim<Scribe>,
    pub(crate) pool: PoolId,
}

impl World {
    pub(crate) fn new(settings: &Settings, shape: Shape) -> World {
        let scribe = Scribe::new(shape.seed, PoolId::new(0), shape.objects, shape.depth);
        let mut sim = Sim::new(config(settings, &shape), scribe);
        let pool = sim.create_pool(pool("p", shape.pgs));
        World { sim, pool }
    }

    pub(crate) fn run(&mut self, span: Span) {
        self.sim.run_until(self.sim.now() + span);
    }

    pub(crate) fn set(&mut self, osd: u32, state: OsdState) {
        self.sim.set_osd(OsdId::new(osd), state);
    }

    /// Brings everything back, ends the load, and waits until nothing moves any more.
    pub(crate) fn settle(&mut self) {
        for osd in 0..4 {
            self.set(osd, RUNS);
        }
        self.sim.stop_load();
        self.wait_until_clean();
        // Copies that are not needed any more are deleted as background work.
        self.run(Span::from_secs(120));
    }

    pub(crate) fn wait_until_clean(&mut self) {
        let limit = self.sim.now() + Span::from_secs(3_600);
        while !(self.sim.is_clean() && self.is_recovered()) {
            assert!(self.sim.now() < limit, "not clean after an hour: {}", self.what_is_left());
            self.run(Span::from_secs(1));
        }
    }

    fn what_is_left(&mut self) -> String {
        let mut left = format!("{:?}", self.sim.progress());
        for (pg, state) in self.sim.cluster().map().pgs().filter(|(_, state)| !state.clean) {
            left += &format!("\n{pg}: {state:?}");
        }
        for osd in (0..4).map(OsdId::new) {
            left += &format!("\n{osd}: {:?}", self.sim.osd(osd).unfinished());
        }
        left
    }

    fn is_recovered(&mut self) -> bool {
        let progress = self.sim.progress();
        progress.misplaced + progress.degraded + progress.recovering == 0
    }

    /// Every op was replied to, all copies are equal, and what was acknowledged is in them.
    pub(crate) fn judge(&mut self) {
        let open = &self.sim.workload().open;
        assert!(open.is_empty(), "ops without a reply: {open:?}");
        let acknowledged = self.sim.workload().acknowledged.clone();
        let pgs: Vec<PgId> = self.sim.cluster().map().pgs_of(self.pool).collect();
        for pg in pgs {
            self.judge_copies(pg);
        }
        for (object, written) in acknowledged.into_iter().filter(|(_, written)| *written > 0) {
            let pg = self.sim.cluster().map().pg_of(self.pool, object);
            let primary = self.sim.cluster().map().pg(pg).acting[0];
            let meta = self.sim.osd(primary).objects(pg).meta(object);
            let length = meta.map_or(0, |meta| meta.length);
            assert!(length >= written, "{object}: {written} bytes acknowledged, {length} there");
        }
        self.judge_leftovers();
    }

    fn judge_copies(&mut self, pg: PgId) {
        let acting = self.sim.cluster().map().pg(pg).acting.clone();
        let copies = acting.iter().map(|osd| self.sim.osd(*osd).objects(pg).clone());
        let copies: Vec<_> = copies.collect();
        assert_eq!(copies.len(), 3);
        for (osd, copy) in acting.iter().zip(&copies) {
            assert_eq!(copy, &copies[0], "{pg} on {osd} differs from {}", acting[0]);
        }
        for osd in (0..4).map(OsdId::new).filter(|osd| !acting.contains(osd)) {
            let left = self.sim.osd(osd).objects(pg).len();
            assert_eq!(left, 0, "{pg} was not deleted from {osd}");
        }
    }

    /// No promise, slot or request outlives the work it was for.
    fn judge_leftovers(&mut self) {
        for osd in (0..4).map(OsdId::new) {
            let left = self.sim.osd(osd).unfinished();
            assert!(left.is_none(), "{osd} still has {left:?}");
        }
    }

    /// Makes the sectors of an object unreadable on an OSD's drive, which is a mechanical one, until they are written.
    pub(crate) fn spoil(&mut self, osd: u32, object: u64) {
        // Where the direct store puts it.
        let first = (object << 22) / SECTOR;
        let drive = self.sim.hdd_mut(OsdId::new(osd)).expect("a mechanical drive");
        drive.make_unreadable(first..first + OBJECT_BYTES / SECTOR);
    }

    /// Puts every object there at once.
    pub(crate) fn prefill(&mut self, objects: u64) {
        self.sim.prefill(self.pool, ObjectNo(0), objects);
    }
}
