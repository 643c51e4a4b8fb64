//! Files that are written under a name that somebody has given. One rule holds for all of them: a file that is there is somebody's, a node's disk among them, and
//! is left as it is. Whether one could be written is asked before long work begins.

use crate::failure::Failure;
use loadline_host::folder_of;
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// A new file, in a folder that is there.
pub(crate) fn file(path: &Path) -> Result<(), Failure> {
    let refused = |error: io::Error| Failure::unwritable(path, &error);
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(refused(io::ErrorKind::IsADirectory.into())),
        Ok(found) if keeps_nothing(&found) => Ok(()),
        Ok(_) => Err(taken(path)),
        // A link that leads nowhere would be followed, or replaced.
        Err(_) if fs::symlink_metadata(path).is_ok() => Err(taken(path)),
        Err(_) => enter(folder_of(path)).map_err(refused),
    }
}

/// Writes a new file, of which nothing is left if it cannot be written whole. Nothing that came there meanwhile is replaced.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    let unwritable = |error: io::Error| Failure::unwritable(path, &error);
    file(path)?;
    if fs::metadata(path).is_ok_and(|found| keeps_nothing(&found)) {
        return fs::write(path, content).map_err(unwritable);
    }
    let made = OpenOptions::new().write(true).create_new(true).open(path);
    let mut made = made.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => taken(path),
        _ => unwritable(error),
    })?;
    let written = made.write_all(content.as_ref()).and_then(|()| made.sync_all());
    written.map_err(|error| {
        // What cannot be written is told; that a part of it cannot be taken away adds nothing.
        let _ = fs::remove_file(path);
        unwritable(error)
    })
}

/// Whether it is written as it is, because nothing that it had could be lost: a pipe, a terminal, `/dev/null`.
fn keeps_nothing(found: &Metadata) -> bool {
    !found.is_file() && !found.file_type().is_block_device()
}

fn taken(path: &Path) -> Failure {
    Failure::Input(format!(
        "{}: it is there already, and is left as it is: name another file",
        path.display()
    ))
}

/// A folder that is made if it is missing, and those above it.
pub(crate) fn folder(path: &Path) -> Result<(), Failure> {
    let there = path.ancestors().find(|folder| fs::symlink_metadata(named(folder)).is_ok());
    enter(named(there.unwrap_or(Path::new("")))).map_err(|error| Failure::unwritable(path, &error))
}

/// Whether something can be made in a folder, which is known when something was: rights alone do not tell of `/proc`, nor of a full disk.
fn enter(folder: &Path) -> io::Result<()> {
    if !fs::metadata(folder)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let trial = folder.join(format!(".loadline-{}", std::process::id()));
    match fs::create_dir(&trial) {
        // Another thread finds out the same.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.and_then(|()| fs::remove_dir(&trial)),
    }
}

/// A relative path ends in one without a name: the current folder.
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
        assert!(is_good(file(&at("new"))));
        assert!(is_good(file(Path::new("new"))) && is_good(file(Path::new("/dev/null"))));
        assert!(!is_good(file(place.path())) && !is_good(file(&at("none/new"))));
        assert!(!is_good(file(&at("file/new"))));
        assert!(is_good(folder(&at("a/b"))) && is_good(folder(place.path())));
        assert!(is_good(folder(Path::new("a/b"))) && !is_good(folder(&at("file"))));
        assert!(!is_good(folder(&at("file/b"))));
        // Who may everything is told of no right that it lacks there.
        assert!(!is_good(folder(Path::new("/proc/x"))) && !is_good(file(Path::new("/proc/x"))));
        assert_eq!(
            fs::read_dir(place.path()).unwrap().count(),
            1,
            "nothing is left of finding out"
        );
    }

    /// A trace took the place of a running node's disk, also through a link to it.
    #[test]
    fn what_is_there_is_left_as_it_is() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("osd.0"), "a store").unwrap();
        std::os::unix::fs::symlink("osd.0", at("link")).unwrap();
        std::os::unix::fs::symlink("nothing", at("dangling")).unwrap();
        for name in ["osd.0", "link", "dangling"] {
            let refused = [file(&at(name)), write(&at(name), "a trace")];
            for refusal in refused.map(Result::unwrap_err) {
                assert!(matches!(&refusal, Failure::Input(text) if text.contains("left as it is")));
            }
        }
        assert_eq!(fs::read_to_string(at("osd.0")).unwrap(), "a store");
        assert!(!at("nothing").exists());
        write(&at("new"), "a trace").unwrap();
        assert_eq!(fs::read_to_string(at("new")).unwrap(), "a trace");
        write(Path::new("/dev/null"), "a trace").unwrap();
    }
}
