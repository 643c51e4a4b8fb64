//! A client in the same process: ops on objects and the steps of a study come by mail, answers leave by a channel.
//!
//! It passes what every client passes except a socket: the mailbox wakes the loop, the op goes through its OSD's queue, and
//! the end of it is sent when the loop has done everything that was due.

use super::mail::Mail;
use crate::{Clock, Mailbox};
use loadline_base::{Bytes, Span, Time};
use loadline_cluster::images::{ImageId, ImageQos};
use loadline_cluster::{Cluster, MapChange, PoolId, PoolSpec};
use loadline_node::PoolScrub;
use loadline_osd::{ClientId, Data, OpKind, OsdId, OsdService, PgProgress, TraceSpan, Waits};
use loadline_store::ObjectNo;
use std::ops::Range;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::Duration;

/// An op on one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectOp {
    /// The client's own number; comes back with the end.
    pub token: u64,
    /// Whose op it is.
    pub client: ClientId,
    /// What to do.
    pub kind: OpKind,
    /// The pool.
    pub pool: PoolId,
    /// The object inside the pool.
    pub object: ObjectNo,
    /// First byte inside the object.
    pub offset: u32,
    /// How many bytes.
    pub length: u32,
    /// What a write writes.
    pub data: Data,
}

/// How an op ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectEnd {
    /// The client's own number.
    pub token: u64,
    /// From its admission by the primary to the reply.
    pub inside: Span,
    /// What a read read; `None` if no copy could be read.
    pub data: Option<Vec<u8>>,
}

/// An image as the client wants it.
#[derive(Clone, Debug)]
pub struct DirectImage {
    /// Its name.
    pub name: String,
    /// Where it is made.
    pub pool: PoolId,
    /// Its size.
    pub size: Bytes,
    /// Size of each of its objects.
    pub object_size: Bytes,
    /// What it is promised and allowed.
    pub qos: ImageQos,
}

/// What the client may ask.
#[derive(Clone, Debug)]
pub enum DirectAsk {
    /// These ops. Each is answered in some [`DirectAnswer::Ended`].
    Ops(Vec<DirectOp>),
    /// A pool; answered by [`DirectAnswer::Pool`].
    Pool(PoolSpec),
    /// An image with these terms, or these terms for the one of this name; answered by [`DirectAnswer::Image`].
    Image(DirectImage),
    /// Take a snapshot of the image of this name; answered by [`DirectAnswer::Changed`].
    TakeSnapshot(String),
    /// Remove that snapshot; answered by [`DirectAnswer::Changed`].
    RemoveSnapshot(String),
    /// Remove a pool; answered by [`DirectAnswer::Changed`].
    RemovePool(PoolId),
    /// Scrub all of a pool deeply; answered by [`DirectAnswer::Changed`].
    DeepScrub(PoolId),
    /// What the services have left, and the scrubs of this pool; answered by [`DirectAnswer::Services`].
    Services(Option<PoolId>),
    /// Take an OSD down and out; not answered.
    TakeOut(OsdId),
    /// Let placement use an OSD again and open its disk; [`DirectAnswer::Back`] tells when it is up.
    BringBack(OsdId),
    /// The counters; answered by [`DirectAnswer::Counts`].
    Count,
    /// What the schedulers have given; answered by [`DirectAnswer::Service`].
    Service,
    /// Measure waits from now on; not answered.
    ResetWaits,
    /// Who waited where; answered by [`DirectAnswer::Waits`].
    Waits,
    /// Keep the stages of these ops of an image, the next one being the first; not answered.
    Trace(ImageId, Range<u64>),
    /// Those stages, until now; answered by [`DirectAnswer::Traced`], once.
    Traced,
    /// The value in force of an option, for every OSD; answered by [`DirectAnswer::Values`].
    Values(String),
    /// How disks and sockets are reached; answered by [`DirectAnswer::Modes`].
    Modes,
    /// End at once, without making anything durable: what is on the disks is not needed any more.
    Leave,
}

/// What the node tells the client.
#[derive(Clone, Debug)]
pub enum DirectAnswer {
    /// Ops have ended.
    Ended(Vec<DirectEnd>),
    /// The pool is there, and the map that tells of it is kept.
    Pool(PoolId),
    /// The image is there, and the map that tells of it is kept; or why there can be none.
    Image(Result<ImageId, String>),
    /// What was asked for is so, and the map that tells of it is kept; or why it cannot be.
    Changed(Result<(), String>),
    /// What the services have left.
    Services(DirectServices),
    /// The OSD is up.
    Back(OsdId),
    /// The counters.
    Counts(DirectCounts),
    /// What each OSD's schedulers have given until this moment of the node's time.
    Service(Time, Vec<OsdService>),
    /// Who waited where since the reset.
    Waits(Box<Waits>),
    /// Stages of the ops that were to be traced.
    Traced(Vec<TraceSpan>),
    /// Each OSD's value as text.
    Values(Vec<String>),
    /// How disks and sockets are reached.
    Modes(DirectModes),
}

/// What the background services of all OSDs have left to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectServices {
    /// The scrubs of the pool that was named.
    pub scrub: PoolScrub,
    /// States of objects that are kept for removed snapshots, copies of one counted once.
    pub to_trim: u64,
    /// Objects of copies that have left, each copy counted.
    pub to_delete: u64,
}

/// The cluster at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectCounts {
    /// The node's time.
    pub at: Time,
    /// What is misplaced, degraded and recovering.
    pub progress: PgProgress,
    /// Objects that recovery and backfill have brought to all OSDs since they were opened.
    pub received: u64,
    /// Whether every copy is where it should be and every placement group is served.
    pub clean: bool,
    /// Requests that the disks have been given.
    pub device_requests: u64,
    /// OSDs whose disks failed, with the reason.
    pub faults: Vec<(OsdId, String)>,
}

/// How the node reaches its disks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectModes {
    /// Who carries calls out, in words.
    pub event_loop: String,
    /// Whether each open disk passes the page cache by.
    pub direct: Vec<bool>,
}

/// How long the client looks for an answer before it sleeps. Waking a thread costs the loop more than serving an op does, and
/// under load the next answer comes sooner than this.
const WAKEFUL: Span = Span::from_micros(50);

/// The client's end.
#[derive(Debug)]
pub struct DirectClient {
    mailbox: Mailbox<Mail>,
    answers: Receiver<DirectAnswer>,
}

/// The node has ended, so that nothing will be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the node has ended")]
pub struct NodeGone;

impl DirectClient {
    /// Asks for something.
    ///
    /// # Errors
    /// [`NodeGone`]
    pub fn ask(&self, ask: DirectAsk) -> Result<(), NodeGone> {
        self.mailbox.post(Mail::Direct(ask)).map_err(|_| NodeGone)
    }

    /// The next answer, waiting at most so long for it.
    ///
    /// # Errors
    /// [`NodeGone`]
    pub fn answer(&self, patience: Duration) -> Result<Option<DirectAnswer>, NodeGone> {
        let clock = Clock::start();
        let most = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
        while clock.now() < Time::ZERO + WAKEFUL.min(Span::from_nanos(most)) {
            match self.answers.try_recv() {
                Ok(answer) => return Ok(Some(answer)),
                Err(TryRecvError::Empty) => std::hint::spin_loop(),
                Err(TryRecvError::Disconnected) => return Err(NodeGone),
            }
        }
        match self.answers.recv_timeout(patience) {
            Ok(answer) => Ok(Some(answer)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(NodeGone),
        }
    }
}

/// The node's end.
#[derive(Debug, Default)]
pub(super) struct DirectDesk {
    answers: Option<Sender<DirectAnswer>>,
    /// Ends that are sent together when the loop's round is over.
    ended: Vec<DirectEnd>,
    /// What is told when a change is kept.
    when_kept: Vec<(MapChange, DirectAnswer)>,
    /// An OSD that is to come up.
    coming: Option<OsdId>,
}

impl DirectDesk {
    /// A desk with its client, who sends by this mailbox.
    pub(super) fn open(mailbox: Mailbox<Mail>) -> (DirectDesk, DirectClient) {
        let (tell, answers) = channel();
        let desk = DirectDesk { answers: Some(tell), ..DirectDesk::default() };
        (desk, DirectClient { mailbox, answers })
    }

    /// Something has changed, and is told of when this change is kept.
    pub(super) fn changed(&mut self, change: MapChange, answer: DirectAnswer) {
        self.when_kept.push((change, answer));
    }

    /// An OSD is to come up, and that is told.
    pub(super) fn awaits(&mut self, osd: OsdId) {
        self.coming = Some(osd);
    }

    /// An op has ended.
    pub(super) fn ended(&mut self, end: DirectEnd) {
        self.ended.push(end);
    }

    /// Tells what a round of the loop has brought.
    pub(super) fn settle(&mut self, cluster: &Cluster) {
        if !self.ended.is_empty() {
            let ended = std::mem::take(&mut self.ended);
            self.tell(DirectAnswer::Ended(ended));
        }
        let kept = self.when_kept.extract_if(.., |(change, _)| cluster.is_kept(*change));
        for (_, answer) in kept.collect::<Vec<_>>() {
            self.tell(answer);
        }
        if let Some(osd) = self.coming.take_if(|osd| cluster.map().osds()[*osd].up) {
            self.tell(DirectAnswer::Back(osd));
        }
    }

    /// A client that is gone needs no answer.
    pub(super) fn tell(&self, answer: DirectAnswer) {
        if let Some(answers) = &self.answers {
            let _ = answers.send(answer);
        }
    }
}
