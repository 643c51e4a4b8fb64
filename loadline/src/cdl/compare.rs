//! `loadline cdl compare`

use crate::failure::Failure;
use crate::show;
use clap::Args;
use loadline_cdl::{
    BenchFolder, CompareError, ComparedBenches, ComparedClass, ComparedVerdict, ReadsFigure,
    compare,
};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct CdlCompareArgs {
    /// A benchmark's folder, ours or one of cdl_bench.sh
    #[arg(value_name = "DIR")]
    first: PathBuf,
    /// The one to be held against it
    #[arg(value_name = "DIR")]
    second: PathBuf,
    /// How far figures may lie apart, in percent of the first's
    #[arg(long, default_value_t = 5.0, value_name = "PERCENT", value_parser = percent)]
    within: f64,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent| (0.0..=1000.0).contains(percent));
    percent.ok_or_else(|| "a number of percent from 0 to 1000".to_owned())
}

pub(super) fn carry_out(args: &CdlCompareArgs) -> Result<(), Failure> {
    for path in [&args.first, &args.second] {
        // One that is not there has nothing in common with any other, and that is not why.
        drop(fs::read_dir(path).map_err(|error| Failure::unreadable(path, &error))?);
    }
    let [first, second] = [&args.first, &args.second].map(|path| BenchFolder::at(path));
    let ComparedBenches { classes, left_out } = compare(&first, &second)?;
    let bound = args.within / 100.0;
    let count = |wanted| {
        let figures = classes.iter().flat_map(|class| &class.figures);
        figures.filter(|figure| figure.verdict(bound) == wanted).count()
    };
    let (within, open) = (count(ComparedVerdict::Within), count(ComparedVerdict::Open));
    let beyond = count(ComparedVerdict::Beyond);
    if args.json {
        let classes: Vec<Value> = classes.iter().map(|class| as_json(class, bound)).collect();
        show::json(&json!({
            "within_percent": args.within, "within": within, "open": open, "beyond": beyond,
            "classes": classes, "left_out": left_out,
        }))?;
    } else {
        let rows: Vec<[String; 9]> = classes.iter().flat_map(|class| rows(class, bound)).collect();
        let notes = left_out.iter().map(|step| format!("note: {step} is not finished; left out\n"));
        let head =
            ["workload", "depth", "class", "reads", "figure", "first", "second", "apart", ""];
        show::text(&format!(
            "{}{}{within} figures lie within {} % of each other, {open} farther apart as chance may have it, {beyond} farther than that\n",
            notes.collect::<String>(),
            show::table(head, &[0, 2, 4, 8], &rows),
            args.within,
        ))?;
    }
    match beyond {
        0 => Ok(()),
        _ => Err(Failure::Environment(format!(
            "{beyond} figures lie farther apart than {} %",
            args.within
        ))),
    }
}

fn rows(class: &ComparedClass, bound: f64) -> Vec<[String; 9]> {
    let name = class_name(class);
    let row = |figure: &ReadsFigure| {
        [
            class.workload.to_owned(),
            class.depth.to_string(),
            name.clone(),
            format!("{}, {}", class.reads.0, class.reads.1),
            figure.name.to_owned(),
            format!("{:.2}", figure.first),
            format!("{:.2}", figure.second),
            apart(figure),
            word(figure.verdict(bound)).to_owned(),
        ]
    };
    class.figures.iter().map(row).collect()
}

/// How far the two lie apart, and how far chance can bring them; no end of that where too few reads lie beyond a percentile.
fn apart(figure: &ReadsFigure) -> String {
    let difference = figure.difference() * 100.0;
    match figure.chance.is_finite() {
        true => format!("{difference:+.1} % ± {:.1}", figure.chance * 100.0),
        false => format!("{difference:+.1} % ± no end"),
    }
}

fn class_name(class: &ComparedClass) -> String {
    match (class.priority.word(), class.priority.descriptor()) {
        (0, _) => "none".to_owned(),
        (_, 0) => format!("{:#06x}", class.priority.word()),
        (_, descriptor) => format!("limit {descriptor}"),
    }
}

fn word(verdict: ComparedVerdict) -> &'static str {
    match verdict {
        ComparedVerdict::Within => "within",
        ComparedVerdict::Open => "open",
        ComparedVerdict::Beyond => "beyond",
    }
}

fn as_json(class: &ComparedClass, bound: f64) -> Value {
    let figure = |figure: &ReadsFigure| {
        json!({
            "name": figure.name, "first": figure.first, "second": figure.second,
            "difference": figure.difference(), "chance": figure.chance,
            "verdict": word(figure.verdict(bound)),
        })
    };
    json!({
        "workload": class.workload, "depth": class.depth, "descriptor": class.priority.descriptor(),
        "priority": format!("{:#06x}", class.priority.word()),
        "reads": [class.reads.0, class.reads.1],
        "figures": class.figures.iter().map(figure).collect::<Vec<_>>(),
    })
}

impl From<CompareError> for Failure {
    fn from(error: CompareError) -> Failure {
        match error {
            CompareError::Nothing { .. } | CompareError::Log { .. } => {
                Failure::Input(error.to_string())
            }
            CompareError::Unusable { path, source } => Failure::unreadable(&path, &source),
        }
    }
}
