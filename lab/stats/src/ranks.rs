//! Between which of the sorted values a quantile lies.

/// The ends of the 95 % interval of a quantile, as ranks of the sorted values, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuantileRanks {
    /// The lower end; `None` where so few values say nothing of how low the quantile may be.
    pub low: Option<u64>,
    /// The upper end; `None` where the quantile may lie beyond all of them.
    pub high: Option<u64>,
}

/// What may be missed at either end: a fortieth, a twentieth of both.
const TAIL: f64 = 0.025;

/// Weights of less than this share of the largest add nothing to a sum of doubles.
const NOTHING: f64 = 1e-20;

/// Between which ranks of `count` independent values their quantile `share` lies in at least 95 of 100 cases, whatever they are distributed as.
///
/// How many of n values lie below it is binomial, n and p. So it lies below the one at rank l in no more cases than that fewer than l do, and above that at
/// rank u in no more than that u or more do. Each end is the innermost for which that chance is at most [`TAIL`]; where there is none that end is open.
///
/// # Panics
/// If `share` is outside 0..=1.
pub fn quantile_ranks(count: u64, share: f64) -> QuantileRanks {
    assert!((0.0..=1.0).contains(&share), "a quantile is between 0 and 1, not {share}");
    let below = below_at_most(count, share);
    // That u or more of n lie below is that n - u or fewer do not.
    let above = below_at_most(count, 1.0 - share);
    QuantileRanks {
        low: (below > 0).then_some(below),
        high: (above > 0).then(|| count - above + 1),
    }
}

/// The most values l of which fewer than l lie below the quantile in at most [`TAIL`] of all cases.
fn below_at_most(count: u64, share: f64) -> u64 {
    let (n, odds) = (count as f64, share / (1.0 - share));
    if share == 0.0 {
        return 0;
    }
    if share == 1.0 {
        return count;
    }
    // The weights of all numbers, each from its neighbour, as parts of that of the likeliest.
    let likeliest = ((n + 1.0) * share).floor().min(n) as u64;
    let down = |k: u64| k as f64 / ((count - k + 1) as f64 * odds);
    let up = |k: u64| (count - k) as f64 / (k + 1) as f64 * odds;
    let (mut weights_down, mut weight, mut k) = (vec![1.0], 1.0, likeliest);
    while k > 0 && weight > NOTHING {
        weight *= down(k);
        weights_down.push(weight);
        k -= 1;
    }
    let lowest = k;
    let (mut above, mut weight, mut k) = (0.0, 1.0, likeliest);
    while k < count && weight > NOTHING {
        weight *= up(k);
        above += weight;
        k += 1;
    }
    let all = above + weights_down.iter().rev().sum::<f64>();
    // From the lowest number on; what lies below it is nothing.
    let mut sum = 0.0;
    let is_missed = |weight: &&f64| {
        sum += **weight;
        sum <= TAIL * all
    };
    lowest + weights_down.iter().rev().take_while(is_missed).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables of order statistics: the median of 10 lies between the 2nd and the 9th (97.9 %), of 100 between the 40th and the 61st (96.5 %), of 5 between no
    /// two (the outermost hold it in 93.75 %), of 6 between the first and the last (96.9 %).
    #[test]
    fn ranks_are_those_of_the_tables() {
        let check = |count, share, low, high| {
            assert_eq!(
                quantile_ranks(count, share),
                QuantileRanks { low, high },
                "{count} {share}"
            );
        };
        check(10, 0.5, Some(2), Some(9));
        check(100, 0.5, Some(40), Some(61));
        check(6, 0.5, Some(1), Some(6));
        check(5, 0.5, None, None);
        check(0, 0.5, None, None);
        check(1, 0.99, Some(1), None);
        // That all of n lie below has the chance pⁿ: 0.99³⁶⁷ is 0.02501 and 0.99³⁶⁸ is 0.02477.
        check(367, 0.99, Some(359), None);
        assert_eq!(quantile_ranks(368, 0.99).high, Some(368));
        // Of half a value that lies beyond, three do in one case of 86.
        check(46_320, 0.999_99, Some(46_318), None);
        check(9, 0.0, None, Some(1));
        check(9, 1.0, Some(9), None);
    }

    /// The ends of many values are the normal distribution's: np ± 1.96 √(np(1 - p)).
    #[test]
    fn many_values_have_the_ranks_of_the_normal_distribution() {
        for (count, share) in [(100_000_000_u64, 0.5), (1_000_000, 0.9), (10_000_000, 0.999)] {
            let n = count as f64;
            let reach = 1.959_964 * (n * share * (1.0 - share)).sqrt();
            let QuantileRanks { low, high } = quantile_ranks(count, share);
            let apart = |rank: Option<u64>, wanted: f64| (rank.unwrap() as f64 - wanted).abs();
            assert!(apart(low, n * share - reach) < 3.0, "{count} {share}: {low:?}");
            assert!(apart(high, n * share + reach) < 3.0, "{count} {share}: {high:?}");
        }
    }
}
