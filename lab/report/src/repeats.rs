//! What several repeats allow to say: the interval of each figure, and which setups differ.

use crate::column::{CLAT_MEAN, Column, IOPS, OBJECTS_PER_S};
use loadline_draw::number;
use loadline_stats::{Comparison, Interval, Verdict, compare, mean_interval};
use loadline_study::{SetupResult, StudyResult};

/// The 95 % interval of a figure over the repeats; `None` for a single one.
pub(crate) fn interval(column: &Column, setup: &SetupResult) -> Option<Interval> {
    mean_interval(&column.repeats(&setup.repeats))
}

/// Two setups compared in one figure.
pub(crate) struct PairRow {
    pub(crate) pair: String,
    pub(crate) figure: &'static str,
    pub(crate) difference: String,
    pub(crate) verdict: &'static str,
}

/// Every pair of setups beside background work, in the figures that studies argue with.
pub(crate) fn pairs(result: &StudyResult) -> Vec<PairRow> {
    let setups: Vec<_> = result.setups.iter().filter(|setup| setup.recovery.is_some()).collect();
    let mut rows = Vec::new();
    for (place, left) in setups.iter().enumerate() {
        for right in &setups[place + 1..] {
            let figures = [
                (IOPS, "client IOPS"),
                (CLAT_MEAN, "mean latency, ms"),
                (OBJECTS_PER_S, "objects/s"),
            ];
            for (column, figure) in figures {
                let old = column.repeats(&left.repeats);
                if let Some(found) = compare(&old, &column.repeats(&right.repeats)) {
                    rows.push(pair_row(left, right, figure, found));
                }
            }
        }
    }
    rows
}

fn pair_row(
    left: &SetupResult,
    right: &SetupResult,
    figure: &'static str,
    found: Comparison,
) -> PairRow {
    let Interval { mean, half_width } = found.difference;
    let sign = if mean > 0.0 { "+" } else { "" };
    PairRow {
        pair: format!("{} → {}", left.name, right.name),
        figure,
        difference: format!("{sign}{} ± {}", number::plain(mean), number::plain(half_width)),
        verdict: match found.verdict {
            Verdict::Higher => "higher",
            Verdict::Lower => "lower",
            Verdict::NoDifferenceShown => "no difference shown",
        },
    }
}
