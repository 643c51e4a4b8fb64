//! WPQ against a literal transcription of its pseudo-code (qos.md 8): same seed, same order.

use loadline_base::{Rng, Time};
use loadline_qos::{ClassId, ClientKey, FlowId, Lane, Params, Request, Scheduler, Take, Wpq};
use std::collections::{BTreeMap, VecDeque};

const CUT_OFF: u32 = 196;
/// Class 2 is strict whatever the priority.
const CLASSES: u32 = 3;
const NOW: Time = Time::ZERO;

#[derive(Clone, Debug, PartialEq)]
struct Item {
    id: u32,
    class: u32,
    cost: u64,
}

/// Ordered map owner -> FIFO, with the owner whose turn it is.
#[derive(Default)]
struct SubQueue {
    owners: BTreeMap<u64, VecDeque<Item>>,
    next: Option<u64>,
}

impl SubQueue {
    fn insert(&mut self, owner: u64, item: Item, front: bool) {
        let fifo = self.owners.entry(owner).or_default();
        if front {
            fifo.push_front(item)
        } else {
            fifo.push_back(item)
        }
        self.check_end();
    }

    /// The cursor never stands at the end while there are owners.
    fn check_end(&mut self) {
        if self.next.is_none() {
            self.next = self.owners.keys().next().copied();
        }
    }

    fn after(&self, owner: u64) -> Option<u64> {
        self.owners.range(owner + 1..).next().map(|(owner, _)| *owner)
    }

    fn head(&self) -> &Item {
        &self.owners[&self.next.unwrap()][0]
    }

    fn pop(&mut self) -> Item {
        let owner = self.next.unwrap();
        let fifo = self.owners.get_mut(&owner).unwrap();
        let item = fifo.pop_front().unwrap();
        if fifo.is_empty() {
            self.owners.remove(&owner);
        }
        self.next = self.after(owner);
        self.check_end();
        item
    }

    fn filter(&mut self, doomed: &dyn Fn(u64, &Item) -> bool, out: &mut Vec<u32>) {
        for owner in self.owners.keys().copied().collect::<Vec<_>>() {
            let fifo = self.owners.get_mut(&owner).unwrap();
            out.extend(fifo.iter().filter(|item| doomed(owner, item)).map(|item| item.id));
            fifo.retain(|item| !doomed(owner, item));
            if fifo.is_empty() {
                self.owners.remove(&owner);
                if self.next == Some(owner) {
                    self.next = self.after(owner);
                }
                self.check_end();
            }
        }
    }
}

struct Model {
    strict: BTreeMap<u32, SubQueue>,
    normal: BTreeMap<u32, SubQueue>,
    max_cost: u64,
    rng: Rng,
}

impl Model {
    fn insert(&mut self, owner: u64, priority: u32, mut item: Item, front: bool) {
        let queue = if priority >= CUT_OFF || item.class == 2 {
            item.cost = 0;
            &mut self.strict
        } else {
            self.max_cost = self.max_cost.max(item.cost);
            &mut self.normal
        };
        queue.entry(priority).or_default().insert(owner, item, front);
    }

    fn take(&mut self) -> Option<Item> {
        if let Some((&priority, _)) = self.strict.last_key_value() {
            return Some(pop(&mut self.strict, priority));
        }
        let (&highest, _) = self.normal.last_key_value()?;
        if self.normal.len() == 1 {
            return Some(pop(&mut self.normal, highest));
        }
        let total: u64 = self.normal.keys().map(|priority| u64::from(*priority)).sum();
        loop {
            let ticket = self.rng.below(total) + 1;
            let mut rest = total;
            let chosen = self.normal.keys().rev().find(|priority| {
                rest -= u64::from(**priority);
                ticket > rest
            });
            let chosen = *chosen.unwrap();
            let cost = self.normal[&chosen].head().cost;
            if self.max_cost == 0
                || self.rng.below(self.max_cost) <= self.max_cost - (cost * 9) / 10
            {
                return Some(pop(&mut self.normal, chosen));
            }
        }
    }

    fn filter(&mut self, doomed: &dyn Fn(u64, &Item) -> bool) -> Vec<u32> {
        let mut out = Vec::new();
        for queue in [&mut self.strict, &mut self.normal] {
            for sub_queue in queue.values_mut().rev() {
                sub_queue.filter(doomed, &mut out);
            }
            queue.retain(|_, sub_queue| !sub_queue.owners.is_empty());
        }
        out
    }
}

fn pop(queue: &mut BTreeMap<u32, SubQueue>, priority: u32) -> Item {
    let sub_queue = queue.get_mut(&priority).unwrap();
    let item = sub_queue.pop();
    if sub_queue.owners.is_empty() {
        queue.remove(&priority);
    }
    item
}

fn lanes() -> Vec<Lane> {
    let shared = Lane::Shared(Params::new(1.0, 1.0, 0.0).unwrap());
    vec![shared, shared, Lane::Strict]
}

/// Both queues side by side, and the flows that are open.
struct Pair {
    queue: Wpq<Item>,
    model: Model,
    flows: BTreeMap<(u32, u64), FlowId>,
    waiting: usize,
}

impl Pair {
    fn new(seed: u64) -> Pair {
        let model = Model {
            strict: BTreeMap::new(),
            normal: BTreeMap::new(),
            max_cost: 0,
            rng: Rng::new(seed),
        };
        let queue = Wpq::new(&lanes(), CUT_OFF, seed);
        Pair { queue, model, flows: BTreeMap::new(), waiting: 0 }
    }

    fn add(&mut self, class: u32, owner: u64, priority: u32, item: Item, front: bool) {
        let flow = self.queue.flow(NOW, ClassId::new(class), ClientKey(owner));
        self.flows.insert((class, owner), flow);
        let cost = item.cost as u32;
        let request = Request { priority, ..Request::new(flow, cost, item.clone()) };
        let added = match front {
            true => self.queue.enqueue_front(NOW, request),
            false => self.queue.enqueue(NOW, request),
        };
        added.expect("the flow is open");
        self.model.insert(owner, priority, item, front);
        self.waiting += 1;
    }

    fn take(&mut self) {
        match (self.queue.take(NOW), self.model.take()) {
            (Take::Empty, None) => assert_eq!(self.waiting, 0),
            (Take::Ready(taken), Some(item)) => {
                assert_eq!(taken.payload.id, item.id);
                assert_eq!(u64::from(taken.cost), item.cost);
                self.waiting -= 1;
            }
            (taken, item) => panic!("{taken:?} against {item:?}"),
        }
    }

    fn removed(&mut self, removed: Vec<Item>, model: Vec<u32>) {
        let removed: Vec<u32> = removed.into_iter().map(|item| item.id).collect();
        assert_eq!(removed, model);
        self.waiting -= removed.len();
        assert_eq!(self.queue.len(), self.waiting);
        assert_eq!(self.queue.waiting(NOW).len(), self.waiting);
        assert_eq!(self.queue.cost_max(), self.model.max_cost);
    }

    fn close(&mut self, class: u32, owner: u64) {
        let Some(flow) = self.flows.remove(&(class, owner)) else { return };
        let mut removed = Vec::new();
        self.queue.close_flow(NOW, flow, &mut removed);
        let model = self.model.filter(&|other, item| other == owner && item.class == class);
        self.removed(removed, model);
    }
}

/// Some operations of each kind; few owners and priorities, so that they often appear, disappear and meet.
fn run(seed: u64, owners: u64, steps: u32) {
    let mut rng = Rng::for_purpose(seed, 1);
    let mut pair = Pair::new(seed);
    for id in 0..steps {
        let owner = rng.below(owners) * 7;
        let class = rng.below(u64::from(CLASSES)) as u32;
        let priority = [3, 5, 5, 63, 63, 63, 127, 196, 255][rng.below(9) as usize];
        let cost = [0, 4_096, 65_536, 4 << 20, 20 << 20, 50 << 20][rng.below(6) as usize];
        match rng.below(100) {
            0 => pair.close(class, owner),
            1 => {
                let mut removed = Vec::new();
                pair.queue.remove_owner(ClientKey(owner), &mut removed);
                let model = pair.model.filter(&|other, _| other == owner);
                pair.removed(removed, model);
            }
            2 => {
                let mut removed = Vec::new();
                pair.queue.remove_class(NOW, ClassId::new(class), &mut removed);
                let model = pair.model.filter(&|_, item| item.class == class);
                pair.removed(removed, model);
            }
            3 => {
                let mut removed = Vec::new();
                pair.queue.remove_where(NOW, &mut |item| item.id % 3 == 0, &mut removed);
                let model = pair.model.filter(&|_, item| item.id % 3 == 0);
                pair.removed(removed, model);
            }
            4..9 => pair.add(class, owner, priority, Item { id, class, cost }, true),
            9..55 => pair.add(class, owner, priority, Item { id, class, cost }, false),
            _ => pair.take(),
        }
    }
    while pair.waiting > 0 {
        pair.take();
    }
    pair.take();
}

#[test]
fn few_owners_meet_often() {
    for seed in 0..200 {
        run(seed, 3, 2_000);
    }
}

/// More owners than one word of the rank set holds.
#[test]
fn many_owners() {
    for seed in 0..20 {
        run(seed, 300, 10_000);
    }
}

/// Enough owners for the summary of the rank set, without churn of the owners.
#[test]
fn very_many_owners_are_served_in_turn() {
    let mut pair = Pair::new(1);
    for id in 0..20_000 {
        let owner = u64::from(id * 7_919 % 10_007);
        pair.add(0, owner, 63, Item { id, class: 0, cost: 1 }, false);
    }
    for _ in 0..=20_000 {
        pair.take();
    }
}
