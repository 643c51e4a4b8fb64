//! One damage of one copy: drawn from a number, and done to disks at rest.

use super::region::{Region, Regions};
use crate::StoreDisks;
use crate::disk::Written;
use loadline_base::{Bytes, Rng};
use loadline_store::paged::StoreDevice;
use loadline_store::paged::layout::Layout;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// What is done to a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DamageKind {
    /// One bit flips, seldom a few of the same sector, seldom all bytes of a sector are others.
    Flip,
    /// The last write of a page, or of all pages of a request, was answered and never done: what stood there before
    /// stands there now.
    Drop,
    /// The same, and what was written stands in another page's place.
    Stray,
    /// Two sectors, or two pages, stand in each other's place.
    Swap,
    /// A device ends early.
    Truncation,
}

/// A damage. Written `KIND:NUMBER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// What is done.
    pub kind: DamageKind,
    /// Where it is done is drawn from this.
    pub number: u64,
}

/// What a case did.
pub(super) struct DamageDone {
    /// The part of the store where it did it; of two, the first.
    pub(super) region: Option<Region>,
    /// In words.
    pub(super) story: String,
}

/// Pages whose last write may be dropped: what stood there before, by page.
pub(super) struct Droppable {
    /// The bytes before, and the request that wrote over them.
    pages: BTreeMap<u64, (Vec<u8>, usize)>,
}

impl DamageKind {
    /// All of them.
    pub const ALL: [DamageKind; 5] = [
        DamageKind::Flip,
        DamageKind::Drop,
        DamageKind::Stray,
        DamageKind::Swap,
        DamageKind::Truncation,
    ];

    /// Its name in cases and tables.
    pub const fn name(self) -> &'static str {
        match self {
            DamageKind::Flip => "flip",
            DamageKind::Drop => "drop",
            DamageKind::Stray => "stray",
            DamageKind::Swap => "swap",
            DamageKind::Truncation => "truncation",
        }
    }
}

impl Droppable {
    /// Those whose last write changed them.
    pub(super) fn of(disks: &StoreDisks, layout: &Layout, written: Vec<Written>) -> Droppable {
        let bytes = layout.page.bytes();
        let first = layout.page.offset(layout.map_first);
        let end = layout.page.offset(layout.pages().end);
        let mut pages = BTreeMap::new();
        for (request, Written { offset, before }) in written.into_iter().enumerate() {
            if offset < first || offset >= end {
                continue;
            }
            for (page, before) in (offset / bytes as u64..).zip(before.chunks_exact(bytes)) {
                pages.insert(page, (before.to_vec(), request));
            }
        }
        let now = |page: u64| disks.data.peek(page * bytes as u64..(page + 1) * bytes as u64);
        pages.retain(|page, (before, _)| *before != now(*page));
        Droppable { pages }
    }

    /// Whether there is nothing to drop.
    pub(super) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }
}

/// Does the damage of `case` to a copy. `None` if it would change nothing.
pub(super) fn damage(
    case: Case,
    disks: &mut StoreDisks,
    regions: &Regions,
    droppable: &Droppable,
    page: u64,
) -> Option<DamageDone> {
    let mut rng = Rng::for_purpose(case.number, 11 + case.kind as u64);
    match case.kind {
        DamageKind::Flip => Some(flip(disks, regions, &mut rng)),
        DamageKind::Drop | DamageKind::Stray => {
            let strays = case.kind == DamageKind::Stray;
            drop_write(disks, regions, droppable, page, strays, &mut rng)
        }
        DamageKind::Swap => swap(disks, regions, page, &mut rng),
        DamageKind::Truncation => Some(truncate(disks, &mut rng)),
    }
}

fn name(target: StoreDevice) -> &'static str {
    if target == StoreDevice::Data { "data" } else { "log" }
}

fn flip(disks: &mut StoreDisks, regions: &Regions, rng: &mut Rng) -> DamageDone {
    let (target, offset) = regions.draw(rng);
    let region = regions.at(target, offset);
    let disk = disks.of(target);
    let sector = u64::from(disk.spec().sector);
    let start = offset / sector * sector;
    let how = match rng.below(20) {
        0 => {
            let noise: Vec<u8> = (0..sector).map(|_| rng.next_u64() as u8).collect();
            disk.poke(start, &noise);
            format!("the sector at {start} holds noise")
        }
        1..=3 => {
            let count = 2 + rng.below(7);
            for _ in 0..count {
                flip_bit(disk, start + rng.below(sector), rng);
            }
            format!("{count} bits flip in the sector at {start}")
        }
        _ => {
            let bit = flip_bit(disk, offset, rng);
            format!("bit {bit} of byte {offset} flips")
        }
    };
    DamageDone { region, story: format!("{how}, on the {} device", name(target)) }
}

fn flip_bit(disk: &mut crate::disk::SimDisk, offset: u64, rng: &mut Rng) -> u64 {
    let bit = rng.below(8);
    let byte = disk.peek(offset..offset + 1)[0];
    disk.poke(offset, &[byte ^ (1 << bit)]);
    bit
}

fn drop_write(
    disks: &mut StoreDisks,
    regions: &Regions,
    droppable: &Droppable,
    page: u64,
    strays: bool,
    rng: &mut Rng,
) -> Option<DamageDone> {
    // Every part that has such pages is as likely as any other.
    let region_of = |number: u64| regions.at(StoreDevice::Data, number * page);
    let mut by_region: BTreeMap<Option<Region>, Vec<u64>> = BTreeMap::new();
    for number in droppable.pages.keys() {
        by_region.entry(region_of(*number)).or_default().push(*number);
    }
    let parts: Vec<_> = by_region.into_iter().collect();
    let (region, pages) = parts.get(rng.below(parts.len().max(1) as u64) as usize)?;
    let chosen = pages[rng.below(pages.len() as u64) as usize];
    let request = droppable.pages[&chosen].1;
    let whole = rng.below(2) == 0;
    let lost: Vec<u64> = if whole {
        let of_request = droppable.pages.iter().filter(|(_, (_, wrote))| *wrote == request);
        of_request.map(|(page, _)| *page).collect()
    } else {
        vec![chosen]
    };
    let written: Vec<Vec<u8>> =
        lost.iter().map(|number| disks.data.peek(number * page..(number + 1) * page)).collect();
    for number in &lost {
        disks.data.poke(number * page, &droppable.pages[number].0);
    }
    let mut story =
        format!("the last write of {} pages from page {} was lost", lost.len(), lost[0]);
    if strays {
        let (_, offset) = loop {
            let place = regions.draw(rng);
            if place.0 == StoreDevice::Data {
                break place;
            }
        };
        let end = disks.data.spec().size.get() / page;
        let to = (offset / page).min(end.saturating_sub(written.len() as u64));
        for (number, bytes) in (to..).zip(&written) {
            disks.data.poke(number * page, bytes);
        }
        let where_to = regions.at(StoreDevice::Data, to * page).map_or("nothing", Region::name);
        story += &format!(" and stands at page {to} instead ({where_to})");
    }
    Some(DamageDone { region: *region, story })
}

fn swap(disks: &mut StoreDisks, regions: &Regions, page: u64, rng: &mut Rng) -> Option<DamageDone> {
    let (target, one) = regions.draw(rng);
    let length = if rng.below(2) == 0 { page } else { u64::from(disks.of(target).spec().sector) };
    let near = rng.below(3) == 0;
    let (_, other) = (0..64).map(|_| regions.draw(rng)).find(|place| place.0 == target)?;
    let disk = disks.of(target);
    let last = disk.spec().size.get() / length - 1;
    let one = (one / length).min(last);
    let other = if near { one ^ 1 } else { other / length }.min(last);
    let read = |at: u64| disk.peek(at * length..(at + 1) * length);
    let (a, b) = (read(one), read(other));
    if a == b {
        return None;
    }
    disk.poke(one * length, &b);
    disk.poke(other * length, &a);
    let region = regions.at(target, one * length);
    let there = regions.at(target, other * length).map_or("nothing", Region::name);
    let story = format!(
        "{length} bytes at {} and {} ({there}) of the {} device stand in each other's place",
        one * length,
        other * length,
        name(target)
    );
    Some(DamageDone { region, story })
}

fn truncate(disks: &mut StoreDisks, rng: &mut Rng) -> DamageDone {
    let target = match &disks.log {
        Some(_) if rng.below(2) == 0 => StoreDevice::Log,
        _ => StoreDevice::Data,
    };
    let disk = disks.of(target);
    let sector = u64::from(disk.spec().sector);
    let sectors = disk.spec().size.get() / sector;
    // As often a few sectors as any number.
    let gone = if rng.below(2) == 0 { 1 + rng.below(16) } else { 1 + rng.below(sectors - 1) };
    let left = sectors.saturating_sub(gone).max(1) * sector;
    disk.resize(Bytes::new(left));
    let story = format!("the {} device ends after {left} bytes", name(target));
    DamageDone { region: None, story }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.name(), self.number)
    }
}

/// What was typed is no case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseCaseError;

impl fmt::Display for ParseCaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "expected a case as the report names it, as in `flip:17` or `fsync/log/3/drop:17`",
        )
    }
}

impl std::error::Error for ParseCaseError {}

impl FromStr for Case {
    type Err = ParseCaseError;

    fn from_str(text: &str) -> Result<Case, ParseCaseError> {
        let (kind, number) = text.split_once(':').ok_or(ParseCaseError)?;
        let kind = DamageKind::ALL.into_iter().find(|known| known.name() == kind);
        Ok(Case {
            kind: kind.ok_or(ParseCaseError)?,
            number: number.parse().map_err(|_| ParseCaseError)?,
        })
    }
}
