//! A job as the load that it describes.

use std::time::Duration;

/// One job of a file, with what `[global]` says before it.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadJob {
    /// Its section.
    pub name: String,
    /// The line of the section.
    pub line: usize,
    /// Whether addresses are drawn at random (`rw=rand...`) or follow each other.
    pub random: bool,
    /// Share of reads, 0 to 1 (`rw`, `rwmixread`, `rwmixwrite`).
    pub reads: f64,
    /// Block sizes in bytes, each with its share in percent (`bs`, `bssplit`); together 100.
    pub blocks: Vec<(u64, u32)>,
    /// Operations in flight of each of its processes (`iodepth`).
    pub iodepth: u32,
    /// Operations per second of each (`rate_iops`); without it the next one follows the last.
    pub rate_iops: Option<f64>,
    /// Whether operations at a rate come independently of each other (`rate_process=poisson`).
    pub poisson: bool,
    /// Its processes (`numjobs`).
    pub numjobs: u32,
    /// How long it is measured (`runtime`).
    pub runtime: Option<Duration>,
    /// How long it runs before (`ramp_time`).
    pub ramp_time: Option<Duration>,
    /// How much of the target it uses (`size`).
    pub size: Option<JobSize>,
}

/// A job's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobSize {
    /// In bytes.
    Bytes(u64),
    /// In percent of the target.
    Percent(u32),
}
