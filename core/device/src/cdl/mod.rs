//! Command duration limits: the descriptors that a drive holds, and what they ask of it (cdl.md 1).
//!
//! A read or a write names one of seven descriptors or none; reads and writes have a set each. This module knows what a
//! descriptor means, the text file of `cdladm`, and the bytes in which SCSI and ATA drives hold the same. It sends nothing
//! to any drive.

mod ata;
mod file;
mod mode_page;
mod page;
mod show;

pub use ata::{ATA_LOG_BYTES, AtaDescriptor, AtaError, AtaLimits, AtaPlace};
pub use file::{FieldError, FileError};
pub use mode_page::{ModePageError, SIMPLE_PAGE_BYTES, T2_PAGE_BYTES};
pub use page::{DescriptorPage, DriveBounds, ModePage, PageError, TimeFinding, TimeFindingKind};

use loadline_base::Span;
use std::fmt;

/// Descriptors of a set.
pub const DESCRIPTORS: usize = 7;

/// The set of descriptors for one kind of command, in the unit that its page counts in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// How much of its throughput the drive may give up for guidelines; only read commands' sets carry it.
    pub allowed_loss: AllowedLoss,
    /// Descriptor 1 is the first.
    pub descriptors: [Descriptor; DESCRIPTORS],
}

impl Limits {
    /// The descriptor that a command names; `None` for 0, for what is no index, and for one that limits nothing.
    pub fn of(&self, index: u8) -> Option<&Descriptor> {
        let descriptor = self.descriptors.get(usize::from(index).checked_sub(1)?)?;
        (!descriptor.is_empty()).then_some(descriptor)
    }
}

/// Up to three times, each with what to do when it has run out (cdl.md 1.1 and 1.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// What one unit of the times is.
    pub unit: Unit,
    /// From the arrival of a command until the drive begins it.
    pub inactive: Limit,
    /// From the begin of a command until its end.
    pub active: Limit,
    /// From the arrival of a command until its end: a wish that steers the order, unless its policy is harder.
    pub guideline: Limit,
}

/// A time in units of its descriptor, 0 for none, and its policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// How many units.
    pub time: u16,
    /// What happens when they have passed.
    pub policy: TimeoutPolicy,
}

impl Descriptor {
    /// Whether it limits nothing.
    pub fn is_empty(&self) -> bool {
        [self.inactive, self.active, self.guideline].iter().all(|limit| self.span(*limit).is_none())
    }

    /// Its three times in the order of files and pages.
    pub fn limits(&self) -> [(Column, Limit); 3] {
        [
            (Column::Inactive, self.inactive),
            (Column::Active, self.active),
            (Column::Guideline, self.guideline),
        ]
    }

    /// One of its times; `None` if it is switched off.
    pub fn span(&self, limit: Limit) -> Option<Span> {
        let nanos = self.unit.nanos()? * u64::from(limit.time);
        (nanos > 0).then(|| Span::from_nanos(nanos))
    }
}

/// Which of a descriptor's three times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Column {
    /// Max inactive time.
    Inactive,
    /// Max active time.
    Active,
    /// Duration guideline.
    Guideline,
}

impl Column {
    /// Whether a policy may stand here (the table of cdl.md 1.4).
    pub fn allows(self, policy: TimeoutPolicy) -> bool {
        match policy {
            TimeoutPolicy::CompleteEarliest
            | TimeoutPolicy::CompleteUnavailable
            | TimeoutPolicy::Abort => true,
            TimeoutPolicy::ContinueNextLimit | TimeoutPolicy::ContinueNoLimit => {
                self == Column::Guideline
            }
            TimeoutPolicy::AbortRecovery => self == Column::Active,
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Column::Inactive => "max inactive time",
            Column::Active => "max active time",
            Column::Guideline => "duration guideline",
        })
    }
}

/// What a descriptor's times count (T2CDLUNITS, cdl.md 1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Nothing: the descriptor is switched off.
    #[default]
    None,
    /// 500 ns.
    HalfMicrosecond,
    /// 1 µs.
    Microsecond,
    /// 10 ms.
    TenMilliseconds,
    /// 500 ms.
    HalfSecond,
}

impl Unit {
    /// Every unit, by rising length.
    pub const ALL: [Unit; 5] = [
        Unit::None,
        Unit::HalfMicrosecond,
        Unit::Microsecond,
        Unit::TenMilliseconds,
        Unit::HalfSecond,
    ];

    /// The unit of a T2 page's code; `None` if it is reserved.
    pub fn from_code(code: u8) -> Option<Unit> {
        Unit::ALL.into_iter().find(|unit| unit.code() == code)
    }

    /// Its code in a T2 page.
    pub fn code(self) -> u8 {
        match self {
            Unit::None => 0x0,
            Unit::HalfMicrosecond => 0x6,
            Unit::Microsecond => 0x8,
            Unit::TenMilliseconds => 0xa,
            Unit::HalfSecond => 0xe,
        }
    }

    /// Its length in nanoseconds; `None` if it switches off.
    pub fn nanos(self) -> Option<u64> {
        match self {
            Unit::None => None,
            Unit::HalfMicrosecond => Some(500),
            Unit::Microsecond => Some(1_000),
            Unit::TenMilliseconds => Some(10_000_000),
            Unit::HalfSecond => Some(500_000_000),
        }
    }
}

/// What a drive does with a command whose time has run out (cdl.md 1.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeoutPolicy {
    /// Keeps it and ends it as soon as possible.
    #[default]
    CompleteEarliest,
    /// Goes on under the next descriptor's guideline, whose time counts from the arrival too.
    ContinueNextLimit,
    /// Goes on as if it had named no descriptor.
    ContinueNoLimit,
    /// Ends it at once, as good but without data.
    CompleteUnavailable,
    /// Aborts it if error recovery used up the time.
    AbortRecovery,
    /// Aborts it.
    Abort,
}

impl TimeoutPolicy {
    /// Every policy, by rising code.
    pub const ALL: [TimeoutPolicy; 6] = [
        TimeoutPolicy::CompleteEarliest,
        TimeoutPolicy::ContinueNextLimit,
        TimeoutPolicy::ContinueNoLimit,
        TimeoutPolicy::CompleteUnavailable,
        TimeoutPolicy::AbortRecovery,
        TimeoutPolicy::Abort,
    ];

    /// The policy of a code; `None` if it is reserved.
    pub fn from_code(code: u8) -> Option<TimeoutPolicy> {
        TimeoutPolicy::ALL.into_iter().find(|policy| policy.code() == code)
    }

    /// Its code in files and pages.
    pub fn code(self) -> u8 {
        match self {
            TimeoutPolicy::CompleteEarliest => 0x0,
            TimeoutPolicy::ContinueNextLimit => 0x1,
            TimeoutPolicy::ContinueNoLimit => 0x2,
            TimeoutPolicy::CompleteUnavailable => 0xd,
            TimeoutPolicy::AbortRecovery => 0xe,
            TimeoutPolicy::Abort => 0xf,
        }
    }
}

impl fmt::Display for TimeoutPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TimeoutPolicy::CompleteEarliest => "complete-earliest",
            TimeoutPolicy::ContinueNextLimit => "continue-next-limit",
            TimeoutPolicy::ContinueNoLimit => "continue-no-limit",
            TimeoutPolicy::CompleteUnavailable => "complete-unavailable",
            TimeoutPolicy::AbortRecovery => "abort-recovery",
            TimeoutPolicy::Abort => "abort",
        })
    }
}

/// PERFORMANCE VERSUS COMMAND DURATION GUIDELINES, by its code 0 to Ch (cdl.md 1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllowedLoss(u8);

impl AllowedLoss {
    /// Percent of throughput by code.
    const PERCENT: [f64; 13] = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 8.0, 10.0, 15.0, 20.0];

    /// The code's meaning; `None` if it is reserved.
    pub fn from_code(code: u8) -> Option<AllowedLoss> {
        (usize::from(code) < Self::PERCENT.len()).then_some(AllowedLoss(code))
    }

    /// As it stands in the page.
    pub fn code(self) -> u8 {
        self.0
    }

    /// Every code that has a meaning.
    pub fn all() -> impl Iterator<Item = AllowedLoss> {
        (0..Self::PERCENT.len() as u8).map(AllowedLoss)
    }

    /// How much throughput may be lost, in percent.
    pub fn percent(self) -> f64 {
        Self::PERCENT[usize::from(self.0)]
    }
}

impl fmt::Display for AllowedLoss {
    /// The percent without the sign: one decimal below 3, as `cdladm` writes them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = if (1..=5).contains(&self.0) { 1 } else { 0 };
        write!(f, "{:.decimals$}", self.percent())
    }
}
