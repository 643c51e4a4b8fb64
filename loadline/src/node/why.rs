//! `loadline why`: what the ops of an image wait for, in a sentence and a table.

use super::args::WhyArgs;
use super::milliseconds;
use crate::failure::Failure;
use crate::{show, writable};
use loadline_host::admin::api::{Command, ImageWaits, ReasonShare, StageShare, TracedOps};
use loadline_study::chrome_trace_of;
use std::path::Path;

pub(crate) fn carry_out(args: WhyArgs) -> Result<(), Failure> {
    let WhyArgs { image, watch, trace, trace_ops, node } = args;
    trace.as_deref().map_or(Ok(()), writable::file)?;
    let traced = trace.as_ref().map_or_else(TracedOps::default, |_| trace_ops.0);
    let command = Command::ImageWhy { image, seconds: watch.0, traced };
    let waits: ImageWaits = node.connect()?.ask(&command)?;
    if let Some(path) = &trace {
        write_trace(path, &waits)?;
    }
    if node.json() {
        return show::json(&serde_json::to_value(&waits).expect("an answer is plain data"));
    }
    let mut text = in_words(&waits);
    if let Some(path) = trace {
        text += &format!("\ntrace: {} (ui.perfetto.dev opens it)\n", path.display());
    }
    show::text(&text)
}

fn write_trace(path: &Path, waits: &ImageWaits) -> Result<(), Failure> {
    let trace = chrome_trace_of(&waits.image, &waits.traced).to_string();
    writable::write(path, &trace)
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
