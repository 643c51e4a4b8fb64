//! The bytes of a disk in blocks of 4 KiB that are allocated when they are written and shared between clones.
//!
//! Two levels, because a clone copies the upper one and a first write after it copies one folder: both stay
//! small for disks from a MiB to a TiB.

use std::ops::Range;
use std::sync::Arc;

/// Bytes of a block: the larger of the two sector sizes.
pub(super) const BLOCK: usize = 4096;
/// Bytes of a unit: the smaller of the two.
const UNIT: usize = 512;
/// Blocks of a folder, which is 1 MiB.
const FOLDER_BLOCKS: usize = 256;

type BlockBytes = [u8; BLOCK];
type BlockFolder = [Option<Arc<BlockBytes>>; FOLDER_BLOCKS];

/// Which units of 512 bytes of a block, a bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Units(u8);

/// Bytes for a block, from `start` in it on.
#[derive(Clone)]
pub(super) struct BlockPart {
    pub(super) start: usize,
    pub(super) bytes: Arc<[u8]>,
}

/// Bytes that a disk begins with and that stay as they are: those of a file.
pub trait BaseImage: Send + Sync {
    /// Fills `into` from `offset` on. Nothing is asked for behind its end.
    fn read(&self, offset: u64, into: &mut [u8]);
}

/// Sparse bytes. A block that is absent is the image's, and zeros where there is none.
#[derive(Clone)]
pub(super) struct SparseBytes {
    folders: Vec<Option<Arc<BlockFolder>>>,
    /// The block of zeros that all share which were written so.
    zeros: Arc<BlockBytes>,
    /// The image, and how many bytes of it count.
    image: Option<(Arc<dyn BaseImage>, u64)>,
}

impl Units {
    pub(super) const NONE: Units = Units(0);
    const ALL: Units = Units(u8::MAX);

    /// The units that `range` of a block consists of; it begins and ends at units.
    pub(super) fn of(range: &Range<usize>) -> Units {
        debug_assert!(range.start.is_multiple_of(UNIT) && range.end.is_multiple_of(UNIT));
        let below = |end: usize| (1u16 << (end / UNIT)) - 1;
        Units((below(range.end) & !below(range.start)) as u8)
    }

    /// All sectors of a block, each with its units.
    pub(super) fn sectors(sector: u32) -> impl Iterator<Item = Units> {
        let sector = sector as usize;
        (0..BLOCK / sector).map(move |index| Units::of(&(index * sector..(index + 1) * sector)))
    }

    /// Whether all of `other` is in here.
    pub(super) fn contains(self, other: Units) -> bool {
        self.0 & other.0 == other.0
    }

    /// These without those.
    pub(super) fn without(self, other: Units) -> Units {
        Units(self.0 & !other.0)
    }

    fn ranges(self) -> impl Iterator<Item = Range<usize>> {
        (0..BLOCK / UNIT)
            .filter(move |unit| self.0 >> unit & 1 == 1)
            .map(|unit| unit * UNIT..(unit + 1) * UNIT)
    }
}

/// Cuts `length` bytes from `offset` on at block boundaries: block, range in the block, range in the whole.
pub(super) fn pieces(
    offset: u64,
    length: usize,
) -> impl Iterator<Item = (u64, Range<usize>, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == length {
            return None;
        }
        let place = offset + done as u64;
        let start = (place % BLOCK as u64) as usize;
        let bytes = (BLOCK - start).min(length - done);
        let whole = done..done + bytes;
        done += bytes;
        Some((place / BLOCK as u64, start..start + bytes, whole))
    })
}

impl SparseBytes {
    /// `size` bytes of zeros.
    pub(super) fn new(size: u64) -> SparseBytes {
        let folders = vec![None; folders_of(size)];
        SparseBytes { folders, zeros: Arc::new([0; BLOCK]), image: None }
    }

    /// The first `size` bytes of an image.
    pub(super) fn over(image: Arc<dyn BaseImage>, size: u64) -> SparseBytes {
        SparseBytes { image: Some((image, size)), ..SparseBytes::new(size) }
    }

    /// The same bytes on a disk of another size: what lies beyond it is gone, what comes anew is zeros.
    pub(super) fn resize(&mut self, size: u64) {
        let end = (self.folders.len() * FOLDER_BLOCKS) as u64;
        for block in size.div_ceil(BLOCK as u64)..end {
            if self.folders[split(block).0].is_some() {
                *self.slot(block) = None;
            }
        }
        if let Some(block) = Some(size / BLOCK as u64).filter(|block| self.is_there(*block)) {
            self.block_made(block)[(size % BLOCK as u64) as usize..].fill(0);
        }
        self.folders.resize(folders_of(size), None);
        self.image = self.image.take().map(|(image, bytes)| (image, bytes.min(size)));
    }

    /// The block, unless it is zeros that were never written.
    fn block(&self, block: u64) -> Option<&Arc<BlockBytes>> {
        let (folder, place) = split(block);
        self.folders[folder].as_ref()?[place].as_ref()
    }

    /// Whether the block may hold anything but zeros.
    pub(super) fn is_there(&self, block: u64) -> bool {
        let first = block * BLOCK as u64;
        let in_image = self.image.as_ref().is_some_and(|(_, bytes)| first < *bytes);
        in_image || (split(block).0 < self.folders.len() && self.block(block).is_some())
    }

    /// What stands where no block is.
    fn read_absent(&self, offset: u64, into: &mut [u8]) {
        let bytes = self.image.as_ref().map_or(0, |(_, bytes)| *bytes);
        let inside = (bytes.saturating_sub(offset) as usize).min(into.len());
        if let Some((image, _)) = self.image.as_ref().filter(|_| inside > 0) {
            image.read(offset, &mut into[..inside]);
        }
        into[inside..].fill(0);
    }

    /// The block to change in place.
    pub(super) fn block_made(&mut self, block: u64) -> &mut BlockBytes {
        if self.image.is_some() && self.block(block).is_none() {
            let mut bytes = [0; BLOCK];
            self.read_absent(block * BLOCK as u64, &mut bytes);
            *self.slot(block) = Some(Arc::new(bytes));
        }
        Arc::make_mut(self.slot(block).get_or_insert_with(|| Arc::new([0; BLOCK])))
    }

    /// Makes a whole block zeros. It is there all the same, and takes no memory of its own.
    pub(super) fn set_zeros(&mut self, block: u64) {
        *self.slot(block) = Some(self.zeros.clone());
    }

    /// Takes over some units of a block from `content`, which has them; `None` is zeros.
    pub(super) fn set(&mut self, block: u64, units: Units, content: Option<&BlockPart>) {
        if content.is_none() && !self.is_there(block) {
            return;
        }
        if units == Units::ALL && (content.is_some() || self.image.is_none()) {
            let whole =
                |part: &BlockPart| Arc::try_from(part.bytes.clone()).expect("it has all units");
            *self.slot(block) = content.map(whole);
            return;
        }
        let target = self.block_made(block);
        for range in units.ranges() {
            match content {
                Some(BlockPart { start, bytes }) => target[range.clone()]
                    .copy_from_slice(&bytes[range.start - start..range.end - start]),
                None => target[range].fill(0),
            }
        }
    }

    /// Copies out the bytes from `offset` on.
    pub(super) fn read(&self, offset: u64, into: &mut [u8]) {
        for (block, range, whole) in pieces(offset, into.len()) {
            match self.block(block) {
                Some(content) => into[whole].copy_from_slice(&content[range]),
                None => self.read_absent(offset + whole.start as u64, &mut into[whole]),
            }
        }
    }

    /// The blocks of `blocks` that may hold anything but zeros, in order.
    pub(super) fn present(&self, blocks: Range<u64>) -> impl Iterator<Item = u64> {
        let folders = split(blocks.start).0..split(blocks.end.saturating_sub(1)).0 + 1;
        folders
            .filter(|folder| self.image.is_some() || self.folders[*folder].is_some())
            .flat_map(|folder| (0..FOLDER_BLOCKS).map(move |place| folder * FOLDER_BLOCKS + place))
            .map(|block| block as u64)
            .filter(move |block| blocks.contains(block) && self.is_there(*block))
    }

    /// How many blocks are present.
    pub(super) fn present_count(&self) -> usize {
        let folders = self.folders.iter().flatten();
        folders.map(|folder| folder.iter().flatten().count()).sum()
    }

    fn slot(&mut self, block: u64) -> &mut Option<Arc<BlockBytes>> {
        let (folder, place) = split(block);
        let folder =
            self.folders[folder].get_or_insert_with(|| Arc::new(std::array::from_fn(|_| None)));
        &mut Arc::make_mut(folder)[place]
    }
}

fn folders_of(size: u64) -> usize {
    size.div_ceil((BLOCK * FOLDER_BLOCKS) as u64) as usize
}

fn split(block: u64) -> (usize, usize) {
    (block as usize / FOLDER_BLOCKS, block as usize % FOLDER_BLOCKS)
}
