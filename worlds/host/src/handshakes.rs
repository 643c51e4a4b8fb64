//! Handshakes of TLS with clients whom nobody knows yet: how many are under way at a time, and how many one peer begins in a second.
//!
//! A handshake costs its server a signature, from a twentieth of a millisecond to five of them as the key is, on the thread that everybody waits for; who asks for it has
//! next to nothing to do. So clients stand in lines, one for each peer, and peers have turns. **Nobody takes all**: a peer has as many under way as it leaves free, so
//! that one which begins many and ends none keeps out no others.
//!
//! Here is who goes next, and no socket, key or clock: a node's engine and a server with tasks turn the same line.

use crate::Peer;
use loadline_base::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// Handshakes under way at a time. Each waits for its client once or twice, and keeps 64 KiB at most.
const UNDER_WAY: u32 = 64;
/// Handshakes that a peer begins in a second when it has more to begin: with the dearest key in use (RSA of 4,096 bits) a quarter of a processor, with most a fiftieth.
const PER_SECOND: u64 = 50;
/// Those that a peer may begin at once after it has begun none for a while: a kernel's client opens 16 connections to an image, a program that
/// is started again as many as it had.
const AT_ONCE: u64 = 100;
const BETWEEN: Span = Span::from_nanos(1_000_000_000 / PER_SECOND);
const SAVED: Span = Span::from_nanos(BETWEEN.nanos() * (AT_ONCE - 1));

/// Clients that wait for their handshakes, and how many are under way. See [above](self).
#[derive(Debug)]
pub struct HandshakeLine<T> {
    under_way: u32,
    peers: BTreeMap<Peer, PeerLine<T>>,
    /// Peers with clients that wait, each once: the first one's turn is next.
    turns: VecDeque<Peer>,
    /// When peers were forgotten last that have nothing here any more.
    forgot: Time,
}

#[derive(Debug)]
struct PeerLine<T> {
    waiting: VecDeque<T>,
    under_way: u32,
    /// When it has begun no more than it may, at its pace.
    paid: Time,
}

/// Who is to go on.
#[derive(Debug, PartialEq, Eq)]
pub enum NextHandshake<T> {
    /// This one, whose handshake counts until [`end`](HandshakeLine::end).
    Begins(T),
    /// Nobody before this time, unless one ends.
    NotBefore(Time),
    /// Nobody, until one comes or ends.
    None,
}

impl<T> Default for HandshakeLine<T> {
    fn default() -> HandshakeLine<T> {
        HandshakeLine {
            under_way: 0,
            peers: BTreeMap::new(),
            turns: VecDeque::new(),
            forgot: Time::ZERO,
        }
    }
}

impl<T> HandshakeLine<T> {
    /// A client of this peer waits for its handshake.
    pub fn enter(&mut self, peer: Peer, who: T) {
        let peer = peer.network();
        let nobody = || PeerLine { waiting: VecDeque::new(), under_way: 0, paid: Time::ZERO };
        let line = self.peers.entry(peer).or_insert_with(nobody);
        if line.waiting.is_empty() {
            self.turns.push_back(peer);
        }
        line.waiting.push_back(who);
    }

    /// The next one that may begin.
    pub fn next(&mut self, now: Time) -> NextHandshake<T> {
        self.forget(now);
        let free = UNDER_WAY - self.under_way;
        let mut soonest: Option<Time> = None;
        for _ in 0..self.turns.len() {
            let Some(peer) = self.turns.pop_front() else { break };
            let line = self.peers.get_mut(&peer).expect("who has a turn waits");
            if line.under_way >= free {
                self.turns.push_back(peer);
                continue;
            }
            let early = line.paid.since(now + SAVED);
            if early > Span::ZERO {
                let at = now + early;
                soonest = Some(soonest.map_or(at, |soonest| soonest.min(at)));
                self.turns.push_back(peer);
                continue;
            }
            let Some(who) = line.waiting.pop_front() else { continue };
            line.under_way += 1;
            line.paid = line.paid.max(now) + BETWEEN;
            self.under_way += 1;
            if !line.waiting.is_empty() {
                self.turns.push_back(peer);
            }
            return NextHandshake::Begins(who);
        }
        soonest.map_or(NextHandshake::None, NextHandshake::NotBefore)
    }

    /// A handshake of this peer that was under way is over, however.
    pub fn end(&mut self, peer: Peer) {
        let line = self.peers.get_mut(&peer.network()).expect("it was under way");
        line.under_way -= 1;
        self.under_way -= 1;
    }

    /// Those of a peer that wait and are gone need no turn.
    pub fn leave(&mut self, peer: Peer, is_gone: impl Fn(&T) -> bool) {
        let peer = peer.network();
        let Some(line) = self.peers.get_mut(&peer) else { return };
        line.waiting.retain(|who| !is_gone(who));
        if line.waiting.is_empty() {
            self.turns.retain(|turn| *turn != peer);
        }
    }

    /// Forgets peers that have nothing here and could begin as many as ever. There are no more than begin within what is saved.
    fn forget(&mut self, now: Time) {
        if now.since(self.forgot) >= Span::from_secs(1) {
            self.forgot = now;
            self.peers.retain(|_, line| {
                line.under_way > 0 || !line.waiting.is_empty() || line.paid > now
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    fn peer(text: &str) -> Peer {
        Peer::Address(text.parse::<IpAddr>().expect("an address"))
    }

    /// How many begin now.
    fn begun(line: &mut HandshakeLine<u32>, now: Time) -> u32 {
        (0..).take_while(|_| matches!(line.next(now), NextHandshake::Begins(_))).count() as u32
    }

    #[test]
    fn a_peer_has_its_pace_however_many_it_opens() {
        let mut line = HandshakeLine::default();
        let (many, one) = (peer("10.0.0.1"), peer("10.0.0.2"));
        (0..5000).for_each(|who| line.enter(many, who));
        let (mut now, mut begins) = (Time::from_secs(1), 0);
        for _ in 0..1000 {
            let some = begun(&mut line, now);
            (0..some).for_each(|_| line.end(many));
            begins += some;
            now += Span::from_millis(10);
        }
        assert!((598..=600).contains(&begins), "{begins} in ten seconds");
        (0..begun(&mut line, now)).for_each(|_| line.end(many));
        line.enter(one, 0);
        assert_eq!(begun(&mut line, now), 1, "another one does not wait for them");
        line.end(one);
        let NextHandshake::NotBefore(at) = line.next(now) else { panic!("the next is early") };
        assert_eq!(begun(&mut line, at), 1);
        assert!(at.since(now) <= BETWEEN);
    }

    #[test]
    fn who_ends_none_leaves_as_many_for_others_as_it_takes() {
        let mut line = HandshakeLine::default();
        let now = Time::from_secs(1);
        let peers: Vec<Peer> = (1..4).map(|last| peer(&format!("10.0.0.{last}"))).collect();
        for (peer, most) in peers.iter().zip([UNDER_WAY / 2, UNDER_WAY / 4, UNDER_WAY / 8]) {
            (0..100).for_each(|who| line.enter(*peer, who));
            assert_eq!(begun(&mut line, now), most);
        }
        line.end(peers[0]);
        assert_eq!(line.next(now), NextHandshake::Begins(UNDER_WAY / 8), "whose turn it is");
    }

    /// A client came and went before anybody was asked for a second: its peer was forgotten and had its turn still, which ended the node. One that came back had two.
    #[test]
    fn a_peer_whose_clients_have_all_gone_has_no_turn() {
        let mut line = HandshakeLine::default();
        let (own, other) = (peer("10.0.0.1"), peer("10.0.0.2"));
        line.enter(own, 0);
        line.leave(own, |_| true);
        assert_eq!(line.next(Time::from_secs(1)), NextHandshake::None);
        (1..3).for_each(|who| {
            line.enter(own, who);
            line.leave(own, |_| who == 1);
        });
        line.enter(own, 3);
        line.enter(other, 4);
        let now = Time::from_secs(2);
        assert_eq!([2, 4, 3].map(NextHandshake::Begins), [(); 3].map(|()| line.next(now)));
    }

    #[test]
    fn who_is_gone_has_no_turn_and_nothing_is_kept() {
        let mut line = HandshakeLine::default();
        let (own, other) = (peer("2001:db8::1"), peer("2001:db8:0:1::1"));
        (0..10).for_each(|who| line.enter(own, who));
        line.enter(other, 10);
        line.leave(own, |who| *who != 7);
        let now = Time::from_secs(1);
        assert_eq!(line.next(now), NextHandshake::Begins(7));
        assert_eq!(line.next(now), NextHandshake::Begins(10));
        assert_eq!(line.next(now), NextHandshake::None);
        // A machine has all addresses of its network.
        line.end(peer("2001:db8::ffff"));
        line.end(other);
        assert_eq!(line.next(now + Span::from_secs(3)), NextHandshake::None);
        assert!(line.peers.is_empty() && line.turns.is_empty());
    }
}
