//! Who may come in: how many connections in all and of one peer, and how long one may keep a place without using it. What the
//! node needs for itself, its admin socket above all, stays free of them.
//!
//! **Nobody takes all.** A peer may have as many places as it leaves free, where an operator says nothing else: with N peers that
//! take what they can, each has 1/(N+1) of them, and as many are left for the next one, however few there are.

use crate::{ConnId, HandshakeLine, ListenerId, NextHandshake, Peer};
use loadline_base::{Span, Time};
use loadline_osd::ClientId;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// Bounds of the node's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoorLimits {
    /// NBD connections in all. Fewer, where the system gives too few descriptors.
    pub connections: u32,
    /// NBD connections of one process by Unix socket, or of one address by TCP. Without it 512, and no more than as many again
    /// find a place.
    pub per_peer: Option<u32>,
    /// How long a client may take to choose an export.
    pub negotiation: Span,
    /// How long an NBD connection may be silent with nothing under way, if there is a limit.
    pub idle: Option<Span>,
}

impl Default for DoorLimits {
    /// A kernel's client opens up to 16 connections to an image, qemu one, nbdcopy four: 4,096 serve some hundred guests. Whoever
    /// has not chosen an export after ten seconds will not.
    fn default() -> DoorLimits {
        DoorLimits {
            connections: 4096,
            per_peer: None,
            negotiation: Span::from_secs(10),
            idle: None,
        }
    }
}

/// NBD connections that no single client needs more of.
const PER_PEER: u32 = 512;
/// Admin connections at a time.
const ADMIN: u32 = 32;
/// Connections to the page at a time: some browsers with six each, and monitoring systems.
const PAGE: u32 = 32;
/// Descriptors for everything else: disks, listeners, the ring, threads' bells, files that are opened and closed.
const RESERVED: u64 = 256;
/// Descriptors of one guest: its socket, two for each ring, its memory.
const VHOST: u64 = 64;
/// So many numbers of owners of work are given before one is given again: small ones, as each shard has a table of them, and so many that the
/// work of who had one is done by then.
const CLIENTS: u32 = 4096;
/// Connections that are closed as soon as they have come take a descriptor for a moment.
const PASSING: u32 = 16;
/// Complaints of one kind are told once in so long, and then how many there were.
const QUIET: Span = Span::from_secs(10);

/// What a listener's connections speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Speaks {
    Nbd,
    /// One image's guest, by vhost-user.
    Vhost,
    Admin,
    /// The page, and `/metrics` over TCP.
    Page,
}

impl Speaks {
    /// Whether it is asked about the node, and does not serve what the node is there for.
    pub(super) fn is_asked(self) -> bool {
        matches!(self, Speaks::Admin | Speaks::Page)
    }
}

/// What clients do wrong often, once somebody tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Complaint {
    /// A connection was refused.
    Refused,
    /// A client broke the protocol.
    Violation,
    /// TLS with a client came to nothing.
    Tls,
    /// A client chose no export in time.
    NoChoice,
    /// A connection was silent for too long.
    Idle,
    /// A client took nothing of what others wait for the memory of.
    Stalled,
    /// A client that had closed took nothing, while others waited for what it had still asked for.
    Unheard,
    /// It took, and they waited for too long.
    HeardForLong,
}

/// Why a connection is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnedAway {
    /// There are as many as there may be.
    Full(u32),
    /// There is no memory for one more.
    Memory,
    /// Its peer has what it may have, with so many places free.
    Share { has: u32, free: u32 },
}

impl fmt::Display for TurnedAway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TurnedAway::Full(most) => write!(f, "there are {most} already"),
            TurnedAway::Memory => write!(f, "the memory for connections is used up"),
            TurnedAway::Share { has, free } => {
                write!(f, "it has {has} already, and {free} are left for all")
            }
        }
    }
}

/// When a kind of complaint may be told again, and how many were not.
#[derive(Clone, Copy, Debug, Default)]
struct Untold {
    until: Time,
    more: u64,
}

/// How many connections there are, by what they speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DoorCounts {
    pub nbd: u32,
    pub vhost: u32,
    pub admin: u32,
    pub page: u32,
}

/// Whose work it is inside the client class, where nobody's connection brings it.
pub(super) const BACKGROUND: ClientId = ClientId::new(0);

/// The numbers of those who share what the client class gets. Each is of one connection at a time: two with the same one would have one share.
#[derive(Debug, Default)]
struct ConnectionNumbers {
    given: u32,
    /// Those that were given back, in turn.
    free: VecDeque<ClientId>,
}

impl ConnectionNumbers {
    fn take(&mut self) -> ClientId {
        let again = if self.given < CLIENTS { None } else { self.free.pop_front() };
        again.unwrap_or_else(|| {
            self.given += 1;
            ClientId::new(BACKGROUND.get() + self.given)
        })
    }

    fn give_back(&mut self, client: ClientId) {
        self.free.push_back(client);
    }
}

/// A connection that is in.
#[derive(Clone, Copy, Debug)]
struct Entered {
    peer: Peer,
    /// What it speaks, and whom it counts as.
    who: (Speaks, Peer),
    handshake: TlsProgress,
    /// Of one that brings work of clients.
    client: Option<ClientId>,
}

/// How far a connection is that has to come through TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TlsProgress {
    /// It has not begun, has ended, or need not be.
    No,
    Waits,
    UnderWay,
}

/// The listeners, and who is in.
#[derive(Debug, Default)]
pub(super) struct Doors {
    nbd_max: u32,
    nbd_per_peer: Option<u32>,
    vhost_max: u32,
    listeners: BTreeMap<ListenerId, Speaks>,
    entered: BTreeMap<ConnId, Entered>,
    counts: DoorCounts,
    of_peer: BTreeMap<(Speaks, Peer), u32>,
    /// Connections that were refused since the start.
    pub refused: u64,
    clients: ConnectionNumbers,
    handshakes: HandshakeLine<ConnId>,
    untold: BTreeMap<Complaint, Untold>,
}

impl Doors {
    /// With so many images that guests find at paths of their own.
    pub(super) fn new(limits: &DoorLimits, vhost: u32, descriptors: u64) -> Doors {
        let reserved = RESERVED + u64::from(ADMIN + PAGE + PASSING) + u64::from(vhost) * VHOST;
        let free = descriptors.saturating_sub(reserved);
        // Each has one guest at a time, and the next one may come before it is known that the last has gone.
        let vhost_max = if vhost > 0 { 2 * vhost + PASSING } else { 0 };
        let nbd_max = u64::from(limits.connections).min(free.max(16)) as u32;
        if nbd_max < limits.connections {
            tracing::warn!(descriptors, "the system gives descriptors for {nbd_max} connections");
        }
        Doors { nbd_max, nbd_per_peer: limits.per_peer, vhost_max, ..Doors::default() }
    }

    /// Connections that the loop may have to know at a time.
    pub(super) fn most(&self) -> usize {
        (self.nbd_max + self.vhost_max + ADMIN + PAGE + PASSING) as usize
    }

    /// A listener is there.
    pub(super) fn opened(&mut self, listener: ListenerId, speaks: Speaks) {
        self.listeners.insert(listener, speaks);
    }

    /// What comes in by a listener speaks; `None` once it is closed: the last ones may come while it is taken away.
    pub(super) fn spoken_at(&self, listener: ListenerId) -> Option<Speaks> {
        self.listeners.get(&listener).copied()
    }

    /// The listeners of clients and guests, which are closed now.
    pub(super) fn close_faces(&mut self) -> Vec<ListenerId> {
        let faces = self.listeners.extract_if(.., |_, speaks| !speaks.is_asked());
        faces.map(|(listener, _)| listener).collect()
    }

    /// What a connection that is in speaks.
    pub(super) fn speaks(&self, conn: ConnId) -> Option<Speaks> {
        self.entered.get(&conn).map(|entered| entered.who.0)
    }

    /// Whose the work is of a connection that is in.
    pub(super) fn client(&self, conn: ConnId) -> ClientId {
        self.entered[&conn].client.expect("it brings work")
    }

    /// All that are in.
    pub(super) fn connections(&self) -> impl Iterator<Item = ConnId> {
        self.entered.keys().copied()
    }

    /// How many are in.
    pub(super) fn counts(&self) -> DoorCounts {
        self.counts
    }

    /// Who is behind a connection that is in.
    pub(super) fn peer(&self, conn: ConnId) -> Peer {
        self.entered.get(&conn).map_or(Peer::Unknown, |entered| entered.peer)
    }

    /// Lets a connection in, or says why not. There is memory for `memory` more NBD connections.
    pub(super) fn enter(
        &mut self,
        conn: ConnId,
        speaks: Speaks,
        peer: Peer,
        memory: u32,
    ) -> Result<(), TurnedAway> {
        let (count, most, memory) = match speaks {
            Speaks::Nbd => (&mut self.counts.nbd, self.nbd_max, memory),
            Speaks::Vhost => (&mut self.counts.vhost, self.vhost_max, memory),
            Speaks::Admin => (&mut self.counts.admin, ADMIN, ADMIN),
            Speaks::Page => (&mut self.counts.page, PAGE, PAGE),
        };
        let free = most.saturating_sub(*count).min(memory);
        if free == 0 {
            return Err(if memory == 0 { TurnedAway::Memory } else { TurnedAway::Full(most) });
        }
        let who = (speaks, peer.network());
        let has = self.of_peer.get(&who).copied().unwrap_or(0);
        let told = match speaks {
            Speaks::Nbd => self.nbd_per_peer,
            // One process may run all guests, and each image has its own place.
            Speaks::Vhost => Some(most),
            Speaks::Admin | Speaks::Page => None,
        };
        if has >= told.unwrap_or(PER_PEER.min(free)) {
            return Err(TurnedAway::Share { has, free });
        }
        self.of_peer.insert(who, has + 1);
        *count += 1;
        let client = matches!(speaks, Speaks::Nbd | Speaks::Vhost).then(|| self.clients.take());
        let handshake = TlsProgress::No;
        self.entered.insert(conn, Entered { peer, who, handshake, client });
        Ok(())
    }

    /// How many connections of its kind the peer of this one has.
    pub(super) fn of_same_peer(&self, conn: ConnId) -> u32 {
        let of = self.entered.get(&conn).and_then(|entered| self.of_peer.get(&entered.who));
        of.copied().unwrap_or(0)
    }

    /// A connection is gone. Answers what it spoke, if it was in.
    pub(super) fn leave(&mut self, conn: ConnId) -> Option<Speaks> {
        self.end_handshake(conn);
        let Entered { who, client, .. } = self.entered.remove(&conn)?;
        client.into_iter().for_each(|client| self.clients.give_back(client));
        match who.0 {
            Speaks::Nbd => self.counts.nbd -= 1,
            Speaks::Vhost => self.counts.vhost -= 1,
            Speaks::Admin => self.counts.admin -= 1,
            Speaks::Page => self.counts.page -= 1,
        }
        let of_peer = self.of_peer.get_mut(&who).expect("it was counted");
        *of_peer -= 1;
        if *of_peer == 0 {
            self.of_peer.remove(&who);
        }
        Some(who.0)
    }

    /// A connection is to come through TLS: its handshake begins when [`next_handshake`](Self::next_handshake) names it.
    pub(super) fn ask_handshake(&mut self, conn: ConnId) {
        let entered = self.entered.get_mut(&conn).filter(|it| it.handshake == TlsProgress::No);
        if let Some(entered) = entered {
            entered.handshake = TlsProgress::Waits;
            self.handshakes.enter(entered.peer, conn);
        }
    }

    /// Whether a connection waits for its handshake to begin.
    pub(super) fn awaits_handshake(&self, conn: ConnId) -> bool {
        self.entered.get(&conn).is_some_and(|entered| entered.handshake == TlsProgress::Waits)
    }

    /// The next connection whose handshake begins now.
    pub(super) fn next_handshake(&mut self, now: Time) -> NextHandshake<ConnId> {
        let next = self.handshakes.next(now);
        if let NextHandshake::Begins(conn) = &next {
            let entered = self.entered.get_mut(conn).expect("who leaves leaves the line too");
            entered.handshake = TlsProgress::UnderWay;
        }
        next
    }

    /// A connection's handshake is over, or not wanted any more.
    pub(super) fn end_handshake(&mut self, conn: ConnId) {
        let Some(entered) = self.entered.get_mut(&conn) else { return };
        match std::mem::replace(&mut entered.handshake, TlsProgress::No) {
            TlsProgress::No => {}
            TlsProgress::Waits => self.handshakes.leave(entered.peer, |who| *who == conn),
            TlsProgress::UnderWay => self.handshakes.end(entered.peer),
        }
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
            Complaint::Violation => "clients broke the protocol",
            Complaint::Tls => "clients failed at TLS",
            Complaint::NoChoice => "NBD clients chose no export in time",
            Complaint::Idle => "idle connections were ended",
            Complaint::Stalled | Complaint::Unheard => "stalled connections were ended",
            Complaint::HeardForLong => "connections that others waited for were ended",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const PLENTY: u32 = 10_000;

    fn peer(process: i32) -> Peer {
        Peer::Process { user: 7, process }
    }

    #[test]
    fn one_peer_never_takes_all_places_and_nobody_takes_those_of_admin() {
        let limits = DoorLimits { connections: 4, per_peer: Some(3), ..DoorLimits::default() };
        let mut doors = Doors::new(&limits, 0, 10_000);
        let enter = |doors: &mut Doors, number, speaks, process| {
            doors.enter(ConnId::numbered(number), speaks, peer(process), PLENTY)
        };
        for number in 0..3 {
            assert_eq!(enter(&mut doors, number, Speaks::Nbd, 1), Ok(()));
        }
        let more = enter(&mut doors, 3, Speaks::Nbd, 1);
        assert_eq!(more, Err(TurnedAway::Share { has: 3, free: 1 }));
        assert_eq!(enter(&mut doors, 4, Speaks::Nbd, 2), Ok(()));
        assert_eq!(enter(&mut doors, 5, Speaks::Nbd, 3), Err(TurnedAway::Full(4)));
        assert_eq!(enter(&mut doors, 6, Speaks::Admin, 1), Ok(()), "admin has places of its own");
        doors.leave(ConnId::numbered(0));
        doors.leave(ConnId::numbered(5));
        assert_eq!(doors.counts(), DoorCounts { nbd: 3, vhost: 0, admin: 1, page: 0 });
        assert_eq!(enter(&mut doors, 7, Speaks::Nbd, 1), Ok(()));
    }

    /// A node with little memory has few places: a bound per peer that did not follow from them let six peers take all.
    #[test]
    fn peers_that_take_what_they_can_leave_as_much_for_the_next_one() {
        const PLACES: u32 = 700;
        let crowd = |speaks, peers: i32, places: u32| {
            let mut doors = Doors::new(&DoorLimits::default(), 0, 10_000);
            let mut numbers = 0..;
            let mut let_in = |process, memory| {
                let conn = ConnId::numbered(numbers.next().expect("there are more"));
                doors.enter(conn, speaks, peer(process), memory).is_ok()
            };
            let mut left = places;
            for process in (0..400).flat_map(|_| 0..peers) {
                left -= u32::from(let_in(process, left));
            }
            let mut next = 0;
            while let_in(peers, left) {
                (next, left) = (next + 1, left - 1);
            }
            next
        };
        assert_eq!(crowd(Speaks::Nbd, 6, PLACES), PLACES / 7 / 2);
        assert!(crowd(Speaks::Nbd, 100, PLACES) >= 3);
        assert_eq!(crowd(Speaks::Admin, 1, ADMIN), ADMIN / 2 / 2);
        assert!(crowd(Speaks::Nbd, 1, PLENTY) == PER_PEER, "no more than that has places to spare");
    }

    /// Numbers were given in turn, 4,096 of them, whoever was still in: a guest that stayed shared one flow of each scheduler, and half of its share,
    /// with the 4,096th connection after it.
    #[test]
    fn a_number_is_of_one_connection_at_a_time() {
        let limits =
            DoorLimits { connections: 5000, per_peer: Some(5000), ..DoorLimits::default() };
        let mut doors = Doors::new(&limits, 0, 10_000);
        let enter = |doors: &mut Doors, number| {
            let conn = ConnId::numbered(number);
            doors.enter(conn, Speaks::Nbd, peer(1), PLENTY).expect("there is a place");
            doors.client(conn)
        };
        let stays = enter(&mut doors, 0);
        for number in 1..3 * CLIENTS {
            let client = enter(&mut doors, number);
            assert!(client != stays && client != BACKGROUND && client.get() <= CLIENTS, "{client}");
            doors.leave(ConnId::numbered(number));
        }
        // More than that at a time have more numbers.
        let clients = (0..CLIENTS + 500).map(|number| enter(&mut doors, 3 * CLIENTS + number));
        let clients: BTreeSet<ClientId> = clients.collect();
        assert_eq!(clients.len() as u32, CLIENTS + 500);
        assert!(!clients.contains(&stays));
    }

    #[test]
    fn connections_leave_descriptors_for_the_node() {
        let limits = DoorLimits::default();
        assert_eq!(Doors::new(&limits, 0, 1024).nbd_max, 1024 - 256 - 32 - 32 - 16);
        assert_eq!(Doors::new(&limits, 0, 1 << 20).nbd_max, 4096);
        assert_eq!(Doors::new(&limits, 0, 100).nbd_max, 16, "some can always try");
    }
}
