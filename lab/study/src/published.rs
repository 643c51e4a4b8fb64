//! Published figures (`published/*.toml`): what somebody else measured, with their words beside it.

use crate::claim::Claim;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
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
    pub setups: Vec<PublishedSetup>,
    /// What the source says in words.
    pub claims: Vec<Claim>,
}

impl PublishedSet {
    /// The figures for the setup with this name.
    pub fn setup(&self, name: &str) -> Option<Published> {
        let setup = self.setups.iter().find(|setup| setup.name == name)?;
        Some(setup.figures.clone())
    }
}

/// The published figures of one setup.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedSetup {
    /// The setup's name, as in our study.
    pub name: String,
    /// Its figures.
    pub figures: Published,
}

/// Those figures of a setup that were published.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Published {
    /// What the clients saw.
    pub client: PublishedClient,
    /// What recovery reached.
    pub recovery: PublishedRecovery,
}

/// Published counterpart of [`ClientResult`](crate::ClientResult).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PublishedClient {
    /// Completed operations per second.
    pub iops: Option<Figure>,
    /// Completion latency in milliseconds.
    pub clat_ms: PublishedLatency,
}

/// Published counterpart of [`Latency`](crate::Latency), in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PublishedLatency {
    /// Mean.
    pub mean: Option<Figure>,
    /// 95th percentile.
    pub p95: Option<Figure>,
    /// 99th percentile.
    pub p99: Option<Figure>,
    /// 99.5th percentile.
    #[serde(rename = "p99.5")]
    pub p99_5: Option<Figure>,
}

/// Published counterpart of [`RecoveryResult`](crate::RecoveryResult).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PublishedRecovery {
    /// Objects per second.
    pub objects_per_s: Option<Figure>,
    /// MiB per second.
    pub mib_per_s: Option<Figure>,
    /// Recovery time in seconds.
    pub seconds: Option<Figure>,
    /// Objects to recover.
    pub objects: Option<Figure>,
}

/// A number somebody printed; in a file either `11209` or `{ value = 18000, mark = "just over" }`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The number to compare with.
    pub value: f64,
    /// The source's own words around it, where it was not printed as a plain number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
}

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Figure, D::Error> {
        deserializer.deserialize_any(FigureVisitor)
    }
}

struct FigureVisitor;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MarkedFigure {
    value: f64,
    mark: Option<String>,
}

impl<'de> Visitor<'de> for FigureVisitor {
    type Value = Figure;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number such as `11209`, or `{ value = 18000, mark = \"just over\" }`")
    }

    fn visit_f64<E>(self, value: f64) -> Result<Figure, E> {
        Ok(Figure { value, mark: None })
    }

    fn visit_i64<E>(self, value: i64) -> Result<Figure, E> {
        Ok(Figure { value: value as f64, mark: None })
    }

    fn visit_u64<E>(self, value: u64) -> Result<Figure, E> {
        Ok(Figure { value: value as f64, mark: None })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Figure, A::Error> {
        let marked = MarkedFigure::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Figure { value: marked.value, mark: marked.mark })
    }
}

/// A file of published figures was refused; names file and line.
#[derive(Debug, thiserror::Error)]
pub enum PublishedError {
    /// The file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason given by the system.
        source: std::io::Error,
    },
    /// A line is not what it must be.
    #[error("{}:{line}: {problem}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Counted from one.
        line: usize,
        /// What is wrong and what would be right.
        problem: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedFile {
    source: String,
    study: Vec<StudySection>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StudySection {
    name: Spanned<String>,
    measured_on: String,
    setup: Vec<SetupSection>,
    #[serde(default)]
    claim: Vec<Spanned<Claim>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetupSection {
    name: Spanned<String>,
    #[serde(default)]
    client: PublishedClient,
    #[serde(default)]
    recovery: PublishedRecovery,
}

impl PublishedSet {
    /// All studies of one file.
    pub fn load(path: &Path) -> Result<Vec<PublishedSet>, PublishedError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| PublishedError::Unreadable { path: path.to_owned(), source })?;
        PublishedSet::parse(&text, path)
    }

    /// The same from text; `path` is only named in errors.
    pub fn parse(text: &str, path: &Path) -> Result<Vec<PublishedSet>, PublishedError> {
        let wrong = |at: usize, problem: String| PublishedError::Wrong {
            path: path.to_owned(),
            line: text[..at].matches('\n').count() + 1,
            problem,
        };
        let file: PublishedFile = toml::from_str(text).map_err(|error| {
            wrong(error.span().map_or(0, |span| span.start), error.message().to_owned())
        })?;
        let mut sets: Vec<PublishedSet> = Vec::new();
        for section in file.study {
            let at = section.name.span().start;
            let set = read_section(section, &file.source).map_err(|(at, why)| wrong(at, why))?;
            if sets.iter().any(|other| other.study == set.study) {
                return Err(wrong(at, format!("study `{}` stands here twice", set.study)));
            }
            sets.push(set);
        }
        Ok(sets)
    }
}

/// Checks one study's section; an error carries the place in the text.
fn read_section(section: StudySection, source: &str) -> Result<PublishedSet, (usize, String)> {
    let mut setups: Vec<PublishedSetup> = Vec::new();
    for setup in section.setup {
        let (at, name) = (setup.name.span().start, setup.name.into_inner());
        if setups.iter().any(|other| other.name == name) {
            return Err((at, format!("setup `{name}` stands twice in one study")));
        }
        let figures = Published { client: setup.client, recovery: setup.recovery };
        if let Some(figure) = figures.all().find(|f| !(f.value > 0.0 && f.value.is_finite())) {
            let value = figure.value;
            return Err((at, format!("setup `{name}`: {value} is not a positive, finite number")));
        }
        setups.push(PublishedSetup { name, figures });
    }
    let mut claims = Vec::new();
    for claim in section.claim {
        let (at, claim) = (claim.span().start, claim.into_inner());
        claim.check().map_err(|problem| (at, problem))?;
        claims.push(claim);
    }
    Ok(PublishedSet {
        study: section.name.into_inner(),
        source: source.to_owned(),
        measured_on: section.measured_on,
        setups,
        claims,
    })
}

impl Published {
    /// Every figure that exists.
    fn all(&self) -> impl Iterator<Item = &Figure> {
        let (client, recovery) = (&self.client, &self.recovery);
        let clat = &client.clat_ms;
        [
            &client.iops,
            &clat.mean,
            &clat.p95,
            &clat.p99,
            &clat.p99_5,
            &recovery.objects_per_s,
            &recovery.mib_per_s,
            &recovery.seconds,
            &recovery.objects,
        ]
        .into_iter()
        .flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str, wanted: &str) {
        let error = PublishedSet::parse(text, Path::new("p.toml")).unwrap_err().to_string();
        assert!(error.contains(wanted), "`{error}` should contain `{wanted}`");
    }

    const HEAD: &str = "source = 's'\n[[study]]\nname = 'a'\nmeasured_on = 'm'\n";

    #[test]
    fn wrong_files_are_refused_with_their_line() {
        let with = |rest: &str| format!("{HEAD}{rest}");
        refused(&with("[[study.setup]]\nname='x'\nclient.iops = 'fast'\n"), "p.toml:7: ");
        refused(&with("[[study.setup]]\nname='x'\nclient.iosp = 5\n"), "p.toml:7: unknown field");
        refused(&with("[[study.setup]]\nname='x'\nclient.iops = -5\n"), "p.toml:6: setup `x`: -5");
        refused(
            &with("[[study.setup]]\nname='x'\n[[study.setup]]\nname='x'\n"),
            "p.toml:8: setup `x` stands twice",
        );
        refused("source = \n", "p.toml:1: ");
    }

    #[test]
    fn the_published_recovery_study_reads() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../published/recovery.toml");
        let sets = PublishedSet::load(&path).unwrap();
        let names: Vec<_> = sets.iter().map(|set| set.study.as_str()).collect();
        assert_eq!(names, ["recovery-nvme", "recovery-hdd-wal", "recovery-hdd"]);
        let slow = sets[0].setup("WPQ(Def)").unwrap();
        let iops = slow.client.iops.unwrap();
        assert_eq!((iops.value, iops.mark.as_deref()), (18_000.0, Some("just over")));
        assert_eq!(slow.client.clat_ms.mean.unwrap().value, 3.535);
        assert_eq!(sets[1].setup("balanced").unwrap().recovery.seconds.unwrap().value, 966.0);
        assert!(sets[2].setup("WPQ(Def)").is_none());
    }

    /// Little's law: 64 operations are in flight, so IOPS times mean latency is 64 in every
    /// published row (within 2.5 %, the rounding of "about" figures).
    #[test]
    fn published_rates_and_latencies_fit_the_depth() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../published/recovery.toml");
        for setup in PublishedSet::load(&path).unwrap().iter().flat_map(|set| &set.setups) {
            let client = &setup.figures.client;
            if let (Some(iops), Some(mean)) = (&client.iops, &client.clat_ms.mean) {
                let depth = iops.value * mean.value / 1e3;
                assert!((depth / 64.0 - 1.0).abs() < 0.025, "{}: depth {depth}", setup.name);
            }
        }
    }
}
