//! The steps of a services study, on any testbed.
//!
//! Pools are filled, clients begin, and after a time the services do: a pool is scrubbed, a snapshot removed, a pool removed. Where an OSD has
//! missed objects, it is back when the clients begin. The run ends when the clients' time is over and every service has ended, or after the
//! study's limit.

use super::course::{ServiceCourse, ServicesCourse};
use super::study::ServicesStudy;
use super::windows::ClientWindows;
use super::work::scaled;
use crate::figure::Figures;
use crate::halt::{self, Halt};
use crate::job::{Job, RunPurpose};
use crate::place::Place;
use crate::record::RunRecord;
use crate::script::{OnProgress, RunError};
use crate::series::Series;
use crate::service::ServiceLog;
use crate::waits::class_waits;
use loadline_base::{Span, Time};
use loadline_cluster::PoolId;
use loadline_host::admin::api::OpSpan;
use loadline_osd::OsdId;
use loadline_testbed::{CephCluster, Heed, Hosted, Seen, Simulated, Stop, Testbed};

/// Makes a run; `None` if `tick` ended it.
pub(super) fn run(
    study: &ServicesStudy,
    job: &Job,
    tick: OnProgress<'_>,
) -> Result<Option<RunRecord>, RunError> {
    let setup = &study.setups[job.setup];
    let outcome = match &study.place {
        Place::Sim => Simulated::start(study.simulated(job))
            .map_err(Halt::from)
            .and_then(|bed| ServicesRun { study, job, bed }.make(Heed::until(tick, 0.02))),
        Place::Host(place) => Hosted::start(study.hosted(place, job))
            .map_err(Halt::from)
            .and_then(|bed| ServicesRun { study, job, bed }.make(Heed::until(tick, 0.5))),
        Place::Ceph(place) => CephCluster::start(study.on_ceph(place, setup))
            .map_err(Halt::from)
            .and_then(|bed| ServicesRun { study, job, bed }.make(Heed::until(tick, 0.5))),
    };
    halt::answered(setup.osds.name(), outcome)
}

/// One run under way.
struct ServicesRun<'a, T> {
    study: &'a ServicesStudy,
    job: &'a Job,
    bed: T,
}

/// The pools that services work on.
#[derive(Clone, Copy, Debug, Default)]
struct ServicePools {
    scrub: Option<PoolId>,
    trim: Option<PoolId>,
    removal: Option<PoolId>,
}

const SECOND: Span = Span::from_secs(1);

impl<T: Testbed> ServicesRun<'_, T> {
    fn make(mut self, heed: Heed<'_>) -> Result<RunRecord, Halt> {
        let made = self.steps(heed).map_err(Halt::from);
        halt::put_back(&mut self.bed, made)
    }

    fn steps(&mut self, mut heed: Heed<'_>) -> Result<RunRecord, Stop> {
        let has_services = self.study.setups[self.job.setup].services;
        self.bed.make_images(&mut heed)?;
        let mut course = ServicesCourse::default();
        let returning = match has_services {
            true => self.miss_objects(&mut heed)?,
            false => None,
        };
        self.bed.settle(&mut heed)?;
        if let Some(osd) = returning {
            self.bed.bring_back(osd)?;
            let left = self.bed.progress()?.left;
            course.of.push(ServiceCourse::begin("recovery", self.bed.now(), left));
        }
        // A pool that is made now has nothing to be recovered.
        let pools = match has_services {
            true => self.fill_pools(&mut heed)?,
            false => ServicePools::default(),
        };
        if returning.is_none() {
            self.bed.settle(&mut heed)?;
        }
        heed.next(1.0);
        self.bed.count_from_now()?;
        let begun = self.bed.start_load(&mut heed)?;
        self.go_on(begun, pools, course, &mut heed)
    }

    /// Objects that an OSD misses, and which one.
    fn miss_objects(&mut self, heed: &mut Heed<'_>) -> Result<Option<OsdId>, Stop> {
        let Some(recovery) = self.study.steps.recovery else { return Ok(None) };
        let osd = OsdId::new(recovery.returning);
        let pool = self.bed.make_pool("recovery", recovery.object_size)?;
        self.bed.take_out(osd)?;
        let limit = self.study.steps.times.limit;
        let until = self.bed.now() + limit;
        while !self.bed.progress()?.clean {
            if self.bed.now() >= until {
                let reason = format!(
                    "the image's copies were not whole again after {limit} without {osd}; raise `limit`"
                );
                return Err(Stop::Failed(reason));
            }
            heed.at(0.0)?;
            self.bed.pass(self.bed.now() + self.bed.pace().clean)?;
        }
        self.bed.fill(pool, scaled(recovery.objects, self.job.scale), heed)?;
        Ok(Some(osd))
    }

    fn fill_pools(&mut self, heed: &mut Heed<'_>) -> Result<ServicePools, Stop> {
        let (steps, scale) = (self.study.steps, self.job.scale);
        let mut pools = ServicePools::default();
        if let Some(scrub) = steps.scrub {
            let pool = self.bed.make_pool("scrub", scrub.object_size)?;
            self.bed.fill(pool, scaled(scrub.objects, scale), heed)?;
            pools.scrub = Some(pool);
        }
        if let Some((trim, cloned)) = steps.trim.zip(self.study.cloned(scale)) {
            let pool = self.bed.make_pool("trim", trim.object_size)?;
            self.bed.fill_with_clones(pool, cloned, heed)?;
            pools.trim = Some(pool);
        }
        if let Some(removal) = steps.removal {
            let pool = self.bed.make_pool("removal", removal.object_size)?;
            self.bed.fill(pool, scaled(removal.objects, scale), heed)?;
            pools.removal = Some(pool);
        }
        Ok(pools)
    }

    fn begin_services(
        &mut self,
        pools: ServicePools,
        course: &mut ServicesCourse,
    ) -> Result<(), Stop> {
        let scale = self.job.scale;
        if let Some((pool, scrub)) = pools.scrub.zip(self.study.steps.scrub) {
            self.bed.deep_scrub(pool)?;
            let all = scaled(scrub.objects, scale);
            course.slots_are(self.study.groups_at_once(self.job.setup));
            course.of.push(ServiceCourse::begin("scrub", self.bed.now(), all));
        }
        if let Some((pool, cloned)) = pools.trim.zip(self.study.cloned(scale)) {
            self.bed.remove_snapshot(pool)?;
            course.of.push(ServiceCourse::begin("trim", self.bed.now(), cloned.changed));
        }
        if let Some((pool, removal)) = pools.removal.zip(self.study.steps.removal) {
            self.bed.remove_pool(pool)?;
            let all = scaled(removal.objects, scale) * u64::from(self.study.cluster.copies);
            course.of.push(ServiceCourse::begin("removal", self.bed.now(), all));
        }
        Ok(())
    }

    fn go_on(
        &mut self,
        begun: Time,
        pools: ServicePools,
        mut course: ServicesCourse,
        heed: &mut Heed<'_>,
    ) -> Result<RunRecord, Stop> {
        let (study, scale, tick) = (self.study, self.job.scale, self.bed.pace().recovery);
        let clients_end = begun + study.clients(scale);
        let services_begin = begun + study.time(study.steps.times.begin, scale);
        let limit = (begun + study.time(study.steps.times.limit, scale)).max(clients_end);
        let (at, service) = self.bed.service()?;
        let mut service = ServiceLog::begin(at, service);
        let (mut seen, mut has_begun, mut seconds) = (None, false, 0);
        let mut windows = ClientWindows::default();
        loop {
            let now = self.bed.now();
            if !has_begun && now >= services_begin {
                // Beside a recovery, which begins with them, clients were never alone.
                if course.of.is_empty() && services_begin > begun {
                    windows.services_begin((begun, now), self.bed.latency());
                }
                self.begin_services(pools, &mut course)?;
                has_begun = true;
            }
            if seen.is_none() {
                let is_end = now >= clients_end;
                windows.look(now, &course, is_end, || self.bed.latency());
            }
            if seen.is_none() && now >= clients_end {
                seen = Some(self.bed.end_load(heed)?.remove(0));
            }
            if has_begun && seen.is_some() && (course.is_over() || now >= limit) {
                break;
            }
            let marks = [services_begin, clients_end, limit].into_iter().filter(|at| *at > now);
            let next = marks.chain([now + tick]).min().expect("one of them is not behind");
            self.bed.pass(next)?;
            self.look(pools, &mut course)?;
            let over = (self.bed.now().since(begun).nanos() / SECOND.nanos()) as usize;
            if over > seconds {
                let (at, read) = self.bed.service()?;
                service.read(at, read);
                seconds = over;
                course.seconds_are(seconds);
            }
            let clients = clients_end.since(begun).as_secs_f64();
            let share = self.bed.now().since(begun).as_secs_f64() / clients;
            let done = course.of.iter().map(ServiceCourse::done).fold(1.0, f64::min);
            heed.at(share.min(if has_begun { done.max(0.99 * share.min(1.0)) } else { share }))?;
        }
        let seen = seen.expect("clients have ended");
        let mut record = self.record(&seen, &course, service)?;
        if let Some(parts) = windows.untold() {
            windows.told(self.bed.latency_in(&parts)?);
        }
        windows.put(&mut record.counted);
        Ok(record)
    }

    fn look(&mut self, pools: ServicePools, course: &mut ServicesCourse) -> Result<(), Stop> {
        if course.is_over() {
            return Ok(());
        }
        let left = self.bed.services(pools.scrub)?;
        let now = self.bed.now();
        course.look_at_scrub(now, &left);
        if let Some(trim) = course.service("trim") {
            let ended = left.closely.trim_ended.unwrap_or(now);
            trim.look(now, left.trim, (left.trim == 0).then_some(ended));
        }
        if let Some(removal) = course.service("removal") {
            removal.look(now, left.removal, (left.removal == 0).then_some(now));
        }
        if let Some(recovery) = course.service("recovery") {
            let progress = self.bed.progress()?;
            recovery.look(now, progress.left, progress.recovered.then_some(now));
        }
        Ok(())
    }

    fn record(
        &mut self,
        seen: &Seen,
        course: &ServicesCourse,
        service: ServiceLog,
    ) -> Result<RunRecord, Stop> {
        let setup = &self.study.setups[self.job.setup];
        let seconds = seen.lasted.as_secs_f64();
        let mut counted =
            Figures::default().with([("client/iops", seen.iops), ("client/seconds", seconds)]);
        counted.put_latency("client/clat_ms", &seen.latency);
        course.put(&mut counted, self.bed.now(), self.study);
        for (key, value) in self.bed.own_figures() {
            counted.put(key, value);
        }
        let mut record = RunRecord {
            counted,
            device_requests: self.bed.device_requests()?,
            trace: self.bed.take_trace()?.iter().map(OpSpan::from).collect(),
            ..RunRecord::of(self.job, setup.osds.name())
        };
        if self.job.purpose == RunPurpose::Answer {
            record.waits = class_waits(setup.osds.plan(), &*self.bed.waits()?, &seen.outside);
            record.series = Series::of_clients("client_iops", &seen.seconds, 1.0);
            course.put_series(&mut record.series);
            record.series.service = service.series();
        }
        Ok(record)
    }
}
