//! Reads bytes as a script of scheduler operations and checks what must hold after each of them.
//!
//! The fuzz target and the property test share this file. Checked: nothing is lost, doubled or invented; one client's
//! requests keep their order; `NotBefore` names a time ahead at which something runs; `earliest` agrees with `take`;
//! every waiting request is listed once.

use loadline_base::{Span, Time};
use loadline_qos::{
    ClassId, ClientKey, FlowId, LimitPolicy, Params, Request, Scheduler, Take, WaitCause,
};
use std::collections::BTreeMap;

const RATES: [f64; 8] = [0.0, 1e-3, 1.0, 7.0, 63.0, 2_687.5, 3e6, 1e10];
const COSTS: [u32; 6] = [1, 2, 231, 4_096, 1 << 20, u32::MAX];
const PRIORITIES: [u32; 4] = [0, 0, 63, 196];
const POLICIES: [LimitPolicy; 3] =
    [LimitPolicy::Hard, LimitPolicy::WorkConserving, LimitPolicy::Reject];
const STEPS: [Span; 8] = [
    Span::ZERO,
    Span::from_nanos(1),
    Span::from_micros(1),
    Span::from_millis(1),
    Span::from_millis(300),
    Span::from_secs(7),
    Span::from_secs(70),
    Span::from_secs(700),
];

/// What is known of a waiting request: its flow, and whether it keeps its place among the flow's requests.
#[derive(Clone, Copy)]
struct Known {
    flow: FlowId,
    in_order: bool,
}

struct Run<'a, S> {
    scheduler: &'a mut S,
    bytes: std::slice::Iter<'a, u8>,
    classes: u32,
    now: Time,
    waiting: BTreeMap<u64, Known>,
    open: Vec<FlowId>,
    next_id: u64,
    /// Where `NotBefore` pointed to, until something changed.
    promised: Option<Time>,
}

/// Runs the script in `bytes` over a scheduler with this many classes, then takes out what waits.
pub(crate) fn run<S: Scheduler<u64>>(scheduler: &mut S, classes: u32, bytes: &[u8]) {
    let mut run = Run {
        scheduler,
        bytes: bytes.iter(),
        classes,
        now: Time::from_secs(1),
        waiting: BTreeMap::new(),
        open: Vec::new(),
        next_id: 0,
        promised: None,
    };
    while run.step().is_some() {
        assert_eq!(run.scheduler.len(), run.waiting.len());
    }
    run.drain();
}

impl<S: Scheduler<u64>> Run<'_, S> {
    fn byte(&mut self) -> Option<usize> {
        self.bytes.next().map(|byte| usize::from(*byte))
    }

    fn pick<V: Copy>(&mut self, values: &[V]) -> Option<V> {
        self.byte().map(|byte| values[byte % values.len()])
    }

    fn step(&mut self) -> Option<()> {
        match self.byte()? % 16 {
            0..6 => self.enqueue(),
            6..11 => {
                self.take();
                Some(())
            }
            11 => self.advance(),
            12 => self.set_params(),
            13 => self.remove(),
            14 => self.close(),
            _ => {
                let listed = self.scheduler.waiting(self.now);
                assert_eq!(listed.len(), self.waiting.len());
                Some(())
            }
        }
    }

    fn enqueue(&mut self) -> Option<()> {
        let byte = self.byte()?;
        let class = ClassId::new(byte as u32 % self.classes);
        let flow = self.scheduler.flow(self.now, class, ClientKey(byte as u64 >> 6));
        if !self.open.contains(&flow) {
            self.open.push(flow);
        }
        let cost = self.pick(&COSTS)?;
        let priority = self.pick(&PRIORITIES)?;
        let front = self.byte()? % 8 == 0;
        self.next_id += 1;
        let request = Request { priority, ..Request::new(flow, cost, self.next_id) };
        let result = if front {
            self.scheduler.enqueue_front(self.now, request)
        } else {
            self.scheduler.enqueue(self.now, request)
        };
        if result.is_ok() {
            let in_order = !front && priority == 0;
            self.waiting.insert(self.next_id, Known { flow, in_order });
        }
        self.promised = None;
        Some(())
    }

    fn take(&mut self) -> bool {
        let earliest = self.scheduler.earliest(self.now);
        let rows = self.scheduler.waiting(self.now);
        let next = rows.iter().filter(|row| row.reason == WaitCause::Next).count();
        assert_eq!(
            next,
            usize::from(earliest == Some(self.now)),
            "one request is explained as the next"
        );
        match self.scheduler.take(self.now) {
            Take::Ready(taken) => {
                assert_eq!(earliest, Some(self.now));
                let known = self.waiting.remove(&taken.payload).expect("it waited, once");
                assert_eq!(taken.flow, known.flow);
                let passed = self
                    .waiting
                    .range(..taken.payload)
                    .any(|(_, other)| known.in_order && other.in_order && other.flow == taken.flow);
                assert!(!passed, "an older request of the same flow still waits");
                self.promised = None;
                true
            }
            Take::NotBefore(time) => {
                assert!(time > self.now, "{time} is not ahead of {}", self.now);
                assert_eq!(earliest, Some(time));
                assert!(!self.waiting.is_empty());
                assert!(self.promised.is_none_or(|promised| promised == time));
                self.promised = Some(time);
                false
            }
            Take::Empty => {
                assert_eq!(earliest, None);
                assert!(self.waiting.is_empty(), "requests were lost");
                false
            }
        }
    }

    fn advance(&mut self) -> Option<()> {
        let step = self.pick(&STEPS)?;
        match self.promised {
            Some(time) if time < Time::MAX && step > Span::from_millis(1) => {
                self.now = time;
                assert!(self.take(), "nothing runs at the promised time");
            }
            promised => {
                let latest = promised.unwrap_or(Time::MAX);
                self.now = (self.now + step).min(latest);
            }
        }
        Some(())
    }

    fn set_params(&mut self) -> Option<()> {
        let class = ClassId::new(self.byte()? as u32 % self.classes);
        let (reservation, weight) = (self.pick(&RATES)?, self.pick(&RATES)?);
        let (limit, policy) = (self.pick(&RATES)?, self.pick(&POLICIES)?);
        if let Ok(params) = Params::new(reservation, weight, limit) {
            self.scheduler.set_params(self.now, class, params.with_limit_policy(policy));
            self.promised = None;
        }
        Some(())
    }

    fn remove(&mut self) -> Option<()> {
        let byte = self.byte()?;
        let mut removed = Vec::new();
        if byte % 2 == 0 {
            let class = ClassId::new(byte as u32 / 2 % self.classes);
            self.scheduler.remove_class(self.now, class, &mut removed);
        } else {
            let doomed = |id: &u64| id % 3 == byte as u64 / 2 % 3;
            self.scheduler.remove_where(self.now, &mut |id| doomed(id), &mut removed);
            assert!(
                removed.iter().all(doomed)
                    && !self.waiting.keys().any(|id| { doomed(id) && !removed.contains(id) })
            );
        }
        self.forget(&removed);
        Some(())
    }

    fn close(&mut self) -> Option<()> {
        let byte = self.byte()?;
        if self.open.is_empty() {
            return Some(());
        }
        let flow = self.open.swap_remove(byte % self.open.len());
        let mut removed = Vec::new();
        self.scheduler.close_flow(self.now, flow, &mut removed);
        self.forget(&removed);
        assert!(self.waiting.values().all(|known| known.flow != flow));
        Some(())
    }

    fn forget(&mut self, removed: &[u64]) {
        for id in removed {
            self.waiting.remove(id).expect("what is removed waited, once");
        }
        self.promised = None;
    }

    /// Takes everything that can run before the end of the clock.
    fn drain(&mut self) {
        while !self.waiting.is_empty() {
            if !self.take() {
                match self.promised {
                    Some(time) if time < Time::MAX => self.now = time,
                    _ => return,
                }
                assert!(self.take(), "nothing runs at the promised time");
            }
        }
        assert_eq!(self.scheduler.take(self.now), Take::Empty);
    }
}
