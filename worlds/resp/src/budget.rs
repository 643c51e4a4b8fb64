//! What all connections together may make the server keep: requests that are not whole yet, those under way, and answers that nobody has taken.
//!
//! A connection takes what it needs before it has it: for a request before that is read whole, for an answer before it is made. While there is no room it waits, behind those that
//! wait already, and has nothing of its own on its way meanwhile, so that nobody waits for who waits. What could never fit is refused ([`Budget::largest`]). So the bound is
//! passed by what each connection has without asking ([`FREE_BYTES`]), and no further. Who neither sends nor takes anything while others
//! wait is closed, or those who stand still would keep all others out.

use crate::refusal::RespRefusal;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};
use tokio::time::timeout;

/// What a connection may have without asking (what is received at once, twice), so that those who ask for little are served while others have taken all.
pub(crate) const FREE_BYTES: u64 = 128 << 10;
/// How long a connection waits for room: longer than anybody who stands still keeps it.
const PATIENCE: Duration = Duration::from_secs(15);
/// This part of all is for reading values whose length nobody knows, where the rest is taken.
const LANE_PART: u64 = 8;
/// One request has no more than all but this part of the rest: some of that is always noted.
const OTHERS_PART: u64 = 4;

/// See [above](self).
#[derive(Debug)]
pub(crate) struct Budget {
    most: u64,
    held: Cell<u64>,
    waiting: RefCell<VecDeque<WaitsForRoom>>,
    /// Whether somebody is giving room: what is given back meanwhile is given on by that one.
    is_giving: Cell<bool>,
    /// One permit for each value that may be read where the rest is taken.
    lane: Semaphore,
}

#[derive(Debug)]
struct WaitsForRoom {
    bytes: u64,
    of: Rc<ConnectionMemory>,
    told: oneshot::Sender<HeldBytes>,
}

/// What one connection has of it.
#[derive(Debug)]
pub(crate) struct ConnectionMemory {
    budget: Rc<Budget>,
    kept: Cell<u64>,
}

/// What one request, or one answer, has of it; given back when this is dropped.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    of: Rc<ConnectionMemory>,
    bytes: u64,
}

impl Budget {
    /// So many bytes, for a database whose values have so many at most.
    pub(crate) fn new(most: u64, value_bytes: usize) -> Rc<Budget> {
        let lane = (most / LANE_PART / (value_bytes as u64).max(1)).max(2);
        Rc::new(Budget {
            most: most - most / LANE_PART,
            held: Cell::new(0),
            waiting: RefCell::default(),
            is_giving: Cell::new(false),
            lane: Semaphore::new(lane as usize),
        })
    }

    /// The memory of one connection.
    pub(crate) fn connection(self: &Rc<Budget>) -> Rc<ConnectionMemory> {
        Rc::new(ConnectionMemory { budget: Rc::clone(self), kept: Cell::new(0) })
    }

    /// Bytes that are noted.
    pub(crate) fn held(&self) -> u64 {
        self.held.get()
    }

    /// What one request may have at most.
    pub(crate) fn largest(&self) -> u64 {
        self.most - self.most / OTHERS_PART
    }

    /// Whether somebody waits for what others keep, or would.
    pub(crate) fn is_short(&self) -> bool {
        self.held.get() >= self.most || !self.waiting.borrow().is_empty()
    }

    /// Waits until one value may be read of which nobody knows how long it is.
    pub(crate) async fn value(&self) -> SemaphorePermit<'_> {
        self.lane.acquire().await.expect("nobody closes it")
    }

    fn free(&self) -> u64 {
        match self.waiting.borrow().is_empty() {
            true => self.most.saturating_sub(self.held.get()),
            false => 0,
        }
    }

    /// Gives room to those that wait, as far as there is some for the first of them.
    fn give_room(&self) {
        if self.is_giving.replace(true) {
            return;
        }
        loop {
            let mut waiting = self.waiting.borrow_mut();
            let Some(first) = waiting.front() else { break };
            if !first.told.is_closed() && self.held.get() + first.bytes > self.most {
                break;
            }
            let WaitsForRoom { bytes, of, told } = waiting.pop_front().expect("it is there");
            drop(waiting);
            if !told.is_closed() {
                // Who is gone by now gives it back at once.
                drop(told.send(of.note(bytes)));
            }
        }
        self.is_giving.set(false);
    }
}

impl ConnectionMemory {
    /// Notes what is there already.
    pub(crate) fn note(self: &Rc<ConnectionMemory>, bytes: u64) -> HeldBytes {
        let mut held = HeldBytes { of: Rc::clone(self), bytes: 0 };
        held.set(bytes);
        held
    }

    /// How much more it may have at once.
    pub(crate) fn room(&self) -> u64 {
        FREE_BYTES.saturating_sub(self.kept.get()).max(self.budget.free())
    }

    /// Takes so much, if that is there.
    pub(crate) fn try_take(self: &Rc<ConnectionMemory>, bytes: u64) -> Option<HeldBytes> {
        (bytes <= self.room()).then(|| self.note(bytes))
    }

    /// Refuses what could never have so much, whoever gives back what he has. `what` says what that is.
    pub(crate) fn could_have(
        &self,
        bytes: u64,
        what: impl FnOnce() -> String,
    ) -> Result<(), RespRefusal> {
        let most = self.budget.largest();
        match bytes <= most {
            true => Ok(()),
            false => Err(RespRefusal::Needs { what: what(), bytes, most }),
        }
    }

    /// Takes so much, and waits for it. Whoever waits has nothing on its way.
    pub(crate) async fn take(
        self: &Rc<ConnectionMemory>,
        bytes: u64,
    ) -> Result<HeldBytes, RespRefusal> {
        if let Some(held) = self.try_take(bytes) {
            return Ok(held);
        }
        let (told, given) = oneshot::channel();
        let waits = WaitsForRoom { bytes, of: Rc::clone(self), told };
        self.budget.waiting.borrow_mut().push_back(waits);
        self.budget.give_room();
        let given = timeout(PATIENCE, given).await;
        // Who stood first and has no more patience let nobody else have it.
        self.budget.give_room();
        given.ok().and_then(Result::ok).ok_or(RespRefusal::Memory)
    }

    /// What all have together.
    pub(crate) fn budget(&self) -> &Rc<Budget> {
        &self.budget
    }

    /// What it has.
    pub(crate) fn kept(&self) -> u64 {
        self.kept.get()
    }
}

impl HeldBytes {
    /// So many bytes from now on, which are there.
    pub(crate) fn set(&mut self, bytes: u64) {
        let budget = &self.of.budget;
        budget.held.set(budget.held.get() - self.bytes + bytes);
        self.of.kept.set(self.of.kept.get() - self.bytes + bytes);
        let is_less = bytes < self.bytes;
        self.bytes = bytes;
        if is_less {
            budget.give_room();
        }
    }

    /// So many from now on, if there is room for what is more.
    pub(crate) fn try_set(&mut self, bytes: u64) -> bool {
        let is_there = bytes.saturating_sub(self.bytes) <= self.of.room();
        if is_there {
            self.set(bytes);
        }
        is_there
    }

    /// How much it may become at once.
    pub(crate) fn room(&self) -> u64 {
        self.bytes + self.of.room()
    }

    /// How much it is.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::task::{LocalSet, spawn_local, yield_now};

    const MIB: u64 = 1 << 20;

    /// Seven of eight are for what is known, and three quarters of that for one.
    fn budget() -> Rc<Budget> {
        Budget::new(8 * MIB, 1 << 20)
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_is_given_room_in_turn_and_small_ones_need_not_wait() {
        let budget = budget();
        let all = async {
            let [one, other, small] = [(); 3].map(|()| budget.connection());
            let mut first = one.try_take(5 * MIB).expect("there is room");
            assert!(other.try_take(3 * MIB).is_none());
            let large = spawn_local({
                let other = Rc::clone(&other);
                async move { other.take(3 * MIB).await }
            });
            yield_now().await;
            assert!(budget.is_short());
            assert!(one.try_take(MIB).is_none(), "nobody overtakes who waits");
            let free = small.try_take(FREE_BYTES).expect("that is its own");
            assert!(small.try_take(1).is_none());
            first.set(4 * MIB);
            yield_now().await;
            assert!(!large.is_finished(), "the small one has some of it");
            drop(free);
            let large = large.await.expect("it ends").expect("it has its turn");
            assert_eq!((budget.held(), other.kept()), (7 * MIB, 3 * MIB));
            drop((first, large));
            assert_eq!((budget.held(), one.kept(), other.kept()), (0, 0, 0));
        };
        LocalSet::new().run_until(all).await;
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_no_more_patience_lets_the_next_one_have_it() {
        let budget = budget();
        let all = async {
            let [one, other, third] = [(); 3].map(|()| budget.connection());
            let _held = one.try_take(5 * MIB).expect("there is room");
            let second = spawn_local({
                let third = Rc::clone(&third);
                async move {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    third.take(2 * MIB).await.map(|held| held.bytes())
                }
            });
            let refused = other.take(5 * MIB).await.map(|held| held.bytes());
            assert_eq!(refused, Err(RespRefusal::Memory));
            assert_eq!(second.await.expect("it ends"), Ok(2 * MIB));
        };
        LocalSet::new().run_until(all).await;
    }
}
