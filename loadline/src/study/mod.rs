//! `loadline study`

mod compare;
mod dry;
#[cfg(feature = "parquet")]
mod export;
mod import;
mod new;
mod progress;
mod report;
mod run;
mod timestamp;

pub(crate) use timestamp::rfc3339;

use crate::cli::{NameArg, StudyCommand};
use crate::failure::Failure;
use crate::show;
use loadline_study::{Configuration, InputError, Library, Shelf, Study};
use serde_json::json;

pub(crate) fn carry_out(command: StudyCommand) -> Result<(), Failure> {
    match command {
        StudyCommand::List(args) => list(args.json),
        StudyCommand::Show(args) => show_one(&args),
        StudyCommand::New(args) => new::carry_out(&args),
        StudyCommand::Import(args) => import::carry_out(&args, &library()),
        StudyCommand::Run(args) => run::carry_out(&args),
        StudyCommand::Report(args) => report::carry_out(&args),
        #[cfg(feature = "parquet")]
        StudyCommand::Export(args) => export::carry_out(&args),
        StudyCommand::Compare(args) => compare::carry_out(&args),
    }
}

/// The data files around the current folder, and the program's own.
pub(crate) fn library() -> Library {
    std::env::current_dir().map_or_else(|_| Library::built_in(), |folder| Library::around(&folder))
}

fn load(library: &Library, name: &str) -> Result<Study, InputError> {
    Study::new(&library.inputs(name, Vec::new())?)
}

fn list(as_json: bool) -> Result<(), Failure> {
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

fn table(studies: &[Study]) -> String {
    let rows: Vec<[String; 3]> = studies
        .iter()
        .map(|study| [&study.name, &study.drive, &study.title].map(String::clone))
        .collect();
    show::table(["study", "drive", "title"], &[1, 2], &rows)
}

/// What somebody sees who names no study.
fn which(library: &Library) -> Failure {
    let names = library.names(Shelf::Studies);
    let studies: Vec<Study> = names.iter().filter_map(|name| load(library, name).ok()).collect();
    Failure::Input(format!(
        "name a study, or the path of a study file\n\n{}\n  loadline study run recovery-nvme --quick    the first of them, a tenth of its work\n  \
         loadline study show recovery-nvme           what it asks, and of which setups\n  \
         loadline study new mine                     a study file of one's own",
        table(&studies)
    ))
}

fn show_one(args: &NameArg) -> Result<(), Failure> {
    let study = load(&library(), &args.name)?;
    match args.json.json {
        true => show::json(&study.in_json()),
        false => show::text(&in_words(&study)),
    }
}

fn in_words(study: &Study) -> String {
    let mut text = format!("{}: {}\n\n{}\n\n", study.name, study.title, study.question);
    for (name, value) in study.in_lines() {
        text += &format!("{name:<9}{value}\n");
    }
    for (name, setups) in &study.sets {
        text += &format!("set {name}: {}\n", setups.join(", "));
    }
    for claim in &study.expectations {
        text += &format!("expects: {}\n", claim.text);
    }
    let traits = |setup: &Configuration| setup.traits.iter().map(|of| of.value.clone()).collect();
    let row = |setup: &Configuration| {
        let values: Vec<String> = traits(setup);
        [vec![setup.name.clone()], values].concat()
    };
    let rows: Vec<Vec<String>> = study.setups.iter().map(row).collect();
    let names = study.setups.iter().take(1).flat_map(|setup| &setup.traits);
    let head: Vec<&str> = ["setup"].into_iter().chain(names.map(|of| of.name.as_str())).collect();
    let left: Vec<usize> = (1..head.len()).collect();
    let about = study.setups.iter().filter(|setup| !setup.about.is_empty());
    let about =
        about.map(|setup| format!("  {}: {}\n", setup.name, setup.about)).collect::<String>();
    text + "\n" + &show::table(head, &left, &rows) + "\n" + &about
}
