//! The steps of a recovery study in the simulated world (qos.md 9.6 and 13.1).
//!
//! An OSD goes away, a pool is filled without it, it comes back, and at that moment clients begin to write to
//! an image in another pool. Once a second it is counted how many objects are not where they should be. The run
//! ends when none is; the baseline, in which nothing went away, after a fixed time.

use super::put_recovery;
use super::real;
use super::study::RecoveryStudy;
use crate::figure::Figures;
use crate::kind::{RunError, Tick};
use crate::place::Place;
use crate::plan::{Job, Purpose};
use crate::record::RunRecord;
use crate::series::Series;
use crate::service::ServiceLog;
use crate::trace::{TRACED_OPS, traced_stage};
use crate::waits::{Outside, class_waits};
use loadline_base::{Span, Time};
use loadline_cluster::{OsdState, PoolId, PoolSpec};
use loadline_load::{Image, Load, LoadRecord};
use loadline_osd::{ClientId, OsdId, OsdService};
use loadline_sim::{OsdDrive, Sim, SimConfig};

/// How closely the end of a recovery is timed. The published figures were read once a second; a short run
/// needs it finer, and asking does not disturb a simulated cluster.
const TICK: Span = Span::from_millis(100);
const TICKS_PER_SECOND: u64 = 10;

const GONE: OsdState = OsdState { up: false, is_in: false };
const BACK: OsdState = OsdState { up: true, is_in: true };

/// Makes a run; `None` if `tick` ended it.
pub(super) fn run(
    study: &RecoveryStudy,
    job: &Job,
    tick: Tick<'_>,
) -> Result<Option<RunRecord>, RunError> {
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

fn last_osd(study: &RecoveryStudy) -> OsdId {
    OsdId::new(study.cluster.osds - 1)
}

fn scaled(span: Span, scale: f64) -> Span {
    // Whole ticks, so that the last one ends with the window.
    let ticks = (span.as_secs_f64() * scale / TICK.as_secs_f64()).round().max(1.0);
    TICK * ticks as u64
}

/// The cluster with its load, before any pool exists. The image's pool will be the first.
fn world(study: &RecoveryStudy, job: &Job) -> Sim<Load> {
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

fn pool_spec(study: &RecoveryStudy, name: &str) -> PoolSpec {
    PoolSpec {
        name: name.to_owned(),
        pgs: study.drive.fitted.pgs,
        copies: study.cluster.copies,
        object_bytes: study.steps.object_size.get(),
        recovery_priority: 0,
    }
}

/// Everything before the OSD returns.
fn prepare(study: &RecoveryStudy, job: &Job, sim: &mut Sim<Load>) -> Result<(), RunError> {
    let setup = &study.setups[job.setup];
    let pool = sim.create_pool(pool_spec(study, "recovery"));
    if !setup.recovery {
        return Ok(());
    }
    sim.set_osd(last_osd(study), GONE);
    let limit = sim.now() + study.steps.limit;
    while !sim.is_clean() {
        if sim.now() >= limit {
            let (setup, limit) = (setup.name().to_owned(), study.steps.limit);
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
    study: &RecoveryStudy,
    job: &Job,
    sim: &mut Sim<Load>,
    tick: Tick<'_>,
) -> Result<Option<Course>, RunError> {
    let setup = || study.setups[job.setup].name().to_owned();
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
    study: &RecoveryStudy,
    job: &Job,
    sim: &mut Sim<Load>,
    begun: Time,
    course: &Course,
) -> RunRecord {
    let window = sim.now().since(begun);
    let seen = sim.workload().record(sim.now());
    let setup = &study.setups[job.setup];
    let mut counted = client_figures(&seen);
    if setup.recovery {
        put_recovery(&mut counted, course.objects, study.steps.object_size, window);
    }
    let mut record = RunRecord {
        counted,
        device_requests: sim.device_requests(),
        trace: sim.take_trace().iter().map(traced_stage).collect(),
        ..RunRecord::of(job, setup.name())
    };
    if job.purpose == Purpose::Answer {
        let outside = Outside::Links { link: study.drive.link_delay, all: seen.outside.clone() };
        record.waits = class_waits(setup.plan(), &sim.waits(), &outside);
        let clients = Series::of_clients("client_iops", &seen.seconds, 1.0);
        record.series = with_recovery(clients, course.objects, &course.left);
        record.series.service = course.service.series();
    }
    record
}

/// What the study's own clients saw.
pub(super) fn client_figures(seen: &LoadRecord) -> Figures {
    let mut counted = Figures::default().with([("client/iops", seen.iops())]);
    counted.put_latency("client/clat_ms", &seen.latency);
    counted
}

/// `objects` were left at the start, and `left` at the end of each second.
pub(super) fn with_recovery(mut series: Series, objects: u64, left: &[u64]) -> Series {
    let before = std::iter::once(objects).chain(left.iter().copied());
    let done = before.zip(left).map(|(before, left)| before as f64 - *left as f64);
    series.put("objects_per_s", done);
    series.put("objects_left", left.iter().map(|left| *left as f64));
    series
}
