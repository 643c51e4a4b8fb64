//! The ranks of the owners: places in a sparse table, in the order of the owners' numbers.

use crate::ClientKey;
use alloc::vec::Vec;

/// The smallest stretch of the table that is spread afresh, in places.
const STRETCH_MIN: usize = 16;

/// An owner's change of place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) from: u32,
    pub(super) to: u32,
}

/// Which places are taken, and by whom. An owner's rank is its place.
///
/// Gaps are left between the owners, so that a newcomer seldom moves others. Where its gap is full, the
/// smallest stretch around it that is thin enough is spread evenly. With a bound on the filling that falls
/// steadily from short stretches to the whole table, a newcomer moves O(log² n) owners on average, whatever
/// the order of the numbers (Itai, Konheim and Rodeh 1981, "A sparse table implementation of priority
/// queues"). Numbers that only rise are simply appended.
#[derive(Clone, Debug, Default)]
pub(super) struct Owners {
    places: Vec<Option<ClientKey>>,
    len: usize,
}

impl Owners {
    /// Ranks lie below this.
    pub(super) fn ranks(&self) -> usize {
        self.places.len()
    }

    /// Who has the rank.
    pub(super) fn at(&self, rank: u32) -> Option<ClientKey> {
        self.places[rank as usize]
    }

    /// Gives a rank to a new owner, between those of its neighbours `below` and `above`. Others that had to
    /// move for it are appended to `moves`, in order.
    pub(super) fn join(
        &mut self,
        owner: ClientKey,
        below: Option<u32>,
        above: Option<u32>,
        moves: &mut Vec<Move>,
    ) -> u32 {
        let first = below.map_or(0, |below| below as usize + 1);
        let last = above.map_or(self.places.len(), |above| above as usize);
        self.len += 1;
        let place = match (last - first, above) {
            (0, None) if self.places.len() < 2 * self.len + STRETCH_MIN => {
                self.places.push(None);
                first
            }
            (0, _) => return self.spread_around(first, owner, moves),
            (_, None) => first,
            (free, Some(_)) => first + free / 2,
        };
        self.places[place] = Some(owner);
        place as u32
    }

    /// Frees the rank of an owner that has gone.
    pub(super) fn leave(&mut self, rank: u32) {
        let gone = self.places[rank as usize].take();
        assert!(gone.is_some(), "an owner leaves once");
        self.len -= 1;
    }

    /// Spreads the smallest stretch around `place` that is thin enough, with `newcomer` before what stands at
    /// `place`. Returns the newcomer's rank.
    fn spread_around(&mut self, place: usize, newcomer: ClientKey, moves: &mut Vec<Move>) -> u32 {
        let mut size = STRETCH_MIN;
        while size < self.places.len() {
            let start = (place & !(size - 1)).min(self.places.len() - size);
            let taken = self.places[start..start + size].iter().flatten().count();
            if taken < self.filling_max(size) {
                return self.spread(start, size, place, newcomer, moves);
            }
            size *= 2;
        }
        let size = (2 * self.len).max(STRETCH_MIN);
        self.places.resize(size.max(self.places.len()), None);
        self.spread(0, self.places.len(), place, newcomer, moves)
    }

    /// How many owners a stretch of `size` places may hold before a newcomer: seven eighths of the shortest,
    /// half of the whole table, evenly falling with each doubling in between.
    fn filling_max(&self, size: usize) -> usize {
        let doublings = |size: usize| (size / STRETCH_MIN).ilog2() as usize;
        let all = doublings(self.places.len()) + 1;
        size * 7 / 8 - size * 3 * doublings(size) / (8 * all)
    }

    fn spread(
        &mut self,
        start: usize,
        size: usize,
        place: usize,
        newcomer: ClientKey,
        moves: &mut Vec<Move>,
    ) -> u32 {
        let stretch = start..start + size;
        let mut order: Vec<(Option<usize>, ClientKey)> = Vec::with_capacity(size);
        for from in stretch.clone() {
            if from == place {
                order.push((None, newcomer));
            }
            order.extend(self.places[from].take().map(|owner| (Some(from), owner)));
        }
        if place == stretch.end {
            order.push((None, newcomer));
        }
        let mut rank = 0;
        for (index, (from, owner)) in order.iter().enumerate() {
            let to = start + index * size / order.len();
            self.places[to] = Some(*owner);
            match *from {
                Some(from) if from != to => {
                    moves.push(Move { from: from as u32, to: to as u32 });
                }
                Some(_) => {}
                None => rank = to as u32,
            }
        }
        rank
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use loadline_base::Rng;

    /// Owners join in the given order, and each one named in `leaves` leaves again at once. After each step the
    /// ranks stand in the order of the numbers. A newcomer may move at most `moves_max` others on average.
    fn check(numbers: &[u64], leaves: impl Fn(u64) -> bool, moves_max: f64) {
        let mut owners = Owners::default();
        let mut ranks: BTreeMap<u64, u32> = BTreeMap::new();
        let mut moved = 0;
        for number in numbers {
            let below = ranks.range(..number).next_back().map(|(_, rank)| *rank);
            let above = ranks.range(number..).next().map(|(_, rank)| *rank);
            let mut moves = Vec::new();
            let rank = owners.join(ClientKey(*number), below, above, &mut moves);
            for Move { to, .. } in &moves {
                let owner = owners.at(*to).expect("a moved owner stands where it was moved to");
                ranks.insert(owner.0, *to);
            }
            moved += moves.len();
            ranks.insert(*number, rank);
            if leaves(*number) {
                owners.leave(rank);
                ranks.remove(number);
            }
            assert_eq!(owners.len, ranks.len());
            if number.is_multiple_of(64) {
                assert!(ranks.values().is_sorted_by(|one, next| one < next));
                assert!(
                    ranks.iter().all(|(owner, rank)| owners.at(*rank) == Some(ClientKey(*owner)))
                );
            }
        }
        // Doubling leaves at most four places for each of the most owners there ever were.
        assert!(owners.ranks() <= 4 * numbers.len() + STRETCH_MIN);
        let mean = moved as f64 / numbers.len() as f64;
        assert!(mean <= moves_max, "{mean} moves for each newcomer");
    }

    const NEWCOMERS: u64 = 20_000;

    /// log2(20,000)^2: the bound of the sparse table with a constant of one.
    const MOVES_MAX: f64 = 204.0;

    #[test]
    fn rising_numbers_move_nobody() {
        let rising: Vec<u64> = (0..NEWCOMERS).collect();
        check(&rising, |_| false, 0.0);
    }

    #[test]
    fn falling_numbers_move_few() {
        let falling: Vec<u64> = (0..NEWCOMERS).rev().collect();
        check(&falling, |_| false, MOVES_MAX);
    }

    #[test]
    fn numbers_in_any_order_move_few() {
        let mut rng = Rng::new(1);
        let numbers: Vec<u64> =
            (0..NEWCOMERS).map(|index| rng.below(1 << 40) << 16 | index).collect();
        check(&numbers, |_| false, MOVES_MAX);
    }

    /// Rising numbers of which most leave again: the table does not grow with all who ever came.
    #[test]
    fn places_of_those_who_left_are_used_again() {
        let rising: Vec<u64> = (0..NEWCOMERS).collect();
        check(&rising, |number| number >= 100, MOVES_MAX);
        let mut owners = Owners::default();
        for number in rising {
            let rank = owners.join(ClientKey(number), None, None, &mut Vec::new());
            owners.leave(rank);
        }
        assert_eq!(owners.ranks(), 1);
    }
}
