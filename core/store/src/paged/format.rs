//! What an empty store looks like on its devices.

use super::api::Target;
use super::ids::{CheckpointId, PageNo};
use super::layout::{Format, FormatError, bits_per_map_page, superblock_offsets};
use super::options::Protection;
use super::page::{self, HEADER, PageKind};
use super::superblock::{CheckpointState, Superblock};

/// A piece of a fresh store: the device, the first byte there, the bytes.
pub type Piece = (Target, u64, Vec<u8>);

/// Everything that must be written, and flushed, before the store can be opened for the first time. The superblocks come
/// last: with them the store exists.
pub fn format(format: &Format, protection: Protection) -> Result<Vec<Piece>, FormatError> {
    let layout = format.layout()?;
    let root = layout.pages_first;
    let mut pieces = Vec::new();
    for at in 0..layout.map_pages {
        let number = layout.map_first.plus(at);
        let mut bytes = vec![0; layout.page.bytes()];
        page::init(&mut bytes, PageKind::FreeMap, number);
        if at == 0 {
            bytes[HEADER] = 1;
        }
        mark_beyond_end(&mut bytes, at * bits_per_map_page(layout.page), layout.pages_count);
        page::seal(&mut bytes, CheckpointId(0));
        pieces.push((Target::Data, layout.page.offset(number), bytes));
    }
    let mut leaf = vec![0; layout.page.bytes()];
    page::init(&mut leaf, PageKind::Leaf, root);
    page::seal(&mut leaf, CheckpointId(0));
    pieces.push((Target::Data, layout.page.offset(root), leaf));
    let superblock = first_superblock(format, layout, protection, root);
    if layout.log_target == Target::Log {
        pieces.push((Target::Log, 0, superblock.encode_log_header()));
    }
    for offset in superblock_offsets(layout.data_bytes) {
        pieces.push((Target::Data, offset, superblock.encode()));
    }
    Ok(pieces)
}

fn first_superblock(
    format: &Format,
    layout: super::layout::Layout,
    protection: Protection,
    root: PageNo,
) -> Superblock {
    // The first record of a fresh store is chained to its id, so that a log left behind by another store in the same place
    // is none of this one's.
    let chain = crc32c::crc32c(&format.store_id.to_le_bytes());
    let completed = CheckpointState { chain, root, height: 1, ..CheckpointState::default() };
    Superblock {
        store_id: format.store_id,
        sequence: 1,
        layout,
        protection,
        completed,
        begun: None,
    }
}

/// Bits behind the last page are used for ever.
fn mark_beyond_end(bytes: &mut [u8], first_bit: u64, pages: u64) {
    for bit in 0..(bytes.len() - HEADER) as u64 * 8 {
        if first_bit + bit >= pages {
            bytes[HEADER + (bit / 8) as usize] |= 1 << (bit % 8);
        }
    }
}
