//! `loadline study run --dry-run`: what would be run, and nothing is.

use crate::failure::Failure;
use crate::show;
use loadline_study::{Order, Place, plan};
use std::path::Path;

/// Says which runs an order comes to. Whatever would be refused is refused here, too.
pub(super) fn say(order: &Order, workers: u32, folder: &Path) -> Result<(), Failure> {
    let (study, request) = order.resolve()?;
    let jobs = plan(&study, &request);
    if let Place::Ceph(_) = study.place {
        // A cluster's plan tells what is in the way line by line, and which word would let it be changed.
        show::text(&study.on_disks(&jobs).unwrap_or_default())?;
        return Ok(study.before_runs(workers, &jobs)?);
    }
    study.before_runs(workers, &jobs)?;
    if let Some(text) = study.on_disks(&jobs) {
        return show::text(&text);
    }
    let mut setups: Vec<&str> =
        jobs.iter().map(|job| study.setups[job.setup].name.as_str()).collect();
    setups.dedup();
    let lines = [
        ("runs", format!("{}: {}", jobs.len(), setups.join(", "))),
        ("world", "simulated".to_owned()),
        ("folder", folder.display().to_string()),
    ];
    show::text(&lines.map(|(name, value)| format!("{name:<10}{value}\n")).concat())
}
