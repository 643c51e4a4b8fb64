//! Long random runs of mClock as published against a model that looks at everything at each step. (Loadline's own mode is
//! held against the closed form of its rule, in `mclock_shares.rs`.)
//!
//! The model keeps plain lists and shares no code with the scheduler. Rates divide 10^9 * 2^24 and weights are powers
//! of two, so every tag is exact in both and every answer must be equal, ties included.

mod published;

use loadline_base::{Rng, Span, Time};
use loadline_qos::{
    ClassId, ClientKey, Distributed, FlowId, Lane, LimitPolicy, MClock, Params, Phase,
    PublishedConfig, Refusal, Request, Scheduler, SideQueue, Take,
};
use published::PublishedModel;

/// Ticks of a nanosecond, as the scheduler counts them.
const NANOSECOND: i128 = 1 << 24;
const SECOND: i128 = 1_000_000_000 * NANOSECOND;
const CLASSES: u64 = 5;
const STRICT_CLASS: u32 = 4;
const CLIENTS: u64 = 4;
const STRICT_PRIORITY: u32 = 196;

/// A request as a model keeps it.
#[derive(Clone, Copy, Debug)]
struct Item {
    id: u64,
    flow: FlowId,
    arrival: Time,
    cost: u32,
    priority: u32,
    distributed: Distributed,
}

impl Item {
    fn arrival_ticks(&self) -> i128 {
        ticks(self.arrival)
    }

    fn charge(&self) -> i128 {
        i128::from(self.cost) + i128::from(self.distributed.delta)
    }

    fn reservation_charge(&self) -> i128 {
        i128::from(self.cost) + i128::from(self.distributed.rho)
    }
}

/// What a take gives, without the payload's wrapping.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    Ready(u64, Phase),
    NotBefore(Time),
    Empty,
}

/// A model of a scheduler. It is told the handles that the scheduler gave out.
trait Model {
    fn open(&mut self, flow: FlowId, class: ClassId);
    fn close(&mut self, now: Time, flow: FlowId) -> Vec<u64>;
    fn enqueue(&mut self, now: Time, item: Item) -> Result<(), Refusal>;
    fn enqueue_front(&mut self, item: Item);
    /// The earliest time of the next take.
    fn earliest(&mut self, now: Time) -> Option<Time>;
    fn take(&mut self, now: Time) -> Answer;
    fn remove(&mut self, now: Time, doomed: &dyn Fn(ClassId, u64) -> bool) -> Vec<u64>;
    fn set_params(&mut self, now: Time, class: ClassId, params: Params);
}

fn ticks(time: Time) -> i128 {
    i128::from(time.nanos()) * NANOSECOND
}

fn ceil(ticks: i128) -> Time {
    Time::from_nanos(u64::try_from((ticks + NANOSECOND - 1).div_euclid(NANOSECOND)).unwrap())
}

/// `charge` units at `rate`, in ticks of a `unit`; exact for the rates of this test.
fn span(charge: i128, rate: f64, unit: i128) -> i128 {
    let eighths = (rate * 8.0) as i128;
    let ticks = charge * unit * 8;
    assert_eq!(ticks % eighths, 0, "the test's rates are exact");
    ticks / eighths
}

fn params(rng: &mut Rng) -> Params {
    let mut pick = |values: &[f64]| values[rng.below(values.len() as u64) as usize];
    let reservation = pick(&[0.0, 0.0, 5.0, 20.0, 100.0]);
    let weight = pick(&[0.0, 0.5, 1.0, 1.0, 2.0, 8.0]);
    let weight = if reservation == 0.0 { weight.max(0.5) } else { weight };
    let limit = pick(&[0.0, 0.0, 10.0, 40.0, 200.0]);
    let policies =
        [LimitPolicy::Hard, LimitPolicy::Hard, LimitPolicy::WorkConserving, LimitPolicy::Reject];
    let policy = policies[rng.below(4) as usize];
    Params::new(reservation, weight, limit).unwrap().with_limit_policy(policy)
}

fn random_lanes(rng: &mut Rng) -> Vec<Lane> {
    let mut lanes: Vec<Lane> = (0..STRICT_CLASS).map(|_| Lane::Shared(params(rng))).collect();
    lanes.push(Lane::Strict);
    lanes
}

/// A scheduler and its model, driven by the same random operations.
struct Pair<M> {
    scheduler: MClock<u64>,
    model: M,
    rng: Rng,
    now: Time,
    flows: Vec<(ClassId, FlowId)>,
    next_id: u64,
    /// Where `NotBefore` pointed to, until something changed.
    promised: Option<Time>,
}

impl<M: Model> Pair<M> {
    fn run(scheduler: MClock<u64>, model: M, seed: u64, steps: usize) {
        let now = Time::from_secs(1_000);
        let rng = Rng::new(seed);
        let mut pair =
            Pair { scheduler, model, rng, now, flows: Vec::new(), next_id: 0, promised: None };
        for step in 0..steps {
            pair.step(step);
        }
        pair.drain();
    }

    fn step(&mut self, step: usize) {
        let context = format!("step {step} at {}", self.now);
        match self.rng.below(100) {
            0..40 => self.enqueue(&context),
            40..78 => {
                self.take(&context);
            }
            78..80 => self.enqueue_front(),
            80..95 => self.advance(),
            95..97 => self.set_params(),
            97 => self.remove(&context),
            98 => self.close(&context),
            _ => {
                // Longer than the idle age, now and then, so that records are forgotten: it counts from the pass between the two.
                self.now += Span::from_secs(self.rng.below(400));
                self.take(&context);
                self.now += Span::from_secs(self.rng.below(400));
            }
        }
        if self.rng.below(4) == 0 {
            let earliest = self.scheduler.earliest(self.now);
            assert_eq!(earliest, self.model.earliest(self.now), "{context}");
            if let Some(promised) = self.promised {
                assert_eq!(earliest, Some(promised.max(self.now)), "{context}");
            }
        }
        let waiting = self.scheduler.waiting(self.now);
        assert_eq!(waiting.len(), self.scheduler.len(), "{context}");
    }

    fn flow(&mut self) -> FlowId {
        let class = ClassId::new(self.rng.below(CLASSES) as u32);
        let client = ClientKey(self.rng.below(CLIENTS));
        let flow = self.scheduler.flow(self.now, class, client);
        if !self.flows.contains(&(class, flow)) {
            self.flows.push((class, flow));
            self.model.open(flow, class);
        }
        flow
    }

    fn item(&mut self) -> Item {
        let flow = self.flow();
        self.next_id += 1;
        let often = |rng: &mut Rng, value: u32| if rng.below(10) == 0 { value } else { 0 };
        Item {
            id: self.next_id,
            flow,
            arrival: self.now,
            cost: 1 + self.rng.below(4) as u32,
            priority: often(&mut self.rng, STRICT_PRIORITY),
            distributed: Distributed {
                delta: often(&mut self.rng, 3),
                rho: often(&mut self.rng, 2),
            },
        }
    }

    fn enqueue(&mut self, context: &str) {
        let item = self.item();
        let got =
            self.scheduler.enqueue(self.now, request(item)).map_err(|refused| refused.refusal);
        assert_eq!(got, self.model.enqueue(self.now, item), "{context}");
        self.promised = None;
    }

    fn enqueue_front(&mut self) {
        let item = self.item();
        self.scheduler.enqueue_front(self.now, request(item)).unwrap();
        self.model.enqueue_front(item);
        self.promised = None;
    }

    fn take(&mut self, context: &str) -> Answer {
        let next: Vec<u64> = next_by_explanation(&self.scheduler, self.now);
        let got = answer(self.scheduler.take(self.now));
        assert_eq!(got, self.model.take(self.now), "{context}");
        match got {
            Answer::Ready(..) => {
                assert_eq!(
                    next.len(),
                    1,
                    "{context}: exactly one request is explained as the next"
                );
                self.promised = None;
            }
            Answer::NotBefore(time) => {
                assert!(time > self.now, "{context}");
                assert!(next.is_empty(), "{context}");
                self.promised = Some(time);
            }
            Answer::Empty => assert_eq!(self.scheduler.len(), 0, "{context}"),
        }
        got
    }

    /// Some time passes; often exactly as much as the scheduler asked for, and then the next take must succeed.
    fn advance(&mut self) {
        match self.promised {
            Some(time) if self.rng.below(2) == 0 => {
                self.now = self.now.max(time);
                let got = self.take("at the promised time");
                assert!(matches!(got, Answer::Ready(..)), "{got:?} at the promised time");
            }
            _ => self.now += Span::from_micros(self.rng.below(200_000)),
        }
    }

    fn set_params(&mut self) {
        let class = ClassId::new(self.rng.below(CLASSES) as u32);
        let params = params(&mut self.rng);
        self.scheduler.set_params(self.now, class, params);
        self.model.set_params(self.now, class, params);
        self.promised = None;
    }

    fn remove(&mut self, context: &str) {
        let (divisor, rest) = (2 + self.rng.below(3), self.rng.below(2));
        let class = ClassId::new(self.rng.below(CLASSES) as u32);
        let mut removed = Vec::new();
        let expected = if self.rng.below(2) == 0 {
            self.scheduler.remove_class(self.now, class, &mut removed);
            self.model.remove(self.now, &|id, _| id == class)
        } else {
            let doomed = |id: u64| id % divisor == rest;
            self.scheduler.remove_where(self.now, &mut |id| doomed(*id), &mut removed);
            self.model.remove(self.now, &|_, id| doomed(id))
        };
        assert_eq!(sorted(removed), sorted(expected), "{context}");
        self.promised = None;
    }

    fn close(&mut self, context: &str) {
        if self.flows.is_empty() {
            return;
        }
        let at = self.rng.below(self.flows.len() as u64) as usize;
        let (_, flow) = self.flows.swap_remove(at);
        let mut removed = Vec::new();
        self.scheduler.close_flow(self.now, flow, &mut removed);
        assert_eq!(sorted(removed), sorted(self.model.close(self.now, flow)), "{context}");
        self.promised = None;
    }

    /// Everything that waits comes out, at the times that the scheduler names.
    fn drain(&mut self) {
        while !self.scheduler.is_empty() {
            if let Answer::NotBefore(time) = self.take("draining") {
                self.now = time;
            }
        }
        assert_eq!(self.model.take(self.now), Answer::Empty);
    }
}

fn request(item: Item) -> Request<u64> {
    Request {
        flow: item.flow,
        priority: item.priority,
        cost: item.cost,
        distributed: item.distributed,
        payload: item.id,
    }
}

fn answer(take: Take<u64>) -> Answer {
    match take {
        Take::Ready(taken) => Answer::Ready(taken.payload, taken.phase),
        Take::NotBefore(time) => Answer::NotBefore(time),
        Take::Empty => Answer::Empty,
    }
}

fn next_by_explanation(scheduler: &MClock<u64>, now: Time) -> Vec<u64> {
    let waiting = scheduler.waiting(now);
    let next = waiting.iter().filter(|row| row.reason == loadline_qos::WaitCause::Next);
    next.map(|row| row.arrival.nanos()).collect()
}

fn sorted(mut ids: Vec<u64>) -> Vec<u64> {
    ids.sort_unstable();
    ids
}

#[test]
fn published_agrees_with_its_model() {
    for seed in 0..60 {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let lanes = random_lanes(&mut rng);
        let config = PublishedConfig {
            beside: if seed % 2 == 0 { SideQueue::List } else { SideQueue::Priorities },
            cut_off: STRICT_PRIORITY,
            anticipation: Span::from_millis(if seed % 3 == 0 { 20 } else { 0 }),
            reject_threshold: Span::from_millis(if seed % 4 == 0 { 100 } else { 0 }),
            ..PublishedConfig::default()
        };
        let model = PublishedModel::new(config, &lanes);
        Pair::run(MClock::as_published(config, &lanes), model, seed, 20_000);
    }
}
