//! Who is next in Loadline's mode: reservations that are due, then weights within their limits, then spare capacity.

use super::super::heap::{Entry, Packed};
use super::super::tick::Tick;
use super::Loadline;
use crate::{ClassId, LimitPolicy};
use loadline_base::Time;

/// What a look at the shared classes finds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choice {
    /// This class stands on top of the reserved heap and has been due since this tag.
    Reservation(ClassId, Tick),
    /// This class stands first among the weighted and has passed this limit tag, if it has one.
    Weight(ClassId, Option<Tick>),
    /// This class stands on top of the spare heap and nobody else may run.
    Spare(ClassId),
    /// Nothing may run before this time.
    NotBefore(Time),
    /// No shared request waits.
    Nothing,
}

impl<T> Loadline<T> {
    /// Brings the tops of the heaps up to date and chooses.
    #[inline(always)]
    pub(super) fn choose(&mut self, now: Time) -> Choice {
        let now = Tick::from_time(now);
        if let Some((class, tag)) = self.due_reservation(now) {
            return Choice::Reservation(class, tag);
        }
        if self.limited.peek().is_some_and(|top| top.key() <= now.key()) {
            self.release_limited(now);
        }
        if let Some((class, tag)) = self.least_weighted(now) {
            return Choice::Weight(class, tag);
        }
        if let Some(class) = self.least_spare() {
            return Choice::Spare(class);
        }
        match self.next_tag() {
            Some(tag) => Choice::NotBefore(tag.ceil()),
            None => Choice::Nothing,
        }
    }

    /// The class whose reservation is due first, if one is due at `now`.
    #[inline(always)]
    fn due_reservation(&mut self, now: Tick) -> Option<(ClassId, Tick)> {
        while let Some(top) = self.reserved.peek()
            && top.key() <= now.key()
        {
            let id = ClassId::new(top.index());
            let class = &self.classes[id];
            let Some(head) = self.head(class) else {
                self.reserved.pop();
                continue;
            };
            let tag = class.reservation_tag(head);
            let actual = Packed::new(tag.key(), id.get());
            if actual == top {
                return Some((id, tag));
            }
            self.reserved.replace_top(actual);
        }
        None
    }

    /// Moves the classes whose limit has passed to the weighted heap.
    fn release_limited(&mut self, now: Tick) {
        while let Some(top) = self.limited.peek()
            && top.key() <= now.key()
        {
            let id = ClassId::new(top.index());
            match self.held_tag(id) {
                Some(tag) if tag > now => {
                    self.limited.replace_top(Packed::new(tag.key(), id.get()));
                }
                Some(_) => {
                    self.limited.pop();
                    self.classes[id].start_from(self.virtual_time);
                    self.push_weighted(id);
                }
                None => {
                    self.limited.pop();
                }
            }
        }
    }

    /// The class that is ahead in virtual time among those within their limits.
    #[inline(always)]
    fn least_weighted(&mut self, now: Tick) -> Option<(ClassId, Option<Tick>)> {
        while let Some(top) = self.weighted.peek() {
            let id = ClassId::new(top.index());
            let class = &self.classes[id];
            let Some(head) = self.head(class).filter(|_| class.weight.exists()) else {
                self.weighted.pop();
                self.classes[id].in_weighted = false;
                continue;
            };
            let actual = Packed::new(class.start.0, id.get());
            if actual != top {
                self.weighted.replace_top(actual);
                continue;
            }
            match class.held_until(head) {
                Some(tag) if tag > now => {
                    self.weighted.pop();
                    self.classes[id].in_weighted = false;
                    self.hold(id, tag);
                }
                passed => return Some((id, passed)),
            }
        }
        None
    }

    /// The class that is ahead in virtual time among those that conserve work at their limit.
    #[inline]
    fn least_spare(&mut self) -> Option<ClassId> {
        while let Some(top) = self.spare.peek() {
            let id = ClassId::new(top.index());
            let class = &self.classes[id];
            let conserves = class.limit_policy == LimitPolicy::WorkConserving
                && class.weight.exists()
                && self.limited.contains(id.get());
            if !conserves || self.head(class).is_none() {
                self.spare.pop();
                self.classes[id].in_spare = false;
                continue;
            }
            let actual = class.spare_entry(id);
            if actual == top {
                return Some(id);
            }
            self.spare.replace_top(actual);
        }
        None
    }

    /// The first tag at which a class may run again, when none may run now.
    fn next_tag(&mut self) -> Option<Tick> {
        let reservation = self.first_reservation();
        let limit = self.first_limit();
        match (reservation, limit) {
            (Some(reservation), Some(limit)) => Some(reservation.min(limit)),
            (reservation, limit) => reservation.or(limit),
        }
    }

    fn first_reservation(&mut self) -> Option<Tick> {
        self.due_reservation(Tick::LAST).map(|(_, tag)| tag)
    }

    fn first_limit(&mut self) -> Option<Tick> {
        while let Some(top) = self.limited.peek() {
            let Some(tag) = self.held_tag(ClassId::new(top.index())) else {
                self.limited.pop();
                continue;
            };
            let actual = Packed::new(tag.key(), top.index());
            if actual == top {
                return Some(tag);
            }
            self.limited.replace_top(actual);
        }
        None
    }

    /// The limit tag of a class in the limited heap; `None` if it has nothing to run by weight.
    #[inline]
    fn held_tag(&self, id: ClassId) -> Option<Tick> {
        let class = &self.classes[id];
        let head = self.head(class).filter(|_| class.weight.exists())?;
        Some(class.held_until(head).unwrap_or(Tick::NEVER_SERVED))
    }

    /// Puts a class that may run by weight into the weighted heap, unless an entry is there.
    #[inline]
    pub(super) fn push_weighted(&mut self, id: ClassId) {
        let class = &mut self.classes[id];
        if !class.in_weighted {
            class.in_weighted = true;
            self.weighted.push(Packed::new(class.start.0, id.get()));
        }
    }

    /// Puts a class at its limit aside until `tag`.
    pub(super) fn hold(&mut self, id: ClassId, tag: Tick) {
        self.limited.put(Packed::new(tag.key(), id.get()));
        let class = &mut self.classes[id];
        if class.limit_policy == LimitPolicy::WorkConserving && !class.in_spare {
            class.in_spare = true;
            let entry = class.spare_entry(id);
            self.spare.push(entry);
        }
    }
}
