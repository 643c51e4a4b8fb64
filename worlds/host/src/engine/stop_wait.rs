//! How long a step of a stop waits for what may never come, and what a node says that had to end too early.

use loadline_base::{Span, Time};

/// How long a stop waits for an open op to end, or for the disks to carry out a request of what is made durable, before it goes on
/// without. On a machine that is busy with other things all of them take longer than that together, so each that ends gives the others as
/// much again.
const PATIENCE: Span = Span::from_millis(10_000);
/// Time that is given anew is not counted more finely than this: disks carry out a hundred thousand requests per second.
const GIVEN_MIN: Span = Span::from_millis(1_000);

/// What a node says that had to end too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the node has ended before everything that was answered was durable")]
pub struct NotDurable;

/// How long a step of a stop still waits for what may never come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StopWait {
    /// Since when it waits.
    pub(super) begun: Time,
    /// Until when, if nothing ends.
    pub(super) until: Time,
    most: Span,
}

impl StopWait {
    /// A step begins that may take so long in all.
    pub(super) fn new(now: Time, most: Span) -> StopWait {
        StopWait { begun: now, until: now + PATIENCE, most }
    }

    /// Something has ended: what is left has its time again, as far as there is some in all.
    pub(super) fn goes_on(&mut self, now: Time) {
        let until = (now + PATIENCE).min(self.begun + self.most);
        if until.since(self.until) >= GIVEN_MIN {
            self.until = until;
        }
    }

    /// Whether it has had its time.
    pub(super) fn is_over(&self, now: Time) -> bool {
        self.until <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_has_its_time_again_within_a_bound() {
        let at = |seconds| Time::ZERO + Span::from_secs(seconds);
        let mut wait = StopWait::new(at(100), Span::from_secs(25));
        assert!(!wait.is_over(at(109)) && wait.is_over(at(110)));
        wait.goes_on(at(109));
        assert!(!wait.is_over(at(118)) && wait.is_over(at(119)));
        for now in 110..125 {
            wait.goes_on(at(now));
        }
        assert!(!wait.is_over(at(124)) && wait.is_over(at(125)), "there is no more in all");
    }

    #[test]
    fn time_is_not_given_anew_at_every_request() {
        let mut wait = StopWait::new(Time::ZERO, Span::from_secs(60));
        let given = (1..10_000u64).filter(|now| {
            let before = wait;
            wait.goes_on(Time::ZERO + Span::from_millis(*now));
            before != wait
        });
        assert_eq!(given.count(), 9);
    }
}
