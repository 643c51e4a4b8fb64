//! The steps of a recovery study, on any testbed (qos.md 9.6 and 13.1).
//!
//! An OSD goes away, a pool is filled without it, it comes back, and at that moment clients begin to write to
//! an image in another pool. It is counted how many objects are not where they should be. The run
//! ends when none is; the baseline, in which nothing went away, after a fixed time.

use super::file::StoreKind;
use super::setup::ImageTerms;
use super::study::RecoveryStudy;
use crate::figure::Figures;
use crate::halt::{self, Halt};
use crate::job::{Job, RunPurpose};
use crate::place::Place;
use crate::record::{ImageRecord, RunRecord};
use crate::script::{OnProgress, RunError};
use crate::series::Series;
use crate::service::ServiceLog;
use crate::waits::class_waits;
use loadline_base::{Span, Time};
use loadline_host::admin::api::OpSpan;
use loadline_testbed::{
    CephCluster, Heed, Hosted, Pace, RecoveryProgress, Seen, Simulated, Stop, Testbed,
};

const SECOND: Span = Span::from_secs(1);

/// Makes a run; `None` if `tick` ended it.
pub(super) fn run(
    study: &RecoveryStudy,
    job: &Job,
    tick: OnProgress<'_>,
) -> Result<Option<RunRecord>, RunError> {
    let outcome = match &study.place {
        Place::Sim => {
            // A pool of the direct store is filled at once.
            let (filled, prepared) =
                if study.store == StoreKind::Direct { (0.0, 0.0) } else { (0.2, 0.4) };
            let spec = study.simulated(job).map_err(Stop::from);
            let made = spec.and_then(Simulated::start).map_err(Halt::from);
            made.and_then(|bed| {
                RecoveryRun { study, job, bed }.make(Heed::until(tick, filled), prepared)
            })
        }
        Place::Host(place) => {
            let spec = study.hosted(place, &study.setups[job.setup], job);
            let made = Hosted::start(spec).map_err(Halt::from);
            made.and_then(|bed| RecoveryRun { study, job, bed }.make(Heed::until(tick, 0.2), 0.4))
        }
        Place::Ceph(place) => {
            let made = CephCluster::start(study.on_ceph(place, &study.setups[job.setup]));
            let made = made.map_err(Halt::from);
            made.and_then(|bed| RecoveryRun { study, job, bed }.make(Heed::until(tick, 0.3), 0.6))
        }
    };
    halt::answered(study.setups[job.setup].name(), outcome)
}

/// What was seen of each image: its whole seconds, or its mean where its clients went on for less than one.
fn images(images: &[ImageTerms], all: &[Seen]) -> Vec<ImageRecord> {
    let seconds = |seen: &Seen| match seen.seconds.is_empty() {
        true => vec![seen.iops],
        false => seen.seconds.iter().map(|it| it.count as f64).collect(),
    };
    let record = |(image, seen): (&ImageTerms, &Seen)| ImageRecord {
        image: image.name.clone(),
        iops: seen.iops,
        mean_ms: seen.latency.mean_ms,
        p99_ms: seen.latency.percentile_ms(99.0),
        seconds: seconds(seen),
    };
    images.iter().zip(all).map(record).collect()
}

/// One run under way.
struct RecoveryRun<'a, T> {
    study: &'a RecoveryStudy,
    job: &'a Job,
    bed: T,
}

/// What was counted while the clients wrote.
struct RecoveryCourse {
    begun: Time,
    /// From then until the last look.
    window: Span,
    /// The time in which objects came, where that is known more closely.
    copying: Option<Span>,
    /// Objects brought to their places.
    moved: u64,
    /// Objects not in their places at the end of every whole second.
    left: Vec<u64>,
    service: ServiceLog,
    /// How long the returning OSD's drive had been busy when they began, where that is known; then how long it was since.
    busy: Option<Span>,
}

impl RecoveryCourse {
    /// All was in its place at a moment that is told only now.
    fn ended_at(&mut self, at: Time, copying: Span) {
        self.window = at.since(self.begun);
        self.copying = Some(copying).filter(|span| *span > Span::ZERO);
        self.left.truncate((self.window.nanos() / SECOND.nanos()) as usize);
    }
}

impl<T: Testbed> RecoveryRun<'_, T> {
    /// `prepared` is the part of a run that is over when clients begin. Whatever becomes of it, all that was changed goes back.
    fn make(mut self, heed: Heed<'_>, prepared: f64) -> Result<RunRecord, Halt> {
        let made = self.steps(heed, prepared);
        halt::put_back(&mut self.bed, made)
    }

    fn steps(&mut self, mut heed: Heed<'_>, prepared: f64) -> Result<RunRecord, Halt> {
        let setup = &self.study.setups[self.job.setup];
        let osd = self.study.returning(self.job);
        self.bed.make_images(&mut heed)?;
        heed.next(prepared);
        let pool = self.bed.make_pool("recovery", self.study.steps.object_size)?;
        if setup.recovery {
            self.bed.take_out(osd)?;
            self.until_clean(&mut heed)?;
            self.bed.fill(pool, self.study.objects(self.job.scale), &mut heed)?;
        }
        self.bed.settle(&mut heed)?;
        heed.next(1.0);
        self.bed.count_from_now()?;
        if setup.recovery {
            self.bed.bring_back(osd)?;
        }
        let begun = self.bed.start_load(&mut heed)?;
        if setup.recovery {
            let (course, seen) = self.until_recovered(begun, &mut heed)?;
            return self.record(&seen, &course);
        }
        let course = self.for_a_time(begun, &mut heed)?;
        let seen = self.bed.end_load(&mut heed)?;
        self.record(&seen, &course)
    }

    fn setup(&self) -> String {
        self.study.setups[self.job.setup].name().to_owned()
    }

    fn until_clean(&mut self, heed: &mut Heed<'_>) -> Result<(), Halt> {
        let limit = self.study.steps.limit;
        let until = self.bed.now() + limit;
        while !self.bed.progress()?.clean {
            if self.bed.now() >= until {
                return Err(Halt::Run(RunError::NeverClean { setup: self.setup(), limit }));
            }
            heed.at(0.0)?;
            self.bed.pass(self.bed.now() + self.bed.pace().clean)?;
        }
        Ok(())
    }

    /// Counts until nothing is misplaced or degraded any more. Clients end then, or when their time is over.
    fn until_recovered(
        &mut self,
        begun: Time,
        heed: &mut Heed<'_>,
    ) -> Result<(RecoveryCourse, Vec<Seen>), Halt> {
        let Pace { recovery: tick, first_sign, .. } = self.bed.pace();
        let mut course = self.begin(begun)?;
        let clients_end = self.study.clients(self.job).map(|clients| begun + clients);
        let mut seen = None;
        for ticks in 1u64.. {
            let at = begun + tick * ticks;
            if let Some(end) = clients_end.filter(|end| *end <= at)
                && seen.is_none()
            {
                self.bed.pass(end)?;
                seen = Some(self.bed.end_load(heed)?);
            }
            self.bed.pass(at)?;
            let progress = self.bed.progress()?;
            let left = progress.left;
            course.moved = progress.moved;
            for _ in 0..self.look(&mut course)? {
                course.left.push(left);
            }
            if progress.recovered {
                if let Some((first, last)) = progress.copied {
                    course.ended_at(last, last.since(first));
                }
                course.busy = self.drive_busy()?.zip(course.busy).map(|(now, before)| now - before);
                break;
            }
            self.go_on(&course, &progress, first_sign)?;
            heed.at(course.moved as f64 / (course.moved + left).max(1) as f64)?;
        }
        let seen = match seen {
            Some(seen) => seen,
            None => self.bed.end_load(heed)?,
        };
        Ok((course, seen))
    }

    fn go_on(
        &self,
        course: &RecoveryCourse,
        progress: &RecoveryProgress,
        first_sign: Span,
    ) -> Result<(), Halt> {
        let (setup, limit) = (self.setup(), self.study.steps.limit);
        if progress.moved + progress.left == 0 && course.window > first_sign {
            let scale = self.job.scale;
            return Err(Halt::Run(RunError::NothingToRecover { setup, scale }));
        }
        if course.window >= limit {
            let left = progress.left;
            return Err(Halt::Run(RunError::NeverEnded { setup, limit, left }));
        }
        Ok(())
    }

    /// For a time, without recovery.
    fn for_a_time(&mut self, begun: Time, heed: &mut Heed<'_>) -> Result<RecoveryCourse, Halt> {
        let tick = self.bed.pace().recovery;
        let mut course = self.begin(begun)?;
        let window = self.study.baseline(self.job, tick);
        let end = begun + window;
        while self.bed.now() < end {
            self.bed.pass((self.bed.now() + tick).min(end))?;
            self.look(&mut course)?;
            heed.at(course.window.as_secs_f64() / window.as_secs_f64())?;
        }
        // A disk that has failed meanwhile ends the run.
        self.bed.progress()?;
        Ok(course)
    }

    fn begin(&mut self, begun: Time) -> Result<RecoveryCourse, Halt> {
        let (at, service) = self.bed.service()?;
        let service = ServiceLog::begin(at, service);
        let busy = self.drive_busy()?;
        let (window, moved, copying, left) = (Span::ZERO, 0, None, Vec::new());
        Ok(RecoveryCourse { begun, window, copying, moved, left, service, busy })
    }

    fn drive_busy(&mut self) -> Result<Option<Span>, Halt> {
        Ok(self.bed.drive_busy(self.study.returning(self.job))?)
    }

    /// Time has gone on; answers with how many whole seconds are over that were not before.
    fn look(&mut self, course: &mut RecoveryCourse) -> Result<u64, Halt> {
        let window = self.bed.now().since(course.begun);
        let whole = |span: Span| span.nanos() / SECOND.nanos();
        let over = whole(window) - whole(course.window);
        course.window = window;
        if over > 0 {
            let (at, service) = self.bed.service()?;
            course.service.read(at, service);
        }
        Ok(over)
    }

    /// Latency and rate of the run's first time, if it has whole seconds.
    fn put_first(&self, counted: &mut Figures, seen: &Seen, course: &RecoveryCourse) {
        let Some(first) = self.study.steps.first else { return };
        let whole = (first.as_secs_f64() * self.job.scale) as usize;
        let clients: Vec<_> = seen.seconds.iter().take(whole).collect();
        let ops: u64 = clients.iter().map(|second| second.count).sum();
        let sum: f64 = clients
            .iter()
            .map(|second| second.mean_ns.unwrap_or(0.0) * second.count as f64 / 1e6)
            .sum();
        if ops > 0 {
            counted.put("client/clat_ms/first", sum / ops as f64);
        }
        if let Some(left) = course.left.get(whole.wrapping_sub(1)) {
            let all = course.moved + course.left.last().copied().unwrap_or(0);
            let rate = all.saturating_sub(*left) as f64 / whole as f64;
            counted.put("recovery/first_objects_per_s", rate);
        }
    }

    /// Of the images' clients, the clients' own first.
    fn record(&mut self, all: &[Seen], course: &RecoveryCourse) -> Result<RunRecord, Halt> {
        let setup = &self.study.setups[self.job.setup];
        let (seen, neighbours) = all.split_first().expect("the clients have an image");
        let lasted = seen.lasted.as_secs_f64();
        let mut counted =
            Figures::default().with([("client/iops", seen.iops), ("client/seconds", lasted)]);
        counted.put_latency("client/clat_ms", &seen.latency);
        if !neighbours.is_empty() {
            let p99 = |seen: &Seen| seen.latency.percentile_ms(99.0);
            let iops = neighbours.iter().map(|seen| seen.iops).sum();
            counted.put("neighbours/iops", iops);
            counted.put("neighbours/clat_ms/p99", neighbours.iter().map(p99).fold(0.0, f64::max));
        }
        if setup.recovery {
            let seconds = course.window.as_secs_f64();
            let copying = course.copying.map_or(seconds, Span::as_secs_f64);
            let objects_per_s = course.moved as f64 / copying;
            let size = self.study.steps.object_size.as_mib_f64();
            counted.put("recovery/objects_per_s", objects_per_s);
            counted.put("recovery/mib_per_s", objects_per_s * size);
            counted.put("recovery/seconds", seconds);
            counted.put("recovery/objects", course.moved as f64);
            if let Some(busy) = course.busy {
                counted.put("recovery/drive_busy", busy.as_secs_f64() / seconds);
            }
        }
        self.put_first(&mut counted, seen, course);
        for (key, value) in self.bed.own_figures() {
            counted.put(key, value);
        }
        let mut record = RunRecord {
            counted,
            device_requests: self.bed.device_requests()?,
            trace: self.bed.take_trace()?.iter().map(OpSpan::from).collect(),
            ..RunRecord::of(self.job, setup.name())
        };
        if self.job.purpose == RunPurpose::Answer {
            record.waits = class_waits(setup.osds.plan(), &*self.bed.waits()?, &seen.outside);
            record.series = Series::of_clients("client_iops", &seen.seconds, 1.0);
            if setup.has_several_images() {
                record.images = images(&setup.images, all);
            }
            let before = std::iter::once(course.moved).chain(course.left.iter().copied());
            let done = before.zip(&course.left).map(|(before, left)| before as f64 - *left as f64);
            record.series.put("objects_per_s", done);
            record.series.put("objects_left", course.left.iter().map(|left| *left as f64));
            record.series.fill_up(course.left.len());
            record.series.service = course.service.series();
        }
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_cluster::images::ImageQos;
    use loadline_stats::LatencySecond;
    use loadline_testbed::{Latency, Outside};

    /// Images had as many seconds as the run, the last of them empty where fio had begun after it.
    #[test]
    fn an_image_has_the_seconds_of_its_clients() {
        let terms =
            ImageTerms { name: "clients".to_owned(), neighbour: None, qos: ImageQos::default() };
        let seconds = |counts: &[u64], lasted| {
            let second = |count: &u64| LatencySecond { count: *count, ..LatencySecond::default() };
            let seen = Seen {
                iops: 777.0,
                latency: Latency::default(),
                lasted: Span::from_millis(lasted),
                seconds: counts.iter().map(second).collect(),
                outside: Outside::Unknown,
            };
            images(std::slice::from_ref(&terms), &[seen])[0].seconds.clone()
        };
        assert_eq!(seconds(&[12_000, 11_000], 2_900), [12_000.0, 11_000.0]);
        assert_eq!(seconds(&[], 900), [777.0]);
    }
}
