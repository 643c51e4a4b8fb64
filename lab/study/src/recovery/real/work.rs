//! How much a real run does, and how large its disks must be.

use crate::recovery::file::Companions;
use crate::recovery::study::RecoveryStudy;
use crate::study::Inputs;
use loadline_base::{Bytes, Span};

/// The share of the published work that is done unless somebody asks for another: 200 objects of 4 MiB.
pub(crate) const SCALE: f64 = 0.002;

/// The clients' image shrinks with the work, but not below this: with fewer objects the depth of the load would meet on
/// single objects.
const IMAGE_MIN: Bytes = Bytes::from_mib(256);

/// A baseline much shorter than this shows the first checkpoint or none, by chance.
const BASELINE_MIN: Span = Span::from_secs(10);

/// The smallest disk that an OSD takes.
const OSD_MIN: Bytes = Bytes::from_mib(64);

/// The work of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RealWork {
    /// OSDs.
    pub osds: u32,
    /// Objects written while an OSD is away.
    pub objects: u64,
    /// Size of each.
    pub object_size: Bytes,
    /// The clients' image, whole objects.
    pub image: Bytes,
    /// Length of the run without recovery.
    pub baseline: Span,
    /// Size of each OSD's disk.
    pub osd_size: Bytes,
}

impl RealWork {
    /// The work of a study that was [`fitted`] to this machine.
    pub(crate) fn of(study: &RecoveryStudy) -> RealWork {
        let (steps, shape) = (&study.steps, study.cluster);
        let objects = ((steps.objects as f64 * steps.scale).round() as u64).max(1);
        let image = study.load.image;
        let data = image.get() + objects * steps.object_size.get();
        // While one OSD is away, the others hold every copy.
        let held = data * u64::from(shape.copies) / u64::from(shape.osds - 1);
        RealWork {
            osds: shape.osds,
            objects,
            object_size: steps.object_size,
            image,
            baseline: steps.baseline,
            osd_size: disk_for(held),
        }
    }

    /// What the disks of all OSDs take together.
    pub(crate) fn disk_bytes(&self) -> Bytes {
        Bytes::new(self.osd_size.get() * u64::from(self.osds))
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
