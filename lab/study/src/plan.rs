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
            let seed = request.seed + repeat;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::RunPurpose;
    use crate::library::Library;
    use loadline_testbed::{ClientKind, HostPlace, RealDisks};

    fn jobs(set: &[&str], place: Place, repeats: u32) -> Vec<Job> {
        let set = set.iter().map(|text| text.parse().expect("an override")).collect();
        let inputs = Library::built_in().inputs("recovery-nvme", set).expect("it is there");
        let study = Study { place, ..Study::new(&inputs).expect("it can be used") };
        let (setups, engine) = (vec![0, 1], "test".to_owned());
        plan(&study, &StudyRequest { setups, seed: 7, repeats, trace: Some(20), engine })
    }

    /// Setup, seed and first traced op of each run that answers.
    fn answers(jobs: &[Job]) -> Vec<(usize, u64, Option<u64>)> {
        let answers = jobs.iter().filter(|job| job.purpose == RunPurpose::Answer);
        answers.map(|job| (job.setup, job.seed, job.trace)).collect()
    }

    #[test]
    fn each_repeat_has_a_seed_of_its_own_and_the_first_one_is_traced() {
        let jobs = jobs(&[], Place::Sim, 2);
        let wanted = [(0, 7, Some(20)), (0, 8, None), (1, 7, Some(20)), (1, 8, None)];
        assert_eq!(answers(&jobs), wanted);
        let mut keys: Vec<&str> = jobs.iter().map(|job| job.key.as_str()).collect();
        keys.sort_unstable();
        assert!(keys.is_sorted_by(|a, b| a < b), "no two runs have one key");
    }

    #[test]
    fn on_a_machine_each_setup_runs_once_before_any_runs_again() {
        let disks = RealDisks::Files("disk".into());
        let client = ClientKind::Own;
        let place = HostPlace { disks, client, keep_files: false, overwrite: false };
        let wanted = [(0, 7, Some(20)), (1, 7, Some(20)), (0, 8, None), (1, 8, None)];
        assert_eq!(answers(&jobs(&[], Place::Host(place), 2)), wanted);
    }

    #[test]
    fn companions_are_no_larger_than_what_they_stand_beside() {
        for job in jobs(&["scale=0.0005", "spread_placements=1"], Place::Sim, 1) {
            assert_eq!(job.scale, 0.0005, "{:?}", job.purpose);
        }
    }
}
