//! What every store is to its owner: ops in, requests out, answers in, completions out.

use crate::paged::{IoDone, Op, Outbox};
use loadline_base::Time;

/// A store, stepped. Each call appends to `out` what the world is to carry out and which ops have ended.
///
/// Obligations: every op ends exactly once, while the devices answer; ops of one lane take effect in the order of their
/// submission; a transaction takes effect whole or, if it ends with an error, not at all; what was answered is there
/// after a crash, as far as the store's log mode promises; every request carries the class of its op or one of the
/// store's own. [`contract`](crate::contract) tests them.
pub trait Store<T> {
    /// Takes an op.
    fn submit(&mut self, now: Time, op: Op<T>, out: &mut Outbox<T>);

    /// Takes a device's answer to a request of this life of the store.
    fn done(&mut self, now: Time, done: IoDone, out: &mut Outbox<T>);

    /// Does what is due by the clock.
    fn tick(&mut self, now: Time, out: &mut Outbox<T>);

    /// When [`Store::tick`] is to be called, if nothing else happens before.
    fn next_tick(&self) -> Option<Time>;
}
