//! The studies that there are.

use crate::failure::Failure;
use crate::library::library;
use crate::show;
use loadline_study::{InputError, Library, Shelf, Study};
use serde_json::json;

pub(super) fn carry_out(as_json: bool) -> Result<(), Failure> {
    let library = library();
    let names = library.names(Shelf::Studies);
    let studies: Vec<Study> =
        names.iter().map(|name| load(&library, name)).collect::<Result<_, _>>()?;
    if as_json {
        let studies = studies.iter().map(|study| {
            json!({
                "name": study.name, "title": study.title, "question": study.question,
                "drive": study.drive, "setups": study.setups.len(),
                "sets": study.sets.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            })
        });
        return show::json(&json!({ "studies": studies.collect::<Vec<_>>() }));
    }
    show::text(&table(&studies))
}

/// What somebody sees who names no study.
pub(super) fn which(library: &Library) -> Failure {
    let names = library.names(Shelf::Studies);
    let studies: Vec<Study> = names.iter().filter_map(|name| load(library, name).ok()).collect();
    Failure::Input(format!(
        "name a study, or the path of a study file\n\n{}\n  loadline study run recovery-nvme --quick    the first of them, a tenth of its work\n  \
         loadline study show recovery-nvme           what it asks, and of which setups\n  \
         loadline study new mine                     a study file of one's own",
        table(&studies)
    ))
}

/// A study by its name, or by the path of its file.
pub(super) fn load(library: &Library, name: &str) -> Result<Study, InputError> {
    Study::new(&library.inputs(name, Vec::new())?)
}

fn table(studies: &[Study]) -> String {
    let rows: Vec<[String; 3]> = studies
        .iter()
        .map(|study| [&study.name, &study.drive, &study.title].map(String::clone))
        .collect();
    show::table(["study", "drive", "title"], &[1, 2], &rows)
}
