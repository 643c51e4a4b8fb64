//! Which cluster, and by which way: what `--on ceph:CONF` means.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A cluster by its configuration file. Where its key lies is that file's business.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CephPlace {
    /// The `ceph.conf` that leads to it.
    pub conf: PathBuf,
    /// The user, such as `client.admin`.
    pub user: String,
    /// The way.
    pub by: ConnectBy,
}

/// By which way a cluster is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectBy {
    /// librados where it is installed, else the `ceph` program.
    #[default]
    Either,
    /// librados alone.
    Librados,
    /// The `ceph` program alone.
    Program,
}

/// A text that names no cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("takes ceph:CONF, as in ceph:/etc/ceph/ceph.conf")]
pub struct NoCephPlace;

/// Reads `ceph:CONF`.
impl FromStr for CephPlace {
    type Err = NoCephPlace;

    fn from_str(text: &str) -> Result<CephPlace, NoCephPlace> {
        match text.strip_prefix("ceph:") {
            Some(conf) if !conf.is_empty() => Ok(CephPlace {
                conf: conf.into(),
                user: "client.admin".to_owned(),
                by: ConnectBy::Either,
            }),
            _ => Err(NoCephPlace),
        }
    }
}

impl fmt::Display for CephPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ceph:{}", self.conf.display())
    }
}
