//! From records to the study's result. Nothing here runs anything, so it works again from a folder alone.

use crate::claim::Claim;
use crate::figure::PublishedFigures;
use crate::figure::{Figure, Figures};
use crate::job::{Job, RunPurpose};
use crate::plan::{StudyRequest, plan};
use crate::record::RunRecord;
use crate::reservation::ReservationResult;
use crate::result::{
    FigureDoubt, PlacementSpread, Repeat, SetupResult, Spread, Statement, StudyResult, VERSION,
    Variant,
};
use crate::study::Study;
use loadline_stats::mean;
use std::collections::{BTreeMap, BTreeSet};

/// The study's result from the records of its runs; `None` while one of them is missing.
pub fn conclude(
    study: &Study,
    request: &StudyRequest,
    records: &[RunRecord],
) -> Option<StudyResult> {
    let by_key: BTreeMap<&str, &RunRecord> =
        records.iter().map(|record| (record.key.as_str(), record)).collect();
    let mut of_setup: BTreeMap<usize, Vec<(Job, &RunRecord)>> = BTreeMap::new();
    for job in plan(study, request) {
        let record = *by_key.get(job.key.as_str())?;
        of_setup.entry(job.setup).or_default().push((job, record));
    }
    let chosen: Vec<&RunRecord> = of_setup.values().flatten().map(|(_, record)| *record).collect();
    let answers: Vec<(usize, Vec<&RunRecord>)> = of_setup
        .iter()
        .map(|(setup, runs)| {
            let answers = runs.iter().filter(|(job, _)| job.purpose == RunPurpose::Answer);
            (*setup, answers.map(|(_, record)| *record).collect())
        })
        .collect();
    let mut setups: Vec<SetupResult> =
        of_setup.into_iter().map(|(setup, runs)| conclude_setup(study, setup, &runs)).collect();
    study.script.complete(&mut setups);
    study.script.judge(&mut setups, &answers);
    let claims = || study.published.iter().flat_map(|published| &published.claims);
    let mut warnings = study.script.warnings(&setups, &chosen);
    if request.repeats == 1 {
        warnings.push(
            "One run of each setup cannot tell a small difference from chance; add --repeat 3 for intervals."
                .to_owned(),
        );
    }
    if !study.departs.is_empty() {
        warnings.push(format!(
            "The published figures are of another load or system than this one ({}), so none stands beside ours; leave that out \
             to compare.",
            study.departs.join(", ")
        ));
    }
    let names: Vec<&str> = setups.iter().map(SetupResult::name).collect();
    let notes = study.published.iter().flat_map(|set| set.notes_about(&names));
    warnings.extend(notes.map(str::to_owned));
    let tested = |claim: &Claim| claim.test(study.kind, &study.place, &setups);
    let of = (study.kind, &study.place);
    let published = |claim: &Claim| claim.test_at_scale(study.scale, of, &setups);
    let statements: Vec<Statement> = claims().filter_map(published).collect();
    let expectations = study.expectations.iter().filter_map(tested);
    let expected: Vec<Statement> = expectations.chain(study.script.expected(&setups)).collect();
    warnings.extend(untold(&setups, statements.iter().chain(&expected)));
    let mut drive = study.script.drive(&chosen);
    if let Some(set) = &study.published {
        drive.facts.push(("Published figures", set.source.as_str()).into());
        drive.facts.push(("Measured on", set.measured_on.as_str()).into());
    }
    Some(StudyResult {
        version: VERSION,
        kind: study.kind,
        study: study.name.clone(),
        title: study.title.clone(),
        question: study.question.clone(),
        load: study.load.clone(),
        world: study.place.world().to_owned(),
        scale: study.scale,
        seed: request.seed,
        drive,
        fitted: study.script.fitted(),
        ratios: claims().filter_map(|claim| claim.ratio(study.kind, &setups)).collect(),
        statements,
        expected,
        setups,
        warnings,
    })
}

/// Why all figures of a setup decide nothing, where no claim is about it that would say so.
fn untold<'a>(
    setups: &[SetupResult],
    statements: impl Iterator<Item = &'a Statement>,
) -> Vec<String> {
    let told: BTreeSet<&String> = statements.flat_map(|of| &of.undecided).collect();
    let of_all = |setup: &SetupResult| -> Vec<String> {
        let doubts = setup.doubts.iter().filter(|doubt| doubt.figure.is_none());
        doubts.map(|doubt| doubt.of(setup.name())).collect()
    };
    let all = setups.iter().flat_map(of_all).filter(|why| !told.contains(why));
    all.map(|why| format!("{why}.")).collect()
}

fn conclude_setup(study: &Study, setup: usize, runs: &[(Job, &RunRecord)]) -> SetupResult {
    let figures = study.kind.figures();
    let of = |purpose: fn(RunPurpose) -> bool| {
        let chosen = runs.iter().filter(move |(job, _)| purpose(job.purpose));
        chosen.map(|(_, record)| *record).collect::<Vec<_>>()
    };
    let shown = |record: &RunRecord| Figures::of_run(figures, &record.counted);
    let answers = of(|purpose| purpose == RunPurpose::Answer);
    let repeats: Vec<Figures> = answers.iter().map(|record| shown(record)).collect();
    let variant = |record: &RunRecord| Variant {
        name: format!("with another OSD returning, at scale {}", record.scale),
        why: "What osd.0 sends has the owner number 0, as local recovery work has, so that items \
              and replies share a record; another OSD's replies have one of their own."
            .to_owned(),
        figures: shown(record),
    };
    let variants = of(|purpose| purpose == RunPurpose::OtherReturns);
    let placements = of(|purpose| matches!(purpose, RunPurpose::Placement(_)));
    let reservation = ReservationResult::of(&answers);
    let mut means = Figures::over(figures, &repeats, mean);
    if let Some(kept) = &reservation {
        means.put("reservation/demand", kept.demand);
    }
    SetupResult {
        setup: study.setups[setup].clone(),
        doubts: unended(figures, &repeats),
        figures: means,
        published: published(study, &study.setups[setup].name),
        published_curves: match &study.published {
            Some(set) if study.scale == 1.0 => set.curves_of(&study.setups[setup].name),
            _ => Vec::new(),
        },
        repeats: answers
            .iter()
            .zip(repeats)
            .map(|(record, mut figures)| {
                if let Some(kept) = ReservationResult::of(&[record]) {
                    figures.put("reservation/demand", kept.demand);
                }
                Repeat { seed: record.seed, figures }
            })
            .collect(),
        variants: variants.iter().map(|record| variant(record)).collect(),
        spread: spread(study, &placements),
        series: answers[0].series.clone(),
        waits: answers[0].waits.clone(),
        images: Vec::new(),
        promise: None,
        beside: None,
        reservation,
    }
}

/// Of what ended in some repeats alone there is no figure.
fn unended(figures: &[Figure], repeats: &[Figures]) -> Vec<FigureDoubt> {
    let of = |figure: &Figure| {
        let ended = repeats.iter().filter(|repeat| repeat.get(figure.key).is_some()).count();
        let why = format!(
            "{} is known of {ended} of {} repeats, in which it ended: raise `limit`",
            figure.label(),
            repeats.len()
        );
        let is_of_some = (1..repeats.len()).contains(&ended);
        is_of_some.then(|| FigureDoubt { figure: Some(figure.key.to_owned()), why })
    };
    figures.iter().filter(|figure| figure.ends).filter_map(of).collect()
}

/// The published figures of a setup. Those that grow with the amount of work are left out where less was done.
fn published(study: &Study, setup: &str) -> PublishedFigures {
    let published = study.published.as_ref().and_then(|set| set.setup(setup));
    let mut figures = published.unwrap_or_default();
    let grows = |key: &str| study.kind.figure(key).is_some_and(|figure| figure.grows);
    figures.retain(|key| study.scale == 1.0 || !grows(key));
    figures
}

fn spread(study: &Study, runs: &[&RunRecord]) -> Option<PlacementSpread> {
    let scale = runs.first()?.scale;
    let of = |figure: &Figure| {
        let values: Vec<f64> =
            runs.iter().filter_map(|record| figure.of_run(&record.counted)).collect();
        let Spread { low, median, high } = Spread::of(&values)?;
        let stretch = if figure.grows { study.scale / scale } else { 1.0 };
        let stretched =
            Spread { low: low * stretch, median: median * stretch, high: high * stretch };
        Some((figure.key.to_owned(), stretched))
    };
    Some(PlacementSpread {
        placements: runs.len() as u32,
        scale,
        figures: study.kind.chief().filter_map(of).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::StudyKind;
    use crate::result::Configuration;

    #[test]
    fn an_end_that_some_repeats_did_not_see_is_doubted() {
        let run = |ended: bool| match ended {
            true => Figures::default().with([("removal/seconds", 3540.0)]),
            false => Figures::default(),
        };
        let check = |ended: &[bool], wanted: &[&str]| {
            let repeats: Vec<Figures> = ended.iter().map(|ended| run(*ended)).collect();
            let found = unended(StudyKind::Services.figures(), &repeats);
            let said: Vec<&str> = found.iter().map(|doubt| doubt.why.as_str()).collect();
            assert_eq!(said, wanted, "{ended:?}");
        };
        let why = "removal time is known of 1 of 3 repeats, in which it ended: raise `limit`";
        check(&[true, false, false], &[why]);
        check(&[true; 3], &[]);
        check(&[false; 3], &[]);
    }

    /// A reason stood in the claims and again as a note below them; without a claim nothing else tells it.
    #[test]
    fn what_a_claim_says_is_no_note_as_well() {
        let doubt = |figure: Option<&str>, why: &str| {
            let figure = figure.map(str::to_owned);
            FigureDoubt { figure, why: why.to_owned() }
        };
        let setup = |name: &str| SetupResult {
            setup: Configuration { name: name.to_owned(), ..Configuration::default() },
            doubts: vec![doubt(None, "full"), doubt(Some("client/iops"), "few")],
            ..SetupResult::default()
        };
        let statement =
            Statement { undecided: vec!["“a”: full".to_owned()], ..Statement::default() };
        assert_eq!(untold(&["a", "b"].map(setup), [&statement].into_iter()), ["“b”: full."]);
    }
}
