//! Clients inside a class: they take turns, fair by virtual time in cost units. A class with one client has none of this.

use super::super::heap::{Entry, Heap, Packed};
use super::super::requests::Fifo;
use super::Loadline;
use super::class::{Class, Flow, NO_FLOW};
use crate::{ClassId, FlowId};
use loadline_base::{IdVec, define_id};

define_id! {
    /// Where the turns of a class with several clients are kept.
    pub(super) struct TurnsId, "turns "
}

/// The class has not had two clients at a time.
pub(super) const NO_TURNS: TurnsId = TurnsId::new(u32::MAX);

/// The clients of a class that wait while another has its turn.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    /// Start tags of the clients with requests, except the one whose turn it is.
    waiting: Heap<Packed, false>,
    /// Start tag of the last service, in cost units.
    virtual_time: u64,
}

impl Turns {
    pub(super) fn new() -> Turns {
        Turns { waiting: Heap::new(), virtual_time: 0 }
    }

    /// Ends the turn of the client just served: the client with the least start tag goes next.
    pub(super) fn pass(&mut self, class: &mut Class, flows: &mut IdVec<FlowId, Flow>, charge: u64) {
        let served = &mut flows[class.turn];
        self.virtual_time = self.virtual_time.max(served.start);
        served.start = self.virtual_time.saturating_add(charge);
        let own = Packed::new(u128::from(served.start), class.turn.get());
        match self.waiting.peek() {
            Some(top) if class.fifo.is_empty() => {
                self.waiting.pop();
                give_turn(class, flows, FlowId::new(top.index()));
            }
            Some(top) if top.is_before(own) => {
                self.waiting.replace_top(own);
                give_turn(class, flows, FlowId::new(top.index()));
            }
            _ => {}
        }
    }

    /// After a removal: only clients with requests wait, and the turn belongs to one if there is one.
    pub(super) fn settle(&mut self, class: &mut Class, flows: &mut IdVec<FlowId, Flow>) {
        self.waiting.retain(|entry| !flows[FlowId::new(entry.index())].fifo.is_empty());
        if class.fifo.is_empty()
            && let Some(top) = self.waiting.pop()
        {
            give_turn(class, flows, FlowId::new(top.index()));
        }
    }
}

/// Makes `next` the client whose turn it is; the list of the one before goes back to its flow.
fn give_turn(class: &mut Class, flows: &mut IdVec<FlowId, Flow>, next: FlowId) {
    let fifo = std::mem::replace(&mut flows[next].fifo, Fifo::EMPTY);
    let before = std::mem::replace(&mut class.fifo, fifo);
    if class.turn != NO_FLOW {
        flows[class.turn].fifo = before;
    }
    class.turn = next;
}

impl<T> Loadline<T> {
    /// What waits of a flow.
    pub(super) fn fifo(&self, flow: FlowId) -> Fifo {
        let class = &self.classes[self.flows[flow].class];
        if class.turn == flow { class.fifo } else { self.flows[flow].fifo }
    }

    /// A client of a class with several had no requests and has one now.
    #[cold]
    pub(super) fn client_wakes(&mut self, id: ClassId, flow: FlowId) {
        let class = &mut self.classes[id];
        let turns = &mut self.turns[class.turns];
        let start = turns.virtual_time.max(self.flows[flow].start);
        self.flows[flow].start = start;
        if class.turn != flow {
            if !class.fifo.is_empty() {
                return turns.waiting.push(Packed::new(u128::from(start), flow.get()));
            }
            give_turn(class, &mut self.flows, flow);
        }
        self.class_wakes(id);
    }
}
