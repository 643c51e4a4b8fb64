//! Files or block devices of this machine, and who sends the clients' ops there.

use loadline_ceph::{CephPlace, NoCephPlace};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// How a study runs on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPlace {
    /// What the OSDs stand on.
    pub disks: RealDisks,
    /// Who sends the clients' ops.
    pub client: ClientKind,
    /// Whether the OSDs' files stay after a run.
    pub keep_files: bool,
    /// Whether devices that hold data may be written over.
    pub overwrite: bool,
}

/// What OSDs stand on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RealDisks {
    /// New files in a folder, made for each run.
    Files(PathBuf),
    /// Block devices, one for each OSD, written over by each run.
    Devices(Vec<PathBuf>),
}

/// Who sends the clients' ops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientKind {
    /// The study's own generator, in the node's process.
    #[default]
    Own,
    /// fio with its nbd engine, over the node's socket.
    Fio,
}

impl HostPlace {
    /// What results depend on, as text.
    pub fn identity(&self) -> String {
        format!("{:?} {:?}", self.disks, self.client)
    }
}

/// Where a study runs that is not simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RealPlace {
    /// This machine's disks.
    Disks(RealDisks),
    /// A Ceph cluster.
    Ceph(CephPlace),
}

/// Reads what names disks, or `ceph:CONF`.
impl FromStr for RealPlace {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<RealPlace, NoPlace> {
        if text.starts_with("ceph:") {
            let place = text.parse().map(RealPlace::Ceph);
            return place.map_err(|error: NoCephPlace| NoPlace(error.to_string()));
        }
        text.parse().map(RealPlace::Disks)
    }
}

impl fmt::Display for RealPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RealPlace::Disks(disks) => disks.fmt(f),
            RealPlace::Ceph(place) => place.fmt(f),
        }
    }
}

/// A text that names no disks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoPlace(String);

impl fmt::Display for NoPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoPlace {}

/// Reads `files:DIR` or `devices:/dev/a,/dev/b,...`.
impl FromStr for RealDisks {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<RealDisks, NoPlace> {
        let refuse = |reason: &str| NoPlace(reason.to_owned());
        match text.split_once(':') {
            Some(("files", folder)) if !folder.is_empty() => Ok(RealDisks::Files(folder.into())),
            Some(("files", _)) => Err(refuse("name the folder, as in files:/mnt/disk")),
            Some(("devices", list)) => {
                let devices: Vec<PathBuf> =
                    list.split(',').map(str::trim).map(PathBuf::from).collect();
                let twice = (1..devices.len()).any(|at| devices[..at].contains(&devices[at]));
                match devices.iter().any(|path| path.as_os_str().is_empty()) || twice {
                    true => Err(refuse("names each device once, as in devices:/dev/sdb,/dev/sdc")),
                    false => Ok(RealDisks::Devices(devices)),
                }
            }
            _ => Err(refuse(
                "takes files:DIR, devices:/dev/a,/dev/b,... (one for each OSD), or ceph:CONF",
            )),
        }
    }
}

impl fmt::Display for RealDisks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RealDisks::Files(folder) => write!(f, "files:{}", folder.display()),
            RealDisks::Devices(devices) => {
                let names: Vec<String> =
                    devices.iter().map(|path| path.display().to_string()).collect();
                write!(f, "devices:{}", names.join(","))
            }
        }
    }
}

impl fmt::Display for ClientKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ClientKind::Own => "the study's own, in the node's process",
            ClientKind::Fio => "fio's nbd engine, over a Unix socket",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_read_and_print_the_same() {
        for text in ["files:/mnt/disk", "devices:/dev/sdb,/dev/sdc"] {
            assert_eq!(text.parse::<RealDisks>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_place_is_refused_with_what_would_be() {
        let check = |text: &str, says: &str| {
            let error = text.parse::<RealDisks>().expect_err("it is no place").to_string();
            assert!(error.contains(says), "{error}");
        };
        check("/mnt/disk", "takes files:DIR, devices:");
        check("ram:", "takes files:DIR, devices:");
        check("files:", "name the folder");
        check("devices:/dev/sdb,", "names each device once");
        check("devices:/dev/sdb,/dev/sdb", "names each device once");
    }
}
