//! Checkpoint studies: what a store's checkpoints cost its clients, under both protections (checkpoint.md 14).
//!
//! One published server node is modelled, smaller by the study's scale: keys, memory, log and the checkpoint's period
//! shrink together, rates and speeds stay. So the ratios of pages to updates and of checkpoint time to period stay too.

mod conclude;
mod drive;
mod figure;
mod file;
mod keys;
mod published;
mod record;
mod run;
mod study;
mod summary;

pub use drive::StoreDrive;
pub use figure::CheckpointFigure;
pub use keys::CHECKPOINT_KEYS;
pub use published::{Comparison, PublishedCheckpointSet};
pub use record::{
    CheckpointPoint, CheckpointRecord, CheckpointResult, CheckpointSeries, CheckpointSetupResult,
    ComparedRatio, Durations, PutResult, StoreFigures,
};
pub use study::{CheckpointSetup, CheckpointStudy, CheckpointWork, StoreShape};
pub use summary::checkpoint_json;
