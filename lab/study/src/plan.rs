//! Which runs answer a study: every setup, every repeat, and the shorter companions beside them.

use crate::input::fingerprint;
use crate::job::Job;
use crate::place::Place;
use crate::study::Study;

/// What somebody asked for, beside the study itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyRequest {
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

/// All runs, in the order in which results name them.
pub fn plan(study: &Study, request: &StudyRequest) -> Vec<Job> {
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
        job.weight = study.script.weight(study.published.as_ref(), job);
    }
    jobs
}
