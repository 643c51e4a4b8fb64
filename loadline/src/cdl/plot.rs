//! `loadline cdl plot`

use super::answer;
use crate::failure::Failure;
use crate::show;
use clap::Args;
use loadline_cdl::plot::{PlotError, SIZE_DEFAULT, Save, Size, plot};
use serde_json::json;
use std::path::PathBuf;

/// Options of `cdl_plots.sh`, and `--json`.
#[derive(Debug, Args)]
pub(crate) struct PlotArgs {
    /// The benchmark's folder, ours or one of cdl_bench.sh
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Save each plot as SVG in DIR/plots, beside the page
    #[arg(long)]
    save: bool,
    /// Save each plot as PNG too (needs a build with the feature `png`)
    #[arg(long)]
    png: bool,
    /// Width of a saved plot in pixels, by default 860
    #[arg(long, alias = "w", value_name = "PX", value_parser = clap::value_parser!(u32).range(300..=8000))]
    width: Option<u32>,
    /// Height of a saved plot in pixels, by default 600
    #[arg(long, alias = "h", value_name = "PX", value_parser = clap::value_parser!(u32).range(220..=8000))]
    height: Option<u32>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn carry_out(args: &PlotArgs) -> Result<(), Failure> {
    let save = (args.save || args.png).then_some(Save { size: args.size(), png: args.png });
    if save.is_none() && (args.width.is_some() || args.height.is_some()) {
        let why = "--width and --height are of plots that are saved: add --save, or leave them out";
        return Err(Failure::Input(why.to_owned()));
    }
    let mut said = Ok(());
    let plotted = plot(&args.folder, save, &mut |line| {
        if !args.json && said.is_ok() {
            said = show::text(&format!("{line}\n"));
        }
    })?;
    said?;
    if args.json {
        let made = json!({
            "page": plotted.page, "files": plotted.files, "notes": plotted.notes,
        });
        return show::json(&answer::json(&plotted.answer, made));
    }
    let notes = plotted.notes.iter().map(|note| format!("note: {note}\n"));
    let mut text = answer::text(&plotted.answer) + &notes.collect::<String>();
    text += &format!("Page: {}\n", plotted.page.display());
    if save.is_some() {
        let count = plotted.files.len();
        let plots = args.folder.join("plots");
        text += &format!("{count} plots in {}\n", plots.display());
    }
    show::text(&text)
}

impl PlotArgs {
    fn size(&self) -> Size {
        Size {
            width: self.width.unwrap_or(SIZE_DEFAULT.width),
            height: self.height.unwrap_or(SIZE_DEFAULT.height),
        }
    }
}

impl From<PlotError> for Failure {
    fn from(error: PlotError) -> Failure {
        match error {
            PlotError::NoPixels => Failure::Input(format!("--png: {error}")),
            PlotError::Nothing { .. } | PlotError::Unusable { .. } => {
                Failure::Input(error.to_string())
            }
            PlotError::Folder(error) => error.into(),
            PlotError::Page(_) => Failure::Environment(error.to_string()),
        }
    }
}
