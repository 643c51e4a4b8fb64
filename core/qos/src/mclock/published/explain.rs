//! What waits in the published mode, and why.

use super::super::explain::{Candidate, reason, winner};
use super::super::requests::ShownRequest;
use super::super::tick::Tick;
use super::Published;
use super::record::ClientRecord;
use crate::{FlowId, LimitPolicy, Tags, WaitCause, Waiting};
use alloc::vec::Vec;
use loadline_base::Time;

impl<T> Published<T> {
    pub(super) fn explain(&self, now: Time) -> Vec<Waiting> {
        let mut rows = Vec::with_capacity(self.requests.len());
        self.explain_beside(&mut rows);
        let beside = rows.len();
        let candidates: Vec<Candidate> =
            self.records.ids().filter_map(|flow| self.candidate(flow, now)).collect();
        let next = winner(&candidates);
        for candidate in &candidates {
            let fifo = self.records[candidate.flow].fifo;
            for (place, slot) in self.requests.iter(fifo).enumerate() {
                let reason = match (place, beside) {
                    (1.., _) => WaitCause::BehindOwnFlow(place),
                    (_, 0) => reason(candidate, next),
                    _ => WaitCause::BehindStrict,
                };
                let tags = (place == 0).then(|| tags(&self.records[candidate.flow]));
                rows.push(self.row(slot, place, tags, reason));
            }
        }
        rows
    }

    fn explain_beside(&self, rows: &mut Vec<Waiting>) {
        for fifo in self.beside.fifos() {
            for (place, slot) in self.requests.iter(fifo).enumerate() {
                let ahead = rows.len();
                let reason =
                    if ahead == 0 { WaitCause::Next } else { WaitCause::BehindOlder(ahead) };
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
        let (now, tag) = (Tick::from_time(now), record.reservation.get());
        let held = !record.flags.ready && record.limit.get() > now;
        let class = record.class;
        let policy = self.classes[class].rates()?.params.limit_policy();
        let proportion = record.effective_proportion();
        let by_weight = proportion.filter(|_| held).map(|tag| (0, tag));
        let early = record.flags.has_reservation.then(|| (1, tag.key() as i128));
        let conserves = policy == LimitPolicy::WorkConserving;
        Some(Candidate {
            flow: FlowId::of_generation(flow.get(), record.generation),
            index: flow.get(),
            reservation: record.flags.has_reservation.then(|| tag.key()),
            reserved_at: tag.ceil(),
            is_due: record.flags.has_reservation && tag <= now,
            proportion,
            held_until: held.then(|| record.limit.get().ceil()),
            spare: by_weight.or(early).filter(|_| conserves),
        })
    }

    fn row(
        &self,
        slot: ShownRequest,
        place: usize,
        tags: Option<Tags>,
        reason: WaitCause,
    ) -> Waiting {
        let record = &self.records[FlowId::new(slot.flow)];
        Waiting {
            flow: FlowId::of_generation(slot.flow, record.generation),
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
fn tags(record: &ClientRecord) -> Tags {
    let flags = record.flags;
    Tags {
        reservation: flags.has_reservation.then(|| record.reservation.get().ceil()),
        proportion: record.effective_proportion().map(Tick::ledger_seconds),
        limit: flags.has_limit.then(|| record.limit.get().ceil()),
    }
}
