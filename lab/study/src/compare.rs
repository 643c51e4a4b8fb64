//! Two results of one study side by side.

use crate::result::{RepeatResult, SetupResult, StudyResult};
use loadline_stats::{Verdict, compare, mean, mean_interval};
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
    /// Half of the 95 % interval of the old value; `None` below two repeats.
    pub old_half_width: Option<f64>,
    /// The same of the new value.
    pub new_half_width: Option<f64>,
    /// 95 % interval of `new - old`, where both have repeats.
    pub difference: Option<(f64, f64)>,
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
        let half_width = |runs: &[f64]| mean_interval(runs).map(|interval| interval.half_width);
        let comparison = compare(&before, &after);
        let verdict = match comparison.map(|comparison| comparison.verdict) {
            None => "too few runs: add --repeat 3 to tell a difference from chance",
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
            old_half_width: half_width(&before),
            new_half_width: half_width(&after),
            difference: comparison.map(|c| (c.difference.low(), c.difference.high())),
            verdict,
        })
    };
    FIGURES.iter().filter_map(figure).collect()
}
