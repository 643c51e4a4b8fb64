//! The kinds of studies there are: what each declares, found by its name.

use crate::declared::Declared;
use crate::input::InputError;
use crate::inputs::Inputs;
use crate::kind::StudyKind;
use crate::overrides::Override;
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

impl Inputs {
    /// The override that makes the study quick: a tenth of the published work, a twentieth of services (or what their file says by `on_disks`), or a
    /// quarter of what is done on real disks without it; of a checkpoint study a quarter of its periods, since a smaller store would show other ratios; of a limits study a tenth of
    /// the measured time.
    ///
    /// # Errors
    /// [`InputError`] if its file, or something that was set, cannot be used.
    pub fn quick(&self) -> Result<Override, InputError> {
        let (key, value) = (declared(self.kind()?).quick)(self)?;
        Ok(Override { key: key.to_owned(), value })
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
            assert!(inputs.quick().is_ok(), "{kind:?}");
        }
    }

    /// `--quick --on` took a quarter of the modelled run's periods, which is one second on a real disk: of one second the lowest is the median. Of a
    /// recovery it took a tenth of the published work, fifty times what a real disk does without it.
    #[test]
    fn a_quick_run_on_a_disk_is_a_part_of_what_runs_on_disks() {
        let disks = RealDisks::Files("disk".into());
        let client = ClientKind::Own;
        let host = Place::Host(HostPlace { disks, client, keep_files: false, overwrite: false });
        let quick = |study: &str, place: &Place, set: &[&str]| {
            let set = set.iter().map(|text| text.parse().expect("an override")).collect();
            let inputs = Library::built_in().inputs(study, set).expect("it is there");
            let mut inputs = Inputs { place: place.clone(), ..inputs };
            let whole = Study::new(&inputs).expect("it can be used").scale;
            let quick = inputs.quick().expect("there is one");
            inputs.overrides.insert(0, quick.clone());
            assert!(Study::new(&inputs).expect("it can be used").scale <= whole, "{study} {quick}");
            quick.to_string()
        };
        let check = |study: &str, simulated: &str, real: &str| {
            let found = [quick(study, &Place::Sim, &[]), quick(study, &host, &[])];
            assert_eq!(found, [simulated, real].map(|set| format!("--set {set}")), "{study}");
        };
        check("checkpoint-extreme", "periods=3", "periods=24");
        check("recovery-nvme", "scale=0.1", "scale=0.0005");
        check("scrub-nvme", "scale=0.05", "scale=0.0005");
        check("services-nvme", "scale=1", "scale=1");
        let paged = quick("recovery-nvme", &Place::Sim, &["store=paged"]);
        assert_eq!(paged, "--set scale=0.0005", "simulated disks hold every byte, too");
    }
}
