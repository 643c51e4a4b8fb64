//! Why a measurement came to no result.

use loadline_base::Bytes;
use loadline_host::{DiskOpenError, LoopError};
use std::path::PathBuf;

/// A measurement that came to no result.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// It must not be done so.
    #[error(transparent)]
    Refused(#[from] TargetRefused),
    /// The file or device cannot be opened.
    #[error(transparent)]
    Open(#[from] DiskOpenError),
    /// The loop cannot be made.
    #[error(transparent)]
    Loop(#[from] LoopError),
    /// A transfer failed.
    #[error("a transfer failed, so nothing can be said of this drive: {0}")]
    Transfer(std::io::Error),
    /// The drive cannot be looked at.
    #[error("it cannot be looked at: {0}")]
    Facts(std::io::Error),
    /// Whoever watches does not want to go on.
    #[error("interrupted; nothing was kept")]
    Interrupted,
}

/// What was asked for must not or cannot be done with this path. Nothing was touched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetRefused {
    /// It holds something, and nobody said that it may be lost.
    #[error("{}: --write overwrites what it holds; say --yes if that may be lost, or leave --write out to measure reads only", .0.display())]
    NoConsent(PathBuf),
    /// More is asked for than there is.
    #[error("{}: it has {is}, and {wanted} are to be measured", path.display())]
    TooSmall {
        /// The path.
        path: PathBuf,
        /// What there is.
        is: Bytes,
        /// What was asked for.
        wanted: Bytes,
    },
    /// The region holds too few of the largest transfers.
    #[error("{}: a region of {region} cannot be measured; take at least 16 MiB, in whole 4 MiB", path.display())]
    Region {
        /// The path.
        path: PathBuf,
        /// What was asked for, or what there is.
        region: Bytes,
    },
    /// Fewer than two repeats have no interval.
    #[error(
        "--repeat {0}: takes a number from 2 to 100; one measurement says nothing about the next"
    )]
    Repeats(u32),
    /// The time of a point makes no sense.
    #[error("--seconds: takes a number from 0.05 to 600")]
    Time,
}
