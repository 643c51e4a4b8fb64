//! Mean and quantiles of a handful of values.

/// Arithmetic mean; `None` if empty.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The middle value, or the mean of the two middle ones; `None` if empty.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The value below which the share `q` of `values` lies, by linear interpolation between order
/// statistics: `x[h]` with `h = (n - 1) q` (type 7 of Hyndman and Fan 1996). `None` if empty.
///
/// # Panics
/// If `q` is outside 0..=1 or a value is NaN.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    assert!((0.0..=1.0).contains(&q), "a quantile is between 0 and 1, not {q}");
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).expect("a result is never NaN"));
    let place = sorted.len().checked_sub(1)? as f64 * q;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(low + (high - low) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate_between_order_statistics() {
        let check = |values: &[f64], q: f64, wanted: Option<f64>| {
            assert_eq!(quantile(values, q), wanted, "{values:?} at {q}");
        };
        check(&[], 0.5, None);
        check(&[7.0], 0.9, Some(7.0));
        check(&[4.0, 1.0, 3.0, 2.0], 0.0, Some(1.0));
        check(&[4.0, 1.0, 3.0, 2.0], 1.0, Some(4.0));
        check(&[4.0, 1.0, 3.0, 2.0], 0.5, Some(2.5));
        check(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.25, Some(2.0));
        check(&[10.0, 20.0], 0.75, Some(17.5));
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
        assert_eq!(mean(&[]), None);
    }
}
