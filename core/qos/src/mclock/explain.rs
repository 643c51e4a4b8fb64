//! Why a shared request is not the next one: the rules of choice once more, over a list of heads and without haste.

use crate::{FlowId, WaitCause};
use loadline_base::Time;

/// The head of a record, as a scheduler shows it for explanation. Tags are in the scheduler's own unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) flow: FlowId,
    /// Breaks ties: the record's index.
    pub(super) index: u32,
    pub(super) reservation: Option<u128>,
    /// That tag on the clock.
    pub(super) reserved_at: Time,
    /// Whether it is due.
    pub(super) is_due: bool,
    /// The weighted tag, where there is a weight.
    pub(super) proportion: Option<i128>,
    /// Until when the limit holds the weight back, if it does.
    pub(super) held_until: Option<Time>,
    /// Its order among those that may use what nobody else wants, if it may.
    pub(super) spare: Option<(u8, i128)>,
}

/// How the next request is chosen.
#[derive(Clone, Copy, Debug)]
pub(super) enum Winner {
    Reservation(Candidate),
    Weight(Candidate),
    Spare(Candidate),
}

/// The head that goes next, if one may.
pub(super) fn winner(candidates: &[Candidate]) -> Option<Winner> {
    let due = candidates
        .iter()
        .filter(|head| head.is_due)
        .min_by_key(|head| (head.reservation, head.index));
    let by_weight = || {
        candidates
            .iter()
            .filter(move |head| head.proportion.is_some() && head.held_until.is_none())
            .min_by_key(|head| (head.proportion, head.index))
    };
    let spare = || {
        candidates
            .iter()
            .filter(|head| head.spare.is_some())
            .min_by_key(|head| (head.spare, head.index))
    };
    due.map(|head| Winner::Reservation(*head))
        .or_else(|| by_weight().map(|head| Winner::Weight(*head)))
        .or_else(|| spare().map(|head| Winner::Spare(*head)))
}

impl Winner {
    pub(super) fn head(&self) -> &Candidate {
        match self {
            Winner::Reservation(head) | Winner::Weight(head) | Winner::Spare(head) => head,
        }
    }
}

/// Why `head` is not being served, given who is.
pub(super) fn reason(head: &Candidate, winner: Option<Winner>) -> WaitCause {
    if winner.is_some_and(|winner| winner.head().index == head.index) {
        return WaitCause::Next;
    }
    match (winner, head.held_until, head.proportion) {
        (Some(Winner::Reservation(ahead)), ..) if head.is_due => {
            WaitCause::BehindReservation(ahead.flow)
        }
        (_, Some(time), Some(_)) => WaitCause::LimitedUntil(time),
        (_, _, None) => WaitCause::ReservedAt(head.reserved_at),
        (Some(Winner::Reservation(ahead)), ..) => WaitCause::BehindReservation(ahead.flow),
        (Some(Winner::Weight(ahead) | Winner::Spare(ahead)), ..) => {
            WaitCause::BehindWeight(ahead.flow)
        }
        (None, None, Some(_)) => unreachable!("a head within its limit may run by weight"),
    }
}
