//! The way into the store and to its disks: one scheduler, and a window over what is at the disks.

use super::workload::StoreIssue;
use loadline_base::{Bytes, Time};
use loadline_device::ClassTag;
use loadline_qos::{
    FlowId, ParamsError, Queue, Request, Scheduler, ServiceClass, ShardPlan, Take, Work, WorkSize,
};
use loadline_store::paged::{Ask, Edit, Io, IoId};
use loadline_store::{Window, WindowBounds};

/// What waits in the scheduler.
pub(super) enum GateItem {
    /// An op that has not entered the store.
    Client(StoreIssue),
    /// A request of a checkpoint that has not reached its disk.
    Checkpoint(Io),
}

/// What has passed the scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateCounts {
    /// Clients' ops.
    pub client_ops: u64,
    /// Requests of checkpoints, flushes included.
    pub checkpoint_requests: u64,
    /// Bytes of these.
    pub checkpoint_bytes: u64,
}

/// The scheduler with its window. The window counts every request that is at a disk, whoever asked for it, but bounds only
/// what the scheduler gives out: an op that the store lets wait for a checkpoint holds no room that the checkpoint needs.
pub(super) struct Gate {
    plan: ShardPlan,
    queue: Queue<GateItem>,
    window: Window,
    client: FlowId,
    checkpoint: FlowId,
    /// When the scheduler may give out the next item; asked again whenever something has changed.
    not_before: Option<Time>,
    at_disk: Vec<Bytes>,
    counts: GateCounts,
}

impl Gate {
    pub(super) fn new(
        plan: ShardPlan,
        window: WindowBounds,
        seed: u64,
    ) -> Result<Gate, ParamsError> {
        let mut queue = plan.queue(seed)?;
        let mut flow = |work| {
            let admission = plan.admit(work, &WorkSize::default(), 0);
            queue.flow(Time::ZERO, admission.class.id(), admission.client)
        };
        let (client, checkpoint) = (flow(Work::ClientOp), flow(Work::Checkpoint));
        let window = Window::new(window);
        let counts = GateCounts::default();
        Ok(Gate {
            plan,
            queue,
            window,
            client,
            checkpoint,
            not_before: None,
            at_disk: Vec::new(),
            counts,
        })
    }

    /// The class of clients' ops.
    pub(super) fn client_class(&self) -> ClassTag {
        ClassTag(ServiceClass::Client as u8)
    }

    pub(super) fn client_waits(&mut self, now: Time, issue: StoreIssue) {
        let size = WorkSize { payload: payload(&issue.ask), ..WorkSize::default() };
        self.enqueue(now, (Work::ClientOp, self.client), &size, GateItem::Client(issue));
    }

    pub(super) fn checkpoint_waits(&mut self, now: Time, io: Io) {
        let size = WorkSize { payload: io.request.length.get(), ..WorkSize::default() };
        self.enqueue(now, (Work::Checkpoint, self.checkpoint), &size, GateItem::Checkpoint(io));
    }

    fn enqueue(&mut self, now: Time, whose: (Work, FlowId), size: &WorkSize, item: GateItem) {
        let (work, flow) = whose;
        let admission = self.plan.admit(work, size, 0);
        let request =
            Request { priority: admission.priority, ..Request::new(flow, admission.cost, item) };
        let refused = self.queue.enqueue(now, request).is_err();
        assert!(!refused, "both flows stay open, and no profile makes a class reject");
        self.not_before = None;
    }

    /// The next item, if the window is open and it is somebody's turn.
    pub(super) fn take(&mut self, now: Time) -> Option<GateItem> {
        if !self.is_open() || self.not_before.is_some_and(|at| at > now) {
            return None;
        }
        match self.queue.take(now) {
            Take::Ready(taken) => {
                self.count(&taken.payload);
                Some(taken.payload)
            }
            Take::NotBefore(at) => {
                self.not_before = Some(at);
                None
            }
            Take::Empty => {
                self.not_before = Some(Time::MAX);
                None
            }
        }
    }

    /// When the scheduler by itself has something to give out that it has not now.
    pub(super) fn next_take(&self, now: Time) -> Option<Time> {
        self.not_before.filter(|at| self.is_open() && *at > now && *at < Time::MAX)
    }

    /// Whether the disks may get more.
    fn is_open(&self) -> bool {
        self.window.admits(Bytes::new(1))
    }

    pub(super) fn entered(&mut self, id: IoId, length: Bytes) {
        let slot = usize::from(id.0);
        if slot >= self.at_disk.len() {
            self.at_disk.resize(slot + 1, Bytes::ZERO);
        }
        self.at_disk[slot] = length;
        self.window.enter(length);
    }

    pub(super) fn left(&mut self, id: IoId) {
        self.window.leave(self.at_disk[usize::from(id.0)]);
    }

    fn count(&mut self, item: &GateItem) {
        match item {
            GateItem::Client(_) => self.counts.client_ops += 1,
            GateItem::Checkpoint(io) => {
                self.counts.checkpoint_requests += 1;
                self.counts.checkpoint_bytes += io.request.length.get();
            }
        }
    }

    pub(super) fn counts(&self) -> GateCounts {
        self.counts
    }
}

/// Bytes that an op carries; a read carries none.
fn payload(ask: &Ask) -> u64 {
    let Ask::Transaction(edits) = ask else { return 0 };
    let bytes = |edit: &Edit| match edit {
        Edit::Put { key, value } => (key.len() + value.len()) as u64,
        Edit::Delete { key } => key.len() as u64,
        Edit::Write { data, .. } => data.length(),
        Edit::SetAttribute { name, value, .. } => (name.len() + value.len()) as u64,
        _ => 0,
    };
    edits.iter().map(bytes).sum()
}
