//! Figures that a setup has beside another one, and so has each of its repeats.

use crate::client_figures::SHARE_OF_BASELINE;
use crate::result::SetupResult;
use std::collections::BTreeMap;

/// A figure of the setup that others stand beside: the mean over its repeats, and that of each by its seed.
pub(crate) struct BesideFigure {
    key: &'static str,
    mean: f64,
    repeats: BTreeMap<u64, f64>,
}

impl BesideFigure {
    /// The figure of this key; `None` if the setup has none.
    pub(crate) fn of(setup: &SetupResult, key: &'static str) -> Option<BesideFigure> {
        let repeats = setup.repeats.iter();
        let repeats = repeats.filter_map(|it| Some((it.seed, it.figures.get(key)?)));
        Some(BesideFigure { key, mean: setup.figure(key)?, repeats: repeats.collect() })
    }

    /// Puts what another setup has beside it, as a figure of that one and of each of its repeats, which stands beside that of the same
    /// seed: so that it is known how far they lie apart.
    pub(crate) fn put(
        &self,
        setup: &mut SetupResult,
        into: &str,
        beside: impl Fn(f64, f64) -> f64,
    ) {
        if let Some(own) = setup.figure(self.key) {
            setup.figures.put(into, beside(own, self.mean));
        }
        for repeat in &mut setup.repeats {
            let other = self.repeats.get(&repeat.seed);
            if let Some((own, other)) = repeat.figures.get(self.key).zip(other) {
                repeat.figures.put(into, beside(own, *other));
            }
        }
    }
}

/// Puts the share of the baseline, the first setup without background work, into all that have it.
pub(crate) fn put_share_of_baseline(
    setups: &mut [SetupResult],
    has_background: impl Fn(&SetupResult) -> bool,
) {
    let baseline = setups.iter().find(|setup| !has_background(setup));
    let Some(baseline) = baseline.and_then(|it| BesideFigure::of(it, "client/iops")) else {
        return;
    };
    for setup in setups.iter_mut().filter(|setup| has_background(setup)) {
        baseline.put(setup, SHARE_OF_BASELINE.key, |own, alone| own / alone);
    }
}
