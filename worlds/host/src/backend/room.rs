//! Which parts of a disk's memory are free: a buddy system over units of 4 KiB.
//!
//! A part is a power of two of units and begins at a multiple of its own length. Giving one back joins it with its
//! neighbour of the same length if that is free as well, so that long parts come back by themselves.

/// The smallest part: the page of the store, and an alignment that every disk accepts.
pub(super) const UNIT: usize = 4096;

/// The free parts of each length; rank `r` is `UNIT << r` bytes long.
#[derive(Debug)]
pub(super) struct FreeParts {
    ranks: Vec<Rank>,
}

/// The free parts of one length, one bit each.
#[derive(Debug)]
struct Rank {
    bits: Vec<u64>,
    count: usize,
}

impl Rank {
    fn set(&mut self, part: usize) {
        self.bits[part / 64] |= 1 << (part % 64);
        self.count += 1;
    }

    /// Takes a certain part, if it is free.
    fn clear(&mut self, part: usize) -> bool {
        let bit = 1 << (part % 64);
        let free = self.bits[part / 64] & bit != 0;
        if free {
            self.bits[part / 64] &= !bit;
            self.count -= 1;
        }
        free
    }

    /// The first free part.
    fn first(&self) -> Option<usize> {
        if self.count == 0 {
            return None;
        }
        let word = self.bits.iter().position(|word| *word != 0)?;
        Some(word * 64 + self.bits[word].trailing_zeros() as usize)
    }
}

impl FreeParts {
    /// `bytes` of free room, a power of two of units.
    pub(super) fn new(bytes: usize) -> FreeParts {
        assert!(bytes.is_power_of_two() && bytes >= UNIT, "a disk's memory is a power of two");
        let top = rank_of(bytes);
        let rank =
            |rank: usize| Rank { bits: vec![0; (1usize << (top - rank)).div_ceil(64)], count: 0 };
        let mut ranks: Vec<Rank> = (0..=top).map(rank).collect();
        ranks[top].set(0);
        FreeParts { ranks }
    }

    /// Takes a part of at least `bytes`. Answers where it begins and how long it is.
    pub(super) fn take(&mut self, bytes: usize) -> Option<(usize, usize)> {
        let wanted = rank_of(bytes);
        let (from, mut part) =
            (wanted..self.ranks.len()).find_map(|rank| Some((rank, self.ranks[rank].first()?)))?;
        self.ranks[from].clear(part);
        for rank in (wanted..from).rev() {
            part *= 2;
            self.ranks[rank].set(part + 1);
        }
        let length = UNIT << wanted;
        Some((part * length, length))
    }

    /// Gives a part back as it was taken.
    pub(super) fn give(&mut self, at: usize, length: usize) {
        let mut rank = rank_of(length);
        let mut part = at / length;
        while rank + 1 < self.ranks.len() && self.ranks[rank].clear(part ^ 1) {
            part /= 2;
            rank += 1;
        }
        self.ranks[rank].set(part);
    }
}

fn rank_of(bytes: usize) -> usize {
    bytes.div_ceil(UNIT).next_power_of_two().trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_base::Rng;

    /// Random takes and gives against a plain list of what is taken: parts hold what was asked for, are aligned to
    /// their length, never overlap, and everything given back is one part again.
    #[test]
    fn parts_never_overlap_and_join_again() {
        const BYTES: usize = 64 * UNIT;
        let mut rng = Rng::new(7);
        let mut room = FreeParts::new(BYTES);
        let mut taken: Vec<(usize, usize)> = Vec::new();
        let mut refusals = 0;
        for _ in 0..20_000 {
            if rng.below(2) == 0 {
                let bytes = 1 + rng.below(20 * UNIT as u64) as usize;
                let Some((at, length)) = room.take(bytes) else {
                    refusals += 1;
                    continue;
                };
                assert!(length >= bytes && at % length == 0 && at + length <= BYTES);
                assert!(taken.iter().all(|(a, l)| at + length <= *a || a + l <= at));
                taken.push((at, length));
            } else if !taken.is_empty() {
                let (at, length) = taken.swap_remove(rng.below(taken.len() as u64) as usize);
                room.give(at, length);
            }
        }
        assert!(refusals > 100, "the room was full at times");
        for (at, length) in taken {
            room.give(at, length);
        }
        assert_eq!(room.take(BYTES), Some((0, BYTES)));
        assert_eq!(room.take(1), None);
    }
}
