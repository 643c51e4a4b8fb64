//! Published figures (`published/*.toml`): what somebody else measured, with their words beside it.

use crate::claim::Claim;
use crate::figure::{Figure, PublishedCurve, PublishedFigure, PublishedFigures};
use crate::input::{InputError, Source, unknown};
use crate::kind::StudyKind;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;
use toml::Spanned;

/// One published study on one kind of device.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedSet {
    /// The study of ours that repeats it, e.g. `recovery-nvme`.
    pub study: String,
    /// Where the figures stand.
    pub source: String,
    /// What they were measured on, in a sentence.
    pub measured_on: String,
    /// Figures by setup, in the source's order.
    pub setups: Vec<(String, PublishedFigures)>,
    /// Courses over time, by setup.
    pub curves: Vec<(String, PublishedCurve)>,
    /// What the source says in words.
    pub claims: Vec<Claim>,
    /// What a reader must know of some of it.
    notes: Vec<PublishedNote>,
    /// How far equal runs of the source lie apart, as a share, where that can be told.
    pub repeats_differ: Option<f64>,
}

/// Under which other conditions published figures of some setups stand.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedNote {
    /// A sentence, ending in advice.
    text: String,
    /// The setups.
    of: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedFile {
    source: String,
    repeats_differ: Option<f64>,
    study: Vec<StudySection>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StudySection {
    name: Spanned<String>,
    measured_on: String,
    setup: Vec<Spanned<PublishedNode>>,
    #[serde(default)]
    curve: Vec<Spanned<CurveSection>>,
    #[serde(default)]
    claim: Vec<Spanned<Claim>>,
    #[serde(default)]
    note: Vec<Spanned<PublishedNote>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CurveSection {
    setup: String,
    column: String,
    mark: String,
    points: Vec<(f64, f64)>,
}

/// A value of a setup's section, whose keys are those of figures, a table for each group.
#[derive(Clone, Debug)]
enum PublishedNode {
    Text(String),
    Number(f64),
    Group(Vec<(Spanned<String>, PublishedNode)>),
}

impl<'de> Deserialize<'de> for PublishedNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PublishedNode, D::Error> {
        deserializer.deserialize_any(PublishedNodeVisitor)
    }
}

struct PublishedNodeVisitor;

impl<'de> Visitor<'de> for PublishedNodeVisitor {
    type Value = PublishedNode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NUMBER)
    }

    fn visit_str<E>(self, text: &str) -> Result<PublishedNode, E> {
        Ok(PublishedNode::Text(text.to_owned()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<PublishedNode, E> {
        Ok(PublishedNode::Number(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<PublishedNode, E> {
        Ok(PublishedNode::Number(value as f64))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PublishedNode, A::Error> {
        let mut group = Vec::new();
        while let Some(entry) = map.next_entry()? {
            group.push(entry);
        }
        Ok(PublishedNode::Group(group))
    }
}

const NUMBER: &str = "a number such as `11209`, or `{ value = 18000, mark = \"just over\" }`";

impl PublishedSet {
    /// The figures of every study in a file that is about studies of this kind.
    ///
    /// # Errors
    /// [`InputError`] naming file and line.
    pub fn read(source: &Source, kind: StudyKind) -> Result<Vec<PublishedSet>, InputError> {
        let file: PublishedFile =
            toml::from_str(&source.text).map_err(|error| source.toml_error(&error))?;
        let mut sets: Vec<PublishedSet> = Vec::new();
        for section in file.study {
            let at = section.name.span().start;
            let whose = (file.source.as_str(), file.repeats_differ);
            let set = read_section(section, whose, kind)
                .map_err(|(at, reason)| source.error_at(at, reason))?;
            if sets.iter().any(|other| other.study == set.study) {
                return Err(source.error_at(at, format!("study `{}` stands here twice", set.study)));
            }
            sets.push(set);
        }
        Ok(sets)
    }

    /// The figures for the setup with this name.
    pub fn setup(&self, name: &str) -> Option<PublishedFigures> {
        let (_, figures) = self.setups.iter().find(|(setup, _)| setup == name)?;
        Some(figures.clone())
    }

    /// The courses of the setup with this name.
    pub fn curves_of(&self, name: &str) -> Vec<PublishedCurve> {
        let of = self.curves.iter().filter(|(setup, _)| setup == name);
        of.map(|(_, curve)| curve.clone()).collect()
    }

    /// What must be known where some of these setups were run.
    pub(crate) fn notes_about(&self, setups: &[&str]) -> impl Iterator<Item = &str> {
        let is_about =
            move |note: &&PublishedNote| note.of.iter().any(|of| setups.contains(&of.as_str()));
        self.notes.iter().filter(is_about).map(|note| note.text.as_str())
    }
}

/// What is wrong, and where in the text.
type WrongAt = (usize, String);

fn read_section(
    section: StudySection,
    (source, repeats_differ): (&str, Option<f64>),
    kind: StudyKind,
) -> Result<PublishedSet, WrongAt> {
    let mut setups: Vec<(String, PublishedFigures)> = Vec::new();
    for setup in section.setup {
        let at = setup.span().start;
        let (name, figures) = read_setup(at, setup.into_inner(), kind)?;
        if setups.iter().any(|(other, _)| *other == name) {
            return Err((at, format!("setup `{name}` stands twice in one study")));
        }
        setups.push((name, figures));
    }
    let mut curves = Vec::new();
    for curve in section.curve {
        let (at, curve) = (curve.span().start, curve.into_inner());
        let CurveSection { setup, column, mark, points } = curve;
        known(&setups, &setup).map_err(|problem| (at, problem))?;
        if !points.is_sorted_by(|a, b| a.0 <= b.0) {
            return Err((
                at,
                "the points of a curve stand in the order of their seconds".to_owned(),
            ));
        }
        curves.push((setup, PublishedCurve { column, mark, points }));
    }
    let mut notes = Vec::new();
    for note in section.note {
        let (at, note) = (note.span().start, note.into_inner());
        let all_known = note.of.iter().try_for_each(|setup| known(&setups, setup));
        all_known.map_err(|problem| (at, problem))?;
        notes.push(note);
    }
    let mut claims = Vec::new();
    for claim in section.claim {
        let (at, claim) = (claim.span().start, claim.into_inner());
        claim.check(kind).map_err(|problem| (at, problem))?;
        claims.push(claim);
    }
    Ok(PublishedSet {
        study: section.name.into_inner(),
        source: source.to_owned(),
        measured_on: section.measured_on,
        setups,
        curves,
        claims,
        notes,
        repeats_differ,
    })
}

/// Refuses a name that no setup has.
fn known(setups: &[(String, PublishedFigures)], setup: &str) -> Result<(), String> {
    match setups.iter().any(|(other, _)| other == setup) {
        true => Ok(()),
        false => Err(unknown("setup", setup, setups.iter().map(|(setup, _)| setup.as_str()))),
    }
}

fn read_setup(
    at: usize,
    setup: PublishedNode,
    kind: StudyKind,
) -> Result<(String, PublishedFigures), WrongAt> {
    let PublishedNode::Group(entries) = setup else {
        return Err((at, "a setup is a table with its name and figures".to_owned()));
    };
    let (mut name, mut figures) = (None, BTreeMap::new());
    for (key, node) in entries {
        match node {
            PublishedNode::Text(text) if key.get_ref() == "name" => name = Some(text),
            node => collect(kind.figures(), key.get_ref(), (key.span().start, node), &mut figures)?,
        }
    }
    let name = name.ok_or_else(|| (at, "a setup has a `name`".to_owned()))?;
    Ok((name, PublishedFigures(figures)))
}

/// Puts the figures under a key into `found`, each under its full key.
fn collect(
    known: &[Figure],
    key: &str,
    (at, node): (usize, PublishedNode),
    found: &mut BTreeMap<String, PublishedFigure>,
) -> Result<(), WrongAt> {
    let figure = match node {
        PublishedNode::Group(entries)
            if !entries.iter().any(|(key, _)| key.get_ref() == "value") =>
        {
            return entries.into_iter().try_for_each(|(inner, node)| {
                let whole = format!("{key}/{}", inner.get_ref());
                collect(known, &whole, (inner.span().start, node), found)
            });
        }
        PublishedNode::Number(value) => PublishedFigure { value, mark: None },
        PublishedNode::Group(entries) => {
            marked(entries).ok_or_else(|| (at, format!("expected {NUMBER}")))?
        }
        PublishedNode::Text(_) => return Err((at, format!("expected {NUMBER}"))),
    };
    if !known.iter().any(|figure| figure.key == key) {
        return Err((at, unknown("figure", key, known.iter().map(|figure| figure.key))));
    }
    let PublishedFigure { value, .. } = figure;
    if !(value > 0.0 && value.is_finite()) {
        return Err((at, format!("{key}: {value} is not a positive, finite number")));
    }
    found.insert(key.to_owned(), figure);
    Ok(())
}

fn marked(entries: Vec<(Spanned<String>, PublishedNode)>) -> Option<PublishedFigure> {
    let (mut value, mut mark) = (None, None);
    for (key, node) in entries {
        match (key.get_ref().as_str(), node) {
            ("value", PublishedNode::Number(number)) => value = Some(number),
            ("mark", PublishedNode::Text(text)) => mark = Some(text),
            _ => return None,
        }
    }
    Some(PublishedFigure { value: value?, mark })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figures;
    use crate::library::Library;
    use crate::place::Place;
    use crate::result::{Configuration, SetupResult};
    use crate::shelf::Shelf;

    fn read(text: &str) -> Result<Vec<PublishedSet>, InputError> {
        let file = "p.toml".to_owned();
        let source = Source { name: "p".to_owned(), file, text: text.to_owned() };
        PublishedSet::read(&source, StudyKind::Recovery)
    }

    const HEAD: &str = "source = 's'\n[[study]]\nname = 'a'\nmeasured_on = 'm'\n";

    /// The condition of transactional puts stood in every claim about them.
    #[test]
    fn a_condition_is_noted_once_where_its_setups_were_run() {
        let source = Library::built_in().find(Shelf::Published, "checkpoint").unwrap();
        let sets = PublishedSet::read(&source, StudyKind::Checkpoint).unwrap();
        let check = |set: &PublishedSet, setups: &[&str], wanted: usize| {
            let found: Vec<&str> = set.notes_about(setups).collect();
            assert_eq!(found.len(), wanted, "{}: {found:?}", set.study);
            let is_told = |text: &str| text.contains("states are keys in the tree");
            assert!(found.iter().all(|note| is_told(note)), "{found:?}");
            assert!(!set.claims.iter().any(|claim| is_told(&claim.text)), "{}", set.study);
        };
        let transactional = ["log", "log tx", "checkpoint tx"];
        check(&sets[0], &transactional, 1);
        check(&sets[0], &["log", "checkpoint"], 0);
        check(&sets[1], &transactional, 1);
        check(&sets[2], &["log exponential"], 0);
    }

    #[test]
    fn wrong_files_are_refused_with_their_line() {
        let refused = |rest: &str, wanted: &str| {
            let error = read(&format!("{HEAD}{rest}")).unwrap_err().to_string();
            assert!(error.contains(wanted), "`{error}` should contain `{wanted}`");
        };
        refused("[[study.setup]]\nname='x'\nclient.iops = 'fast'\n", "p.toml:7: expected a number");
        refused("[[study.setup]]\nname='x'\nclient.iosp = 5\n", "p.toml:7: there is no figure");
        refused("[[study.setup]]\nname='x'\nclient.iosp = 5\n", "did you mean `client/iops`?");
        refused(
            "[[study.setup]]\nname='x'\nclient.iops = { value = 5, marc = 'y' }\n",
            "p.toml:7: expected a number such as",
        );
        refused("[[study.setup]]\nname='x'\nclient.iops = -5\n", "p.toml:7: client/iops: -5");
        refused(
            "[[study.setup]]\nname='x'\n[[study.note]]\ntext='t'\nof=['y']\n",
            "p.toml:7: there is no setup `y`",
        );
        refused(
            "[[study.setup]]\nname='x'\n[[study.setup]]\nname='x'\n",
            "p.toml:7: setup `x` stands twice",
        );
        refused(
            "[[study.setup]]\nname='x'\n[[study.claim]]\ntext=''\nfigure='client/iosp'\nof=['x']\nat_most=1\n",
            "p.toml:7: there is no figure `client/iosp`",
        );
        refused(
            "[[study.setup]]\nname='x'\n[[study.curve]]\nsetup='y'\ncolumn='c'\nmark='m'\npoints=[]\n",
            "p.toml:7: there is no setup `y`",
        );
        refused(
            "[[study.setup]]\nname='x'\n[[study.curve]]\nsetup='x'\ncolumn='c'\nmark='m'\npoints=[[2, 1], [1, 1]]\n",
            "p.toml:7: the points of a curve",
        );
        assert!(read("source = \n").unwrap_err().to_string().contains("p.toml:1: "));
    }

    fn recovery() -> Vec<PublishedSet> {
        let source = Library::built_in().find(Shelf::Published, "recovery").unwrap();
        PublishedSet::read(&source, StudyKind::Recovery).unwrap()
    }

    #[test]
    fn the_published_recovery_study_reads() {
        let sets = recovery();
        let names: Vec<_> = sets.iter().map(|set| set.study.as_str()).collect();
        assert_eq!(names, ["recovery-nvme", "recovery-hdd-wal", "recovery-hdd"]);
        let slow = sets[0].setup("WPQ(Def)").unwrap();
        let iops = slow.get("client/iops").unwrap();
        assert_eq!((iops.value, iops.mark.as_deref()), (18_007.313, None));
        assert_eq!(slow.get("client/clat_ms/mean").unwrap().value, 3.535);
        assert_eq!(slow.get("client/clat_ms/p99.5").unwrap().value, 12.517);
        let curves = sets[0].curves_of("high_client_ops");
        let columns: Vec<_> = curves.iter().map(|curve| curve.column.as_str()).collect();
        assert_eq!(columns, ["clat_mean_ms", "objects_left"]);
        assert_eq!(sets[0].repeats_differ, Some(0.015));
        let time = sets[1].setup("balanced").unwrap();
        assert_eq!(time.get("recovery/seconds").unwrap().value, 955.967);
        assert!(sets[2].setup("WPQ(Def)").is_none());
    }

    /// Little's law: 64 operations are in flight, so IOPS times mean latency is 64 in every
    /// published row; the means of three runs differ from the law by up to 1.5 %.
    #[test]
    fn published_rates_and_latencies_fit_the_depth() {
        for (setup, figures) in recovery().iter().flat_map(|set| &set.setups) {
            let (iops, mean) = (figures.get("client/iops"), figures.get("client/clat_ms/mean"));
            if let (Some(iops), Some(mean)) = (iops, mean) {
                let depth = iops.value * mean.value / 1e3;
                assert!((depth / 64.0 - 1.0).abs() < 0.016, "{setup}: depth {depth}");
            }
        }
    }

    /// Every published study with its kind.
    fn all() -> Vec<(StudyKind, PublishedSet)> {
        let read = |(name, kind)| {
            let source = Library::built_in().find(Shelf::Published, name).unwrap();
            let sets = PublishedSet::read(&source, kind).unwrap();
            sets.into_iter().map(move |set| (kind, set))
        };
        let shelf = [
            ("recovery", StudyKind::Recovery),
            ("checkpoint", StudyKind::Checkpoint),
            ("services", StudyKind::Services),
        ];
        shelf.into_iter().flat_map(read).collect()
    }

    /// What a study would say that showed the published figures.
    fn as_published(set: &PublishedSet) -> Vec<SetupResult> {
        let of = |(name, published): &(String, PublishedFigures)| {
            let setup = Configuration { name: name.clone(), ..Configuration::default() };
            let mut figures = Figures::default();
            published.0.iter().for_each(|(key, figure)| figures.put(key, figure.value));
            SetupResult { setup, figures, ..SetupResult::default() }
        };
        set.setups.iter().map(of).collect()
    }

    /// The claims that these figures refute, but for those whose own printed figure does so.
    fn refuted(kind: StudyKind, set: &PublishedSet, setups: &[SetupResult]) -> Vec<String> {
        let told =
            set.claims.iter().filter(|claim| claim.published.is_none_or(|of| claim.allows(of)));
        let tested = told.filter_map(|claim| claim.test(kind, &Place::Sim, setups));
        tested.filter(|said| said.holds == Some(false)).map(|said| said.text).collect()
    }

    #[test]
    fn what_is_claimed_of_published_figures_is_so_of_them() {
        for (kind, set) in all() {
            assert_eq!(refuted(kind, &set, &as_published(&set)), [""; 0], "{}", set.study);
        }
    }

    /// "Most under WPQ(Def), then high_client_ops" was held where high_client_ops had more, "fastest, then, then" by three equal times,
    /// and "fastest and slowest" whatever stood between: each compared only some of the setups that its sentence puts in order.
    #[test]
    fn an_order_holds_for_no_other_one() {
        let orders: [(&str, &str, &[&str]); 6] = [
            (
                "scrub-nvme",
                "scrub/seconds",
                &["WPQ", "high_client_ops", "balanced", "high_recovery_ops"],
            ),
            (
                "recovery-nvme",
                "recovery/objects_per_s",
                &["WPQ(BST)", "high_recovery_ops", "balanced", "high_client_ops"],
            ),
            (
                "recovery-nvme",
                "client/clat_ms/first",
                &["high_client_ops", "balanced", "high_recovery_ops"],
            ),
            (
                "recovery-hdd-wal",
                "client/iops",
                &["WPQ(Def)", "high_client_ops", "balanced", "high_recovery_ops", "WPQ(BST)"],
            ),
            (
                "recovery-hdd-wal",
                "recovery/objects_per_s",
                &["high_recovery_ops", "balanced", "high_client_ops"],
            ),
            ("scrub-nvme", "scrub/seconds", &["scrub first", "WPQ"]),
        ];
        for (study, figure, order) in orders {
            let (kind, set) = all().into_iter().find(|(_, set)| set.study == study).unwrap();
            let published = |name: &str| set.setup(name).unwrap().get(figure).unwrap().value;
            for pair in order.windows(2) {
                let (a, b) = (published(pair[0]), published(pair[1]));
                for (what, values) in [("exchanged", [b, a]), ("equal", [a, a])] {
                    let mut setups = as_published(&set);
                    for (name, value) in pair.iter().zip(values) {
                        let setup = setups.iter_mut().find(|setup| setup.name() == *name).unwrap();
                        setup.figures.put(figure, value);
                    }
                    let found = refuted(kind, &set, &setups);
                    assert!(!found.is_empty(), "{study}, {figure}: {pair:?} {what}");
                }
            }
        }
    }

    /// One profile of three was compared, within bounds that the sentence does not tell.
    #[test]
    fn ten_slots_take_what_is_printed_under_every_profile() {
        let (kind, set) = all().into_iter().find(|(_, set)| set.study == "scrub-nvme").unwrap();
        for profile in ["high_client_ops", "balanced", "high_recovery_ops"] {
            let mut setups = as_published(&set);
            let five = set.setup(profile).unwrap().get("scrub/seconds").unwrap().value;
            let ten = format!("{profile}, 10 slots");
            let ten = setups.iter_mut().find(|setup| setup.name() == ten).unwrap();
            ten.figures.put("scrub/seconds", 0.56 * five);
            assert_eq!(refuted(kind, &set, &setups).len(), 1, "{profile}");
        }
    }
}
