//! Why something was not done to an image, in one sentence.

use super::image::{NAME_CHARS_MAX, OBJECT_BYTES_MAX, OBJECT_BYTES_MIN, SNAPSHOTS_MAX};
use loadline_base::{Bytes, in_short};
use std::fmt;

/// What was refused. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageError {
    /// The text is no name for an image or a snapshot.
    BadName(String),
    /// An object size that images cannot have (bytes).
    BadObjectBytes(u64),
    /// A size that the image cannot have (bytes).
    BadSize {
        /// What was asked for.
        size: u64,
        /// The most that its object size allows.
        most: u64,
    },
    /// No image has this name.
    NoImage(String),
    /// The image has no snapshot of this name.
    NoSnapshot {
        /// The image.
        image: String,
        /// The snapshot.
        snapshot: String,
    },
    /// A snapshot was wanted, and the text names an image.
    NotASnapshot(String),
    /// The image, or the snapshot as `image@snapshot`, is there already.
    Exists(String),
    /// The image has these snapshots.
    HasSnapshots {
        /// The image.
        image: String,
        /// Its snapshots.
        snapshots: Vec<String>,
    },
    /// The snapshot has these clones.
    HasClones {
        /// The snapshot as `image@snapshot`.
        snapshot: String,
        /// The clones' names.
        clones: Vec<String>,
    },
    /// What an image was to be promised or allowed makes no sense, for this reason.
    BadQos(String),
    /// The image has as many snapshots as an image may have.
    SnapshotsMax(String),
    /// What was cut off the image has not been removed yet.
    BeingCut(String),
    /// All numbers of a kind are in use.
    NumbersUsedUp(Numbers),
}

/// A kind of number that can be used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// 65,535 families.
    Families,
    /// 65,536 images of one family.
    Members,
    /// 2³² - 1 snapshots that a family ever had.
    Snapshots,
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageError::BadName(name) => write!(
                f,
                "`{}` is not a name: it takes 1 to {NAME_CHARS_MAX} characters without `@`, `/` and control characters, no space at its ends, and neither `.` nor `..`",
                in_short(name).escape_debug()
            ),
            ImageError::BadObjectBytes(bytes) => write!(
                f,
                "objects cannot have {bytes} bytes: it takes a power of two from {} to {}",
                Bytes::new(OBJECT_BYTES_MIN),
                Bytes::new(OBJECT_BYTES_MAX)
            ),
            ImageError::BadSize { size, most } => write!(
                f,
                "an image of this object size cannot have {size} bytes: it takes 1 B to {}",
                Bytes::new(*most)
            ),
            ImageError::NoImage(name) => write!(f, "there is no image `{}`", in_short(name).escape_debug()),
            ImageError::NoSnapshot { image, snapshot } => {
                write!(f, "image {image} has no snapshot `{}`", in_short(snapshot).escape_debug())
            }
            ImageError::NotASnapshot(name) => {
                write!(f, "`{}` is not a snapshot: write image@snapshot", in_short(name).escape_debug())
            }
            ImageError::Exists(name) => write!(f, "{name} exists already"),
            ImageError::HasSnapshots { image, snapshots } => write!(
                f,
                "image {image} has snapshots: remove {} first",
                listed(snapshots)
            ),
            ImageError::HasClones { snapshot, clones } => {
                write!(f, "snapshot {snapshot} has clones: remove {} first", listed(clones))
            }
            ImageError::BadQos(what) => f.write_str(what),
            ImageError::SnapshotsMax(name) => {
                let name = name.escape_debug();
                write!(f, "image {name} has {SNAPSHOTS_MAX} snapshots, the most that an image may have: remove some first")
            }
            ImageError::BeingCut(name) => write!(
                f,
                "what was cut off image {name} is still being removed, and it cannot grow before"
            ),
            ImageError::NumbersUsedUp(Numbers::Families) => {
                f.write_str("65535 families of images exist: remove some first")
            }
            ImageError::NumbersUsedUp(Numbers::Members) => {
                f.write_str("the image has 65535 clones and their clones: remove some first")
            }
            ImageError::NumbersUsedUp(Numbers::Snapshots) => f.write_str(
                "the image and its clones have had all the snapshots that can be numbered: copy it to a new one",
            ),
        }
    }
}

impl std::error::Error for ImageError {}

/// How many names a sentence lists before it only counts.
const LISTED_MAX: usize = 8;

fn listed(names: &[String]) -> String {
    match names.len().checked_sub(LISTED_MAX) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..LISTED_MAX].join(", ")),
    }
}
