//! The file or device under measurement: what may be done with it, and what is made for it.

use crate::error::{MeasureError, TargetRefused};
use crate::plan::{MeasureOrder, OBJECT};
use loadline_base::Bytes;
use loadline_host::{Direct, DiskKind, DiskOpen, OpenedDisk};
use std::path::{Path, PathBuf};

/// The size of a file that is made, if nothing else is said: more than most drives' own caches, soon written.
const NEW_FILE: Bytes = Bytes::from_mib(1024);

/// An opened target.
#[derive(Debug)]
pub struct MeasureTarget {
    /// The disk, for a loop to take.
    pub(crate) disk: OpenedDisk,
    /// How much of it is used.
    pub(crate) region: Bytes,
    /// Whether it is written.
    pub(crate) writes: bool,
    /// Removes the file that was made.
    pub(crate) made: Option<MadeFile>,
}

/// A file of ours, which goes when nobody needs it.
#[derive(Debug)]
pub(crate) struct MadeFile {
    path: PathBuf,
    keep: bool,
}

impl Drop for MadeFile {
    fn drop(&mut self) {
        if !self.keep {
            // Whoever removed it before us has done what we wanted.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl MeasureTarget {
    /// Opens what an order names, or makes it.
    ///
    /// # Errors
    /// [`TargetRefused`] before anything is touched, or why it cannot be opened.
    pub fn open(order: &MeasureOrder) -> Result<MeasureTarget, MeasureError> {
        check(order)?;
        let is_there = order.path.exists();
        if is_there && order.write && !order.consent {
            return Err(TargetRefused::NoConsent(order.path.clone()).into());
        }
        let open = match is_there {
            true => DiskOpen::existing(&order.path),
            false => DiskOpen::or_create(&order.path, order.size.unwrap_or(NEW_FILE)),
        };
        let disk = DiskOpen { direct: Direct::Auto, ..open }.open()?;
        let made = disk.was_created();
        let made = made.then(|| MadeFile { path: order.path.clone(), keep: order.keep });
        let region = region(order, disk.size())?;
        Ok(MeasureTarget { disk, region, writes: made.is_some() || order.write, made })
    }

    /// Whether it is written.
    pub fn is_written(&self) -> bool {
        self.writes
    }

    /// Whether it is a device.
    pub fn is_device(&self) -> bool {
        self.disk.kind() == DiskKind::BlockDevice
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.disk.path()
    }
}

fn check(order: &MeasureOrder) -> Result<(), TargetRefused> {
    if !(2..=100).contains(&order.repeats) {
        return Err(TargetRefused::Repeats(order.repeats));
    }
    let seconds = order.time.as_secs_f64();
    if !(0.05..=600.0).contains(&seconds) {
        return Err(TargetRefused::Time);
    }
    match order.size {
        Some(size) if !is_region(size) => {
            let path = order.path.clone();
            Err(TargetRefused::Region { path, region: size })
        }
        _ => Ok(()),
    }
}

/// A region has room for the deepest line of the largest transfer.
fn is_region(size: Bytes) -> bool {
    size >= Bytes::from_mib(16) && size.get().is_multiple_of(OBJECT.get())
}

/// What is used of a disk: what was asked for, or the whole objects that it has.
fn region(order: &MeasureOrder, is: Bytes) -> Result<Bytes, TargetRefused> {
    let path = order.path.clone();
    let region = order.size.unwrap_or(Bytes::new(is.get() / OBJECT.get() * OBJECT.get()));
    if region > is {
        return Err(TargetRefused::TooSmall { path, is, wanted: region });
    }
    if is_region(region) { Ok(region) } else { Err(TargetRefused::Region { path, region }) }
}
