//! Where studies, drives and published figures are found: a path, the nearest data folder, or the program itself.

use crate::input::{InputError, Source, unknown};
use crate::inputs::{Inputs, kind_of};
use crate::kinds::declared;
use crate::overrides::Override;
use crate::place::Place;
use crate::shelf::Shelf;
use loadline_host::{read_text, why};
use std::path::{Path, PathBuf};

/// The files that the program carries, so that it works in any folder.
const BUILT_IN: &[(Shelf, &str, &str)] = &[
    (Shelf::Studies, "recovery-nvme", include_str!("../../../studies/recovery-nvme.toml")),
    (Shelf::Studies, "recovery-hdd-wal", include_str!("../../../studies/recovery-hdd-wal.toml")),
    (Shelf::Studies, "recovery-hdd", include_str!("../../../studies/recovery-hdd.toml")),
    (Shelf::Studies, "reservation", include_str!("../../../studies/reservation.toml")),
    (Shelf::Studies, "noisy-neighbour", include_str!("../../../studies/noisy-neighbour.toml")),
    (Shelf::Studies, "scrub-nvme", include_str!("../../../studies/scrub-nvme.toml")),
    (
        Shelf::Studies,
        "scrub-recovery-nvme",
        include_str!("../../../studies/scrub-recovery-nvme.toml"),
    ),
    (Shelf::Studies, "snaptrim-nvme", include_str!("../../../studies/snaptrim-nvme.toml")),
    (
        Shelf::Studies,
        "snaptrim-recovery-nvme",
        include_str!("../../../studies/snaptrim-recovery-nvme.toml"),
    ),
    (Shelf::Studies, "delete-nvme", include_str!("../../../studies/delete-nvme.toml")),
    (Shelf::Studies, "services-nvme", include_str!("../../../studies/services-nvme.toml")),
    (Shelf::Studies, "everything", include_str!("../../../studies/everything.toml")),
    (Shelf::Drives, "nvme-p3700", include_str!("../../../drives/nvme-p3700.toml")),
    (
        Shelf::Drives,
        "hdd-wal-constellation",
        include_str!("../../../drives/hdd-wal-constellation.toml"),
    ),
    (Shelf::Drives, "nvme-p3700-trim", include_str!("../../../drives/nvme-p3700-trim.toml")),
    (Shelf::Drives, "nvme-p4510", include_str!("../../../drives/nvme-p4510.toml")),
    (Shelf::Drives, "hdd-constellation", include_str!("../../../drives/hdd-constellation.toml")),
    (Shelf::Drives, "hdd-22tb-cdl", include_str!("../../../drives/hdd-22tb-cdl.toml")),
    (Shelf::Drives, "hdd-7200-4tb", include_str!("../../../drives/hdd-7200-4tb.toml")),
    (Shelf::Drives, "hdd-7200-6tb", include_str!("../../../drives/hdd-7200-6tb.toml")),
    (Shelf::Published, "recovery", include_str!("../../../published/recovery.toml")),
    (Shelf::Published, "services", include_str!("../../../published/services.toml")),
    (
        Shelf::Studies,
        "checkpoint-full-speed",
        include_str!("../../../studies/checkpoint-full-speed.toml"),
    ),
    (
        Shelf::Studies,
        "checkpoint-fixed-rate",
        include_str!("../../../studies/checkpoint-fixed-rate.toml"),
    ),
    (
        Shelf::Studies,
        "checkpoint-extreme",
        include_str!("../../../studies/checkpoint-extreme.toml"),
    ),
    (Shelf::Studies, "cdl-classes", include_str!("../../../studies/cdl-classes.toml")),
    (Shelf::StoreDrives, "nvme", include_str!("../../../drives/store/nvme.toml")),
    (Shelf::Published, "checkpoint", include_str!("../../../published/checkpoint.toml")),
];

/// Data files, those of the nearest folder first.
#[derive(Clone, Debug, Default)]
pub struct Library {
    root: Option<PathBuf>,
}

impl Library {
    /// The program's own files only.
    pub fn built_in() -> Library {
        Library { root: None }
    }

    /// The data folders of `folder` or of its nearest ancestor that has both studies and drives.
    pub fn around(folder: &Path) -> Library {
        let has_data = |folder: &&Path| {
            [Shelf::Studies, Shelf::Drives].iter().all(|shelf| folder.join(shelf.folder()).is_dir())
        };
        Library { root: folder.ancestors().find(has_data).map(Path::to_owned) }
    }

    /// A file by name, or by path if it is written like one. A drive may be called `sim:NAME`, too.
    ///
    /// # Errors
    /// [`InputError`] with the nearest right name.
    pub fn find(&self, shelf: Shelf, name: &str) -> Result<Source, InputError> {
        // As `cdl bench --dev` names a modelled drive beside real ones.
        let name = match shelf {
            Shelf::Drives => name.strip_prefix("sim:").unwrap_or(name),
            _ => name,
        };
        if name.ends_with(".toml") || name.contains('/') {
            return read(Path::new(name));
        }
        if let Some(path) = self.path(shelf, name).filter(|path| path.is_file()) {
            return read(&path);
        }
        let own = BUILT_IN.iter().find(|(on, called, _)| *on == shelf && *called == name);
        own.map(built_in_source).ok_or_else(|| {
            let names = self.names(shelf);
            let reason = unknown(shelf.noun(), name, names.iter().map(String::as_str));
            match Path::new(name).is_dir() {
                _ if name.is_empty() => InputError::new("an empty name", reason),
                true => InputError::of_name(format!("{reason}; it is a folder: give a file in it")),
                false if Path::new(name).is_file() => InputError::of_name(format!(
                    "{reason}; a file of that name is here: give ./{name}"
                )),
                false => InputError::of_name(reason),
            }
        })
    }

    /// Every name on a shelf: the program's own in their order, then what the folder adds.
    pub fn names(&self, shelf: Shelf) -> Vec<String> {
        let own = BUILT_IN.iter().filter(|(on, ..)| *on == shelf);
        let mut names: Vec<String> = own.map(|(_, name, _)| (*name).to_owned()).collect();
        let folder = self.root.as_ref().map(|root| root.join(shelf.folder()));
        let entries = folder.and_then(|folder| std::fs::read_dir(folder).ok());
        let mut found: Vec<String> = entries
            .into_iter()
            .flatten()
            .filter_map(|entry| {
                let entry = entry.ok().filter(|entry| entry.path().is_file())?;
                entry.file_name().to_str()?.strip_suffix(".toml").map(str::to_owned)
            })
            .filter(|name| !names.contains(name))
            .collect();
        found.sort();
        names.append(&mut found);
        names
    }

    /// Everything that a study is computed from.
    ///
    /// # Errors
    /// [`InputError`] if the study, its drive or its published figures are not there or cannot be read.
    pub fn inputs(&self, study: &str, overrides: Vec<Override>) -> Result<Inputs, InputError> {
        let study = self.find(Shelf::Studies, study)?;
        let kind = declared(kind_of(&study)?);
        let named = (kind.named_in)(&study, &overrides)?;
        let at = |span: &std::ops::Range<usize>, error: InputError| match error.line {
            None if !span.is_empty() => study.error_at(span.start, error.reason),
            _ => error,
        };
        let drive = self
            .find(kind.drives, named.drive.get_ref())
            .map_err(|error| at(&named.drive.span(), error))?;
        let published = match &named.published {
            Some(name) => Some(
                self.find(Shelf::Published, name.get_ref())
                    .map_err(|error| at(&name.span(), error))?,
            ),
            None => None,
        };
        Ok(Inputs {
            study,
            drive,
            published,
            load: None,
            described: None,
            twin: None,
            overrides,
            place: Place::Sim,
        })
    }

    /// A description of a Ceph cluster, for the place of a study's own.
    ///
    /// # Errors
    /// [`InputError`] if it cannot be read.
    pub fn description(path: &Path) -> Result<Source, InputError> {
        read(path)
    }

    /// A test or a configuration of another tool, of which a study is made.
    ///
    /// # Errors
    /// [`InputError`] if it cannot be read.
    pub fn foreign(path: &Path) -> Result<Source, InputError> {
        read(path)
    }

    /// A fio job file, for the place of a study's own load.
    ///
    /// # Errors
    /// [`InputError`] if it cannot be read.
    pub fn job_file(path: &Path) -> Result<Source, InputError> {
        read(path)
    }

    fn path(&self, shelf: Shelf, name: &str) -> Option<PathBuf> {
        Some(self.root.as_ref()?.join(shelf.folder()).join(format!("{name}.toml")))
    }
}

fn built_in_source((shelf, name, text): &(Shelf, &str, &str)) -> Source {
    Source {
        name: (*name).to_owned(),
        file: format!("{}/{name}.toml (built in)", shelf.folder()),
        text: (*text).to_owned(),
    }
}

fn read(path: &Path) -> Result<Source, InputError> {
    let file = path.display().to_string();
    let text = read_text(path).map_err(|error| {
        InputError::new(file.clone(), format!("cannot be read: {}", why(&error)))
    })?;
    let name = path.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
    Ok(Source { name, file, text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Claim;
    use crate::kind::StudyKind;
    use crate::result::Configuration;
    use crate::study::Study;

    #[test]
    fn every_study_of_the_program_is_sound() {
        let library = Library::built_in();
        for name in library.names(Shelf::Studies) {
            let inputs = library.inputs(&name, Vec::new()).expect("the study's files are there");
            let study = Study::new(&inputs).expect("the study is sound");
            let sizes = ["default", "all"].map(|set| study.choose(set).map_or(0, |of| of.len()));
            let (default, all) = match (study.kind, name.as_str()) {
                (StudyKind::Recovery, "reservation") => (5, 8),
                (StudyKind::Recovery, "noisy-neighbour") => (6, 6),
                (StudyKind::Recovery, "recovery-nvme") => (11, 14),
                (StudyKind::Recovery, _) => (9, 12),
                (StudyKind::Limits, _) => (4, 6),
                (StudyKind::Services, "scrub-nvme") => (4, 17),
                (StudyKind::Services, "delete-nvme") => (6, 13),
                (StudyKind::Services, "everything") => (6, 11),
                (StudyKind::Services, "services-nvme") => (4, 7),
                (StudyKind::Services, _) => (6, 8),
                // What runs by itself is all that was published, or all there is.
                (StudyKind::Checkpoint, _) => (sizes[0], 0),
            };
            assert_eq!(sizes, [default, all], "{name}");
            // What nobody published is Loadline's own question.
            let own = ["reservation", "noisy-neighbour", "cdl-classes"].contains(&name.as_str())
                || study.kind == StudyKind::Services && name != "scrub-nvme";
            assert_eq!(study.published.is_none(), own, "{name}");
            let expects =
                ["reservation", "noisy-neighbour", "recovery-nvme"].contains(&name.as_str());
            assert_eq!(study.expectations.is_empty(), !expects, "{name}");
            for published in study.published.iter().filter(|_| study.kind == StudyKind::Checkpoint)
            {
                let known = |name: &String| study.setups.iter().any(|own| own.name == *name);
                assert!(published.setups.iter().all(|(setup, _)| known(setup)), "{name}");
                assert!(published.claims.iter().flat_map(Claim::setups).all(known), "{name}");
            }
        }
    }

    /// "The same queue with those limits lifted" stood beside a setup in whose study no other has that queue, and a report explains each by itself.
    #[test]
    fn every_setup_is_explained_by_itself() {
        let library = Library::built_in();
        for name in library.names(Shelf::Studies) {
            let inputs = library.inputs(&name, Vec::new()).expect("the study's files are there");
            let study = Study::new(&inputs).expect("the study is sound");
            for Configuration { name: setup, about, .. } in &study.setups {
                assert!(!about.is_empty(), "{name}: {setup} is not explained");
                let refers = [
                    "the same",
                    "those ",
                    "the study's",
                    "the profile ",
                    "the promise",
                    "as log",
                    "as checkpoint",
                    "both,",
                ];
                let refers = refers.into_iter().find(|word| about.contains(word));
                assert_eq!(refers, None, "{name}: {setup} is explained by something else: {about}");
            }
        }
    }

    #[test]
    fn names_that_do_not_exist_are_refused_with_the_nearest() {
        let check = |shelf, name: &str, says: &str| {
            let error = Library::built_in().find(shelf, name).expect_err("there is none");
            assert!(error.to_string().contains(says), "{error}");
        };
        check(Shelf::Studies, "recovery-nvm", "did you mean `recovery-nvme`?");
        check(Shelf::Drives, "hdd-constelation", "did you mean `hdd-constellation`?");
        check(Shelf::Studies, "nothing/here.toml", "nothing/here.toml: cannot be read");
    }
}
