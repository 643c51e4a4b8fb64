//! What `--set` can change of the clients' load, the same for every study that has clients on an image.

use crate::overrides::{StudyKey, key, parse, put};
use loadline_load::{Block, LoadSpec};

/// A study file with a load of its own.
pub(crate) trait HasLoad {
    /// It, to change. A file is plain data and owns nothing, so this is no method.
    fn load_of(file: &mut Self) -> &mut LoadSpec;
}

/// Ops in flight.
pub(crate) const fn depth<F: HasLoad>() -> StudyKey<F> {
    key("depth", "client ops in flight", |file, text| {
        F::load_of(file).depth = Some(parse(text)?);
        Ok(())
    })
}

/// Ops per second.
pub(crate) const fn rate<F: HasLoad>() -> StudyKey<F> {
    key("rate", "client ops per second: an open loop", |file, text| {
        F::load_of(file).rate = Some(parse(text)?);
        Ok(())
    })
}

/// Size of an op.
pub(crate) const fn block<F: HasLoad>() -> StudyKey<F> {
    key("block", "size of a client op", |file, text| {
        F::load_of(file).block = vec![Block { size: parse(text)?, weight: 1 }];
        Ok(())
    })
}

/// Share of reads.
pub(crate) const fn reads<F: HasLoad>() -> StudyKey<F> {
    key("reads", "share of client ops that read", |file, text| {
        put(&mut F::load_of(file).reads, text)
    })
}

/// Size of the image.
pub(crate) const fn image<F: HasLoad>() -> StudyKey<F> {
    key("image", "size of the clients' image", |file, text| put(&mut F::load_of(file).image, text))
}
