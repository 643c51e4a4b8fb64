//! Every view of every kind of store, whole and spoiled: views show what is there, and nothing makes them or the checker panic.

use super::check::{headed_pages, page_mut};
use super::feed::SEED;
use super::sample::{Disks, crashed, object};
use loadline_base::Rng;
use loadline_store::CollectionId;
use loadline_store::paged::Protection;
use loadline_store::paged::check::check;
use loadline_store::paged::ids::PageNo;
use loadline_store::paged::inspect::{InspectTrouble, Inspector, Part};
use loadline_store::paged::page;

/// All views of a store, as text.
fn views(disks: &Disks) -> Result<Vec<String>, InspectTrouble> {
    let devices = disks.bytes();
    let store = Inspector::open(&devices)?;
    let root = store.newest().completed.root.page;
    let all = [
        Ok(store.superblock()),
        store.log(20),
        store.page(root),
        store.page(PageNo(root.0 + 1)),
        store.recovery(20),
        store.free_map(),
        store.tree(20),
        store.keys(20),
        store.objects(None, 20),
        store.objects(Some(CollectionId::new(3)), 20),
        store.object(object(2)),
    ];
    let text = |parts: Vec<Part>| parts.iter().map(Part::to_string).collect();
    all.into_iter().map(|parts| parts.map(text)).collect()
}

#[test]
fn every_view_shows_what_is_there() {
    for (protection, with_log_device) in [(Protection::Log, true), (Protection::Checkpoint, false)]
    {
        let views = views(&crashed(protection, with_log_device)).expect("the store is sound");
        let shows = |view: usize, text: &str| {
            assert!(views[view].contains(text), "{text} is not in:\n{}", views[view]);
        };
        shows(0, "recovery area");
        shows(1, "Transaction");
        shows(1, "durable, says the witness");
        shows(2, "Inner");
        shows(5, "free runs");
        shows(6, "of 3/");
        shows(7, "'key 1");
        shows(8, "3/2/0");
        shows(10, "attribute ");
        shows(if protection == Protection::Log { 1 } else { 4 }, "structure");
    }
}

/// Pages that some faulty program wrote, checksum and all.
#[test]
fn no_contents_of_a_page_make_the_checker_or_a_view_panic() {
    let sound = crashed(Protection::Checkpoint, false);
    let mut rng = Rng::new(6);
    let pages = headed_pages(&mut sound.clone());
    let mut found = 0;
    for _ in 0..300 {
        let mut disks = sound.clone();
        let number = pages[rng.below(pages.len() as u64) as usize];
        let bytes = page_mut(&mut disks, number);
        for _ in 0..1 + rng.below(4) {
            let reach = [100, 4080][rng.below(2) as usize];
            // Not what says who wrote the page: that would be found before its contents are looked at.
            let at = match 16 + rng.below(reach) as usize {
                24..32 => 32,
                at => at,
            };
            let any = rng.next_u64() as u8;
            bytes[at] = [0, 1, 0x80, 0xff, any][rng.below(5) as usize];
        }
        let checkpoint = page::writer(bytes);
        page::seal(bytes, SEED, checkpoint);
        found += usize::from(!check(&disks.bytes()).is_clean());
        let _ = views(&disks);
    }
    assert!(found > 100, "most of them are damage: {found}");
}
