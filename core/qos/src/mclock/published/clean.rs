//! Idle and forgotten records (qos.md 2.6). Passes are due by the clock of the calls; there is no timer.

use super::super::heap::Wide;
use super::super::tick::Tick;
use super::Published;
use super::record::{ClientRecord, UnalignedKey};
use crate::FlowId;
use alloc::vec;
use loadline_base::Time;

impl<T> Published<T> {
    #[inline]
    pub(super) fn clean_when_due(&mut self, now: Time) {
        match self.next_clean {
            Some(due) if now < due => {}
            Some(_) => self.clean(now),
            None => self.next_clean = Some(now + self.config.clean_every),
        }
    }

    /// When the next pass is due.
    #[inline]
    pub(in crate::mclock) fn upkeep_at(&self) -> Time {
        self.next_clean.unwrap_or(Time::ZERO)
    }

    /// Forgets old records and marks idle ones. A record in which requests wait is never forgotten.
    fn clean(&mut self, now: Time) {
        let (idle_age, erase_age) = (self.config.idle_age, self.config.erase_age);
        let mut erased = 0;
        for (_, record) in self.records.iter_mut() {
            if !record.is_open() || record.flags.erased {
                continue;
            }
            let age = record.age_at_pass(now);
            if age >= erase_age && record.fifo.is_empty() && erased < self.config.erase_most {
                let ClientRecord { class, client, generation, flags, .. } = *record;
                *record = ClientRecord::new(class, client, generation);
                record.flags.in_ledgers = flags.in_ledgers;
                record.flags.erased = true;
                erased += 1;
            } else if age >= idle_age {
                record.flags.idle = true;
            }
        }
        let full = erased >= self.config.erase_most;
        let wait = if full { self.config.clean_again } else { self.config.clean_every };
        self.next_clean = Some(now + wait);
    }

    /// A request comes to a record. An idle one gets the offset that makes it even with the smallest ledger of the
    /// others, on top of whatever its own ledger says: the published flaw of qos.md 2.12, kept.
    pub(super) fn touch(&mut self, now: Time, flow: FlowId) {
        self.records[flow].flags.marked = false;
        self.records[flow].flags.erased = false;
        if !self.records[flow].flags.idle {
            return;
        }
        let least = self.least_ledger();
        let record = &mut self.records[flow];
        record.flags.idle = false;
        // Its entry, if there is one, may say more than the ledger will: a second one is the bound.
        record.flags.in_ledgers = false;
        let Some(least) = least else { return self.enter_ledgers(flow) };
        let delta = least.saturating_sub_unsigned(Tick::from_time(now).key());
        record.proportion_delta = UnalignedKey(delta);
        self.enter_ledgers(flow);
        if self.ready.contains(flow.get()) {
            let key = self.records[flow].effective_proportion().expect("a ready head has a weight");
            self.ready.put(Wide { key, index: flow.get() });
        }
    }

    /// The smallest ledger of the records that are not idle. A ledger that grew since is corrected when it is found first, so
    /// that a join costs no more than the services since the last one did.
    fn least_ledger(&mut self) -> Option<i128> {
        while let Some(top) = self.ledgers.peek() {
            let record = &mut self.records[FlowId::new(top.index)];
            let ledger = record.ledger().filter(|_| record.is_open() && !record.flags.idle);
            match ledger {
                Some(ledger) if ledger == top.key => return Some(ledger),
                Some(key) => self.ledgers.replace_top(Wide { key, index: top.index }),
                None => {
                    record.flags.in_ledgers = false;
                    self.ledgers.pop();
                }
            }
        }
        None
    }

    /// Makes sure that a record that is not idle has an entry among the ledgers.
    #[inline]
    pub(super) fn enter_ledgers(&mut self, flow: FlowId) {
        let record = &mut self.records[flow];
        if record.flags.in_ledgers || record.flags.idle {
            return;
        }
        if let Some(key) = record.ledger() {
            record.flags.in_ledgers = true;
            self.ledgers.push(Wide { key, index: flow.get() });
            if self.ledgers.len() > 2 * self.records.len() + 64 {
                self.rebuild_ledgers();
            }
        }
    }

    /// One entry for each record, when there are many second ones.
    #[cold]
    fn rebuild_ledgers(&mut self) {
        let records = &mut self.records;
        let mut seen = vec![false; records.len()];
        self.ledgers.retain(|entry| {
            let known = records[FlowId::new(entry.index)].ledger();
            known == Some(entry.key) && !core::mem::replace(&mut seen[entry.index as usize], true)
        });
        for (flow, record) in records.iter_mut() {
            let ledger = record.ledger().filter(|_| record.is_open() && !record.flags.idle);
            let missing = ledger.filter(|_| !seen[usize::from(flow)]);
            record.flags.in_ledgers = missing.is_some() || seen[usize::from(flow)];
            if let Some(key) = missing {
                self.ledgers.push(Wide { key, index: flow.get() });
            }
        }
    }
}
