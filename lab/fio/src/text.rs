//! fio's normal output for a job of reads (cdl.md 4.3).
//!
//! The lines and their widths are fio's, since people and scripts look for them; what a program that is not fio cannot
//! know (processor time, page faults, a process id) is left out.

use crate::bins::{LatencyBins, PERCENTILES};
use crate::reads::ReadJob;
use std::fmt::Write;

impl ReadJob {
    /// The job as fio's normal output tells of it.
    pub fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out).expect("writing to a string");
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let block = scaled(self.block_bytes, 4, UnitStep::Binary, "B");
        let sizes = ["R", "W", "T"].map(|letter| format!("({letter}) {block}-{block}"));
        writeln!(
            out,
            "{}: (g=0): rw=randread, bs={}, ioengine={}, iodepth={}",
            self.name,
            sizes.join(", "),
            self.engine,
            self.depth
        )?;
        writeln!(out, "{}\nStarting 1 process\n", self.program)?;
        writeln!(out, "{}: (groupid=0, jobs=1): err= 0", self.name)?;
        writeln!(
            out,
            "  read: IOPS={}, {}",
            scaled(self.iops() as u64, 4, UnitStep::Decimal, ""),
            self.rate()
        )?;
        write_latency(out, "slat", &self.slat)?;
        write_latency(out, "clat", &self.clat)?;
        write_latency(out, " lat", &self.lat)?;
        self.write_priorities(out)?;
        write_percentiles(out, "clat", &self.clat)?;
        self.write_priority_percentiles(out)?;
        self.write_samples(out)?;
        self.write_classes(out)?;
        let levels = self.depth_levels();
        let levels: Vec<_> =
            levels.iter().map(|(name, share)| format!("{name}={share:3.1}%")).collect();
        writeln!(out, "  IO depths    : {}", levels.join(", "))?;
        writeln!(
            out,
            "     issued rwts: total={},0,0,0 short=0,0,0,0 dropped=0,0,0,0",
            self.clat.count()
        )?;
        writeln!(
            out,
            "     latency   : target=0, window=0, percentile=100.00%, depth={}",
            self.depth
        )?;
        self.write_group(out)
    }

    /// Bytes per second in both units, and bytes and time.
    fn rate(&self) -> String {
        let rate = self.bytes_per_second();
        format!(
            "BW={} ({})({}/{}msec)",
            scaled(rate, 4, UnitStep::Binary, "B/s"),
            scaled(rate, 4, UnitStep::Decimal, "B/s"),
            scaled(self.bytes(), 4, UnitStep::Binary, "B"),
            self.runtime_ms
        )
    }

    fn write_priorities(&self, out: &mut String) -> std::fmt::Result {
        if self.priorities.len() < 2 {
            return Ok(());
        }
        for (priority, bins) in &self.priorities {
            write_latency(out, &format!("clat prio {}", prio_name(priority.word())), bins)?;
        }
        Ok(())
    }

    fn write_priority_percentiles(&self, out: &mut String) -> std::fmt::Result {
        if self.priorities.len() < 2 {
            return Ok(());
        }
        for (priority, bins) in &self.priorities {
            let share = bins.count() as f64 * 100.0 / self.clat.count() as f64;
            let name = prio_name(priority.word());
            write_percentiles(out, &format!("clat prio {name} ({share:.2}% of IOs)"), bins)?;
        }
        Ok(())
    }

    /// Rates of the half seconds; the last one is left out unless it is alone, since it is cut short.
    fn write_samples(&self, out: &mut String) -> std::fmt::Result {
        let whole = self.half_seconds.len().saturating_sub(1).max(1);
        let counts = &self.half_seconds[..whole.min(self.half_seconds.len())];
        let Some(rates) = Samples::of(counts) else { return Ok(()) };
        let kib = self.block_bytes as f64 / 1024.0;
        writeln!(
            out,
            "   bw (  KiB/s): min={:5.0}, max={:5.0}, per=100.00%, avg={:5.2}, stdev={:5.2}, samples={}",
            rates.min * kib,
            rates.max * kib,
            rates.mean * kib,
            rates.deviation * kib,
            counts.len()
        )?;
        writeln!(
            out,
            "   iops        : min={:5.0}, max={:5.0}, avg={:5.2}, stdev={:5.2}, samples={}",
            rates.min,
            rates.max,
            rates.mean,
            rates.deviation,
            counts.len()
        )
    }

    fn write_classes(&self, out: &mut String) -> std::fmt::Result {
        let classes = self.latency_classes();
        for (unit, shares) in [("nsec", classes.ns), ("usec", classes.us), ("msec", classes.ms)] {
            let told: Vec<String> = shares
                .iter()
                .filter(|(_, share)| *share > 0.0)
                .map(|(name, share)| format!("{name}={share:.2}%"))
                .collect();
            for line in told.chunks(5) {
                writeln!(out, "  lat ({unit})   : {}", line.join(", "))?;
            }
        }
        Ok(())
    }

    fn write_group(&self, out: &mut String) -> std::fmt::Result {
        let rate = self.bytes_per_second();
        let (binary, decimal) =
            (scaled(rate, 4, UnitStep::Binary, "B/s"), scaled(rate, 4, UnitStep::Decimal, "B/s"));
        let (moved, moved_decimal) = (
            scaled(self.bytes(), 4, UnitStep::Binary, "B"),
            scaled(self.bytes(), 4, UnitStep::Decimal, "B"),
        );
        let ms = self.runtime_ms;
        writeln!(out, "\nRun status group 0 (all jobs):")?;
        writeln!(
            out,
            "   READ: bw={binary} ({decimal}), {binary}-{binary} ({decimal}-{decimal}), \
             io={moved} ({moved_decimal}), run={ms}-{ms}msec"
        )
    }
}

/// Rates per second of half seconds.
struct Samples {
    min: f64,
    max: f64,
    mean: f64,
    deviation: f64,
}

impl Samples {
    fn of(half_seconds: &[u32]) -> Option<Samples> {
        let rates: Vec<f64> = half_seconds.iter().map(|count| f64::from(*count) * 2.0).collect();
        let count = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / count;
        let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
        (!rates.is_empty()).then(|| Samples {
            min: rates.iter().copied().fold(f64::INFINITY, f64::min),
            max: rates.iter().copied().fold(0.0, f64::max),
            mean,
            deviation: (squares / (count - 1.0).max(1.0)).sqrt(),
        })
    }
}

/// Class, level and hint of a priority word.
fn prio_name(word: u16) -> String {
    format!("{}/{}/{}", word >> 13, word & 7, word >> 3 & 0x3ff)
}

/// The unit in which fio shows latencies: how many nanoseconds it has, and its name.
fn unit(min_ns: u64, max_ns: u64) -> (u64, &'static str) {
    if min_ns > 2_000_000 && max_ns > 99_999_999 {
        (1_000_000, "msec")
    } else if min_ns > 2_000 && max_ns > 99_999 {
        (1_000, "usec")
    } else {
        (1, "nsec")
    }
}

fn write_latency(out: &mut String, name: &str, bins: &LatencyBins) -> std::fmt::Result {
    let found = bins.extremes();
    let (nanos, unit) = unit(found.min, found.max);
    writeln!(
        out,
        "    {name} ({unit}): min={:>5}, max={:>5}, avg={:5.2}, stdev={:5.2}",
        scaled(found.min / nanos, 6, UnitStep::Decimal, ""),
        scaled(found.max / nanos, 6, UnitStep::Decimal, ""),
        found.mean / nanos as f64,
        found.stddev / nanos as f64
    )
}

fn write_percentiles(out: &mut String, name: &str, bins: &LatencyBins) -> std::fmt::Result {
    let values = PERCENTILES.map(|percent| bins.percentile_ns(percent));
    let (nanos, unit) = unit(values[0], values[PERCENTILES.len() - 1]);
    writeln!(out, "    {name} percentiles ({unit}):")?;
    let cells: Vec<String> = PERCENTILES
        .iter()
        .zip(values)
        .map(|(percent, value)| format!(" {percent:5.2}th=[{:5}]", value.div_ceil(nanos)))
        .collect();
    let lines: Vec<String> =
        cells.chunks(4).map(|line| format!("     |{}", line.join(","))).collect();
    writeln!(out, "{}", lines.join(",\n"))
}

/// Thousands or 1024s.
#[derive(Clone, Copy)]
enum UnitStep {
    Decimal,
    Binary,
}

/// A number of at most `width` characters with a letter for its thousands, as fio cuts it: decimals fill what is left.
fn scaled(number: u64, width: usize, step: UnitStep, unit: &str) -> String {
    let (thousand, prefixes) = match step {
        UnitStep::Decimal => (1000, ["", "k", "M", "G", "T", "P"]),
        UnitStep::Binary => (1024, ["", "Ki", "Mi", "Gi", "Ti", "Pi"]),
    };
    let (mut whole, mut rest, mut power) = (number, None, 0);
    while whole.to_string().len() > width && power + 1 < prefixes.len() {
        rest = Some(whole % thousand);
        whole /= thousand;
        power += 1;
    }
    let decimals = width.saturating_sub(whole.to_string().len() + 1);
    match rest {
        Some(rest) if decimals == 0 => {
            format!("{}{}{unit}", whole + u64::from(rest * 2 >= thousand), prefixes[power])
        }
        Some(rest) => {
            let fraction = format!("{:.decimals$}", rest as f64 / thousand as f64);
            // A fraction that rounds up to one shows zeros, as in fio.
            format!("{whole}{}{}{unit}", &fraction[1..], prefixes[power])
        }
        None => format!("{whole}{}{unit}", prefixes[power]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_device::Priority;

    /// 46,320 reads of 128 KiB in 300,246 ms print as in cdl.md 6.2; its MiB were counted from the job's start.
    #[test]
    fn numbers_are_cut_as_fio_cuts_them() {
        let rate = 46_320 * 131_072 * 1000 / 300_246;
        assert_eq!(scaled(rate, 4, UnitStep::Binary, "B/s"), "19.3MiB/s");
        assert_eq!(scaled(rate, 4, UnitStep::Decimal, "B/s"), "20.2MB/s");
        assert_eq!(scaled(46_320 * 131_072, 4, UnitStep::Binary, "B"), "5790MiB");
        assert_eq!(scaled(131_072, 4, UnitStep::Binary, "B"), "128KiB");
        assert_eq!(scaled(12_345, 4, UnitStep::Decimal, ""), "12.3k");
        assert_eq!(scaled(999, 4, UnitStep::Decimal, ""), "999");
        assert_eq!(scaled(1_234_567, 6, UnitStep::Decimal, ""), "1234.6k");
        assert_eq!(scaled(123_456_789, 6, UnitStep::Decimal, ""), "123457k");
    }

    /// The lines that scripts look for.
    #[test]
    fn the_text_holds_what_scripts_read() {
        let mut job = ReadJob {
            name: "rndrd_qd2".into(),
            block_bytes: 131_072,
            depth: 2,
            ..ReadJob::default()
        };
        let limited = Priority::from_word(0x4008);
        for n in 1..=1000 {
            job.count(Priority::default(), 5_000, 100_000_000, n * 10);
            job.count(limited, 5_000, 20_000_000, n * 10);
        }
        let text = job.text();
        let has = |line: &str| assert!(text.contains(line), "{line} is missing in\n{text}");
        has("\n  read: IOPS=200, BW=25.0MiB/s (26.2MB/s)(250MiB/10000msec)\n");
        has("\n    clat prio 0/0/0 (msec): min=  100, max=  100, avg=100.00, stdev= 0.00\n");
        has("\n    clat prio 2/0/1 (50.00% of IOs) percentiles (");
        has("\n   iops        : min=  196, max=  200, avg=199.80, stdev= 0.89, samples=20\n");
        has("\n  lat (msec)   : 50=50.00%, 250=50.00%\n");
    }
}
