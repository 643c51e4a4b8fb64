//! Names of files that last.

use std::fs::{self, File};
use std::path::Path;

/// Gives a file its name, so that it keeps it after a power cut.
pub(crate) fn rename_durably(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::rename(from, to)?;
    File::open(folder_of(to))?.sync_all()
}

/// The folder that a file is in.
pub(crate) fn folder_of(file: &Path) -> &Path {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}
