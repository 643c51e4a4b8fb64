//! A device that loses the write of one page and says that it was done, or puts it in the place of another: whatever page it is,
//! the checker finds it, and the store answers right or not at all.
//!
//! Of 73 such writes 18 were served as if nothing had happened: what stood there before was whole, of its place, and nobody
//! knew that it was not the newest.

use super::sample::{Disks, Sample, object};
use loadline_base::Rng;
use loadline_store::paged::check::{check, slots};
use loadline_store::paged::{Answer, Ask, OpError, Protection};
use std::collections::BTreeMap;

/// Everything that can be asked about what [`Sample::fill`] writes.
fn questions() -> Vec<Ask> {
    let mut asks: Vec<Ask> =
        (0..200).map(|key| Ask::Get(format!("key {key}").into_bytes())).collect();
    for number in 0..6 {
        let object = object(number);
        asks.push(Ask::Stat(object));
        asks.push(Ask::Attributes(object));
        asks.push(Ask::Digest(object));
        asks.push(Ask::Read { object, offset: 0, length: 1 << 20 });
        asks.extend((0..30).map(|at| Ask::Read { object, offset: at * 9000, length: 500 }));
    }
    asks
}

/// What a store says to every question; nothing if it does not open.
fn answers(disks: Disks, protection: Protection) -> Option<Vec<Result<Answer, OpError>>> {
    let mut store = Sample::begin(disks, protection);
    while !store.store.is_open() {
        if store.store.fault().is_some() {
            return None;
        }
        store.step();
    }
    Some(questions().into_iter().map(|ask| store.answer(ask)).collect())
}

/// A store at work between two checkpoints, and what each of its pages held before it was last written.
fn worked(protection: Protection, log_behind: bool) -> (Disks, BTreeMap<u64, Vec<u8>>) {
    let mut store = Sample::open(Disks::formatted(protection, false), protection);
    let mut rng = Rng::new(5);
    store.fill(&mut rng);
    store.ask(Ask::Checkpoint);
    store.before = Some(BTreeMap::new());
    store.fill(&mut rng);
    store.ask(Ask::Checkpoint);
    if log_behind {
        // The replay of these reads pages before anybody asks.
        let put = |at: u64| loadline_store::paged::Edit::Put {
            key: format!("key {}", at * 7 % 200).into_bytes(),
            value: vec![at as u8; 50],
        };
        (0..40).for_each(|at| store.ask(Ask::Transaction(vec![put(at)])));
    }
    let mut before = store.before.take().expect("it was asked for");
    let layout = store.store.superblock().layout;
    before.retain(|page, _| (layout.map_first.0..layout.pages().end.0).contains(page));
    (store.disks, before)
}

/// What a faulty device did with the write of one page.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Lost,
    /// It went to where this other page is.
    Into(u64),
}

#[derive(Default, Debug)]
struct Counts {
    writes: u64,
    found: u64,
    refused_to_open: u64,
    refused_to_answer: u64,
}

fn try_all(protection: Protection, log_behind: bool) -> Counts {
    let (sound, before) = worked(protection, log_behind);
    assert_eq!(check(&sound.bytes()).findings, []);
    let right = answers(sound.clone(), protection).expect("it is sound");
    let newest = slots(&sound.bytes()).into_iter().filter_map(|slot| slot.found.ok());
    let layout = newest.max_by_key(|found| found.sequence).expect("there is a store").layout;
    let page = |disks: &Disks, page: u64| disks.data[page as usize * 4096..][..4096].to_vec();
    let is_used = |number: u64| {
        let number = loadline_store::paged::ids::PageNo(number);
        let Some(bit) = layout.is_page(number).then(|| layout.map_bit(number)) else { return true };
        page(&sound, bit.0.0)[32 + bit.1 as usize / 8] >> (bit.1 % 8) & 1 == 1
    };
    // Of what was written and given back again a few will do.
    let pages: Vec<u64> =
        before.keys().copied().filter(|page| is_used(*page) || page % 16 == 0).collect();
    let mut counts = Counts::default();
    for (at, &number) in pages.iter().enumerate() {
        let other = pages[(at + 1 + at * 7 % (pages.len() - 1)) % pages.len()];
        for fate in [Fate::Lost, Fate::Into(other)] {
            let mut disks = sound.clone();
            let new = page(&disks, number);
            disks.data[number as usize * 4096..][..4096].copy_from_slice(&before[&number]);
            if let Fate::Into(place) = fate {
                disks.data[place as usize * 4096..][..4096].copy_from_slice(&new);
            }
            let changed = |place: u64| is_used(place) && page(&disks, place) != page(&sound, place);
            let matters = changed(number) || matches!(fate, Fate::Into(place) if changed(place));
            let is_found = !check(&disks.bytes()).is_clean();
            let when = format!("the write of page {number}: {fate:?}");
            assert!(is_found || !matters, "{when}: the checker says nothing");
            counts.writes += 1;
            counts.found += u64::from(is_found);
            let Some(answers) = answers(disks, protection) else {
                assert!(is_found, "{when}: the store does not open");
                counts.refused_to_open += 1;
                continue;
            };
            let wrong = answers
                .iter()
                .zip(&right)
                .find(|(answer, right)| answer != right && answer.is_ok());
            assert!(wrong.is_none(), "{when}: {wrong:?}");
            counts.refused_to_answer += u64::from(answers != right);
        }
    }
    counts
}

#[test]
fn no_lost_or_misdirected_page_write_is_served_as_if_nothing_had_happened() {
    for protection in [Protection::Checkpoint, Protection::Log] {
        for log_behind in [false, true] {
            let counts = try_all(protection, log_behind);
            println!("{protection}, log behind {log_behind}: {counts:?}");
            assert!(counts.found > 200 && counts.found < counts.writes, "{counts:?}");
            assert!(counts.refused_to_open > 0 && counts.refused_to_answer > 50, "{counts:?}");
        }
    }
}
