//! From records to a checkpoint study's result. Nothing here runs anything.

use super::figure::CheckpointFigure;
use super::record::{
    CheckpointRecord, CheckpointResult, CheckpointSetupResult, Durations, PutResult, StoreFigures,
    scale_in_words,
};
use super::study::{CheckpointSetup, CheckpointStudy};
use crate::plan::Request;
use crate::result::{Latency, NamedValue};
use loadline_stats::mean;
use std::collections::BTreeMap;

/// The study's result from the records of its runs; `None` while one of them is missing.
pub(super) fn conclude(
    study: &CheckpointStudy,
    request: &Request,
    records: &[CheckpointRecord],
) -> Option<CheckpointResult> {
    let mut of_setup: BTreeMap<usize, Vec<&CheckpointRecord>> = BTreeMap::new();
    for job in study.jobs(request) {
        let record = records.iter().find(|record| record.key == job.key)?;
        of_setup.entry(job.setup).or_default().push(record);
    }
    let setups: Vec<CheckpointSetupResult> =
        of_setup.into_iter().map(|(setup, runs)| conclude_setup(study, setup, &runs)).collect();
    let comparisons = || study.published.iter().flat_map(|published| &published.comparisons);
    Some(CheckpointResult {
        study: study.name.clone(),
        title: study.title.clone(),
        question: study.question.clone(),
        load: study.load.to_string(),
        world: "sim".to_owned(),
        scale: study.work.scale,
        seed: request.seed,
        facts: facts(study),
        ratios: comparisons().filter_map(|comparison| comparison.compared(&setups)).collect(),
        statements: comparisons().filter_map(|comparison| comparison.tested(&setups)).collect(),
        warnings: warnings(request, &setups),
        setups,
    })
}

fn conclude_setup(
    study: &CheckpointStudy,
    setup: usize,
    runs: &[&CheckpointRecord],
) -> CheckpointSetupResult {
    let setup = &study.setups[setup];
    let published = study.published.as_ref().and_then(|set| set.setups.get(&setup.name));
    let repeats: Vec<_> =
        runs.iter().map(|record| figures(&record.client, &record.store)).collect();
    CheckpointSetupResult {
        name: setup.name.clone(),
        settings: settings(setup),
        client: mean_client(runs),
        store: mean_store(runs),
        figures: mean_figures(&repeats),
        repeats,
        published: published.cloned().unwrap_or_default(),
        series: runs[0].series.clone(),
    }
}

fn figures(client: &PutResult, store: &StoreFigures) -> BTreeMap<CheckpointFigure, f64> {
    let all = CheckpointFigure::ALL.into_iter();
    all.filter_map(|figure| Some((figure, figure.of(client, store)?))).collect()
}

fn mean_figures(repeats: &[BTreeMap<CheckpointFigure, f64>]) -> BTreeMap<CheckpointFigure, f64> {
    let of = |figure: CheckpointFigure| {
        let values: Vec<f64> =
            repeats.iter().filter_map(|repeat| repeat.get(&figure).copied()).collect();
        Some((figure, mean(&values)?))
    };
    CheckpointFigure::ALL.into_iter().filter_map(of).collect()
}

fn settings(setup: &CheckpointSetup) -> Vec<NamedValue> {
    [
        fact("protection", setup.protection),
        fact("log mode", setup.log_mode),
        fact("compression of images", setup.compression),
        fact("throttle", setup.throttle),
    ]
    .into()
}

fn fact(name: &str, value: impl ToString) -> NamedValue {
    NamedValue { name: name.to_owned(), value: value.to_string() }
}

/// The mean of one figure over runs.
fn over(runs: &[&CheckpointRecord], figure: impl Fn(&CheckpointRecord) -> f64) -> f64 {
    let figures: Vec<f64> = runs.iter().map(|record| figure(record)).collect();
    mean(&figures).expect("a setup has at least one run")
}

fn mean_client(runs: &[&CheckpointRecord]) -> PutResult {
    let of = |figure: fn(&PutResult) -> f64| over(runs, |record| figure(&record.client));
    let clat = |figure: fn(&Latency) -> f64| over(runs, |record| figure(&record.client.clat_ms));
    PutResult {
        puts_per_s: of(|client| client.puts_per_s),
        clat_ms: Latency::each(clat),
        lowest_second: of(|client| client.lowest_second),
        median_second: of(|client| client.median_second),
        empty_seconds: of(|client| client.empty_seconds as f64).round() as u64,
        failed: of(|client| client.failed as f64).ceil() as u64,
    }
}

fn mean_store(runs: &[&CheckpointRecord]) -> StoreFigures {
    let of = |figure: fn(&StoreFigures) -> f64| over(runs, |record| figure(&record.store));
    let step = |figure: fn(&Durations) -> f64| over(runs, |r| figure(&r.store.durations_ms));
    StoreFigures {
        seconds: of(|store| store.seconds),
        puts: of(|store| store.puts),
        log_bytes: of(|store| store.log_bytes),
        log_physical_bytes: of(|store| store.log_physical_bytes),
        log_device_bytes: of(|store| store.log_device_bytes),
        recovery_data_bytes: of(|store| store.recovery_data_bytes),
        pages_with_recovery_data: of(|store| store.pages_with_recovery_data),
        pages_written: of(|store| store.pages_written),
        page_bytes: of(|store| store.page_bytes),
        read_bytes: of(|store| store.read_bytes),
        checkpoints: of(|store| store.checkpoints),
        checkpoint_pages: of(|store| store.checkpoint_pages),
        copied_on_write_pages: of(|store| store.copied_on_write_pages),
        share_in_checkpoints: of(|store| store.share_in_checkpoints),
        buffer_max_share: of(|store| store.buffer_max_share),
        throttle_s: of(|store| store.throttle_s),
        durations_ms: Durations {
            log_sync: step(|steps| steps.log_sync),
            recovery_data_write: step(|steps| steps.recovery_data_write),
            write_entry: step(|steps| steps.write_entry),
            pages_write: step(|steps| steps.pages_write),
            sync: step(|steps| steps.sync),
            total: step(|steps| steps.total),
        },
    }
}

fn facts(study: &CheckpointStudy) -> Vec<NamedValue> {
    let CheckpointStudy { drive, work, store, .. } = study;
    let scaled = |bytes: loadline_base::Bytes| {
        format!("{:.1} MiB", work.scaled(bytes.get()) as f64 / f64::from(1 << 20))
    };
    let mut facts = vec![
        fact("Scale", format!("{} of one server node", scale_in_words(work.scale))),
        fact(
            "Keys",
            format!("{}, {} at the start", work.scaled(work.keys), work.scaled(work.filled)),
        ),
        fact("Checkpoint period", format!("{:.1}", work.scaled_span(work.period))),
        fact("Measured", format!("{} periods after {} to settle", work.periods, work.warm_up)),
        fact("A second of the published node", format!("{:.2}", work.second())),
        fact("Memory for pages", scaled(store.cache)),
        fact("Buffer of old versions", scaled(store.old_versions)),
        fact("Log", scaled(store.log)),
        fact("Drive", format!("{}: {}", study.drive_name, drive.model)),
        fact("Drive's figures", &drive.source),
        fact("Transfer per second", drive.bandwidth),
        fact("Time per request", format!("{}, {} at once", drive.per_request, drive.channels)),
        fact("Flush", drive.flush),
        fact("Processor time of a put", drive.op),
        fact("Processor time of a KiB of images and edits in the log", drive.physical_log_kib),
        fact("Scheduler", format!("{}, profile {}", study.plan.preset.name, study.profile)),
        fact("Window", study.window),
    ];
    if let Some(published) = &study.published {
        facts.push(fact("Published figures", &published.source));
        facts.push(fact("Measured on", &published.measured_on));
    }
    facts
}

fn warnings(request: &Request, setups: &[CheckpointSetupResult]) -> Vec<String> {
    let mut warnings = vec![
        "Drive and processor are modelled: ratios between setups are comparable with published \
         ones, absolute rates are not; look at the ratios first."
            .to_owned(),
    ];
    if request.repeats == 1 {
        warnings.push(
            "One run of each setup cannot tell a small difference from chance; add --repeat 3."
                .to_owned(),
        );
    }
    for setup in setups {
        if setup.client.failed > 0 {
            warnings.push(format!(
                "{}: {} puts ended with an error; give the store more room.",
                setup.name, setup.client.failed
            ));
        }
        if setup.store.checkpoints < 3.0 {
            warnings.push(format!(
                "{}: fewer than three checkpoints ended; raise `periods`.",
                setup.name
            ));
        }
    }
    warnings
}
