//! A services study's file as it is typed, and its figures that `--set` can change.

use crate::claim::Claim;
use crate::kind::StudyKind;
use crate::load_keys::{self, HasLoad};
use crate::on_ceph::{SetupSection, SetupWords};
use crate::overrides::{StudyKey, key, parse, put, put_name};
use crate::placed::PlacementName;
use crate::setup::{SchedulerName, TypedOptions, yes};
use loadline_base::{Bytes, Span};
use loadline_load::{LoadSpec, quantity};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// `studies/*.toml` of kind `services`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServicesFile {
    pub(super) title: String,
    pub(super) question: String,
    #[serde(rename = "kind")]
    pub(super) _kind: StudyKind,
    pub(super) drive: Spanned<String>,
    pub(super) published: Option<Spanned<String>>,
    pub(super) cluster: ServicesShapeSection,
    pub(super) steps: TimesSection,
    pub(super) load: LoadSpec,
    /// A pool that is scrubbed deeply.
    pub(super) scrub: Option<PoolSection>,
    /// An image whose snapshot is removed.
    pub(super) trim: Option<TrimSection>,
    /// A pool that is removed.
    pub(super) removal: Option<PoolSection>,
    /// Objects that an OSD has missed.
    pub(super) recovery: Option<MissedSection>,
    /// Options of every setup.
    #[serde(default)]
    pub(super) settings: TypedOptions,
    pub(super) sets: BTreeMap<String, Vec<Spanned<String>>>,
    #[serde(rename = "setup")]
    pub(super) setups: Vec<Spanned<ServicesSetupSection>>,
    /// What must hold of the result.
    #[serde(default, rename = "expect")]
    pub(super) expectations: Vec<Spanned<Claim>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServicesShapeSection {
    pub(super) osds: u32,
    pub(super) copies: u32,
    /// Placement groups of each pool.
    pub(super) pgs: u32,
    #[serde(default)]
    pub(super) placement: PlacementName,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TimesSection {
    /// How long clients go on.
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(super) clients: Span,
    /// How long they have been there when scrub, trim and removal begin. Recovery begins with the clients.
    #[serde(default, deserialize_with = "quantity::deserialize")]
    pub(super) begin: Span,
    /// From its beginning on each service has so long. Clients are judged beside services that have a deadline.
    #[serde(default, deserialize_with = "quantity::some")]
    pub(super) deadline: Option<Span>,
    /// The share of the work that is done on real disks, where nobody says another.
    #[serde(default)]
    pub(super) on_disks: Option<f64>,
    /// How long a run lasts at most, from its clients' beginning.
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(super) limit: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PoolSection {
    pub(super) objects: u64,
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(super) object_size: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrimSection {
    pub(super) objects: u64,
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(super) object_size: Bytes,
    /// Of these the snapshot keeps a clone.
    pub(super) clones: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MissedSection {
    pub(super) objects: u64,
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(super) object_size: Bytes,
    /// The number of the OSD that goes and returns.
    pub(super) returning: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServicesSetupSection {
    pub(super) name: Spanned<String>,
    /// What it is, in half a sentence.
    #[serde(default)]
    pub(super) about: String,
    pub(super) preset: Spanned<String>,
    #[serde(default)]
    pub(super) scheduler: SchedulerName,
    pub(super) profile: Option<Spanned<String>>,
    /// The table that profiles are of, where it is not the preset's.
    pub(super) profiles: Option<Spanned<String>>,
    /// Whether the services run; the baseline has none.
    #[serde(default = "yes")]
    pub(super) services: bool,
    #[serde(default)]
    pub(super) settings: TypedOptions,
}

impl SetupSection for ServicesSetupSection {
    fn words(&mut self) -> SetupWords<'_> {
        SetupWords {
            name: &self.name,
            about: &mut self.about,
            preset: &mut self.preset,
            scheduler: &mut self.scheduler,
            profile: self.profile.as_ref().map(|profile| profile.get_ref().as_str()),
            of_other_table: self.profiles.is_some(),
            settings: &mut self.settings,
            has_background: self.services,
        }
    }
}

impl HasLoad for ServicesFile {
    fn load_of(file: &mut Self) -> &mut LoadSpec {
        &mut file.load
    }
}

/// Sets a field of a section, if the study has it.
fn within<T>(
    section: &mut Option<T>,
    name: &str,
    set: impl FnOnce(&mut T) -> Result<(), String>,
) -> Result<(), String> {
    match section {
        Some(section) => set(section),
        None => Err(format!("the study has no section `[{name}]` for it")),
    }
}

/// The figures of a study that `--set` can change. Every option of an OSD can be set beside them.
pub const SERVICES_KEYS: &[StudyKey<ServicesFile>] = &[
    key("scale", "share of the published amount of work, and of the clients' time", |_, _| Ok(())),
    key("drive", "the drive under test", |file, text| put_name(&mut file.drive, text)),
    key("osds", "OSDs, one drive each", |file, text| put(&mut file.cluster.osds, text)),
    key("copies", "copies of each object", |file, text| put(&mut file.cluster.copies, text)),
    key("pgs", "placement groups of each pool", |file, text| put(&mut file.cluster.pgs, text)),
    key(
        "placement",
        "how groups are placed: `even`, or `crush` as the original does",
        |file, text| put(&mut file.cluster.placement, text),
    ),
    key("clients", "how long clients go on", |file, text| put(&mut file.steps.clients, text)),
    key("begin", "how long clients have been there when services begin", |file, text| {
        put(&mut file.steps.begin, text)
    }),
    key("deadline", "how long each service has, where a study judges that", |file, text| {
        file.steps.deadline = Some(parse(text)?);
        Ok(())
    }),
    key("limit", "how long a run lasts at most", |file, text| put(&mut file.steps.limit, text)),
    key("scrub_objects", "objects that are scrubbed", |file, text| {
        within(&mut file.scrub, "scrub", |scrub| put(&mut scrub.objects, text))
    }),
    key("scrub_object_size", "size of each", |file, text| {
        within(&mut file.scrub, "scrub", |scrub| put(&mut scrub.object_size, text))
    }),
    key("clones", "objects of which the snapshot keeps a clone", |file, text| {
        within(&mut file.trim, "trim", |trim| put(&mut trim.clones, text))
    }),
    key("removal_objects", "objects of the pool that is removed", |file, text| {
        within(&mut file.removal, "removal", |removal| put(&mut removal.objects, text))
    }),
    key("recovery_objects", "objects that the OSD has missed", |file, text| {
        within(&mut file.recovery, "recovery", |recovery| put(&mut recovery.objects, text))
    }),
    load_keys::depth(),
    load_keys::rate(),
    load_keys::block(),
    load_keys::reads(),
    load_keys::image(),
];
