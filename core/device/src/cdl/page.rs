//! A page: one set of descriptors in the form in which a drive takes it, and what must hold of it.

use super::{AllowedLoss, Column, DESCRIPTORS, Descriptor, Limit, Limits, TimeoutPolicy, Unit};
use loadline_base::Span;
use std::fmt;

/// The four pages of the control mode page 0Ah (cdl.md 1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModePage {
    /// One duration per descriptor.
    A,
    /// Like A, for the other kind of command.
    B,
    /// Full descriptors, of reads.
    T2A,
    /// Full descriptors, of writes.
    T2B,
}

impl ModePage {
    /// Every page, by rising subpage code.
    pub const ALL: [ModePage; 4] = [ModePage::A, ModePage::B, ModePage::T2A, ModePage::T2B];

    /// Its subpage code.
    pub fn subpage(self) -> u8 {
        match self {
            ModePage::A => 0x03,
            ModePage::B => 0x04,
            ModePage::T2A => 0x07,
            ModePage::T2B => 0x08,
        }
    }

    /// Whether its descriptors hold one duration and nothing else.
    pub fn is_simple(self) -> bool {
        matches!(self, ModePage::A | ModePage::B)
    }

    /// Whether its descriptors are for writes, by convention (cdl.md 1.1).
    pub fn is_of_writes(self) -> bool {
        matches!(self, ModePage::B | ModePage::T2B)
    }
}

impl fmt::Display for ModePage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ModePage::A => "A",
            ModePage::B => "B",
            ModePage::T2A => "T2A",
            ModePage::T2B => "T2B",
        })
    }
}

/// A set of descriptors that its page can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescriptorPage {
    kind: ModePage,
    limits: Limits,
}

/// Why a page cannot hold a set of descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageError {
    /// A policy stands where the standard has none of that code.
    Policy {
        /// 1 to 7.
        descriptor: usize,
        /// Whose policy.
        column: Column,
        /// Which.
        policy: TimeoutPolicy,
    },
    /// A page A or B holds a unit, a time or a policy that only a T2 page has.
    NotSimple {
        /// 1 to 7.
        descriptor: usize,
    },
    /// A page other than T2A holds an allowed loss.
    Loss,
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PageError::Policy { descriptor, column, policy } => {
                write!(f, "descriptor {descriptor}: the {column} cannot have the policy {policy}")
            }
            PageError::NotSimple { descriptor } => write!(
                f,
                "descriptor {descriptor}: pages A and B hold one duration in units of 1 us, 10 ms or 500 ms, and no policy"
            ),
            PageError::Loss => f.write_str("only page T2A holds an allowed loss of performance"),
        }
    }
}

impl std::error::Error for PageError {}

impl DescriptorPage {
    /// The descriptors of the benchmark for reads: 50, 100, 200, 300, 400 and 500 ms, the seventh without a limit, for up
    /// to 20 % of the throughput (cdl.md 3.5).
    pub const BENCHMARK_T2A: DescriptorPage =
        DescriptorPage::benchmark(ModePage::T2A, AllowedLoss(0xc));

    /// The same for writes.
    pub const BENCHMARK_T2B: DescriptorPage =
        DescriptorPage::benchmark(ModePage::T2B, AllowedLoss(0));

    /// A page of these descriptors.
    pub fn new(kind: ModePage, limits: Limits) -> Result<DescriptorPage, PageError> {
        if kind != ModePage::T2A && limits.allowed_loss != AllowedLoss::default() {
            return Err(PageError::Loss);
        }
        for (number, descriptor) in (1..).zip(&limits.descriptors) {
            check_descriptor(kind, number, descriptor)?;
        }
        Ok(DescriptorPage { kind, limits })
    }

    /// Which page it is.
    pub fn kind(&self) -> ModePage {
        self.kind
    }

    /// What it holds.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What speaks against giving this page to a drive.
    pub fn findings(&self, bounds: &DriveBounds) -> Vec<TimeFinding> {
        let mut findings = Vec::new();
        for (descriptor, held) in (1..).zip(&self.limits.descriptors) {
            for (column, limit) in held.limits() {
                let Some(span) = held.span(limit) else { continue };
                if let Some(kind) = bounds.judge(column, limit, span) {
                    findings.push(TimeFinding { descriptor, column, kind });
                }
            }
        }
        findings
    }

    /// Whether the drive may give up nothing for its guidelines, so that they are without effect.
    pub fn guidelines_idle(&self) -> bool {
        let wished = |held: &Descriptor| held.span(held.guideline).is_some();
        self.kind == ModePage::T2A
            && self.limits.allowed_loss.code() == 0
            && self.limits.descriptors.iter().any(wished)
    }

    const fn benchmark(kind: ModePage, allowed_loss: AllowedLoss) -> DescriptorPage {
        const TENS_OF_MS: [u16; DESCRIPTORS] = [5, 10, 20, 30, 40, 50, 0];
        const OFF: Limit = Limit { time: 0, policy: TimeoutPolicy::CompleteEarliest };
        let unit = Unit::TenMilliseconds;
        let mut descriptors =
            [Descriptor { unit, inactive: OFF, active: OFF, guideline: OFF }; DESCRIPTORS];
        let mut index = 0;
        while index < DESCRIPTORS {
            descriptors[index].guideline.time = TENS_OF_MS[index];
            index += 1;
        }
        DescriptorPage { kind, limits: Limits { allowed_loss, descriptors } }
    }
}

fn check_descriptor(kind: ModePage, number: usize, held: &Descriptor) -> Result<(), PageError> {
    for (column, Limit { policy, .. }) in held.limits() {
        if !column.allows(policy) {
            return Err(PageError::Policy { descriptor: number, column, policy });
        }
    }
    let off = Limit::default();
    let simple = held.unit != Unit::HalfMicrosecond
        && held.inactive == off
        && held.active == off
        && held.guideline.policy == TimeoutPolicy::default();
    if kind.is_simple() && !simple {
        return Err(PageError::NotSimple { descriptor: number });
    }
    Ok(())
}

/// What a drive and its host can keep (cdl.md 1.7 and 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriveBounds {
    /// Shortest time that the drive takes.
    pub minimum: Span,
    /// Longest time that it takes.
    pub maximum: Span,
    /// After which the host gives a command up.
    pub command_timeout: Span,
}

impl DriveBounds {
    /// A time above the maximum matters only where the drive acts on it; as `cdladm` has it, that is where its policy
    /// is another than 0.
    fn judge(&self, column: Column, limit: Limit, span: Span) -> Option<TimeFindingKind> {
        let enforced =
            column != Column::Guideline && limit.policy != TimeoutPolicy::CompleteEarliest;
        if span < self.minimum {
            Some(TimeFindingKind::BelowMinimum)
        } else if enforced && span > self.maximum {
            Some(TimeFindingKind::AboveMaximum)
        } else if span > self.command_timeout {
            Some(TimeFindingKind::AboveTimeout)
        } else {
            None
        }
    }
}

/// Something that speaks against a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeFinding {
    /// 1 to 7.
    pub descriptor: usize,
    /// Which of its times.
    pub column: Column,
    /// What is wrong.
    pub kind: TimeFindingKind,
}

/// What may be wrong with a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeFindingKind {
    /// The drive refuses it.
    BelowMinimum,
    /// The drive cannot enforce it.
    AboveMaximum,
    /// Legal, but the host gives the command up before.
    AboveTimeout,
}

impl TimeFindingKind {
    /// Whether the drive refuses the page for it.
    pub fn is_error(self) -> bool {
        self != TimeFindingKind::AboveTimeout
    }
}

impl fmt::Display for TimeFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TimeFinding { descriptor, column, kind } = self;
        let what = match kind {
            TimeFindingKind::BelowMinimum => "shorter than the shortest that the drive takes",
            TimeFindingKind::AboveMaximum => "longer than the longest that the drive takes",
            TimeFindingKind::AboveTimeout => "longer than the host waits for a command",
        };
        write!(f, "descriptor {descriptor}: the {column} is {what}")
    }
}
