//! Users' keys, and the pieces of the values that are too long for a cell.

use super::CheckReport;
use super::finding::{CellFault, StoreFinding};
use crate::paged::ids::PageSize;
use crate::paged::node::cell_max;

/// First byte of a value that stands in its cell, and of one that stands in pieces.
const WHOLE: u8 = 0;
const PIECES: u8 = 1;

/// A long value.
struct Long {
    key: Vec<u8>,
    length: u64,
    /// Bytes of each piece but the last.
    piece: u64,
}

/// What was seen of keys and pieces.
pub(super) struct ValuesSeen {
    page: PageSize,
    long: Vec<Long>,
    /// Whether pieces have come: from then on the long values are in their order.
    is_sorted: bool,
    /// The long value whose pieces come now, and the next one of them.
    at: usize,
    next: u64,
    missing: Vec<StoreFinding>,
}

impl ValuesSeen {
    pub(super) fn new(page: PageSize) -> ValuesSeen {
        ValuesSeen { page, long: Vec::new(), is_sorted: false, at: 0, next: 0, missing: Vec::new() }
    }

    /// A user's key, without its first byte.
    pub(super) fn add_key(
        &mut self,
        key: &[u8],
        value: &[u8],
        report: &mut CheckReport,
    ) -> Result<(), CellFault> {
        let length = match value {
            [WHOLE, value @ ..] => value.len() as u64,
            [PIECES, length @ ..] => {
                let length = u32::from_le_bytes(length.try_into().map_err(|_| CellFault::Value)?);
                self.add_long(key, u64::from(length))?;
                u64::from(length)
            }
            _ => return Err(CellFault::Value),
        };
        report.totals.keys += 1;
        report.totals.value_bytes += length;
        Ok(())
    }

    fn add_long(&mut self, key: &[u8], length: u64) -> Result<(), CellFault> {
        // A piece's key has six bytes more than the user's, and a cell of its own.
        let piece = cell_max(self.page).checked_sub(7 + key.len()).filter(|piece| *piece > 0);
        let piece = piece.ok_or(CellFault::Key)? as u64;
        if length <= piece + 5 {
            return Err(CellFault::NeedsNoPieces);
        }
        self.long.push(Long { key: key.to_vec(), length, piece });
        Ok(())
    }

    /// A piece, without its key's first byte.
    pub(super) fn add_piece(&mut self, key: &[u8], value: &[u8]) -> Result<(), CellFault> {
        let (length, rest) = key.split_first_chunk().ok_or(CellFault::Key)?;
        let (key, number) = rest.split_last_chunk().ok_or(CellFault::Key)?;
        if usize::from(u16::from_be_bytes(*length)) != key.len() {
            return Err(CellFault::Key);
        }
        if !std::mem::replace(&mut self.is_sorted, true) {
            self.long.sort_unstable_by(|one, other| order(&one.key, &other.key));
        }
        while self.long.get(self.at).is_some_and(|long| order(&long.key, key).is_lt()) {
            self.leave();
        }
        let long = self.long.get(self.at).filter(|long| long.key == key);
        let long = long.ok_or(CellFault::StrayPiece)?;
        if u64::from(u32::from_be_bytes(*number)) != self.next {
            return Err(CellFault::StrayPiece);
        }
        let left = long.length.saturating_sub(self.next * long.piece);
        self.next += 1;
        match left {
            0 => Err(CellFault::StrayPiece),
            left if value.len() as u64 == left.min(long.piece) => Ok(()),
            _ => Err(CellFault::PieceLength),
        }
    }

    /// No more pieces come of the present long value.
    fn leave(&mut self) {
        let long = &self.long[self.at];
        let of = long.length.div_ceil(long.piece);
        if self.next < of {
            let key_bytes = long.key.len();
            self.missing.push(StoreFinding::PiecesMissing { piece: self.next, of, key_bytes });
        }
        (self.at, self.next) = (self.at + 1, 0);
    }

    pub(super) fn finish(mut self, report: &mut CheckReport) {
        while self.at < self.long.len() {
            self.leave();
        }
        self.missing.into_iter().for_each(|finding| report.find(finding));
    }
}

/// The order of pieces: the key's length stands before the key.
fn order(one: &[u8], other: &[u8]) -> std::cmp::Ordering {
    (one.len(), one).cmp(&(other.len(), other))
}
