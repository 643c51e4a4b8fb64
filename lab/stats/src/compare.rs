//! Whether two sets of repeats differ.

use crate::interval::{ConfidenceInterval, squared_error, student_t};
use crate::quantile::mean;

/// Two sets of repeats side by side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// 95 % interval of `mean(new) - mean(old)`.
    pub difference: ConfidenceInterval,
    /// What the interval allows to say.
    pub verdict: CompareVerdict,
}

/// What a comparison shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareVerdict {
    /// The new set is higher.
    Higher,
    /// The new set is lower.
    Lower,
    /// The interval of the difference contains zero: these data do not tell the two apart. More
    /// repeats may.
    NoDifferenceShown,
}

/// Compares repeats by Welch's t (the variances may differ). `None` if either has fewer than two.
pub fn compare(old: &[f64], new: &[f64]) -> Option<Comparison> {
    let (old_error, new_error) = (squared_error(old)?, squared_error(new)?);
    let error = old_error + new_error;
    let half_width = if error > 0.0 {
        let (old_freedom, new_freedom) = ((old.len() - 1) as f64, (new.len() - 1) as f64);
        // Welch and Satterthwaite: never below the smaller of the two sets' own degrees of
        // freedom; `max` only keeps rounding from going under it.
        let freedom =
            error.powi(2) / (old_error.powi(2) / old_freedom + new_error.powi(2) / new_freedom);
        student_t(freedom.max(old_freedom.min(new_freedom))) * error.sqrt()
    } else {
        0.0
    };
    let difference = ConfidenceInterval { mean: mean(new)? - mean(old)?, half_width };
    let verdict = match difference {
        interval if interval.contains(0.0) => CompareVerdict::NoDifferenceShown,
        interval if interval.mean > 0.0 => CompareVerdict::Higher,
        _ => CompareVerdict::Lower,
    };
    Some(Comparison { difference, verdict })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_follow_the_interval_of_the_difference() {
        let check = |old: &[f64], new: &[f64], verdict: CompareVerdict| {
            assert_eq!(compare(old, new).unwrap().verdict, verdict, "{old:?} and {new:?}");
        };
        check(&[9.0, 10.0, 11.0], &[19.0, 20.0, 21.0], CompareVerdict::Higher);
        check(&[19.0, 20.0, 21.0], &[9.0, 10.0, 11.0], CompareVerdict::Lower);
        check(&[9.0, 10.0, 11.0], &[10.0, 11.0, 12.0], CompareVerdict::NoDifferenceShown);
        check(&[5.0, 5.0], &[5.0, 5.0], CompareVerdict::NoDifferenceShown);
        check(&[5.0, 5.0], &[5.1, 5.1], CompareVerdict::Higher);
        assert_eq!(compare(&[5.0], &[5.0, 6.0]), None);
    }

    /// Old 9, 10, 11 and new 18, 20, 22: squared errors 1/3 and 4/3, sum 5/3; degrees of freedom
    /// (5/3)² / ((1/3)²/2 + (4/3)²/2) = 2.941, taken as 2; half width 4.3027 x √(5/3) = 5.55476.
    #[test]
    fn welch_by_hand() {
        let comparison = compare(&[9.0, 10.0, 11.0], &[18.0, 20.0, 22.0]).unwrap();
        assert_eq!(comparison.difference.mean, 10.0);
        assert!((comparison.difference.half_width - 5.55476).abs() < 1e-4, "{comparison:?}");
    }
}
