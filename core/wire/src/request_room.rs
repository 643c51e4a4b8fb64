//! What a request takes of its owner's memory, whichever protocol it comes by: what any of them goes on with, and what zeros and block status
//! take, which bring no data.
//!
//! Few bytes name many objects, and each of them is an op. An owner carries so many out at a time and the next ones when these have ended, so
//! that a request of any length takes no more than this.

use crate::nbd::EXTENTS_MAX;

/// What a client alone finds for its next request, whatever others hold: one that takes more is carried out in parts, or with fewer ops at a
/// time.
pub const ROOM_MIN: u64 = 16 << 10;

/// Where a part of a request ends, unless the request does: blocks that clients and disks know.
const BLOCK: u64 = 4096;

/// How much of a read or a write of so many bytes at this offset is carried out in so much room, which is at least [`ROOM_MIN`] where that is
/// not all of it: up to a block's border.
pub fn part_within(offset: u64, length: u64, room: u64) -> u64 {
    if length <= room {
        return length;
    }
    debug_assert!(room >= ROOM_MIN);
    (offset + room) / BLOCK * BLOCK - offset
}

/// Ops of one request that are under way at a time.
pub const RANGE_OPS_MAX: u64 = 64;

/// The smallest object, by which pieces are counted: whoever asks does not know how long those of an image are.
pub const PIECE_BYTES_MIN: u64 = 64 << 10;

/// What an op on a piece of an object takes, where it brings nothing.
const OP_BYTES: u64 = 1 << 10;

/// What an extent takes: in the answer, and twice as a range of the data by which it is found.
const EXTENT_BYTES: u64 = 8 + 2 * 16;

/// What a request on ranges may take of its owner at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeLimits {
    /// Ops under way.
    pub ops: usize,
    /// Extents in the answer.
    pub extents: usize,
}

impl RangeLimits {
    /// Those of zeros that were given so much room.
    pub fn of_zeros(room: u64) -> RangeLimits {
        RangeLimits { ops: (room / OP_BYTES).clamp(1, RANGE_OPS_MAX) as usize, extents: 0 }
    }

    /// Those of a question about a range of this length that was given so much room: half of it or more is for extents.
    pub fn of_status(length: u64, room: u64) -> RangeLimits {
        let for_ops = range_room([length]).min(room / 2);
        let extents = ((room - for_ops) / EXTENT_BYTES).clamp(1, EXTENTS_MAX as u64);
        RangeLimits { extents: extents as usize, ..RangeLimits::of_zeros(for_ops) }
    }
}

/// What a question about a range of this length takes: ops on what it names, and the longest list of extents.
pub fn status_room(length: u64) -> u64 {
    range_room([length]) + EXTENTS_MAX as u64 * EXTENT_BYTES
}

/// What a request on ranges of these lengths takes until it has ended.
pub fn range_room(lengths: impl IntoIterator<Item = u64>) -> u64 {
    let pieces = |length: u64| length / PIECE_BYTES_MIN + 2;
    lengths.into_iter().map(pieces).sum::<u64>().min(RANGE_OPS_MAX) * OP_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_ends_where_a_block_does_unless_the_request_does() {
        let part = |length, room| part_within(512, length, room);
        assert_eq!(part(40_000, ROOM_MIN), ROOM_MIN - 512);
        assert_eq!([part(ROOM_MIN, ROOM_MIN), part(100, u64::MAX)], [ROOM_MIN, 100]);
    }

    #[test]
    fn as_many_ops_are_under_way_as_there_is_room_for() {
        let zeros = |room| RangeLimits::of_zeros(room).ops;
        assert_eq!([0, ROOM_MIN, 64 << 10, u64::MAX].map(zeros), [1, 16, 64, 64]);
        assert_eq!(zeros(range_room([1])), 2, "a range may lie in two pieces");
        let status = |length, room| {
            let RangeLimits { ops, extents } = RangeLimits::of_status(length, room);
            (ops, extents)
        };
        assert_eq!(status(1 << 30, ROOM_MIN), (8, 204));
        assert_eq!(status(1, ROOM_MIN), (2, 358));
        assert_eq!([1, 1 << 20].map(|it| status(it, status_room(it))), [(2, 1024), (18, 1024)]);
    }

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
