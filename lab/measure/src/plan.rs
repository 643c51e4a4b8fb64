//! What is measured: points, each a kind of transfer at a depth, and what was ordered of them.

use loadline_base::{Bytes, Span};
use loadline_host::BackendChoice;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

/// The small transfer: a page, and the block of the field's baselines.
pub(crate) const SMALL: Bytes = Bytes::from_kib(4);
/// The large transfers: a usual stripe, and a whole object.
const LARGE: [Bytes; 2] = [Bytes::from_mib(1), OBJECT];
/// An object, as recovery moves it.
pub(crate) const OBJECT: Bytes = Bytes::from_mib(4);
/// Large transfers in flight: alone, and as many as keep a drive streaming.
const LARGE_DEPTHS: [u32; 2] = [1, 4];
/// Depths of small transfers are powers of two up to this one.
const DEPTH_MAX: u32 = 256;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct MeasureOrder {
    /// A file or a block device. A file that is not there is made, and removed afterwards.
    pub path: PathBuf,
    /// How much of it is used, from its beginning; by default all, or 1 GiB of a new file.
    pub size: Option<Bytes>,
    /// How long each point is measured each time.
    pub time: Span,
    /// How often each point is measured.
    pub repeats: u32,
    /// Whether an existing file or device is to be written.
    pub write: bool,
    /// Whether losing what it holds is fine with whoever asks.
    pub consent: bool,
    /// Whether a file that was made stays.
    pub keep: bool,
    /// Who carries requests out.
    pub backend: BackendChoice,
    /// Decides the random places.
    pub seed: u64,
}

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Does {
    /// From the drive.
    Read,
    /// To the drive.
    Write,
}

/// Where transfers go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TransferPattern {
    /// Anywhere, aligned to the block.
    Random,
    /// One after the other.
    Sequential,
}

/// One kind of transfer at one depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Its direction.
    pub does: Does,
    /// Where it goes.
    pub pattern: TransferPattern,
    /// Bytes of each.
    pub block: Bytes,
    /// How many are in flight.
    pub depth: u32,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pattern = match self.pattern {
            TransferPattern::Random => "random",
            TransferPattern::Sequential => "sequential",
        };
        let does = match self.does {
            Does::Read => "read",
            Does::Write => "write",
        };
        write!(f, "{} {pattern} {does}", self.block)
    }
}

/// Every point, reads first: what writes leave behind in a drive must not disturb them.
pub fn points(writes: bool) -> Vec<Point> {
    let directions: &[Does] = if writes { &[Does::Read, Does::Write] } else { &[Does::Read] };
    directions.iter().flat_map(|does| points_of(*does)).collect()
}

fn points_of(does: Does) -> Vec<Point> {
    let depths = (0..).map(|power| 1 << power).take_while(|depth| *depth <= DEPTH_MAX);
    let small =
        depths.map(|depth| Point { does, pattern: TransferPattern::Random, block: SMALL, depth });
    let large = LARGE.iter().flat_map(|block| {
        LARGE_DEPTHS.map(|depth| Point {
            does,
            pattern: TransferPattern::Sequential,
            block: *block,
            depth,
        })
    });
    small.chain(large).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_direction_is_swept_alone() {
        let all = points(true);
        let (reads, writes) = all.split_at(all.len() / 2);
        assert!(reads.iter().all(|point| point.does == Does::Read));
        assert!(writes.iter().all(|point| point.does == Does::Write));
        assert_eq!(points(false), reads);
        let depths: Vec<u32> =
            reads.iter().filter(|point| point.block == SMALL).map(|point| point.depth).collect();
        assert_eq!(depths, [1, 2, 4, 8, 16, 32, 64, 128, 256]);
        assert_eq!(reads.last().map(ToString::to_string).as_deref(), Some("4 MiB sequential read"));
    }
}
