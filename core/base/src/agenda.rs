//! What is to happen at known times.

use crate::Time;
use alloc::collections::BinaryHeap;
use core::cmp::{Ordering, Reverse};

/// A heap of times with what they are for. Equal times come in the order in which they were scheduled.
#[derive(Clone, Debug)]
pub struct Agenda<T> {
    heap: BinaryHeap<Reverse<AgendaEntry<T>>>,
    /// When the first of them is due, so that asking costs nothing.
    next: Time,
    scheduled: u64,
}

#[derive(Clone, Debug)]
struct AgendaEntry<T> {
    due: (Time, u64),
    what: T,
}

impl<T> PartialEq for AgendaEntry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.due == other.due
    }
}

impl<T> Eq for AgendaEntry<T> {}

impl<T> PartialOrd for AgendaEntry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for AgendaEntry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.due.cmp(&other.due)
    }
}

impl<T> Default for Agenda<T> {
    fn default() -> Agenda<T> {
        Agenda { heap: BinaryHeap::new(), next: Time::MAX, scheduled: 0 }
    }
}

impl<T> Agenda<T> {
    /// Schedules something.
    pub fn push(&mut self, at: Time, what: T) {
        self.scheduled += 1;
        self.next = self.next.min(at);
        self.heap.push(Reverse(AgendaEntry { due: (at, self.scheduled), what }));
    }

    /// When the next thing is due; [`Time::MAX`] if nothing is scheduled.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// The next thing, if it is due by `until`.
    #[inline]
    pub fn pop_until(&mut self, until: Time) -> Option<(Time, T)> {
        if self.next <= until { self.pop() } else { None }
    }

    #[cold]
    fn pop(&mut self) -> Option<(Time, T)> {
        let Reverse(AgendaEntry { due, what }) = self.heap.pop()?;
        self.look();
        Some((due.0, what))
    }

    /// Forgets what is not wanted.
    pub fn retain(&mut self, wanted: impl Fn(&T) -> bool) {
        self.heap.retain(|Reverse(entry)| wanted(&entry.what));
        self.look();
    }

    fn look(&mut self) {
        self.next = self.heap.peek().map_or(Time::MAX, |Reverse(entry)| entry.due.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn things_come_by_time_and_equal_times_in_order() {
        let at = Time::from_nanos;
        let mut agenda = Agenda::default();
        for (time, what) in [(3, 'a'), (1, 'b'), (3, 'c'), (2, 'd'), (1, 'e'), (9, 'f')] {
            agenda.push(at(time), what);
        }
        agenda.retain(|what| *what != 'b');
        assert_eq!(agenda.next(), at(1));
        let due: Vec<_> = core::iter::from_fn(|| agenda.pop_until(at(3))).collect();
        assert_eq!(due, [(at(1), 'e'), (at(2), 'd'), (at(3), 'a'), (at(3), 'c')]);
        agenda.retain(|_| false);
        assert_eq!(agenda.next(), Time::MAX);
        assert_eq!(agenda.pop_until(Time::MAX), None);
    }

    #[test]
    fn the_next_is_the_earliest_whenever_it_was_scheduled() {
        let at = Time::from_nanos;
        let mut agenda = Agenda::default();
        for (time, next) in [(5, 5), (3, 3), (9, 3)] {
            agenda.push(at(time), time);
            assert_eq!(agenda.next(), at(next));
        }
    }

    /// More than a heap keeps in order by chance.
    #[test]
    fn a_hundred_equal_times_come_as_they_were_scheduled() {
        let mut agenda = Agenda::default();
        (0..100).for_each(|number| agenda.push(Time::ZERO, number));
        let due = core::iter::from_fn(|| agenda.pop_until(Time::ZERO)).map(|(_, number)| number);
        assert!(due.eq(0..100));
    }
}
