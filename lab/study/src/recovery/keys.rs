//! The figures of a recovery study that `--set` can change.

use super::file::StudyFile;
use crate::overrides::{StudyKey, key, parse, put, put_name};

/// The figures of a study that `--set` can change. Every option of an OSD can be set beside them.
pub const STUDY_KEYS: &[StudyKey<StudyFile>] = &[
    key("scale", "share of the published amount of work", |_, _| Ok(())),
    key("drive", "the drive under test", |file, text| put_name(&mut file.drive, text)),
    key("osds", "OSDs, one drive each", |file, text| put(&mut file.cluster.osds, text)),
    key("copies", "copies of each object", |file, text| put(&mut file.cluster.copies, text)),
    key("objects", "objects written while an OSD is away", |file, text| {
        put(&mut file.recovery.objects, text)
    }),
    key("object_size", "size of each", |file, text| put(&mut file.recovery.object_size, text)),
    key("baseline", "length of the run without recovery", |file, text| {
        put(&mut file.recovery.baseline, text)
    }),
    key("depth", "client ops in flight", |file, text| {
        file.load.depth = Some(parse(text)?);
        Ok(())
    }),
    key("rate", "client ops per second: an open loop", |file, text| {
        file.load.rate = Some(parse(text)?);
        Ok(())
    }),
    key("block", "size of a client op", |file, text| {
        file.load.block = vec![loadline_load::Block { size: parse(text)?, weight: 1 }];
        Ok(())
    }),
    key("reads", "share of client ops that read", |file, text| put(&mut file.load.reads, text)),
    key("image", "size of the clients' image", |file, text| put(&mut file.load.image, text)),
    key("variant_scale", "scale of the runs without the software stage", |file, text| {
        put(&mut file.companions.variant_scale, text)
    }),
    key("spread_placements", "how many other placements are tried", |file, text| {
        put(&mut file.companions.spread_placements, text)
    }),
    key("spread_scale", "scale of the runs over other placements", |file, text| {
        put(&mut file.companions.spread_scale, text)
    }),
];
