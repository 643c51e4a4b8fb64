//! Connections of whom it is not known yet whose they are: they come through TLS one after the other, and take no more places than they leave.

use crate::timer::TurnTimer;
use loadline_host::{HandshakeLine, NextHandshake, Peer};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use tokio::sync::oneshot;

/// See [above](self).
pub(crate) struct Strangers {
    timer: TurnTimer,
    line: RefCell<HandshakeLine<(Peer, oneshot::Sender<HandshakeTurn>)>>,
    /// Whether somebody is letting them begin: who ends meanwhile need not.
    is_pumping: Cell<bool>,
    of_peer: RefCell<BTreeMap<Peer, u64>>,
}

/// A connection that has not said who it is, until this is dropped.
pub(crate) struct Stranger {
    among: Rc<Strangers>,
    peer: Peer,
}

/// A handshake is under way, until this is dropped.
#[must_use]
pub(crate) struct HandshakeTurn {
    among: Rc<Strangers>,
    peer: Peer,
}

impl Strangers {
    pub(crate) fn new() -> Rc<Strangers> {
        Rc::new(Strangers {
            timer: TurnTimer::new(),
            line: RefCell::default(),
            is_pumping: Cell::new(false),
            of_peer: RefCell::default(),
        })
    }

    /// One more of this peer, if it leaves as many places as it has with it: so many are free.
    pub(crate) fn enter(self: &Rc<Strangers>, peer: Peer, free: u64) -> Option<Stranger> {
        let peer = peer.network();
        let mut of_peer = self.of_peer.borrow_mut();
        let has = of_peer.get(&peer).copied().unwrap_or(0);
        if has >= free {
            return None;
        }
        of_peer.insert(peer, has + 1);
        Some(Stranger { among: Rc::clone(self), peer })
    }

    fn pump(self: &Rc<Strangers>) {
        if self.is_pumping.replace(true) {
            return;
        }
        let now = self.timer.now();
        loop {
            let next = self.line.borrow_mut().next(now);
            match next {
                NextHandshake::Begins((peer, turn)) => {
                    let handshake = HandshakeTurn { among: Rc::clone(self), peer };
                    // Its connection may have gone: then it is over at once.
                    drop(turn.send(handshake));
                }
                NextHandshake::NotBefore(time) => {
                    let among = Rc::clone(self);
                    self.timer.ring_at((now, time), move || among.pump());
                    break;
                }
                NextHandshake::None => break,
            }
        }
        self.is_pumping.set(false);
    }
}

impl Stranger {
    /// Waits for the turn of its handshake.
    pub(crate) async fn turn(&self) -> HandshakeTurn {
        let (turn, its_turn) = oneshot::channel();
        self.among.line.borrow_mut().enter(self.peer, (self.peer, turn));
        self.among.pump();
        its_turn.await.expect("the line is there as long as those who wait in it")
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let mut of_peer = self.among.of_peer.borrow_mut();
        let has = of_peer.get_mut(&self.peer).expect("it was counted");
        *has -= 1;
        if *has == 0 {
            of_peer.remove(&self.peer);
        }
    }
}

impl Drop for HandshakeTurn {
    fn drop(&mut self) {
        self.among.line.borrow_mut().end(self.peer);
        self.among.pump();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::{Instant, timeout};

    /// Whoever opened thousands of connections had a handshake for each at once, and the server did nothing else.
    #[tokio::test(start_paused = true)]
    async fn handshakes_of_one_peer_have_a_pace_and_others_none_of_it() {
        let strangers = Strangers::new();
        let [many, one] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(|it| Peer::Address(it.into()));
        let tasks = tokio::task::LocalSet::new();
        let all = async {
            let began = Instant::now();
            let crowd: Vec<_> = (0..600)
                .map(|_| {
                    let stranger = strangers.enter(many, 1000).expect("there are places");
                    tokio::task::spawn_local(async move { drop(stranger.turn().await) })
                })
                .collect();
            tokio::task::yield_now().await;
            let other = strangers.enter(one, 400).expect("there are places");
            let turn = timeout(Duration::from_millis(1), other.turn()).await;
            drop(turn.expect("it does not wait for them"));
            for waits in crowd {
                waits.await.expect("it has its turn");
            }
            began.elapsed()
        };
        let took = tasks.run_until(all).await;
        assert!((9900..10_500).contains(&took.as_millis()), "{took:?} for 500 more than at once");
    }

    #[test]
    fn a_peer_takes_no_more_places_than_it_leaves() {
        let strangers = Strangers::new();
        let peer = Peer::Address([10, 0, 0, 1].into());
        let mut all: Vec<_> = (0..5).filter_map(|has| strangers.enter(peer, 10 - has)).collect();
        assert_eq!(all.len(), 5);
        assert!(strangers.enter(peer, 5).is_none());
        all.pop();
        assert!(strangers.enter(peer, 6).is_some());
        drop(all);
        assert!(strangers.of_peer.borrow().is_empty());
    }
}
