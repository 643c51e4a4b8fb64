//! `loadline study compare`

use crate::cli::CompareArgs;
use crate::failure::Failure;
use crate::show;
use loadline_study::{ComparedFigure, RunFolder, Session, StudyResult, UNTESTED, compare_results};
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
        let side = |result: &StudyResult| json!({ "world": result.world, "scale": result.scale, "drive": result.drive.name });
        let (from, to) = (side(&old), side(&new));
        return show::json(&json!({
            "study": old.study, "old": from, "new": to, "figures": figures,
        }));
    }
    let rows: Vec<[String; 6]> = figures
        .iter()
        .map(|figure| {
            [
                figure.setup.clone(),
                figure.figure.clone(),
                with_interval(figure.old, figure.old_half_width),
                with_interval(figure.new, figure.new_half_width),
                format!("{:+.1} %", figure.change * 100.0),
                figure.verdict.to_owned(),
            ]
        })
        .collect();
    let head = ["setup", "figure", "old", "new", "change", "verdict"];
    let table = show::table(head, &[1, 5], &rows);
    let note = if figures.iter().any(|figure| figure.verdict == UNTESTED) { ONE_RUN } else { "" };
    show::text(&format!(
        "{}\n{table}{note}{}",
        sides(&old, &new),
        model_error(&old, &new, &figures)
    ))
}

const ONE_RUN: &str = "\nnot tested: one run a setup cannot tell a difference from chance; run both with --repeat 3 or more\n";

/// A mean with half of its 95 % interval, where there is one.
fn with_interval(mean: f64, half_width: Option<f64>) -> String {
    match half_width {
        Some(half_width) => format!("{mean:.2} ± {half_width:.2}"),
        None => format!("{mean:.2}"),
    }
}

/// What each side was run on, and whether they did the same work.
fn sides(old: &StudyResult, new: &StudyResult) -> String {
    let side = |name: &str, result: &StudyResult| {
        let runs = result.setups.iter().map(|setup| setup.repeats.len()).max().unwrap_or(0);
        let (drive, scale) = (&result.drive, result.scale);
        let on = match result.is_real() {
            true if result.world == "ceph" => format!("{} on {}", drive.name, drive.model),
            true => format!("real files on {}", drive.model),
            false => format!("simulated {} ({})", drive.name, drive.model),
        };
        format!("{name}  {on}, scale {scale}, {runs} per setup\n")
    };
    let mut text = side("old", old) + &side("new", new);
    if old.scale != new.scale {
        text += "note: the scales differ, so times and numbers of objects are not comparable; rates are\n";
    }
    text
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
            figure.figure == name && figure.old > 0.0 && figure.new > 0.0
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
        None => Ok(Session::reopen(folder)?.conclude()?),
    }
}
