//! Listening sockets: one accept in flight on each, as long as there is room for another connection.

use super::{Connections, Happening, ListenAt, ListenError, ListenerId, Purpose};
use crate::backend::{Backend, Call};
use loadline_base::{Span, Time};
use rustix::io::Errno;
use rustix::net::sockopt::set_tcp_nodelay;
use rustix::net::{AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType};
use rustix::net::{connect, shutdown, socket_with};
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

/// How long to accept nobody after the system had no descriptor or memory left for a peer.
const PAUSE: Span = Span::from_millis(100);

/// The listening sockets.
#[derive(Debug)]
pub(super) struct Listeners {
    listeners: BTreeMap<ListenerId, Listener>,
    /// How many there ever were; no id is used twice.
    made: u32,
    connections_max: usize,
    paused_until: Option<Time>,
}

#[derive(Debug)]
struct Listener {
    socket: Arc<OwnedFd>,
    at: ListenAt,
    address: Option<SocketAddr>,
    accepting: bool,
    stopped: bool,
}

impl Drop for Listener {
    /// The path of a Unix socket would look as if somebody listened.
    fn drop(&mut self) {
        self.remove_path();
    }
}

impl Listener {
    fn remove_path(&mut self) {
        if let ListenAt::Unix(path) = &self.at
            && !self.stopped
        {
            // Somebody may have removed it already, which is as good.
            let _ = fs::remove_file(path);
        }
    }
}

impl Listeners {
    pub(super) fn new(connections_max: usize) -> Listeners {
        Listeners { listeners: BTreeMap::new(), made: 0, connections_max, paused_until: None }
    }

    pub(super) fn add(&mut self, at: &ListenAt) -> Result<ListenerId, ListenError> {
        let (socket, address) = bind(at)?;
        let id = ListenerId::new(self.made);
        self.made += 1;
        let listener = Listener {
            socket: Arc::new(socket),
            at: at.clone(),
            address,
            accepting: false,
            stopped: false,
        };
        self.listeners.insert(id, listener);
        Ok(id)
    }

    pub(super) fn address(&self, id: ListenerId) -> Option<SocketAddr> {
        self.listeners.get(&id)?.address
    }

    /// Ends the accept in flight; the listener is gone when it has come back.
    pub(super) fn stop(&mut self, id: ListenerId) {
        let listener = self.listeners.get_mut(&id).filter(|listener| !listener.stopped);
        let listener = listener.expect("a listener is stopped once");
        listener.remove_path();
        listener.stopped = true;
        if listener.accepting {
            shutdown(&listener.socket, Shutdown::Both).expect("a listening socket shuts down");
        } else {
            self.listeners.remove(&id);
        }
    }

    /// When [`accept`](Self::accept) is to be called again at the latest.
    pub(super) fn due(&self) -> Option<Time> {
        self.paused_until
    }

    /// Begins to accept wherever nothing is in flight, if there is room for one more connection.
    pub(super) fn accept(&mut self, now: Time, open: usize, backend: &mut Backend<Purpose>) {
        if self.paused_until.is_some_and(|until| now < until) || open >= self.connections_max {
            return;
        }
        self.paused_until = None;
        for (id, listener) in &mut self.listeners {
            if !listener.accepting && !listener.stopped {
                listener.accepting = true;
                let call = Call::Accept { listener: listener.socket.clone(), accepted: None };
                backend.begin(Purpose::Accept(*id), call);
            }
        }
    }

    /// An accept is over: there is a peer, or none.
    pub(super) fn accepted<M>(
        &mut self,
        id: ListenerId,
        result: Result<OwnedFd, Errno>,
        (now, connections): (Time, &mut Connections),
        out: &mut Vec<Happening<M>>,
    ) {
        let listener = self.listeners.get_mut(&id).expect("it stays while it accepts");
        listener.accepting = false;
        if listener.stopped {
            self.listeners.remove(&id);
            return;
        }
        match result {
            Ok(socket) => {
                if listener.address.is_some() {
                    // Replies are whole messages; waiting for more to send only delays them.
                    let _ = set_tcp_nodelay(&socket, true);
                }
                out.push(Happening::Accepted { listener: id, conn: connections.add(socket) });
            }
            // The peer was gone before it was accepted.
            Err(Errno::CONNABORTED | Errno::INTR | Errno::AGAIN) => {}
            Err(_) => self.paused_until = Some(now + PAUSE),
        }
    }
}

fn bind(at: &ListenAt) -> Result<(OwnedFd, Option<SocketAddr>), ListenError> {
    let refused = |error: io::Error| match error.kind() {
        io::ErrorKind::AddrInUse => ListenError::InUse(at.clone()),
        _ => ListenError::System { at: at.clone(), error },
    };
    match at {
        ListenAt::Unix(path) => {
            if let Ok(found) = fs::symlink_metadata(path) {
                if !found.file_type().is_socket() {
                    return Err(ListenError::NotASocket(at.clone()));
                }
                if is_alive(path).map_err(refused)? {
                    return Err(ListenError::InUse(at.clone()));
                }
                fs::remove_file(path).map_err(refused)?;
            }
            Ok((UnixListener::bind(path).map_err(refused)?.into(), None))
        }
        ListenAt::Tcp(address) => {
            let listener = TcpListener::bind(address).map_err(refused)?;
            let address = listener.local_addr().map_err(refused)?;
            Ok((listener.into(), Some(address)))
        }
    }
}

/// Whether somebody listens on a Unix socket. A full line of peers is a sign of life too.
fn is_alive(path: &Path) -> io::Result<bool> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match connect(&socket, &SocketAddrUnix::new(path)?) {
        Err(Errno::CONNREFUSED) => Ok(false),
        Ok(()) | Err(Errno::AGAIN) => Ok(true),
        Err(errno) => Err(errno.into()),
    }
}
