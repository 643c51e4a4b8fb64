//! Listens, lets connections in, and ends.

use crate::budget::Budget;
use crate::gate::TermsError;
use crate::service::{Service, count};
use crate::session::RespSession;
use crate::users::Users;
use futures_util::FutureExt;
use loadline_base::Bytes;
use loadline_host::{ListenAt, ListenError, listen_at, raise_descriptors};
use loadline_kv::{Db, LogMode};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, io};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::task::LocalSet;

/// Rights to the socket.
const SOCKET_MODE: u32 = 0o600;
/// What one connection may make the server keep, twice.
const MEMORY_MIN: Bytes = Bytes::from_mib(16);
/// Descriptors for everything but connections that stay: the database, listeners, the loop, those that are refused.
const OTHER_DESCRIPTORS: u64 = 64;

/// Where a server listens, and what it bears.
#[derive(Clone, Debug)]
pub struct RespOptions {
    /// A socket's path; it gets mode 0600.
    pub socket: Option<PathBuf>,
    /// An address of this machine's loopback.
    pub tcp: Option<SocketAddr>,
    /// Connections at a time.
    pub clients: usize,
    /// How long a connection may say nothing; `None` for ever.
    pub idle: Option<Duration>,
    /// Bytes that connections together may make it keep: of requests that are not whole, and answers that are not taken.
    pub memory: Bytes,
    /// When a commit is answered, until `CONFIG SET appendfsync` says otherwise.
    pub promise: LogMode,
}

impl RespOptions {
    /// Refuses what can be known to be wrong before a database is opened.
    ///
    /// # Errors
    /// [`RespError`], all of them but those of the system.
    pub fn check(&self) -> Result<(), RespError> {
        if self.socket.is_none() && self.tcp.is_none() {
            return Err(RespError::Nowhere);
        }
        if let Some(address) = self.tcp.filter(|address| !address.ip().is_loopback()) {
            return Err(RespError::NotLoopback(address));
        }
        if self.memory < MEMORY_MIN {
            return Err(RespError::Memory(self.memory));
        }
        let (clients, descriptors) = (self.clients, raise_descriptors());
        if clients as u64 + OTHER_DESCRIPTORS > descriptors {
            return Err(RespError::Descriptors { clients, descriptors });
        }
        Ok(())
    }
}

/// Why a server does not run.
#[derive(Debug, thiserror::Error)]
pub enum RespError {
    /// Neither a socket nor an address was given.
    #[error("there is nothing to listen on; name a --socket, or a --tcp address")]
    Nowhere,
    /// Others than this machine's own users could read along.
    #[error(
        "{0} is not of the loopback, and there is no encryption: listen on 127.0.0.1 or a --socket, behind a tunnel"
    )]
    NotLoopback(SocketAddr),
    /// One connection alone could use up all.
    #[error(
        "{0} of memory for connections is too little, since one request may have half of {MEMORY_MIN}; give at least that"
    )]
    Memory(Bytes),
    /// More connections than the system has descriptors for.
    #[error(
        "{clients} connections need more descriptors than there are ({descriptors}); raise `ulimit -n` or allow fewer"
    )]
    Descriptors {
        /// Connections that were asked for.
        clients: usize,
        /// What the system allows this process.
        descriptors: u64,
    },
    /// Somebody else listens there, or the system refuses.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// What a file of users promises cannot be kept.
    #[error("users: {0}")]
    Terms(String),
    /// The system refuses what its loop needs.
    #[error("the server cannot begin: {0}")]
    Runtime(#[from] io::Error),
}

impl From<TermsError> for RespError {
    fn from(error: TermsError) -> RespError {
        RespError::Terms(error.to_string())
    }
}

/// Where a server listens, once it does.
#[derive(Clone, Debug)]
pub struct Listening {
    /// The address, with the port that it was given.
    pub tcp: Option<SocketAddr>,
}

/// Serves a database until `stop` is set, which is looked at twenty times a second; then connections end where they are, and what was answered is synced by
/// the database's end. `ready` is told when it listens.
///
/// # Errors
/// [`RespError`], before anything is served.
pub fn serve(
    db: Db,
    users: Users,
    options: &RespOptions,
    ready: impl FnOnce(Listening),
    stop: &AtomicBool,
) -> Result<(), RespError> {
    options.check()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let tasks = LocalSet::new();
    tasks.block_on(&runtime, async {
        let budget = Budget::new(options.memory.get());
        let service = Service::new(db, users, options.promise, budget)?;
        let listen = |at: Option<ListenAt>| at.map(|at| listen_at(&at, SOCKET_MODE)).transpose();
        let tcp = listen(options.tcp.map(ListenAt::Tcp))?;
        let unix = listen(options.socket.clone().map(ListenAt::Unix))?;
        let address = tcp.as_ref().and_then(|(_, address)| *address);
        let tcp = tcp.map(|(tcp, _)| to_accept_tcp(tcp)).transpose()?;
        let unix = unix.map(|(unix, _)| to_accept_unix(unix)).transpose()?;
        ready(Listening { tcp: address });
        let door = Rc::new(Door { service, clients: options.clients, idle: options.idle });
        tokio::select! {
            () = accept_tcp(&door, tcp) => {}
            () = accept_unix(&door, unix) => {}
            () = stopped(stop) => {}
        }
        if let Some(socket) = &options.socket {
            // Whoever comes now is told at once that nobody listens.
            drop(fs::remove_file(socket));
        }
        Ok(())
    })
}

fn to_accept_tcp(socket: OwnedFd) -> io::Result<TcpListener> {
    let listener = std::net::TcpListener::from(socket);
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

fn to_accept_unix(socket: OwnedFd) -> io::Result<UnixListener> {
    let listener = std::os::unix::net::UnixListener::from(socket);
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener)
}

async fn stopped(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        tokio::time::sleep(BREATH).await;
    }
}

/// Who is let in.
struct Door {
    service: Rc<Service>,
    clients: usize,
    idle: Option<Duration>,
}

/// After a failure to accept, which is mostly a want of descriptors, others may need a moment.
const BREATH: Duration = Duration::from_millis(50);

async fn accept_tcp(door: &Rc<Door>, listener: Option<TcpListener>) {
    let Some(listener) = listener else { return std::future::pending().await };
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Without it small answers wait for more; where it fails they do.
                drop(stream.set_nodelay(true));
                door.let_in(stream);
            }
            Err(_) => tokio::time::sleep(BREATH).await,
        }
    }
}

async fn accept_unix(door: &Rc<Door>, listener: Option<UnixListener>) {
    let Some(listener) = listener else { return std::future::pending().await };
    loop {
        match listener.accept().await {
            Ok((stream, _)) => door.let_in(stream),
            Err(_) => tokio::time::sleep(BREATH).await,
        }
    }
}

impl Door {
    fn let_in(self: &Rc<Door>, mut stream: impl AsyncRead + AsyncWrite + Unpin + 'static) {
        let counts = &self.service.counts;
        if counts.connected.get() >= self.clients as u64 {
            count(&counts.refused);
            // It fits into an empty socket. Who does not even take the refusal goes without it.
            drop(stream.write_all(b"-ERR max number of clients reached\r\n").now_or_never());
            return;
        }
        count(&counts.connections);
        count(&counts.connected);
        let number = counts.connections.get();
        let session = RespSession::new(Rc::clone(&self.service), number, stream);
        let door = Rc::clone(self);
        tokio::task::spawn_local(async move {
            // A connection that breaks has nobody who could be told.
            drop(session.run(door.idle).await);
            let connected = &door.service.counts.connected;
            connected.set(connected.get() - 1);
        });
    }
}
