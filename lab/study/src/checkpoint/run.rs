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
use loadline_load::puts::{KeyOrder, PutClock, PutRecord};
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
        Place::Ceph(_) => return Err(super::NOT_ON_CEPH.to_owned()),
    })
}

fn put(
    study: &CheckpointStudy,
    job: &Job,
    machine: &mut dyn StoreMachine,
    tick: OnProgress<'_>,
) -> Result<Option<RunRecord>, String> {
    if !fill(study, machine, tick)? {
        return Ok(None);
    }
    let keys = study.work.scaled(study.work.keys);
    machine.load_mut().overwrite(&study.load, keys, study.setups[job.setup].puts);
    machine.start_load();
    let second = study.second();
    let warm_up = study.seconds(study.work.warm_up);
    for at in 0..warm_up {
        let until = machine.now() + second;
        pass(study.load.rate, machine, until)?;
        if !tick(0.5 + 0.1 * at as f64 / warm_up as f64) {
            return Ok(None);
        }
    }
    let Some(course) = measure(study, machine, tick)? else { return Ok(None) };
    record(study, job, machine, course).map(Some)
}

/// How much of a fixed rate may be under way, in seconds of it. A store that is further behind shows latencies of its backlog alone, which takes ever
/// more memory.
const BACKLOG_SECONDS_MOST: f64 = 10.0;

/// Lets time pass for clients that overwrite.
fn pass(rate: Option<f64>, machine: &mut dyn StoreMachine, until: Time) -> Result<(), String> {
    machine.pass(until)?;
    let Some(rate) = rate else { return Ok(()) };
    let under_way = machine.load().under_way();
    let seconds = f64::from(under_way) / rate;
    match seconds > BACKLOG_SECONDS_MOST {
        true => Err(format!(
            "{under_way} puts are under way, {seconds:.0} s of the rate: it cannot keep {rate} puts/s; lower `rate`"
        )),
        false => Ok(()),
    }
}

/// Puts every key that is there at the start. Answers whether to go on.
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
            let (waits, now) = (machine.waits(), machine.now());
            return Err(format!("the store was not filled after {now}: {waits}; lower the scale"));
        }
        let passed = machine.pass(machine.now() + step);
        passed.map_err(|reason| format!("the store could not be filled: {reason}"))?;
        let share = machine.now().as_secs_f64() / limit.as_secs_f64();
        if !tick(share.min(0.5)) {
            return Ok(false);
        }
    }
    match machine.load().record(machine.now()).failed {
        0 => Ok(true),
        failed => Err(format!(
            "{failed} of {count} keys were refused while the store was filled, so it is full; change its sizes or the scale"
        )),
    }
}

/// How often a fill is looked at whether it is over.
const FILL_STEP: Span = Span::from_millis(50);

/// What is counted besides what the clients see.
#[derive(Debug)]
struct CheckpointCourse {
    begun: Time,
    second: Span,
    before: StoreSight,
    /// Sights of the store at the end of each second.
    sights: Vec<StoreSight>,
}

fn measure(
    study: &CheckpointStudy,
    machine: &mut dyn StoreMachine,
    tick: OnProgress<'_>,
) -> Result<Option<CheckpointCourse>, String> {
    let (begun, second) = (machine.now(), study.second());
    machine.load_mut().measure_from(begun, PutClock { second, stretch: study.stretch() });
    let before = machine.sight()?;
    let mut course = CheckpointCourse { begun, second, before, sights: Vec::new() };
    let seconds = study.seconds(study.work.periods);
    for at in 0..seconds {
        pass(study.load.rate, machine, begun + second * (at + 1))?;
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
    let period = study.work.scaled_span(study.work.period);
    let running = running_since(&course, (&last, now), reports.last(), period);
    reports.retain(|report| report.start + report.duration > course.begun);
    let mut counted = put_figures(study, &seen);
    let records = study.setups[job.setup].puts.records();
    store_figures(&mut counted, (&course.before.totals, &last.totals), records, &reports);
    let seconds = seen.window.as_secs_f64();
    let in_checkpoints = time_in_checkpoints(running, &reports, course.begun..now);
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
    let mut before = course.before.totals;
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

/// When the checkpoint began that still runs, as far as it was seen. It did not end in the window, so one that ran at its beginning and has no end since
/// is the same. Otherwise the clock asked for it a period after the last one's instant, or at its end, if that is in the second in which it was seen
/// first; changed pages, the log or a lack of room ask for one sooner, and of such a second it counts from the beginning.
fn running_since(
    course: &CheckpointCourse,
    (seen, now): (&StoreSight, Time),
    last: Option<&CheckpointReport>,
    period: Span,
) -> Option<Time> {
    if !seen.is_in_checkpoint {
        return None;
    }
    let is_it = |sight: &StoreSight| {
        sight.is_in_checkpoint && sight.totals.checkpoints == seen.totals.checkpoints
    };
    if is_it(&course.before) {
        return Some(course.begun);
    }
    let at = course.sights.iter().position(is_it).unwrap_or(course.sights.len());
    let second = course.begun + course.second * at as u64;
    let Some(last) = last else { return Some(second) };
    let (from, until) = (second.max(last.start + last.duration), now.min(second + course.second));
    let asked = last.start + period.max(last.duration);
    Some(if (from..=until).contains(&asked) { asked } else { from })
}

/// Seconds of a window in which a checkpoint ran: those that have ended since it began, and the one that runs since then.
fn time_in_checkpoints(
    running_since: Option<Time>,
    reports: &[CheckpointReport],
    window: Range<Time>,
) -> f64 {
    let ended = reports.iter().map(|report| report.start..report.start + report.duration);
    let all = ended.chain(running_since.map(|since| since..window.end));
    let inside = all.map(|ran| {
        let (from, until) = (ran.start.max(window.start), ran.end.min(window.end));
        if from < until { until.since(from).as_secs_f64() } else { 0.0 }
    });
    // The sum of none is a negative zero.
    0.0 + inside.sum::<f64>()
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
    put("recovery_data_bytes", grown(|totals| totals.recovery_data_bytes));
    put("recovery_data_bytes_of_ended", sum(|report| report.recovery_data_bytes));
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
    let per_second = 1.0 / study.stretch().as_secs_f64();
    let counts: Vec<f64> = seen.stretches.iter().map(|count| *count as f64 * per_second).collect();
    let empty = counts.iter().filter(|count| **count == 0.0).count();
    let mut counted = Figures::default().with([
        ("client/puts_per_s", seen.puts_per_s()),
        ("client/lowest_second", quantile(&counts, 0.0).unwrap_or(0.0)),
        ("client/median_second", quantile(&counts, 0.5).unwrap_or(0.0)),
        ("client/seconds", counts.len() as f64),
        ("client/empty_seconds", empty as f64),
        ("client/longest_gap_ms", seen.gap_max.as_millis_f64()),
        ("client/failed", seen.failed as f64),
        ("client/under_way", seen.under_way as f64),
        ("client/waited_max_ms", seen.waited_max.as_millis_f64()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_load::puts::{PutKind, PutLoad, PutSpec, ValueForm};
    use loadline_sim::Workload;
    use loadline_store::paged::ids::CheckpointId;
    use loadline_store::paged::metrics::CheckpointReason;

    /// A store that ends nothing.
    struct Stuck {
        now: Time,
        load: PutLoad,
    }

    impl StoreMachine for Stuck {
        fn now(&self) -> Time {
            self.now
        }

        fn load(&self) -> &PutLoad {
            &self.load
        }

        fn load_mut(&mut self) -> &mut PutLoad {
            &mut self.load
        }

        fn start_load(&mut self) {
            self.load.start(self.now, &mut Vec::new());
        }

        fn pass(&mut self, until: Time) -> Result<(), String> {
            self.now = until;
            self.load.woke(until, &mut Vec::new());
            Ok(())
        }

        fn sight(&mut self) -> Result<StoreSight, String> {
            Ok(StoreSight::default())
        }

        fn checkpoints(&mut self) -> Result<Vec<CheckpointReport>, String> {
            Ok(Vec::new())
        }
    }

    /// A schedule goes on whatever becomes of its puts, and what was under way took memory without end.
    #[test]
    fn a_run_ends_when_its_store_falls_far_behind_the_rate() {
        let load: PutSpec = toml::from_str("rate = 100.0").expect("there is such a load");
        let mut machine = Stuck { now: Time::ZERO, load: PutLoad::new(ValueForm::Accounts, 1) };
        machine.load_mut().overwrite(&load, 100, PutKind::Atomic);
        machine.start_load();
        let mut until = |seconds| pass(load.rate, &mut machine, Time::from_secs(seconds));
        assert_eq!(until(8), Ok(()));
        let reason = until(14).expect_err("it is behind");
        assert!(reason.contains("it cannot keep 100 puts/s; lower `rate`"), "{reason}");
    }

    fn report(from: u64, until: u64) -> CheckpointReport {
        let (id, reason) = (CheckpointId::FIRST, CheckpointReason::Timer);
        let report =
            CheckpointReport::new(id, reason, Protection::Checkpoint, Time::from_secs(from));
        CheckpointReport { duration: Span::from_secs(until - from), ..report }
    }

    /// A checkpoint that began before the window and ran to its end and beyond was no time in checkpoints at all.
    #[test]
    fn time_in_checkpoints_is_of_the_window_whichever_have_ended() {
        let at = Time::from_secs;
        let check = |ended: &[(u64, u64)], running: Option<u64>, wanted: f64| {
            let reports: Vec<CheckpointReport> =
                ended.iter().map(|(from, until)| report(*from, *until)).collect();
            let found = time_in_checkpoints(running.map(at), &reports, at(10)..at(20));
            assert_eq!(found, wanted, "{ended:?} {running:?}");
            assert!(found.is_sign_positive(), "{ended:?} {running:?}");
        };
        check(&[], None, 0.0);
        check(&[], Some(5), 10.0);
        check(&[], Some(17), 3.0);
        check(&[(8, 12), (14, 15)], Some(19), 4.0);
        // What ended, or began, when the window had closed.
        check(&[(18, 22)], Some(22), 2.0);
    }

    /// It was taken for one that the clock asked for a period after the last one's instant, after the window's end where the log had asked for it sooner,
    /// or for none if none had ended.
    #[test]
    fn a_checkpoint_that_runs_to_the_end_began_when_it_was_seen_first() {
        let sight = |is_in_checkpoint, checkpoints| StoreSight {
            totals: Totals { checkpoints, ..Totals::default() },
            is_in_checkpoint,
            ..StoreSight::default()
        };
        // What was seen at 10 s and after each second until 14 s; the last one's instant and end; since when one runs.
        let check = |seen: [(bool, u64); 5], last: Option<(u64, u64)>, wanted: Option<u64>| {
            let [before, sights @ ..] = seen.map(|(is_in, ended)| sight(is_in, ended));
            let (begun, second) = (Time::from_secs(10), Span::from_secs(1));
            let course = CheckpointCourse { begun, second, before, sights: sights.to_vec() };
            let (seen, last) = (&sights[3], last.map(|(from, until)| report(from, until)));
            let now = Time::from_secs(14);
            let found = running_since(&course, (seen, now), last.as_ref(), Span::from_secs(3));
            assert_eq!(found, wanted.map(Time::from_secs), "{course:?}");
        };
        check([(true, 2); 5], Some((1, 4)), Some(10));
        check([(true, 0); 5], None, Some(10));
        // It ended, and the next began a period after its instant, or at once where it took longer.
        check([(true, 2), (false, 3), (false, 3), (true, 3), (true, 3)], Some((9, 11)), Some(12));
        check([(true, 2), (false, 3), (false, 3), (true, 3), (true, 3)], Some((10, 11)), Some(13));
        check([(true, 2), (true, 2), (true, 3), (true, 3), (true, 3)], Some((8, 12)), Some(12));
        // Something else than the clock asked for it, sooner or later.
        check([(true, 2), (true, 2), (true, 3), (true, 3), (true, 3)], Some((10, 11)), Some(11));
        check([(true, 2), (false, 3), (false, 3), (false, 3), (true, 3)], Some((8, 11)), Some(13));
        // The first of all.
        check([(false, 0), (false, 0), (true, 0), (true, 0), (true, 0)], None, Some(11));
        check([(true, 2), (false, 3), (false, 3), (false, 3), (false, 3)], Some((8, 11)), None);
    }

    /// Images of a whole checkpoint stood beside the log of the part of it that was in the window.
    #[test]
    fn images_count_as_they_were_written_in_the_window() {
        let of = |recovery_data_bytes| Totals { recovery_data_bytes, ..Totals::default() };
        let ended = CheckpointReport { recovery_data_bytes: 300, ..report(8, 12) };
        let mut counted = Figures::default();
        store_figures(&mut counted, (&of(250), &of(350)), 1, &[ended]);
        let found = |key| counted.get(key);
        assert_eq!(found("checkpoint/recovery_data_bytes"), Some(100.0));
        assert_eq!(found("checkpoint/recovery_data_bytes_of_ended"), Some(300.0));
    }
}
