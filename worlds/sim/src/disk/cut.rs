//! What a power cut leaves: a choice among the versions of each sector.

use super::contents::BlockVersion;
use super::medium::{SparseBytes, Units};
use loadline_base::Rng;
use std::collections::BTreeMap;

/// Which of the writes that no flush has covered survive a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CutStyle {
    /// None.
    AllLost,
    /// All, those in flight included.
    AllKept,
    /// Each sector for itself holds any of its versions. Some cuts prefer the newest ones, some the oldest: a single
    /// lost sector among hundreds breaks other things than the loss of every second one.
    Random,
    /// Everything up to one write, in the order of the answers; of that one only a first or last part; nothing after
    /// it. The torn one has several sectors if any has.
    Torn,
}

/// How to choose.
#[derive(Clone, Copy)]
pub(super) struct How {
    pub(super) sector: u32,
    pub(super) style: CutStyle,
}

/// Puts those of `versions` onto `medium` that survive. They are in order and not yet there.
pub(super) fn survive(
    medium: &mut SparseBytes,
    versions: &[BlockVersion],
    how: How,
    rng: &mut Rng,
) {
    match how.style {
        CutStyle::AllLost => {}
        CutStyle::AllKept => versions.iter().for_each(|version| put(medium, version)),
        CutStyle::Random => each_sector_for_itself(medium, versions, how.sector, rng),
        CutStyle::Torn => up_to_a_torn_one(medium, versions, how.sector, rng),
    }
}

fn put(medium: &mut SparseBytes, version: &BlockVersion) {
    medium.set(version.block, version.units, version.content.as_ref());
}

/// Which versions a cut prefers.
#[derive(Clone, Copy)]
enum Leaning {
    Even,
    Newest,
    Oldest,
}

impl Leaning {
    fn draw(rng: &mut Rng) -> Leaning {
        [Leaning::Even, Leaning::Newest, Leaning::Oldest][rng.below(3) as usize]
    }

    /// Chooses among `0..count`. The extreme of three draws misses its end of a pair one time in eight.
    fn choose(self, count: u64, rng: &mut Rng) -> usize {
        let mut draw = || rng.below(count);
        let chosen = match self {
            Leaning::Even => draw(),
            Leaning::Newest => draw().max(draw()).max(draw()),
            Leaning::Oldest => draw().min(draw()).min(draw()),
        };
        chosen as usize
    }
}

fn each_sector_for_itself(
    medium: &mut SparseBytes,
    versions: &[BlockVersion],
    sector: u32,
    rng: &mut Rng,
) {
    let leaning = Leaning::draw(rng);
    let mut by_block: BTreeMap<u64, Vec<&BlockVersion>> = BTreeMap::new();
    for version in versions {
        by_block.entry(version.block).or_default().push(version);
    }
    for (block, versions) in by_block {
        for units in Units::sectors(sector) {
            let of_sector: Vec<_> =
                versions.iter().filter(|version| version.units.contains(units)).collect();
            // Zero is the flushed content, which is there already.
            let chosen = leaning.choose(of_sector.len() as u64 + 1, rng);
            if let Some(version) = chosen.checked_sub(1).map(|index| of_sector[index]) {
                medium.set(block, units, version.content.as_ref());
            }
        }
    }
}

fn up_to_a_torn_one(
    medium: &mut SparseBytes,
    versions: &[BlockVersion],
    sector: u32,
    rng: &mut Rng,
) {
    let writes: Vec<&[BlockVersion]> = versions.chunk_by(|a, b| a.write == b.write).collect();
    let Some(torn) = choose_torn(&writes, sector, rng) else { return };
    writes[..torn].iter().copied().flatten().for_each(|version| put(medium, version));
    let sectors = sectors_of(writes[torn], sector);
    let split = match sectors.len() as u64 {
        0 | 1 => return,
        count => 1 + rng.below(count - 1) as usize,
    };
    let kept = if rng.below(2) == 0 { &sectors[..split] } else { &sectors[split..] };
    for (version, units) in kept {
        medium.set(version.block, *units, version.content.as_ref());
    }
}

/// One of the writes with several sectors, or any if there is no such.
fn choose_torn(writes: &[&[BlockVersion]], sector: u32, rng: &mut Rng) -> Option<usize> {
    let several = |index: &usize| sectors_of(writes[*index], sector).len() > 1;
    let mut choice: Vec<usize> = (0..writes.len()).filter(several).collect();
    if choice.is_empty() {
        choice = (0..writes.len()).collect();
    }
    match choice.len() as u64 {
        0 => None,
        count => Some(choice[rng.below(count) as usize]),
    }
}

fn sectors_of(write: &[BlockVersion], sector: u32) -> Vec<(&BlockVersion, Units)> {
    let of_version = |version| Units::sectors(sector).map(move |units| (version, units));
    let written = |(version, units): &(&BlockVersion, Units)| version.units.contains(*units);
    write.iter().flat_map(of_version).filter(written).collect()
}
