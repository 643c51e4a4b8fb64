//! What this kind answers when a study is run and told of.

use super::run::run;
use super::study::{CheckpointSetup, CheckpointStudy};
use crate::job::Job;
use crate::record::RunRecord;
use crate::result::{DriveSummary, NamedValue, SetupResult};
use crate::script::{OnProgress, RunError, Script};
use loadline_base::Bytes;
use serde_json::{Value, json};

impl Script for CheckpointStudy {
    fn identity(&self, job: &Job) -> String {
        let CheckpointStudy { drive, work, store, load, osd, setups, .. } = self;
        let CheckpointSetup { protection, log_mode, compression, throttle, .. } = setups[job.setup];
        format!(
            "{drive:?} {work:?} {store:?} {load:?} {osd:?} {protection} {log_mode} {compression} {throttle}"
        )
    }

    fn run(&self, job: &Job, tick: OnProgress<'_>) -> Result<Option<RunRecord>, RunError> {
        run(self, job, tick)
    }

    fn drive(&self, _records: &[&RunRecord]) -> DriveSummary {
        let CheckpointStudy { drive, work, store, .. } = self;
        let scaled = |bytes: Bytes| {
            format!("{:.1} MiB", work.scaled(bytes.get()) as f64 / f64::from(1 << 20))
        };
        let (keys, filled) = (work.scaled(work.keys), work.scaled(work.filled));
        let facts = [
            ("Scale", format!("{} of one server node", in_words(work.scale))),
            ("Keys", format!("{keys}, {filled} at the start")),
            ("Checkpoint period", format!("{:.1}", work.scaled_span(work.period))),
            ("Measured", format!("{} periods after {} to settle", work.periods, work.warm_up)),
            ("A second of the published node", format!("{:.2}", work.second())),
            ("Memory for pages", scaled(store.cache)),
            ("Buffer of old versions", scaled(store.old_versions)),
            ("Log", scaled(store.log)),
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
            facts: facts.map(NamedValue::from).into(),
        }
    }

    fn warnings(&self, setups: &[SetupResult], _records: &[&RunRecord]) -> Vec<String> {
        let mut warnings = vec![
            "Drive and processor are modelled: ratios between setups are comparable with published \
             ones, absolute rates are not; look at the ratios first."
                .to_owned(),
        ];
        for setup in setups {
            let (name, of) = (setup.name(), |key| setup.figure(key).unwrap_or(0.0));
            let failed = of("client/failed").ceil();
            if failed > 0.0 {
                warnings.push(format!(
                    "{name}: {failed} puts ended with an error; give the store more room."
                ));
            }
        }
        let is_short =
            |setup: &&SetupResult| setup.figure("checkpoint/checkpoints").unwrap_or(0.0) < 3.0;
        let short: Vec<&str> = setups.iter().filter(is_short).map(SetupResult::name).collect();
        if !short.is_empty() {
            let names = short.join(", ");
            warnings.push(format!(
                "Fewer than three checkpoints ended under {names}; raise `periods`."
            ));
        }
        warnings
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
