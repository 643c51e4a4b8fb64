//! Pages of the store's own making that rot under a store that has them in memory, or has not.

use crate::contract::{Simulated, fresh};
use loadline_base::Bytes;
use loadline_device::ClassTag;
use loadline_store::contract::ContractWorld;
use loadline_store::paged::check::check;
use loadline_store::paged::ids::PageNo;
use loadline_store::paged::tree::NodesAsked;
use loadline_store::paged::{
    Answer, Ask, Edit, ObjectId, Op, Options, OwnPages, Payload, Protection, Reread,
};
use loadline_store::{CollectionId, ObjectNo, Version};

const COLLECTION: CollectionId = CollectionId::new(3);

fn ask(world: &mut Simulated, ask: Ask) -> Answer {
    world.submit(Op { ask, lane: None, class: ClassTag(7), token: 0 });
    world.run().pop().expect("the op ends").1.expect("it is carried out")
}

fn key(at: u32) -> Vec<u8> {
    at.to_be_bytes().to_vec()
}

/// Keys and objects on some hundred pages, all of which have gone home.
fn store(protection: Protection) -> Simulated {
    let options = Options { protection, cache: Bytes::from_mib(2), ..Options::default() };
    let mut world = fresh(options, false, 4096);
    for first in (0..3000).step_by(20) {
        let put = |at| Edit::Put { key: key(at), value: vec![at as u8; 100] };
        ask(&mut world, Ask::Transaction((first..first + 20).map(put).collect()));
    }
    for number in 0..40 {
        let object = ObjectId { collection: COLLECTION, object: ObjectNo(number), snapshot: 0 };
        let data = Payload::Pattern { seed: number, offset: 0, length: 9000 };
        let version = Version(1);
        let write = Edit::Write { object, offset: 0, data, version };
        ask(&mut world, Ask::Transaction(vec![write]));
    }
    ask(&mut world, Ask::Checkpoint);
    world
}

/// Everything that is read again, as a node's OSD asks for it.
fn reread(world: &mut Simulated) -> Reread {
    let mut all = Reread::default();
    let pages = [
        OwnPages::Objects(COLLECTION, ObjectNo(0)..=ObjectNo(u64::MAX)),
        OwnPages::Keys(Vec::new()..vec![u8::MAX]),
        OwnPages::Rest,
    ];
    for pages in pages {
        let Answer::Reread(found) = ask(world, Ask::Reread(pages)) else { panic!("it is read") };
        all.pages += found.pages;
        all.rewritten += found.rewritten;
        all.lost.extend(found.lost);
    }
    all
}

/// Every page of the tree, whose inner nodes are resident, and of the free map.
fn own_pages(world: &mut Simulated) -> Vec<PageNo> {
    let space = world.host().store().space();
    let keys = Vec::new()..vec![u8::MAX];
    let asked = NodesAsked { keys: &keys, goes_on: false, enough: usize::MAX };
    let found = space.tree.nodes_within(&space.pages, asked, |_| false).expect("they are resident");
    let layout = space.pages.layout();
    let map = (0..layout.map_pages).map(|at| layout.map_first.plus(at));
    found.nodes.iter().map(|node| node.page).chain(map).collect()
}

fn rot(world: &mut Simulated, pages: &[PageNo]) {
    for page in pages {
        let disk = &mut world.host().disks_mut().data;
        let place = page.0 * 4096 + 40 + page.0 % 4000;
        let byte = disk.peek(place..place + 1)[0];
        disk.poke(place, &[byte ^ 16]);
    }
}

#[test]
fn what_rots_under_the_cache_is_written_again() {
    for protection in [Protection::Checkpoint, Protection::Log] {
        let mut world = store(protection);
        let pages = own_pages(&mut world);
        assert!(pages.len() > 80, "{} pages", pages.len());
        assert_eq!(reread(&mut world).rewritten, 0);
        rot(&mut world, &pages);
        assert!(check(world.host().disks()).findings.len() > 1);
        let found = reread(&mut world);
        assert_eq!((found.rewritten, found.lost), (pages.len() as u64, vec![]));
        assert!(found.pages >= pages.len() as u64);
        let report = check(world.host().disks());
        assert!(report.findings.is_empty(), "{:?}", report.findings);
        // And what the next checkpoint and the next life make of them is right.
        ask(&mut world, Ask::Transaction(vec![Edit::Delete { key: key(7) }]));
        world.crash();
        let found = reread(&mut world);
        assert_eq!((found.rewritten, found.lost), (0, vec![]));
        assert_eq!(ask(&mut world, Ask::Get(key(8))), Answer::Value(Some(vec![8; 100])));
    }
}

#[test]
fn what_rots_and_is_nowhere_else_is_named_and_no_more() {
    let mut world = store(Protection::Checkpoint);
    let pages = own_pages(&mut world);
    // The root is first, then what it leads to.
    let leaves = [pages[3], pages[pages.len() / 2]];
    rot(&mut world, &leaves);
    world.crash();
    let found = reread(&mut world);
    assert!(
        found.rewritten == 0 && leaves.iter().all(|leaf| found.lost.contains(leaf)),
        "{found:?}"
    );
    assert!(found.lost.iter().all(|page| leaves.contains(page)), "{found:?}");
}
