//! Files by whose they are: those that somebody names, and those of the program's own.

use crate::folder::make_folder;
use crate::special_at;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Opens a file that somebody has named, to read it.
///
/// # Errors
/// What the system says; or that it is a folder, or a pipe that lies in one.
pub fn open_named(path: &Path) -> io::Result<File> {
    check_named(path)?;
    if fs::metadata(path)?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    File::open(path)
}

/// Refuses what nobody reads or writes at once: a socket, and a pipe that lies in a folder, which is waited for until somebody comes to its other end, who may
/// never come. One that a shell gives, as behind `/dev/stdin`, has somebody there and no place.
///
/// # Errors
/// That it is one.
pub fn check_named(path: &Path) -> io::Result<()> {
    match special_at(path) {
        Some("pipe") if fs::canonicalize(path).is_ok() => {
            Err(refused("it is a pipe, and a file is needed"))
        }
        Some("socket") => Err(refused("it is a socket, and a file is needed")),
        _ => Ok(()),
    }
}

/// Opens what the program has written, to read it again.
///
/// # Errors
/// What the system says; or that it is no file: a pipe or a device in its place may have no end.
pub fn open_own(path: &Path) -> io::Result<File> {
    let found = fs::metadata(path)?;
    match found.is_file() {
        true => File::open(path),
        false if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        false => Err(refused("it is a pipe or a device, and a file is needed")),
    }
}

/// The text of what the program has written.
///
/// # Errors
/// As [`open_own`], or that it is no text.
pub fn read_own(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open_own(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Refuses the place of a file of the program's own where something else is: a link may lead to somebody's file, and a pipe has somebody who reads it.
///
/// # Errors
/// What is there.
pub fn check_own_place(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Ok(()),
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => Err(in_its_place()),
        // What else is wrong there is met when it is written.
        Err(_) => Ok(()),
    }
}

/// Refuses a file in which a text is not that all of the program's own files of its kind have.
///
/// # Errors
/// As [`check_own_place`], or that it is somebody's.
pub fn check_own_file(path: &Path, mark: &str) -> io::Result<()> {
    check_own_place(path)?;
    let is_foreign = || !read_own(path).is_ok_and(|text| text.contains(mark));
    match fs::symlink_metadata(path).is_ok() && is_foreign() {
        true => Err(refused("it is there already, and is none of this program's; take it away")),
        false => Ok(()),
    }
}

/// Refuses the place of a folder of the program's own where something else is, as a link to somebody's folder.
///
/// # Errors
/// What is there.
pub fn check_own_folder(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(found) if found.is_file() => Err(io::ErrorKind::NotADirectory.into()),
        Ok(_) => Err(in_its_place()),
        // It is made yet.
        Err(_) => Ok(()),
    }
}

/// Makes a folder of the program's own where it is missing.
///
/// # Errors
/// As [`check_own_folder`], or what the system says.
pub fn make_own_folder(path: &Path) -> io::Result<()> {
    check_own_folder(path)?;
    make_folder(path).map(drop)
}

/// Whether an open file still has this name: who had its lock before may have renamed it, or taken it away.
pub fn has_name(file: &File, name: &Path) -> bool {
    let place = |found: Metadata| (found.dev(), found.ino());
    let named = fs::metadata(name).map(place).ok();
    named.is_some() && named == file.metadata().map(place).ok()
}

/// Writes a file of the program's own, whole or not at all: a full disk leaves what was there before.
///
/// # Errors
/// The system's, if it could not be written; or that something else is in its place.
pub fn write_whole(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    check_own_place(path)?;
    let draft = draft_of(path);
    let write = || -> io::Result<()> {
        // One that a kill has left is in the way, and so would be a link of its name.
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = File::create_new(&draft)?;
        file.write_all(content.as_ref())?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    write().inspect_err(|_| {
        // What cannot be written is reported; that a part of it cannot be taken away adds nothing.
        let _ = fs::remove_file(&draft);
    })
}

/// The name of a file of the program's own until it is whole.
pub fn draft_of(path: &Path) -> PathBuf {
    path.with_added_extension("draft")
}

fn in_its_place() -> io::Error {
    refused("a link, a pipe or a device is in its place; take it away")
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    /// A report went through a link over somebody's file, and waited for ever for the reader of a pipe.
    #[test]
    fn an_own_file_takes_the_place_of_a_file_alone() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("theirs"), "mine").unwrap();
        fs::create_dir(at("folder")).unwrap();
        symlink("theirs", at("link")).unwrap();
        symlink("nothing", at("dangling")).unwrap();
        symlink("folder", at("folder-link")).unwrap();
        assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        for name in ["link", "dangling", "pipe", "folder", "folder-link"] {
            write_whole(&at(name), "ours").unwrap_err();
        }
        for name in ["link", "dangling", "pipe", "folder-link"] {
            let refused = make_own_folder(&at(name)).unwrap_err().to_string();
            assert!(refused.contains("is in its place"), "{name}: {refused}");
        }
        assert_eq!(fs::read_to_string(at("theirs")).unwrap(), "mine");
        assert!(!at("nothing").exists());
        symlink("theirs", at("new.draft")).unwrap();
        write_whole(&at("new"), "before").unwrap();
        write_whole(&at("new"), "after").unwrap();
        assert_eq!(fs::read_to_string(at("new")).unwrap(), "after");
        assert_eq!(fs::read_to_string(at("theirs")).unwrap(), "mine");
        make_own_folder(&at("folder")).unwrap();
        make_own_folder(&at("made")).unwrap();
    }

    #[test]
    fn a_file_without_the_mark_is_somebodys() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("ours"), "a page, made by us").unwrap();
        fs::write(at("theirs"), "a page").unwrap();
        check_own_file(&at("ours"), "made by us").unwrap();
        check_own_file(&at("none"), "made by us").unwrap();
        let refused = check_own_file(&at("theirs"), "made by us").unwrap_err().to_string();
        assert!(refused.contains("none of this program's"), "{refused}");
    }

    #[test]
    fn a_name_is_lost_to_who_renames_and_to_who_takes_away() {
        let place = tempfile::tempdir().unwrap();
        let (name, other) = (place.path().join("a"), place.path().join("b"));
        let file = File::create(&name).unwrap();
        assert!(has_name(&file, &name));
        fs::rename(&name, &other).unwrap();
        assert!(!has_name(&file, &name) && has_name(&file, &other));
        File::create(&name).unwrap();
        assert!(!has_name(&file, &name));
        fs::remove_file(&other).unwrap();
        assert!(!has_name(&file, &other));
    }

    /// A device in the place of a manifest was read without end, and a pipe was waited for.
    #[test]
    fn what_is_read_again_is_a_file() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        symlink("/dev/zero", at("zero")).unwrap();
        assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        for name in ["zero", "pipe"] {
            let refused = read_own(&at(name)).unwrap_err().to_string();
            assert!(refused.contains("a file is needed"), "{name}: {refused}");
        }
        let refused = open_named(&at("pipe")).unwrap_err().to_string();
        assert_eq!(refused, "it is a pipe, and a file is needed");
        let folder = open_named(place.path()).unwrap_err();
        assert_eq!(folder.kind(), io::ErrorKind::IsADirectory);
        open_named(&at("zero")).unwrap();
    }
}
