//! Block devices for tests: loop devices on files. Tests of other crates include this file by its path.

use std::fs::File;
use std::path::Path;
use std::process::Command;

/// Loop devices on files of a folder. Dropping them lets them go.
pub(crate) struct LoopDevices {
    /// Where they are.
    pub(crate) paths: Vec<String>,
}

impl LoopDevices {
    /// So many of so many MiB, all zeros. None, with the reason printed, where nobody may make any.
    pub(crate) fn new(folder: &Path, count: usize, mib: u64) -> Option<LoopDevices> {
        let mut devices = LoopDevices { paths: Vec::new() };
        for at in 0..count {
            let file = folder.join(format!("device.{at}"));
            File::create(&file).unwrap().set_len(mib << 20).unwrap();
            let made = Command::new("losetup").args(["--find", "--show"]).arg(&file).output();
            let refused = match made {
                Ok(made) if made.status.success() => {
                    let path = String::from_utf8(made.stdout).unwrap();
                    devices.paths.push(path.trim().to_owned());
                    continue;
                }
                Ok(made) => String::from_utf8_lossy(&made.stderr).into_owned(),
                Err(error) => error.to_string(),
            };
            println!("skipped: losetup makes no loop device here: {refused}");
            return None;
        }
        Some(devices)
    }
}

impl Drop for LoopDevices {
    fn drop(&mut self) {
        for path in &self.paths {
            let _ = Command::new("losetup").args(["--detach", path]).status();
        }
    }
}
