//! The parts of commands: names, steps, levels, and the bodies that some commands carry.

use loadline_osd::{OsdId, OsdSet};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::IntErrorKind;
use std::str::FromStr;

/// A step of an OSD in the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OsdMove {
    /// It stops serving; its data stays where it is.
    Down,
    /// Placement uses it no more; its data moves to the others.
    Out,
    /// It serves again.
    Up,
    /// Placement uses it again.
    In,
}

impl OsdMove {
    /// Every step.
    pub const ALL: [OsdMove; 4] = [OsdMove::Down, OsdMove::Out, OsdMove::Up, OsdMove::In];

    /// The step's name in commands and paths.
    pub const fn name(self) -> &'static str {
        match self {
            OsdMove::Down => "down",
            OsdMove::Out => "out",
            OsdMove::Up => "up",
            OsdMove::In => "in",
        }
    }
}

/// How closely copies are compared, and what becomes of what is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrubHow {
    /// What is known of objects.
    Scrub,
    /// Their bytes as well.
    DeepScrub,
    /// The same, and what is bad is replaced from a copy that is right.
    Repair,
}

impl ScrubHow {
    /// Every way.
    pub const ALL: [ScrubHow; 3] = [ScrubHow::Scrub, ScrubHow::DeepScrub, ScrubHow::Repair];

    /// Its name in paths.
    pub const fn name(self) -> &'static str {
        match self {
            ScrubHow::Scrub => "scrub",
            ScrubHow::DeepScrub => "deep-scrub",
            ScrubHow::Repair => "repair",
        }
    }
}

/// A snapshot of an image, `image@snapshot`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotName {
    /// The image.
    pub image: String,
    /// The snapshot's name inside it.
    pub snapshot: String,
}

impl fmt::Display for SnapshotName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.image, self.snapshot)
    }
}

impl FromStr for SnapshotName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<SnapshotName, &'static str> {
        match text.split_once('@') {
            Some((image, snapshot)) if !image.is_empty() && !snapshot.is_empty() => {
                Ok(SnapshotName { image: image.to_owned(), snapshot: snapshot.to_owned() })
            }
            _ => Err("expected a snapshot such as `vol0@monday`"),
        }
    }
}

/// For whom an option has a value; the more specific wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Everything.
    Global,
    /// Every OSD.
    Osds,
    /// One OSD.
    Osd(OsdId),
}

/// What is said of a number that no OSD can have: the node that knows which there are is not asked.
pub const NO_SUCH_OSD: &str = "there is no such OSD: a node has at most osd.0 to osd.63, and `loadline osd list` names those there are";
const _: () = assert!(OsdSet::OSDS_MAX == 64);

/// A number of an OSD, whether there can be such an OSD or not: one that is too large for any is one all the same.
fn number(text: &str) -> Option<u32> {
    match text.parse::<u32>() {
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Some(u32::MAX),
        number => number.ok(),
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Global => f.write_str("global"),
            Who::Osds => f.write_str("osd"),
            Who::Osd(osd) => osd.fmt(f),
        }
    }
}

impl FromStr for Who {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Who, &'static str> {
        match (text, text.strip_prefix("osd.").and_then(number)) {
            ("global", _) => Ok(Who::Global),
            ("osd", _) => Ok(Who::Osds),
            (_, Some(number)) if number < OsdSet::OSDS_MAX => Ok(Who::Osd(OsdId::new(number))),
            (_, Some(_)) => Err(NO_SUCH_OSD),
            _ => Err("expected `global`, `osd` or one OSD such as `osd.0`"),
        }
    }
}

/// For how long a value holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueLevel {
    /// Until it is removed.
    #[default]
    Stored,
    /// Until the OSD restarts.
    Runtime,
}

/// How long somebody watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchSeconds(u32);

impl WatchSeconds {
    /// The longest: who wants to know more asks again.
    pub const MAX: u32 = 3600;

    /// So many seconds, from 1 to [`WatchSeconds::MAX`].
    pub fn new(seconds: u32) -> Option<WatchSeconds> {
        (1..=WatchSeconds::MAX).contains(&seconds).then_some(WatchSeconds(seconds))
    }

    /// As a number.
    pub fn get(self) -> u32 {
        self.0
    }
}

/// How many ops of an image are shown stage by stage while somebody watches it; by default none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TracedOps(u32);

impl TracedOps {
    /// More than anybody looks at one by one.
    pub const MAX: u32 = 1000;

    /// So many, up to [`TracedOps::MAX`].
    pub fn new(ops: u32) -> Option<TracedOps> {
        (ops <= TracedOps::MAX).then_some(TracedOps(ops))
    }

    /// As a number.
    pub fn get(self) -> u32 {
        self.0
    }
}

/// The disk of an OSD that is to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OsdAsked {
    /// A file or a block device, as the node sees it.
    pub path: String,
    /// Size of a file that does not exist yet; by default what the path has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Whether an empty store is written there, whatever it holds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overwrite: bool,
}

/// A pool that is to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolAsked {
    /// Its name.
    pub name: String,
    /// Placement groups; by default what suits the number of OSDs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pgs: Option<u32>,
    /// Copies of each object; by default the node's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<u32>,
}

/// An image that is to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageAsked {
    /// Its name.
    pub name: String,
    /// The pool that holds it; by default the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Its size.
    pub size_bytes: u64,
    /// Size of its objects; by default 4 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_bytes: Option<u64>,
}

/// The size that an image is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeAsked {
    /// All of it.
    pub size_bytes: u64,
}

/// What an image is to be promised and allowed; what is left out stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QosAsked {
    /// Ops of 4 KiB per second that it has at least; 0 for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation_iops: Option<u32>,
    /// Ops of 4 KiB per second that it has at most; 0 for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_iops: Option<u32>,
    /// After less than the limit it may have at once what the limit gives in this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_ns: Option<u64>,
    /// Its share of what is left, beside 1 of an image for which nothing was said; to a hundredth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
}

/// The name that an image is to have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameAsked {
    /// From now on.
    pub name: String,
}

/// The value that an option is to have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueAsked {
    /// As text.
    pub value: String,
    /// For how long.
    #[serde(default)]
    pub level: ValueLevel,
}

/// How a disk is measured; what is left out is as qos.md 6.2 has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchAsked {
    /// Bytes written and timed; by default 12,288,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
    /// Bytes of one write; by default 4096.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_bytes: Option<u64>,
    /// Whether the result becomes the OSD's capacity if it lies within the thresholds.
    #[serde(default)]
    pub store: bool,
}
