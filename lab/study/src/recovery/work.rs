//! A study's work as a testbed takes it: how much a run does, on what, and how large its disks must be.

use super::file::Companions;
use super::setup::RecoverySetup;
use super::study::RecoveryStudy;
use crate::inputs::Inputs;
use crate::job::{Job, RunPurpose};
use crate::place::Place;
use crate::trace::TRACED_OPS;
use loadline_base::{Bytes, Span};
use loadline_qos::preset;
use loadline_sim::{Delays, OsdDrive, SimConfig};
use loadline_testbed::{HostPlace, HostedSpec, SimulatedSpec};

/// The clients' image shrinks with the work, but not below this: with fewer objects the depth of the load would meet on
/// single objects.
const IMAGE_MIN: Bytes = Bytes::from_mib(256);

/// A baseline much shorter than this shows the first checkpoint or none, by chance.
const BASELINE_MIN: Span = Span::from_secs(10);

/// The smallest disk that an OSD takes.
const OSD_MIN: Bytes = Bytes::from_mib(64);

impl RecoveryStudy {
    /// Objects written while an OSD is away.
    pub(super) fn objects(&self, scale: f64) -> u64 {
        ((self.steps.objects as f64 * scale).round() as u64).max(1)
    }

    /// Length of a run without recovery: whole ticks, so that the last one ends with it. On this machine the study has been
    /// fitted already.
    pub(super) fn baseline(&self, job: &Job, tick: Span) -> Span {
        if self.place != Place::Sim {
            return self.steps.baseline;
        }
        let ticks = self.steps.baseline.as_secs_f64() * job.scale / tick.as_secs_f64();
        tick * ticks.round().max(1.0) as u64
    }

    /// The simulated cluster of a run.
    pub(super) fn simulated(&self, job: &Job) -> SimulatedSpec {
        let (setup, drive) = (&self.setups[job.setup], &self.drive);
        SimulatedSpec {
            world: SimConfig {
                cluster: setup.osds.engine(job.seed, job.placement_seed),
                drive: OsdDrive::Calibrated(drive.service),
                delays: Delays {
                    link: drive.link_delay,
                    push: drive.fitted.object_handling,
                    worker: drive.worker_time,
                    ..Delays::default()
                },
                software_stage: setup
                    .software_stage
                    .filter(|_| job.purpose != RunPurpose::WithoutStage),
            },
            pgs: drive.fitted.pgs,
            copies: self.cluster.copies,
            object_size: self.steps.object_size,
            load: self.load.clone(),
            seed: job.seed,
            traced: job.trace.map(|first| first..first + TRACED_OPS),
        }
    }

    /// The node of a run of a study that was [`fitted`] to this machine.
    pub(super) fn hosted(&self, place: &HostPlace, setup: &RecoverySetup, job: &Job) -> HostedSpec {
        let (steps, shape) = (&self.steps, self.cluster);
        let data = self.load.image.get() + self.objects(steps.scale) * steps.object_size.get();
        // While one OSD is away, the others hold every copy.
        let held = data * u64::from(shape.copies) / u64::from(shape.osds - 1);
        HostedSpec {
            place: place.clone(),
            osds: shape.osds,
            osd_size: disk_for(held),
            copies: shape.copies,
            pgs: self.drive.fitted.pgs,
            object_size: steps.object_size,
            load: self.load.clone(),
            medium: self.drive.medium,
            preset: preset(&setup.osds.configuration.preset).expect("the setup has been read"),
            settings: setup.osds.stored.clone(),
            placement_seed: job.placement_seed,
            seed: job.seed,
        }
    }
}

/// A disk that holds so much with half as much to spare, since what is overwritten is free only after the next checkpoint;
/// an eighth of it is log and recovery area.
fn disk_for(held: u64) -> Bytes {
    const STEP: u64 = 4 << 20;
    let with_room = (held + held / 2 + OSD_MIN.get()) * 8 / 7;
    Bytes::new(with_room.next_multiple_of(STEP))
}

/// The study as it runs on this machine: the image shrinks with the scale unless `--set image` says how large it is, a
/// baseline lasts some seconds at any scale, and there are no companions.
pub(crate) fn fitted(mut study: RecoveryStudy, inputs: &Inputs) -> RecoveryStudy {
    let scale = study.steps.scale;
    let is_set = |key: &str| inputs.overrides.iter().any(|change| change.key == key);
    if !is_set("image") {
        let object = study.steps.object_size.get();
        let scaled = (study.load.image.get() as f64 * scale) as u64;
        let whole = scaled.max(IMAGE_MIN.get()).next_multiple_of(object);
        study.load.image = study.load.image.min(Bytes::new(whole));
    }
    if !is_set("baseline") {
        let scaled = Span::from_nanos((study.steps.baseline.nanos() as f64 * scale) as u64);
        study.steps.baseline = study.steps.baseline.min(scaled.max(BASELINE_MIN));
    }
    study.companions = Companions { spread_placements: 0, ..study.companions };
    study
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 MiB held: (100 + 50 + 64) x 8 / 7 = 244.6 MiB, in steps of 4 MiB.
    #[test]
    fn a_disk_has_room_to_spare() {
        assert_eq!(disk_for(100 << 20), Bytes::from_mib(248));
        assert!(disk_for(0) >= OSD_MIN);
    }
}
