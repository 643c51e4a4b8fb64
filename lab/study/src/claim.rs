//! What a published study says in words, or what a study of ours expects: bounds of a figure, or of its ratio between two
//! setups, that can be tested.

use crate::{SetupResult, Statement};
use serde::{Deserialize, Serialize};

/// "`figure` of `of` is so many times that of `than`", or without `than` "is so much".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The sentence, in words.
    pub text: String,
    /// The figure compared.
    pub figure: ClaimFigure,
    /// The setups that are compared; the claim must hold for each.
    pub of: Vec<String>,
    /// The setups they are compared with; the claim must hold against each. Without any it is about the figure itself.
    #[serde(default)]
    pub than: Vec<String>,
    /// The ratio, or the figure itself, is at least this.
    pub at_least: Option<f64>,
    /// The ratio, or the figure itself, is at most this.
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
    /// 99th percentile of completion latency.
    ClatP99,
    /// Recovered objects per second.
    ObjectsPerS,
    /// Recovery time.
    Seconds,
    /// The share of the clients' reservation that was owed and not served in the worst second.
    ReservationShortfall,
    /// What was owed of the clients' reservation, as a share.
    ReservationDemand,
}

impl ClaimFigure {
    fn of(self, setup: &SetupResult) -> Option<f64> {
        match self {
            ClaimFigure::ClientIops => Some(setup.client.iops),
            ClaimFigure::ClatMean => Some(setup.client.clat_ms.mean),
            ClaimFigure::ClatP99 => Some(setup.client.clat_ms.p99),
            ClaimFigure::ObjectsPerS => setup.recovery.map(|r| r.objects_per_s),
            ClaimFigure::Seconds => setup.recovery.map(|r| r.seconds),
            ClaimFigure::ReservationShortfall => {
                setup.reservation.as_ref().map(|kept| kept.worst.shortfall)
            }
            ClaimFigure::ReservationDemand => setup.reservation.as_ref().map(|kept| kept.demand),
        }
    }

    fn print(self, value: f64) -> String {
        match self {
            ClaimFigure::ReservationShortfall | ClaimFigure::ReservationDemand => {
                format!("{:.1} %", value * 100.0)
            }
            _ => format!("{value:.1}"),
        }
    }
}

impl Claim {
    /// Whether the claim is complete; the error says what is missing.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.of.is_empty() {
            return Err("a claim names at least one setup in `of`".to_owned());
        }
        if self.at_least.is_none() && self.at_most.is_none() {
            return Err("a claim has a bound: `at_least`, `at_most` or both".to_owned());
        }
        Ok(())
    }

    /// The setups that the claim names.
    pub(crate) fn setups(&self) -> impl Iterator<Item = &String> {
        self.of.iter().chain(&self.than)
    }

    /// The claim tested against results; undecided while one of its setups is missing.
    pub fn test(&self, setups: &[SetupResult]) -> Statement {
        let mut holds = true;
        let mut detail = Vec::new();
        for left in &self.of {
            let others = match self.than.is_empty() {
                true => vec![None],
                false => self.than.iter().map(Some).collect(),
            };
            for right in others {
                let Some((value, words)) = self.measure(setups, left, right) else {
                    return self.undecided(left, right);
                };
                holds &= self.allows(value);
                detail.push(words);
            }
        }
        let detail = format!("{}; stated: {}", detail.join(", "), self.bounds());
        Statement { text: self.text.clone(), holds: Some(holds), detail }
    }

    /// What the bounds are about, as a value and in words.
    fn measure(
        &self,
        setups: &[SetupResult],
        left: &str,
        right: Option<&String>,
    ) -> Option<(f64, String)> {
        let value = |name: &str| {
            let setup = setups.iter().find(|setup| setup.name == *name)?;
            self.figure.of(setup)
        };
        let of = value(left)?;
        let Some(right) = right else {
            return Some((of, format!("{left} {}", self.figure.print(of))));
        };
        let than = value(right)?;
        let ratio = of / than;
        let is_ratio = of > 0.0 && than > 0.0;
        is_ratio.then(|| (ratio, format!("{left} is {ratio:.2} × {right}")))
    }

    fn allows(&self, value: f64) -> bool {
        self.at_least.is_none_or(|least| value >= least)
            && self.at_most.is_none_or(|most| value <= most)
    }

    fn bounds(&self) -> String {
        let print = |bound: f64| match self.than.is_empty() {
            true => self.figure.print(bound),
            false => format!("{bound} ×"),
        };
        match (self.at_least, self.at_most) {
            (Some(least), Some(most)) if self.than.is_empty() => {
                format!("{} to {}", print(least), print(most))
            }
            (Some(least), Some(most)) => format!("{least} to {most} ×"),
            (Some(least), None) => format!("at least {}", print(least)),
            (None, Some(most)) => format!("at most {}", print(most)),
            (None, None) => unreachable!("the loader refuses a claim without a bound"),
        }
    }

    fn undecided(&self, left: &str, right: Option<&String>) -> Statement {
        let setups = match right {
            Some(right) => format!("setups {left} and {right}"),
            None => format!("setup {left}"),
        };
        let detail = format!("needs the {setups} with this figure");
        Statement { text: self.text.clone(), holds: None, detail }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientResult, ReservationResult, WorstSecond};

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

    #[test]
    fn a_claim_without_a_comparison_is_about_the_figure_itself() {
        let claim = Claim {
            text: "the reservation is kept".to_owned(),
            figure: ClaimFigure::ReservationShortfall,
            of: vec!["a".to_owned(), "b".to_owned()],
            than: Vec::new(),
            at_least: None,
            at_most: Some(0.02),
        };
        let reserved = |name: &str, shortfall: f64| {
            let worst = WorstSecond { shortfall, ..Default::default() };
            let kept = ReservationResult { worst, ..Default::default() };
            SetupResult { reservation: Some(kept), ..setup(name, 1.0) }
        };
        let check = |setups: &[SetupResult], holds: Option<bool>, detail: &str| {
            let found = claim.test(setups);
            assert_eq!((found.holds, found.detail.as_str()), (holds, detail));
        };
        let (whole, short) = (reserved("a", 0.0), reserved("b", 0.031));
        check(&[whole.clone(), short], Some(false), "a 0.0 %, b 3.1 %; stated: at most 2.0 %");
        check(
            &[whole.clone(), reserved("b", 0.02)],
            Some(true),
            "a 0.0 %, b 2.0 %; stated: at most 2.0 %",
        );
        check(&[whole, setup("b", 1.0)], None, "needs the setup b with this figure");
    }
}
