//! Listening sockets: one accept in flight on each, as long as there is room for another connection.

use super::{
    CallPurpose, Connections, ListenAt, ListenError, ListenerId, LoopEvent, LoopOptions, Peer,
};
use crate::backend::{Backend, Call};
use crate::folder::{folder_of, may_make_in, plain_path};
use loadline_base::{Span, Time};
use rustix::fs::{Mode, chmod, fchmod};
use rustix::io::Errno;
use rustix::net::sockopt::{
    set_socket_keepalive, set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl, set_tcp_nodelay,
    socket_peercred,
};
use rustix::net::{AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType, UCred};
use rustix::net::{bind as bind_socket, connect, getpeername, listen, shutdown, socket_with};
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

/// How long to accept nobody after the system had no descriptor or memory left for a peer.
const PAUSE: Span = Span::from_millis(100);

/// Peers that may wait to be accepted; the system has a bound of its own.
const BACKLOG: i32 = 4096;

/// The listening sockets.
#[derive(Debug)]
pub(super) struct Listeners {
    listeners: BTreeMap<ListenerId, Listener>,
    /// How many there ever were; no id is used twice.
    made: u32,
    connections_max: usize,
    socket_mode: u32,
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
    pub(super) fn new(options: &LoopOptions) -> Listeners {
        let LoopOptions { connections_max, socket_mode, .. } = *options;
        let listeners = BTreeMap::new();
        Listeners { listeners, made: 0, connections_max, socket_mode, paused_until: None }
    }

    pub(super) fn add(&mut self, at: &ListenAt) -> Result<ListenerId, ListenError> {
        let (socket, address) = listen_at(at, self.socket_mode)?;
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
    pub(super) fn accept(&mut self, now: Time, open: usize, backend: &mut Backend<CallPurpose>) {
        if self.paused_until.is_some_and(|until| now < until) || open >= self.connections_max {
            return;
        }
        self.paused_until = None;
        for (id, listener) in &mut self.listeners {
            if !listener.accepting && !listener.stopped {
                listener.accepting = true;
                let call = Call::Accept { listener: listener.socket.clone(), accepted: None };
                backend.begin(CallPurpose::Accept(*id), call);
            }
        }
    }

    /// An accept is over: there is a peer, or none.
    pub(super) fn accepted<M>(
        &mut self,
        id: ListenerId,
        result: Result<OwnedFd, Errno>,
        (now, connections): (Time, &mut Connections),
        out: &mut Vec<LoopEvent<M>>,
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
                    prepare_tcp(&socket);
                }
                let peer = peer_of(&socket, listener.address.is_some());
                out.push(LoopEvent::Accepted { listener: id, conn: connections.add(socket), peer });
            }
            // The peer was gone before it was accepted.
            Err(Errno::CONNABORTED | Errno::INTR | Errno::AGAIN) => {}
            Err(_) => self.paused_until = Some(now + PAUSE),
        }
    }
}

/// Prepares a connection that was accepted. Replies are whole messages: waiting for more to send only delays them. A peer whose machine is gone is noticed within two
/// minutes. A system that knows none of this serves all the same.
pub fn prepare_tcp(socket: impl AsFd) {
    const SILENT: Duration = Duration::from_secs(60);
    const BETWEEN: Duration = Duration::from_secs(10);
    let socket = &socket;
    let _ = set_tcp_nodelay(socket, true);
    let _ = set_socket_keepalive(socket, true);
    let _ = set_tcp_keepidle(socket, SILENT);
    let _ = set_tcp_keepintvl(socket, BETWEEN);
    let _ = set_tcp_keepcnt(socket, 6);
}

/// Who has connected, as far as the system tells: a peer may be gone already.
fn peer_of(socket: &OwnedFd, is_tcp: bool) -> Peer {
    if is_tcp {
        let address = getpeername(socket).ok().flatten();
        let address = address.and_then(|address| SocketAddr::try_from(address).ok());
        return address.map_or(Peer::Unknown, |address| Peer::Address(address.ip()));
    }
    let of =
        |peer: UCred| Peer::Process { user: peer.uid.as_raw(), process: peer.pid.as_raw_pid() };
    socket_peercred(socket).map_or(Peer::Unknown, of)
}

/// Listens at a path of which nobody has more rights than `mode` at any moment: bound with the rights of the socket itself, which
/// are narrowed first, and open to connections only when its path has the mode.
fn bind_unix(path: &Path, mode: u32) -> io::Result<OwnedFd> {
    let (socket_flags, mode) = (SocketFlags::CLOEXEC, Mode::from_raw_mode(mode));
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, socket_flags, None)?;
    fchmod(&socket, mode)?;
    bind_socket(&socket, &SocketAddrUnix::new(path)?)?;
    // What the umask has taken away.
    chmod(path, mode)?;
    listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// Whether a socket could stand at a path, whoever listens there: the path's length, its folder and the right to put something into that, and that
/// nothing else is in its place. To be asked before anything is made that a refusal would leave behind; the folder `made`, if there is one, is made where it is missing.
///
/// # Errors
/// [`ListenError`]: something else stands there, or the system would refuse.
pub fn check_socket_path(path: &Path, made: Option<&Path>) -> Result<(), ListenError> {
    let refused = |error: io::Error| ListenError::System { at: ListenAt::Unix(path.into()), error };
    // The standard library's error tells a path that is too long from a name that is.
    if let Err(error) = std::os::unix::net::SocketAddr::from_pathname(path) {
        return Err(refused(error));
    }
    if fs::symlink_metadata(path).is_ok_and(|found| !found.file_type().is_socket()) {
        return Err(ListenError::NotASocket(ListenAt::Unix(path.into())));
    }
    let folder = folder_of(path);
    let error: io::Error = match fs::metadata(folder) {
        Ok(found) if found.is_dir() => return may_make_in(folder).map_err(refused),
        Ok(_) => io::ErrorKind::NotADirectory.into(),
        Err(error) => error,
    };
    // Each folder on the way is there by then: one that is gone through and left again is looked for, too.
    let comes = |made: &Path| {
        let made = plain_path(made);
        let stands = |folder: PathBuf| made.starts_with(&folder) || folder.is_dir();
        folder.ancestors().map(plain_path).all(stands)
    };
    match error.kind() == io::ErrorKind::NotFound && made.is_some_and(comes) {
        true => Ok(()),
        false => Err(refused(error)),
    }
}

/// Listens there, for a server that has a loop of its own too: at a path in the place of a socket that nobody listens at any more, with
/// exactly these rights; or at an address, and says which port that is.
///
/// # Errors
/// [`ListenError`]: somebody else listens there, something else stands there, or the system refuses.
pub fn listen_at(
    at: &ListenAt,
    socket_mode: u32,
) -> Result<(OwnedFd, Option<SocketAddr>), ListenError> {
    let refused = |error| refused(at, error);
    match at {
        ListenAt::Unix(path) => {
            check_free(at, None)?;
            if fs::symlink_metadata(path).is_ok() {
                fs::remove_file(path).map_err(refused)?;
            }
            Ok((bind_unix(path, socket_mode).map_err(refused)?, None))
        }
        ListenAt::Tcp(address) => {
            let listener = TcpListener::bind(address).map_err(refused)?;
            let address = listener.local_addr().map_err(refused)?;
            Ok((listener.into(), Some(address)))
        }
    }
}

/// Whether one could listen there now: for whoever makes something before that a refusal would leave behind, a folder `made` among it.
///
/// # Errors
/// [`ListenError`], as of [`listen_at`].
pub fn check_free(at: &ListenAt, made: Option<&Path>) -> Result<(), ListenError> {
    let refused = |error| refused(at, error);
    match at {
        ListenAt::Unix(path) => {
            check_socket_path(path, made)?;
            let is_used = fs::symlink_metadata(path).is_ok() && is_alive(path).map_err(refused)?;
            if is_used { Err(ListenError::InUse(at.clone())) } else { Ok(()) }
        }
        ListenAt::Tcp(address) => TcpListener::bind(address).map(drop).map_err(refused),
    }
}

fn refused(at: &ListenAt, error: io::Error) -> ListenError {
    match error.kind() {
        io::ErrorKind::AddrInUse => ListenError::InUse(at.clone()),
        _ => ListenError::System { at: at.clone(), error },
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
