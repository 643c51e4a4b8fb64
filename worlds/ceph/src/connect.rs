//! The ways to a cluster: librados where it is installed, else the `ceph` program.

use crate::connection::{CephConnection, CephError};
use crate::librados::Librados;
use crate::place::{CephPlace, ConnectBy};
use crate::program::CephProgram;

impl CephPlace {
    /// Connects.
    ///
    /// # Errors
    /// [`CephError::Unreachable`] with what would help.
    pub fn connect(&self) -> Result<Box<dyn CephConnection>, CephError> {
        if !self.conf.is_file() {
            let conf = self.conf.display().to_string();
            let found = match self.conf.is_dir() {
                true => "it is a folder",
                false => "there is no such file",
            };
            let reason = format!("{found}; name the cluster's ceph.conf");
            return Err(CephError::Unreachable { conf, reason });
        }
        match self.by {
            ConnectBy::Librados => Ok(Box::new(Librados::connect(self)?)),
            ConnectBy::Program => Ok(Box::new(CephProgram::connect(self)?)),
            ConnectBy::Either if Librados::is_installed() => Ok(Box::new(Librados::connect(self)?)),
            ConnectBy::Either => Ok(Box::new(CephProgram::connect(self)?)),
        }
    }
}
