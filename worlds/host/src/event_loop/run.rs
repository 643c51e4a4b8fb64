//! The loop itself: one owner of all state, one place where it waits, one `match` for what comes back.

use super::{CallPurpose, Connections, Inbox, Listeners, LoopDisks, Readiness, Signals};
use super::{
    ConnId, Disconnect, DiskId, ListenAt, ListenError, ListenerId, LoopEvent, ReadinessId,
};
use super::{LoopError, LoopOptions, Mailbox, Mode};
use crate::backend::{Backend, Call, FinishedCall};
use crate::{Clock, OpenedDisk};
use loadline_base::{Span, Time};
use loadline_device::Request;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// One thread's disks, sockets, mailbox and signals.
///
/// It is made on the thread that runs it. All calls return at once, except [`turn`](Loop::turn), which waits, and
/// dropping it, which waits for the disks: what is in flight there cannot be taken back.
pub struct Loop<M> {
    backend: Backend<CallPurpose>,
    mode: Mode,
    clock: Clock,
    disks: LoopDisks,
    connections: Connections,
    listeners: Listeners,
    signals: Signals,
    inbox: Inbox<M>,
    readiness: Readiness,
    /// What happened outside of a turn, for the next one to tell.
    happened: Vec<LoopEvent<M>>,
    /// Empty between turns; kept for its memory.
    finished: Vec<FinishedCall<CallPurpose>>,
    thread: PhantomData<*const ()>,
}

impl<M> Loop<M> {
    /// A loop without disks and sockets; its time begins now.
    pub fn new(options: LoopOptions) -> Result<Loop<M>, LoopError> {
        let (mut backend, mode) = Backend::new(&options)?;
        let inbox = Inbox::new()?;
        hear(&inbox, &mut backend);
        Ok(Loop {
            backend,
            mode,
            clock: options.clock.unwrap_or_else(Clock::start),
            disks: LoopDisks::new(options.disk_memory),
            connections: Connections::default(),
            listeners: Listeners::new(&options),
            signals: Signals::default(),
            inbox,
            readiness: Readiness::default(),
            happened: Vec::new(),
            finished: Vec::new(),
            thread: PhantomData,
        })
    }

    /// Who carries the calls out.
    pub fn mode(&self) -> &Mode {
        &self.mode
    }

    /// Whether the system has refused a real-time priority word to this process. Such requests go with the
    /// default one.
    pub fn real_time_refused(&self) -> bool {
        self.disks.real_time_refused()
    }

    /// Whether the system has refused a duration limit to this process. Such requests go without one.
    pub fn limits_refused(&self) -> bool {
        self.disks.limits_refused()
    }

    /// The loop's clock, for stamps that shall agree with its time.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The time now.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Takes a disk in, with its own memory for what is in flight.
    pub fn add_disk(&mut self, disk: OpenedDisk) -> Result<DiskId, LoopError> {
        let (id, refused) = self.disks.add(disk, &mut self.backend)?;
        if let (Mode::Uring { unregistered }, Some(reason)) = (&mut self.mode, refused) {
            *unregistered = Some(reason);
        }
        Ok(id)
    }

    /// Gives a disk back. Something in flight on it is a bug of the caller.
    pub fn remove_disk(&mut self, disk: DiskId) -> OpenedDisk {
        self.disks.remove(disk, &mut self.backend)
    }

    /// The disk behind an id.
    pub fn disk(&self, disk: DiskId) -> &OpenedDisk {
        self.disks.opened(disk)
    }

    /// The same, to be changed.
    pub(crate) fn disk_mut(&mut self, disk: DiskId) -> &mut OpenedDisk {
        self.disks.opened_mut(disk)
    }

    /// How many requests of a disk are not answered yet.
    pub fn in_flight(&self, disk: DiskId) -> usize {
        self.disks.unanswered(disk)
    }

    /// Takes a request; [`LoopEvent::DiskDone`] answers it under `token`. `data` is what a write writes, of the
    /// request's length, and empty for any other. A range that is not made of the disk's sectors, or not on the
    /// disk, fails.
    pub fn submit(&mut self, disk: DiskId, token: u64, request: &Request, data: Vec<u8>) {
        let asked = (token, *request, data);
        self.disks.submit(disk, asked, &mut self.backend, &mut self.happened);
    }

    /// Listens, and accepts peers as long as there is room for them.
    pub fn listen(&mut self, at: &ListenAt) -> Result<ListenerId, ListenError> {
        self.listeners.add(at)
    }

    /// The address of a TCP listener, with the port that the system chose.
    pub fn address(&self, listener: ListenerId) -> Option<SocketAddr> {
        self.listeners.address(listener)
    }

    /// Listens no longer; a Unix socket's path is removed. Connections stay.
    pub fn stop_listening(&mut self, listener: ListenerId) {
        self.listeners.stop(listener);
    }

    /// Asks for the peer's next bytes, at most `bytes` of them; so much memory is held until they come.
    /// [`LoopEvent::Received`] or [`LoopEvent::Ended`] answers; until then asking again has no effect. Not asking
    /// is what holds a peer back: the system's buffers fill, then it waits.
    pub fn want(&mut self, conn: ConnId, bytes: usize) {
        self.connections.want(conn, bytes, &mut self.backend);
    }

    /// Tells once when the peer's word that it sends nothing more has reached this machine, which may be long before it is the answer to a
    /// [`want`](Loop::want). [`LoopEvent::Closes`] answers; until then asking again has no effect.
    pub fn await_close(&mut self, conn: ConnId) {
        self.connections.await_close(conn, &mut self.backend);
    }

    /// Sends `bytes` after everything sent before. [`LoopEvent::Sent`] tells how much is still queued; bounding
    /// that is the owner's matter.
    pub fn send(&mut self, conn: ConnId, bytes: Vec<u8>) {
        self.connections.send(conn, bytes, &mut self.backend);
    }

    /// How many bytes wait to be sent.
    pub fn queued(&self, conn: ConnId) -> usize {
        self.connections.queued(conn)
    }

    /// Of these connections, those whose peer has gone. One that is not asked for anything learns of it in no other way; what one asks of all
    /// costs one call.
    pub fn hung_up(&self, conns: &[ConnId]) -> Vec<ConnId> {
        self.connections.hung_up(conns)
    }

    /// Closes at once; what is queued is lost.
    pub fn close(&mut self, conn: ConnId) {
        self.connections.close(conn, Disconnect::Asked, &mut self.happened);
    }

    /// Closes when everything queued is sent. A peer that never reads is the owner's to [`close`](Loop::close) in
    /// time.
    pub fn close_when_sent(&mut self, conn: ConnId) {
        self.connections.close_when_sent(conn, &mut self.happened);
    }

    /// The socket of a connection that nothing was asked of, for an owner who receives and sends by himself: messages with descriptors
    /// beside them. It is closed as every other.
    pub fn socket(&self, conn: ConnId) -> Option<Arc<OwnedFd>> {
        self.connections.socket(conn)
    }

    /// Tells from now on when a descriptor has something to read, which is for the caller to do.
    ///
    /// # Errors
    /// The system cannot wait for such a descriptor.
    pub fn await_readable(&mut self, descriptor: &Arc<OwnedFd>) -> io::Result<ReadinessId> {
        self.readiness.add(descriptor, &mut self.backend)
    }

    /// Tells it no longer.
    pub fn forget_readable(&mut self, id: ReadinessId) {
        self.readiness.forget(id);
    }

    /// Reports SIGTERM and SIGINT from now on, instead of dying of them. After the loop is dropped they have no
    /// effect.
    pub fn watch_signals(&mut self) -> Result<(), LoopError> {
        Ok(self.signals.watch(&mut self.backend)?)
    }

    /// A mailbox of this loop.
    pub fn mailbox(&self) -> Mailbox<M> {
        self.inbox.mailbox()
    }

    /// Hands over what was asked for, waits until something happens or `until` has come, and appends everything
    /// that happened to `out`. Without `until` it waits as long as it takes; a time that has passed means not to
    /// wait.
    pub fn turn(&mut self, until: Option<Time>, out: &mut Vec<LoopEvent<M>>) {
        let before = out.len();
        out.append(&mut self.happened);
        loop {
            let now = self.now();
            self.listeners.accept(now, self.connections.len(), &mut self.backend);
            let limit = match out.len() > before {
                true => Some(Span::ZERO),
                false => earliest(until, self.listeners.due()).map(|at| at.since(now)),
            };
            let mut finished = std::mem::take(&mut self.finished);
            self.backend.wait(limit, &mut finished);
            let closes =
                |finished: &FinishedCall<_>| matches!(finished.purpose, CallPurpose::AwaitClose(_));
            if finished.iter().any(closes) {
                finished.sort_by_key(|finished| !closes(finished));
            }
            for finished in finished.drain(..) {
                self.finish(finished, out);
            }
            self.finished = finished;
            if out.len() > before || until.is_some_and(|until| until <= self.now()) {
                return;
            }
        }
    }

    /// Tells what a finished call means, and begins what follows from it.
    fn finish(&mut self, finished: FinishedCall<CallPurpose>, out: &mut Vec<LoopEvent<M>>) {
        let FinishedCall { purpose, call, result } = finished;
        match (purpose, call) {
            (CallPurpose::Transfer(disk, transfer), call) => {
                self.disks.finish(disk, transfer, (call, result), &mut self.backend, out);
            }
            (CallPurpose::Receive(conn), Call::Receive { bytes, .. }) => {
                self.connections.received(conn, (bytes, result), out);
            }
            (CallPurpose::Send(conn), Call::Send { buffers, skip, .. }) => {
                let sent = (buffers, skip, result);
                self.connections.sent(conn, sent, &mut self.backend, out);
            }
            (CallPurpose::AwaitClose(conn), _) => self.connections.closes(conn, out),
            (CallPurpose::Accept(listener), Call::Accept { accepted, .. }) => {
                let result = result.map(|_| accepted.expect("a good accept brings a socket"));
                let place = (self.clock.now(), &mut self.connections);
                self.listeners.accepted(listener, result, place, out);
            }
            (CallPurpose::Readiness, _) => self.readiness.told(&mut self.backend, out),
            (CallPurpose::Mail, _) => {
                out.extend(self.inbox.take().map(LoopEvent::Mail));
                hear(&self.inbox, &mut self.backend);
            }
            (CallPurpose::Signal(signal), Call::Receive { bytes, .. }) => {
                out.extend(bytes.iter().map(|_| LoopEvent::Signal(signal)));
                self.signals.receive(signal, &mut self.backend);
            }
            (purpose, call) => unreachable!("{purpose:?} came back with {call:?}"),
        }
    }
}

impl<M> fmt::Debug for Loop<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Loop");
        shown.field("mode", &self.mode).field("disks", &self.disks);
        shown.field("connections", &self.connections.len()).finish_non_exhaustive()
    }
}

/// Waits for the mailbox's bell.
fn hear<M>(inbox: &Inbox<M>, backend: &mut Backend<CallPurpose>) {
    backend.begin(CallPurpose::Mail, Call::Hear { bell: inbox.bell().clone() });
}

fn earliest(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    [one, other].into_iter().flatten().min()
}
