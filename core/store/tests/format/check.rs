//! The checker finds nothing in sound stores, and names every damage that is done to one.

use super::feed::SEED;
use super::sample::{Disks, Sample, crashed, object};
use loadline_base::{Bytes, Rng};
use loadline_store::Version;
use loadline_store::paged::check::{
    CellFault, CheckReport, RecordFault, StoreFinding, check, slots,
};
use loadline_store::paged::edit::PageEdit;
use loadline_store::paged::ids::{Lsn, PageNo, PageSize};
use loadline_store::paged::node::TreeNode;
use loadline_store::paged::page::{self, PageKind};
use loadline_store::paged::superblock::Superblock;
use loadline_store::paged::{
    Ask, Edit, Fault, Format, Options, Payload, Protection, RestartFault, bounds,
};

fn assert_clean(report: &CheckReport, when: &str) {
    let sentences: Vec<String> = report.findings.iter().map(|f| f.to_string()).collect();
    assert!(report.is_clean(), "{when}:\n{}", sentences.join("\n"));
}

#[test]
fn sound_stores_are_clean_at_every_age() {
    for protection in [Protection::Log, Protection::Checkpoint] {
        for with_log_device in [false, true] {
            let mut disks = Disks::formatted(protection, with_log_device);
            assert_clean(&check(&disks.bytes()), "formatted");
            for life in 0..4 {
                let mut sample = Sample::open(disks, protection);
                let mut rng = Rng::new(life);
                sample.fill(&mut rng);
                sample.ask(Ask::Checkpoint);
                assert_clean(&check(&sample.disks.bytes()), "checkpointed");
                sample.fill(&mut rng);
                assert_clean(&check(&sample.disks.bytes()), "with a log");
                disks = sample.crash_in_checkpoint();
                let report = check(&disks.bytes());
                assert_clean(&report, "in a checkpoint");
                assert!(report.totals.images > 0, "the images were looked at");
            }
        }
    }
}

#[test]
fn totals_are_those_of_what_was_written() {
    let totals = check(&crashed(Protection::Checkpoint, false).bytes()).totals;
    assert!(totals.keys > 100 && totals.objects > 3 && totals.attributes > 3, "{totals:?}");
    assert!(totals.shared_pages > 0 && totals.inner_pages > 0, "{totals:?}");
    assert!(totals.log_transactions > 100 && totals.extents > 10, "{totals:?}");
}

/// The newest superblock on a device.
fn newest(disks: &Disks) -> Superblock {
    let found = slots(&disks.bytes()).into_iter().filter_map(|slot| slot.found.ok());
    found.max_by_key(|superblock| superblock.sequence).expect("there is a store")
}

pub(crate) fn page_mut(disks: &mut Disks, number: PageNo) -> &mut [u8] {
    &mut disks.data[number.0 as usize * 4096..][..4096]
}

/// Every page of the tree, and the free map.
pub(crate) fn headed_pages(disks: &mut Disks) -> Vec<PageNo> {
    let superblock = newest(disks);
    let layout = superblock.layout;
    let mut pages: Vec<PageNo> = (layout.map_first.0..layout.pages_first.0).map(PageNo).collect();
    let mut ahead = vec![superblock.completed.root.page];
    while let Some(number) = ahead.pop() {
        pages.push(number);
        let node = TreeNode::new(page_mut(disks, number));
        if !node.is_leaf() {
            ahead.extend((0..node.count()).map(|at| node.child(at).page));
        }
    }
    pages
}

/// The first cell whose key begins like this and which `wanted` likes: its leaf and its place there.
fn find_cell(disks: &mut Disks, kind: u8, wanted: impl Fn(&[u8]) -> bool) -> (PageNo, u16) {
    for number in headed_pages(disks) {
        let bytes = page_mut(disks, number);
        if page::kind(bytes) == Some(PageKind::Leaf) {
            let node = TreeNode::new(bytes);
            let is_it = |at: &u16| node.key(*at)[0] == kind && wanted(node.value(*at));
            if let Some(at) = (0..node.count()).find(is_it) {
                return (number, at);
            }
        }
    }
    panic!("there is no cell of kind {}", kind as char);
}

/// Edits a page as if a faulty program had written it: with a checksum that fits.
fn edit(disks: &mut Disks, number: PageNo, edit: PageEdit<'_>) {
    let page = page_mut(disks, number);
    edit.apply(number, page);
    let checkpoint = page::writer(page);
    page::seal(page, SEED, checkpoint);
}

#[test]
fn no_flipped_bit_of_a_page_with_a_header_stays_unseen() {
    let mut disks = crashed(Protection::Checkpoint, false);
    let mut rng = Rng::new(2);
    for number in headed_pages(&mut disks) {
        let (at, bit) = (rng.below(4096) as usize, rng.below(8));
        page_mut(&mut disks, number)[at] ^= 1 << bit;
        let report = check(&disks.bytes());
        let names =
            |f: &StoreFinding| matches!(f, StoreFinding::Page { page, .. } if *page == number);
        assert!(report.findings.iter().any(names), "{number}: {:?}", report.findings);
        page_mut(&mut disks, number)[at] ^= 1 << bit;
    }
    assert_clean(&check(&disks.bytes()), "mended");
}

/// Does a damage to a store and looks for what the checker says of it.
fn finds(name: &str, spoil: impl FnOnce(&mut Disks), expected: impl Fn(&StoreFinding) -> bool) {
    let mut disks = crashed(Protection::Checkpoint, false);
    spoil(&mut disks);
    let report = check(&disks.bytes());
    assert!(report.findings.iter().any(expected), "{name}: {:?}", report.findings);
}

fn is_cell(fault: CellFault) -> impl Fn(&StoreFinding) -> bool {
    move |finding| matches!(finding, StoreFinding::Cell { fault: found, .. } if *found == fault)
}

fn remove_cell(disks: &mut Disks, kind: u8, wanted: impl Fn(&[u8]) -> bool) {
    let (page, at) = find_cell(disks, kind, wanted);
    edit(disks, page, PageEdit::Remove { at });
}

fn patch_cell(disks: &mut Disks, kind: u8, offset: u16, bytes: &[u8]) {
    let (page, at) = find_cell(disks, kind, |_| true);
    edit(disks, page, PageEdit::Patch { at, offset, bytes });
}

#[test]
fn what_contradicts_is_named_although_every_checksum_fits() {
    let is_long = |value: &[u8]| value[0] == 1;
    finds(
        "no object",
        |d| remove_cell(d, b'o', |_| true),
        |f| matches!(f, StoreFinding::NoObject { .. }),
    );
    finds("no piece", |d| remove_cell(d, b'v', |_| true), is_cell(CellFault::StrayPiece));
    finds(
        "no last piece",
        |d| remove_cell(d, b'v', |v| v.len() < 900),
        |f| matches!(f, StoreFinding::PiecesMissing { .. }),
    );
    finds("no long value", |d| remove_cell(d, b'k', is_long), is_cell(CellFault::StrayPiece));
    finds(
        "short object",
        |d| patch_cell(d, b'o', 0, &[1, 0, 0, 0]),
        |f| matches!(f, StoreFinding::ExtentsBehindEnd { length: 1, .. }),
    );
    finds("bytes behind the end", shorten_an_object, |f| {
        matches!(f, StoreFinding::BehindEnd { .. })
    });
    finds(
        "wrong sum",
        |d| patch_cell(d, b'e', 12, &[1, 2, 3, 4]),
        |f| matches!(f, StoreFinding::Data { .. }),
    );
    finds(
        "no owners",
        |d| remove_cell(d, b's', |_| true),
        |f| matches!(f, StoreFinding::OwnerCount { says: 1, .. }),
    );
    finds(
        "many owners",
        |d| patch_cell(d, b's', 8, &[9]),
        |f| matches!(f, StoreFinding::OwnerCount { says: 9, .. }),
    );
    finds("far extent", |d| patch_cell(d, b'e', 0, &[255; 8]), is_cell(CellFault::Outside));
    finds("two owners", share_a_node, |f| matches!(f, StoreFinding::OwnedTwice { .. }));
}

/// Objects that end inside of a page have zeros behind their end there. A bit that flips in them was told twice, and the second time as bytes that a
/// store had left there.
#[test]
fn a_flipped_bit_behind_an_objects_end_is_damage_of_its_page_alone() {
    let mut disks = crashed(Protection::Checkpoint, false);
    let mut seen = 0;
    for number in headed_pages(&mut disks) {
        let bytes = page_mut(&mut disks, number).to_vec();
        if page::kind(&bytes) != Some(PageKind::Leaf) {
            continue;
        }
        let node = TreeNode::new(&bytes);
        for at in (0..node.count()).filter(|at| node.key(*at)[0] == b'e') {
            let extent = node.value(at);
            let first = u64::from_le_bytes(extent[..8].try_into().unwrap());
            let last = PageNo(first + (extent.len() as u64 - 12) / 4 - 1);
            page_mut(&mut disks, last)[4095] ^= 1;
            let found = check(&disks.bytes()).findings;
            let is_its_data =
                |f: &StoreFinding| matches!(f, StoreFinding::Data { page, .. } if *page == last);
            assert!(!found.is_empty() && found.iter().all(is_its_data), "{last}: {found:?}");
            page_mut(&mut disks, last)[4095] ^= 1;
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen}");
}

/// Lets an object end within the page that it ends on, before what it holds there.
fn shorten_an_object(disks: &mut Disks) {
    let length = |value: &[u8]| u32::from_le_bytes(value[..4].try_into().unwrap());
    let (page, at) = find_cell(disks, b'o', |value| length(value) % 4096 > 1);
    let inside = length(TreeNode::new(page_mut(disks, page)).value(at)) / 4096 * 4096 + 1;
    edit(disks, page, PageEdit::Patch { at, offset: 0, bytes: &inside.to_le_bytes() });
}

/// Lets an extent name the tree's root.
fn share_a_node(disks: &mut Disks) {
    let root = newest(disks).completed.root.page;
    patch_cell(disks, b'e', 0, &root.0.to_le_bytes());
}

#[test]
fn a_wrong_free_map_is_named() {
    let bit = |disks: &mut Disks, page: PageNo, used: bool| {
        let (map, first) = newest(disks).layout.map_bit(page);
        edit(disks, map, PageEdit::Bits { first, count: 1, used });
    };
    let free = |disks: &mut Disks| {
        let layout = newest(disks).layout;
        let page = (0..layout.pages_count).map(|at| layout.pages_first.plus(at));
        let map = page_mut(disks, layout.map_first).to_vec();
        let is_free = |page: &PageNo| {
            let bit = layout.map_bit(*page).1 as usize;
            map[page::HEADER + bit / 8] >> (bit % 8) & 1 == 0
        };
        page.into_iter().rev().find(is_free).expect("a page is free")
    };
    let leak = |d: &mut Disks| {
        let page = free(d);
        bit(d, page, true);
    };
    finds("leak", leak, |f| matches!(f, StoreFinding::Leaked { count: 1, .. }));
    let loss = |d: &mut Disks| {
        let page = newest(d).completed.root.page;
        bit(d, page, false);
    };
    finds("loss", loss, |f| matches!(f, StoreFinding::UsedButFree { count: 1, .. }));
}

#[test]
fn data_beside_the_log_is_checked() {
    let mut disks = crashed(Protection::Checkpoint, true);
    let layout = newest(&disks).layout;
    let pages = layout.pages_first.0 as usize * 4096..layout.pages().end.0 as usize * 4096;
    disks.data[pages].iter_mut().for_each(|byte| *byte ^= 0x55);
    let report = check(&disks.bytes());
    let is_it = |f: &StoreFinding| {
        matches!(f, StoreFinding::Record { fault: RecordFault::Data { .. }, .. })
    };
    assert!(report.findings.iter().any(is_it));
}

/// The newest proof is the end of the log: whatever takes it along leaves a log that ends as after a power cut, for all that
/// the log can say.
#[test]
fn a_log_that_ends_before_its_witness_is_damaged() {
    for with_log_device in [false, true] {
        let disks = Disks::formatted(Protection::Checkpoint, with_log_device);
        let mut sample = Sample::open(disks, Protection::Checkpoint).with_a_key();
        sample.ask(Ask::Sync);
        let mut disks = sample.disks;
        let layout = newest(&disks).layout;
        // All of it but the first segment's own record.
        let records = layout.log_offset as usize + 40;
        disks.of(layout.log_target)[records..][..1 << 20].fill(0);
        let mut refused = Sample::begin(disks.clone(), Protection::Checkpoint);
        while refused.store.fault().is_none() {
            assert!(!refused.store.is_open(), "a key that was synced is lost");
            refused.step();
        }
        let damaged = RestartFault::LogDamaged(Lsn(40));
        assert_eq!(refused.store.fault(), Some(Fault::Restart(damaged)));
        let names = |finding: &StoreFinding| matches!(finding, StoreFinding::LogDamaged { .. });
        assert!(check(&disks.bytes()).findings.iter().any(names));
        // One of two places is enough; without both nobody can tell.
        let places = layout.witness_offsets().expect("it has a witness").map(|at| at as usize);
        disks.data[places[0]..][..512].fill(0xff);
        assert!(check(&disks.bytes()).findings.iter().any(names));
        disks.data[places[1]..][..512].fill(0xff);
        assert_clean(&check(&disks.bytes()), "without a witness");
        Sample::open(disks, Protection::Checkpoint);
    }
}

/// A restart dies between two steps of a transaction, behind a checkpoint that has taken the first ones home. (The checker, which did not ask how far
/// the tree says that transaction is, called the pages that it had placed by then used twice.)
#[test]
fn a_store_whose_restart_was_cut_inside_a_transaction_is_sound() {
    const PAGE: u64 = 1024;
    let shape = Format {
        store_id: 79,
        data_bytes: Bytes::from_mib(32),
        log_device_bytes: None,
        log_bytes: Bytes::from_mib(8),
        segment_bytes: Bytes::from_kib(128),
        block_bytes: 512,
        recovery_bytes: Bytes::from_mib(4),
        page: PageSize::new(PAGE as u32).expect("legal"),
    };
    let options = |cache| {
        let direct_write = Bytes::new(PAGE);
        Options { cache, direct_write, ..Sample::options(Protection::Checkpoint) }
    };
    let write = |index: u64, pages: u64| Edit::Write {
        object: object(2),
        offset: index * PAGE,
        data: Payload::Pattern { seed: index, offset: 0, length: pages * PAGE },
        version: Version(1),
    };
    let disks = Disks::made(&shape, Protection::Checkpoint);
    let mut sample = Sample::begin_with(disks, options(Bytes::from_mib(16))).opened();
    (0..64).for_each(|at| sample.ask(Ask::Transaction(vec![write(at * 64, 64)])));
    sample.ask(Ask::Checkpoint);
    sample.store.hold_checkpoints();
    sample.ask(Ask::Transaction((0..1000).map(|at| write(at * 4 + 1, 1)).collect()));
    let layout = shape.layout().expect("it fits");
    let mut restart = Sample::begin_with(sample.disks, options(bounds::cache_least(&layout)));
    let mut cuts = 0;
    while !restart.store.is_open() {
        assert_eq!(restart.store.fault(), None, "it opens");
        restart.step();
        let checkpoints = restart.store.metrics().totals.checkpoints;
        if checkpoints > cuts {
            cuts = checkpoints;
            assert_eq!(check(&restart.disks.bytes()).findings, [], "behind checkpoint {cuts}");
        }
    }
    assert!(cuts > 0, "it makes a checkpoint inside of it");
}
