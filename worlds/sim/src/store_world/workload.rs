//! What drives a simulated store: a load that issues ops and hears of their ends.

use loadline_base::{Span, Time};
use loadline_store::paged::{Ask, Completion};

/// An op to issue now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreIssue {
    /// What is asked.
    pub ask: Ask,
    /// The load's own number; comes back with [`StoreDone`].
    pub token: u64,
}

/// An op that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreDone {
    /// The load's own number.
    pub token: u64,
    /// Whether it was carried out.
    pub is_good: bool,
    /// How long the throttle let it sleep.
    pub throttled: Span,
}

impl StoreDone {
    pub(super) fn of(completion: &Completion<u64>) -> StoreDone {
        let Completion { token, result, stages } = completion;
        StoreDone { token: *token, is_good: result.is_ok(), throttled: stages.throttled }
    }
}

/// A load. Everything it does happens in one of these calls.
pub trait StoreWorkload {
    /// The load begins.
    fn start(&mut self, now: Time, issue: &mut Vec<StoreIssue>);

    /// An op has ended.
    fn done(&mut self, now: Time, done: &StoreDone, issue: &mut Vec<StoreIssue>);

    /// When the load wants to be woken next, if by itself; asked after every other call.
    fn next_wake(&self) -> Option<Time>;

    /// The time that the load named has come.
    fn woke(&mut self, now: Time, issue: &mut Vec<StoreIssue>);

    /// Nothing more is to be issued; what was issued still ends.
    fn stop(&mut self);
}
