//! Why the benchmark cannot run on a real drive.

use std::io;

/// Why the benchmark cannot run on a real drive.
#[derive(Debug, thiserror::Error)]
pub enum RealError {
    /// Nothing that fio could read is there.
    #[error("--dev {path}: {error}")]
    Device {
        /// The path.
        path: String,
        /// What is wrong.
        error: io::Error,
    },
    /// The drive lacks what a workload needs.
    #[error("{path} does not support {what}: {why}")]
    Unsupported {
        /// The drive.
        path: String,
        /// CDL or NCQ priority.
        what: &'static str,
        /// How this is known.
        why: String,
    },
    /// fio is not there.
    #[error("fio not found. Installing fio is required ({0})")]
    NoFio(String),
    /// fio is too old for limits.
    #[error(
        "The installed version of fio does not seem to have CDL support: it is {0}, and --cmdprio_hint needs 3.36"
    )]
    OldFio(String),
    /// The drive's descriptors cannot be read.
    #[error("the descriptors of {path} cannot be read: {why}")]
    NoDescriptors {
        /// The drive.
        path: String,
        /// The reason.
        why: String,
    },
    /// The drive holds other descriptors than the benchmark's files.
    #[error(
        "{path} holds other descriptors than --t2a and --t2b. Name files with those that it holds (`loadline cdl show`, \
         cdladm save), or give it these:{commands}"
    )]
    OtherDescriptors {
        /// The drive.
        path: String,
        /// The commands that would upload them, each on a line of its own.
        commands: String,
    },
    /// fio ended with an error.
    #[error("fio ended with {status} at QD={depth}: {why}; its output is in {log}")]
    Fio {
        /// How it ended.
        status: String,
        /// At which depth.
        depth: u32,
        /// Its own words.
        why: String,
        /// Where they are.
        log: String,
    },
}
