//! A recovery study's file as it is typed, and its figures that `--set` can change.

use super::host::SharedHostSection;
use crate::claim::Claim;
use crate::kind::StudyKind;
use crate::load_keys::{self, HasLoad};
use crate::on_ceph::{SetupSection, SetupWords};
use crate::overrides::{StudyKey, key, parse, put, put_name, put_some};
use crate::placed::PlacementName;
use crate::setup::{SchedulerName, TypedOptions, yes};
use loadline_base::{Bytes, Span};
use loadline_load::{LoadSpec, quantity};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::str::FromStr;
use toml::Spanned;

/// `studies/recovery-*.toml`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyFile {
    pub(crate) title: String,
    pub(crate) question: String,
    #[serde(rename = "kind")]
    pub(crate) _kind: StudyKind,
    pub(crate) drive: Spanned<String>,
    pub(crate) published: Option<Spanned<String>>,
    pub(crate) cluster: ClusterSection,
    /// What the OSDs of a simulated cluster share.
    #[serde(default)]
    pub(crate) host: SharedHostSection,
    pub(crate) recovery: RecoverySection,
    pub(crate) load: LoadSpec,
    /// Other images with clients of their own, which setups may have beside the clients' one.
    #[serde(default, rename = "neighbour")]
    pub(crate) neighbours: Vec<Spanned<NeighbourSection>>,
    #[serde(default)]
    pub(crate) companions: Companions,
    /// Options of every OSD on disks of this machine, before a setup's own: what is true of real disks and not of the modelled drive.
    #[serde(default)]
    pub(crate) settings_on_disks: TypedOptions,
    pub(crate) sets: BTreeMap<String, Vec<Spanned<String>>>,
    #[serde(rename = "setup")]
    pub(crate) setups: Vec<Spanned<RecoverySetupSection>>,
    /// What must hold of the result.
    #[serde(default, rename = "expect")]
    pub(crate) expectations: Vec<Spanned<Claim>>,
}

/// What the OSDs of a simulated cluster stand on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StoreKind {
    /// The direct store, whose drive's figures contain a whole OSD's overhead.
    #[default]
    Direct,
    /// The paged store, on a disk with contents.
    Paged,
}

impl FromStr for StoreKind {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<StoreKind, &'static str> {
        match text {
            "direct" => Ok(StoreKind::Direct),
            "paged" => Ok(StoreKind::Paged),
            _ => Err("takes `direct` or `paged`"),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClusterSection {
    #[serde(default)]
    pub(crate) store: StoreKind,
    pub(crate) osds: u32,
    pub(crate) copies: u32,
    /// Placement groups of each of the two pools.
    pub(crate) pgs: u32,
    #[serde(default)]
    pub(crate) placement: PlacementName,
    /// The number of the OSD that goes and returns; without one the last.
    pub(crate) returning: Option<u32>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecoverySection {
    pub(crate) objects: u64,
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(crate) object_size: Bytes,
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(crate) baseline: Span,
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(crate) limit: Span,
    /// How long clients go on, at most until recovery ends; until then where nothing is said.
    #[serde(default, deserialize_with = "quantity::some")]
    pub(crate) clients: Option<Span>,
    /// The time from its beginning for which latency and rate are told apart from the whole.
    #[serde(default, deserialize_with = "quantity::some")]
    pub(crate) first: Option<Span>,
}

/// Shorter runs beside the main ones, which tell how far a result depends on what nobody published.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Companions {
    /// Scale of the runs with another OSD returning.
    pub variant_scale: f64,
    /// How many other placements of the placement groups are tried.
    pub spread_placements: u32,
    /// Scale of those runs.
    pub spread_scale: f64,
}

impl Default for Companions {
    /// Rates do not depend on the amount of work, so a few hundred objects per placement group are enough for
    /// them; together these runs take about a tenth of the main ones' time.
    fn default() -> Companions {
        Companions { variant_scale: 0.05, spread_placements: 5, spread_scale: 0.02 }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecoverySetupSection {
    pub(crate) name: Spanned<String>,
    /// What it is, in half a sentence.
    #[serde(default)]
    pub(crate) about: String,
    pub(crate) preset: Spanned<String>,
    #[serde(default)]
    pub(crate) scheduler: SchedulerName,
    pub(crate) profile: Option<Spanned<String>>,
    /// Whether an OSD returns and is filled; the baseline has none.
    #[serde(default = "yes")]
    pub(crate) recovery: bool,
    /// How long clients go on in this setup, where it is not the study's time.
    #[serde(default, deserialize_with = "quantity::some")]
    pub(crate) clients: Option<Span>,
    /// Whose clients are there, too.
    #[serde(default)]
    pub(crate) neighbours: Vec<Spanned<String>>,
    /// What images are promised and allowed, by name; the clients' own is `clients`.
    #[serde(default)]
    pub(crate) images: BTreeMap<Spanned<String>, TermsSection>,
    #[serde(default)]
    pub(crate) settings: TypedOptions,
}

impl SetupSection for RecoverySetupSection {
    fn words(&mut self) -> SetupWords<'_> {
        SetupWords {
            name: &self.name,
            about: &mut self.about,
            preset: &mut self.preset,
            scheduler: &mut self.scheduler,
            profile: self.profile.as_ref().map(|profile| profile.get_ref().as_str()),
            of_other_table: false,
            settings: &mut self.settings,
            has_background: self.recovery,
        }
    }
}

/// An image with its clients.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NeighbourSection {
    pub(crate) name: String,
    pub(crate) load: LoadSpec,
}

/// What an image is promised and allowed, as `loadline image qos` takes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TermsSection {
    /// Operations per second.
    pub(crate) reservation: u32,
    /// See `reservation`.
    pub(crate) limit: u32,
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(crate) burst: Span,
    pub(crate) weight: Option<f64>,
}

impl HasLoad for StudyFile {
    fn load_of(file: &mut Self) -> &mut LoadSpec {
        &mut file.load
    }
}

/// The figures of a study that `--set` can change. Every option of an OSD can be set beside them.
pub const STUDY_KEYS: &[StudyKey<StudyFile>] = &[
    key("scale", "share of the published amount of work", |_, _| Ok(())),
    key("drive", "the drive under test", |file, text| put_name(&mut file.drive, text)),
    key("osds", "OSDs, one drive each", |file, text| put(&mut file.cluster.osds, text)),
    key("copies", "copies of each object", |file, text| put(&mut file.cluster.copies, text)),
    key("pgs", "placement groups of each pool", |file, text| put(&mut file.cluster.pgs, text)),
    key(
        "placement",
        "how groups are placed: `even`, or `crush` as the original does",
        |file, text| put(&mut file.cluster.placement, text),
    ),
    key("returning", "the OSD that goes and returns, by its number", |file, text| {
        put_some(&mut file.cluster.returning, text)
    }),
    key("store", "what a simulated OSD stands on: `direct` or `paged`", |file, text| {
        put(&mut file.cluster.store, text)
    }),
    key("devices", "how many devices simulated OSDs share, in turns", |file, text| {
        put_some(&mut file.host.devices, text)
    }),
    key("cores", "processors that simulated OSDs and clients share", |file, text| {
        put_some(&mut file.host.cores, text)
    }),
    key(
        "cpu_per_op",
        "processor time of a write of 4 KiB: all copies and the client together",
        |file, text| put_some(&mut file.host.cpu_per_op, text),
    ),
    key(
        "cpu_per_mib",
        "processor time of each MiB that an OSD writes, or reads and sends",
        |file, text| put_some(&mut file.host.cpu_per_mib, text),
    ),
    key("cpu_slice", "how long a processor works at one thing by turns", |file, text| {
        put_some(&mut file.host.cpu_slice, text)
    }),
    key("objects", "objects written while an OSD is away", |file, text| {
        put(&mut file.recovery.objects, text)
    }),
    key("object_size", "size of each", |file, text| put(&mut file.recovery.object_size, text)),
    key("baseline", "length of the run without recovery", |file, text| {
        put(&mut file.recovery.baseline, text)
    }),
    key("clients", "how long clients go on beside recovery", |file, text| {
        let clients = Some(parse(text)?);
        file.recovery.clients = clients;
        file.setups.iter_mut().for_each(|setup| setup.get_mut().clients = clients);
        Ok(())
    }),
    load_keys::depth(),
    load_keys::rate(),
    load_keys::block(),
    load_keys::reads(),
    load_keys::image(),
    key("variant_scale", "scale of the runs with another OSD returning", |file, text| {
        put(&mut file.companions.variant_scale, text)
    }),
    key("spread_placements", "how many other placements are tried", |file, text| {
        put(&mut file.companions.spread_placements, text)
    }),
    key("spread_scale", "scale of the runs over other placements", |file, text| {
        put(&mut file.companions.spread_scale, text)
    }),
];
