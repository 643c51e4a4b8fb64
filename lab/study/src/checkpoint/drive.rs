//! A drive with contents, as a store sees it (`drives/store/*.toml`).

use crate::input::{InputError, Source};
use loadline_base::{Bytes, Span};
use loadline_load::quantity;
use loadline_sim::disk::Timing;
use serde::Deserialize;

/// A modelled drive and the processor before it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoreDrive {
    /// The hardware that it stands for.
    pub model: String,
    /// Where its figures come from.
    pub source: String,
    /// What each read, write and discard takes, whatever its size.
    #[serde(deserialize_with = "quantity::deserialize")]
    pub per_request: Span,
    /// What it transfers per second, reads and writes together.
    #[serde(deserialize_with = "quantity::deserialize")]
    pub bandwidth: Bytes,
    /// What a flush takes.
    #[serde(deserialize_with = "quantity::deserialize")]
    pub flush: Span,
    /// How many requests it serves at once.
    pub channels: u32,
    /// Processor time of one op.
    #[serde(deserialize_with = "quantity::deserialize")]
    pub op: Span,
    /// Processor time of a KiB of images and edits that an op leaves in the log.
    #[serde(deserialize_with = "quantity::deserialize")]
    pub physical_log_kib: Span,
    /// Ops per second that the scheduler takes for the capacity.
    pub capacity_iops: f64,
}

impl StoreDrive {
    /// The drive of a file.
    ///
    /// # Errors
    /// [`InputError`] naming file, line and field.
    pub(super) fn parse(source: &Source) -> Result<StoreDrive, InputError> {
        let drive: StoreDrive =
            toml::from_str(&source.text).map_err(|error| source.toml_error(&error))?;
        let checks = [
            (drive.bandwidth > Bytes::ZERO, "bandwidth", "more than 0 bytes per second"),
            (drive.channels > 0, "channels", "at least 1"),
            (drive.op > Span::ZERO, "op", "more than 0"),
            (drive.capacity_iops >= 1.0, "capacity_iops", "at least 1"),
        ];
        match checks.into_iter().find(|(good, ..)| !good) {
            Some((_, field, wanted)) => {
                Err(source.error_in(field, format!("`{field}` must be {wanted}")))
            }
            None => Ok(drive),
        }
    }

    /// Its speed as the simulated disk takes it.
    pub(super) fn timing(&self) -> Timing {
        Timing {
            per_request: self.per_request,
            bytes_per_second: self.bandwidth.get(),
            flush: self.flush,
            channels: self.channels,
        }
    }
}
