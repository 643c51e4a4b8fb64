//! Names of files that last.

use loadline_host::{folder_of, has_name};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// When who waits for a folder looks again.
const LOOK: Duration = Duration::from_millis(20);

/// Gives a file its name, so that it keeps it after a power cut.
pub(crate) fn rename_durably(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    File::open(folder_of(to))?.sync_all()
}

/// Gives a file its name as well, unless something has that: nothing that came meanwhile is lost.
pub(crate) fn name_durably(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to)?;
    fs::remove_file(from)?;
    File::open(folder_of(to))?.sync_all()
}

/// The folder of a file, in which nobody else makes a database until this is dropped: they wait. `None` if it was to stop before it was its turn.
#[expect(clippy::disallowed_methods, reason = "the kernel's own wait for a lock hears of no stop")]
pub(crate) fn hold_folder(file: &Path, stop: &AtomicBool) -> io::Result<Option<File>> {
    let folder = File::open(folder_of(file))?;
    loop {
        match folder.try_lock() {
            Ok(()) => return Ok(Some(folder)),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if stop.load(Ordering::Relaxed) => return Ok(None),
            Err(TryLockError::WouldBlock) => thread::sleep(LOOK),
        }
    }
}

/// A file of this name, which is nobody else's until this is dropped: they wait. It is empty, or has what stood there before.
pub(crate) fn hold_part(part: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(part)?;
        file.lock()?;
        if has_name(&file, part) {
            return Ok(file);
        }
    }
}
