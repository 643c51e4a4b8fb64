//! The figures of one priority's reads in one log, as the benchmark's summary, tables and plots use them.

use crate::folder::{FIO_LOG, READ_LINE};
use crate::stats::{Collector, LogScope, LogStatistics, PriorityName, PriorityStatistics};
use loadline_device::Priority;
use loadline_fio::LogError;
use loadline_host::open_own;
use std::io;
use std::path::Path;

/// Reads of one priority in one log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadFigures {
    /// What they carried.
    pub priority: Priority,
    /// How many there are.
    pub reads: u64,
    /// Per second, with one decimal as `cdl_prio_stats.sh` cuts it.
    pub iops: f64,
    /// Megabytes of a million bytes per second, cut in the same way.
    pub mb_per_s: f64,
    /// The shortest latency in whole milliseconds.
    pub min_ms: u64,
    /// The longest.
    pub max_ms: u64,
    /// The mean of the whole milliseconds.
    pub mean_ms: f64,
    /// Whole milliseconds and how many reads took them, rising.
    pub counts: Vec<(u64, u64)>,
    /// The line that the script prints with `--terse`.
    pub terse: String,
}

/// Why a log has no figures.
#[derive(Debug, thiserror::Error)]
pub enum NoFigures {
    /// It is not there.
    #[error("no {name} ({source})")]
    Missing {
        /// The log.
        name: String,
        /// The system's reason.
        source: io::Error,
    },
    /// It cannot be read, or is no log.
    #[error("{name}: {source}")]
    Wrong {
        /// The log.
        name: String,
        /// What is wrong.
        source: LogError,
    },
    /// Its step was not carried out to its end.
    #[error("not finished ({FIO_LOG} has no line \"{}\"): run the benchmark again, which goes on there", READ_LINE.trim())]
    Unfinished,
    /// It holds nothing.
    #[error("{name} is empty: no read has ended in the time that counts")]
    Empty {
        /// The log.
        name: String,
    },
    /// fio was not asked for priorities.
    #[error("{name} carries no priorities; fio writes them with --log_prio=1")]
    NoPriorities {
        /// The log.
        name: String,
    },
}

/// The figures of a log, a line of its own for each priority.
pub fn of_log(path: &Path) -> Result<Vec<ReadFigures>, NoFigures> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let file = match open_own(path) {
        Ok(file) => file,
        Err(source) => return Err(NoFigures::Missing { name, source }),
    };
    let mut collector = Collector::new(LogScope::default());
    if let Err(source) = collector.read(file) {
        return Err(NoFigures::Wrong { name, source });
    }
    let found = collector.finish();
    if found.priorities.is_empty() {
        let is_empty = found.ios == 0;
        return Err(if is_empty {
            NoFigures::Empty { name }
        } else {
            NoFigures::NoPriorities { name }
        });
    }
    let mut terse = Vec::new();
    found.write_terse(&mut terse, "").expect("writing to memory");
    let terse = String::from_utf8_lossy(&terse).into_owned();
    let figures = found.priorities.iter().zip(terse.lines());
    Ok(figures.map(|((word, of), terse)| ReadFigures::new(&found, *word, of, terse)).collect())
}

impl ReadFigures {
    fn new(log: &LogStatistics, word: u16, of: &PriorityStatistics, terse: &str) -> ReadFigures {
        let latencies = &of.latencies;
        let reads = of.ios();
        ReadFigures {
            priority: Priority::from_word(word),
            reads,
            // A log whose only read ended in its first millisecond has no rate.
            iops: log.iops(of).to_string().parse().unwrap_or_default(),
            mb_per_s: log.megabyte_rate(of).to_string().parse().unwrap_or_default(),
            min_ms: latencies.min().unwrap_or_default(),
            max_ms: latencies.max().unwrap_or_default(),
            mean_ms: latencies.sum() as f64 / reads as f64,
            counts: latencies.iter().collect(),
            terse: terse.to_owned(),
        }
    }

    /// The percentile by its share, 0 to 1, with the script's rule: of n sorted latencies the one at place n times the
    /// share, rounded down; place 0 counts as 0 ms.
    pub fn percentile(&self, share: f64) -> u64 {
        self.at_place((self.reads as f64 * share) as u64).unwrap_or(0)
    }

    /// The latency of the read at this place among all, sorted; the first has place 1.
    fn at_place(&self, place: u64) -> Option<u64> {
        let mut passed = 0;
        let reached = |(_, count): &&(u64, u64)| {
            passed += count;
            passed >= place
        };
        self.counts.iter().find(reached).filter(|_| place > 0).map(|(ms, _)| *ms)
    }

    /// Every latency, sorted.
    pub(crate) fn latencies(&self) -> impl Iterator<Item = u64> + '_ {
        self.counts.iter().flat_map(|(ms, count)| std::iter::repeat_n(*ms, *count as usize))
    }

    /// The file into which the script saves the sorted latencies.
    pub(crate) fn latency_file(&self) -> String {
        PriorityName::of(self.priority.word()).latency_file()
    }
}
