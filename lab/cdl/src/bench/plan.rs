//! What a dry run says of a workload: what it needs, and what would be switched. Nothing of it need be there: who orders a drive with limits
//! wants to see the run before the drive comes.

use super::fio::{FioVersion, HINT_SINCE};
use super::real::{RealDrive, sysfs_of};
use super::real_error::RealError;
use super::switch::Action;
use crate::workload::ReadWorkload;
use loadline_sim::hdd::HddSpec;
use std::path::{Path, PathBuf};

/// A workload before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadPlan {
    /// What it needs of the drive and of this machine.
    pub needs: Vec<Need>,
    /// What is switched before it.
    pub switches: Vec<Action>,
}

/// Something without which a workload cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// What it is.
    pub what: &'static str,
    /// Whether it is there.
    pub found: Presence,
}

/// Whether something is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is.
    Yes,
    /// It is not, for this reason.
    No(String),
    /// A dry run does not look.
    NotLooked,
}

const DRIVE: &str = "a block device or a file";
const FIO: &str = "fio";
const HINTS: &str = "fio 3.36 or later, whose options can name a limit";
const LIMITS: &str = "a drive with duration limits (CDL)";
const NCQ: &str = "a drive with NCQ priority";
const DESCRIPTORS: &str = "the descriptors of --t2a and --t2b on the drive";

impl WorkloadPlan {
    /// On the drive that is at a path, or is to be.
    pub fn on(path: &Path, workload: &ReadWorkload) -> WorkloadPlan {
        let found = sysfs_of(path);
        let attribute = match workload {
            ReadWorkload::Baseline => None,
            ReadWorkload::NcqPrio { .. } => Some("ncq_prio_enable"),
            ReadWorkload::CdlSingle { .. } | ReadWorkload::CdlMulti { .. } => Some("cdl_enable"),
        };
        let sysfs = match (&found, attribute) {
            (Ok(Some(sysfs)), _) => Some(sysfs.clone()),
            (_, None) => None,
            // What is no drive yet has no name in sysfs, but for one that stands where drives do.
            (_, Some(_)) => Some(PathBuf::from("/sys/block").join(name(path)).join("device")),
        };
        let drive = RealDrive::expected(path, sysfs, attribute);
        let switches = drive.actions(workload);
        WorkloadPlan { needs: needs(path, found, workload), switches }
    }

    /// On a modelled drive, of which nothing is switched.
    pub fn on_model(spec: &HddSpec, workload: &ReadWorkload) -> WorkloadPlan {
        let found = match spec.limits {
            Some(_) => Presence::Yes,
            None => Presence::No("the model has none; sim:hdd-22tb-cdl has".to_owned()),
        };
        let needs = vec![Need { what: LIMITS, found }];
        let needs = if workload.has_limits() { needs } else { Vec::new() };
        WorkloadPlan { needs, switches: Vec::new() }
    }
}

/// The name of a device, or what stands for it.
fn name(path: &Path) -> &Path {
    let device = path.parent().is_some_and(|folder| folder == Path::new("/dev"));
    let name = path.file_name().filter(|_| device && !path.is_file());
    Path::new(name.unwrap_or("NAME".as_ref()))
}

fn needs(
    path: &Path,
    sysfs: Result<Option<PathBuf>, RealError>,
    workload: &ReadWorkload,
) -> Vec<Need> {
    let mut needs = Vec::new();
    let why = sysfs.as_ref().err().map(why_not);
    // What every workload needs is worth a line only where it is missing.
    let has_limits = workload.has_limits();
    let found = match FioVersion::installed() {
        Ok(version) if has_limits && version < HINT_SINCE => {
            Presence::No(format!("{version} is installed"))
        }
        Ok(_) => Presence::Yes,
        Err(_) => Presence::No("it is not installed".to_owned()),
    };
    if has_limits || found != Presence::Yes {
        needs.push(Need { what: if has_limits { HINTS } else { FIO }, found });
    }
    let what = match workload {
        ReadWorkload::Baseline => {
            needs.extend(why.map(|why| Need { what: DRIVE, found: Presence::No(why) }));
            return needs;
        }
        ReadWorkload::NcqPrio { .. } => NCQ,
        ReadWorkload::CdlSingle { .. } | ReadWorkload::CdlMulti { .. } => LIMITS,
    };
    let drive = RealDrive::expected(path, sysfs.unwrap_or(None), None);
    let supports =
        why.map_or_else(|| drive.supports(workload).map_err(|error| why_not(&error)), Err);
    let found = supports.map_or_else(Presence::No, |()| Presence::Yes);
    needs.push(Need { what, found });
    if has_limits {
        needs.push(Need { what: DESCRIPTORS, found: Presence::NotLooked });
    }
    needs
}

/// A refusal without the words that name the drive again.
fn why_not(error: &RealError) -> String {
    match error {
        RealError::Device { error, .. } => error.to_string(),
        RealError::Unsupported { why, .. } => why.clone(),
        error => error.to_string(),
    }
}

impl std::fmt::Display for Need {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "needs {}: ", self.what)?;
        match &self.found {
            Presence::Yes => f.write_str("found"),
            Presence::No(why) => write!(f, "missing, {why}"),
            Presence::NotLooked => f.write_str("a dry run does not look"),
        }
    }
}

#[cfg(test)]
mod tests;
