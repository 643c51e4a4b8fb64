//! Names of files that last, and folders that do not where nothing comes of them.

use loadline_host::{folder_of, make_folder};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Makes a folder and those above it where they are missing, for what follows. Where that comes to nothing, those that were made are gone again,
/// unless somebody has put something there.
pub(crate) fn in_folder<T, E>(
    path: &Path,
    cannot: impl FnOnce(io::Error) -> E,
    then: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let made = make_folder(path).map_err(cannot)?;
    then().inspect_err(|_| made.unmake())
}

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

/// The folder of a file, in which nobody else makes a database until this is dropped: they wait.
pub(crate) fn hold_folder(file: &Path) -> io::Result<File> {
    let folder = File::open(folder_of(file))?;
    folder.lock()?;
    Ok(folder)
}

/// A file of this name, which is nobody else's until this is dropped: they wait. It is empty, or has what stood there before.
pub(crate) fn hold_part(part: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(part)?;
        file.lock()?;
        // Who had it before may have given it another name, or removed it.
        let is_of_name = fs::metadata(part).is_ok_and(|named| {
            file.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (named.dev(), named.ino()))
        });
        if is_of_name {
            return Ok(file);
        }
    }
}
