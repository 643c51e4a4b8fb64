//! Watches: somebody wants to know what the ops of an image wait for. Its ops that end while a watch lasts are summed up by the
//! reason of their longest wait; without a watch nothing is.

use super::admin::Ticket;
use super::op_trace::OpTrace;
use crate::ConnId;
use crate::admin::api::{ReasonShare, StageShare, WaitFigures};
use loadline_base::{Span, Time};
use loadline_cluster::IssuedOp;
use loadline_cluster::images::ImageId;
use loadline_osd::{OpId, OpWait, OsdId, Reply, TraceSpan, WaitHistogram};
use std::collections::BTreeMap;

/// The stages of an op that has ended, in their order.
const STAGES: [&str; 6] = ["before", "queue", "worker", "store", "replicas", "loop"];
/// Reasons that are told; those behind them took the least time.
const REASONS_MAX: usize = 20;

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Watches {
    under_way: Vec<ImageWatch>,
    /// What the client in this process wants to see op by op.
    direct: Option<OpTrace>,
}

/// One.
#[derive(Debug)]
pub(super) struct ImageWatch {
    pub ticket: Ticket,
    pub image: ImageId,
    pub name: String,
    pub since: Time,
    pub until: Time,
    pub seen: ImageSeen,
    pub trace: OpTrace,
}

/// What a watch has seen.
#[derive(Debug, Default)]
pub(super) struct ImageSeen {
    took: WaitHistogram,
    stages: [Span; STAGES.len()],
    reasons: BTreeMap<ReasonKey, ReasonSum>,
}

/// Waits that are one for whoever looks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ReasonKey {
    stage: &'static str,
    osd: Option<OsdId>,
    reason: String,
}

#[derive(Clone, Copy, Debug, Default)]
struct ReasonSum {
    ops: u64,
    sum: Span,
    longest: Span,
}

impl ImageSeen {
    fn ended(&mut self, issued: &IssuedOp, reply: &Reply) {
        let stamps = [
            issued.issued,
            reply.admitted,
            reply.dequeued,
            reply.executed,
            reply.committed,
            reply.replied,
            reply.answered,
        ];
        for (sum, stage) in self.stages.iter_mut().zip(stamps.windows(2)) {
            *sum += stage[1].since(stage[0]);
        }
        self.took.record(reply.answered.since(issued.issued));
        let wait = OpWait::longest(issued.issued, reply);
        self.waited(wait.stage(), wait.osd(), wait.summary(), wait.span());
    }

    /// An op has waited so long for this.
    pub(super) fn waited(
        &mut self,
        stage: &'static str,
        osd: Option<OsdId>,
        reason: String,
        span: Span,
    ) {
        let sum = self.reasons.entry(ReasonKey { stage, osd, reason }).or_default();
        sum.ops += 1;
        sum.sum += span;
        sum.longest = sum.longest.max(span);
    }

    /// The time of the ops that have ended.
    pub(super) fn time(&self) -> Span {
        self.stages.iter().fold(Span::ZERO, |sum, stage| sum + *stage)
    }

    /// How many have ended.
    pub(super) fn ops(&self) -> u64 {
        self.took.count()
    }

    /// How long they took.
    pub(super) fn took(&self) -> WaitFigures {
        WaitFigures {
            mean_ns: self.took.mean().nanos(),
            p50_ns: self.took.quantile(0.5).nanos(),
            p99_ns: self.took.quantile(0.99).nanos(),
            max_ns: self.took.max().nanos(),
        }
    }

    /// Where their time went.
    pub(super) fn stage_shares(&self) -> Vec<StageShare> {
        let all = self.time();
        let share = |(stage, sum): (&str, &Span)| StageShare {
            stage: stage.to_owned(),
            mean_ns: sum.nanos().checked_div(self.ops()).unwrap_or(0),
            share: part(*sum, all),
        };
        STAGES.into_iter().zip(&self.stages).map(share).collect()
    }

    /// Reasons by the time that they took, and that of all ops together.
    pub(super) fn shares(&self, all: Span) -> Vec<ReasonShare> {
        let share = |(key, sum): (&ReasonKey, &ReasonSum)| ReasonShare {
            stage: key.stage.to_owned(),
            osd: key.osd.map(OsdId::get),
            reason: key.reason.clone(),
            ops: sum.ops,
            share: part(sum.sum, all),
            mean_ns: sum.sum.nanos() / sum.ops,
            max_ns: sum.longest.nanos(),
        };
        let mut shares: Vec<ReasonShare> = self.reasons.iter().map(share).collect();
        shares.sort_by(|one, other| other.share.total_cmp(&one.share));
        shares.truncate(REASONS_MAX);
        shares
    }
}

fn part(of: Span, all: Span) -> f64 {
    if all == Span::ZERO { 0.0 } else { of.as_secs_f64() / all.as_secs_f64() }
}

impl Watches {
    /// An op has its reply.
    #[inline]
    pub(super) fn replied(&mut self, issued: &IssuedOp, reply: &Reply) {
        for watch in &mut self.under_way {
            if ImageId::of(issued.op.object).0 == watch.image {
                watch.seen.ended(issued, reply);
            }
        }
    }

    /// The traces of all who watch, and of the client in this process.
    fn traces(&mut self) -> impl Iterator<Item = &mut OpTrace> {
        self.under_way.iter_mut().map(|watch| &mut watch.trace).chain(&mut self.direct)
    }

    /// Whether somebody wants to see the next op of an image by itself.
    #[inline]
    pub(super) fn wants_trace(&mut self, image: ImageId) -> bool {
        self.traces().any(|trace| trace.wants_next(image))
    }

    /// That op has been issued.
    #[inline]
    pub(super) fn issued(&mut self, image: ImageId, op: OpId) {
        self.traces().for_each(|trace| trace.issued(image, op));
    }

    /// A stage of an op that somebody wants to see has ended.
    pub(super) fn traced(&mut self, span: TraceSpan) {
        self.traces().for_each(|trace| trace.note(span));
    }

    /// The client in this process wants to see these ops, in place of others that it wanted before.
    pub(super) fn begin_direct_trace(&mut self, trace: OpTrace) {
        self.direct = Some(trace);
    }

    /// What it has to see until now; it asks once.
    pub(super) fn end_direct_trace(&mut self) -> Vec<TraceSpan> {
        self.direct.take().map_or_else(Vec::new, |trace| trace.spans().to_vec())
    }

    /// Somebody watches from now on.
    pub(super) fn begin(&mut self, watch: ImageWatch) {
        self.under_way.push(watch);
    }

    /// Those whose time is over.
    pub(super) fn take_over(&mut self, is_over: impl Fn(&ImageWatch) -> bool) -> Vec<ImageWatch> {
        self.under_way.extract_if(.., |watch| is_over(watch)).collect()
    }

    /// Whoever asked has gone.
    pub(super) fn forget(&mut self, conn: ConnId) {
        self.under_way.retain(|watch| watch.ticket.conn() != conn);
    }
}
