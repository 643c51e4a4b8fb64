//! The memory that connections share, whatever they speak: what they and their requests hold, who waits for some, and who has the express
//! part (`budget.rs` has the rules).

use super::budget::{ConnectionCharge, EXPRESS, EXPRESS_AFTER, HeldMemory, RequestsPart};
use crate::{ConnId, Peer};
use loadline_base::Time;
use std::collections::BTreeMap;

/// The connections' part of the node's memory.
#[derive(Debug, Default)]
pub(super) struct SharedMemory {
    held: HeldMemory,
    accounts: BTreeMap<ConnId, MemoryAccount>,
    /// Those with a request that waits for memory, and since when.
    waiting: Vec<(ConnId, Time)>,
    /// Whether memory was given back since it was looked for some for them, and when that was.
    was_freed: bool,
    looked: Time,
    /// The one that has the express part.
    express: Option<ExpressHolder>,
}

/// Who has the express part, and how much of it the one request takes that it is for: nothing until it begins.
#[derive(Clone, Copy, Debug)]
struct ExpressHolder {
    conn: ConnId,
    bytes: u64,
}

/// What one connection holds. Its requests hold their bytes until they end, whether or not the connection is there by then: the account
/// stays until the last of them has.
#[derive(Debug)]
struct MemoryAccount {
    peer: Peer,
    /// What it is charged for, all together.
    charged: ConnectionCharge,
    /// Requests whose ops are under way; some of them hold no bytes.
    requests: u32,
    /// Bytes that they hold.
    under_way: u64,
    is_gone: bool,
}

impl SharedMemory {
    /// What all of them hold.
    pub(super) fn held(&self) -> HeldMemory {
        self.held
    }

    /// A connection has come.
    pub(super) fn enter(&mut self, conn: ConnId, peer: Peer) {
        let charged = ConnectionCharge::default();
        let account = MemoryAccount { peer, charged, requests: 0, under_way: 0, is_gone: false };
        self.accounts.insert(conn, account);
    }

    /// A request of a connection is under way from now on, and holds so many bytes. What it is charged for changes with the next
    /// [`charge`](Self::charge).
    pub(super) fn begin(&mut self, conn: ConnId, bytes: u64) {
        let account = self.account(conn);
        account.requests += 1;
        account.under_way += bytes;
    }

    /// A request has ended that held so many bytes. They are given back with the next [`charge`](Self::charge), or at once if its connection
    /// has gone.
    pub(super) fn end(&mut self, conn: ConnId, bytes: u64) {
        let account = self.account(conn);
        account.requests -= 1;
        account.under_way -= bytes;
        if account.is_gone {
            self.charge(conn, ConnectionCharge::default());
        }
    }

    /// Charges a connection for what it holds itself, and for its requests under way. The express part comes back where requests hold nothing.
    pub(super) fn charge(&mut self, conn: ConnId, own: ConnectionCharge) {
        let account = self.account(conn);
        let requests = own.requests + account.under_way;
        let now = ConnectionCharge { requests, ..own };
        let before = std::mem::replace(&mut account.charged, now);
        if account.is_gone && account.requests == 0 {
            self.accounts.remove(&conn);
        }
        self.was_freed |= now.data() < before.data();
        self.held.change(before, now);
        if requests == 0 && self.has_express(conn) {
            self.express = None;
        }
    }

    /// A connection is gone and waits for nothing any more, while what it began may still hold memory, the express part too.
    pub(super) fn leave(&mut self, conn: ConnId) {
        self.waiting.retain(|(waiting, _)| *waiting != conn);
        self.account(conn).is_gone = true;
        self.charge(conn, ConnectionCharge::default());
    }

    /// How much more the requests of a connection may take of what all share.
    pub(super) fn room(&self, conn: ConnId, part: RequestsPart) -> u64 {
        self.held.room(part, self.in_express(), self.charged(conn))
    }

    /// What a connection is charged for.
    fn charged(&self, conn: ConnId) -> ConnectionCharge {
        self.accounts.get(&conn).map_or_else(ConnectionCharge::default, |account| account.charged)
    }

    /// How much is held of the express part. Who has it holds less where the answer is partly sent.
    fn in_express(&self) -> u64 {
        self.express
            .map_or(0, |ExpressHolder { conn, bytes }| bytes.min(self.charged(conn).requests))
    }

    /// Bytes that requests of a connection hold whose ops are under way.
    pub(super) fn under_way(&self, conn: ConnId) -> u64 {
        self.accounts.get(&conn).map_or(0, |account| account.under_way)
    }

    fn account(&mut self, conn: ConnId) -> &mut MemoryAccount {
        self.accounts
            .get_mut(&conn)
            .expect("a connection has an account until all it began has ended")
    }

    /// How many wait for memory.
    pub(super) fn waiting(&self) -> u32 {
        self.waiting.len() as u32
    }

    /// Whether anybody but this connection waits for memory: for its own it may let another request of its own wait as long as it likes.
    pub(super) fn others_wait(&self, conn: ConnId) -> bool {
        self.waiting.iter().any(|(waiting, _)| *waiting != conn)
    }

    /// Those that wait.
    pub(super) fn who_waits(&self) -> Vec<ConnId> {
        self.waiting.iter().map(|(conn, _)| *conn).collect()
    }

    /// A connection has found no memory for its request since then.
    pub(super) fn wait(&mut self, conn: ConnId, since: Time) {
        self.waiting.push((conn, since));
    }

    /// Takes those that wait, if some memory was given back or a second has passed. Whose peer holds least comes first, so that a crowd of
    /// one peer holds up nobody but itself, and gains nothing where it comes and goes.
    pub(super) fn take_waiting(&mut self, now: Time) -> Vec<(ConnId, Time)> {
        let is_time = now.since(self.looked) >= EXPRESS_AFTER;
        if self.waiting.is_empty() || !(std::mem::take(&mut self.was_freed) || is_time) {
            return Vec::new();
        }
        self.looked = now;
        let mut of_peer: BTreeMap<Peer, u64> = BTreeMap::new();
        for account in self.accounts.values() {
            *of_peer.entry(account.peer).or_default() += account.charged.data();
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.sort_by_key(|(conn, since)| (of_peer[&self.accounts[conn].peer], *since));
        waiting
    }

    /// Whoever has waited for long gets the express part, if nobody has it; whether this one does.
    pub(super) fn offer_express(&mut self, conn: ConnId, since: Time, now: Time) -> bool {
        let is_given = self.express.is_none() && now.since(since) >= EXPRESS_AFTER;
        if is_given {
            self.express = Some(ExpressHolder { conn, bytes: 0 });
        }
        is_given
    }

    /// A request of so many bytes wants to begin in the express part; whether it may: its connection has it, and no other request has begun
    /// there.
    pub(super) fn take_express(&mut self, conn: ConnId, bytes: u64) -> bool {
        let is_free = |express: &&mut ExpressHolder| express.conn == conn && express.bytes == 0;
        let Some(express) = self.express.as_mut().filter(is_free) else { return false };
        express.bytes = bytes.min(EXPRESS.get());
        true
    }

    /// Whether a connection has the express part: for one request, and nothing behind it.
    pub(super) fn has_express(&self, conn: ConnId) -> bool {
        self.express.is_some_and(|express| express.conn == conn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection's charge for so many bytes of requests that it holds itself.
    fn own(requests: u64) -> ConnectionCharge {
        ConnectionCharge { states: 10, buffers: 0, requests }
    }

    fn of_connections(numbers: [u32; 2]) -> (SharedMemory, [ConnId; 2]) {
        let mut memory = SharedMemory::default();
        let conns = numbers.map(ConnId::numbered);
        for (conn, process) in conns.into_iter().zip(1..) {
            memory.enter(conn, Peer::Process { user: 0, process });
            memory.charge(conn, own(0));
        }
        (memory, conns)
    }

    #[test]
    fn the_express_part_is_for_one_and_comes_back_with_what_it_was_for() {
        let (mut memory, [one, other]) = of_connections([1, 2]);
        let (soon, later) = (Time::ZERO, Time::ZERO + EXPRESS_AFTER);
        memory.offer_express(one, soon, soon);
        assert!(!memory.has_express(one), "it has not waited");
        memory.offer_express(one, soon, later);
        memory.offer_express(other, soon, later);
        assert_eq!([one, other].map(|conn| memory.has_express(conn)), [true, false]);
        memory.charge(one, own(5));
        memory.begin(one, 5);
        memory.leave(one);
        memory.charge(other, own(0));
        memory.offer_express(other, soon, later);
        assert!(!memory.has_express(other), "what the first one began still holds it");
        memory.end(one, 5);
        memory.offer_express(other, soon, later);
        assert!(memory.has_express(other));
        memory.charge(other, ConnectionCharge { buffers: 7, ..own(0) });
        assert!(!memory.has_express(other), "buffers are for no request");
        memory.offer_express(other, soon, later);
        memory.leave(other);
        assert!(!memory.has_express(other));
    }

    /// The request behind the one that it was for took it again, and what both held counted as if it were everybody's: nobody else had room for
    /// one byte until their client was ended, and then for the next one.
    #[test]
    fn the_express_part_is_for_one_request_and_leaves_others_what_they_share() {
        let (mut memory, [one, other]) = of_connections([1, 2]);
        let (long, part) = (EXPRESS.get(), RequestsPart { all: 40 << 20, for_small: 8 << 20 });
        let share = memory.room(other, part);
        assert_eq!(share, 16 << 20);
        assert!(!memory.take_express(one, long), "nobody has it");
        assert!(memory.offer_express(one, Time::ZERO, Time::ZERO + EXPRESS_AFTER));
        assert!(!memory.take_express(other, long), "it is the other one's");
        assert!(memory.take_express(one, long));
        for held in [long, long / 3] {
            memory.charge(one, own(held));
            assert_eq!(memory.room(other, part), share, "{held} bytes are held of it");
            assert!(!memory.take_express(one, 1), "nothing comes behind it");
        }
        memory.charge(one, own(long + (4 << 20)));
        assert_eq!(memory.room(other, part), share - (2 << 20), "what it holds beside counts");
        memory.charge(one, own(0));
        assert!(memory.offer_express(other, Time::ZERO, Time::ZERO + EXPRESS_AFTER));
        assert!(memory.take_express(other, long));
    }

    /// A client that came, asked for the most and went, again and again, held as much each time and was charged for none.
    #[test]
    fn what_requests_hold_counts_until_they_end_whoever_has_gone() {
        let (mut memory, [one, other]) = of_connections([1, 2]);
        [5, 7].iter().for_each(|bytes| memory.begin(one, *bytes));
        memory.charge(one, own(3));
        let charged = |memory: &SharedMemory| memory.charged(one).data();
        assert_eq!((charged(&memory), memory.under_way(one)), (15, 12));
        memory.end(one, 5);
        memory.leave(one);
        assert_eq!((charged(&memory), memory.held().connections()), (7, 10 + 7));
        memory.wait(other, Time::ZERO);
        memory.take_waiting(Time::ZERO);
        memory.wait(other, Time::ZERO);
        assert_eq!(memory.take_waiting(Time::ZERO), [], "nothing was given back since");
        memory.end(one, 7);
        assert_eq!((charged(&memory), memory.held().connections()), (0, 10));
        assert_eq!(memory.take_waiting(Time::ZERO), [(other, Time::ZERO)]);
        assert_eq!(memory.accounts.len(), 1, "the other one's");
    }

    /// A flush holds nothing, and its end met no account where its connection had gone: the node ended with it.
    #[test]
    fn a_request_that_holds_nothing_has_an_account_too() {
        let (mut memory, [one, _]) = of_connections([1, 2]);
        memory.begin(one, 0);
        memory.begin(one, 4);
        memory.leave(one);
        memory.end(one, 4);
        memory.end(one, 0);
        assert_eq!(memory.accounts.len(), 1, "the other one's");
    }

    /// A client alone that sent a second long read behind the first, and took its time over the answer, was ended for what nobody else wanted.
    #[test]
    fn who_waits_for_itself_keeps_nobody_waiting() {
        let (mut memory, [one, other]) = of_connections([1, 2]);
        let wait = |memory: &SharedMemory| [one, other].map(|conn| memory.others_wait(conn));
        assert_eq!(wait(&memory), [false, false]);
        memory.wait(one, Time::ZERO);
        assert_eq!(wait(&memory), [false, true]);
        memory.wait(other, Time::ZERO);
        assert_eq!(wait(&memory), [true, true]);
    }

    #[test]
    fn of_those_that_wait_the_one_goes_first_whose_peer_holds_least_gone_or_not() {
        let (mut memory, [one, other]) = of_connections([1, 2]);
        let again = ConnId::numbered(3);
        memory.begin(one, 9);
        memory.charge(other, own(4));
        let peer = memory.accounts[&one].peer;
        memory.leave(one);
        memory.enter(again, peer);
        let later = Time::ZERO + EXPRESS_AFTER;
        memory.wait(again, Time::ZERO);
        memory.wait(other, later);
        assert_eq!(memory.take_waiting(later), [(other, later), (again, Time::ZERO)]);
    }
}
