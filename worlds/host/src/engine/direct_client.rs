//! A client in the same process: ops on objects and the steps of a study come by mail, answers leave by a channel.
//!
//! It passes what every client passes except a socket: the mailbox wakes the loop, the op goes through its OSD's queue, and
//! the end of it is sent when the loop has done everything that was due.

use super::client::{Ended, NewOp, Waiter};
use super::stop::Stopping;
use super::{Engine, Mail};
use crate::{Clock, Mailbox};
use loadline_base::{Span, Time};
use loadline_cluster::{MapChange, OsdState, PoolId, PoolSpec};
use loadline_osd::{ClientId, Data, OpKind, OsdId, OsdService, PgProgress, Waits};
use loadline_store::ObjectNo;
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

/// What the client may ask.
#[derive(Clone, Debug)]
pub enum DirectAsk {
    /// These ops. Each is answered in some [`DirectAnswer::Ended`].
    Ops(Vec<DirectOp>),
    /// A pool; answered by [`DirectAnswer::Pool`].
    Pool(PoolSpec),
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
    /// The OSD is up.
    Back(OsdId),
    /// The counters.
    Counts(DirectCounts),
    /// What each OSD's schedulers have given until this moment of the node's time.
    Service(Time, Vec<OsdService>),
    /// Who waited where since the reset.
    Waits(Box<Waits>),
    /// Each OSD's value as text.
    Values(Vec<String>),
    /// How disks and sockets are reached.
    Modes(DirectModes),
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
    /// A pool that is not kept yet.
    pool: Option<(PoolId, MapChange)>,
    /// An OSD that is to come up.
    coming: Option<OsdId>,
}

impl DirectDesk {
    /// A client that is gone needs no answer.
    fn tell(&self, answer: DirectAnswer) {
        if let Some(answers) = &self.answers {
            let _ = answers.send(answer);
        }
    }
}

impl Engine {
    /// A client in this process; one that was made before hears nothing more.
    pub fn direct_client(&mut self) -> DirectClient {
        let (tell, answers) = channel();
        self.direct = DirectDesk { answers: Some(tell), ..DirectDesk::default() };
        DirectClient { mailbox: self.world.mailbox(), answers }
    }

    /// A mailbox of the node, for those who end it.
    pub fn mailbox(&self) -> Mailbox<Mail> {
        self.world.mailbox()
    }

    pub(super) fn direct_asked(&mut self, ask: DirectAsk) {
        match ask {
            DirectAsk::Ops(ops) => ops.into_iter().for_each(|op| self.direct_op(op)),
            DirectAsk::Pool(spec) => {
                let pool = self.node.change(self.now, |cluster, fx| cluster.create_pool(spec, fx));
                self.direct.pool = Some((pool, self.node.cluster().last_change()));
            }
            DirectAsk::TakeOut(osd) => {
                self.node.change(self.now, |cluster, fx| cluster.take_down(osd, fx));
                self.node.change(self.now, |cluster, fx| cluster.set_osd(osd, GONE, fx));
            }
            DirectAsk::BringBack(osd) => {
                self.node.change(self.now, |cluster, fx| cluster.set_osd(osd, EXPECTED, fx));
                self.direct.coming = Some(osd);
                self.reopen(osd);
            }
            DirectAsk::Count => {
                let counts = self.direct_counts();
                self.direct.tell(DirectAnswer::Counts(counts));
            }
            DirectAsk::Service => {
                let (now, osds) = (self.now, self.disks.of.ids());
                let service = osds.map(|osd| self.node.osd(osd).service(now)).collect();
                self.direct.tell(DirectAnswer::Service(now, service));
            }
            DirectAsk::ResetWaits => self.node.reset_waits(),
            DirectAsk::Waits => {
                self.direct.tell(DirectAnswer::Waits(Box::new(self.node.waits())));
            }
            DirectAsk::Values(option) => {
                let values = self.values_in_force(&option);
                self.direct.tell(DirectAnswer::Values(values));
            }
            DirectAsk::Modes => {
                let open = self.disks.of.values().filter_map(|disk| disk.disk);
                let direct = open.map(|disk| self.world.disk(disk).mode().direct).collect();
                let event_loop = self.world.mode().to_string();
                self.direct.tell(DirectAnswer::Modes(DirectModes { event_loop, direct }));
            }
            DirectAsk::Leave => self.stopping = Stopping::Done,
        }
    }

    fn direct_op(&mut self, op: DirectOp) {
        let DirectOp { token, client, kind, pool, object, offset, length, data } = op;
        let op = NewOp { kind, pool, object, offset, length, at: 0, data };
        self.begin_command(Waiter::Direct(token), client, vec![op], false);
    }

    pub(super) fn direct_op_ended(&mut self, token: u64, ended: Ended) {
        let Ended { data, inside, .. } = ended;
        self.direct.ended.push(DirectEnd { token, inside, data });
    }

    /// Tells what this round of the loop has brought.
    pub(super) fn direct_settle(&mut self) {
        if !self.direct.ended.is_empty() {
            let ended = std::mem::take(&mut self.direct.ended);
            self.direct.tell(DirectAnswer::Ended(ended));
        }
        let cluster = self.node.cluster();
        if let Some((pool, _)) = self.direct.pool.take_if(|(_, change)| cluster.is_kept(*change)) {
            self.direct.tell(DirectAnswer::Pool(pool));
        }
        if let Some(osd) =
            self.direct.coming.filter(|osd| self.node.cluster().map().osds()[*osd].up)
        {
            self.direct.coming = None;
            self.direct.tell(DirectAnswer::Back(osd));
        }
    }

    fn direct_counts(&mut self) -> DirectCounts {
        let osds = self.disks.of.ids();
        let fault = |osd: OsdId| Some((osd, self.node.cluster().fault(osd)?.to_string()));
        DirectCounts {
            at: self.now,
            faults: osds.filter_map(fault).collect(),
            progress: self.node.progress(),
            received: self.node.received().objects,
            clean: self.node.cluster().is_clean(),
            device_requests: self.disks.requests,
        }
    }

    /// An option that does not exist has no values.
    fn values_in_force(&self, option: &str) -> Vec<String> {
        let levels = &self.settings.levels;
        let Ok(option) = levels.option(option) else { return Vec::new() };
        levels.osds().map(|osd| levels.effective(osd, option).0.to_string()).collect()
    }
}

const GONE: OsdState = OsdState { up: false, is_in: false };
/// Down, but placement counts on it: it will be up as soon as its disk is open.
const EXPECTED: OsdState = OsdState { up: false, is_in: true };
