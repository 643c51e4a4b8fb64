//! What this kind answers when a study is run and told of.

use super::dry;
use super::file::StoreKind;
use super::run;
use super::setup::ClusterShape;
use super::stood;
use super::study::{RecoverySteps, RecoveryStudy};
use crate::input::InputError;
use crate::job::{Companion, Job, RunPurpose};
use crate::place::Place;
use crate::promise::ClientPromise;
use crate::published::PublishedSet;
use crate::record::RunRecord;
use crate::result::{DriveSummary, FittedFigure, NamedValue, SetupResult};
use crate::script::{OnProgress, RunError, Script};
use loadline_base::Span;
use serde_json::{Value, json};

impl Script for RecoveryStudy {
    fn identity(&self, job: &Job) -> String {
        let steps = RecoverySteps { scale: 1.0, ..self.steps };
        let place = self.place.identity().unwrap_or_default();
        let setup = self.setups[job.setup].identity();
        let store = if self.store == StoreKind::Paged { " paged" } else { "" };
        format!(
            "{:?} {:?}{store} {steps:?} {:?}{place} {setup}",
            self.drive, self.cluster, self.load
        )
    }

    fn companions(&self, setup: usize, seed: u64) -> Vec<Companion> {
        let of = &self.setups[setup];
        let mut companions = Vec::new();
        if of.software_stage.is_some() {
            companions.push(Companion {
                purpose: RunPurpose::WithoutStage,
                scale: self.companions.variant_scale,
                placement_seed: seed,
            });
        }
        if of.recovery {
            companions.extend((0..self.companions.spread_placements).map(|index| Companion {
                purpose: RunPurpose::Placement(index),
                scale: self.companions.spread_scale,
                placement_seed: seed.wrapping_add(PLACEMENT_SEEDS_FROM + u64::from(index)),
            }));
        }
        companions
    }

    /// Client ops that the run will carry: by the published rates, or half of the baseline's where none exist.
    fn weight(&self, published: Option<&PublishedSet>, job: &Job) -> f64 {
        if self.place != Place::Sim {
            // Filling takes most of the time of every run, and keeps runs of equal weight in the plan's order.
            return 1.0;
        }
        let (setup, steps) = (&self.setups[job.setup], &self.steps);
        let baseline = self.drive.calibration.baseline_iops;
        if !setup.recovery {
            return steps.baseline.as_secs_f64() * job.scale * baseline;
        }
        let published = published.and_then(|set| set.setup(setup.name()));
        let figure = |key| Some(published.as_ref()?.get(key)?.value);
        let iops = figure("client/iops").unwrap_or(0.5 * baseline);
        // The published recoveries lie around the 215th part of the baseline on flash and a third of that on disk.
        let rate = figure("recovery/objects_per_s").unwrap_or(baseline / 215.0);
        steps.objects as f64 * job.scale / rate * iops
    }

    fn before_runs(&self) -> Result<(), InputError> {
        let (Place::Host(place), Some(setup)) = (&self.place, self.setups.first()) else {
            return Ok(());
        };
        loadline_testbed::check(&self.hosted(place, setup, &Job::default()))
            .map_err(|reason| InputError::new(format!("--on {}", place.disks), reason))
    }

    fn run(&self, job: &Job, tick: OnProgress<'_>) -> Result<Option<RunRecord>, RunError> {
        run::run(self, job, tick)
    }

    fn drive(&self, records: &[&RunRecord]) -> DriveSummary {
        match self.place {
            Place::Sim => drive_summary(self),
            Place::Host(_) => stood::drive_summary(self, records),
        }
    }

    fn fitted(&self) -> Vec<FittedFigure> {
        fitted(self)
    }

    fn complete(&self, setups: &mut [SetupResult]) {
        let recovered = |setup: &SetupResult| setup.figure("recovery/seconds").is_some();
        let baseline = setups.iter().find(|setup| !recovered(setup));
        let Some(baseline) = baseline.and_then(|setup| setup.figure("client/iops")) else { return };
        for setup in setups.iter_mut().filter(|setup| recovered(setup)) {
            let iops = setup.figure("client/iops").unwrap_or(0.0);
            setup.figures.put("share_of_baseline", iops / baseline);
        }
    }

    fn judge(&self, setups: &mut [SetupResult], answers: &[(usize, Vec<&RunRecord>)]) {
        let recovered = |setup: &SetupResult| setup.figure("recovery/seconds").is_some();
        let baseline = setups.iter().find(|setup| !recovered(setup));
        let Some(alone_iops) = baseline.and_then(|setup| setup.figure("client/iops")) else {
            return;
        };
        for (setup, (place, runs)) in setups.iter_mut().zip(answers) {
            if recovered(setup) {
                let share = self.setups[*place].osds.reserved_for_clients();
                let promise = self.promise(share, alone_iops);
                setup.promise = promise.judge(runs);
            }
            if let Some(promise) = setup.promise.filter(|promise| promise.is_kept().is_some()) {
                setup.figures.put("reservation/shortfall", promise.shortfall());
            }
        }
    }

    fn warnings(&self, setups: &[SetupResult], records: &[&RunRecord]) -> Vec<String> {
        let is_real = self.place != Place::Sim;
        let compares = setups.iter().any(|setup| !setup.published.is_empty());
        let mut warnings = if is_real { stood::warnings(records, compares) } else { Vec::new() };
        if self.store == StoreKind::Paged && !is_real {
            warnings.push(
                "This ran on the paged store and on the drive's own times: the published figures contain another store, and \
                 stand beside these for orientation; compare the setups with each other."
                    .to_owned(),
            );
        }
        let scale = self.steps.scale;
        if scale != 1.0 && !self.is_fitted() {
            warnings.push(format!(
                "This is {scale} of the published amount of work: rates and latencies are comparable, \
                 times are not; leave out --quick and --set scale for the published scale."
            ));
        }
        if setups.iter().all(|setup| setup.figure("recovery/seconds").is_some()) {
            warnings.push(
                "No setup without recovery was run, so there is no share of the baseline; add the \
                 baseline to --setups."
                    .to_owned(),
            );
        }
        warnings
    }

    fn in_lines(&self) -> Vec<(&'static str, String)> {
        let steps = &self.steps;
        vec![
            ("drive", format!("{} ({})", self.drive.name, self.drive.model)),
            ("cluster", format!("{} OSDs, {} copies", self.cluster.osds, self.cluster.copies)),
            ("load", self.load.to_string()),
            (
                "steps",
                format!(
                    "one OSD goes, {} objects of {} are written without it, it returns, and clients \
                     write until it is filled; the baseline writes {} alone",
                    steps.objects, steps.object_size, steps.baseline
                ),
            ),
        ]
    }

    fn in_json(&self) -> Value {
        json!({
            "osds": self.cluster.osds, "copies": self.cluster.copies,
            "objects": self.steps.objects, "object_bytes": self.steps.object_size.get(),
            "baseline_s": self.steps.baseline.as_secs_f64(),
        })
    }

    fn setup_in_json(&self, setup: usize) -> Value {
        let setup = &self.setups[setup];
        json!({
            "scheduler": setup.osds.configuration.traits[1].value, "recovery": setup.recovery,
            "software_stage_us": setup.software_stage.map(|span| span.as_secs_f64() * 1e6),
        })
    }

    fn on_disks(&self, jobs: &[Job]) -> Option<String> {
        match &self.place {
            Place::Sim => None,
            Place::Host(place) => Some(dry::describe(self, place, jobs)),
        }
    }
}

/// Placements of companions lie this far from the seeds that repeats use.
const PLACEMENT_SEEDS_FROM: u64 = 1 << 32;

impl RecoveryStudy {
    /// What clients are promised who complete so much alone. An open loop that keeps its rate alone does not show what the disks could
    /// do: there the stored capacity tells, each write being one on every copy.
    fn promise(&self, share: Option<f64>, alone_iops: f64) -> ClientPromise {
        let ClusterShape { osds, copies } = self.cluster;
        let stored = self.drive.capacity_iops * f64::from(osds) / f64::from(copies);
        let alone_iops = if self.load.rate.is_some() { alone_iops.max(stored) } else { alone_iops };
        ClientPromise { share, alone_iops, offered_iops: self.load.rate }
    }
}

fn drive_summary(study: &RecoveryStudy) -> DriveSummary {
    let (drive, steps) = (&study.drive, &study.steps);
    let fact = |name: &str, value: String| NamedValue { name: name.to_owned(), value };
    let is_paged = study.store == StoreKind::Paged;
    let layouts = study.setups.iter().map(|setup| {
        let options = setup.osds.options();
        format!(
            "{} × {} ({})",
            options.shards, options.threads_per_shard, setup.osds.configuration.preset
        )
    });
    let mut layouts: Vec<String> = layouts.collect();
    layouts.dedup();
    let of_store = if is_paged {
        vec![
            fact("Store", "paged: log, pages and checkpoints on a disk with contents".to_owned()),
            fact("Disk", study.disk_size().to_string()),
            fact("Request, or flush, of the disk", drive.service.per_part.to_string()),
        ]
    } else {
        vec![
            fact("Store window", drive.window.to_string()),
            fact("Write of 4 KiB", drive.service.per_request.to_string()),
        ]
    };
    let calibration = if is_paged {
        "The drive's own times, without the OSD's overhead that a calibrated drive contains: here the store itself is in its place."
            .to_owned()
    } else {
        format!(
            "Calibrated from {} IOPS of 4 KiB random writes at depth 64 ({}) and a peak of {}.",
            drive.calibration.baseline_iops, drive.calibration.source, drive.calibration.peak
        )
    };
    DriveSummary {
        name: drive.name.clone(),
        model: drive.model.clone(),
        calibration,
        facts: [
            vec![
                fact("OSDs", study.cluster.osds.to_string()),
                fact("Shards × threads of an OSD, by preset", layouts.join(", ")),
                fact("Copies", study.cluster.copies.to_string()),
                fact("Placement groups", format!("{} in each of two pools", drive.fitted.pgs)),
                fact(
                    "Objects written without the OSD",
                    format!("{:.0} of {}", steps.objects as f64 * steps.scale, steps.object_size),
                ),
                fact("Image of the clients", study.load.image.to_string()),
            ],
            of_store,
            vec![
                fact("Transfer of 1 MiB", drive.service.per_mib.to_string()),
                fact("Worker time per item", drive.worker_time.to_string()),
                fact("One-way delay", drive.link_delay.to_string()),
            ],
        ]
        .concat(),
    }
}

fn fitted(study: &RecoveryStudy) -> Vec<FittedFigure> {
    if study.is_fitted() {
        return Vec::new();
    }
    let fitted = &study.drive.fitted;
    let figure = |name: &str, value: String, where_used: &str, why: &str| FittedFigure {
        name: name.to_owned(),
        value,
        where_used: where_used.to_owned(),
        source: why.to_owned(),
    };
    let mut figures = vec![
        figure("Placement groups per pool", fitted.pgs.to_string(), "all setups", &fitted.pgs_why),
        figure(
            "Handling time of a recovered object",
            fitted.object_handling.to_string(),
            "every setup with recovery",
            &fitted.object_handling_why,
        ),
    ];
    if fitted.software_stage > Span::ZERO {
        figures.push(figure(
            "Software stage under mClock",
            fitted.software_stage.to_string(),
            "setups marked as_published, while recovery is pending",
            &fitted.software_stage_why,
        ));
    }
    figures
}
