//! The tree against a sorted map, what it edits against what was reached, and its edits repeated on a copy.

#[path = "../../../tests/format/order.rs"]
mod order;

use super::*;
use crate::paged::bounds::TreeGrowth;
use crate::paged::ids::{CheckpointId, PageSize};
use crate::paged::node::{cell_max, entry_bytes, key_max};
use crate::paged::page::PageKind;
use loadline_base::Rng;
use order::Order;
use std::collections::{BTreeMap, BTreeSet};

/// Pages in memory, with a second set that gets every edit through the log's encoding.
///
/// While a transaction is carried out only what it may edit is edited, and no more pages are taken than a put may split.
struct Pages {
    size: usize,
    pages: Vec<Option<Vec<u8>>>,
    copies: Vec<Vec<u8>>,
    spare: Vec<PageNo>,
    allowed: Option<Vec<PageNo>>,
    /// How many pages may still be allocated.
    spare_pages: u32,
    /// Whether a merge may touch neighbours that are on no such way.
    cheap: bool,
    hidden: Option<PageNo>,
    dirty: BTreeSet<PageNo>,
    coming: u64,
    /// Which checkpoint has written each page, or will.
    versions: BTreeMap<PageNo, PageVersion>,
}

impl Pages {
    fn new(size: usize, cheap: bool) -> Pages {
        let (pages, copies, spare, dirty, versions) = Default::default();
        let (allowed, spare_pages, hidden, coming) = (None, 0, None, 1);
        Pages {
            size,
            pages,
            copies,
            spare,
            allowed,
            spare_pages,
            cheap,
            hidden,
            dirty,
            coming,
            versions,
        }
    }

    /// A checkpoint takes its instant: what changes from now on is the next one's.
    fn instant(&mut self) {
        self.dirty.clear();
        self.coming += 1;
    }

    /// Everything below leads to the writing of its child that is on the device or will be, and nothing is dirty but with the
    /// path to it.
    fn assert_versions(&self, child: Child, levels: u8) {
        assert_eq!(Some(&child.version), self.versions.get(&child.page), "{child}");
        if levels > 1 {
            let node = TreeNode::new(self.page(child.page).expect("everything is resident"));
            for below in (0..node.count()).map(|at| node.child(at)) {
                assert!(self.is_dirty(child.page) || !self.is_dirty(below.page), "{below}");
                self.assert_versions(below, levels - 1);
            }
        }
    }

    fn in_use(&self) -> usize {
        self.pages.iter().flatten().count()
    }

    fn assert_copies_equal(&self) {
        for (page, copy) in self.pages.iter().zip(&self.copies) {
            assert!(page.as_ref().is_none_or(|page| page == copy), "a replayed page differs");
        }
    }
}

impl TreePages for Pages {
    fn page(&self, number: PageNo) -> Option<&[u8]> {
        (self.hidden != Some(number)).then(|| self.pages[number.0 as usize].as_deref()).flatten()
    }

    fn edit(&mut self, number: PageNo, edit: PageEdit<'_>) {
        assert!(self.may_touch(number), "{number} is on no way to a changed key");
        let page = self.pages[number.0 as usize].as_mut().expect("the page is in use");
        assert!(edit.fits(page), "{edit:?} does not fit {number}");
        self.dirty.insert(number);
        self.versions.insert(number, PageVersion::of(CheckpointId(self.coming)));
        edit.apply(number, page);
        let mut bytes = Vec::new();
        edit.encode(&mut bytes);
        let (decoded, rest) = PageEdit::decode(&bytes).expect("it was just encoded");
        assert!(rest.is_empty());
        decoded.apply(number, &mut self.copies[number.0 as usize]);
    }

    fn allocate(&mut self) -> PageNo {
        let number = self.spare.pop().unwrap_or_else(|| {
            self.pages.push(None);
            self.copies.push(vec![0xee; self.size]);
            PageNo(self.pages.len() as u64 - 1)
        });
        // A page that is taken again has old bytes in it, and they are not the same in both sets.
        self.pages[number.0 as usize] = Some(vec![0xaa; self.size]);
        if let Some(allowed) = &mut self.allowed {
            let left = self.spare_pages.checked_sub(1).expect("a put splits each level once");
            self.spare_pages = left;
            allowed.push(number);
        }
        number
    }

    fn free(&mut self, number: PageNo) {
        assert!(self.pages[number.0 as usize].take().is_some(), "{number} is freed twice");
        self.dirty.remove(&number);
        self.spare.push(number);
    }

    fn may_touch(&self, number: PageNo) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| self.cheap || allowed.contains(&number))
    }

    fn is_dirty(&self, number: PageNo) -> bool {
        self.dirty.contains(&number)
    }

    fn coming(&self) -> PageVersion {
        PageVersion::of(CheckpointId(self.coming))
    }
}

#[derive(Clone, Debug)]
enum Change {
    Put(Vec<u8>, Vec<u8>),
    Remove(Vec<u8>),
    Patch(Vec<u8>, u16, Vec<u8>),
}

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// The nodes from the root to the leaf of a key.
fn way(tree: &Tree, pages: &Pages, key: &[u8]) -> Vec<PageNo> {
    let mut way = vec![tree.root.page];
    let mut child = tree.root;
    for _ in 1..tree.height {
        let inner = node(pages, child).expect("everything is resident");
        child = inner.child(inner.route(key));
        way.push(child.page);
    }
    way
}

/// Takes a key out. Says whether it was there.
fn remove(tree: &mut Tree, pages: &mut Pages, key: &[u8]) -> bool {
    let found = tree.find(pages, key).expect("everything is resident").map(|(place, _)| place);
    found.inspect(|place| tree.remove(pages, key, *place)).is_some()
}

fn patch(tree: &mut Tree, pages: &mut Pages, key: &[u8], offset: u16, bytes: &[u8]) {
    let found = tree.find(pages, key).expect("everything is resident");
    let (place, _) = found.expect("a patched key is there");
    tree.patch(pages, (key, place), offset, bytes);
}

/// Applies the changes with nothing else to be edited than the ways to their keys, and settles.
fn transact(tree: &mut Tree, pages: &mut Pages, model: &mut Model, changes: &[Change]) {
    let mut allowed = Vec::new();
    for change in changes {
        let (Change::Put(key, _) | Change::Remove(key) | Change::Patch(key, ..)) = change;
        tree.reach(pages, key).expect("everything is resident");
        allowed.extend(way(tree, pages, key));
    }
    pages.allowed = Some(allowed);
    for change in changes {
        match change.clone() {
            Change::Put(key, value) => {
                // One half of a node of each level, and a root above.
                pages.spare_pages = u32::from(tree.height) + 1;
                let replaced = tree.put(pages, &key, &value, |_| ()).is_some();
                assert_eq!(replaced, model.insert(key, value).is_some());
            }
            Change::Remove(key) => {
                assert_eq!(remove(tree, pages, &key), model.remove(&key).is_some());
            }
            Change::Patch(key, offset, bytes) => {
                patch(tree, pages, &key, offset, &bytes);
                let value = model.get_mut(&key).expect("patched keys exist");
                value[usize::from(offset)..][..bytes.len()].copy_from_slice(&bytes);
            }
        }
    }
    for change in changes {
        if let Change::Remove(key) = change {
            tree.settle(pages, key);
        }
    }
    pages.allowed = None;
}

/// The tree's nodes are sound, in their places, all in use, and hold what the model holds.
fn assert_sound(tree: &Tree, pages: &Pages, model: &Model) {
    let (mut walk, mut nodes) = (tree.walk(), 0);
    while let Some(visited) = walk.next(pages).expect("everything is resident") {
        assert_eq!(visited.verdict, Ok(()), "{visited:?}");
        nodes += 1;
    }
    assert_eq!(nodes, pages.in_use(), "pages leak");
    pages.assert_versions(tree.root, tree.height);
    let mut entries = model.iter();
    tree.visit(pages, b"", |key, value| {
        assert_eq!(entries.next(), Some((&key.to_vec(), &value.to_vec())));
        true
    })
    .expect("everything is resident");
    assert_eq!(entries.next(), None);
    pages.assert_copies_equal();
}

fn assert_finds(tree: &Tree, pages: &Pages, model: &Model, key: &[u8]) {
    let owned = |entry: Option<Entry<'_>>| entry.map(|(key, value)| (key.to_vec(), value.to_vec()));
    let from_model =
        |entry: Option<(&Vec<u8>, &Vec<u8>)>| entry.map(|(k, v)| (k.clone(), v.clone()));
    assert_eq!(tree.get(pages, key), Ok(model.get(key).map(Vec::as_slice)));
    let after = tree.at_or_after(pages, key).map(owned);
    assert_eq!(after, Ok(from_model(model.range(key.to_vec()..).next())));
    let mut below = model.range(..key.to_vec()).rev();
    tree.visit_back(pages, key, |key, value| {
        assert_eq!(below.next(), Some((&key.to_vec(), &value.to_vec())));
        true
    })
    .expect("everything is resident");
    assert_eq!(below.next(), None);
    let mut before = model.range(..=key.to_vec()).rev();
    let last = before.next();
    for from in [b"".to_vec(), key.to_vec(), before.nth(5).map_or(key.to_vec(), |(k, _)| k.clone())]
    {
        let found = tree.last_within(pages, (&from, key)).map(owned);
        assert_eq!(found, Ok(from_model(last.filter(|(k, _)| **k >= from))));
    }
}

/// How keys look. Each form asks something else of heads and skips.
#[derive(Clone, Copy, Debug)]
enum Keys {
    /// A few bytes, often prefixes of each other, some of them zero.
    Short,
    /// A number behind a name, all of one length.
    Numbered,
    /// As long as allowed, and alike up to the last bytes.
    Long,
}

fn key(rng: &mut Rng, keys: Keys, size: PageSize) -> Vec<u8> {
    match keys {
        Keys::Short => (0..rng.below(5)).map(|_| rng.below(5) as u8).collect(),
        Keys::Numbered => format!("user{:08}", rng.below(3000)).into_bytes(),
        Keys::Long => {
            let length = key_max(size).min(256) - rng.below(20) as usize;
            let mut key = vec![b'k'; length];
            let at = length - 1 - rng.below(4) as usize;
            key[at] = rng.below(256) as u8;
            key[length / 2] = rng.below(4) as u8;
            key
        }
    }
}

fn change(rng: &mut Rng, keys: Keys, size: PageSize, model: &Model, removals: u64) -> Change {
    let key = key(rng, keys, size);
    if rng.below(100) < removals {
        return Change::Remove(key);
    }
    match model.get(&key) {
        Some(value) if !value.is_empty() && rng.below(2) == 0 => {
            let offset = rng.below(value.len() as u64);
            Change::Patch(key, offset as u16, vec![7; value.len() - offset as usize])
        }
        _ => {
            let room = cell_max(size) - key.len();
            let most = if rng.below(4) == 0 { room } else { room.min(40) };
            let length = rng.below(1 + most as u64);
            Change::Put(key, vec![rng.below(256) as u8; length as usize])
        }
    }
}

/// Random transactions, in turns of growing and shrinking, down to the empty tree at the end.
fn check(page_bytes: u32, keys: Keys, cheap: bool) {
    let size = PageSize::new(page_bytes).expect("allowed");
    let mut rng = Rng::new(u64::from(page_bytes) + keys as u64);
    let mut pages = Pages::new(size.bytes(), cheap);
    let (mut tree, mut model) = (Tree::create(&mut pages), Model::new());
    for round in 0..3000 {
        let removals = if round / 500 % 2 == 0 { 20 } else { 80 };
        let mut changes = BTreeMap::new();
        for _ in 0..=rng.below(6) {
            let change = change(&mut rng, keys, size, &model, removals);
            let (Change::Put(key, _) | Change::Remove(key) | Change::Patch(key, ..)) = &change;
            changes.insert(key.clone(), change);
        }
        let mut changes: Vec<Change> = changes.into_values().collect();
        let turn = rng.below(changes.len() as u64) as usize;
        changes.rotate_left(turn);
        transact(&mut tree, &mut pages, &mut model, &changes);
        pages.assert_versions(tree.root, tree.height);
        if rng.below(8) == 0 {
            pages.instant();
        }
        assert_finds(&tree, &pages, &model, &key(&mut rng, keys, size));
        if round % 50 == 0 {
            assert_sound(&tree, &pages, &model);
        }
    }
    let rest: Vec<Vec<u8>> = model.keys().cloned().collect();
    for key in rest {
        transact(&mut tree, &mut pages, &mut model, &[Change::Remove(key)]);
    }
    assert_sound(&tree, &pages, &model);
    assert_eq!((tree.height, pages.in_use()), (1, 1), "an emptied tree is one leaf");
}

#[test]
fn a_tree_does_what_a_sorted_map_does() {
    for bytes in [1024, 4096] {
        for keys in [Keys::Short, Keys::Numbered, Keys::Long] {
            check(bytes, keys, false);
            check(bytes, keys, true);
        }
    }
}

fn numbered(tree: &mut Tree, pages: &mut Pages, numbers: impl Iterator<Item = u32>) {
    for number in numbers {
        tree.put(pages, &number.to_be_bytes(), &[1; 90], |_| ());
    }
}

#[test]
fn ascending_keys_leave_full_pages() {
    let mut pages = Pages::new(4096, false);
    let mut tree = Tree::create(&mut pages);
    numbered(&mut tree, &mut pages, 0..10_000);
    let per_leaf = (4096 - 32) / entry_bytes(4, 90);
    let leaves = 10_000_usize.div_ceil(per_leaf);
    let nodes = pages.in_use();
    assert!(nodes < leaves + leaves / 50 + 3, "{nodes} nodes for {leaves} full leaves");
}

/// A batch of puts into a tree, with removals in between that are settled now and then.
#[derive(Clone, Copy, Debug)]
struct Batch {
    page_bytes: u32,
    order: Order,
    /// Whether all of them go behind the last keys of leaves, which are full, or behind any.
    is_behind_leaves: bool,
    /// In a hundred puts.
    removals: u64,
}

/// The key of an extent.
fn extent_key(number: u32) -> Vec<u8> {
    [&b"e of some object in the s"[..], &number.to_be_bytes()].concat()
}

/// Leaves that ascending keys, a hundred apart, have filled.
fn filled(pages: &mut Pages, count: u32) -> Tree {
    let mut tree = Tree::create(pages);
    for number in (0..count).map(|at| at * 100).chain([u32::MAX]) {
        tree.put(pages, &extent_key(number), &[1; 16], |_| ());
    }
    tree
}

impl Batch {
    /// The numbers that are put: all are new.
    fn numbers(&self, tree: &Tree, pages: &Pages, rng: &mut Rng) -> Vec<u32> {
        let leaf = |number: u32| tree.leaf(pages, &extent_key(number)).expect("all is resident");
        let first = rng.below(1000) as u32;
        let mut old = (first..4000).map(|at| at * 100);
        let numbers: Vec<u32> = if self.is_behind_leaves {
            let last = old.filter(|old| leaf(*old) != leaf(old + 100));
            last.take(10).flat_map(|old| old + 1..old + 96).collect()
        } else {
            old.by_ref().take(120).flat_map(|old| old + 1..old + 9).collect()
        };
        self.order.apply(numbers, rng)
    }

    /// How many pages it took at any time, and the bound on it that was known before.
    fn grows(&self, rng: &mut Rng) -> (u64, u64) {
        let page = PageSize::new(self.page_bytes).expect("allowed");
        let mut pages = Pages::new(page.bytes(), true);
        let mut tree = filled(&mut pages, 4000);
        let numbers = self.numbers(&tree, &pages, rng);
        let length = |rng: &mut Rng| if rng.below(4) == 0 { rng.below(150) as usize } else { 12 };
        let puts: Vec<(u32, usize)> = numbers.into_iter().map(|at| (at, length(rng))).collect();
        let mut growth = TreeGrowth::default();
        for (number, length) in &puts {
            let path = tree.path(&pages, &extent_key(*number)).expect("everything is resident");
            growth.put(&path, entry_bytes(29, *length));
        }
        let (before, mut most, mut removed) = (pages.in_use(), 0, Vec::new());
        for (number, length) in puts {
            tree.put(&mut pages, &extent_key(number), &vec![2; length], |_| ());
            most = most.max(pages.in_use());
            if rng.below(100) < self.removals {
                let old = rng.below(4000) as u32 * 100;
                let gone = extent_key(if rng.below(2) == 0 { number } else { old });
                remove(&mut tree, &mut pages, &gone);
                removed.push(gone);
            }
            if removed.len() > 40 {
                removed.drain(..).for_each(|key| tree.settle(&mut pages, &key));
            }
        }
        ((most - before) as u64, growth.pages(page, u32::from(tree.height) + 1))
    }
}

/// Descending keys behind the last one of a full leaf took a page each, and nothing that was said before of what a transaction in steps
/// may take was a bound.
#[test]
fn no_order_of_puts_takes_more_pages_than_the_bound() {
    let mut rng = Rng::new(1);
    for page_bytes in [1024, 4096, 16384] {
        for order in [Order::Ascending, Order::Descending, Order::Inwards, Order::Random] {
            for (is_behind_leaves, removals) in
                [(false, 0), (false, 30), (false, 90), (true, 0), (true, 30), (true, 90)]
            {
                let batch = Batch { page_bytes, order, is_behind_leaves, removals };
                let (grown, bound) = batch.grows(&mut rng);
                assert!(grown <= bound, "{batch:?}: {grown} pages, and the bound was {bound}");
            }
        }
    }
}

#[test]
fn shrinking_gives_pages_back_where_neighbours_may_be_touched() {
    let mut pages = Pages::new(4096, true);
    let (mut tree, mut model) = (Tree::create(&mut pages), Model::new());
    numbered(&mut tree, &mut pages, 0..10_000);
    model.extend((0..10_000_u32).map(|number| (number.to_be_bytes().to_vec(), vec![1; 90])));
    let full = pages.in_use();
    for number in (0..10_000_u32).filter(|number| number % 20 != 0) {
        let change = Change::Remove(number.to_be_bytes().to_vec());
        transact(&mut tree, &mut pages, &mut model, &[change]);
    }
    assert_sound(&tree, &pages, &model);
    // One entry in twenty is left, and no page stays below a quarter unless it cannot be merged.
    assert!(pages.in_use() < full / 4, "{} of {full} pages are left", pages.in_use());
}

#[test]
fn a_missing_page_is_named_and_the_walk_goes_on_behind_it() {
    let mut pages = Pages::new(1024, false);
    let mut tree = Tree::create(&mut pages);
    numbered(&mut tree, &mut pages, 0..100);
    let leaf = tree.leaf(&pages, &50_u32.to_be_bytes()).expect("everything is resident");
    let mut whole = Vec::new();
    let mut walk = tree.walk();
    while let Some(visited) = walk.next(&pages).expect("everything is resident") {
        whole.push(visited);
    }

    pages.hidden = Some(leaf.page);
    let missing = Missing(leaf);
    let key = 50_u32.to_be_bytes();
    assert_eq!(tree.get(&pages, &key), Err(missing));
    assert_eq!(tree.last_within(&pages, (&key, &key)), Err(missing));
    // What is before the first key that is asked for need not be there.
    let next = (50_u32..100).map(u32::to_be_bytes).find(|key| tree.leaf(&pages, key) != Ok(leaf));
    let next = next.expect("the tree has several leaves");
    let behind = [&next[..], &[0]].concat();
    assert_eq!(tree.last_within(&pages, (&behind, &behind)), Ok(None));
    assert_eq!(tree.reach(&pages, &key), Err(missing));
    assert_eq!(tree.place_with_room(&pages, (&key, 9), |_| true), Err(missing));
    let mut shown = 0;
    assert_eq!(
        tree.visit(&pages, b"", |_, _| {
            shown += 1;
            true
        }),
        Err(missing)
    );
    assert!(shown > 0 && shown <= 50);

    let (mut walk, mut again) = (tree.walk(), Vec::new());
    loop {
        match walk.next(&pages) {
            Ok(Some(visited)) => again.push(visited),
            Ok(None) => break,
            Err(Missing(page)) => {
                assert_eq!(pages.hidden.take(), Some(page.page), "it misses once");
            }
        }
    }
    assert_eq!(again, whole);
}

/// The reason for `settle`: if `remove` freed the leaf at once, the put would go to a neighbour that nobody has reached.
#[test]
fn a_put_finds_the_leaf_that_the_same_transaction_emptied() {
    let mut pages = Pages::new(1024, false);
    let (mut tree, mut model) = (Tree::create(&mut pages), Model::new());
    for number in 0..40_u32 {
        let put = Change::Put(number.to_be_bytes().to_vec(), vec![1; 200]);
        transact(&mut tree, &mut pages, &mut model, &[put]);
    }
    let leaf = tree.leaf(&pages, &20_u32.to_be_bytes()).expect("everything is resident");
    let node = node(&pages, leaf).expect("everything is resident");
    let keys: Vec<Vec<u8>> = (0..node.count()).map(|at| node.key(at).to_vec()).collect();
    let mut put = keys[0].clone();
    put.push(0);
    let mut changes: Vec<Change> = keys.into_iter().map(Change::Remove).collect();
    changes.push(Change::Put(put, vec![2; 200]));
    transact(&mut tree, &mut pages, &mut model, &changes);
    assert_sound(&tree, &pages, &model);
}

/// A whole round of versions after a page was written its version is the coming one again. Its parent's pointer needs no
/// change then, and the parent, which nobody had to change, was left out of the checkpoint that everything above spoke of.
#[test]
fn a_version_that_comes_round_again_leaves_no_node_of_the_path_out() {
    let mut pages = Pages::new(1024, false);
    let mut tree = Tree::create(&mut pages);
    numbered(&mut tree, &mut pages, 0..2000);
    assert_eq!(tree.height, 3);
    for rounds in [1, 1 << 24] {
        pages.instant();
        pages.coming += rounds - 1;
        tree.put(&mut pages, &7_u32.to_be_bytes(), &[2; 90], |_| ());
        pages.assert_versions(tree.root, tree.height);
        patch(&mut tree, &mut pages, &1900_u32.to_be_bytes(), 0, &[3]);
        pages.assert_versions(tree.root, tree.height);
    }
}

#[test]
fn a_walk_reports_a_node_of_the_wrong_level() {
    let mut pages = Pages::new(1024, false);
    let mut tree = Tree::create(&mut pages);
    numbered(&mut tree, &mut pages, 0..20);
    let leaf = tree.leaf(&pages, b"").expect("everything is resident");
    pages.edit(leaf.page, PageEdit::Init { kind: PageKind::Inner });
    let mut verdicts = Vec::new();
    let mut walk = tree.walk();
    while let Some(visited) = walk.next(&pages).expect("everything is resident") {
        verdicts.push(visited.verdict);
    }
    assert_eq!(verdicts[..2], [Ok(()), Err(crate::paged::node::NodeFault::Level)]);
}

/// The room for a put into a leaf is counted before anything is changed, so what changes must be what was said.
#[test]
fn what_is_put_into_a_place_with_room_changes_the_pages_that_were_named() {
    let mut pages = Pages::new(1024, false);
    let mut tree = Tree::create(&mut pages);
    numbered(&mut tree, &mut pages, (0..4000).step_by(2));
    assert!(tree.height > 2);
    pages.instant();
    let mut counts = BTreeMap::<usize, u32>::new();
    for number in (0..4000_u32).step_by(7) {
        let key = number.to_be_bytes();
        let found = tree.place_with_room(&pages, (&key, 4), |_| true).expect("all is resident");
        let Some(place) = found else { continue };
        pages.allowed = Some(place.pages().collect());
        tree.put_in_place(&mut pages, place, &key, &number.to_le_bytes());
        assert!(place.pages().all(|page| pages.is_dirty(page)), "{place:?}");
        pages.assert_versions(tree.root, tree.height);
        assert_eq!(tree.get(&pages, &key), Ok(Some(&number.to_le_bytes()[..])));
        *counts.entry(place.pages().count()).or_default() += 1;
    }
    let expected = [1, usize::from(tree.height)];
    assert!(
        counts.keys().eq(&expected),
        "a dirty leaf changes alone, others with all above: {counts:?}"
    );
}

/// What becomes of keys, in their order.
type Changes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// A value that no run takes.
const OTHER: u8 = 9;

/// Carries changes out run by run. Nothing is edited but the way to each run's leaf, and new pages are as many as are counted on. Answers how many runs
/// there were that fitted, and that did not.
fn transact_in_runs(
    tree: &mut Tree,
    pages: &mut Pages,
    model: &mut Model,
    changes: &Changes,
) -> [usize; 2] {
    let all: Vec<CellChange<'_>> =
        changes.iter().map(|(key, value)| (&key[..], value.as_deref())).collect();
    let (mut rest, mut counts) = (&all[..], [0, 0]);
    while let Some((key, value)) = rest.first() {
        let is_like = |old: &[u8]| old.first() != Some(&OTHER);
        let run = tree.run_of(pages, rest.iter().copied(), is_like).expect("all is resident");
        if run.count() == 0 {
            let change = match value {
                Some(value) => Change::Put(key.to_vec(), value.to_vec()),
                None => Change::Remove(key.to_vec()),
            };
            transact(tree, pages, model, &[change]);
            rest = &rest[1..];
            continue;
        }
        let (now, later) = rest.split_at(run.count());
        assert!(now.iter().all(|(key, _)| model.get(*key).is_none_or(|old| is_like(old))));
        pages.allowed = Some(way(tree, pages, key));
        counts[usize::from(!run.fits())] += 1;
        if run.fits() {
            pages.allowed = Some(run.pages().collect());
            pages.spare_pages = 0;
            tree.run_in_place(pages, &run, now.iter().copied());
        } else {
            // Eight leaves, each of which may split a node of every level above, and the root.
            pages.spare_pages = 8 * u32::from(tree.height) + 1;
            tree.run_over_leaves(pages, &run, now.iter().copied());
        }
        pages.allowed = None;
        for (key, value) in now {
            match value {
                Some(value) => model.insert(key.to_vec(), value.to_vec()),
                None => model.remove(*key),
            };
        }
        pages.assert_versions(tree.root, tree.height);
        rest = later;
    }
    counts
}

/// Windows of changes, in turns of growing and shrinking, of few keys and of many.
fn check_runs(page_bytes: u32, keys: Keys) {
    let size = PageSize::new(page_bytes).expect("allowed");
    let mut rng = Rng::new(u64::from(page_bytes) + keys as u64);
    let mut pages = Pages::new(size.bytes(), true);
    let (mut tree, mut model) = (Tree::create(&mut pages), Model::new());
    let mut counts = [0, 0];
    for round in 0..300 {
        let removals = if round / 50 % 2 == 0 { 10 } else { 70 };
        let mut changes = Changes::new();
        let most = [5, 60, 600][rng.below(3) as usize];
        for _ in 0..=rng.below(most) {
            match change(&mut rng, keys, size, &model, removals) {
                Change::Put(key, value) => drop(changes.insert(key, Some(value))),
                Change::Remove(key) => drop(changes.insert(key, None)),
                Change::Patch(key, ..) => drop(changes.insert(key, Some(vec![OTHER; 5]))),
            }
        }
        let more = transact_in_runs(&mut tree, &mut pages, &mut model, &changes);
        counts = [counts[0] + more[0], counts[1] + more[1]];
        if rng.below(4) == 0 {
            pages.instant();
        }
        assert_sound(&tree, &pages, &model);
    }
    assert!(counts[0] > 50 && counts[1] > 10, "{counts:?} runs that fitted and did not");
}

#[test]
fn changes_in_the_order_of_keys_do_what_they_do_one_by_one() {
    for bytes in [1024, 4096] {
        for keys in [Keys::Short, Keys::Numbered, Keys::Long] {
            check_runs(bytes, keys);
        }
    }
}

fn leaves(tree: &Tree, pages: &Pages) -> usize {
    let mut walk = tree.walk();
    let next = || walk.next(pages).expect("everything is resident");
    std::iter::from_fn(next).filter(|visited| visited.level == 1).count()
}

/// What was put before a crash fitted the device, so it must fit when it is put again in the order of keys.
#[test]
fn puts_in_the_order_of_keys_take_no_more_leaves_than_in_any_other() {
    let mut rng = Rng::new(7);
    for order in [Order::Ascending, Order::Descending, Order::Inwards, Order::Random] {
        for count in [1, 5, 40, 300, 3000] {
            let length = |number: u32| (number as usize * 7919) % 150;
            let [mut ours, mut others] = [(), ()].map(|()| {
                let mut pages = Pages::new(1024, true);
                let tree = filled(&mut pages, 300);
                (tree, pages)
            });
            let numbers = (0..count).map(|_| rng.below(30_000) as u32).collect::<BTreeSet<_>>();
            let numbers = order.apply(numbers.into_iter().collect::<Vec<u32>>(), &mut rng);
            for number in &numbers {
                let value = vec![2; length(*number)];
                others.0.put(&mut others.1, &extent_key(*number), &value, |_| ());
            }
            let changes = numbers.iter().map(|at| (extent_key(*at), Some(vec![2; length(*at)])));
            let (tree, pages) = &mut ours;
            let mut model = Model::new();
            transact_in_runs(tree, pages, &mut model, &changes.collect());
            let (ours, others) = (leaves(tree, pages), leaves(&others.0, &others.1));
            assert!(
                ours <= others,
                "{order:?}, {count}: {ours} leaves, and {others} the first time"
            );
        }
    }
}

/// Keys that are removed and are not there change nothing, and then no parent may promise another version of the leaf.
#[test]
fn a_run_that_changes_nothing_leaves_the_way_clean() {
    let mut pages = Pages::new(1024, false);
    let mut tree = filled(&mut pages, 300);
    pages.instant();
    let key = extent_key(7);
    let change = || [(&key[..], None)];
    let run = tree.run_of(&pages, change(), |_| true).expect("all is resident");
    assert!(run.fits() && run.count() == 1);
    tree.run_in_place(&mut pages, &run, change());
    pages.assert_versions(tree.root, tree.height);
    assert!(run.pages().all(|page| !pages.is_dirty(page)));
}

#[test]
fn a_missing_page_on_the_way_to_a_run_is_named_with_the_end_of_what_is_below_it() {
    let mut pages = Pages::new(1024, false);
    let tree = filled(&mut pages, 3000);
    assert!(tree.height > 2);
    let key = extent_key(100_000);
    let way = way(&tree, &pages, &key);
    let mut ends = Vec::new();
    for hidden in &way {
        pages.hidden = Some(*hidden);
        let found = tree.leaf_end(&pages, &key).expect_err("a page is hidden");
        assert_eq!(found.missing.0.page, *hidden);
        assert_eq!(found.is_leaf, way.last() == Some(hidden));
        assert_eq!(tree.run_of(&pages, [(&key[..], None)], |_| true).map(drop), Err(found.clone()));
        ends.push(found.end);
    }
    pages.hidden = None;
    assert_eq!(ends[0], None, "everything is below the root");
    let end = tree.leaf_end(&pages, &key).expect("all is resident").expect("others follow");
    assert_eq!(ends.last(), Some(&Some(end.clone())));
    assert_ne!(tree.leaf(&pages, &end), tree.leaf(&pages, &key));
    let numbers = (1000..).map(|at| extent_key(at * 100)).take_while(|key| *key < end);
    for key in numbers {
        assert_eq!(tree.leaf(&pages, &key).map(|leaf| leaf.page), Ok(*way.last().expect("it has")));
    }
}
