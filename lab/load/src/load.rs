//! A load: a closed or an open loop that drives a cluster, simulated or real.

use crate::address::{Addresses, BlockImage};
use crate::mix::Mix;
use crate::pace::Schedule;
use crate::recorder::{LoadRecord, Recorder};
use crate::spec::{LoadSpec, UNDER_WAY_MAX};
use loadline_base::{Rng, Span, Time};
use loadline_cluster::Target;
use loadline_osd::ClientId;
use loadline_sim::{Issue, OpDone, Workload};
use loadline_stats::LatencyHistogram;
use std::ops::Range;

/// A client with its ops.
///
/// An op's token is its intended start in nanoseconds. In a closed loop that is when it was sent; in an open
/// loop it is when the schedule wanted it sent, however late it went, so that a stalled server cannot hide
/// the ops that it kept from being sent.
#[derive(Clone, Debug)]
pub struct Load {
    client: ClientId,
    mix: Mix,
    addresses: Addresses,
    depth: u32,
    schedule: Option<Schedule>,
    /// For addresses and mixes; arrivals have a stream of their own, so that neither shifts the other.
    rng: Rng,
    background: bool,
    traced: Range<u64>,
    issued: u64,
    in_flight: u32,
    running: bool,
    recorder: Recorder,
}

impl Load {
    /// A load as `spec` describes it, which must have passed [`LoadSpec::check`]. It counts from time zero
    /// until [`measure_from`](Load::measure_from) says otherwise.
    pub fn new(spec: &LoadSpec, image: BlockImage, client: ClientId, seed: u64) -> Load {
        Load {
            client,
            mix: Mix::new(spec),
            addresses: Addresses::new(image, spec.pattern),
            depth: spec.depth.unwrap_or(UNDER_WAY_MAX),
            schedule: spec
                .rate
                .map(|rate| Schedule::new(rate, spec.arrivals, Rng::for_purpose(seed, 2))),
            rng: Rng::for_purpose(seed, 1),
            background: false,
            traced: 0..0,
            issued: 0,
            in_flight: 0,
            running: false,
            recorder: Recorder::new(Time::ZERO),
        }
    }

    /// Declares every op as background work.
    pub fn in_background(self) -> Load {
        Load { background: true, ..self }
    }

    /// Traces the ops with these numbers, counted from 0 in the order of issue.
    pub fn trace(&mut self, ops: Range<u64>) {
        self.traced = ops;
    }

    /// Forgets what completed so far and counts what completes from now on: the end of a warm-up.
    pub fn measure_from(&mut self, now: Time) {
        self.recorder = Recorder::new(now);
    }

    /// What the client saw until now.
    pub fn record(&self, now: Time) -> LoadRecord {
        self.recorder.until(now)
    }

    /// The latencies that it saw until now.
    pub(crate) fn latency(&self) -> &LatencyHistogram {
        self.recorder.latency()
    }

    /// An op ended, of which `inside` was spent in its primary. What follows from it is appended to `issue`.
    #[inline]
    pub fn completed(&mut self, now: Time, token: u64, inside: Span, issue: &mut Vec<Issue>) {
        self.in_flight -= 1;
        self.recorder.record(Time::from_nanos(token), inside, now);
        self.issue_due(now, issue);
    }

    fn has_room(&self) -> bool {
        self.in_flight < self.depth
    }

    fn issue(&mut self, intended: Time, out: &mut Vec<Issue>) {
        let (kind, length) = self.mix.draw(&mut self.rng);
        let (object, offset) = self.addresses.draw(length, &mut self.rng);
        let traced = self.traced.contains(&self.issued);
        let (client, pool) = (self.client, self.addresses.pool());
        let background = self.background;
        let target = Target { client, kind, traced, background, pool, object, offset, length };
        out.push(Issue { target, token: intended.nanos() });
        self.issued += 1;
        self.in_flight += 1;
    }

    /// Issues what is due and has room.
    fn issue_due(&mut self, now: Time, out: &mut Vec<Issue>) {
        while self.running && self.has_room() {
            let intended = match &mut self.schedule {
                None => now,
                Some(schedule) => match schedule.take_due(now) {
                    Some(intended) => intended,
                    None => return,
                },
            };
            self.issue(intended, out);
        }
    }
}

impl Workload for Load {
    fn start(&mut self, now: Time, issue: &mut Vec<Issue>) {
        self.running = true;
        if let Some(schedule) = &mut self.schedule {
            schedule.begin(now);
        }
        self.issue_due(now, issue);
    }

    #[inline]
    fn replied(&mut self, now: Time, done: &OpDone, issue: &mut Vec<Issue>) {
        let inside = done.reply.replied.since(done.reply.admitted);
        self.completed(now, done.token, inside, issue);
    }

    fn next_wake(&self) -> Option<Time> {
        let schedule = self.schedule.as_ref()?;
        (self.running && self.has_room()).then(|| schedule.next())
    }

    fn woke(&mut self, now: Time, issue: &mut Vec<Issue>) {
        self.issue_due(now, issue);
    }

    fn stop(&mut self) {
        self.running = false;
    }
}

#[cfg(test)]
mod tests;
