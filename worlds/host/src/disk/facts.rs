//! What the system tells of the drive behind a file or a device, for reports and for warnings.

use loadline_base::{Bytes, mix64};
use rustix::fs::{major, minor};
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What is known of a drive. What the system does not tell is `None`: a file system over several drives, or over none, has no
/// single one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriveFacts {
    /// The whole device, e.g. `nvme0n1`.
    pub device: Option<String>,
    /// Its maker's name for it.
    pub model: Option<String>,
    /// What its maker or its machine numbers it by, and no other drive.
    pub serial: Option<String>,
    /// Its size.
    pub size: Option<Bytes>,
    /// Whether it says that it rotates. Virtual disks often say so without truth.
    pub rotational: Option<bool>,
    /// Whether what it has answered may be lost with its power (`queue/write_cache` is `write back`).
    pub volatile_cache: Option<bool>,
    /// Its I/O scheduler in force.
    pub scheduler: Option<String>,
    /// Whether it is another machine's or the kernel's make-believe: virtio, Xen, loop and the like.
    pub is_virtual: bool,
    /// The file system that holds the file; `None` for a device.
    pub file_system: Option<String>,
    /// What is allocated of the file; less than its size means holes.
    pub allocated: Option<Bytes>,
}

impl DriveFacts {
    /// What is known of the drive behind an existing path.
    ///
    /// # Errors
    /// The path cannot be looked at.
    pub fn of(path: &Path) -> io::Result<DriveFacts> {
        let meta = fs::metadata(path)?;
        let is_device = meta.file_type().is_block_device();
        let number = if is_device { meta.rdev() } else { meta.dev() };
        let id = format!("{}:{}", major(number), minor(number));
        let mut facts = whole_device(&id).map_or_else(DriveFacts::default, |at| of_device(&at));
        if !is_device {
            facts.file_system = file_system(&id);
            facts.allocated = Some(Bytes::new(meta.blocks() * 512));
        }
        Ok(facts)
    }

    /// A number for the drive behind a path, which another drive has not; 0 where the system tells of none. The name counts only
    /// for drives without a serial number, since names change places between two starts of a machine.
    pub fn number_of(path: &Path) -> u64 {
        let Ok(facts) = DriveFacts::of(path) else { return 0 };
        let Some(name) = facts.serial.or(facts.device) else { return 0 };
        let size = facts.size.map_or(0, Bytes::get);
        let text = format!("{name} {} {size}", facts.model.unwrap_or_default());
        let bytes = text.bytes().map(u64::from);
        bytes.fold(1, |number, byte| mix64(number ^ byte)).max(1)
    }

    /// Whether files of this file system are in memory only.
    pub fn is_in_memory(&self) -> bool {
        matches!(self.file_system.as_deref(), Some("tmpfs" | "ramfs"))
    }
}

/// The folder in `/sys` of a device, or of the one that it is a partition of.
fn whole_device(id: &str) -> Option<PathBuf> {
    let at = fs::canonicalize(format!("/sys/dev/block/{id}")).ok()?;
    match at.join("partition").exists() {
        true => at.parent().map(Path::to_owned),
        false => Some(at),
    }
}

fn of_device(at: &Path) -> DriveFacts {
    let read = |name: &str| {
        let text = fs::read_to_string(at.join(name)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let sectors = read("size").and_then(|text| text.parse::<u64>().ok());
    let place = at.display().to_string();
    DriveFacts {
        device: at.file_name().map(|name| name.to_string_lossy().into_owned()),
        model: read("device/model"),
        serial: ["wwid", "device/wwid", "device/serial", "serial", "dm/uuid"]
            .into_iter()
            .find_map(read),
        // The kernel counts sectors of 512 bytes here, whatever the drive's own are.
        size: sectors.map(|sectors| Bytes::new(sectors * 512)),
        rotational: read("queue/rotational").map(|flag| flag == "1"),
        volatile_cache: read("queue/write_cache").map(|kind| kind == "write back"),
        scheduler: read("queue/scheduler").map(|list| in_force(&list)),
        is_virtual: ["/virtio", "/virtual/", "/vbd-", "/xen"]
            .iter()
            .any(|part| place.contains(part)),
        file_system: None,
        allocated: None,
    }
}

/// The name in brackets of a list such as `none [mq-deadline] kyber`.
fn in_force(list: &str) -> String {
    let inside = list.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(list, |(name, _)| name).to_owned()
}

/// The kind of the file system on this device, by the table of mounts (`proc(5)`: the third field is the device, and the kind
/// stands behind a dash).
fn file_system(id: &str) -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let of = |line: &str| line.split(' ').nth(2) == Some(id);
    let line = mounts.lines().find(|line| of(line))?;
    let (_, kind) = line.split_once(" - ")?;
    kind.split(' ').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheduler_in_force_stands_in_brackets() {
        let check = |list: &str, name: &str| assert_eq!(in_force(list), name);
        check("none [mq-deadline] kyber bfq", "mq-deadline");
        check("[none]", "none");
        check("none", "none");
    }

    #[test]
    fn a_file_tells_what_is_allocated_and_where_it_lies() {
        let file = tempfile::NamedTempFile::new().expect("a file can be made");
        file.as_file().set_len(8 << 20).expect("it grows");
        let sparse = DriveFacts::of(file.path()).expect("it is there");
        assert!(sparse.allocated.expect("a file has blocks") < Bytes::from_mib(8));
        assert!(sparse.file_system.is_some());
        assert!(DriveFacts::of(Path::new("/nowhere/at/all")).is_err());
    }
}
