//! One run on a node of one OSD: its store is filled, clients put for some periods until it has settled, and then it is measured.

use super::study::{CheckpointSetup, CheckpointStudy};
use crate::figure::Figures;
use crate::job::Job;
use crate::record::RunRecord;
use crate::script::{OnProgress, RunError};
use crate::series::{CheckpointPoint, Series};
use loadline_base::{Bytes, Span, Time};
use loadline_cluster::Config;
use loadline_load::puts::{KeyOrder, PutLoad, PutRecord};
use loadline_osd::{OsdId, Policy, StoreToken};
use loadline_sim::disk::{SimDisk, SimDiskSpec};
use loadline_sim::{Delays, DisksConfig, Sim, StoreDisks};
use loadline_stats::quantile;
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::metrics::{CheckpointReport, Totals};
use loadline_store::paged::{Format, Options, PagedStore, Protection};
use std::ops::Range;

/// What a fill may take of the world's time, for each key: a hundred times what it should.
const FILL_NS_PER_KEY: u64 = 500_000;

/// The one OSD.
const OSD: OsdId = OsdId::new(0);

/// A node with one OSD on a paged store, and its clients.
type PutWorld = Sim<PutLoad>;

/// Its store.
///
/// # Errors
/// The OSD has closed its disk for good.
fn store(world: &mut PutWorld) -> Result<&PagedStore<StoreToken>, String> {
    world.osd(OSD).paged_store().ok_or_else(|| "the store stopped".to_owned())
}

/// Makes a run; `None` if `tick` ended it.
pub(super) fn run(
    study: &CheckpointStudy,
    job: &Job,
    tick: OnProgress<'_>,
) -> Result<Option<RunRecord>, RunError> {
    let setup = study.setups[job.setup].configuration.name.clone();
    put(study, job, tick).map_err(|reason| RunError::Failed { setup, reason })
}

fn put(
    study: &CheckpointStudy,
    job: &Job,
    tick: OnProgress<'_>,
) -> Result<Option<RunRecord>, String> {
    let mut world = world(study, &study.setups[job.setup], job.seed).map_err(|error| {
        format!("there can be no such store: {error}; change its sizes or the scale")
    })?;
    let is_filled = fill(study, &mut world, tick).map_err(|left| {
        format!("the store could not be filled: {left}; change its sizes or the scale")
    })?;
    if !is_filled {
        return Ok(None);
    }
    let keys = study.work.scaled(study.work.keys);
    world.workload_mut().overwrite(&study.load, keys);
    world.start_load();
    let second = study.work.second();
    let warm_up = seconds(study, study.work.warm_up);
    for at in 0..warm_up {
        world.run_until(world.now() + second);
        if !tick(0.5 + 0.1 * at as f64 / warm_up as f64) {
            return Ok(None);
        }
    }
    let Some(course) = measure(study, &mut world, tick)? else { return Ok(None) };
    record(study, job, &mut world, course).map(Some)
}

/// Seconds of the published node in so many periods.
fn seconds(study: &CheckpointStudy, periods: u32) -> u64 {
    (study.work.period.as_secs_f64() * f64::from(periods)).round() as u64
}

fn world(study: &CheckpointStudy, setup: &CheckpointSetup, seed: u64) -> Result<PutWorld, String> {
    let (work, store, drive) = (&study.work, &study.store, &study.drive);
    let format = format(study);
    let spec = SimDiskSpec {
        size: format.data_bytes,
        sector: 4096,
        write_cache: false,
        timing: drive.timing(),
    };
    let mut disks = StoreDisks { data: SimDisk::new(spec, seed), log: None };
    disks.format(&format, setup.protection).map_err(|error| format!("{error:?}"))?;
    let config = DisksConfig {
        cluster: &Config { policy: Policy { seed, ..study.osd.policy.clone() }, ..study.osd },
        stores: Options {
            log_mode: setup.log_mode,
            protection: setup.protection,
            compression: setup.compression,
            throttle: setup.throttle,
            cache: Bytes::new(work.scaled(store.cache.get())),
            old_versions: Bytes::new(work.scaled(store.old_versions.get())),
            checkpoint_interval: work.scaled_span(work.period),
            // Only the clock begins a checkpoint, as in the published runs, unless something runs full.
            dirty_trigger_percent: 70,
            log_trigger_percent: store.log_trigger_percent,
            ..Options::default()
        },
        disks: vec![disks.data],
        delays: Delays {
            worker: drive.op,
            logged_kib: drive.physical_log_kib,
            ..Delays::default()
        },
    };
    let load = PutLoad::new(study.load.values, seed);
    Sim::opened(config, load).map_err(|(error, _)| format!("{error:?}"))
}

/// The store's regions at the study's scale, in whole segments and sectors.
fn format(study: &CheckpointStudy) -> Format {
    let (work, store) = (&study.work, &study.store);
    let whole = |bytes: Bytes, unit: u64| work.scaled(bytes.get()).next_multiple_of(unit);
    // Sixteen segments, none smaller than the largest that a transaction may need.
    let segment = (work.scaled(store.log.get()) / 16).max(256 << 10).next_multiple_of(4096);
    Format {
        store_id: 1,
        data_bytes: Bytes::new(whole(store.size, 1 << 20)),
        log_device_bytes: None,
        log_bytes: Bytes::new(segment * 16),
        segment_bytes: Bytes::new(segment),
        block_bytes: 4096,
        recovery_bytes: Bytes::new(whole(store.recovery, 4096)),
        page: PageSize::DEFAULT,
    }
}

/// Puts every key that is there at the start. Answers whether to go on; the error says what was left.
fn fill(
    study: &CheckpointStudy,
    world: &mut PutWorld,
    tick: OnProgress<'_>,
) -> Result<bool, String> {
    let (count, range) = (study.work.scaled(study.work.filled), study.work.scaled(study.work.keys));
    let limit = world.now() + Span::from_nanos(FILL_NS_PER_KEY) * count + Span::from_secs(1);
    if study.work.filled > 0 {
        world.workload_mut().fill(KeyOrder::Ascending { count, range });
    }
    world.start_load();
    while !world.workload().is_filled() {
        if world.now() >= limit {
            return Err(format!("{:?} after {}", store(world)?.waits(), world.now()));
        }
        world.run_until(world.now() + study.work.second());
        let share = world.now().as_secs_f64() / limit.as_secs_f64();
        if !tick(share.min(0.5)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What is counted besides what the clients see.
struct CheckpointCourse {
    begun: Time,
    before: Totals,
    /// Share of the buffer of old versions in use at the end of each second.
    buffer_share: Vec<f64>,
    /// Sleep that the throttle handed out per put in each second, in microseconds.
    throttle_us_per_put: Vec<f64>,
}

fn measure(
    study: &CheckpointStudy,
    world: &mut PutWorld,
    tick: OnProgress<'_>,
) -> Result<Option<CheckpointCourse>, String> {
    let (begun, second) = (world.now(), study.work.second());
    world.workload_mut().measure_from(begun, second);
    let before = store(world)?.metrics().totals;
    let (buffer_share, throttle_us_per_put) = (Vec::new(), Vec::new());
    let mut course = CheckpointCourse { begun, before, buffer_share, throttle_us_per_put };
    let (seconds, mut last) = (seconds(study, study.work.periods), before);
    for at in 0..seconds {
        world.run_until(begun + second * (at + 1));
        let totals = store(world)?.metrics().totals;
        let puts = (totals.transactions - last.transactions).max(1) as f64;
        let slept = (totals.throttle_time.nanos() - last.throttle_time.nanos()) as f64 / 1e3;
        course.throttle_us_per_put.push(slept / puts);
        course.buffer_share.push(buffer_in_use(store(world)?, None));
        last = totals;
        if !tick(0.6 + 0.4 * at as f64 / seconds as f64) {
            return Ok(None);
        }
    }
    Ok(Some(course))
}

/// Slots in use, now or as said, as a share of all.
fn buffer_in_use(store: &PagedStore<StoreToken>, used: Option<u32>) -> f64 {
    let (now, slots) = store.space().pages.old_versions();
    f64::from(used.unwrap_or(now)) / f64::from(slots.max(1))
}

fn record(
    study: &CheckpointStudy,
    job: &Job,
    world: &mut PutWorld,
    course: CheckpointCourse,
) -> Result<RunRecord, String> {
    let now = world.now();
    let seen = world.workload().record(now);
    let device_requests = world.device_requests();
    let store = store(world)?;
    let reports: Vec<CheckpointReport> = store
        .metrics()
        .history
        .iter()
        .filter(|report| report.start + report.duration > course.begun)
        .copied()
        .collect();
    let mut counted = put_figures(study, &seen);
    store_figures(&mut counted, &course.before, &store.metrics().totals, &reports);
    let seconds = seen.window.as_secs_f64();
    let in_checkpoints = time_in_checkpoints(study, store, &reports, course.begun..now);
    let used = reports.iter().map(|report| report.buffer_used_max).max();
    let sampled = course.buffer_share.iter().copied().fold(0.0, f64::max);
    let most = used.map_or(0.0, |used| buffer_in_use(store, Some(used))).max(sampled);
    let counted = counted.with([
        ("checkpoint/seconds", seconds),
        ("checkpoint/share_in_checkpoints", in_checkpoints / seconds),
        ("checkpoint/buffer_max_share", most),
    ]);
    let per_second = 1.0 / study.work.second().as_secs_f64();
    let mut series = Series::of_clients("puts_per_s", &seen.seconds, per_second);
    series.put("buffer_share", course.buffer_share);
    series.put("throttle_us_per_put", course.throttle_us_per_put);
    series.checkpoints = reports.iter().map(|report| point(study, report, course.begun)).collect();
    Ok(RunRecord {
        counted,
        device_requests,
        series,
        ..RunRecord::of(job, &study.setups[job.setup].configuration.name)
    })
}

/// Seconds of a window that ends now in which a checkpoint ran. One that still does began when the clock asked for it: a
/// period after the last one's instant, or at its end.
fn time_in_checkpoints(
    study: &CheckpointStudy,
    store: &PagedStore<StoreToken>,
    reports: &[CheckpointReport],
    window: Range<Time>,
) -> f64 {
    let since = |from: Time, until: Time| until.since(from.max(window.start)).as_secs_f64();
    let ended = reports.iter().map(|report| since(report.start, report.start + report.duration));
    let running = reports.last().filter(|_| store.checkpoint_step().is_some());
    let running = running.map_or(0.0, |last| {
        let period = study.work.scaled_span(study.work.period);
        since(last.start + period.max(last.duration), window.end)
    });
    ended.sum::<f64>() + running
}

fn store_figures(
    counted: &mut Figures,
    before: &Totals,
    after: &Totals,
    reports: &[CheckpointReport],
) {
    let mut put = |name: &str, value: f64| counted.put(&format!("checkpoint/{name}"), value);
    let grown = |of: fn(&Totals) -> u64| (of(after) - of(before)) as f64;
    let sum = |of: fn(&CheckpointReport) -> u64| reports.iter().map(of).sum::<u64>() as f64;
    let page = PageSize::DEFAULT.bytes() as f64;
    put("puts", grown(|totals| totals.transactions));
    put("log_bytes", grown(|totals| totals.log_bytes));
    put("log_physical_bytes", grown(|totals| totals.log_physical_bytes));
    put("log_device_bytes", grown(|totals| totals.log_device_bytes));
    put("pages_written", grown(|totals| totals.pages_written));
    put("page_bytes", grown(|totals| totals.pages_written) * page);
    put("read_bytes", grown(|totals| totals.pages_read) * page);
    put("throttle_s", grown(|totals| totals.throttle_time.nanos()) / 1e9);
    put("checkpoints", reports.len() as f64);
    put("checkpoint_pages", sum(|report| report.total_pages));
    put("copied_on_write_pages", sum(|report| report.copied_on_write_pages));
    put("recovery_data_bytes", sum(|report| report.recovery_data_bytes));
    let with_data = reports.iter().filter(|report| report.protection == Protection::Checkpoint);
    let pages = with_data.map(|report| report.total_pages).sum::<u64>();
    put("pages_with_recovery_data", pages as f64);
    let mut mean = |step: &str, of: fn(&CheckpointReport) -> Span| {
        let sum = reports.iter().map(|report| of(report).as_millis_f64()).sum::<f64>();
        put(&format!("durations_ms/{step}"), sum / reports.len().max(1) as f64);
    };
    mean("log_sync", |report| report.log_sync_duration);
    mean("recovery_data_write", |report| report.recovery_data_write_duration);
    mean("write_entry", |report| report.write_entry_duration);
    mean("pages_write", |report| report.pages_write_duration);
    mean("sync", |report| report.sync_duration);
    mean("total", |report| report.duration);
}

fn put_figures(study: &CheckpointStudy, seen: &PutRecord) -> Figures {
    let per_second = 1.0 / study.work.second().as_secs_f64();
    let counts: Vec<f64> =
        seen.seconds.iter().map(|second| second.count as f64 * per_second).collect();
    let empty = counts.iter().filter(|count| **count == 0.0).count();
    let mut counted = Figures::default().with([
        ("client/puts_per_s", seen.puts_per_s()),
        ("client/lowest_second", quantile(&counts, 0.0).unwrap_or(0.0)),
        ("client/median_second", quantile(&counts, 0.5).unwrap_or(0.0)),
        ("client/empty_seconds", empty as f64),
        ("client/failed", seen.failed as f64),
    ]);
    counted.put_latency("client/clat_ms", &(&seen.latency).into());
    counted
}

fn point(study: &CheckpointStudy, report: &CheckpointReport, begun: Time) -> CheckpointPoint {
    let at = report.start.as_secs_f64() - begun.as_secs_f64();
    CheckpointPoint {
        t_s: at / study.work.scale,
        reason: format!("{:?}", report.reason),
        pages: report.total_pages,
        duration_ms: report.duration.as_millis_f64(),
    }
}
