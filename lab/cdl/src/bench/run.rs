//! Carries out the steps that are not finished: on all cores in virtual time, one after another in real time.

use super::fio;
use super::order::{BenchOrder, WorkloadStep};
use super::real::RealDrive;
use super::sim::{self, Modelled};
use super::{BenchError, Stopped};
use crate::folder::{BenchFolder, DESCRIPTORS, make, write};
use crate::workload::ReadWorkload;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// A run that can be begun, or continued.
pub struct Bench<'a> {
    /// What is to be run.
    pub order: &'a BenchOrder,
    /// Where its files go.
    pub folder: &'a BenchFolder,
    /// The drive.
    pub ground: Ground,
}

/// What it runs on.
#[allow(clippy::large_enum_variant, reason = "there is one for a whole run")]
pub enum Ground {
    /// A modelled drive.
    Modelled(Modelled),
    /// A block device or a file.
    Real(RealDrive),
}

/// What is heard of a run. Workloads and depths come in the order of the script, however many steps run at a time.
#[derive(Clone, Copy, Debug)]
pub enum BenchNews<'a> {
    /// The first step of a workload is reached.
    Workload(&'a ReadWorkload),
    /// A depth is being run, or was run before.
    Depth {
        /// The depth.
        depth: u32,
        /// Whether it is kept from an earlier run.
        kept: bool,
    },
    /// How much of the whole run is done, 0 to 1.
    Done(f64),
    /// A line that concerns the whole run.
    Note(&'a str),
}

/// Hears the news and says whether to go on.
pub(super) type Watch<'w> = &'w mut dyn FnMut(BenchNews<'_>) -> bool;

impl Bench<'_> {
    /// Runs every step that is not finished.
    pub fn run(&self, jobs: usize, watch: Watch<'_>) -> Result<(), BenchError> {
        let steps = self.order.steps();
        let finished =
            |step: &WorkloadStep<'_>| self.folder.is_finished(step.workload.folder(), step.depth);
        let kept: Vec<bool> = steps.iter().map(finished).collect();
        let mut course = StepCourse::new(&steps, &kept);
        match &self.ground {
            Ground::Modelled(drive) => {
                self.write_descriptors(&drive.descriptors())?;
                self.in_virtual_time(drive, &mut course, jobs, watch)
            }
            Ground::Real(drive) => {
                let held = drive.held();
                assert!(held.is_some() || !self.order.has_limits(), "they are checked before");
                self.write_descriptors(held.map_or("", |held| &held.shown))?;
                self.in_real_time(drive, &mut course, watch)
            }
        }
    }

    /// What the drive's descriptors are, beside each workload that uses them. They are those of the folder's run, so a file
    /// that was lost or emptied becomes what it was.
    fn write_descriptors(&self, descriptors: &str) -> Result<(), BenchError> {
        for workload in self.order.workloads.iter().filter(|workload| workload.has_limits()) {
            let place = self.folder.workload(workload.folder());
            make(&place)?;
            write(&place.join(DESCRIPTORS), descriptors)?;
        }
        Ok(())
    }

    fn in_virtual_time(
        &self,
        drive: &Modelled,
        course: &mut StepCourse<'_>,
        jobs: usize,
        watch: Watch<'_>,
    ) -> Result<(), BenchError> {
        let open: Vec<usize> = (0..course.steps.len()).filter(|n| !course.kept[*n]).collect();
        let team = Team { next: AtomicUsize::new(0), halt: AtomicBool::new(false), open };
        let (sender, receiver) = channel();
        thread::scope(|scope| {
            for _ in 0..jobs.clamp(1, team.open.len().max(1)) {
                let (sender, team, steps) = (sender.clone(), &team, course.steps);
                scope.spawn(move || self.work(drive, steps, team, &sender));
            }
            drop(sender);
            let outcome = follow(&receiver, course, watch);
            team.halt.store(true, Ordering::Relaxed);
            outcome
        })
    }

    /// One worker: takes the next open step until there is none.
    fn work(
        &self,
        drive: &Modelled,
        steps: &[WorkloadStep<'_>],
        team: &Team,
        sender: &Sender<WorkerNews>,
    ) {
        while let Some(n) = team.open.get(team.next.fetch_add(1, Ordering::Relaxed)).copied() {
            let step = &steps[n];
            let mut watch = |share: f64| {
                // Nobody listens any more once the run has failed elsewhere.
                let _ = sender.send(WorkerNews::Share(n, share));
                !team.halt.load(Ordering::Relaxed)
            };
            let begun = self.folder.begin_step(step.workload.folder(), step.depth);
            let outcome = begun
                .map_err(BenchError::from)
                .and_then(|place| sim::run(step, drive, &place, &mut watch));
            let failed = outcome.is_err();
            let _ = sender.send(WorkerNews::Ended(n, outcome));
            if failed {
                return;
            }
        }
    }

    fn in_real_time(
        &self,
        drive: &RealDrive,
        course: &mut StepCourse<'_>,
        watch: Watch<'_>,
    ) -> Result<(), BenchError> {
        let mut prepared = None;
        let outcome = self.steps_in_real_time(drive, course, watch, &mut prepared);
        if prepared.is_some() {
            for note in drive.put_back() {
                // The drive is put back whether or not somebody still listens.
                let _ = heard(watch, BenchNews::Note(&note));
            }
        }
        outcome.and_then(|()| course.tell_until(course.steps.len(), watch))
    }

    /// `prepared` becomes the workload for which the drive was switched last.
    fn steps_in_real_time<'s>(
        &self,
        drive: &RealDrive,
        course: &mut StepCourse<'s>,
        watch: Watch<'_>,
        prepared: &mut Option<&'s ReadWorkload>,
    ) -> Result<(), BenchError> {
        for n in 0..course.steps.len() {
            if course.kept[n] {
                continue;
            }
            let step = &course.steps[n];
            if *prepared != Some(step.workload) {
                *prepared = Some(step.workload);
                for note in drive.prepare(step.workload) {
                    heard(watch, BenchNews::Note(&note))?;
                }
            }
            course.tell_until(n, watch)?;
            let place = self.folder.begin_step(step.workload.folder(), step.depth)?;
            fio::run(step, &place, self.folder.hold()?, &mut |share| {
                course.shares[n] = share;
                watch(BenchNews::Done(course.done()))
            })?;
            course.shares[n] = 1.0;
        }
        Ok(())
    }
}

/// What the workers share.
struct Team {
    next: AtomicUsize,
    halt: AtomicBool,
    /// The steps that are not finished.
    open: Vec<usize>,
}

/// What a worker says: which step, and how far it is or how it ended.
enum WorkerNews {
    Share(usize, f64),
    Ended(usize, Result<(), BenchError>),
}

/// Hears the workers until the last one has gone.
fn follow(
    receiver: &Receiver<WorkerNews>,
    course: &mut StepCourse<'_>,
    watch: Watch<'_>,
) -> Result<(), BenchError> {
    course.tell_ended(watch)?;
    for word in receiver {
        match word {
            WorkerNews::Share(n, share) => {
                course.shares[n] = share;
                heard(watch, BenchNews::Done(course.done()))?;
            }
            WorkerNews::Ended(n, outcome) => {
                outcome?;
                course.shares[n] = 1.0;
                course.ended[n] = true;
                course.tell_ended(watch)?;
            }
        }
    }
    Ok(())
}

fn heard(watch: Watch<'_>, news: BenchNews<'_>) -> Result<(), BenchError> {
    if watch(news) { Ok(()) } else { Err(BenchError::Stopped(Stopped)) }
}

/// How far the steps are, and which of them were told of.
struct StepCourse<'a> {
    steps: &'a [WorkloadStep<'a>],
    kept: &'a [bool],
    ended: Vec<bool>,
    shares: Vec<f64>,
    told: usize,
}

impl<'a> StepCourse<'a> {
    fn new(steps: &'a [WorkloadStep<'a>], kept: &'a [bool]) -> StepCourse<'a> {
        let shares = kept.iter().map(|kept| f64::from(u8::from(*kept))).collect();
        StepCourse { steps, kept, ended: kept.to_vec(), shares, told: 0 }
    }

    fn done(&self) -> f64 {
        self.shares.iter().sum::<f64>() / self.shares.len().max(1) as f64
    }

    /// Tells of all steps up to the first that has not ended.
    fn tell_ended(&mut self, watch: Watch<'_>) -> Result<(), BenchError> {
        let open = self.ended.iter().position(|ended| !ended).unwrap_or(self.ended.len());
        while self.told < open {
            self.tell(watch)?;
        }
        Ok(())
    }

    /// Tells of all steps up to step `n` and of it.
    fn tell_until(&mut self, n: usize, watch: Watch<'_>) -> Result<(), BenchError> {
        while self.told <= n && self.told < self.steps.len() {
            self.tell(watch)?;
        }
        Ok(())
    }

    fn tell(&mut self, watch: Watch<'_>) -> Result<(), BenchError> {
        let step = &self.steps[self.told];
        let is_first = self.told == 0 || self.steps[self.told - 1].workload != step.workload;
        if is_first {
            heard(watch, BenchNews::Workload(step.workload))?;
        }
        heard(watch, BenchNews::Depth { depth: step.depth, kept: self.kept[self.told] })?;
        self.told += 1;
        Ok(())
    }
}
