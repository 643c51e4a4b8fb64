//! What stands where on the devices of a store at rest, so that damage can be spread over all of it.

use crate::StoreDisks;
use loadline_base::Rng;
use loadline_store::paged::StoreDevice;
use loadline_store::paged::change::{Change, decode_each};
use loadline_store::paged::check::{LogReader, ReadAt};
use loadline_store::paged::ids::{Child, PageNo};
use loadline_store::paged::layout::{SUPERBLOCK, bits_per_map_page, superblock_offsets};
use loadline_store::paged::log::RecordKind;
use loadline_store::paged::page::{self, HEADER, PageKind};
use loadline_store::paged::seed::Seed;
use loadline_store::paged::superblock::Superblock;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

/// A part of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Region {
    /// The four superblocks.
    Superblocks,
    /// The header of a log device.
    LogHeader,
    /// The log that a restart reads.
    LiveLog,
    /// The rest of the ring.
    DeadLog,
    /// The recovery area, but for the log's witness.
    Images,
    /// The log's witness, with the rest of its pages.
    Witness,
    /// The free map.
    FreeMap,
    /// Tree pages with children.
    InnerNodes,
    /// Tree pages with keys.
    Leaves,
    /// Pages of objects.
    ObjectData,
    /// Pages that nobody owns.
    FreePages,
}

/// Where a region is: pieces of a device each.
type Pieces = Vec<(StoreDevice, Range<u64>)>;

/// The parts of one store.
pub struct Regions {
    layout: loadline_store::paged::layout::Layout,
    ranges: Vec<(Region, Pieces)>,
}

impl Region {
    /// All of them.
    pub const ALL: [Region; 11] = [
        Region::Superblocks,
        Region::LogHeader,
        Region::LiveLog,
        Region::DeadLog,
        Region::Images,
        Region::Witness,
        Region::FreeMap,
        Region::InnerNodes,
        Region::Leaves,
        Region::ObjectData,
        Region::FreePages,
    ];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Region::Superblocks => "superblocks",
            Region::LogHeader => "log header",
            Region::LiveLog => "live log",
            Region::DeadLog => "dead log",
            Region::Images => "recovery area",
            Region::Witness => "witness",
            Region::FreeMap => "free map",
            Region::InnerNodes => "inner nodes",
            Region::Leaves => "leaves",
            Region::ObjectData => "object data",
            Region::FreePages => "free pages",
        }
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Regions {
    /// What stands where on these disks.
    pub fn of(disks: &StoreDisks, superblock: &Superblock) -> Regions {
        let layout = superblock.layout;
        let mut regions =
            Regions { layout, ranges: Region::ALL.map(|region| (region, Vec::new())).into() };
        for offset in superblock_offsets(layout.data_bytes) {
            regions.add(Region::Superblocks, StoreDevice::Data, offset..offset + SUPERBLOCK);
        }
        if layout.log_target == StoreDevice::Log {
            regions.add(Region::LogHeader, StoreDevice::Log, 0..layout.log_offset);
        }
        let placed = regions.add_log(disks, superblock);
        let end = layout.recovery_offset + layout.recovery_bytes;
        let witness = layout.witness_offsets().map_or(end, |places| places[0]);
        regions.add(Region::Images, StoreDevice::Data, layout.recovery_offset..witness);
        regions.add(Region::Witness, StoreDevice::Data, witness..end);
        let at = |page: PageNo| layout.page.offset(page);
        regions.add(
            Region::FreeMap,
            StoreDevice::Data,
            at(layout.map_first)..at(layout.pages_first),
        );
        regions.add_pages(disks, superblock.seed(), &placed);
        regions
    }

    fn add(&mut self, region: Region, target: StoreDevice, range: Range<u64>) {
        let ranges = &mut self.ranges[region as usize].1;
        match ranges.last_mut() {
            Some((last, before)) if *last == target && before.end == range.start => {
                before.end = range.end;
            }
            _ if range.is_empty() => {}
            _ => ranges.push((target, range)),
        }
    }

    /// The log, live and dead. Answers the pages that its transactions placed data on.
    fn add_log(&mut self, disks: &StoreDisks, superblock: &Superblock) -> BTreeSet<u64> {
        let layout = self.layout;
        let mut placed = BTreeSet::new();
        let mut reader = LogReader::new(disks, superblock);
        reader.read(|record| {
            if record.kind == RecordKind::Transaction {
                for change in decode_each(record.body).flatten() {
                    if let Change::Place { runs, .. } = change {
                        for run in runs {
                            placed.extend(run.first.0..run.first.0 + run.sums.len() as u64);
                        }
                    }
                }
            }
            true
        });
        // Up to the end of the block that the next record would stand in.
        let first = superblock.completed.position.0 / layout.block_bytes * layout.block_bytes;
        let live = (reader.position().0 + 1).next_multiple_of(layout.block_bytes) - first;
        let (first, ring) = (first % layout.log_bytes, layout.log_bytes);
        let live = live.min(ring);
        let mut mark = |region, from: u64, length: u64| {
            let before_end = length.min(ring - from);
            let at = layout.log_offset + from;
            self.add(region, layout.log_target, at..at + before_end);
            let rest = layout.log_offset..layout.log_offset + length - before_end;
            self.add(region, layout.log_target, rest);
        };
        mark(Region::LiveLog, first, live);
        mark(Region::DeadLog, (first + live) % ring, ring - live);
        placed
    }

    /// Every page that the free map speaks of, by what it is.
    fn add_pages(&mut self, disks: &StoreDisks, seed: Seed, placed: &BTreeSet<u64>) {
        let layout = self.layout;
        let mut bytes = vec![0; layout.page.bytes()];
        let mut map = vec![0; layout.page.bytes()];
        let per_page = bits_per_map_page(layout.page);
        for index in 0..layout.pages_count {
            if index.is_multiple_of(per_page) {
                let at = layout.page.offset(layout.map_first.plus(index / per_page));
                disks.read_at(StoreDevice::Data, at, &mut map);
            }
            let bit = index % per_page;
            let is_used = map[HEADER + (bit / 8) as usize] >> (bit % 8) & 1 == 1;
            let number = layout.pages_first.plus(index);
            let offset = layout.page.offset(number);
            let region = if is_used {
                disks.read_at(StoreDevice::Data, offset, &mut bytes);
                match page::verify(&bytes, seed, Child::of_any_version(number)) {
                    Ok(PageKind::Inner) => Region::InnerNodes,
                    Ok(PageKind::Leaf) => Region::Leaves,
                    _ => Region::ObjectData,
                }
            } else if placed.contains(&number.0) {
                Region::ObjectData
            } else {
                Region::FreePages
            };
            self.add(region, StoreDevice::Data, offset..offset + layout.page.bytes() as u64);
        }
    }

    /// What a byte belongs to.
    pub(super) fn at(&self, target: StoreDevice, offset: u64) -> Option<Region> {
        let holds =
            |(on, range): &(StoreDevice, Range<u64>)| *on == target && range.contains(&offset);
        self.ranges.iter().find(|(_, ranges)| ranges.iter().any(holds)).map(|(region, _)| *region)
    }

    /// A byte anywhere: each part that there is is as likely as any other, and so is each byte of it.
    pub(super) fn draw(&self, rng: &mut Rng) -> (StoreDevice, u64) {
        self.draw_of(&Region::ALL, rng).expect("every store has superblocks")
    }

    /// The same in one of these parts; `None` if the store has none of them.
    pub fn draw_of(&self, regions: &[Region], rng: &mut Rng) -> Option<(StoreDevice, u64)> {
        let is_there =
            |(region, ranges): &&(Region, Pieces)| !ranges.is_empty() && regions.contains(region);
        let there: Vec<_> = self.ranges.iter().filter(is_there).collect();
        if there.is_empty() {
            return None;
        }
        let (_, ranges) = there[rng.below(there.len() as u64) as usize];
        let bytes: u64 = ranges.iter().map(|(_, range)| range.end - range.start).sum();
        let mut at = rng.below(bytes);
        for (target, range) in ranges {
            let length = range.end - range.start;
            if at < length {
                return Some((*target, range.start + at));
            }
            at -= length;
        }
        unreachable!("a byte of a part lies in one of its ranges")
    }
}
