//! A load as a study file describes it.

use crate::pace::Arrivals;
use crate::quantity;
use loadline_base::Bytes;
use serde::Deserialize;
use std::fmt;

/// A load. With a `rate` it is an open loop, otherwise a closed loop at `depth`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// Ops in flight: always this many in a closed loop, at most this many in an open one.
    pub depth: Option<u32>,
    /// Ops per second of an open loop.
    pub rate: Option<f64>,
    /// How the ops of an open loop are spaced.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// Sizes of the ops.
    #[serde(deserialize_with = "blocks")]
    pub block: Vec<Block>,
    /// Share of the ops that read, 0 to 1; the rest write.
    #[serde(default)]
    pub reads: f64,
    /// Where the ops go.
    #[serde(default)]
    pub pattern: Pattern,
    /// Size of the image.
    #[serde(deserialize_with = "quantity::deserialize")]
    pub image: Bytes,
}

/// A block size and how often it is drawn, relative to the others.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Bytes of one op.
    #[serde(deserialize_with = "quantity::deserialize")]
    pub size: Bytes,
    /// Relative to the other blocks' weights.
    pub weight: u32,
}

/// The order of addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Uniform over the image, aligned to the block.
    #[default]
    Random,
    /// From the start of the image to its end, and again.
    Sequential,
}

/// A field that makes no sense, and what would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecProblem {
    /// The field's name.
    pub field: &'static str,
    /// What it must be.
    pub wanted: String,
}

/// The sentence after the place: "`depth` must be from 1 to 100000".
impl fmt::Display for SpecProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` must be {}", self.field, self.wanted)
    }
}

/// One size as text, or a list of weighted ones.
fn blocks<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Block>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a size such as `4 KiB`, or a list of `{ size, weight }`")]
    enum Typed {
        One(#[serde(deserialize_with = "quantity::deserialize")] Bytes),
        Several(Vec<Block>),
    }
    Ok(match Typed::deserialize(deserializer)? {
        Typed::One(size) => vec![Block { size, weight: 1 }],
        Typed::Several(blocks) => blocks,
    })
}

/// Each op in flight has a place in memory, and no machine under test would have so many.
const DEPTHS: std::ops::RangeInclusive<u32> = 1..=100_000;

/// Ops that an open loop without a depth has under way at most: each has a place in memory, some hundred bytes. The others wait at the client, and their latency
/// counts from when they should have begun all the same.
pub(crate) const UNDER_WAY_MAX: u32 = 1_000_000;

/// Objects of an image: a simulated one takes some 16 bytes for each, a quarter of a GiB in all.
const OBJECTS_MAX: u64 = 1 << 24;

/// Whether a load of this rate, closed without one, may have this depth.
pub(crate) fn check_depth(rate: Option<f64>, depth: Option<u32>) -> Result<(), SpecProblem> {
    let problem = |wanted: &str| Err(SpecProblem { field: "depth", wanted: wanted.to_owned() });
    if rate.is_none() && depth.is_none() {
        return problem("set for a closed loop, unless `rate` asks for an open one");
    }
    match depth.is_some_and(|depth| !DEPTHS.contains(&depth)) {
        true => problem("from 1 to 100000"),
        false => Ok(()),
    }
}

impl LoadSpec {
    /// Bytes of an op, by expectation over the sizes.
    pub fn mean_block_bytes(&self) -> f64 {
        let sum = |part: fn(&Block) -> f64| self.block.iter().map(part).sum::<f64>();
        let weights = sum(|block| f64::from(block.weight));
        sum(|block| f64::from(block.weight) * block.size.get() as f64) / weights
    }

    /// Whether the load can run on an image of objects of `object_bytes`.
    ///
    /// # Errors
    /// [`SpecProblem`] with the first field that makes no sense.
    pub fn check(&self, object_bytes: Bytes) -> Result<(), SpecProblem> {
        let problem = |field, wanted: &str| Err(SpecProblem { field, wanted: wanted.to_owned() });
        let fits = |block: &Block| {
            block.size > Bytes::ZERO && object_bytes.get().is_multiple_of(block.size.get())
        };
        check_depth(self.rate, self.depth)?;
        if self.rate.is_some_and(|rate| !(rate > 0.0 && rate <= 1e9)) {
            return problem("rate", "more than 0 and at most 1e9 ops per second");
        }
        if !(0.0..=1.0).contains(&self.reads) {
            return problem("reads", "a share from 0 to 1");
        }
        if !self.block.iter().all(fits) {
            let wanted = format!("sizes that divide the image's objects of {object_bytes}");
            return Err(SpecProblem { field: "block", wanted });
        }
        if self.block.iter().map(|block| u64::from(block.weight)).sum::<u64>() == 0 {
            return problem("block", "a list in which some weight is more than 0");
        }
        if self.image < object_bytes || !self.image.get().is_multiple_of(object_bytes.get()) {
            let wanted = format!("a whole number of objects of {object_bytes}");
            return Err(SpecProblem { field: "image", wanted });
        }
        if self.image.get() / object_bytes.get() > OBJECTS_MAX {
            let wanted = format!("at most {OBJECTS_MAX} objects of {object_bytes}");
            return Err(SpecProblem { field: "image", wanted });
        }
        Ok(())
    }
}

/// The load in words, for captions: `4 KiB random writes, closed loop at depth 64`.
impl fmt::Display for LoadSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.block.iter().map(|block| block.size.to_string()).collect();
        let pattern = match self.pattern {
            Pattern::Random => "random",
            Pattern::Sequential => "sequential",
        };
        write!(f, "{} {pattern} ", sizes.join("/"))?;
        match self.reads {
            0.0 => write!(f, "writes")?,
            1.0 => write!(f, "reads")?,
            share => write!(f, "ops ({:.0} % reads)", share * 100.0)?,
        }
        match (self.rate, self.depth) {
            (Some(rate), None) => write!(f, ", open loop at {rate} ops/s ({})", self.arrivals),
            (Some(rate), Some(depth)) => {
                write!(
                    f,
                    ", open loop at {rate} ops/s ({}), at most {depth} in flight",
                    self.arrivals
                )
            }
            (None, depth) => write!(f, ", closed loop at depth {}", depth.unwrap_or(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> LoadSpec {
        toml::from_str(text).expect("the text is a load")
    }

    #[test]
    fn loads_read_and_say_what_they_are() {
        let check = |text: &str, words: &str| {
            let spec = read(text);
            assert_eq!(spec.check(Bytes::from_mib(4)), Ok(()));
            assert_eq!(spec.to_string(), words);
        };
        check(
            "depth = 64\nblock = '4 KiB'\nimage = '1 GiB'",
            "4 KiB random writes, closed loop at depth 64",
        );
        check(
            "rate = 500.0\nreads = 0.7\nimage = '4 MiB'\npattern = 'sequential'\n\
             block = [{ size = '4 KiB', weight = 3 }, { size = '64 KiB', weight = 1 }]",
            "4 KiB/64 KiB sequential ops (70 % reads), open loop at 500 ops/s (Poisson)",
        );
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let check = |text: &str, field: &str| {
            let problem = read(text).check(Bytes::from_mib(4)).expect_err("the load is bad");
            assert_eq!(problem.field, field, "{problem:?}");
        };
        check("block = '4 KiB'\nimage = '1 GiB'", "depth");
        check("depth = 0\nblock = '4 KiB'\nimage = '1 GiB'", "depth");
        check("rate = 0.0\nblock = '4 KiB'\nimage = '1 GiB'", "rate");
        check("rate = 1.1e9\nblock = '4 KiB'\nimage = '1 GiB'", "rate");
        check("depth = 1\nreads = 1.5\nblock = '4 KiB'\nimage = '1 GiB'", "reads");
        check("depth = 1\nblock = '3 KiB'\nimage = '1 GiB'", "block");
        check("depth = 1\nblock = []\nimage = '1 GiB'", "block");
        check("depth = 1\nblock = '4 KiB'\nimage = '6 MiB'", "image");
        check("depth = 1\nblock = '4 KiB'\nimage = '0'", "image");
        check("depth = 1\nblock = '4 KiB'\nimage = '1000 TiB'", "image");
    }

    /// Three of four ops have 4 KiB and one has 64 KiB: 19 KiB.
    #[test]
    fn a_mean_size_goes_by_the_weights() {
        let spec = read(
            "depth = 1\nimage = '4 MiB'\n\
             block = [{ size = '4 KiB', weight = 3 }, { size = '64 KiB', weight = 1 }]",
        );
        assert_eq!(spec.mean_block_bytes(), 19.0 * 1024.0);
    }
}
