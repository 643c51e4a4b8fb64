//! The figures of a limits study: what each is called, its unit, its formula, and how it is compared.

use loadline_study::{LimitsSetupResult, StreamRepeat, StreamResult};

/// A figure of one setup.
#[derive(Clone, Copy)]
pub(super) struct Figure {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) formula: &'static str,
    whose: Whose,
    of: fn(&StreamResult) -> f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Whose {
    Client,
    Background,
}

const MEAN: &str = "sum of latencies / operations, from submission to completion at the client";
const BACKGROUND: &str = "the same of the background operations";

const fn client(
    name: &'static str,
    unit: &'static str,
    formula: &'static str,
    of: fn(&StreamResult) -> f64,
) -> Figure {
    Figure { name, unit, formula, whose: Whose::Client, of }
}

const fn background(
    name: &'static str,
    unit: &'static str,
    of: fn(&StreamResult) -> f64,
) -> Figure {
    Figure { name, unit, formula: BACKGROUND, whose: Whose::Background, of }
}

pub(super) const IOPS: Figure =
    client("client", "IOPS", "client operations completed / measured time", |s| s.iops);
pub(super) const CLAT_MEAN: Figure = client("mean", "ms", MEAN, |s| s.clat_ms.mean);
pub(super) const P99: Figure = client("p99", "ms", "the same for 99 %", |s| s.clat_ms.p99);
pub(super) const BACKGROUND_RATE: Figure = Figure {
    formula: "bytes of background operations completed / measured time",
    ..background("background", "MiB/s", |s| s.mib_per_s)
};

/// Every figure, in the order of the tables.
pub(super) const FIGURES: [Figure; 12] = [
    IOPS,
    client("client", "MiB/s", "bytes of these / measured time", |s| s.mib_per_s),
    CLAT_MEAN,
    client(
        "p50",
        "ms",
        "the smallest latency that at least half of the operations stayed at or below",
        |s| s.clat_ms.p50,
    ),
    client("p95", "ms", "the same for 95 %", |s| s.clat_ms.p95),
    P99,
    client("p99.9", "ms", "the same for 99.9 %", |s| s.clat_ms.p99_9),
    client("longest", "ms", "the slowest operation", |s| s.clat_ms.max),
    BACKGROUND_RATE,
    background("background", "IOPS", |s| s.iops),
    background("background mean", "ms", |s| s.clat_ms.mean),
    background("background p99", "ms", |s| s.clat_ms.p99),
];

impl Figure {
    /// Its value, the mean over the repeats.
    pub(super) fn value(&self, setup: &LimitsSetupResult) -> f64 {
        (self.of)(if self.whose == Whose::Client { &setup.client } else { &setup.background })
    }

    /// Its value in each repeat.
    pub(super) fn repeats(&self, setup: &LimitsSetupResult) -> Vec<f64> {
        let stream = |repeat: &StreamRepeat| match self.whose {
            Whose::Client => repeat.client,
            Whose::Background => repeat.background,
        };
        setup.repeats.iter().map(|repeat| (self.of)(&stream(repeat))).collect()
    }
}
