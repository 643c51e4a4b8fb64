//! What can be typed about a running node.

use super::reach::NodeArgs;
use clap::{Args, Subcommand, ValueEnum};
use loadline_base::{Bytes, Span};
use loadline_host::admin::api::{NO_SUCH_OSD, OsdMove, SnapshotName, TracedOps, WatchSeconds, Who};
use loadline_osd::OsdId;
use std::num::{IntErrorKind, ParseIntError};
use std::path::PathBuf;
use std::str::FromStr;

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Show it again every second, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

/// An OSD as it is typed: `2` or `osd.2`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OsdArg(pub(crate) OsdId);

impl FromStr for OsdArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<OsdArg, &'static str> {
        let number = text.strip_prefix("osd.").unwrap_or(text);
        match format!("osd.{number}").parse() {
            Ok(Who::Osd(osd)) => Ok(OsdArg(osd)),
            Err(NO_SUCH_OSD) => Err(NO_SUCH_OSD),
            _ => Err("expected an OSD such as `2` or `osd.2`"),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct OsdArgs {
    #[command(subcommand)]
    pub(crate) command: OsdSubcommand,
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OsdSubcommand {
    /// The OSDs with their disks
    List,
    /// Stop one from serving; its data stays where it is
    Down(OneOsdForced),
    /// Let placement use one no more; its data moves to the others
    Out(OneOsd),
    /// Let one serve again
    Up(OneOsd),
    /// Let placement use one again
    In(OneOsd),
    /// Make one on a file or a device that holds none
    Add(DiskArgs),
    /// Give one an empty disk in place of its own, to be filled by backfill
    Replace {
        /// The OSD
        osd: OsdArg,
        #[command(flatten)]
        disk: DiskArgs,
        /// Even if its own has the last whole copy of something
        #[arg(long)]
        force: bool,
    },
    /// Forget one that is down and out
    Remove(OneOsdForced),
    /// Whether these could stop at once: what they serve would be served on
    OkToStop {
        /// The OSDs
        #[arg(required = true)]
        osds: Vec<OsdArg>,
    },
}

impl OsdSubcommand {
    /// The step in the map that was asked for, if one was, and whether at any cost.
    pub(crate) fn step(&self) -> Option<(OsdId, OsdMove, bool)> {
        match self {
            OsdSubcommand::Down(one) => Some((one.osd.0, OsdMove::Down, one.force)),
            OsdSubcommand::Out(one) => Some((one.osd.0, OsdMove::Out, false)),
            OsdSubcommand::Up(one) => Some((one.osd.0, OsdMove::Up, false)),
            OsdSubcommand::In(one) => Some((one.osd.0, OsdMove::In, false)),
            _ => None,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct OneOsd {
    /// The OSD
    pub(crate) osd: OsdArg,
}

#[derive(Debug, Args)]
pub(crate) struct OneOsdForced {
    /// The OSD
    pub(crate) osd: OsdArg,
    /// Even if something is served no more, or lost
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DiskArgs {
    /// A file or a block device
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) path: String,
    /// Size of a file that does not exist yet
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
    /// Write an empty store there, whatever it holds, which is lost
    #[arg(long)]
    pub(crate) overwrite: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PoolArgs {
    #[command(subcommand)]
    pub(crate) command: PoolSubcommand,
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PoolSubcommand {
    /// The pools
    List,
    /// Make a pool
    Create {
        /// Its name
        name: String,
        /// Placement groups; by default what suits the number of OSDs
        #[arg(long, value_name = "N")]
        pgs: Option<u32>,
        /// Copies of each object; by default the node's
        #[arg(long, value_name = "N")]
        copies: Option<u32>,
    },
    /// Remove a pool that has no images
    Remove {
        /// Its name
        name: String,
        /// It is to go for good
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PgArgs {
    #[command(subcommand)]
    pub(crate) command: PgSubcommand,
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PgSubcommand {
    /// The objects of one that no OSD can give
    ListUnfound {
        /// The PG, such as `0.1f`
        pg: String,
    },
    /// Give them up
    MarkUnfoundLost {
        /// The PG, such as `0.1f`
        pg: String,
        /// What becomes of them
        into: LostInto,
        /// Their last writes are to go for good
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ScrubArgs {
    #[command(subcommand)]
    pub(crate) command: ScrubSubcommand,
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ScrubSubcommand {
    /// Compare which objects the copies have, in which versions and how long
    Start(Scrubbed),
    /// Compare their bytes as well
    Deep(Scrubbed),
    /// Let the clock begin none, and end those that it has begun; what somebody asks for goes on
    Pause,
    /// Let the clock begin them again
    Resume,
    /// When each PG was compared, which are now, and how many errors were found
    Status,
}

#[derive(Debug, Args)]
pub(crate) struct Scrubbed {
    /// A PG such as `0.1f`, the PGs of an OSD such as `osd.2`, or those of a pool
    pub(crate) what: String,
}

#[derive(Debug, Args)]
pub(crate) struct RepairArgs {
    #[command(flatten)]
    pub(crate) what: Scrubbed,
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct InconsistentArgs {
    #[command(subcommand)]
    pub(crate) command: InconsistentSubcommand,
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum InconsistentSubcommand {
    /// What is not alike in the copies of a PG, by its last scrub
    List {
        /// The PG, such as `0.1f`
        pg: String,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LostInto {
    /// The newest that is left of each; what has nothing left is forgotten
    Revert,
}

#[derive(Debug, Args)]
pub(crate) struct ImageArgs {
    #[command(subcommand)]
    pub(crate) command: ImageSubcommand,
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImageSubcommand {
    /// The images
    List,
    /// One image with its snapshots
    Info(OneImage),
    /// Make an image
    Create {
        /// Its name, which is also its NBD export's
        name: String,
        /// Its size
        #[arg(long, value_name = "SIZE")]
        size: Bytes,
        /// The pool that holds it; by default the only one
        #[arg(long, value_name = "NAME")]
        pool: Option<String>,
        /// Size of its objects, a power of two from 64 KiB to 32 MiB; by default 4 MiB
        #[arg(long, value_name = "SIZE")]
        object_size: Option<Bytes>,
    },
    /// Give an image another size; what is cut off is gone
    Resize {
        /// The image
        name: String,
        /// Its size from now on
        size: Bytes,
        /// What is cut off is to go for good
        #[arg(long)]
        yes: bool,
    },
    /// What an image is promised and allowed beside others; without options, show it
    Qos {
        /// The image
        name: String,
        /// It has at least so many ops of 4 KiB per second, such as `2000iops`; `0` for none
        #[arg(long, value_name = "IOPS")]
        reservation: Option<Iops>,
        /// It has at most so many; `0` for no limit
        #[arg(long, value_name = "IOPS")]
        limit: Option<Iops>,
        /// After less than its limit it may have at once what the limit gives in this time, such as `2s`
        #[arg(long, value_name = "TIME")]
        burst: Option<Span>,
        /// Its share of what is left, beside 1 of other images; 0.01 to 1000
        #[arg(long, value_parser = weight)]
        weight: Option<f64>,
    },
    /// Remove an image without snapshots and clones
    Remove {
        /// The image
        name: String,
        /// It is to go for good
        #[arg(long)]
        yes: bool,
        /// Also where clients have it open: what they ask for fails from then on
        #[arg(long)]
        force: bool,
    },
    /// Give an image another name
    Rename {
        /// The image
        name: String,
        /// Its name from now on
        new_name: String,
    },
    /// Make an image that begins as a snapshot is
    Clone {
        /// The snapshot, IMAGE@SNAPSHOT
        from: SnapshotName,
        /// The new image's name
        name: String,
    },
    /// Where a snapshot may be other than an older one of its image
    Diff {
        /// The older one, IMAGE@SNAPSHOT
        from: SnapshotName,
        /// The newer one
        to: SnapshotName,
    },
    /// Copy a snapshot to a new raw file, or bring a copy of an older one on by what has changed
    Backup {
        /// The snapshot, IMAGE@SNAPSHOT
        name: SnapshotName,
        /// The file
        file: PathBuf,
        /// The file is a copy of this older snapshot of the image: what has changed since is written to it, and nothing else
        #[arg(long, value_name = "SNAPSHOT")]
        since: Option<String>,
    },
    /// Keep an image as it is, or forget what was kept
    #[command(subcommand)]
    Snapshot(SnapshotSubcommand),
}

#[derive(Debug, Args)]
pub(crate) struct OneImage {
    /// The image
    pub(crate) name: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SnapshotSubcommand {
    /// The snapshots of an image
    List(OneImage),
    /// Keep an image as it is now
    Create {
        /// IMAGE@SNAPSHOT
        name: SnapshotName,
    },
    /// Remove a snapshot without clones
    Remove {
        /// IMAGE@SNAPSHOT
        name: SnapshotName,
        /// It is to go for good
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigSubcommand,
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigSubcommand {
    /// What was set; of one OSD, every option with the value in force
    Show {
        /// Only this section: global, osd or osd.N
        who: Option<Who>,
    },
    /// One option on every level
    Get {
        /// global, osd or osd.N
        who: Who,
        /// The option
        option: String,
    },
    /// Set an option
    Set {
        /// global, osd or osd.N
        who: Who,
        /// The option
        option: String,
        /// Its value
        #[arg(allow_negative_numbers = true)]
        value: String,
        /// Only until the OSD restarts
        #[arg(long)]
        runtime: bool,
    },
    /// Take a value away again
    Rm {
        /// global, osd or osd.N
        who: Who,
        /// The option
        option: String,
        /// The one that holds until the OSD restarts
        #[arg(long)]
        runtime: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct SwitchArgs {
    /// The profile, e.g. high_client_ops
    pub(crate) profile: String,
    /// For whom: global, osd or osd.N
    #[arg(long = "for", value_name = "WHO", default_value = "osd")]
    pub(crate) who: Who,
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DumpArgs {
    #[command(subcommand)]
    pub(crate) command: DumpSubcommand,
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DumpSubcommand {
    /// What waits in an OSD's queues, and why
    Queues(OneOsd),
    /// The ops in flight, the oldest first
    Ops,
    /// The slowest of the ops that ended lately
    History,
}

#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

#[cfg(feature = "top")]
#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// The image
    pub(crate) image: String,
    /// Watch it for so long, `1s` to `1h`, rounded up to whole seconds
    #[arg(long = "for", value_name = "TIME", default_value = "10s")]
    pub(crate) watch: WatchArg,
    /// Also write each stage of the first ops into this new file, for Perfetto and Chrome
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// How many ops --trace shows, 1 to 1000
    #[arg(long, value_name = "N", default_value = "100", requires = "trace")]
    pub(crate) trace_ops: TracedArg,
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

/// How many ops to show one by one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TracedArg(pub(crate) TracedOps);

impl FromStr for TracedArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<TracedArg, &'static str> {
        let ops = text.parse().ok().filter(|ops| *ops > 0);
        let ops = ops.and_then(TracedOps::new).map(TracedArg);
        ops.ok_or("expected a number from 1 to 1000")
    }
}

/// How long to watch, as it is typed: `10s`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchArg(pub(crate) WatchSeconds);

impl FromStr for WatchArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<WatchArg, &'static str> {
        let span = text.parse().ok().filter(|span: &Span| *span >= Span::from_secs(1));
        let seconds = span.map(|span| span.nanos().div_ceil(1_000_000_000));
        let seconds = seconds.and_then(|seconds| u32::try_from(seconds).ok());
        let seconds = seconds.and_then(WatchSeconds::new).map(WatchArg);
        seconds.ok_or("expected a time from one second to an hour, such as `10s` or `5 min`")
    }
}

#[derive(Debug, Args)]
pub(crate) struct TellArgs {
    /// The OSD
    pub(crate) osd: OsdArg,
    #[command(subcommand)]
    pub(crate) command: TellSubcommand,
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TellSubcommand {
    /// Measure its disk: 4 KiB random writes, as the start benchmark does
    Bench {
        /// Bytes written and timed; by default 12,288,000
        #[arg(long, value_name = "SIZE")]
        total: Option<Bytes>,
        /// Bytes of one write; by default 4 KiB
        #[arg(long, value_name = "SIZE")]
        block: Option<Bytes>,
        /// Make the result the OSD's capacity, if it lies within the thresholds
        #[arg(long)]
        store: bool,
    },
}

fn weight(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or("expected a number, such as `2` or `0.5`")
}

/// Ops per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Iops(pub(crate) u32);

impl FromStr for Iops {
    type Err = String;

    fn from_str(text: &str) -> Result<Iops, String> {
        let digits = text.strip_suffix("iops").unwrap_or(text).trim_end();
        digits.parse().map(Iops).map_err(|error: ParseIntError| match error.kind() {
            IntErrorKind::PosOverflow => format!("expected {}iops at most", u32::MAX),
            _ => "expected ops per second, such as `2000iops`".to_owned(),
        })
    }
}
