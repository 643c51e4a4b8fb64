//! Random histories: each image and each snapshot reads as it was written, however far the background jobs are, and
//! through restarts that forget some of their progress.

use crate::disks::{CELL, Disks};
use loadline_base::Rng;
use loadline_cluster::PoolId;
use loadline_cluster::images::{ImageError, Images, JobId, OBJECT_BYTES_MIN, PendingJob};
use std::collections::BTreeMap;

const STEPS: usize = 150;
const POOL: PoolId = PoolId::new(0);
/// Most cells of an image: four objects.
const CELLS: u64 = 8;

struct History {
    rng: Rng,
    images: Images,
    disks: Disks,
    /// What each image, and each snapshot under `image@snapshot`, reads as.
    copies: BTreeMap<String, Vec<u64>>,
    /// Blocks done beyond what the table knows.
    done: BTreeMap<JobId, u32>,
    written: u64,
}

impl History {
    fn new(seed: u64) -> History {
        History {
            rng: Rng::new(seed),
            images: Images::default(),
            disks: Disks::default(),
            copies: BTreeMap::new(),
            done: BTreeMap::new(),
            written: 0,
        }
    }

    fn name(&mut self) -> String {
        format!("i{}", self.rng.below(4))
    }

    fn step(&mut self) {
        let (image, snapshot) = (self.name(), format!("s{}", self.rng.below(4)));
        let both = format!("{image}@{snapshot}");
        match self.rng.below(16) {
            0 => self.create(&image),
            1 | 2 => self.resize(&image),
            3 | 4 => {
                if self.images.snapshot_create(&image, &snapshot).is_ok() {
                    self.copies.insert(both, self.copies[&image].clone());
                }
            }
            5 | 6 => {
                if self.images.snapshot_remove(&image, &snapshot).is_ok() {
                    self.copies.remove(&both);
                }
            }
            7 => {
                let to = self.name();
                if self.images.clone_image(&both, &to).is_ok() {
                    self.copies.insert(to, self.copies[&both].clone());
                }
            }
            8 if self.images.remove(&image).is_ok() => drop(self.copies.remove(&image)),
            9 => self.rename(&image),
            10..12 => self.work(),
            12 => {
                let block = self.rng.below(CELLS / 2) as u32;
                self.disks.trim(&self.images, block);
            }
            _ => self.write(&image),
        }
    }

    fn create(&mut self, name: &str) {
        let cells = 1 + self.rng.below(CELLS);
        if self.images.create(name, POOL, cells * CELL, OBJECT_BYTES_MIN).is_ok() {
            self.copies.insert(name.to_owned(), vec![0; cells as usize]);
        }
    }

    fn resize(&mut self, name: &str) {
        let cells = 1 + self.rng.below(CELLS);
        if self.images.resize(name, cells * CELL).is_ok() {
            let copy = self.copies.get_mut(name).expect("it exists");
            copy.resize(cells as usize, 0);
        }
    }

    fn rename(&mut self, from: &str) {
        let to = self.name();
        if self.images.rename(from, &to).is_ok() {
            let moved = |name: &str| match name.strip_prefix(from) {
                Some(rest) if rest.is_empty() || rest.starts_with('@') => format!("{to}{rest}"),
                _ => name.to_owned(),
            };
            let copies = std::mem::take(&mut self.copies);
            self.copies = copies.into_iter().map(|(name, copy)| (moved(&name), copy)).collect();
        }
    }

    fn write(&mut self, name: &str) {
        let Ok(view) = self.images.find(name) else { return };
        let copy = self.copies.get_mut(name).expect("it exists");
        let from = self.rng.below(copy.len() as u64);
        let count = 1 + self.rng.below(copy.len() as u64 - from);
        let values: Vec<u64> = (1..=count).map(|more| self.written + more).collect();
        self.written += count;
        copy[from as usize..(from + count) as usize].copy_from_slice(&values);
        self.disks.write(&view, from, &values);
    }

    /// A block of a job that is due; now and then the table is told, or a restart forgets what it was not told.
    fn work(&mut self) {
        let due: Vec<PendingJob> = self.images.due(POOL).copied().collect();
        if due.is_empty() {
            return;
        }
        let job = due[self.rng.below(due.len() as u64) as usize];
        let block = self.done.get(&job.id).copied().unwrap_or(job.next);
        if block <= job.last {
            self.disks.work(&job, block);
            self.done.insert(job.id, block + 1);
        }
        match self.rng.below(4) {
            0 => drop(self.done.remove(&job.id)),
            1 => {}
            _ => {
                self.images.advance(job.id, u64::from(self.done[&job.id]));
            }
        }
    }

    fn check(&self) {
        for (name, copy) in &self.copies {
            let view = self.images.find(name).expect("it exists");
            assert_eq!(&self.disks.read(&view), copy, "{name}");
        }
        let named = self.images.list().map(|image| 1 + image.snapshots.len()).sum::<usize>();
        assert_eq!(named, self.copies.len());
    }

    fn finish_all(&mut self) {
        loop {
            let due = self.images.due(POOL).next().copied();
            let Some(job) = due else { break };
            (job.next..=job.last).for_each(|block| self.disks.work(&job, block));
            assert!(self.images.finish(job.id));
        }
        (0..CELLS as u32 / 2).for_each(|block| self.disks.trim(&self.images, block));
    }
}

#[test]
fn every_image_and_snapshot_reads_as_it_was_written() {
    let (mut clones, mut jobs) = (0, 0);
    for seed in 0..2_000 {
        let mut history = History::new(seed);
        for _ in 0..STEPS {
            history.step();
            history.check();
            jobs += history.images.jobs().count();
        }
        clones += history.images.list().filter(|image| image.parent.is_some()).count();
        history.finish_all();
        history.check();
        history.disks.hold_only_what_is_needed(&history.images);
    }
    assert!(clones > 300 && jobs > 300_000, "{clones} clones, {jobs} jobs");
}

/// An image was made smaller and larger again before what was cut off had been removed: then either old data would
/// show, or the job would take new data.
#[test]
fn an_image_grows_again_only_when_what_was_cut_off_is_gone() {
    let mut history = History::new(0);
    let images = &mut history.images;
    let bytes = OBJECT_BYTES_MIN;
    images.create("a", PoolId::new(0), 3 * bytes, bytes).expect("a new name");
    let cut = images.resize("a", bytes).expect("smaller").expect("something is cut off");
    assert_eq!((cut.next_object().0 as u32, cut.last_object().0 as u32), (1, 2));
    assert_eq!(images.resize("a", 2 * bytes), Err(ImageError::BeingCut("a".into())));
    images.advance(cut.id, 2);
    assert!(images.resize("a", 2 * bytes).is_err());
    images.advance(cut.id, 3);
    assert_eq!(images.resize("a", 2 * bytes), Ok(None));
}
