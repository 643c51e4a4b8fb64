//! What drives a simulated cluster: a load that issues ops and hears of their replies.

use loadline_base::Time;
use loadline_cluster::Target;
use loadline_osd::{KeyPut, OsdId, PutEnd, Reply};

/// An op to issue now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issue {
    /// What to do and where.
    pub target: Target,
    /// The load's own number; comes back with [`OpDone`].
    pub token: u64,
}

/// An op whose reply has reached its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpDone {
    /// The load's own number.
    pub token: u64,
    /// When the client issued it.
    pub issued: Time,
    /// The stage stamps of its primary.
    pub reply: Reply,
}

/// A load. Everything it does happens in one of these calls.
pub trait Workload {
    /// The load begins.
    fn start(&mut self, now: Time, issue: &mut Vec<Issue>);

    /// A reply reached its client.
    fn replied(&mut self, now: Time, done: &OpDone, issue: &mut Vec<Issue>);

    /// When the load wants to be woken next, if by itself; asked after every other call.
    fn next_wake(&self) -> Option<Time>;

    /// The time that the load named has come.
    fn woke(&mut self, now: Time, issue: &mut Vec<Issue>);

    /// Nothing more is to be issued; replies still come.
    fn stop(&mut self);

    /// The keys that it puts now, beside its ops, and on which OSD; asked after every other call.
    fn puts(&mut self) -> Vec<(OsdId, KeyPut)> {
        Vec::new()
    }

    /// A put has ended.
    fn put_ended(&mut self, _: Time, _: &PutEnd) {}
}

/// No load. What the test has issued itself is answered here.
#[derive(Debug, Default)]
pub struct ByHand {
    /// Replies since they were last taken.
    pub replies: Vec<Reply>,
}

impl Workload for ByHand {
    fn start(&mut self, _: Time, _: &mut Vec<Issue>) {}

    fn replied(&mut self, _: Time, done: &OpDone, _: &mut Vec<Issue>) {
        self.replies.push(done.reply.clone());
    }

    fn next_wake(&self) -> Option<Time> {
        None
    }

    fn woke(&mut self, _: Time, _: &mut Vec<Issue>) {}

    fn stop(&mut self) {}
}
