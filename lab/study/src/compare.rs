//! Two results of one study side by side.

use crate::result::{RepeatResult, SetupResult, StudyResult};
use loadline_stats::{Verdict, compare, mean};
use serde::Serialize;

/// One figure of one setup in both results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedFigure {
    /// The setup.
    pub setup: String,
    /// The figure, with its unit.
    pub figure: &'static str,
    /// The old value.
    pub old: f64,
    /// The new value.
    pub new: f64,
    /// `new / old - 1`
    pub change: f64,
    /// What repeats allow to say.
    pub verdict: &'static str,
}

type Pick = fn(&RepeatResult) -> Option<f64>;

const FIGURES: [(&str, Pick); 5] = [
    ("client IOPS", |repeat| Some(repeat.client.iops)),
    ("mean latency, ms", |repeat| Some(repeat.client.clat_ms.mean)),
    ("p99 latency, ms", |repeat| Some(repeat.client.clat_ms.p99)),
    ("objects/s", |repeat| repeat.recovery.map(|recovery| recovery.objects_per_s)),
    ("recovery, s", |repeat| repeat.recovery.map(|recovery| recovery.seconds)),
];

/// The figures of every setup that both results have.
pub fn compare_results(old: &StudyResult, new: &StudyResult) -> Vec<ComparedFigure> {
    let pairs = old.setups.iter().filter_map(|setup| Some((setup, new.setup(&setup.name)?)));
    pairs.flat_map(|(old, new)| compare_setups(old, new)).collect()
}

fn compare_setups(old: &SetupResult, new: &SetupResult) -> Vec<ComparedFigure> {
    let figure = |(name, pick): &(&'static str, Pick)| {
        let of = |setup: &SetupResult| setup.repeats.iter().filter_map(pick).collect::<Vec<f64>>();
        let (before, after) = (of(old), of(new));
        let (old_mean, new_mean) = (mean(&before)?, mean(&after)?);
        let verdict = match compare(&before, &after).map(|comparison| comparison.verdict) {
            None => "one run each: add --repeat 3 to tell a difference from chance",
            Some(Verdict::NoDifferenceShown) => "no difference shown",
            Some(Verdict::Higher) => "higher",
            Some(Verdict::Lower) => "lower",
        };
        Some(ComparedFigure {
            setup: old.name.clone(),
            figure: name,
            old: old_mean,
            new: new_mean,
            change: new_mean / old_mean - 1.0,
            verdict,
        })
    };
    FIGURES.iter().filter_map(figure).collect()
}
