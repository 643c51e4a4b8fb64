//! What an option is.

use super::value::{Value, ValueKind};
use loadline_base::define_id;
use loadline_qos::ServiceClass;
use std::ops::RangeInclusive;

define_id! {
    /// An option's place in the table.
    pub struct OptionId, "option "
}

/// An option of an OSD.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionSpec {
    /// Its name, as the field spells it.
    pub name: &'static str,
    /// What values it takes.
    pub kind: ValueKind,
    /// The compiled-in value.
    pub default: Value,
    /// The least and the greatest value; bytes of sizes, seconds of times. `None` for switches and names.
    pub range: Option<RangeInclusive<f64>>,
    /// What it is for, in one line.
    pub doc: &'static str,
    /// Where its default comes from.
    pub source: &'static str,
    /// What rules it is under.
    pub role: Role,
}

/// The rules that an option is under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// None: each level sets it, at any time.
    Plain,
    /// It is read when an OSD starts; the run-time level cannot set it.
    AtStart,
    /// The name of the profile.
    Profile,
    /// One of the nine numbers that a profile sets.
    Parameter(ServiceClass, ClassParam),
    /// A bound on recovery that mClock sets, and that a gate opens for others.
    RecoveryLimit,
    /// The gate for [`Role::RecoveryLimit`].
    RecoveryGate,
    /// A pause that has no place under mClock.
    Sleep,
    /// A duration limit, for which the drive must hold a descriptor.
    DeviceLimit,
}

/// Which of a class's three parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassParam {
    /// `_res`
    Reservation,
    /// `_wgt`
    Weight,
    /// `_lim`
    Limit,
}

impl OptionSpec {
    pub(super) fn float(
        name: &'static str,
        default: f64,
        range: RangeInclusive<f64>,
        doc: &'static str,
        source: &'static str,
    ) -> OptionSpec {
        OptionSpec::new(name, ValueKind::Float, default, range, doc, source)
    }

    pub(super) fn count(
        name: &'static str,
        default: u64,
        range: RangeInclusive<u32>,
        doc: &'static str,
        source: &'static str,
    ) -> OptionSpec {
        let range = f64::from(*range.start())..=f64::from(*range.end());
        OptionSpec::new(name, ValueKind::Count, default as f64, range, doc, source)
    }

    /// A size, in bytes.
    pub(super) fn size(
        name: &'static str,
        default: u64,
        range: RangeInclusive<u64>,
        doc: &'static str,
        source: &'static str,
    ) -> OptionSpec {
        let range = *range.start() as f64..=*range.end() as f64;
        OptionSpec::new(name, ValueKind::Size, default as f64, range, doc, source)
    }

    /// A time within bounds of its own, in seconds.
    pub(super) fn seconds(
        name: &'static str,
        default: f64,
        range: RangeInclusive<f64>,
        doc: &'static str,
        source: &'static str,
    ) -> OptionSpec {
        OptionSpec::new(name, ValueKind::Time, default, range, doc, source)
    }

    /// A time, in seconds; at most a day.
    pub(super) fn time(
        name: &'static str,
        default: f64,
        doc: &'static str,
        source: &'static str,
    ) -> OptionSpec {
        OptionSpec::seconds(name, default, 0.0..=86_400.0, doc, source)
    }

    pub(super) fn flag(
        name: &'static str,
        default: bool,
        doc: &'static str,
        source: &'static str,
    ) -> OptionSpec {
        let default = Value::Flag(default);
        let (kind, role) = (ValueKind::Flag, Role::Plain);
        OptionSpec { name, kind, default, range: None, doc, source, role }
    }

    pub(super) fn choice(
        name: &'static str,
        default: &'static str,
        names: Vec<&'static str>,
        doc: &'static str,
        source: &'static str,
    ) -> OptionSpec {
        let default = Value::Choice(default);
        let (kind, role) = (ValueKind::Choice(names), Role::Plain);
        OptionSpec { name, kind, default, range: None, doc, source, role }
    }

    fn new(
        name: &'static str,
        kind: ValueKind,
        default: f64,
        range: RangeInclusive<f64>,
        doc: &'static str,
        source: &'static str,
    ) -> OptionSpec {
        assert!(range.contains(&default), "the default of {name} is in its range");
        let default = kind.of_number(default);
        OptionSpec { name, kind, default, range: Some(range), doc, source, role: Role::Plain }
    }

    pub(super) fn under(self, role: Role) -> OptionSpec {
        OptionSpec { role, ..self }
    }

    /// Whether `value` is in the option's range.
    pub fn admits(&self, value: Value) -> bool {
        match (&self.range, value.number()) {
            (Some(range), Some(number)) => range.contains(&number),
            _ => true,
        }
    }
}
