//! What a published study says in words, or what a study of ours expects: bounds of a figure, or of its ratio between two
//! setups, that can be tested; and published ratios beside ours.

use crate::chance::{ADD_REPEATS, is_close, one_run_is_close};
use crate::figure::{Figure, Print};
use crate::input::unknown;
use crate::kind::StudyKind;
use crate::place::Place;
use crate::result::{ComparedRatio, Repeat, SetupResult, Statement, find_setup, quoted};
use loadline_stats::mean_interval;
use serde::Deserialize;

/// "`figure` of `of` is so many times that of `than`", or without `than` "is so much".
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The sentence, in words.
    pub text: String,
    /// The key of the figure compared.
    pub figure: String,
    /// The setups that are compared; the claim must hold for each.
    #[serde(default)]
    pub of: Vec<String>,
    /// The setups they are compared with; the claim must hold against each. Without any it is about the figure itself.
    #[serde(default)]
    pub than: Vec<String>,
    /// In place of `of` and `than`: setups in their order, each of which is compared with the next.
    #[serde(default)]
    pub chain: Vec<String>,
    /// The ratio, or the figure itself, as it was printed, to stand beside ours; for one pair of setups.
    pub published: Option<f64>,
    /// The ratio, or the figure itself, is at least this.
    pub at_least: Option<f64>,
    /// The ratio, or the figure itself, is at most this.
    pub at_most: Option<f64>,
    /// The ratio, or the figure itself, is more than this, which two that are equal are not.
    pub above: Option<f64>,
    /// The ratio, or the figure itself, is less than this.
    pub below: Option<f64>,
}

/// Shares that lie further apart than this are of different regimes.
const REGIME_SHARE: f64 = 0.2;

/// So are shares of which one is so many times the other,
const REGIME_TIMES: f64 = 2.0;

/// where one of them is more than this: a hundredth or two of the time moves no other figure.
const REGIME_LEAST: f64 = 0.05;

fn is_other_regime(ours: f64, published: f64) -> bool {
    let (low, high) = (ours.min(published), ours.max(published));
    high - low > REGIME_SHARE || high > REGIME_LEAST && high >= low * REGIME_TIMES
}

fn print(figure: &Figure, value: f64) -> String {
    match figure.print {
        Print::Percent if value == 0.0 => "0 %".to_owned(),
        Print::Percent => format!("{:.1} %", value * 100.0),
        _ => format!("{value:.1}"),
    }
}

impl Claim {
    /// Whether the claim is complete; the error says what is missing.
    pub(crate) fn check(&self, kind: StudyKind) -> Result<(), String> {
        if kind.figure(&self.figure).is_none() {
            let known = kind.figures().iter().map(|figure| figure.key);
            return Err(unknown("figure", &self.figure, known));
        }
        self.check_setups()?;
        if self.published.is_some() && self.pairs().count() > 1 {
            return Err("`published` stands beside one setup, or one pair of them".to_owned());
        }
        if self.at_least.and(self.above).or(self.at_most.and(self.below)).is_some() {
            return Err(
                "one bound at each end: `at_least` or `above`, `at_most` or `below`".to_owned()
            );
        }
        if self.allows_nothing() {
            return Err(
                "no value is within both bounds: the lower one lies above the upper".to_owned()
            );
        }
        match self.is_tested() || self.published.is_some() {
            true => Ok(()),
            false => {
                Err("a claim has a bound: `at_least` or `above`, `at_most` or `below`".to_owned())
            }
        }
    }

    fn allows_nothing(&self) -> bool {
        let bounds = self.at_least.or(self.above).zip(self.at_most.or(self.below));
        let has_open_end = self.above.or(self.below).is_some();
        bounds.is_some_and(|(low, high)| low > high || (has_open_end && low >= high))
    }

    fn check_setups(&self) -> Result<(), String> {
        match (self.chain.len(), self.of.is_empty() && self.than.is_empty()) {
            (0, _) if self.of.is_empty() => {
                Err("a claim names at least one setup in `of`, or an order in `chain`".to_owned())
            }
            (1.., false) => Err("`chain` stands in place of `of` and `than`".to_owned()),
            (1, _) => Err("`chain` has at least two setups".to_owned()),
            _ => Ok(()),
        }
    }

    fn is_tested(&self) -> bool {
        self.given_bounds().next().is_some()
    }

    /// Whether it is about ratios, as against the figure itself.
    fn is_of_ratios(&self) -> bool {
        !self.than.is_empty() || !self.chain.is_empty()
    }

    /// Whether it is about the worst that was seen, which no mean of repeats, nor how far they lie apart, says anything of.
    fn is_of_the_worst(&self, figure: &Figure) -> bool {
        figure.is_worst() && !self.is_of_ratios()
    }

    /// The setups that the claim names.
    pub(crate) fn setups(&self) -> impl Iterator<Item = &String> {
        self.of.iter().chain(&self.than).chain(&self.chain)
    }

    /// The claim tested against results, if it has a bound; undecided while one of its setups is missing.
    pub fn test(
        &self,
        kind: StudyKind,
        place: &Place,
        setups: &[SetupResult],
    ) -> Option<Statement> {
        let figure = kind.figure(&self.figure).filter(|_| self.is_tested())?;
        let (mut holds, mut is_close) = (true, false);
        let mut detail = Vec::new();
        for (left, right) in self.pairs() {
            let Some(value) = self.measure(setups, left, right) else {
                let undecided = self.doubts(setups);
                return Some(Statement { undecided, ..self.undecided(left, right) });
            };
            holds &= self.allows(value);
            is_close |= self.is_close(value);
            let name = quoted(left);
            detail.push(match right {
                Some(right) => format!("{name} is {value:.2} × {}", quoted(right)),
                None => format!("{name} {}", print(figure, value)),
            });
        }
        // A ratio's sentence says of what it is.
        let of = match (self.is_of_ratios(), figure.name) {
            (true, _) => String::new(),
            (false, "") => format!("{}: ", figure.key),
            (false, _) => format!("{}: ", figure.label().trim_end()),
        };
        let detail = format!("{of}{}; stated: {}", detail.join(", "), self.bounds(figure));
        // Runs on a real disk differ without a reason, and one of them does not say by how much. What was broken in one is broken.
        let is_one = self.named(setups).any(|setup| setup.repeats.len() <= 1);
        let is_shown = !holds && self.is_of_the_worst(figure);
        let chance =
            (*place != Place::Sim && is_one && is_close && !is_shown).then(one_run_is_close);
        let pairs = self.pairs();
        let unsure = pairs.filter_map(|pair| self.unsure(figure, setups, pair));
        let reasons = [self.doubts(setups), chance.into_iter().collect(), unsure.collect()];
        let undecided = reasons.into_iter().find(|why| !why.is_empty()).unwrap_or_default();
        Some(Statement {
            text: self.text.clone(),
            holds: undecided.is_empty().then_some(holds),
            detail,
            undecided,
            regime: self.other_regime(kind, setups),
        })
    }

    /// The same of a published claim where a part of the work was done: what grows with the work is comparable at one scale only.
    pub(crate) fn test_at_scale(
        &self,
        scale: f64,
        (kind, place): (StudyKind, &Place),
        setups: &[SetupResult],
    ) -> Option<Statement> {
        let mut said = self.test(kind, place, setups)?;
        let figure = kind.figure(&self.figure).filter(|figure| figure.grows && scale != 1.0);
        if let Some(figure) = figure.filter(|_| said.holds.is_some() || !said.undecided.is_empty())
        {
            let grows = format!(
                "{} is not comparable at {scale} of the work: leave out --quick and --set scale",
                figure.label()
            );
            said.holds = None;
            said.undecided.insert(0, grows);
        }
        Some(said)
    }

    /// Ours beside the published ratio, if there is one.
    pub(crate) fn ratio(&self, kind: StudyKind, setups: &[SetupResult]) -> Option<ComparedRatio> {
        let published = self.published?;
        let (left, right) = self.pairs().next()?;
        let ours = self.measure(setups, left, right);
        // The reasons stand in the answer, once for all that rest on them.
        let marks = [
            ("another regime", !self.other_regime(kind, setups).is_empty()),
            ("undecided", !self.doubts(setups).is_empty()),
        ];
        let marks: Vec<&str> =
            marks.into_iter().filter(|(_, is_so)| *is_so).map(|(mark, _)| mark).collect();
        let text = match ours.is_some() && !marks.is_empty() {
            true => format!("{} ({})", self.text, marks.join(", ")),
            false => self.text.clone(),
        };
        Some(ComparedRatio { text, ours, published })
    }

    /// The results of its setups.
    fn named<'a>(&self, setups: &'a [SetupResult]) -> impl Iterator<Item = &'a SetupResult> {
        setups.iter().filter(|setup| self.setups().any(|name| name == setup.name()))
    }

    /// Why its setups' figures decide nothing, where that is so.
    fn doubts(&self, setups: &[SetupResult]) -> Vec<String> {
        let is_about =
            |figure: &Option<String>| figure.as_ref().is_none_or(|figure| *figure == self.figure);
        self.named(setups)
            .flat_map(|setup| setup.doubts.iter().map(move |doubt| (setup, doubt)))
            .filter(|(_, doubt)| is_about(&doubt.figure))
            .map(|(setup, doubt)| doubt.of(setup.name()))
            .collect()
    }

    /// Whether chance could move a value over one of the bounds.
    fn is_close(&self, value: f64) -> bool {
        self.given_bounds().any(|bound| is_close(value, bound))
    }

    fn given_bounds(&self) -> impl Iterator<Item = f64> {
        [self.at_least, self.at_most, self.above, self.below].into_iter().flatten()
    }

    /// That a bound lies within the interval of what the repeats show, if it does. Equal repeats have none, and are not unsure at a bound;
    /// the worst of all repeats has none either.
    fn unsure(
        &self,
        figure: &Figure,
        setups: &[SetupResult],
        (left, right): (&String, Option<&String>),
    ) -> Option<String> {
        if self.is_of_the_worst(figure) {
            return None;
        }
        let values = self.in_repeats(setups, left, right)?;
        let interval = mean_interval(&values)?;
        let (low, high) = (interval.low(), interval.high());
        self.given_bounds().any(|bound| low < bound && bound < high).then(|| {
            let range = match right {
                // What is divided is no less than nothing, however far apart the repeats lie.
                Some(right) => {
                    format!("is {:.2} to {high:.2} × {}", low.max(0.0), quoted(right))
                }
                None => format!("{} to {}", print(figure, low), print(figure, high)),
            };
            let (name, runs) = (quoted(left), values.len());
            format!("{name} {range} by {runs} repeats, and a bound lies within: {ADD_REPEATS}")
        })
    }

    /// What the bounds are about, in each repeat that has it; those of two setups share their seed.
    fn in_repeats(
        &self,
        setups: &[SetupResult],
        left: &str,
        right: Option<&String>,
    ) -> Option<Vec<f64>> {
        let repeats = |name: &str| Some(&find_setup(setups, name)?.repeats);
        let value = |repeat: &Repeat| repeat.figures.get(&self.figure);
        let of = repeats(left)?.iter().map(value);
        let Some(right) = right else { return Some(of.flatten().collect()) };
        let pairs = of.zip(repeats(right)?.iter().map(value));
        let ratios = pairs.filter_map(|(of, than)| Some(of? / than.filter(|than| *than > 0.0)?));
        Some(ratios.collect())
    }

    /// Which of its setups are in another regime than the published ones, by the figures that tell.
    fn other_regime(&self, kind: StudyKind, setups: &[SetupResult]) -> Vec<String> {
        let figures = || kind.figures().iter().filter(|figure| figure.regime);
        self.named(setups)
            .flat_map(|setup| figures().map(move |figure| (setup, figure)))
            .filter_map(|(setup, figure)| {
                let ours = setup.figure(figure.key)?;
                let published = setup.published.get(figure.key)?.value;
                is_other_regime(ours, published).then(|| {
                    let (ours, published) = (print(figure, ours), print(figure, published));
                    let name = quoted(setup.name());
                    format!("{name} {ours} {}, published {published}", figure.name)
                })
            })
            .collect()
    }

    /// Every setup with each that it is compared with.
    fn pairs(&self) -> impl Iterator<Item = (&String, Option<&String>)> {
        let others = match self.than.is_empty() {
            true => vec![None],
            false => self.than.iter().map(Some).collect(),
        };
        let all = self.of.iter();
        let all = all.flat_map(move |left| others.clone().into_iter().map(move |o| (left, o)));
        all.chain(self.chain.iter().zip(self.chain.iter().skip(1).map(Some)))
    }

    /// What the bounds are about.
    fn measure(&self, setups: &[SetupResult], left: &str, right: Option<&String>) -> Option<f64> {
        let value = |name: &str| find_setup(setups, name)?.figure(&self.figure);
        let of = value(left)?;
        let Some(right) = right else { return Some(of) };
        let than = value(right)?;
        (of > 0.0 && than > 0.0).then(|| of / than)
    }

    pub(crate) fn allows(&self, value: f64) -> bool {
        self.at_least.is_none_or(|least| value >= least)
            && self.at_most.is_none_or(|most| value <= most)
            && self.above.is_none_or(|bound| value > bound)
            && self.below.is_none_or(|bound| value < bound)
    }

    fn bounds(&self, figure: &Figure) -> String {
        let print = |bound: f64| match self.is_of_ratios() {
            false => print(figure, bound),
            true => format!("{bound} ×"),
        };
        if let (Some(least), Some(most)) = (self.at_least, self.at_most) {
            let least = if self.is_of_ratios() { least.to_string() } else { print(least) };
            return format!("{least} to {}", print(most));
        }
        let all = [
            ("at least", self.at_least),
            ("more than", self.above),
            ("at most", self.at_most),
            ("less than", self.below),
        ];
        let said = all.into_iter().filter_map(|(word, it)| Some(format!("{word} {}", print(it?))));
        said.collect::<Vec<_>>().join(" and ")
    }

    fn undecided(&self, left: &str, right: Option<&String>) -> Statement {
        let setups = match right {
            Some(right) => format!("setups {} and {}", quoted(left), quoted(right)),
            None => format!("setup {}", quoted(left)),
        };
        let detail = format!("needs the {setups} with this figure");
        Statement { text: self.text.clone(), detail, ..Statement::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Figures, PublishedFigure, PublishedFigures};
    use crate::result::{Configuration, FigureDoubt};
    use loadline_testbed::{ClientKind, HostPlace, RealDisks};

    fn setup(name: &str, iops: f64) -> SetupResult {
        let setup = Configuration { name: name.to_owned(), ..Default::default() };
        let figures = Figures::default().with([("client/iops", iops)]);
        SetupResult { setup, figures, ..Default::default() }
    }

    fn test(claim: &Claim, setups: &[SetupResult]) -> Statement {
        claim.test(StudyKind::Recovery, &Place::Sim, setups).expect("it has a bound")
    }

    #[test]
    fn a_claim_holds_for_every_pair_or_not_at_all() {
        let claim = Claim {
            text: "more than four times".to_owned(),
            figure: "client/iops".to_owned(),
            of: vec!["a".to_owned(), "b".to_owned()],
            than: vec!["slow".to_owned()],
            at_least: Some(4.0),
            ..Claim::default()
        };
        let check = |setups: &[SetupResult], holds: Option<bool>| {
            assert_eq!(test(&claim, setups).holds, holds, "{:?}", test(&claim, setups));
        };
        check(&[setup("a", 400.0), setup("b", 500.0), setup("slow", 100.0)], Some(true));
        check(&[setup("a", 399.0), setup("b", 500.0), setup("slow", 100.0)], Some(false));
        check(&[setup("a", 400.0), setup("slow", 100.0)], None);
        check(&[setup("a", 400.0), setup("b", 500.0), setup("slow", 0.0)], None);
        let detail =
            test(&claim, &[setup("a", 400.0), setup("b", 500.0), setup("slow", 100.0)]).detail;
        assert_eq!(detail, "“a” is 4.00 × “slow”, “b” is 5.00 × “slow”; stated: at least 4 ×");
    }

    /// A checkpoint that never ends is compared with one that runs a third of the time, and the line says so.
    #[test]
    fn a_ratio_of_another_regime_says_so() {
        let claim = Claim {
            text: "twice as fast".to_owned(),
            figure: "client/puts_per_s".to_owned(),
            of: vec!["a".to_owned()],
            than: vec!["b".to_owned()],
            published: Some(2.0),
            at_least: Some(1.5),
            at_most: Some(2.5),
            ..Claim::default()
        };
        let of = |name: &str, puts: f64, share: f64, published: f64| {
            let setup = Configuration { name: name.to_owned(), ..Default::default() };
            let share_key = "checkpoint/share_in_checkpoints";
            let figures =
                Figures::default().with([("client/puts_per_s", puts), (share_key, share)]);
            let value = PublishedFigure { value: published, mark: None };
            let published = PublishedFigures([(share_key.to_owned(), value)].into());
            SetupResult { setup, figures, published, ..Default::default() }
        };
        let test = |share: f64| {
            let setups = [of("a", 20.0, 0.94, 0.96), of("b", 10.0, share, 0.31)];
            let kind = StudyKind::Checkpoint;
            let regime = claim.test(kind, &Place::Sim, &setups).expect("it has bounds").regime;
            (regime, claim.ratio(kind, &setups).expect("it has a ratio").text)
        };
        let other = "“b” 100.0 % in checkpoints, published 31.0 %";
        // The label is short: the answer tells which regime, once.
        let text = "twice as fast (another regime)".to_owned();
        assert_eq!(test(1.0), (vec![other.to_owned()], text));
        assert_eq!(test(0.4), (Vec::new(), "twice as fast".to_owned()));
    }

    /// Beside a published hundredth, a fifth of the time in checkpoints is no less another regime than all of it.
    #[test]
    fn small_shares_are_of_other_regimes_when_one_is_twice_the_other() {
        let check = |ours, published, wanted| {
            assert_eq!(is_other_regime(ours, published), wanted, "{ours} {published}");
        };
        check(0.19, 0.011, true);
        check(0.011, 0.19, true);
        check(0.051, 0.0045, true);
        // Both are next to nothing.
        check(0.04, 0.0045, false);
        check(0.09, 0.05, false);
        check(0.96, 0.77, false);
        check(0.96, 0.75, true);
    }

    /// A claim was green from one second, and from one run at its very bound.
    #[test]
    fn what_figures_cannot_decide_is_undecided() {
        let claim = Claim {
            text: "as fast".to_owned(),
            figure: "client/iops".to_owned(),
            of: vec!["a".to_owned()],
            than: vec!["b".to_owned()],
            at_least: Some(1.0),
            ..Claim::default()
        };
        let host = Place::Host(HostPlace {
            disks: RealDisks::Files("disk".into()),
            client: ClientKind::Own,
            keep_files: false,
            overwrite: false,
        });
        let check = |place: &Place, setups: [SetupResult; 2], wanted: Option<bool>, why: &str| {
            let found = claim.test(StudyKind::Recovery, place, &setups).expect("it has a bound");
            assert_eq!((found.holds, found.undecided.concat().as_str()), (wanted, why));
            assert_eq!(found.awaits_repeats(), why.contains("add --repeat 3"), "{why}");
            assert!(found.detail.contains("× “b”; stated: at least 1 ×"), "{}", found.detail);
        };
        let (close, far) =
            (|| [setup("a", 103.0), setup("b", 100.0)], [setup("a", 106.0), setup("b", 100.0)]);
        check(&Place::Sim, close(), Some(true), "");
        let why = "one run each, and within 5 % of its bound: add --repeat 3";
        check(&host, close(), None, why);
        check(&host, far, Some(true), "");
        let repeated = |of: SetupResult| SetupResult { repeats: vec![Repeat::default(); 3], ..of };
        check(&host, close().map(repeated), Some(true), "");
        let doubted = |figure: Option<&str>| {
            let [a, b] = close();
            let (figure, why) = (figure.map(str::to_owned), "it fell behind".to_owned());
            [a, SetupResult { doubts: vec![FigureDoubt { figure, why }], ..b }]
        };
        check(&Place::Sim, doubted(None), None, "“b”: it fell behind");
        check(&Place::Sim, doubted(Some("client/iops")), None, "“b”: it fell behind");
        check(&Place::Sim, doubted(Some("recovery/seconds")), Some(true), "");
    }

    /// A study of a twentieth of the work said that its times are not comparable, and which published claims hold by them.
    #[test]
    fn times_of_a_part_of_the_work_decide_nothing_published() {
        let claim = |figure: &str| Claim {
            text: "WPQ is fastest".to_owned(),
            figure: figure.to_owned(),
            of: vec!["a".to_owned()],
            than: vec!["WPQ".to_owned()],
            above: Some(1.0),
            ..Claim::default()
        };
        let setups = [("a", 800.0), ("WPQ", 700.0)].map(|(name, value)| {
            let figures = [("scrub/seconds", value), ("client/iops", value)];
            SetupResult { figures: Figures::default().with(figures), ..setup(name, 1.0) }
        });
        let said = |figure: &str, scale: f64, setups: &[SetupResult]| {
            let study = (StudyKind::Services, &Place::Sim);
            let said = claim(figure).test_at_scale(scale, study, setups).expect("it has a bound");
            (said.holds, said.undecided.concat())
        };
        assert_eq!(said("scrub/seconds", 1.0, &setups), (Some(true), String::new()));
        assert_eq!(said("client/iops", 0.05, &setups), (Some(true), String::new()));
        let why =
            "scrub time is not comparable at 0.05 of the work: leave out --quick and --set scale";
        assert_eq!(said("scrub/seconds", 0.05, &setups), (None, why.to_owned()));
        // What was not run is not undecided for that.
        assert_eq!(said("scrub/seconds", 0.05, &setups[..1]), (None, String::new()));
    }

    /// Three runs of 0.97, 1.10 and 1.03 have a mean of 1.033, and "3 to 5 %" was held by it.
    #[test]
    fn repeats_that_differ_by_more_than_a_bound_is_away_decide_nothing() {
        let claim = |than: &[&str], at_least, at_most| Claim {
            text: "3 to 5 %".to_owned(),
            figure: "client/iops".to_owned(),
            of: vec!["a".to_owned()],
            than: than.iter().map(|name| (*name).to_owned()).collect(),
            at_least: Some(at_least),
            at_most: Some(at_most),
            ..Claim::default()
        };
        let repeated = |name, iops: [f64; 3]| {
            let repeat = |iops| Repeat { seed: 1, figures: setup(name, iops).figures };
            let mean = iops.iter().sum::<f64>() / 3.0;
            SetupResult { repeats: iops.map(repeat).into(), ..setup(name, mean) }
        };
        let check = |claim: Claim, iops, wanted: Option<bool>, why: &str| {
            let found = test(&claim, &[repeated("a", iops), repeated("b", [100.0, 200.0, 300.0])]);
            assert_eq!((found.holds, found.undecided.concat().as_str()), (wanted, why));
        };
        let ratio = |at_least, at_most| claim(&["b"], at_least, at_most);
        let apart = [97.0, 220.0, 309.0];
        let why = "“a” is 0.87 to 1.19 × “b” by 3 repeats, and a bound lies within: add repeats";
        check(ratio(1.025, 1.055), apart, None, why);
        // Neither is it shown to be wrong.
        check(ratio(1.1, 1.5), apart, None, why);
        check(ratio(0.8, 1.3), apart, Some(true), "");
        // Far apart, and no less than nothing: it was "-1.61 to 2.91 ×".
        let why = "“a” is 0.00 to 2.91 × “b” by 3 repeats, and a bound lies within: add repeats";
        check(ratio(0.5, 1.5), [10.0, 30.0, 510.0], None, why);
        check(ratio(1.3, 1.5), apart, Some(false), "");
        check(ratio(1.025, 1.055), [104.0, 208.0, 312.0], Some(true), "");
        // What is the same each time is sure at a bound.
        check(ratio(1.0, 1.5), [100.0, 200.0, 300.0], Some(true), "");
        let why = "“a” 7.5 to 12.5 by 3 repeats, and a bound lies within: add repeats";
        check(claim(&[], 9.0, 20.0), [9.0, 10.0, 11.0], None, why);
        check(claim(&[], 7.0, 20.0), [9.0, 10.0, 11.0], Some(true), "");
    }

    /// Two that are equal are in no order, and each setup is compared with the next alone.
    #[test]
    fn a_chain_holds_for_each_with_the_next() {
        let claim = Claim {
            text: "most under a, then b, then c".to_owned(),
            figure: "client/iops".to_owned(),
            chain: ["a", "b", "c"].map(str::to_owned).into(),
            above: Some(1.0),
            ..Claim::default()
        };
        assert_eq!(claim.check(StudyKind::Recovery), Ok(()));
        let check = |iops: [f64; 3], holds: bool| {
            let [a, b, c] = iops;
            let found = test(&claim, &[setup("c", c), setup("a", a), setup("b", b)]);
            assert_eq!(found.holds, Some(holds), "{found:?}");
            found.detail
        };
        let detail = check([300.0, 200.0, 100.0], true);
        assert_eq!(detail, "“a” is 1.50 × “b”, “b” is 2.00 × “c”; stated: more than 1 ×");
        check([200.0, 300.0, 100.0], false);
        check([300.0, 100.0, 200.0], false);
        check([300.0, 200.0, 200.0], false);
        assert_eq!(test(&claim, &[setup("a", 2.0), setup("b", 1.0)]).holds, None);
        let wrong = |claim: Claim, says: &str| {
            let why = claim.check(StudyKind::Recovery).expect_err("it is not complete");
            assert!(why.contains(says), "{why}");
        };
        let chain = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        wrong(Claim { chain: chain(&["a"]), ..claim.clone() }, "at least two setups");
        wrong(Claim { of: chain(&["a"]), ..claim.clone() }, "in place of `of`");
        wrong(Claim { at_least: Some(2.0), ..claim.clone() }, "one bound at each end");
        wrong(Claim { above: None, ..claim.clone() }, "a claim has a bound");
        wrong(Claim { at_most: Some(1.0), ..claim.clone() }, "no value is within both bounds");
        let (above, at_least, at_most) = (None, Some(5.0), Some(0.0));
        wrong(Claim { above, at_least, at_most, ..claim.clone() }, "no value is within both");
        let (above, at_least, at_most) = (None, Some(1.0), Some(1.0));
        let one = Claim { above, at_least, at_most, ..claim.clone() };
        assert_eq!(one.check(StudyKind::Recovery), Ok(()));
        wrong(Claim { chain: Vec::new(), ..claim }, "an order in `chain`");
    }

    #[test]
    fn a_claim_without_a_comparison_is_about_the_figure_itself() {
        let claim = Claim {
            text: "the reservation is kept".to_owned(),
            figure: "reservation/shortfall".to_owned(),
            of: vec!["a".to_owned(), "b".to_owned()],
            at_most: Some(0.02),
            ..Claim::default()
        };
        let reserved = |name: &str, shortfall: f64| {
            let setup = setup(name, 1.0);
            let figures = setup.figures.clone().with([("reservation/shortfall", shortfall)]);
            SetupResult { figures, ..setup }
        };
        let check = |setups: &[SetupResult], holds: Option<bool>, detail: &str| {
            let found = test(&claim, setups);
            assert_eq!((found.holds, found.detail.as_str()), (holds, detail));
        };
        let (whole, short) = (reserved("a", 0.0), reserved("b", 0.031));
        check(
            &[whole.clone(), short],
            Some(false),
            "reservation short: “a” 0 %, “b” 3.1 %; stated: at most 2.0 %",
        );
        check(
            &[whole.clone(), reserved("b", 0.02)],
            Some(true),
            "reservation short: “a” 0 %, “b” 2.0 %; stated: at most 2.0 %",
        );
        check(&[whole, setup("b", 1.0)], None, "needs the setup “b” with this figure");
    }
}
