//! What can be typed about drives that are served to real kernels.

use crate::common_args::JsonArg;
use clap::{Args, ValueEnum};
use loadline_base::{Bytes, Span};
use loadline_drive::MediumFault;
use loadline_scsi::Capability;
use std::ffi::OsString;
use std::num::IntErrorKind;
use std::ops::Range;
use std::path::PathBuf;

/// Which drive, and what is wrong with it.
#[derive(Debug, Args)]
pub(crate) struct DriveOptions {
    /// A mechanical drive: sim:NAME, as `loadline drive list` has it
    #[arg(default_value = "sim:hdd-22tb-cdl", value_name = "DRIVE")]
    pub(crate) drive: String,
    /// What it claims of duration limits
    #[arg(long, default_value_t = Claims::Limits, value_name = "WHAT")]
    pub(crate) claims: Claims,
    /// How many times longer it seeks and thinks
    #[arg(long, default_value_t = 1.0, value_parser = slowness, value_name = "FACTOR")]
    pub(crate) slow: f64,
    /// Blocks of 512 bytes that cannot be read until they are written, e.g. 1000+8
    #[arg(long, value_name = "FIRST+COUNT")]
    unreadable: Vec<Blocks>,
    /// Blocks whose reads take so many turns more, e.g. 1000+8:3
    #[arg(long, value_name = "FIRST+COUNT:TURNS")]
    slow_blocks: Vec<SlowBlocks>,
    /// Blocks whose commands are never answered, e.g. 1000+8
    #[arg(long, value_name = "FIRST+COUNT")]
    silent: Vec<Blocks>,
    /// From which time on every read takes so many turns more, e.g. 60s:5
    #[arg(long, value_name = "TIME:TURNS")]
    fading: Option<Fading>,
    /// Answers at once, to measure the way to it
    #[arg(long, conflicts_with_all = ["slow", "path_time"])]
    pub(crate) at_once: bool,
    /// What the way to it takes of a command's time; so much less is modelled
    #[arg(long, default_value = "100 us", value_name = "TIME")]
    pub(crate) path_time: Span,
    /// Settles where the arm rests, and the serial number
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct DriveServeArgs {
    #[command(flatten)]
    pub(crate) drive: DriveOptions,
    /// The socket on which machines find it
    #[arg(long, value_name = "PATH")]
    pub(crate) vhost_scsi: PathBuf,
    /// Keep the machine's time, too: the socket that its kernel names by time-travel=ext:PATH
    #[arg(long, value_name = "PATH")]
    pub(crate) calendar: Option<PathBuf>,
    /// A sparse file that holds what is written; by default it reads as zeros
    #[arg(long, value_name = "FILE")]
    pub(crate) backing: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

#[derive(Debug, Args)]
pub(crate) struct BootArgs {
    #[command(flatten)]
    pub(crate) drive: DriveOptions,
    /// A sparse file that holds what is written; by default it reads as zeros
    #[arg(long, value_name = "FILE")]
    pub(crate) backing: Option<PathBuf>,
    /// The folder of the guest's root, made of Debian's packages if nothing or an empty folder is there; no other is replaced than a guest's root
    #[arg(long, value_name = "FOLDER")]
    pub(crate) root: Option<PathBuf>,
    /// Where Debian's packages come from
    #[arg(long, default_value = "http://deb.debian.org/debian", value_name = "URL")]
    pub(crate) mirror: String,
    /// Another kernel for user mode than Debian's
    #[arg(long, value_name = "FILE")]
    pub(crate) kernel: Option<PathBuf>,
    /// In virtual time: nothing takes longer than the model says, and nobody waits. Needs a kernel that
    /// scripts/time-travel-kernel makes, by default the one in ~/.cache/loadline
    #[arg(long)]
    pub(crate) virtual_time: bool,
    /// The guest's memory
    #[arg(long, default_value = "512 MiB", value_name = "SIZE")]
    pub(crate) memory: Bytes,
    /// After which the guest is ended
    #[arg(long, default_value = "10 min", value_name = "TIME")]
    pub(crate) time_limit: Span,
    /// The folder that the command finds as /results, with the console's log and the drive's statistics
    #[arg(long, default_value = "runs/guest", value_name = "FOLDER")]
    pub(crate) results: PathBuf,
    /// A file or folder that the command finds in /share
    #[arg(long, value_name = "PATH")]
    pub(crate) share: Vec<PathBuf>,
    /// The socket of an image (`loadline serve --vhost`), which the command finds as /dev/vda, the next one as /dev/vdb
    #[arg(long, value_name = "PATH")]
    pub(crate) vhost_blk: Vec<PathBuf>,
    /// The command, after `--`; `loadline` is there too
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// What a drive says of its duration limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Claims {
    /// That it has them
    Limits,
    /// That it has none
    None,
    /// That it is of SPC-4, which has none (version 06h), though its commands have them
    OldVersion,
    /// That its commands may have none (CDLP 0), though it has the pages
    NoCommandPage,
    /// That it supports limited commands in its own way (SUPPORT 5)
    OwnWay,
}

impl std::fmt::Display for Claims {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let named = self.to_possible_value().expect("every claim has a name");
        f.write_str(named.get_name())
    }
}

impl Claims {
    pub(super) fn capability(self) -> Capability {
        match self {
            Claims::Limits => Capability::DurationLimits,
            Claims::None => Capability::None,
            Claims::OldVersion => Capability::OldVersion,
            Claims::NoCommandPage => Capability::NoCommandPage,
            Claims::OwnWay => Capability::OwnWay,
        }
    }
}

/// A read that takes so many turns more has long been given up by every kernel.
const TURNS_MAX: u32 = 1_000_000;

fn turns_of(text: &str) -> Option<u32> {
    text.parse().ok().filter(|turns| (1..=TURNS_MAX).contains(turns))
}

/// From a drive that seeks in no time to one on which a seek takes a minute.
fn slowness(text: &str) -> Result<f64, &'static str> {
    let factor = text.parse().ok().filter(|factor| (0.001..=1000.0).contains(factor));
    factor.ok_or("it takes a number from 0.001 to 1000, such as `1.5`")
}

/// A block's number, or a number of blocks. One that is too large is beyond the end of every drive, which is then said with the drive's own.
fn block(text: &str) -> Option<u64> {
    match text.parse::<u64>() {
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Some(u64::MAX),
        number => number.ok(),
    }
}

/// Blocks as they are typed: the first, and how many.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Blocks {
    first: u64,
    count: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct SlowBlocks {
    blocks: Blocks,
    turns: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fading {
    after: Span,
    turns: u32,
}

impl std::str::FromStr for Blocks {
    type Err = String;
    fn from_str(text: &str) -> Result<Blocks, String> {
        let parts = text.split_once('+');
        let numbers = parts.and_then(|(first, count)| Some((block(first)?, block(count)?)));
        match numbers {
            Some((first, count)) if count > 0 => Ok(Blocks { first, count }),
            _ => Err("first block and number of blocks are needed, e.g. 1000+8".to_owned()),
        }
    }
}

impl std::str::FromStr for SlowBlocks {
    type Err = String;
    fn from_str(text: &str) -> Result<SlowBlocks, String> {
        let parts = text.split_once(':').and_then(|(blocks, turns)| {
            Some(SlowBlocks { blocks: blocks.parse().ok()?, turns: turns_of(turns)? })
        });
        parts.ok_or_else(|| format!("blocks and 1 to {TURNS_MAX} turns are needed, e.g. 1000+8:3"))
    }
}

impl std::str::FromStr for Fading {
    type Err = String;
    fn from_str(text: &str) -> Result<Fading, String> {
        let parts = text.split_once(':').and_then(|(after, turns)| {
            Some(Fading { after: after.parse().ok()?, turns: turns_of(turns)? })
        });
        parts.ok_or_else(|| format!("a time and 1 to {TURNS_MAX} turns are needed, e.g. 60s:5"))
    }
}

impl std::fmt::Display for Blocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}+{}", self.first, self.count)
    }
}

impl Blocks {
    /// As a range of a drive with so many blocks.
    fn within(&self, sectors: u64) -> Result<Range<u64>, String> {
        let end = self.first.checked_add(self.count).filter(|end| *end <= sectors);
        let end = end.ok_or_else(|| format!("blocks {self}: the drive has {sectors}"))?;
        Ok(self.first..end)
    }
}

impl DriveOptions {
    /// What is wrong with a drive of so many blocks.
    pub(super) fn faults(&self, sectors: u64) -> Result<Vec<MediumFault>, String> {
        let mechanical =
            !self.unreadable.is_empty() || !self.slow_blocks.is_empty() || self.fading.is_some();
        if self.at_once && mechanical {
            return Err(
                "a drive that answers at once has no turns: leave --unreadable, --slow-blocks and --fading out, or --at-once"
                    .to_owned(),
            );
        }
        let mut faults = Vec::new();
        for blocks in &self.unreadable {
            faults.push(MediumFault::Unreadable(blocks.within(sectors)?));
        }
        for SlowBlocks { blocks, turns } in &self.slow_blocks {
            faults.push(MediumFault::Slow { blocks: blocks.within(sectors)?, turns: *turns });
        }
        for blocks in &self.silent {
            faults.push(MediumFault::Silent(blocks.within(sectors)?));
        }
        faults.extend(
            self.fading.map(|Fading { after, turns }| MediumFault::Fading { after, turns }),
        );
        Ok(faults)
    }

    /// The words that say the same to another process.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = vec![self.drive.clone(), format!("--claims={}", self.claims)];
        words.extend(self.unreadable.iter().map(|blocks| format!("--unreadable={blocks}")));
        let slow =
            |SlowBlocks { blocks, turns }: &SlowBlocks| format!("--slow-blocks={blocks}:{turns}");
        words.extend(self.slow_blocks.iter().map(slow));
        words.extend(self.silent.iter().map(|blocks| format!("--silent={blocks}")));
        let fading = |Fading { after, turns }| format!("--fading={}ns:{turns}", after.nanos());
        words.extend(self.fading.map(fading));
        if self.at_once {
            words.push("--at-once".to_owned());
        } else {
            words.push(format!("--slow={}", self.slow));
            words.push(format!("--path-time={}ns", self.path_time.nanos()));
        }
        words.push(format!("--seed={}", self.seed));
        words
    }
}
