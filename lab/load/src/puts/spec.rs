//! Puts as a study file describes them.

use super::values::ValueForm;
use crate::pace::Arrivals;
use crate::spec::{SpecProblem, check_depth};
use serde::Deserialize;
use std::fmt;

/// Puts of one key each. With a `rate` they are an open loop, otherwise a closed one at `depth`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PutSpec {
    /// Puts in flight: always this many in a closed loop, at most this many in an open one.
    pub depth: Option<u32>,
    /// Puts per second of an open loop.
    pub rate: Option<f64>,
    /// How the puts of an open loop are spaced.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// What values look like.
    #[serde(default)]
    pub values: ValueForm,
}

impl PutSpec {
    /// Whether there can be such a load.
    ///
    /// # Errors
    /// [`SpecProblem`] with the first field that makes no sense.
    pub fn check(&self) -> Result<(), SpecProblem> {
        let problem = |field, wanted: &str| Err(SpecProblem { field, wanted: wanted.to_owned() });
        check_depth(self.rate, self.depth)?;
        if self.rate.is_some_and(|rate| !(rate > 0.0 && rate <= 1e7)) {
            return problem("rate", "more than 0 and at most 1e7 puts per second");
        }
        Ok(())
    }
}

/// The load in words: `puts of accounts, closed loop at depth 94`.
impl fmt::Display for PutSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "puts of {}, ", self.values)?;
        match (self.rate, self.depth) {
            (Some(rate), None) => write!(f, "open loop at {rate}/s ({})", self.arrivals),
            (Some(rate), Some(depth)) => {
                write!(f, "open loop at {rate}/s ({}), at most {depth} in flight", self.arrivals)
            }
            (None, depth) => write!(f, "closed loop at depth {}", depth.unwrap_or(0)),
        }
    }
}
