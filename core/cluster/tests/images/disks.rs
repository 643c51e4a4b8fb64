//! Objects with the states that an OSD keeps of them, changed only as views and jobs say. Two cells stand for the bytes
//! of an object.

use loadline_cluster::images::{
    AncestorObject, ImageId, Images, JobWork, OBJECT_BYTES_MIN, PendingJob, SnapshotId, View, split,
};
use loadline_store::ObjectNo;
use std::collections::BTreeMap;

/// Bytes of a cell.
pub(crate) const CELL: u64 = OBJECT_BYTES_MIN / 2;

type Cells = [u64; 2];

/// A state of an object, which no snapshot up to `born` shows.
#[derive(Clone, Copy)]
struct State {
    cells: Cells,
    born: SnapshotId,
}

/// An object: as it is, and as it was, by label.
#[derive(Default)]
struct Object {
    head: Option<State>,
    clones: BTreeMap<SnapshotId, State>,
}

/// Every object of every OSD; copies do not matter here.
#[derive(Default)]
pub(crate) struct Disks {
    objects: BTreeMap<ObjectNo, Object>,
}

impl Object {
    fn at(&self, snapshot: SnapshotId) -> Option<Cells> {
        let state = match snapshot {
            SnapshotId::HEAD => self.head,
            _ => self.clones.range(snapshot..).next().map(|(_, s)| *s).or(self.head),
        };
        let shows = |s: &State| snapshot == SnapshotId::HEAD || s.born < snapshot;
        state.filter(shows).map(|state| state.cells)
    }

    /// Before the head changes: what the newest snapshot shows is kept.
    fn keep(&mut self, newest: SnapshotId) {
        let label = self.clones.keys().next_back().copied().unwrap_or_default();
        if let Some(head) = self.head.filter(|head| head.born < newest && label < newest) {
            self.clones.insert(newest, head);
        }
    }

    fn trim(&mut self, snapshot: SnapshotId, keep: SnapshotId) {
        let Some(state) = self.clones.remove(&snapshot) else { return };
        let before =
            self.clones.range(..snapshot).next_back().map_or(SnapshotId::HEAD, |(l, _)| *l);
        if keep > before && keep > state.born {
            self.clones.insert(keep, state);
        }
    }
}

impl Disks {
    fn behind(&self, view: &View, object: ObjectNo) -> Cells {
        let found = |b: AncestorObject| {
            let cells = self.objects.get(&b.object)?.at(b.snapshot)?;
            let visible = |at: u64| at * CELL < u64::from(b.length);
            Some([0, 1].map(|at| if visible(at) { cells[at as usize] } else { 0 }))
        };
        view.behind(object).find_map(found).unwrap_or_default()
    }

    /// The view's cells, read piece by piece.
    pub(crate) fn read(&self, view: &View) -> Vec<u64> {
        let mut all = Vec::new();
        for piece in split(view, 0, view.size) {
            assert_eq!(piece.at, all.len() as u64 * CELL, "pieces are in order and leave no gap");
            let own = self.objects.get(&piece.object).and_then(|object| object.at(view.read_at));
            let cells = own.unwrap_or_else(|| self.behind(view, piece.object));
            let first = u64::from(piece.offset) / CELL;
            let count = u64::from(piece.length) / CELL;
            all.extend(&cells[first as usize..(first + count) as usize]);
        }
        all
    }

    /// Writes cells from `cell` on.
    pub(crate) fn write(&mut self, view: &View, cell: u64, values: &[u64]) {
        for piece in split(view, cell * CELL, values.len() as u64 * CELL) {
            let behind = self.behind(view, piece.object);
            let object = self.objects.entry(piece.object).or_default();
            object.keep(view.newest);
            let head = object.head.get_or_insert(State { cells: behind, born: view.newest });
            for at in 0..u64::from(piece.length) / CELL {
                let inside = u64::from(piece.offset) / CELL + at;
                head.cells[inside as usize] = values[(piece.at / CELL + at) as usize];
            }
        }
    }

    /// Carries out one block of a job.
    pub(crate) fn work(&mut self, job: &PendingJob, block: u32) {
        let number = job.image.object(block);
        let Some(object) = self.objects.get_mut(&number) else { return };
        match job.work {
            JobWork::Remove => drop(self.objects.remove(&number)),
            JobWork::Cut { first, offset, snapshot } => {
                object.keep(snapshot);
                let kept = if block == first { u64::from(offset) / CELL } else { 0 };
                match (&mut object.head, kept) {
                    (head, 0) => *head = None,
                    (None, _) => {}
                    (Some(head), kept) => head.cells[kept as usize..].fill(0),
                }
            }
        }
    }

    /// Gives back what the objects of a block keep for removed snapshots alone. What is left of an image that is gone goes with it.
    pub(crate) fn trim(&mut self, images: &Images, block: u32) {
        let of_block = |number: &ObjectNo| ImageId::of(*number).1 == block;
        for (number, object) in self.objects.iter_mut().filter(|(number, _)| of_block(number)) {
            let Some(image) = images.get(ImageId::of(*number).0) else { continue };
            let live: Vec<SnapshotId> = image.snapshots.iter().map(|live| live.id).collect();
            let labels: Vec<SnapshotId> = object.clones.keys().copied().collect();
            for label in labels.into_iter().filter(|label| !live.contains(label)) {
                let older = live.iter().rfind(|live| **live < label);
                object.trim(label, older.copied().unwrap_or_default());
            }
        }
    }

    /// When no job is left, nothing is kept that nobody can read.
    pub(crate) fn hold_only_what_is_needed(&self, images: &Images) {
        for (number, object) in &self.objects {
            let (id, _): (ImageId, u32) = ImageId::of(*number);
            let image = images.get(id).unwrap_or_else(|| panic!("{number} of {id} is left over"));
            for (label, state) in &object.clones {
                let is_live = image.snapshots.iter().any(|snapshot| snapshot.id == *label);
                assert!(is_live && state.born < *label, "{number} keeps {label:?}");
            }
        }
    }
}
