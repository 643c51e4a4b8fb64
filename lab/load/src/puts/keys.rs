//! Which key is next.

use loadline_base::Rng;

/// The order of keys, which are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOrder {
    /// So many, at equal distances below `range`, upwards.
    Ascending {
        /// How many.
        count: u64,
        /// One more than the largest that there may be.
        range: u64,
    },
    /// Uniform below `range`, for ever.
    Random {
        /// One more than the largest.
        range: u64,
    },
}

/// Keys as they are drawn.
#[derive(Clone, Debug)]
pub(super) struct DrawnKeys {
    order: KeyOrder,
    drawn: u64,
}

impl DrawnKeys {
    pub(super) const fn none() -> DrawnKeys {
        DrawnKeys { order: KeyOrder::Ascending { count: 0, range: 1 }, drawn: 0 }
    }

    pub(super) fn new(order: KeyOrder) -> DrawnKeys {
        DrawnKeys { order, drawn: 0 }
    }

    pub(super) fn is_at_end(&self) -> bool {
        matches!(self.order, KeyOrder::Ascending { count, .. } if self.drawn >= count)
    }

    pub(super) fn draw(&mut self, rng: &mut Rng) -> u64 {
        let at = self.drawn;
        self.drawn += 1;
        match self.order {
            KeyOrder::Ascending { count, range } => {
                (u128::from(at) * u128::from(range) / u128::from(count)) as u64
            }
            KeyOrder::Random { range } => rng.below(range),
        }
    }
}
