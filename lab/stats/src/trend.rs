//! Whether several series changed together from their first to their last value.

use crate::interval::{ConfidenceInterval, student_t};
use crate::quantile::mean;

/// The common change of series of equal length, as a share of each series' mean, with its 95 % interval.
///
/// Each series is divided by its mean, and one line is laid through all of them: with x from −½ (first value) to ½
/// (last), and y the divided values less 1, the slope is `Σxy / Σx²` over all points, and its squared standard error
/// `s² / Σx²`. `s²` is the sum of squared residuals over `m(n − 1) − 1` degrees of freedom for `m` series of `n` values: each mean and the
/// slope take one. `None` if no degree of freedom is left, or a series has the mean 0.
///
/// # Panics
/// If the series differ in length.
pub fn trend(series: &[Vec<f64>]) -> Option<ConfidenceInterval> {
    let length = series.first()?.len();
    assert!(series.iter().all(|values| values.len() == length), "series of equal length");
    let freedom = (series.len() * length.checked_sub(1)?).checked_sub(1).filter(|f| *f > 0)? as f64;
    let mut points = Vec::new();
    for values in series {
        let middle = mean(values).filter(|mean| *mean != 0.0)?;
        let place = |index: usize| index as f64 / (length - 1) as f64 - 0.5;
        points.extend(values.iter().enumerate().map(|(i, v)| (place(i), v / middle - 1.0)));
    }
    let spread: f64 = points.iter().map(|(x, _)| x * x).sum();
    let slope = points.iter().map(|(x, y)| x * y).sum::<f64>() / spread;
    let residual: f64 = points.iter().map(|(x, y)| (y - slope * x).powi(2)).sum();
    let error = (residual / freedom / spread).sqrt();
    Some(ConfidenceInterval { mean: slope, half_width: student_t(freedom) * error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_common_change_is_found_whatever_the_levels() {
        let rising = trend(&[vec![90.0, 100.0, 110.0], vec![900.0, 1000.0, 1100.0]]).unwrap();
        assert!((rising.mean - 0.2).abs() < 1e-12 && rising.half_width < 1e-9, "{rising:?}");
        let against = trend(&[vec![90.0, 100.0, 110.0], vec![110.0, 100.0, 90.0]]).unwrap();
        assert!(against.mean.abs() < 1e-12 && against.contains(0.0), "{against:?}");
    }

    /// One series 1, 2, 1 of mean 4/3: y = −¼, ½, −¼ at x = −½, 0, ½. The slope is 0, the residuals' squares sum to
    /// 0.375, one degree of freedom, Σx² = ½: the half width is 12.7062 × √0.75 = 11.00389.
    #[test]
    fn a_trend_by_hand() {
        let found = trend(&[vec![1.0, 2.0, 1.0]]).unwrap();
        assert!(found.mean.abs() < 1e-12, "{found:?}");
        assert!((found.half_width - 11.00389).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(trend(&[]), None);
        assert_eq!(trend(&[vec![1.0, 2.0]]), None);
        assert_eq!(trend(&[vec![1.0], vec![1.0]]), None);
        assert_eq!(trend(&[vec![0.0, 0.0, 0.0]]), None);
    }
}
