//! A study's work as a testbed takes it: how much a run does, on what, and how large its disks must be.

use super::file::{Companions, StoreKind};
use super::setup::{ClusterShape, ImageTerms, RecoverySetup};
use super::study::RecoveryStudy;
use crate::input::InputError;
use crate::inputs::Inputs;
use crate::job::{Job, RunPurpose};
use crate::memory::check_memory;
use crate::on_ceph;
use crate::place::Place;
use crate::trace::TRACED_OPS;
use loadline_base::{Bytes, Span};
use loadline_load::LoadSpec;
use loadline_osd::OsdId;
use loadline_sim::ReadService;
use loadline_sim::SimConfig;
use loadline_sim::disk::{OtherAccesses, Timing};
use loadline_testbed::{
    CephSpec, CephTestPlace, ClientKind, HostPlace, HostedSpec, RealDisks, SimulatedDisk,
    SimulatedSpec, TestImage, engine_of, small_stores,
};
use std::path::PathBuf;

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

    /// What the clients do, and those of the neighbours.
    pub(super) fn loads(&self) -> String {
        let neighbours = self.neighbours.iter().map(|it| format!("; {}: {}", it.name, it.load));
        self.load.to_string() + &neighbours.collect::<String>()
    }

    /// What an image's clients do.
    pub(super) fn load_of(&self, image: &ImageTerms) -> &LoadSpec {
        image.neighbour.map_or(&self.load, |at| &self.neighbours[at].load)
    }

    /// The images of a setup with their clients.
    fn images(&self, setup: &RecoverySetup) -> Vec<TestImage> {
        let image = |of: &ImageTerms| TestImage {
            name: of.name.clone(),
            load: self.load_of(of).clone(),
            qos: of.qos,
        };
        setup.images.iter().map(image).collect()
    }

    /// Length of a run without recovery: whole ticks, so that the last one ends with it. Where everything is written, the study
    /// has been fitted already.
    pub(super) fn baseline(&self, job: &Job, tick: Span) -> Span {
        if self.is_fitted() {
            return self.steps.baseline;
        }
        let ticks = self.steps.baseline.as_secs_f64() * job.scale / tick.as_secs_f64();
        tick * ticks.round().max(1.0) as u64
    }

    /// How long the clients of a run go on beside its recovery; the time shrinks with the work. `None` for until it ends, as
    /// where everything is written.
    pub(super) fn clients(&self, job: &Job) -> Option<Span> {
        let clients = self.setups[job.setup].clients.filter(|_| !self.is_fitted())?;
        Some(Span::from_secs_f64(clients.as_secs_f64() * job.scale))
    }

    /// The OSD that goes and returns in a run.
    pub(super) fn returning(&self, job: &Job) -> OsdId {
        let ClusterShape { osds, returning, .. } = self.cluster;
        match job.purpose {
            RunPurpose::OtherReturns => OsdId::new((returning.get() + osds - 1) % osds),
            RunPurpose::Answer | RunPurpose::Placement(_) => returning,
        }
    }

    /// The simulated cluster of a run.
    ///
    /// # Errors
    /// Why there can be none, as a sentence.
    pub(super) fn simulated(&self, job: &Job) -> Result<SimulatedSpec, String> {
        let setup = &self.setups[job.setup];
        let world = setup.osds.simulated(&self.drive, self.cluster.placement.clone(), job);
        let spec = SimulatedSpec {
            world: SimConfig { host: self.host.clone(), ..world },
            disks: (self.store == StoreKind::Paged).then(|| self.disk()),
            pgs: self.cluster.pgs,
            copies: self.cluster.copies,
            object_size: self.steps.object_size,
            images: self.images(setup),
            seed: job.seed,
            traced: job.trace.map(|first| first..first + TRACED_OPS),
        };
        if self.is_twin { self.as_twin(spec, setup, job) } else { Ok(spec) }
    }

    /// The same with OSDs and stores that are set as those of a node on this machine.
    fn as_twin(
        &self,
        spec: SimulatedSpec,
        setup: &RecoverySetup,
        job: &Job,
    ) -> Result<SimulatedSpec, String> {
        let disks = RealDisks::Files(PathBuf::new());
        let client = ClientKind::Own;
        let place = HostPlace { disks, client, keep_files: false, overwrite: false };
        let (cluster, stores) =
            engine_of(&self.hosted(&place, setup, job), self.host.most_on_a_device())?;
        let others = Some(self.other_accesses());
        let disks = spec.disks.map(|disk| SimulatedDisk { stores, others, ..disk });
        Ok(SimulatedSpec { world: SimConfig { cluster, ..spec.world }, disks, ..spec })
    }

    /// Whether everything is written before a run, at this scale.
    pub(super) fn is_fitted(&self) -> bool {
        self.place != Place::Sim || self.store == StoreKind::Paged
    }

    /// What an OSD's disk must hold: while one OSD is away, the others hold every copy.
    pub(super) fn disk_size(&self) -> Bytes {
        disk_for(self.contents().get() / u64::from(self.cluster.osds - 1))
    }

    /// Of all disks together, when everything is written: every copy.
    fn contents(&self) -> Bytes {
        let steps = &self.steps;
        let neighbours: u64 = self.neighbours.iter().map(|it| it.load.image.get()).sum();
        let data = self.load.image.get()
            + neighbours
            + self.objects(steps.scale) * steps.object_size.get();
        Bytes::new(data * u64::from(self.cluster.copies))
    }

    /// Simulated disks with contents hold every byte in memory.
    pub(super) fn check_memory(
        &self,
        workers: u32,
        available: Option<Bytes>,
    ) -> Result<(), InputError> {
        if !self.is_fitted() {
            return Ok(());
        }
        check_memory(self.contents(), workers, available)
            .map_err(|reason| InputError::new("--set store=paged", reason))
    }

    /// The drive without the OSD's overhead: a request takes what one takes that nothing is committed with, and so does a flush.
    fn disk(&self) -> SimulatedDisk {
        let service = &self.drive.service;
        let own = service.per_part;
        let bytes_per_second = per_second(service.per_mib);
        let channels = self.drive.channels;
        let per_request = own * u64::from(channels);
        let timing = Timing { per_request, bytes_per_second, flush: own, channels };
        SimulatedDisk { size: self.disk_size(), timing, others: None, stores: small_stores() }
    }

    /// What this drive takes for accesses other than writes of what holds something, as far as it was measured.
    fn other_accesses(&self) -> OtherAccesses {
        let service = &self.drive.service;
        let read = match service.reads {
            ReadService::Shared(read) => read.per_mib,
            ReadService::InLine | ReadService::Beside => service.per_mib,
        };
        let first_write = self.drive.first_write_per_mib.unwrap_or(service.per_mib);
        OtherAccesses {
            read_bytes_per_second: per_second(read),
            first_write_bytes_per_second: per_second(first_write),
        }
    }

    /// The node of a run of a study that was [`fitted`] to this machine.
    pub(super) fn hosted(&self, place: &HostPlace, setup: &RecoverySetup, job: &Job) -> HostedSpec {
        let (steps, shape) = (&self.steps, &self.cluster);
        HostedSpec {
            place: place.clone(),
            osds: shape.osds,
            osd_size: self.disk_size(),
            copies: shape.copies,
            pgs: shape.pgs,
            object_size: steps.object_size,
            images: self.images(setup),
            medium: self.drive.medium,
            preset: setup.osds.preset,
            settings: setup.osds.stored.clone(),
            placement_seed: job.placement_seed,
            seed: job.seed,
            traced: job.trace.map(|first| first..first + TRACED_OPS),
        }
    }
}

impl RecoveryStudy {
    /// What a run does on a Ceph cluster.
    pub(super) fn on_ceph(&self, place: &CephTestPlace, setup: &RecoverySetup) -> CephSpec {
        CephSpec {
            place: place.clone(),
            copies: self.cluster.copies,
            pgs: self.cluster.pgs,
            object_size: self.steps.object_size,
            beside: Bytes::new(self.objects(self.steps.scale) * self.steps.object_size.get()),
            images: self.images(setup),
            settings: setup.osds.for_ceph(),
            victim: Some(self.cluster.returning),
            limit: self.steps.limit,
        }
    }
}

/// Bytes in a second, of which each MiB takes so long.
fn per_second(per_mib: Span) -> u64 {
    (1 << 20) * 1_000_000_000 / per_mib.nanos().max(1)
}

/// A disk that holds so much with half as much to spare, since what is overwritten is free only after the next checkpoint;
/// an eighth of it is log and recovery area.
fn disk_for(held: u64) -> Bytes {
    const STEP: u64 = 4 << 20;
    let with_room = (held + held / 2 + OSD_MIN.get()) * 8 / 7;
    Bytes::new(with_room.next_multiple_of(STEP))
}

/// The study as it runs where everything is written, on this machine or on simulated disks with contents: the image shrinks with
/// the scale unless `--set image` says how large it is, a baseline lasts some seconds at any scale, and there are no companions.
pub(crate) fn fitted(mut study: RecoveryStudy, inputs: &Inputs) -> RecoveryStudy {
    let scale = study.steps.scale;
    let object = study.steps.object_size.get();
    let fit = |image: Bytes| {
        let scaled = (image.get() as f64 * scale) as u64;
        let whole = scaled.max(IMAGE_MIN.get()).next_multiple_of(object);
        image.min(Bytes::new(whole))
    };
    if !inputs.is_set("image") {
        study.load.image = fit(study.load.image);
    }
    for neighbour in &mut study.neighbours {
        neighbour.load.image = fit(neighbour.load.image);
    }
    let is_ceph = matches!(study.place, Place::Ceph(_));
    if !inputs.is_set("baseline") {
        let scaled = Span::from_nanos((study.steps.baseline.nanos() as f64 * scale) as u64);
        let least = if is_ceph { BASELINE_MIN * 3 } else { BASELINE_MIN };
        study.steps.baseline = study.steps.baseline.min(scaled.max(least));
    }
    if is_ceph && !inputs.is_set("pgs") {
        study.cluster.pgs = on_ceph::groups(study.cluster.pgs, study.objects(scale));
    }
    study.companions = Companions { spread_placements: 0, ..study.companions };
    study
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Library;

    /// 100 MiB held: (100 + 50 + 64) x 8 / 7 = 244.6 MiB, in steps of 4 MiB.
    #[test]
    fn a_disk_has_room_to_spare() {
        assert_eq!(disk_for(100 << 20), Bytes::from_mib(248));
        assert!(disk_for(0) >= OSD_MIN);
    }

    fn study(set: &[&str]) -> RecoveryStudy {
        let set = set.iter().map(|text| text.parse().expect("an override")).collect();
        let inputs = Library::built_in().inputs("recovery-nvme", set).expect("it is there");
        fitted(RecoveryStudy::new(&inputs).expect("it can be used"), &inputs)
    }

    /// The one before it; before osd.0 stands the last.
    #[test]
    fn another_osd_returns_in_the_companion() {
        for (returning, other) in [(0, 3), (2, 1)] {
            let study = study(&[&format!("returning={returning}")]);
            let of = |purpose| study.returning(&Job { purpose, ..Job::default() });
            assert_eq!(of(RunPurpose::Answer), OsdId::new(returning));
            assert_eq!(of(RunPurpose::OtherReturns), OsdId::new(other));
        }
    }

    /// While one of four OSDs is away three hold all copies: with three copies each of them holds everything once.
    #[test]
    fn a_disk_holds_its_share_while_an_osd_is_away() {
        let study = study(&["image=1 GiB", "scale=0.001"]);
        let data = (1 << 30) + study.objects(0.001) * (4 << 20);
        assert_eq!((study.cluster.osds, study.cluster.copies), (4, 3));
        assert_eq!(study.disk_size(), disk_for(data));
    }

    /// 1 GiB of image and 4 GiB of objects, three times, for each of two runs: 30 GiB.
    #[test]
    fn contents_that_memory_has_no_room_for_are_refused_before_they_are_written() {
        let study = study(&["image=1 GiB", "scale=0.01024", "store=paged"]);
        assert!(study.check_memory(2, Some(Bytes::from_mib(30 << 10))).is_ok());
        assert!(study.check_memory(2, None).is_ok(), "the system does not tell");
        let refusal =
            study.check_memory(2, Some(Bytes::from_mib(29 << 10))).unwrap_err().to_string();
        assert!(refusal.contains("2 runs at a time need 30 GiB, and 29 GiB are free"), "{refusal}");
    }

    #[test]
    fn a_small_study_still_has_an_image_for_its_depth_and_time_for_a_checkpoint() {
        let small = study(&["scale=0.0001"]);
        assert_eq!((small.load.image, small.steps.baseline), (IMAGE_MIN, BASELINE_MIN));
        let said = study(&["scale=0.0001", "image=64 MiB", "baseline=2 s"]);
        assert_eq!(said.load.image, Bytes::from_mib(64));
        assert_eq!(said.steps.baseline, Span::from_secs(2));
        assert_eq!(small.companions.spread_placements, 0);
    }
}
