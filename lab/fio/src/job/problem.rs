//! What may be wrong with a job file, in one sentence.

use std::fmt;

/// What is wrong with a line of a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobProblem {
    /// An option before any section.
    OutsideSection,
    /// A section's head without its end.
    OpenSection,
    /// The file has no job.
    NoJob,
    /// No option that is known here has this name.
    Unknown {
        /// As it is spelled in the file.
        option: String,
    },
    /// fio's option would make another load than can be made here.
    Unsupported {
        /// As it is spelled in the file.
        option: String,
        /// What to do instead.
        instead: &'static str,
    },
    /// The value is none of the option's.
    Value {
        /// As it is spelled in the file.
        option: String,
        /// What was given.
        value: String,
        /// What would be right, as a noun phrase.
        wanted: &'static str,
    },
}

impl fmt::Display for JobProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobProblem::OutsideSection => f.write_str(
                "an option stands before any section: begin with `[global]` or a job's name",
            ),
            JobProblem::OpenSection => f.write_str("a section is named as in `[reader]`"),
            JobProblem::NoJob => {
                f.write_str("there is no job: give it a section with a name, as `[reader]`")
            }
            JobProblem::Unknown { option } => {
                write!(f, "there is no option `{option}` that a load could follow: leave it out")
            }
            JobProblem::Unsupported { option, instead } => {
                write!(f, "`{option}` cannot be followed here: {instead}")
            }
            JobProblem::Value { option, value, wanted } => {
                write!(f, "`{option}` cannot be `{value}`: it takes {wanted}")
            }
        }
    }
}
