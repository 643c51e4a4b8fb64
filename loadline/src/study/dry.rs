//! `loadline study run --dry-run`: what would be run, and nothing is.

use crate::failure::Failure;
use crate::{show, writable};
use loadline_study::{Order, Place, RunFolder, plan};
use serde_json::json;
use std::path::Path;

/// Says which runs an order comes to. Whatever would be refused is refused here, too.
pub(super) fn say(
    order: &Order,
    workers: u32,
    folder: &Path,
    in_json: bool,
) -> Result<(), Failure> {
    let (study, request) = order.resolve()?;
    let place = RunFolder::at(folder);
    order.may_use(&place)?;
    place.records()?;
    writable::folder(folder)?;
    let jobs = plan(&study, &request);
    let allowed = study.before_runs(workers, &jobs);
    // A cluster's plan tells what is in the way line by line, and which word would let it be changed: it comes before the refusal.
    if allowed.is_err() && !matches!(study.place, Place::Ceph(_)) {
        return Ok(allowed?);
    }
    let mut setups: Vec<&str> =
        jobs.iter().map(|job| study.setups[job.setup].name.as_str()).collect();
    setups.dedup();
    let plan = study.on_disks(&jobs);
    let folder = folder.display().to_string();
    if in_json {
        let plan: Vec<&str> = plan.iter().flat_map(|plan| plan.lines()).collect();
        show::json(&json!({
            "study": order.inputs.study.name, "runs": jobs.len(), "setups": setups,
            "world": study.place.world(), "folder": folder, "plan": plan,
        }))?;
        return Ok(allowed?);
    }
    let simulated = || {
        let lines = [
            ("runs", format!("{}: {}", jobs.len(), setups.join(", "))),
            ("world", "simulated".to_owned()),
            ("folder", folder),
        ];
        lines.map(|(name, value)| format!("{name:<10}{value}\n")).concat()
    };
    show::text(&plan.unwrap_or_else(simulated))?;
    Ok(allowed?)
}
