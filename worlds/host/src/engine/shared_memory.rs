//! The memory that connections share, whatever they speak: what they and their requests hold, and who waits for some (`budget.rs` has the
//! rules).

use super::budget::{ConnectionCharge, HeldMemory, LOOK, RequestsPart};
use crate::{ConnId, Peer};
use loadline_base::Time;
use std::collections::{BTreeMap, BTreeSet};

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
    /// Those with a request that waits for memory, or that is carried out in parts for want of it.
    short: BTreeSet<ConnId>,
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

    /// Charges a connection for what it holds itself, and for its requests under way.
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
    }

    /// A connection is gone and waits for nothing any more, while what it began may still hold memory.
    pub(super) fn leave(&mut self, conn: ConnId) {
        self.waiting.retain(|(waiting, _)| *waiting != conn);
        self.short.remove(&conn);
        self.account(conn).is_gone = true;
        self.charge(conn, ConnectionCharge::default());
    }

    /// How much more the requests of a connection may take of what all share.
    pub(super) fn room(&self, conn: ConnId, part: RequestsPart) -> u64 {
        self.held.room(part, self.charged(conn))
    }

    /// What a connection is charged for.
    fn charged(&self, conn: ConnId) -> ConnectionCharge {
        self.accounts.get(&conn).map_or_else(ConnectionCharge::default, |account| account.charged)
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

    /// Whether a connection's request waits for memory, or is carried out in parts for want of it.
    pub(super) fn set_short(&mut self, conn: ConnId, is_short: bool) {
        match is_short {
            true => self.short.insert(conn),
            false => self.short.remove(&conn),
        };
    }

    /// Whether anybody but this connection has less memory than its request asks for: its own may wait as long as it likes.
    pub(super) fn others_are_short(&self, conn: ConnId) -> bool {
        self.short.iter().any(|short| *short != conn)
    }

    /// Those that wait.
    pub(super) fn who_waits(&self) -> Vec<ConnId> {
        self.waiting.iter().map(|(conn, _)| *conn).collect()
    }

    /// A connection has found no memory for its request since then.
    pub(super) fn wait(&mut self, conn: ConnId, since: Time) {
        self.waiting.push((conn, since));
    }

    /// Whether memory was given back since those that wait were looked at: nothing else need happen for them to go on.
    pub(super) fn has_some_to_give(&self) -> bool {
        self.was_freed && !self.waiting.is_empty()
    }

    /// Takes those that wait, if some memory was given back or a second has passed. Whose peer holds least comes first, so that a crowd of
    /// one peer holds up nobody but itself, and gains nothing where it comes and goes.
    pub(super) fn take_waiting(&mut self, now: Time) -> Vec<(ConnId, Time)> {
        let is_time = now.since(self.looked) >= LOOK;
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
        assert!(!memory.has_some_to_give());
        memory.end(one, 7);
        assert!(memory.has_some_to_give());
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
        let short = |memory: &SharedMemory| [one, other].map(|conn| memory.others_are_short(conn));
        assert_eq!(short(&memory), [false, false]);
        memory.set_short(one, true);
        assert_eq!(short(&memory), [false, true]);
        memory.set_short(other, true);
        assert_eq!(short(&memory), [true, true]);
        memory.set_short(one, false);
        assert_eq!(short(&memory), [true, false]);
        memory.leave(other);
        assert_eq!(short(&memory), [false, false]);
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
        let later = Time::ZERO + LOOK;
        memory.wait(again, Time::ZERO);
        memory.wait(other, later);
        assert_eq!(memory.take_waiting(later), [(other, later), (again, Time::ZERO)]);
    }
}
