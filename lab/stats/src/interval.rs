//! The interval in which the mean of repeats lies.

use crate::quantile::mean;

/// Half the width and the middle of a 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfidenceInterval {
    /// The estimate.
    pub mean: f64,
    /// The interval is `mean ± half_width`.
    pub half_width: f64,
}

impl ConfidenceInterval {
    /// Lower end.
    pub fn low(self) -> f64 {
        self.mean - self.half_width
    }

    /// Upper end.
    pub fn high(self) -> f64 {
        self.mean + self.half_width
    }

    /// Whether `value` is one of those the data do not exclude.
    pub fn contains(self, value: f64) -> bool {
        (self.low()..=self.high()).contains(&value)
    }

    /// Whether the data exclude all that is further from zero than `reach`: what two equal things differ by is shown to be small by this, and
    /// not by an interval that contains zero, which few data have of anything.
    pub fn lies_within(self, reach: f64) -> bool {
        -reach <= self.low() && self.high() <= reach
    }
}

/// 95 % interval of the mean, by Student's t: `mean ± t s / √n`. `None` below two values, because
/// one run says nothing about the next.
pub fn mean_interval(values: &[f64]) -> Option<ConfidenceInterval> {
    let error = squared_error(values)?;
    let freedom = (values.len() - 1) as f64;
    Some(ConfidenceInterval { mean: mean(values)?, half_width: student_t(freedom) * error.sqrt() })
}

/// Squared standard error of the mean, `s² / n` with `s²` over `n - 1`; `None` below two values.
pub(crate) fn squared_error(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let middle = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    (values.len() >= 2).then(|| squares / (n - 1.0) / n)
}

/// 97.5 % points of Student's t for 1 to 30 degrees of freedom.
const STUDENT_T: [f64; 30] = [
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010,
    2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687,
    2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
];

/// The 97.5 % point of Student's t. A fraction of a degree of freedom is dropped, which widens the
/// interval. Above 30 the first terms of the expansion around the normal quantile z are used,
/// `z + (z³ + z) / 4f + (5z⁵ + 16z³ + 3z) / 96f²`, good to four decimals there.
pub(crate) fn student_t(freedom: f64) -> f64 {
    assert!(freedom >= 1.0, "an interval needs at least one degree of freedom, not {freedom}");
    if let Some(t) = STUDENT_T.get(freedom as usize - 1) {
        return *t;
    }
    let z: f64 = 1.959_964;
    let first = (z.powi(3) + z) / (4.0 * freedom);
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * freedom * freedom);
    z + first + second
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ends of the table meet the expansion, and textbook values above it are met.
    #[test]
    fn student_t_has_the_known_values() {
        let check = |freedom: f64, t: f64| {
            let found = student_t(freedom);
            // Half a unit of the fourth decimal from the table, as much from the expansion.
            assert!((found - t).abs() <= 1e-4, "{found} for {t} at {freedom}");
        };
        check(1.0, 12.7062);
        check(2.9, 4.3027);
        check(30.0, 2.0423);
        check(31.0, 2.0395);
        check(60.0, 2.0003);
        check(120.0, 1.9799);
        check(1e9, 1.95996);
    }

    /// Three runs of 9, 10 and 11: s = 1, so the half width is 4.3027 / √3 = 2.48417.
    #[test]
    fn an_interval_of_three_repeats() {
        let interval = mean_interval(&[9.0, 10.0, 11.0]).unwrap();
        assert_eq!(interval.mean, 10.0);
        assert!((interval.half_width - 2.48417).abs() < 1e-5, "{interval:?}");
        assert!(interval.contains(7.6) && interval.contains(12.4) && !interval.contains(12.5));
    }

    #[test]
    fn one_value_has_no_interval_and_equal_values_have_no_width() {
        assert_eq!(mean_interval(&[]), None);
        assert_eq!(mean_interval(&[5.0]), None);
        assert_eq!(mean_interval(&[5.0, 5.0]).unwrap().half_width, 0.0);
    }
}
