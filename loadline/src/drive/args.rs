//! What can be typed about drives that are measured.

use crate::common_args::{JsonArg, MediumArg};
use clap::Args;
use loadline_base::{Bytes, Span};
use loadline_host::BackendChoice;
use loadline_measure::MeasureOrder;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct MeasureArgs {
    /// A file or a block device; a file that is not there is made, and removed afterwards
    pub(crate) path: PathBuf,
    /// How much of it is used, from its beginning; by default all of it, or 1 GiB of a new file
    #[arg(long, value_name = "SIZE")]
    size: Option<Bytes>,
    /// How long each point is measured each time
    #[arg(long, default_value_t = 1.0, value_name = "N")]
    seconds: f64,
    /// How often each point is measured
    #[arg(long, default_value_t = 5, value_name = "N")]
    repeat: u32,
    /// Write a drive file for studies, e.g. drives/mine.toml
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// What kind of device the drive file names; by default what the figures look like
    #[arg(long, requires = "out")]
    pub(crate) medium: Option<MediumArg>,
    /// Measure writes too where something is there already; what it holds is lost
    #[arg(long)]
    write: bool,
    /// Yes, what PATH holds may be lost, and the file of --out may be replaced
    #[arg(long)]
    pub(crate) yes: bool,
    /// Keep the file that was made
    #[arg(long)]
    keep: bool,
    /// Carry requests out by threads, even where io_uring would do
    #[arg(long)]
    threads: bool,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

impl MeasureArgs {
    /// What is meant by it.
    pub(super) fn order(&self) -> MeasureOrder {
        let backend = if self.threads { BackendChoice::Threads } else { BackendChoice::Auto };
        MeasureOrder {
            path: self.path.clone(),
            size: self.size,
            // What makes no sense is refused with the rest of the order.
            time: Span::from_secs_f64(self.seconds.clamp(0.0, 1e6)),
            repeats: self.repeat,
            write: self.write,
            consent: self.yes,
            keep: self.keep,
            backend,
            seed: 1,
        }
    }
}
