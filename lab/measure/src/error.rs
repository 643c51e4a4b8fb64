//! Why a measurement came to no result.

use crate::target::TargetRefused;
use loadline_host::{DiskOpenError, LoopError};

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
