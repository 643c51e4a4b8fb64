//! What a throttle is told of the store, and what all of them hold to.

use loadline_base::Span;

/// The longest sleep. The published back-off has no limit (11.3) and the published clean-page formulas none either; a
/// sleep without one can outlast its reason by hours (checkpoint.md 16.15).
pub const SLEEP_MAX: Span = Span::from_secs(1);

/// How far a checkpoint is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CheckpointPhase {
    /// None runs.
    #[default]
    Idle,
    /// The instant is past; the log is being flushed and the pages are being sorted.
    Preparing,
    /// Images are being written. No old version is given back.
    Images,
    /// Pages are being written to their places. Old versions are given back.
    Pages,
    /// All pages are written; they are being made durable.
    Syncing,
}

/// What presses on a store at one moment. All counts are of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// How far the checkpoint is.
    pub phase: CheckpointPhase,
    /// Whether it writes images before the pages.
    pub with_images: bool,
    /// Images written.
    pub images_written: u64,
    /// Pages written to their places.
    pub pages_written: u64,
    /// Pages durable in their places.
    pub pages_synced: u64,
    /// Pages written early, to make room in the cache.
    pub pages_evicted: u64,
    /// Pages of the checkpoint.
    pub pages_total: u64,
    /// Slots of the old versions' buffer that are taken.
    pub buffer_used: u64,
    /// Slots of that buffer.
    pub buffer_slots: u64,
    /// Pages made dirty since the checkpoint's instant.
    pub dirty: u64,
    /// Frames of the page cache.
    pub frames: u64,
    /// Clients that have made a page dirty during this checkpoint.
    pub updaters: u64,
    /// Bytes that the log has room for until the checkpoint gives some back.
    pub log_room: u64,
}

impl Pressure {
    /// The share of the buffer that is taken.
    pub(super) fn fill(&self) -> f64 {
        self.buffer_used as f64 / self.buffer_slots.max(1) as f64
    }

    /// The share of the cache that is dirty.
    pub(super) fn dirty_share(&self) -> f64 {
        self.dirty as f64 / self.frames.max(1) as f64
    }

    /// Whether a checkpoint runs whose pages are known.
    pub(super) fn has_pages(&self) -> bool {
        self.phase != CheckpointPhase::Idle && self.pages_total > 0
    }
}

/// The share of dirty pages at which updates stop until the next checkpoint (checkpoint.md 3.4).
pub(super) const DIRTY_MAX: f64 = 0.75;

/// What an update makes dirty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dirtied {
    /// Pages of the running checkpoint whose old version must be kept.
    pub in_checkpoint: u32,
    /// Other clean pages.
    pub clean: u32,
    /// Bytes that it takes of the log.
    pub log_bytes: u32,
}
