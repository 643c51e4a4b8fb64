//! Names of files that last.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Gives a file its name, so that it keeps it after a power cut.
pub(crate) fn rename_durably(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::rename(from, to)?;
    File::open(folder_of(to))?.sync_all()
}

/// Gives a file its name as well, unless something has that: nothing that came meanwhile is lost.
pub(crate) fn name_durably(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::hard_link(from, to)?;
    fs::remove_file(from)?;
    File::open(folder_of(to))?.sync_all()
}

/// The folder of a file, in which nobody else makes a database until this is dropped: they wait.
pub(crate) fn hold_folder(file: &Path) -> std::io::Result<File> {
    let folder = File::open(folder_of(file))?;
    folder.lock()?;
    Ok(folder)
}

/// An empty file of this name, which is nobody else's until this is dropped: they wait. What has died is in nobody's way.
pub(crate) fn hold_part(part: &Path) -> std::io::Result<File> {
    loop {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(part)?;
        file.lock()?;
        // Who had it before may have given it another name, or removed it.
        let is_of_name = fs::metadata(part).is_ok_and(|named| {
            file.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (named.dev(), named.ino()))
        });
        if is_of_name {
            file.set_len(0)?;
            return Ok(file);
        }
    }
}

/// The folder that a file is in.
fn folder_of(file: &Path) -> &Path {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}
