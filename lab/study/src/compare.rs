//! Two results of one study side by side.

use crate::figure::{Better, Figure, ShownIn};
use crate::pairs::SetupPairs;
use crate::result::{SetupResult, StudyResult};
use loadline_stats::{CompareVerdict, compare, mean, mean_interval};
use serde::Serialize;

/// The verdict on a difference that too few runs were made for; `--repeat 3` would tell it from chance.
pub const UNTESTED: &str = "not tested";

/// The verdict on what grows with the amount of work, between results of unlike amounts.
const NOT_COMPARABLE: &str = "not comparable";

/// One figure of one setup in both results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedFigure {
    /// The setup, as the old result calls it.
    pub setup: String,
    /// As the new one does.
    pub new_setup: String,
    /// The figure, with its unit.
    pub figure: String,
    /// The old value.
    pub old: f64,
    /// The new value.
    pub new: f64,
    /// `new / old - 1`; `None` where the two are not comparable.
    pub change: Option<f64>,
    /// Half of the 95 % interval of the old value; `None` below two repeats.
    pub old_half_width: Option<f64>,
    /// The same of the new value.
    pub new_half_width: Option<f64>,
    /// 95 % interval of `new - old`, where both have repeats.
    pub difference: Option<(f64, f64)>,
    /// What repeats allow to say.
    pub verdict: &'static str,
}

/// The figures of the result table, of every pair of setups of two results of one study.
pub fn compare_results(
    old: &StudyResult,
    new: &StudyResult,
    pairs: &SetupPairs<'_>,
) -> Vec<ComparedFigure> {
    let is_of_one_scale = old.scale == new.scale;
    let mut all = Vec::new();
    for pair in &pairs.pairs {
        let shown = old.kind.figures().iter().filter(|figure| figure.seen == ShownIn::Table);
        for figure in shown.filter(|figure| figure.is_of_runs()) {
            let compared = compared(figure, pair.old, pair.new);
            all.extend(compared.map(|of| match is_of_one_scale || !figure.grows {
                true => of,
                false => of.of_unlike_work(),
            }));
        }
    }
    all
}

impl ComparedFigure {
    /// The two values are of different amounts of what they grow with.
    fn of_unlike_work(self) -> ComparedFigure {
        ComparedFigure { change: None, difference: None, verdict: NOT_COMPARABLE, ..self }
    }
}

fn compared(figure: &Figure, old: &SetupResult, new: &SetupResult) -> Option<ComparedFigure> {
    let (before, after) = (old.in_repeats(figure), new.in_repeats(figure));
    let (old_mean, new_mean) = (mean(&before)?, mean(&after)?);
    let half_width = |runs: &[f64]| mean_interval(runs).map(|interval| interval.half_width);
    let comparison = compare(&before, &after);
    Some(ComparedFigure {
        setup: old.name().to_owned(),
        new_setup: new.name().to_owned(),
        figure: figure.label(),
        old: old_mean,
        new: new_mean,
        change: Some(new_mean / old_mean - 1.0),
        old_half_width: half_width(&before),
        new_half_width: half_width(&after),
        difference: comparison.map(|c| (c.difference.low(), c.difference.high())),
        verdict: match comparison {
            Some(comparison) => figure.verdict(comparison.verdict),
            None if before == after => "equal",
            None => UNTESTED,
        },
    })
}

impl Figure {
    /// What the repeats of two setups allow to say of this figure.
    pub fn verdict(&self, found: CompareVerdict) -> &'static str {
        match (found, self.better) {
            (CompareVerdict::NoDifferenceShown, _) => "no difference shown",
            (CompareVerdict::Higher, Better::Up) => "higher, better",
            (CompareVerdict::Higher, Better::Down) => "higher, worse",
            (CompareVerdict::Higher, Better::Neither) => "higher",
            (CompareVerdict::Lower, Better::Up) => "lower, worse",
            (CompareVerdict::Lower, Better::Down) => "lower, better",
            (CompareVerdict::Lower, Better::Neither) => "lower",
        }
    }
}

impl SetupResult {
    /// A figure in every repeat that has it; of an end that some repeat did not see, in none.
    pub fn in_repeats(&self, figure: &Figure) -> Vec<f64> {
        let repeats = self.repeats.iter();
        let found = repeats.filter_map(|repeat| repeat.figures.get(figure.key));
        let found: Vec<f64> = found.collect();
        if figure.ends && found.len() < self.repeats.len() { Vec::new() } else { found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figures;
    use crate::kind::StudyKind;
    use crate::result::{Configuration, Repeat};

    fn result(iops: &[f64]) -> StudyResult {
        let repeat = |iops: &f64| Repeat {
            seed: 1,
            figures: Figures::default().with([("client/iops", *iops)]),
        };
        let setup = Configuration { name: "a".to_owned(), ..Default::default() };
        let repeats = iops.iter().map(repeat).collect();
        let setups = vec![SetupResult { setup, repeats, ..Default::default() }];
        StudyResult { kind: StudyKind::Recovery, setups, ..Default::default() }
    }

    fn compared_results(old: &StudyResult, new: &StudyResult) -> Vec<ComparedFigure> {
        compare_results(old, new, &SetupPairs::of(old, new))
    }

    #[test]
    fn a_change_is_a_share_of_the_old_value() {
        let (old, new) = (result(&[99.0, 100.0, 101.0]), result(&[149.0, 150.0, 151.0]));
        let found = compared_results(&old, &new);
        assert_eq!(found.len(), 1, "no other figure is in both");
        assert_eq!((found[0].old, found[0].new, found[0].change), (100.0, 150.0, Some(0.5)));
        assert_eq!(found[0].verdict, "higher, better");
        let (low, high) = found[0].difference.unwrap();
        assert!(low < 50.0 && 50.0 < high, "{low} to {high}");
    }

    #[test]
    fn one_run_tells_no_difference() {
        let found = compared_results(&result(&[100.0]), &result(&[200.0]));
        assert_eq!(
            (found[0].change, found[0].difference, found[0].old_half_width),
            (Some(1.0), None, None)
        );
        assert_eq!(found[0].verdict, UNTESTED);
        assert_eq!(compared_results(&result(&[100.0]), &result(&[100.0]))[0].verdict, "equal");
    }

    /// A tenth of the objects was recovered in a tenth of the time, and that was 90 % better.
    #[test]
    fn times_of_unlike_amounts_of_work_are_not_compared() {
        let of_scale = |scale: f64, iops: &[f64]| {
            let mut result = StudyResult { scale, ..result(iops) };
            for (at, repeat) in result.setups[0].repeats.iter_mut().enumerate() {
                repeat.figures.put("recovery/seconds", scale * (1000.0 + at as f64));
            }
            result
        };
        let old = of_scale(1.0, &[99.0, 100.0, 101.0]);
        let check = |scale: f64, wanted: [(&str, &str, bool); 2]| {
            let found = compared_results(&old, &of_scale(scale, &[149.0, 150.0, 151.0]));
            let said = found.iter().map(|of| {
                assert_eq!(of.change.is_some(), of.difference.is_some(), "{}", of.figure);
                (of.figure.as_str(), of.verdict, of.change.is_some())
            });
            assert_eq!(said.collect::<Vec<_>>(), wanted, "scale {scale}");
        };
        let better = ("client IOPS", "higher, better", true);
        check(0.1, [better, ("recovery time", NOT_COMPARABLE, false)]);
        check(1.0, [better, ("recovery time", "no difference shown", true)]);
    }

    #[test]
    fn which_way_is_better_is_each_figures_own() {
        use CompareVerdict::{Higher, Lower, NoDifferenceShown};
        let check = |key: &str, verdicts: [&str; 3]| {
            let figure = StudyKind::Recovery.figure(key).unwrap();
            assert_eq!([Higher, Lower, NoDifferenceShown].map(|v| figure.verdict(v)), verdicts);
        };
        let none = "no difference shown";
        check("client/iops", ["higher, better", "lower, worse", none]);
        check("client/clat_ms/p99", ["higher, worse", "lower, better", none]);
        check("reservation/demand", ["higher", "lower", none]);
    }
}
