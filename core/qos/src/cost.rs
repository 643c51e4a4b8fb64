//! From the bytes of a piece of work to the cost that mClock charges for it (qos.md 4).

use loadline_base::round;
use loadline_device::Medium;

/// The options of the first eras' cost model, in microseconds.
///
/// The values without a medium are used undivided for both media where they are not 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeCostOptions {
    /// `osd_mclock_cost_per_io_usec`
    pub per_io_usec: f64,
    /// `osd_mclock_cost_per_io_usec_hdd`
    pub per_io_usec_hdd: f64,
    /// `osd_mclock_cost_per_io_usec_ssd`
    pub per_io_usec_ssd: f64,
    /// `osd_mclock_cost_per_byte_usec`
    pub per_byte_usec: f64,
    /// `osd_mclock_cost_per_byte_usec_hdd`
    pub per_byte_usec_hdd: f64,
    /// `osd_mclock_cost_per_byte_usec_ssd`
    pub per_byte_usec_ssd: f64,
}

impl TimeCostOptions {
    /// E1a and E1b: up to about 17.2.5.
    pub const E1A: TimeCostOptions = TimeCostOptions {
        per_io_usec: 0.0,
        per_io_usec_hdd: 25_000.0,
        per_io_usec_ssd: 50.0,
        per_byte_usec: 0.0,
        per_byte_usec_hdd: 5.2,
        per_byte_usec_ssd: 0.011,
    };

    /// E1c: 17.2.6, whose HDD figures are about half.
    pub const E1C: TimeCostOptions =
        TimeCostOptions { per_io_usec_hdd: 11_400.0, per_byte_usec_hdd: 2.6, ..Self::E1A };
}

/// How a request's bytes and the cost of an operation become one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combine {
    /// Added up, as in 18.2.0: charges large writes twice.
    Sum,
    /// The larger one, as later.
    Max,
}

/// How a scrub reads its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScrubDepth {
    /// Metadata only.
    Shallow,
    /// All data.
    Deep,
}

/// A cost model, ready to scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CostModel {
    /// Mixed units: a duration in ms (SSD) or s (HDD), counted as operations.
    Time {
        /// Units per operation.
        per_io: f64,
        /// Units per byte.
        per_byte: f64,
    },
    /// Bytes.
    Bytes {
        /// Bytes that the device could stream in the time of one random operation.
        per_io: f64,
        /// How the two are combined.
        combine: Combine,
    },
}

impl CostModel {
    /// The first eras' model: the options divided by 1000 on SSD and by 1,000,000 on HDD (qos.md 4.1).
    pub fn time(options: &TimeCostOptions, medium: Medium) -> CostModel {
        let (divisor, io, byte) = match medium {
            Medium::Ssd => (1e3, options.per_io_usec_ssd, options.per_byte_usec_ssd),
            Medium::Hdd | Medium::Hybrid => {
                (1e6, options.per_io_usec_hdd, options.per_byte_usec_hdd)
            }
        };
        let choose = |common: f64, of_medium: f64| {
            if common == 0.0 { of_medium / divisor } else { common }
        };
        CostModel::Time {
            per_io: choose(options.per_io_usec, io),
            per_byte: choose(options.per_byte_usec, byte),
        }
    }

    /// The byte model from a device's sequential bandwidth (bytes/s) and random IOPS, both at least 1.
    pub fn bytes(sequential_bandwidth: f64, iops: f64, combine: Combine) -> CostModel {
        CostModel::Bytes { per_io: sequential_bandwidth.max(1.0) / iops.max(1.0), combine }
    }

    /// The cost of a request of this many bytes, at least 1; what exceeds 32 bits is charged the maximum.
    pub fn scaled(&self, bytes: u64) -> u32 {
        let cost = match *self {
            CostModel::Time { per_io, per_byte } => round(per_io + per_byte * bytes as f64),
            CostModel::Bytes { per_io, combine: Combine::Sum } => bytes.max(1) + per_io as u64,
            CostModel::Bytes { per_io, combine: Combine::Max } => bytes.max(per_io as u64),
        };
        u32::try_from(cost.max(1)).unwrap_or(u32::MAX)
    }

    /// The input cost of the event that finds a scrub chunk free, in the newest read of E2: an operation per
    /// object, and its data where the scrub is deep (qos.md 10.5). `None` in mixed units, where each event
    /// costs the same.
    pub fn scrub_chunk(
        &self,
        event_cost: u64,
        objects: u32,
        object_size_average: u64,
        depth: ScrubDepth,
    ) -> Option<u64> {
        let CostModel::Bytes { per_io, .. } = *self else { return None };
        let data = match depth {
            ScrubDepth::Shallow => 0.0,
            ScrubDepth::Deep => object_size_average as f64,
        };
        Some((event_cost as f64 + f64::from(objects) * (per_io + data)) as u64)
    }
}

#[cfg(test)]
#[path = "cost_tests.rs"]
mod tests;
