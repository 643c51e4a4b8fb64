//! `loadline study compare`

use super::report::kind_of_folder;
use crate::cli::CompareArgs;
use crate::failure::Failure;
use crate::show;
use loadline_study::{Kind, RunFolder, Session, SessionError, StudyResult, compare_results};
use serde_json::json;
use std::path::Path;

pub(super) fn carry_out(args: &CompareArgs) -> Result<(), Failure> {
    let (old, new) = (result(&args.old)?, result(&args.new)?);
    if old.study != new.study {
        let text = format!(
            "{} holds {} and {} holds {}: only results of one study can be compared",
            args.old.display(),
            old.study,
            args.new.display(),
            new.study
        );
        return Err(Failure::Input(text));
    }
    let figures = compare_results(&old, &new);
    if args.json.json {
        return show::json(&json!({ "study": old.study, "figures": figures }));
    }
    let rows: Vec<[String; 6]> = figures
        .iter()
        .map(|figure| {
            [
                figure.setup.clone(),
                figure.figure.to_owned(),
                format!("{:.2}", figure.old),
                format!("{:.2}", figure.new),
                format!("{:+.1} %", figure.change * 100.0),
                figure.verdict.to_owned(),
            ]
        })
        .collect();
    let head = ["setup", "figure", "old", "new", "change", "verdict"];
    show::text(&show::table(head, &[1, 5], &rows))
}

fn result(folder: &Path) -> Result<StudyResult, Failure> {
    let folder = RunFolder::at(folder);
    if kind_of_folder(&folder)? != Kind::Recovery {
        let text = format!(
            "{} holds a checkpoint study; compare knows recovery studies: put two reports side by side",
            folder.path().display()
        );
        return Err(Failure::Input(text));
    }
    match folder.result()? {
        Some(result) => Ok(result),
        // A study that was not concluded says what it lacks.
        None => {
            let session = <Session>::reopen(folder)?;
            session.conclude().map_err(|error: SessionError| error.into())
        }
    }
}
