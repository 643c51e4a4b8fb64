//! The figures as `cdl_prio_stats.sh` prints them, to the byte (cdl.md 3.6).
//!
//! The script computes with `bc`, which truncates, and with `awk`, which rounds; each figure here is made the same way.

use super::{LogStatistics, MillisecondCounts, PriorityStatistics};
use std::fmt;
use std::io::{self, Write};

/// What the script says of a log that carries no priority words; its exit code is 1 then.
pub const NO_PRIORITIES: &str = "Log file does not have any priority information";

/// The percentiles of the script, as shares.
const SHARES: [f64; 17] = [
    0.01, 0.05, 0.10, 0.20, 0.30, 0.40, 0.50, 0.60, 0.70, 0.80, 0.90, 0.95, 0.99, 0.995, 0.999,
    0.9995, 0.9999,
];

/// The same as the script prints them.
const NAMES: [&str; 17] = [
    " 1.00th", " 5.00th", "10.00th", "20.00th", "30.00th", "40.00th", "50.00th", "60.00th",
    "70.00th", "80.00th", "90.00th", "95.00th", "99.00th", "99.50th", "99.90th", "99.95th",
    "99.99th",
];

/// Bytes of a MiB.
const MIB: u64 = 1 << 20;

/// A quotient as `bc` prints it: truncated after some decimals, without a zero before the point, `0` if nothing is left
/// and nothing at all if the divisor is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// The dividend.
    pub over: u128,
    /// The divisor.
    pub under: u128,
    /// Decimals (`scale`).
    pub decimals: u32,
}

impl Decimal {
    /// The same as a number; `None` if the divisor is 0.
    pub fn value(&self) -> Option<f64> {
        let unit = 10u128.pow(self.decimals);
        let scaled = (self.over * unit).checked_div(self.under)?;
        Some(scaled as f64 / unit as f64)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = 10u128.pow(self.decimals);
        let Some(scaled) = (self.over * unit).checked_div(self.under) else { return Ok(()) };
        if scaled == 0 {
            return f.write_str("0");
        }
        if scaled >= unit {
            write!(f, "{}", scaled / unit)?;
        }
        write!(f, ".{:0width$}", scaled % unit, width = self.decimals as usize)
    }
}

/// How the script names a priority word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityName {
    /// `NONE`, `RT`, `BE`, `IDLE`, or `??` for what the kernel does not know.
    pub class: &'static str,
    /// Two bits of the three that a level has.
    pub level: u16,
    /// The hint.
    pub hint: u16,
}

impl PriorityName {
    /// The name of a word.
    pub fn of(word: u16) -> PriorityName {
        let class = ["NONE", "RT", "BE", "IDLE"].get(usize::from(word >> 13)).unwrap_or(&"??");
        PriorityName { class, level: word & 3, hint: word >> 3 & 0x3ff }
    }

    /// The file into which the script saves the latencies of this priority.
    pub fn latency_file(&self) -> String {
        format!("priolat.{}.{}.{}.log", self.class, self.level, self.hint)
    }
}

impl PriorityStatistics {
    /// The script's percentiles in milliseconds, from 1 to 99.99: of n sorted latencies the one at place n times the share,
    /// rounded down and counted from 1; place 0 holds nothing, which counts as 0.
    pub fn percentiles_ms(&self) -> [u64; 17] {
        let count = self.ios() as f64;
        SHARES.map(|share| self.latencies.at_rank((count * share) as u64).unwrap_or_default())
    }
}

impl LogStatistics {
    /// The script's output without options.
    pub fn write_text(&self, sink: &mut impl Write) -> io::Result<()> {
        if self.priorities.is_empty() {
            return writeln!(sink, "{NO_PRIORITIES}");
        }
        self.priorities.iter().try_for_each(|(word, of)| self.write_priority(sink, *word, of))
    }

    /// The script's output with `--terse`; an empty `head` is none.
    pub fn write_terse(&self, sink: &mut impl Write, head: &str) -> io::Result<()> {
        if self.priorities.is_empty() {
            return writeln!(sink, "{NO_PRIORITIES}");
        }
        for (word, of) in &self.priorities {
            let between = if head.is_empty() { "" } else { "," };
            writeln!(sink, "{head}{between}{}", self.terse(*word, of))?;
        }
        Ok(())
    }

    fn write_priority(
        &self,
        sink: &mut impl Write,
        word: u16,
        of: &PriorityStatistics,
    ) -> io::Result<()> {
        let (latencies, runtime) = (&of.latencies, self.runtime_ms);
        let PriorityName { class, level, hint } = PriorityName::of(word);
        let share = self.share(of);
        writeln!(
            sink,
            "Priority {word:#06x}, class {class}, level {level}, hint {hint} ({share} %):"
        )?;
        let mib = of.bytes / MIB;
        let mib_rate = Decimal { over: u128::from(mib) * 1000, under: runtime.into(), decimals: 1 };
        let (iops, mb_rate) = (self.iops(of), self.megabyte_rate(of));
        writeln!(
            sink,
            "    IOPS={iops}, BW={mib_rate}MiB/s ({mb_rate}MB/s)({mib}MiB/{runtime}msec)"
        )?;
        let [min, max] = [latencies.min(), latencies.max()].map(Option::unwrap_or_default);
        let (average, deviation) = (average(latencies), deviation(latencies));
        writeln!(sink, "    lat (msec): min={min}, max={max}, avg={average}, stdev={deviation}")?;
        writeln!(sink, "    lat percentiles (msec):")?;
        let cells: Vec<String> = (NAMES.iter().zip(of.percentiles_ms()))
            .map(|(name, millis)| format!("{name}=[{millis:5}]"))
            .collect();
        let lines: Vec<String> = cells.chunks(4).map(|cells| cells.join(", ")).collect();
        writeln!(sink, "     | {}", lines.join(",\n     | "))
    }

    fn terse(&self, word: u16, of: &PriorityStatistics) -> String {
        let PriorityName { class, level, hint } = PriorityName::of(word);
        let [min, max] = [of.latencies.min(), of.latencies.max()].map(Option::unwrap_or_default);
        let average = average(&of.latencies);
        let (iops, rate) = (self.iops(of), self.megabyte_rate(of));
        let mut line = format!("{class},{level},{hint},{iops},{rate},{min},{max},{average}");
        for millis in of.percentiles_ms() {
            line += &format!(",{millis}");
        }
        line
    }

    /// Percent of all I/Os.
    pub fn share(&self, of: &PriorityStatistics) -> Decimal {
        Decimal { over: u128::from(of.ios()) * 100, under: self.ios.into(), decimals: 2 }
    }

    /// I/Os per second.
    pub fn iops(&self, of: &PriorityStatistics) -> Decimal {
        Decimal { over: u128::from(of.ios()) * 1000, under: self.runtime_ms.into(), decimals: 1 }
    }

    /// MB per second, of a million bytes each.
    pub fn megabyte_rate(&self, of: &PriorityStatistics) -> Decimal {
        let under = u128::from(self.runtime_ms) * 1000;
        Decimal { over: of.bytes.into(), under, decimals: 1 }
    }
}

fn average(latencies: &MillisecondCounts) -> String {
    format!("{:.2}", latencies.sum() as f64 / latencies.count() as f64)
}

/// The deviation by the script's formula, whose difference of two large numbers may come out below zero where all
/// latencies are long and nearly equal; `awk` prints what the root of that is.
fn deviation(latencies: &MillisecondCounts) -> String {
    let count = latencies.count() as f64;
    let mean = latencies.sum() as f64 / count;
    let variance = sum_of_squares(latencies) / count - mean * mean;
    if variance < 0.0 { "-nan".to_owned() } else { format!("{:.2}", variance.sqrt()) }
}

/// Whole numbers up to this are exact in a `f64`.
const EXACT_MAX: f64 = (1u64 << 53) as f64;

/// The sum that comes of adding square after square, the shortest latency first, as the script does. As long as it is exact
/// it does not matter how many are added at once.
fn sum_of_squares(latencies: &MillisecondCounts) -> f64 {
    let mut sum = 0.0;
    for (millis, times) in latencies.iter() {
        let square = millis as f64 * millis as f64;
        let at_once = sum + square * times as f64;
        sum = if at_once <= EXACT_MAX {
            at_once
        } else {
            (0..times).fold(sum, |sum, _| sum + square)
        };
    }
    sum
}
