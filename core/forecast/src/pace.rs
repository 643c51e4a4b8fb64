//! How fast something went, the later the more it counts.

/// What was done in how much time, both faded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FadingPace {
    /// How much.
    pub done: f64,
    /// In so many seconds.
    pub seconds: f64,
}

impl FadingPace {
    /// What was seen so far counts less from now on.
    pub fn fade(&mut self, share: f64) {
        self.done *= share;
        self.seconds *= share;
    }

    /// So much more was done in so many seconds.
    pub fn add(&mut self, done: f64, seconds: f64) {
        self.done += done;
        self.seconds += seconds;
    }

    /// Per second; `None` if nothing was done, or in no time.
    pub fn per_s(&self) -> Option<f64> {
        (self.done > 0.0 && self.seconds > 0.0).then(|| self.done / self.seconds)
    }

    /// The fastest pace at which so little may be seen: who comes so often by chance comes up to two standard deviations oftener.
    pub fn at_most_per_s(&self) -> Option<f64> {
        let done = self.done;
        self.per_s().map(|_| (done + 2.0 * done.sqrt() + 2.0) / self.seconds)
    }

    /// This pace as far as it is known, and for the rest that of others: as if `weight` things had been seen at theirs.
    pub fn beside(&self, others_per_s: f64, weight: f64) -> f64 {
        (self.done.max(0.0) + weight) / (self.seconds + weight / others_per_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_ago_counts_less() {
        let mut pace = FadingPace::default();
        assert_eq!(pace.per_s(), None);
        pace.add(10.0, 1.0);
        pace.fade(0.5);
        pace.add(2.0, 1.0);
        assert_eq!(pace.per_s(), Some(7.0 / 1.5));
    }

    #[test]
    fn few_things_may_have_been_slow_by_chance_and_many_may_not() {
        let at_most = |done, seconds| FadingPace { done, seconds }.at_most_per_s().unwrap();
        assert_eq!(at_most(4.0, 1.0), 10.0);
        assert_eq!(at_most(10_000.0, 100.0), 102.02);
    }

    #[test]
    fn who_is_hardly_known_has_the_pace_of_others() {
        assert_eq!(FadingPace::default().beside(3.0, 8.0), 3.0);
        let known = FadingPace { done: 800.0, seconds: 800.0 };
        assert!((known.beside(3.0, 8.0) - 1.0).abs() < 0.01);
    }
}
