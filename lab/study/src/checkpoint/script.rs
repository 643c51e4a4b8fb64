//! What this kind answers when a study is run and told of.

use super::doubts::doubts;
use super::embedded;
use super::run::run;
use super::simulated;
use super::study::{CheckpointSetup, CheckpointStudy};
use crate::input::InputError;
use crate::job::Job;
use crate::place::Place;
use crate::real_runs;
use crate::record::RunRecord;
use crate::result::{DriveSummary, NamedValue, SetupResult};
use crate::script::{OnProgress, RunError, Script};
use loadline_base::Bytes;
use loadline_host::ProgramMemory;
use loadline_testbed::{HostPlace, RealDisks};
use serde_json::{Value, json};

impl Script for CheckpointStudy {
    fn identity(&self, job: &Job) -> String {
        let CheckpointStudy { drive, work, store, load, osd, setups, place, .. } = self;
        let CheckpointSetup { protection, log_mode, compression, throttle, puts, .. } =
            setups[job.setup];
        let stands_on = place.identity().unwrap_or_else(|| format!("{drive:?} {osd:?}"));
        format!(
            "{stands_on} {work:?} {store:?} {load:?} {protection} {log_mode} {compression} {throttle} {puts}"
        )
    }

    fn before_runs(&self, workers: u32) -> Result<(), InputError> {
        match (&self.place, self.setups.first()) {
            (Place::Host(place), Some(setup)) => embedded::spec(self, (setup, place), 0)
                .check()
                .map_err(|reason| InputError::new(format!("--on {}", place.disks), reason)),
            _ => simulated::check(self, workers, ProgramMemory::here().available),
        }
    }

    fn run(&self, job: &Job, tick: OnProgress<'_>) -> Result<Option<RunRecord>, RunError> {
        run(self, job, tick)
    }

    fn drive(&self, records: &[&RunRecord]) -> DriveSummary {
        let CheckpointStudy { drive, work, store, .. } = self;
        let scaled = |bytes: Bytes| {
            format!("{:.1} MiB", work.scaled(bytes.get()) as f64 / f64::from(1 << 20))
        };
        let (keys, filled) = (work.scaled(work.keys), work.scaled(work.filled));
        let shared = [
            ("Scale", format!("{} of one server node", in_words(work.scale))),
            ("Keys", format!("{keys}, {filled} at the start")),
            ("Checkpoint period", format!("{:.1}", work.scaled_span(work.period))),
            ("Measured", format!("{} periods after {} to settle", work.periods, work.warm_up)),
            ("Memory for pages", scaled(store.cache)),
            ("Buffer of old versions", scaled(store.old_versions)),
            ("Log", scaled(store.log)),
        ];
        let real = records.iter().find_map(|record| record.real.as_ref());
        if let Some(real) = real.filter(|_| self.place != Place::Sim) {
            let facts = real.facts.iter().cloned();
            return DriveSummary {
                name: match &self.place {
                    Place::Host(HostPlace { disks: RealDisks::Devices(_), .. }) => "a real device",
                    _ => "a real file",
                }
                .to_owned(),
                model: "the disk of this machine, under a store in the study's own process"
                    .to_owned(),
                calibration:
                    "Nothing was calibrated: the disk is real, and time is this machine's."
                        .to_owned(),
                facts: facts.chain(shared.map(NamedValue::from)).collect(),
            };
        }
        let modelled = [
            ("A second of the published node", format!("{:.2}", self.second())),
            ("Drive's figures", drive.source.clone()),
            ("Transfer per second", drive.bandwidth.to_string()),
            ("Time per request", format!("{}, {} at once", drive.per_request, drive.channels)),
            ("Flush", drive.flush.to_string()),
            ("Processor time of a put", drive.op.to_string()),
            (
                "Processor time of a KiB of images and edits in the log",
                drive.physical_log_kib.to_string(),
            ),
            (
                "Scheduler",
                format!("{}, profile {}", self.osd.policy.plan.preset.name, self.profile),
            ),
        ];
        DriveSummary {
            name: self.drive_name.clone(),
            model: drive.model.clone(),
            calibration: String::new(),
            facts: shared.into_iter().chain(modelled).map(NamedValue::from).collect(),
        }
    }

    fn complete(&self, setups: &mut [SetupResult]) {
        for setup in setups {
            setup.doubts.extend(doubts(self, setup));
        }
    }

    fn warnings(&self, _: &[SetupResult], records: &[&RunRecord]) -> Vec<String> {
        match self.place {
            Place::Sim => vec![
                "Drive and processor are modelled: ratios between setups are comparable with published \
                 ones, absolute rates are not; look at the ratios first."
                    .to_owned(),
            ],
            Place::Host(_) | Place::Ceph(_) => real_runs::doubts(records),
        }
    }

    fn on_disks(&self, jobs: &[Job]) -> Option<String> {
        let Place::Host(place) = &self.place else { return None };
        let names: Vec<&str> =
            jobs.iter().map(|job| self.setups[job.setup].configuration.name.as_str()).collect();
        let work = &self.work;
        let size = embedded::spec(self, (self.setups.first()?, place), 0).format.data_bytes;
        let (keys, filled) = (work.scaled(work.keys), work.scaled(work.filled));
        let (warm_up, seconds) = (self.seconds(work.warm_up), self.seconds(work.periods));
        let lines = [
            ("runs", format!("{}: {}", jobs.len(), names.join(", "))),
            ("disk", format!("{} (a store of {size})", place.disks)),
            ("scale", format!("{} of one published server node", work.scale)),
            ("keys", format!("{keys}, {filled} put before the load")),
            ("load", format!("{}, for {warm_up} s and {seconds} s more", self.load)),
            ("clients", "one thread beside the store's".to_owned()),
        ];
        Some(lines.map(|(name, value)| format!("{name:<10}{value}\n")).concat())
    }

    fn in_lines(&self) -> Vec<(&'static str, String)> {
        let work = &self.work;
        vec![
            ("drive", format!("{} ({})", self.drive_name, self.drive.model)),
            ("load", self.load.to_string()),
            (
                "steps",
                format!(
                    "a store is filled with {} of {} keys, clients put for {} checkpoint periods of {} \
                     and are measured for {} more; keys, memory, log and period are all times {}",
                    work.filled, work.keys, work.warm_up, work.period, work.periods, work.scale
                ),
            ),
        ]
    }

    fn in_json(&self) -> Value {
        let work = &self.work;
        json!({
            "scale": work.scale, "keys": work.keys, "filled": work.filled,
            "period_s": work.period.as_secs_f64(), "warm_up": work.warm_up, "periods": work.periods,
        })
    }
}

/// A scale as a fraction where it is one.
fn in_words(scale: f64) -> String {
    let parts = 1.0 / scale;
    if parts.fract() == 0.0 { format!("1/{parts}") } else { scale.to_string() }
}
