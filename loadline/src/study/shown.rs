//! What the command line shows of a kind of study.

use loadline_report::{
    ReportError, checkpoint_table, limits_table, reservation_text, terminal_table,
    write_checkpoint_report, write_limits_report, write_report,
};
use loadline_study::{
    CheckpointRecord, CheckpointResult, CheckpointStudy, LimitsRecord, LimitsResult, LimitsStudy,
    RunFacts, RunRecord, Statement, Study, StudyKind, StudyResult, checkpoint_json, limits_json,
    summary_json,
};
use serde_json::Value;
use std::path::Path;

/// A kind of study with its words.
pub(super) trait Shown: StudyKind {
    /// The setups' names.
    fn names(&self) -> Vec<String>;

    /// A run in a few words.
    fn in_short(record: &Self::Record) -> String;

    /// The result table.
    fn table(result: &Self::Result, width: usize) -> String;

    /// The question, and what was found beside the table.
    fn words(result: &Self::Result) -> Words<'_>;

    /// What the study expects of its result, tested.
    fn expected(_result: &Self::Result) -> &[Statement] {
        &[]
    }

    /// Whether it ran on this machine's disks.
    fn is_real(_result: &Self::Result) -> bool {
        false
    }

    /// The object of `--json`.
    fn summary(result: &Self::Result, facts: &RunFacts) -> Value;

    /// Writes the report into the study's folder.
    fn report(folder: &Path, result: &Self::Result, facts: &RunFacts) -> Result<(), ReportError>;
}

/// What is said beside the table.
pub(super) struct Words<'a> {
    pub(super) question: &'a str,
    pub(super) statements: &'a [Statement],
    pub(super) warnings: &'a [String],
}

impl Shown for Study {
    fn names(&self) -> Vec<String> {
        self.setups.iter().map(|setup| setup.name.clone()).collect()
    }

    fn in_short(record: &RunRecord) -> String {
        let client = &record.client;
        let clients = format!("{:.0} IOPS, {:.3} ms", client.iops, client.clat_ms.mean);
        match &record.recovery {
            Some(recovery) => format!(
                "{clients}; {:.1} objects/s for {:.1} s",
                recovery.objects_per_s, recovery.seconds
            ),
            None => clients,
        }
    }

    fn table(result: &StudyResult, width: usize) -> String {
        terminal_table(result, width) + &reservation_text(result, width)
    }

    fn words(result: &StudyResult) -> Words<'_> {
        let StudyResult { question, statements, warnings, .. } = result;
        Words { question, statements, warnings }
    }

    fn expected(result: &StudyResult) -> &[Statement] {
        &result.expected
    }

    fn is_real(result: &StudyResult) -> bool {
        result.world == "host"
    }

    fn summary(result: &StudyResult, facts: &RunFacts) -> Value {
        summary_json(result, facts)
    }

    fn report(folder: &Path, result: &StudyResult, facts: &RunFacts) -> Result<(), ReportError> {
        write_report(folder, result, facts)
    }
}

impl Shown for CheckpointStudy {
    fn names(&self) -> Vec<String> {
        self.setups.iter().map(|setup| setup.name.clone()).collect()
    }

    fn in_short(record: &CheckpointRecord) -> String {
        let (client, store) = (&record.client, &record.store);
        format!(
            "{:.0} puts/s, {:.3} ms; {} checkpoints, {:.1} % of the time",
            client.puts_per_s,
            client.clat_ms.mean,
            store.checkpoints,
            store.share_in_checkpoints * 100.0
        )
    }

    fn table(result: &CheckpointResult, width: usize) -> String {
        checkpoint_table(result, width)
    }

    fn words(result: &CheckpointResult) -> Words<'_> {
        let CheckpointResult { question, statements, warnings, .. } = result;
        Words { question, statements, warnings }
    }

    fn summary(result: &CheckpointResult, facts: &RunFacts) -> Value {
        checkpoint_json(result, facts)
    }

    fn report(
        folder: &Path,
        result: &CheckpointResult,
        facts: &RunFacts,
    ) -> Result<(), ReportError> {
        write_checkpoint_report(folder, result, facts)
    }
}

impl Shown for LimitsStudy {
    fn names(&self) -> Vec<String> {
        self.setups.iter().map(|setup| setup.name.clone()).collect()
    }

    fn in_short(record: &LimitsRecord) -> String {
        let (client, background) = (&record.client, &record.background);
        format!(
            "{:.1} IOPS, p99 {:.1} ms; beside {:.1} MiB/s",
            client.iops, client.clat_ms.p99, background.mib_per_s
        )
    }

    fn table(result: &LimitsResult, width: usize) -> String {
        limits_table(result, width)
    }

    fn words(result: &LimitsResult) -> Words<'_> {
        Words { question: &result.question, statements: &[], warnings: &result.warnings }
    }

    fn summary(result: &LimitsResult, facts: &RunFacts) -> Value {
        limits_json(result, facts)
    }

    fn report(folder: &Path, result: &LimitsResult, facts: &RunFacts) -> Result<(), ReportError> {
        write_limits_report(folder, result, facts)
    }
}
