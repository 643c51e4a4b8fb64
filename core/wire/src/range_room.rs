//! What a request on a range takes of its owner's memory where it brings no data: zeros and block status, whichever protocol asks for them.
//!
//! Few bytes name many objects, and each of them is an op. An owner carries so many out at a time and the next ones when these have ended, so
//! that a request of any length takes no more than this.

/// Ops of one request that are under way at a time.
pub const RANGE_OPS_MAX: u64 = 64;

/// The smallest object, by which pieces are counted: whoever asks does not know how long those of an image are.
pub const PIECE_BYTES_MIN: u64 = 64 << 10;

/// What an op on a piece of an object takes, where it brings nothing.
const OP_BYTES: u64 = 1 << 10;

/// What a request on ranges of these lengths takes until it has ended.
pub fn range_room(lengths: impl IntoIterator<Item = u64>) -> u64 {
    let pieces = |length: u64| length / PIECE_BYTES_MIN + 2;
    lengths.into_iter().map(pieces).sum::<u64>().min(RANGE_OPS_MAX) * OP_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// They bring no byte, and each piece is an op all the same.
    #[test]
    fn each_piece_is_charged_up_to_those_that_are_under_way_at_a_time() {
        assert_eq!([0, 1, 64 << 10].map(|length| range_room([length])), [2048, 2048, 3072]);
        assert_eq!(range_room([512; 16]), 32 << 10, "each range may begin and end inside a piece");
        assert_eq!(
            [u64::from(u32::MAX), 1 << 60].map(|length| range_room([length])),
            [64 << 10; 2]
        );
    }
}
