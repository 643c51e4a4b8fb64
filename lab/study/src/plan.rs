//! Which runs answer a study: every setup, every repeat, and the shorter companions beside them.

use crate::input::fingerprint;
use crate::place::Place;
use crate::study::Study;
use serde::{Deserialize, Serialize};

/// What somebody asked for, beside the study itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Setups, by their place in the study.
    pub setups: Vec<usize>,
    /// Seed of the first repeat; the others follow it.
    pub seed: u64,
    /// Runs of each setup.
    pub repeats: u32,
    /// Trace the stages of some ops, the first of which has this number.
    pub trace: Option<u64>,
    /// Which build computes: runs of another build are not taken for its own.
    pub engine: String,
}

/// Why a run is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// It is the answer.
    #[default]
    Answer,
    /// The same without the study era's software stage.
    WithoutStage,
    /// The same over another placement of the placement groups.
    Placement(u32),
}

/// One run to make.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Job {
    /// Names everything that its result depends on.
    pub key: String,
    /// The setup, by its place in the study.
    pub setup: usize,
    /// Why.
    pub purpose: Purpose,
    /// Share of the published amount of work.
    pub scale: f64,
    /// Seeds the load and the lotteries.
    pub seed: u64,
    /// Decides where placement groups fall.
    pub placement_seed: u64,
    /// The first op that is traced.
    pub trace: Option<u64>,
    /// How much work it is, in client ops as far as they can be guessed; for order and remaining time only.
    pub weight: f64,
}

/// A shorter run beside the answers.
pub(crate) struct Companion {
    pub(crate) purpose: Purpose,
    /// Never larger than the answers' own.
    pub(crate) scale: f64,
    pub(crate) placement_seed: u64,
}

/// All runs, in the order in which results name them.
pub fn plan(study: &Study, request: &Request) -> Vec<Job> {
    let mut jobs = Vec::new();
    for &setup in &request.setups {
        for repeat in 0..u64::from(request.repeats) {
            let seed = request.seed.wrapping_add(repeat);
            jobs.push(Job {
                setup,
                scale: study.scale,
                seed,
                placement_seed: seed,
                trace: request.trace.filter(|_| repeat == 0),
                ..Job::default()
            });
        }
        let companions = study.script.companions(setup, request.seed);
        jobs.extend(companions.into_iter().map(|companion| Job {
            setup,
            purpose: companion.purpose,
            scale: companion.scale.min(study.scale),
            seed: request.seed,
            placement_seed: companion.placement_seed,
            ..Job::default()
        }));
    }
    if study.place != Place::Sim {
        // A machine drifts: each setup runs once before any runs again.
        jobs.sort_by_key(|job| job.seed.wrapping_sub(request.seed));
    }
    for job in &mut jobs {
        let own = format!(
            "{:?} {} {} {} {:?}",
            job.purpose, job.scale, job.seed, job.placement_seed, job.trace
        );
        job.key = fingerprint(&[&request.engine, &study.script.identity(job), &own]);
        job.weight = study.script.weight(study, job);
    }
    jobs
}
