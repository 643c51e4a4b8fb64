//! The texts that a study is computed from.

use crate::input::{InputError, Source, fingerprint};
use crate::kind::StudyKind;
use crate::overrides::{Override, scale_of};
use crate::place::Place;
use loadline_sim::Drive;
use serde::{Deserialize, Serialize};
use toml::Spanned;

/// The share of the published work that is done on real disks unless somebody asks for another: 200 objects of 4 MiB.
pub(crate) const HOST_SCALE: f64 = 0.002;

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
    /// A cluster that `loadline ceph facts` described, in the place of the study's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub described: Option<Source>,
    /// What real runs found of their machine, whose simulated twin this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin: Option<Source>,
    /// `--set`, in order.
    pub overrides: Vec<Override>,
    /// Where it runs.
    #[serde(default)]
    pub place: Place,
}

/// Other files that a study file asks for, by name.
pub(crate) struct NamedFiles {
    /// Its drive; a name from the command line has an empty span.
    pub(crate) drive: Spanned<String>,
    /// Its published figures.
    pub(crate) published: Option<Spanned<String>>,
}

impl Inputs {
    /// Which steps the study takes.
    ///
    /// # Errors
    /// [`InputError`] if its file does not say.
    pub fn kind(&self) -> Result<StudyKind, InputError> {
        kind_of(&self.study)
    }

    /// The error about a field: at the `--set` that set it last, or at its line in the file.
    pub(crate) fn refuse(&self, field: &str, reason: String) -> InputError {
        match self.overrides.iter().rfind(|change| change.key == field) {
            Some(typed) => InputError::new(typed.to_string(), reason),
            None => self.study.error_in(field, reason),
        }
    }

    /// The error about a field of a section that others have a field of that name in, too: at the `--set section_field` that set it last, or at
    /// its line in the file.
    pub(crate) fn refuse_in(&self, section: &str, field: &str, reason: String) -> InputError {
        let key = format!("{section}_{field}");
        match self.overrides.iter().rfind(|change| change.key == key) {
            Some(typed) => InputError::new(typed.to_string(), reason),
            None => self.study.error_under(section, field, reason),
        }
    }

    /// Whether the command line sets a figure.
    pub(crate) fn is_set(&self, key: &str) -> bool {
        self.overrides.iter().any(|change| change.key == key)
    }

    /// The drive under test, of a study whose drives are calibrated.
    ///
    /// # Errors
    /// [`InputError`] that names the drive file and its line.
    pub(crate) fn calibrated_drive(&self) -> Result<Drive, InputError> {
        let Source { name, file, text, .. } = &self.drive;
        Drive::parse(name, file, text).map_err(|error| InputError {
            place: error.file,
            line: error.line,
            reason: error.reason,
        })
    }

    /// What was asked for that makes another load or another system of the published ones; `beside` may be set without that.
    pub(crate) fn departures(&self, beside: &[&str]) -> Vec<String> {
        let set = self.overrides.iter().filter(|change| !beside.contains(&change.key.as_str()));
        let load = self.load.iter().map(|load| format!("--load {}", load.file));
        let described = self.described.iter().map(|of| format!("--described {}", of.file));
        let twin = self.twin.iter().map(|of| format!("--twin {}", of.file));
        load.chain(described).chain(twin).chain(set.map(ToString::to_string)).collect()
    }

    /// The scale that was asked for. Without `--set scale` it is the whole published work in the simulated world, and what a
    /// laptop's disk does in minutes in the real one, or where a simulated one holds every byte.
    pub(crate) fn scale(&self, holds_every_byte: bool) -> Result<f64, InputError> {
        let whole = if self.is_small(holds_every_byte) { HOST_SCALE } else { 1.0 };
        Ok(scale_of(&self.overrides)?.unwrap_or(whole))
    }

    /// The scale of a quick run: this share of the published work, or a quarter of what is done where that is little by itself.
    pub(crate) fn quick_scale(&self, holds_every_byte: bool, of_published: f64) -> f64 {
        if self.is_small(holds_every_byte) { HOST_SCALE / 4.0 } else { of_published }
    }

    fn is_small(&self, holds_every_byte: bool) -> bool {
        holds_every_byte || self.place != Place::Sim
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
        parts.extend(self.described.as_ref().map(|described| described.text.as_str()));
        parts.extend(self.twin.as_ref().map(|twin| twin.text.as_str()));
        fingerprint(&parts)
    }
}

/// The kind of a study; nothing else of its file is looked at.
pub(crate) fn kind_of(source: &Source) -> Result<StudyKind, InputError> {
    #[derive(Deserialize)]
    struct Head {
        kind: StudyKind,
    }
    let head: Head = toml::from_str(&source.text).map_err(|error| source.toml_error(&error))?;
    Ok(head.kind)
}
