//! What a disk holds: what reads see, what a flush has made durable, and every write between the two.

use super::SimDiskSpec;
use super::cut::{self, CutStyle};
use super::medium::{BLOCK, BaseImage, BlockPart, SparseBytes, Units, pieces};
use loadline_base::{Bytes, Rng};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// What one write made of one block.
#[derive(Clone)]
pub(super) struct BlockVersion {
    /// Which write; they are numbered in the order in which they were answered.
    pub(super) write: u64,
    pub(super) block: u64,
    /// What of the block it wrote.
    pub(super) units: Units,
    /// The bytes of these units; `None` is zeros.
    pub(super) content: Option<BlockPart>,
}

/// The bytes of a disk in all their versions.
#[derive(Clone)]
pub(super) struct DiskContents {
    sector: u32,
    /// What reads see.
    visible: SparseBytes,
    /// `None` without a write cache: what is visible is durable.
    cache: Option<WriteCache>,
    next_write: u64,
}

/// What a write cache may forget.
#[derive(Clone)]
struct WriteCache {
    /// What would be there if all else were lost.
    flushed: SparseBytes,
    /// Answered writes that no flush has covered, in order.
    unflushed: VecDeque<BlockVersion>,
    /// Writes that a failed flush would have covered, in order. They are older than all of `unflushed`.
    in_doubt: Vec<BlockVersion>,
}

impl BlockVersion {
    /// What a write of `data` at `offset` makes, block by block.
    pub(super) fn of_write(
        write: u64,
        offset: u64,
        data: &[u8],
    ) -> impl Iterator<Item = BlockVersion> {
        pieces(offset, data.len()).map(move |(block, range, whole)| {
            let units = Units::of(&range);
            let bytes = &data[whole];
            let content = (!is_nothing(bytes))
                .then(|| BlockPart { start: range.start, bytes: Arc::from(bytes) });
            BlockVersion { write, block, units, content }
        })
    }

    /// The same in a random part of its sectors.
    pub(super) fn some_of(mut self, sector: u32, rng: &mut Rng) -> BlockVersion {
        for units in Units::sectors(sector) {
            if rng.below(2) == 0 {
                self.units = self.units.without(units);
            }
        }
        self
    }
}

/// Whether they are a whole block of zeros.
fn is_nothing(bytes: &[u8]) -> bool {
    bytes.len() == BLOCK && bytes.iter().all(|byte| *byte == 0)
}

impl DiskContents {
    pub(super) fn new(spec: &SimDiskSpec) -> DiskContents {
        let visible = SparseBytes::new(spec.size.get());
        let cache = spec.write_cache.then(|| WriteCache::new(visible.clone()));
        DiskContents { sector: spec.sector, visible, cache, next_write: 0 }
    }

    /// Contents that begin as an image, all of it durable.
    pub(super) fn over(spec: &SimDiskSpec, image: Arc<dyn BaseImage>) -> DiskContents {
        let visible = SparseBytes::over(image, spec.size.get());
        let cache = spec.write_cache.then(|| WriteCache::new(visible.clone()));
        DiskContents { sector: spec.sector, visible, cache, next_write: 0 }
    }

    /// Makes the disk another size. What was not flushed is flushed by that.
    pub(super) fn resize(&mut self, size: u64) {
        self.visible.resize(size);
        if let Some(cache) = &mut self.cache {
            *cache = WriteCache::new(self.visible.clone());
        }
    }

    /// The number of the write that is answered next.
    pub(super) fn next_write(&self) -> u64 {
        self.next_write
    }

    pub(super) fn read(&self, offset: u64, into: &mut [u8]) {
        self.visible.read(offset, into);
    }

    pub(super) fn resident(&self) -> Bytes {
        Bytes::new((self.visible.present_count() * BLOCK) as u64)
    }

    /// What a discard makes of the blocks that hold anything.
    pub(super) fn discard(&self, write: u64, range: Range<u64>) -> Vec<BlockVersion> {
        let blocks = range.start / BLOCK as u64..range.end.div_ceil(BLOCK as u64);
        let inside = |block: u64| {
            let first = block * BLOCK as u64;
            let start = range.start.saturating_sub(first) as usize;
            let end = (range.end - first).min(BLOCK as u64) as usize;
            Units::of(&(start..end))
        };
        let present = self.visible.present(blocks);
        let zeros = |block| BlockVersion { write, block, units: inside(block), content: None };
        present.map(zeros).collect()
    }

    /// Makes a whole write visible.
    pub(super) fn write(&mut self, offset: u64, data: &[u8]) {
        if self.cache.is_some() {
            return self.apply(BlockVersion::of_write(self.next_write, offset, data));
        }
        self.next_write += 1;
        for (block, range, whole) in pieces(offset, data.len()) {
            match is_nothing(&data[whole.clone()]) {
                true => self.visible.set_zeros(block),
                false => self.visible.block_made(block)[range].copy_from_slice(&data[whole]),
            }
        }
    }

    /// How much of a range holds nothing yet.
    pub(super) fn absent(&self, offset: u64, length: Bytes) -> Bytes {
        let absent = pieces(offset, length.get() as usize)
            .filter(|(block, ..)| !self.visible.is_there(*block))
            .map(|(_, range, _)| range.len() as u64);
        Bytes::new(absent.sum())
    }

    /// Makes the versions of one write visible.
    pub(super) fn apply(&mut self, versions: impl Iterator<Item = BlockVersion>) {
        self.next_write += 1;
        for version in versions.filter(|version| version.units != Units::NONE) {
            self.visible.set(version.block, version.units, version.content.as_ref());
            if let Some(cache) = &mut self.cache {
                cache.unflushed.push_back(version);
            }
        }
    }

    /// Makes the writes before `covers_before` durable, unless a failed flush has left them in doubt.
    pub(super) fn flush(&mut self, covers_before: u64) {
        let Some(cache) = &mut self.cache else { return };
        while let Some(version) =
            cache.unflushed.pop_front_if(|version| version.write < covers_before)
        {
            cache.flushed.set(version.block, version.units, version.content.as_ref());
            cache.overwrite_doubts(&version);
        }
    }

    /// Leaves the writes before `covers_before` in doubt.
    pub(super) fn flush_failed(&mut self, covers_before: u64) {
        let Some(cache) = &mut self.cache else { return };
        let covered = cache.unflushed.partition_point(|version| version.write < covers_before);
        cache.in_doubt.extend(cache.unflushed.drain(..covered));
    }

    /// What the power leaves of it all, with `in_flight` in the order of submission.
    pub(super) fn cut(&mut self, in_flight: Vec<BlockVersion>, style: CutStyle, rng: &mut Rng) {
        let mut versions = Vec::new();
        if let Some(cache) = &mut self.cache {
            versions.append(&mut cache.in_doubt);
            versions.extend(cache.unflushed.drain(..));
            self.visible = cache.flushed.clone();
        }
        versions.extend(in_flight);
        cut::survive(&mut self.visible, &versions, cut::How { sector: self.sector, style }, rng);
        if let Some(cache) = &mut self.cache {
            cache.flushed = self.visible.clone();
        }
    }

    /// Changes bytes in every copy of them. `change` gets each one with its place in the range.
    pub(super) fn change_at_rest(
        &mut self,
        offset: u64,
        length: usize,
        change: impl Fn(usize, &mut u8),
    ) {
        for (block, range, whole) in pieces(offset, length) {
            let each = |start: usize, bytes: &mut [u8]| {
                for (place, byte) in (start..).zip(bytes).filter(|(at, _)| range.contains(at)) {
                    change(whole.start + place - range.start, byte);
                }
            };
            each(0, self.visible.block_made(block));
            if let Some(cache) = &mut self.cache {
                each(0, cache.flushed.block_made(block));
                let versions = cache.in_doubt.iter_mut().chain(&mut cache.unflushed);
                for version in versions.filter(|version| version.block == block) {
                    let zeros = || BlockPart { start: 0, bytes: Arc::from([0; BLOCK]) };
                    let BlockPart { start, bytes } = version.content.get_or_insert_with(zeros);
                    each(*start, Arc::make_mut(bytes));
                }
            }
        }
    }
}

impl WriteCache {
    fn new(flushed: SparseBytes) -> WriteCache {
        WriteCache { flushed, unflushed: VecDeque::new(), in_doubt: Vec::new() }
    }

    /// What a flushed write has covered is in doubt no more.
    fn overwrite_doubts(&mut self, flushed: &BlockVersion) {
        self.in_doubt.retain_mut(|doubt| {
            if doubt.block == flushed.block {
                doubt.units = doubt.units.without(flushed.units);
            }
            doubt.units != Units::NONE
        });
    }
}
