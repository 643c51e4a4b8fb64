//! Files that somebody has written and named.

use crate::open_named;
use std::io::{self, Read};
use std::path::Path;

/// What people write and programs of theirs put together has far less: a file with more is something else, which may have no end.
const TEXT_BYTES_MAX: u64 = 16 << 20;

/// The text of a file that somebody has named.
///
/// # Errors
/// What the system says; or that it is no text, or too much.
pub fn read_text(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    open_named(path)?.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > TEXT_BYTES_MAX {
        return Err(too_much());
    }
    String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
}

fn too_much() -> io::Error {
    let most = TEXT_BYTES_MAX >> 20;
    let says = format!("it holds more than {most} MiB, and is no file of this kind");
    io::Error::new(io::ErrorKind::InvalidInput, says)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    /// `--load /dev/zero` took all of the machine's memory, and was killed.
    #[test]
    fn what_has_no_end_is_refused() {
        let refused = read_text(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(refused.contains("more than 16 MiB"), "{refused}");
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        fs::write(&file, "text").unwrap();
        assert_eq!(read_text(&file).unwrap(), "text");
        fs::write(&file, [0xff]).unwrap();
        assert_eq!(read_text(&file).unwrap_err().kind(), io::ErrorKind::InvalidData);
        fs::write(&file, "é".repeat(9 << 20)).unwrap();
        assert!(read_text(&file).unwrap_err().to_string().contains("more than"));
    }

    /// `study show` of a pipe waited for ever for somebody to write into it.
    #[test]
    fn a_pipe_is_read_where_a_shell_gave_it_and_nowhere_else() {
        let place = tempfile::tempdir().unwrap();
        let named = place.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&named).status().unwrap().success());
        let refused = read_text(&named).unwrap_err().to_string();
        assert_eq!(refused, "it is a pipe, and a file is needed");
        let socket = place.path().join("socket");
        drop(UnixListener::bind(&socket).unwrap());
        let refused = read_text(&socket).unwrap_err().to_string();
        assert_eq!(refused, "it is a socket, and a file is needed");
        let (from, mut to) = io::pipe().unwrap();
        to.write_all(b"text").unwrap();
        drop(to);
        let given = format!("/dev/fd/{}", from.as_raw_fd());
        assert_eq!(read_text(Path::new(&given)).unwrap(), "text");
    }
}
