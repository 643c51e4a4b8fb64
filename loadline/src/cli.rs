//! What can be typed.

use crate::cdl::CdlCommand;
#[cfg(feature = "ceph")]
use crate::ceph::CephCommand;
use crate::common_args::{JsonArg, MediumArg};
use crate::drive::MeasureArgs;
#[cfg(feature = "guest")]
use crate::drive::{BootArgs, DriveServeArgs};
#[cfg(feature = "kv")]
use crate::kv::KvCommand;
use crate::node;
use clap::{Args, Parser, Subcommand, ValueEnum};
use loadline_base::Bytes;
use loadline_sim::soak::SeedReplay;
use loadline_store::paged::{LogMode, ObjectId};
use loadline_store::{CollectionId, ObjectNo};
use loadline_study::{ClientKind, IMPORTED_DRIVE, OsdHook, Override, RealPlace, StudyKind};
use std::path::PathBuf;
use std::str::FromStr;

/// Storage quality of service, end to end: schedulers, an engine, and a lab that shows what they do to clients.
#[derive(Debug, Parser)]
#[command(version = VERSION, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

/// Version, commit and what can be left out when the program is built.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (commit ",
    env!("LOADLINE_COMMIT"),
    ", features: ",
    env!("LOADLINE_FEATURES"),
    ")"
);

const EXIT_CODES: &str = "\
Exit codes:
  0    it is done
  1    not now: no room, a disk that fails, something that is in use, a node that does not answer;
       or what was checked is not as it should be, a damaged store among it
  2    what was typed, or what stands at a place that it names, cannot be used: the same line is
       refused again until one of them changes
  3    `serve` ended and not all that it answered is known to be durable; `ceph check` warns
  4    `ceph check` found something dangerous
  130  interrupted; a study's folder can be continued by the same command";

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Run a node: disks as OSDs, images over NBD
    Serve(Box<ServeCommand>),
    /// How a running node is
    Status(node::StatusArgs),
    /// What of a running node needs attention
    Health(node::NodeArgs),
    /// The OSDs of a running node: down, out, up, in, add, replace, remove
    Osd(node::OsdArgs),
    /// Its pools
    Pool(node::PoolArgs),
    /// Its placement groups: what nobody can give
    Pg(node::PgArgs),
    /// Compare the copies of its objects, and see when that was done
    Scrub(node::ScrubArgs),
    /// Replace what is bad in the copies of a PG from copies that are right
    Repair(node::RepairArgs),
    /// What scrubs have found
    Inconsistent(node::InconsistentArgs),
    /// Its images and their snapshots
    Image(node::ImageArgs),
    /// Its settings on all levels
    Config(node::ConfigArgs),
    /// What waits in it, and why
    Dump(node::DumpArgs),
    /// What the ops of one of its images wait for, in a sentence and a table
    Why(node::WhyArgs),
    /// What happens in it, second by second, in the terminal; once where the output is no terminal
    #[cfg(feature = "top")]
    Top(node::TopArgs),
    /// What it tells monitoring systems
    Metrics(node::NodeArgs),
    /// The address of its live page, with the token for its buttons
    Page(node::PageArgs),
    /// Ask one of its OSDs to do something
    Tell(node::TellArgs),
    /// End a running node
    Stop(node::NodeArgs),
    /// Ask a question of a cluster: run a study and read its report
    #[command(subcommand)]
    Study(StudyCommand),
    /// What a profile means on a given capacity, per shard and per OSD; switch to one
    #[command(subcommand)]
    Profile(ProfileCommand),
    /// The drives that studies run on, and what a real one does
    #[command(subcommand)]
    Drive(DriveCommand),
    /// Command duration limits: descriptors, the drive benchmark, its statistics and plots
    #[command(subcommand)]
    Cdl(CdlCommand),
    /// A Ceph cluster: what is going on there, what is not as it should be, and the undo of a run that died
    #[cfg(feature = "ceph")]
    #[command(subcommand)]
    Ceph(CephCommand),
    /// What lies on a store's devices: any structure, or a check of everything
    Inspect(InspectArgs),
    /// Make a store on a file or a block device
    #[command(subcommand)]
    Store(StoreCommand),
    /// A key-value database that programs embed: keys, backups, checks
    #[cfg(feature = "kv")]
    #[command(subcommand)]
    Kv(KvCommand),
    /// Prove the store: random loads, crashes and faults in the simulated world
    Soak(SoakArgs),
    /// What this machine has and lacks for Loadline
    Doctor(JsonArg),
    /// What a shell loads to complete these commands
    Completions(CompletionsArgs),
    /// Write the manual pages into a folder
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Which shell: e.g. `loadline completions bash > /etc/bash_completion.d/loadline`
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder; it is made if it is missing
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StudyCommand {
    /// The studies there are
    List(JsonArg),
    /// A study's question, steps and setups
    Show(NameArg),
    /// Write a study file of one's own, ready to run and to change
    New(NewArgs),
    /// Make a study file of a recovery test of the Ceph Benchmarking Tool
    Import(ImportArgs),
    /// Run a study, or continue one that was interrupted, and write its report
    Run(Box<RunArgs>),
    /// Write the report again from a study's folder alone
    Report(ReportArgs),
    /// Write the tables of a study's folder for programs
    #[cfg(feature = "parquet")]
    Export(ExportArgs),
    /// Two results of one study side by side
    Compare(CompareArgs),
}

#[cfg(feature = "parquet")]
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The study's folder
    pub(crate) folder: PathBuf,
    /// As Parquet files; its CSV files are in `csv` already
    #[arg(long, required = true)]
    pub(crate) parquet: bool,
    /// Where to put them; by default `parquet` in the study's folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

#[derive(Debug, Args)]
pub(crate) struct NameArg {
    /// Its name, or the path of its file
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// Its name; NAME.toml is written into the current folder
    pub(crate) name: String,
    /// Which steps it takes
    #[arg(long, default_value = "recovery")]
    pub(crate) kind: KindArg,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

const IMPORT_EXAMPLES: &str = "\
Examples:
  loadline study import background.yaml                         the queues and profiles of a release under that test's load
  loadline study import background.yaml --conf ceph.conf.wpq --conf ceph.conf.balanced
                                                                a setup of each configuration that CBT ran with
  loadline study run background.toml --quick                    what became of it, in simulation

docs/cbt.md tells what is read of a test, and what has no counterpart.";

#[derive(Debug, Args)]
#[command(after_help = IMPORT_EXAMPLES)]
pub(crate) struct ImportArgs {
    /// The test, a YAML file
    pub(crate) test: PathBuf,
    /// A configuration that its OSDs had: a setup for each
    #[arg(long, value_name = "CEPH.CONF")]
    pub(crate) conf: Vec<PathBuf>,
    /// The release's behaviour: reef, or quincy for what was before; by default as the configuration's parameters show
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<String>,
    /// What the OSDs stand on, which a test does not say: a name, or a drive file's path
    #[arg(long, value_name = "NAME", default_value = IMPORTED_DRIVE)]
    pub(crate) drive: String,
    /// The study file; by default the test's name, in the current folder
    #[arg(long, value_name = "FILE.TOML")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum KindArg {
    /// An OSD comes back and is filled beside clients
    Recovery,
    /// Clients put keys while a store makes checkpoints
    Checkpoint,
    /// A client reads beside background work on a drive with duration limits
    Limits,
    /// Clients write while OSDs scrub, trim, delete or recover
    Services,
}

impl KindArg {
    pub(crate) fn kind(self) -> StudyKind {
        match self {
            KindArg::Recovery => StudyKind::Recovery,
            KindArg::Checkpoint => StudyKind::Checkpoint,
            KindArg::Limits => StudyKind::Limits,
            KindArg::Services => StudyKind::Services,
        }
    }
}

const RUN_EXAMPLES: &str = "\
Examples:
  loadline study run recovery-nvme --quick                      a tenth of the work: rates and latencies as of all of it
  loadline study run recovery-nvme --repeat 3                   three runs a setup, so that every figure has an interval
  loadline study run recovery-nvme --setups 'baseline,WPQ(BST),balanced (loadline)'
  loadline study run recovery-nvme --set depth=16 --set osd_op_num_shards_ssd=4
                                                                other clients, and an option of every OSD (docs/settings.md)
  loadline study run recovery-nvme --load oltp.fio              clients as a fio job file has them
  loadline study run recovery-nvme --drive hdd-constellation    another drive (`loadline drive list`)
  loadline study run recovery-nvme --drive drives/mine.toml     one that `loadline drive measure` has written
  loadline study run recovery-nvme --described facts.json       on a Ceph as `loadline ceph facts` described it (docs/ceph.md)
  loadline study run --twin runs/real                           in simulation what ran on real disks (docs/real-runs.md)
  loadline study run mine.toml                                  a study of one's own (`loadline study new mine`)

docs/study-file.md tells the figures that --set can change, and what of a fio job file is read.";

#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// The study's name, or the path of its file; without one the studies are listed
    pub(crate) study: Option<String>,
    /// What to compare: default, all, or setups separated by commas; without it default, or what a twin's runs compared
    #[arg(long)]
    pub(crate) setups: Option<String>,
    /// Change a figure of the study (scale=0.1) or an option of every OSD (osd_op_num_shards_ssd=4)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<Override>,
    /// The drive under test: a name, or a drive file's path
    #[arg(long, value_name = "NAME")]
    pub(crate) drive: Option<String>,
    /// A fio job file that describes the client, in the place of the study's own load
    #[arg(long, value_name = "JOB.FIO", conflicts_with = "on")]
    pub(crate) load: Option<PathBuf>,
    /// A cluster that `loadline ceph facts` described, in the place of the study's own; its run stays simulated
    #[arg(long, value_name = "FACTS.JSON", conflicts_with = "on")]
    pub(crate) described: Option<PathBuf>,
    /// The simulated twin of real runs: their study, setups, seeds and settings on a machine as they found theirs; setups, drive and settings beside it count
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["on", "described", "load", "seed", "repeat", "quick"])]
    pub(crate) twin: Option<PathBuf>,
    /// A tenth of the published amount of work (of services a twentieth), or a quarter of what real disks are given; of a checkpoint study a quarter of its periods
    #[arg(long)]
    pub(crate) quick: bool,
    /// Seed of load, lotteries and placement
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Runs of each setup, with seeds that follow each other
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Runs at the same time; by default one per core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,
    /// Where runs, result and report go; by default runs/STUDY-SEED
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Run in real time: on files:DIR of this machine, on devices:/dev/a,/dev/b,... which are written over, or on a cluster, ceph:CONF
    #[arg(long, value_name = "PLACE")]
    pub(crate) on: Option<RealPlace>,
    /// Who sends the clients' ops on real disks: the study's own generator, or fio's nbd engine
    #[arg(long, default_value = "own", requires = "on")]
    pub(crate) client: ClientArg,
    /// Leave the OSDs' files of a real run where they are
    #[arg(long, requires = "on")]
    pub(crate) keep_files: bool,
    /// Let a real run destroy what its devices hold
    #[arg(long, requires = "on")]
    pub(crate) overwrite: bool,
    /// The fsid of the Ceph cluster, as --dry-run shows it; without it nothing is changed there
    #[arg(long, value_name = "FSID", requires = "on", help_heading = "On a Ceph cluster")]
    pub(crate) yes_i_may_hurt_this_cluster: Option<String>,
    /// What begins and ends OSDs of a Ceph cluster, such as 'ssh host systemctl {action} ceph-osd@{id}'
    #[arg(long, value_name = "COMMAND", requires = "on", help_heading = "On a Ceph cluster")]
    pub(crate) restart_osd: Option<OsdHook>,
    /// Say what would be run, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write the stages of some ops to trace.json, for Perfetto or chrome://tracing
    #[arg(long)]
    pub(crate) trace: bool,
    /// The first op that --trace follows, counted from 0
    #[arg(long, default_value_t = 1000, value_name = "N", requires = "trace")]
    pub(crate) trace_op: u64,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

/// Who sends the clients' ops. The flag's help tells them apart.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ClientArg {
    Own,
    Fio,
}

impl From<ClientArg> for ClientKind {
    fn from(client: ClientArg) -> ClientKind {
        match client {
            ClientArg::Own => ClientKind::Own,
            ClientArg::Fio => ClientKind::Fio,
        }
    }
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
    /// What a profile promises and allows each class; of a running node its own, with its images
    Show(ProfileArgs),
    /// Switch a running node to a profile
    Switch(node::SwitchArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {
    /// The profile, e.g. high_client_ops; without one, what a running node promises
    pub(crate) profile: Option<String>,
    /// The behaviour: loadline, as on a node of its own, quincy or reef
    #[arg(long, default_value = "loadline", requires = "profile")]
    pub(crate) preset: String,
    /// Take the capacity from a drive
    #[arg(long, value_name = "NAME", conflicts_with_all = ["iops", "bandwidth", "medium"], requires = "profile")]
    pub(crate) drive: Option<String>,
    /// Random 4 KiB writes per second of one OSD
    #[arg(long, value_name = "N", requires = "profile")]
    pub(crate) iops: Option<f64>,
    /// Sequential bandwidth of one OSD per second, e.g. "1200 MiB"
    #[arg(long, value_name = "SIZE", requires = "profile")]
    pub(crate) bandwidth: Option<Bytes>,
    /// What kind of device
    #[arg(long, requires = "profile")]
    pub(crate) medium: Option<MediumArg>,
    #[command(flatten)]
    pub(crate) node: node::NodeArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DriveCommand {
    /// The drives there are
    List(JsonArg),
    /// A drive's figures, and where each comes from
    Show(NameArg),
    /// Find the service time with which the published baseline is met
    Calibrate(NameArg),
    /// Measure a file or a device, and write a drive file that studies can use
    Measure(MeasureArgs),
    /// Serve a modelled drive with duration limits to a real kernel, over vhost-user
    #[cfg(feature = "guest")]
    Serve(DriveServeArgs),
    /// Boot a real kernel in user mode with such a drive, and run a command in it
    #[cfg(feature = "guest")]
    Boot(Box<BootArgs>),
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// The data device, or an image of it
    pub(crate) file: PathBuf,
    #[command(subcommand)]
    pub(crate) what: Option<InspectWhat>,
    /// The log device, if the log has its own
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) log_device: Option<PathBuf>,
    /// Rows of a list at most
    #[arg(long, global = true, default_value_t = 1000, value_name = "N")]
    pub(crate) most: usize,
    #[command(flatten)]
    pub(crate) json: GlobalJsonArg,
}

#[derive(Debug, Args)]
pub(crate) struct GlobalJsonArg {
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum InspectWhat {
    /// The superblock: regions, and which checkpoint the store stands at (this is shown if nothing is named)
    Superblock,
    /// The log's records from the last completed checkpoint on
    Log,
    /// One page: its header and cells, or its bytes
    Page {
        /// Its number, counted in pages from the beginning of the device
        number: u64,
    },
    /// The images in the recovery area
    Recovery,
    /// What is free, and in which runs
    FreeMap,
    /// Every node of the tree
    Tree,
    /// Users' keys
    Keys,
    /// Objects
    Objects {
        /// Only those of this collection
        collection: Option<u32>,
    },
    /// One object: its extents and attributes
    Object {
        /// COLLECTION/OBJECT, or COLLECTION/OBJECT/SNAPSHOT
        id: ObjectArg,
    },
    /// Verify everything; exit code 1 if anything is wrong
    Check,
}

/// An object as it is typed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectArg(pub(crate) ObjectId);

impl FromStr for ObjectArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<ObjectArg, &'static str> {
        let wanted = "expected an object such as `3/17` or `3/17/2`";
        let mut numbers = text.split('/').map(|part| part.parse::<u64>().map_err(|_| wanted));
        let collection = numbers.next().ok_or(wanted)??;
        let object = numbers.next().ok_or(wanted)??;
        let snapshot = numbers.next().unwrap_or(Ok(0))?;
        let collection = CollectionId::new(u32::try_from(collection).map_err(|_| wanted)?);
        let id = ObjectId { collection, object: ObjectNo(object), snapshot };
        if numbers.next().is_some() { Err(wanted) } else { Ok(ObjectArg(id)) }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Write an empty store
    Format(FormatArgs),
}

#[derive(Debug, Args)]
pub(crate) struct FormatArgs {
    /// The data device; a file is created
    pub(crate) file: PathBuf,
    /// Size of the data device; by default what the file has
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
    /// A device of its own for the log; a file is created with the size of --log
    #[arg(long, value_name = "FILE")]
    pub(crate) log_device: Option<PathBuf>,
    /// Size of the log; by default an eighth of the data device
    #[arg(long, value_name = "SIZE")]
    pub(crate) log: Option<Bytes>,
    /// Size of a log segment; by default about a sixteenth of the log
    #[arg(long, value_name = "SIZE")]
    pub(crate) segment: Option<Bytes>,
    /// Size of the recovery area; by default an eighth of the data device
    #[arg(long, value_name = "SIZE")]
    pub(crate) recovery: Option<Bytes>,
    /// Size of a page, 1 KiB to 16 KiB
    #[arg(long, default_value = "4 KiB", value_name = "SIZE")]
    pub(crate) page: Bytes,
    /// What the log is written in multiples of: the physical sector, 512 B to 4 KiB; by default 4 KiB, or a smaller page
    #[arg(long, value_name = "SIZE")]
    pub(crate) block: Option<Bytes>,
    /// Where images go that make a torn checkpoint whole
    #[arg(long, default_value = "checkpoint")]
    pub(crate) protection: ProtectionArg,
    /// Overwrite what is there
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ProtectionArg {
    /// In the log, at a page's first change after a checkpoint
    Log,
    /// In the recovery area, before the checkpoint writes its first page
    Checkpoint,
}

#[derive(Debug, Args)]
pub(crate) struct SoakArgs {
    /// How long: by default 60 for random lives, of which each takes a fraction of a second, and no limit for damaged copies
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seconds: Option<u64>,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Seeds, or damaged copies, at the same time; by default one per core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,
    /// The log mode of every random life: fsync, log-only, background or none; by default each draws its own
    #[arg(long, value_name = "MODE", conflicts_with_all = ["replay", "damaged"])]
    pub(crate) log_mode: Option<LogMode>,
    /// Run this seed again, or the part of it that a failure was shrunk to, and tell what happens
    #[arg(long, value_name = "SEED", conflicts_with_all = ["seconds", "seed", "jobs"])]
    pub(crate) replay: Option<SeedReplay>,
    /// Keep the disks of the first failure, or of the replay or case, as images for `loadline inspect`, in a folder that has none yet
    #[arg(long, value_name = "FOLDER")]
    pub(crate) keep: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) rot: RotArgs,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

/// Damage at rest instead of random lives: copies of a store are damaged in memory, opened, read as a whole and checked.
#[derive(Debug, Args)]
#[command(next_help_heading = "Damage at rest")]
pub(crate) struct RotArgs {
    /// Damage copies of this store, or of every osd.N of this folder; the file itself is only read
    #[arg(long, value_name = "FILE", group = "damaged", conflicts_with = "replay")]
    pub(crate) rot: Option<PathBuf>,
    /// The device of the store's log, if it has one
    #[arg(long, value_name = "FILE", requires = "rot", conflicts_with = "rot_self")]
    pub(crate) log_device: Option<PathBuf>,
    /// Damage stores of the tool's own, of every log mode and protection; the counts are for each of the eight
    #[arg(long, group = "damaged", conflicts_with = "replay")]
    pub(crate) rot_self: bool,
    /// Copies with flipped bits or a sector of noise
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "damaged")]
    pub(crate) flips: u64,
    /// Copies in which a page's last write was never done
    #[arg(long, value_name = "N", default_value_t = 100, requires = "damaged")]
    pub(crate) drops: u64,
    /// Copies in which a page's last write stands elsewhere
    #[arg(long, value_name = "N", default_value_t = 100, requires = "damaged")]
    pub(crate) strays: u64,
    /// Copies in which two sectors or pages stand in each other's place
    #[arg(long, value_name = "N", default_value_t = 100, requires = "damaged")]
    pub(crate) swaps: u64,
    /// Copies that end early
    #[arg(long, value_name = "N", default_value_t = 10, requires = "damaged")]
    pub(crate) truncations: u64,
    /// Only this case, as a report names it: flip:17, or fsync/log/3/drop:17 of the tool's own stores
    #[arg(long, value_name = "CASE", requires = "damaged", conflicts_with_all = ["flips", "drops", "strays", "swaps", "truncations"])]
    pub(crate) case: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ServeCommand {
    #[command(flatten)]
    pub(crate) node: node::config::ServeArgs,
    /// Make stores of the disks of a new node that hold nothing
    #[arg(long)]
    pub(crate) format_empty: bool,
    /// Start with what is left, though these OSDs' disks are gone for good: what they alone had is lost
    #[arg(long, value_name = "OSD,...", value_delimiter = ',')]
    pub(crate) give_up: Vec<node::OsdArg>,
    /// What is logged: error, warn, info, debug, or by part, as in `info,loadline_host=debug`
    #[arg(long, value_name = "FILTER")]
    pub(crate) log: Option<String>,
    /// Log as JSON, one event per line
    #[arg(long)]
    pub(crate) log_json: bool,
}
