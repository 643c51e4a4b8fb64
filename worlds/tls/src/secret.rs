//! Files that hold a secret: a key, passwords.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;

/// The right of everybody on a machine to read a file.
const OTHERS_READ: u32 = 0o004;

/// What people write has far less: a file with more is something else, which may have no end.
const BYTES_MAX: u64 = 16 << 20;

/// What a file holds that may be a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretFile {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether everybody on this machine may read it, so that what is in it is none.
    pub is_open: bool,
}

impl SecretFile {
    /// Reads a file that is open. What is asked about its rights and what is read is the same file.
    ///
    /// # Errors
    /// The system's, or that it is too much.
    pub fn read(file: File) -> io::Result<SecretFile> {
        let is_open = file.metadata()?.permissions().mode() & OTHERS_READ != 0;
        let mut bytes = Vec::new();
        file.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > BYTES_MAX {
            let most = BYTES_MAX >> 20;
            let says = format!("it holds more than {most} MiB, and is no file of this kind");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, says));
        }
        Ok(SecretFile { bytes, is_open })
    }
}

impl std::fmt::Debug for SecretFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretFile").field("is_open", &self.is_open).finish_non_exhaustive()
    }
}
