//! From records to the study's result. Nothing here runs anything, so it works again from a folder alone.

use crate::place::Place;
use crate::plan::{Job, Purpose, Request, plan};
use crate::published::Published;
use crate::real::summary as real;
use crate::record::RunRecord;
use crate::reservation::ReservationResult;
use crate::result::{
    ClientResult, DriveSummary, FittedFigure, Latency, NamedValue, PlacementSpread, RecoveryResult,
    RepeatResult, SetupResult, Spread, StudyResult, Variant,
};
use crate::study::Study;
use loadline_base::Span;
use loadline_stats::mean;
use std::collections::BTreeMap;

/// The study's result from the records of its runs; `None` while one of them is missing.
pub fn conclude(study: &Study, request: &Request, records: &[RunRecord]) -> Option<StudyResult> {
    let by_key: BTreeMap<&str, &RunRecord> =
        records.iter().map(|record| (record.key.as_str(), record)).collect();
    let mut of_setup: BTreeMap<usize, Vec<(Job, &RunRecord)>> = BTreeMap::new();
    for job in plan(study, request) {
        let record = *by_key.get(job.key.as_str())?;
        of_setup.entry(job.setup).or_default().push((job, record));
    }
    let chosen: Vec<&RunRecord> = of_setup.values().flatten().map(|(_, record)| *record).collect();
    let mut setups: Vec<SetupResult> =
        of_setup.into_iter().map(|(setup, runs)| conclude_setup(study, setup, &runs)).collect();
    share_of_baseline(&mut setups);
    let claims = study.published.iter().flat_map(|published| &published.claims);
    let statements = claims.map(|claim| claim.test(&setups)).collect();
    let expected = study.expectations.iter().map(|claim| claim.test(&setups)).collect();
    Some(StudyResult {
        study: study.name.clone(),
        title: study.title.clone(),
        question: study.question.clone(),
        load: study.load.to_string(),
        world: world(&study.place).to_owned(),
        scale: study.steps.scale,
        seed: request.seed,
        drive: match study.place {
            Place::Sim => drive_summary(study),
            Place::Host(_) => real::drive_summary(study, &chosen),
        },
        fitted: fitted(study),
        warnings: warnings(study, request, &setups, &chosen),
        setups,
        statements,
        expected,
    })
}

fn world(place: &Place) -> &'static str {
    match place {
        Place::Sim => "sim",
        Place::Host(_) => "host",
    }
}

fn conclude_setup(study: &Study, setup: usize, runs: &[(Job, &RunRecord)]) -> SetupResult {
    let setup = &study.setups[setup];
    let of = |purpose: fn(Purpose) -> bool| {
        let chosen = runs.iter().filter(move |(job, _)| purpose(job.purpose));
        chosen.map(|(_, record)| *record).collect::<Vec<_>>()
    };
    let answers = of(|purpose| purpose == Purpose::Answer);
    let first = answers[0];
    let variants = of(|purpose| purpose == Purpose::WithoutStage);
    SetupResult {
        name: setup.name.clone(),
        preset: setup.preset.to_owned(),
        scheduler: setup.scheduler.to_owned(),
        profile: setup.profile.clone(),
        client: mean_client(&answers),
        share_of_baseline: None,
        recovery: mean_recovery(&answers),
        published: published(study, &setup.name),
        repeats: answers.iter().map(|record| repeat(record)).collect(),
        variants: variants.iter().map(|record| variant(record)).collect(),
        spread: spread(study, &of(|purpose| matches!(purpose, Purpose::Placement(_)))),
        series: first.series.clone(),
        waits: first.waits.clone(),
        reservation: ReservationResult::of(&answers),
        settings: setup.settings.clone(),
    }
}

/// The published figures of a setup. Those that grow with the amount of work are left out where less was done.
fn published(study: &Study, setup: &str) -> Option<Published> {
    let mut figures = study.published.as_ref()?.setup(setup)?;
    if study.steps.scale != 1.0 {
        figures.recovery.seconds = None;
        figures.recovery.objects = None;
    }
    Some(figures)
}

fn repeat(record: &RunRecord) -> RepeatResult {
    let RunRecord { seed, client, recovery, .. } = record;
    RepeatResult { seed: *seed, client: client.clone(), recovery: *recovery }
}

fn variant(record: &RunRecord) -> Variant {
    let scale = record.scale;
    Variant {
        name: format!("without the study era's software stage, at scale {scale}"),
        why: "The software stage was fitted to a published result; this is what the model gives \
              without it. Rates and latencies do not depend on the scale, times do."
            .to_owned(),
        client: record.client.clone(),
        recovery: record.recovery,
    }
}

/// The mean of one figure over runs.
fn over(runs: &[&RunRecord], figure: impl Fn(&RunRecord) -> f64) -> f64 {
    let figures: Vec<f64> = runs.iter().map(|record| figure(record)).collect();
    mean(&figures).expect("a setup has at least one run")
}

fn mean_client(runs: &[&RunRecord]) -> ClientResult {
    let clat = |of: fn(&Latency) -> f64| over(runs, |record| of(&record.client.clat_ms));
    ClientResult { iops: over(runs, |record| record.client.iops), clat_ms: Latency::each(clat) }
}

fn mean_recovery(runs: &[&RunRecord]) -> Option<RecoveryResult> {
    runs.first()?.recovery?;
    let figure = |of: fn(&RecoveryResult) -> f64| {
        over(runs, |record| record.recovery.as_ref().map_or(0.0, of))
    };
    Some(RecoveryResult {
        objects_per_s: figure(|r| r.objects_per_s),
        mib_per_s: figure(|r| r.mib_per_s),
        seconds: figure(|r| r.seconds),
        objects: figure(|r| r.objects as f64).round() as u64,
    })
}

fn spread(study: &Study, runs: &[&RunRecord]) -> Option<PlacementSpread> {
    let scale = runs.first()?.scale;
    let of = |figure: fn(&RunRecord) -> Option<f64>| {
        Spread::of(&runs.iter().filter_map(|record| figure(record)).collect::<Vec<_>>())
    };
    let stretch = study.steps.scale / scale;
    let seconds = of(|record| record.recovery.map(|recovery| recovery.seconds));
    Some(PlacementSpread {
        placements: runs.len() as u32,
        scale,
        client_iops: of(|record| Some(record.client.iops))?,
        clat_mean_ms: of(|record| Some(record.client.clat_ms.mean))?,
        objects_per_s: of(|record| record.recovery.map(|recovery| recovery.objects_per_s)),
        seconds: seconds.map(|spread| Spread {
            low: spread.low * stretch,
            median: spread.median * stretch,
            high: spread.high * stretch,
        }),
    })
}

fn share_of_baseline(setups: &mut [SetupResult]) {
    let baseline = setups.iter().find(|setup| setup.recovery.is_none()).map(|s| s.client.iops);
    for setup in setups.iter_mut().filter(|setup| setup.recovery.is_some()) {
        setup.share_of_baseline = baseline.map(|baseline| setup.client.iops / baseline);
    }
}

fn drive_summary(study: &Study) -> DriveSummary {
    let (drive, steps) = (&study.drive, &study.steps);
    let fact = |name: &str, value: String| NamedValue { name: name.to_owned(), value };
    let layouts = study.setups.iter().map(|setup| {
        let options = setup.options();
        format!("{} × {} ({})", options.shards, options.threads_per_shard, setup.preset)
    });
    let mut layouts: Vec<String> = layouts.collect();
    layouts.dedup();
    DriveSummary {
        name: drive.name.clone(),
        model: drive.model.clone(),
        calibration: format!(
            "Calibrated from {} IOPS of 4 KiB random writes at depth 64 ({}) and a peak of {}.",
            drive.calibration.baseline_iops, drive.calibration.source, drive.calibration.peak
        ),
        facts: vec![
            fact("OSDs", study.cluster.osds.to_string()),
            fact("Shards × threads of an OSD, by preset", layouts.join(", ")),
            fact("Copies", study.cluster.copies.to_string()),
            fact("Placement groups", format!("{} in each of two pools", drive.fitted.pgs)),
            fact(
                "Objects written without the OSD",
                format!("{:.0} of {}", steps.objects as f64 * steps.scale, steps.object_size),
            ),
            fact("Image of the clients", study.load.image.to_string()),
            fact("Store window", drive.window.to_string()),
            fact("Write of 4 KiB", drive.service.per_request.to_string()),
            fact("Transfer of 1 MiB", drive.service.per_mib.to_string()),
            fact("Worker time per item", drive.worker_time.to_string()),
            fact("One-way delay", drive.link_delay.to_string()),
        ],
    }
}

fn fitted(study: &Study) -> Vec<FittedFigure> {
    if study.place != Place::Sim {
        return Vec::new();
    }
    let fitted = &study.drive.fitted;
    let figure = |name: &str, value: String, where_used: &str, why: &str| FittedFigure {
        name: name.to_owned(),
        value,
        where_used: where_used.to_owned(),
        source: why.to_owned(),
    };
    let mut figures = vec![
        figure("Placement groups per pool", fitted.pgs.to_string(), "all setups", &fitted.pgs_why),
        figure(
            "Handling time of a recovered object",
            fitted.object_handling.to_string(),
            "every setup with recovery",
            &fitted.object_handling_why,
        ),
    ];
    if fitted.software_stage > Span::ZERO {
        figures.push(figure(
            "Software stage under mClock",
            fitted.software_stage.to_string(),
            "setups marked as_published, while recovery is pending",
            &fitted.software_stage_why,
        ));
    }
    figures
}

fn warnings(
    study: &Study,
    request: &Request,
    setups: &[SetupResult],
    records: &[&RunRecord],
) -> Vec<String> {
    let is_real = study.place != Place::Sim;
    let mut warnings =
        if is_real { real::warnings(records, study.published.is_some()) } else { Vec::new() };
    let scale = study.steps.scale;
    if scale != 1.0 && !is_real {
        warnings.push(format!(
            "This is {scale} of the published amount of work: rates and latencies are comparable, \
             times are not; leave out --quick and --set scale for the published scale."
        ));
    }
    if request.repeats == 1 {
        let first = if is_real { "" } else { ", and look at the spread over placements first" };
        warnings.push(format!(
            "One run of each setup cannot tell a small difference from chance; add --repeat 3 for \
             intervals{first}."
        ));
    }
    if !setups.iter().any(|setup| setup.recovery.is_none()) {
        warnings.push(
            "No setup without recovery was run, so there is no share of the baseline; add the \
             baseline to --setups."
                .to_owned(),
        );
    }
    warnings
}
