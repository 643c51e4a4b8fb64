//! One run on a machine: its store is filled, clients put for some periods until it has settled, and then it is measured.

use super::embedded;
use super::machine::{StoreMachine, StoreSight};
use super::simulated::SimulatedNode;
use super::study::{CheckpointSetup, CheckpointStudy};
use crate::figure::Figures;
use crate::job::Job;
use crate::place::Place;
use crate::record::RunRecord;
use crate::script::{OnProgress, RunError};
use crate::series::{CheckpointPoint, Series};
use loadline_base::{Span, Time};
use loadline_load::puts::{KeyOrder, PutRecord};
use loadline_stats::quantile;
use loadline_store::paged::Protection;
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::metrics::{CheckpointReport, Totals};
use loadline_testbed::EmbeddedStore;
use std::ops::Range;

/// What a fill may take of the world's time, for each key: a hundred times what it should.
const FILL_NS_PER_KEY: u64 = 500_000;

/// Makes a run; `None` if `tick` ended it.
pub(super) fn run(
    study: &CheckpointStudy,
    job: &Job,
    tick: OnProgress<'_>,
) -> Result<Option<RunRecord>, RunError> {
    let setup = &study.setups[job.setup];
    let outcome = machine(study, setup, job.seed)
        .map_err(|error| {
            format!("there can be no such store: {error}; change its sizes or the scale")
        })
        .and_then(|mut machine| put(study, job, machine.as_mut(), tick));
    outcome.map_err(|reason| RunError::Failed { setup: setup.configuration.name.clone(), reason })
}

/// The machine under test.
fn machine(
    study: &CheckpointStudy,
    setup: &CheckpointSetup,
    seed: u64,
) -> Result<Box<dyn StoreMachine>, String> {
    Ok(match &study.place {
        Place::Sim => Box::new(SimulatedNode::new(study, setup, seed)?),
        Place::Host(place) => {
            Box::new(EmbeddedStore::start(&embedded::spec(study, (setup, place), seed))?)
        }
    })
}

fn put(
    study: &CheckpointStudy,
    job: &Job,
    machine: &mut dyn StoreMachine,
    tick: OnProgress<'_>,
) -> Result<Option<RunRecord>, String> {
    let is_filled = fill(study, machine, tick).map_err(|left| {
        format!("the store could not be filled: {left}; change its sizes or the scale")
    })?;
    if !is_filled {
        return Ok(None);
    }
    let keys = study.work.scaled(study.work.keys);
    machine.load_mut().overwrite(&study.load, keys, study.setups[job.setup].puts);
    machine.start_load();
    let second = study.second();
    let warm_up = study.seconds(study.work.warm_up);
    for at in 0..warm_up {
        machine.pass(machine.now() + second)?;
        if !tick(0.5 + 0.1 * at as f64 / warm_up as f64) {
            return Ok(None);
        }
    }
    let Some(course) = measure(study, machine, tick)? else { return Ok(None) };
    record(study, job, machine, course).map(Some)
}

/// Puts every key that is there at the start. Answers whether to go on; the error says what was left.
fn fill(
    study: &CheckpointStudy,
    machine: &mut dyn StoreMachine,
    tick: OnProgress<'_>,
) -> Result<bool, String> {
    let (count, range) = (study.work.scaled(study.work.filled), study.work.scaled(study.work.keys));
    let limit = machine.now() + Span::from_nanos(FILL_NS_PER_KEY) * count + Span::from_secs(1);
    if study.work.filled > 0 {
        machine.load_mut().fill(KeyOrder::Ascending { count, range });
    }
    machine.start_load();
    let step = study.second().min(FILL_STEP);
    while !machine.load().is_filled() {
        if machine.now() >= limit {
            return Err(format!("{} after {}", machine.waits(), machine.now()));
        }
        machine.pass(machine.now() + step)?;
        let share = machine.now().as_secs_f64() / limit.as_secs_f64();
        if !tick(share.min(0.5)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// How often a fill is looked at whether it is over.
const FILL_STEP: Span = Span::from_millis(50);

/// What is counted besides what the clients see.
struct CheckpointCourse {
    begun: Time,
    before: Totals,
    /// Sights of the store at the end of each second.
    sights: Vec<StoreSight>,
}

fn measure(
    study: &CheckpointStudy,
    machine: &mut dyn StoreMachine,
    tick: OnProgress<'_>,
) -> Result<Option<CheckpointCourse>, String> {
    let (begun, second) = (machine.now(), study.second());
    machine.load_mut().measure_from(begun, second);
    let before = machine.sight()?.totals;
    let mut course = CheckpointCourse { begun, before, sights: Vec::new() };
    let seconds = study.seconds(study.work.periods);
    for at in 0..seconds {
        machine.pass(begun + second * (at + 1))?;
        course.sights.push(machine.sight()?);
        if !tick(0.6 + 0.4 * at as f64 / seconds as f64) {
            return Ok(None);
        }
    }
    Ok(Some(course))
}

fn record(
    study: &CheckpointStudy,
    job: &Job,
    machine: &mut dyn StoreMachine,
    course: CheckpointCourse,
) -> Result<RunRecord, String> {
    let now = machine.now();
    let seen = machine.load().record(now);
    let last = machine.sight()?;
    let mut reports = machine.checkpoints()?;
    reports.retain(|report| report.start + report.duration > course.begun);
    let mut counted = put_figures(study, &seen);
    let records = study.setups[job.setup].puts.records();
    store_figures(&mut counted, (&course.before, &last.totals), records, &reports);
    let seconds = seen.window.as_secs_f64();
    let window = course.begun..now;
    let in_checkpoints = time_in_checkpoints(study, last.is_in_checkpoint, &reports, window);
    let used = reports.iter().map(|report| report.buffer_used_max).max();
    let sampled = course.sights.iter().map(|sight| sight.buffer_share(None)).fold(0.0, f64::max);
    let most = used.map_or(0.0, |used| last.buffer_share(Some(used))).max(sampled);
    let counted = counted.with([
        ("checkpoint/seconds", seconds),
        ("checkpoint/share_in_checkpoints", in_checkpoints / seconds),
        ("checkpoint/buffer_max_share", most),
    ]);
    let per_second = 1.0 / study.second().as_secs_f64();
    let mut series = Series::of_clients("puts_per_s", &seen.seconds, per_second);
    put_course(&mut series, &course, (records, per_second));
    series.checkpoints = reports.iter().map(|report| point(study, report, course.begun)).collect();
    Ok(RunRecord {
        counted,
        device_requests: last.device_requests,
        series,
        real: machine.facts(),
        ..RunRecord::of(job, &study.setups[job.setup].configuration.name)
    })
}

/// What the store did and held in each second.
fn put_course(series: &mut Series, course: &CheckpointCourse, (records, per_second): (u64, f64)) {
    let mut before = course.before;
    let mut throttle = Vec::new();
    let (mut log, mut images, mut home) = (Vec::new(), Vec::new(), Vec::new());
    for StoreSight { totals, .. } in &course.sights {
        let puts = (totals.transactions - before.transactions) as f64 / records as f64;
        let slept = (totals.throttle_time.nanos() - before.throttle_time.nanos()) as f64 / 1e3;
        throttle.push(slept / puts.max(1.0));
        let mib = |bytes: u64| bytes as f64 * per_second / f64::from(1 << 20);
        log.push(mib(totals.log_bytes - before.log_bytes));
        images.push(mib(totals.recovery_data_bytes - before.recovery_data_bytes));
        let pages = totals.pages_written - before.pages_written;
        home.push(mib(pages * PageSize::DEFAULT.bytes() as u64));
        before = *totals;
    }
    series.put("buffer_share", course.sights.iter().map(|sight| sight.buffer_share(None)));
    series.put("dirty_pages", course.sights.iter().map(|sight| sight.dirty_pages as f64));
    series.put("throttle_us_per_put", throttle);
    series.put("log_mib_per_s", log);
    series.put("recovery_mib_per_s", images);
    series.put("home_mib_per_s", home);
}

/// Seconds of a window that ends now in which a checkpoint ran. One that still does began when the clock asked for it: a
/// period after the last one's instant, or at its end.
fn time_in_checkpoints(
    study: &CheckpointStudy,
    is_running: bool,
    reports: &[CheckpointReport],
    window: Range<Time>,
) -> f64 {
    let since = |from: Time, until: Time| until.since(from.max(window.start)).as_secs_f64();
    let ended = reports.iter().map(|report| since(report.start, report.start + report.duration));
    let running = reports.last().filter(|_| is_running);
    let running = running.map_or(0.0, |last| {
        let period = study.work.scaled_span(study.work.period);
        since(last.start + period.max(last.duration), window.end)
    });
    ended.sum::<f64>() + running
}

fn store_figures(
    counted: &mut Figures,
    (before, after): (&Totals, &Totals),
    records: u64,
    reports: &[CheckpointReport],
) {
    let mut put = |name: &str, value: f64| counted.put(&format!("checkpoint/{name}"), value);
    let grown = |of: fn(&Totals) -> u64| (of(after) - of(before)) as f64;
    let sum = |of: fn(&CheckpointReport) -> u64| reports.iter().map(of).sum::<u64>() as f64;
    let page = PageSize::DEFAULT.bytes() as f64;
    put("puts", grown(|totals| totals.transactions) / records as f64);
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
    let per_second = 1.0 / study.second().as_secs_f64();
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
        t_s: at / study.second().as_secs_f64(),
        reason: format!("{:?}", report.reason),
        pages: report.total_pages,
        duration_ms: report.duration.as_millis_f64(),
    }
}
