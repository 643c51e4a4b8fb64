//! What the checksums of one store begin with.
//!
//! A device that held a store keeps its remains: records, pages and images that are whole. So that none of them is ever taken
//! for a part of the store that is there now, every checksum of a store's own making begins with the store's id: what an
//! earlier life, another store or a cloned disk has written is damaged in this store's eyes. Two seeds that differ never
//! give the same checksum for the same bytes, because each byte turns the state of a CRC into another one and back.

/// What every checksum of a store begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(u32);

impl Seed {
    /// Nothing: checksums of format 1, and those of bytes that are found by a checksum standing elsewhere.
    pub const NONE: Seed = Seed(0);

    /// The seed of a store: the CRC of its id's eight bytes. Made bit by bit, so that a constant may have one.
    pub const fn of(store_id: u64) -> Seed {
        /// Castagnoli's polynomial, its bits in the order in which they go through the wire.
        const POLYNOMIAL: u32 = 0x82f6_3b78;
        let (mut state, mut left) = (u32::MAX, 0);
        while left < 64 {
            let bit = state ^ (store_id >> left) as u32;
            state = if bit & 1 == 1 { state >> 1 ^ POLYNOMIAL } else { state >> 1 };
            left += 1;
        }
        Seed(!state)
    }

    /// The CRC of the seed's bytes and these.
    #[inline]
    pub fn sum(self, bytes: &[u8]) -> u32 {
        crc32c::crc32c_append(self.0, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seeded_sum_is_that_of_the_id_and_the_bytes_and_no_other_stores() {
        let bytes = b"a page";
        let whole = [&7_u64.to_le_bytes()[..], bytes].concat();
        assert_eq!(Seed::of(7).sum(bytes), crc32c::crc32c(&whole));
        assert_eq!(Seed::NONE.sum(bytes), crc32c::crc32c(bytes));
        assert!((0..1000).all(|id| id == 7 || Seed::of(id).sum(bytes) != Seed::of(7).sum(bytes)));
    }
}
