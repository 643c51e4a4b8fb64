//! Numbers only: latency histograms, series per second, quantiles, intervals of repeats, steady
//! state and the comparison of two sets of results.
//!
//! This crate may not know what a study, a class or a disk is, does no I/O, reads no clock and
//! draws no randomness: equal inputs give equal outputs. Every formula stands in
//! `docs/statistics.md`.

mod compare;
mod histogram;
mod interval;
mod quantile;
mod ranks;
mod series;
mod steady;
mod trend;

pub use compare::{CompareVerdict, Comparison, compare};
pub use histogram::LatencyHistogram;
pub use interval::{ConfidenceInterval, mean_interval};
pub use quantile::{mean, median, quantile};
pub use ranks::{QuantileRanks, quantile_ranks};
pub use series::{CountSeries, LatencySecond, LatencySeries};
pub use steady::warm_up_len;
pub use trend::trend;
