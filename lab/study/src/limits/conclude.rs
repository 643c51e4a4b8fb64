//! From records to a limits study's result. Nothing here runs anything.

use super::record::{LimitsRecord, LimitsResult, LimitsSetupResult, StreamRepeat, StreamResult};
use super::study::LimitsStudy;
use crate::plan::Request;
use crate::result::{Latency, NamedValue};
use loadline_stats::mean;
use std::collections::BTreeMap;

/// The study's result from the records of its runs; `None` while one of them is missing.
pub(super) fn conclude(
    study: &LimitsStudy,
    request: &Request,
    records: &[LimitsRecord],
) -> Option<LimitsResult> {
    let mut of_setup: BTreeMap<usize, Vec<&LimitsRecord>> = BTreeMap::new();
    for job in study.jobs(request) {
        let record = records.iter().find(|record| record.key == job.key)?;
        of_setup.entry(job.setup).or_default().push(record);
    }
    let setups: Vec<LimitsSetupResult> =
        of_setup.into_iter().map(|(setup, runs)| conclude_setup(study, setup, &runs)).collect();
    Some(LimitsResult {
        study: study.name.clone(),
        title: study.title.clone(),
        question: study.question.clone(),
        client: study.client.to_string(),
        background: study.background.to_string(),
        world: "sim".to_owned(),
        seed: request.seed,
        facts: facts(study),
        warnings: warnings(request, &setups),
        setups,
    })
}

fn conclude_setup(study: &LimitsStudy, setup: usize, runs: &[&LimitsRecord]) -> LimitsSetupResult {
    let setup = &study.setups[setup];
    let repeat = |record: &&LimitsRecord| StreamRepeat {
        seed: record.seed,
        client: record.client,
        background: record.background,
    };
    LimitsSetupResult {
        name: setup.name.clone(),
        preset: setup.preset.to_owned(),
        scheduler: setup.scheduler.to_owned(),
        profile: setup.profile.clone(),
        limit: setup.limit.clone(),
        window: setup.window,
        client: mean_stream(runs, |record| &record.client),
        background: mean_stream(runs, |record| &record.background),
        over_limit_per_s: over(runs, |record| record.over_limit_per_s),
        repeats: runs.iter().map(repeat).collect(),
        series: runs[0].series.clone(),
        waits: runs[0].waits.clone(),
        settings: setup.settings.clone(),
    }
}

/// The mean of one figure over runs.
fn over(runs: &[&LimitsRecord], figure: impl Fn(&LimitsRecord) -> f64) -> f64 {
    let figures: Vec<f64> = runs.iter().map(|record| figure(record)).collect();
    mean(&figures).expect("a setup has at least one run")
}

fn mean_stream(
    runs: &[&LimitsRecord],
    stream: impl Fn(&LimitsRecord) -> &StreamResult,
) -> StreamResult {
    let clat = |figure: fn(&Latency) -> f64| over(runs, |record| figure(&stream(record).clat_ms));
    StreamResult {
        iops: over(runs, |record| stream(record).iops),
        mib_per_s: over(runs, |record| stream(record).mib_per_s),
        clat_ms: Latency::each(clat),
    }
}

fn facts(study: &LimitsStudy) -> Vec<NamedValue> {
    let fact = |name: &str, value: String| NamedValue { name: name.to_owned(), value };
    let steps = &study.steps;
    let limits = loadline_osd::guidelines(&study.limits)
        .map(|(index, guideline)| format!("{index}: {guideline}"))
        .collect::<Vec<_>>()
        .join(", ");
    vec![
        fact("Drive", format!("{}: {}", study.drive.name, study.drive.model)),
        fact("Client", study.client.to_string()),
        fact("Background, class background_best_effort", study.background.to_string()),
        fact("Guidelines at the drive, by descriptor", limits),
        fact("Commands that the drive orders", study.drive.tags.to_string()),
        fact("Measured", format!("{} after {}", steps.measured, steps.ramp)),
        fact("Store", "direct: one read of an object is one request".to_owned()),
    ]
}

/// Completions below which a percentile of 99.9 hangs on a handful of them.
const ENOUGH: f64 = 10_000.0;

fn warnings(request: &Request, setups: &[LimitsSetupResult]) -> Vec<String> {
    let mut warnings = vec![
        "The drive is modelled: docs/drive-models.md states its error against published figures; measure a real drive \
         with `loadline cdl bench` before relying on a number."
            .to_owned(),
    ];
    if request.repeats == 1 {
        warnings.push(
            "One run of each setup cannot tell a small difference from chance; add --repeat 3."
                .to_owned(),
        );
    }
    for setup in setups {
        let completed: f64 = setup.series.client_iops.iter().sum();
        if completed < ENOUGH {
            warnings.push(format!(
                "{}: {completed} client operations are few for a 99.9th percentile; raise `measured`.",
                setup.name
            ));
        }
    }
    warnings
}
