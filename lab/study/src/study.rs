//! A study as it is meant: everything looked up, checked and ready to run.

use crate::checkpoint::CheckpointStudy;
use crate::claim::Claim;
use crate::file::{Companions, Kind, StudyFile};
use crate::given_load;
use crate::input::{InputError, Source, fingerprint, unknown};
use crate::limits::LimitsStudy;
use crate::overrides::{Override, STUDY_KEYS, apply_overrides, scale_of};
use crate::place::Place;
use crate::published::{PublishedError, PublishedSet};
use crate::real;
use crate::sets::{Sets, choose, read_sets};
use crate::setup::{Grounds, Setup};
use loadline_base::{Bytes, Span};
use loadline_load::LoadSpec;
use loadline_sim::Drive;
use serde::{Deserialize, Serialize};
use std::path::Path;
use toml::Spanned;

/// The texts that a study is computed from, and nothing else: equal inputs give equal results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inputs {
    /// The study file.
    pub study: Source,
    /// The drive file that the study, or an override, names.
    pub drive: Source,
    /// The published figures that the study names.
    pub published: Option<Source>,
    /// A fio job file in the place of the study's own load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Source>,
    /// `--set`, in order.
    pub overrides: Vec<Override>,
    /// Where it runs.
    #[serde(default)]
    pub place: Place,
}

/// A question with the setups that answer it.
#[derive(Clone, Debug)]
pub struct Study {
    /// Its name: the file's, without folder and ending.
    pub name: String,
    /// One line for the top of a page.
    pub title: String,
    /// What it answers.
    pub question: String,
    /// The disks.
    pub drive: Drive,
    /// The cluster's shape.
    pub cluster: ClusterShape,
    /// The amount of work.
    pub steps: RecoverySteps,
    /// What the clients do.
    pub load: LoadSpec,
    /// Shorter runs beside the main ones.
    pub companions: Companions,
    /// What is compared, in the study's order.
    pub setups: Vec<Setup>,
    /// Names for groups of setups.
    pub sets: Sets,
    /// What somebody else measured.
    pub published: Option<PublishedSet>,
    /// What must hold of the result.
    pub expectations: Vec<Claim>,
    /// Where it runs.
    pub place: Place,
}

/// How many OSDs and copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterShape {
    /// OSDs, one drive each.
    pub osds: u32,
    /// Copies of each object.
    pub copies: u32,
}

/// The steps of a recovery study (qos.md 13.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecoverySteps {
    /// Share of the published amount of work; 1.0 is all of it.
    pub scale: f64,
    /// Objects written while an OSD is away, at scale 1.
    pub objects: u64,
    /// Size of each.
    pub object_size: Bytes,
    /// Length of the run without recovery, at scale 1.
    pub baseline: Span,
    /// Simulated time after which a recovery that has not ended is given up.
    pub limit: Span,
}

/// Other files that a study file asks for, by name.
pub(crate) struct Named {
    /// Its drive; a name from the command line has an empty span.
    pub(crate) drive: Spanned<String>,
    /// Its published figures.
    pub(crate) published: Option<Spanned<String>>,
}

impl Inputs {
    /// The files that a study file asks for.
    pub(crate) fn named_in(study: &Source, overrides: &[Override]) -> Result<Named, InputError> {
        match kind_of(study)? {
            Kind::Recovery => {
                let StudyFile { drive, published, .. } = read_file(study, overrides)?;
                Ok(Named { drive, published })
            }
            Kind::Checkpoint => CheckpointStudy::named_in(study, overrides),
            Kind::Limits => LimitsStudy::named_in(study, overrides),
        }
    }

    /// Which steps the study takes.
    ///
    /// # Errors
    /// [`InputError`] if its file does not say.
    pub fn kind(&self) -> Result<Kind, InputError> {
        kind_of(&self.study)
    }

    /// The error about a field: at the `--set` that set it last, or at its line in the file.
    pub(crate) fn refuse(&self, field: &str, reason: String) -> InputError {
        match self.overrides.iter().rfind(|change| change.key == field) {
            Some(typed) => InputError::new(typed.to_string(), reason),
            None => self.study.error_in(field, reason),
        }
    }

    /// The scale that was asked for. Without `--set scale` it is the whole published work in the simulated world, and what a
    /// laptop's disk does in minutes in the real one.
    pub fn scale(&self) -> Result<f64, InputError> {
        let whole = match self.place {
            Place::Sim => 1.0,
            Place::Host(_) => real::SCALE,
        };
        Ok(scale_of(&self.overrides)?.unwrap_or(whole))
    }

    /// Names the inputs: equal names, equal inputs.
    pub fn hash(&self) -> String {
        let none = String::new();
        let overrides: Vec<String> = self.overrides.iter().map(ToString::to_string).collect();
        let place = self.place.identity();
        let mut parts = vec![
            self.study.text.as_str(),
            &self.drive.text,
            self.published.as_ref().map_or(&none, |published| &published.text),
        ];
        let overrides = overrides.join(" ");
        parts.push(&overrides);
        parts.extend(place.as_deref());
        parts.extend(self.load.as_ref().map(|load| load.text.as_str()));
        fingerprint(&parts)
    }
}

/// The kind of a study; nothing else of its file is looked at.
pub(crate) fn kind_of(source: &Source) -> Result<Kind, InputError> {
    #[derive(Deserialize)]
    struct Head {
        kind: Kind,
    }
    let head: Head = toml::from_str(&source.text).map_err(|error| source.toml_error(&error))?;
    Ok(head.kind)
}

fn read_file(source: &Source, overrides: &[Override]) -> Result<StudyFile, InputError> {
    let mut file: StudyFile =
        toml::from_str(&source.text).map_err(|error| source.toml_error(&error))?;
    let has = ("a study has", " and every option of an OSD");
    let own = overrides.iter().filter(|change| !change.is_option());
    apply_overrides(&mut file, STUDY_KEYS, has, own)?;
    Ok(file)
}

impl Study {
    /// The study that the inputs describe.
    ///
    /// # Errors
    /// [`InputError`] naming file, line and field for anything that cannot be used.
    pub fn new(inputs: &Inputs) -> Result<Study, InputError> {
        let (source, scale) = (&inputs.study, inputs.scale()?);
        let mut file = read_file(source, &inputs.overrides)?;
        if file.kind != Kind::Recovery {
            let reason = "this is no recovery study: its `kind` says what it is";
            return Err(source.error_in("kind", reason));
        }
        if let Some(load) = &inputs.load {
            let object = file.recovery.object_size;
            let given = given_load::read(load, &inputs.overrides, file.load.image, object)?;
            if given.ramp.is_some() {
                let reason =
                    "a recovery study is measured from its first op: leave `ramp_time` out";
                return Err(InputError::new(load.file.clone(), reason));
            }
            file.load = given.spec;
            file.recovery.baseline = given.runtime.unwrap_or(file.recovery.baseline);
        }
        check(&file).map_err(|(field, reason)| inputs.refuse(field, reason))?;
        let drive =
            Drive::parse(&inputs.drive.name, &inputs.drive.file, &inputs.drive.text).map_err(
                |error| InputError { place: error.file, line: error.line, reason: error.reason },
            )?;
        let published = match &inputs.published {
            Some(published) => published_for(&source.name, published)?,
            None => None,
        };
        let StudyFile { cluster, recovery, .. } = &file;
        let shape = ClusterShape { osds: cluster.osds, copies: cluster.copies };
        let grounds =
            Grounds { drive: &drive, shape, overrides: &inputs.overrides, place: &inputs.place };
        let setups = crate::setup::read_setups(&file, source, grounds)?;
        let names: Vec<&str> = setups.iter().map(|setup| setup.name.as_str()).collect();
        let study = Study {
            name: source.name.clone(),
            cluster: shape,
            steps: RecoverySteps {
                scale,
                objects: recovery.objects,
                object_size: recovery.object_size,
                baseline: recovery.baseline,
                limit: recovery.limit,
            },
            sets: read_sets(&file.sets, source, &names)?,
            expectations: read_expectations(file.expectations, source, &names)?,
            title: file.title,
            question: file.question,
            load: file.load,
            companions: file.companions,
            drive,
            setups,
            published,
            place: inputs.place.clone(),
        };
        Ok(match &inputs.place {
            Place::Sim => study,
            Place::Host(_) => real::fitted(study, inputs),
        })
    }

    /// The setups that a choice names: a set, or setups separated by commas. In the study's order.
    ///
    /// # Errors
    /// [`InputError`] for a name that is neither.
    pub fn choose(&self, choice: &str) -> Result<Vec<usize>, InputError> {
        let names: Vec<&str> = self.setups.iter().map(|setup| setup.name.as_str()).collect();
        choose(choice, &names, &self.sets)
    }

    /// What every run of the study depends on beside its setup and its own scale, as text.
    pub(crate) fn identity(&self) -> String {
        let steps = RecoverySteps { scale: 1.0, ..self.steps };
        let place = self.place.identity().unwrap_or_default();
        format!("{:?} {:?} {steps:?} {:?}{place}", self.drive, self.cluster, self.load)
    }

    /// The setup of this name.
    pub fn setup(&self, name: &str) -> Option<&Setup> {
        self.setups.iter().find(|setup| setup.name == name)
    }
}

/// The expectations of a file, each complete and about known setups.
fn read_expectations(
    expectations: Vec<Spanned<Claim>>,
    source: &Source,
    setups: &[&str],
) -> Result<Vec<Claim>, InputError> {
    let read = |claim: Spanned<Claim>| {
        let (at, claim) = (claim.span().start, claim.into_inner());
        claim.check().map_err(|problem| source.error_at(at, problem))?;
        if let Some(name) = claim.setups().find(|name| !setups.contains(&name.as_str())) {
            return Err(source.error_at(at, unknown("setup", name, setups.iter().copied())));
        }
        Ok(claim)
    };
    expectations.into_iter().map(read).collect()
}

/// What the readers of single fields cannot see; the error names the field.
fn check(file: &StudyFile) -> Result<(), (&'static str, String)> {
    let StudyFile { cluster, recovery, companions, .. } = file;
    let is_share = |scale: f64| scale > 0.0 && scale <= 1.0;
    let checks = [
        (is_share(companions.variant_scale), "variant_scale", "more than 0 and at most 1"),
        (is_share(companions.spread_scale), "spread_scale", "more than 0 and at most 1"),
        (companions.spread_placements <= 1000, "spread_placements", "at most 1000"),
        ((2..=64).contains(&cluster.osds), "osds", "from 2 to 64"),
        (
            cluster.copies >= 1 && cluster.copies < cluster.osds,
            "copies",
            "at least 1 and less than `osds`: one OSD is taken out and its copies must find a place",
        ),
        ((1..=100_000_000).contains(&recovery.objects), "objects", "from 1 to 100000000"),
        (
            recovery.object_size >= Bytes::from_kib(4)
                && recovery.object_size <= Bytes::from_mib(64),
            "object_size",
            "from 4 KiB to 64 MiB",
        ),
        (recovery.baseline >= Span::from_secs(1), "baseline", "at least `1 s`"),
        (recovery.limit >= recovery.baseline, "limit", "at least as long as `baseline`"),
    ];
    if let Some((_, field, wanted)) = checks.into_iter().find(|(good, ..)| !good) {
        return Err((field, format!("`{field}` must be {wanted}")));
    }
    file.load.check(recovery.object_size).map_err(|problem| {
        (problem.field, format!("`{}` must be {}", problem.field, problem.wanted))
    })
}

fn published_for(study: &str, source: &Source) -> Result<Option<PublishedSet>, InputError> {
    let path = Path::new(&source.file);
    let sets = PublishedSet::parse(&source.text, path).map_err(|error| match error {
        PublishedError::Wrong { line, problem, .. } => {
            InputError { place: source.file.clone(), line: Some(line), reason: problem }
        }
        error => InputError::new(source.file.clone(), error.to_string()),
    })?;
    Ok(sets.into_iter().find(|set| set.study == study))
}
