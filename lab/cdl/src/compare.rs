//! Two benchmarks beside each other: rate and latencies of each class of reads, and how much of their difference chance can make.

use crate::folder::{BenchFolder, LAT_LOG};
use crate::stats::{
    Collector, FinePercentile, LogScope, LogStatistics, PriorityStatistics, fine_percentiles,
    parts_of_log,
};
use crate::workload::FOLDERS;
use loadline_device::Priority;
use loadline_fio::LogError;
use loadline_host::open_own;
use loadline_stats::mean_interval;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// 97.5 % point of the normal distribution.
const Z: f64 = 1.959_964;

/// Percentiles that are compared; their names are those of the table.
const PERCENTILES: [(f64, &str); 3] = [(50.0, "p50"), (95.0, "p95"), (99.0, "p99")];

/// Parts of a run whose figures say how far chance carries one: each lasts longer than reads of one queue follow each other.
const PARTS: usize = 20;

/// A figure of both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadsFigure {
    /// What it is; its unit is ms, but for `reads/s`.
    pub name: &'static str,
    /// Of the first benchmark.
    pub first: f64,
    /// Of the second.
    pub second: f64,
    /// How far the two would lie apart by chance in 19 of 20 pairs of such runs, as a part of the first, or of the second where the
    /// first has none: by how the figure varies among twenty parts of each run (method of batch means), and at least as if each read
    /// were independent of all others. Infinite for a percentile that may lie beyond all reads of one run: then nothing is known of it.
    pub chance: f64,
}

/// What a difference says about a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparedVerdict {
    /// It is within.
    Within,
    /// It is not, and chance may be why: longer runs would tell.
    Open,
    /// It is not, and chance alone does not make it so.
    Beyond,
}

/// The reads of one class at one depth of one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedClass {
    /// The workload's folder.
    pub workload: &'static str,
    /// Reads in flight.
    pub depth: u32,
    /// What they carried.
    pub priority: Priority,
    /// How many each benchmark has.
    pub reads: (u64, u64),
    /// Their figures.
    pub figures: Vec<ReadsFigure>,
}

/// Two benchmarks beside each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparedBenches {
    /// What both have.
    pub classes: Vec<ComparedClass>,
    /// Steps that both have and one has not finished, each named with its folder.
    pub left_out: Vec<String>,
}

/// Why two benchmarks cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A log cannot be opened.
    #[error("{}: {source}", path.display())]
    Unusable {
        /// Which.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A log is none.
    #[error("{}: {source}", path.display())]
    Log {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        source: LogError,
    },
    /// No depth of any workload is in both.
    #[error(
        "{} and {} have no depth of any workload in common{}",
        first.display(),
        second.display(),
        left_out.first().map_or_else(String::new, |step| format!(" ({step} is not finished)"))
    )]
    Nothing {
        /// One folder.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// Steps that both have and one has not finished.
        left_out: Vec<String>,
    },
}

impl ReadsFigure {
    /// How much more the second has, as a part of the first; where the first has none, all of the second is more.
    pub fn difference(&self) -> f64 {
        (self.second - self.first) / whole(self.first, self.second)
    }

    /// Whether the two lie apart by no more than a part of the first.
    pub fn verdict(&self, bound: f64) -> ComparedVerdict {
        let apart = self.difference().abs();
        if apart <= bound {
            ComparedVerdict::Within
        } else if apart <= bound + self.chance {
            ComparedVerdict::Open
        } else {
            ComparedVerdict::Beyond
        }
    }
}

/// What differences of a figure are a part of.
fn whole(first: f64, second: f64) -> f64 {
    let whole = if first > 0.0 { first } else { second };
    whole.max(f64::MIN_POSITIVE)
}

/// Compares what both folders have finished, in the order in which workloads run; a class that only one has counts as one without reads
/// in the other.
pub fn compare(first: &BenchFolder, second: &BenchFolder) -> Result<ComparedBenches, CompareError> {
    let mut found = ComparedBenches::default();
    for workload in FOLDERS {
        let others = second.depths(workload);
        for depth in first.depths(workload).into_iter().filter(|depth| others.contains(depth)) {
            let both = [first, second];
            let unfinished = both.iter().filter(|folder| !folder.is_finished(workload, depth));
            let step = |folder: &&BenchFolder| folder.step(workload, depth).display().to_string();
            let unfinished: Vec<String> = unfinished.map(step).collect();
            if !unfinished.is_empty() {
                found.left_out.extend(unfinished);
                continue;
            }
            let [one, other] =
                both.map(|folder| Logged::read(&folder.step(workload, depth).join(LAT_LOG)));
            found.classes.extend(classes(workload, depth, &one?, &other?));
        }
    }
    if found.classes.is_empty() {
        let path = |folder: &BenchFolder| folder.root().to_owned();
        let (first, second) = (path(first), path(second));
        return Err(CompareError::Nothing { first, second, left_out: found.left_out });
    }
    Ok(found)
}

/// What one log says as a whole, and in each part of its time.
struct Logged {
    whole: LogStatistics,
    parts: Vec<BTreeMap<u16, PriorityStatistics>>,
}

impl Logged {
    fn read(path: &Path) -> Result<Logged, CompareError> {
        let open = || {
            open_own(path)
                .map_err(|source| CompareError::Unusable { path: path.to_owned(), source })
        };
        let unread = |source| CompareError::Log { path: path.to_owned(), source };
        let mut collector = Collector::new(LogScope { fine: true, ..LogScope::default() });
        collector.read(open()?).map_err(unread)?;
        let whole = collector.finish();
        let parts = parts_of_log(open()?, whole.runtime_ms, PARTS).map_err(unread)?;
        Ok(Logged { whole, parts })
    }

    /// Half the width of the 95 % interval of a figure, by what it is in each part that has reads of the class.
    fn spread(&self, word: u16, figure: impl Fn(&PriorityStatistics) -> f64) -> f64 {
        let parts = self.parts.iter().filter_map(|part| part.get(&word));
        let found: Vec<f64> = parts.map(figure).collect();
        mean_interval(&found).map_or(0.0, |interval| interval.half_width)
    }
}

fn classes(
    workload: &'static str,
    depth: u32,
    first: &Logged,
    second: &Logged,
) -> Vec<ComparedClass> {
    let [one, other] = [first, second].map(|log| log.whole.priorities.keys());
    let mut words: Vec<u16> = one.chain(other).copied().collect();
    words.sort_unstable();
    words.dedup();
    let class = |word: u16| {
        let of = [first, second].map(|log| LoggedClass::of(log, word));
        ComparedClass {
            workload,
            depth,
            priority: Priority::from_word(word),
            reads: (of[0].reads, of[1].reads),
            figures: of[0].beside(&of[1]),
        }
    };
    words.into_iter().map(class).collect()
}

/// What one log says of a class, and how exactly.
#[derive(Clone, Debug, Default, PartialEq)]
struct LoggedClass {
    reads: u64,
    /// Name, value, and half the width of its 95 % interval.
    figures: Vec<(&'static str, f64, f64)>,
}

impl LoggedClass {
    fn of(log: &Logged, word: u16) -> LoggedClass {
        let whole = &log.whole;
        let Some(of) = whole.priorities.get(&word) else { return LoggedClass::default() };
        let (reads, all) = (of.ios() as f64, whole.ios as f64);
        let mean = mean_ms(of);
        let spread = Z * of.latencies.deviation().unwrap_or_default() / reads.sqrt();
        let seconds = whole.runtime_ms.max(1) as f64 / 1000.0;
        let rate = reads / seconds;
        // In a closed loop the rate is as uncertain as the mean; which class a read is of is chance besides.
        let chosen = Z * ((1.0 - reads / all) / reads).sqrt();
        let rate_spread = rate * (spread / mean.max(f64::MIN_POSITIVE)).hypot(chosen);
        let part_seconds = seconds / PARTS as f64;
        let rate_spread =
            rate_spread.max(log.spread(word, |part| part.ios() as f64 / part_seconds));
        let spread = spread.max(log.spread(word, mean_ms));
        let percents = PERCENTILES.map(|(percent, _)| percent);
        let percentiles = fine_percentiles(of, &percents);
        let named = percentiles.iter().zip(PERCENTILES).map(|(found, (percent, name))| {
            let FinePercentile { latency_ns, interval_ns: (low, high), .. } = *found;
            let independent = high.map_or(f64::INFINITY, |high| (high - low) as f64 / 2e6);
            (
                name,
                latency_ns as f64 / 1e6,
                independent.max(log.spread(word, percentile_ms(percent))),
            )
        });
        let figures =
            [("reads/s", rate, rate_spread), ("mean", mean, spread)].into_iter().chain(named);
        LoggedClass { reads: of.ios(), figures: figures.collect() }
    }

    fn beside(&self, other: &LoggedClass) -> Vec<ReadsFigure> {
        let names = if self.figures.is_empty() { &other.figures } else { &self.figures };
        let value = |figures: &[(&str, f64, f64)], name: &str| {
            let found = figures.iter().find(|(own, ..)| *own == name);
            found.map_or((0.0, 0.0), |(_, value, spread)| (*value, *spread))
        };
        let figure = |(name, ..): &(&'static str, f64, f64)| {
            let (first, spread) = value(&self.figures, name);
            let (second, other_spread) = value(&other.figures, name);
            let chance = spread.hypot(other_spread) / whole(first, second);
            ReadsFigure { name, first, second, chance }
        };
        names.iter().map(figure).collect()
    }
}

fn mean_ms(of: &PriorityStatistics) -> f64 {
    of.fine.as_ref().map_or(0.0, |fine| fine.mean_ns() / 1e6)
}

fn percentile_ms(percent: f64) -> impl Fn(&PriorityStatistics) -> f64 {
    move |of| of.fine.as_ref().map_or(0.0, |fine| fine.percentile_ns(percent) as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::{FIO_LOG, READ_LINE};
    use loadline_base::Rng;
    use std::fs;

    /// A step that is finished, with this log.
    fn put_step(step: &Path, log: impl AsRef<[u8]>) {
        fs::create_dir_all(step).unwrap();
        fs::write(step.join(LAT_LOG), log).unwrap();
        fs::write(step.join(FIO_LOG), format!("fio\n\n{READ_LINE}100, BW=1\n")).unwrap();
    }

    /// A log of reads that last from `base_ms` on to a third more, every tenth of them with descriptor 1.
    fn log_of(folder: &Path, base_ms: f64, reads: u32) -> BenchFolder {
        let line = |index: u32| {
            let nanos = base_ms * 1e6 * (1.0 + f64::from(index % 100) / 300.0);
            let word = if index.is_multiple_of(10) { 0x4008 } else { 0 };
            format!("{}, {}, 0, 131072, {word:#06x}\n", index * 10, nanos as u64)
        };
        put_step(&folder.join("cdlsingle/8"), (0..reads).map(line).collect::<String>());
        BenchFolder::at(folder)
    }

    fn verdicts(base_ms: f64, reads: u32) -> Vec<(String, ComparedVerdict)> {
        let place = tempfile::tempdir().unwrap();
        let first = log_of(&place.path().join("first"), 20.0, reads);
        let second = log_of(&place.path().join("second"), base_ms, reads);
        let compared = compare(&first, &second).unwrap().classes;
        assert_eq!(compared.len(), 2, "no class, and descriptor 1");
        let of = |class: &ComparedClass| {
            let descriptor = class.priority.descriptor();
            class
                .figures
                .iter()
                .map(move |figure| (format!("{descriptor} {}", figure.name), figure.verdict(0.05)))
                .collect::<Vec<_>>()
        };
        compared.iter().flat_map(of).collect()
    }

    #[test]
    fn latencies_that_lie_apart_are_told_from_those_that_do_not() {
        let found = verdicts(20.4, 40_000);
        assert!(found.iter().all(|(_, verdict)| *verdict == ComparedVerdict::Within), "{found:?}");
        for (name, verdict) in verdicts(22.0, 40_000) {
            let wanted = if name.ends_with("/s") {
                ComparedVerdict::Within
            } else {
                ComparedVerdict::Beyond
            };
            assert_eq!(verdict, wanted, "{name}");
        }
    }

    /// Fifty reads of a class, 7 % apart, say less than four thousand do.
    #[test]
    fn a_short_run_leaves_it_open() {
        for (reads, wanted) in [(500, ComparedVerdict::Open), (40_000, ComparedVerdict::Beyond)] {
            let found = verdicts(21.4, reads);
            let limited = found.iter().find(|(name, _)| name == "1 mean");
            assert_eq!(limited.map(|(_, verdict)| *verdict), Some(wanted), "{reads}: {found:?}");
        }
    }

    /// Latencies of a queue follow each other: where whole parts of a run are slower than others, forty thousand reads say less
    /// than as many independent ones, by which these two would lie apart.
    #[test]
    fn reads_that_follow_each_other_say_less() {
        let place = tempfile::tempdir().unwrap();
        let log = |name: &str, slow_parts: u32| {
            let line = |index: u32| {
                let slow = index / 2000 * 7 % 20 < slow_parts;
                let nanos = if slow { 22_000_000 } else { 20_000_000 } + index % 100 * 3000;
                format!("{}, {nanos}, 0, 131072, 0x0000\n", index * 10)
            };
            let log = (0..40_000).map(line).collect::<String>();
            put_step(&place.path().join(name).join("baseline/8"), log);
            BenchFolder::at(&place.path().join(name))
        };
        let mean = |other: &BenchFolder| {
            let compared = compare(&log("first", 12), other).unwrap();
            *compared.classes[0].figures.iter().find(|figure| figure.name == "mean").unwrap()
        };
        assert_eq!(mean(&log("second", 8)).verdict(0.01), ComparedVerdict::Open);
        assert_eq!(mean(&log("third", 0)).verdict(0.01), ComparedVerdict::Beyond);
    }

    /// Of two logs of fifty reads of one distribution every other pair had p99s that chance was said not to explain.
    #[test]
    fn a_percentile_beyond_all_reads_is_open() {
        let place = tempfile::tempdir().unwrap();
        let mut rng = Rng::new(7);
        let mut log = |name: String| {
            let mut read = |index: u64| {
                let share = (rng.below(1 << 40) + 1) as f64 / (1u64 << 40) as f64;
                format!("{}, {}, 0, 131072, 0x0000\n", index * 10, (-1e7 * share.ln()) as u64)
            };
            let log = (0..50).map(&mut read).collect::<String>();
            put_step(&place.path().join(&name).join("baseline/1"), log);
            BenchFolder::at(&place.path().join(name))
        };
        for pair in 0..20 {
            let compared = compare(&log(format!("a{pair}")), &log(format!("b{pair}"))).unwrap();
            for figure in compared.classes[0].figures.iter().skip(3) {
                assert!(["p95", "p99"].contains(&figure.name), "{figure:?}");
                assert_ne!(figure.verdict(0.05), ComparedVerdict::Beyond, "{figure:?}");
            }
        }
    }

    /// A step that was cut off was compared like one that had run to its end.
    #[test]
    fn a_step_that_is_not_finished_is_left_out_by_name() {
        let place = tempfile::tempdir().unwrap();
        let first = log_of(&place.path().join("first"), 20.0, 1000);
        let second = log_of(&place.path().join("second"), 20.0, 1000);
        let cut = place.path().join("second/cdlsingle/8");
        fs::write(cut.join(FIO_LOG), "fio\n\nfio ended\n").unwrap();
        let named = cut.display().to_string();
        let refused = compare(&first, &second).unwrap_err().to_string();
        let why = format!("no depth of any workload in common ({named} is not finished)");
        assert!(refused.ends_with(&why), "{refused}");
        let log = "0, 20000000, 0, 131072, 0x0000\n".repeat(1000);
        for folder in ["first", "second"] {
            put_step(&place.path().join(folder).join("baseline/4"), &log);
        }
        let compared = compare(&first, &second).unwrap();
        assert_eq!((compared.classes.len(), compared.left_out), (1, vec![named]));
    }

    #[test]
    fn a_class_of_one_run_alone_is_beyond() {
        let place = tempfile::tempdir().unwrap();
        let first = log_of(&place.path().join("first"), 20.0, 1000);
        let log = "0, 20000000, 0, 131072, 0x0000\n".repeat(1000);
        put_step(&place.path().join("second/cdlsingle/8"), log);
        let second = BenchFolder::at(&place.path().join("second"));
        let compared = compare(&first, &second).unwrap().classes;
        assert_eq!(compared[1].reads, (100, 0));
        assert_eq!(compared[1].figures[0].verdict(0.05), ComparedVerdict::Beyond);
        // So is one of the second run, whose figures were so many times nothing that they were infinite, and left open.
        let turned = compare(&second, &first).unwrap().classes;
        assert_eq!(turned[1].reads, (0, 100));
        for figure in &turned[1].figures {
            assert_eq!(figure.difference(), 1.0, "{figure:?}");
            // Of a hundred reads none need lie beyond the 99th percentile.
            let wanted = match figure.name {
                "p99" => ComparedVerdict::Open,
                _ => ComparedVerdict::Beyond,
            };
            assert_eq!(figure.verdict(0.05), wanted, "{figure:?}");
            assert!(figure.name == "p99" || figure.chance < 0.5, "{figure:?}");
        }
        let nothing = BenchFolder::at(&place.path().join("third"));
        assert!(matches!(compare(&first, &nothing), Err(CompareError::Nothing { .. })));
    }
}
