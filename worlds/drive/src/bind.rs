//! Where machines find the drive.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// A socket at `path`, where machines find the drive. One that a former drive has left is replaced.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_left(path) => {
            std::fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        bound => bound,
    }
}

/// Whether nobody listens there any more.
fn is_left(path: &Path) -> bool {
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    UnixStream::connect(path).is_err_and(refused)
}
