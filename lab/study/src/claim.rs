//! What a published study says in words, as a ratio of two setups that can be tested.

use crate::{SetupResult, Statement};
use serde::{Deserialize, Serialize};

/// "`figure` of `of` is so many times that of `than`".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The sentence, in words.
    pub text: String,
    /// The figure compared.
    pub figure: ClaimFigure,
    /// The setups that are compared; the claim must hold for each.
    pub of: Vec<String>,
    /// The setups they are compared with; the claim must hold against each.
    pub than: Vec<String>,
    /// The ratio is at least this.
    pub at_least: Option<f64>,
    /// The ratio is at most this.
    pub at_most: Option<f64>,
}

/// A figure that claims are made about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimFigure {
    /// Client operations per second.
    ClientIops,
    /// Mean completion latency.
    ClatMean,
    /// Recovered objects per second.
    ObjectsPerS,
    /// Recovery time.
    Seconds,
}

impl ClaimFigure {
    fn of(self, setup: &SetupResult) -> Option<f64> {
        match self {
            ClaimFigure::ClientIops => Some(setup.client.iops),
            ClaimFigure::ClatMean => Some(setup.client.clat_ms.mean),
            ClaimFigure::ObjectsPerS => setup.recovery.map(|r| r.objects_per_s),
            ClaimFigure::Seconds => setup.recovery.map(|r| r.seconds),
        }
    }
}

impl Claim {
    /// Whether the claim is complete; the error says what is missing.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.of.is_empty() || self.than.is_empty() {
            return Err("a claim names at least one setup in `of` and in `than`".to_owned());
        }
        if self.at_least.is_none() && self.at_most.is_none() {
            return Err("a claim has a bound: `at_least`, `at_most` or both".to_owned());
        }
        Ok(())
    }

    /// The claim tested against results; undecided while one of its setups is missing.
    pub fn test(&self, setups: &[SetupResult]) -> Statement {
        let value = |name: &String| {
            let setup = setups.iter().find(|setup| setup.name == *name)?;
            self.figure.of(setup).filter(|value| *value > 0.0)
        };
        let mut holds = true;
        let mut detail = Vec::new();
        for left in &self.of {
            for right in &self.than {
                let (Some(a), Some(b)) = (value(left), value(right)) else {
                    return self.undecided(left, right);
                };
                let ratio = a / b;
                holds &= self.allows(ratio);
                detail.push(format!("{left} is {ratio:.2} × {right}"));
            }
        }
        let detail = format!("{}; stated: {}", detail.join(", "), self.bounds());
        Statement { text: self.text.clone(), holds: Some(holds), detail }
    }

    fn allows(&self, ratio: f64) -> bool {
        self.at_least.is_none_or(|least| ratio >= least)
            && self.at_most.is_none_or(|most| ratio <= most)
    }

    fn bounds(&self) -> String {
        match (self.at_least, self.at_most) {
            (Some(least), Some(most)) => format!("{least} to {most} ×"),
            (Some(least), None) => format!("at least {least} ×"),
            (None, Some(most)) => format!("at most {most} ×"),
            (None, None) => unreachable!("the loader refuses a claim without a bound"),
        }
    }

    fn undecided(&self, left: &str, right: &str) -> Statement {
        let detail = format!("needs the setups {left} and {right} with this figure");
        Statement { text: self.text.clone(), holds: None, detail }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientResult;

    fn setup(name: &str, iops: f64) -> SetupResult {
        let client = ClientResult { iops, ..Default::default() };
        SetupResult { name: name.to_owned(), client, ..Default::default() }
    }

    #[test]
    fn a_claim_holds_for_every_pair_or_not_at_all() {
        let claim = Claim {
            text: "more than four times".to_owned(),
            figure: ClaimFigure::ClientIops,
            of: vec!["a".to_owned(), "b".to_owned()],
            than: vec!["slow".to_owned()],
            at_least: Some(4.0),
            at_most: None,
        };
        let check = |setups: &[SetupResult], holds: Option<bool>| {
            assert_eq!(claim.test(setups).holds, holds, "{:?}", claim.test(setups));
        };
        check(&[setup("a", 400.0), setup("b", 500.0), setup("slow", 100.0)], Some(true));
        check(&[setup("a", 399.0), setup("b", 500.0), setup("slow", 100.0)], Some(false));
        check(&[setup("a", 400.0), setup("slow", 100.0)], None);
        let detail =
            claim.test(&[setup("a", 400.0), setup("b", 500.0), setup("slow", 100.0)]).detail;
        assert_eq!(detail, "a is 4.00 × slow, b is 5.00 × slow; stated: at least 4 ×");
    }
}
