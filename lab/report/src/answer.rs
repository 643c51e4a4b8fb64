//! The answer in a sentence or two: which setup to take for clients, which for what else is wanted of the disks, and what each
//! costs the other; whether what was expected and promised came; and what does not hold.
//!
//! Nobody is recommended who does not keep what it promises clients, or what is asked of it beside services that have a deadline;
//! who promises nothing breaks nothing, and it is said. Setups count as alike, so that the other figure decides between them, where no
//! difference is shown, and repeats show that it is no more than [`MARGIN`], or each ran once. That repeats show neither is another thing, and is
//! said: there the mean decides.

use crate::beside::{beside_sentences, is_met, is_unseen};
use crate::named::{explained, legend, names};
use crate::repeats;
use crate::sheet::{MARGIN, Sheet, Trade};
use crate::terminal::{print, told};
use crate::wrap::{listed, wrapped};
use loadline_draw::number::{duration, percent, times};
use loadline_stats::{CompareVerdict, compare, mean};
use loadline_study::{
    Better, Figure, KEPT_FROM, OPS_MIN, Print, PromiseResult, SHIPPED_DEFAULT, SetupResult,
    Statement, StudyKind, StudyResult, quoted,
};

/// What a result answers.
pub(crate) struct StudyAnswer {
    /// Whom to take, or why nobody is recommended: a sentence or two. Of one setup what it costs, and where nothing is weighed, what the figures
    /// say. What each setup is stands at its first mention.
    pub(crate) lead: Vec<String>,
    /// Why it is so, where the lead does not say it.
    pub(crate) why: Vec<String>,
    /// The place of the setup that is recommended to clients.
    pub(crate) chosen: Option<usize>,
    /// What does not hold first, then what is open, then what is so.
    pub(crate) findings: Vec<Finding>,
}

/// Something that the figures say beside the advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) kind: FindingKind,
    pub(crate) text: String,
}

/// What is found, in the order in which it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FindingKind {
    /// Something expected, published or promised is not so.
    Fails,
    /// Something is not decided, or is so of something else.
    Open,
    Holds,
    /// How one setup fared beside services, of which a page has a table.
    Beside,
}

impl FindingKind {
    fn of(self, text: String) -> Finding {
        Finding { kind: self, text }
    }
}

/// What the figures allow to say.
pub(crate) fn answer(result: &StudyResult) -> StudyAnswer {
    let choice =
        Sheet::of(result.kind).trade(result).and_then(|trade| Recommendation::of(result, trade));
    let unsure = choice.as_ref().map_or_else(Vec::new, Recommendation::unsure);
    let open = unsure.into_iter().chain(in_another_regime(result)).chain(undecided(result));
    let beside = beside_sentences(result).map(|text| FindingKind::Beside.of(text));
    let mut findings: Vec<Finding> = expectations(result)
        .into_iter()
        .chain(not_here(result).map(|text| FindingKind::Fails.of(text)))
        .chain(promises(result))
        .chain(open.map(|text| FindingKind::Open.of(text)))
        .chain(shipped(result).map(|text| FindingKind::Holds.of(text)))
        .chain(beside)
        .collect();
    findings.sort_by_key(|finding| finding.kind);
    let (lead, why) = lead(result, choice.as_ref());
    let chosen = choice.and_then(|choice| Some(choice.for_clients?.0));
    StudyAnswer { lead: explained(lead, result), why, chosen, findings }
}

/// The first sentences, and what is left to say of why.
fn lead(result: &StudyResult, choice: Option<&Recommendation<'_>>) -> (Vec<String>, Vec<String>) {
    let sentences = (Sheet::of(result.kind).sentences)(result);
    match choice.map(Recommendation::in_words).or_else(|| only(result)) {
        Some(advice) => (advice, sentences),
        None if sentences.is_empty() => {
            let nothing = "There is nothing to compare yet: run the setups of the default set.";
            (vec![nothing.to_owned()], sentences)
        }
        None => (sentences, Vec::new()),
    }
}

/// What the only setup with something beside its clients costs them, and what comes of the rest; `None` if there are others, or none.
fn only(result: &StudyResult) -> Option<Vec<String>> {
    let sheet = Sheet::of(result.kind);
    let mut all = result.setups.iter().filter(|setup| sheet.has_background(setup));
    let setup = all.next()?;
    let first = sheet.trades.first()?;
    let (key, _) = first.clients;
    let clients = result.kind.figure(key).filter(|_| all.next().is_none())?;
    let trades = sheet.trades.iter().filter(|trade| trade.clients.0 == key);
    let comes: Vec<String> = trades.filter_map(|of| of.comes_of(result, setup)).collect();
    let over = first.over;
    let value = with_unit(clients, setup.figure(key)?);
    let alone = beside_alone(result, clients);
    let costs = format!(
        "{} costs clients a {} of {value}{over}{alone}",
        quoted(setup.name()),
        clients.name
    );
    let comes = if comes.is_empty() { String::new() } else { format!("; {}", listed(&comes)) };
    let choice =
        "Nobody is recommended, since there is no other to choose from: add setups by --setups.";
    Some(vec![format!("{costs}{comes}."), choice.to_owned()])
}

/// What clients have alone, where a setup shows it.
fn beside_alone(result: &StudyResult, clients: &Figure) -> String {
    let alone = Sheet::of(result.kind).baseline(result);
    let alone = alone.and_then(|alone| alone.figure(clients.key));
    alone.map_or_else(String::new, |alone| format!(" beside {} alone", with_unit(clients, alone)))
}

/// The setup that is recommended to clients, and the answer in sentences, for programs.
pub fn answer_for_programs(result: &StudyResult) -> (Option<&str>, Vec<String>) {
    let StudyAnswer { lead, chosen, findings, .. } = answer(result);
    let name = chosen.map(|place| result.setups[place].name());
    let findings = findings.into_iter().map(|finding| finding.text);
    (name, lead.into_iter().chain(findings).collect())
}

/// The answer for a terminal, none of its lines wider than `width` where words allow it; what a reader must know follows at once, and what the
/// setups are that it does not recommend.
pub fn answer_text(result: &StudyResult, width: usize) -> String {
    let StudyAnswer { lead, findings, .. } = answer(result);
    let findings = findings.into_iter().map(|finding| finding.text);
    let notes = result.warnings.iter().map(|warning| format!("note: {warning}"));
    let legend = legend(result, &lead);
    let told: String =
        lead.into_iter().chain(findings).chain(notes).map(|text| wrapped(&text, width)).collect();
    let legend: String = legend.iter().map(|text| wrapped(text, width)).collect();
    let gap = if legend.is_empty() { "" } else { "\n" };
    told + gap + &legend
}

/// A setup with its place in the result.
type PlacedSetup<'a> = (usize, &'a SetupResult);

/// Who is recommended, by which two figures.
struct Recommendation<'a> {
    trade: &'a Trade,
    clients: &'static Figure,
    beside: &'static Figure,
    /// Nobody kept what is asked.
    all_broke: bool,
    /// What is asked is a tail beside services, and a deadline of theirs.
    has_deadline: bool,
    /// Whether somebody kept a promise.
    is_promised: bool,
    for_clients: Option<PlacedSetup<'a>>,
    /// The best for clients of those that are better in the other figure.
    next: Option<&'a SetupResult>,
    /// The best in the other figure, if that is somebody else.
    for_beside: Option<&'a SetupResult>,
    /// Whether anybody is better in the other figure, those included that are out of the question.
    is_beaten_beside: bool,
    /// Of whom too little was seen to say whether they kept what is asked: not to be taken.
    unseen: Vec<&'a SetupResult>,
    /// Who saw no end of what the other figure is the time of: not to be taken.
    unended: Vec<&'a SetupResult>,
    /// Who is neither shown to be worse for clients than the one that is recommended, nor to be alike.
    open: Vec<&'a SetupResult>,
    result: &'a StudyResult,
}

/// From so many runs on their differences tell chance.
const RUNS_TESTED: usize = 3;

impl<'a> Recommendation<'a> {
    fn of(result: &'a StudyResult, trade: &'a Trade) -> Option<Recommendation<'a>> {
        let (clients, beside) = trade.figures(result.kind)?;
        let all: Vec<PlacedSetup<'_>> = trade.setups(result).collect();
        let that = |kept: Option<bool>| -> Vec<PlacedSetup<'a>> {
            let seen = all.iter().filter(|(_, setup)| !is_unseen(setup));
            seen.filter(|(_, setup)| is_met(setup) == kept).copied().collect()
        };
        let is_promised = !that(Some(true)).is_empty();
        let candidates = [that(Some(true)), that(None)].concat();
        let all_broke = !is_promised && !that(Some(false)).is_empty();
        // One that promises nothing, and is the only one left, is no choice.
        let is_choice = !all_broke || candidates.len() > 1;
        let for_clients = best(&candidates, clients, beside).filter(|_| is_choice);
        let better_beside = |chosen: &SetupResult| -> Vec<PlacedSetup<'a>> {
            // What is taken for something else than clients promises them something all the same, where anything does.
            let may = |of: &SetupResult| !is_promised || is_met(of) == Some(true);
            let of = candidates.iter().filter(|(_, of)| may(of) && is_better(beside, of, chosen));
            of.copied().collect()
        };
        let others = for_clients.map_or_else(Vec::new, |(_, chosen)| better_beside(chosen));
        let is_beaten_beside = for_clients
            .is_some_and(|(_, chosen)| all.iter().any(|(_, of)| is_better(beside, of, chosen)));
        let open = |(place, chosen): PlacedSetup<'a>| -> Vec<&'a SetupResult> {
            let others = candidates.iter().filter(|(other, _)| *other != place);
            let is_open = |of: &&SetupResult| ranking(clients, chosen, of) == Ranking::Open;
            others.map(|(_, of)| *of).filter(is_open).collect()
        };
        Some(Recommendation {
            trade,
            clients,
            beside,
            all_broke,
            has_deadline: all.iter().any(|(_, setup)| setup.beside.is_some()),
            is_promised,
            for_clients,
            next: best(&others, clients, beside).map(|(_, setup)| setup),
            for_beside: best(&others, beside, clients).map(|(_, setup)| setup),
            is_beaten_beside,
            unseen: all.iter().map(|(_, setup)| *setup).filter(|of| is_unseen(of)).collect(),
            unended: trade.unended(result).collect(),
            open: for_clients.map_or_else(Vec::new, open),
            result,
        })
    }

    fn in_words(&self) -> Vec<String> {
        let (broke, kept) = match self.has_deadline {
            true => (
                "No setup kept its bar, what clients asked for and the deadline",
                ", its bar and the deadline kept",
            ),
            false => {
                ("No setup kept what it promised clients in every second", ", its promise kept")
            }
        };
        let Some((_, chosen)) = self.for_clients else {
            return vec![match self.unseen.is_empty() {
                true => format!("{broke}, so none is recommended."),
                false => self.too_little(),
            }];
        };
        let whose = match self.all_broke {
            true => format!("{broke}; of those that promise nothing, for clients take"),
            false => "For clients take".to_owned(),
        };
        let alone = beside_alone(self.result, self.clients);
        let kept = match (is_met(chosen), self.is_promised) {
            (Some(true), _) => kept,
            (_, true) => ", though it promises them nothing",
            _ => "",
        };
        let figure = told(self.clients, &chosen.figures).unwrap_or_default();
        let interval = repeats::interval(self.clients, chosen);
        let interval = interval.map_or_else(String::new, |found| {
            format!(" ± {}", print(self.clients, found.half_width))
        });
        let over = self.trade.over;
        let tells = self.trade.comes_of(self.result, chosen).unwrap_or_default();
        let costs = self.costs(chosen) + &self.never();
        let first = format!(
            "{whose} {}: {figure}{interval}{over}{alone}{kept}; {tells}{costs}.",
            quoted(chosen.name())
        );
        [Some(first), self.second()].into_iter().flatten().collect()
    }

    /// Why nobody is recommended where too little was seen.
    fn too_little(&self) -> String {
        let unseen = listed(&names(self.unseen.iter().copied()));
        let others =
            if self.all_broke { ", and the others did not keep what is asked" } else { "" };
        format!(
            "Undecided, so none is recommended: fewer than {OPS_MIN} operations were seen alone or beside a service under {unseen}{others}; \
             raise the scale."
        )
    }

    /// Under whom it did not end.
    fn never(&self) -> String {
        if self.unended.is_empty() {
            return String::new();
        }
        let under = listed(&names(self.unended.iter().copied()));
        format!("; it does not end in the run's time under {under}")
    }

    /// What clients' good costs: beside the setup that comes next.
    fn costs(&self, chosen: &SetupResult) -> String {
        let Some(next) = self.next else {
            if !self.unended.is_empty() && !self.is_beaten_beside {
                return String::new();
            }
            let among = match (self.is_beaten_beside, self.is_promised) {
                (false, _) => "",
                (true, true) => " among those that kept what is asked",
                (true, false) => " among those that promise nothing",
            };
            let (better, to) = (self.trade.better, self.trade.to);
            return format!(", and nobody is shown to {to} {better}{among}");
        };
        let more = self.trade.more_than(ratio(self.beside, chosen, next));
        let figure = self.clients;
        let clients = match ranking(figure, chosen, next) {
            Ranking::Better => {
                format!("whose {} is {}", figure.name, higher(ratio(figure, next, chosen)))
            }
            Ranking::Alike => {
                format!("whose {} is the same within {}", figure.name, percent(MARGIN))
            }
            Ranking::Open => format!("whose {} these repeats do not tell apart", figure.name),
        };
        format!(", {more} under {}, {clients}", quoted(next.name()))
    }

    /// How far chance may have chosen.
    fn unsure(&self) -> Vec<String> {
        let Some((_, chosen)) = self.for_clients else { return Vec::new() };
        let open = (!self.open.is_empty()).then(|| {
            format!(
                "By its repeats the {} of {} is not told apart from that of {}: the mean decided; add repeats.",
                self.clients.name,
                quoted(chosen.name()),
                listed(&names(self.open.iter().copied()))
            )
        });
        // A warning of the result says it of one run.
        let untested = (2..RUNS_TESTED).contains(&chosen.repeats.len()).then(|| {
            format!(
                "Whom to take is not tested: two runs of each setup, and chance may have chosen; add --repeat {RUNS_TESTED}."
            )
        });
        open.into_iter().chain(untested).collect()
    }

    /// Whom to take for what else is wanted, and what clients pay for it.
    fn second(&self) -> Option<String> {
        let (setup, (_, chosen)) = (self.for_beside?, self.for_clients?);
        let value = self.trade.beside_value(self.beside, setup.figure(self.beside.key)?);
        let clients = with_unit(self.clients, setup.figure(self.clients.key)?);
        let higher = higher(ratio(self.clients, setup, chosen));
        let keep = setup.figure("share_of_baseline");
        let keep = keep.map_or_else(String::new, |share| {
            format!("; clients keep {} of what they have alone", percent(share))
        });
        Some(format!(
            "{} take {}: {value}, with a {} of {clients}, {higher}{keep}.",
            self.trade.for_beside,
            quoted(setup.name()),
            self.clients.name
        ))
    }
}

/// What a setup has of a figure, as a multiple of what another one has.
fn ratio(figure: &Figure, of: &SetupResult, than: &SetupResult) -> f64 {
    let both = of.figure(figure.key).zip(than.figure(figure.key));
    both.map_or(1.0, |(of, than)| of / than)
}

/// By how much something is higher than something else, of which it is a multiple.
fn higher(ratio: f64) -> String {
    match ratio {
        TWICE.. => format!("{} as high", times(ratio)),
        1.0.. => format!("{} higher", percent(ratio - 1.0)),
        _ => format!("{} lower", percent(1.0 - ratio)),
    }
}

/// From here on nobody counts in percent: "1100 % longer" was read as eleven times as long.
const TWICE: f64 = 2.0;

fn with_unit(figure: &Figure, value: f64) -> String {
    match figure.print {
        Print::Plain => format!("{} {}", print(figure, value), figure.unit),
        _ => print(figure, value),
    }
}

/// The best in a figure; of those that are alike in it, the one that is best in the other.
fn best<'a>(of: &[PlacedSetup<'a>], first: &Figure, second: &Figure) -> Option<PlacedSetup<'a>> {
    let by = |figure: &Figure, of: &[PlacedSetup<'a>]| {
        let value = |(_, setup): &PlacedSetup<'a>| goodness(figure, setup).unwrap_or(0.0);
        // Of equals the first in the study's order.
        of.iter().rev().max_by(|a, b| value(a).total_cmp(&value(b))).copied()
    };
    let (at, top) = by(first, of)?;
    let is_alike = |(place, other): &&PlacedSetup<'_>| {
        *place == at || ranking(first, top, other) == Ranking::Alike
    };
    let alike: Vec<PlacedSetup<'_>> = of.iter().filter(is_alike).copied().collect();
    by(second, &alike)
}

/// A figure as something of which more is better.
pub(crate) fn goodness(figure: &Figure, setup: &SetupResult) -> Option<f64> {
    let value = setup.figure(figure.key)?;
    Some(match figure.better {
        Better::Down => 1.0 / value.max(f64::MIN_POSITIVE),
        Better::Up | Better::Neither => value,
    })
}

/// How a setup stands to another in a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ranking {
    /// It is shown to be better.
    Better,
    /// They differ by no more than [`MARGIN`] of the first: the whole interval of the difference lies within it. Of one run each the difference does.
    Alike,
    /// Neither is shown.
    Open,
}

fn ranking(figure: &Figure, of: &SetupResult, other: &SetupResult) -> Ranking {
    if is_better(figure, of, other) {
        return Ranking::Better;
    }
    let own = of.in_repeats(figure);
    let is_alike = match compare(&own, &other.in_repeats(figure)) {
        Some(found) => {
            let reach = MARGIN * mean(&own).unwrap_or(0.0).abs();
            found.difference.lies_within(reach)
        }
        None => !is_better(figure, other, of),
    };
    if is_alike { Ranking::Alike } else { Ranking::Open }
}

/// Whether a setup is shown to be better than another.
pub(crate) fn is_better(figure: &Figure, of: &SetupResult, than: &SetupResult) -> bool {
    match compare(&than.in_repeats(figure), &of.in_repeats(figure)) {
        Some(found) => match figure.better {
            Better::Down => found.verdict == CompareVerdict::Lower,
            Better::Up | Better::Neither => found.verdict == CompareVerdict::Higher,
        },
        None => match (goodness(figure, of), goodness(figure, than)) {
            (Some(of), Some(than)) => of > than * (1.0 + MARGIN),
            _ => false,
        },
    }
}

/// Whether what a study expects came, with the numbers: what did not in one sentence.
fn expectations(result: &StudyResult) -> Vec<Finding> {
    let text = |of: &Statement| of.text.trim_end_matches('.').to_owned();
    let of = |holds: bool| result.expected.iter().filter(move |of| of.holds == Some(holds));
    let broken: Vec<String> =
        of(false).map(|broken| format!("{} ({})", text(broken), broken.detail)).collect();
    let broken = (!broken.is_empty())
        .then(|| FindingKind::Fails.of(format!("No, this is not so: {}.", broken.join("; "))));
    let kept = of(true).map(|kept| {
        let numbers = kept.detail.split("; stated").next().unwrap_or_default();
        FindingKind::Holds.of(format!("Yes: {} ({numbers}).", text(kept)))
    });
    broken.into_iter().chain(kept).collect()
}

/// What others published and does not hold here, in one sentence.
fn not_here(result: &StudyResult) -> Option<String> {
    let unheld = || result.statements.iter().filter(|statement| statement.holds == Some(false));
    let plain = unheld().filter(|statement| statement.regime.is_empty());
    let plain: Vec<&str> = plain.map(|of| of.text.trim_end_matches('.')).collect();
    let others = by_reason(unheld(), |statement| &statement.regime);
    let others =
        others.iter().map(|(regime, texts)| format!("in another regime ({regime}): {texts}"));
    let all: Vec<String> = (!plain.is_empty())
        .then(|| format!(": {}", plain.join("; ")))
        .into_iter()
        .chain(others.map(|text| format!(", {text}")))
        .collect();
    (!all.is_empty()).then(|| format!("Does not hold here{}.", all.join("; nor")))
}

/// What holds, though not of the same thing.
fn in_another_regime(result: &StudyResult) -> Vec<String> {
    let held = result.statements.iter().filter(|statement| statement.holds == Some(true));
    let told = |(regime, texts)| format!("Holds, but in another regime ({regime}): {texts}.");
    by_reason(held, |statement| &statement.regime).into_iter().map(told).collect()
}

/// What the figures do not decide, though there are some. What more repeats would is counted alone: its reasons stand with the statements.
fn undecided(result: &StudyResult) -> Vec<String> {
    let all = || result.statements.iter().chain(&result.expected);
    let told = |(why, texts)| format!("Undecided ({why}): {texts}.");
    let others = by_reason(all().filter(|of| !of.awaits_repeats()), |of| &of.undecided);
    let by_chance = match all().filter(|of| of.awaits_repeats()).count() {
        0 => None,
        1 => Some("1 statement is undecided: add repeats.".to_owned()),
        count => Some(format!("{count} statements are undecided: add repeats.")),
    };
    by_chance.into_iter().chain(others.into_iter().map(told)).collect()
}

/// Statements by the reasons of something, each reason once, with all that it is the reason of; reasons of the same ones stand together.
fn by_reason<'a>(
    statements: impl Iterator<Item = &'a Statement>,
    reasons: fn(&'a Statement) -> &'a [String],
) -> Vec<(String, String)> {
    let mut by_one: Vec<(&str, Vec<&str>)> = Vec::new();
    for statement in statements {
        let text = statement.text.trim_end_matches('.');
        for reason in reasons(statement) {
            match by_one.iter_mut().find(|(other, _)| other == reason) {
                Some((_, texts)) => texts.push(text),
                None => by_one.push((reason, vec![text])),
            }
        }
    }
    let mut grouped: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for (reason, texts) in by_one {
        match grouped.iter_mut().find(|(_, others)| *others == texts) {
            Some((reasons, _)) => reasons.push(reason),
            None => grouped.push((vec![reason], texts)),
        }
    }
    grouped.into_iter().map(|(reasons, texts)| (reasons.join("; "), texts.join("; "))).collect()
}

/// How a setup fares whose options are those that a store has by itself, alone and beside the one with images in the log that does the same work; the
/// first of them, where several differ in their loads alone.
fn shipped(result: &StudyResult) -> Option<String> {
    let is_shipped = |setup: &&SetupResult| trait_of(setup, SHIPPED_DEFAULT) == Some("yes");
    let setup = result.setups.iter().find(is_shipped)?;
    let figures: Vec<String> =
        result.kind.chief().filter_map(|figure| told(figure, &setup.figures)).collect();
    let beside = beside_log(result, setup).unwrap_or_default();
    let name = quoted(setup.name());
    Some(format!("The shipped default is {name}: {}{beside}.", figures.join(", ")))
}

fn trait_of<'a>(setup: &'a SetupResult, name: &str) -> Option<&'a str> {
    let found = setup.setup.traits.iter().find(|of| of.name == name)?;
    Some(&found.value)
}

/// What clients get beside the first setup with images in the log, the same puts and the same log mode, and whether it is less.
fn beside_log(result: &StudyResult, setup: &SetupResult) -> Option<String> {
    let is_same = |other: &SetupResult, name| trait_of(other, name) == trait_of(setup, name);
    let log = result.setups.iter().find(|other| {
        let same = is_same(other, "puts") && is_same(other, "log mode");
        same && trait_of(other, "protection") == Some("log") && other.name() != setup.name()
    })?;
    let figures = ["client/puts_per_s", "client/clat_ms/mean"];
    let figures: Vec<&Figure> =
        figures.into_iter().filter_map(|key| result.kind.figure(key)).collect();
    let ratio = |figure: &&Figure| {
        let ratio = setup.figure(figure.key)? / log.figure(figure.key)?;
        ratio.is_finite().then(|| format!("{ratio:.2} × its {}", figure.name))
    };
    let ratios: Vec<String> = figures.iter().filter_map(ratio).collect();
    let lost = figures.iter().filter(|figure| is_better(figure, log, setup));
    let lost: Vec<String> = lost.map(|figure| figure.name.to_owned()).collect();
    let loses = match lost.is_empty() {
        true => String::new(),
        false => format!(", so it loses in {}", listed(&lost)),
    };
    let with = format!("; beside {} with the same puts and log mode", quoted(log.name()));
    (!ratios.is_empty()).then(|| format!("{with} {}{loses}", ratios.join(" and ")))
}

/// Who kept what clients and images were promised, and who did not, with how often.
fn promises(result: &StudyResult) -> Option<Finding> {
    let (mut kept, mut broken) = (Vec::new(), Vec::new());
    for setup in &result.setups {
        match setup.is_kept() {
            Some(true) => kept.push(quoted(setup.name())),
            Some(false) => {
                let worst = promises_of(setup).max_by_key(|promise| promise.seconds_short)?;
                let PromiseResult { seconds_short, seconds, .. } = worst;
                let name = quoted(setup.name());
                broken.push(format!("{name} ({seconds_short} of {seconds} s short)"));
            }
            None => {}
        }
    }
    let least = percent(KEPT_FROM);
    let by_chance =
        result.setups.iter().flat_map(promises_of).any(PromiseResult::allows_for_chance);
    let less = if by_chance { ", less what the arrivals of a second vary by," } else { "" };
    let what = match result.kind {
        StudyKind::Recovery | StudyKind::Services => {
            format!("In every second clients got at least {least} of what they were owed{less}")
        }
        StudyKind::Checkpoint | StudyKind::Limits => {
            format!("Every second showed at least {least} of what was promised")
        }
    };
    match (kept.is_empty(), broken.is_empty()) {
        (true, true) => None,
        (true, false) => {
            Some(FindingKind::Fails.of(format!("{what} under no setup: {}.", listed(&broken))))
        }
        (false, true) => Some(FindingKind::Holds.of(format!("{what} under {}.", listed(&kept)))),
        (false, false) => {
            let (kept, broken) = (listed(&kept), listed(&broken));
            Some(FindingKind::Fails.of(format!("{what} under {kept}, but not under {broken}.")))
        }
    }
}

/// What clients as a class and each image were promised.
fn promises_of(setup: &SetupResult) -> impl Iterator<Item = &PromiseResult> {
    let of_images = setup.images.iter().filter_map(|image| image.promise.as_ref());
    setup.promise.iter().chain(of_images)
}

impl Trade {
    /// How a setup fares in the other figure: "recovery takes 9.60 s". `None` if it has nothing of it.
    fn comes_of(&self, result: &StudyResult, setup: &SetupResult) -> Option<String> {
        let (_, beside) = self.figures(result.kind)?;
        if let Some(value) = setup.figure(beside.key) {
            return Some(format!("{} {}", self.tells, self.beside_value(beside, value)));
        }
        let what = self.tells.trim_end_matches(" takes");
        self.is_unended(setup).then(|| format!("{what} does not end in the run's time"))
    }

    /// By how much the other figure is more than something that it is a multiple of.
    fn more_than(&self, ratio: f64) -> String {
        match ratio {
            TWICE.. => format!("{} as {} as", times(ratio), self.as_much),
            1.0.. => format!("{} {} than", percent(ratio - 1.0), self.more),
            _ => format!("{} {} than", percent(1.0 - ratio), self.less),
        }
    }

    /// The other figure's value in running text.
    fn beside_value(&self, figure: &Figure, value: f64) -> String {
        match (figure.print, self.beside_unit) {
            (Print::Seconds, _) => duration(value),
            (_, "") => with_unit(figure, value),
            (_, unit) => format!("{} {unit}", print(figure, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_study::{BesideResult, Configuration, Figures, Repeat, ServiceResult};

    /// Name, p99 in ms, seconds, and whether the promise was kept.
    type Row = (&'static str, f64, f64, Option<bool>);

    fn setup((name, p99, seconds, kept): Row) -> SetupResult {
        let figures = Figures::default().with([
            ("client/clat_ms/p99", p99),
            ("recovery/seconds", seconds),
            ("client/iops", 1.0),
            ("recovery/objects_per_s", 1.0),
        ]);
        let promise = kept.map(|kept| PromiseResult {
            share: 0.5,
            owed_iops: 100.0,
            kept_from_iops: 95.0,
            seconds: 40,
            seconds_short: if kept { 0 } else { 7 },
            ..PromiseResult::default()
        });
        let setup = Configuration { name: name.to_owned(), ..Configuration::default() };
        SetupResult { setup, figures, promise, ..SetupResult::default() }
    }

    fn alone() -> SetupResult {
        let figures = Figures::default().with([("client/clat_ms/p99", 3.8)]);
        let setup = Configuration { name: "baseline".to_owned(), ..Configuration::default() };
        SetupResult { setup, figures, ..SetupResult::default() }
    }

    fn check(rows: &[Row], wanted: &[&str]) {
        let setups = [alone()].into_iter().chain(rows.iter().copied().map(setup)).collect();
        let found = answer(&StudyResult { setups, ..StudyResult::default() });
        let plain = |text: &String| text.replace('\u{a0}', " ");
        let lead: Vec<String> = found.lead.iter().map(plain).collect();
        assert_eq!(lead, wanted);
    }

    /// The weighted queue was recommended for a good tail beside services that it had hardly begun.
    #[test]
    fn who_misses_a_deadline_is_not_recommended_however_good() {
        let with = |name, p99, seconds: Option<f64>| {
            let service =
                ServiceResult { service: "scrub".to_owned(), seconds, p99_ms: 1.0, ops: 9000 };
            let asked = Some(PromiseResult { share: 1.0, seconds: 40, ..PromiseResult::default() });
            let (bar_ms, deadline_s, services) = (2.0, 30.0, vec![service]);
            let beside = Some(BesideResult {
                alone_ops: 5000,
                bar_ms,
                deadline_s,
                services,
                asked,
                ..BesideResult::default()
            });
            SetupResult { beside, ..setup((name, p99, 10.0 * p99, None)) }
        };
        let late = with("late", 1.0, None);
        let says = |setups: &[SetupResult]| {
            let setups = [&[alone()], setups].concat();
            let result = StudyResult { setups, ..StudyResult::default() };
            answer(&result).lead.concat().replace('\u{a0}', " ")
        };
        let found = says(&[late.clone(), with("a", 2.0, Some(9.0))]);
        assert!(
            found.starts_with("For clients take “a”: p99 2.00 ms beside 3.80 ms alone, its bar and the deadline kept;"),
            "{found}"
        );
        let none = "No setup kept its bar, what clients asked for and the deadline, so none is recommended.";
        assert_eq!(says(&[late.clone(), with("later", 3.0, None)]), none);
        // Of next to no operations a good tail was recommended to nobody as one that was not kept.
        let few = |mut of: SetupResult| {
            of.beside.iter_mut().for_each(|beside| beside.alone_ops = 9);
            of
        };
        let [b, c] = [with("b", 1.0, Some(9.0)), with("c", 2.0, Some(8.0))].map(few);
        let found = says(&[b, c, late]);
        let unseen = "Undecided, so none is recommended: fewer than 1000 operations were seen alone or beside a service under “b” and “c”, and \
                      the others did not keep what is asked; raise the scale.";
        assert_eq!(found, unseen);
    }

    /// What a scrub beside clients showed: its end, or its rate alone where the run was over before.
    fn scrubbed(name: &'static str, p99: f64, seconds: Option<f64>) -> SetupResult {
        let mut of = setup((name, p99, 1.0, None));
        of.figures = Figures::default().with([
            ("client/clat_ms/p99", p99),
            ("scrub/objects_per_s", 9.0),
            ("services", 1.0),
        ]);
        seconds.into_iter().for_each(|seconds| of.figures.put("scrub/seconds", seconds));
        of
    }

    fn services(setups: &[SetupResult]) -> StudyResult {
        let setups = [&[alone()], setups].concat();
        StudyResult { kind: StudyKind::Services, setups, ..StudyResult::default() }
    }

    /// Nobody was recommended where one setup alone saw the end of the scrub, or where one alone was run, and a terminal said nothing at all.
    #[test]
    fn what_did_not_end_is_no_choice_and_one_setup_has_its_costs() {
        let says = |setups: &[SetupResult]| {
            let result = services(setups);
            let lead = answer(&result).lead;
            let (_, told) = answer_for_programs(&result);
            assert_eq!(told[..lead.len()], lead);
            let shown = answer_text(&result, usize::MAX);
            assert!(lead.iter().all(|text| shown.contains(text)), "{shown}");
            lead.join(" ").replace('\u{a0}', " ")
        };
        let [own, slow, other] = [("own", Some(12.0)), ("slow", None), ("other", None)]
            .map(|(name, seconds)| scrubbed(name, 5.66, seconds));
        let wanted = "For clients take “own”: p99 5.66 ms over the clients' whole time beside 3.80 ms alone; the scrub takes 12.0 s; it does \
                      not end in the run's time under “slow” and “other”.";
        assert_eq!(says(&[slow.clone(), own.clone(), other.clone()]), wanted);
        let no_choice = "Nobody is recommended, since there is no other to choose from: add setups by --setups.";
        let costs =
            "costs clients a p99 of 5.66 ms over the clients' whole time beside 3.80 ms alone;";
        let wanted = format!("“own” {costs} the scrub takes 12.0 s. {no_choice}");
        assert_eq!(says(std::slice::from_ref(&own)), wanted);
        let wanted =
            format!("“slow” {costs} the scrub does not end in the run's time. {no_choice}");
        assert_eq!(says(std::slice::from_ref(&slow)), wanted);
        let wanted = "The deep scrub does not end in the run's time under “slow” and “other”.";
        assert_eq!(says(&[slow, other]), wanted);
        assert!(says(&[]).starts_with("There is nothing to compare yet"));
    }

    /// "1100 % longer" is no figure that anybody pictures.
    #[test]
    fn twice_as_much_and_more_is_told_in_times() {
        check(
            &[("a", 5.0, 120.0, None), ("b", 60.0, 10.0, None)],
            &[
                "For clients take “a”: p99 5.00 ms beside 3.80 ms alone; recovery takes 2 min 0 s, 12 times as long as under “b”, whose p99 is \
                 12 times as high.",
                "For a short recovery take “b”: 10.0 s, with a p99 of 60.0 ms, 12 times as high.",
            ],
        );
    }

    /// What clients are left stands beside the short recovery that takes it from them.
    #[test]
    fn a_short_recovery_is_told_with_what_clients_keep() {
        let mut all = [alone(), setup(("a", 5.0, 90.0, None)), setup(("b", 149.0, 60.0, None))];
        all[2].figures.put("share_of_baseline", 0.053);
        let found = answer(&StudyResult { setups: all.into(), ..StudyResult::default() });
        assert!(
            found.lead[1]
                .ends_with("149 ms, 30 times as high; clients keep 5.3 % of what they have alone."),
            "{:?}",
            found.lead
        );
    }

    /// What each setup is stands where the answer first names it, and what it does not name is told below it in a terminal.
    #[test]
    fn setups_are_explained_where_they_first_stand() {
        let mut all =
            [alone(), setup(("take both", 5.0, 90.0, None)), setup(("b", 9.0, 60.0, None))];
        all[0].setup.about = "clients alone".to_owned();
        all[1].setup.about = "a queue and a limit".to_owned();
        let shown = answer_text(&StudyResult { setups: all.into(), ..StudyResult::default() }, 999);
        assert!(
            shown.starts_with("For clients take “take both” (a queue and a limit): p99"),
            "{shown}"
        );
        assert!(shown.ends_with("\n\n“baseline”: clients alone.\n"), "{shown}");
    }

    #[test]
    fn who_breaks_a_promise_is_not_recommended_however_good() {
        check(
            &[
                ("a", 5.0, 90.0, Some(true)),
                ("b", 6.0, 60.0, Some(true)),
                ("c", 30.0, 24.0, Some(true)),
                ("broken", 4.0, 20.0, Some(false)),
                ("nothing promised", 6.0, 20.0, None),
            ],
            &[
                "For clients take “a”: p99 5.00 ms beside 3.80 ms alone, its promise kept; recovery takes 1 min 30 s, \
                 50 % longer than under “b”, whose p99 is 20 % higher.",
                "For a short recovery take “c”: 24.0 s, with a p99 of 30.0 ms, 6.0 times as high.",
            ],
        );
        check(
            &[("a", 5.0, 90.0, Some(true)), ("nothing promised", 4.0, 100.0, None)],
            &[
                "For clients take “nothing promised”: p99 4.00 ms beside 3.80 ms alone, though it promises them nothing; \
                 recovery takes 1 min 40 s, 11 % longer than under “a”, whose p99 is 25 % higher.",
                "For a short recovery take “a”: 1 min 30 s, with a p99 of 5.00 ms, 25 % higher.",
            ],
        );
        check(
            &[("a", 5.0, 90.0, Some(false)), ("b", 6.0, 60.0, Some(false))],
            &["No setup kept what it promised clients in every second, so none is recommended."],
        );
        check(
            &[("a", 5.0, 90.0, Some(false)), ("b", 6.0, 60.0, None)],
            &["No setup kept what it promised clients in every second, so none is recommended."],
        );
        check(
            &[("a", 5.0, 90.0, Some(false)), ("b", 6.0, 60.0, None), ("c", 9.0, 70.0, None)],
            &[
                "No setup kept what it promised clients in every second; of those that promise nothing, for clients take “b”: \
                 p99 6.00 ms beside 3.80 ms alone; recovery takes 1 min 0 s, and nobody is shown to recover sooner.",
            ],
        );
    }

    /// It was said that nobody recovers sooner, above the one that did and broke its promise.
    #[test]
    fn who_is_out_of_the_question_is_still_sooner() {
        let begins = "p99 6.00 ms beside 3.80 ms alone";
        let says = |kept: Option<bool>, end: &str| {
            let broken = [("a", 5.0, 40.0, Some(false)), ("c", 9.0, 70.0, kept)];
            let all = [&[("b", 6.0, 60.0, kept)], &broken[..]].concat();
            check(&all, &[end]);
        };
        says(
            Some(true),
            &format!(
                "For clients take “b”: {begins}, its promise kept; recovery takes 1 min 0 s, and nobody is shown to recover sooner among \
                 those that kept what is asked."
            ),
        );
        says(
            None,
            &format!(
                "No setup kept what it promised clients in every second; of those that promise nothing, for clients take “b”: \
                 {begins}; recovery takes 1 min 0 s, and nobody is shown to recover sooner among those that promise nothing."
            ),
        );
    }

    /// Each ran once: 4 % are no difference, and the shorter recovery decides.
    #[test]
    fn setups_that_do_not_differ_are_told_apart_by_the_other_figure() {
        check(
            &[("a", 5.0, 90.0, None), ("b", 5.2, 60.0, None)],
            &[
                "For clients take “b”: p99 5.20 ms beside 3.80 ms alone; recovery takes 1 min 0 s, and nobody is shown to recover sooner.",
            ],
        );
    }

    #[test]
    fn repeats_decide_what_is_different() {
        let repeated = |row: Row, p99s: [f64; 3]| {
            let mut of = setup(row);
            let repeat = |p99| Repeat {
                seed: 1,
                figures: of.figures.clone().with([("client/clat_ms/p99", p99)]),
            };
            of.repeats = p99s.map(repeat).into();
            of
        };
        let sure = |name, p99, seconds| repeated((name, p99, seconds, None), [p99; 3]);
        let unsure = |name, seconds| repeated((name, 6.0, seconds, None), [4.0, 6.0, 8.0]);
        let chosen = |setups: Vec<SetupResult>| {
            let result = StudyResult { setups, ..StudyResult::default() };
            let place = answer(&result).chosen.expect("somebody is recommended");
            result.setups[place].name().to_owned()
        };
        assert_eq!(chosen(vec![alone(), sure("a", 5.0, 90.0), sure("b", 5.1, 60.0)]), "a");
        // What is not shown is not shown to be equal: 6.0 ± 5.0 was as good as 5.0, and the other figure chose.
        assert_eq!(chosen(vec![alone(), sure("a", 5.0, 90.0), unsure("b", 60.0)]), "a");
        assert_eq!(chosen(vec![alone(), unsure("a", 90.0), sure("b", 6.5, 60.0)]), "a");
        let near = repeated(("b", 5.01, 60.0, None), [5.00, 5.02, 5.01]);
        let own = repeated(("a", 5.0, 90.0, None), [5.01, 4.99, 5.00]);
        assert_eq!(chosen(vec![alone(), own, near]), "b");
    }

    /// With `--repeat 2`, p99s of 5.0 and 5.5 beside 8.0 and 9.0 ms were no different, so the worse by two thirds was recommended for its recovery.
    #[test]
    fn what_repeats_do_not_tell_apart_is_said() {
        let repeated = |row: Row, p99s: &[f64]| {
            let mut of = setup(row);
            let repeat = |p99: &f64| Repeat {
                seed: 1,
                figures: of.figures.clone().with([("client/clat_ms/p99", *p99)]),
            };
            of.repeats = p99s.iter().map(repeat).collect();
            of
        };
        let says = |setups: [SetupResult; 2]| {
            let setups = [alone()].into_iter().chain(setups).collect();
            let StudyAnswer { lead, findings, .. } =
                answer(&StudyResult { setups, ..StudyResult::default() });
            (lead.concat().replace('\u{a0}', " "), texts(findings))
        };
        let (a, c) = (("a", 5.25, 90.0, None), ("c", 8.5, 60.0, None));
        let (advice, findings) = says([repeated(a, &[5.0, 5.5]), repeated(c, &[8.0, 9.0])]);
        assert_eq!(
            advice,
            "For clients take “a”: p99 5.25 ms ± 3.18 beside 3.80 ms alone; recovery takes 1 min 30 s, 50 % longer than under “c”, \
             whose p99 these repeats do not tell apart.For a short recovery take “c”: 1 min 0 s, with a p99 of 8.50 ms, 62 % higher."
        );
        let open = "By its repeats the p99 of “a” is not told apart from that of “c”: the mean decided; add repeats.";
        let untested = "Whom to take is not tested: two runs of each setup, and chance may have chosen; add --repeat 3.";
        assert_eq!(findings, [open, untested]);
        let (_, findings) = says([repeated(a, &[5.2, 5.3, 5.25]), repeated(c, &[8.4, 8.6, 8.5])]);
        assert_eq!(findings, Vec::<String>::new());
        // Of one run a warning of the result says it.
        let (_, findings) = says([repeated(a, &[5.25]), repeated(c, &[8.5])]);
        assert_eq!(findings, Vec::<String>::new());
    }

    /// 937 of 1,000 IOPS are kept for an open loop, and are no 95 %.
    #[test]
    fn what_arrivals_vary_by_is_said_where_it_counts() {
        let mut kept = setup(("a", 5.0, 90.0, Some(true)));
        let promise = kept.promise.as_mut().unwrap();
        (promise.kept_from_iops, promise.worst_iops) = (66.5, 70.0);
        let result = StudyResult { setups: vec![kept], ..StudyResult::default() };
        assert_eq!(
            promises(&result).unwrap().text,
            "In every second clients got at least 95 % of what they were owed, less what the arrivals of a second vary by, under “a”."
        );
    }

    /// What was wrong with one setup stood again for each that it was compared with.
    #[test]
    fn what_was_expected_promised_and_published_is_answered() {
        let of = |text: &str, holds, detail: &str| Statement {
            text: text.to_owned(),
            holds,
            detail: detail.to_owned(),
            ..Statement::default()
        };
        let all = |of: &[&str]| of.iter().map(|text| (*text).to_owned()).collect();
        let regime = |of, regime: &[&str]| Statement { regime: all(regime), ..of };
        let unsure = |text, why: &[&str]| Statement { undecided: all(why), ..of(text, None, "") };
        let rows = [("a", 5.0, 90.0, Some(true)), ("b", 6.0, 60.0, Some(false))];
        let result = StudyResult {
            setups: rows.map(setup).into(),
            expected: vec![
                of("It is so.", Some(true), "a 0.1; stated: at most 1"),
                of("It is not.", Some(false), "a 2; stated: at most 1"),
                of("Nor this.", Some(false), "a 3; stated: at most 1"),
                of("Who knows.", None, "needs the setup c"),
            ],
            statements: vec![
                of("They said.", Some(false), ""),
                of("Too.", Some(true), ""),
                regime(of("Fast.", Some(false), ""), &["a 9 %"]),
                regime(of("Faster", Some(false), ""), &["a 9 %"]),
                regime(of("Slow", Some(true), ""), &["a 9 %", "b 8 %"]),
                unsure("Close.", &["one run each: add --repeat 3"]),
                unsure("Closer.", &["a is 0.5 to 2 × b: add repeats"]),
                unsure("A as B", &["a: 500 of 1000 puts/s", "b: full", "b: 1 checkpoint"]),
                unsure("A as C", &["a: 500 of 1000 puts/s"]),
            ],
            ..StudyResult::default()
        };
        let wanted = [
            "No, this is not so: It is not (a 2; stated: at most 1); Nor this (a 3; stated: at most 1).",
            "Does not hold here: They said; nor, in another regime (a 9 %): Fast; Faster.",
            "In every second clients got at least 95 % of what they were owed under “a”, but not under “b” (7 of 40 s short).",
            "Holds, but in another regime (a 9 %; b 8 %): Slow.",
            "2 statements are undecided: add repeats.",
            "Undecided (a: 500 of 1000 puts/s): A as B; A as C.",
            "Undecided (b: full; b: 1 checkpoint): A as B.",
            "Yes: It is so (a 0.1).",
        ];
        let found = answer(&result).findings;
        assert_eq!(found.iter().filter(|of| of.kind == FindingKind::Fails).count(), 3);
        assert_eq!(texts(found), wanted);
    }

    fn texts(findings: Vec<Finding>) -> Vec<String> {
        findings.into_iter().map(|finding| finding.text.replace('\u{a0}', " ")).collect()
    }

    /// What somebody gets who sets nothing is told, wherever in the table it stands, and that it is less than images in the log would give.
    #[test]
    fn the_shipped_default_has_its_headline() {
        let of = |name: &str, puts: f64, [default, protection, log_mode]: [&str; 3]| {
            let figures = Figures::default().with([("client/puts_per_s", puts)]);
            let traits = vec![
                (SHIPPED_DEFAULT, default).into(),
                ("protection", protection).into(),
                ("log mode", log_mode).into(),
            ];
            let setup = Configuration { name: name.to_owned(), traits, ..Configuration::default() };
            SetupResult { setup, figures, ..SetupResult::default() }
        };
        let check = |puts: f64, wanted: &str| {
            let setups = vec![
                of("log fsync", 9000.0, ["no", "log", "fsync"]),
                of("log", 4000.0, ["no", "log", "log-only"]),
                of("paced", puts, ["yes", "checkpoint", "log-only"]),
            ];
            let kind = StudyKind::Checkpoint;
            let found = answer(&StudyResult { kind, setups, ..StudyResult::default() });
            assert_eq!(texts(found.findings), [wanted]);
        };
        let beside = "beside “log” with the same puts and log mode";
        check(
            3000.0,
            &format!(
                "The shipped default is “paced”: puts 3,000 1/s; {beside} 0.75 × its puts, so it loses in puts."
            ),
        );
        check(
            5000.0,
            &format!("The shipped default is “paced”: puts 5,000 1/s; {beside} 1.25 × its puts."),
        );
    }
}
