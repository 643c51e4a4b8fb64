//! `loadline study compare`

use crate::cli::CompareArgs;
use crate::failure::Failure;
use crate::show;
use loadline_study::{
    ComparedFigure, RunFolder, Session, SetupPairs, StudyResult, UNTESTED, compare_results,
};
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
    let pairs = SetupPairs::of(&old, &new);
    let figures = compare_results(&old, &new, &pairs);
    let notes = notes(&old, &new);
    if args.json.json {
        let side = |result: &StudyResult| {
            json!({
                "world": result.world, "scale": result.scale, "drive": result.drive.name, "load": result.load,
            })
        };
        let (from, to) = (side(&old), side(&new));
        return show::json(&json!({
            "study": old.study, "old": from, "new": to, "notes": notes, "figures": figures,
            "pairs": pairs.pairs.iter().map(|pair| json!({
                "old": pair.old.name(), "new": pair.new.name(), "differs": pair.differs,
            })).collect::<Vec<_>>(),
            "unpaired": pairs.unpaired.iter().map(|setup| json!({
                "setup": setup.name, "of": if setup.is_new { "new" } else { "old" }, "why": setup.why,
            })).collect::<Vec<_>>(),
        }));
    }
    let rows: Vec<[String; 6]> = figures
        .iter()
        .map(|figure| {
            [
                both_names(&figure.setup, &figure.new_setup),
                figure.figure.clone(),
                with_interval(figure.old, figure.old_half_width),
                with_interval(figure.new, figure.new_half_width),
                figure.change.map_or(String::new(), |change| format!("{:+.1} %", change * 100.0)),
                figure.verdict.to_owned(),
            ]
        })
        .collect();
    let head = ["setup", "figure", "old", "new", "change", "verdict"];
    let table = show::table(head, &[1, 5], &rows);
    let untested =
        if figures.iter().any(|figure| figure.verdict == UNTESTED) { ONE_RUN } else { "" };
    show::text(&format!(
        "{}\n{table}{untested}{}{}",
        sides(&old, &new, &notes),
        in_pairs(&pairs),
        model_error(&old, &new, &figures)
    ))
}

const ONE_RUN: &str = "\nnot tested: one run a setup cannot tell a difference from chance; run both with --repeat 3 or more\n";

/// A setup by the names that both results have for it.
fn both_names(old: &str, new: &str) -> String {
    if old == new { old.to_owned() } else { format!("{old} = {new}") }
}

/// Which setups stand side by side though they differ, and which do not, and why. Nothing is to be said where all are the same.
fn in_pairs(pairs: &SetupPairs<'_>) -> String {
    let mut text = String::new();
    for pair in &pairs.pairs {
        let names = both_names(pair.old.name(), pair.new.name());
        match &pair.differs {
            Some(differs) => {
                text += &format!("paired      {names}, though they differ: {differs}\n")
            }
            None if pair.old.name() != pair.new.name() => {
                text += &format!("paired      {names}: queue, profile and settings are the same\n");
            }
            None => {}
        }
    }
    for setup in &pairs.unpaired {
        let of = if setup.is_new { "new" } else { "old" };
        text += &format!("not paired  {} of {of}: {}\n", setup.name, setup.why);
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// A mean with half of its 95 % interval, where there is one.
fn with_interval(mean: f64, half_width: Option<f64>) -> String {
    match half_width {
        Some(half_width) => format!("{mean:.2} ± {half_width:.2}"),
        None => format!("{mean:.2}"),
    }
}

/// In what they were not the same work.
fn notes(old: &StudyResult, new: &StudyResult) -> Vec<String> {
    let mut notes = Vec::new();
    if old.scale != new.scale {
        notes.push(
            "the scales differ, so times and numbers of objects are not comparable; rates are"
                .to_owned(),
        );
    }
    if old.load != new.load {
        notes.push(format!(
            "the clients' loads differ ({} in old, {} in new), and so does what they see and leave to others",
            old.load, new.load
        ));
    }
    notes
}

/// What each side was run on, and whether they did the same work.
fn sides(old: &StudyResult, new: &StudyResult, notes: &[String]) -> String {
    let side = |name: &str, result: &StudyResult| {
        let runs = result.setups.iter().map(|setup| setup.repeats.len()).max().unwrap_or(0);
        let (drive, scale) = (&result.drive, result.scale);
        let on = match result.is_real() {
            true if result.is_of_ceph() => format!("{} on {}", drive.name, drive.model),
            true => format!("real files on {}", drive.model),
            false => format!("simulated {} ({})", drive.name, drive.model),
        };
        format!("{name}  {on}, scale {scale}, {runs} per setup\n")
    };
    let notes = notes.iter().map(|note| format!("note: {note}\n"));
    side("old", old) + &side("new", new) + &notes.collect::<String>()
}

/// Between a simulated and a real result: by how much the model misses each figure, over all setups.
fn model_error(old: &StudyResult, new: &StudyResult, figures: &[ComparedFigure]) -> String {
    if old.is_real() == new.is_real() {
        return String::new();
    }
    let mut text =
        "\nmodel error (simulated / real - 1), over the setups that both have:\n".to_owned();
    let mut names: Vec<&str> = figures.iter().map(|figure| figure.figure.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let of = |figure: &&ComparedFigure| {
            let is_comparable = figure.change.is_some();
            figure.figure == name && is_comparable && figure.old > 0.0 && figure.new > 0.0
        };
        let errors = figures.iter().filter(of).map(|figure| match old.is_real() {
            true => figure.new / figure.old - 1.0,
            false => figure.old / figure.new - 1.0,
        });
        let mut errors: Vec<f64> = errors.collect();
        errors.sort_by(f64::total_cmp);
        if let (Some(least), Some(most)) = (errors.first(), errors.last()) {
            text += &format!("  {name:<18}{:+.0} % to {:+.0} %\n", least * 100.0, most * 100.0);
        }
    }
    text + "what the model leaves out: docs/drive-models.md and docs/real-runs.md\n"
}

fn result(folder: &Path) -> Result<StudyResult, Failure> {
    let folder = RunFolder::at(folder);
    // A study that was not concluded says what it lacks, and a folder that holds none that there is none.
    match folder.manifest()?.and(folder.result()?) {
        Some(result) => Ok(result),
        None => Ok(Session::reopen(folder)?.result()?),
    }
}
