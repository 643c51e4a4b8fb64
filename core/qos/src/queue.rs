//! One of the schedulers, chosen at run time without a pointer on the hot path.

use crate::{
    ClassId, ClientKey, Fifo, FlowId, MClock, Params, RefusedRequest, Request, Scheduler, Take,
    Waiting, Wpq,
};
use alloc::vec::Vec;
use loadline_base::Time;

/// A scheduler whose kind a setting chose.
// All live in place: a queue is built once, and looked at for each request.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum Queue<T> {
    /// mClock.
    MClock(MClock<T>),
    /// The weighted priority queue.
    Wpq(Wpq<T>),
    /// The plain line.
    Fifo(Fifo<T>),
}

/// The same call on whichever scheduler it is.
macro_rules! dispatch {
    ($queue:expr, $scheduler:ident => $call:expr) => {
        match $queue {
            Queue::MClock($scheduler) => $call,
            Queue::Wpq($scheduler) => $call,
            Queue::Fifo($scheduler) => $call,
        }
    };
}

impl<T> Scheduler<T> for Queue<T> {
    fn flow(&mut self, now: Time, class: ClassId, client: ClientKey) -> FlowId {
        dispatch!(self, queue => queue.flow(now, class, client))
    }

    fn close_flow(&mut self, now: Time, flow: FlowId, removed: &mut Vec<T>) {
        dispatch!(self, queue => queue.close_flow(now, flow, removed))
    }

    #[inline]
    fn enqueue(&mut self, now: Time, request: Request<T>) -> Result<(), RefusedRequest<T>> {
        dispatch!(self, queue => queue.enqueue(now, request))
    }

    #[inline]
    fn enqueue_front(&mut self, now: Time, request: Request<T>) -> Result<(), RefusedRequest<T>> {
        dispatch!(self, queue => queue.enqueue_front(now, request))
    }

    #[inline]
    fn take(&mut self, now: Time) -> Take<T> {
        dispatch!(self, queue => queue.take(now))
    }

    fn earliest(&mut self, now: Time) -> Option<Time> {
        dispatch!(self, queue => queue.earliest(now))
    }

    #[inline]
    fn upkeep_at(&self) -> Time {
        dispatch!(self, queue => queue.upkeep_at())
    }

    fn remove_class(&mut self, now: Time, class: ClassId, removed: &mut Vec<T>) {
        dispatch!(self, queue => queue.remove_class(now, class, removed))
    }

    fn remove_where(
        &mut self,
        now: Time,
        doomed: &mut dyn FnMut(&T) -> bool,
        removed: &mut Vec<T>,
    ) {
        dispatch!(self, queue => queue.remove_where(now, doomed, removed))
    }

    fn set_params(&mut self, now: Time, class: ClassId, params: Params) {
        dispatch!(self, queue => queue.set_params(now, class, params))
    }

    fn waiting(&self, now: Time) -> Vec<Waiting> {
        dispatch!(self, queue => queue.waiting(now))
    }

    fn waiting_of(&self, now: Time, class: ClassId) -> Vec<Waiting> {
        dispatch!(self, queue => queue.waiting_of(now, class))
    }

    fn len(&self) -> usize {
        dispatch!(self, queue => queue.len())
    }
}
