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
    let missing = path.ancestors().take_while(|folder| folder.symlink_metadata().is_err());
    let made = MadeFolders(missing.map(Path::to_owned).collect());
    let done = DirBuilder::new().recursive(true).mode(0o755).create(path);
    done.inspect_err(|_| made.unmake()).map(|()| made)
}

/// The folders that were made for something of which nothing may come.
#[derive(Debug)]
pub struct MadeFolders(Vec<PathBuf>);

impl MadeFolders {
    /// Takes them away again, unless somebody has put something there.
    pub fn unmake(&self) {
        for folder in &self.0 {
            // What is not empty is somebody's, and what is not there need not go.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// The folder that a file is in: the current one where the path names none.
pub fn folder_of(file: &Path) -> &Path {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// A path from the root, without dots. Where a folder is yet to be made no link leads elsewhere.
pub fn plain_path(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut plain = PathBuf::new();
    for component in whole.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}
