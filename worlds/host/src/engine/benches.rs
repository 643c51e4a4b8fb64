//! What is known of the benchmark under way.

use super::admin::Ticket;
use loadline_base::Span;
use loadline_osd::{BenchShape, BenchStep, OsdId};
use std::collections::BTreeMap;

/// A benchmark that was asked for, rather than one of the start.
#[derive(Debug)]
pub(super) struct OnRequest {
    pub(super) ticket: Ticket,
    pub(super) store: bool,
}

/// An OSD that takes part.
#[derive(Debug)]
pub(super) struct BenchPart {
    pub(super) shape: BenchShape,
    /// The step is still to end here.
    pub(super) waits: bool,
    /// How long its last step took, the removal aside, or why it did not end; `None` before the first.
    pub(super) took: Option<Result<Span, &'static str>>,
}

/// A benchmark under way.
#[derive(Debug)]
pub(super) struct RunningBench {
    pub(super) step: BenchStep,
    pub(super) parts: BTreeMap<OsdId, BenchPart>,
    pub(super) asked: Option<OnRequest>,
}

/// The benchmark under way, if there is one.
#[derive(Debug, Default)]
pub(super) struct Benches {
    pub(super) running: Option<RunningBench>,
}

impl Benches {
    pub(super) fn is_idle(&self) -> bool {
        self.running.is_none()
    }
}
