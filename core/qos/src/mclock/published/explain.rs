//! What waits in the published mode, and why.

use super::super::explain::{Candidate, reason, winner};
use super::super::requests::Slot;
use super::super::tick::Tick;
use super::Published;
use super::record::Record;
use crate::{FlowId, LimitPolicy, Reason, Tags, Waiting};
use loadline_base::Time;

impl<T> Published<T> {
    pub(super) fn explain(&self, now: Time) -> Vec<Waiting> {
        let mut rows = Vec::with_capacity(self.requests.len());
        self.explain_beside(&mut rows);
        let beside = rows.len();
        let candidates: Vec<Candidate> =
            self.records.ids().filter_map(|flow| self.candidate(flow, now)).collect();
        let next = winner(&candidates, now);
        for candidate in &candidates {
            let record = &self.records[candidate.flow];
            for (place, slot) in self.requests.iter(record.fifo).enumerate() {
                let reason = match (place, beside) {
                    (1.., _) => Reason::BehindOwnFlow(place),
                    (_, 0) => reason(candidate, next, now),
                    _ => Reason::BehindStrict,
                };
                let tags = (place == 0).then(|| tags(record));
                rows.push(self.row(slot, place, tags, reason));
            }
        }
        rows
    }

    fn explain_beside(&self, rows: &mut Vec<Waiting>) {
        for fifo in self.beside.fifos() {
            for (place, slot) in self.requests.iter(fifo).enumerate() {
                let ahead = rows.len();
                let reason = if ahead == 0 { Reason::Next } else { Reason::BehindOlder(ahead) };
                rows.push(self.row(slot, place, None, reason));
            }
        }
    }

    /// The head of a record as the choice sees it.
    fn candidate(&self, flow: FlowId, now: Time) -> Option<Candidate> {
        let record = &self.records[flow];
        if !record.is_open() || record.fifo.is_empty() {
            return None;
        }
        let held = !record.flags.ready && record.limit.get() > Tick::from_time(now);
        let policy = self.classes[record.class].as_ref()?.params.limit_policy();
        Some(Candidate {
            flow,
            index: flow.get(),
            reservation: record.flags.has_reservation.then(|| record.reservation.get()),
            proportion: record.effective_proportion(),
            held_until: held.then(|| record.limit.get()),
            conserves: policy == LimitPolicy::WorkConserving,
        })
    }

    fn row(&self, slot: &Slot<T>, place: usize, tags: Option<Tags>, reason: Reason) -> Waiting {
        let record = &self.records[slot.flow];
        Waiting {
            flow: slot.flow,
            class: record.class,
            client: record.client,
            place,
            arrival: slot.arrival,
            cost: slot.cost,
            priority: slot.priority,
            tags,
            reason,
        }
    }
}

/// The tags of a head; the weighted one in seconds of the caller's clock, offset included.
fn tags(record: &Record) -> Tags {
    let flags = record.flags;
    Tags {
        reservation: flags.has_reservation.then(|| record.reservation.get().ceil()),
        proportion: record.effective_proportion().map(Tick::ledger_seconds),
        limit: flags.has_limit.then(|| record.limit.get().ceil()),
    }
}
