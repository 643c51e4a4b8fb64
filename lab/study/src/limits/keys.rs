//! The figures of a limits study that `--set` can change.

use super::file::LimitsFile;
use crate::overrides::{StudyKey, key, parse, put, put_name};
use loadline_load::Block;

/// The figures of a limits study that `--set` can change. Every option of an OSD can be set beside them.
pub const LIMITS_KEYS: &[StudyKey<LimitsFile>] = &[
    key("drive", "the drive under test", |file, text| put_name(&mut file.drive, text)),
    key("ramp", "time before it is measured", |file, text| put(&mut file.steps.ramp, text)),
    key("measured", "time that is measured", |file, text| put(&mut file.steps.measured, text)),
    key("window", "requests at the drive before work waits in the OSD's queue", |file, text| {
        put(&mut file.steps.window, text)
    }),
    key("depth", "client reads in flight", |file, text| {
        file.client.depth = Some(parse(text)?);
        Ok(())
    }),
    key("rate", "client reads per second: an open loop", |file, text| {
        file.client.rate = Some(parse(text)?);
        Ok(())
    }),
    key("block", "size of a client's read", |file, text| {
        file.client.block = vec![Block { size: parse(text)?, weight: 1 }];
        Ok(())
    }),
    key("background_depth", "background reads in flight", |file, text| {
        file.background.depth = Some(parse(text)?);
        Ok(())
    }),
    key("background_rate", "background reads per second: an open loop", |file, text| {
        file.background.rate = Some(parse(text)?);
        Ok(())
    }),
    key("background_block", "size of a background read", |file, text| {
        file.background.block = vec![Block { size: parse(text)?, weight: 1 }];
        Ok(())
    }),
];
