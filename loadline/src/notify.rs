//! Tells a service manager that the node serves, as `sd_notify(3)` has it: one datagram to the socket that `NOTIFY_SOCKET` names.

use loadline_host::why;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Where a service manager listens; it sets this for a service of `Type=notify`.
const SOCKET: &str = "NOTIFY_SOCKET";

/// The node serves. Nobody waits for the word where the variable is not set; where it cannot be said, the log says why.
pub(crate) fn ready() {
    let Some(socket) = std::env::var_os(SOCKET) else { return };
    if let Err(error) = say(&socket, b"READY=1") {
        let socket = socket.to_string_lossy();
        tracing::warn!("{SOCKET}={socket} does not hear that the node serves: {}", why(&error));
    }
}

fn say(socket: &OsStr, word: &[u8]) -> io::Result<()> {
    let to = match socket.as_bytes() {
        // A name that is in no file system.
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        path => SocketAddr::from_pathname(OsStr::from_bytes(path))?,
    };
    UnixDatagram::unbound()?.send_to_addr(word, &to).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(by: &UnixDatagram, at: &OsStr) -> Vec<u8> {
        say(at, b"READY=1").expect("somebody listens");
        let mut word = [0; 64];
        let length = by.recv(&mut word).expect("a datagram came");
        word[..length].to_vec()
    }

    #[test]
    fn a_socket_is_a_file_or_a_name_that_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let by = UnixDatagram::bind(&path).unwrap();
        assert_eq!(heard(&by, path.as_os_str()), b"READY=1");
        let name = format!("loadline-test-{}", std::process::id());
        let by = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        assert_eq!(heard(&by, OsStr::new(&format!("@{name}"))), b"READY=1");
        assert!(say(OsStr::new("/nobody/listens"), b"READY=1").is_err());
    }
}
