//! What can be typed.

use clap::{Args, Parser, Subcommand, ValueEnum};
use loadline_base::Bytes;
use loadline_device::Medium;
use loadline_study::Override;
use std::path::PathBuf;

/// Storage quality of service, end to end: schedulers, an engine, and a lab that shows what they do to clients.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0    it is done
  1    this machine does not let it: a folder cannot be written, a tool is missing
  2    what was typed, or a file that it names, cannot be used
  130  interrupted; a study's folder can be continued by the same command";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ask a question of a cluster: run a study and read its report
    #[command(subcommand)]
    Study(StudyCommand),
    /// What a profile means on a given capacity, per shard and per OSD
    #[command(subcommand)]
    Profile(ProfileCommand),
    /// The calibrated drives that studies run on
    #[command(subcommand)]
    Drive(DriveCommand),
    /// What this machine has and lacks for Loadline
    Doctor(JsonArg),
}

#[derive(Debug, Args)]
pub(crate) struct JsonArg {
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StudyCommand {
    /// The studies there are
    List(JsonArg),
    /// A study's question, steps and setups
    Show(NameArg),
    /// Run a study, or continue one that was interrupted, and write its report
    Run(RunArgs),
    /// Write the report again from a study's folder alone
    Report(ReportArgs),
    /// Two results of one study side by side
    Compare(CompareArgs),
}

#[derive(Debug, Args)]
pub(crate) struct NameArg {
    /// Its name, or the path of its file
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The study's name, or the path of its file
    pub(crate) study: String,
    /// What to compare: default, all, or setups separated by commas
    #[arg(long, default_value = "default")]
    pub(crate) setups: String,
    /// Change a figure of the study (scale=0.1) or an option of every OSD (osd_max_backfills=4)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<Override>,
    /// A tenth of the published amount of work
    #[arg(long)]
    pub(crate) quick: bool,
    /// Seed of load, lotteries and placement
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Runs of each setup, with seeds that follow each other
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) repeat: u32,
    /// Runs at the same time; by default one per core
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<u32>,
    /// Where runs, result and report go; by default runs/STUDY-SEED
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Write the stages of some ops to trace.json, for Perfetto or chrome://tracing
    #[arg(long)]
    pub(crate) trace: bool,
    /// The first op that --trace follows, counted from 0
    #[arg(long, default_value_t = 1000, value_name = "N", requires = "trace")]
    pub(crate) trace_op: u64,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// A study's folder
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The folder to compare with
    pub(crate) old: PathBuf,
    /// The folder that is compared
    pub(crate) new: PathBuf,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// The presets with their profiles
    List(JsonArg),
    /// What a profile promises and allows each class
    Show(ProfileArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {
    /// The profile, e.g. high_client_ops
    pub(crate) profile: String,
    /// The behaviour: quincy, reef or loadline
    #[arg(long, default_value = "quincy")]
    pub(crate) preset: String,
    /// Take the capacity from a drive
    #[arg(long, value_name = "NAME", conflicts_with_all = ["iops", "bandwidth", "medium"])]
    pub(crate) drive: Option<String>,
    /// Random 4 KiB writes per second of one OSD
    #[arg(long, value_name = "N")]
    pub(crate) iops: Option<f64>,
    /// Sequential bandwidth of one OSD per second, e.g. "1200 MiB"
    #[arg(long, value_name = "SIZE")]
    pub(crate) bandwidth: Option<Bytes>,
    /// What kind of device
    #[arg(long)]
    pub(crate) medium: Option<MediumArg>,
    #[command(flatten)]
    pub(crate) json: JsonArg,
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

#[derive(Debug, Subcommand)]
pub(crate) enum DriveCommand {
    /// The drives there are
    List(JsonArg),
    /// A drive's figures, and where each comes from
    Show(NameArg),
    /// Find the service time with which the published baseline is met
    Calibrate(NameArg),
}
