//! The queue beside mClock, as published: strict and re-queued work in one of two forms, never charged.

use super::requests::{Departed, RequestList, Requests};
use crate::{Request, SideQueue};
use alloc::vec::Vec;
use loadline_base::Time;

/// The level of immediate work.
const IMMEDIATE: u32 = u32::MAX;
/// The level of re-queued work that is not strict.
const REQUEUED: u32 = 0;

/// Strict and re-queued requests; emptied completely before mClock is asked.
#[derive(Clone, Debug)]
pub(super) struct BesideQueue {
    form: SideQueue,
    cut_off: u32,
    /// Levels by falling priority. A level stays once it was used; the list form has one.
    levels: Vec<(u32, RequestList)>,
}

impl BesideQueue {
    pub(super) fn new(form: SideQueue, cut_off: u32) -> BesideQueue {
        BesideQueue { form, cut_off, levels: Vec::new() }
    }

    /// Whether a request goes past mClock.
    pub(super) fn takes(&self, immediate: bool, priority: u32) -> bool {
        immediate || (self.form == SideQueue::Priorities && priority >= self.cut_off)
    }

    /// Appends a request that goes past mClock.
    pub(super) fn push_back<T>(
        &mut self,
        requests: &mut Requests<T>,
        now: Time,
        immediate: bool,
        request: Request<T>,
    ) {
        let level = self.level(immediate, request.priority);
        requests.push_back(level, now, request);
    }

    /// Puts any request before what waits: in the list before everything, among priorities before its level.
    pub(super) fn push_front<T>(
        &mut self,
        requests: &mut Requests<T>,
        now: Time,
        immediate: bool,
        request: Request<T>,
    ) {
        let level = self.level(immediate, request.priority);
        requests.push_front(level, now, request);
    }

    /// The next request.
    #[inline]
    pub(super) fn pop<T>(&mut self, requests: &mut Requests<T>) -> Option<Departed<T>> {
        self.fifos_mut().find_map(|fifo| requests.pop_front(fifo))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fifos().all(|fifo| fifo.is_empty())
    }

    /// The lists, in the order of service.
    pub(super) fn fifos(&self) -> impl Iterator<Item = RequestList> {
        self.levels.iter().map(|(_, fifo)| *fifo)
    }

    /// Removes the requests that satisfy `doomed`.
    pub(super) fn remove_where<T>(
        &mut self,
        requests: &mut Requests<T>,
        mut doomed: impl FnMut(u32, &T) -> bool,
        removed: &mut Vec<T>,
    ) {
        self.fifos_mut().for_each(|fifo| requests.remove_where(fifo, &mut doomed, removed));
    }

    fn fifos_mut(&mut self) -> impl Iterator<Item = &mut RequestList> {
        self.levels.iter_mut().map(|(_, fifo)| fifo)
    }

    fn level(&mut self, immediate: bool, priority: u32) -> &mut RequestList {
        let wanted = match self.form {
            SideQueue::Priorities if immediate => IMMEDIATE,
            SideQueue::Priorities if priority >= self.cut_off => priority,
            SideQueue::Priorities => REQUEUED,
            SideQueue::List => IMMEDIATE,
        };
        let place = self.levels.partition_point(|(level, _)| *level > wanted);
        if self.levels.get(place).is_none_or(|(level, _)| *level != wanted) {
            self.levels.insert(place, (wanted, RequestList::EMPTY));
        }
        &mut self.levels[place].1
    }
}
