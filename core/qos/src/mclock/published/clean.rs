//! Idle and forgotten records (qos.md 2.6). Passes are due by the clock of the calls; there is no timer.

use super::super::heap::Wide;
use super::super::tick::Tick;
use super::Published;
use super::record::{Ledger, Record};
use crate::FlowId;
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

    /// Forgets old records and marks idle ones. A record in which requests wait is never forgotten.
    fn clean(&mut self, now: Time) {
        let (idle_age, erase_age) = (self.config.idle_age, self.config.erase_age);
        let mut erased = 0;
        for (_, record) in self.records.iter_mut() {
            if !record.is_open() || record.flags.erased {
                continue;
            }
            let age = now.since(record.touched);
            if age >= erase_age && record.fifo.is_empty() && erased < self.config.erase_most {
                *record = Record::new(record.class, record.client, record.touched);
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
        self.records[flow].touched = now;
        self.records[flow].flags.erased = false;
        if !self.records[flow].flags.idle {
            return;
        }
        let ledgers = self.records.values().filter(|record| record.is_open() && !record.flags.idle);
        let least = ledgers.filter_map(Record::ledger).min();
        let record = &mut self.records[flow];
        record.flags.idle = false;
        let Some(least) = least else { return };
        let delta = least.saturating_sub_unsigned(Tick::from_time(now).key());
        record.proportion_delta = Ledger(delta);
        if self.ready.contains(flow.get()) {
            let key = self.records[flow].effective_proportion().expect("a ready head has a weight");
            self.ready.put(Wide { key, index: flow.get() });
        }
    }
}
