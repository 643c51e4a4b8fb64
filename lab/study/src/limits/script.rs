//! What this kind answers when a study is run and told of.

use super::run::run;
use super::study::LimitsStudy;
use crate::job::Job;
use crate::record::RunRecord;
use crate::result::{DriveSummary, NamedValue, SetupResult, quoted};
use crate::script::{OnProgress, RunError, Script};
use serde_json::{Value, json};

impl Script for LimitsStudy {
    fn identity(&self, job: &Job) -> String {
        let LimitsStudy { drive, steps, limits, client, background, setups } = self;
        let engine = setups[job.setup].engine(job.seed);
        format!("{drive:?} {steps:?} {limits:?} {client:?} {background:?} {engine:?}")
    }

    fn run(&self, job: &Job, tick: OnProgress<'_>) -> Result<Option<RunRecord>, RunError> {
        Ok(run(self, job, tick))
    }

    fn drive(&self, _records: &[&RunRecord]) -> DriveSummary {
        let steps = &self.steps;
        let facts = [
            ("Client", self.client.to_string()),
            ("Background, class background_best_effort", self.background.to_string()),
            ("Guidelines at the drive, by descriptor", self.guidelines()),
            ("Commands that the drive orders", self.drive.tags.to_string()),
            ("Measured", format!("{} after {}", steps.measured, steps.ramp)),
            ("Store", "direct: one read of an object is one request".to_owned()),
        ];
        DriveSummary {
            name: self.drive.name.clone(),
            model: self.drive.model.clone(),
            calibration: String::new(),
            facts: facts.map(NamedValue::from).into(),
        }
    }

    fn warnings(&self, setups: &[SetupResult], records: &[&RunRecord]) -> Vec<String> {
        let mut warnings = vec![
            "The drive is modelled: docs/drive-models.md states its error against published figures; measure a real drive \
             with `loadline cdl bench` before relying on a number."
                .to_owned(),
        ];
        let few = setups.iter().filter_map(|setup| {
            let first = records.iter().find(|record| record.setup == setup.name());
            let completed: f64 = first
                .map_or(0.0, |record| record.series.column("client_iops").iter().flatten().sum());
            (completed < ENOUGH).then(|| format!("{} ({completed})", quoted(setup.name())))
        });
        let few: Vec<String> = few.collect();
        if !few.is_empty() {
            let names = few.join(", ");
            warnings.push(format!(
                "Too few client operations for a 99.9th percentile under {names}; raise `measured`."
            ));
        }
        warnings
    }

    fn in_lines(&self) -> Vec<(&'static str, String)> {
        let steps = &self.steps;
        vec![
            ("drive", format!("{} ({})", self.drive.name, self.drive.model)),
            ("client", self.client.to_string()),
            ("beside", format!("{}, class background_best_effort", self.background)),
            ("limits", self.guidelines()),
            (
                "steps",
                format!(
                    "both load one OSD; after {} they are measured for {}",
                    steps.ramp, steps.measured
                ),
            ),
        ]
    }

    fn in_json(&self) -> Value {
        json!({
            "client": self.client.to_string(), "background": self.background.to_string(),
            "image_bytes": self.client.image.get(),
            "ramp_s": self.steps.ramp.as_secs_f64(),
            "measured_s": self.steps.measured.as_secs_f64(),
        })
    }
}

/// Completions below which a percentile of 99.9 hangs on a handful of them.
const ENOUGH: f64 = 10_000.0;
