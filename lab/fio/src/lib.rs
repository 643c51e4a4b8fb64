//! The formats of fio, read and written: latency logs with their priority word, JSON+ reports, job files.
//!
//! This crate runs nothing, and may not know studies, drives and worlds.

mod bins;
mod job;
mod jsonplus;
mod log;
mod reads;
mod text;

pub use bins::{BINS, LatencyBins, PERCENTILES, bin_of, bin_value};
pub use job::{JobError, JobProblem, JobSize, LoadJob, parse_jobs, parse_size};
pub use jsonplus::{
    DirectionReport, DiskReport, FioJob, FioReport, FioReportError, Keyed, LatencySummary,
    PriorityLatency, SyncReport,
};
pub use log::{Direction, LatencyLogReader, LineError, LogError, LogLine, LogPriority, LogWriter};
pub use reads::ReadJob;
