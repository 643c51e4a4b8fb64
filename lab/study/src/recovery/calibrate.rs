//! Finds a drive's service time from its published baseline.

use super::run::run;
use super::study::RecoveryStudy;
use crate::job::{Job, RunPurpose};
use crate::script::RunError;
use loadline_base::Span;
use loadline_stats::mean;
use serde::Serialize;

/// What a calibration found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibrated {
    /// The drive's name.
    pub drive: String,
    /// The published baseline.
    pub wanted_iops: f64,
    /// What the drive file says, in nanoseconds.
    pub per_request_ns_before: u64,
    /// IOPS with it.
    pub iops_before: f64,
    /// The time with which the baseline is met, in nanoseconds.
    pub per_request_ns: u64,
    /// IOPS with it.
    pub iops: f64,
    /// Over how many placements the IOPS are the mean.
    pub placements: u64,
}

/// Where placement groups fall moves the baseline by some percent, and the study does not say where they fell.
const PLACEMENTS: u64 = 8;

/// Client ops of one run: at depth 64 the beginning and the end are 128 of them.
const OPS: f64 = 30_000.0;

/// How closely the baseline has to be met.
const CLOSE_ENOUGH: f64 = 0.001;

/// Finds the time per request with which the study's baseline, averaged over placements, meets the published
/// IOPS of its drive. Everything else stays as the drive file says.
///
/// # Errors
/// [`RunError`] if the baseline cannot be run.
///
/// # Panics
/// If the study has no setup without recovery.
pub fn calibrate(study: &RecoveryStudy) -> Result<Calibrated, RunError> {
    let wanted = study.drive.calibration.baseline_iops;
    let before = study.drive.service.per_request;
    let iops_before = baseline_iops(study, before)?;
    let (mut low, mut high) = (before / 8, before * 8);
    let (mut found, mut iops) = (before, iops_before);
    while (iops / wanted - 1.0).abs() > CLOSE_ENOUGH && high.nanos() - low.nanos() > 1 {
        // A longer request gives fewer of them.
        if iops > wanted {
            low = found;
        } else {
            high = found;
        }
        found = Span::from_nanos(low.nanos().midpoint(high.nanos()));
        iops = baseline_iops(study, found)?;
    }
    Ok(Calibrated {
        drive: study.drive.name.clone(),
        wanted_iops: wanted,
        per_request_ns_before: before.nanos(),
        iops_before,
        per_request_ns: found.nanos(),
        iops,
        placements: PLACEMENTS,
    })
}

fn baseline_iops(study: &RecoveryStudy, per_request: Span) -> Result<f64, RunError> {
    let mut study = study.clone();
    study.drive.service.per_request = per_request;
    let setup = study.setups.iter().position(|setup| !setup.recovery);
    let setup = setup.expect("a study to calibrate with has a baseline");
    let scale = OPS / study.drive.calibration.baseline_iops / study.steps.baseline.as_secs_f64();
    let mut rates = Vec::new();
    for placement_seed in 1..=PLACEMENTS {
        let purpose = RunPurpose::Placement(0);
        let job = Job { setup, purpose, scale, seed: 1, placement_seed, ..Job::default() };
        let record = run(&study, &job, &mut |_| true)?;
        let record = record.expect("nobody ends a calibration");
        rates.extend(record.counted.get("client/iops"));
    }
    Ok(mean(&rates).expect("there is at least one placement"))
}
