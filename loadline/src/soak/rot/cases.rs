//! Which damages were asked for: numbers of each kind, never all in memory at once.

use crate::cli::{RotArgs, SoakArgs};
use crate::failure::Failure;
use loadline_sim::rot::{Case, DamageKind};
use std::ops::Range;

/// The numbers of each kind, or the one case.
pub(super) enum Cases {
    Each([(DamageKind, Range<u64>); 5]),
    One(Case),
}

/// How many of a kind were asked for.
fn asked(args: &RotArgs, kind: DamageKind) -> u64 {
    match kind {
        DamageKind::Flip => args.flips,
        DamageKind::Drop => args.drops,
        DamageKind::Stray => args.strays,
        DamageKind::Swap => args.swaps,
        DamageKind::Truncation => args.truncations,
    }
}

impl Cases {
    /// The cases of a given store.
    pub(super) fn of(args: &SoakArgs) -> Result<Cases, Failure> {
        if let Some(case) = &args.rot.case {
            let case = case.parse().map_err(|error| Failure::Input(format!("--case: {error}")))?;
            return Ok(Cases::One(case));
        }
        // More than anybody waits for, and sums of them are far from where they overflow.
        const MOST: u64 = 1 << 56;
        if args.seed >= MOST || DamageKind::ALL.iter().any(|kind| asked(&args.rot, *kind) >= MOST) {
            let text = "--seed and the numbers of copies must be below 72057594037927936";
            return Err(Failure::Input(text.to_owned()));
        }
        let first = args.seed;
        let each = DamageKind::ALL.map(|kind| (kind, first..first + asked(&args.rot, kind)));
        match each.iter().all(|(_, numbers)| numbers.is_empty()) {
            true => Err(Failure::Input(
                "--flips, --drops, --strays, --swaps, --truncations: all of them are 0, and nothing would be damaged; give one of at least 1"
                    .to_owned(),
            )),
            false => Ok(Cases::Each(each)),
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        match self {
            Cases::Each(kinds) => {
                kinds.iter().map(|(_, numbers)| numbers.end - numbers.start).sum()
            }
            Cases::One(_) => 1,
        }
    }

    /// Whether some of them need writes that are known.
    pub(super) fn lose_writes(&self) -> bool {
        let loses = |kind| matches!(kind, DamageKind::Drop | DamageKind::Stray);
        match self {
            Cases::Each(kinds) => {
                kinds.iter().any(|(kind, numbers)| loses(*kind) && !numbers.is_empty())
            }
            Cases::One(case) => loses(case.kind),
        }
    }

    /// Those from the `first` on, at most so many.
    pub(super) fn part(&self, first: u64, most: u64) -> Vec<Case> {
        let Cases::Each(kinds) = self else { return self.share(0, 1) };
        let mut part = Vec::new();
        let mut before = 0;
        for (kind, Range { start, end }) in kinds.clone() {
            let from = start + first.saturating_sub(before).min(end - start);
            let left = most - part.len() as u64;
            let numbers = from..from.saturating_add(left).min(end);
            part.extend(numbers.map(|number| Case { kind, number }));
            before += end - start;
        }
        part
    }

    /// Those that fall to one of so many stores.
    pub(super) fn share(&self, store: u64, stores: u64) -> Vec<Case> {
        match self {
            Cases::One(case) => vec![*case],
            Cases::Each(kinds) => {
                let of_kind = |(kind, Range { start, end }): (DamageKind, Range<u64>)| {
                    let behind = (store + stores - start % stores) % stores;
                    let numbers = (start + behind..end).step_by(stores as usize);
                    numbers.map(move |number| Case { kind, number })
                };
                kinds.clone().into_iter().flat_map(of_kind).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(seed: u64, counts: [u64; 5]) -> Cases {
        let mut counts = counts.into_iter();
        Cases::Each(DamageKind::ALL.map(|kind| (kind, seed..seed + counts.next().expect("five"))))
    }

    #[test]
    fn every_case_is_in_one_part_and_in_one_share() {
        for (seed, counts) in [(1, [10, 3, 0, 1, 7]), (0, [0; 5]), (77, [5, 5, 5, 5, 5])] {
            let cases = cases(seed, counts);
            let all = cases.part(0, u64::MAX);
            assert_eq!(all.len() as u64, cases.count());
            for size in [1, 4, 100] {
                let parts = (0..cases.count().div_ceil(size)).map(|at| cases.part(at * size, size));
                assert_eq!(parts.collect::<Vec<_>>().concat(), all, "{size} at a time");
                let mut shares: Vec<_> = (0..size).flat_map(|at| cases.share(at, size)).collect();
                shares.sort_by_key(|case| (case.kind, case.number));
                assert_eq!(shares, all, "{size} stores");
            }
        }
    }
}
