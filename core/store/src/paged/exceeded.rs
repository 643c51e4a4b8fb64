//! What is said when something is asked that exceeds a bound.

use std::fmt;

/// What something was too large for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// [`StoreLimits::key_bytes`](super::bounds::StoreLimits::key_bytes); a key of no bytes is none either.
    KeyBytes,
    /// [`StoreLimits::value_bytes`](super::bounds::StoreLimits::value_bytes).
    ValueBytes,
    /// [`StoreLimits::transaction_bytes`](super::bounds::StoreLimits::transaction_bytes).
    TransactionBytes,
    /// [`StoreLimits::attribute_bytes`](super::bounds::StoreLimits::attribute_bytes).
    AttributeBytes,
    /// [`StoreLimits::object_bytes`](super::bounds::StoreLimits::object_bytes).
    ObjectBytes,
    /// [`StoreLimits::read_bytes`](super::bounds::StoreLimits::read_bytes).
    ReadBytes,
    /// Pages that a transaction changes between two marks, or looks at: [`Room::hold_max`](super::bounds::Room::hold_max), [`Room::pins_max`](super::bounds::Room::pins_max).
    StepPages,
}

/// What was asked exceeds a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// Which one.
    pub bound: Bound,
    /// What was asked, in the bound's unit.
    pub asked: u64,
    /// The most that is taken.
    pub most: u64,
}

impl Exceeded {
    /// An error, if more is asked than the most.
    pub(crate) fn check(bound: Bound, asked: u64, most: u64) -> Result<(), Exceeded> {
        if asked <= most { Ok(()) } else { Err(Exceeded { bound, asked, most }) }
    }
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Exceeded { bound, asked, most } = self;
        match bound {
            Bound::KeyBytes => write!(f, "a key has {asked} bytes and may have 1 to {most}"),
            Bound::ValueBytes => write!(f, "a value has {asked} bytes and may have {most}"),
            Bound::TransactionBytes => {
                write!(f, "a transaction takes {asked} bytes of the log and may take {most}")
            }
            Bound::AttributeBytes => {
                write!(f, "an attribute has {asked} bytes and may have {most}")
            }
            Bound::ObjectBytes => write!(f, "an object would end at {asked} and may end at {most}"),
            Bound::ReadBytes => write!(f, "{asked} bytes are read at once and {most} may be"),
            Bound::StepPages => write!(
                f,
                "a step of a transaction needs {asked} pages and the cache and the recovery area \
                 have {most} for it: give the store more cache"
            ),
        }
    }
}
