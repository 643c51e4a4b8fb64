//! Calls on sockets and bells: polled until they can be carried out at once.

use crate::backend::{Call, FinishedCall};
use loadline_base::Span;
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio, retry_on_intr};
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendFlags, SocketFlags, accept_with, recv, sendmsg,
};
use std::io::IoSlice;
use std::os::fd::OwnedFd;

/// The calls that wait until their descriptor is ready.
pub(super) struct Sockets<P> {
    waiting: Vec<(P, Call)>,
}

impl<P> Default for Sockets<P> {
    fn default() -> Self {
        Sockets { waiting: Vec::new() }
    }
}

impl<P> Sockets<P> {
    pub(super) fn begin(&mut self, purpose: P, call: Call) {
        if let Call::Accept { listener, .. } = &call {
            // A peer may be gone between the poll and the accept, which would then wait for the next one.
            ioctl_fionbio(listener, true).expect("a listener can be told not to wait");
        }
        self.waiting.push((purpose, call));
    }

    /// Waits until a call can be carried out, `bell` rings, or `limit` has passed; appends the calls that are over.
    pub(super) fn poll(
        &mut self,
        bell: &OwnedFd,
        limit: Option<Span>,
        out: &mut Vec<FinishedCall<P>>,
    ) {
        let mut polled = vec![PollFd::new(bell, PollFlags::IN)];
        polled.extend(self.waiting.iter().map(|(_, call)| {
            let (fd, flags) = awaited(call);
            PollFd::new(fd, flags)
        }));
        let limit = limit.map(|limit| Timespec {
            tv_sec: (limit.nanos() / 1_000_000_000) as i64,
            tv_nsec: (limit.nanos() % 1_000_000_000) as i64,
        });
        match poll(&mut polled, limit.as_ref()) {
            Ok(0) | Err(Errno::INTR) => return,
            Ok(_) => {}
            Err(errno) => panic!("polling our own descriptors failed: {errno}"),
        }
        let ready: Vec<bool> = polled[1..].iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut ready = ready.into_iter();
        let mut has_received = false;
        for (purpose, mut call) in std::mem::take(&mut self.waiting) {
            let result =
                if ready.next() == Some(true) { carry_out(&mut call) } else { Err(Errno::AGAIN) };
            match result {
                Err(Errno::AGAIN) => self.waiting.push((purpose, call)),
                result => {
                    has_received |= matches!(call, Call::Receive { .. } | Call::Hear { .. });
                    out.push(FinishedCall { purpose, call, result });
                }
            }
        }
        if has_received {
            self.tell_closes(out);
        }
    }

    /// Appends the peers that have closed since all were looked at: something may have been received that was sent after that.
    fn tell_closes(&mut self, out: &mut Vec<FinishedCall<P>>) {
        let awaits = |(_, call): &(P, Call)| call.awaits_close();
        let mut looks: Vec<PollFd<'_>> = self
            .waiting
            .iter()
            .filter(|waiting| awaits(waiting))
            .map(|(_, call)| {
                let (fd, flags) = awaited(call);
                PollFd::new(fd, flags)
            })
            .collect();
        if looks.is_empty()
            || retry_on_intr(|| poll(&mut looks, Some(&Timespec::default()))) == Ok(0)
        {
            return;
        }
        let closed: Vec<bool> = looks.iter().map(|look| !look.revents().is_empty()).collect();
        let mut closed = closed.into_iter();
        let told =
            self.waiting.extract_if(.., |waiting| awaits(waiting) && closed.next() == Some(true));
        out.extend(told.map(|(purpose, call)| FinishedCall { purpose, call, result: Ok(0) }));
    }
}

fn awaited(call: &Call) -> (&OwnedFd, PollFlags) {
    match call {
        Call::Accept { listener: fd, .. } | Call::Receive { socket: fd, .. } => (fd, PollFlags::IN),
        Call::Hear { bell } => (bell, PollFlags::IN),
        Call::Send { socket, .. } => (socket, PollFlags::OUT),
        Call::AwaitClose { socket } => (socket, PollFlags::RDHUP),
        _ => unreachable!("disks have threads"),
    }
}

fn carry_out(call: &mut Call) -> Result<usize, Errno> {
    retry_on_intr(|| match call {
        Call::Accept { listener, accepted } => {
            *accepted = Some(accept_with(listener, SocketFlags::CLOEXEC)?);
            Ok(0)
        }
        Call::Receive { socket, bytes } => {
            recv(socket, spare_capacity(bytes), RecvFlags::DONTWAIT).map(|(received, _)| received)
        }
        Call::Send { socket, buffers, skip } => {
            let mut parts: Vec<IoSlice<'_>> = buffers.iter().map(|b| IoSlice::new(b)).collect();
            parts[0].advance(*skip);
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            sendmsg(socket, &parts, &mut SendAncillaryBuffer::default(), flags)
        }
        Call::Hear { .. } | Call::AwaitClose { .. } => Ok(0),
        _ => unreachable!("disks have threads"),
    })
}
