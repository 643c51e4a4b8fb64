//! Several loads on one cluster, each recorded for itself: clients of several images, or a client with background work beside it.

use crate::load::Load;
use crate::recorder::LoadRecord;
use loadline_base::{Span, Time};
use loadline_sim::{Issue, OpDone, Workload};
use loadline_stats::LatencyHistogram;

/// Loads beside each other. The remainder of a token by their number tells whose op it is; the rest is the load's own token.
#[derive(Clone, Debug, Default)]
pub struct Loads(Vec<Load>);

impl Loads {
    /// All of them, none begun.
    pub fn new(loads: impl Into<Vec<Load>>) -> Loads {
        Loads(loads.into())
    }

    /// Counts what completes from now on.
    pub fn measure_from(&mut self, now: Time) {
        self.0.iter_mut().for_each(|load| load.measure_from(now));
    }

    /// What each of them saw until now.
    pub fn records(&self, now: Time) -> Vec<LoadRecord> {
        self.0.iter().map(|load| load.record(now)).collect()
    }

    /// The latencies that the first of them has seen until now.
    pub fn latency(&self) -> Option<&LatencyHistogram> {
        self.0.first().map(Load::latency)
    }

    /// An op of one of them has completed, and was so long inside the cluster.
    pub fn completed(&mut self, now: Time, token: u64, inside: Span, issue: &mut Vec<Issue>) {
        let count = self.0.len() as u64;
        let (whose, token) = (token % count, token / count);
        let load = &mut self.0[whose as usize];
        marked((whose, count), issue, |issue| load.completed(now, token, inside, issue));
    }

    fn each(&mut self, issue: &mut Vec<Issue>, act: impl Fn(&mut Load, &mut Vec<Issue>)) {
        let count = self.0.len() as u64;
        for (whose, load) in self.0.iter_mut().enumerate() {
            marked((whose as u64, count), issue, |issue| act(load, issue));
        }
    }
}

/// Lets one load of so many issue ops, and marks them as its own.
fn marked(
    (whose, count): (u64, u64),
    issue: &mut Vec<Issue>,
    issues: impl FnOnce(&mut Vec<Issue>),
) {
    let before = issue.len();
    issues(issue);
    for op in &mut issue[before..] {
        op.token = op.token * count + whose;
    }
}

impl Workload for Loads {
    fn start(&mut self, now: Time, issue: &mut Vec<Issue>) {
        self.each(issue, |load, issue| load.start(now, issue));
    }

    fn replied(&mut self, now: Time, done: &OpDone, issue: &mut Vec<Issue>) {
        let inside = done.reply.replied.since(done.reply.admitted);
        self.completed(now, done.token, inside, issue);
    }

    fn next_wake(&self) -> Option<Time> {
        self.0.iter().filter_map(Load::next_wake).min()
    }

    fn woke(&mut self, now: Time, issue: &mut Vec<Issue>) {
        self.each(issue, |load, issue| load.woke(now, issue));
    }

    fn stop(&mut self) {
        self.0.iter_mut().for_each(Load::stop);
    }
}
