//! Files that are written under a name that somebody has given. One rule holds for all of them: a file that is there is somebody's, a node's disk among them, and
//! is left as it is. Whether one could be written is asked before long work begins.

use crate::failure::Failure;
use loadline_host::{
    check_named, check_own_file, check_own_place, folder_of, make_folder, may_make_in, write_whole,
};
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// A new file, in a folder that is there.
pub(crate) fn file(path: &Path) -> Result<(), Failure> {
    let refused = |error: io::Error| Failure::unwritable(path, &error);
    check_named(path).map_err(refused)?;
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(refused(io::ErrorKind::IsADirectory.into())),
        Ok(found) if keeps_nothing(&found) => Ok(()),
        Ok(_) => Err(taken(path)),
        // A link that leads nowhere would be followed, or replaced.
        Err(_) if fs::symlink_metadata(path).is_ok() => Err(taken(path)),
        Err(_) => may_make_in(folder_of(path)).map_err(refused),
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

/// Writes files into a folder, which is made if it is missing, each as [`write`] or [`replace`] does. Of new ones all come or none.
pub(crate) fn write_all(
    place: &Path,
    files: &[(String, Vec<u8>)],
    write_one: fn(&Path, &[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    folder(place)?;
    let made = make_folder(place).map_err(|error| Failure::unwritable(place, &error))?;
    let mut new: Vec<PathBuf> = Vec::new();
    let mut write_next = |(name, content): &(String, Vec<u8>)| {
        let path = place.join(name);
        let is_new = fs::symlink_metadata(&path).is_err();
        write_one(&path, content)?;
        new.extend(is_new.then_some(path));
        Ok(())
    };
    let outcome = files.iter().try_for_each(&mut write_next);
    outcome.inspect_err(|_| {
        // What cannot be written is told; that a part of it cannot be taken away adds nothing.
        new.iter().for_each(|path| drop(fs::remove_file(path)));
        made.take_away();
    })
}

/// Writes a file of the program's own, over what stood there, whole or not at all.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<(), Failure> {
    write_whole(path, content).map_err(|error| Failure::unwritable(path, &error))
}

/// The place of a file of the program's own.
pub(crate) fn own(path: &Path) -> Result<(), Failure> {
    check_own_place(path).map_err(|error| Failure::unwritable(path, &error))
}

/// The place of one in whose kind `mark` stands always, where somebody has named the folder: what has it not is somebody's.
pub(crate) fn marked(path: &Path, mark: &str) -> Result<(), Failure> {
    check_own_file(path, mark).map_err(|error| Failure::unwritable(path, &error))
}

/// Whether it is written as it is, because nothing that it had could be lost: a pipe that a shell gives, a terminal, `/dev/null`.
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
    may_make_in(named(there.unwrap_or(Path::new(""))))
        .map_err(|error| Failure::unwritable(path, &error))
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

    /// Tables replaced one of somebody else's, and a folder stayed of those that found no room.
    #[test]
    fn files_come_all_or_none() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let files = ["a", "b"].map(|name| (name.to_owned(), b"ours".to_vec()));
        let new_one = |path: &Path, content: &[u8]| write(path, content);
        fs::create_dir(at("theirs")).unwrap();
        fs::write(at("theirs/b"), "mine").unwrap();
        write_all(&at("theirs"), &files, new_one).unwrap_err();
        assert!(!at("theirs/a").exists());
        assert_eq!(fs::read_to_string(at("theirs/b")).unwrap(), "mine");
        let too_long = [files[0].clone(), ("n".repeat(300), Vec::new())];
        write_all(&at("new/below"), &too_long, new_one).unwrap_err();
        assert!(!at("new").exists());
        write_all(&at("new/below"), &files, new_one).unwrap();
        assert_eq!(fs::read(at("new/below/b")).unwrap(), b"ours");
        write_all(&at("new/below"), &files, new_one).unwrap_err();
        write_all(&at("new/below"), &files, replace).unwrap();
        write_all(&at("new/below"), &too_long, replace).unwrap_err();
        assert!(at("new/below/a").exists(), "it was there before");
    }
}
