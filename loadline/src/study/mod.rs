//! `loadline study`

mod checkpoint;
mod compare;
mod dry;
mod limits;
mod progress;
mod recovery;
mod report;
mod run;
mod shown;
mod timestamp;

pub(crate) use timestamp::rfc3339;

use crate::cli::{NameArg, StudyCommand};
use crate::failure::Failure;
use crate::show;
use loadline_study::{CheckpointStudy, InputError, Kind, Library, LimitsStudy, Shelf, Study};
use serde_json::json;

pub(crate) fn carry_out(command: StudyCommand) -> Result<(), Failure> {
    match command {
        StudyCommand::List(args) => list(args.json),
        StudyCommand::Show(args) => show_one(&args),
        StudyCommand::Run(args) => run::carry_out(&args),
        StudyCommand::Report(args) => report::carry_out(&args),
        StudyCommand::Compare(args) => compare::carry_out(&args),
    }
}

/// The data files around the current folder, and the program's own.
pub(crate) fn library() -> Library {
    std::env::current_dir().map_or_else(|_| Library::built_in(), |folder| Library::around(&folder))
}

/// A study of any kind.
enum AnyStudy {
    Recovery(Study),
    Checkpoint(CheckpointStudy),
    Limits(LimitsStudy),
}

fn load(library: &Library, name: &str) -> Result<AnyStudy, InputError> {
    let inputs = library.inputs(name, Vec::new())?;
    Ok(match inputs.kind()? {
        Kind::Recovery => AnyStudy::Recovery(Study::new(&inputs)?),
        Kind::Checkpoint => AnyStudy::Checkpoint(CheckpointStudy::new(&inputs)?),
        Kind::Limits => AnyStudy::Limits(LimitsStudy::new(&inputs)?),
    })
}

/// A study in a list.
struct Listed<'a> {
    name: &'a str,
    title: &'a str,
    question: &'a str,
    drive: &'a str,
    setups: usize,
    sets: Vec<&'a str>,
}

impl AnyStudy {
    fn listed(&self) -> Listed<'_> {
        match self {
            AnyStudy::Recovery(study) => Listed {
                name: &study.name,
                title: &study.title,
                question: &study.question,
                drive: &study.drive.name,
                setups: study.setups.len(),
                sets: study.sets.iter().map(|(name, _)| name.as_str()).collect(),
            },
            AnyStudy::Checkpoint(study) => Listed {
                name: &study.name,
                title: &study.title,
                question: &study.question,
                drive: &study.drive_name,
                setups: study.setups.len(),
                sets: study.sets.iter().map(|(name, _)| name.as_str()).collect(),
            },
            AnyStudy::Limits(study) => Listed {
                name: &study.name,
                title: &study.title,
                question: &study.question,
                drive: &study.drive.name,
                setups: study.setups.len(),
                sets: study.sets.iter().map(|(name, _)| name.as_str()).collect(),
            },
        }
    }
}

fn list(as_json: bool) -> Result<(), Failure> {
    let library = library();
    let names = library.names(Shelf::Studies);
    let studies: Vec<AnyStudy> =
        names.iter().map(|name| load(&library, name)).collect::<Result<_, _>>()?;
    let listed: Vec<Listed<'_>> = studies.iter().map(AnyStudy::listed).collect();
    if as_json {
        let studies = listed.iter().map(|study| {
            json!({
                "name": study.name, "title": study.title, "question": study.question,
                "drive": study.drive, "setups": study.setups, "sets": study.sets,
            })
        });
        return show::json(&json!({ "studies": studies.collect::<Vec<_>>() }));
    }
    let rows: Vec<[String; 3]> = listed
        .iter()
        .map(|study| [study.name, study.drive, study.title].map(str::to_owned))
        .collect();
    show::text(&show::table(["study", "drive", "title"], &[1, 2], &rows))
}

fn show_one(args: &NameArg) -> Result<(), Failure> {
    match (load(&library(), &args.name)?, args.json.json) {
        (AnyStudy::Recovery(study), true) => show::json(&recovery::study_json(&study)),
        (AnyStudy::Recovery(study), false) => show::text(&recovery::study_text(&study)),
        (AnyStudy::Checkpoint(study), true) => show::json(&checkpoint::study_json(&study)),
        (AnyStudy::Checkpoint(study), false) => show::text(&checkpoint::study_text(&study)),
        (AnyStudy::Limits(study), true) => show::json(&limits::study_json(&study)),
        (AnyStudy::Limits(study), false) => show::text(&limits::study_text(&study)),
    }
}
