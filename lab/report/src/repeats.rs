//! What several repeats allow to say: the interval of each figure, and which setups differ.

use crate::sheet::Sheet;
use loadline_draw::number;
use loadline_stats::{Comparison, ConfidenceInterval, compare, mean_interval};
use loadline_study::{Figure, SetupResult, StudyResult};

/// The 95 % interval of a figure over the repeats; `None` for a single one.
pub(crate) fn interval(figure: &Figure, setup: &SetupResult) -> Option<ConfidenceInterval> {
    mean_interval(&setup.in_repeats(figure))
}

/// Two setups compared in one figure.
pub(crate) struct PairRow {
    pub(crate) pair: String,
    pub(crate) figure: String,
    pub(crate) difference: String,
    pub(crate) verdict: &'static str,
}

/// Every pair of setups beside background work, in the kind's chief figures.
pub(crate) fn pairs(result: &StudyResult) -> Vec<PairRow> {
    let sheet = Sheet::of(result.kind);
    let setups: Vec<_> = result.setups.iter().filter(|setup| sheet.has_background(setup)).collect();
    let mut rows = Vec::new();
    for (place, left) in setups.iter().enumerate() {
        for right in &setups[place + 1..] {
            for figure in result.kind.chief() {
                let (old, new) = (left.in_repeats(figure), right.in_repeats(figure));
                let found = compare(&old, &new);
                rows.extend(found.map(|found| pair_row(left, right, figure, found)));
            }
        }
    }
    rows
}

fn pair_row(
    left: &SetupResult,
    right: &SetupResult,
    figure: &Figure,
    found: Comparison,
) -> PairRow {
    let ConfidenceInterval { mean, half_width } = found.difference;
    let sign = if mean > 0.0 { "+" } else { "" };
    PairRow {
        pair: format!("{} → {}", left.name(), right.name()),
        figure: figure.label(),
        difference: format!("{sign}{} ± {}", number::plain(mean), number::plain(half_width)),
        verdict: figure.verdict(found.verdict),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_study::{Configuration, Figures, Repeat};

    fn setup(name: &str, iops: [f64; 2]) -> SetupResult {
        let repeat = |iops: f64| {
            let figures =
                Figures::default().with([("client/iops", iops), ("recovery/seconds", 1.0)]);
            Repeat { seed: 1, figures }
        };
        SetupResult {
            setup: Configuration { name: name.into(), ..Default::default() },
            figures: Figures::default()
                .with([("recovery/seconds", 1.0), ("recovery/objects_per_s", 1.0)]),
            repeats: iops.map(repeat).into(),
            ..Default::default()
        }
    }

    #[test]
    fn each_setup_is_compared_with_those_behind_it() {
        let setups = vec![setup("a", [10.0; 2]), setup("b", [12.0; 2]), setup("c", [9.0; 2])];
        let rows = pairs(&StudyResult { setups, ..Default::default() });
        let told: Vec<(&str, &str, &str)> = rows
            .iter()
            .filter(|row| row.figure == "client IOPS")
            .map(|row| (row.pair.as_str(), row.difference.as_str(), row.verdict))
            .collect();
        let wanted = [
            ("a → b", "+2.00 ± 0", "higher, better"),
            ("a → c", "-1.00 ± 0", "lower, worse"),
            ("b → c", "-3.00 ± 0", "lower, worse"),
        ];
        assert_eq!(told, wanted);
    }
}
