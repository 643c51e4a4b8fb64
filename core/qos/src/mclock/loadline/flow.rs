//! A client's handle, and the clients of one party: they take turns, fair by virtual time in cost units. A party with one
//! client has none of this.

use super::tournament::{KeyedIndex, Tournament};
use crate::mclock::requests::RequestList;
use crate::{ClientKey, FlowId};
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use core::ops::{Index, IndexMut};

/// No index.
pub(super) const NONE: u32 = u32::MAX;

/// One client inside a class, or inside a tenant of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientFlow {
    /// The class, or [`NONE`] while the handle is closed.
    pub(super) class: u32,
    /// The tenant among those of the class, or [`NONE`].
    pub(super) tenant: u32,
    /// Its place among the clients of its party, or [`NONE`] while there has been no other.
    pub(super) member: u32,
    /// Of the handle that is open, or of the next one.
    pub(super) generation: NonZeroU32,
}

impl ClientFlow {
    fn new(class: u32, tenant: u32, generation: NonZeroU32) -> ClientFlow {
        ClientFlow { class, tenant, member: NONE, generation }
    }
}

/// The clients of a scheduler by their handles. A row of sixteen bytes is read for each request that comes; whose it is stands apart, and
/// is looked at when a handle is opened, closed or shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Flows {
    rows: Vec<ClientFlow>,
    clients: Vec<ClientKey>,
    /// Handles that may be given out again.
    closed: Vec<u32>,
}

impl Flows {
    pub(super) fn open(&mut self, class: u32, tenant: u32, client: ClientKey) -> u32 {
        match self.closed.pop() {
            Some(index) => {
                let row = &mut self.rows[index as usize];
                *row = ClientFlow::new(class, tenant, row.generation);
                self.clients[index as usize] = client;
                index
            }
            None => {
                self.rows.push(ClientFlow::new(class, tenant, FlowId::new(0).generation()));
                self.clients.push(client);
                (self.rows.len() - 1) as u32
            }
        }
    }

    /// Closes a handle; the next one of its number is of another generation.
    pub(super) fn close(&mut self, index: u32) {
        let next = self.handle(index).next_generation();
        let row = &mut self.rows[index as usize];
        row.class = NONE;
        row.generation = next.generation();
        self.closed.push(index);
    }

    /// The row behind a handle that is open; the generation of one that was closed is another.
    #[inline(always)]
    pub(super) fn of(&self, handle: FlowId) -> Option<&ClientFlow> {
        let known = self.rows.get(handle.get() as usize)?;
        (known.generation == handle.generation()).then_some(known)
    }

    pub(super) fn handle(&self, index: u32) -> FlowId {
        FlowId::of_generation(index, self[index].generation)
    }

    pub(super) fn client(&self, index: u32) -> ClientKey {
        self.clients[index as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// How many are open.
    pub(super) fn count_open(&self) -> usize {
        self.rows.iter().filter(|row| row.class != NONE).count()
    }
}

impl Index<u32> for Flows {
    type Output = ClientFlow;

    fn index(&self, index: u32) -> &ClientFlow {
        &self.rows[index as usize]
    }
}

impl IndexMut<u32> for Flows {
    fn index_mut(&mut self, index: u32) -> &mut ClientFlow {
        &mut self.rows[index as usize]
    }
}

/// What stands inside a party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// The party is none: its row is free.
    Closed,
    Nobody,
    /// One client, by its flow.
    One(u32),
    /// Several, by their turns.
    Turns(u32),
    /// Tenants.
    Tenants(u32),
}

const TURNS: u32 = 1 << 30;
const TENANTS: u32 = 1 << 31;

impl Inside {
    const NOBODY: u32 = u32::MAX;
    const CLOSED: u32 = u32::MAX - 1;

    pub(super) fn decode(word: u32) -> Inside {
        match word {
            Inside::NOBODY => Inside::Nobody,
            Inside::CLOSED => Inside::Closed,
            word if word & TENANTS != 0 => Inside::Tenants(word & !TENANTS),
            word if word & TURNS != 0 => Inside::Turns(word & !TURNS),
            word => Inside::One(word),
        }
    }

    pub(super) fn encode(self) -> u32 {
        match self {
            Inside::Nobody => Inside::NOBODY,
            Inside::Closed => Inside::CLOSED,
            Inside::One(flow) => flow,
            Inside::Turns(turns) => turns | TURNS,
            Inside::Tenants(tenants) => tenants | TENANTS,
        }
    }
}

/// One of several clients.
#[derive(Clone, Copy, Debug)]
struct Member {
    flow: u32,
    /// What waits, while it is another client's turn.
    fifo: RequestList,
    /// Start tag among the clients, in cost units (clients weigh the same).
    start: u64,
}

/// The clients of a party that has had several at a time.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    members: Vec<Member>,
    free: Vec<u32>,
    /// Whose turn it is; what waits of it is in the party's line.
    turn: u32,
    /// Start tags of the members with requests, except the one whose turn it is.
    waiting: Tournament,
    /// Start tag of the last service.
    virtual_time: u64,
}

impl Turns {
    /// The turns of a party with this only client so far, whose member is 0 and has the turn.
    pub(super) fn new(flow: u32) -> Turns {
        let member = Member { flow, fifo: RequestList::EMPTY, start: 0 };
        Turns {
            members: vec![member],
            free: Vec::new(),
            turn: 0,
            waiting: Tournament::new(),
            virtual_time: 0,
        }
    }

    pub(super) fn add(&mut self, flow: u32) -> u32 {
        let member = Member { flow, fifo: RequestList::EMPTY, start: 0 };
        match self.free.pop() {
            Some(place) => {
                self.members[place as usize] = member;
                place
            }
            None => {
                self.members.push(member);
                (self.members.len() - 1) as u32
            }
        }
    }

    /// Lets go of a member whose list is empty.
    pub(super) fn remove(&mut self, member: u32) {
        self.members[member as usize].flow = NONE;
        self.free.push(member);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.members.len()
    }

    pub(super) fn flows(&self) -> impl Iterator<Item = u32> {
        self.members.iter().map(|member| member.flow).filter(|flow| *flow != NONE)
    }

    /// The flow whose turn it is.
    pub(super) fn flow_in_turn(&self) -> u32 {
        self.members[self.turn as usize].flow
    }

    /// The list of a member; `of_turn` is that of the one whose turn it is.
    #[inline]
    pub(super) fn fifo<'a>(
        &'a mut self,
        member: u32,
        of_turn: &'a mut RequestList,
    ) -> &'a mut RequestList {
        if member == self.turn { of_turn } else { &mut self.members[member as usize].fifo }
    }

    /// The same to look at.
    pub(super) fn fifo_of(&self, member: u32, of_turn: RequestList) -> RequestList {
        if member == self.turn { of_turn } else { self.members[member as usize].fifo }
    }

    /// A member had no requests and has one now. Whether the head of the party is now another.
    pub(super) fn wakes(
        &mut self,
        member: u32,
        party_waited: bool,
        of_turn: &mut RequestList,
    ) -> bool {
        let start = self.virtual_time.max(self.members[member as usize].start);
        self.members[member as usize].start = start;
        if member == self.turn {
            return true;
        }
        if party_waited {
            self.waiting.push(KeyedIndex::new(start, member));
            return false;
        }
        self.give(member, of_turn);
        true
    }

    /// Ends the turn of the client just served: the client with the least start tag goes next.
    pub(super) fn pass(&mut self, cost: u32, of_turn: &mut RequestList) {
        let served = &mut self.members[self.turn as usize];
        self.virtual_time = self.virtual_time.max(served.start);
        served.start = self.virtual_time.saturating_add(u64::from(cost));
        let own = KeyedIndex::new(served.start, self.turn);
        match self.waiting.peek() {
            Some(top) if of_turn.is_empty() => {
                self.waiting.pop();
                self.give(top.index(), of_turn);
            }
            Some(top) if top < own => {
                self.waiting.replace_top(own);
                self.give(top.index(), of_turn);
            }
            _ => {}
        }
    }

    /// After a removal: only clients with requests wait, and the turn belongs to one if there is one.
    pub(super) fn settle(&mut self, of_turn: &mut RequestList) {
        let members = &self.members;
        self.waiting
            .rebuild(|entry| (!members[entry.index() as usize].fifo.is_empty()).then_some(entry));
        if of_turn.is_empty()
            && let Some(top) = self.waiting.pop()
        {
            self.give(top.index(), of_turn);
        }
    }

    /// Makes `next` the client whose turn it is; the list of the one before goes back to it.
    fn give(&mut self, next: u32, of_turn: &mut RequestList) {
        let fifo = core::mem::replace(&mut self.members[next as usize].fifo, RequestList::EMPTY);
        self.members[self.turn as usize].fifo = core::mem::replace(of_turn, fifo);
        self.turn = next;
    }
}
