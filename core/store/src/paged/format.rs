//! What an empty store looks like on its devices.

use super::api::StoreDevice;
use super::ids::{CheckpointId, Child, Lsn, PageNo, PageVersion};
use super::layout::{Format, FormatError, LOG_HEADER, bits_per_map_page, superblock_offsets};
use super::options::Protection;
use super::page::{self, HEADER, PageKind, PageStamp};
use super::seed::Seed;
use super::superblock::{CheckpointState, Superblock};
use std::ops::Range;

/// A piece of a fresh store: the device, the first byte there, the bytes.
pub type FormatPiece = (StoreDevice, u64, Vec<u8>);

/// Everything that must be written before a store can be opened for the first time, in three stages. Each is durable on every
/// device before the next begins, so that a crash leaves what was there before, or nothing, or the new store, and never
/// parts of two:
///
/// 1. no superblock stands there any more, but a mark that says which store is being made, and no log header;
/// 2. the free map, the empty root and the log header are there;
/// 3. the superblocks are there: with them the store exists.
#[derive(Clone, Debug)]
pub struct Formatting {
    stages: [Vec<FormatPiece>; 3],
    log: (StoreDevice, Range<u64>),
}

impl Formatting {
    /// The stages, in order.
    pub fn stages(&self) -> &[Vec<FormatPiece>; 3] {
        &self.stages
    }

    /// The device and the bytes of the log, which a fresh store leaves as they are: whatever stands there is another store's.
    pub fn log(&self) -> (StoreDevice, Range<u64>) {
        self.log.clone()
    }
}

impl IntoIterator for Formatting {
    type Item = FormatPiece;
    type IntoIter = std::iter::Flatten<std::array::IntoIter<Vec<FormatPiece>, 3>>;

    /// All pieces, in order: for devices that forget nothing.
    fn into_iter(self) -> Self::IntoIter {
        self.stages.into_iter().flatten()
    }
}

/// What an empty store of this format consists of.
pub fn format(format: &Format, protection: Protection) -> Result<Formatting, FormatError> {
    let layout = format.layout()?;
    let seed = Seed::of(format.store_id);
    let root = layout.pages_first;
    let mut contents = Vec::new();
    for at in 0..layout.map_pages {
        let number = layout.map_first.plus(at);
        let mut bytes = vec![0; layout.page.bytes()];
        page::init(&mut bytes, PageKind::FreeMap, number);
        if at == 0 {
            bytes[HEADER] = 1;
        }
        mark_beyond_end(&mut bytes, at * bits_per_map_page(layout.page), layout.pages_count);
        page::seal(&mut bytes, seed, CheckpointId::FIRST);
        contents.push((StoreDevice::Data, layout.page.offset(number), bytes));
    }
    let mut leaf = vec![0; layout.page.bytes()];
    page::init(&mut leaf, PageKind::Leaf, root);
    page::seal(&mut leaf, seed, CheckpointId::FIRST);
    contents.push((StoreDevice::Data, layout.page.offset(root), leaf));
    let superblock = first_superblock(format, layout, protection, root);
    let places = superblock_offsets(layout.data_bytes);
    let all =
        |bytes: Vec<u8>| places.map(|offset| (StoreDevice::Data, offset, bytes.clone())).to_vec();
    let mut before = all(Superblock::mark_of_making(format.store_id));
    if layout.log_target == StoreDevice::Log {
        before.push((StoreDevice::Log, 0, vec![0; LOG_HEADER as usize]));
        contents.push((StoreDevice::Log, 0, superblock.encode_log_header()));
    }
    let log = (layout.log_target, layout.log_offset..layout.log_offset + layout.log_bytes);
    Ok(Formatting { stages: [before, contents, all(superblock.encode())], log })
}

fn first_superblock(
    format: &Format,
    layout: super::layout::Layout,
    protection: Protection,
    root: PageNo,
) -> Superblock {
    // The first record of a fresh store is chained to its id.
    let chain = crc32c::crc32c(&format.store_id.to_le_bytes());
    let id = CheckpointId::FIRST;
    let root = Child { page: root, version: PageVersion::of(id) };
    let map = PageStamp::digest((0..layout.map_pages).map(|_| PageStamp::of(id)));
    let position = Lsn(0);
    let completed = CheckpointState { id, position, chain, root, height: 1, map: Some(map) };
    Superblock {
        store_id: format.store_id,
        sequence: 1,
        layout,
        protection,
        completed,
        begun: None,
        seeded_from: position,
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
