//! A run of a limits study: one OSD on a mechanical drive, a client, and background work beside it.

use super::setup::LimitsSetup;
use super::study::{LimitsStudy, OBJECT};
use crate::figure::Figures;
use crate::job::Job;
use crate::record::RunRecord;
use crate::script::OnProgress;
use crate::series::Series;
use crate::trace::TRACED_OPS;
use crate::waits::class_waits;
use loadline_base::{Span, Time};
use loadline_cluster::{PoolId, PoolSpec};
use loadline_device::cdl::Limits;
use loadline_host::admin::api::OpSpan;
use loadline_load::{BlockImage, Load, LoadSpec, Loads};
use loadline_osd::{ClientId, OsdId};
use loadline_sim::hdd::Feature;
use loadline_sim::{Delays, Mechanical, OsdDrive, Sim, SimConfig, SimHost};
use loadline_store::ObjectNo;
use loadline_testbed::Outside;

/// Placement groups of the pool: enough that none of them is a bottleneck.
const PGS: u32 = 64;
/// Processor time of an item, and a message's way: both far below the drive's milliseconds.
const WORKER_TIME: Span = Span::from_micros(20);
const LINK_DELAY: Span = Span::from_micros(50);
/// How often it is asked whether to go on.
const TICK: Span = Span::from_secs(1);

/// Makes a run; `None` if `tick` ended it.
pub(super) fn run(study: &LimitsStudy, job: &Job, tick: OnProgress<'_>) -> Option<RunRecord> {
    let setup = &study.setups[job.setup];
    let mut sim = world(study, setup, job);
    let (ramp, measured) = (study.steps.ramp, study.steps.measured);
    let all = (ramp + measured).as_secs_f64();
    let mut until = |sim: &mut Sim<Loads>, end: Time| {
        while sim.now() < end {
            sim.run_until(end.min(sim.now() + TICK));
            if !tick(sim.now().since(Time::ZERO).as_secs_f64() / all) {
                return false;
            }
        }
        true
    };
    sim.start_load();
    if !until(&mut sim, Time::ZERO + ramp) {
        return None;
    }
    let begun = sim.now();
    sim.reset_waits();
    sim.workload_mut().measure_from(begun);
    let before = over_limit(&mut sim);
    if !until(&mut sim, begun + measured) {
        return None;
    }
    let ended = over_limit(&mut sim) - before;
    Some(record(study, setup, job, &mut sim, ended))
}

fn over_limit(sim: &mut Sim<Loads>) -> u64 {
    sim.osd(OsdId::new(0)).over_limit()
}

fn world(study: &LimitsStudy, setup: &LimitsSetup, job: &Job) -> Sim<Loads> {
    let seed = job.seed;
    let drive = Mechanical {
        spec: study.drive.clone(),
        feature: Feature::DurationLimits,
        reads: study.limits,
        writes: Limits::default(),
        seed,
    };
    let config = SimConfig {
        cluster: setup.engine(seed),
        drive: OsdDrive::Mechanical(Box::new(drive)),
        delays: Delays { link: LINK_DELAY, worker: WORKER_TIME, ..Delays::default() },
        host: SimHost::default(),
    };
    let load = |spec: &LoadSpec, client: u32| {
        let object_bytes = OBJECT.get() as u32;
        let objects = spec.image.get() / OBJECT.get();
        let image = BlockImage { pool: PoolId::new(0), first: ObjectNo(0), objects, object_bytes };
        Load::new(spec, image, ClientId::new(client), seed.wrapping_add(u64::from(client) << 32))
    };
    let background = load(&study.background, 2).in_background();
    let mut client = load(&study.client, 1);
    if let Some(first) = job.trace {
        client.trace(first..first + TRACED_OPS);
    }
    let mut sim = Sim::new(config, Loads::new([client, background]));
    sim.create_pool(PoolSpec {
        name: "image".to_owned(),
        pgs: PGS,
        copies: 1,
        object_bytes: OBJECT.get(),
        recovery_priority: 0,
    });
    sim
}

fn record(
    study: &LimitsStudy,
    setup: &LimitsSetup,
    job: &Job,
    sim: &mut Sim<Loads>,
    ended: u64,
) -> RunRecord {
    let now = sim.now();
    let [client, background] =
        sim.workload().records(now).try_into().expect("two loads have two records");
    let mut counted = Figures::default();
    for (who, spec, seen) in
        [("client", &study.client, &client), ("background", &study.background, &background)]
    {
        let mib_per_s = seen.iops() * spec.mean_block_bytes() / f64::from(1 << 20);
        counted.put(&format!("{who}/iops"), seen.iops());
        counted.put(&format!("{who}/mib_per_s"), mib_per_s);
        counted.put_latency(&format!("{who}/clat_ms"), &(&seen.latency).into());
    }
    counted.put("over_limit_per_s", ended as f64 / study.steps.measured.as_secs_f64());
    let mut series = Series::of_clients("client_iops", &client.seconds, 1.0);
    series.put("background_iops", background.seconds.iter().map(|s| s.count as f64));
    let outside = Outside::Way(client.outside);
    RunRecord {
        counted,
        device_requests: sim.device_requests(),
        waits: class_waits(setup.osds.plan(), &sim.waits(), &outside),
        series,
        trace: sim.take_trace().iter().map(OpSpan::from).collect(),
        ..RunRecord::of(job, setup.osds.name())
    }
}
