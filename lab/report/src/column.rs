//! The columns of the result table, declared once for the terminal, the page and the charts.

use loadline_draw::number;
use loadline_study::{ClientResult, Figure, Published, RecoveryResult, RepeatResult, SetupResult};

/// One figure of a setup: how to find ours and the published one, and how to print both.
pub(crate) struct Column {
    /// Column head with its unit in `unit`.
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    /// The formula, for the glossary.
    pub(crate) formula: &'static str,
    pick: Pick,
    published: fn(&Published) -> Option<&Figure>,
    pub(crate) print: fn(f64) -> String,
}

/// Where a figure stands in a result.
enum Pick {
    Client(fn(&ClientResult) -> f64),
    Recovery(fn(&RecoveryResult) -> f64),
    ShareOfBaseline,
}

impl Column {
    /// What an axis for this figure is called.
    pub(crate) fn axis(&self) -> &'static str {
        if self.unit == "time" { "seconds" } else { self.unit }
    }

    /// Our figure, where the setup has it.
    pub(crate) fn ours(&self, setup: &SetupResult) -> Option<f64> {
        match self.pick {
            Pick::Client(of) => Some(of(&setup.client)),
            Pick::Recovery(of) => setup.recovery.as_ref().map(of),
            Pick::ShareOfBaseline => setup.share_of_baseline,
        }
    }

    /// Our figure in every repeat; empty where repeats do not carry it.
    pub(crate) fn repeats(&self, repeats: &[RepeatResult]) -> Vec<f64> {
        let of = |repeat: &RepeatResult| match self.pick {
            Pick::Client(of) => Some(of(&repeat.client)),
            Pick::Recovery(of) => repeat.recovery.as_ref().map(of),
            Pick::ShareOfBaseline => None,
        };
        repeats.iter().filter_map(of).collect()
    }

    /// The published figure, where it exists.
    pub(crate) fn published<'a>(&self, setup: &'a SetupResult) -> Option<&'a Figure> {
        setup.published.as_ref().and_then(self.published)
    }
}

pub(crate) const IOPS: Column = Column {
    name: "client",
    unit: "IOPS",
    formula: "client operations completed in the measured window / length of the window",
    pick: Pick::Client(|client| client.iops),
    published: |published| published.client.iops.as_ref(),
    print: number::plain,
};

const SHARE: Column = Column {
    name: "share of",
    unit: "baseline",
    formula: "client IOPS of the setup / client IOPS of the baseline",
    pick: Pick::ShareOfBaseline,
    published: |_| None,
    print: number::percent,
};

pub(crate) const CLAT_MEAN: Column = Column {
    name: "mean",
    unit: "ms",
    formula: "sum of completion latencies / client operations completed; closed loop: from \
              submission to completion, open loop: from the intended start to completion",
    pick: Pick::Client(|client| client.clat_ms.mean),
    published: |published| published.client.clat_ms.mean.as_ref(),
    print: number::plain,
};

const CLAT_P95: Column = Column {
    name: "p95",
    unit: "ms",
    formula: "the smallest latency that at least 95 % of the client operations stayed at or below",
    pick: Pick::Client(|client| client.clat_ms.p95),
    published: |published| published.client.clat_ms.p95.as_ref(),
    print: number::plain,
};

const CLAT_P99: Column = Column {
    name: "p99",
    unit: "ms",
    formula: "the same for 99 %",
    pick: Pick::Client(|client| client.clat_ms.p99),
    published: |published| published.client.clat_ms.p99.as_ref(),
    print: number::plain,
};

const CLAT_P99_5: Column = Column {
    name: "p99.5",
    unit: "ms",
    formula: "the same for 99.5 %",
    pick: Pick::Client(|client| client.clat_ms.p99_5),
    published: |published| published.client.clat_ms.p99_5.as_ref(),
    print: number::plain,
};

pub(crate) const OBJECTS_PER_S: Column = Column {
    name: "recovery",
    unit: "objects/s",
    formula: "(misplaced objects at the start − misplaced objects at the end) / recovery time",
    pick: Pick::Recovery(|recovery| recovery.objects_per_s),
    published: |published| published.recovery.objects_per_s.as_ref(),
    print: number::plain,
};

const MIB_PER_S: Column = Column {
    name: "recovery",
    unit: "MiB/s",
    formula: "objects per second × object size",
    pick: Pick::Recovery(|recovery| recovery.mib_per_s),
    published: |published| published.recovery.mib_per_s.as_ref(),
    print: number::plain,
};

pub(crate) const SECONDS: Column = Column {
    name: "recovery",
    unit: "time",
    formula: "from marking the OSD up and in until no object is misplaced",
    pick: Pick::Recovery(|recovery| recovery.seconds),
    published: |published| published.recovery.seconds.as_ref(),
    print: number::seconds,
};

/// The table's columns, left to right.
pub(crate) const COLUMNS: [Column; 9] =
    [IOPS, SHARE, CLAT_MEAN, CLAT_P95, CLAT_P99, CLAT_P99_5, OBJECTS_PER_S, MIB_PER_S, SECONDS];
