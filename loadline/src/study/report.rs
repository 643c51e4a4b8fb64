//! `loadline study report`

use super::shown::Shown;
use crate::cli::ReportArgs;
use crate::failure::Failure;
use crate::show;
use loadline_study::{CheckpointStudy, Kind, LimitsStudy, RunFolder, Session, SessionError, Study};

pub(super) fn carry_out(args: &ReportArgs) -> Result<(), Failure> {
    match kind_of_folder(&RunFolder::at(&args.folder))? {
        Kind::Recovery => write_again::<Study>(args),
        Kind::Checkpoint => write_again::<CheckpointStudy>(args),
        Kind::Limits => write_again::<LimitsStudy>(args),
    }
}

/// Which steps the study of a folder takes.
pub(super) fn kind_of_folder(folder: &RunFolder) -> Result<Kind, SessionError> {
    let manifest = folder.manifest()?;
    let manifest = manifest.ok_or_else(|| SessionError::NoStudy(folder.path().to_owned()))?;
    Ok(manifest.inputs.kind()?)
}

fn write_again<S: Shown>(args: &ReportArgs) -> Result<(), Failure> {
    let session = Session::<S>::reopen(RunFolder::at(&args.folder))?;
    let result = session.conclude()?;
    S::report(&args.folder, &result, session.facts())?;
    if args.json.json {
        return show::json(&S::summary(&result, session.facts()));
    }
    let report = args.folder.join("report.html");
    let table = S::table(&result, super::run::width());
    show::text(&format!("{table}\nreport: {}\n", report.display()))
}
