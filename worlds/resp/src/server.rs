//! Listens, lets connections in, and ends.

use crate::budget::Budget;
use crate::gate::{Gate, TermsError};
use crate::service::{Service, count};
use crate::session::RespSession;
use crate::strangers::{Stranger, Strangers};
use crate::users::Users;
use futures_util::FutureExt;
use loadline_base::Bytes;
use loadline_host::{
    ListenAt, ListenError, Peer, ProgramMemory, check_free, listen_at, prepare_tcp,
    raise_descriptors,
};
use loadline_kv::{Db, DbError, LogMode};
use loadline_tls::TlsServer;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, io};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::task::LocalSet;

/// Rights to the socket.
const SOCKET_MODE: u32 = 0o600;
/// What one connection may make the server keep, twice.
const MEMORY_MIN: Bytes = Bytes::from_mib(16);
/// Who may not even say nothing for so long has no time for a first command.
const IDLE_MIN: Duration = Duration::from_secs(1);
/// Descriptors for everything but connections that stay: the database, listeners, the loop, those that are refused.
const OTHER_DESCRIPTORS: u64 = 64;

/// Where a server listens, and what it bears.
#[derive(Clone, Debug)]
pub struct RespOptions {
    /// A socket's path; it gets mode 0600.
    pub socket: Option<PathBuf>,
    /// An address; other than of this machine's loopback only with `tls`, and users who all have passwords.
    pub tcp: Option<SocketAddr>,
    /// By what connections at that address go through TLS, and no others do.
    pub tls: Option<TlsServer>,
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
    /// Refuses what can be known to be wrong before a database is opened for these users, where it would be made. A socket may lie in its folder,
    /// `made`, before that is there.
    ///
    /// # Errors
    /// [`RespError`].
    pub fn check(&self, users: &Users, made: Option<&Path>) -> Result<(), RespError> {
        match self.tcp {
            None if self.tls.is_some() => return Err(RespError::TlsNowhere),
            None if self.socket.is_none() => return Err(RespError::Nowhere),
            Some(address) if !address.ip().is_loopback() => self.check_outside(address, users)?,
            _ => {}
        }
        if self.memory < MEMORY_MIN {
            return Err(RespError::Memory(self.memory));
        }
        if let Some(has) = ProgramMemory::here().total.filter(|has| *has < self.memory) {
            return Err(RespError::NoMemory { asked: self.memory, has });
        }
        if self.clients == 0 {
            return Err(RespError::NoClients);
        }
        if let Some(idle) = self.idle.filter(|idle| *idle < IDLE_MIN) {
            return Err(RespError::Idle(idle));
        }
        let (clients, descriptors) = (self.clients, raise_descriptors());
        if (clients as u64).saturating_add(OTHER_DESCRIPTORS) > descriptors {
            return Err(RespError::Descriptors { clients, descriptors });
        }
        Gate::new(users.terms())?;
        Ok(self.places().try_for_each(|at| check_free(&at, made))?)
    }

    fn places(&self) -> impl Iterator<Item = ListenAt> {
        let socket = self.socket.clone().map(ListenAt::Unix);
        self.tcp.map(ListenAt::Tcp).into_iter().chain(socket)
    }

    /// Where other machines come, nobody reads along, and each has to say who it is.
    fn check_outside(&self, address: SocketAddr, users: &Users) -> Result<(), RespError> {
        match &self.tls {
            None => Err(RespError::NoTls(address)),
            Some(_) if !users.all_have_passwords() => Err(RespError::NoPassword(address)),
            Some(_) => Ok(()),
        }
    }
}

/// Why a server does not run.
#[derive(Debug, thiserror::Error)]
pub enum RespError {
    /// Neither a socket nor an address was given.
    #[error("there is nothing to listen on; name a --socket, or a --tcp address")]
    Nowhere,
    /// TLS is for an address, and there is none.
    #[error("TLS is for a --tcp address, and there is none")]
    TlsNowhere,
    /// Others than this machine's own users could read along.
    #[error(
        "{0} can be reached from outside, where it is served through TLS alone: give --tls-certificate and --tls-key, or listen on \
         127.0.0.1 or a --socket"
    )]
    NoTls(SocketAddr),
    /// Whoever reaches the address would be somebody.
    #[error(
        "{0} can be reached from outside, and not every user has a password: give a file of --users in which each has one"
    )]
    NoPassword(SocketAddr),
    /// One connection alone could use up all.
    #[error(
        "--memory {0}: it takes at least {MEMORY_MIN}, since one request may have half of that"
    )]
    Memory(Bytes),
    /// It would bound nothing.
    #[error("--memory {asked}: this machine has {has}")]
    NoMemory {
        /// What was asked for.
        asked: Bytes,
        /// What programs may have here.
        has: Bytes,
    },
    /// Everybody would be refused.
    #[error("--clients 0: nobody would be served; it takes at least 1")]
    NoClients,
    /// Nobody would come to say anything.
    #[error(
        "--idle {0:?}: connections would be closed before their first command; it takes at least {IDLE_MIN:?}"
    )]
    Idle(Duration),
    /// More connections than the system has descriptors for.
    #[error(
        "--clients {clients}: connections take a descriptor each, and {} are there for them; raise `ulimit -n`, or allow no more than that",
        descriptors.saturating_sub(OTHER_DESCRIPTORS)
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
    /// It has served, and the database's last sync has failed.
    #[error("what was answered last may be lost, since it could not be synced at the end: {0}")]
    NotDurable(DbError),
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
/// [`RespError`], before anything is served, or since what was answered could not be synced.
pub fn serve(
    db: Db,
    users: Users,
    options: &RespOptions,
    ready: impl FnOnce(Listening),
    stop: &AtomicBool,
) -> Result<(), RespError> {
    options.check(&users, None)?;
    serve_connections(db.clone(), users, options, ready, stop)?;
    // Connections are gone with their loop, so this closes it.
    db.close().map_err(RespError::NotDurable)
}

fn serve_connections(
    db: Db,
    users: Users,
    options: &RespOptions,
    ready: impl FnOnce(Listening),
    stop: &AtomicBool,
) -> Result<(), RespError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let tasks = LocalSet::new();
    tasks.block_on(&runtime, async {
        let (most, each) = (options.memory.get(), db.limits().value_bytes);
        let budget = Budget::new(most, each, users.terms().count());
        let service = Service::new(db, users, options.promise, budget)?;
        let listen = |at: Option<ListenAt>| at.map(|at| listen_at(&at, SOCKET_MODE)).transpose();
        let tcp = listen(options.tcp.map(ListenAt::Tcp))?;
        let unix = listen(options.socket.clone().map(ListenAt::Unix))?;
        let address = tcp.as_ref().and_then(|(_, address)| *address);
        let tcp = tcp.map(|(tcp, _)| to_accept_tcp(tcp)).transpose()?;
        let unix = unix.map(|(unix, _)| to_accept_unix(unix)).transpose()?;
        ready(Listening { tcp: address });
        let tls = options.tls.clone();
        let strangers = Strangers::new();
        let RespOptions { clients, idle, .. } = *options;
        let door = Rc::new(Door { service, clients, idle, tls, strangers });
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
    /// Of those who come by TCP.
    tls: Option<TlsServer>,
    strangers: Rc<Strangers>,
}

/// After a failure to accept, which is mostly a want of descriptors, others may need a moment.
const BREATH: Duration = Duration::from_millis(50);
/// Whoever has not come through TLS by then is not waited for, once its turn has come.
const TLS_PATIENCE: Duration = Duration::from_secs(10);
/// Whoever stands behind so many others of its peer that its turn has not come by then comes again later.
const LINE_PATIENCE: Duration = Duration::from_secs(40);

async fn accept_tcp(door: &Rc<Door>, listener: Option<TcpListener>) {
    let Some(listener) = listener else { return std::future::pending().await };
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                prepare_tcp(&stream);
                match door.tls.clone() {
                    None => door.let_in(stream),
                    Some(tls) => {
                        door.let_in_through(tls, stream, Peer::Address(address.ip()));
                    }
                }
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
        let Some(place) = self.place() else {
            // It fits into an empty socket. Who does not even take the refusal goes without it.
            drop(stream.write_all(b"-ERR max number of clients reached\r\n").now_or_never());
            return;
        };
        tokio::task::spawn_local(place.serve(stream, None));
    }

    /// Who is one too many here learns no more than that the connection ends.
    fn let_in_through(self: &Rc<Door>, tls: TlsServer, stream: TcpStream, peer: Peer) {
        let free = (self.clients as u64).saturating_sub(self.service.counts.connected.get());
        let Some(stranger) = self.strangers.enter(peer, free) else {
            return count(&self.service.counts.refused);
        };
        let Some(place) = self.place() else { return };
        tokio::task::spawn_local(async move {
            let sealed = tokio::time::timeout(LINE_PATIENCE, async {
                let _under_way = stranger.turn().await;
                tokio::time::timeout(TLS_PATIENCE, tls.accept(stream)).await
            });
            match sealed.await {
                Ok(Ok(Ok(stream))) => place.serve(stream, Some(stranger)).await,
                // It has been told what is wrong with it, if it listens.
                Ok(Ok(Err(_)) | Err(_)) | Err(_) => count(&place.door.service.counts.unsealed),
            }
        });
    }

    /// A place for one connection, if there is one.
    fn place(self: &Rc<Door>) -> Option<ConnectionPlace> {
        let counts = &self.service.counts;
        if counts.connected.get() >= self.clients as u64 {
            count(&counts.refused);
            return None;
        }
        count(&counts.connections);
        count(&counts.connected);
        Some(ConnectionPlace { door: Rc::clone(self), number: counts.connections.get() })
    }
}

/// One connection's place among all, until this is dropped.
struct ConnectionPlace {
    door: Rc<Door>,
    number: u64,
}

impl ConnectionPlace {
    async fn serve(self, stream: impl AsyncRead + AsyncWrite + Unpin, who: Option<Stranger>) {
        let session = RespSession::new(Rc::clone(&self.door.service), self.number, stream, who);
        // A connection that breaks has nobody who could be told.
        drop(session.run(self.door.idle).await);
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let connected = &self.door.service.counts.connected;
        connected.set(connected.get() - 1);
    }
}
