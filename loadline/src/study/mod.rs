//! `loadline study`

mod compare;
mod dry;
#[cfg(feature = "parquet")]
mod export;
mod import;
mod list;
mod new;
mod progress;
mod report;
mod run;

use crate::cli::{NameArg, StudyCommand};
use crate::failure::Failure;
use crate::library::library;
use crate::show;
use loadline_study::{Configuration, Study};

pub(crate) fn carry_out(command: StudyCommand) -> Result<(), Failure> {
    match command {
        StudyCommand::List(args) => list::carry_out(args.json),
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

fn show_one(args: &NameArg) -> Result<(), Failure> {
    let study = list::load(&library(), &args.name)?;
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
