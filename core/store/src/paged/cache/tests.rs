//! The cache against its promises, and its replacement against LRU.

use super::*;
use loadline_base::Rng;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn cache(frames: u32) -> Cache {
    Cache::new(frames, PageSize::new(1024).expect("1 KiB is allowed")).expect("it is small")
}

/// A use by an op of its own, if the page is there.
fn use_once(cache: &Cache, page: u64) -> bool {
    thread_local!(static OP: std::cell::Cell<u32> = const { std::cell::Cell::new(0) });
    let op = OP.with(|op| op.replace(op.get() + 1) + 1);
    cache.hit(PageNo(page), op).is_some()
}

/// Uses `page` as an operation does: reads it in if it is not there. Whether it was there.
fn access(cache: &mut Cache, page: u64) -> bool {
    if use_once(cache, page) {
        return true;
    }
    let frame = cache.acquire(PageNo(page)).expect("nothing is pinned for long");
    cache.unpin(frame);
    false
}

#[test]
fn pinned_pages_stay_and_a_full_cache_says_so() {
    let mut cache = cache(3);
    let frames = [1, 2, 3].map(|page| cache.acquire(PageNo(page)).expect("there is room"));
    cache.bytes_mut(frames[1]).fill(7);
    assert_eq!(cache.acquire(PageNo(4)), None);
    cache.pin(frames[1]);
    cache.unpin(frames[1]);
    assert!(!cache.make_room(1), "the second pin of a page counts");
    cache.unpin(frames[0]);
    assert_eq!(cache.acquire(PageNo(4)), Some(frames[0]));
    assert_eq!((cache.find(PageNo(1)), cache.page(frames[0])), (None, PageNo(4)));
    assert!(cache.bytes(frames[1]).iter().all(|&byte| byte == 7));
    assert_eq!((cache.pinned(), cache.free()), (3, 0));
}

/// 100 pages are used twice after they came in, then 10,000 pages pass, then the 100 are looked for: the pages
/// passing through cannot push out a page of the main queue while the small one is over its share.
#[test]
fn a_scan_of_ten_times_the_cache_leaves_the_hot_pages() {
    let mut cache = cache(1_000);
    for _ in 0..3 {
        (0..100).for_each(|page| _ = access(&mut cache, page));
    }
    (1_000..11_000).for_each(|page| _ = access(&mut cache, page));
    assert_eq!((0..100).filter(|&page| access(&mut cache, page)).count(), 100);
}

#[test]
fn a_page_that_comes_back_soon_is_not_on_trial_again() {
    let mut cache = cache(100);
    (0..150).for_each(|page| _ = access(&mut cache, page));
    assert_eq!(cache.find(PageNo(30)), None, "the first pages have left");
    access(&mut cache, 30);
    (1_000..2_000).for_each(|page| _ = access(&mut cache, page));
    assert!(cache.find(PageNo(30)).is_some());
}

/// The judge of the hit ratios: the least recently used page goes.
#[derive(Default)]
struct Lru {
    ages: BTreeMap<u64, u64>,
    pages: BTreeMap<u64, u64>,
    clock: u64,
}

impl Lru {
    fn access(&mut self, page: u64, frames: usize) -> bool {
        self.clock += 1;
        let before = self.pages.insert(page, self.clock);
        if let Some(age) = before {
            self.ages.remove(&age);
        } else if self.pages.len() > frames {
            let (_, oldest) = self.ages.pop_first().expect("the cache is full");
            self.pages.remove(&oldest);
        }
        self.ages.insert(self.clock, page);
        before.is_some()
    }
}

/// Running sums of 1/rank: a draw below the last one, searched in them, is Zipf distributed with exponent 1.
fn zipf_sums(pages: u64) -> Vec<f64> {
    let mut sum = 0.0;
    (1..=pages)
        .map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        })
        .collect()
}

/// Hits in percent of 400,000 accesses to 20,000 pages, every `scan_every`-th from a scan that never comes back: ours and LRU's.
fn hit_percents(scan_every: Option<u64>) -> (f64, f64) {
    let (frames, accesses) = (1_000, 400_000);
    let (mut ours, mut lru) = (cache(frames), Lru::default());
    let sums = zipf_sums(20_000);
    let mut rng = Rng::new(1);
    let (mut our_hits, mut lru_hits) = (0u64, 0u64);
    for n in 0..accesses {
        let scanned = scan_every.is_some_and(|every| n % every == 0);
        let draw = rng.unit_f64() * sums.last().expect("there are pages");
        let rank = sums.partition_point(|&sum| sum < draw) as u64;
        let page = if scanned { 1_000_000 + n } else { rank };
        our_hits += u64::from(access(&mut ours, page));
        lru_hits += u64::from(lru.access(page, frames as usize));
    }
    let percent = |hits| hits as f64 * 100.0 / accesses as f64;
    (percent(our_hits), percent(lru_hits))
}

#[test]
fn hits_more_often_than_lru_with_and_without_a_scan() {
    let check = |scan_every, gain: f64| {
        let (ours, lru) = hit_percents(scan_every);
        assert!(
            ours > lru + gain,
            "scan every {scan_every:?}: {ours:.1} % of hits, LRU {lru:.1} %"
        );
    };
    check(None, 6.0);
    check(Some(3), 8.0);
}

#[derive(Clone, Debug)]
enum Step {
    Use(u64),
    Pin(u64),
    Unpin(u64),
    Forget(u64),
    Room(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..60u64).prop_map(Step::Use),
        2 => (0..60u64).prop_map(Step::Pin),
        2 => (0..60u64).prop_map(Step::Unpin),
        1 => (0..60u64).prop_map(Step::Forget),
        1 => (0..12u32).prop_map(Step::Room),
    ];
    prop::collection::vec(step, 1..300)
}

proptest! {
    /// Whatever happens: a page is in one frame with its own bytes, the pinned ones are all there, and the counts fit.
    #[test]
    fn keeps_its_promises(steps in steps()) {
        let mut cache = cache(10);
        let mut pins = BTreeMap::<u64, u32>::new();
        for step in steps {
            run(&mut cache, &mut pins, step);
            let resident = (0..60).filter_map(|n| Some((n, cache.find(PageNo(n))?))).collect::<Vec<_>>();
            for &(page, frame) in &resident {
                prop_assert_eq!(cache.page(frame), PageNo(page));
                prop_assert!(cache.bytes(frame).iter().all(|&byte| u64::from(byte) == page));
            }
            prop_assert_eq!(resident.len() as u32 + cache.free(), cache.frames());
            prop_assert_eq!(pins.len() as u32, cache.pinned());
            prop_assert!(pins.keys().all(|&page| cache.find(PageNo(page)).is_some()));
        }
    }
}

fn run(cache: &mut Cache, pins: &mut BTreeMap<u64, u32>, step: Step) {
    match step {
        Step::Use(page) if use_once(cache, page) => {}
        Step::Use(page) => match cache.acquire(PageNo(page)) {
            Some(frame) => {
                cache.bytes_mut(frame).fill(page as u8);
                cache.unpin(frame);
            }
            None => assert_eq!(pins.len(), 10, "only pins keep a page out"),
        },
        Step::Pin(page) => {
            if let Some(frame) = cache.find(PageNo(page)) {
                cache.pin(frame);
                *pins.entry(page).or_default() += 1;
            }
        }
        Step::Unpin(page) => {
            if let Some(left) = pins.get_mut(&page) {
                cache.unpin(cache.find(PageNo(page)).expect("a pinned page is resident"));
                *left -= 1;
                pins.retain(|_, left| *left > 0);
            }
        }
        Step::Forget(page) if !pins.contains_key(&page) => {
            cache.forget(PageNo(page));
            assert_eq!(cache.find(PageNo(page)), None);
        }
        Step::Forget(_) => {}
        Step::Room(frames) => {
            assert_eq!(cache.make_room(frames), frames + pins.len() as u32 <= 10);
        }
    }
}
