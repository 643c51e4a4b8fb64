//! Whether what will come of long work could be written: asked before it begins.

use crate::failure::Failure;
use rustix::fs::{Access, access};
use std::fs;
use std::io;
use std::path::Path;

/// A file, in a folder that is there.
pub(crate) fn file(path: &Path) -> Result<(), Failure> {
    let refused = |error: io::Error| Failure::unwritable(path, &error);
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(refused(io::ErrorKind::IsADirectory.into())),
        // A pipe or a terminal is written as it is.
        Ok(found) if !found.is_file() => Ok(()),
        _ => enter(above(path)).map_err(refused),
    }
}

/// A folder that is made if it is missing, and those above it.
pub(crate) fn folder(path: &Path) -> Result<(), Failure> {
    let there = path.ancestors().find(|folder| fs::symlink_metadata(named(folder)).is_ok());
    enter(named(there.unwrap_or(Path::new("")))).map_err(|error| Failure::unwritable(path, &error))
}

/// Whether something can be made in a folder.
fn enter(folder: &Path) -> io::Result<()> {
    match fs::metadata(folder)?.is_dir() {
        true => Ok(access(folder, Access::WRITE_OK | Access::EXEC_OK)?),
        false => Err(io::ErrorKind::NotADirectory.into()),
    }
}

fn above(path: &Path) -> &Path {
    named(path.parent().unwrap_or(Path::new("/")))
}

/// A relative path ends above in one without a name: the current folder.
fn named(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_written_is_known_before() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("file"), "").unwrap();
        let is_good = |checked: Result<(), Failure>| checked.is_ok();
        assert!(is_good(file(&at("new"))) && is_good(file(&at("file"))));
        assert!(is_good(file(Path::new("new"))) && is_good(file(Path::new("/dev/null"))));
        assert!(!is_good(file(place.path())) && !is_good(file(&at("none/new"))));
        assert!(!is_good(file(&at("file/new"))));
        assert!(is_good(folder(&at("a/b"))) && is_good(folder(place.path())));
        assert!(is_good(folder(Path::new("a/b"))) && !is_good(folder(&at("file"))));
        assert!(!is_good(folder(&at("file/b"))));
    }
}
