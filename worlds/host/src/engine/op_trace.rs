//! A trace: somebody wants to see some of an image's ops one by one. The ops are counted as they are issued, and what the OSDs tell of
//! those that are wanted is kept.

use loadline_cluster::images::ImageId;
use loadline_osd::{OpId, TraceSpan};
use std::collections::BTreeSet;
use std::ops::Range;

/// One.
#[derive(Debug)]
pub(super) struct OpTrace {
    image: ImageId,
    /// Which of the image's ops, counted from the beginning of the trace.
    wanted: Range<u64>,
    issued: u64,
    ops: BTreeSet<OpId>,
    spans: Vec<TraceSpan>,
}

impl OpTrace {
    /// A trace of these ops of an image, the next one being the first.
    pub(super) fn begin(image: ImageId, wanted: Range<u64>) -> OpTrace {
        OpTrace { image, wanted, issued: 0, ops: BTreeSet::new(), spans: Vec::new() }
    }

    /// Whether the next op of an image is wanted.
    pub(super) fn wants_next(&self, image: ImageId) -> bool {
        image == self.image && self.wanted.contains(&self.issued)
    }

    /// The next op of an image has been issued.
    pub(super) fn issued(&mut self, image: ImageId, op: OpId) {
        if self.wants_next(image) {
            self.ops.insert(op);
        }
        self.issued += u64::from(image == self.image);
    }

    /// A stage of an op that somebody wants has ended.
    pub(super) fn note(&mut self, span: TraceSpan) {
        if self.ops.contains(&span.op) {
            self.spans.push(span);
        }
    }

    /// What has been told until now.
    pub(super) fn spans(&self) -> &[TraceSpan] {
        &self.spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_base::{SlotId, Span, Time};
    use loadline_osd::{OsdId, Stage};
    use loadline_qos::Work;

    fn op(number: u32) -> OpId {
        OpId { slot: SlotId::new(number % 3), number }
    }

    fn span(number: u32) -> TraceSpan {
        let (start, end) = (Time::ZERO, Time::ZERO + Span::from_micros(5));
        let (osd, work, stage) = (OsdId::new(1), Work::ClientOp, Stage::Queue);
        TraceSpan { op: op(number), osd, work, stage, start, end }
    }

    /// Of two images' ops, some in the same slots one after the other, those that were asked for and no others.
    #[test]
    fn the_ops_that_were_asked_for_are_kept() {
        let image = |family| ImageId { family, member: 0 };
        let (mine, other) = (image(1), image(2));
        let mut trace = OpTrace::begin(mine, 2..4);
        let mut marked = Vec::new();
        for number in 0..12 {
            let image = if number % 2 == 0 { mine } else { other };
            if trace.wants_next(image) {
                marked.push(number);
            }
            trace.issued(image, op(number));
            trace.note(span(number));
        }
        assert_eq!(marked, [4, 6]);
        let kept: Vec<u32> = trace.spans().iter().map(|span| span.op.get()).collect();
        assert_eq!(kept, marked);
    }
}
