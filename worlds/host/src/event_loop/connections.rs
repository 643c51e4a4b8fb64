//! Connections: what each receives and sends, and how it ends.
//!
//! Of each connection at most one receive and one send are in flight, and one call that waits for the peer to close. Closing shuts the
//! socket down, which ends them; the connection is gone when all have come back.

use super::events::{CallPurpose, ConnId, Disconnect, LoopEvent};
use crate::backend::{Backend, Call, SEND_BUFFERS_MAX};
use loadline_base::Slots;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// The open connections.
#[derive(Debug, Default)]
pub(super) struct Connections {
    conns: Slots<Conn>,
    /// The number of the latest connection; it tells an id from those that had its slot before.
    serial: u64,
}

#[derive(Debug)]
struct Conn {
    serial: u64,
    socket: Arc<OwnedFd>,
    receiving: bool,
    sending: bool,
    awaiting_close: bool,
    /// What is to be sent and not in flight; the first `skip` bytes are sent.
    line: VecDeque<Vec<u8>>,
    skip: usize,
    /// Bytes to be sent, in flight or not.
    queued: usize,
    close_when_sent: bool,
    closing: Option<Disconnect>,
}

impl Connections {
    pub(super) fn len(&self) -> usize {
        self.conns.len()
    }

    pub(super) fn add(&mut self, socket: OwnedFd) -> ConnId {
        self.serial += 1;
        let serial = self.serial;
        let slot = self.conns.acquire(Conn {
            serial,
            socket: Arc::new(socket),
            receiving: false,
            sending: false,
            awaiting_close: false,
            line: VecDeque::new(),
            skip: 0,
            queued: 0,
            close_when_sent: false,
            closing: None,
        });
        ConnId { slot, serial }
    }

    pub(super) fn socket(&self, id: ConnId) -> Option<Arc<OwnedFd>> {
        let conn = self.conns.get(id.slot).filter(|conn| conn.serial == id.serial)?;
        (conn.closing.is_none() && !conn.receiving && !conn.sending).then(|| conn.socket.clone())
    }

    pub(super) fn queued(&self, id: ConnId) -> usize {
        let conn = self.conns.get(id.slot).filter(|conn| conn.serial == id.serial);
        conn.map_or(0, |conn| conn.queued)
    }

    /// The connection, unless it is closed or closing.
    fn open(&mut self, id: ConnId) -> Option<&mut Conn> {
        let used = self.conns.get(id.slot).is_some_and(|conn| conn.serial == id.serial);
        let conn = used.then(|| self.conns.at_mut(id.slot))?;
        conn.closing.is_none().then_some(conn)
    }

    /// Of these connections, those whose peer has gone: nothing that is sent would reach it. One that has only shut its own direction down
    /// still listens.
    pub(super) fn hung_up(&self, ids: &[ConnId]) -> Vec<ConnId> {
        let of = |id: &ConnId| {
            let conn = self.conns.get(id.slot).filter(|conn| conn.serial == id.serial)?;
            Some((*id, &conn.socket))
        };
        let open: Vec<(ConnId, &Arc<OwnedFd>)> = ids.iter().filter_map(of).collect();
        let ends = PollFlags::HUP | PollFlags::ERR;
        let mut looks: Vec<PollFd<'_>> =
            open.iter().map(|(_, socket)| PollFd::new(*socket, PollFlags::empty())).collect();
        // Without an answer nothing is known, and it is asked again.
        let found = poll(&mut looks, Some(&Timespec::default())).unwrap_or(0);
        let looked = open.into_iter().zip(looks).filter(|_| found > 0);
        looked.filter(|(_, look)| look.revents().intersects(ends)).map(|((id, _), _)| id).collect()
    }

    pub(super) fn want(&mut self, id: ConnId, bytes: usize, backend: &mut Backend<CallPurpose>) {
        if let Some(conn) = self.open(id).filter(|conn| !conn.receiving) {
            conn.receiving = true;
            let bytes = Vec::with_capacity(bytes.max(1));
            backend.begin(
                CallPurpose::Receive(id),
                Call::Receive { socket: conn.socket.clone(), bytes },
            );
        }
    }

    pub(super) fn await_close(&mut self, id: ConnId, backend: &mut Backend<CallPurpose>) {
        if let Some(conn) = self.open(id).filter(|conn| !conn.awaiting_close) {
            conn.awaiting_close = true;
            let call = Call::AwaitClose { socket: conn.socket.clone() };
            backend.begin(CallPurpose::AwaitClose(id), call);
        }
    }

    pub(super) fn send(&mut self, id: ConnId, bytes: Vec<u8>, backend: &mut Backend<CallPurpose>) {
        if let Some(conn) = self.open(id).filter(|_| !bytes.is_empty()) {
            conn.queued += bytes.len();
            conn.line.push_back(bytes);
            conn.send_next(id, backend);
        }
    }

    /// Begins to close, for whatever reason.
    pub(super) fn close<M>(&mut self, id: ConnId, reason: Disconnect, out: &mut Vec<LoopEvent<M>>) {
        if let Some(conn) = self.open(id) {
            conn.closing = Some(reason);
            conn.line.clear();
            conn.queued = 0;
            // A peer that is gone already has shut it down itself.
            let _ = shutdown(&conn.socket, Shutdown::Both);
            self.settle(id, out);
        }
    }

    pub(super) fn close_when_sent<M>(&mut self, id: ConnId, out: &mut Vec<LoopEvent<M>>) {
        match self.open(id) {
            Some(conn) if conn.queued > 0 => conn.close_when_sent = true,
            Some(_) => self.close(id, Disconnect::Asked, out),
            None => {}
        }
    }

    /// Forgets a closing connection that has nothing in flight any more.
    fn settle<M>(&mut self, id: ConnId, out: &mut Vec<LoopEvent<M>>) {
        let conn = self.conns.at(id.slot);
        if let Some(reason) = conn.closing
            && !conn.receiving
            && !conn.sending
            && !conn.awaiting_close
        {
            self.conns.release(id.slot);
            out.push(LoopEvent::Closed { conn: id, reason });
        }
    }

    /// The peer has closed, or we have.
    pub(super) fn closes<M>(&mut self, id: ConnId, out: &mut Vec<LoopEvent<M>>) {
        let conn = self.conns.at_mut(id.slot);
        conn.awaiting_close = false;
        match conn.closing {
            Some(_) => self.settle(id, out),
            None => out.push(LoopEvent::Closes { conn: id }),
        }
    }

    /// A receive is over.
    pub(super) fn received<M>(
        &mut self,
        id: ConnId,
        (bytes, result): (Vec<u8>, Result<usize, Errno>),
        out: &mut Vec<LoopEvent<M>>,
    ) {
        let conn = self.conns.at_mut(id.slot);
        conn.receiving = false;
        if conn.closing.is_some() {
            return self.settle(id, out);
        }
        match result {
            Ok(0) => out.push(LoopEvent::Ended { conn: id }),
            Ok(_) => out.push(LoopEvent::Received { conn: id, bytes }),
            Err(errno) => self.close(id, Disconnect::Broken(errno.raw_os_error()), out),
        }
    }

    /// A send is over. What it did not get rid of goes back to the head of the line.
    pub(super) fn sent<M>(
        &mut self,
        id: ConnId,
        (buffers, skip, result): (Vec<Vec<u8>>, usize, Result<usize, Errno>),
        backend: &mut Backend<CallPurpose>,
        out: &mut Vec<LoopEvent<M>>,
    ) {
        let conn = self.conns.at_mut(id.slot);
        conn.sending = false;
        if conn.closing.is_some() {
            return self.settle(id, out);
        }
        match result {
            Ok(sent) => {
                conn.queued -= sent;
                conn.put_back(buffers, skip + sent);
                conn.send_next(id, backend);
                out.push(LoopEvent::Sent { conn: id, bytes: sent, queued: conn.queued });
                if conn.close_when_sent && conn.queued == 0 {
                    self.close(id, Disconnect::Asked, out);
                }
            }
            Err(errno) => self.close(id, Disconnect::Broken(errno.raw_os_error()), out),
        }
    }
}

impl Conn {
    fn send_next(&mut self, id: ConnId, backend: &mut Backend<CallPurpose>) {
        if !self.sending && !self.line.is_empty() {
            self.sending = true;
            let count = self.line.len().min(SEND_BUFFERS_MAX);
            let buffers = self.line.drain(..count).collect();
            let skip = std::mem::take(&mut self.skip);
            let socket = self.socket.clone();
            backend.begin(CallPurpose::Send(id), Call::Send { socket, buffers, skip });
        }
    }

    /// Puts buffers back of which `sent` bytes are gone.
    fn put_back(&mut self, buffers: Vec<Vec<u8>>, mut sent: usize) {
        let gone = buffers.iter().take_while(|buffer| {
            let whole = sent >= buffer.len();
            sent -= if whole { buffer.len() } else { 0 };
            whole
        });
        let gone = gone.count();
        self.skip = sent;
        for buffer in buffers.into_iter().skip(gone).rev() {
            self.line.push_front(buffer);
        }
    }
}
