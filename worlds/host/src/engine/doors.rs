//! Who may come in: how many connections in all and of one peer, and how long one may keep a place without using it. What the
//! node needs for itself, its admin socket above all, stays free of them.

use crate::{ConnId, ListenerId, Peer};
use loadline_base::{Span, Time};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::BTreeMap;

/// Bounds of the node's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoorLimits {
    /// NBD connections in all. Fewer, where the system gives too few descriptors.
    pub connections: u32,
    /// NBD connections of one process by Unix socket, or of one address by TCP.
    pub per_peer: u32,
    /// How long a client may take to choose an export.
    pub negotiation: Span,
    /// How long an NBD connection may be silent with nothing under way, if there is a limit.
    pub idle: Option<Span>,
}

impl Default for DoorLimits {
    /// A kernel's client opens up to 16 connections to an image, qemu one, nbdcopy four: 4,096 serve some hundred guests, and 512
    /// no single client needs. Whoever has not chosen an export after ten seconds will not.
    fn default() -> DoorLimits {
        DoorLimits {
            connections: 4096,
            per_peer: 512,
            negotiation: Span::from_secs(10),
            idle: None,
        }
    }
}

/// Admin connections at a time.
const ADMIN: u32 = 32;
/// Descriptors for everything else: disks, listeners, the ring, threads' bells, files that are opened and closed.
const RESERVED: u64 = 256;
/// Connections that are closed as soon as they have come take a descriptor for a moment.
const PASSING: u32 = 16;
/// Complaints of one kind are told once in so long, and then how many there were.
const QUIET: Span = Span::from_secs(10);

/// Raises the limit of open descriptors as far as the system allows. Answers what it is then.
pub(super) fn raise_descriptors() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    // A system that refuses leaves what there is.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// What a listener's connections speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Speaks {
    Nbd,
    Admin,
}

/// What clients do wrong often, once somebody tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Complaint {
    /// A connection was refused.
    Refused,
    /// A client broke the protocol.
    Violation,
    /// A client chose no export in time.
    NoChoice,
    /// A connection was silent for too long.
    Idle,
    /// A client took nothing of what others wait for the memory of.
    Stalled,
}

/// When a kind of complaint may be told again, and how many were not.
#[derive(Clone, Copy, Debug, Default)]
struct Untold {
    until: Time,
    more: u64,
}

/// The listeners, and who is in.
#[derive(Debug, Default)]
pub(super) struct Doors {
    nbd_max: u32,
    listeners: BTreeMap<ListenerId, Speaks>,
    peers: BTreeMap<ConnId, (Speaks, Peer)>,
    nbd: u32,
    admin: u32,
    per_peer: BTreeMap<Peer, u32>,
    /// Connections that were refused since the start.
    pub refused: u64,
    untold: BTreeMap<Complaint, Untold>,
}

impl Doors {
    pub(super) fn new(limits: &DoorLimits, descriptors: u64) -> Doors {
        let free = descriptors.saturating_sub(RESERVED + u64::from(ADMIN + PASSING));
        let nbd_max = u64::from(limits.connections).min(free.max(16)) as u32;
        if nbd_max < limits.connections {
            tracing::warn!(descriptors, "the system gives descriptors for {nbd_max} connections");
        }
        Doors { nbd_max, ..Doors::default() }
    }

    /// Connections that the loop may have to know at a time.
    pub(super) fn most(&self) -> usize {
        (self.nbd_max + ADMIN + PASSING) as usize
    }

    /// A listener is there.
    pub(super) fn opened(&mut self, listener: ListenerId, speaks: Speaks) {
        self.listeners.insert(listener, speaks);
    }

    /// What comes in by a listener speaks; `None` once it is closed: the last ones may come while it is taken away.
    pub(super) fn spoken_at(&self, listener: ListenerId) -> Option<Speaks> {
        self.listeners.get(&listener).copied()
    }

    /// The listeners of NBD clients, which are closed now.
    pub(super) fn close_nbd(&mut self) -> Vec<ListenerId> {
        let nbd = self.listeners.extract_if(.., |_, speaks| *speaks == Speaks::Nbd);
        nbd.map(|(listener, _)| listener).collect()
    }

    /// What a connection that is in speaks.
    pub(super) fn speaks(&self, conn: ConnId) -> Option<Speaks> {
        self.peers.get(&conn).map(|(speaks, _)| *speaks)
    }

    /// All that are in.
    pub(super) fn connections(&self) -> impl Iterator<Item = ConnId> {
        self.peers.keys().copied()
    }

    /// NBD and admin connections.
    pub(super) fn counts(&self) -> (u32, u32) {
        (self.nbd, self.admin)
    }

    /// Who is behind a connection that is in.
    pub(super) fn peer(&self, conn: ConnId) -> Peer {
        self.peers.get(&conn).map_or(Peer::Unknown, |(_, peer)| *peer)
    }

    /// Lets a connection in, or says why not.
    pub(super) fn enter(
        &mut self,
        conn: ConnId,
        speaks: Speaks,
        peer: Peer,
        per_peer_max: u32,
    ) -> Result<(), String> {
        let (count, most) = match speaks {
            Speaks::Nbd => (&mut self.nbd, self.nbd_max),
            Speaks::Admin => (&mut self.admin, ADMIN),
        };
        if *count >= most {
            return Err(format!("there are {most} already"));
        }
        if speaks == Speaks::Nbd {
            let of_peer = self.per_peer.entry(peer).or_default();
            if *of_peer >= per_peer_max {
                return Err(format!("{peer} has {per_peer_max} already"));
            }
            *of_peer += 1;
        }
        *count += 1;
        self.peers.insert(conn, (speaks, peer));
        Ok(())
    }

    /// A connection is gone. Answers what it spoke, if it was in.
    pub(super) fn leave(&mut self, conn: ConnId) -> Option<Speaks> {
        let (speaks, peer) = self.peers.remove(&conn)?;
        if speaks == Speaks::Admin {
            self.admin -= 1;
            return Some(speaks);
        }
        self.nbd -= 1;
        let of_peer = self.per_peer.get_mut(&peer).expect("it was counted");
        *of_peer -= 1;
        if *of_peer == 0 {
            self.per_peer.remove(&peer);
        }
        Some(speaks)
    }

    /// Warns, unless the same kind was warned of just now: then it is counted, and told by [`tell_more`](Self::tell_more).
    pub(super) fn complain(&mut self, now: Time, about: Complaint, says: impl FnOnce() -> String) {
        let untold = self.untold.entry(about).or_default();
        if now < untold.until {
            untold.more += 1;
            return;
        }
        *untold = Untold { until: now + QUIET, more: 0 };
        tracing::warn!("{}", says());
    }

    /// Tells what was counted and not told. To be called every second or so.
    pub(super) fn tell_more(&mut self, now: Time) {
        for (about, untold) in &mut self.untold {
            if untold.more > 0 && untold.until <= now {
                let (more, words, quiet) = (untold.more, about.words(), QUIET);
                tracing::warn!("{words}: {more} more in the last {quiet}");
                *untold = Untold { until: now + QUIET, more: 0 };
            }
        }
    }
}

impl Complaint {
    /// What there were more of.
    fn words(self) -> &'static str {
        match self {
            Complaint::Refused => "connections were refused",
            Complaint::Violation => "NBD clients broke the protocol",
            Complaint::NoChoice => "NBD clients chose no export in time",
            Complaint::Idle => "idle connections were ended",
            Complaint::Stalled => "stalled connections were ended",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_peer_never_takes_all_places_and_nobody_takes_those_of_admin() {
        let limits = DoorLimits { connections: 4, per_peer: 3, ..DoorLimits::default() };
        let mut doors = Doors::new(&limits, 10_000);
        let peer = |process| Peer::Process { user: 7, process };
        let enter = |doors: &mut Doors, number, speaks, process| {
            doors.enter(ConnId::numbered(number), speaks, peer(process), limits.per_peer)
        };
        for number in 0..3 {
            assert_eq!(enter(&mut doors, number, Speaks::Nbd, 1), Ok(()));
        }
        let full = "uid 7, pid 1 has 3 already";
        assert_eq!(enter(&mut doors, 3, Speaks::Nbd, 1), Err(full.to_owned()));
        assert_eq!(enter(&mut doors, 4, Speaks::Nbd, 2), Ok(()));
        let full = "there are 4 already";
        assert_eq!(enter(&mut doors, 5, Speaks::Nbd, 3), Err(full.to_owned()));
        assert_eq!(enter(&mut doors, 6, Speaks::Admin, 1), Ok(()), "admin has places of its own");
        doors.leave(ConnId::numbered(0));
        doors.leave(ConnId::numbered(5));
        assert_eq!(doors.counts(), (3, 1));
        assert_eq!(enter(&mut doors, 7, Speaks::Nbd, 1), Ok(()));
    }

    #[test]
    fn connections_leave_descriptors_for_the_node() {
        let limits = DoorLimits::default();
        assert_eq!(Doors::new(&limits, 1024).nbd_max, 1024 - 256 - 32 - 16);
        assert_eq!(Doors::new(&limits, 1 << 20).nbd_max, 4096);
        assert_eq!(Doors::new(&limits, 100).nbd_max, 16, "some can always try");
    }
}
