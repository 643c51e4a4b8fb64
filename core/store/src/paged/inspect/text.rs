//! Parts as text: aligned columns, and bytes as hex with what is printable beside them.

use super::{Body, Part, ShownValue};
use std::fmt;

/// Bytes of a line of a dump.
const LINE: usize = 16;

impl fmt::Display for ShownValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShownValue::Number(number) => f.pad(&number.to_string()),
            ShownValue::Text(text) => f.pad(text),
            ShownValue::Nothing => f.pad("-"),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.name)?;
        match &self.body {
            Body::Facts(facts) => {
                let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
                facts.iter().try_for_each(|(name, value)| writeln!(f, "  {name:width$}  {value}"))
            }
            Body::Table { head, rows, more } => table(f, head, rows, *more),
            Body::Bytes(bytes) => dump(f, bytes),
        }
    }
}

fn table(
    f: &mut fmt::Formatter<'_>,
    head: &[&str],
    rows: &[Vec<ShownValue>],
    more: u64,
) -> fmt::Result {
    let mut widths: Vec<usize> = head.iter().map(|name| name.len()).collect();
    for row in rows {
        for (width, value) in widths.iter_mut().zip(row) {
            *width = (*width).max(value.to_string().chars().count());
        }
    }
    let mut line = String::new();
    head.iter().zip(&widths).for_each(|(name, width)| line += &format!("  {name:width$}"));
    writeln!(f, "{}", line.trim_end())?;
    for row in rows {
        line.clear();
        for (value, &width) in row.iter().zip(&widths) {
            line += &match value {
                ShownValue::Number(_) => format!("  {value:>width$}"),
                _ => format!("  {value:width$}"),
            };
        }
        writeln!(f, "{}", line.trim_end())?;
    }
    if more > 0 { writeln!(f, "  and {more} more") } else { Ok(()) }
}

/// Lines of zeros between others are left out.
fn dump(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    let mut skipped = false;
    for (line, at) in bytes.chunks(LINE).zip((0..).step_by(LINE)) {
        if line.iter().all(|byte| *byte == 0) {
            if !std::mem::replace(&mut skipped, true) {
                writeln!(f, "  *")?;
            }
            continue;
        }
        skipped = false;
        let hex: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        let plain = |byte: &u8| if (b' '..=b'~').contains(byte) { *byte as char } else { '.' };
        let text: String = line.iter().map(plain).collect();
        writeln!(f, "  {at:5}  {:47}  {text}", hex.join(" "))?;
    }
    Ok(())
}
