//! Two loads on one cluster: a client's, and background work beside it.

use crate::load::Load;
use crate::recorder::LoadRecord;
use loadline_base::Time;
use loadline_sim::{Issue, OpDone, Workload};

/// A client's load and another one beside it, each recorded for itself.
#[derive(Clone, Debug)]
pub struct Beside {
    client: Load,
    background: Load,
}

impl Beside {
    /// Both, neither begun.
    pub fn new(client: Load, background: Load) -> Beside {
        Beside { client, background }
    }

    /// Counts what completes from now on.
    pub fn measure_from(&mut self, now: Time) {
        self.client.measure_from(now);
        self.background.measure_from(now);
    }

    /// What the client saw until now, and what the background work saw.
    pub fn records(&self, now: Time) -> (LoadRecord, LoadRecord) {
        (self.client.record(now), self.background.record(now))
    }
}

/// The last bit of a token tells whose op it is; the rest is the load's own token.
const CLIENT: u64 = 0;
const BACKGROUND: u64 = 1;

/// Lets one load issue ops, and marks them as its own.
fn marked(whose: u64, issue: &mut Vec<Issue>, issues: impl FnOnce(&mut Vec<Issue>)) {
    let before = issue.len();
    issues(issue);
    for op in &mut issue[before..] {
        op.token = op.token << 1 | whose;
    }
}

impl Workload for Beside {
    fn start(&mut self, now: Time, issue: &mut Vec<Issue>) {
        marked(CLIENT, issue, |issue| self.client.start(now, issue));
        marked(BACKGROUND, issue, |issue| self.background.start(now, issue));
    }

    fn replied(&mut self, now: Time, done: &OpDone, issue: &mut Vec<Issue>) {
        let inside = done.reply.replied.since(done.reply.admitted);
        let (token, whose) = (done.token >> 1, done.token & 1);
        let load = if whose == CLIENT { &mut self.client } else { &mut self.background };
        marked(whose, issue, |issue| load.completed(now, token, inside, issue));
    }

    fn next_wake(&self) -> Option<Time> {
        let wakes = [self.client.next_wake(), self.background.next_wake()];
        wakes.into_iter().flatten().min()
    }

    fn woke(&mut self, now: Time, issue: &mut Vec<Issue>) {
        marked(CLIENT, issue, |issue| self.client.woke(now, issue));
        marked(BACKGROUND, issue, |issue| self.background.woke(now, issue));
    }

    fn stop(&mut self) {
        self.client.stop();
        self.background.stop();
    }
}
