//! What may be set on a paged store, each with its default and where that comes from.

use super::image::Compression;
use super::throttle;
use super::word::ParseWordError;
use loadline_base::{Bytes, Span};
use loadline_device::ClassTag;
use std::fmt;
use std::str::FromStr;

/// When a transaction is answered (checkpoint.md 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogMode {
    /// When the log is durable through its record. Neither a crash nor a power cut loses it.
    Fsync,
    /// When the device has its record. A crash of the process loses nothing; a power cut loses the newest ones.
    LogOnly,
    /// At once. A crash loses what was answered within the last flush interval.
    Background,
    /// At once, and there is no log: a crash leads back to the last checkpoint.
    None,
}

/// Where the images are that make a torn checkpoint whole again (checkpoint.md 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protection {
    /// In the log: an image at a page's first change after a checkpoint's instant, then its edits.
    Log,
    /// In the recovery area: the checkpoint writes all images before it overwrites the first page.
    Checkpoint,
}

/// In which order a checkpoint writes its pages (checkpoint.md 12, `checkpointWriteOrder`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOrder {
    /// By page number; neighbours become one request.
    Sequential,
    /// As they were first changed.
    Unsorted,
}

/// The classes of requests that belong to no op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// Log writes and flushes: the end of many ops of any class.
    pub log: ClassTag,
    /// Everything that a checkpoint reads, writes and discards.
    pub checkpoint: ClassTag,
    /// Everything before the store is open.
    pub restart: ClassTag,
}

/// Settings of one store. All may differ from one life to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// When a transaction is answered. Default `log-only` (checkpoint.md 12).
    pub log_mode: LogMode,
    /// Where images go from the next checkpoint interval on.
    pub protection: Protection,
    /// How images are stored, in the log and in the recovery area. Default skip-garbage (checkpoint.md 7.5).
    pub compression: Compression,
    /// How updates are slowed down. Default is Loadline's own.
    pub throttle: throttle::ThrottlePolicy,
    /// Order of a checkpoint's page writes.
    pub write_order: WriteOrder,
    /// Memory for pages. Default 1 GiB.
    pub cache: Bytes,
    /// Memory for old versions of pages; zero chooses by checkpoint.md 3.5.
    pub old_versions: Bytes,
    /// Time between two checkpoints' starts. Default 180 s (checkpoint.md 5).
    pub checkpoint_interval: Span,
    /// A checkpoint starts when this share of the cache is dirty, in percent. The cap, at which updates wait, is 75
    /// (checkpoint.md 3.4); starting at half leaves room for the updates that come while it runs.
    pub dirty_trigger_percent: u8,
    /// A checkpoint starts when the log since the last one takes this share of the ring, in percent. Default 25
    /// (checkpoint.md 4.7).
    pub log_trigger_percent: u8,
    /// Each checkpoint's two triggers lie below those by up to so many percent of them, drawn by the store's identity. Stores that get the
    /// same updates would begin their checkpoints at one moment otherwise, and again and again slow their clients down together. Default none.
    pub trigger_spread_percent: u8,
    /// Requests of a checkpoint in flight. Default 4, as the threads of checkpoint.md 5.
    pub checkpoint_writes: u32,
    /// Mode `background`: time between flushes. Default 2 s (checkpoint.md 4.5).
    pub log_flush_interval: Span,
    /// Mode `log-only`: how long a record may stay unflushed. Mode `fsync`: how long the log's witness may lack one. Default 500 ms
    /// (checkpoint.md 4.5).
    pub log_sync_interval: Span,
    /// Mode `fsync`: the longest time that a group waits for more commits. The wait itself follows what the last groups
    /// brought and never exceeds an eighth of a flush.
    pub gather_max: Span,
    /// Writes of at least this many whole pages go straight to fresh space. Default 64 KiB of them.
    pub direct_write: Bytes,
    /// Writes of at least this many bytes of whole pages do so too, where the device has plenty of free pages, other updates are on their way, and this one is
    /// answered no sooner than the device has its record. Default as large as `direct_write`, which is no others: on a disk with an arm the log is where small
    /// writes are quick.
    pub placed_write: Bytes,
    /// Classes of requests without an op.
    pub classes: Classes,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            log_mode: LogMode::LogOnly,
            protection: Protection::Checkpoint,
            compression: Compression::SkipGarbage,
            throttle: throttle::ThrottlePolicy::Paced,
            write_order: WriteOrder::Sequential,
            cache: Bytes::from_mib(1024),
            old_versions: Bytes::ZERO,
            checkpoint_interval: Span::from_millis(180_000),
            dirty_trigger_percent: 50,
            log_trigger_percent: 25,
            trigger_spread_percent: 0,
            checkpoint_writes: 4,
            log_flush_interval: Span::from_millis(2000),
            log_sync_interval: Span::from_millis(500),
            gather_max: Span::from_micros(200),
            direct_write: Bytes::from_kib(64),
            placed_write: Bytes::from_kib(64),
            classes: Classes { log: ClassTag(1), checkpoint: ClassTag(3), restart: ClassTag(0) },
        }
    }
}

impl Options {
    /// Whether writes that are not large may go to fresh space.
    pub(crate) fn places_small(&self) -> bool {
        self.placed_write < self.direct_write
    }

    /// Memory for old versions: what is set, or by checkpoint.md 3.5 from the cache: a quarter of it, at most 5 GiB under
    /// `checkpoint` protection and 2 GiB under `log`; below 1 GiB of cache, 256 MiB or the cache itself.
    pub fn old_versions_bytes(&self) -> Bytes {
        let cache = self.cache.get();
        if self.old_versions > Bytes::ZERO {
            self.old_versions
        } else if cache < 1 << 30 {
            Bytes::new(cache.min(256 << 20))
        } else {
            let ceiling =
                if self.protection == Protection::Checkpoint { 5u64 << 30 } else { 2 << 30 };
            Bytes::new((cache / 4).min(ceiling))
        }
    }
}

impl Protection {
    /// Its number on disk.
    pub const fn number(self) -> u8 {
        match self {
            Protection::Log => 0,
            Protection::Checkpoint => 1,
        }
    }

    /// The protection with this number.
    pub const fn from_number(number: u8) -> Option<Protection> {
        match number {
            0 => Some(Protection::Log),
            1 => Some(Protection::Checkpoint),
            _ => None,
        }
    }
}

impl LogMode {
    /// All modes, the most careful first.
    pub const ALL: [LogMode; 4] =
        [LogMode::Fsync, LogMode::LogOnly, LogMode::Background, LogMode::None];
}

impl fmt::Display for LogMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LogMode::Fsync => "fsync",
            LogMode::LogOnly => "log-only",
            LogMode::Background => "background",
            LogMode::None => "none",
        })
    }
}

impl FromStr for LogMode {
    type Err = ParseWordError;

    fn from_str(text: &str) -> Result<LogMode, ParseWordError> {
        let wanted = "`fsync`, `log-only`, `background` or `none`";
        let found = LogMode::ALL.into_iter().find(|mode| mode.to_string() == text);
        found.ok_or(ParseWordError { wanted })
    }
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Protection::Log => "log",
            Protection::Checkpoint => "checkpoint",
        })
    }
}

impl FromStr for Protection {
    type Err = ParseWordError;

    fn from_str(text: &str) -> Result<Protection, ParseWordError> {
        match text {
            "log" => Ok(Protection::Log),
            "checkpoint" => Ok(Protection::Checkpoint),
            _ => Err(ParseWordError { wanted: "`log` or `checkpoint`" }),
        }
    }
}
