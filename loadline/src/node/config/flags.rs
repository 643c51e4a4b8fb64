//! `loadline serve` as it is typed without a file.

use super::file::{FileValue, NbdTyped, NodeFile, OsdTyped};
use super::meant::{FieldFault, check_count};
use crate::failure::Failure;
use crate::node::reach::default_dir;
use crate::tls::TlsTyped;
use clap::Args;
use loadline_base::{Bytes, in_short};
use loadline_host::why;
use loadline_osd::OsdSet;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Size of an OSD's file that is made without --size, where there is no other to go by.
const SIZE: Bytes = Bytes::from_mib(10 << 10);

/// All flags but `--config` itself, those that are fields of the file too by their structs: a node is described in one place.
const INSTEAD_OF_FILE: [&str; 6] = ["osds", "size", "settings", "NodeFile", "NbdTyped", "TlsTyped"];

#[derive(Clone, Debug, Args)]
pub(crate) struct ServeArgs {
    /// Take everything from this file
    #[arg(long, value_name = "FILE", conflicts_with_all = INSTEAD_OF_FILE)]
    pub(crate) config: Option<PathBuf>,
    /// OSDs, on files osd.0, osd.1 … in the folder; by default up to the last that is there
    #[arg(long, value_name = "N")]
    osds: Option<u32>,
    /// Size of each file that is made; by default that of the others, or 10 GiB
    #[arg(long, value_name = "SIZE")]
    size: Option<Bytes>,
    #[command(flatten)]
    node: NodeFile,
    #[command(flatten)]
    nbd: NbdTyped,
    #[command(flatten)]
    tls: TlsTyped,
    /// Set an option of every OSD
    #[arg(long = "set", value_name = "OPTION=VALUE")]
    settings: Vec<SettingFlag>,
}

#[derive(Clone, Debug)]
struct SettingFlag {
    option: String,
    value: String,
}

impl FromStr for SettingFlag {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<SettingFlag, &'static str> {
        let wanted = "expected a setting such as `osd_max_scrubs=3`";
        let (option, value) = text.split_once('=').ok_or(wanted)?;
        Ok(SettingFlag { option: option.to_owned(), value: value.to_owned() })
    }
}

impl ServeArgs {
    /// The same with so many OSDs, where nobody has said how many there are and files were counted.
    pub(crate) fn with_osds(&self, osds: u32) -> Option<ServeArgs> {
        let is_counted = self.config.is_none() && self.osds.is_none();
        is_counted.then(|| ServeArgs { osds: Some(osds), ..self.clone() })
    }

    /// Whether the node's folder can be looked into. One that is not there yet is made.
    ///
    /// # Errors
    /// In a folder that nobody may enter no OSD would be found.
    pub(super) fn check_folder(&self) -> Result<(), Failure> {
        let dir = self.node.dir.clone().unwrap_or_else(default_dir);
        match dir.join("osd.0").symlink_metadata() {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                let text = format!("{}: cannot be entered: {}", dir.display(), why(&error));
                Err(Failure::refused(error.kind(), text))
            }
            _ => Ok(()),
        }
    }

    /// Whether the files that are there have the size that is asked for, or one of them at least: then another was cut.
    pub(super) fn check_size(&self) -> Result<(), FieldFault> {
        let dir = self.node.dir.clone().unwrap_or_else(default_dir);
        let files = (0..OsdSet::OSDS_MAX).map(|number| dir.join(format!("osd.{number}")));
        let there: BTreeSet<Bytes> = files.filter_map(|file| file_size(&file)).collect();
        let Some(asked) = self.size.filter(|size| !there.is_empty() && !there.contains(size))
        else {
            return Ok(());
        };
        let sizes: Vec<String> = there.iter().map(|size| format!("{size:#}")).collect();
        let (dir, sizes) = (dir.display(), sizes.join(" or "));
        let reason =
            format!("{asked:#} are asked for, and the disks in {dir} have {sizes}: leave it out");
        Err(FieldFault::new("size", reason))
    }

    /// Whether each option is set once: one of two values would win without a word.
    pub(super) fn check_settings(&self) -> Result<(), FieldFault> {
        let mut set = BTreeSet::new();
        match self.settings.iter().find(|flag| !set.insert(&flag.option)) {
            None => Ok(()),
            Some(flag) => {
                let reason = format!("`{}` stands there twice", in_short(&flag.option));
                Err(FieldFault::new("settings", reason))
            }
        }
    }

    /// Whether as many OSDs as are asked for make a node.
    pub(super) fn check_osds(&self) -> Result<(), FieldFault> {
        self.osds.map_or(Ok(()), |osds| check_count(osds as usize))
    }
}

impl From<ServeArgs> for NodeFile {
    fn from(args: ServeArgs) -> NodeFile {
        let ServeArgs { osds: asked, size, mut node, nbd, tls, settings, .. } = args;
        let dir = node.dir.get_or_insert_with(default_dir);
        node.osds = osds(dir, asked, size);
        for typed in &mut node.vhost {
            // Where a path begins that is typed, and not in the node's folder as in a file.
            typed.path = std::path::absolute(&typed.path).unwrap_or_default();
        }
        let settings =
            settings.into_iter().map(|flag| (flag.option, FileValue::Text(flag.value))).collect();
        node.nbd = NbdTyped { tls, ..nbd };
        node.settings = BTreeMap::from([("osd".to_owned(), settings)]);
        node
    }
}

/// The files `osd.0`, `osd.1` … of a folder: as many as asked for, which are made where they are missing; or all up to
/// the last one that is there, and one that is missing among them stays missing, as a disk does that has failed. Those
/// that are there keep their size unless somebody says which it should be.
fn osds(dir: &Path, asked: Option<u32>, size: Option<Bytes>) -> Vec<OsdTyped> {
    let name = |number: u32| PathBuf::from(format!("osd.{number}"));
    let is_there = |number: u32| dir.join(name(number)).exists();
    let there = (0..OsdSet::OSDS_MAX).rev().find(|number| is_there(*number));
    let count = asked.unwrap_or_else(|| there.map_or(0, |last| last + 1));
    let of_others = || there.and_then(|last| file_size(&dir.join(name(last))));
    let size = |number| match is_there(number) {
        true => size,
        false => asked.map(|_| size.or_else(of_others).unwrap_or(SIZE)),
    };
    (0..count).map(|number| OsdTyped { path: name(number), size: size(number) }).collect()
}

/// A block device has none.
fn file_size(path: &Path) -> Option<Bytes> {
    let facts = path.metadata().ok()?;
    (facts.is_file() && facts.len() > 0).then(|| Bytes::new(facts.len()))
}
