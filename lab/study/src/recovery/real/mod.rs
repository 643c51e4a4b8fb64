//! The recovery study on this machine's disks: the same steps, the same record, in real time.
//!
//! Each run has a node of its own on fresh disks: images and pools hold real objects with data, an OSD goes down and out and
//! comes back, and clients write in a closed loop through the node's queues. Nothing here is simulated, so nothing repeats
//! to the bit.

mod counts;
mod dry;
mod fio;
mod ground;
mod guest;
mod machine;
mod node;
mod steps;
pub(crate) mod summary;
mod work;

pub(crate) use dry::describe;
pub(crate) use work::RealWork;

use crate::input::InputError;
use crate::kind::{RunError, Tick};
use crate::place::HostPlace;
use crate::plan::Job;
use crate::record::RunRecord;
use crate::recovery::study::RecoveryStudy;
pub(crate) use work::{SCALE, fitted};

/// Refuses what can be refused before anything is written: no folder, no room, a device in use.
pub(crate) fn before_runs(study: &RecoveryStudy, place: &HostPlace) -> Result<(), InputError> {
    ground::check(&place.disks, &RealWork::of(study), place.overwrite)
        .and_then(|()| fio::check(place.client, &study.load))
        .map_err(|reason| InputError::new(format!("--on {}", place.disks), reason))
}

/// Makes a run; `None` if `tick` ended it. The files of its OSDs are gone afterwards, unless they are to be kept.
pub(crate) fn run(
    study: &RecoveryStudy,
    job: &Job,
    place: &HostPlace,
    tick: Tick<'_>,
) -> Result<Option<RunRecord>, RunError> {
    let setup = study.setups[job.setup].name().to_owned();
    match steps::make(study, job, place, tick) {
        Ok(record) => Ok(Some(record)),
        Err(Halt::Interrupted) => Ok(None),
        Err(Halt::Run(error)) => Err(error),
        Err(Halt::Failed(reason)) => Err(RunError::Failed { setup, reason }),
    }
}

/// Why a run stops early.
enum Halt {
    /// Somebody asked for it.
    Interrupted,
    /// It came to no result.
    Run(RunError),
    /// The node, a disk or a tool let it down.
    Failed(String),
}

impl From<loadline_host::NodeGone> for Halt {
    fn from(_: loadline_host::NodeGone) -> Halt {
        Halt::Failed("the node ended before the run did".to_owned())
    }
}

impl From<String> for Halt {
    fn from(reason: String) -> Halt {
        Halt::Failed(reason)
    }
}
