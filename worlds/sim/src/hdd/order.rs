//! Who goes next: the command that costs least, where a cost is the time until its last sector less a bonus. Commands without
//! limit earn theirs by age, in relation to the mean age of their kind; commands with a guideline by what is left of it.
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
        loss: &mut Favours,
    ) -> Option<usize> {
        let crowd = Crowd::of(waiting, moment.now)?;
        let (mut fair, mut favoured) = (None, None);
        for (index, command) in waiting.iter().enumerate() {
            if command.arrived > moment.now {
                continue;
            }
            let access =
                mechanics.access(moment.free, moment.from, &command.place, command.writes());
            let by_age = self.by_age(command, &crowd, moment.now);
            fair = Best::or(fair, index, access, by_age);
            let bonus = match command.guideline() {
                _ if command.high => FIRST + by_age,
                Some(guideline) => self.by_guideline(command.arrived + guideline, moment),
                None => by_age,
            };
            favoured = Best::or(favoured, index, access, bonus);
        }
        let (fair, favoured) = (fair?, favoured?);
        let allowed = loss.charge(fair.access, favoured.access);
        Some(if allowed { favoured.index } else { fair.index })
    }

    /// What its age is worth to a command. The fewer wait, the further apart their accesses lie, and the more it takes to
    /// pass over the nearest.
    fn by_age(&self, command: &HddCommand, crowd: &Crowd, now: Time) -> f64 {
        let age = now.since(command.arrived).nanos() as f64 / crowd.mean_age;
        let early = self.age.nanos() as f64 * age;
        let late = self.old_age.nanos() as f64 * self.old_age_exponent.power(age);
        (early + late) * crowd.sparseness
    }

    /// What the rest of its guideline is worth to a command, at the time when it could begin.
    fn by_guideline(&self, deadline: Time, moment: ChoiceMoment) -> f64 {
        let left = deadline.nanos() as f64 - moment.free.nanos() as f64;
        let reach = left.max(0.0) / self.guideline_reach.nanos() as f64;
        let near = self.guideline.nanos() as f64 / (1.0 + self.guideline_exponent.power(reach));
        let late = (self.urgent_from.nanos() as f64 - left).max(0.0);
        near + self.urgency * late
    }
}

/// The commands that wait at a moment.
struct Crowd {
    /// Mean age of the commands without guideline, or of all if each has one, in nanoseconds, at least 1.
    mean_age: f64,
    /// How few there are: 1 with [`FULL`] commands, 2 with a quarter of them.
    sparseness: f64,
}

/// As many commands wait in a full NCQ queue of 32 while one is carried out and another is on its way; the bonuses of a drive
/// file are meant for so many.
const FULL: f64 = 30.0;

impl Crowd {
    /// `None` if nothing has arrived.
    fn of(waiting: &[HddCommand], now: Time) -> Option<Crowd> {
        let (mut all, mut unlimited) = (Ages::default(), Ages::default());
        for command in waiting.iter().filter(|command| command.arrived <= now) {
            let age = now.since(command.arrived).nanos();
            all.add(age);
            if command.guideline().is_none() {
                unlimited.add(age);
            }
        }
        let reference = if unlimited.count > 0 { &unlimited } else { &all };
        (all.count > 0).then(|| Crowd {
            mean_age: (reference.sum as f64 / f64::from(reference.count)).max(1.0),
            sparseness: (FULL / f64::from(all.count)).sqrt(),
        })
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
}
