//! The one processor that an OSD's ops share.

use super::workload::StoreIssue;
use loadline_base::{Span, Time};
use loadline_store::paged::metrics::Totals;

/// What work costs the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorCosts {
    /// Each op.
    pub op: Span,
    /// Each image or edit list that an op leaves in the log, per KiB of them.
    pub physical_log_kib: Span,
}

/// Carries out one op at a time.
pub(super) struct Processor {
    costs: ProcessorCosts,
    busy_until: Time,
    op: Option<StoreIssue>,
}

impl Processor {
    pub(super) fn new(costs: ProcessorCosts) -> Processor {
        Processor { costs, busy_until: Time::ZERO, op: None }
    }

    pub(super) fn is_idle(&self, now: Time) -> bool {
        self.op.is_none() && self.busy_until <= now
    }

    pub(super) fn begin(&mut self, now: Time, op: StoreIssue) {
        assert!(self.is_idle(now), "one op at a time");
        self.busy_until = now + self.costs.op;
        self.op = Some(op);
    }

    /// When it is free, if it is busy.
    pub(super) fn next_done(&self, now: Time) -> Option<Time> {
        (!self.is_idle(now)).then_some(self.busy_until)
    }

    /// The op that it has worked on, once it is done.
    pub(super) fn take_done(&mut self, now: Time) -> Option<StoreIssue> {
        if self.busy_until > now {
            return None;
        }
        self.op.take()
    }

    /// Adds what an op has cost beyond the usual.
    pub(super) fn charge(&mut self, now: Time, before: &Totals, after: &Totals) {
        let bytes = after.log_physical_bytes - before.log_physical_bytes;
        self.busy_until = now + self.costs.physical_log_kib * bytes / 1024;
    }
}
