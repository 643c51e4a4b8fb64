//! The steps of a recovery study in the simulated world (qos.md 9.6 and 13.1).
//!
//! An OSD goes away, a pool is filled without it, it comes back, and at that moment clients begin to write to
//! an image in another pool. Once a second it is counted how many objects are not where they should be. The run
//! ends when none is; the baseline, in which nothing went away, after a fixed time.

use crate::place::Place;
use crate::plan::{Job, Purpose};
use crate::real;
use crate::record::{RunRecord, TracedStage};
use crate::result::{ClientResult, Latency, RecoveryResult};
use crate::series::SetupSeries;
use crate::service::{ClassService, ServiceLog};
use crate::study::Study;
use crate::waits::{Outside, class_waits, work_name};
use loadline_base::{Span, Time};
use loadline_cluster::{OsdState, PoolId, PoolSpec};
use loadline_load::{Image, Load, LoadRecord};
use loadline_osd::{ClientId, OsdId, OsdService, TraceSpan};
use loadline_sim::{OsdDrive, Sim, SimConfig};
use loadline_stats::{LatencyHistogram, LatencySecond};

/// How far a run has come, 0 to 1; the answer is whether to go on.
pub type Tick<'a> = &'a mut dyn FnMut(f64) -> bool;

/// How closely the end of a recovery is timed. The published figures were read once a second; a short run
/// needs it finer, and asking does not disturb a simulated cluster.
const TICK: Span = Span::from_millis(100);
const TICKS_PER_SECOND: u64 = 10;

/// Ops that are traced in a row.
const TRACED_OPS: u64 = 3;

const GONE: OsdState = OsdState { up: false, is_in: false };
const BACK: OsdState = OsdState { up: true, is_in: true };

/// A run that came to no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// After the OSD had gone, its image did not find new places.
    #[error(
        "{setup}: the image's copies were not whole again after {limit} without the OSD; raise `limit`"
    )]
    NeverClean {
        /// The setup.
        setup: String,
        /// Simulated time given.
        limit: Span,
    },
    /// Recovery did not end.
    #[error("{setup}: {left} objects were left after {limit}; raise `limit` or lower the scale")]
    NeverEnded {
        /// The setup.
        setup: String,
        /// Simulated time given.
        limit: Span,
        /// Objects not yet in their places.
        left: u64,
    },
    /// A store could not be built, or stopped.
    #[error("{setup}: {reason}")]
    Store {
        /// The setup.
        setup: String,
        /// Why.
        reason: String,
    },
    /// The node, one of its disks or a tool failed.
    #[error("{setup}: {reason}")]
    Node {
        /// The setup.
        setup: String,
        /// What happened.
        reason: String,
    },
    /// The amount of work rounds to none.
    #[error("{setup}: at scale {scale} no object is misplaced; raise the scale")]
    NothingToRecover {
        /// The setup.
        setup: String,
        /// The scale asked for.
        scale: f64,
    },
}

/// Makes a run; `None` if `tick` ended it.
pub(crate) fn run(study: &Study, job: &Job, tick: Tick<'_>) -> Result<Option<RunRecord>, RunError> {
    if let Place::Host(place) = &study.place {
        return real::run(study, job, place, tick);
    }
    let setup = &study.setups[job.setup];
    let mut sim = world(study, job);
    prepare(study, job, &mut sim)?;
    let begun = sim.now();
    sim.reset_waits();
    sim.workload_mut().measure_from(begun);
    if setup.recovery {
        sim.set_osd(last_osd(study), BACK);
    }
    sim.start_load();
    let course = if setup.recovery {
        until_recovered(study, job, &mut sim, tick)?
    } else {
        for_a_time(scaled(study.steps.baseline, job.scale), &mut sim, tick)
    };
    Ok(course.map(|course| record(study, job, &mut sim, begun, &course)))
}

fn last_osd(study: &Study) -> OsdId {
    OsdId::new(study.cluster.osds - 1)
}

fn scaled(span: Span, scale: f64) -> Span {
    // Whole ticks, so that the last one ends with the window.
    let ticks = (span.as_secs_f64() * scale / TICK.as_secs_f64()).round().max(1.0);
    TICK * ticks as u64
}

/// The cluster with its load, before any pool exists. The image's pool will be the first.
fn world(study: &Study, job: &Job) -> Sim<Load> {
    let (setup, drive) = (&study.setups[job.setup], &study.drive);
    let config = SimConfig {
        cluster: setup.engine(job.seed, job.placement_seed),
        drive: OsdDrive::Calibrated(drive.service),
        worker_time: drive.worker_time,
        link_delay: drive.link_delay,
        object_handling: drive.fitted.object_handling,
        software_stage: setup.software_stage.filter(|_| job.purpose != Purpose::WithoutStage),
    };
    let object_bytes = study.steps.object_size.get() as u32;
    let objects = study.load.image.get() / u64::from(object_bytes);
    let image = Image { pool: PoolId::new(0), objects, object_bytes };
    let mut load = Load::new(&study.load, image, ClientId::new(1), job.seed);
    if let Some(first) = job.trace {
        load.trace(first..first + TRACED_OPS);
    }
    let mut sim = Sim::new(config, load);
    let pool = sim.create_pool(pool_spec(study, "image"));
    assert_eq!(pool, image.pool, "the image's pool is the first");
    sim.prefill(pool, objects);
    sim
}

fn pool_spec(study: &Study, name: &str) -> PoolSpec {
    PoolSpec {
        name: name.to_owned(),
        pgs: study.drive.fitted.pgs,
        copies: study.cluster.copies,
        object_bytes: study.steps.object_size.get(),
        recovery_priority: 0,
    }
}

/// Everything before the OSD returns.
fn prepare(study: &Study, job: &Job, sim: &mut Sim<Load>) -> Result<(), RunError> {
    let setup = &study.setups[job.setup];
    let pool = sim.create_pool(pool_spec(study, "recovery"));
    if !setup.recovery {
        return Ok(());
    }
    sim.set_osd(last_osd(study), GONE);
    let limit = sim.now() + study.steps.limit;
    while !sim.is_clean() {
        if sim.now() >= limit {
            let (setup, limit) = (setup.name.clone(), study.steps.limit);
            return Err(RunError::NeverClean { setup, limit });
        }
        sim.run_until(sim.now() + Span::from_secs(1));
    }
    let objects = ((study.steps.objects as f64 * job.scale).round() as u64).max(1);
    sim.prefill(pool, objects);
    Ok(())
}

/// What was counted while the clients wrote.
struct Course {
    /// Objects not in their places when the OSD was back.
    objects: u64,
    /// The same at the end of every whole second.
    left: Vec<u64>,
    service: ServiceLog,
}

impl Course {
    fn begin(objects: u64, sim: &mut Sim<Load>) -> Course {
        Course { objects, left: Vec::new(), service: ServiceLog::begin(sim.now(), service(sim)) }
    }
}

fn service(sim: &mut Sim<Load>) -> Vec<OsdService> {
    let now = sim.now();
    let cluster = sim.cluster();
    cluster.map().osds().ids().map(|osd| cluster.osd(osd).service(now)).collect()
}

fn for_a_time(window: Span, sim: &mut Sim<Load>, tick: Tick<'_>) -> Option<Course> {
    let begun = sim.now();
    let mut course = Course::begin(0, sim);
    while sim.now() < begun + window {
        sim.run_until(sim.now() + TICK);
        if sim.now().since(begun).nanos().is_multiple_of((TICK * TICKS_PER_SECOND).nanos()) {
            course.service.read(sim.now(), service(sim));
        }
        if !tick(sim.now().since(begun).as_secs_f64() / window.as_secs_f64()) {
            return None;
        }
    }
    Some(course)
}

fn until_recovered(
    study: &Study,
    job: &Job,
    sim: &mut Sim<Load>,
    tick: Tick<'_>,
) -> Result<Option<Course>, RunError> {
    let setup = || study.setups[job.setup].name.clone();
    let (begun, objects) = (sim.now(), objects_left(sim));
    if objects == 0 {
        return Err(RunError::NothingToRecover { setup: setup(), scale: job.scale });
    }
    let mut course = Course::begin(objects, sim);
    for ticks in 1u64.. {
        sim.run_until(begun + TICK * ticks);
        let left = objects_left(sim);
        if ticks.is_multiple_of(TICKS_PER_SECOND) {
            course.left.push(left);
            course.service.read(sim.now(), service(sim));
        }
        if left == 0 {
            break;
        }
        if sim.now().since(begun) >= study.steps.limit {
            return Err(RunError::NeverEnded { setup: setup(), limit: study.steps.limit, left });
        }
        if !tick(1.0 - left as f64 / objects as f64) {
            return Ok(None);
        }
    }
    Ok(Some(course))
}

fn objects_left(sim: &mut Sim<Load>) -> u64 {
    let progress = sim.progress();
    progress.misplaced + progress.degraded
}

fn record(
    study: &Study,
    job: &Job,
    sim: &mut Sim<Load>,
    begun: Time,
    course: &Course,
) -> RunRecord {
    let window = sim.now().since(begun);
    let seen = sim.workload().record(sim.now());
    let answer = job.purpose == Purpose::Answer;
    let setup = &study.setups[job.setup];
    let waits = sim.waits();
    let trace = sim.take_trace().iter().map(traced_stage).collect();
    RunRecord {
        key: job.key.clone(),
        setup: setup.name.clone(),
        purpose: job.purpose,
        scale: job.scale,
        seed: job.seed,
        placement_seed: job.placement_seed,
        client: ClientResult { iops: seen.iops(), clat_ms: latency(&seen.latency) },
        recovery: setup.recovery.then(|| recovery_result(study, course.objects, window)),
        device_requests: sim.device_requests(),
        simulated_seconds: sim.now().as_secs_f64(),
        waits: if answer {
            let link = study.drive.link_delay;
            let outside = Outside::Links { link, all: seen.outside.clone() };
            class_waits(setup.plan(), &waits, &outside)
        } else {
            Vec::new()
        },
        series: if answer {
            series(&seen, (course.objects, &course.left), course.service.series())
        } else {
            SetupSeries::default()
        },
        trace,
        real: None,
    }
}

pub(crate) fn recovery_result(study: &Study, objects: u64, window: Span) -> RecoveryResult {
    let seconds = window.as_secs_f64();
    let objects_per_s = objects as f64 / seconds;
    RecoveryResult {
        objects_per_s,
        mib_per_s: objects_per_s * study.steps.object_size.as_mib_f64(),
        seconds,
        objects,
    }
}

pub(crate) fn latency(of: &LatencyHistogram) -> Latency {
    let at = |percent: f64| of.percentile_ns(percent) as f64 / 1e6;
    Latency {
        mean: of.mean_ns() / 1e6,
        p50: at(50.0),
        p95: at(95.0),
        p99: at(99.0),
        p99_5: at(99.5),
        p99_9: at(99.9),
        max: of.max_ns() as f64 / 1e6,
    }
}

/// `objects` were left at the start, and `left` at the end of each second.
pub(crate) fn series(
    seen: &LoadRecord,
    (objects, left): (u64, &[u64]),
    service: Vec<ClassService>,
) -> SetupSeries {
    let seconds: &[LatencySecond] = &seen.seconds;
    let before = std::iter::once(objects).chain(left.iter().copied());
    let done = before.zip(left).map(|(before, left)| before as f64 - *left as f64);
    SetupSeries {
        t_s: (0..seconds.len()).map(|second| second as f64).collect(),
        client_iops: seconds.iter().map(|second| second.count as f64).collect(),
        clat_mean_ms: seconds.iter().map(|s| s.mean_ns.map(|ns| ns / 1e6)).collect(),
        clat_p99_ms: seconds.iter().map(|s| s.p99_ns.map(|ns| ns as f64 / 1e6)).collect(),
        objects_left: left.iter().map(|left| *left as f64).collect(),
        objects_per_s: done.collect(),
        service,
    }
}

fn traced_stage(span: &TraceSpan) -> TracedStage {
    TracedStage {
        op: span.op.get(),
        osd: span.osd.get(),
        work: work_name(span.work).to_owned(),
        stage: span.stage.name().to_owned(),
        start_ns: span.start.nanos(),
        end_ns: span.end.nanos(),
    }
}
