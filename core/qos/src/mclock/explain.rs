//! Why a shared request is not the next one: the rules of choice once more, over a list of heads and without haste.

use super::tick::Tick;
use crate::{FlowId, Reason};
use loadline_base::Time;

/// The head of a record, as a scheduler shows it for explanation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) flow: FlowId,
    /// Breaks ties: the record's index.
    pub(super) index: u32,
    pub(super) reservation: Option<Tick>,
    /// The weighted tag, where there is a weight.
    pub(super) proportion: Option<i128>,
    /// Until when the limit holds the weight back, if it does.
    pub(super) held_until: Option<Tick>,
    /// Whether it may use what nobody else wants.
    pub(super) conserves: bool,
}

/// How the next request is chosen.
#[derive(Clone, Copy, Debug)]
pub(super) enum Winner {
    Reservation(Candidate),
    Weight(Candidate),
    Spare(Candidate),
}

/// The head that goes next at `now`, if one may.
pub(super) fn winner(candidates: &[Candidate], now: Time) -> Option<Winner> {
    let now = Tick::from_time(now);
    let due = candidates
        .iter()
        .filter(|head| head.reservation.is_some_and(|tag| tag <= now))
        .min_by_key(|head| (head.reservation, head.index));
    let by_weight = |held: bool| {
        candidates
            .iter()
            .filter(move |head| head.proportion.is_some() && head.held_until.is_some() == held)
            .filter(move |head| !held || head.conserves)
            .min_by_key(|head| (head.proportion, head.index))
    };
    let early = || {
        candidates
            .iter()
            .filter(|head| head.conserves && head.reservation.is_some())
            .min_by_key(|head| (head.reservation, head.index))
    };
    due.map(|head| Winner::Reservation(*head))
        .or_else(|| by_weight(false).map(|head| Winner::Weight(*head)))
        .or_else(|| by_weight(true).or_else(early).map(|head| Winner::Spare(*head)))
}

impl Winner {
    pub(super) fn flow(&self) -> FlowId {
        match self {
            Winner::Reservation(head) | Winner::Weight(head) | Winner::Spare(head) => head.flow,
        }
    }
}

/// Why `head` is not being served, given who is.
pub(super) fn reason(head: &Candidate, winner: Option<Winner>, now: Time) -> Reason {
    if winner.is_some_and(|winner| winner.flow() == head.flow) {
        return Reason::Next;
    }
    let due = head.reservation.is_some_and(|tag| tag <= Tick::from_time(now));
    match (winner, head.held_until, head.proportion) {
        (Some(Winner::Reservation(ahead)), ..) if due => Reason::BehindReservation(ahead.flow),
        (_, Some(tag), Some(_)) => Reason::LimitedUntil(tag.ceil()),
        (_, _, None) => Reason::ReservedAt(head.reservation.map_or(now, Tick::ceil)),
        (Some(Winner::Reservation(ahead)), ..) => Reason::BehindReservation(ahead.flow),
        (Some(Winner::Weight(ahead) | Winner::Spare(ahead)), ..) => {
            Reason::BehindWeight(ahead.flow)
        }
        (None, None, Some(_)) => unreachable!("a head within its limit may run by weight"),
    }
}
