//! A page in the words of `cdladm show` (cdl.md 3.8), which the benchmark's scripts read.

use super::{Column, Descriptor, DescriptorPage, Limit, ModePage};
use loadline_base::Span;
use std::fmt;

impl DescriptorPage {
    /// The page with the line that names it, as it stands among others.
    pub fn with_head(&self) -> String {
        let commands = if self.kind().is_of_writes() { "write" } else { "read" };
        format!("Page {}: {commands} descriptors\n{self}", self.kind())
    }
}

impl fmt::Display for DescriptorPage {
    /// Without the line that names the page. Times lose what their unit cannot show, as `cdladm` has it; units of 1 us
    /// count as such, which `cdladm` 1.1.0 takes for nanoseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind() == ModePage::T2A {
            writeln!(f, "  perf_vs_duration_guideline : {}%", self.limits().allowed_loss)?;
        }
        for (number, descriptor) in (1..).zip(&self.limits().descriptors) {
            writeln!(f, "  Descriptor {number}:")?;
            if self.kind().is_simple() {
                write_simple(f, descriptor)?;
            } else {
                for (column, limit) in descriptor.limits() {
                    write_limit(f, descriptor, column, limit)?;
                }
            }
        }
        Ok(())
    }
}

fn write_simple(f: &mut fmt::Formatter<'_>, descriptor: &Descriptor) -> fmt::Result {
    match descriptor.span(descriptor.guideline) {
        Some(span) if span.nanos() >= MILLISECOND => {
            writeln!(f, "    duration guideline: {} ms", span.nanos() / MILLISECOND)
        }
        Some(span) => writeln!(f, "    duration guideline: {} us", span.nanos() / 1_000),
        None => writeln!(f, "    duration guideline: no limit"),
    }
}

fn write_limit(
    f: &mut fmt::Formatter<'_>,
    descriptor: &Descriptor,
    column: Column,
    limit: Limit,
) -> fmt::Result {
    let (time, policy) = match column {
        Column::Inactive => ("max inactive time", "max inactive policy"),
        Column::Active => ("max active time", "max active policy"),
        Column::Guideline => ("duration guideline", "duration guideline policy"),
    };
    let Some(span) = descriptor.span(limit) else {
        return writeln!(f, "    {time:25}: no limit");
    };
    writeln!(f, "    {time:25}: {}", ShownTime(span))?;
    writeln!(f, "    {policy:25}: {}", limit.policy)
}

const MILLISECOND: u64 = 1_000_000;

/// A time as `cdladm` prints it: whole milliseconds from one on, else microseconds if it is several whole ones, else
/// nanoseconds.
struct ShownTime(Span);

impl fmt::Display for ShownTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.nanos() {
            nanos if nanos >= MILLISECOND => write!(f, "{} ms", nanos / MILLISECOND),
            nanos if nanos > 1_000 && nanos % 1_000 == 0 => write!(f, "{} us", nanos / 1_000),
            nanos => write!(f, "{nanos} ns"),
        }
    }
}
