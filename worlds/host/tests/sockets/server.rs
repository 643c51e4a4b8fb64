//! A loop that echoes what it receives, and the listeners and peers to test it with.

use loadline_host::{
    BackendChoice, Disconnect, ListenAt, ListenerId, Loop, LoopEvent, LoopOptions,
};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;

/// The backends that this system has; what is missing is said.
pub(crate) fn backends() -> Vec<BackendChoice> {
    let uring = LoopOptions { backend: BackendChoice::Uring, ..LoopOptions::default() };
    match Loop::<()>::new(uring) {
        Ok(_) => vec![BackendChoice::Uring, BackendChoice::Threads],
        Err(refused) => {
            println!("tested with threads only: {refused}");
            vec![BackendChoice::Threads]
        }
    }
}

pub(crate) fn new_loop<M>(backend: BackendChoice) -> Loop<M> {
    Loop::new(LoopOptions { backend, ..LoopOptions::default() }).expect("a loop can be made")
}

/// A stream of either family.
pub(crate) trait Peer: Read + Write + Send {}
impl<T: Read + Write + Send> Peer for T {}

/// How to reach a listener.
#[derive(Clone, Debug)]
pub(crate) enum Way {
    Unix(std::path::PathBuf),
    Tcp(SocketAddr),
}

impl Way {
    pub(crate) fn connect(&self) -> Box<dyn Peer> {
        match self {
            Way::Unix(path) => Box::new(UnixStream::connect(path).expect("somebody listens")),
            Way::Tcp(address) => Box::new(TcpStream::connect(address).expect("somebody listens")),
        }
    }
}

/// Listens on a Unix socket in `folder` and on a TCP port; the ways to both.
pub(crate) fn listen<M>(turns: &mut Loop<M>, folder: &std::path::Path) -> Vec<(ListenerId, Way)> {
    let path = folder.join("socket");
    let unix = turns.listen(&ListenAt::Unix(path.clone())).expect("the path is free");
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let tcp = turns.listen(&ListenAt::Tcp(any)).expect("some port is free");
    let address = turns.address(tcp).expect("a TCP listener has an address");
    vec![(unix, Way::Unix(path)), (tcp, Way::Tcp(address))]
}

/// Echoes until `closed` connections are gone; answers why each one went.
pub(crate) fn echo<M>(turns: &mut Loop<M>, closed: usize) -> Vec<Disconnect> {
    const PIECE: usize = 16 << 10;
    let mut reasons = Vec::new();
    let mut happened = Vec::new();
    while reasons.len() < closed {
        turns.turn(None, &mut happened);
        for happening in happened.drain(..) {
            match happening {
                LoopEvent::Accepted { conn, .. } => turns.want(conn, PIECE),
                LoopEvent::Received { conn, bytes } => {
                    assert!(!bytes.is_empty() && bytes.len() <= PIECE);
                    turns.send(conn, bytes);
                }
                LoopEvent::Sent { conn, queued: 0, .. } => turns.want(conn, PIECE),
                LoopEvent::Sent { .. } => {}
                LoopEvent::Ended { conn } => turns.close_when_sent(conn),
                LoopEvent::Closed { reason, .. } => reasons.push(reason),
                _ => panic!("an echo has no disks, mail or signals"),
            }
        }
    }
    reasons
}
