//! Why a change was refused, in one sentence that ends in what to do.

use super::absent::Absent;
use loadline_base::Span;
use loadline_osd::OsdId;
use std::fmt;

/// A change that was not made.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    /// No option has this name.
    UnknownOption(String),
    /// The field has the option, but nothing here would read it.
    WithoutEffect(Absent),
    /// No such OSD.
    UnknownOsd(OsdId),
    /// The text is not a value of the option.
    NotAValue {
        /// The option.
        option: &'static str,
        /// What was given.
        text: String,
        /// What would be right, as a noun phrase.
        wanted: String,
    },
    /// The value is outside the option's range.
    OutOfRange {
        /// The option.
        option: &'static str,
        /// What was given.
        text: String,
        /// The least value.
        least: String,
        /// The greatest value.
        most: String,
    },
    /// The option is read at start, so a running OSD cannot take it.
    AtStartOnly {
        /// The option.
        option: &'static str,
    },
    /// A built-in profile sets this parameter; the original removes such a value again by itself.
    ProfileOwns {
        /// The option.
        option: &'static str,
        /// The profile in force.
        profile: &'static str,
        /// Where it is in force.
        osd: OsdId,
    },
    /// mClock sets this bound; the original removes such a value again by itself.
    GateClosed {
        /// The option.
        option: &'static str,
        /// Where.
        osd: OsdId,
    },
    /// mClock has no pauses; the original overwrites such a value.
    SleepUnderMclock {
        /// The option.
        option: &'static str,
        /// Where.
        osd: OsdId,
    },
    /// Every guideline that the drive holds is longer.
    LimitTooShort {
        /// The option.
        option: &'static str,
        /// Where.
        osd: OsdId,
        /// What was asked for.
        limit: Span,
        /// The shortest guideline for reads.
        shortest: Span,
    },
    /// The drive is not known to hold any guideline.
    NoDriveLimits {
        /// The option.
        option: &'static str,
        /// Where.
        osd: OsdId,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::UnknownOption(name) => write!(f, "there is no option {name}"),
            Refused::WithoutEffect(Absent { option, why }) => {
                write!(f, "{option} would have no effect: {why}")
            }
            Refused::UnknownOsd(osd) => write!(f, "there is no {osd}"),
            Refused::NotAValue { option, text, wanted } => {
                write!(f, "{option} cannot be `{text}`: it takes {wanted}")
            }
            Refused::OutOfRange { option, text, least, most } => {
                write!(f, "{option} cannot be `{text}`: it takes values from {least} to {most}")
            }
            Refused::AtStartOnly { option } => {
                write!(f, "{option} is read only when an OSD starts: store it and restart the OSD")
            }
            Refused::ProfileOwns { option, profile, osd } => write!(
                f,
                "profile {profile} sets {option} on {osd}: switch osd_mclock_profile to custom first"
            ),
            Refused::GateClosed { option, osd } => write!(
                f,
                "mClock sets {option} on {osd}: set osd_mclock_override_recovery_settings true first"
            ),
            Refused::SleepUnderMclock { option, osd } => write!(
                f,
                "mClock paces work on {osd} without pauses: remove {option}, or switch osd_op_queue to wpq"
            ),
            Refused::LimitTooShort { option, osd, limit, shortest } => write!(
                f,
                "the drive of {osd} holds no duration limit within {limit}: set {option} to at least {shortest}, \
                 its shortest"
            ),
            Refused::NoDriveLimits { option, osd } => write!(
                f,
                "the drive of {osd} is not known to hold duration limits, which {option} needs: upload descriptors \
                 to it and name their file as `limits`"
            ),
        }
    }
}

impl std::error::Error for Refused {}
