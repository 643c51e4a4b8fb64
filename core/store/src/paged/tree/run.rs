//! Changes of many keys, in the order of the keys: those that belong into one leaf are carried out together.
//!
//! Where they fit, the leaf is edited as it is. Where they do not, its cells and the new ones are spread over as few leaves as hold them, so that
//! no leaf is split twice, and none is left half full behind keys that go on to grow to the right of it.

use super::change::{Cell, Split, WayNode, claim_child, insert, resident};
use super::{Child, Entry, Missing, PLACE_DEPTH_MAX, PageNo, Tree, TreePages, node};
use crate::paged::edit::PageEdit;
use crate::paged::node::{TreeNode, entry_bytes, shared};
use crate::paged::page::PageKind;

/// What becomes of a key: its value, or nothing if it is taken out.
pub type CellChange<'c> = (&'c [u8], Option<&'c [u8]>);

/// The cells of a run and those of its leaf take no more than so many leaves' bytes. No cell takes more than a quarter of a leaf, so all
/// but the last of the leaves that they are spread over are three quarters full, and at most 8 are new: as many as
/// [`unit_pages`](crate::paged::bounds::unit_pages) counts on.
const LEAVES_MAX: usize = 6;

/// The next changes of those that stand in the order of their keys, as far as they belong into one leaf.
#[derive(Clone, Debug)]
pub struct LeafRun {
    leaf: PageNo,
    /// The nodes above it from the root on, and which child of each the way goes to.
    above: [(PageNo, u16); PLACE_DEPTH_MAX],
    depth: usize,
    /// How many of the nodes on the way, the leaf among them, are the last of their levels.
    lasts: usize,
    /// Nothing on the way changes with the leaf.
    is_dirty: bool,
    /// Where in the leaf each of them belongs, as it is before all of them.
    places: Vec<Result<u16, u16>>,
    /// Any of them changes the leaf: not all remove keys that are not there.
    changes: bool,
    /// Each of them finds room in the leaf in its turn.
    fits: bool,
    /// More of them would have belonged into the leaf.
    is_cut: bool,
}

/// The way to a leaf.
struct Way<'p> {
    leaf: Child,
    /// The nodes above it from the root on, and which child of each the way goes to.
    above: [(PageNo, u16); PLACE_DEPTH_MAX],
    /// How many of the nodes on the way, the leaf among them, are the last of their levels.
    lasts: usize,
    /// Keys from this one on belong into other leaves, if there are any.
    end: Option<&'p [u8]>,
}

/// A page is missing on the way to a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingOnWay {
    /// Which one.
    pub missing: Missing,
    /// Whether it is the leaf.
    pub is_leaf: bool,
    /// Keys from this one on are not below it, if there are any.
    pub end: Option<Vec<u8>>,
}

impl LeafRun {
    /// How many changes it has. None, if the first one is not like the others and has to be carried out by itself.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Whether the leaf takes them as it is. Otherwise they are drafted.
    pub fn fits(&self) -> bool {
        self.fits
    }

    /// Every page that changes if it [fits](Self::fits).
    pub fn pages(&self) -> impl Iterator<Item = PageNo> {
        let depth = if self.is_dirty { 0 } else { self.depth };
        self.above[..depth].iter().map(|step| step.0).chain([self.leaf])
    }
}

impl Tree {
    /// The run that `changes` begin with. It ends before a key whose present value `is_like` does not take, and before one that leaves the leaf so
    /// empty that it has to be settled.
    pub fn run_of<'c, P: TreePages>(
        &self,
        pages: &P,
        changes: impl IntoIterator<Item = CellChange<'c>>,
        is_like: impl Fn(&[u8]) -> bool,
    ) -> Result<LeafRun, MissingOnWay> {
        let mut changes = changes.into_iter().peekable();
        let depth = self.depth();
        let mut run = LeafRun {
            leaf: self.top().page,
            above: [(PageNo(0), 0); PLACE_DEPTH_MAX],
            depth,
            lasts: 1,
            is_dirty: false,
            places: Vec::new(),
            changes: false,
            fits: true,
            is_cut: false,
        };
        let Some((first, _)) = changes.peek().filter(|_| depth <= PLACE_DEPTH_MAX) else {
            return Ok(run);
        };
        let way = self.way(pages, first)?;
        let leaf = resident(pages, way.leaf.page);
        (run.leaf, run.above, run.lasts) = (way.leaf.page, way.above, way.lasts);
        run.is_dirty = pages.is_dirty(run.leaf);
        let all = leaf.used() + leaf.free();
        let mut used = leaf.used();
        for (key, value) in changes {
            if way.end.is_some_and(|end| key >= end) {
                break;
            }
            let place = leaf.search(key);
            let old = place.ok().map(|at| leaf.value(at));
            let is_other = old.is_some_and(|old| !is_like(old));
            let bytes =
                |value: Option<&[u8]>| value.map_or(0, |value| entry_bytes(key.len(), value.len()));
            let after = used + bytes(value) - bytes(old);
            let is_too_small = value.is_none() && old.is_some() && 4 * after < all;
            if is_other || (is_too_small && depth > 0) {
                break;
            }
            if after > LEAVES_MAX * all {
                run.is_cut = true;
                break;
            }
            used = after;
            run.fits &= used <= all;
            run.changes |= place.is_ok() || value.is_some();
            run.places.push(place);
        }
        Ok(run)
    }

    /// What is missing on the way to the leaf of a key, or from which key on others belong into other leaves, if there are any.
    pub fn leaf_end<P: TreePages>(
        &self,
        pages: &P,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>, MissingOnWay> {
        self.way(pages, key).map(|way| way.end.map(<[u8]>::to_vec))
    }

    /// The way to the leaf of a key, in a tree that is not higher than a way is long. The leaf is resident.
    fn way<'p, P: TreePages>(&self, pages: &'p P, key: &[u8]) -> Result<Way<'p>, MissingOnWay> {
        let depth = self.depth();
        let (mut child, mut end, mut lasts) = (self.top(), None, 1);
        let mut above = [(PageNo(0), 0); PLACE_DEPTH_MAX];
        let missing = |missing, end: Option<&[u8]>, is_leaf| MissingOnWay {
            missing,
            is_leaf,
            end: end.map(<[u8]>::to_vec),
        };
        for (level, step) in above[..depth].iter_mut().enumerate() {
            let inner = node(pages, child).map_err(|page| missing(page, end, false))?;
            let at = inner.route(key);
            match at + 1 < inner.count() {
                true => end = Some(inner.key(at + 1)),
                false if lasts == level + 1 => lasts += 1,
                false => {}
            }
            *step = (child.page, at);
            child = inner.child(at);
        }
        node(pages, child).map_err(|page| missing(page, end, true))?;
        Ok(Way { leaf: child, above, lasts, end })
    }

    /// Carries a run out that [fits](LeafRun::fits). Nothing may have changed since it was found.
    pub fn run_in_place<'c, P: TreePages>(
        &mut self,
        pages: &mut P,
        run: &LeafRun,
        changes: impl IntoIterator<Item = CellChange<'c>>,
    ) {
        self.claim_way(pages, run);
        // Those before it have moved what the leaf had.
        let mut moved = 0;
        for ((key, value), place) in changes.into_iter().zip(&run.places) {
            let at = |at: u16| at.wrapping_add(moved);
            match (*place, value) {
                (Ok(place), Some(value)) => {
                    pages.edit(run.leaf, PageEdit::Replace { at: at(place), value });
                }
                (Err(place), Some(value)) => {
                    pages.edit(run.leaf, PageEdit::Insert { at: at(place), key, value });
                    moved = moved.wrapping_add(1);
                }
                (Ok(place), None) => {
                    pages.edit(run.leaf, PageEdit::Remove { at: at(place) });
                    moved = moved.wrapping_sub(1);
                }
                (Err(_), None) => {}
            }
        }
    }

    /// Carries a run out that does not fit.
    pub fn run_over_leaves<'c, P: TreePages>(
        &mut self,
        pages: &mut P,
        run: &LeafRun,
        changes: impl IntoIterator<Item = CellChange<'c>>,
    ) {
        self.claim_way(pages, run);
        let old = pages.page(run.leaf).expect("the page was reached").to_vec();
        let cells = merged(&old, run, changes);
        let is_last = run.lasts > run.depth;
        let is_behind_all = run.places.last().is_some_and(Result::is_err)
            && run.places.last() == Some(&Err(TreeNode::new(&old).count()));
        let all = TreeNode::new(&old).used() + TreeNode::new(&old).free();
        // Where more keys come behind, full leaves are left.
        let ends = spread(&cells, all, !(run.is_cut || is_last && is_behind_all));
        let mut splits = Vec::with_capacity(ends.len());
        let mut from = 0;
        for end in ends {
            let number = match from {
                0 => run.leaf,
                _ => pages.allocate(),
            };
            pages.edit(number, PageEdit::Init { kind: PageKind::Leaf });
            for ((key, value), at) in cells[from..end].iter().zip(0..) {
                pages.edit(number, PageEdit::Insert { at, key, value });
            }
            if from > 0 {
                let (before, first) = (cells[from - 1].0, cells[from].0);
                let right = Child { page: number, version: pages.coming() };
                let separator = first[..shared(before, first) + 1].to_vec();
                splits.push(Split { separator, right });
            }
            from = end;
        }
        for (level, (number, _)) in run.above[..run.depth].iter().enumerate().rev() {
            splits = hang(pages, (*number, level < run.lasts), splits);
        }
        while !splits.is_empty() {
            let others = splits.split_off(1);
            self.grow(pages, &splits[0]);
            splits = hang(pages, (self.top().page, true), others);
        }
    }

    /// Names the coming version of what is to be edited. What is not must not be promised to the coming checkpoint.
    fn claim_way<P: TreePages>(&mut self, pages: &mut P, run: &LeafRun) {
        if !run.changes {
            return;
        }
        self.claim_root(pages);
        if !run.is_dirty {
            for (number, at) in &run.above[..run.depth] {
                claim_child(pages, *number, *at);
            }
        }
    }
}

/// The leaf's cells with the run carried out.
fn merged<'a, 'c: 'a>(
    leaf: &'a [u8],
    run: &LeafRun,
    changes: impl IntoIterator<Item = CellChange<'c>>,
) -> Vec<Entry<'a>> {
    let leaf = TreeNode::new(leaf);
    let mut cells = Vec::with_capacity(usize::from(leaf.count()) + run.count());
    let mut next = 0;
    for ((key, value), place) in changes.into_iter().zip(&run.places) {
        let (Ok(at) | Err(at)) = *place;
        cells.extend((next..at).map(|at| (leaf.key(at), leaf.value(at))));
        cells.extend(value.map(|value| (key, value)));
        next = at + u16::from(place.is_ok());
    }
    cells.extend((next..leaf.count()).map(|at| (leaf.key(at), leaf.value(at))));
    cells
}

/// Behind which cells the leaves end that these are spread over, each with room for so many bytes: as few as hold them, evenly or filled one
/// after the other.
fn spread(cells: &[Entry<'_>], room: usize, evenly: bool) -> Vec<usize> {
    let bytes = |cell: &Entry<'_>| entry_bytes(cell.0.len(), cell.1.len());
    let fill = |share: usize| {
        let (mut ends, mut here) = (Vec::new(), 0);
        for (at, cell) in cells.iter().enumerate() {
            let bytes = bytes(cell);
            let is_full = here + bytes > room || here + bytes / 2 > share;
            if here > 0 && is_full {
                ends.push(at);
                here = 0;
            }
            here += bytes;
        }
        ends.push(cells.len());
        ends
    };
    let filled = fill(room);
    if !evenly || filled.len() == 1 {
        return filled;
    }
    let all = cells.iter().map(bytes).sum::<usize>();
    let even = fill(all.div_ceil(filled.len()));
    if even.len() > filled.len() { filled } else { even }
}

/// Puts what was split off below a node, given with whether it is the last of its level, behind what it was split off from. Answers what is split off from
/// the node, in the order of keys.
fn hang<P: TreePages>(
    pages: &mut P,
    (number, is_last): (PageNo, bool),
    splits: Vec<Split>,
) -> Vec<Split> {
    let mut halves: Vec<Split> = Vec::new();
    for split in splits {
        let left = halves.iter().filter(|half| half.separator <= split.separator).count();
        let number = left.checked_sub(1).map_or(number, |at| halves[at].right.page);
        let at = resident(pages, number).route(&split.separator) + 1;
        let child = split.right.bits().to_le_bytes();
        let node = WayNode { number, levels: 2, is_last: is_last && left == halves.len() };
        let cell = Cell { at, key: &split.separator, value: &child };
        if let Some(half) = insert(pages, node, cell) {
            halves.insert(left, half);
        }
    }
    halves
}
