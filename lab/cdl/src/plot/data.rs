//! What a benchmark's folder tells, whoever made it, and what it lacks.

use super::groups::{Guideline, ReadGroup, groups};
use crate::figures::{NoFigures, ReadFigures, of_log};
use crate::folder::{BenchFolder, DESCRIPTORS, FIO_LOG, LAT_LOG, READ_LINE};
use crate::workload::FOLDERS;
use loadline_host::read_own;

/// Everything that was found.
pub(super) struct Results {
    pub(super) workloads: Vec<WorkloadResult>,
    /// Of how the runs were made, from the first command line that was found.
    pub(super) facts: Facts,
    /// What is missing, or was left out, and what to do about it.
    pub(super) notes: Vec<String>,
    /// The note on the first log that is there and has no figures.
    pub(super) refused: Option<String>,
}

/// The options of fio that a reader wants to know.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub(super) device: String,
    pub(super) block: String,
    pub(super) ramp: String,
    pub(super) runtime: String,
}

/// One workload's folder.
pub(super) struct WorkloadResult {
    pub(super) folder: &'static str,
    pub(super) depths: Vec<DepthResult>,
    /// The kinds of reads that it has, in the order of the scripts.
    pub(super) groups: Vec<ReadGroup>,
}

/// One depth's folder.
pub(super) struct DepthResult {
    pub(super) depth: u32,
    /// Reads per second of all kinds together, as fio prints them: the script's.
    pub(super) total: f64,
    /// The same without fio's rounding to whole reads, where its count and its time are there.
    pub(super) rate: f64,
    /// By priority, in the order of their words.
    pub(super) figures: Vec<ReadFigures>,
}

impl Results {
    /// The greatest queue depth of any workload.
    pub(super) fn depth_max(&self) -> u32 {
        let depths = self.workloads.iter().flat_map(|workload| &workload.depths);
        depths.map(|found| found.depth).max().unwrap_or(0)
    }
}

impl WorkloadResult {
    /// What was found at this queue depth, if it was run.
    pub(super) fn at(&self, depth: u32) -> Option<&DepthResult> {
        self.depths.iter().find(|found| found.depth == depth)
    }

    pub(super) fn is_baseline(&self) -> bool {
        self.folder == FOLDERS[0]
    }

    /// What it is called on the page.
    pub(super) fn heading(&self) -> &'static str {
        match self.folder {
            "baseline" => "Baseline",
            "ncqprio" => "NCQ priority",
            "cdlsingle" => "One limit",
            _ => "Several limits",
        }
    }

    /// What the script says when it begins with the workload, and then of its depths.
    pub(super) fn announcement(&self) -> String {
        let begins = match self.folder {
            "baseline" => "Processing baseline results",
            "ncqprio" => "Processing NCQ priority results...",
            "cdlsingle" => "Processing CDL results, single limit...",
            _ => "Processing CDL results, multiple limits...",
        };
        let depths: Vec<String> =
            self.depths.iter().map(|found| format!("QD={}", found.depth)).collect();
        format!("{begins}\n  {}", depths.join(", "))
    }

    pub(super) fn is_ncq(&self) -> bool {
        self.folder == FOLDERS[1]
    }
}

impl DepthResult {
    /// The figures of a group, if it has reads at this depth.
    pub(super) fn of(&self, group: &ReadGroup) -> Option<&ReadFigures> {
        self.figures.iter().find(|figures| figures.priority == group.priority)
    }
}

/// Reads a folder.
pub(super) fn read(folder: &BenchFolder) -> Results {
    let mut results = Results {
        workloads: Vec::new(),
        facts: Facts::default(),
        notes: Vec::new(),
        refused: None,
    };
    for workload in FOLDERS {
        if folder.workload(workload).is_dir() {
            results.read_workload(folder, workload);
        }
    }
    let is_baseline = |workload: &WorkloadResult| workload.is_baseline();
    if !results.workloads.is_empty() && !results.workloads.iter().any(is_baseline) {
        let note = "baseline: not there, so no plot has a Baseline curve; run the benchmark with --baseline";
        results.notes.push(note.to_owned());
    }
    results
}

impl Results {
    fn read_workload(&mut self, folder: &BenchFolder, workload: &'static str) {
        let mut depths = Vec::new();
        let all = folder.depths(workload);
        if all.is_empty() {
            self.notes.push(format!("{workload}: no depth was run"));
            return;
        }
        for depth in all {
            match self.read_depth(folder, workload, depth) {
                Ok(found) => depths.push(found),
                Err(why) => self.leave_out(&format!("{workload}/{depth}"), &why),
            }
        }
        if depths.is_empty() {
            return;
        }
        let guidelines = self.guidelines(folder, workload);
        let groups = groups(workload, &depths, &guidelines);
        self.note_strangers(workload, &depths, &groups);
        self.workloads.push(WorkloadResult { folder: workload, depths, groups });
    }

    fn leave_out(&mut self, step: &str, why: &NoFigures) {
        if !matches!(why, NoFigures::Missing { .. }) {
            self.refused.get_or_insert_with(|| format!("{step}: {why}"));
        }
        self.notes.push(format!("{step}: {why}; left out"));
    }

    fn read_depth(
        &mut self,
        folder: &BenchFolder,
        workload: &str,
        depth: u32,
    ) -> Result<DepthResult, NoFigures> {
        let place = folder.step(workload, depth);
        let figures = of_log(&place.join(LAT_LOG))?;
        let Some(text) = folder.finished_log(workload, depth) else {
            return Err(NoFigures::Unfinished);
        };
        if self.facts.device.is_empty() {
            self.facts = Facts::of_command(text.lines().next().unwrap_or_default());
        }
        let total = total_iops(&text).unwrap_or_else(|| {
            let note = format!(
                "{workload}/{depth}/{FIO_LOG}: no figure behind \"{}\"; the total is the sum of the latency log's parts",
                READ_LINE.trim()
            );
            self.notes.push(note);
            figures.iter().map(|figures| figures.iops).sum()
        });
        Ok(DepthResult { depth, total, rate: exact_iops(&text).unwrap_or(total), figures })
    }

    /// The guidelines as the descriptors' file tells them, the first descriptor first.
    fn guidelines(&mut self, folder: &BenchFolder, workload: &str) -> Vec<Option<Guideline>> {
        if !workload.starts_with("cdl") {
            return Vec::new();
        }
        let path = folder.workload(workload).join(DESCRIPTORS);
        let Ok(text) = read_own(&path) else {
            self.notes.push(format!(
                "{workload}/{DESCRIPTORS}: not there, so limits are named by their descriptors"
            ));
            return Vec::new();
        };
        let guidelines = Guideline::all_of(&text);
        if guidelines.is_empty() {
            self.notes.push(format!(
                "{workload}/{DESCRIPTORS}: no line \"duration guideline\", so limits are named by their descriptors"
            ));
        }
        guidelines
    }

    /// Reads that no plot shows.
    fn note_strangers(&mut self, workload: &str, depths: &[DepthResult], groups: &[ReadGroup]) {
        for depth in depths {
            for figures in &depth.figures {
                if !groups.iter().any(|group| group.priority == figures.priority) {
                    let word = figures.priority.word();
                    let number = depth.depth;
                    self.notes.push(format!(
                        "{workload}/{number}: reads of priority {word:#06x} are in no plot of this workload"
                    ));
                }
            }
        }
    }
}

/// Reads per second as fio prints them: whole, or with a letter for thousands.
fn total_iops(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(READ_LINE))?;
    let figure = line.split(',').next()?;
    let digits = figure.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match &figure[digits.len()..] {
        "" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        _ => return None,
    };
    Some(digits.parse::<f64>().ok()? * factor)
}

/// Reads per second from fio's count of reads and its time in milliseconds.
fn exact_iops(text: &str) -> Option<f64> {
    let reads = text.lines().find_map(|line| line.trim_start().strip_prefix(COUNT))?;
    let reads: f64 = reads.split(',').next()?.parse().ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(READ_LINE))?;
    let ms: f64 = line.rsplit('/').next()?.strip_suffix("msec)")?.parse().ok()?;
    (ms > 0.0).then(|| reads * 1e3 / ms)
}

/// Before the number of reads of a run.
const COUNT: &str = "issued rwts: total=";

impl Facts {
    fn of_command(line: &str) -> Facts {
        let option = |name: &str| {
            let mut options = line.split_whitespace();
            let found = options.find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            found.unwrap_or_default().to_owned()
        };
        Facts {
            device: option("--filename"),
            block: option("--bs"),
            ramp: option("--ramp_time"),
            runtime: option("--runtime"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_read_as_fio_prints_them() {
        let check = |figure: &str, wanted: Option<f64>| {
            let text = format!("fio --x\n\nhead\n  read: IOPS={figure}, BW=19.3MiB/s\n");
            assert_eq!(total_iops(&text), wanted, "{figure}");
        };
        check("154", Some(154.0));
        check("12.5k", Some(12_500.0));
        check("many", None);
        assert_eq!(total_iops("fio ended"), None);
    }

    /// The published run: fio prints 154 for 46,320 reads in 300,246 ms, which is a percent off when two such are compared.
    #[test]
    fn a_rate_is_exact_where_fio_tells_reads_and_time() {
        let line = "  read: IOPS=154, BW=19.3MiB/s (20.2MB/s)(5794MiB/300246msec)\n";
        let count = "     issued rwts: total=46320,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n";
        let rate = exact_iops(&format!("{line}{count}")).expect("both lines are there");
        assert!((rate - 154.273).abs() < 0.001, "{rate}");
        assert_eq!(exact_iops(line), None);
        assert_eq!(exact_iops(count), None);
    }
}
