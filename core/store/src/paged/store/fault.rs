//! Why a store stops.

use super::restart::RestartFault;
use crate::paged::api::StoreDevice;
use std::fmt;

/// Why a store has stopped. It answers nothing any more; the next start restores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The device refused a write of the log, or of its witness.
    LogWrite,
    /// The device refused a flush. What it had accepted before may be lost, so nobody may try again.
    Flush(StoreDevice),
    /// The device refused a write of a checkpoint.
    CheckpointWrite,
    /// A transaction that was carried out in part could not go on. The next start brings it to its end.
    Unfinished,
    /// It could not be opened.
    Restart(RestartFault),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::LogWrite => f.write_str("the log could not be written"),
            Fault::Flush(_) => {
                f.write_str("a flush failed, and what was written before may be lost")
            }
            Fault::CheckpointWrite => f.write_str("a checkpoint could not write"),
            Fault::Unfinished => {
                f.write_str("a transaction that was carried out in part could not go on")
            }
            Fault::Restart(fault) => fault.fmt(f),
        }
    }
}
