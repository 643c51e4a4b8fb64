//! Making a failing run small: fewer lives, fewer faults, fewer ops, as long as it fails.

use super::plan::{LATER_FAULTS, LATEST_FAULTS, SeedReplay};

/// Attempts after which what was reached is good enough.
const ATTEMPTS_MAX: u32 = 200;
/// Ops of a life at most.
const OPS_MAX: u64 = 2048;

/// A search for a small failing run.
pub(super) struct Search<F> {
    best: SeedReplay,
    left: u32,
    fails: F,
}

impl<F: Fn(&SeedReplay) -> bool> Search<F> {
    /// Begins with a run that fails; `fails` runs one.
    pub(super) fn new(failing: &SeedReplay, fails: F) -> Search<F> {
        Search { best: *failing, left: ATTEMPTS_MAX, fails }
    }

    /// The smallest part that was found to fail as well.
    pub(super) fn shrink(mut self, lives: u64, faults: u64) -> SeedReplay {
        for lives in 1..lives.min(self.best.lives) {
            if self.attempt(SeedReplay { lives, ..self.best }) {
                break;
            }
        }
        if faults > 0 && !self.attempt(SeedReplay { faults: 0, ..self.best }) {
            let bits = [0, LATER_FAULTS, LATEST_FAULTS].map(|first| first..first + faults.min(16));
            for bit in bits.into_iter().flatten() {
                self.attempt(SeedReplay { faults: self.best.faults & !(1 << bit), ..self.best });
            }
        }
        self.fewer_ops();
        self.best
    }

    /// Fewer ops change what is drawn after them, so that failing is not a matter of a threshold; halving steps find a
    /// small number all the same.
    fn fewer_ops(&mut self) {
        let mut ops = OPS_MAX.min(self.best.ops);
        let mut step = OPS_MAX / 2;
        while step > 0 {
            while ops > step && self.attempt(SeedReplay { ops: ops - step, ..self.best }) {
                ops -= step;
            }
            step /= 2;
        }
    }

    fn attempt(&mut self, next: SeedReplay) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let is_better = (self.fails)(&next);
        if is_better {
            self.best = next;
        }
        is_better
    }
}
