//! The ways to a cluster: librados where it is installed, else the `ceph` program.

use crate::connection::{CephConnection, CephError};
use crate::librados::Librados;
use crate::place::{CephPlace, ConnectBy};
use crate::program::CephProgram;
use std::fs::{self, File};
use std::io;
use std::path::Path;

impl CephPlace {
    /// Connects.
    ///
    /// # Errors
    /// [`CephError::Conf`], or [`CephError::Unreachable`] with what would help.
    pub fn connect(&self) -> Result<Box<dyn CephConnection>, CephError> {
        check_conf(&self.conf)
            .map_err(|error| CephError::Conf { conf: self.conf.clone(), error })?;
        match self.by {
            ConnectBy::Librados => Ok(Box::new(Librados::connect(self)?)),
            ConnectBy::Program => Ok(Box::new(CephProgram::connect(self)?)),
            ConnectBy::Either if Librados::is_installed() => Ok(Box::new(Librados::connect(self)?)),
            ConnectBy::Either => Ok(Box::new(CephProgram::connect(self)?)),
        }
    }
}

/// Whether a configuration can be read. librados says no more than that it could not.
fn check_conf(conf: &Path) -> io::Result<()> {
    let found = fs::metadata(conf)?;
    if found.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !found.is_file() {
        let text = "it is no regular file; name the cluster's ceph.conf";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    File::open(conf).map(drop)
}
