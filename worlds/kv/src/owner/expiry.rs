//! When to look at keys that expire.

use crate::record;
use loadline_base::{Span, Time};

/// Entries that one look takes, so that what it removes is a small transaction.
pub(super) const SWEEP_MOST: usize = 64;
/// How long a sweep rests that failed, or that came to its end: one behind which more is due does not, or more keys could expire in a second than go.
const REST: Span = Span::from_millis(100);

/// The next look at the entries that say when to look at keys.
pub(super) struct Expiries {
    /// No entry is due before; `None` if there is none.
    next_ms: Option<u64>,
    is_under_way: bool,
    /// Whether more may be due than the last look has found.
    goes_on: bool,
    rest_until: Time,
}

/// Entries that are due: the key of each, the key in the store that is to be looked at, and when it was to be.
#[derive(Default)]
pub(super) struct DueEntries {
    pub(super) entries: Vec<Vec<u8>>,
    pub(super) looks: Vec<(Vec<u8>, u64)>,
}

impl Expiries {
    /// Nothing is known: the first look finds out.
    pub(super) fn unknown() -> Expiries {
        let (is_under_way, goes_on) = (false, false);
        Expiries { next_ms: Some(0), is_under_way, goes_on, rest_until: Time::ZERO }
    }

    /// A key is to be looked at then.
    pub(super) fn note(&mut self, at_ms: u64) {
        self.next_ms = Some(self.next_ms.map_or(at_ms, |next| next.min(at_ms)));
    }

    /// When to look next, if nothing else happens before.
    pub(super) fn due(&self, now: Time, wall_ms: u64) -> Option<Time> {
        let at_ms = self.next_ms.filter(|_| !self.is_under_way)?;
        let wait = Span::from_nanos(at_ms.saturating_sub(wall_ms).saturating_mul(1_000_000));
        // A calendar may be set back and forth: it is read again every minute.
        Some((now + wait.min(Span::from_secs(60))).max(self.rest_until))
    }

    /// Whether a look begins now.
    pub(super) fn begins(&mut self, now: Time, wall_ms: u64) -> bool {
        let is_due = self.next_ms.is_some_and(|at| at <= wall_ms) && now >= self.rest_until;
        if is_due && !self.is_under_way {
            (self.next_ms, self.is_under_way) = (None, true);
            return true;
        }
        false
    }

    /// What a look has found: what is due of it.
    pub(super) fn found(&mut self, entries: Vec<Vec<u8>>, wall_ms: u64) -> DueEntries {
        let is_full = entries.len() == SWEEP_MOST;
        self.goes_on = false;
        let mut due = DueEntries::default();
        for entry in entries {
            match record::read_expiry(&entry).map(|(at, key)| (at, key.to_vec())) {
                Some((at, _)) if at > wall_ms => {
                    self.note(at);
                    return due;
                }
                Some((at, key)) => due.looks.push((key, at)),
                None => continue,
            }
            due.entries.push(entry);
        }
        if is_full {
            self.goes_on = true;
            self.note(0);
        }
        due
    }

    /// A look is over. One that failed is made again.
    pub(super) fn ended(&mut self, now: Time, is_good: bool) {
        self.is_under_way = false;
        if !(is_good && self.goes_on) {
            self.rest_until = now + REST;
        }
        if !is_good {
            self.note(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each look rested, also in front of thousands of keys that were due: no more than 640 went in a second, and a database in which more expire filled up.
    #[test]
    fn a_look_that_was_full_is_followed_by_the_next_at_once() {
        let (now, wall_ms) = (Time::from_secs(1), 1000);
        let due = |count| (0..count).map(|at| record::expiry_entry(at, b"\x01nk")).collect();
        let mut expiries = Expiries::unknown();
        for (count, goes_on) in [(SWEEP_MOST as u64, true), (SWEEP_MOST as u64 - 1, false)] {
            assert!(expiries.begins(now, wall_ms));
            assert_eq!(expiries.found(due(count), wall_ms).entries.len() as u64, count);
            expiries.ended(now, true);
            expiries.note(0);
            assert_eq!(expiries.due(now, wall_ms) == Some(now), goes_on, "{count} were due");
        }
        let now = now + REST;
        assert!(expiries.begins(now, wall_ms));
        expiries.found(due(SWEEP_MOST as u64), wall_ms);
        expiries.ended(now, false);
        assert!(!expiries.begins(now, wall_ms), "one that failed rests");
        assert!(expiries.begins(now + REST, wall_ms), "and is made again");
    }
}
