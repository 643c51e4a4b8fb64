//! `loadline ceph undo`

use super::args::{CephUndoArgs, JOURNAL};
use crate::failure::Failure;
use crate::show;
use loadline_ceph::guard::{UndoReport, undo};
use serde_json::json;

pub(super) fn carry_out(args: &CephUndoArgs) -> Result<(), Failure> {
    let journal = if args.run.is_dir() { args.run.join(JOURNAL) } else { args.run.clone() };
    if !journal.is_file() {
        let text =
            format!("{} has no {JOURNAL}: no run changed a cluster there", args.run.display());
        return Err(Failure::Input(text));
    }
    let connection = args.place.connect()?;
    let report = undo(&*connection, &journal)?;
    match args.json {
        true => show::json(&json!(report))?,
        false => show::text(&in_words(&report))?,
    }
    if report.left.is_empty() { Ok(()) } else { Err(Failure::Said) }
}

pub(super) fn in_words(report: &UndoReport) -> String {
    let lines = |word: &str, all: &[String]| {
        all.iter().map(|one| format!("{word:<12}{one}\n")).collect::<String>()
    };
    let text = lines("put back", &report.undone)
        + &lines("not ours", &report.foreign)
        + &lines("left", &report.left);
    if text.is_empty() { "everything is as it was\n".to_owned() } else { text }
}
