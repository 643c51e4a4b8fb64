//! `loadline why`: what the ops of an image wait for, in a sentence and a table.

use super::args::WhyArgs;
use super::milliseconds;
use crate::failure::Failure;
use crate::show;
use loadline_host::admin::api::{Command, ImageWaits, ReasonShare, StageShare};

pub(crate) fn carry_out(args: WhyArgs) -> Result<(), Failure> {
    let WhyArgs { image, watch, node } = args;
    node.show(&Command::ImageWhy { image, seconds: watch.0 }, in_words)
}

fn in_words(waits: &ImageWaits) -> String {
    let mut text = format!("{}\n", waits.sentence);
    if waits.ops > 0 {
        let row = |stage: &StageShare| {
            [stage.stage.clone(), milliseconds(stage.mean_ns), percent(stage.share)]
        };
        let rows: Vec<[String; 3]> = waits.stages.iter().map(row).collect();
        text += &format!("\n{}", show::table(["stage", "mean", "of all time"], &[0], &rows));
    }
    if !waits.reasons.is_empty() {
        let rows: Vec<[String; 7]> = waits.reasons.iter().map(reason_row).collect();
        let columns = ["waited longest in", "on", "for", "ops", "of all time", "mean", "longest"];
        text += &format!("\n{}", show::table(columns, &[0, 1, 2], &rows));
    }
    text
}

fn reason_row(reason: &ReasonShare) -> [String; 7] {
    [
        reason.stage.clone(),
        reason.osd.map_or_else(String::new, |osd| format!("osd.{osd}")),
        reason.reason.clone(),
        reason.ops.to_string(),
        percent(reason.share),
        milliseconds(reason.mean_ns),
        milliseconds(reason.max_ns),
    ]
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
