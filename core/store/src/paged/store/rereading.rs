//! Which pages of the store's own making are still to be read again, as a value.

use crate::paged::api::{OwnPages, Reread};
use crate::paged::ids::{Child, PageNo};
use crate::paged::keys;
use crate::paged::space::Space;
use crate::paged::tree::{Missing, NodesAsked, NodesWithin};
use std::collections::VecDeque;
use std::ops::Range;

/// So many pages are asked of the device at a time; a tree that is higher has more on the way to a leaf.
pub const REREAD_PAGES: usize = 16;

/// Pages that are read again.
#[derive(Clone, Debug)]
pub(super) struct Rereading {
    /// Of the tree: the keys that are left.
    keys: VecDeque<Range<Vec<u8>>>,
    /// The first of these goes on behind what was read.
    goes_on: bool,
    /// Of the free map: which pages are left.
    map: Range<u64>,
    pub step: RereadStep,
    /// What is being read: neighbouring pages, of one request each.
    pub runs: Vec<Vec<Child>>,
    /// The key behind them, if they are of the tree and more follow.
    next: Option<Vec<u8>>,
    /// Requests without an answer.
    pub left: usize,
    /// Which of these pages are not what they should be.
    pub bad: Vec<Child>,
    /// How often some were.
    pub looks: u32,
    pub found: Reread,
}

/// What it waits for, if for anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RereadStep {
    /// Its next pages are to be found.
    Find,
    /// They are being read.
    Read,
    /// Bad ones are being written.
    Write,
}

impl Rereading {
    pub(super) fn new(pages: &OwnPages, map_pages: u64) -> Rereading {
        let all_of = |kind: u8| vec![kind]..vec![kind + 1];
        let user = |key: &[u8]| [&[keys::USER], key].concat();
        let (keys, map) = match pages {
            OwnPages::Objects(collection, objects) => {
                let of = |kind| keys::of_objects(kind, *collection, objects);
                (vec![of(keys::ATTRIBUTE), of(keys::EXTENT), of(keys::OBJECTS)], 0..0)
            }
            OwnPages::Keys(range) => (vec![user(&range.start)..user(&range.end)], 0..0),
            OwnPages::Rest => (
                vec![all_of(keys::PROGRESS[0]), all_of(keys::SHARED), all_of(keys::PIECE)],
                0..map_pages,
            ),
        };
        Rereading {
            keys: keys.into(),
            goes_on: false,
            map,
            step: RereadStep::Find,
            runs: Vec::new(),
            next: None,
            left: 0,
            bad: Vec::new(),
            looks: 0,
            found: Reread::default(),
        }
    }

    /// A page is bad and nowhere else.
    pub(super) fn lose(&mut self, page: PageNo) {
        self.found.lost.push(page);
    }

    /// Finds the next pages that are to be read. Answers whether there are any.
    pub(super) fn find(&mut self, space: &Space) -> Result<bool, Missing> {
        let pages = &space.pages;
        loop {
            let lost = &self.found.lost;
            let nodes = if let Some(keys) = self.keys.front() {
                let asked = NodesAsked { keys, goes_on: self.goes_on, enough: REREAD_PAGES };
                let is_lost = |page| lost.contains(&page);
                let NodesWithin { nodes, next, .. } =
                    space.tree.nodes_within(pages, asked, is_lost)?;
                self.next = next;
                nodes
            } else if self.map.is_empty() {
                return Ok(false);
            } else {
                let end = self.map.end.min(self.map.start + REREAD_PAGES as u64);
                let number = |at| pages.layout().map_first.plus(at);
                (self.map.start..end).map(|at| Child::of_any_version(number(at))).collect()
            };
            // What the device has not got yet will be new there.
            let is_at_rest =
                |node: &Child| !pages.is_resident(node.page) || pages.is_at_home(node.page);
            let nodes =
                nodes.into_iter().filter(|node| is_at_rest(node) && !lost.contains(&node.page));
            // One that cannot be read must not hide its neighbours.
            let run_max = if self.looks == 0 { REREAD_PAGES } else { 1 };
            self.runs = runs_of(nodes, run_max);
            if !self.runs.is_empty() {
                return Ok(true);
            }
            self.go_behind();
        }
    }

    /// The pages that were found are done with.
    pub(super) fn go_behind(&mut self) {
        self.found.pages += self.runs.drain(..).map(|run| run.len() as u64).sum::<u64>();
        self.bad.clear();
        (self.looks, self.step) = (0, RereadStep::Find);
        match (self.keys.front_mut(), self.next.take()) {
            (Some(keys), Some(next)) => (keys.start, self.goes_on) = (next, true),
            (Some(_), None) => {
                self.keys.pop_front();
                self.goes_on = false;
            }
            (None, _) => self.map.start = self.map.end.min(self.map.start + REREAD_PAGES as u64),
        }
    }
}

/// Neighbours that follow each other, so many at most in one.
fn runs_of(nodes: impl Iterator<Item = Child>, most: usize) -> Vec<Vec<Child>> {
    let mut runs: Vec<Vec<Child>> = Vec::new();
    for node in nodes {
        let is_next = |run: &&mut Vec<Child>| {
            run.len() < most && run.last().is_some_and(|last| last.page.plus(1) == node.page)
        };
        match runs.last_mut().filter(is_next) {
            Some(run) => run.push(node),
            None => runs.push(vec![node]),
        }
    }
    runs
}
