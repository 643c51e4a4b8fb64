//! What a study concluded: everything a report needs, and nothing that differs between two runs of
//! one seed (times of day, machines and speeds are in [`RunFacts`](crate::RunFacts)).
//!
//! Units stand in the names: `_ms` milliseconds, `_s` seconds, `_per_s` per second of the world's
//! time. IOPS are completed client operations per second.

use crate::{ClassWaits, Published, ReservationResult, SetupSeries};
use loadline_stats::quantile;
use serde::{Deserialize, Serialize};

/// The conclusion of one study.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StudyResult {
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
    pub fitted: Vec<FittedFigure>,
    /// One per bar in the charts, in the study's order; the baseline first.
    pub setups: Vec<SetupResult>,
    /// What the published study says in words, tested against this result.
    pub statements: Vec<Statement>,
    /// What this study expects of its result, tested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<Statement>,
    /// What a reader must know before using a figure; each ends in advice.
    pub warnings: Vec<String>,
}

impl StudyResult {
    /// The setup with this name.
    pub fn setup(&self, name: &str) -> Option<&SetupResult> {
        self.setups.iter().find(|setup| setup.name == name)
    }

    /// The setup without background work: the first one that recovered nothing.
    pub fn baseline(&self) -> Option<&SetupResult> {
        self.setups.iter().find(|setup| setup.recovery.is_none())
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

/// A fact with its unit, ready to be read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NamedValue {
    /// What it is.
    pub name: String,
    /// Its value with unit.
    pub value: String,
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
    /// The bar's label: `baseline`, `WPQ(Def)`, `high_client_ops`, ...
    pub name: String,
    /// The preset: `quincy`, `reef` or `loadline`.
    pub preset: String,
    /// The scheduler: `mclock`, `wpq` or `fifo`.
    pub scheduler: String,
    /// The mClock profile, where there is one.
    pub profile: Option<String>,
    /// What the clients saw; the mean over the repeats when there are several.
    pub client: ClientResult,
    /// Client IOPS over the baseline's IOPS; absent in the baseline.
    pub share_of_baseline: Option<f64>,
    /// What recovery reached; absent where nothing was recovered.
    pub recovery: Option<RecoveryResult>,
    /// The published figures of the same setup, where they exist.
    pub published: Option<Published>,
    /// Every repeat; intervals are computed from them when there is more than one.
    pub repeats: Vec<RepeatResult>,
    /// The same setup with one switch turned, e.g. without the study era's software stage.
    pub variants: Vec<Variant>,
    /// How far the result moves when only the placement of the PGs changes.
    pub spread: Option<PlacementSpread>,
    /// Course over time of the first repeat.
    pub series: SetupSeries,
    /// Where the work of each class spent its time, in the first repeat.
    pub waits: Vec<ClassWaits>,
    /// How the clients' reservation was kept, where they have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<ReservationResult>,
    /// Settings in force with the level that each value came from.
    pub settings: Vec<SettingRow>,
}

/// What the clients of one setup saw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientResult {
    /// Completed operations per second over the measured window.
    pub iops: f64,
    /// Completion latency: from submission to completion at the client (closed loop), or from the
    /// intended start (open loop).
    pub clat_ms: Latency,
}

/// Statistics of a latency, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Sum over count, exact.
    pub mean: f64,
    /// 50 % of operations took at most this.
    pub p50: f64,
    /// 95 % of operations took at most this.
    pub p95: f64,
    /// 99 % of operations took at most this.
    pub p99: f64,
    /// 99.5 % of operations took at most this.
    #[serde(rename = "p99.5")]
    pub p99_5: f64,
    /// 99.9 % of operations took at most this.
    #[serde(rename = "p99.9")]
    pub p99_9: f64,
    /// The slowest operation.
    pub max: f64,
}

impl Latency {
    /// Each statistic as `over` makes it from the same statistic of many runs.
    pub(crate) fn each(over: impl Fn(fn(&Latency) -> f64) -> f64) -> Latency {
        Latency {
            mean: over(|l| l.mean),
            p50: over(|l| l.p50),
            p95: over(|l| l.p95),
            p99: over(|l| l.p99),
            p99_5: over(|l| l.p99_5),
            p99_9: over(|l| l.p99_9),
            max: over(|l| l.max),
        }
    }
}

/// What recovery reached, by the published metric (decrease of misplaced objects over time).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecoveryResult {
    /// Objects per second: `objects / seconds`.
    pub objects_per_s: f64,
    /// The same in MiB per second.
    pub mib_per_s: f64,
    /// From marking the OSD up and in until nothing is misplaced.
    pub seconds: f64,
    /// Objects that were misplaced or degraded at the start.
    pub objects: u64,
}

/// One run of a setup.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RepeatResult {
    /// The run's own seed.
    pub seed: u64,
    /// What the clients saw.
    pub client: ClientResult,
    /// What recovery reached.
    pub recovery: Option<RecoveryResult>,
}

/// A setup with one switch turned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// What was changed, e.g. `without the study era's software stage`.
    pub name: String,
    /// Why the reader should see it, as a sentence.
    pub why: String,
    /// What the clients saw.
    pub client: ClientResult,
    /// What recovery reached.
    pub recovery: Option<RecoveryResult>,
}

/// The result over random PG placements, everything else equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlacementSpread {
    /// Number of placements drawn.
    pub placements: u32,
    /// Scale at which they ran, often smaller than the study's.
    pub scale: f64,
    /// Client IOPS.
    pub client_iops: Spread,
    /// Mean completion latency in milliseconds.
    pub clat_mean_ms: Spread,
    /// Recovered objects per second.
    pub objects_per_s: Option<Spread>,
    /// Recovery time at the study's own scale.
    pub seconds: Option<Spread>,
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
    /// Whether it holds here; `None` where the setups it needs were not run.
    pub holds: Option<bool>,
    /// The numbers behind the verdict.
    pub detail: String,
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
