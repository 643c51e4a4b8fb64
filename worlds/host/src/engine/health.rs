//! What the node counts about its clients' ops: rates of the last seconds, ops in flight, and the slowest of late.

use super::Engine;
use super::timers::Due;
use loadline_base::{Span, Time};
use loadline_cluster::IssuedOp;
use loadline_osd::{OpId, OpKind, Reply};
use std::collections::{BTreeMap, VecDeque};

/// Seconds over which rates are averaged.
const SECONDS: usize = 5;
/// How many of the slowest ops are remembered.
const SLOWEST: usize = 20;
/// For how long.
const REMEMBERED: Span = Span::from_millis(600_000);

/// Ops and bytes of one second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub reads: u64,
    pub writes: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
}

/// An op that has ended.
#[derive(Clone, Debug)]
pub(super) struct Past {
    pub issued: IssuedOp,
    pub reply: Reply,
}

/// The counters.
#[derive(Debug, Default)]
pub(super) struct Meter {
    present: Counts,
    past: VecDeque<Counts>,
    in_flight: BTreeMap<u32, Time>,
    slowest: Vec<Past>,
}

impl Meter {
    pub(super) fn issued(&mut self, op: OpId, now: Time) {
        self.in_flight.insert(op.number, now);
    }

    pub(super) fn replied(&mut self, issued: &IssuedOp, reply: &Reply) {
        self.in_flight.remove(&reply.op.number);
        let length = u64::from(issued.op.length);
        match issued.op.kind {
            OpKind::Read => {
                self.present.reads += 1;
                self.present.read_bytes += length;
            }
            _ => {
                self.present.writes += 1;
                self.present.written_bytes += length;
            }
        }
        let took = reply.replied.since(issued.issued);
        let fastest = self.slowest.last().map(|past| past.took());
        if self.slowest.len() < SLOWEST || fastest.is_some_and(|fastest| took > fastest) {
            let reply = Reply { result: Ok(loadline_osd::Data::NONE), ..reply.clone() };
            let issued = IssuedOp { data: loadline_osd::Data::NONE, ..issued.clone() };
            let at = self.slowest.partition_point(|past| past.took() >= took);
            self.slowest.insert(at, Past { issued, reply });
            self.slowest.truncate(SLOWEST);
        }
    }

    /// The slowest ops of late, the slowest first.
    pub(super) fn slowest(&self) -> &[Past] {
        &self.slowest
    }

    /// Per second, over the last seconds.
    pub(super) fn rates(&self) -> Counts {
        let seconds = self.past.len().max(1) as u64;
        let sum = |of: fn(&Counts) -> u64| self.past.iter().map(of).sum::<u64>() / seconds;
        Counts {
            reads: sum(|c| c.reads),
            writes: sum(|c| c.writes),
            read_bytes: sum(|c| c.read_bytes),
            written_bytes: sum(|c| c.written_bytes),
        }
    }

    /// Since when the oldest op without a reply waits.
    pub(super) fn oldest(&self) -> Option<Time> {
        self.in_flight.values().copied().min()
    }

    fn second_passed(&mut self, now: Time) {
        self.past.push_back(std::mem::take(&mut self.present));
        if self.past.len() > SECONDS {
            self.past.pop_front();
        }
        self.slowest.retain(|past| now.since(past.reply.replied) < REMEMBERED);
    }
}

impl Past {
    pub(super) fn took(&self) -> Span {
        self.reply.replied.since(self.issued.issued)
    }
}

impl Engine {
    pub(super) fn second_passed(&mut self) {
        self.health.second_passed(self.now);
        self.cluster.check_fullness(&mut self.effects);
        self.timers.set(self.now + Span::from_millis(1000), Due::Second);
    }
}
