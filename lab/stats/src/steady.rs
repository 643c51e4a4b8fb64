//! Where the warm-up of a run ends.

/// Seconds averaged into one batch: the "5" of MSER-5.
const BATCH: usize = 5;

/// Fewer batches than this say nothing about a tail.
const BATCHES_MIN: usize = 6;

/// How many leading values belong to the warm-up, by MSER-5 (White, Cobb and Spratt 2000).
///
/// The values are averaged in batches of five. Leaving out the first `d` of `n` batches gives the
/// mean of the rest a squared standard error `Σ (x - mean)² / (n - d)²`; the `d` with the smallest
/// error wins. A minimum in the second half of the run means that it never became steady: then,
/// and when there are fewer than 30 values, the answer is `None`. The last five batches are never
/// left out, so fewer than 55 values have no minimum there and always look settled. The rule is
/// meant for loads that settle; a run whose middle differs from its ends by design has no warm-up
/// to cut.
pub fn warm_up_len(values: &[f64]) -> Option<usize> {
    let batches: Vec<f64> =
        values.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    if batches.len() < BATCHES_MIN {
        return None;
    }
    let mut best = (f64::INFINITY, 0);
    let (mut sum, mut squares) = (0.0, 0.0);
    for start in (0..batches.len()).rev() {
        sum += batches[start];
        squares += batches[start] * batches[start];
        let count = (batches.len() - start) as f64;
        // A tail of a few batches is close to its own mean by chance.
        if count < BATCH as f64 {
            continue;
        }
        let error = (squares - sum * sum / count).max(0.0) / (count * count);
        if error <= best.0 {
            best = (error, start);
        }
    }
    (best.1 <= batches.len() / 2).then_some(best.1 * BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fixed zigzag instead of noise, so that the tail has some variance.
    fn zigzag(second: usize) -> f64 {
        [0.0, 3.0, -2.0, 1.0, -1.0, 2.0, -3.0][second % 7]
    }

    #[test]
    fn the_warm_up_ends_where_the_level_is_reached() {
        let settled: Vec<f64> = (0..300).map(|t| 1000.0 + zigzag(t)).collect();
        assert_eq!(warm_up_len(&settled), Some(0));
        // 40 s at half the level: eight batches.
        let step: Vec<f64> =
            (0..300).map(|t| if t < 40 { 500.0 } else { 1000.0 } + zigzag(t)).collect();
        assert_eq!(warm_up_len(&step), Some(40));
    }

    #[test]
    fn a_run_that_never_settles_has_no_answer() {
        let step_late: Vec<f64> =
            (0..300).map(|t| if t < 200 { 500.0 } else { 1000.0 } + zigzag(t)).collect();
        assert_eq!(warm_up_len(&step_late), None);
        assert_eq!(warm_up_len(&[1.0; 29]), None);
        assert_eq!(warm_up_len(&[1.0; 30]), Some(0));
        let rising = |count: u32| (0..count).map(f64::from).collect::<Vec<_>>();
        assert_eq!((warm_up_len(&rising(54)), warm_up_len(&rising(55))), (Some(25), None));
    }
}
