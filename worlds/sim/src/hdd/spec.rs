//! What a mechanical drive is: the figures of its file.

use loadline_base::{Bytes, Span};

/// Bytes of a logical sector, which every figure in sectors counts.
pub const SECTOR: u64 = 512;

/// A mechanical drive as its file describes it. The file gives the reason of each figure.
#[derive(Clone, Debug, PartialEq)]
pub struct HddSpec {
    /// The file's name without folder and ending.
    pub name: String,
    /// The product that it stands for.
    pub model: String,
    /// Logical sectors of 512 bytes.
    pub sectors: u64,
    /// Turns per minute.
    pub rpm: u32,
    /// Surfaces, each with a head.
    pub heads: u32,
    /// Bands of cylinders with equally many sectors per track.
    pub zones: u32,
    /// What the outermost track transfers per second.
    pub outer_rate: Bytes,
    /// What the innermost track transfers per second.
    pub inner_rate: Bytes,
    /// From one track to the next on the same cylinder, which is also what tracks are skewed by.
    pub head_switch: Span,
    /// How long the arm moves.
    pub seek: Seek,
    /// What a write waits longer than a read before the head may write.
    pub write_settle: Span,
    /// The firmware's part of each command, before the arm moves.
    pub overhead: Span,
    /// From the answer of a command until the command that the host sends then can be seen.
    pub turnaround: Span,
    /// What the link to the host transfers per second.
    pub link_rate: Bytes,
    /// Commands that the drive holds; more wait before it.
    pub tags: u32,
    /// Writes that the cache holds; 0 without write cache.
    pub cached_writes: u32,
    /// How long the firmware retries a sector that it cannot read.
    pub recovery: Span,
    /// The range of times that duration limits may have; `None` if the drive knows no duration limits.
    pub limits: Option<LimitRange>,
    /// Who goes next.
    pub ordering: Ordering,
}

/// How long the arm takes for a part `d` of its whole way, 0 < d ≤ 1: `settle + root·√d + linear·d`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seek {
    /// To come to rest on a track.
    pub settle: Span,
    /// While the arm speeds up and slows down.
    pub root: Span,
    /// While it moves at its highest speed.
    pub linear: Span,
}

/// The range of times that a drive takes in a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitRange {
    /// The shortest limit.
    pub shortest: Span,
    /// The longest limit.
    pub longest: Span,
}

impl Seek {
    /// The time for a part of the whole way; none for no way at all.
    pub fn time(&self, part: f64) -> Span {
        if part <= 0.0 {
            return Span::ZERO;
        }
        let ns = |span: Span| span.nanos() as f64;
        let time = ns(self.settle) + ns(self.root) * part.sqrt() + ns(self.linear) * part;
        Span::from_nanos(time as u64)
    }

    /// The mean over random pairs of places, as data sheets have it: the distance between two uniform places has density
    /// 2·(1 − d), under which √d has the mean 8/15 and d the mean 1/3.
    pub fn random_mean(&self) -> Span {
        self.settle + self.root * 8 / 15 + self.linear / 3
    }
}

impl HddSpec {
    /// One turn.
    pub fn turn(&self) -> Span {
        Span::from_nanos(60_000_000_000 / u64::from(self.rpm))
    }

    /// How much it holds.
    pub fn capacity(&self) -> Bytes {
        Bytes::new(self.sectors * SECTOR)
    }
}

/// What the time left is worth. Every command has a time at which it is due: its guideline's, or `patience` mean ages after it
/// arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ordering {
    /// After how many mean ages a command without limit is due.
    pub patience: f64,
    /// So long before that it counts as due: an access takes its time.
    pub notice: Span,
    /// The bonus of a command that is due, in a full queue.
    pub urgency: Span,
    /// With so much time left the bonus is 0.41 of that; with twice as much, 0.20.
    pub falloff: Span,
    /// What each millisecond beyond that adds, in milliseconds.
    pub lateness: f64,
}
