//! Makes runs, several at a time, the longest first.

use crate::job::Job;
use crate::record::RunRecord;
use crate::script::RunError;
use crate::stopwatch::{CoreTime, Stopwatch};
use crate::study::Study;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// What happens while runs are made.
#[derive(Debug)]
pub(crate) enum RunEvent<'a> {
    /// Somewhat more is done.
    Advanced(Advance),
    /// A run has ended and its record is to be kept. It took this many seconds of a core.
    Finished(&'a Job, &'a RunRecord, f64),
}

/// How far all runs together have come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Advance {
    /// Share of the work, 0 to 1.
    pub done: f64,
    /// What remains at the speed so far; `None` while too little is done to tell.
    pub remaining: Option<Duration>,
}

/// Why not all runs were made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExecuteError<E> {
    /// Somebody asked to stop; finished runs are recorded.
    #[error("interrupted")]
    Interrupted,
    /// A run came to no result.
    #[error(transparent)]
    Run(RunError),
    /// What happened could not be dealt with, such as a record that cannot be kept.
    #[error(transparent)]
    Observer(E),
}

/// How often a run says how far it has come.
const REPORT_EVERY: Duration = Duration::from_millis(100);

/// Share of the work after which the speed so far says something about the rest.
const ESTIMATE_FROM: f64 = 0.02;

enum RunNews {
    Advanced { job: usize, share: f64 },
    Ended { job: usize, outcome: Box<Result<Option<RunRecord>, RunError>>, seconds: f64 },
}

/// Makes all `jobs` on `workers` threads, and tells `observe` on this one. `interrupted` ends it early.
///
/// # Errors
/// [`ExecuteError`]; what was observed as finished stays valid.
pub(crate) fn execute<E>(
    study: &Study,
    jobs: &[Job],
    workers: usize,
    interrupted: &AtomicBool,
    mut observe: impl FnMut(RunEvent<'_>) -> Result<(), E>,
) -> Result<(), ExecuteError<E>> {
    let mut longest_first: Vec<usize> = (0..jobs.len()).collect();
    longest_first.sort_by(|a, b| jobs[*b].weight.total_cmp(&jobs[*a].weight));
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let go_on = || !stop.load(Ordering::Relaxed) && !interrupted.load(Ordering::Relaxed);
    let (tell, news) = channel();
    std::thread::scope(|scope| {
        for _ in 0..workers.clamp(1, jobs.len().max(1)) {
            let (tell, next, order, go_on) = (tell.clone(), &next, &longest_first, &go_on);
            scope.spawn(move || {
                while go_on() {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&job) = order.get(place) else { return };
                    work(study, jobs, job, go_on, &tell);
                }
            });
        }
        drop(tell);
        let outcome = follow(jobs, &news, &mut observe);
        stop.store(true, Ordering::Relaxed);
        match outcome {
            Ok(ended) if ended < jobs.len() => Err(ExecuteError::Interrupted),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    })
}

fn work(study: &Study, jobs: &[Job], job: usize, go_on: &dyn Fn() -> bool, tell: &Sender<RunNews>) {
    let (began, mut told) = (CoreTime::start(), Stopwatch::start());
    let mut tick = |share: f64| {
        if told.elapsed() >= REPORT_EVERY {
            told = Stopwatch::start();
            // Nobody listens any more only when the study is being given up.
            let _ = tell.send(RunNews::Advanced { job, share });
        }
        go_on()
    };
    let outcome = Box::new(study.run(&jobs[job], &mut tick));
    let _ = tell.send(RunNews::Ended { job, outcome, seconds: began.elapsed().as_secs_f64() });
}

/// Observes until no worker is left; the answer is how many runs have ended with a record.
fn follow<E>(
    jobs: &[Job],
    news: &Receiver<RunNews>,
    observe: &mut impl FnMut(RunEvent<'_>) -> Result<(), E>,
) -> Result<usize, ExecuteError<E>> {
    let began = Stopwatch::start();
    let all: f64 = jobs.iter().map(|job| job.weight).sum();
    let mut shares = vec![0.0; jobs.len()];
    let mut ended = 0;
    for news in news {
        match news {
            RunNews::Advanced { job, share } => shares[job] = share,
            RunNews::Ended { job, outcome, seconds } => match *outcome {
                Ok(Some(record)) => {
                    shares[job] = 1.0;
                    ended += 1;
                    observe(RunEvent::Finished(&jobs[job], &record, seconds))
                        .map_err(ExecuteError::Observer)?;
                }
                Ok(None) => continue,
                Err(error) => return Err(ExecuteError::Run(error)),
            },
        }
        let done: f64 = jobs.iter().zip(&shares).map(|(job, share)| job.weight * share).sum();
        let done = (done / all).min(1.0);
        let advance = Advance { done, remaining: remaining(done, began.elapsed()) };
        observe(RunEvent::Advanced(advance)).map_err(ExecuteError::Observer)?;
    }
    Ok(ended)
}

fn remaining(done: f64, elapsed: Duration) -> Option<Duration> {
    (done >= ESTIMATE_FROM).then(|| elapsed.mul_f64((1.0 - done) / done))
}
