//! `loadline study run --dry-run`: what would be run, and nothing is.

use super::shown::Shown;
use crate::failure::Failure;
use crate::show;
use loadline_study::{Order, Place, Study, StudyKind, describe_real};
use std::path::Path;

/// Says which runs an order comes to. Whatever would be refused is refused here, too.
pub(super) fn say<S: Shown>(order: &Order, folder: &Path) -> Result<(), Failure> {
    // Of the kinds of study only this one runs on disks.
    if let Place::Host(place) = &order.inputs.place {
        let (study, request) = order.resolve::<Study>()?;
        study.before_runs()?;
        return show::text(&describe_real(&study, place, &study.plan(&request)));
    }
    let (study, request) = order.resolve::<S>()?;
    let jobs = study.plan(&request);
    let names = study.names();
    let mut setups: Vec<&str> = jobs.iter().map(|job| names[job.setup].as_str()).collect();
    setups.dedup();
    let lines = [
        ("runs", format!("{}: {}", jobs.len(), setups.join(", "))),
        ("world", "simulated".to_owned()),
        ("folder", folder.display().to_string()),
    ];
    show::text(&lines.map(|(name, value)| format!("{name:<10}{value}\n")).concat())
}
