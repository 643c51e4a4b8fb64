//! Random changes of the table of images, and its end.

use super::judge::{CELL, Judged, POOL};
use crate::judge::OSDS;
use loadline_cluster::images::{ImageError, Images, OBJECT_BYTES_MIN};
use loadline_osd::{OsdId, PgId};

/// Most cells of an image: three objects and a bit.
const CELLS: u64 = 50;

impl Judged {
    pub(super) fn name(&mut self) -> String {
        format!("i{}", self.rng.below(4))
    }

    /// Asks for a random change of the table, and waits until it is kept.
    pub(super) fn change_table(&mut self) {
        let (image, snapshot) = (self.name(), format!("s{}", self.rng.below(4)));
        let both = format!("{image}@{snapshot}");
        let cells = 1 + self.rng.below(CELLS);
        match self.rng.below(12) {
            0..3 => {
                if self.table(|i| i.create(&image, POOL, cells * CELL, OBJECT_BYTES_MIN)).is_ok() {
                    self.copies.insert(image, vec![0; cells as usize]);
                }
            }
            3 => {
                if self.table(|images| images.resize(&image, cells * CELL)).is_ok() {
                    self.copies.get_mut(&image).expect("it exists").resize(cells as usize, 0);
                }
            }
            4..7 => self.take_snapshot(&image, &snapshot),
            7 => {
                if self.table(|images| images.snapshot_remove(&image, &snapshot)).is_ok() {
                    self.copies.remove(&both);
                }
            }
            8..11 => {
                let to = self.name();
                if self.table(|images| images.clone_image(&both, &to)).is_ok() {
                    self.copies.insert(to, self.copies[&both].clone());
                }
            }
            _ => {
                if self.table(|images| images.remove(&image)).is_ok() {
                    self.copies.remove(&image);
                }
            }
        }
    }

    /// Now and then the process dies before the snapshot is kept; then it may exist or not.
    fn take_snapshot(&mut self, image: &str, snapshot: &str) {
        let both = format!("{image}@{snapshot}");
        let dies = self.rng.below(4) == 0;
        let change = |images: &mut Images| images.snapshot_create(image, snapshot);
        let made = if dies { self.node().change_images(change) } else { self.table(change) };
        if made.is_err() {
            return;
        }
        if dies {
            self.load_image(image);
            let steps = self.rng.below(20);
            self.steps(steps);
            // Reading the image tells what of its writes has happened.
            let before = self.copies[image].clone();
            self.crash();
            if self.node().cluster().kept_images().find(&both).is_ok() {
                let taken = self.read(&both);
                let now = &self.copies[image];
                for (at, stamp) in taken.iter().enumerate() {
                    assert!([before[at], now[at]].contains(stamp), "{both} cell {at}: {stamp}");
                }
                self.copies.insert(both, taken);
            }
        } else {
            self.copies.insert(both, self.copies[image].clone());
        }
    }

    pub(super) fn table<T>(
        &mut self,
        change: impl FnOnce(&mut Images) -> Result<T, ImageError>,
    ) -> Result<T, ImageError> {
        let changed = self.node().change_images(change)?;
        self.commit();
        Ok(changed)
    }

    /// Removes all images, clones first; when the last job is done, nothing may be left.
    pub(super) fn remove_everything(&mut self) {
        while !self.copies.is_empty() {
            for name in self.copies.keys().cloned().collect::<Vec<_>>() {
                let removed = match name.split_once('@') {
                    Some((image, snapshot)) => {
                        self.table(|images| images.snapshot_remove(image, snapshot)).is_ok()
                    }
                    None => self.table(|images| images.remove(&name)).is_ok(),
                };
                if removed {
                    self.copies.remove(&name);
                }
            }
        }
        while self.node().cluster().due_image_job(POOL, |_| true).is_some() {
            self.work();
            self.drain();
        }
        self.heal();
        for osd in (0..OSDS).map(OsdId::new) {
            let pgs: Vec<PgId> = self.node().cluster().map().pgs_of(POOL).collect();
            for pg in pgs {
                let holder = self.node().osd(osd);
                assert_eq!(holder.objects(pg).len(), 0, "{pg} on {osd}");
                assert!(!holder.keeps_any(pg), "{pg} on {osd}");
            }
        }
    }
}
