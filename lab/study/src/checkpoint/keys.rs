//! The figures of a checkpoint study that `--set` can change.

use super::file::CheckpointFile;
use crate::overrides::{StudyKey, key, parse, put, put_name};

/// The figures of a checkpoint study that `--set` can change.
pub const CHECKPOINT_KEYS: &[StudyKey<CheckpointFile>] = &[
    key(
        "scale",
        "size of keys, memory, log and period against the published node",
        |file, text| put(&mut file.work.scale, text),
    ),
    key("drive", "the drive under test", |file, text| put_name(&mut file.drive, text)),
    key("keys", "different keys", |file, text| put(&mut file.work.keys, text)),
    key("filled", "keys that are there at the start", |file, text| {
        put(&mut file.work.filled, text)
    }),
    key("period", "time between two checkpoints' starts", |file, text| {
        put(&mut file.work.period, text)
    }),
    key("warm_up", "periods before the measured ones", |file, text| {
        put(&mut file.work.warm_up, text)
    }),
    key("periods", "measured periods", |file, text| put(&mut file.work.periods, text)),
    key("cache", "memory for pages", |file, text| put(&mut file.store.cache, text)),
    key("old_versions", "memory for old versions of pages", |file, text| {
        put(&mut file.store.old_versions, text)
    }),
    key("log", "size of the log", |file, text| put(&mut file.store.log, text)),
    key("depth", "puts in flight", |file, text| {
        file.load.depth = Some(parse(text)?);
        Ok(())
    }),
    key("rate", "puts per second: an open loop", |file, text| {
        file.load.rate = Some(parse(text)?);
        Ok(())
    }),
    key("values", "what values look like", |file, text| put(&mut file.load.values, text)),
    key("preset", "behaviour of the scheduler", |file, text| put(&mut file.queue.preset, text)),
    key("profile", "profile of the scheduler", |file, text| put(&mut file.queue.profile, text)),
];
