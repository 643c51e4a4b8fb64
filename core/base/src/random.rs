//! Seeded randomness: equal seeds give equal streams on every machine.

/// A random stream: xoshiro256++ (Blackman and Vigna 2019), seeded by SplitMix64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: [u64; 4],
}

/// The SplitMix64 finaliser: a bijection that spreads every input bit over the output.
#[inline]
pub const fn mix64(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

impl Rng {
    /// The stream of `seed`.
    pub const fn new(seed: u64) -> Rng {
        let a = mix64(seed);
        let b = mix64(a);
        let c = mix64(b);
        Rng { state: [a, b, c, mix64(c)] }
    }

    /// An independent stream for one purpose, so that adding a user of randomness does not shift the others.
    pub const fn for_purpose(seed: u64, purpose: u64) -> Rng {
        Rng::new(mix64(seed) ^ mix64(purpose).rotate_left(32))
    }

    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// Puts a slice into an order in which all are equally likely.
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for at in (1..all.len()).rev() {
            all.swap(at, self.below(at as u64 + 1) as usize);
        }
    }

    /// A uniform integer in `0..bound`, without bias (Lemire 2019). `bound` must not be zero.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "a uniform draw needs a range that is not empty");
        let mut product = u128::from(self.next_u64()) * u128::from(bound);
        if (product as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u64) < threshold {
                product = u128::from(self.next_u64()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// A uniform number in `[0, 1)` with 53 random bits.
    pub fn unit_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_streams_and_purposes_differ() {
        let draw = |mut rng: Rng| [rng.next_u64(), rng.next_u64(), rng.next_u64()];
        assert_eq!(draw(Rng::new(7)), draw(Rng::new(7)));
        assert_ne!(draw(Rng::for_purpose(7, 1)), draw(Rng::for_purpose(7, 2)));
    }

    /// 80,000 draws over 8 cells: each cell's count has a standard deviation of
    /// sqrt(80000 * 1/8 * 7/8) = 93.5; five of them is 468.
    #[test]
    fn below_is_uniform() {
        let mut rng = Rng::new(1);
        let mut counts = [0i64; 8];
        for _ in 0..80_000 {
            counts[rng.below(8) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (count - 10_000).abs() < 468), "{counts:?}");
    }

    /// Below three quarters of 2^64, four draws of 64 bits fall on three values: without rejection every third value would come
    /// twice as often as the others. 30,000 draws over three remainders: a standard deviation of sqrt(30000 * 1/3 * 2/3) = 81.6;
    /// five of them is 408.
    #[test]
    fn below_is_uniform_where_the_range_does_not_divide_the_draws() {
        let mut rng = Rng::new(1);
        let mut counts = [0i64; 3];
        for _ in 0..30_000 {
            counts[(rng.below(3 << 62) % 3) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (count - 10_000).abs() < 408), "{counts:?}");
    }

    /// 24,000 shuffles over the six orders of three: a standard deviation of sqrt(24000 * 1/6 * 5/6) = 57.7; five of them is 289.
    #[test]
    fn a_shuffle_gives_every_order_alike_and_leaves_nothing_out() {
        let mut rng = Rng::new(1);
        let mut counts = [0i64; 27];
        for _ in 0..24_000 {
            let mut all = [0, 1, 2];
            rng.shuffle(&mut all);
            counts[all[0] * 9 + all[1] * 3 + all[2]] += 1;
        }
        let orders = [5, 7, 11, 15, 19, 21];
        assert!(orders.iter().all(|order| (counts[*order] - 4_000).abs() < 289), "{counts:?}");
        assert_eq!(orders.iter().map(|order| counts[*order]).sum::<i64>(), 24_000);
    }

    /// 80,000 draws of mean 1/2: the sample mean has a standard deviation of sqrt(1/12 / 80000) = 0.00102; five of them is 0.0052.
    #[test]
    fn a_unit_is_below_one_and_a_half_on_average() {
        let mut rng = Rng::new(1);
        let drawn = || rng.unit_f64();
        let sum = core::iter::repeat_with(drawn)
            .take(80_000)
            .inspect(|unit| assert!((0.0..1.0).contains(unit), "{unit}"))
            .sum::<f64>();
        assert!((sum / 80_000.0 - 0.5).abs() < 0.0052, "{sum}");
    }
}
