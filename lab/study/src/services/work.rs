//! A study's work as a testbed takes it: how much a run does, on what, and how large its disks must be.

use super::read::OBJECT;
use super::setup::ServicesSetup;
use super::study::ServicesStudy;
use crate::inputs::Inputs;
use crate::job::Job;
use crate::on_ceph;
use crate::place::Place;
use crate::trace::TRACED_OPS;
use loadline_base::{Bytes, Span};
use loadline_cluster::images::ImageQos;
use loadline_testbed::{
    CephSpec, CephTestPlace, ClonedObjects, HostPlace, HostedSpec, IMAGE, SimulatedSpec, TestImage,
};

/// The clients' image shrinks with the work on real disks, but not below this.
const IMAGE_MIN: Bytes = Bytes::from_mib(256);

/// Real clients are there for so long at least.
const CLIENTS_MIN: Span = Span::from_secs(10);

/// Clients of a cluster are alone for so long before the services begin, where a study has them alone.
const BEGIN_MIN: Span = Span::from_secs(5);

/// The smallest disk that an OSD takes.
const OSD_MIN: Bytes = Bytes::from_mib(64);

/// So many of an amount, and one at least.
pub(super) fn scaled(amount: u64, scale: f64) -> u64 {
    ((amount as f64 * scale).round() as u64).max(1)
}

impl ServicesStudy {
    /// The study as it runs on this machine: the image shrinks with the scale unless `--set image` says how large it is, clients are there for
    /// some seconds at any scale unless `--set clients` says how long, `begin` and `deadline` shrink unless they are set, and times are what they
    /// are from then on.
    pub(super) fn fit(&mut self, inputs: &Inputs) {
        let scale = self.steps.scale;
        let is_ceph = matches!(self.place, Place::Ceph(_));
        // A cluster tells late: what lasts little longer than that shows nothing.
        let (clients_min, begin_min) =
            if is_ceph { (CLIENTS_MIN * 3, BEGIN_MIN) } else { (CLIENTS_MIN, Span::ZERO) };
        if !inputs.is_set("image") {
            let scaled = (self.load.image.get() as f64 * scale) as u64;
            let whole = scaled.max(IMAGE_MIN.get()).next_multiple_of(OBJECT.get());
            self.load.image = self.load.image.min(Bytes::new(whole));
        }
        let times = &mut self.steps.times;
        let shrunk = |time: Span| Span::from_secs_f64(time.as_secs_f64() * scale);
        if !inputs.is_set("clients") {
            times.clients = times.clients.min(shrunk(times.clients).max(clients_min));
        }
        if let Some(deadline) = times.deadline.filter(|_| !inputs.is_set("deadline")) {
            // By its end, so that rounding does not put that behind the clients'.
            times.deadline = Some(shrunk(times.begin + deadline) - shrunk(times.begin));
        }
        if !inputs.is_set("begin") {
            times.begin = times.begin.min(shrunk(times.begin).max(begin_min));
        }
        if is_ceph && !inputs.is_set("pgs") {
            self.cluster.pgs = on_ceph::groups(self.cluster.pgs, self.fewest_objects(scale));
        }
    }

    /// How many groups slots allow to be scrubbed at a time. Each takes one for each copy: fewer than that are of use to nobody.
    pub(super) fn groups_at_once(&self, setup: usize) -> u64 {
        let each = self.setups[setup].osds.options().scrub.scrubs_max as u64;
        u64::from(self.cluster.osds) * each / u64::from(self.cluster.copies)
    }

    /// A time of a run at this scale.
    pub(super) fn time(&self, whole: Span, scale: f64) -> Span {
        match self.place {
            Place::Sim => Span::from_secs_f64(whole.as_secs_f64() * scale),
            Place::Host(_) | Place::Ceph(_) => whole,
        }
    }

    /// How long the clients of a run go on.
    pub(super) fn clients(&self, scale: f64) -> Span {
        self.time(self.steps.times.clients, scale)
    }

    pub(super) fn cloned(&self, scale: f64) -> Option<ClonedObjects> {
        self.steps.trim.map(|trim| {
            let objects = scaled(trim.objects, scale);
            ClonedObjects { objects, changed: scaled(trim.clones, scale).min(objects) }
        })
    }

    fn image(&self) -> TestImage {
        TestImage { name: IMAGE.to_owned(), load: self.load.clone(), qos: ImageQos::default() }
    }

    /// The simulated cluster of a run.
    pub(super) fn simulated(&self, job: &Job) -> SimulatedSpec {
        let setup = &self.setups[job.setup];
        SimulatedSpec {
            world: setup.osds.simulated(&self.drive, self.cluster.placement.clone(), job),
            disks: None,
            pgs: self.cluster.pgs,
            copies: self.cluster.copies,
            object_size: OBJECT,
            images: vec![self.image()],
            seed: job.seed,
            traced: job.trace.map(|first| first..first + TRACED_OPS),
        }
    }

    /// What a run does on a Ceph cluster.
    pub(super) fn on_ceph(&self, place: &CephTestPlace, setup: &ServicesSetup) -> CephSpec {
        let scale = self.steps.scale;
        // A clone of an object is as large as the object.
        let clones = self.steps.trim.zip(self.cloned(scale));
        let clones = clones.map_or(0, |(trim, of)| of.changed * trim.object_size.get());
        CephSpec {
            place: place.clone(),
            copies: self.cluster.copies,
            pgs: self.cluster.pgs,
            object_size: OBJECT,
            beside: Bytes::new(self.pooled(scale) + clones),
            images: vec![self.image()],
            settings: setup.osds.for_ceph(),
            victim: None,
            limit: self.steps.times.limit,
        }
    }

    /// The objects of the pool that has the fewest.
    fn fewest_objects(&self, scale: f64) -> u64 {
        let steps = &self.steps;
        let pools = [
            steps.scrub.map(|it| it.objects),
            steps.trim.map(|it| it.objects),
            steps.removal.map(|it| it.objects),
        ];
        pools.into_iter().flatten().map(|objects| scaled(objects, scale)).min().unwrap_or(u64::MAX)
    }

    /// Bytes of all pools beside the image's, each object once.
    fn pooled(&self, scale: f64) -> u64 {
        let steps = &self.steps;
        let pools = steps.scrub.iter().chain(&steps.removal);
        let of = |objects: u64, size: Bytes| scaled(objects, scale) * size.get();
        let pools: u64 = pools.map(|pool| of(pool.objects, pool.object_size)).sum();
        let trim = steps.trim.map_or(0, |trim| of(trim.objects, trim.object_size));
        let recovery = steps.recovery.map_or(0, |it| of(it.objects, it.object_size));
        pools + trim + recovery
    }

    /// Bytes that all copies hold before a run.
    fn held(&self, scale: f64) -> u64 {
        (self.load.image.get() + self.pooled(scale)) * u64::from(self.cluster.copies)
    }

    /// What an OSD's disk must hold, while one is away where one goes, with half as much to spare, since what is overwritten is free only
    /// after the next checkpoint; an eighth of it is log and recovery area.
    fn disk_size(&self, scale: f64) -> Bytes {
        const STEP: u64 = 4 << 20;
        let osds = self.cluster.osds - u32::from(self.steps.recovery.is_some());
        let held = self.held(scale) / u64::from(osds);
        Bytes::new(((held + held / 2 + OSD_MIN.get()) * 8 / 7).next_multiple_of(STEP))
    }

    /// The node of a run on this machine.
    pub(super) fn hosted(&self, place: &HostPlace, job: &Job) -> HostedSpec {
        let setup = &self.setups[job.setup];
        HostedSpec {
            place: place.clone(),
            osds: self.cluster.osds,
            osd_size: self.disk_size(self.steps.scale),
            copies: self.cluster.copies,
            pgs: self.cluster.pgs,
            object_size: OBJECT,
            images: vec![self.image()],
            medium: self.drive.medium,
            preset: setup.osds.preset,
            settings: setup.osds.stored.clone(),
            placement_seed: job.placement_seed,
            seed: job.seed,
            traced: job.trace.map(|first| first..first + TRACED_OPS),
        }
    }
}
