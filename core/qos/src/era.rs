//! The eras of the published scheduler, which differ in units, costs and classes (qos.md 0.2).

/// A span of Ceph releases that share one behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// Spring 2021: the recovery study's build and Pacific's back-ports.
    E1a,
    /// 17.2.0 to about 17.2.5.
    E1b,
    /// 17.2.6: cheaper HDD costs, lower admission limits.
    E1c,
    /// 18.2.0 and 17.2.7 onward: costs in bytes, parameters as fractions.
    E2,
    /// The refinements from 2023 on.
    E2Plus,
}

/// What one unit of cost stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CostUnit {
    /// A duration (ms on SSD, s on HDD) that is counted as if it were one operation: the first eras' mix.
    Mixed,
    /// A byte; an operation counts as the bytes that the device could have streamed instead.
    Bytes,
}

impl Era {
    /// Every era, oldest first.
    pub const ALL: [Era; 5] = [Era::E1a, Era::E1b, Era::E1c, Era::E2, Era::E2Plus];

    /// The unit of costs and rates.
    pub const fn unit(self) -> CostUnit {
        match self {
            Era::E1a | Era::E1b | Era::E1c => CostUnit::Mixed,
            Era::E2 | Era::E2Plus => CostUnit::Bytes,
        }
    }
}
