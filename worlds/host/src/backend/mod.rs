//! Who carries system calls out: the ring, or threads where it is refused.
//!
//! Both take a [`Call`] with the buffers that it needs, own them until the system is through with them, and hand
//! the call back with its result. What is behind a call is the loop's matter: its purpose travels along unseen.

mod calls;
#[allow(unsafe_code, reason = "the kernel is handed addresses; each block says why they stay good")]
mod ring;
mod room;
mod threads;

use crate::event_loop::{BackendChoice, DiskId, LoopError, LoopOptions, Mode};
pub(crate) use calls::{Call, FinishedCall, SEND_BUFFERS_MAX};
use loadline_base::Span;
pub(crate) use ring::{Arena, ArenaBlock};
use ring::{Ring, reason};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use threads::Threads;

/// One of the two. `P` is what the loop wants a call for.
pub(crate) enum Backend<P> {
    /// Calls are entries of the ring.
    Uring(Box<Ring<P>>),
    /// Calls are carried out by threads and by polling.
    Threads(Threads<P>),
}

impl<P: Send + 'static> Backend<P> {
    /// The backend of the owner's choice, and what to report about it.
    pub(crate) fn new(options: &LoopOptions) -> Result<(Backend<P>, Mode), LoopError> {
        if options.backend == BackendChoice::Threads {
            let mode = Mode::Threads { refused: None };
            return Ok((Backend::Threads(Threads::new(options.disk_threads)?), mode));
        }
        match Ring::new(options.entries) {
            Ok(ring) => Ok((Backend::Uring(Box::new(ring)), Mode::Uring { unregistered: None })),
            Err(error) if options.backend == BackendChoice::Uring => {
                Err(LoopError::UringRefused(error))
            }
            Err(error) => {
                let mode = Mode::Threads { refused: Some(reason(&error)) };
                Ok((Backend::Threads(Threads::new(options.disk_threads)?), mode))
            }
        }
    }

    /// Makes a disk known under its id. Answers why its memory is not registered, if it is not.
    pub(crate) fn attach(
        &mut self,
        disk: DiskId,
        fd: &Arc<OwnedFd>,
        arena: &Arena,
    ) -> io::Result<Option<String>> {
        match self {
            Backend::Uring(ring) => Ok(ring.attach(disk, fd, arena)),
            Backend::Threads(threads) => threads.attach(disk, fd).map(|()| None),
        }
    }

    /// Forgets a disk that has nothing in flight.
    pub(crate) fn detach(&mut self, disk: DiskId) {
        match self {
            Backend::Uring(ring) => ring.detach(disk),
            Backend::Threads(threads) => threads.detach(disk),
        }
    }

    /// Takes a call; the next [`wait`](Self::wait) hands it over at the latest.
    pub(crate) fn begin(&mut self, purpose: P, call: Call) {
        match self {
            Backend::Uring(ring) => ring.begin(purpose, call),
            Backend::Threads(threads) => threads.begin(purpose, call),
        }
    }

    /// Hands over what was begun and waits until a call has ended or `limit` has passed. Appends all that have ended. Beside what was
    /// received or heard stands every [`Call::AwaitClose`] whose peer's word had reached this machine before that.
    pub(crate) fn wait(&mut self, limit: Option<Span>, out: &mut Vec<FinishedCall<P>>) {
        match self {
            Backend::Uring(ring) => ring.wait(limit, out),
            Backend::Threads(threads) => threads.wait(limit, out),
        }
    }
}
