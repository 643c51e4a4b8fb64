//! `loadline cdl`: duration limits of drives, their benchmark, its statistics and its plots.

mod answer;
mod bench;
mod compare;
mod descriptors;
mod encode;
mod plot;
mod progress;
mod show;
mod stats;

use crate::failure::Failure;
use clap::Subcommand;

/// What can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum CdlCommand {
    /// Run the drive benchmark: random reads at rising queue depths, with and without limits
    Bench(bench::BenchArgs),
    /// Draw the results of a benchmark: plots and a page
    Plot(plot::PlotArgs),
    /// Hold one benchmark's figures against another's, class by class
    Compare(compare::CdlCompareArgs),
    /// What a latency log or a JSON+ report says about each priority: the figures of cdl_prio_stats.sh
    Stats(stats::StatsArgs),
    /// The descriptors in a file, or what the kernel tells of a drive's
    Show(show::ShowArgs),
    /// Descriptors as the bytes that a drive takes
    Encode(encode::EncodeArgs),
}

pub(crate) fn carry_out(command: CdlCommand) -> Result<(), Failure> {
    match command {
        CdlCommand::Bench(args) => bench::carry_out(&args),
        CdlCommand::Plot(args) => plot::carry_out(&args),
        CdlCommand::Compare(args) => compare::carry_out(&args),
        CdlCommand::Stats(args) => stats::carry_out(&args),
        CdlCommand::Show(args) => show::carry_out(&args),
        CdlCommand::Encode(args) => encode::carry_out(&args),
    }
}
