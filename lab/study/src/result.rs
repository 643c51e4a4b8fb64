//! What a study concluded: everything a report needs, and nothing that differs between two runs of
//! one seed (times of day, machines and speeds are in [`RunFacts`](crate::RunFacts)).
//!
//! Units stand in the names: `_ms` milliseconds, `_s` seconds, `_per_s` per second of the world's
//! time. IOPS are completed client operations per second.

use crate::beside::BesideResult;
use crate::chance::is_of_chance;
use crate::figure::Figures;
use crate::figure::{PublishedCurve, PublishedFigures};
use crate::kind::StudyKind;
use crate::place::CEPH;
use crate::promise::{ImageResult, PromiseResult};
use crate::reservation::ReservationResult;
use crate::series::{ClassWaits, Series};
use loadline_stats::quantile;
pub(crate) use loadline_testbed::NamedValue;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The form of manifests, records and results. Folders of another form are refused.
pub const VERSION: u32 = 3;

/// The conclusion of one study.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StudyResult {
    /// The form of this result.
    pub version: u32,
    /// Which steps the study took, and so which figures it has.
    pub kind: StudyKind,
    /// The study's name, as `loadline study list` prints it.
    pub study: String,
    /// One line for the top of a page.
    pub title: String,
    /// The question which the study answers, as a sentence.
    pub question: String,
    /// The clients' load, for captions: `4 KiB random writes, closed loop at depth 64`.
    pub load: String,
    /// The world that gave time: `sim` or `host`.
    pub world: String,
    /// Share of the published amount of work that was done; 1.0 is the published scale.
    pub scale: f64,
    /// The seed of the first repeat; all others derive from it.
    pub seed: u64,
    /// The disks under test.
    pub drive: DriveSummary,
    /// Figures that were fitted to a published result instead of calibrated from a baseline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fitted: Vec<FittedFigure>,
    /// One per bar in the charts, in the study's order; the baseline first.
    pub setups: Vec<SetupResult>,
    /// Published ratios beside ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ratios: Vec<ComparedRatio>,
    /// What the published study says in words, tested against this result.
    pub statements: Vec<Statement>,
    /// What this study expects of its result, tested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<Statement>,
    /// What a reader must know before using a figure; each ends in advice.
    pub warnings: Vec<String>,
}

/// The results of the setup of this name.
pub(crate) fn find_setup<'a>(setups: &'a [SetupResult], name: &str) -> Option<&'a SetupResult> {
    setups.iter().find(|setup| setup.name() == name)
}

impl StudyResult {
    /// The setup with this name.
    pub fn setup(&self, name: &str) -> Option<&SetupResult> {
        find_setup(&self.setups, name)
    }

    /// Whether it ran on a Ceph cluster.
    pub fn is_of_ceph(&self) -> bool {
        self.world == CEPH
    }

    /// Whether it ran in real time, on real disks.
    pub fn is_real(&self) -> bool {
        self.world != "sim"
    }

    /// Whether somebody published figures of a setup.
    pub fn compares(&self) -> bool {
        self.setups.iter().any(|setup| !setup.published.is_empty())
    }
}

/// The disks under test and the cluster around them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriveSummary {
    /// Name of the drive file.
    pub name: String,
    /// The hardware it stands for.
    pub model: String,
    /// From what it was calibrated, in a sentence.
    pub calibration: String,
    /// Further facts in reading order: OSDs, copies, shards, object size, throttle.
    pub facts: Vec<NamedValue>,
}

/// A figure fitted to a published result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FittedFigure {
    /// What it is.
    pub name: String,
    /// Its value with unit.
    pub value: String,
    /// The setups or the part of the model that it acts on.
    pub where_used: String,
    /// The published result it was fitted to, or the argument for it.
    pub source: String,
}

/// What one setup (one bar in a chart) showed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SetupResult {
    /// What was set up.
    #[serde(flatten)]
    pub setup: Configuration,
    /// Why what is claimed of it is left undecided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<FigureDoubt>,
    /// Its figures, the mean over the repeats when there are several.
    pub figures: Figures,
    /// The published figures of the same setup, where they exist.
    pub published: PublishedFigures,
    /// The published courses over time, where the whole work was done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published_curves: Vec<PublishedCurve>,
    /// Every repeat; intervals are computed from them when there is more than one.
    pub repeats: Vec<Repeat>,
    /// The same setup with one switch turned, e.g. with another OSD returning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<Variant>,
    /// How far the result moves when only the placement of the PGs changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<PlacementSpread>,
    /// Course over time of the first repeat.
    pub series: Series,
    /// Where the work of each class spent its time, in the first repeat.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<ClassWaits>,
    /// How clients fared beside what they were promised, where it is known what they have alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promise: Option<PromiseResult>,
    /// How clients fared beside services that have a deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<BesideResult>,
    /// How each image fared, where there are several or one is promised something.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageResult>,
    /// What the queues served of the clients' reservation, where they have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<ReservationResult>,
}

/// A setup's name in a sentence, where quotes tell it apart from the words around it: "for clients take both" was read as two setups.
pub fn quoted(name: &str) -> String {
    format!("“{name}”")
}

impl SetupResult {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.setup.name
    }

    /// Whether everybody got what was promised, in every second: the clients as a class, and each image. `None` where nothing was.
    pub fn is_kept(&self) -> Option<bool> {
        let class = self.promise.as_ref().and_then(PromiseResult::is_kept);
        let images = self.images.iter().filter_map(|image| image.promise.as_ref()?.is_kept());
        class.into_iter().chain(images).reduce(|all, one| all && one)
    }

    /// A figure by its key, where the setup has it.
    pub fn figure(&self, key: &str) -> Option<f64> {
        self.figures.get(key)
    }
}

/// Why a figure decides nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FigureDoubt {
    /// The figure's key; `None` if it is about all of them.
    pub figure: Option<String>,
    /// What is wrong with it, and what would help.
    pub why: String,
}

impl FigureDoubt {
    /// The reason with the setup that it is about.
    pub(crate) fn of(&self, setup: &str) -> String {
        format!("{}: {}", quoted(setup), self.why)
    }
}

/// One configuration under test, in words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Configuration {
    /// The bar's label: `baseline`, `WPQ(Def)`, `high_client_ops`, ...
    pub name: String,
    /// What it is, in half a sentence for who meets the label for the first time; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The preset: `quincy`, `reef` or `loadline`; empty where all setups share the study's.
    pub preset: String,
    /// The mClock profile, where there is one.
    pub profile: Option<String>,
    /// Whatever else tells the setups apart, the same names in each.
    pub traits: Vec<NamedValue>,
    /// Settings in force with the level that each value came from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<SettingRow>,
}

/// One run of a setup.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// The run's own seed.
    pub seed: u64,
    /// What it showed.
    pub figures: Figures,
}

/// A setup with one switch turned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// What was changed, e.g. `with another OSD returning`.
    pub name: String,
    /// Why the reader should see it, as a sentence.
    pub why: String,
    /// What it showed.
    pub figures: Figures,
}

/// The result over random PG placements, everything else equal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlacementSpread {
    /// Number of placements drawn.
    pub placements: u32,
    /// Scale at which they ran, often smaller than the study's.
    pub scale: f64,
    /// The kind's chief figures; those that grow with the work are stretched to the study's own scale.
    pub figures: BTreeMap<String, Spread>,
}

/// A published ratio beside ours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComparedRatio {
    /// What is compared, in words.
    pub text: String,
    /// Ours; `None` where one of the setups was not run.
    pub ours: Option<f64>,
    /// Published.
    pub published: f64,
}

/// 10th, 50th and 90th percentile of a handful of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// 10th percentile.
    pub low: f64,
    /// Median.
    pub median: f64,
    /// 90th percentile.
    pub high: f64,
}

impl Spread {
    /// The spread of `values`, by linear interpolation between order statistics; `None` if empty.
    pub fn of(values: &[f64]) -> Option<Spread> {
        let at = |q| quantile(values, q);
        Some(Spread { low: at(0.1)?, median: at(0.5)?, high: at(0.9)? })
    }
}

/// A sentence of the published study, or an expectation of ours, tested.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// What the study says.
    pub text: String,
    /// Whether it holds here; `None` where the setups it needs were not run, and where it is undecided.
    pub holds: Option<bool>,
    /// The numbers behind the verdict.
    pub detail: String,
    /// Why they decide nothing, though there are some: each reason with the setup that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<String>,
    /// Which setups were in another regime than the published ones, each in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regime: Vec<String>,
}

impl Statement {
    /// Whether more repeats would decide it, and nothing else stands in the way.
    pub fn awaits_repeats(&self) -> bool {
        !self.undecided.is_empty() && self.undecided.iter().all(|reason| is_of_chance(reason))
    }
}

/// One setting in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SettingRow {
    /// The option's name.
    pub key: String,
    /// The effective value with unit.
    pub value: String,
    /// The level it came from: `built-in`, `profile`, `stored` or `run-time`.
    pub origin: String,
}
