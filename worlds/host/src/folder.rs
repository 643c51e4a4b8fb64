//! Folders that this program makes.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Makes a folder that is not there, and those above it. Whatever the umask, nobody but its owner may put anything in there or take
/// something away: who could, could put a socket of his own in the place of the node's. Less than that a umask may leave.
///
/// # Errors
/// What the system says.
pub fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}
