//! Logs in, statistics out.

use super::{LogStatistics, MillisecondCounts, PriorityStatistics};
use loadline_fio::{LatencyLogReader, LogError, LogLine, LogPriority};
use loadline_stats::LatencyHistogram;
use std::collections::BTreeMap;
use std::io::Read;

/// What of a log is looked at, and how closely.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogScope {
    /// Lines before this time count for nothing, and the run begins here.
    pub from_ms: u64,
    /// Whether latencies are kept to three digits too.
    pub fine: bool,
}

/// What of a log is not as its figures take it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogDoubts {
    /// It ends within a line, which is left out.
    pub is_cut: bool,
    /// The first line whose time is before that of the line above it: the last line's is not the length of the run then.
    pub goes_back_in: Option<u64>,
}

/// Takes logs that ran side by side.
pub struct Collector {
    scope: LogScope,
    total: LogStatistics,
}

impl Collector {
    /// Without any log.
    pub fn new(scope: LogScope) -> Collector {
        Collector { scope, total: LogStatistics::default() }
    }

    /// Reads one log to its end. Returns what of it is not as it should be.
    ///
    /// # Errors
    /// [`LogError`] if it is no log of latencies, or cannot be read.
    pub fn read(&mut self, source: impl Read) -> Result<LogDoubts, LogError> {
        let mut tally = Tally::new(self.scope);
        let mut reader = LatencyLogReader::new(source);
        let mut last_ms = 0;
        let mut skipped = 0;
        let mut goes_back_in = None;
        while let Some(line) = reader.next_line()? {
            if line.time_ms < last_ms && goes_back_in.is_none() {
                goes_back_in = Some(reader.lines());
            }
            last_ms = line.time_ms;
            if line.time_ms < self.scope.from_ms {
                skipped += 1;
            } else {
                tally.count(&line);
            }
        }
        self.merge(LogStatistics {
            ios: reader.line_ends().saturating_sub(skipped),
            runtime_ms: last_ms.saturating_sub(self.scope.from_ms),
            priorities: tally.finish(),
        });
        Ok(LogDoubts { is_cut: reader.is_cut(), goes_back_in })
    }

    /// Adds what ran at the same time.
    pub(super) fn merge(&mut self, other: LogStatistics) {
        self.total.merge(other);
    }

    /// What the logs say together.
    pub fn finish(self) -> LogStatistics {
        self.total
    }
}

/// The priorities of one log in each of `count` parts of its time, which are equally long.
///
/// # Errors
/// [`LogError`] if it is no log of latencies, or cannot be read.
///
/// # Panics
/// If there are no parts.
pub fn parts_of_log(
    source: impl Read,
    runtime_ms: u64,
    count: usize,
) -> Result<Vec<BTreeMap<u16, PriorityStatistics>>, LogError> {
    let scope = LogScope { fine: true, ..LogScope::default() };
    let mut parts: Vec<Tally> = (0..count).map(|_| Tally::new(scope)).collect();
    let mut reader = LatencyLogReader::new(source);
    let part_ms = runtime_ms.max(1) as f64 / count as f64;
    while let Some(line) = reader.next_line()? {
        let part = (line.time_ms as f64 / part_ms) as usize;
        parts[part.min(count - 1)].count(&line);
    }
    Ok(parts.into_iter().map(Tally::finish).collect())
}

/// The priorities of one log, found again without a search.
struct Tally {
    fine: bool,
    /// By priority word: one more than its place below, 0 if it has not occurred.
    places: Vec<u32>,
    found: Vec<(u16, PriorityStatistics)>,
}

impl Tally {
    fn new(scope: LogScope) -> Tally {
        Tally { fine: scope.fine, places: vec![0; 1 << 16], found: Vec::new() }
    }

    #[inline]
    fn count(&mut self, line: &LogLine) {
        let LogPriority::Word(priority) = line.priority else { return };
        let word = priority.word();
        let place = match self.places[usize::from(word)] {
            0 => self.add(word),
            place => place as usize - 1,
        };
        let (_, statistics) = &mut self.found[place];
        statistics.bytes = statistics.bytes.saturating_add(line.block_bytes);
        statistics.latencies.record(line.value / 1_000_000);
        if let Some(fine) = &mut statistics.fine {
            fine.record(line.value);
        }
    }

    #[cold]
    fn add(&mut self, word: u16) -> usize {
        let place = self.found.len();
        let fine = self.fine.then(LatencyHistogram::new);
        let latencies = MillisecondCounts::default();
        self.found.push((word, PriorityStatistics { bytes: 0, latencies, fine }));
        self.places[usize::from(word)] = place as u32 + 1;
        place
    }

    fn finish(self) -> BTreeMap<u16, PriorityStatistics> {
        self.found.into_iter().collect()
    }
}
