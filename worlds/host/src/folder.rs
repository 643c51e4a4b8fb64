//! Folders that this program makes.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

/// Makes a folder that is not there, and those above it. Whatever the umask, nobody but its owner may put anything in there or take
/// something away: who could, could put a socket of his own in the place of the node's. Less than that a umask may leave.
///
/// # Errors
/// What the system says; then none of them was made.
pub fn make_folder(path: &Path) -> io::Result<MadeFolders> {
    let mut made = MadeFolders(Vec::new());
    let mut on_the_way: Vec<&Path> = path.ancestors().collect();
    on_the_way.reverse();
    for folder in on_the_way.into_iter().filter(|folder| !folder.as_os_str().is_empty()) {
        if folder.is_dir() {
            continue;
        }
        match DirBuilder::new().mode(0o755).create(folder) {
            Ok(()) => made.0.push(folder.to_owned()),
            // Somebody else has made it by now.
            Err(_) if folder.is_dir() => {}
            Err(error) => {
                made.take_away();
                return Err(match error.kind() {
                    // What is there is no folder.
                    io::ErrorKind::AlreadyExists => io::ErrorKind::NotADirectory.into(),
                    _ => error,
                });
            }
        }
    }
    Ok(made)
}

/// Whether something can be made in a folder, which is known when something was: rights alone do not tell of `/proc`, nor of a full disk.
///
/// # Errors
/// What the system says, or that it is no folder.
pub fn may_make_in(folder: &Path) -> io::Result<()> {
    if !fs::metadata(folder)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let mut number = 0;
    loop {
        let trial = folder.join(format!(".loadline-{}-{number}", std::process::id()));
        match fs::create_dir(&trial) {
            // It is what another thread tries, or what one has left that was killed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            made => return made.and_then(|()| fs::remove_dir(&trial)),
        }
    }
}

/// The folders that were made for something of which nothing may come, from above.
#[derive(Debug)]
pub struct MadeFolders(Vec<PathBuf>);

impl MadeFolders {
    /// Takes them away again, unless somebody has put something there.
    pub fn take_away(&self) {
        for folder in self.0.iter().rev() {
            // What is not empty is somebody's, and what is not there need not go.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Makes a folder and those above it where they are missing, for what follows. Where that comes to nothing, those that were made are gone again,
/// unless somebody has put something there.
///
/// # Errors
/// That of what follows, or that there is no folder for it.
pub fn in_folder<T, E>(
    path: &Path,
    cannot: impl FnOnce(io::Error) -> E,
    then: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let made = make_folder(path).map_err(cannot)?;
    then().inspect_err(|_| made.take_away())
}

/// The folder that a file is in: the current one where the path names none.
pub fn folder_of(file: &Path) -> &Path {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// A path from the root, without dots and links: whatever leads to one place has one. Where a folder is yet to be made no link leads elsewhere.
pub fn plain_path(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut plain = PathBuf::new();
    for component in whole.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            other => {
                plain.push(other);
                plain = plain.canonicalize().unwrap_or(plain);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_were_made_go_and_those_that_were_there_stay() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir(at("a")).unwrap();
        let made = make_folder(&at("a/b/c")).unwrap();
        assert!(at("a/b/c").is_dir());
        made.take_away();
        assert!(at("a").is_dir() && !at("a/b").exists());
        let made = make_folder(&at("a/b/c")).unwrap();
        fs::write(at("a/b/mine"), "").unwrap();
        made.take_away();
        assert!(at("a/b/mine").exists() && !at("a/b/c").exists());
        make_folder(&at("a/b")).unwrap().take_away();
        assert!(at("a/b").is_dir());
        assert!(make_folder(&at("a/b/mine/d")).is_err());
    }

    /// A disk that was named through a link was another one than what lay there.
    #[test]
    fn one_place_has_one_plain_path() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        std::os::unix::fs::symlink("a/b", at("link")).unwrap();
        let plain = |name: &str| plain_path(&at(name));
        assert_eq!(plain("link/new"), plain("a/b/new"));
        assert_eq!(plain("link/../new"), plain("a/new"));
        assert_eq!(plain("none/../a/./x"), plain("a/x"));
    }
}
