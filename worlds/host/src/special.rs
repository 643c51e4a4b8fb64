//! What stands at a path and is neither a file nor a block device. It is looked at before it is opened: a pipe is waited for then, a socket is told by
//! the system to be no device, and a device may do something.

use rustix::fs::{FileType, stat};
use std::path::Path;

/// What stands there in a word, unless it is a file, a block device, or nothing.
pub fn special_at(path: &Path) -> Option<&'static str> {
    let facts = stat(path).ok()?;
    special(FileType::from_raw_mode(facts.st_mode))
}

/// The word for a kind that is neither a file nor a block device.
pub(crate) fn special(kind: FileType) -> Option<&'static str> {
    match kind {
        FileType::RegularFile | FileType::BlockDevice => None,
        FileType::Directory => Some("folder"),
        FileType::CharacterDevice => Some("character device"),
        FileType::Fifo => Some("pipe"),
        FileType::Socket => Some("socket"),
        _ => Some("special file"),
    }
}
