//! In which order a batch of changes stands.

use loadline_base::Rng;

/// What was in ascending order stands so.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    Ascending,
    Descending,
    /// The lower half ascending and the upper one descending, in turn.
    Inwards,
    Random,
}

impl Order {
    pub(crate) fn apply<T: Copy>(self, mut all: Vec<T>, rng: &mut Rng) -> Vec<T> {
        match self {
            Order::Ascending => {}
            Order::Descending => all.reverse(),
            Order::Inwards => {
                let (low, high) = all.split_at(all.len() / 2);
                let middle = high.first().filter(|_| low.len() < high.len());
                let turns = low.iter().zip(high.iter().rev());
                let turns = turns.flat_map(|(low, high)| [*low, *high]);
                all = turns.chain(middle.copied()).collect();
            }
            Order::Random => rng.shuffle(&mut all),
        }
        all
    }
}
