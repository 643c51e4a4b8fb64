//! The house rules as tests. They see files only, and may not know what any of them does.

#![cfg(test)]

mod circles;
mod documents;
mod glossary;
mod ratchet;
mod rules;
mod source;

use std::fs;
use std::path::{Path, PathBuf};

/// The crates from the ground up. A crate may depend on those before it that [`MAY_NOT_NAME`] does not forbid.
const FLOORS: [&str; 33] = [
    "core/base",
    "core/forecast",
    "core/device",
    "core/scsi",
    "core/qos",
    "core/store",
    "core/osd",
    "core/cluster",
    "core/node",
    "core/wire",
    "worlds/sim",
    "worlds/tls",
    "worlds/vhost",
    "worlds/drive",
    "worlds/host",
    "worlds/kv",
    "worlds/resp",
    "worlds/ceph",
    "lab/stats",
    "lab/draw",
    "lab/fio",
    "lab/cbt",
    "lab/load",
    "lab/measure",
    "lab/cdl",
    "lab/guest",
    "lab/testbed",
    "lab/study",
    "lab/report",
    "loadline",
    "benches",
    "fuzz",
    "tidy",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("this crate stands in the workspace")
        .into()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every Rust file below `folder`, in a fixed order.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return files };
    for entry in entries {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn source_files() -> Vec<PathBuf> {
    let crates = FLOORS.iter().map(|folder| root().join(folder));
    crates.flat_map(|folder| rust_files(&folder)).collect()
}
