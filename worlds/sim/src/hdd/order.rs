//! Who goes next: the command that costs least, where a cost is the time until its last sector less a bonus for its urgency. There
//! is one rule for all: a command's urgency is that of the time that is left until it is due. With a guideline it is due when
//! that is over; without, a multiple of the age that such commands have on average after it arrived.
//!
//! `docs/drive-models.md` tells what in the published figures asks for each part of the rule.

use super::access::{Mechanics, Position};
use super::command::HddCommand;
use super::loss::Favours;
use super::spec::Ordering;
use loadline_base::{Span, Time};

/// The moment for which a command is chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChoiceMoment {
    /// When it is decided.
    pub(super) now: Time,
    /// When the arm will be free, and where.
    pub(super) free: Time,
    pub(super) from: Position,
}

/// More than any cost: commands of high priority go before all others.
const FIRST: f64 = 1e15;

/// The best command by one rule.
#[derive(Clone, Copy)]
struct Best {
    index: usize,
    access: Span,
    cost: f64,
}

impl Best {
    fn or(best: Option<Best>, index: usize, access: Span, bonus: f64) -> Option<Best> {
        let cost = access.nanos() as f64 - bonus;
        match best {
            Some(best) if best.cost <= cost => Some(best),
            _ => Some(Best { index, access, cost }),
        }
    }
}

impl Ordering {
    /// The command to go next among those that have arrived, by its index. `loss` keeps account of what favours cost.
    pub(super) fn choose(
        &self,
        waiting: &[HddCommand],
        mechanics: &Mechanics,
        moment: ChoiceMoment,
        ages: &mut MeanAge,
        loss: &mut Favours,
    ) -> Option<usize> {
        let waiting_now = || waiting.iter().filter(|command| command.arrived <= moment.now);
        let count = waiting_now().count();
        ages.add(waiting_now(), moment.free);
        let patience = Span::from_nanos((self.patience * ages.mean) as u64);
        let sparseness = (FULL / count as f64).sqrt();
        let worth = |due: Time| self.bonus(due, moment.free) * sparseness;
        let (mut fair, mut favoured) = (None, None);
        for (index, command) in waiting.iter().enumerate() {
            if command.arrived > moment.now {
                continue;
            }
            let access =
                mechanics.access(moment.free, moment.from, &command.place, command.writes());
            let unlimited = worth(command.arrived + patience);
            fair = Best::or(fair, index, access, unlimited);
            let bonus = match command.guideline() {
                _ if command.high => FIRST + unlimited,
                Some(guideline) => worth(command.arrived + guideline),
                None => unlimited,
            };
            favoured = Best::or(favoured, index, access, bonus);
        }
        let (fair, favoured) = (fair?, favoured?);
        let allowed = loss.charge(fair.access, favoured.access);
        Some(if allowed { favoured.index } else { fair.index })
    }

    /// What it is worth to a command, in a full queue, that it is due at some time and can begin at another.
    fn bonus(&self, due: Time, begin: Time) -> f64 {
        let left = due.nanos() as f64 - (begin + self.notice).nanos() as f64;
        let due = self.urgency.nanos() as f64;
        if left < 0.0 {
            return due - self.lateness * left;
        }
        // The fourth power instead of an exponential function: it is exact to the last bit on every machine.
        let base = 1.0 + left / (4.0 * self.falloff.nanos() as f64);
        due / (base * base * base * base)
    }
}

/// As many commands wait in a full NCQ queue of 32 while one is carried out and another is on its way; the figures of a drive
/// file are meant for so many. The fewer wait, the further apart their accesses lie, and the more it takes to pass over the
/// nearest: a quarter of them makes every bonus twice as large.
const FULL: f64 = 30.0;

/// How old commands without guideline are on average, over the last choices.
#[derive(Clone, Debug, Default)]
pub(super) struct MeanAge {
    /// In nanoseconds; 0 before the first choice.
    mean: f64,
}

/// What a choice adds to the mean: after 64 choices a third of what was before is left, half a second at full load. The age of
/// those who wait just now says too little where they are two or three.
const WEIGHT: f64 = 1.0 / 64.0;

impl MeanAge {
    /// Adds what the commands without guideline that wait at a choice will have for ages at `then`; those of all if each has a
    /// guideline.
    fn add<'a>(&mut self, waiting: impl Iterator<Item = &'a HddCommand>, then: Time) {
        let (mut all, mut unlimited) = (Ages::default(), Ages::default());
        for command in waiting {
            let age = then.since(command.arrived).nanos();
            all.add(age);
            if command.guideline().is_none() {
                unlimited.add(age);
            }
        }
        let Some(age) = unlimited.mean().or(all.mean()) else { return };
        self.mean = if self.mean == 0.0 { age } else { self.mean + (age - self.mean) * WEIGHT };
    }
}

#[derive(Default)]
struct Ages {
    sum: u64,
    count: u32,
}

impl Ages {
    fn add(&mut self, age: u64) {
        self.sum += age;
        self.count += 1;
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / f64::from(self.count))
    }
}
