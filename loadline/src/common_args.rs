//! What several commands let type.

use clap::{Args, ValueEnum};
use loadline_device::Medium;

#[derive(Debug, Args)]
pub(crate) struct JsonArg {
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum MediumArg {
    /// Flash
    Ssd,
    /// Rotating disk
    Hdd,
    /// Rotating disk with log and metadata on flash
    Hybrid,
}

impl From<MediumArg> for Medium {
    fn from(medium: MediumArg) -> Medium {
        match medium {
            MediumArg::Ssd => Medium::Ssd,
            MediumArg::Hdd => Medium::Hdd,
            MediumArg::Hybrid => Medium::Hybrid,
        }
    }
}

/// What an address of this machine is written like.
pub(crate) const WANTED_ADDRESS: &str =
    "it takes an address in digits with a port, such as `127.0.0.1:7480`";
