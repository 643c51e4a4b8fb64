//! The `.cdl` text file that `cdladm` saves and uploads (cdl.md 3.5).
//!
//! One field per line, in a fixed order; blank lines and lines that begin with `#` count for nothing.

use super::{
    AllowedLoss, Column, DESCRIPTORS, Descriptor, DescriptorPage, Limit, Limits, ModePage,
    TimeoutPolicy, Unit,
};
use std::fmt::{self, Write};

/// Longest line that `cdladm` reads as one.
const LINE_BYTES_MAX: usize = 511;

/// What is wrong with a file, and in which line. The first line is 1; where the file ends too early, it is the one after
/// its last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// Where.
    pub line: usize,
    /// What.
    pub error: FieldError,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldError {
    /// It is longer than `cdladm` reads.
    Long,
    /// Another field is due here.
    Expected {
        /// As it begins.
        field: String,
    },
    /// The file is complete, and yet goes on.
    Surplus,
    /// The page is unknown.
    Page,
    /// The code of the allowed loss is reserved.
    Loss,
    /// The code of the unit is reserved.
    Unit {
        /// Of a page A or B, which have units of their own.
        simple: bool,
    },
    /// The time is no number of 16 bits.
    Time,
    /// The policy is none, or none of this time.
    Policy {
        /// Of which time.
        column: Column,
    },
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match &self.error {
            FieldError::Long => write!(f, "longer than {LINE_BYTES_MAX} characters"),
            FieldError::Expected { field } => write!(f, "expected `{field}`"),
            FieldError::Surplus => f.write_str("nothing may follow the seventh descriptor"),
            FieldError::Page => f.write_str("the page must be A, B, T2A or T2B"),
            FieldError::Loss => f.write_str("the allowed loss must be a code from 0x0 to 0xc"),
            FieldError::Unit { simple: false } => f.write_str(
                "the unit must be 0x0, 0x6 (500 ns), 0x8 (1 us), 0xa (10 ms) or 0xe (500 ms)",
            ),
            FieldError::Unit { simple: true } => {
                f.write_str("the unit must be 0x0, 0x4 (1 us), 0x5 (10 ms) or 0x6 (500 ms)")
            }
            FieldError::Time => f.write_str("the time must be a decimal number from 0 to 65535"),
            FieldError::Policy { column } => {
                write!(f, "the policy of the {column} must be ")?;
                write_policies(f, *column)
            }
        }
    }
}

impl std::error::Error for FileError {}

/// The policies that a time may have, as `0x0 (complete-earliest), 0xd (...) or 0xf (abort)`.
fn write_policies(f: &mut fmt::Formatter<'_>, column: Column) -> fmt::Result {
    let allowed: Vec<TimeoutPolicy> =
        TimeoutPolicy::ALL.into_iter().filter(|policy| column.allows(*policy)).collect();
    for (place, policy) in allowed.iter().enumerate() {
        let between = match place {
            0 => "",
            _ if place + 1 == allowed.len() => " or ",
            _ => ", ",
        };
        write!(f, "{between}{:#x} ({policy})", policy.code())?;
    }
    Ok(())
}

impl DescriptorPage {
    /// Reads a file.
    pub fn parse(text: &str) -> Result<DescriptorPage, FileError> {
        let mut fields = FileFields { lines: text.lines(), line: 0 };
        let kind = fields.page()?;
        let mut limits = Limits::default();
        if kind == ModePage::T2A {
            limits.allowed_loss = fields.allowed_loss()?;
        }
        for (number, descriptor) in (1..).zip(&mut limits.descriptors) {
            fields.head(number)?;
            *descriptor = if kind.is_simple() { fields.simple()? } else { fields.full()? };
        }
        fields.end()?;
        Ok(DescriptorPage::new(kind, limits).expect("each field was checked where it stands"))
    }

    /// The file of this page, which [`parse`](DescriptorPage::parse) reads back to the same.
    pub fn file(&self) -> String {
        let mut text = format!("# Duration limits, page {}. Times are in units.\n", self.kind());
        let write = write_page(&mut text, self);
        write.expect("a string takes everything");
        text
    }
}

fn write_page(text: &mut String, page: &DescriptorPage) -> fmt::Result {
    write_legend(text, page.kind())?;
    writeln!(text, "\ncdlp: {}", page.kind())?;
    if page.kind() == ModePage::T2A {
        let code = page.limits().allowed_loss.code();
        writeln!(text, "\nperf-vs-duration-guideline: {code:#x}")?;
    }
    for (number, descriptor) in (1..=DESCRIPTORS).zip(&page.limits().descriptors) {
        writeln!(text, "\n== descriptor: {number}")?;
        if page.kind().is_simple() {
            let code =
                descriptor.unit.simple_code().expect("a page A or B has none but such units");
            writeln!(text, "cdlunit: {code:#x}")?;
            writeln!(text, "duration-guideline: {}", descriptor.guideline.time)?;
        } else {
            write_full(text, descriptor)?;
        }
    }
    Ok(())
}

fn write_legend(text: &mut String, kind: ModePage) -> fmt::Result {
    if kind.is_simple() {
        return writeln!(text, "# Units: 0x0 none, 0x4 1 us, 0x5 10 ms, 0x6 500 ms.");
    }
    writeln!(text, "# Units: 0x0 none, 0x6 500 ns, 0x8 1 us, 0xa 10 ms, 0xe 500 ms.")?;
    write!(text, "# Policies:")?;
    for policy in TimeoutPolicy::ALL {
        write!(text, " {:#x} {policy}", policy.code())?;
    }
    writeln!(text, ".")
}

fn write_full(text: &mut String, descriptor: &Descriptor) -> fmt::Result {
    writeln!(text, "t2cdlunits: {:#x}", descriptor.unit.code())?;
    for (column, limit) in descriptor.limits() {
        let field = field_of(column);
        writeln!(text, "{field}: {}", limit.time)?;
        writeln!(text, "{field}-policy: {:#x}", limit.policy.code())?;
    }
    Ok(())
}

fn field_of(column: Column) -> &'static str {
    match column {
        Column::Inactive => "max-inactive-time",
        Column::Active => "max-active-time",
        Column::Guideline => "duration-guideline",
    }
}

/// The fields of a file, from the top.
struct FileFields<'a> {
    lines: std::str::Lines<'a>,
    /// The line that was read last.
    line: usize,
}

impl<'a> FileFields<'a> {
    fn error(&self, error: FieldError) -> FileError {
        FileError { line: self.line, error }
    }

    /// The next line with a field, without the blanks around it; `None` at the end.
    fn next_line(&mut self) -> Result<Option<&'a str>, FileError> {
        loop {
            self.line += 1;
            let Some(line) = self.lines.next() else { return Ok(None) };
            if line.len() > LINE_BYTES_MAX {
                return Err(self.error(FieldError::Long));
            }
            let field = line.trim_matches([' ', '\t', '\r']);
            if !field.is_empty() && !field.starts_with('#') {
                return Ok(Some(field));
            }
        }
    }

    /// What follows `name:` on the next line.
    fn value(&mut self, name: &str) -> Result<&'a str, FileError> {
        let line = self.next_line()?.unwrap_or_default();
        let value = line.strip_prefix(name).and_then(|rest| rest.strip_prefix(':'));
        let value = value.map(str::trim_start).filter(|value| !value.is_empty());
        value.ok_or_else(|| self.error(FieldError::Expected { field: format!("{name}: ...") }))
    }

    fn page(&mut self) -> Result<ModePage, FileError> {
        let value = self.value("cdlp")?;
        let kind = ModePage::ALL.into_iter().find(|kind| kind.to_string() == value);
        kind.ok_or_else(|| self.error(FieldError::Page))
    }

    fn allowed_loss(&mut self) -> Result<AllowedLoss, FileError> {
        let code = hexadecimal(self.value("perf-vs-duration-guideline")?);
        code.and_then(AllowedLoss::from_code).ok_or_else(|| self.error(FieldError::Loss))
    }

    fn head(&mut self, number: usize) -> Result<(), FileError> {
        let field = format!("== descriptor: {number}");
        match self.next_line()? {
            Some(line) if line == field => Ok(()),
            _ => Err(self.error(FieldError::Expected { field })),
        }
    }

    fn simple(&mut self) -> Result<Descriptor, FileError> {
        let unit = hexadecimal(self.value("cdlunit")?).and_then(Unit::from_simple_code);
        let unit = unit.ok_or_else(|| self.error(FieldError::Unit { simple: true }))?;
        let guideline = Limit { time: self.time(Column::Guideline)?, ..Limit::default() };
        Ok(Descriptor { unit, guideline, ..Descriptor::default() })
    }

    fn full(&mut self) -> Result<Descriptor, FileError> {
        let unit = hexadecimal(self.value("t2cdlunits")?).and_then(Unit::from_code);
        let unit = unit.ok_or_else(|| self.error(FieldError::Unit { simple: false }))?;
        let inactive = self.limit(Column::Inactive)?;
        let active = self.limit(Column::Active)?;
        let guideline = self.limit(Column::Guideline)?;
        Ok(Descriptor { unit, inactive, active, guideline })
    }

    fn limit(&mut self, column: Column) -> Result<Limit, FileError> {
        Ok(Limit { time: self.time(column)?, policy: self.policy(column)? })
    }

    fn time(&mut self, column: Column) -> Result<u16, FileError> {
        let value = self.value(field_of(column))?;
        let digits = value.bytes().all(|byte| byte.is_ascii_digit());
        let time = value.parse().ok().filter(|_| digits);
        time.ok_or_else(|| self.error(FieldError::Time))
    }

    fn policy(&mut self, column: Column) -> Result<TimeoutPolicy, FileError> {
        let code = hexadecimal(self.value(&format!("{}-policy", field_of(column)))?);
        let policy =
            code.and_then(TimeoutPolicy::from_code).filter(|policy| column.allows(*policy));
        policy.ok_or_else(|| self.error(FieldError::Policy { column }))
    }

    fn end(&mut self) -> Result<(), FileError> {
        match self.next_line()? {
            Some(_) => Err(self.error(FieldError::Surplus)),
            None => Ok(()),
        }
    }
}

/// A hexadecimal code of one byte, with 0x before it or without.
fn hexadecimal(value: &str) -> Option<u8> {
    let digits = value.strip_prefix("0x").unwrap_or(value);
    let clean = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u8::from_str_radix(digits, 16).ok().filter(|_| clean)
}
