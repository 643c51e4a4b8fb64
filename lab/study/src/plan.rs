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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// It is the answer.
    Answer,
    /// The same without the study era's software stage.
    WithoutStage,
    /// The same over another placement of the placement groups.
    Placement(u32),
}

/// One run to make.
#[derive(Clone, Debug, PartialEq)]
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

/// Placements of companions lie this far from the seeds that repeats use.
const PLACEMENT_SEEDS_FROM: u64 = 1 << 32;

/// All runs, in the order in which results name them.
pub fn plan(study: &Study, request: &Request) -> Vec<Job> {
    let draft = |job: Job| finish(study, request, job);
    let mut jobs = Vec::new();
    for &setup in &request.setups {
        for repeat in 0..u64::from(request.repeats) {
            let seed = request.seed.wrapping_add(repeat);
            let answer = Job {
                key: String::new(),
                setup,
                purpose: Purpose::Answer,
                scale: study.steps.scale,
                seed,
                placement_seed: seed,
                trace: request.trace.filter(|_| repeat == 0),
                weight: 0.0,
            };
            jobs.push(draft(answer));
        }
        jobs.extend(companions(study, request.seed, setup).into_iter().map(draft));
    }
    if study.place != Place::Sim {
        // A machine drifts: each setup runs once before any runs again.
        jobs.sort_by_key(|job| job.seed.wrapping_sub(request.seed));
    }
    jobs
}

/// Shorter runs, never larger than the answer's own.
fn companions(study: &Study, seed: u64, setup: usize) -> Vec<Job> {
    let of = &study.setups[setup];
    let job = |purpose, scale: f64, placement_seed| Job {
        key: String::new(),
        setup,
        purpose,
        scale: scale.min(study.steps.scale),
        seed,
        placement_seed,
        trace: None,
        weight: 0.0,
    };
    let mut jobs = Vec::new();
    if of.software_stage.is_some() {
        jobs.push(job(Purpose::WithoutStage, study.companions.variant_scale, seed));
    }
    if of.recovery {
        jobs.extend((0..study.companions.spread_placements).map(|index| {
            let placement = seed.wrapping_add(PLACEMENT_SEEDS_FROM + u64::from(index));
            job(Purpose::Placement(index), study.companions.spread_scale, placement)
        }));
    }
    jobs
}

fn finish(study: &Study, request: &Request, job: Job) -> Job {
    let setup = &study.setups[job.setup];
    let own = format!(
        "{:?} {} {} {} {:?}",
        job.purpose, job.scale, job.seed, job.placement_seed, job.trace
    );
    let key = fingerprint(&[&request.engine, &study.identity(), &setup.identity(), &own]);
    Job { key, weight: weight(study, &job), ..job }
}

/// Client ops that the run will carry: by the published rates, or half of the baseline's where none exist.
fn weight(study: &Study, job: &Job) -> f64 {
    if study.place != Place::Sim {
        // Filling takes most of the time of every run, and keeps runs of equal weight in the plan's order.
        return 1.0;
    }
    let (setup, steps) = (&study.setups[job.setup], &study.steps);
    let baseline = study.drive.calibration.baseline_iops;
    if !setup.recovery {
        return steps.baseline.as_secs_f64() * job.scale * baseline;
    }
    let published = study.published.as_ref().and_then(|set| set.setup(&setup.name));
    let iops = published.as_ref().and_then(|figures| figures.client.iops.as_ref());
    let rate = published.as_ref().and_then(|figures| figures.recovery.objects_per_s.as_ref());
    let iops = iops.map_or(0.5 * baseline, |figure| figure.value);
    // The published recoveries lie around the 215th part of the baseline on flash and a third of that on disk.
    let rate = rate.map_or(baseline / 215.0, |figure| figure.value);
    steps.objects as f64 * job.scale / rate * iops
}
