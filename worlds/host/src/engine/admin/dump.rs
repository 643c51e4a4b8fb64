//! What waits and why, and where ops are or spent their time.

use super::desk::{Executed, now};
use crate::admin::api::{
    AdminAnswer, KeptOutRow, OpDump, OpRow, OpStage, OpWaitRow, QueueDump, QueueTags, QueuedItem,
    ShardQueue, WaitReason,
};
use crate::engine::health::Past;
use crate::engine::host_node::HostNode;
use loadline_base::{Span, Time};
use loadline_cluster::IssuedOp;
use loadline_cluster::images::ImageId;
use loadline_osd::{KeptOutItem, OpKind, OpWait, OsdId, SnapshotNo};
use loadline_qos::{ClassId, FlowId, ServiceClass, Tags, WaitCause, Waiting};

impl HostNode {
    pub(super) fn queues(&mut self, osd: OsdId) -> Executed {
        self.known_osd(osd)?;
        let at = self.now;
        let shards = self.node.osd(osd).waiting(at).into_iter().map(|(shard, waiting)| {
            let item = |item: &Waiting| shown_item(at, item, &waiting);
            ShardQueue { shard: shard.get(), waiting: waiting.iter().map(item).collect() }
        });
        let shards = shards.collect();
        let (items, until) = self.node.osd(osd).kept_out(at);
        let kept_out = items.iter().enumerate();
        let kept_out = kept_out.map(|(place, item)| shown_kept_out(at, (place, item), until));
        let kept_out = kept_out.collect();
        let scheduler = self.settings.levels.plan(osd).scheduler.name().to_owned();
        now(AdminAnswer::Queues(QueueDump { osd: osd.get(), scheduler, shards, kept_out }))
    }

    pub(super) fn ops_in_flight(&mut self) -> AdminAnswer {
        let open: Vec<IssuedOp> = self.node.cluster().open_ops().into_iter().cloned().collect();
        let ops = open.iter().map(|issued| self.op_in_flight(issued)).collect();
        AdminAnswer::Ops(OpDump { ops })
    }

    pub(super) fn op_in_flight(&mut self, issued: &IssuedOp) -> OpRow {
        let primary = self.node.cluster().map().pg(issued.op.pg).acting.first().copied();
        let progress = primary.and_then(|osd| self.node.osd(osd).progress_of_op(issued.op.id));
        let mut stages = Vec::new();
        if let Some(progress) = progress {
            stages = vec![
                ("admitted", progress.admitted),
                ("dequeued", progress.dequeued),
                ("executed", progress.executed),
            ];
            stages.extend(progress.committed.map(|at| ("committed", at)));
        }
        let wait = self.present_wait(issued);
        OpRow { wait: Some(wait), ..self.shown_op(issued, self.now, &stages) }
    }

    /// What an op without a reply waits for, and for how long it has.
    pub(in crate::engine) fn present_wait(&self, issued: &IssuedOp) -> OpWaitRow {
        let wait = self.node.wait_of_op(self.now, issued);
        shown_wait(&wait, wait.span())
    }

    pub(super) fn op_history(&self) -> AdminAnswer {
        let op = |Past { issued, reply }: &Past| {
            let stages = [
                ("admitted", reply.admitted),
                ("dequeued", reply.dequeued),
                ("executed", reply.executed),
                ("committed", reply.committed),
                ("replied", reply.replied),
                ("answered", reply.answered),
            ];
            let wait = OpWait::longest(issued.issued, reply);
            let row = shown_wait(&wait, wait.span());
            OpRow { wait: Some(row), ..self.shown_op(issued, reply.answered, &stages) }
        };
        AdminAnswer::Ops(OpDump { ops: self.health.slowest().iter().map(op).collect() })
    }

    fn shown_op(&self, issued: &IssuedOp, until: Time, stages: &[(&str, Time)]) -> OpRow {
        let op = &issued.op;
        let (id, block) = ImageId::of(op.object);
        let image = self.node.cluster().images().get(id);
        let name = match (image, op.kind) {
            (None, _) => id.to_string(),
            (Some(image), OpKind::ReadAt(at) | OpKind::Ranges(at) | OpKind::Changed { at, .. })
                if at != SnapshotNo::HEAD =>
            {
                let taken = image.snapshots.iter().find(|taken| taken.id.0 == at.0);
                format!("{}@{}", image.name, taken.map_or("?", |taken| taken.name.as_str()))
            }
            (Some(image), _) => image.name.clone(),
        };
        let object_bytes = image.map_or(self.config.object_bytes.get(), |image| image.object_bytes);
        let stage = |(stage, at): &(&str, Time)| OpStage {
            stage: (*stage).to_owned(),
            after_ns: at.since(issued.issued).nanos(),
        };
        OpRow {
            op: u64::from(op.id.get()),
            kind: kind(op.kind).to_owned(),
            image: name,
            offset_bytes: u64::from(block) * object_bytes + u64::from(op.offset),
            length_bytes: u64::from(op.length),
            pg: op.pg.get(),
            osd: self.node.cluster().map().pg(op.pg).acting.first().map(|osd| osd.get()),
            age_ns: until.since(issued.issued).nanos(),
            stages: stages.iter().map(stage).collect(),
            wait: None,
        }
    }
}

fn shown_wait(wait: &OpWait, span: Span) -> OpWaitRow {
    let (stage, reason) = (wait.stage().to_owned(), wait.to_string());
    OpWaitRow { stage, span_ns: span.nanos(), reason }
}

fn kind(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Read | OpKind::ReadAt(_) => "read",
        OpKind::Ranges(_) | OpKind::Changed { .. } => "status",
        OpKind::Write => "write",
        OpKind::Zero => "zero",
        OpKind::Remove | OpKind::Purge => "remove",
        OpKind::Trim(_) => "trim",
    }
}

fn class_name(class: ClassId) -> &'static str {
    let found = ServiceClass::ALL.into_iter().find(|known| known.id() == class);
    found.map_or("unknown", ServiceClass::name)
}

fn shown_item(now: Time, item: &Waiting, all: &[Waiting]) -> QueuedItem {
    QueuedItem {
        class: class_name(item.class).to_owned(),
        client: item.client.0,
        place: item.place as u64,
        age_ns: now.since(item.arrival).nanos(),
        cost: item.cost,
        priority: item.priority,
        tags: item.tags.map(|tags| shown_tags(now, tags)),
        reason: shown_reason(now, item.reason, all),
    }
}

fn shown_kept_out(
    now: Time,
    (place, item): (usize, &KeptOutItem),
    until: Option<Time>,
) -> KeptOutRow {
    let reason = match (place, until) {
        (0, None) => ("it is the next one".to_owned(), None),
        (0, Some(Time::MAX)) => {
            ("the disk has as many parts of background work as it may".to_owned(), None)
        }
        (0, Some(at)) => (
            "background work begins at the rate that leaves clients their share".to_owned(),
            Some(at.since(now).nanos()),
        ),
        (before, _) => (format!("{before} of background work before it"), None),
    };
    let (text, at_least_ns) = reason;
    KeptOutRow {
        shard: item.shard.get(),
        class: item.class.name().to_owned(),
        work: item.work.name().to_owned(),
        age_ns: now.since(item.since).nanos(),
        reason: WaitReason { text, at_least_ns },
    }
}

fn shown_tags(now: Time, tags: Tags) -> QueueTags {
    let from_now = |at: Time| at.nanos() as i64 - now.nanos() as i64;
    QueueTags {
        reservation_in_ns: tags.reservation.map(from_now),
        proportion: tags.proportion,
        limit_in_ns: tags.limit.map(from_now),
    }
}

fn shown_reason(now: Time, reason: WaitCause, all: &[Waiting]) -> WaitReason {
    let class_of = |flow: FlowId| {
        let other = all.iter().find(|other| other.flow == flow);
        other.map_or("another class", |other| class_name(other.class))
    };
    let from_now = |at: Time| Some(at.nanos().saturating_sub(now.nanos()));
    let (text, at_least_ns) = match reason {
        WaitCause::Next => {
            ("it is the next one; a worker or room in the store is missing".into(), None)
        }
        WaitCause::BehindOwnFlow(before) => (format!("{before} of its own flow before it"), None),
        WaitCause::BehindClient(_) => ("another client of its class is ahead".into(), None),
        WaitCause::BehindStrict => ("strict work is ahead".into(), None),
        WaitCause::LimitedUntil(at) => ("its class is at its limit".into(), from_now(at)),
        WaitCause::ReservedAt(at) => {
            ("without weight it runs only when its reservation is due".into(), from_now(at))
        }
        WaitCause::BehindReservation(flow) => {
            (format!("a due reservation of {} is ahead", class_of(flow)), None)
        }
        WaitCause::BehindWeight(flow) => {
            (format!("the weighted tag of {} is smaller", class_of(flow)), None)
        }
        WaitCause::Lottery(share) => {
            (format!("it wins the next draw with probability {share:.3}"), None)
        }
        WaitCause::BehindOlder(before) => (format!("{before} older ones are ahead"), None),
    };
    WaitReason { text, at_least_ns }
}
