//! What is to happen to a store, life after life, and how much of that a replay leaves out.

use super::draw::Draw;
use super::faults::{Planned, PlannedFault};
use super::probes::Probe;
use super::scenario::Scenario;
use crate::disk::CutStyle;
use loadline_base::Rng;
use loadline_store::paged::{LogMode, Options};
use std::fmt;
use std::str::FromStr;

/// The bit of the first fault that was thought of later, in [`SeedReplay::faults`].
pub(super) const LATER_FAULTS: u64 = 32;

/// The bit of the first fault that was thought of after those.
pub(super) const LATEST_FAULTS: u64 = 48;

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// The power goes.
    Cut(CutStyle),
    /// The process dies.
    Kill,
}

/// One life.
#[derive(Clone, Debug)]
pub(super) struct LifePlan {
    pub(super) options: Options,
    /// Ops at most.
    pub(super) ops: u64,
    /// The event at which it crashes, if not at its end. It may be before the store is open.
    pub(super) crash_at: u64,
    pub(super) crash: Crash,
    pub(super) faults: Vec<Planned>,
    /// Between the crash and the next life.
    pub(super) wipes_images: bool,
    /// What is tried with copies then.
    pub(super) probes: Vec<Probe>,
    /// The cache is as small as may be.
    pub(super) least_cache: bool,
}

/// What becomes of one store.
#[derive(Clone, Debug)]
pub(super) struct StorePlan {
    pub(super) lives: Vec<LifePlan>,
}

/// A seed, and how much of what it leads to is carried out: what a failure is shrunk to.
///
/// Written `SEED` or `SEED:lives=2,ops=40,faults=5,log_mode=fsync`; `faults` has one bit for each fault of the whole plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeedReplay {
    /// Where everything comes from.
    pub seed: u64,
    /// Lives at most.
    pub lives: u64,
    /// Ops of each life at most.
    pub ops: u64,
    /// Which faults happen.
    pub faults: u64,
    /// The log mode of every life; else each draws its own.
    pub log_mode: Option<LogMode>,
}

impl StorePlan {
    /// The plan of a seed, as far as `replay` lets it.
    pub(super) fn new(scenario: &Scenario, replay: &SeedReplay) -> StorePlan {
        let mut rng = Rng::for_purpose(scenario.seed, 2);
        let with_faults = rng.one_in(2);
        let lives = rng.between(1, 6);
        let mut number = 0;
        let mut draw = |_| {
            let mut life = LifePlan::draw(scenario, with_faults, &mut rng);
            life.faults.retain(|_| {
                number += 1;
                replay.faults >> ((number - 1) % 64) & 1 == 1
            });
            life.ops = life.ops.min(replay.ops);
            life
        };
        let mut lives: Vec<LifePlan> = (0..lives).map(&mut draw).collect();
        // From a stream of their own: seeds that once failed still lead to what they led to.
        let mut rng = Rng::for_purpose(scenario.seed, 7);
        let with_later = rng.one_in(2);
        let mut number = LATER_FAULTS;
        for life in lives.iter_mut().filter(|_| with_later) {
            life.add_later_faults(&mut rng, |_| {
                number += 1;
                replay.faults >> ((number - 1) % 64) & 1 == 1
            });
        }
        let mut rng = Rng::for_purpose(scenario.seed, 13);
        for life in lives.iter_mut().filter(|_| with_faults) {
            if rng.one_in(4) {
                number += 1;
                let from = rng.below(life.events());
                let planned = Planned { from, fault: PlannedFault::draw_of_witness(&mut rng) };
                if replay.faults >> ((number - 1) % 64) & 1 == 1 {
                    life.faults.push(planned);
                    life.faults.sort_by_key(|planned| planned.from);
                }
            }
        }
        let mut rng = Rng::for_purpose(scenario.seed, 9);
        let with_latest = rng.one_in(2);
        let mut number = LATEST_FAULTS;
        for life in lives.iter_mut().filter(|_| with_latest) {
            life.add_latest(scenario, &mut rng, |_| {
                number += 1;
                replay.faults >> ((number - 1) % 64) & 1 == 1
            });
        }
        lives.truncate(replay.lives as usize);
        for life in &mut lives {
            life.options.log_mode = replay.log_mode.unwrap_or(life.options.log_mode);
        }
        StorePlan { lives }
    }

    /// How many faults there are.
    pub(super) fn faults(&self) -> usize {
        self.lives.iter().map(|life| life.faults.len()).sum()
    }
}

impl LifePlan {
    /// Faults that were thought of later, as far as they are `meant`, and what is tried with copies.
    fn add_later_faults(&mut self, rng: &mut Rng, mut meant: impl FnMut(&Planned) -> bool) {
        let events = self.events();
        for _ in 0..rng.below(3) {
            let planned = Planned { from: rng.below(events), fault: PlannedFault::draw_later(rng) };
            if meant(&planned) {
                self.faults.push(planned);
            }
        }
        self.faults.sort_by_key(|planned| planned.from);
        self.probes.extend(rng.one_in(2).then(|| Probe::draw(rng)));
    }

    /// What was thought of last: full devices as far as they are `meant`, the least cache, stores in the making.
    fn add_latest(
        &mut self,
        scenario: &Scenario,
        rng: &mut Rng,
        mut meant: impl FnMut(&Planned) -> bool,
    ) {
        for _ in 0..rng.below(3) {
            let from = rng.below(self.events());
            let planned = Planned { from, fault: PlannedFault::draw_full(rng) };
            if meant(&planned) {
                self.faults.push(planned);
            }
        }
        self.faults.sort_by_key(|planned| planned.from);
        self.least_cache = rng.one_in(4);
        if self.least_cache {
            self.options.cache = scenario.cache_least();
        }
        self.probes.extend(rng.one_in(3).then(|| Probe::draw_later(rng)));
    }

    /// About as many events as the life has.
    fn events(&self) -> u64 {
        if self.crash_at == u64::MAX { self.ops * 4 + 60 } else { self.crash_at + 1 }
    }

    fn draw(scenario: &Scenario, with_faults: bool, rng: &mut Rng) -> LifePlan {
        let most = *rng.pick(&[20, 200, 200, 1500]);
        let ops = rng.between(1, most);
        // About as many events as ops lead to; a tenth of the crashes come while the store opens.
        let events = if rng.one_in(10) { 60 } else { ops * 4 + 60 };
        let styles = [CutStyle::AllLost, CutStyle::AllKept, CutStyle::Random, CutStyle::Random];
        let crash = match rng.below(6) {
            0 => Crash::Kill,
            1 => Crash::Cut(CutStyle::Torn),
            _ => Crash::Cut(*rng.pick(&styles)),
        };
        let count = if with_faults { rng.below(4) } else { 0 };
        let mut faults: Vec<Planned> = (0..count)
            .map(|_| Planned { from: rng.below(events), fault: PlannedFault::draw(rng) })
            .collect();
        faults.sort_by_key(|planned| planned.from);
        LifePlan {
            options: scenario.options(rng),
            ops,
            crash_at: if rng.one_in(5) { u64::MAX } else { rng.below(events) },
            crash,
            faults,
            wipes_images: with_faults && rng.one_in(30),
            probes: Vec::new(),
            least_cache: false,
        }
    }
}

impl SeedReplay {
    /// All of what a seed leads to.
    pub const fn whole(seed: u64) -> SeedReplay {
        SeedReplay { seed, lives: u64::MAX, ops: u64::MAX, faults: u64::MAX, log_mode: None }
    }
}

impl fmt::Display for SeedReplay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.seed)?;
        let parts = [("lives", self.lives), ("ops", self.ops), ("faults", self.faults)];
        let parts = parts.into_iter().filter(|(_, value)| *value != u64::MAX);
        let parts = parts.map(|(name, value)| format!("{name}={value}"));
        let mode = self.log_mode.map(|mode| format!("log_mode={mode}"));
        let parts: Vec<String> = parts.chain(mode).collect();
        if parts.is_empty() { Ok(()) } else { write!(f, ":{}", parts.join(",")) }
    }
}

/// What was typed is no replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseReplayError;

impl fmt::Display for ParseReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a seed, as in `17` or `17:lives=2,ops=40,faults=5`")
    }
}

impl std::error::Error for ParseReplayError {}

impl FromStr for SeedReplay {
    type Err = ParseReplayError;

    fn from_str(text: &str) -> Result<SeedReplay, ParseReplayError> {
        let number = |text: &str| text.parse::<u64>().map_err(|_| ParseReplayError);
        let (seed, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut replay = SeedReplay::whole(number(seed)?);
        for part in rest.split(',').filter(|part| !part.is_empty()) {
            match part.split_once('=').ok_or(ParseReplayError)? {
                ("lives", value) => replay.lives = number(value)?,
                ("ops", value) => replay.ops = number(value)?,
                ("faults", value) => replay.faults = number(value)?,
                ("log_mode", value) => {
                    replay.log_mode = Some(value.parse().map_err(|_| ParseReplayError)?);
                }
                _ => return Err(ParseReplayError),
            }
        }
        // Without a life there is nothing to look at in the end.
        if replay.lives == 0 { Err(ParseReplayError) } else { Ok(replay) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_replay_is_read_as_it_is_written() {
        for text in
            ["17", "17:ops=3", "3:log_mode=none", "0:lives=2,ops=40,faults=5,log_mode=fsync"]
        {
            assert_eq!(text.parse::<SeedReplay>().expect("it is one").to_string(), text);
        }
        for text in ["", "x", "1:ops", "1:ops=", "1:lives=0", "1:depth=3", "1:log_mode=fast"] {
            assert_eq!(text.parse::<SeedReplay>(), Err(ParseReplayError), "{text}");
        }
    }

    #[test]
    fn a_log_mode_that_is_asked_for_is_that_of_every_life() {
        let modes = |seed, log_mode| {
            let replay = SeedReplay { log_mode, ..SeedReplay::whole(seed) };
            let plan = StorePlan::new(&Scenario::new(seed), &replay);
            plan.lives.into_iter().map(|life| life.options.log_mode).collect::<BTreeSet<_>>()
        };
        let drawn: BTreeSet<LogMode> = (0..20).flat_map(|seed| modes(seed, None)).collect();
        assert_eq!(drawn.len(), 4);
        for mode in LogMode::ALL {
            assert!((0..20).all(|seed| modes(seed, Some(mode)) == BTreeSet::from([mode])));
        }
    }
}
