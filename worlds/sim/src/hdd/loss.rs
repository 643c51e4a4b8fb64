//! What the drive gives up for commands that it favours, held below what it may give up.
//!
//! Each choice is compared with the one that would have been made had no command a guideline; a favour that happens to be nearer costs nothing. Both
//! sums forget slowly, so that the account is about the last few hundred commands.

use loadline_base::Span;

/// The account of favours.
#[derive(Clone, Debug)]
pub(super) struct Favours {
    /// The part of the time that may be given up, 0 to 1.
    allowed: f64,
    /// Time that favours have cost, and time that commands have taken, in nanoseconds.
    given: f64,
    taken: f64,
}

/// What each command leaves of the sums before it: after 512 commands a third is left, a few seconds at full load.
const KEPT: f64 = 1.0 - 1.0 / 512.0;

impl Favours {
    /// Nothing given yet. The allowed part is in percent.
    pub(super) fn allowing(percent: f64) -> Favours {
        Favours { allowed: percent / 100.0, given: 0.0, taken: 0.0 }
    }

    /// Enters a choice between the fair access and a favoured one. `false` if that is more than may be given, and the fair
    /// one has to be made.
    pub(super) fn charge(&mut self, fair: Span, favoured: Span) -> bool {
        let cost = favoured.nanos().saturating_sub(fair.nanos());
        let given = self.given * KEPT + cost as f64;
        let taken = self.taken * KEPT + favoured.nanos() as f64;
        let allowed = self.allowed > 0.0 && given <= self.allowed * taken.max(RESERVE);
        let made = if allowed { favoured } else { fair };
        self.given = if allowed { given } else { self.given * KEPT };
        self.taken = self.taken * KEPT + made.nanos() as f64;
        allowed
    }
}

/// The sum counts as at least this much time, so that the first favour is not refused for want of a past: a hundred commands
/// of 10 ms.
const RESERVE: f64 = 1e9;
