//! The kinds of studies there are: what each declares, found by its name.

use crate::declared::Declared;
use crate::input::InputError;
use crate::inputs::Inputs;
use crate::kind::StudyKind;
use crate::study::Study;
use crate::{checkpoint, limits, recovery, services};

pub(crate) fn declared(kind: StudyKind) -> &'static Declared {
    match kind {
        StudyKind::Recovery => &recovery::DECLARED,
        StudyKind::Checkpoint => &checkpoint::DECLARED,
        StudyKind::Limits => &limits::DECLARED,
        StudyKind::Services => &services::DECLARED,
    }
}

impl StudyKind {
    /// The text of a study file of this kind to begin with, under a title.
    pub fn new_file(self, title: &str) -> String {
        declared(self).template.replacen("NAME", title, 1)
    }

    /// Whether it runs on real disks; the error says why not.
    ///
    /// # Errors
    /// The reason, as a sentence.
    pub fn runs_on_disks(self) -> Result<(), &'static str> {
        declared(self).not_on_disks.map_or(Ok(()), Err)
    }

    /// Whether it runs on a Ceph cluster; the error says why not.
    ///
    /// # Errors
    /// The reason, as a sentence.
    pub fn runs_on_ceph(self) -> Result<(), &'static str> {
        declared(self).not_on_ceph.map_or(Ok(()), Err)
    }

    /// Whether its ops can be traced; the error says why not.
    ///
    /// # Errors
    /// The reason, as a sentence.
    pub fn is_traced(self) -> Result<(), &'static str> {
        declared(self).not_traced.map_or(Ok(()), Err)
    }
}

impl Study {
    /// The study that the inputs describe.
    ///
    /// # Errors
    /// [`InputError`] naming file, line and field for anything that cannot be used.
    pub fn new(inputs: &Inputs) -> Result<Study, InputError> {
        (declared(inputs.kind()?).read)(inputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Source;
    use crate::library::Library;
    use crate::place::Place;
    use crate::shelf::Shelf;
    use loadline_testbed::{ClientKind, HostPlace, RealDisks};

    /// Somebody begins with it: it is a study as it stands, and every setup says what it is.
    #[test]
    fn a_file_to_begin_with_is_a_sound_study() {
        let library = Library::built_in();
        let kinds =
            [StudyKind::Recovery, StudyKind::Checkpoint, StudyKind::Limits, StudyKind::Services];
        for kind in kinds {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("own.toml");
            std::fs::write(&path, kind.new_file("My own")).expect("it can be written");
            let path = path.to_str().expect("a path in UTF-8");
            let Source { file, .. } = library.find(Shelf::Studies, path).expect("it was written");
            let inputs = library.inputs(path, Vec::new()).expect("its drive is there");
            let study = Study::new(&inputs).unwrap_or_else(|error| panic!("{file}: {error}"));
            assert_eq!((study.kind, study.title.as_str()), (kind, "My own"));
            assert!(study.setups.iter().all(|setup| !setup.about.is_empty()), "{kind:?}");
            assert!(library.quick(path, &Place::Sim).is_ok(), "{kind:?}");
        }
    }

    /// `--quick --on` took a quarter of the modelled run's periods, which is one second on a real disk: of one second the lowest is the median.
    #[test]
    fn a_quick_run_on_a_disk_is_a_part_of_what_runs_on_disks() {
        let disks = RealDisks::Files("disk".into());
        let client = ClientKind::Own;
        let host = Place::Host(HostPlace { disks, client, keep_files: false, overwrite: false });
        let library = Library::built_in();
        let periods =
            |place| library.quick("checkpoint-extreme", place).expect("there is one").to_string();
        assert_eq!(periods(&Place::Sim), "--set periods=3");
        assert_eq!(periods(&host), "--set periods=24");
    }
}
