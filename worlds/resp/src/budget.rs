//! What all connections together may make the server keep: requests that are not whole yet, those under way, and answers that nobody has taken.
//!
//! A connection takes what it needs before it has it: for a request before that is read whole, for an answer before it is made. While there is no room it waits, behind those that
//! wait already, and has nothing of its own on its way meanwhile, so that nobody waits for who waits. What could never fit is refused ([`Budget::largest`]). So the bound is
//! passed by what each connection has without asking ([`FREE_BYTES`]), and no further. Who neither sends nor takes anything while others
//! wait is closed, or those who stand still would keep all others out.
//!
//! Where there are several users, what one of them has, with all its connections, is at most seven times what stays free: the dynamic thresholds of switches with
//! a shared buffer (Choudhury and Hahne, 1998). One alone so has seven eighths, a second one seven eighths of the rest, and there is always some for the next. Who waits for what its own
//! user keeps has nobody wait behind it but that user.

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
/// What one user has is at most so many times what stays free.
const TIMES_FREE: u64 = 7;
/// One request has no more than all but this part of the rest, less than one user may have: some of that is always noted.
const OTHERS_PART: u64 = 4;

/// See [above](self).
#[derive(Debug)]
pub(crate) struct Budget {
    most: u64,
    held: Cell<u64>,
    /// The same by users; the last is nobody.
    of_users: Vec<Cell<u64>>,
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
    /// Its user's place.
    user: Cell<usize>,
    kept: Cell<u64>,
}

/// What one request, or one answer, has of it; given back when this is dropped.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    of: Rc<ConnectionMemory>,
    bytes: u64,
}

impl Budget {
    /// So many bytes, for a database whose values have so many at most, and for so many users.
    pub(crate) fn new(most: u64, value_bytes: usize, users: usize) -> Rc<Budget> {
        let lane = (most / LANE_PART / (value_bytes as u64).max(1)).max(2);
        Rc::new(Budget {
            most: most - most / LANE_PART,
            held: Cell::new(0),
            of_users: vec![Cell::new(0); users + 1],
            waiting: RefCell::default(),
            is_giving: Cell::new(false),
            lane: Semaphore::new(lane as usize),
        })
    }

    /// The memory of one connection, which is nobody's at first.
    pub(crate) fn connection(self: &Rc<Budget>) -> Rc<ConnectionMemory> {
        let nobody = Cell::new(self.nobody());
        Rc::new(ConnectionMemory { budget: Rc::clone(self), user: nobody, kept: Cell::new(0) })
    }

    /// Bytes that are noted.
    pub(crate) fn held(&self) -> u64 {
        self.held.get()
    }

    /// What one request may have at most.
    pub(crate) fn largest(&self) -> u64 {
        self.most - self.most / OTHERS_PART
    }

    /// Waits until one value may be read of which nobody knows how long it is.
    pub(crate) async fn value(&self) -> SemaphorePermit<'_> {
        self.lane.acquire().await.expect("nobody closes it")
    }

    fn nobody(&self) -> usize {
        self.of_users.len() - 1
    }

    fn is_shared(&self) -> bool {
        self.nobody() > 1
    }

    fn free(&self) -> u64 {
        self.most.saturating_sub(self.held.get())
    }

    /// How much more a user may have, whoever waits.
    fn room_of(&self, user: usize) -> u64 {
        match self.is_shared() {
            true => {
                let most = TIMES_FREE * self.free();
                most.saturating_sub(self.of_users[user].get()) / (TIMES_FREE + 1)
            }
            false => self.free(),
        }
    }

    /// Whether there would be room for who waits if its user gave back what it has: then nobody else keeps it from that.
    fn waits_for_its_own(&self, waits: &WaitsForRoom) -> bool {
        let could_have = self.free() + self.of_users[waits.of.user.get()].get();
        self.is_shared() && waits.bytes <= could_have * TIMES_FREE / (TIMES_FREE + 1)
    }

    /// Whether somebody waits for whom a user is to make room, or behind whom it is to wait.
    fn others_wait_for(&self, user: usize) -> bool {
        let waiting = self.waiting.borrow();
        waiting.iter().any(|waits| waits.of.user.get() == user || !self.waits_for_its_own(waits))
    }

    /// Who is the next to be given room, if there is some. Who waits for what others keep lets nobody past, and who waits for its own user nobody of that; an end
    /// that nobody waits for any more is nobody's.
    fn next_to_be_given(&self) -> Option<WaitsForRoom> {
        let mut waiting = self.waiting.borrow_mut();
        waiting.retain(|waits| !waits.told.is_closed());
        let mut passed = Vec::new();
        for (place, waits) in waiting.iter().enumerate() {
            let user = waits.of.user.get();
            if passed.contains(&user) {
                continue;
            }
            if waits.bytes <= self.room_of(user) {
                return waiting.remove(place);
            }
            if !self.waits_for_its_own(waits) {
                return None;
            }
            passed.push(user);
        }
        None
    }

    /// Gives room to those that wait, as far as there is some.
    fn give_room(&self) {
        if self.is_giving.replace(true) {
            return;
        }
        while let Some(WaitsForRoom { bytes, of, told }) = self.next_to_be_given() {
            // Who is gone by now gives it back at once.
            drop(told.send(of.note(bytes)));
        }
        self.is_giving.set(false);
    }
}

impl ConnectionMemory {
    /// It is this user's from now on; nobody's without one.
    pub(crate) fn belongs_to(&self, user: Option<usize>) {
        let user = user.unwrap_or(self.budget.nobody());
        let of = |user: usize| &self.budget.of_users[user];
        let before = of(self.user.replace(user));
        before.set(before.get() - self.kept.get());
        of(user).set(of(user).get() + self.kept.get());
        self.budget.give_room();
    }

    /// Whether somebody waits for what it keeps, or would.
    pub(crate) fn is_wanted(&self) -> bool {
        self.budget.held.get() >= self.budget.most || self.budget.others_wait_for(self.user.get())
    }

    /// Notes what is there already.
    pub(crate) fn note(self: &Rc<ConnectionMemory>, bytes: u64) -> HeldBytes {
        let mut held = HeldBytes { of: Rc::clone(self), bytes: 0 };
        held.set(bytes);
        held
    }

    /// How much more it may have at once.
    pub(crate) fn room(&self) -> u64 {
        let user = self.user.get();
        let of_all = match self.budget.others_wait_for(user) {
            true => 0,
            false => self.budget.room_of(user),
        };
        FREE_BYTES.saturating_sub(self.kept.get()).max(of_all)
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
        for count in [&budget.held, &self.of.kept, &budget.of_users[self.of.user.get()]] {
            count.set(count.get() - self.bytes + bytes);
        }
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

    /// Seven of eight are for what is known, and three quarters of that for one request.
    fn budget() -> Rc<Budget> {
        Budget::new(8 * MIB, 1 << 20, 1)
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
            assert!(one.is_wanted());
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
    /// One user's connections that stood still had all of it, and whoever asked for more than a connection has without asking waited for them, ten to thirty seconds.
    #[tokio::test(start_paused = true)]
    async fn a_user_leaves_room_for_the_next_one_and_waits_for_itself_alone() {
        let budget = Budget::new(8 * MIB, 1 << 20, 3);
        let of = |user| {
            let connection = budget.connection();
            connection.belongs_to(Some(user));
            connection
        };
        let all = async {
            let greedy = [(); 4].map(|()| of(0));
            let taken = greedy[0].try_take(5 * MIB).expect("it is alone");
            let second = greedy[1].try_take(MIB).expect("six of seven are for one");
            let third = greedy[2].try_take(MIB);
            assert!(third.is_none(), "the rest is for others");
            let waits = spawn_local({
                let connection = Rc::clone(&greedy[2]);
                async move { connection.take(MIB).await.map(|held| held.bytes()) }
            });
            yield_now().await;
            let (next, last) = (of(1), of(2));
            let next = next.try_take(MIB / 2).expect("it waits for nobody else's");
            last.try_take(MIB / 4).expect("there is always some");
            assert!(greedy[0].is_wanted() && !last.is_wanted());
            let small = spawn_local({
                let connection = Rc::clone(&greedy[3]);
                async move { connection.take(FREE_BYTES + 1).await.map(|held| held.bytes()) }
            });
            yield_now().await;
            assert!(!small.is_finished(), "its own stand before it");
            drop((second, next));
            assert_eq!(waits.await.expect("it ends"), Ok(MIB));
            assert_eq!(small.await.expect("it ends"), Ok(FREE_BYTES + 1));
            drop(taken);
            greedy[0].belongs_to(Some(1));
            assert_eq!(budget.held(), 0);
        };
        LocalSet::new().run_until(all).await;
    }

    /// Who waits for what others have lets no third one past, or small ones could keep it out for ever.
    #[tokio::test(start_paused = true)]
    async fn who_waits_for_others_is_passed_by_nobody() {
        let budget = Budget::new(8 * MIB, 1 << 20, 3);
        let [one, other, third] = [0, 1, 2].map(|user| {
            let connection = budget.connection();
            connection.belongs_to(Some(user));
            connection
        });
        let all = async {
            let taken = one.try_take(4 * MIB).expect("it is alone");
            let large = spawn_local(async move { other.take(4 * MIB).await });
            yield_now().await;
            assert!(third.try_take(MIB / 2).is_none());
            assert!(third.is_wanted() && one.is_wanted());
            drop(taken);
            let large = large.await.expect("it ends").expect("it has its turn");
            assert!(third.try_take(MIB / 2).is_some() && !third.is_wanted());
            drop(large);
        };
        LocalSet::new().run_until(all).await;
    }
}
